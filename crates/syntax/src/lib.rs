//! Script text to syntax tree: the first stage of the pipeline.
//!
//! ```text
//! text ──lexer──▶ tokens ──parser──▶ AST + diagnostics      (this crate)
//!                                     └─format─▶ canonical text
//! ```
//!
//! In: the text of a script, a route or a table file. Out: an [`ast::Script`] with a span on every
//! node, and every independent problem found, as [`diagnostic::Diagnostic`]s.
//! The crate knows nothing of tables that exist, of values or of I/O; it is a pure function of text
//! and never fails as a whole.

pub mod analyse;
pub mod ast;
pub mod caught;
pub mod check;
pub mod complete;
pub mod diagnostic;
pub mod ending;
pub mod format;
pub mod functions;
pub mod limits;
pub mod parser;
pub mod render;
pub mod source;
pub mod spelling;
pub mod status;
pub mod symbols;
pub mod titles;
pub mod tokens;
pub mod visit;

mod lexer;
mod token;

pub use analyse::{Analysis, analyse, analyse_with};
pub use check::check;
pub use parser::{Parsed, parse, parse_with};
