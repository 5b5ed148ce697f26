//! The one value model: JSON values plus *absent* and *raw*.
//!
//! A value is cheap to clone (reference counts, no deep copies) and immutable once shared. Text,
//! numbers and untouched structures are slices of the answer they came from, so keeping a field
//! costs a reference and writing it costs a copy of its bytes (ADR 0002).
//!
//! Read on in [`Text`], [`Number`], [`Object`], then [`codec::json`](crate::codec::json) for how
//! raw slices are made, and [`loose`] for what `=` means in a script.

mod access;
mod depth;
mod equality;
mod number;
mod object;
mod text;
mod weight;
pub use weight::Weighing;

pub mod loose;
pub mod strict;

use std::sync::Arc;

pub use number::Number;
pub use object::Object;
pub(crate) use object::is_same;
pub use text::Text;

/// A JSON value, *absent* ("no value": an unresolved reference, a missing field), or a structure
/// that nobody has looked into yet.
#[derive(Debug, Clone, Default)]
pub enum Value {
    /// No value. As a member it is omitted, as an element or a whole result it prints as `null`.
    #[default]
    Absent,
    /// `null`.
    Null,
    /// `true`, `false`.
    Bool(bool),
    /// A number; keeps its source text while it only passes through.
    Number(Number),
    /// Text.
    String(Text),
    /// An array.
    Array(Arc<Vec<Value>>),
    /// An object; members keep their order.
    Object(Arc<Object>),
    /// An array or object as validated, undecoded JSON text. Only arrays and objects are ever kept
    /// raw; its first byte is `[` or `{` and there is no white space around it.
    Raw(Text),
}

impl Value {
    /// A text value.
    pub fn string(text: impl Into<Text>) -> Self {
        Self::String(text.into())
    }

    /// A whole number.
    pub fn int(value: i64) -> Self {
        Self::Number(Number::Int(value))
    }

    /// An array.
    pub fn array(elements: Vec<Value>) -> Self {
        Self::Array(Arc::new(elements))
    }

    /// An object.
    pub fn object(object: Object) -> Self {
        Self::Object(Arc::new(object))
    }

    /// No value at all.
    pub fn is_absent(&self) -> bool {
        matches!(self, Self::Absent)
    }

    /// Absent or null: what makes a fallback try its next alternative (DEF-4).
    pub fn is_nothing(&self) -> bool {
        matches!(self, Self::Absent | Self::Null)
    }

    /// An array, decoded or raw.
    pub fn is_array(&self) -> bool {
        match self {
            Self::Array(_) => true,
            Self::Raw(text) => text.as_bytes().first() == Some(&b'['),
            _ => false,
        }
    }

    /// An object, decoded or raw.
    pub fn is_object(&self) -> bool {
        match self {
            Self::Object(_) => true,
            Self::Raw(text) => text.as_bytes().first() == Some(&b'{'),
            _ => false,
        }
    }

    /// An array or an object.
    pub fn is_structure(&self) -> bool {
        matches!(self, Self::Array(_) | Self::Object(_) | Self::Raw(_))
    }

    /// Truthiness: absent, null, false, 0 and `""` are false, everything else is true
    /// (VAL-3).
    pub fn is_truthy(&self) -> bool {
        match self {
            Self::Absent | Self::Null => false,
            Self::Bool(value) => *value,
            Self::Number(number) => number.as_f64() != 0.0,
            Self::String(text) => !text.is_empty(),
            Self::Array(_) | Self::Object(_) | Self::Raw(_) => true,
        }
    }

    /// The text of a scalar as templates print it; `None` for structures, null and absent.
    pub fn scalar_text(&self) -> Option<Text> {
        match self {
            Self::String(text) => Some(text.clone()),
            Self::Number(number) => Some(number.to_shortest().into()),
            Self::Bool(true) => Some(Text::from_static("true")),
            Self::Bool(false) => Some(Text::from_static("false")),
            Self::Absent | Self::Null | Self::Array(_) | Self::Object(_) | Self::Raw(_) => None,
        }
    }

    /// The text if this is a string.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::String(text) => Some(text),
            _ => None,
        }
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}

impl From<Text> for Value {
    fn from(value: Text) -> Self {
        Self::String(value)
    }
}

impl From<&str> for Value {
    fn from(value: &str) -> Self {
        Self::String(value.into())
    }
}

impl From<String> for Value {
    fn from(value: String) -> Self {
        Self::String(value.into())
    }
}

macro_rules! from_whole_numbers {
    ($($type:ty)*) => {$(
        impl From<$type> for Value {
            fn from(value: $type) -> Self {
                Self::int(value.into())
            }
        }
    )*};
}

from_whole_numbers!(i64 i32 i8 u32 u16 u8);

impl From<u64> for Value {
    fn from(value: u64) -> Self {
        Self::Number(value.into())
    }
}

impl From<usize> for Value {
    fn from(value: usize) -> Self {
        Self::from(value as u64)
    }
}

impl From<Number> for Value {
    fn from(value: Number) -> Self {
        Self::Number(value)
    }
}

impl From<Object> for Value {
    fn from(value: Object) -> Self {
        Self::object(value)
    }
}

impl FromIterator<Value> for Value {
    fn from_iter<I: IntoIterator<Item = Value>>(elements: I) -> Self {
        Self::array(elements.into_iter().collect())
    }
}
