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

impl Term {
    /// The two values, if it holds only for rows where neither is null (JOI-16, SUB-4).
    pub(super) fn meeting(&self) -> Option<[&Expression; 2]> {
        let equality = self.equality.as_ref().filter(|it| it.nulls == NullKeys::Never)?;
        let [left, right] = &equality.sides;
        let are_of_two_rows =
            !left.sources.is_empty() && !right.sources.is_empty() && left.sources != right.sources;
        let is_meeting = left.is_around || right.is_around || are_of_two_rows;
        is_meeting.then_some([&left.value, &right.value])
    }
}

/// The terms of an `on` that `and` joins, outermost; parentheses change nothing.
pub(super) fn split(expression: &Expression) -> Vec<Condition> {
    let as_condition = |expression: &Expression| match &expression.kind {
        ExpressionKind::Condition(condition) => (**condition).clone(),
        _ => Condition::Test(expression.clone()),
    };
    let mut terms = Vec::new();
    each_term(expression, &mut |term| terms.push(as_condition(term)));
    terms
}

/// The terms of a condition of `where`. What stands in parentheses asks no table for a value.
pub(super) fn split_condition(condition: &Condition) -> Vec<Condition> {
    match condition {
        Condition::Test(test) => {
            let mut terms = Vec::new();
            each_term(test, &mut |term| terms.push(Condition::Test(term.clone())));
            terms
        }
        other => vec![other.clone()],
    }
}

/// What `and` joins. Nothing here recurses deeper than the tree, which the parser bounds.
fn each_term(expression: &Expression, take: &mut dyn FnMut(&Expression)) {
    match &expression.kind {
        ExpressionKind::All(items) => {
            for item in items {
                each_term(item, take);
            }
        }
        ExpressionKind::Group(inner) if is_conjunction(inner) => each_term(inner, take),
        _ => take(expression),
    }
}

fn is_conjunction(expression: &Expression) -> bool {
    match &expression.kind {
        ExpressionKind::All(_) => true,
        ExpressionKind::Group(inner) => is_conjunction(inner),
        _ => false,
    }
}

/// A test without the parentheses around it.
fn bare(expression: &Expression) -> &Expression {
    match &expression.kind {
        ExpressionKind::Group(inner) => bare(inner),
        _ => expression,
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
        if let Condition::Test(test) = condition
            && let ExpressionKind::Condition(inner) = &bare(test).kind
        {
            return self.equality(inner, is_on);
        }
        let bared = match condition {
            Condition::Test(test) => Some(bare(test)),
            _ => None,
        };
        let (left, right, asks) = match condition {
            Condition::Equals { path, operand, .. } => {
                let OperandKind::Path(right) = &operand.kind else { return None };
                if !self.is_visible(right) {
                    return None;
                }
                (of_path(path), of_path(right), true)
            }
            _ => match &bared?.kind {
                ExpressionKind::Compare { left, comparison: Comparison::Equals, right } => {
                    ((**left).clone(), (**right).clone(), true)
                }
                ExpressionKind::Compare { left, comparison: Comparison::Same, right } => {
                    ((**left).clone(), (**right).clone(), false)
                }
                _ => return None,
            },
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
