//! Header lines, read and written (RFC 9112, 5).

use http::HeaderName;

use super::Malformed;

/// Room for a header line of the usual length, in bytes.
pub const LINE_BYTES_USUAL: usize = 48;

/// Writes a header line. Name and value are of types that hold no line break.
pub fn put_field(head: &mut Vec<u8>, name: &str, value: &[u8]) {
    head.extend_from_slice(name.as_bytes());
    head.extend_from_slice(b": ");
    head.extend_from_slice(value);
    head.extend_from_slice(b"\r\n");
}

/// Name and value of a header line; values are without the blanks around them. A line that begins with a blank
/// (the obsolete way to go on with the line before) has no name, and so is refused (RFC 9112, 5.2).
pub(super) fn split_field(line: &[u8]) -> Result<(HeaderName, &[u8]), Malformed> {
    let colon = memchr::memchr(b':', line).unwrap_or(line.len());
    let name = HeaderName::from_bytes(&line[..colon])
        .map_err(|_| Malformed::new("invalid HTTP header name"))?;
    let value = line.get(colon + 1..).ok_or_else(|| Malformed::new("invalid HTTP header"))?;
    Ok((name, trim_blanks(value)))
}

/// Without spaces and tabs at both ends; other white space is part of a value and refused there.
fn trim_blanks(mut value: &[u8]) -> &[u8] {
    while let [b' ' | b'\t', rest @ ..] | [rest @ .., b' ' | b'\t'] = value {
        value = rest;
    }
    value
}
