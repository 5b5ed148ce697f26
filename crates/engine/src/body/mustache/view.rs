//! What a template sees: values, and names whose values are looked up when the template asks for them.

use std::fmt;

use qlio_data::Value;

/// An object whose members are looked up one by one, because making all of them costs more than the few
/// that a template names.
pub(crate) trait Names {
    /// The member of this name; absent if there is none.
    fn get(&self, name: &str) -> Found<'_>;

    /// All members, for a template that prints them.
    fn all(&self) -> Value;
}

/// What a name stands for.
#[derive(Clone)]
pub(crate) enum Found<'v> {
    /// A value.
    Value(Value),
    /// An object that is looked up member by member.
    Names(&'v dyn Names),
}

impl fmt::Debug for Found<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Value(value) => f.debug_tuple("Value").field(value).finish(),
            Self::Names(_) => f.write_str("Names"),
        }
    }
}

impl<'v> Found<'v> {
    /// A member as scripts would find it: elements of lists by their number, and their `length`.
    pub(super) fn member(&self, name: &str) -> Found<'v> {
        let value = match self {
            Self::Names(names) => return names.get(name),
            Self::Value(value) => value,
        };
        Found::Value(match name.parse::<usize>() {
            Ok(index) if value.is_array() => value.element(index),
            _ if value.is_array() && name == "length" => Value::from(value.len()),
            _ => value.member(name),
        })
    }

    pub(super) fn is_absent(&self) -> bool {
        matches!(self, Self::Value(value) if value.is_absent())
    }

    /// The value; names become an object of all of them.
    pub(crate) fn into_value(self) -> Value {
        match self {
            Self::Value(value) => value,
            Self::Names(names) => names.all(),
        }
    }
}
