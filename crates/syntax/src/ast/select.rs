//! `select` and its parts: columns, sources, conditions (GRM-7, SEL-1).

use super::{
    Bound, Call, Delays, Expression, Grouping, Name, Operand, Path, SortKey, Star, Unioned,
};
use crate::source::Span;

/// `select … from … where …`.
#[derive(Debug, Clone, PartialEq)]
pub struct Select {
    /// `distinct`.
    pub is_distinct: bool,
    /// `value`: the one column is the row.
    pub is_value: bool,
    /// The selected columns.
    pub columns: Columns,
    /// One source, or several that are joined.
    pub sources: Vec<Source>,
    /// All of them must hold.
    pub conditions: Vec<Condition>,
    /// `group by …`.
    pub grouping: Option<Grouping>,
    /// `having …`, which only stands behind `group by`.
    pub having: Option<Expression>,
    /// The selects behind `union`. If there are any, the order and what follows belong to the whole.
    pub unions: Vec<Unioned>,
    /// `order by …`; empty without.
    pub order: Vec<SortKey>,
    /// `limit n`.
    pub limit: Option<Bound>,
    /// `offset n`.
    pub offset: Option<Bound>,
    /// `timeout`, `minDelay`, `maxDelay`.
    pub delays: Delays,
    /// From `select` to the end.
    pub span: Span,
}

/// The column list of a select or an insert.
#[derive(Debug, Clone, PartialEq)]
pub enum Columns {
    /// `*`.
    Star(Span),
    /// One or more columns.
    List(Vec<Column>),
}

/// One column, with or without an alias.
#[derive(Debug, Clone, PartialEq)]
pub struct Column {
    /// The path that is read, or the function that is called.
    pub value: ColumnValue,
    /// `as name`; dots in it are literal.
    pub alias: Option<Name>,
    /// From the value to the alias.
    pub span: Span,
}

/// The kinds of columns.
#[derive(Debug, Clone, PartialEq)]
pub enum ColumnValue {
    /// A path into the row.
    Path(Path),
    /// A function called per row.
    Call(Call),
    /// A value computed for each row.
    Expression(Expression),
    /// `*` beside other columns, with an alias before it, or without some members.
    Star(Star),
}

/// Where rows come from, or go to, with or without an alias: a table, a variable, or a list in the rows of
/// an earlier source.
#[derive(Debug, Clone, PartialEq)]
pub struct Source {
    /// The table's or variable's name; empty for a select.
    pub name: Name,
    /// `(select …)` in place of a name.
    pub select: Option<Box<Select>>,
    /// `as name`.
    pub alias: Option<Name>,
    /// What stands before it.
    pub joint: Joint,
    /// `on …`.
    pub on: Option<Expression>,
    /// From the name to the alias.
    pub span: Span,
}

impl Source {
    /// A source that is named and nothing else.
    pub fn named(name: Name, alias: Option<Name>, span: Span) -> Self {
        Self { name, select: None, alias, joint: Joint::Comma, on: None, span }
    }
}

/// How a source follows those before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Joint {
    /// It is the first, or stands behind a comma.
    Comma,
    /// `join`.
    Inner,
    /// `left join`.
    Left,
}

/// One term of a `where` clause.
#[derive(Debug, Clone, PartialEq)]
pub enum Condition {
    /// `path = operand`, or `path in operand` without parentheses; both mean equality.
    Equals {
        /// The left side.
        path: Path,
        /// The right side; a list means "any of".
        operand: Operand,
        /// Written with `in`.
        is_in: bool,
        /// The whole term.
        span: Span,
    },
    /// `path in (operand, …)`.
    InList {
        /// The left side.
        path: Path,
        /// The items.
        items: Vec<Operand>,
        /// The whole term.
        span: Span,
    },
    /// `path in (select …)`.
    InSelect {
        /// The left side.
        path: Path,
        /// The sub-select.
        select: Box<Select>,
        /// The whole term.
        span: Span,
    },
    /// A row function.
    Call(Call),
    /// Any other test of the row.
    Test(Expression),
}

impl Condition {
    /// The left side, if it has one that is a path.
    pub fn path(&self) -> Option<&Path> {
        match self {
            Self::Equals { path, .. } | Self::InList { path, .. } | Self::InSelect { path, .. } => {
                Some(path)
            }
            Self::Call(_) | Self::Test(_) => None,
        }
    }

    /// Where the term stands.
    pub fn span(&self) -> Span {
        match self {
            Self::Equals { span, .. } | Self::InList { span, .. } | Self::InSelect { span, .. } => {
                *span
            }
            Self::Call(call) => call.span,
            Self::Test(expression) => expression.span,
        }
    }
}
