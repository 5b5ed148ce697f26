//! Which tests of a select its table can be asked for (TAB-25).
//!
//! In: the conditions that outermost `and`s join, and the columns that the table declares. Out: the parameters
//! they bind, each with the value it gets. The tests stay: an API may send more than it was asked for, and its
//! rows are tested again.

use qlio_data::Text;
use qlio_syntax::{
    ast::{self, ColumnTest, Comparison, Expression, ExpressionKind},
    source::Span,
};

use super::{
    super::{condition::strip_alias, path_text},
    Compiler,
};
use crate::{
    catalog::ColumnParameter,
    operator::{Operation, Pushed, PushedValue},
};

/// A test that binds a parameter.
pub(in crate::lower) struct Push<'s> {
    /// The parameter.
    parameter: Text,
    /// What the condition is called as a parameter of the old form, where it has that form.
    name: Option<Text>,
    value: PushSource<'s>,
}

/// Where the value of a parameter stands.
enum PushSource<'s> {
    /// It is what this condition expects.
    Condition(&'s ast::Path),
    /// It is this expression.
    Expression(&'s Expression),
    /// It is a list of these.
    List(&'s [Expression]),
}

impl Push<'_> {
    /// The names of the parameters that it gives a value.
    pub(in crate::lower) fn names(&self) -> impl Iterator<Item = &str> {
        std::iter::once(&*self.parameter).chain(self.name.as_deref())
    }
}

/// Whether a condition of the old form is one on a declared column: then it tests the row as well.
pub(in crate::lower) fn is_declared(
    condition: &ast::Condition,
    columns: &[ColumnParameter],
    alias: Option<&str>,
) -> bool {
    let Some(path) = condition.path() else { return false };
    find(columns, path, alias, &[ColumnTest::Equals]).is_some()
}

/// The parameters that conditions bind; of several tests for one parameter the first.
pub(in crate::lower) fn pushes<'s>(
    conditions: &[&'s ast::Condition],
    columns: &[ColumnParameter],
    alias: Option<&str>,
) -> Vec<Push<'s>> {
    let mut found = Found { columns, alias, pushes: Vec::new() };
    for condition in conditions {
        match condition {
            ast::Condition::Test(test) => found.test(test),
            ast::Condition::Call(_) => {}
            ast::Condition::Equals { path, .. }
            | ast::Condition::InList { path, .. }
            | ast::Condition::InSelect { path, .. } => found.condition(path),
        }
    }
    found.pushes
}

struct Found<'a, 's> {
    columns: &'a [ColumnParameter],
    alias: Option<&'a str>,
    pushes: Vec<Push<'s>>,
}

impl<'s> Found<'_, 's> {
    fn condition(&mut self, path: &'s ast::Path) {
        let name = path_text(&strip_alias(path, self.alias));
        self.add(path, &[ColumnTest::Equals], PushSource::Condition(path), Some(name.into()));
    }

    fn test(&mut self, test: &'s Expression) {
        match &test.kind {
            ExpressionKind::Group(inner) => self.test(inner),
            ExpressionKind::Condition(condition) => {
                if let Some(path) = condition.path() {
                    self.condition(path);
                }
            }
            ExpressionKind::Compare { left, comparison, right } => {
                self.bind(left, served(*comparison), right);
                self.bind(right, served(mirrored(*comparison)), left);
            }
            ExpressionKind::Between { value, low, high } => {
                self.bind(value, served(Comparison::GreaterOrEqual), low);
                self.bind(value, served(Comparison::LessOrEqual), high);
            }
            ExpressionKind::Like { value, manner: ast::PatternManner::Like, pattern } => {
                self.bind(value, &[ColumnTest::Like], pattern);
            }
            ExpressionKind::In { value, items, .. } => {
                if let ExpressionKind::Path(path) = &value.kind
                    && items.iter().all(is_constant)
                {
                    self.add(path, &[ColumnTest::Equals], PushSource::List(items), None);
                }
            }
            _ => {}
        }
    }

    fn bind(&mut self, column: &'s Expression, tests: &[ColumnTest], value: &'s Expression) {
        if let ExpressionKind::Path(path) = &column.kind
            && is_constant(value)
        {
            self.add(path, tests, PushSource::Expression(value), None);
        }
    }

    fn add(
        &mut self,
        path: &ast::Path,
        tests: &[ColumnTest],
        value: PushSource<'s>,
        name: Option<Text>,
    ) {
        let Some(column) = find(self.columns, path, self.alias, tests) else { return };
        let parameter = column.parameter.clone();
        if !self.pushes.iter().any(|push| push.parameter == parameter) {
            self.pushes.push(Push { parameter, name, value });
        }
    }
}

/// The declared column of a path for one of these tests, the best first.
fn find<'c>(
    columns: &'c [ColumnParameter],
    path: &ast::Path,
    alias: Option<&str>,
    tests: &[ColumnTest],
) -> Option<&'c ColumnParameter> {
    if columns.is_empty() {
        return None;
    }
    let name = path_text(&strip_alias(path, alias));
    tests.iter().find_map(|test| {
        columns.iter().find(|column| column.test == *test && *column.column == *name)
    })
}

/// The declared tests that let through whatever passes a comparison.
fn served(comparison: Comparison) -> &'static [ColumnTest] {
    match comparison {
        Comparison::Equals | Comparison::Same => &[ColumnTest::Equals],
        Comparison::Less => &[ColumnTest::Less, ColumnTest::LessOrEqual],
        Comparison::LessOrEqual => &[ColumnTest::LessOrEqual],
        Comparison::Greater => &[ColumnTest::Greater, ColumnTest::GreaterOrEqual],
        Comparison::GreaterOrEqual => &[ColumnTest::GreaterOrEqual],
        Comparison::Differs => &[],
    }
}

/// The comparison with its sides exchanged.
fn mirrored(comparison: Comparison) -> Comparison {
    match comparison {
        Comparison::Less => Comparison::Greater,
        Comparison::LessOrEqual => Comparison::GreaterOrEqual,
        Comparison::Greater => Comparison::Less,
        Comparison::GreaterOrEqual => Comparison::LessOrEqual,
        other => other,
    }
}

/// Whether an expression reads nothing of a row. Nothing here recurses deeper than the tree, which the parser
/// bounds.
fn is_constant(expression: &Expression) -> bool {
    match &expression.kind {
        ExpressionKind::Null
        | ExpressionKind::Bool(_)
        | ExpressionKind::Number(_)
        | ExpressionKind::Text { .. }
        | ExpressionKind::Token(_)
        | ExpressionKind::Word(_) => true,
        ExpressionKind::Negative(inner) | ExpressionKind::Group(inner) => is_constant(inner),
        ExpressionKind::Chain { first, rest } => {
            is_constant(first) && rest.iter().all(|(_, operand)| is_constant(operand))
        }
        // Another one for each row.
        ExpressionKind::Function { name: "uuid", .. } => false,
        ExpressionKind::Function { arguments, .. } => arguments.iter().all(is_constant),
        ExpressionKind::List(items) => items.iter().all(is_constant),
        _ => false,
    }
}

impl Compiler<'_, '_, '_, '_> {
    /// The parameters with their values, behind the tests that they come from: what is wrong with these has
    /// been reported.
    pub(in crate::lower) fn pushed(&mut self, pushes: &[Push<'_>]) -> Vec<Pushed> {
        let problems = self.lowering.problems.len();
        let mut pushed = Vec::with_capacity(pushes.len());
        for push in pushes {
            let value = match &push.value {
                PushSource::Condition(path) => self.given_of(path.span).map(PushedValue::Condition),
                PushSource::Expression(value) => self.row_free(|compiler| compiler.emit(value)),
                PushSource::List(items) => self.row_free(|compiler| {
                    for item in *items {
                        compiler.emit(item);
                    }
                    compiler.operations.push(Operation::List(items.len()));
                }),
            };
            if let Some(value) = value {
                let (parameter, name) = (push.parameter.clone(), push.name.clone());
                pushed.push(Pushed { parameter, name, value });
            }
        }
        self.lowering.problems.truncate(problems);
        pushed
    }

    /// The given that a condition with this path expects.
    fn given_of(&self, path: Span) -> Option<usize> {
        self.expected.iter().find(|(span, _)| *span == path).map(|(_, given)| *given)
    }

    /// A program that reads nothing of a row; `None` if it would.
    fn row_free(&mut self, emit: impl FnOnce(&mut Self)) -> Option<PushedValue> {
        emit(self);
        let program = self.finish();
        let reads_row = program.operations.iter().any(|operation| {
            matches!(operation, Operation::Column(..) | Operation::Matches { .. })
        });
        (!reads_row).then_some(PushedValue::Program(program))
    }
}
