//! A naive interpreter of scripts, to hold the engine against.
//!
//! In go the syntax tree of a script and its tables as a plain function; out comes the value of the
//! script, or why it fails. It is written from the rules of `docs/language/reference` in the most
//! obvious way: one statement after the other, each runs what it needs first, rows are compared in
//! nested loops, nothing is indexed, planned, pushed down or run at the same time. It shares the
//! syntax tree, the values, the paths and the templates with the real thing, and nothing of its
//! planner and its operators.
//!
//! It promises the same value for every order in which upstreams could answer, because it knows no
//! such order. It leaves out: script functions, `show`, `describe`, writes to tables, routes, what a
//! client sends, and settings; a script with one of these fails with [`Failure::Unsupported`].
//!
//! - [`graph`]: the statements with their blocks, and which names each one reads.
//! - [`run`]: the order, blocks, fallbacks (EXE-15, DEF-4, EXE-6, IFS-4, TRY-6, EXE-16).
//! - [`select`], [`join`], [`write`], [`rows`]: what statements do (SEL, JOI, INS, DEL).
//! - [`loose`]: loose equality (VAL-7 to VAL-11).
//! - [`random`]: scripts to compare with.

mod graph;
mod join;
mod loose;
pub mod random;
mod rows;
mod run;
mod select;
mod write;

use std::collections::BTreeMap;

use qlio_data::{
    Value,
    scope::{Scope, SlotId},
};

pub use loose::loosely_equal;
pub use run::run;

/// The tables that scripts can select from.
pub trait Tables {
    /// Asks for a select; `parameter` gives the value of a token of the table, absent if nothing sets
    /// it.
    ///
    /// # Errors
    /// The statement fails as a whole: no such table, a required token without a value.
    fn select(&self, table: &str, parameter: &dyn Fn(&str) -> Value) -> Result<Answers, String>;
}

/// The answers of a table to a select.
#[derive(Debug, Clone, PartialEq)]
pub enum Answers {
    /// The answer to the one request.
    Single(Result<Value, String>),
    /// The answers in the order of the requests, as many as a list has elements.
    Scatter(Vec<Result<Value, String>>),
}

/// Why a script has no value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Failure {
    /// A statement failed that no fallback caught.
    Failed(String),
    /// The script uses a part of the language that this interpreter leaves out.
    Unsupported(&'static str),
}

impl From<String> for Failure {
    fn from(reason: String) -> Self {
        Self::Failed(reason)
    }
}

/// The variables so far.
#[derive(Debug, Default)]
struct Variables(BTreeMap<String, Value>);

impl Scope for Variables {
    fn slot(&self, _slot: SlotId) -> Value {
        Value::Absent
    }

    fn name(&self, name: &str) -> Value {
        self.0.get(name).cloned().unwrap_or_default()
    }
}
