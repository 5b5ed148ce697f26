//! Strict percent-decoding of what clients send.
//!
//! In: the raw parts of a request target or a form body. Out: text. A `%` that is not followed by
//! two hexadecimal digits, or bytes that are not UTF-8 after decoding, are an error with its offset
//! and become a 400 (`server.md` 1.4); nothing is guessed or replaced.

use std::{borrow::Cow, fmt};

/// Percent-encoding that cannot be decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MalformedEncoding {
    /// Byte offset of the first offending byte in the encoded text.
    pub offset: usize,
}

impl fmt::Display for MalformedEncoding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "malformed percent-encoding at offset {}", self.offset)
    }
}

impl std::error::Error for MalformedEncoding {}

/// Decodes a path segment: `%XX` only, `+` stays.
pub fn decode(text: &str) -> Result<Cow<'_, str>, MalformedEncoding> {
    if !text.contains('%') {
        return Ok(Cow::Borrowed(text));
    }
    decode_bytes(text, false).map(Cow::Owned)
}

/// Decodes a key or value of a query or form: `%XX`, and `+` is a space.
pub fn decode_form(text: &str) -> Result<Cow<'_, str>, MalformedEncoding> {
    if !text.contains(['%', '+']) {
        return Ok(Cow::Borrowed(text));
    }
    decode_bytes(text, true).map(Cow::Owned)
}

/// Encodes text as a part of a URI, like `encodeURIComponent`: only `A–Z a–z 0–9 - _ . ! ~ * ' ( )`
/// stay.
pub fn encode(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len() + text.len() / 2);
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_.!~*'()".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            push_triplet(&mut encoded, byte);
        }
    }
    encoded
}

/// Appends `%XX`, upper case.
pub(crate) fn push_triplet(text: &mut String, byte: u8) {
    text.extend(triplet(byte).map(char::from));
}

/// `%XX`, upper case.
pub(crate) fn triplet(byte: u8) -> [u8; 3] {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    [b'%', DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]
}

/// Whether a whole `%XX` stands at `at`.
pub(crate) fn is_triplet(bytes: &[u8], at: usize) -> bool {
    bytes.get(at) == Some(&b'%')
        && bytes.get(at + 1).is_some_and(u8::is_ascii_hexdigit)
        && bytes.get(at + 2).is_some_and(u8::is_ascii_hexdigit)
}

fn decode_bytes(text: &str, plus_is_space: bool) -> Result<String, MalformedEncoding> {
    let bytes = text.as_bytes();
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            b'%' => {
                if !is_triplet(bytes, at) {
                    return Err(MalformedEncoding { offset: at });
                }
                decoded.push(hex(bytes[at + 1]) << 4 | hex(bytes[at + 2]));
                at += 3;
            }
            b'+' if plus_is_space => {
                decoded.push(b' ');
                at += 1;
            }
            byte => {
                decoded.push(byte);
                at += 1;
            }
        }
    }
    String::from_utf8(decoded).map_err(|error| MalformedEncoding {
        offset: encoded_offset(bytes, error.utf8_error().valid_up_to()),
    })
}

/// The offset in the encoded text of the decoded byte number `decoded`.
fn encoded_offset(bytes: &[u8], decoded: usize) -> usize {
    (0..decoded).fold(0, |at, _| if is_triplet(bytes, at) { at + 3 } else { at + 1 })
}

fn hex(digit: u8) -> u8 {
    match digit {
        b'0'..=b'9' => digit - b'0',
        b'a'..=b'f' => digit - b'a' + 10,
        _ => digit.wrapping_sub(b'A').wrapping_add(10),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn triplets_decode_as_utf_8() {
        assert_eq!(decode("caf%C3%A9%2Fx").as_deref(), Ok("café/x"));
        assert_eq!(decode("a+b").as_deref(), Ok("a+b"));
        assert_eq!(decode_form("a+b%2B").as_deref(), Ok("a b+"));
    }

    #[test]
    fn malformed_encoding_is_located() {
        for (text, offset) in
            [("%E0%A4%A", 6), ("a%", 1), ("a%zz", 1), ("ab%C3%28", 2), ("%41%FF", 3)]
        {
            assert_eq!(decode(text), Err(MalformedEncoding { offset }), "{text}");
        }
    }

    proptest! {
        #[test]
        fn what_was_encoded_decodes_to_the_same(text in ".{0,60}") {
            let mut encoded = String::new();
            qlio_data::percent::encode_component(&text, &mut encoded);
            prop_assert_eq!(decode(&encoded).expect("own encoding"), text);
        }

        #[test]
        fn decoding_any_text_never_panics(text in "[%0-9a-fA-F+ é/]{0,40}") {
            if let Err(error) = decode_form(&text) {
                prop_assert!(error.offset < text.len());
            }
        }
    }
}
