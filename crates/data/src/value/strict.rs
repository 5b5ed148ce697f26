//! Strict equality, `===` of the expression language (PTH-6).
//!
//! Equal type and equal value; nothing is converted. Structures are equal to nothing, as two
//! structures read at different places never are the same one.

use std::num::IntErrorKind;

use super::{Number, Value};

/// Whether `a === b`.
pub fn strictly_equals(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Absent, Value::Absent) | (Value::Null, Value::Null) => true,
        (Value::Bool(a), Value::Bool(b)) => a == b,
        (Value::Number(a), Value::Number(b)) => a == b,
        (Value::String(a), Value::String(b)) => a == b,
        _ => false,
    }
}

/// A number reduced to the form in which equal numbers are identical.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Exact {
    /// A whole number that fits 64 bits.
    Whole(i64),
    /// A larger one that fits 64 bits without a sign.
    Large(u64),
    /// The bits of any other float; whole numbers have been taken by the others.
    Float(u64),
}

impl Exact {
    pub(super) fn of_float(value: f64) -> Self {
        // 2^63, the first float that is too large; its negative fits.
        const BEYOND: f64 = 9_223_372_036_854_775_808.0;
        if value.fract() != 0.0 {
            return Self::Float(value.to_bits());
        }
        if (-BEYOND..BEYOND).contains(&value) {
            return Self::Whole(value as i64);
        }
        #[expect(clippy::cast_sign_loss, reason = "the range has no negative numbers")]
        if (BEYOND..2.0 * BEYOND).contains(&value) {
            return Self::Large(value as u64);
        }
        Self::Float(value.to_bits())
    }

    /// A whole number that fits 64 bits, with or without a sign.
    pub(super) fn of_whole(value: u128) -> Option<Self> {
        let whole = i64::try_from(value).map(Self::Whole);
        whole.or_else(|_| u64::try_from(value).map(Self::Large)).ok()
    }

    /// Digits that are valid JSON, or a decimal number as JavaScript reads it from text.
    pub(super) fn of_decimal(text: &str) -> Option<Self> {
        match text.parse::<i64>() {
            Ok(whole) => return Some(Self::Whole(whole)),
            Err(error) if *error.kind() == IntErrorKind::PosOverflow => {
                if let Ok(large) = text.parse() {
                    return Some(Self::Large(large));
                }
            }
            Err(_) => {}
        }
        text.parse().ok().map(Self::of_float)
    }
}

impl Number {
    pub(super) fn exact(&self) -> Exact {
        match self {
            Self::Int(value) => Exact::Whole(*value),
            Self::Float(value) => Exact::of_float(*value),
            Self::Source(text) => {
                Exact::of_decimal(text).unwrap_or_else(|| Exact::of_float(self.as_f64()))
            }
        }
    }
}

/// By value, however the numbers are written: `1.0` is `1`. Whole numbers of 64 bits compare
/// exactly (FMT-12).
impl PartialEq for Number {
    fn eq(&self, other: &Self) -> bool {
        self.exact() == other.exact()
    }
}
