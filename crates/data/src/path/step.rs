//! One step by name, the way JavaScript reads own properties (PTH-10).

use crate::Value;

/// The member `name`: of an object its own member; of an array the element at a decimal index, or
/// `length`; of a string the character at a decimal index, or `length` (both in UTF-16 code units,
/// as JavaScript counts). Absent otherwise.
pub(crate) fn member(value: &Value, name: &str) -> Value {
    match value {
        Value::Object(_) | Value::Raw(_) if value.is_object() => value.member(name),
        Value::Array(_) | Value::Raw(_) => match index_of(name) {
            Some(index) => value.element(index),
            None if name == "length" => Value::from(value.len()),
            None => Value::Absent,
        },
        Value::String(text) => match index_of(name) {
            Some(index) => character(text, index),
            None if name == "length" => Value::from(text.encode_utf16().count()),
            None => Value::Absent,
        },
        _ => Value::Absent,
    }
}

/// The element or member at a written index.
pub(crate) fn index(value: &Value, index: usize) -> Value {
    if value.is_array() { value.element(index) } else { member(value, &index.to_string()) }
}

/// The index that a name spells, if it is written as JavaScript would write it: `0`, `17`, not `07`.
pub(crate) fn index_of(name: &str) -> Option<usize> {
    let is_canonical = name == "0" || (!name.starts_with('0') && !name.is_empty());
    let is_digits = name.bytes().all(|byte| byte.is_ascii_digit());
    (is_canonical && is_digits).then(|| name.parse().ok()).flatten()
}

fn character(text: &str, index: usize) -> Value {
    if text.is_ascii() {
        return match text.get(index..=index) {
            Some(character) => Value::string(character),
            None => Value::Absent,
        };
    }
    match text.encode_utf16().nth(index) {
        Some(unit) => Value::string(String::from_utf16_lossy(&[unit])),
        None => Value::Absent,
    }
}
