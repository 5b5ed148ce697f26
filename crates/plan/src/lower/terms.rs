//! What `where` and `on` ask of the sources of a select, term by term: which sources each needs.

use qlio_syntax::ast::{self, Comparison, Condition, Expression, ExpressionKind, OperandKind};

use super::{Lowering, mentions};
use crate::operator::NullKeys;

/// A term that joins or tests.
pub(super) struct Term {
    /// As it is written.
    pub(super) condition: Condition,
    /// The two sides, if it says that they are equal.
    pub(super) equality: Option<Equality>,
    /// The sources whose rows it looks at.
    pub(super) sources: Vec<usize>,
    /// It has a select inside.
    pub(super) has_select: bool,
    /// It belongs to the `on` of this left join.
    pub(super) of_left: Option<usize>,
    /// A table answers it.
    pub(super) is_answered: bool,
    pub(super) is_done: bool,
}

/// Two values that are compared for equality.
pub(super) struct Equality {
    pub(super) sides: [SideOfEquality; 2],
    /// Written with `=`: it gives parameters of tables their values.
    pub(super) asks: bool,
    pub(super) nulls: NullKeys,
}

/// One of two values that are compared.
pub(super) struct SideOfEquality {
    pub(super) value: Expression,
    pub(super) sources: Vec<usize>,
    /// It looks at a row around.
    pub(super) is_around: bool,
}

impl SideOfEquality {
    /// The column of the source, if the value is one.
    pub(super) fn column_of(&self, source: usize) -> Option<&ast::Path> {
        match &self.value.kind {
            ExpressionKind::Path(path) if self.sources == [source] => Some(path),
            _ => None,
        }
    }
}

/// The terms that `and` joins, outermost.
pub(super) fn split(expression: &Expression) -> Vec<Condition> {
    let as_condition = |expression: &Expression| match &expression.kind {
        ExpressionKind::Condition(condition) => (**condition).clone(),
        _ => Condition::Test(expression.clone()),
    };
    match &expression.kind {
        ExpressionKind::All(items) => items.iter().map(as_condition).collect(),
        _ => vec![as_condition(expression)],
    }
}

impl Lowering<'_> {
    /// A term of `where`, or of `on`, which null never meets.
    pub(super) fn term(&self, condition: &Condition, is_on: bool, of_left: Option<usize>) -> Term {
        let sources = self.sources_of(|found| mentions::of_condition(condition, found));
        let has_select = match condition {
            Condition::Test(test) => mentions::has_select(test),
            Condition::InSelect { .. } => true,
            _ => false,
        };
        let equality = if has_select { None } else { self.equality(condition, is_on) };
        Term {
            condition: condition.clone(),
            equality,
            sources,
            has_select,
            of_left,
            is_answered: false,
            is_done: false,
        }
    }

    fn equality(&self, condition: &Condition, is_on: bool) -> Option<Equality> {
        let (left, right, asks) = match condition {
            Condition::Equals { path, operand, .. } => {
                let OperandKind::Path(right) = &operand.kind else { return None };
                if !self.is_visible(right) {
                    return None;
                }
                (of_path(path), of_path(right), true)
            }
            Condition::Test(Expression {
                kind: ExpressionKind::Compare { left, comparison, right },
                ..
            }) => match comparison {
                Comparison::Equals => ((**left).clone(), (**right).clone(), true),
                Comparison::Same => ((**left).clone(), (**right).clone(), false),
                _ => return None,
            },
            _ => return None,
        };
        let sides = [left, right].map(|value| SideOfEquality {
            sources: self.sources_of(|found| mentions::of_expression(&value, found)),
            is_around: self.looks_around(&value),
            value,
        });
        let is_around = sides.iter().any(|side| side.is_around);
        let nulls = if is_on || is_around { NullKeys::Never } else { NullKeys::OnlyNull };
        Some(Equality { sides, asks, nulls })
    }

    fn looks_around(&self, value: &Expression) -> bool {
        let mut is_around = false;
        mentions::of_expression(value, &mut |path| is_around |= self.is_around(path));
        is_around
    }

    /// The own sources whose columns are among some paths.
    fn sources_of(&self, paths: impl Fn(&mut dyn FnMut(&ast::Path))) -> Vec<usize> {
        let mut sources = Vec::new();
        paths(&mut |path| {
            let is_word = |path: &ast::Path| path.segments.len() == 1;
            let source = match self.scopes.last().and_then(|own| own.place_of(path)) {
                Some(place) => Some(place),
                None if is_word(path) || !self.is_around(path) => self.source_of(path),
                None => None,
            };
            if let Some(source) = source
                && !sources.contains(&source)
            {
                sources.push(source);
            }
        });
        sources.sort_unstable();
        sources
    }
}

fn of_path(path: &ast::Path) -> Expression {
    Expression { kind: ExpressionKind::Path(path.clone()), span: path.span }
}
