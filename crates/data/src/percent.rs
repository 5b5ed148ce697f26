//! Percent-encoding of URI parts (`connectors.md` 2.3).
//!
//! Three sets of characters stay as they are: the one for values and names of a query (the same as
//! JavaScript's `encodeURIComponent`), and what may stand in a path or a fragment once it is written.
//! Encoding works on UTF-8 bytes; decoding never fails.

/// Upper-case digits, as URIs are normalised.
const HEX: &[u8; 16] = b"0123456789ABCDEF";

/// Appends `text` with everything encoded except `A-Z a-z 0-9 - _ . ! ~ * ' ( )`.
pub fn encode_component(text: &str, out: &mut String) {
    encode(text, out, is_component);
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
    let mut from = 0;
    for (at, byte) in bytes.iter().enumerate() {
        let stays = if *byte == b'%' { escape(bytes, at).is_some() } else { is_path(*byte) };
        if !stays {
            out.push_str(text.get(from..at).unwrap_or_default());
            push_escape(*byte, out);
            from = at + 1;
        }
    }
    out.push_str(text.get(from..).unwrap_or_default());
}

/// Decodes the text of a query: `+` is a blank, escapes are bytes, malformed escapes stay, invalid
/// UTF-8 becomes U+FFFD.
pub fn decode_query(text: &str) -> String {
    if !text.contains(['%', '+']) {
        return text.to_owned();
    }
    let bytes = text.as_bytes();
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        match (byte, escape(bytes, at)) {
            (b'%', Some(value)) => {
                decoded.push(value);
                at += 3;
                continue;
            }
            (b'+', _) => decoded.push(b' '),
            (other, _) => decoded.push(*other),
        }
        at += 1;
    }
    match String::from_utf8(decoded) {
        Ok(text) => text,
        Err(error) => String::from_utf8_lossy(error.as_bytes()).into_owned(),
    }
}

/// The byte of a well-formed escape at `at`.
fn escape(bytes: &[u8], at: usize) -> Option<u8> {
    let digit = |at: usize| {
        let byte = *bytes.get(at)?;
        char::from(byte).to_digit(16)
    };
    if bytes.get(at) != Some(&b'%') {
        return None;
    }
    u8::try_from(digit(at + 1)? * 16 + digit(at + 2)?).ok()
}

fn encode(text: &str, out: &mut String, stays: fn(u8) -> bool) {
    let mut from = 0;
    for (at, byte) in text.bytes().enumerate() {
        if !stays(byte) {
            // Bytes that stay are ASCII, so the run before this byte ends on a character bound,
            // or is empty inside a longer character.
            out.push_str(text.get(from..at).unwrap_or_default());
            push_escape(byte, out);
            from = at + 1;
        }
    }
    out.push_str(text.get(from..).unwrap_or_default());
}

fn push_escape(byte: u8, out: &mut String) {
    out.push('%');
    out.push(char::from(HEX[usize::from(byte >> 4)]));
    out.push(char::from(HEX[usize::from(byte & 15)]));
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
    fn queries_decode_whatever_they_hold() {
        for (text, decoded) in [
            ("a+b%20c", "a b c"),
            ("%C3%B8", "ø"),
            ("%C3", "\u{fffd}"),
            ("100%", "100%"),
            ("%zz%4", "%zz%4"),
            ("ø", "ø"),
        ] {
            assert_eq!(decode_query(text), decoded, "{text}");
        }
    }

    proptest! {
        #[test]
        fn a_component_decodes_to_itself(text in any::<String>()) {
            prop_assert_eq!(decode_query(&component(&text)), text);
        }

        #[test]
        fn an_encoded_path_is_plain_and_stays_as_it_is(text in any::<String>()) {
            let encoded = path(&text);
            prop_assert!(encoded.bytes().all(|byte| byte.is_ascii_graphic()));
            prop_assert_eq!(path(&encoded), encoded);
        }
    }
}
