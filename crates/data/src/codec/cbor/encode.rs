//! Writing one data item.

use super::DEPTH_MAX;
use crate::{Number, Value, codec::EncodeError};

/// Major types, in the place they have in an initial byte.
const UNSIGNED: u8 = 0x00;
const NEGATIVE: u8 = 0x20;
const TEXT: u8 = 0x60;
const ARRAY: u8 = 0x80;
const MAP: u8 = 0xa0;
const FALSE: u8 = 0xf4;
const TRUE: u8 = 0xf5;
const NULL: u8 = 0xf6;
const DOUBLE: u8 = 0xfb;

/// Appends a value as one data item, lengths and integers in their shortest form.
///
/// Whole numbers that have an initial byte of their own (-2⁶⁴ to 2⁶⁴-1) stay whole, larger ones become
/// text. Others are 64-bit floats even where fewer bits would hold them: 32 of them would read back
/// as another decimal number. Absent members are left out, absent elements are null. What
/// [`decode`](super::decode) made text (byte strings, points in time) is written as text.
pub fn encode(value: &Value, out: &mut Vec<u8>) -> Result<(), EncodeError> {
    write(value, DEPTH_MAX, out)
}

fn write(value: &Value, depth: usize, out: &mut Vec<u8>) -> Result<(), EncodeError> {
    match value {
        Value::Absent | Value::Null => out.push(NULL),
        Value::Bool(value) => out.push(if *value { TRUE } else { FALSE }),
        Value::Number(number) => write_number(number, out),
        Value::String(text) => write_text(text, out),
        Value::Array(_) | Value::Object(_) | Value::Raw(_) if depth == 0 => {
            return Err(EncodeError { reason: format!("value nested deeper than {DEPTH_MAX}") });
        }
        Value::Array(elements) => {
            write_head(ARRAY, elements.len() as u64, out);
            for element in elements.iter() {
                write(element, depth - 1, out)?;
            }
        }
        Value::Object(members) => {
            let present = || members.iter().filter(|(_, value)| !value.is_absent());
            write_head(MAP, present().count() as u64, out);
            for (name, value) in present() {
                write_text(name, out);
                write(value, depth - 1, out)?;
            }
        }
        // Opens one level; what is inside is opened when it is written.
        Value::Raw(_) => match value.open().as_ref() {
            Value::Raw(_) => {
                return Err(EncodeError { reason: "value is not valid JSON".to_owned() });
            }
            opened => write(opened, depth, out)?,
        },
    }
    Ok(())
}

fn write_number(number: &Number, out: &mut Vec<u8>) {
    match number {
        Number::Int(value) => write_whole(i128::from(*value), out),
        Number::Float(value) => write_float(*value, out),
        Number::Source(text) => match text.parse::<i128>() {
            Ok(value) if is_short(value) => write_whole(value, out),
            _ if text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-') => {
                write_text(text, out);
            }
            _ => write_float(number.as_f64(), out),
        },
    }
}

fn is_short(value: i128) -> bool {
    (-1 - i128::from(u64::MAX)..=i128::from(u64::MAX)).contains(&value)
}

fn write_whole(value: i128, out: &mut Vec<u8>) {
    // `!value` is -1 minus it.
    let (major, argument) = if value < 0 { (NEGATIVE, !value) } else { (UNSIGNED, value) };
    write_head(major, u64::try_from(argument).unwrap_or(u64::MAX), out);
}

fn write_float(value: f64, out: &mut Vec<u8>) {
    out.push(DOUBLE);
    out.extend_from_slice(&value.to_be_bytes());
}

fn write_text(text: &str, out: &mut Vec<u8>) {
    write_head(TEXT, text.len() as u64, out);
    out.extend_from_slice(text.as_bytes());
}

/// A head with the shortest form of its argument.
fn write_head(major: u8, argument: u64, out: &mut Vec<u8>) {
    let bytes = argument.to_be_bytes();
    // What the low bits of the initial byte say, and how many of the eight bytes follow.
    let (information, width) = match argument {
        0..=23 => (bytes[7], 0),
        24..=0xff => (24, 1),
        0x100..=0xffff => (25, 2),
        0x1_0000..=0xffff_ffff => (26, 4),
        _ => (27, 8),
    };
    out.push(major | information);
    out.extend_from_slice(&bytes[8 - width..]);
}
