//! Making and reading the JSON of messages.
//!
//! In: members by name. Out: values of the codec that the rest of the program has. Reading never
//! fails: what is missing or of another kind is `None`, and the caller decides what that means.

use qlio_data::{Object, Value};

/// An object of these members; absent ones are left out when it is printed.
pub(crate) fn object<const N: usize>(members: [(&'static str, Value); N]) -> Value {
    let object: Object = members.into_iter().collect();
    Value::object(object)
}

/// A list.
pub(crate) fn list(elements: impl IntoIterator<Item = Value>) -> Value {
    elements.into_iter().collect()
}

/// The member at a path of names.
pub(crate) fn at(value: &Value, path: &[&str]) -> Value {
    path.iter().fold(value.clone(), |value, name| value.member(name))
}

/// The text at a path of names.
pub(crate) fn text_at(value: &Value, path: &[&str]) -> Option<String> {
    at(value, path).as_str().map(str::to_owned)
}

/// The whole number, at least 0, at a path of names.
pub(crate) fn number_at(value: &Value, path: &[&str]) -> Option<u64> {
    match at(value, path) {
        Value::Number(number) => {
            let number = number.as_f64();
            let is_whole = number.fract() == 0.0 && (0.0..=9e15).contains(&number);
            #[expect(clippy::cast_sign_loss, reason = "the range is checked")]
            is_whole.then_some(number as u64)
        }
        _ => None,
    }
}

/// Whether `true` stands at a path of names.
pub(crate) fn is_true_at(value: &Value, path: &[&str]) -> bool {
    matches!(at(value, path), Value::Bool(true))
}
