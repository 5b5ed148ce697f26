//! Expressions over rows, compiled: a list of operations on a stack (ADR 0028).
//!
//! Names are columns or values that the statement computes once, constants are folded, and what stops
//! early is a jump. Whoever runs a program needs the cells of a row, the values that are the same for
//! all rows, and a stack.

use qlio_data::{
    Text, Value,
    compute::{
        ComputeError, Kind,
        function::Function,
        number,
        pattern::{Pattern, PatternError},
        test, text,
    },
};

use super::{Expected, Grouping, NestedManner, Operand, Select, Side};

/// An expression for the rows of one select.
#[derive(Debug)]
pub struct Program {
    /// What to do, in order; at the end one value is on the stack.
    pub operations: Vec<Operation>,
    /// What errors say of operations that can fail.
    pub places: Vec<Place>,
}

/// Where an operation that can fail stands.
#[derive(Debug)]
pub struct Place {
    /// The operation as written.
    pub text: Text,
    /// Its operands as written.
    pub operands: Vec<Text>,
    /// 1-based line.
    pub line: u32,
}

/// One step of a [`Program`]. Operands are taken from the stack, the last one first, and the result is put
/// there.
#[derive(Debug, Clone)]
pub enum Operation {
    /// A value.
    Constant(Value),
    /// A value that the statement has computed, by its place among [`super::Steps::givens`].
    Given(usize),
    /// A cell of the row.
    Column(Side, usize),
    /// Whether a key column of the row has one of the values that a given expects.
    Matches {
        /// Of which half.
        side: Side,
        /// The key column.
        column: usize,
        /// The given.
        given: usize,
    },
    /// Whether the value, or an element of it, is one that a given expects.
    Expected(usize),
    /// True or false, as the value is truthy (VAL-3).
    Truth,
    /// The opposite of its truth.
    Not,
    /// A computation of two values; the number is its place.
    Compute(Calculation, usize),
    /// What a function gives for the last values.
    Call {
        /// The function.
        function: &'static Function,
        /// How many arguments it is given.
        arguments: usize,
        /// Its place.
        place: usize,
    },
    /// From here to the next [`Operation::Unguard`] of the same depth, what cannot be computed is null,
    /// and the program goes on at an operation behind it.
    Guard(usize),
    /// The end of what is guarded.
    Unguard,
    /// The negative of a number; the number is its place.
    Negate(usize),
    /// Loosely equal, or some element of the one and some of the other.
    Equals,
    /// The same, but null equals nothing.
    Meets,
    /// Less, greater and so on.
    Compare(test::Comparison),
    /// Whether the value below this many others equals one of them.
    In(usize),
    /// Whether the third value from above lies between the others.
    Between,
    /// Whether the text fits a pattern.
    Like(Box<Pattern>),
    /// Whether the text fits the pattern above it, which is compiled for each row.
    LikeDynamic(PatternManner, usize),
    /// Whether the value is of a kind.
    Is(Kind),
    /// Goes on at an operation.
    Jump(usize),
    /// Takes a value and goes on at an operation if it is falsy.
    JumpIfFalse(usize),
    /// Takes a value and goes on at an operation if it is truthy.
    JumpIfTrue(usize),
    /// Puts the upper value there once more.
    Copy,
    /// Drops the upper value.
    Drop,
    /// An object of the last values, which have these names; absent ones are left out.
    Object(Box<[MemberName]>),
    /// A list of so many values.
    List(usize),
}

/// A member of an object that is made for each row.
#[derive(Debug, Clone)]
pub enum MemberName {
    /// It has this name.
    Named(Text),
    /// The value is an object whose members are taken over, but for these.
    Members(Box<[Text]>),
}

/// What is computed of two values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Calculation {
    /// `+`.
    Add,
    /// `-`.
    Subtract,
    /// `*`.
    Multiply,
    /// `/`.
    Divide,
    /// `%`.
    Remainder,
    /// `&`.
    Concatenate,
}

/// How a pattern that is known only at run time is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PatternManner {
    /// `like`.
    Like,
    /// `ilike`.
    LikeAnyCase,
    /// `matches`.
    Matches,
}

impl PatternManner {
    /// Compiles a pattern.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn compile(self, pattern: &str) -> Result<Pattern, PatternError> {
        match self {
            Self::Like => Pattern::like(pattern),
            Self::LikeAnyCase => Pattern::like_in_any_case(pattern),
            Self::Matches => Pattern::regex(pattern),
        }
    }
}

/// A value that is the same for all rows of a statement.
#[derive(Debug)]
pub enum Given {
    /// A token, a template, a word.
    Value(Operand),
    /// What a condition expects.
    Condition(Expected),
    /// What a select gives that does not depend on the row.
    Select(Box<Select>, NestedManner),
}

/// What is done with the rows of a select beyond reading and showing columns.
#[derive(Debug)]
pub struct Steps {
    /// Values that are computed once, before the rows.
    pub givens: Vec<Given>,
    /// Parameters that tests give the table; empty for other sources.
    pub pushed: Vec<Pushed>,
    /// The tests of [`Self::filter`] as written, to explain them.
    pub tests: Vec<Text>,
    /// Rows are kept if it is truthy.
    pub filter: Option<Program>,
    /// Rows become groups; what follows is done with these.
    pub grouping: Option<Box<Grouping>>,
    /// What rows are ordered by, the weightiest first.
    pub order: Vec<SortKey>,
    /// Rows that show the same are shown once.
    pub is_distinct: bool,
    /// `limit`, unless whoever reads the source can do it.
    pub limit: Option<Bound>,
    /// `offset`.
    pub offset: Option<Bound>,
}

/// A parameter that a test on a declared column gives its table (TAB-25).
#[derive(Debug)]
pub struct Pushed {
    /// The parameter.
    pub parameter: Text,
    /// The column, where the condition is a parameter of that name as well.
    pub name: Option<Text>,
    /// Its value.
    pub value: PushedValue,
}

/// The value of a [`Pushed`] parameter.
#[derive(Debug)]
pub enum PushedValue {
    /// What a condition expects, by its place among [`Steps::givens`].
    Condition(usize),
    /// What a program computes that reads nothing of a row.
    Program(Program),
}

/// A key of an order.
#[derive(Debug)]
pub struct SortKey {
    /// Its value.
    pub program: Program,
    /// The greatest first.
    pub is_descending: bool,
    /// Rows without a value come first.
    pub are_nulls_first: bool,
}

/// How many rows are kept or left out.
#[derive(Debug)]
pub enum Bound {
    /// A number.
    Count(u64),
    /// A value that must be one.
    Given {
        /// The token, as written.
        name: Text,
        /// Its value.
        value: Operand,
    },
}

impl Calculation {
    /// The result; null for null.
    ///
    /// # Errors
    /// An operand of the wrong kind, or a result out of range.
    pub fn of(self, left: &Value, right: &Value) -> Result<Value, ComputeError> {
        match self {
            Self::Add => number::add(left, right),
            Self::Subtract => number::subtract(left, right),
            Self::Multiply => number::multiply(left, right),
            Self::Divide => number::divide(left, right),
            Self::Remainder => number::remainder(left, right),
            Self::Concatenate => text::join(left, right),
        }
    }
}
