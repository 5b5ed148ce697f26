//! Random expressions over rows, as the grammar can write them.

use proptest::{collection::vec, option, prelude::*, sample::select};
use qlio_syntax::ast::*;

use super::{SPAN, count, number, path_from, raw_string, word};

fn at(kind: ExpressionKind) -> Expression {
    Expression { kind, span: SPAN }
}

fn boxed(expression: Expression) -> Box<Expression> {
    Box::new(expression)
}

/// One operand. In brackets (`is_json`) texts have escapes.
fn operand(is_json: bool, depth: u32) -> BoxedStrategy<Expression> {
    let text = if is_json {
        any::<String>().prop_map(|text| ExpressionKind::Text { text, is_json: true }).boxed()
    } else {
        raw_string().prop_map(|text| ExpressionKind::Text { text, is_json: false }).boxed()
    };
    let leaf = prop_oneof![
        2 => column_path().prop_map(ExpressionKind::Path),
        1 => path_from(true).prop_filter("backticks", |path| !has_backtick(path)).prop_map(ExpressionKind::Path),
        1 => text,
        1 => number().prop_map(ExpressionKind::Number),
        1 => any::<bool>().prop_map(ExpressionKind::Bool),
        1 => Just(ExpressionKind::Null),
        1 => select(vec!["=a", "^a", "=a.b[0]"]).prop_map(|text| ExpressionKind::Token(text.to_owned())),
    ]
    .prop_map(at)
    .boxed();
    if depth == 0 {
        return leaf;
    }
    let inside = || expression(true, depth - 1);
    let member = prop_oneof![
        (any::<String>(), inside()).prop_map(|(key, value)| ObjectMember::Named {
            key,
            is_quoted: true,
            span: SPAN,
            value
        }),
        ("[a-z$_][a-z0-9_]{0,4}", inside()).prop_map(|(key, value)| ObjectMember::Named {
            key,
            is_quoted: false,
            span: SPAN,
            value
        }),
        word()
            .prop_filter("a colon ends a key", |word| !word.contains(':'))
            .prop_map(|name| Segment::Member { name, is_quoted: false })
            .prop_map(|first| ObjectMember::Path(Path { segments: vec![first], span: SPAN })),
        vec(word(), 0..3).prop_map(|names| {
            let excluded = names.into_iter().map(|text| Ident { text, span: SPAN }).collect();
            ObjectMember::Star(Star { alias: None, excluded, span: SPAN })
        }),
    ];
    let branch = (expression(is_json, depth - 1), expression(is_json, depth - 1));
    prop_oneof![
        4 => leaf,
        1 => expression(is_json, depth - 1).prop_map(|inner| at(ExpressionKind::Group(boxed(inner)))),
        1 => operand(is_json, depth - 1).prop_map(|inner| at(ExpressionKind::Negative(boxed(inner)))),
        1 => vec(member, 0..3).prop_map(|members| at(ExpressionKind::Object(members))),
        1 => vec(inside(), 0..3).prop_map(|items| at(ExpressionKind::List(items))),
        1 => (vec(branch, 1..3), option::of(expression(is_json, depth - 1))).prop_map(
            |(branches, otherwise)| at(ExpressionKind::Case {
                subject: None,
                branches,
                otherwise: otherwise.map(boxed),
            })
        ),
        1 => aggregate(is_json, depth),
    ]
    .boxed()
}

fn aggregate(is_json: bool, depth: u32) -> impl Strategy<Value = Expression> {
    let filter = option::of(expression(is_json, depth - 1));
    let of_arguments = (
        select(qlio_syntax::functions::AGGREGATE_NAMES.to_vec()),
        any::<bool>(),
        vec(expression(true, depth - 1), 1..3),
        vec(sort_key(true), 0..2),
        option::of(count()),
    );
    let of_rows = Just(("count", false, Vec::new(), Vec::new(), None));
    (prop_oneof![of_rows, of_arguments], filter).prop_map(|(call, filter)| {
        let (name, is_distinct, arguments, order, limit) = call;
        let call =
            AggregateCall { name, name_span: SPAN, is_distinct, arguments, order, limit, filter };
        at(ExpressionKind::Aggregate(Box::new(call)))
    })
}

/// A path that begins with no word of a clause: `select distinct from …` has no column `from`.
fn column_path() -> impl Strategy<Value = Path> {
    path_from(false).prop_map(|mut path| {
        if let Some(Segment::Member { name, .. }) = path.segments.first_mut() {
            name.push('7');
        }
        path
    })
}

fn has_backtick(path: &Path) -> bool {
    let unfit = |name: &String| name.is_empty() || name.contains(['`', '\n']);
    path.segments
        .iter()
        .any(|segment| matches!(segment, Segment::Member { name, is_quoted: true } if unfit(name)))
}

fn chain(
    operand: impl Strategy<Value = Expression> + Clone + 'static,
    operators: Vec<Arithmetic>,
) -> BoxedStrategy<Expression> {
    let rest = vec((select(operators), operand.clone()), 0..2);
    (operand, rest)
        .prop_map(|(first, rest)| {
            if rest.is_empty() {
                return first;
            }
            at(ExpressionKind::Chain { first: boxed(first), rest })
        })
        .boxed()
}

fn sum(is_json: bool, depth: u32) -> BoxedStrategy<Expression> {
    let product = chain(
        operand(is_json, depth),
        vec![Arithmetic::Multiply, Arithmetic::Divide, Arithmetic::Remainder],
    );
    chain(product, vec![Arithmetic::Add, Arithmetic::Subtract, Arithmetic::Concatenate])
}

/// A test whose left side is no quoted text.
pub(super) fn test(is_json: bool, depth: u32) -> BoxedStrategy<Expression> {
    let left = sum(is_json, depth).prop_map(|left| match left.kind {
        ExpressionKind::Text { is_json: false, .. } => at(ExpressionKind::Group(boxed(left))),
        _ => left,
    });
    let right = sum(is_json, depth);
    let comparison = select(vec![
        Comparison::Same,
        Comparison::Differs,
        Comparison::Less,
        Comparison::LessOrEqual,
        Comparison::Greater,
        Comparison::GreaterOrEqual,
    ]);
    let manner =
        select(vec![PatternManner::Like, PatternManner::LikeAnyCase, PatternManner::Matches]);
    let left = left.boxed();
    let infix = prop_oneof![
        (left.clone(), right.clone(), right.clone()).prop_map(|(value, low, high)| {
            ExpressionKind::Between { value: boxed(value), low: boxed(low), high: boxed(high) }
        }),
        (left.clone(), manner, right.clone()).prop_map(|(value, manner, pattern)| {
            ExpressionKind::Like { value: boxed(value), manner, pattern: boxed(pattern) }
        }),
        (left.clone(), select(ValueKind::ALL.to_vec()))
            .prop_map(|(value, kind)| ExpressionKind::Is { value: boxed(value), kind }),
        (left.clone(), chain_of_two(is_json, depth)).prop_map(|(value, item)| {
            ExpressionKind::In { value: boxed(value), items: vec![item], is_bare: false }
        }),
    ]
    .prop_map(at)
    .boxed();
    prop_oneof![
        3 => (left, comparison, right).prop_map(|(left, comparison, right)| {
            at(ExpressionKind::Compare { left: boxed(left), comparison, right: boxed(right) })
        }),
        2 => infix.clone(),
        1 => infix.prop_map(|inner| {
            at(ExpressionKind::Not { inner: boxed(inner), is_infix: true })
        }),
    ]
    .boxed()
}

fn chain_of_two(is_json: bool, depth: u32) -> BoxedStrategy<Expression> {
    (operand(is_json, depth), operand(is_json, depth))
        .prop_map(|(first, second)| {
            let rest = vec![(Arithmetic::Add, second)];
            at(ExpressionKind::Chain { first: boxed(first), rest })
        })
        .boxed()
}

/// Any expression of that depth, computed by `sum` or tested.
pub(super) fn expression(is_json: bool, depth: u32) -> BoxedStrategy<Expression> {
    let term = prop_oneof![sum(is_json, depth), test(is_json, depth)].boxed();
    let negated = prop_oneof![
        3 => term.clone(),
        1 => test(is_json, depth)
            .prop_map(|inner| {
                // A bare `not in` would be a column called `not`.
                let inner = boxed(at(ExpressionKind::Group(boxed(inner))));
                at(ExpressionKind::Not { inner, is_infix: false })
            }),
    ]
    .boxed();
    let all = prop_oneof![
        3 => negated.clone(),
        1 => vec(negated, 2..3).prop_map(|items| at(ExpressionKind::All(items))),
    ]
    .boxed();
    prop_oneof![
        3 => all.clone(),
        1 => vec(all, 2..3).prop_map(|items| at(ExpressionKind::Any(items))),
    ]
    .boxed()
}

/// An expression that stands as a column of its own, being more than a path.
pub(super) fn column() -> BoxedStrategy<Expression> {
    expression(false, 1)
        .prop_map(|expression| match expression.kind {
            ExpressionKind::Path(_) | ExpressionKind::Text { .. } => {
                at(ExpressionKind::Group(boxed(expression)))
            }
            _ => expression,
        })
        .boxed()
}

pub(super) fn sort_key(is_json: bool) -> impl Strategy<Value = SortKey> {
    let direction = option::of(select(vec![Direction::Ascending, Direction::Descending]));
    let nulls = option::of(select(vec![Nulls::First, Nulls::Last]));
    let value = expression(is_json, 0).prop_map(|value| match value.kind {
        ExpressionKind::Number(_) | ExpressionKind::Text { .. } => {
            at(ExpressionKind::Group(boxed(value)))
        }
        _ => value,
    });
    (value, direction, nulls).prop_map(|(value, direction, nulls)| SortKey {
        value,
        direction,
        nulls,
        span: SPAN,
    })
}
