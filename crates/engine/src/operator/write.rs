//! Changes of variables by inserts, updates and deletes (INS-10, DEL-2).
//!
//! In: the value of a variable, and what a statement says. Out: the value as it is afterwards. Who puts
//! it into the variable is the executor.

use qlio_data::{Object, Text, Value, value::strict::strictly_equals};
use qlio_plan::operator::Condition;
use qlio_syntax::diagnostic::codes;

use super::filter::{Matcher, unwrap};
use crate::{error::RunError, run::Run};

/// Sets members of an object, or appends an object with them to an array; absent ones are left out.
pub(crate) fn insert(
    name: &str,
    value: Value,
    members: Vec<(Text, Value)>,
) -> Result<Value, RunError> {
    let value = unwrap(value);
    let members = members.into_iter().filter(|(_, value)| !value.is_absent());
    match &*value.open() {
        Value::Array(elements) => {
            let mut elements = Vec::clone(elements);
            elements.push(Value::object(members.collect()));
            Ok(Value::array(elements))
        }
        Value::Object(object) => {
            let mut object = Object::clone(object);
            for (name, value) in members {
                object.insert(name, value);
            }
            Ok(Value::object(object))
        }
        Value::Absent | Value::Null => Ok(Value::object(members.collect())),
        _ => {
            let message = format!("variable `{name}` is neither an object nor an array");
            Err(RunError::client(codes::NOT_INSERTABLE, message))
        }
    }
}

/// The rows of an array that do not match; `expected` has a name and a value for each condition.
/// Without conditions nothing is left.
pub(crate) async fn delete_rows(
    run: &Run<'_>,
    rows: &[Value],
    conditions: &[Condition],
    expected: &[(Text, Value)],
) -> Result<Value, RunError> {
    if conditions.is_empty() {
        return Ok(Value::array(Vec::new()));
    }
    let matchers = Matcher::all(run, conditions, expected).await?;
    let mut kept = Vec::new();
    for row in rows {
        let mut is_match = true;
        for matcher in &matchers {
            is_match = is_match && matcher.holds(run, row)?;
        }
        if !is_match {
            kept.push(row.clone());
        }
        if run.budget.spend(matchers.len()) {
            run.budget.pause().await?;
        }
    }
    Ok(Value::array(kept))
}

/// An object without the members that are strictly equal to the given values, each condition for itself.
pub(crate) fn delete_members(object: &Object, expected: &[(Text, Value)]) -> Value {
    let mut object = Object::clone(object);
    for (name, expected) in expected {
        let is_equal = |value: &Value| match expected.elements() {
            Some(elements) => elements.iter().any(|element| strictly_equals(value, element)),
            None => strictly_equals(value, expected),
        };
        if object.get(name).is_some_and(is_equal) {
            object.remove(name);
        }
    }
    Value::object(object)
}
