//! Choosing among values; these take null.

use super::{Evaluation, Function, Group, Nulls, effort_of_a_look, function};
use crate::{
    Value,
    compute::{ComputeError, order::Key, test},
};

pub(super) const GROUP: Group = Group { title: "Choice", functions: &FUNCTIONS };

const FUNCTIONS: [Function; 6] = [
    Function {
        nulls: Nulls::Take,
        evaluation: Evaluation::UntilValue,
        effort: effort_of_a_look,
        ..function(
            "coalesce",
            "coalesce(a, …)",
            "The first argument that is not null; those behind it are not evaluated.",
            &[("coalesce(null, 0, 1)", "0"), ("coalesce(null)", "null")],
            |_, arguments| Ok(first_value(arguments)),
        )
    },
    Function {
        nulls: Nulls::Take,
        ..function(
            "nullif",
            "nullif(a, b)",
            "Null if both are equal as by `==`, else `a`.",
            &[("nullif('n/a', 'n/a')", "null"), ("nullif(7, 0)", "7"), ("nullif(null, 1)", "null")],
            |_, arguments| {
                let is_equal = test::equals(&arguments[0], &arguments[1]);
                Ok(if is_equal { Value::Null } else { arguments[0].clone() })
            },
        )
    },
    Function {
        nulls: Nulls::Take,
        evaluation: Evaluation::Branch,
        effort: effort_of_a_look,
        ..function(
            "if",
            "if(condition, a[, b])",
            "`a` if the condition counts as true, else `b`; only that one is evaluated. Null without `b`.",
            &[("if(1, 'yes', 'no')", "\"yes\""), ("if(null, 'yes')", "null")],
            |_, arguments| {
                let chosen = if arguments[0].is_truthy() { 1 } else { 2 };
                Ok(arguments.get(chosen).cloned().unwrap_or_default())
            },
        )
    },
    Function {
        nulls: Nulls::Take,
        ..function(
            "greatest",
            "greatest(a, …)",
            "The last of the arguments in the order of `order by`; null ones are skipped.",
            &[
                ("greatest(3, null, 10)", "10"),
                ("greatest('a', 'b', 2)", "\"b\""),
                ("greatest(null)", "null"),
            ],
            |_, arguments| choose(arguments, |key, best| key > best),
        )
    },
    Function {
        nulls: Nulls::Take,
        ..function(
            "least",
            "least(a, …)",
            "The first of the arguments in the order of `order by`; null ones are skipped.",
            &[("least(3, null, 10)", "3"), ("least(null, null)", "null")],
            |_, arguments| choose(arguments, |key, best| key < best),
        )
    },
    Function {
        nulls: Nulls::Take,
        evaluation: Evaluation::Guarded,
        effort: effort_of_a_look,
        ..function(
            "try",
            "try(x)",
            "The value of the expression, and null if it fails.",
            &[("try(7)", "7"), ("try(number('n/a'))", "null")],
            |_, arguments| Ok(arguments[0].clone()),
        )
    },
];

fn first_value(arguments: &[Value]) -> Value {
    arguments.iter().find(|value| !value.is_nothing()).cloned().unwrap_or_default()
}

fn choose(arguments: &[Value], is_better: fn(&Key, &Key) -> bool) -> Result<Value, ComputeError> {
    let mut best: Option<(Key, &Value)> = None;
    for value in arguments.iter().filter(|value| !value.is_nothing()) {
        let key = Key::of(value)?;
        if best.as_ref().is_none_or(|(best, _)| is_better(&key, best)) {
            best = Some((key, value));
        }
    }
    Ok(best.map_or(Value::Null, |(_, value)| value.clone()))
}
