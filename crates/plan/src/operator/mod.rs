//! The work of the nodes of a plan: names resolved, paths and templates parsed.
//!
//! [`select`] holds scans, joins of two and output shapes, [`joins`] several sources and sub-selects, [`program`] expressions over rows, [`write`] inserts, updates and deletes. This
//! module has the parts they share: expressions, operands, sources, calls and conditions.

pub mod group;
pub mod joins;
pub mod program;
pub mod select;
pub mod union;
pub mod write;

use std::sync::Arc;

use qlio_data::{Text, Value, path::Path, template::Template};

pub use group::{AggregateCall, Grouping};
pub use joins::{
    Binding, Equality, Joins, Nested, NestedManner, NullKeys, Placement, Reading, Stage,
};
pub use program::{
    Bound, Calculation, Given, MemberName, Operation, PatternManner, Place, Program, Pushed,
    PushedValue, SortKey, Steps,
};
pub use select::{
    Column, Condition, Expected, Join, JoinKey, Output, OutputColumn, OutputValue, RowArgument,
    RowCall, Scan, ScanColumns, Select, Side,
};
pub use union::Unioned;
pub use write::{Delete, Write, WriteKind, WriteValues};

use crate::{catalog::Table, node::SlotId};

/// A JSON literal whose strings may hold tokens; parts without tokens are folded to constants.
#[derive(Debug, Clone)]
pub enum Expression {
    /// A value known at compile time.
    Constant(Value),
    /// A string with tokens.
    Template(Template),
    /// An array with a part that is not constant.
    Array(Vec<Expression>),
    /// An object with a part that is not constant.
    Object(Vec<(Text, Expression)>),
}

/// A value in a clause (SEL-17).
#[derive(Debug, Clone)]
pub enum Operand {
    /// A value known at compile time.
    Constant(Value),
    /// Quoted text with tokens, or a bareword that names a variable of the script.
    Template(Template),
    /// A bareword that names no variable of the script: a variable given by the caller, else the
    /// text itself.
    Word(Text),
}

/// The table or variable that a statement reads from or writes to.
#[derive(Debug, Clone)]
pub struct Source {
    /// The name as written.
    pub name: Text,
    /// The alias.
    pub alias: Option<Text>,
    /// The meaning of the name.
    pub kind: SourceKind,
}

impl Source {
    /// The table, unless the name is a variable or unknown.
    pub fn table(&self) -> Option<&Arc<Table>> {
        match &self.kind {
            SourceKind::Slot(_)
            | SourceKind::Conditional { .. }
            | SourceKind::Select(_)
            | SourceKind::Elements
            | SourceKind::Union(_) => None,
            SourceKind::Inline(table) => Some(table),
            SourceKind::Loaded(table) => table.as_ref(),
        }
    }
}

/// The meanings that the name of a source can have.
#[derive(Debug, Clone)]
pub enum SourceKind {
    /// A variable of the script.
    Slot(SlotId),
    /// A table that the script creates.
    Inline(Arc<Table>),
    /// A table that the script creates in a block: if that has run, else the loaded table of the name
    /// (EXE-4, EXE-5).
    Conditional {
        /// Its place in the plan's inline tables.
        place: usize,
        /// The table.
        table: Arc<Table>,
        /// The loaded table.
        otherwise: Option<Arc<Table>>,
    },
    /// A variable passed by the embedding caller, else a loaded table, else an error when it runs.
    Loaded(Option<Arc<Table>>),
    /// The rows of selects.
    Union(Arc<[Unioned]>),
    /// The rows of a select.
    Select(Arc<Select>),
    /// Lists in the rows of another source.
    Elements,
}

/// A call of a script function.
#[derive(Debug, Clone)]
pub struct Call {
    /// The function.
    pub callee: Callee,
    /// The arguments, evaluated before the call.
    pub arguments: Vec<Expression>,
}

/// The function that a call names.
#[derive(Debug, Clone)]
pub struct Callee {
    /// The dotted name as written.
    pub name: Text,
    /// The variable that holds the module; `None` for `require` and for names nobody assigns.
    pub module: Option<SlotId>,
    /// The member path below the module: `heavy` in `deck.heavy`; empty if the module is called.
    pub function: Text,
}

impl Callee {
    /// The built-in that loads a module.
    pub fn is_require(&self) -> bool {
        &*self.name == "require"
    }
}

/// Bounds of the exchanges of a statement, in milliseconds; `None` takes the engine's default.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Delays {
    /// Idle time allowed per exchange (default 10,000).
    pub timeout_ms: Option<u64>,
    /// Shortest back-off (default 500).
    pub delay_ms_min: Option<u64>,
    /// Longest back-off (default 30,000).
    pub delay_ms_max: Option<u64>,
    /// Overall limit of the statement, retries included (default none).
    pub deadline_ms: Option<u64>,
}

/// A condition of `if` and `catch`.
#[derive(Debug, Clone)]
pub enum Logic {
    /// Either.
    Or(Box<Logic>, Box<Logic>),
    /// Both.
    And(Box<Logic>, Box<Logic>),
    /// Not.
    Not(Box<Logic>),
    /// A variable or a path into one is truthy; the template is one typed token.
    Name(Template),
}

/// A column path known at compile time, or one with tokens in it (SEL-11).
#[derive(Debug, Clone)]
pub enum ColumnPath {
    /// Parsed at compile time.
    Static(Path),
    /// Filled and parsed per run.
    Dynamic(Template),
}
