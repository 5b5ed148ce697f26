//! The bounds of this crate, each with a name, so that no text can cost more than they allow.
//!
//! In: nothing. Out: [`Limits`], read by the parser. Going over a bound is a diagnostic of the
//! `Q7xxx` range that names the bound; it is never a panic and never a silent cut.

/// Longest deadline of a route and of a run, in milliseconds: an hour.
pub const ROUTE_DEADLINE_MS_MAX: u64 = 3_600_000;

/// Bounds on what one text may ask of the parser.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Longest text in bytes. Default 1 MiB.
    pub text_bytes_max: usize,
    /// How deep blocks, JSON values, conditions and sub-selects may nest, all together.
    /// Default 128; recursion of the parser, the checks and the printer is bounded by it.
    pub nesting_depth_max: usize,
    /// Statements of one text, nested ones included. Default 10 000.
    pub statements_max: usize,
    /// Operators `&&` and `||` of one condition. Default 1000; they form a tree as deep as they are
    /// many.
    pub condition_operators_max: usize,
    /// Diagnostics reported for one text. Default 50; the last one says that there are more.
    pub diagnostics_max: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            text_bytes_max: 1 << 20,
            nesting_depth_max: 128,
            statements_max: 10_000,
            condition_operators_max: 1000,
            diagnostics_max: 50,
        }
    }
}
