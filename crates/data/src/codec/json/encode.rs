//! From values to JSON text.
//!
//! In: a [`Value`]. Out: JSON without white space of its own; raw parts are copied as they came.
//! Absent members are left out, absent elements and an absent whole are `null`, and so are floats
//! that no JSON number can tell. Nesting is followed with an explicit stack: values of any depth
//! can be written. It does not sort members and does not format.

use super::{scan::is_number, text::write_string};
use crate::{Number, Object, Value};

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
    let start = out.len();
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
                    write_string(name, out);
                    out.push(b':');
                    return Some(value);
                }
                out.push(b'}');
                None
            }
        }
    }
}

fn write_leaf(value: &Value, out: &mut Vec<u8>) {
    match value {
        Value::String(text) => write_string(text, out),
        Value::Raw(text) => out.extend_from_slice(text.as_bytes()),
        Value::Number(number) => write_number(number, out),
        Value::Bool(true) => out.extend_from_slice(b"true"),
        Value::Bool(false) => out.extend_from_slice(b"false"),
        Value::Absent | Value::Null | Value::Array(_) | Value::Object(_) => {
            out.extend_from_slice(b"null");
        }
    }
}

fn write_number(number: &Number, out: &mut Vec<u8>) {
    match number {
        Number::Int(whole) => write_whole(*whole, out),
        Number::Source(text) if is_number(text.as_bytes()) => {
            out.extend_from_slice(text.as_bytes());
        }
        Number::Float(value) if !value.is_finite() => out.extend_from_slice(b"null"),
        Number::Float(_) | Number::Source(_) => {
            out.extend_from_slice(number.to_shortest().as_bytes());
        }
    }
}

fn write_whole(value: i64, out: &mut Vec<u8>) {
    const DIGITS_MAX: usize = 20;
    let mut digits = [0; DIGITS_MAX];
    let mut start = DIGITS_MAX;
    let mut rest = value.unsigned_abs();
    loop {
        start -= 1;
        digits[start] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    if value < 0 {
        out.push(b'-');
    }
    out.extend_from_slice(&digits[start..]);
}
