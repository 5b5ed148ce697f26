//! Percent-encoding, for URIs, forms, headers and whatever else travels in one of them.
//!
//! Encoding works on UTF-8 bytes; which bytes stay as they are is up to the caller, and the sets that URIs
//! need are here. Decoding comes in two kinds: strict for what clients send, where a `%` that is not
//! followed by two hexadecimal digits is an error with its offset, and lossy for what is only shown or
//! passed on. The crate `percent-encoding` has neither offsets nor the set of a path that may be encoded
//! already.

use std::{borrow::Cow, fmt};

/// Upper-case digits, as URIs are normalised.
const DIGITS: &[u8; 16] = b"0123456789ABCDEF";

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

/// Encodes everything except `A-Z a-z 0-9 - _ . ! ~ * ' ( )`, as JavaScript's `encodeURIComponent` does.
pub fn encode(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + text.len() / 2);
    encode_component(text, &mut out);
    out
}

/// Appends what [`encode`] gives.
pub fn encode_component(text: &str, out: &mut String) {
    encode_except(text, is_component, out);
}

/// Whether [`encode_component`] leaves a text as it is.
pub(crate) fn is_component_text(text: &str) -> bool {
    text.bytes().all(is_component)
}

/// Appends the text of a path or fragment, encoding what must not stand there literally: blanks,
/// control characters, quotes, `< > { } | ^ \` and the backtick, everything non-ASCII, and a `%`
/// that starts no escape. Escapes stay as they are.
pub fn encode_path(text: &str, out: &mut String) {
    let bytes = text.as_bytes();
    let stays = |at, byte| if byte == b'%' { is_escape(bytes, at) } else { is_path(byte) };
    encode_where(text, stays, out);
}

/// Appends text with every byte encoded for which `stays` is false; it must be false for bytes that are
/// not ASCII.
pub fn encode_except(text: &str, stays: impl Fn(u8) -> bool, out: &mut String) {
    encode_where(text, |_, byte| stays(byte), out);
}

fn encode_where(text: &str, stays: impl Fn(usize, u8) -> bool, out: &mut String) {
    let mut from = 0;
    for (at, byte) in text.bytes().enumerate() {
        if !stays(at, byte) {
            // Bytes that stay are ASCII, so the run before this byte ends on a character bound,
            // or is empty inside a longer character.
            out.push_str(text.get(from..at).unwrap_or_default());
            push_escape(byte, out);
            from = at + 1;
        }
    }
    out.push_str(text.get(from..).unwrap_or_default());
}

/// Appends `%XX`.
pub fn push_escape(byte: u8, out: &mut String) {
    for byte in escape(byte) {
        out.push(char::from(byte));
    }
}

/// The three bytes `%XX` that stand for a byte.
pub fn escape(byte: u8) -> [u8; 3] {
    [b'%', DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]
}

/// Whether a whole `%XX` stands at `at`.
pub fn is_escape(bytes: &[u8], at: usize) -> bool {
    unescape(bytes, at).is_some()
}

/// Decodes a path segment: `%XX` only, `+` stays.
///
/// # Errors
/// The first `%` that starts no escape, or byte that makes the text invalid UTF-8.
pub fn decode(text: &str) -> Result<Cow<'_, str>, MalformedEncoding> {
    decode_strictly(text, false)
}

/// Decodes a name or value of a query or form: `%XX`, and `+` is a blank.
///
/// # Errors
/// As [`decode`].
pub fn decode_form(text: &str) -> Result<Cow<'_, str>, MalformedEncoding> {
    decode_strictly(text, true)
}

/// Decodes `%XX`; malformed escapes stay, invalid UTF-8 becomes U+FFFD.
pub fn decode_lossy(bytes: &[u8]) -> String {
    into_text(decode_bytes(bytes, false).0)
}

/// Decodes a name or value of a query as [`decode_lossy`] does, and `+` is a blank.
pub fn decode_form_lossy(text: &str) -> Cow<'_, str> {
    if memchr::memchr2(b'%', b'+', text.as_bytes()).is_none() {
        return Cow::Borrowed(text);
    }
    Cow::Owned(into_text(decode_bytes(text.as_bytes(), true).0))
}

fn decode_strictly(text: &str, plus_is_blank: bool) -> Result<Cow<'_, str>, MalformedEncoding> {
    let bytes = text.as_bytes();
    let first = memchr::memchr2(b'%', if plus_is_blank { b'+' } else { b'%' }, bytes);
    if first.is_none() {
        return Ok(Cow::Borrowed(text));
    }
    let (decoded, malformed) = decode_bytes(bytes, plus_is_blank);
    if let Some(offset) = malformed {
        return Err(MalformedEncoding { offset });
    }
    let decoded = String::from_utf8(decoded).map_err(|error| MalformedEncoding {
        offset: encoded_offset(bytes, error.utf8_error().valid_up_to()),
    })?;
    Ok(Cow::Owned(decoded))
}

/// The decoded bytes, and the place of the first `%` that starts no escape; it stays.
fn decode_bytes(bytes: &[u8], plus_is_blank: bool) -> (Vec<u8>, Option<usize>) {
    let mut decoded = Vec::with_capacity(bytes.len());
    let (mut at, mut malformed) = (0, None);
    while let Some(byte) = bytes.get(at) {
        match (byte, unescape(bytes, at)) {
            (_, Some(value)) => {
                decoded.push(value);
                at += 3;
                continue;
            }
            (b'+', None) if plus_is_blank => decoded.push(b' '),
            (byte, None) => {
                if *byte == b'%' {
                    malformed = malformed.or(Some(at));
                }
                decoded.push(*byte);
            }
        }
        at += 1;
    }
    (decoded, malformed)
}

fn into_text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

/// The offset in the encoded text of the decoded byte number `decoded`.
fn encoded_offset(bytes: &[u8], decoded: usize) -> usize {
    (0..decoded).fold(0, |at, _| if is_escape(bytes, at) { at + 3 } else { at + 1 })
}

/// The byte of a whole `%XX` at `at`.
fn unescape(bytes: &[u8], at: usize) -> Option<u8> {
    if bytes.get(at) != Some(&b'%') {
        return None;
    }
    let digit = |at: usize| char::from(*bytes.get(at)?).to_digit(16);
    u8::try_from(digit(at + 1)? * 16 + digit(at + 2)?).ok()
}

fn is_component(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
        || matches!(byte, b'-' | b'_' | b'.' | b'!' | b'~' | b'*' | b'\'' | b'(' | b')')
}

fn is_path(byte: u8) -> bool {
    byte.is_ascii_graphic()
        && !matches!(
            byte,
            b'"' | b'\'' | b'<' | b'>' | b'{' | b'}' | b'|' | b'^' | b'`' | b'\\' | b'%'
        )
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn component(text: &str) -> String {
        let mut out = String::new();
        encode_component(text, &mut out);
        out
    }

    fn path(text: &str) -> String {
        let mut out = String::new();
        encode_path(text, &mut out);
        out
    }

    #[test]
    fn components_keep_only_the_unreserved_and_five_more() {
        assert_eq!(component("A-z_0.9!~*'()"), "A-z_0.9!~*'()");
        assert_eq!(component("/?&=+#% ,;:@"), "%2F%3F%26%3D%2B%23%25%20%2C%3B%3A%40");
        assert_eq!(component("Bodø🛶"), "Bod%C3%B8%F0%9F%9B%B6");
        assert_eq!(component("\u{0}\n\u{7f}"), "%00%0A%7F");
    }

    #[test]
    fn paths_keep_delimiters_and_escapes() {
        assert_eq!(path("/a;b=1,2/@x:y+z&~"), "/a;b=1,2/@x:y+z&~");
        assert_eq!(path("/a b\"'<>{}|^`\\"), "/a%20b%22%27%3C%3E%7B%7D%7C%5E%60%5C");
        assert_eq!(path("/%2F%zz%4"), "/%2F%25zz%254");
        assert_eq!(path("/ø\t"), "/%C3%B8%09");
    }

    #[test]
    fn malformed_encoding_is_located() {
        for (text, offset) in
            [("%E0%A4%A", 6), ("a%", 1), ("a%zz", 1), ("ab%C3%28", 2), ("%41%FF", 3)]
        {
            assert_eq!(decode(text), Err(MalformedEncoding { offset }), "{text}");
        }
    }

    #[test]
    fn a_plus_is_a_blank_in_forms_only() {
        assert_eq!(decode("caf%C3%A9%2Fx").as_deref(), Ok("café/x"));
        assert_eq!(decode("a+b").as_deref(), Ok("a+b"));
        assert_eq!(decode_form("a+b%2B").as_deref(), Ok("a b+"));
        assert_eq!(decode_lossy(b"a+b%2B%"), "a+b+%");
    }

    #[test]
    fn queries_decode_whatever_they_hold() {
        for (text, decoded) in [
            ("a+b%20c", "a b c"),
            ("%C3%B8", "ø"),
            ("%C3", "\u{fffd}"),
            ("100%", "100%"),
            ("%zz%4", "%zz%4"),
            ("ø", "ø"),
        ] {
            assert_eq!(decode_form_lossy(text), decoded, "{text}");
        }
    }

    proptest! {
        #[test]
        fn a_component_decodes_to_itself(text in any::<String>()) {
            let coded = component(&text);
            prop_assert_eq!(decode_form_lossy(&coded), text);
        }

        #[test]
        fn strict_decoding_agrees_with_lossy_decoding(text in "[%0-9a-fA-F+ é/]{0,40}") {
            match decode_form(&text) {
                Ok(decoded) => prop_assert_eq!(&*decoded, decode_form_lossy(&text)),
                Err(error) => prop_assert!(error.offset < text.len()),
            }
        }

        #[test]
        fn an_encoded_path_is_plain_and_stays_as_it_is(text in any::<String>()) {
            let encoded = path(&text);
            prop_assert!(encoded.bytes().all(|byte| byte.is_ascii_graphic()));
            prop_assert_eq!(path(&encoded), encoded);
        }
    }
}
