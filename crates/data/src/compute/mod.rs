//! Computing with values: arithmetic, order, tests, aggregates and functions of expressions.
//!
//! ```text
//! number   exact decimals           order   one total order, and identity for groups
//! test     comparisons, patterns    aggregate   many values to one
//! text     texts joined             function  one table of all functions, by group
//! effort   how much there is to do
//! ```
//!
//! In: values of rows. Out: a value, or a [`ComputeError`] that says what was wrong with which
//! operand. Nothing here knows rows, paths or the place in a script; whoever evaluates an expression
//! adds those. Absent operands count as null everywhere. Each result and each loop has a bound, and
//! every bound has a name.

mod decimal;
mod digits;
mod error;
mod kind;
mod wide;

pub mod aggregate;
pub mod effort;
pub mod function;
pub mod number;
pub mod order;
pub mod pattern;
pub mod test;
pub mod text;

pub use decimal::{Decimal, OutOfRange, Rounding};
pub use error::ComputeError;
pub use kind::Kind;

#[cfg(test)]
mod arbitrary;
