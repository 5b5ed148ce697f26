//! From bytes in some charset to text (FMT-4).
//!
//! In: the bytes of a body, the charset its content type names, and whether the body may name one
//! itself. Out: the text, and whether bytes had to be replaced because they mean nothing in that
//! charset. Text that is UTF-8 already (nearly always) is checked and shared, not copied. A byte
//! order mark is taken off and wins over every name.

use std::fmt;

use bytes::Bytes;
use encoding_rs::{Encoding, REPLACEMENT, UTF_8, UTF_16BE, UTF_16LE};

use crate::Text;

/// An XML declaration is looked for in this many bytes.
const DECLARATION_BYTES_MAX: usize = 1024;

/// Whether the body itself may name its charset when the content type does not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sniff {
    /// No: the default is UTF-8.
    None,
    /// Yes, in an XML declaration.
    Xml,
}

/// A charset that nobody here can read. Prints the message that FMT-4 fixes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnsupportedCharset {
    /// The name as it was given, without quotes.
    pub charset: String,
}

impl fmt::Display for UnsupportedCharset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Unsupported charset {}", self.charset)
    }
}

impl std::error::Error for UnsupportedCharset {}

/// The text of `bytes`, and whether undecodable bytes became U+FFFD.
///
/// `charset` is the parameter of the content type; case, blanks and quotes around it do not matter.
/// An empty one counts as none.
#[expect(clippy::needless_pass_by_value, reason = "all decoders take the body they share")]
pub fn to_utf8(
    bytes: Bytes,
    charset: Option<&str>,
    sniff: Sniff,
) -> Result<(Text, bool), UnsupportedCharset> {
    if let Some((encoding, mark)) = Encoding::for_bom(&bytes) {
        return Ok(decode(&bytes.slice(mark..), encoding));
    }
    let charset = charset.map(strip_quotes).filter(|name| !name.is_empty());
    let encoding = match (charset, sniff) {
        (Some(name), _) => named(name)?,
        (None, Sniff::Xml) => declared(&bytes)?,
        (None, Sniff::None) => UTF_8,
    };
    Ok(decode(&bytes, encoding))
}

/// Whether a body is empty or only white space, whatever its charset (FMT-9). Linear in the
/// white space it begins with, but for charsets other than UTF-8.
pub fn is_blank(bytes: &Bytes, charset: Option<&str>) -> bool {
    let start = bytes.iter().position(|byte| !matches!(byte, b'\t'..=b'\r' | b' '));
    // Nearly all bodies begin with a visible character, the same in all charsets but those of two bytes,
    // where its neighbour is a zero.
    let Some(start) = start else { return true };
    if bytes[start].is_ascii_graphic() {
        return false;
    }
    let charset = charset.map(strip_quotes).filter(|name| !name.is_empty());
    let is_utf8 = charset.is_none_or(|name| named(name).is_ok_and(|encoding| encoding == UTF_8));
    if !is_utf8 || Encoding::for_bom(bytes).is_some_and(|(encoding, _)| encoding != UTF_8) {
        let text = to_utf8(bytes.clone(), charset, Sniff::None);
        return text.is_ok_and(|(text, _)| text.chars().all(is_white_space));
    }
    bytes[start..]
        .utf8_chunks()
        .all(|chunk| chunk.invalid().is_empty() && chunk.valid().chars().all(is_white_space))
}

/// Whether JavaScript takes a character for white space: that of Unicode and the byte order mark, but not U+0085.
pub(super) fn is_white_space(c: char) -> bool {
    (c.is_whitespace() && c != '\u{85}') || c == '\u{feff}'
}

fn strip_quotes(name: &str) -> &str {
    name.trim().trim_matches(['"', '\'']).trim()
}

fn named(name: &str) -> Result<&'static Encoding, UnsupportedCharset> {
    // The standard list reads these as little-endian; the original, and so its users, as big.
    if name.eq_ignore_ascii_case("ucs-2") || name.eq_ignore_ascii_case("ucs2") {
        return Ok(UTF_16BE);
    }
    Encoding::for_label(name.as_bytes())
        // The list maps unsafe charsets to one that decodes nothing; an error says more.
        .filter(|encoding| *encoding != REPLACEMENT)
        .ok_or_else(|| UnsupportedCharset { charset: name.to_owned() })
}

/// The encoding that an XML document declares.
fn declared(bytes: &[u8]) -> Result<&'static Encoding, UnsupportedCharset> {
    if bytes.starts_with(b"<\0?\0") {
        return Ok(UTF_16LE);
    }
    if bytes.starts_with(b"\0<\0?") {
        return Ok(UTF_16BE);
    }
    let Some(name) = declared_name(&bytes[..bytes.len().min(DECLARATION_BYTES_MAX)]) else {
        return Ok(UTF_8);
    };
    let encoding = named(name)?;
    // The declaration was readable byte by byte, so the document cannot be what it says here.
    Ok(if encoding == UTF_16LE || encoding == UTF_16BE { UTF_8 } else { encoding })
}

fn declared_name(start: &[u8]) -> Option<&str> {
    let rest = start.trim_ascii_start().strip_prefix(b"<?xml")?;
    let end = rest.windows(2).position(|pair| pair == b"?>")?;
    let declaration = std::str::from_utf8(&rest[..end]).ok()?;
    let after = declaration.split_once("encoding")?.1;
    let value = after.trim_start().strip_prefix('=')?.trim_start();
    let quote = value.chars().next().filter(|c| matches!(c, '"' | '\''))?;
    value[1..].split_once(quote).map(|(name, _)| name.trim()).filter(|name| !name.is_empty())
}

fn decode(bytes: &Bytes, encoding: &'static Encoding) -> (Text, bool) {
    if encoding == UTF_8 {
        return match Text::from_utf8(bytes.clone()) {
            Ok(text) => (text, false),
            Err(_) => (String::from_utf8_lossy(bytes).into_owned().into(), true),
        };
    }
    let (text, has_replaced) = encoding.decode_without_bom_handling(bytes);
    (text.into_owned().into(), has_replaced)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(bytes: &'static [u8], charset: Option<&str>, sniff: Sniff) -> (String, bool) {
        let (text, replaced) = to_utf8(Bytes::from_static(bytes), charset, sniff).unwrap();
        (text.to_string(), replaced)
    }

    #[test]
    fn the_default_is_utf8() {
        assert_eq!(read("æ,b".as_bytes(), None, Sniff::None), ("æ,b".to_owned(), false));
    }

    #[test]
    fn white_space_is_blank_in_every_charset() {
        let is_blank =
            |bytes: &'static [u8], charset| is_blank(&Bytes::from_static(bytes), charset);
        for blank in ["", " \t\r\n\u{b}\u{c}", "\u{a0}", " \u{feff}", "\u{2028}\u{3000}"] {
            assert!(is_blank(blank.as_bytes(), None), "{blank:?}");
            assert!(is_blank(blank.as_bytes(), Some("\"UTF-8\"")), "{blank:?}");
        }
        assert!(is_blank(b"\xa0 ", Some("latin1")));
        assert!(is_blank(b"\0 \0\n", Some("utf-16be")));
        assert!(is_blank(b"\xff\xfe \0", None));
        for visible in [&b"x"[..], b" {", b"\xa0", b"\0", b"\x85", b"\xc2\x85", b"\xe2\x80"] {
            assert!(!is_blank(visible, None), "{visible:?}");
        }
        assert!(!is_blank(b"x\0", Some("utf-16le")));
        assert!(!is_blank(b"\0\xa0", Some("no-such-charset")));
    }

    #[test]
    fn names_lose_case_and_quotes() {
        for name in ["latin1", "ISO-8859-1", "\"iso-8859-1\"", " 'Latin1' "] {
            assert_eq!(read(b"\xe6", Some(name), Sniff::None).0, "æ", "{name}");
        }
        assert_eq!(read("æ".as_bytes(), Some("\"UTF-8\""), Sniff::None).0, "æ");
        assert_eq!(read("æ".as_bytes(), Some(""), Sniff::None).0, "æ");
    }

    #[test]
    fn a_byte_order_mark_vanishes_and_wins() {
        assert_eq!(read(b"\xef\xbb\xbf\xc3\xa6", Some("latin1"), Sniff::None).0, "æ");
        assert_eq!(read(b"\xff\xfe\xe6\0", Some("utf-8"), Sniff::None).0, "æ");
        assert_eq!(read(b"\xfe\xff\0\xe6", Some("no such thing"), Sniff::None).0, "æ");
    }

    #[test]
    fn ucs2_without_a_mark_is_big_endian() {
        assert_eq!(read(b"\0a\0b", Some("UCS-2"), Sniff::None).0, "ab");
        assert_eq!(read(b"\0a\0b", Some("ucs2"), Sniff::None).0, "ab");
        assert_eq!(read(b"a\0b\0", Some("utf-16"), Sniff::None).0, "ab");
    }

    #[test]
    fn an_xml_declaration_counts_only_without_a_charset_of_the_header() {
        let document = b"<?xml version='1.0' encoding = 'iso-8859-1'?><a>\xe6</a>";
        assert!(read(document, None, Sniff::Xml).0.ends_with("<a>æ</a>"));
        assert!(read(document, None, Sniff::None).1);
        assert!(read(document, Some("utf-8"), Sniff::Xml).1);
        let claims_utf16 = b"<?xml version='1.0' encoding='utf-16'?><a/>";
        assert!(read(claims_utf16, None, Sniff::Xml).0.ends_with("<a/>"));
        assert_eq!(read(b"<\0?\0", None, Sniff::Xml).0, "<?");
        assert_eq!(read(b"\0<\0?", None, Sniff::Xml).0, "<?");
    }

    #[test]
    fn bytes_that_mean_nothing_are_replaced_and_reported() {
        assert_eq!(read(b"a\xffb", None, Sniff::None), ("a\u{fffd}b".to_owned(), true));
        assert_eq!(read(b"\x81", Some("shift_jis"), Sniff::None), ("\u{fffd}".to_owned(), true));
    }

    #[test]
    fn an_unknown_charset_is_an_error() {
        let fails = |bytes, charset, sniff| {
            to_utf8(Bytes::from_static(bytes), charset, sniff).unwrap_err().to_string()
        };
        assert_eq!(fails(b"a", Some("\"ebcdic-x\""), Sniff::None), "Unsupported charset ebcdic-x");
        assert_eq!(fails(b"a", Some("hz-gb-2312"), Sniff::None), "Unsupported charset hz-gb-2312");
        let document = b"<?xml version='1.0' encoding='klingon'?><a/>";
        assert_eq!(fails(document, None, Sniff::Xml), "Unsupported charset klingon");
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_never_panic(
            bytes in proptest::collection::vec(any::<u8>(), 0..80),
            name in proptest::option::of("[ -~]{0,12}|utf-16|gb18030|iso-2022-jp"),
        ) {
            let _ = to_utf8(bytes.into(), name.as_deref(), Sniff::Xml);
        }

        #[test]
        fn an_arbitrary_declaration_never_panics(inside in ".{0,40}") {
            let _ = to_utf8(format!("<?xml{inside}?>").into(), None, Sniff::Xml);
        }
    }
}
