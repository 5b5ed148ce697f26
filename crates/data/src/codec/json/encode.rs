//! From values to JSON text.
//!
//! In: a [`Value`]. Out: JSON without white space of its own; raw parts are copied as they came.
//! Absent members are left out, absent elements and an absent whole are `null`, and so are floats
//! that no JSON number can tell. Nesting is followed with an explicit stack: values of any depth
//! can be written. It does not sort members and does not format.

use bytes::Bytes;

use super::{
    text::{is_written_within, write_string},
    tokens::is_number,
};
use crate::{Number, Object, Text, Value};

/// A value takes more bytes than allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooLarge {
    /// The bound in bytes.
    pub bytes_max: usize,
}

impl std::fmt::Display for TooLarge {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "the value takes more than {} bytes as JSON", self.bytes_max)
    }
}

impl std::error::Error for TooLarge {}

/// Appends `value` as JSON text.
pub fn encode(value: &Value, out: &mut Vec<u8>) {
    // Without a bound nothing can fail.
    let _: Result<(), TooLarge> = encode_within(value, out, usize::MAX);
}

/// The JSON text of `value`.
pub fn to_string(value: &Value) -> String {
    let mut out = Vec::new();
    encode(value, &mut out);
    String::from_utf8(out).unwrap_or_default()
}

/// Appends `value` as JSON text unless it takes more than `bytes_max` bytes.
///
/// A value that contains the same part many times is small in memory and may be huge as text; this
/// stops soon after the bound, not at the end.
pub fn encode_within(value: &Value, out: &mut Vec<u8>, bytes_max: usize) -> Result<(), TooLarge> {
    out.reserve(room_for(value).min(bytes_max));
    let start = out.len();
    let left = |out: &[u8]| bytes_max.saturating_sub(out.len() - start);
    let mut frames: Vec<Frame<'_>> = Vec::new();
    let mut next = value;
    loop {
        match next {
            Value::Array(elements) => {
                out.push(b'[');
                frames.push(Frame::Array { elements, at: 0 });
            }
            Value::Object(object) => {
                out.push(b'{');
                frames.push(Frame::Object { object, at: 0, is_first: true });
            }
            // What cannot fit is not copied first.
            Value::Raw(text) if text.len() > left(out) => return Err(TooLarge { bytes_max }),
            Value::String(text) if !is_written_within(text, left(out)) => {
                return Err(TooLarge { bytes_max });
            }
            leaf => write_leaf(leaf, out),
        }
        loop {
            if out.len() - start > bytes_max {
                return Err(TooLarge { bytes_max });
            }
            let Some(frame) = frames.last_mut() else { return Ok(()) };
            match frame.next(out) {
                Some(value) => {
                    next = value;
                    break;
                }
                None => {
                    frames.pop();
                }
            }
        }
    }
}

/// Room for the brackets that close what is around a text: a buffer that is full to the last byte would be moved for
/// them.
const CLOSING_BYTES: usize = 64;

/// About how many bytes `value` takes, as far as that is seen at a glance: a buffer that grows step by step copies what
/// is in it each time, and fills the processor's cache with what nobody reads any more. Apart, so that what writes keeps
/// its registers.
#[inline(never)]
fn room_for(value: &Value) -> usize {
    /// A value that holds the same text many times is longer than what it is made of.
    const ROOM_MAX: usize = 1 << 20;
    const LOOKED_AT_MAX: usize = 128;
    match value {
        Value::Array(_) | Value::Object(_) => {
            let mut left = LOOKED_AT_MAX;
            glance(value, &mut left).min(ROOM_MAX) + CLOSING_BYTES
        }
        // What is written at once makes its own room.
        _ => 0,
    }
}

/// The same for a part; `left` is how many values may still be looked at.
fn glance(value: &Value, left: &mut usize) -> usize {
    /// Elements of a list that stand for all of them.
    const SAMPLE: usize = 2;
    /// A number; or quotes and separators.
    const SMALL_BYTES: usize = 8;
    if *left == 0 {
        return SMALL_BYTES;
    }
    *left -= 1;
    let content = match value {
        Value::Raw(text) | Value::String(text) => text.len(),
        Value::Array(elements) => {
            let sample = elements
                .iter()
                .take(SAMPLE)
                .map(|element| glance(element, left))
                .fold(0, usize::saturating_add);
            match elements.len() {
                0..=SAMPLE => sample,
                // A little more, because room that is short by a byte costs as much as none.
                all => (sample / SAMPLE + sample / (4 * SAMPLE)).saturating_mul(all),
            }
        }
        Value::Object(object) => object
            .iter()
            .map(|(name, value)| name.len() + SMALL_BYTES + glance(value, left))
            .fold(0, usize::saturating_add),
        _ => 0,
    };
    content.saturating_add(SMALL_BYTES)
}

/// A structure that is being written.
enum Frame<'v> {
    Array { elements: &'v [Value], at: usize },
    Object { object: &'v Object, at: usize, is_first: bool },
}

impl<'v> Frame<'v> {
    /// Writes what stands before the next value and gives that value, or closes the structure.
    fn next(&mut self, out: &mut Vec<u8>) -> Option<&'v Value> {
        match self {
            Self::Array { elements, at } => {
                let Some(value) = elements.get(*at) else {
                    out.push(b']');
                    return None;
                };
                if *at > 0 {
                    out.push(b',');
                }
                *at += 1;
                Some(value)
            }
            Self::Object { object, at, is_first } => {
                while let Some((name, value)) = object.at(*at) {
                    *at += 1;
                    if value.is_absent() {
                        continue;
                    }
                    if !std::mem::take(is_first) {
                        out.push(b',');
                    }
                    write_key(name, out);
                    return Some(value);
                }
                out.push(b'}');
                None
            }
        }
    }
}

fn write_key(name: &str, out: &mut Vec<u8>) {
    write_string(name, out);
    out.push(b':');
}

fn write_leaf(value: &Value, out: &mut Vec<u8>) {
    match value {
        Value::String(text) => write_string(text, out),
        Value::Raw(text) => write_raw(text.as_bytes(), out),
        Value::Number(number) => write_number(number, out),
        Value::Bool(true) => out.extend_from_slice(b"true"),
        Value::Bool(false) => out.extend_from_slice(b"false"),
        Value::Absent | Value::Null | Value::Array(_) | Value::Object(_) => {
            out.extend_from_slice(b"null");
        }
    }
}

/// Appends JSON text as it is.
///
/// The C library copies long runs with one instruction that on some processors takes a hundred times as
/// long when the target starts a few bytes behind the source, counted within their pages. Buffers of this
/// size start at pages, so text behind a short beginning would be such a case each time.
pub(in crate::codec) fn write_raw(text: &[u8], out: &mut Vec<u8>) {
    const PIECE_BYTES: usize = 1 << 10;
    out.reserve(text.len() + CLOSING_BYTES);
    for piece in text.chunks(PIECE_BYTES) {
        out.extend_from_slice(piece);
    }
}

/// Appends a number; one that no JSON number can tell is `null`.
pub(in crate::codec) fn write_number(number: &Number, out: &mut Vec<u8>) {
    match number {
        Number::Int(whole) => write_whole(*whole, out),
        Number::Source(text) if is_number(text.as_bytes()) => {
            out.extend_from_slice(text.as_bytes());
        }
        Number::Source(_) => out.extend_from_slice(number.to_shortest().as_bytes()),
        Number::Float(value) if !value.is_finite() => out.extend_from_slice(b"null"),
        Number::Float(value) => match short_decimal(*value) {
            Some((digits, decimals)) => write_decimal(digits, decimals, out),
            None => out.extend_from_slice(number.to_shortest().as_bytes()),
        },
    }
}

/// Makes a raw value of an array or object that was written to `out`. A large one takes the buffer with
/// it, so that it is not copied, unless most of it is empty; else the buffer stays for the next. `None` if
/// it is not UTF-8.
pub(in crate::codec) fn raw_value(out: &mut Vec<u8>) -> Option<Value> {
    /// Bytes from which copying costs more than a new buffer.
    const TAKEN_FROM: usize = 16 << 10;
    /// How many times as much room as text a buffer may have that is taken.
    const ROOM_MAX: usize = 4;
    let text = if out.len() < TAKEN_FROM || out.capacity() / ROOM_MAX > out.len() {
        Bytes::copy_from_slice(out)
    } else {
        Bytes::from(std::mem::take(out))
    };
    Text::from_utf8(text).ok().map(Value::Raw)
}

/// Whether the text of a float, read again, is equal to the float. Large whole ones print fewer digits
/// than they have, and whole numbers compare by all their digits; zero loses its sign.
pub(in crate::codec) fn is_read_back(value: f64) -> bool {
    /// The largest whole number up to which floats have no gaps.
    const EXACT_MAX: f64 = 9_007_199_254_740_992.0;
    if value.abs() <= EXACT_MAX {
        return value != 0.0 || value.is_sign_positive();
    }
    let number = Number::Float(value);
    !value.is_finite() || Number::Source(number.to_shortest().into()) == number
}

/// The powers of ten that [`short_decimal`] tries.
const SCALES: [u64; 5] = [1, 10, 100, 1000, 10_000];

/// The digits of a float that has few of them, and how many stand behind the point: amounts of money
/// need no search for their shortest text.
fn short_decimal(value: f64) -> Option<(i64, usize)> {
    /// Floats tell any two decimals of fifteen digits apart, so what divides back is the text.
    const DIGITS_MAX: f64 = 1e15;
    SCALES.iter().enumerate().find_map(|(decimals, scale)| {
        #[expect(clippy::cast_precision_loss, reason = "small powers of ten are exact")]
        let scale = *scale as f64;
        let scaled = value * scale;
        let digits = (scaled + 0.5_f64.copysign(scaled)) as i64;
        #[expect(clippy::cast_precision_loss, reason = "fifteen digits are exact")]
        let back = digits as f64 / scale;
        #[expect(clippy::float_cmp, reason = "only the very same float has this text")]
        let is_same = scaled.abs() < DIGITS_MAX && back == value;
        is_same.then_some((digits, decimals))
    })
}

fn write_decimal(digits: i64, decimals: usize, out: &mut Vec<u8>) {
    let (scale, magnitude) = (SCALES[decimals], digits.unsigned_abs());
    if digits < 0 {
        out.push(b'-');
    }
    write_digits(magnitude / scale, 1, out);
    if decimals > 0 {
        out.push(b'.');
        write_digits(magnitude % scale, decimals, out);
    }
}

/// Appends a whole number.
pub(in crate::codec) fn write_whole(value: i64, out: &mut Vec<u8>) {
    if value < 0 {
        out.push(b'-');
    }
    write_digits(value.unsigned_abs(), 1, out);
}

/// Appends a number without a sign, with zeros in front up to `digits_min` digits.
pub(in crate::codec) fn write_digits(value: u64, digits_min: usize, out: &mut Vec<u8>) {
    const DIGITS_MAX: usize = 20;
    let mut digits = [b'0'; DIGITS_MAX];
    let mut start = DIGITS_MAX;
    let mut rest = value;
    while rest > 0 {
        start -= 1;
        digits[start] = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
    out.extend_from_slice(&digits[start.min(DIGITS_MAX - digits_min)..]);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn told(value: f64) -> String {
        to_string(&Value::Number(Number::Float(value)))
    }

    proptest! {
        #[test]
        fn floats_are_written_in_their_shortest_form(
            any in any::<f64>().prop_filter("finite", |value| value.is_finite()),
            digits in any::<i32>(), scale in 0..9_i32,
        ) {
            let decimal = f64::from(digits) / 10_f64.powi(scale);
            for value in [any, decimal, any.trunc(), (any % 1e16).trunc()] {
                prop_assert_eq!(told(value), Number::Float(value).to_shortest());
            }
        }

        #[test]
        fn whole_numbers_are_written_with_all_digits(value in any::<i64>()) {
            prop_assert_eq!(to_string(&Value::int(value)), value.to_string());
        }
    }

    #[test]
    fn floats_that_their_text_does_not_tell_are_known() {
        for value in [0.0, -0.5, 1e15, 9_007_199_254_740_992.0, 1e300, f64::NAN] {
            assert!(is_read_back(value), "{value}");
        }
        for value in [-0.0, 1_152_921_504_606_846_976.0, -1_152_921_504_606_846_976.0] {
            assert!(!is_read_back(value), "{value}");
        }
    }
}
