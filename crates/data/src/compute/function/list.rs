//! Lists. Positions count from 1, and negative ones from the end.

use std::collections::HashSet;

use super::{Function, Group, Nulls, argument, effort_of_a_look, effort_of_reading, function};
use crate::{
    Value,
    compute::{
        ComputeError, Decimal, OutOfRange,
        aggregate::{Accumulator, Aggregate},
        effort,
        order::Key,
        text::{self, TextWriter},
    },
    value::loose::loosely_equals,
};

pub(super) const GROUP: Group = Group { title: "Lists", functions: &FUNCTIONS };

/// The most numbers that `range` gives.
pub(super) const RANGE_MAX: usize = 1_000_000;

const FUNCTIONS: [Function; 14] = [
    Function {
        effort: effort_of_a_look,
        ..function(
            "element_at",
            "element_at(list, position)",
            "The element at a position; null if there is none.",
            &[
                ("element_at(['a', 'b'], 1)", "\"a\""),
                ("element_at(['a', 'b'], -1)", "\"b\""),
                ("element_at([], 1)", "null"),
            ],
            |_, arguments| element_at(arguments),
        )
    },
    function(
        "slice",
        "slice(list, from, to)",
        "The elements from one position to another, both included.",
        &[
            ("slice([1, 2, 3, 4], 2, 3)", "[2,3]"),
            ("slice([1, 2, 3, 4], -2, -1)", "[3,4]"),
            ("slice([1], 2, 9)", "[]"),
        ],
        |_, arguments| slice(arguments),
    ),
    Function {
        effort: effort_of_joining,
        ..function(
            "array_join",
            "array_join(list, separator)",
            "The texts of the elements with a separator between them; null ones are skipped.",
            &[("array_join(['a', null, 7], '-')", "\"a-7\""), ("array_join([], '-')", "\"\"")],
            |_, arguments| join(arguments),
        )
    },
    Function {
        nulls: Nulls::Take,
        ..function(
            "array_contains",
            "array_contains(list, x)",
            "Whether some element equals `x` as by `==`; lists and objects must be identical. Null for a \
             null list.",
            &[
                ("array_contains([1, 2], '2')", "true"),
                ("array_contains([1, null], null)", "true"),
                ("array_contains([[1]], [1.0])", "true"),
                ("array_contains(null, 1)", "null"),
            ],
            |_, arguments| {
                if arguments[0].is_nothing() {
                    return Ok(Value::Null);
                }
                Ok(position(arguments)?.is_some().into())
            },
        )
    },
    function(
        "array_position",
        "array_position(list, x)",
        "The position of the first such element; null if there is none.",
        &[("array_position(['a', 'b'], 'b')", "2"), ("array_position([], 'b')", "null")],
        |_, arguments| Ok(position(arguments)?.map_or(Value::Null, |at| (at + 1).into())),
    ),
    function(
        "array_distinct",
        "array_distinct(list)",
        "The elements without those that are identical to an earlier one.",
        &[("array_distinct([2, 1, 2.0, '2', null, null])", "[2,1,\"2\",null]")],
        |_, arguments| distinct(arguments),
    ),
    function(
        "array_sort",
        "array_sort(list[, 'desc'])",
        "The elements in the order of `order by`, null ones last.",
        &[
            ("array_sort([3, null, 'a', 1])", "[1,3,\"a\",null]"),
            ("array_sort([1, 3, null], 'desc')", "[3,1,null]"),
        ],
        |_, arguments| sort(arguments),
    ),
    function(
        "array_concat",
        "array_concat(list, …)",
        "The elements of all lists, one behind the other.",
        &[("array_concat([1], [2, [3]], [])", "[1,2,[3]]")],
        |_, arguments| {
            let mut out = Vec::new();
            for at in 0..arguments.len() {
                let elements = argument::list(arguments, at)?;
                argument::check_count(out.len() + elements.len())?;
                out.extend_from_slice(&elements);
            }
            argument::made(out)
        },
    ),
    function(
        "array_sum",
        "array_sum(list)",
        "The sum of the numbers; null ones are skipped.",
        &[("array_sum([1.5, null, '2'])", "3.5"), ("array_sum([])", "null")],
        |_, arguments| aggregated(arguments, Aggregate::Sum),
    ),
    function(
        "array_min",
        "array_min(list)",
        "The first element in the order of `order by`; null ones are skipped.",
        &[("array_min([3, 1, null])", "1")],
        |_, arguments| aggregated(arguments, Aggregate::Min),
    ),
    function(
        "array_max",
        "array_max(list)",
        "The last element in that order; null ones are skipped.",
        &[("array_max([3, 1, null])", "3")],
        |_, arguments| aggregated(arguments, Aggregate::Max),
    ),
    function(
        "flatten",
        "flatten(list)",
        "The elements, and in place of each list in it the elements of that.",
        &[("flatten([1, [2, [3]], []])", "[1,2,[3]]")],
        |_, arguments| {
            let mut out = Vec::new();
            for element in argument::list(arguments, 0)?.iter() {
                match element.elements() {
                    Some(inner) => {
                        argument::check_count(out.len() + inner.len())?;
                        out.extend_from_slice(&inner);
                    }
                    None => out.push(element.clone()),
                }
            }
            argument::made(out)
        },
    ),
    Function {
        effort: effort_of_counting,
        ..function(
            "range",
            "range(from, to[, step])",
            "The numbers from one to another, both included.",
            &[
                ("range(1, 4)", "[1,2,3,4]"),
                ("range(1, 0, -0.5)", "[1,0.5,0]"),
                ("range(2, 1)", "[]"),
            ],
            |_, arguments| range(arguments),
        )
    },
    function(
        "zip",
        "zip(a, b)",
        "Pairs of elements at the same position; null where one list is shorter.",
        &[("zip([1, 2], ['a'])", "[[1,\"a\"],[2,null]]")],
        |_, arguments| {
            let (left, right) = (argument::list(arguments, 0)?, argument::list(arguments, 1)?);
            let at = |list: &[Value], at: usize| list.get(at).cloned().unwrap_or(Value::Null);
            let pair = |position| Value::array(vec![at(&left, position), at(&right, position)]);
            argument::made((0..left.len().max(right.len())).map(pair).collect())
        },
    ),
];

fn effort_of_joining(arguments: &[Value], enough: usize) -> usize {
    let separators = match &arguments[0] {
        Value::Array(elements) => elements.len(),
        // Each element has a byte at least.
        other => effort::bytes_read(other, enough),
    };
    let made = separators.saturating_mul(effort::bytes_read(&arguments[1], enough));
    effort_of_reading(arguments, enough).saturating_add(effort::of_copying(made))
}

fn effort_of_counting(arguments: &[Value], _: usize) -> usize {
    let number = |at: usize| argument::decimal(arguments, at).ok()?.to_float();
    let step = if arguments.len() > 2 { number(2) } else { Some(1.0) };
    let (Some(from), Some(to), Some(step)) = (number(0), number(1), step) else { return 0 };
    if step == 0.0 {
        return 0;
    }
    let numbers = ((to - from) / step).clamp(0.0, f64::from(RANGE_MAX as u32));
    #[expect(clippy::cast_sign_loss, reason = "it is not below 0")]
    let numbers = numbers as usize;
    numbers * size_of::<Value>()
}

/// The index of a position in a list of `length`; `None` outside of it.
fn index(position: i64, length: usize) -> Option<usize> {
    if position >= 0 {
        usize::try_from(position.checked_sub(1)?).ok().filter(|index| *index < length)
    } else {
        length.checked_sub(usize::try_from(position.unsigned_abs()).ok()?)
    }
}

/// A position that is not 0.
fn place(arguments: &[Value], at: usize) -> Result<i64, ComputeError> {
    match argument::whole(arguments, at)? {
        0 => Err(ComputeError::invalid(at, "there is no position 0; the first is 1, the last -1")),
        position => Ok(position),
    }
}

fn element_at(arguments: &[Value]) -> Result<Value, ComputeError> {
    let position = place(arguments, 1)?;
    let list = &arguments[0];
    if !list.is_array() {
        argument::list(arguments, 0)?;
    }
    // Elements before the one asked for are not built.
    let index = match usize::try_from(position - 1) {
        Ok(index) => Some(index),
        Err(_) => index(position, list.len()),
    };
    Ok(index.map_or(Value::Null, |index| list.element(index)))
}

fn slice(arguments: &[Value]) -> Result<Value, ComputeError> {
    let list = argument::list(arguments, 0)?;
    let (from, to) = (place(arguments, 1)?, place(arguments, 2)?);
    let start = match index(from, list.len()) {
        Some(start) => start,
        None if from < 0 => 0,
        None => list.len(),
    };
    let end = match index(to, list.len()) {
        Some(last) => last + 1,
        None if to < 0 => 0,
        None => list.len(),
    };
    argument::made(list.get(start..end).unwrap_or_default().to_vec())
}

fn join(arguments: &[Value]) -> Result<Value, ComputeError> {
    let list = argument::list(arguments, 0)?;
    let separator = argument::text(arguments, 1)?;
    let mut out = TextWriter::new();
    let mut is_first = true;
    for element in list.iter().filter(|element| !element.is_nothing()) {
        if !std::mem::take(&mut is_first) {
            out.push(&separator)?;
        }
        out.push(&text::read(element).map_err(|error| error.at(0))?)?;
    }
    Ok(out.finish().into())
}

/// The index of the first element that equals the second argument.
fn position(arguments: &[Value]) -> Result<Option<usize>, ComputeError> {
    let list = argument::list(arguments, 0)?;
    let wanted = &arguments[1];
    if !wanted.is_structure() {
        return Ok(list.iter().position(|element| loosely_equals(element, wanted)));
    }
    let key = Key::of(wanted)?;
    for (at, element) in list.iter().enumerate().filter(|(_, element)| element.is_structure()) {
        if Key::of(element)? == key {
            return Ok(Some(at));
        }
    }
    Ok(None)
}

fn distinct(arguments: &[Value]) -> Result<Value, ComputeError> {
    let list = argument::list(arguments, 0)?;
    let mut seen = HashSet::new();
    let mut out = Vec::new();
    for element in list.iter() {
        if seen.insert(Key::of(element)?) {
            out.push(element.clone());
        }
    }
    argument::made(out)
}

fn sort(arguments: &[Value]) -> Result<Value, ComputeError> {
    let list = argument::list(arguments, 0)?;
    let is_descending = match arguments.get(1) {
        None => false,
        Some(_) => match argument::text(arguments, 1)?.as_str() {
            "asc" => false,
            "desc" => true,
            _ => return Err(ComputeError::wrong(1, &arguments[1], "'asc' or 'desc'")),
        },
    };
    let mut keyed = Vec::with_capacity(list.len());
    for element in list.iter() {
        keyed.push((Key::of(element)?, element));
    }
    keyed.sort_by(|(left, _), (right, _)| {
        if is_descending && !left.is_nothing() && !right.is_nothing() {
            right.cmp(left)
        } else {
            left.cmp(right)
        }
    });
    argument::made(keyed.into_iter().map(|(_, element)| element.clone()).collect())
}

fn aggregated(arguments: &[Value], aggregate: Aggregate) -> Result<Value, ComputeError> {
    let mut accumulator = Accumulator::new(aggregate);
    for element in argument::list(arguments, 0)?.iter() {
        accumulator.add(element)?;
    }
    accumulator.finish()
}

fn range(arguments: &[Value]) -> Result<Value, ComputeError> {
    let (mut next, end) = (argument::decimal(arguments, 0)?, argument::decimal(arguments, 1)?);
    let step = match arguments.get(2) {
        None => Decimal::from(1_u64),
        Some(_) => argument::decimal(arguments, 2)?,
    };
    if step.is_zero() {
        return Err(ComputeError::invalid(2, "a step of 0 never arrives"));
    }
    let mut out = Vec::new();
    while if step.is_negative() { next >= end } else { next <= end } {
        if out.len() == RANGE_MAX {
            let (limit, unit) = ("range_max", "numbers");
            return Err(ComputeError::TooLarge { limit, maximum: RANGE_MAX, unit });
        }
        out.push(next.into());
        next = next
            .plus(step)
            .map_err(|OutOfRange| ComputeError::OutOfRange { what: format!("{next} + {step}") })?;
    }
    argument::made(out)
}
