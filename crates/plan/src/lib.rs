//! From syntax tree and catalog to an executable plan.
//!
//! ```text
//! AST ──lower (names → slots, tables)──▶ nodes ──rewrite (one rule per file)──▶ Plan ──explain──▶ text, JSON, DOT
//!         ▲
//!      Catalog (tables, routes, settings: one immutable snapshot)
//! ```
//!
//! In: the text of a script and a [`Catalog`]. Out: a [`Plan`], an immutable graph of nodes with
//! every name resolved, every template and path parsed, and every dependency an edge; or the
//! diagnostics that say why not. The crate is pure: no I/O, no clock, no async. The same script and
//! catalog always give byte-identical explanations.

pub mod catalog;
pub mod complete;
pub mod diagnose;
pub mod explain;
pub mod lower;
pub mod node;
pub mod operator;
mod rewrite;
mod waits;

pub use catalog::Catalog;
pub use diagnose::{diagnose, diagnose_with};
pub use lower::{CompileOptions, Compiled, Origin, compile};
pub use node::{BlockBranch, Branch, Node, NodeId, NodeKind, Plan, RouteSpec, RouteStatus, SlotId};
pub use qlio_syntax::format::format_text as format;
