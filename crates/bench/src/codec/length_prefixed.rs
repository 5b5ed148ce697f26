//! The length-prefixed struct (`docs/reference/bench.md`): total length, then each field as length
//! and bytes, all lengths 16 bits in the order of this machine. There are no names; the order is agreed.

use qlio_data::Value;

use crate::data::header::FIELDS;

const LENGTH_BYTES: usize = 2;

/// Appends the texts of a flat message.
///
/// # Errors
/// A member is no text, or a length does not fit 16 bits.
pub(super) fn encode(value: &Value, out: &mut Vec<u8>) -> Result<(), String> {
    let Value::Object(members) = value else {
        return Err("a struct holds one object".to_owned());
    };
    let start = out.len();
    out.extend_from_slice(&[0; LENGTH_BYTES]);
    for (name, value) in members.iter() {
        let text =
            value.as_str().ok_or_else(|| format!("a struct holds texts; `{name}` is none"))?;
        let length = u16::try_from(text.len()).map_err(|_| {
            format!("`{name}` has {} bytes, more than the 65,535 of a struct", text.len())
        })?;
        out.extend_from_slice(&length.to_ne_bytes());
        out.extend_from_slice(text.as_bytes());
    }
    let total = out.len() - start - LENGTH_BYTES;
    let length = u16::try_from(total)
        .map_err(|_| format!("the message has {total} bytes, more than the 65,535 of a struct"))?;
    out[start..start + LENGTH_BYTES].copy_from_slice(&length.to_ne_bytes());
    Ok(())
}

/// Where a message ends.
pub(super) fn end(stream: &[u8]) -> Result<usize, String> {
    match length_at(stream, 0).map(|length| LENGTH_BYTES + length) {
        Some(end) if end <= stream.len() => Ok(end),
        _ => Err("a struct is cut off".to_owned()),
    }
}

/// Reads a message of the fields of [`FIELDS`].
pub(super) fn decode(bytes: &[u8]) -> Result<Value, String> {
    if end(bytes)? != bytes.len() {
        return Err("bytes after the struct".to_owned());
    }
    let mut at = LENGTH_BYTES;
    let mut members = qlio_data::Object::with_capacity(FIELDS.len());
    for name in FIELDS {
        let start = at + LENGTH_BYTES;
        let field = length_at(bytes, at).and_then(|length| bytes.get(start..start + length));
        let field = field.ok_or_else(|| format!("`{name}` is cut off"))?;
        let text = std::str::from_utf8(field).map_err(|_| format!("`{name}` is not UTF-8"))?;
        members.insert(qlio_data::Text::from_static(name), Value::string(text));
        at = start + field.len();
    }
    if at != bytes.len() {
        return Err("more fields than agreed".to_owned());
    }
    Ok(Value::object(members))
}

fn length_at(bytes: &[u8], at: usize) -> Option<usize> {
    let pair = bytes.get(at..at + LENGTH_BYTES)?;
    Some(usize::from(u16::from_ne_bytes([pair[0], pair[1]])))
}
