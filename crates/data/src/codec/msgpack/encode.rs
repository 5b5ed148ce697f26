//! Writing one message.

use super::DEPTH_MAX;
use crate::{Number, Value, codec::EncodeError};

/// Appends a value as one message.
///
/// Whole numbers of 64 bits stay whole, larger ones become text, others 64-bit floats. Absent
/// members are left out, absent elements are nil. What [`decode`](super::decode) made text (binary,
/// timestamps) is written as text.
pub fn encode(value: &Value, out: &mut Vec<u8>) -> Result<(), EncodeError> {
    write(value, DEPTH_MAX, out)
}

fn write(value: &Value, depth: usize, out: &mut Vec<u8>) -> Result<(), EncodeError> {
    match value {
        Value::Absent | Value::Null => out.push(0xc0),
        Value::Bool(value) => out.push(if *value { 0xc3 } else { 0xc2 }),
        Value::Number(number) => write_number(number, out)?,
        Value::String(text) => write_text(text, out)?,
        Value::Array(_) | Value::Object(_) | Value::Raw(_) if depth == 0 => {
            return Err(EncodeError { reason: format!("value nested deeper than {DEPTH_MAX}") });
        }
        Value::Array(elements) => {
            write_count(elements.len(), 0x90, 0xdc, out)?;
            for element in elements.iter() {
                write(element, depth - 1, out)?;
            }
        }
        Value::Object(members) => {
            let present = || members.iter().filter(|(_, value)| !value.is_absent());
            write_count(present().count(), 0x80, 0xde, out)?;
            for (name, value) in present() {
                write_text(name, out)?;
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

fn write_number(number: &Number, out: &mut Vec<u8>) -> Result<(), EncodeError> {
    let source = match number {
        Number::Source(text) => text,
        Number::Int(value) => {
            write_int(*value, out);
            return Ok(());
        }
        Number::Float(value) => {
            write_float(*value, out);
            return Ok(());
        }
    };
    if let Ok(value) = source.parse::<i64>() {
        write_int(value, out);
    } else if let Ok(value) = source.parse::<u64>() {
        out.push(0xcf);
        out.extend_from_slice(&value.to_be_bytes());
    } else if source.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-') {
        write_text(source, out)?;
    } else {
        write_float(number.as_f64(), out);
    }
    Ok(())
}

fn write_float(value: f64, out: &mut Vec<u8>) {
    out.push(0xcb);
    out.extend_from_slice(&value.to_be_bytes());
}

fn write_int(value: i64, out: &mut Vec<u8>) {
    let bytes = value.to_be_bytes();
    // Head byte, and how many of the eight bytes follow; small numbers are their own head.
    let (head, width) = match value {
        -32..=127 => (bytes[7], 0),
        128..=0xff => (0xcc, 1),
        -0x80..=-33 => (0xd0, 1),
        0x100..=0xffff => (0xcd, 2),
        -0x8000..=-0x81 => (0xd1, 2),
        0x1_0000..=0xffff_ffff => (0xce, 4),
        -0x8000_0000..=-0x8001 => (0xd2, 4),
        _ => (0xd3, 8),
    };
    out.push(head);
    out.extend_from_slice(&bytes[8 - width..]);
}

fn write_text(text: &str, out: &mut Vec<u8>) -> Result<(), EncodeError> {
    let length = text.len();
    match length {
        0..=31 => out.push(0xa0 | length as u8),
        32..=0xff => out.extend_from_slice(&[0xd9, length as u8]),
        0x100..=0xffff => {
            out.push(0xda);
            out.extend_from_slice(&(length as u16).to_be_bytes());
        }
        _ => {
            out.push(0xdb);
            out.extend_from_slice(&long(length)?.to_be_bytes());
        }
    }
    out.extend_from_slice(text.as_bytes());
    Ok(())
}

/// The head of an array or map; `long_head` is its form with a 16-bit count, the next byte the one
/// with 32 bits.
fn write_count(
    count: usize,
    short_head: u8,
    long_head: u8,
    out: &mut Vec<u8>,
) -> Result<(), EncodeError> {
    match count {
        0..=15 => out.push(short_head | count as u8),
        16..=0xffff => {
            out.push(long_head);
            out.extend_from_slice(&(count as u16).to_be_bytes());
        }
        _ => {
            out.push(long_head + 1);
            out.extend_from_slice(&long(count)?.to_be_bytes());
        }
    }
    Ok(())
}

fn long(length: usize) -> Result<u32, EncodeError> {
    u32::try_from(length)
        .map_err(|_| EncodeError { reason: "more than 32 bits can count".to_owned() })
}
