//! What operations take from the stack, and what they make of it without a look at rows.

use qlio_data::{
    Number, Object, Value,
    codec::json::RowCell,
    compute::{ComputeError, test},
};
use qlio_plan::operator::{Calculation, MemberName, Operation, PatternManner};

use super::{
    super::null_keys,
    apart::{is_large, is_large_text},
};

/// Whether a cell that is a whole number stands to a constant as the next two operations say; nothing else is
/// made of it then.
#[inline]
pub(super) fn compare_at_once(cell: RowCell<'_>, then: &[Operation]) -> Option<bool> {
    let [Operation::Constant(Value::Number(Number::Int(constant))), test] = then else {
        return None;
    };
    match test {
        Operation::Compare(comparison) => Some(comparison.holds_in(cell.whole()?.cmp(constant))),
        Operation::Equals => Some(cell.whole()? == *constant),
        _ => None,
    }
}

/// Whether the operands on the stack are so large that to compute with them takes long. Calls say it themselves.
#[inline]
pub(super) fn has_large_operands(operation: &Operation, stack: &[Value]) -> bool {
    let some =
        |count: usize, is_large: fn(&Value) -> bool| stack.iter().rev().take(count).any(is_large);
    match operation {
        Operation::Like(_) | Operation::Expected(_) => some(1, is_large),
        Operation::LikeDynamic(..) => some(2, is_large),
        Operation::Equals
        | Operation::Meets
        | Operation::Compare(_)
        | Operation::Compute(Calculation::Concatenate, _) => some(2, is_large_text),
        Operation::Between => some(3, is_large_text),
        Operation::In(count) => some(1 + count, is_large_text),
        Operation::Object(names) => has_members(names) && some(names.len(), is_large),
        _ => false,
    }
}

/// Whether a text fits a pattern that is compiled for it.
pub(super) fn fits_pattern(
    manner: PatternManner,
    value: &Value,
    pattern: &Value,
) -> Result<bool, ComputeError> {
    let Some(text) = pattern.scalar_text() else { return Ok(false) };
    let compiled = manner.compile(&text);
    let compiled = compiled.map_err(|error| ComputeError::invalid(0, error.to_string()))?;
    Ok(test::matches(value, &compiled))
}

/// Whether the members of some object are taken over.
fn has_members(names: &[MemberName]) -> bool {
    names.iter().any(|name| matches!(name, MemberName::Members(_)))
}

pub(super) fn make_object(names: &[MemberName], values: Vec<Value>) -> Object {
    let mut object = Object::with_capacity(names.len());
    for (name, value) in names.iter().zip(values) {
        match name {
            MemberName::Named(name) => {
                if !value.is_absent() {
                    object.insert(name.clone(), value);
                }
            }
            MemberName::Members(excluded) => {
                let opened = value.open();
                let Value::Object(members) = &*opened else { continue };
                for (name, member) in members.iter() {
                    if !excluded.contains(name) {
                        object.insert(name.clone(), member.clone());
                    }
                }
            }
        }
    }
    object
}

/// Whether a test holds for what is on the stack, which it takes.
pub(super) fn holds(test: &Operation, stack: &mut Vec<Value>) -> bool {
    match test {
        Operation::Truth => pop(stack).is_truthy(),
        Operation::Not => !pop(stack).is_truthy(),
        Operation::Equals => {
            let (left, right) = pop_two(stack);
            are_equal(&left, &right)
        }
        Operation::Meets => {
            let (left, right) = pop_two(stack);
            null_keys::do_meet(left, right)
        }
        Operation::Compare(comparison) => {
            let (left, right) = pop_two(stack);
            comparison.holds(&left, &right)
        }
        Operation::In(count) => {
            let items = stack.split_off(stack.len().saturating_sub(*count));
            let value = pop(stack);
            items.iter().any(|item| are_equal(&value, item))
        }
        Operation::Between => {
            let (low, high) = pop_two(stack);
            test::is_between(&pop(stack), &low, &high)
        }
        Operation::Like(pattern) => test::matches(&pop(stack), pattern),
        Operation::Is(kind) => kind.is_of(&pop(stack)),
        // All others are done where programs are run.
        _ => false,
    }
}

pub(super) fn pop(stack: &mut Vec<Value>) -> Value {
    stack.pop().unwrap_or_default()
}

pub(super) fn pop_two(stack: &mut Vec<Value>) -> (Value, Value) {
    let right = pop(stack);
    let left = pop(stack);
    (left, right)
}

/// What is absent equals nothing, not even null (SEL-16).
fn are_equal(left: &Value, right: &Value) -> bool {
    !left.is_absent() && !right.is_absent() && test::equals(left, right)
}

pub(super) fn or_null(value: Value) -> Value {
    if value.is_absent() { Value::Null } else { value }
}
