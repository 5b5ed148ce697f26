//! The length-prefixed struct (`docs/reference/bench.md`): total length, then each field as length
//! and bytes, all lengths 16 bits in the order of this machine. There are no names; the order is agreed.

use qlio_data::Value;

use super::CodecError;
use crate::data::header::FIELDS;

const LENGTH_BYTES: usize = 2;

/// Appends the texts of a flat message.
///
/// # Errors
/// A member is no text, or a length does not fit 16 bits.
pub(super) fn encode(value: &Value, out: &mut Vec<u8>) -> Result<(), CodecError> {
    let Value::Object(members) = value else {
        return Err(CodecError::NoObject("a struct"));
    };
    let start = out.len();
    out.extend_from_slice(&[0; LENGTH_BYTES]);
    for (name, value) in members.iter() {
        let text = value.as_str().ok_or_else(|| CodecError::NoText(name.to_string()))?;
        let length = u16::try_from(text.len())
            .map_err(|_| CodecError::LongField(name.to_string(), text.len()))?;
        out.extend_from_slice(&length.to_ne_bytes());
        out.extend_from_slice(text.as_bytes());
    }
    let total = out.len() - start - LENGTH_BYTES;
    let length = u16::try_from(total).map_err(|_| CodecError::LongStruct(total))?;
    out[start..start + LENGTH_BYTES].copy_from_slice(&length.to_ne_bytes());
    Ok(())
}

/// Where a message ends.
pub(super) fn end(stream: &[u8]) -> Result<usize, CodecError> {
    match length_at(stream, 0).map(|length| LENGTH_BYTES + length) {
        Some(end) if end <= stream.len() => Ok(end),
        _ => Err(CodecError::CutOff("a struct".to_owned())),
    }
}

/// Reads a message of the fields of [`FIELDS`].
pub(super) fn decode(bytes: &[u8]) -> Result<Value, CodecError> {
    if end(bytes)? != bytes.len() {
        return Err(CodecError::Rest("bytes after the struct"));
    }
    let mut at = LENGTH_BYTES;
    let mut members = qlio_data::Object::with_capacity(FIELDS.len());
    for name in FIELDS {
        let start = at + LENGTH_BYTES;
        let field = length_at(bytes, at).and_then(|length| bytes.get(start..start + length));
        let field = field.ok_or_else(|| CodecError::CutOff(format!("`{name}`")))?;
        let text =
            std::str::from_utf8(field).map_err(|_| CodecError::NotUtf8(format!("`{name}`")))?;
        members.insert(qlio_data::Text::from_static(name), Value::string(text));
        at = start + field.len();
    }
    if at != bytes.len() {
        return Err(CodecError::Rest("more fields than agreed"));
    }
    Ok(Value::object(members))
}

fn length_at(bytes: &[u8], at: usize) -> Option<usize> {
    let pair = bytes.get(at..at + LENGTH_BYTES)?;
    Some(usize::from(u16::from_ne_bytes([pair[0], pair[1]])))
}
