//! Expressions over the rows of a select: what a condition tests, what a column shows, what rows are
//! ordered by.
//!
//! Chains of one operator are lists and not trees, so that a tree is only as deep as its text nests.
//!
//! Source: EXP-1 to EXP-22.

use super::{AggregateCall, Condition, Ident, Path, Select};
use crate::source::Span;

/// A value that is computed for each row.
#[derive(Debug, Clone, PartialEq)]
pub struct Expression {
    /// What it is.
    pub kind: ExpressionKind,
    /// Where it stands.
    pub span: Span,
}

/// The kinds of expressions.
#[derive(Debug, Clone, PartialEq)]
pub enum ExpressionKind {
    /// `null`.
    Null,
    /// `true`, `false`.
    Bool(bool),
    /// A number, as valid JSON text.
    Number(String),
    /// Quoted text, tokens kept as written.
    Text {
        /// The text.
        text: String,
        /// It stands in brackets, where texts have the escapes of JSON (TXT-11).
        is_json: bool,
    },
    /// `{=name}` or `{^name}`, without its braces: a value of the script that keeps its type.
    Token(String),
    /// A column of the row.
    Path(Path),
    /// A bare word to the right of `=` in `where`: a variable, else the word as text (SEL-17).
    Word(Ident),
    /// A condition in the form that also gives a table its parameters.
    Condition(Box<Condition>),
    /// `not x`, or `x not in …` and the like.
    Not {
        /// What must not hold.
        inner: Box<Expression>,
        /// The word stands behind the left side of the test.
        is_infix: bool,
    },
    /// `a and b and c`.
    All(Vec<Expression>),
    /// `a or b or c`.
    Any(Vec<Expression>),
    /// `-x`.
    Negative(Box<Expression>),
    /// `a + b - c`, `a * b / c`: operators of one rank, from left to right.
    Chain {
        /// The first operand.
        first: Box<Expression>,
        /// The others, each with the operator before it; never empty.
        rest: Vec<(Arithmetic, Expression)>,
    },
    /// `a < b`.
    Compare {
        /// The left side.
        left: Box<Expression>,
        /// The operator.
        comparison: Comparison,
        /// The right side.
        right: Box<Expression>,
    },
    /// `x in (a, b)`.
    In {
        /// The value.
        value: Box<Expression>,
        /// What it may be; never empty.
        items: Vec<Expression>,
        /// One value without parentheses: `x in y`.
        is_bare: bool,
    },
    /// `x between low and high`.
    Between {
        /// The value.
        value: Box<Expression>,
        /// The least that holds.
        low: Box<Expression>,
        /// The most that holds.
        high: Box<Expression>,
    },
    /// `x like 'a%'`.
    Like {
        /// The text.
        value: Box<Expression>,
        /// How the pattern is read.
        manner: PatternManner,
        /// The pattern.
        pattern: Box<Expression>,
    },
    /// `x is null`.
    Is {
        /// The value.
        value: Box<Expression>,
        /// What it must be.
        kind: ValueKind,
    },
    /// `case x when a then b else c end`.
    Case {
        /// What the branches are compared with; without it they are conditions.
        subject: Option<Box<Expression>>,
        /// Each `when` with its `then`; never empty.
        branches: Vec<(Expression, Expression)>,
        /// `else`.
        otherwise: Option<Box<Expression>>,
    },
    /// `{a: x, b}`.
    Object(Vec<ObjectMember>),
    /// `[a, b]`.
    List(Vec<Expression>),
    /// `(select …)`, `[select …]`, `exists (select …)`.
    Select {
        /// The select.
        select: Box<Select>,
        /// What its rows give.
        manner: SelectManner,
    },
    /// `x in (select …)`, where `x` is more than a column.
    InSelect {
        /// The value.
        value: Box<Expression>,
        /// The select whose rows it may be.
        select: Box<Select>,
    },
    /// `lower(x)`: a built-in function (FUN-1).
    Function {
        /// Its name, one of [`crate::functions::FUNCTION_NAMES`].
        name: &'static str,
        /// Where the name stands.
        span: Span,
        /// The arguments.
        arguments: Vec<Expression>,
    },
    /// `sum(x)`: a value of all rows of a group.
    Aggregate(Box<AggregateCall>),
    /// `(x)`.
    Group(Box<Expression>),
}

/// What the rows of a select give where it is a value (SUB-1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SelectManner {
    /// The one row; null if there is none.
    One,
    /// A list of all rows.
    List,
    /// Whether there is a row.
    Exists,
}

/// A member of an object that is made for each row.
#[derive(Debug, Clone, PartialEq)]
pub enum ObjectMember {
    /// `key: value`.
    Named {
        /// The key.
        key: String,
        /// It is quoted, with the escapes of JSON.
        is_quoted: bool,
        /// Where the key stands.
        span: Span,
        /// The value.
        value: Expression,
    },
    /// A path alone: its last name is the key.
    Path(Path),
    /// `*`: all members of the row.
    Star(Star),
}

impl ObjectMember {
    /// Where it begins.
    pub fn start(&self) -> u32 {
        match self {
            Self::Named { span, .. } => span.start,
            Self::Path(path) => path.span.start,
            Self::Star(star) => star.span.start,
        }
    }
}

/// `*`, `o.*`, `* exclude (a, b)`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Star {
    /// The alias before it.
    pub alias: Option<Ident>,
    /// The members that are left out.
    pub excluded: Vec<Ident>,
    /// Where it stands.
    pub span: Span,
}

/// Operators between values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Arithmetic {
    /// `+`.
    Add,
    /// `-`.
    Subtract,
    /// `&`.
    Concatenate,
    /// `*`.
    Multiply,
    /// `/`.
    Divide,
    /// `%`.
    Remainder,
}

impl Arithmetic {
    /// The operator as written.
    pub fn symbol(self) -> &'static str {
        match self {
            Self::Add => "+",
            Self::Subtract => "-",
            Self::Concatenate => "&",
            Self::Multiply => "*",
            Self::Divide => "/",
            Self::Remainder => "%",
        }
    }
}

/// Operators that compare two values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Comparison {
    /// `=`, where its sides are more than a path and a value.
    Equals,
    /// `==`.
    Same,
    /// `!=`, `<>`.
    Differs,
    /// `<`.
    Less,
    /// `<=`.
    LessOrEqual,
    /// `>`.
    Greater,
    /// `>=`.
    GreaterOrEqual,
}

impl Comparison {
    /// The operator as the formatter writes it.
    pub fn symbol(self) -> &'static str {
        match self {
            Self::Equals => "=",
            Self::Same => "==",
            Self::Differs => "!=",
            Self::Less => "<",
            Self::LessOrEqual => "<=",
            Self::Greater => ">",
            Self::GreaterOrEqual => ">=",
        }
    }
}

/// How the pattern of a test is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PatternManner {
    /// `%` and `_` stand for any characters and any one.
    Like,
    /// The same, whatever the case of letters.
    LikeAnyCase,
    /// A regular expression, found anywhere.
    Matches,
}

impl PatternManner {
    /// The word that asks for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Like => "like",
            Self::LikeAnyCase => "ilike",
            Self::Matches => "matches",
        }
    }
}

/// What `is` asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ValueKind {
    /// Null or absent.
    Null,
    /// Absent.
    Missing,
    /// Text.
    Text,
    /// A number.
    Number,
    /// True or false.
    Boolean,
    /// A list.
    List,
    /// An object.
    Object,
}

impl ValueKind {
    /// All kinds, in the order messages list them.
    pub const ALL: [Self; 7] = [
        Self::Null,
        Self::Missing,
        Self::Text,
        Self::Number,
        Self::Boolean,
        Self::List,
        Self::Object,
    ];

    /// The word behind `is`.
    pub fn word(self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Missing => "missing",
            Self::Text => "text",
            Self::Number => "number",
            Self::Boolean => "boolean",
            Self::List => "list",
            Self::Object => "object",
        }
    }
}

/// One key of `order by`.
#[derive(Debug, Clone, PartialEq)]
pub struct SortKey {
    /// What rows are ordered by.
    pub value: Expression,
    /// `asc` or `desc`, if it is written.
    pub direction: Option<Direction>,
    /// `nulls first` or `nulls last`, if it is written.
    pub nulls: Option<Nulls>,
    /// From the value to the last word.
    pub span: Span,
}

/// The direction of an order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// `asc`: the least first.
    Ascending,
    /// `desc`: the greatest first.
    Descending,
}

/// The place of rows whose key is null or absent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Nulls {
    /// Before all others.
    First,
    /// Behind all others.
    Last,
}

/// How many rows are kept or left out.
#[derive(Debug, Clone, PartialEq)]
pub enum Bound {
    /// Digits.
    Count(super::Count),
    /// A token, filled when the statement runs.
    Token {
        /// Without its braces.
        text: String,
        /// Where it stands.
        span: Span,
    },
}

impl Bound {
    /// Where it stands.
    pub fn span(&self) -> Span {
        match self {
            Self::Count(count) => count.span,
            Self::Token { span, .. } => *span,
        }
    }

    /// The number, if it is written down.
    pub fn count(&self) -> Option<u64> {
        match self {
            Self::Count(count) => Some(count.value),
            Self::Token { .. } => None,
        }
    }
}

impl Expression {
    /// Calls `visit` with every expression directly inside this one.
    pub fn each_child<'e>(&'e self, visit: &mut dyn FnMut(&'e Self)) {
        match &self.kind {
            ExpressionKind::Null
            | ExpressionKind::Bool(_)
            | ExpressionKind::Number(_)
            | ExpressionKind::Text { .. }
            | ExpressionKind::Token(_)
            | ExpressionKind::Path(_)
            | ExpressionKind::Word(_)
            | ExpressionKind::Condition(_)
            | ExpressionKind::Select { .. } => {}
            ExpressionKind::Not { inner, .. }
            | ExpressionKind::Negative(inner)
            | ExpressionKind::Is { value: inner, .. }
            | ExpressionKind::InSelect { value: inner, .. }
            | ExpressionKind::Group(inner) => visit(inner),
            ExpressionKind::All(items)
            | ExpressionKind::Any(items)
            | ExpressionKind::Function { arguments: items, .. }
            | ExpressionKind::List(items) => {
                items.iter().for_each(visit);
            }
            ExpressionKind::Aggregate(call) => call.each_child(visit),
            ExpressionKind::Chain { first, rest } => {
                visit(first);
                for (_, operand) in rest {
                    visit(operand);
                }
            }
            ExpressionKind::Compare { left, right, .. }
            | ExpressionKind::Like { value: left, pattern: right, .. } => {
                visit(left);
                visit(right);
            }
            ExpressionKind::In { value, items, .. } => {
                visit(value);
                items.iter().for_each(visit);
            }
            ExpressionKind::Between { value, low, high } => {
                visit(value);
                visit(low);
                visit(high);
            }
            ExpressionKind::Case { subject, branches, otherwise } => {
                if let Some(subject) = subject {
                    visit(subject);
                }
                for (when, then) in branches {
                    visit(when);
                    visit(then);
                }
                if let Some(otherwise) = otherwise {
                    visit(otherwise);
                }
            }
            ExpressionKind::Object(members) => {
                for member in members {
                    if let ObjectMember::Named { value, .. } = member {
                        visit(value);
                    }
                }
            }
        }
    }

    /// Whether an aggregate of the rows around stands in it, at whatever depth.
    pub fn has_aggregate(&self) -> bool {
        let mut has = matches!(self.kind, ExpressionKind::Aggregate(_));
        self.each_child(&mut |child| has = has || child.has_aggregate());
        has
    }

    /// The sub-selects that stand in it, in text order.
    pub fn each_select<'e>(&'e self, visit: &mut dyn FnMut(&'e Select)) {
        match &self.kind {
            ExpressionKind::Condition(condition) => {
                if let Condition::InSelect { select, .. } = &**condition {
                    visit(select);
                }
            }
            ExpressionKind::Select { select, .. } | ExpressionKind::InSelect { select, .. } => {
                visit(select);
            }
            _ => {}
        }
        self.each_child(&mut |child| child.each_select(visit));
    }
}
