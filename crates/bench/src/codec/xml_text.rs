//! Writing a value as XML: members as elements, arrays as repeated elements, an element of an array
//! without a name as `item`.

use qlio_data::Value;

use super::CodecError;

/// Nesting that is written at most; what reads it again has the same bound.
pub(super) const DEPTH_MAX: usize = 500;
const DECLARATION: &[u8] = b"<?xml version=\"1.0\" encoding=\"UTF-8\"?>";

/// Appends a document with the element `root`.
///
/// # Errors
/// A member's name cannot be an element, a text cannot be XML, or it is nested too deep.
pub(super) fn encode(value: &Value, root: &str, out: &mut Vec<u8>) -> Result<(), CodecError> {
    out.extend_from_slice(DECLARATION);
    // An array needs something around its elements.
    if value.is_array() {
        open(root, out)?;
        element("item", value, DEPTH_MAX, out)?;
        close(root, out);
        return Ok(());
    }
    element(root, value, DEPTH_MAX, out)
}

fn element(name: &str, value: &Value, depth: usize, out: &mut Vec<u8>) -> Result<(), CodecError> {
    if depth == 0 {
        return Err(CodecError::Deep);
    }
    let value = &*value.open();
    match value {
        Value::Absent => return Ok(()),
        Value::Array(elements) => {
            for inner in elements.iter() {
                // An array in an array would otherwise melt into the outer one.
                if inner.is_array() {
                    open(name, out)?;
                    element("item", inner, depth - 1, out)?;
                    close(name, out);
                } else {
                    element(name, inner, depth - 1, out)?;
                }
            }
            return Ok(());
        }
        _ => open(name, out)?,
    }
    match value {
        Value::Object(members) => {
            for (name, value) in members.iter() {
                element(name, value, depth - 1, out)?;
            }
        }
        Value::String(text) => escape(text, out)?,
        scalar => {
            if let Some(text) = scalar.scalar_text() {
                out.extend_from_slice(text.as_bytes());
            }
        }
    }
    close(name, out);
    Ok(())
}

fn open(name: &str, out: &mut Vec<u8>) -> Result<(), CodecError> {
    let is_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | ':');
    let starts = name.chars().next().is_some_and(|first| first.is_alphabetic() || first == '_');
    if !starts || !name.chars().all(is_name) {
        return Err(CodecError::ElementName(name.to_owned()));
    }
    out.push(b'<');
    out.extend_from_slice(name.as_bytes());
    out.push(b'>');
    Ok(())
}

fn close(name: &str, out: &mut Vec<u8>) {
    out.extend_from_slice(b"</");
    out.extend_from_slice(name.as_bytes());
    out.push(b'>');
}

fn escape(text: &str, out: &mut Vec<u8>) -> Result<(), CodecError> {
    let bytes = text.as_bytes();
    let mut copied = 0;
    for (at, byte) in bytes.iter().enumerate() {
        let replacement: &[u8] = match byte {
            b'&' => b"&amp;",
            b'<' => b"&lt;",
            b'>' => b"&gt;",
            // Readers turn bare ones into line feeds.
            b'\r' => b"&#13;",
            0..=8 | 11 | 12 | 14..=31 => {
                return Err(CodecError::Control(*byte));
            }
            _ => continue,
        };
        out.extend_from_slice(&bytes[copied..at]);
        out.extend_from_slice(replacement);
        copied = at + 1;
    }
    out.extend_from_slice(&bytes[copied..]);
    Ok(())
}
