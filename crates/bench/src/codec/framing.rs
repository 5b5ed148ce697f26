//! Many messages in one buffer: where one ends and the next begins.
//!
//! Formats whose messages show their own end need nothing; all others get their length in decimal
//! digits and a line end in front, as the published Protocol Buffers stream does
//! (`docs/reference/bench.md`).

use qlio_data::Value;

use super::{Codec, CodecError};

/// Digits of a length, at most.
const DIGITS_MAX: usize = 10;

/// Appends a message with its frame; answers the bytes of the frame.
///
/// # Errors
/// The format cannot hold the message.
pub fn frame(
    codec: &Codec,
    value: &Value,
    scratch: &mut Vec<u8>,
    out: &mut Vec<u8>,
) -> Result<usize, CodecError> {
    if codec.format.is_flat() {
        codec.encode(value, out)?;
        return Ok(0);
    }
    scratch.clear();
    codec.encode(value, scratch)?;
    let before = out.len();
    push_decimal(scratch.len(), out);
    out.extend_from_slice(b"\r\n");
    let overhead = out.len() - before;
    out.extend_from_slice(scratch);
    Ok(overhead)
}

fn push_decimal(mut number: usize, out: &mut Vec<u8>) {
    let start = out.len();
    loop {
        out.push(b'0' + (number % 10) as u8);
        number /= 10;
        if number == 0 {
            break;
        }
    }
    out[start..].reverse();
}

/// The place of the first message of a stream: where it starts and ends.
///
/// # Errors
/// There is no whole message.
pub fn next_frame(codec: &Codec, stream: &[u8]) -> Result<(usize, usize), CodecError> {
    if let Some(end) = codec.own_end(stream) {
        return Ok((0, end?));
    }
    let digits =
        stream.iter().take(DIGITS_MAX + 1).take_while(|byte| byte.is_ascii_digit()).count();
    if digits == 0 || digits > DIGITS_MAX || stream.get(digits..digits + 2) != Some(b"\r\n") {
        return Err(CodecError::NoLength);
    }
    let length = stream[..digits]
        .iter()
        .fold(0_usize, |length, digit| length * 10 + usize::from(digit - b'0'));
    let start = digits + 2;
    match start.checked_add(length) {
        Some(end) if end <= stream.len() => Ok((start, end)),
        _ => Err(CodecError::CutOff(format!("a message of {length} bytes"))),
    }
}
