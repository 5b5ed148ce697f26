//! Objects as arrays of their values: what `MessagePack` in array mode sends. Both sides must agree on
//! the order of the fields; nothing in the bytes names them.

use qlio_data::Value;

/// The value with every object as an array of its members' values. Values are as deep as a decoder let
/// them become, so this ends.
pub fn positional(value: &Value) -> Value {
    match &*value.open() {
        Value::Array(elements) => elements.iter().map(positional).collect(),
        Value::Object(members) => members.iter().map(|(_, value)| positional(value)).collect(),
        other => other.clone(),
    }
}
