//! The syntax tree: what the text says, still in the names of the language.
//!
//! Every node carries the [`Span`] it was read from. The tree keeps all that a formatter needs to
//! print canonical text and all that the planner needs to resolve names; it holds no resolved name,
//! no value and nothing that depends on a catalog. Printing a tree and parsing the text again gives
//! the same tree apart from spans.
//!
//! Source: GRM-6 to GRM-10.

use crate::source::Span;

mod declaration;
mod expression;
mod group;
mod paging;
mod select;

pub use declaration::{
    BodyTemplate, ColumnParameter, ColumnTest, Create, Expected, FormatClause, FormatOption,
    HTTP_METHODS, NameValue, Oauth2Clause, RouteClause, RouteLimit, RouteStatus, RunLimit, Verb,
    VerbKind,
};
pub use expression::{
    Arithmetic, Bound, Comparison, Direction, Expression, ExpressionKind, Nulls, ObjectMember,
    PatternManner, SelectManner, SortKey, Star, ValueKind,
};
pub use group::{AggregateCall, GroupKeys, Grouping, Unioned};
pub use paging::{PagingClause, PagingManner};
pub use select::{Column, ColumnValue, Columns, Condition, Joint, Select, Source};

/// A whole script: statements, and at most one `return` at the end.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Script {
    /// The top-level items in text order.
    pub items: Vec<Item>,
    /// The `return` clause, if any.
    pub result: Option<Return>,
    /// Comments after the last statement; they document nothing (TXT-18).
    pub trailing: Vec<Comment>,
}

/// One comment, without its markers and without the blanks right after the opening marker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Comment {
    /// The text as written.
    pub text: String,
    /// `/* … */` rather than `-- …`.
    pub is_block: bool,
    /// Where the comment stands, markers included.
    pub span: Span,
}

/// A word used as a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ident {
    /// The word.
    pub text: String,
    /// Where it stands.
    pub span: Span,
}

/// Words joined by dots: table, alias and module names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Name {
    /// The full dotted text.
    pub text: String,
    /// Where it stands.
    pub span: Span,
}

impl Name {
    /// The word before the first dot.
    pub fn first_word(&self) -> &str {
        self.text.split('.').next().unwrap_or_default()
    }
}

/// Raw quoted text (`QStr`): no escapes, tokens kept as written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RawText {
    /// The text between the quotes.
    pub text: String,
    /// Where it stands, quotes included.
    pub span: Span,
}

/// An unsigned whole number of a clause such as `limit`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Count {
    /// The value.
    pub value: u64,
    /// Where it stands.
    pub span: Span,
}

/// Something that stands in a list of statements.
#[derive(Debug, Clone, PartialEq)]
pub enum Item {
    /// A plain statement, with or without a target.
    Statement(Statement),
    /// `if (…) { … } else { … }`.
    If(If),
    /// `try { … } catch (…) { … } finally { … }`.
    Try(Try),
    /// `throw (name)`; only inside the braces of if, try or catch.
    Throw(Throw),
}

/// `[target =] alternative { || alternative }`.
#[derive(Debug, Clone, PartialEq)]
pub struct Statement {
    /// Comments that stand directly before the statement; on `create table` its documentation.
    pub docs: Vec<Comment>,
    /// The variable that is bound.
    pub target: Option<Ident>,
    /// The fallback chain; never empty.
    pub alternatives: Vec<Primary>,
    /// From the target, or the first keyword, to the end.
    pub span: Span,
}

/// One alternative of a right-hand side or of a `return`.
#[derive(Debug, Clone, PartialEq)]
pub enum Primary {
    /// A `select`.
    Select(Box<Select>),
    /// An `insert`.
    Insert(Box<Insert>),
    /// An `update`.
    Update(Box<Update>),
    /// A `delete`.
    Delete(Box<Delete>),
    /// A `create table`.
    Create(Box<Create>),
    /// `show tables`, `show routes`.
    Show(Show),
    /// `describe table`.
    Describe(Describe),
    /// `describe route '…' using method m`.
    DescribeRoute(DescribeRoute),
    /// A JSON literal whose strings may hold tokens.
    Json(Json),
    /// A call of a script function, `require` included.
    Call(Call),
    /// A bare variable name.
    Reference(Ident),
}

impl Primary {
    /// Where the alternative stands.
    pub fn span(&self) -> Span {
        match self {
            Self::Select(node) => node.span,
            Self::Insert(node) => node.span,
            Self::Update(node) => node.span,
            Self::Delete(node) => node.span,
            Self::Create(node) => node.span,
            Self::Show(node) => node.span,
            Self::Describe(node) => node.span,
            Self::DescribeRoute(node) => node.span,
            Self::Json(node) => node.span,
            Self::Call(node) => node.span,
            Self::Reference(node) => node.span,
        }
    }
}

/// A JSON literal.
#[derive(Debug, Clone, PartialEq)]
pub struct Json {
    /// The value.
    pub kind: JsonKind,
    /// Where it stands.
    pub span: Span,
}

/// The kinds of JSON literals.
#[derive(Debug, Clone, PartialEq)]
pub enum JsonKind {
    /// `null`.
    Null,
    /// `true`, `false`.
    Bool(bool),
    /// A number, as valid JSON text: `+5` is `5`, `007` is `7`, `1.` and `1e` are `1`
    /// (TXT-14); otherwise as written.
    Number(String),
    /// Text with its escapes decoded; tokens are kept as written.
    String(String),
    /// An array.
    Array(Vec<Json>),
    /// An object, in source order. A duplicate key has replaced the value of the earlier one.
    Object(Vec<Member>),
}

/// One member of an object literal. Keys are never interpolated.
#[derive(Debug, Clone, PartialEq)]
pub struct Member {
    /// The key with its escapes decoded.
    pub key: String,
    /// Where the key stands.
    pub key_span: Span,
    /// The value.
    pub value: Json,
}

/// A value in a clause: where, in-list, values, headers, defaults.
#[derive(Debug, Clone, PartialEq)]
pub struct Operand {
    /// The value.
    pub kind: OperandKind,
    /// Where it stands.
    pub span: Span,
}

/// The kinds of operands (GRM-7, SEL-17).
#[derive(Debug, Clone, PartialEq)]
pub enum OperandKind {
    /// Quoted text, tokens kept as written.
    Text(String),
    /// A number, as valid JSON text.
    Number(String),
    /// `true`, `false`.
    Bool(bool),
    /// `null`.
    Null,
    /// A bareword: a variable if there is one, a join column, else the text itself.
    Path(Path),
    /// `{=name}` or `{^name}` without quotes, here without its braces (EXP-5).
    Token(String),
}

/// A `JSONPath` as it can be written in clauses, kept as segments so that a quoted part may hold
/// dots (PTH-2).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Path {
    /// The steps in order; never empty.
    pub segments: Vec<Segment>,
    /// Where it stands.
    pub span: Span,
}

/// One step of a [`Path`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Segment {
    /// `name`, `'quoted name'` at the start, or `['name']`. A quoted first segment may hold tokens.
    Member {
        /// The member's name without quotes.
        name: String,
        /// It was quoted, so dots inside are part of the name.
        is_quoted: bool,
    },
    /// `..name`: at any depth.
    Descendant(String),
    /// `[n]`.
    Index(u64),
    /// `[*]`.
    Wildcard,
    /// `[start:end:step]`; a missing part is `None`.
    Slice {
        /// First index; negative counts from the end.
        start: Option<i64>,
        /// Index after the last; negative counts from the end.
        end: Option<i64>,
        /// Step width.
        step: Option<i64>,
    },
    /// `[?("expression")]`, the expression without its quotes.
    Filter(String),
    /// `[("expression")]`, the expression without its quotes.
    Computed(String),
}

/// `timeout n minDelay n maxDelay n deadline n`, in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Delays {
    /// Idle time allowed per request.
    pub timeout: Option<Count>,
    /// Shortest back-off.
    pub min_delay: Option<Count>,
    /// Longest back-off.
    pub max_delay: Option<Count>,
    /// Overall limit for the statement, retries included (UPS-8).
    pub deadline: Option<Count>,
}

/// `insert …`. All parts are optional in the tree; a check refuses combinations that mean nothing.
#[derive(Debug, Clone, PartialEq)]
pub struct Insert {
    /// `insert "{object}" into …`.
    pub object: Option<RawText>,
    /// Where to.
    pub target: Source,
    /// `(a, b)`.
    pub columns: Option<Columns>,
    /// `values (…)`. Without columns and with one value: the opaque form.
    pub values: Option<Vec<Operand>>,
    /// `with parts "{req.parts[0]}", …`.
    pub parts: Vec<RawText>,
    /// Bounds.
    pub delays: Delays,
    /// From `insert` to the end.
    pub span: Span,
}

/// `update table with "{object}"`.
#[derive(Debug, Clone, PartialEq)]
pub struct Update {
    /// The table or variable that is updated.
    pub target: Source,
    /// The token naming the object.
    pub object: RawText,
    /// `with parts …`.
    pub parts: Vec<RawText>,
    /// Bounds.
    pub delays: Delays,
    /// From `update` to the end.
    pub span: Span,
}

/// `delete from table where …`.
#[derive(Debug, Clone, PartialEq)]
pub struct Delete {
    /// Where from.
    pub target: Source,
    /// All of them must hold.
    pub conditions: Vec<Condition>,
    /// Bounds.
    pub delays: Delays,
    /// From `delete` to the end.
    pub span: Span,
}

/// `show tables` or `show routes`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Show {
    /// Routes rather than tables.
    pub is_routes: bool,
    /// The statement.
    pub span: Span,
}

/// `describe name`.
#[derive(Debug, Clone, PartialEq)]
pub struct Describe {
    /// The table.
    pub source: Source,
    /// The statement.
    pub span: Span,
}

/// `describe route 'path' using method m`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DescribeRoute {
    /// The route's full template.
    pub path: RawText,
    /// The method.
    pub method: Ident,
    /// The statement.
    pub span: Span,
}

/// `name(arg, …)`.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    /// The function; `module.function`, or `require`.
    pub callee: Name,
    /// The arguments.
    pub args: Vec<Arg>,
    /// The call.
    pub span: Span,
}

/// One argument of a [`Call`].
#[derive(Debug, Clone, PartialEq)]
pub enum Arg {
    /// A literal.
    Json(Json),
    /// A variable, or a column in row functions.
    Path(Path),
}

/// `if (condition) { … } else { … }`; `else if` is an `else` block with one `if` in it.
#[derive(Debug, Clone, PartialEq)]
pub struct If {
    /// Comments directly before it at the top level; they document nothing, but are kept.
    pub docs: Vec<Comment>,
    /// The condition.
    pub condition: Logic,
    /// The block taken when it is true.
    pub then: Vec<Item>,
    /// The block taken when it is false.
    pub otherwise: Option<Vec<Item>>,
    /// From `if` to the last brace.
    pub span: Span,
}

/// `try { … } catch (…) { … } finally { … }`.
#[derive(Debug, Clone, PartialEq)]
pub struct Try {
    /// Comments directly before it at the top level; they document nothing, but are kept.
    pub docs: Vec<Comment>,
    /// The body; never empty.
    pub body: Vec<Item>,
    /// The catches; never empty.
    pub catches: Vec<Catch>,
    /// The `finally` block; never empty when present.
    pub finally: Option<Vec<Item>>,
    /// From `try` to the last brace.
    pub span: Span,
}

/// `catch (condition) { … }`.
#[derive(Debug, Clone, PartialEq)]
pub struct Catch {
    /// The condition.
    pub condition: Logic,
    /// The block.
    pub body: Vec<Item>,
    /// From `catch` to the brace.
    pub span: Span,
}

/// `throw (name)`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Throw {
    /// Comments directly before it at the top level; they document nothing, but are kept.
    pub docs: Vec<Comment>,
    /// The name that is raised.
    pub name: Ident,
    /// From `throw` to the closing parenthesis.
    pub span: Span,
}

/// A condition of `if` and `catch`: `!` binds tightest, then `&&`, then `||`.
#[derive(Debug, Clone, PartialEq)]
pub enum Logic {
    /// `a || b`.
    Or(Box<Logic>, Box<Logic>),
    /// `a && b`.
    And(Box<Logic>, Box<Logic>),
    /// `!a`.
    Not(Box<Logic>),
    /// A variable, or a path into one.
    Name(Path),
}

/// `return alternative { || alternative } [via route …]`.
#[derive(Debug, Clone, PartialEq)]
pub struct Return {
    /// Comments directly before; on a route its documentation.
    pub docs: Vec<Comment>,
    /// The fallback chain; never empty.
    pub alternatives: Vec<Primary>,
    /// `via route …`.
    pub route: Option<RouteClause>,
    /// `assert calls <= n` (RET-15).
    pub calls_max: Option<Count>,
    /// From `return` to the end.
    pub span: Span,
}
