//! Values as JavaScript's operators see them: the conversions behind `+`, `<` and `==`.

use std::cmp::Ordering;

use super::Literal;
use crate::{Number, Text, Value};

/// How deep an array may be nested to take part in the text of its outermost array.
const JOIN_DEPTH_MAX: usize = 32;

/// A value that an operator works on. Unlike a [`Value`] it can be not-a-number or infinite.
#[derive(Debug, Clone)]
pub(super) enum Operand {
    Absent,
    Null,
    Bool(bool),
    /// A whole number that fits 64 bits, with or without a sign; compared exactly (FMT-12).
    Int(i128),
    Float(f64),
    Text(Text),
    Structure(Value),
}

/// An operand in a comparison of numbers.
enum Numeric {
    Whole(i128),
    Float(f64),
}

/// Whether a number fits 64 bits, with or without a sign.
pub(super) fn is_whole(value: i128) -> bool {
    (i128::from(i64::MIN)..=i128::from(u64::MAX)).contains(&value)
}

/// The whole number that a text of digits, perhaps with a sign, is, if it fits 64 bits.
pub(super) fn whole_number(text: &str) -> Option<i128> {
    text.parse().ok().filter(|value| is_whole(*value))
}

impl Operand {
    pub(super) fn of(value: &Value) -> Self {
        match value {
            Value::Absent => Self::Absent,
            Value::Null => Self::Null,
            Value::Bool(value) => Self::Bool(*value),
            Value::Number(number) => {
                let large = || match number {
                    Number::Source(text) => whole_number(text),
                    _ => None,
                };
                match number.as_i64().map(i128::from).or_else(large) {
                    Some(whole) => Self::Int(whole),
                    None => Self::Float(number.as_f64()),
                }
            }
            Value::String(text) => Self::Text(text.clone()),
            Value::Array(_) | Value::Object(_) | Value::Raw(_) => Self::Structure(value.clone()),
        }
    }

    pub(super) fn literal(literal: &Literal) -> Self {
        match literal {
            Literal::Null => Self::Null,
            Literal::Bool(value) => Self::Bool(*value),
            Literal::Int(value) => Self::Int(*value),
            Literal::Float(value) => Self::Float(*value),
            Literal::Text(text) => Self::Text(text.clone()),
        }
    }

    /// The operand as a value; what is no JSON number is absent.
    pub(super) fn into_value(self) -> Value {
        match self {
            Self::Float(value) if value.is_finite() => Value::Number(Number::Float(value)),
            Self::Absent | Self::Float(_) => Value::Absent,
            Self::Null => Value::Null,
            Self::Bool(value) => Value::Bool(value),
            Self::Int(value) => Value::Number(match i64::try_from(value) {
                Ok(value) => Number::Int(value),
                Err(_) => Number::Source(value.to_string().into()),
            }),
            Self::Text(text) => Value::String(text),
            Self::Structure(value) => value,
        }
    }

    pub(super) fn is_truthy(&self) -> bool {
        match self {
            Self::Absent | Self::Null => false,
            Self::Bool(value) => *value,
            Self::Int(value) => *value != 0,
            Self::Float(value) => !value.is_nan() && *value != 0.0,
            Self::Text(text) => !text.is_empty(),
            Self::Structure(_) => true,
        }
    }

    /// The number it converts to (`ToNumber` of ECMA-262).
    pub(super) fn to_number(&self) -> f64 {
        match self {
            Self::Absent => f64::NAN,
            Self::Null | Self::Bool(false) => 0.0,
            Self::Bool(true) => 1.0,
            #[expect(clippy::cast_precision_loss, reason = "JavaScript's numbers are floats")]
            Self::Int(value) => *value as f64,
            Self::Float(value) => *value,
            Self::Text(text) => text_to_number(text),
            Self::Structure(value) => text_to_number(&structure_text(value, 0)),
        }
    }

    /// The number it converts to, exact where it fits 64 bits.
    fn numeric(&self) -> Numeric {
        let whole = match self {
            Self::Int(value) => Some(*value),
            Self::Text(text) => whole_number(text.trim_matches(is_blank)),
            _ => None,
        };
        if let Some(whole) = whole {
            return Numeric::Whole(whole);
        }
        let float = self.to_number();
        // The conversion to a whole number saturates, so that what is too large stays a float.
        let whole = float as i128;
        if float.fract() == 0.0 && is_whole(whole) {
            Numeric::Whole(whole)
        } else {
            Numeric::Float(float)
        }
    }

    /// The text it converts to (`ToString` of ECMA-262).
    pub(super) fn to_text(&self) -> Text {
        match self {
            Self::Absent => Text::from_static("undefined"),
            Self::Null => Text::from_static("null"),
            Self::Bool(true) => Text::from_static("true"),
            Self::Bool(false) => Text::from_static("false"),
            Self::Int(value) => value.to_string().into(),
            Self::Float(value) if value.is_nan() => Text::from_static("NaN"),
            Self::Float(value) if value.is_infinite() && *value > 0.0 => {
                Text::from_static("Infinity")
            }
            Self::Float(value) if value.is_infinite() => Text::from_static("-Infinity"),
            Self::Float(value) => Number::Float(*value).to_shortest().into(),
            Self::Text(text) => text.clone(),
            Self::Structure(value) => structure_text(value, 0).into(),
        }
    }

    /// A structure as the text that stands for it in comparisons; everything else as it is.
    fn to_primitive(&self) -> Self {
        match self {
            Self::Structure(value) => Self::Text(structure_text(value, 0).into()),
            other => other.clone(),
        }
    }

    /// `+`: joins texts if one side is text, else adds.
    pub(super) fn plus(&self, other: &Self) -> Self {
        let (left, right) = (self.to_primitive(), other.to_primitive());
        match (&left, &right) {
            (Self::Text(_), _) | (_, Self::Text(_)) => {
                Self::Text(format!("{}{}", left.to_text(), right.to_text()).into())
            }
            (Self::Int(left), Self::Int(right)) if is_whole(left + right) => {
                Self::Int(left + right)
            }
            _ => Self::number(left.to_number() + right.to_number()),
        }
    }

    /// Unary `-`.
    pub(super) fn negate(&self) -> Self {
        match self {
            Self::Int(value) if *value != 0 && is_whole(-value) => Self::Int(-value),
            _ => Self::number(-self.to_number()),
        }
    }

    /// A computed number, whole if it is one that floats hold exactly.
    pub(super) fn number(value: f64) -> Self {
        match Number::Float(value).as_i64() {
            Some(whole) if value.is_finite() => Self::Int(i128::from(whole)),
            _ => Self::Float(value),
        }
    }

    /// The order of two operands; `None` if one is not a number, where all comparisons are false.
    pub(super) fn compare(&self, other: &Self) -> Option<Ordering> {
        match (self.to_primitive(), other.to_primitive()) {
            // JavaScript compares UTF-16 code units.
            (Self::Text(left), Self::Text(right)) => {
                Some(left.encode_utf16().cmp(right.encode_utf16()))
            }
            (left, right) => match (left.numeric(), right.numeric()) {
                (Numeric::Whole(left), Numeric::Whole(right)) => Some(left.cmp(&right)),
                _ => left.to_number().partial_cmp(&right.to_number()),
            },
        }
    }

    /// `==`.
    pub(super) fn equals(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Absent | Self::Null, Self::Absent | Self::Null) => true,
            (Self::Absent | Self::Null, _) | (_, Self::Absent | Self::Null) => false,
            (Self::Structure(left), Self::Structure(right)) => is_same_structure(left, right),
            (Self::Structure(_), _) | (_, Self::Structure(_)) => {
                self.to_primitive().equals(&other.to_primitive())
            }
            (Self::Text(left), Self::Text(right)) => left == right,
            #[expect(clippy::float_cmp, reason = "equality of floats is what the operator means")]
            (left, right) => match (left.numeric(), right.numeric()) {
                (Numeric::Whole(left), Numeric::Whole(right)) => left == right,
                (Numeric::Float(left), Numeric::Float(right)) => left == right,
                _ => false,
            },
        }
    }

    /// `===`.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Absent, Self::Absent) | (Self::Null, Self::Null) => true,
            (Self::Bool(left), Self::Bool(right)) => left == right,
            (Self::Int(_) | Self::Float(_), Self::Int(_) | Self::Float(_))
            | (Self::Text(_), Self::Text(_))
            | (Self::Structure(_), Self::Structure(_)) => self.equals(other),
            _ => false,
        }
    }
}

/// Structures are equal only to themselves.
fn is_same_structure(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Array(left), Value::Array(right)) => std::sync::Arc::ptr_eq(left, right),
        (Value::Object(left), Value::Object(right)) => std::sync::Arc::ptr_eq(left, right),
        (Value::Raw(left), Value::Raw(right)) => {
            left.as_bytes().as_ptr() == right.as_bytes().as_ptr() && left.len() == right.len()
        }
        _ => false,
    }
}

/// The text of an array is its elements' texts with commas, that of an object a fixed one.
fn structure_text(value: &Value, depth: usize) -> String {
    let Some(elements) = value.elements() else { return "[object Object]".to_owned() };
    let mut text = String::new();
    for (at, element) in elements.iter().enumerate() {
        if at > 0 {
            text.push(',');
        }
        match Operand::of(element) {
            Operand::Absent | Operand::Null => {}
            Operand::Structure(_) if depth == JOIN_DEPTH_MAX => {}
            Operand::Structure(inner) => text.push_str(&structure_text(&inner, depth + 1)),
            scalar => text.push_str(&scalar.to_text()),
        }
    }
    text
}

/// Whether a conversion from text to a number leaves a character out at both ends.
fn is_blank(c: char) -> bool {
    c.is_whitespace() || c == '\u{feff}'
}

/// `StringToNumber` of ECMA-262.
fn text_to_number(text: &str) -> f64 {
    let text = text.trim_matches(is_blank);
    if text.is_empty() {
        return 0.0;
    }
    for (prefix, radix) in [("0x", 16), ("0X", 16), ("0o", 8), ("0O", 8), ("0b", 2), ("0B", 2)] {
        if let Some(digits) = text.strip_prefix(prefix) {
            return radix_number(digits, radix);
        }
    }
    match text {
        "Infinity" | "+Infinity" => f64::INFINITY,
        "-Infinity" => f64::NEG_INFINITY,
        // Rust also reads `inf` and `nan`; JavaScript does not.
        _ if text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E')) => {
            text.parse().unwrap_or(f64::NAN)
        }
        _ => f64::NAN,
    }
}

fn radix_number(digits: &str, radix: u32) -> f64 {
    if digits.is_empty() {
        return f64::NAN;
    }
    digits
        .chars()
        .try_fold(0.0, |number, digit| {
            digit.to_digit(radix).map(|digit| number * f64::from(radix) + f64::from(digit))
        })
        .unwrap_or(f64::NAN)
}
