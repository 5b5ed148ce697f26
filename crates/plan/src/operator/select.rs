//! Selects: scans, conditions, joins, row functions and the shape of the rows that come out.
//!
//! Inside the engine a row is a list of values, one per scan column; hidden columns for joins and
//! functions stand behind the selected ones. Names appear only when the output is shaped, so a
//! hidden column can never collide with an alias (JOI-12).

use std::sync::OnceLock;

use qlio_data::{Text, Value, path::Path, projection::Projection};

use super::{Callee, ColumnPath, Delays, Expression, Joins, Operand, Program, Source, Steps};

/// A select statement or sub-select.
#[derive(Debug)]
pub struct Select {
    /// The first source.
    pub scan: Scan,
    /// The second source, of two that a comma joins.
    pub join: Option<Join>,
    /// Any other sources, rows around it and selects inside of its expressions; then there are steps.
    pub joins: Option<Box<Joins>>,
    /// How rows become values.
    pub output: Output,
    /// Row functions of the where clause, in text order.
    pub row_calls: Vec<RowCall>,
    /// What is done with the rows between reading and showing; then `limit` and `offset` are there.
    pub steps: Option<Box<Steps>>,
    /// `limit`.
    pub limit: Option<u64>,
    /// `offset`.
    pub offset: Option<u64>,
    /// 1-based line, for hooks and messages.
    pub line: u32,
    /// The variable it binds, for hooks.
    pub assign: Option<Text>,
}

impl Select {
    /// Whether functions are called for single rows; with `select *` they get the whole value.
    pub fn calls_row_functions(&self) -> bool {
        !matches!(self.scan.columns, ScanColumns::Star) && self.calls_functions()
    }

    /// Whether functions are called for rows or for the whole value.
    pub fn calls_functions(&self) -> bool {
        let is_call = |column: &OutputColumn| matches!(column.value, OutputValue::Call(_));
        !self.row_calls.is_empty() || self.output.columns.iter().any(is_call)
    }
}

/// Reading one source.
#[derive(Debug)]
pub struct Scan {
    /// Where the rows come from.
    pub source: Source,
    /// The columns read of each row.
    pub columns: ScanColumns,
    /// Parameters of a table, filters of a variable.
    pub conditions: Vec<Condition>,
    /// Bounds of the exchanges.
    pub delays: Delays,
    /// The parts of a variable that conditions and columns read.
    pub projection: Projection,
    /// The parts that a decoder keeps of an answer of the table: the columns, below the resultset.
    pub answer: Projection,
    /// What hooks see of it as members of `statement`, made by the engine when the first one is called (HOK-5).
    pub shown: OnceLock<Value>,
}

impl Scan {
    /// Number of columns; 0 for `select *`.
    pub fn width(&self) -> usize {
        match &self.columns {
            ScanColumns::Star => 0,
            ScanColumns::List(columns) => columns.len(),
        }
    }
}

/// The columns of a scan.
#[derive(Debug)]
pub enum ScanColumns {
    /// The value as it is.
    Star,
    /// One value per column.
    List(Vec<Column>),
}

/// One column of a scan.
#[derive(Debug)]
pub struct Column {
    /// The path into the row, without the source's alias.
    pub path: ColumnPath,
    /// The column is a key of a join: its value is the list of all matches, lists among them
    /// opened, as filters see them (SEL-13).
    pub is_key: bool,
}

/// A condition on one source.
#[derive(Debug)]
pub struct Condition {
    /// The name of the parameter: the path's text without the source's alias.
    pub name: Text,
    /// The path for local filters.
    pub path: Path,
    /// The value it must equal.
    pub expected: Expected,
}

/// The right side of a condition.
#[derive(Debug)]
pub enum Expected {
    /// `= operand`; a list means any of its elements.
    Equals(Operand),
    /// `in (…)`.
    List(Vec<Operand>),
    /// `in (select …)`.
    Select(Box<Select>),
}

/// The second source of a join.
#[derive(Debug)]
pub struct Join {
    /// How it is read.
    pub scan: Scan,
    /// The equalities between the two sides; empty for a cross product.
    pub keys: Vec<JoinKey>,
}

/// One equality of a join.
#[derive(Debug)]
pub struct JoinKey {
    /// The column of the main scan that holds the main side's value.
    pub main_column: usize,
    /// The key column of the joined scan that holds the other side's values.
    pub joined_column: usize,
    /// The parameter's name on a remote joined side.
    pub joined_name: Text,
}

/// Which source of a select.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Side {
    /// The first source.
    Main,
    /// The second source.
    Joined,
    /// One behind these, by its number counted from 0.
    Further(u32),
}

impl Side {
    /// The source with a number.
    pub fn at(number: usize) -> Self {
        match number {
            0 => Self::Main,
            1 => Self::Joined,
            _ => Self::Further(u32::try_from(number).unwrap_or(u32::MAX)),
        }
    }

    /// Its number.
    #[inline]
    pub fn number(self) -> usize {
        match self {
            Self::Main => 0,
            Self::Joined => 1,
            Self::Further(number) => number as usize,
        }
    }
}

/// How internal rows become values.
#[derive(Debug)]
pub struct Output {
    /// The visible columns, in order; empty for `select *`.
    pub columns: Vec<OutputColumn>,
    /// Rows are objects.
    pub has_aliases: bool,
    /// One unaliased column gives bare values rather than lists of one.
    pub is_flat: bool,
}

/// One visible column.
#[derive(Debug)]
pub struct OutputColumn {
    /// Its name in aliased output.
    pub alias: Option<Text>,
    /// Where the value comes from.
    pub value: OutputValue,
}

/// Where an output value comes from.
#[derive(Debug)]
pub enum OutputValue {
    /// A scan column.
    Column {
        /// Of which half.
        side: Side,
        /// Which column.
        column: usize,
    },
    /// The return value of a function called per row.
    Call(RowCall),
    /// An expression.
    Computed(Program),
}

/// A function called per row.
#[derive(Debug)]
pub struct RowCall {
    /// The function.
    pub callee: Callee,
    /// Its arguments.
    pub arguments: Vec<RowArgument>,
    /// Where it stands, 1-based line.
    pub line: u32,
}

/// An argument of a [`RowCall`].
#[derive(Debug)]
pub enum RowArgument {
    /// A literal; tokens in it are filled once per statement.
    Expression(Expression),
    /// A column of the row, hidden or visible.
    Column {
        /// Of which half.
        side: Side,
        /// Which column.
        column: usize,
    },
    /// A path argument of a function on `select *`: it has no row to be read from.
    Absent,
}
