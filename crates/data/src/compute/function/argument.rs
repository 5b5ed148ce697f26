//! Reading arguments. Each function here names the argument's position if it is of a wrong kind.

use std::{borrow::Cow, sync::Arc};

use super::ELEMENTS_MAX;
use crate::{
    Object, Text, Value,
    codec::json,
    compute::{ComputeError, Decimal, number, text},
};

const LIST: &str = "a list";
const OBJECT: &str = "an object";
const WHOLE: &str = "a whole number";

/// The text of a text, a number or a truth value.
pub(super) fn text(arguments: &[Value], position: usize) -> Result<Text, ComputeError> {
    text::read(&arguments[position]).map_err(|error| error.at(position))
}

/// The text of a scalar, or the JSON of a list or an object (VAL-6).
pub(super) fn any_text(value: &Value) -> Result<Text, ComputeError> {
    if let Some(text) = value.scalar_text() {
        return Ok(text);
    }
    let mut out = Vec::new();
    json::encode_within(value, &mut out, text::TEXT_BYTES_MAX).map_err(|_| text::too_long())?;
    Ok(String::from_utf8(out).unwrap_or_default().into())
}

/// The number of a number, or of a text that reads as one.
pub(super) fn decimal(arguments: &[Value], position: usize) -> Result<Decimal, ComputeError> {
    let number = number::read(&arguments[position]).map_err(|error| error.at(position))?;
    number.ok_or_else(|| ComputeError::wrong(position, &arguments[position], "a number"))
}

/// A whole number of 64 bits.
pub(super) fn whole(arguments: &[Value], position: usize) -> Result<i64, ComputeError> {
    let number = decimal(arguments, position)?;
    number.to_i64().ok_or_else(|| ComputeError::wrong(position, &arguments[position], WHOLE))
}

/// The elements of a list.
pub(super) fn list(arguments: &[Value], position: usize) -> Result<Cow<'_, [Value]>, ComputeError> {
    let argument = &arguments[position];
    argument.elements().ok_or_else(|| ComputeError::wrong(position, argument, LIST))
}

/// An object.
pub(super) fn object(arguments: &[Value], position: usize) -> Result<Arc<Object>, ComputeError> {
    object_of(&arguments[position])
        .ok_or_else(|| ComputeError::wrong(position, &arguments[position], OBJECT))
}

/// The object that a value is.
pub(super) fn object_of(value: &Value) -> Option<Arc<Object>> {
    match value.open() {
        Cow::Borrowed(Value::Object(object)) => Some(object.clone()),
        Cow::Owned(Value::Object(object)) => Some(object),
        _ => None,
    }
}

/// A list as a result, if it may be as long.
pub(super) fn made(elements: Vec<Value>) -> Result<Value, ComputeError> {
    check_count(elements.len())?;
    Ok(Value::array(elements))
}

/// Whether a list of so many elements may be made.
pub(super) fn check_count(count: usize) -> Result<(), ComputeError> {
    if count <= ELEMENTS_MAX {
        return Ok(());
    }
    Err(ComputeError::TooLarge {
        limit: "list_elements_max",
        maximum: ELEMENTS_MAX,
        unit: "elements",
    })
}
