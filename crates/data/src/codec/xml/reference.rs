//! Entity and character references, line ends, and attribute blanks (XML 1.0, 2.11, 3.3.3, 4.6).

use std::{borrow::Cow, fmt};

/// References longer than this are none: `&#x0010FFFF;` has twelve bytes.
const REFERENCE_BYTES_MAX: usize = 24;

/// The reference that is written for a character which markup reserves, in text and in quoted attributes, also in
/// HTML and SVG.
pub fn reference_of(character: char) -> Option<&'static str> {
    match character {
        '&' => Some("&amp;"),
        '<' => Some("&lt;"),
        '>' => Some("&gt;"),
        '"' => Some("&quot;"),
        '\'' => Some("&#39;"),
        _ => None,
    }
}

/// Text as markup holds it, XML as well as HTML and SVG: reserved characters are references, and those that no
/// document may have are U+FFFD.
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match reference_of(character) {
            Some(reference) => out.push_str(reference),
            None if is_allowed(character) => out.push(character),
            None => out.push(char::REPLACEMENT_CHARACTER),
        }
    }
    out
}

/// The production `Char` of XML 1.0 (2.2).
fn is_allowed(character: char) -> bool {
    match character {
        '\t' | '\n' | '\r' => true,
        other => other >= ' ' && !matches!(other, '\u{fffe}' | '\u{ffff}'),
    }
}

/// Why an ampersand starts no reference; with the name that stands there.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum BadReference<'t> {
    Missing,
    NoCharacter(&'t str),
    Undefined(&'t str),
}

impl fmt::Display for BadReference<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing => f.write_str("`&` without a reference"),
            Self::NoCharacter(name) => write!(f, "invalid character reference `&{name};`"),
            Self::Undefined(name) => write!(f, "undefined entity `{name}`"),
        }
    }
}

/// Reads the reference at the start of `text`: the character it stands for, and its length in bytes.
pub(super) fn read(text: &str) -> Result<(char, usize), BadReference<'_>> {
    let window = &text.as_bytes()[..text.len().min(REFERENCE_BYTES_MAX)];
    let Some(end) = memchr::memchr(b';', window) else { return Err(BadReference::Missing) };
    let name = &text[1..end];
    let character = match name {
        "amp" => Some('&'),
        "lt" => Some('<'),
        "gt" => Some('>'),
        "quot" => Some('"'),
        "apos" => Some('\''),
        _ => name.strip_prefix('#').and_then(read_number),
    };
    match character {
        Some(character) => Ok((character, end + 1)),
        None if name.starts_with('#') => Err(BadReference::NoCharacter(name)),
        None if name.is_empty() || name.contains(|c: char| c.is_whitespace() || c == '&') => {
            Err(BadReference::Missing)
        }
        None => Err(BadReference::Undefined(name)),
    }
}

fn read_number(digits: &str) -> Option<char> {
    let (digits, radix) = match digits.strip_prefix('x') {
        Some(digits) => (digits, 16),
        None => (digits, 10),
    };
    // `from_str_radix` would take a sign.
    if !digits.starts_with(|c: char| c.is_digit(radix)) {
        return None;
    }
    let character = char::from_u32(u32::from_str_radix(digits, radix).ok()?)?;
    is_allowed(character).then_some(character)
}

/// Character data with its references resolved and its line ends made LF.
pub(super) fn resolve_text(text: &str) -> Cow<'_, str> {
    resolve(text, false)
}

/// An attribute with its references resolved and its line ends and tabulators made blanks.
pub(super) fn resolve_attribute(text: &str) -> Cow<'_, str> {
    resolve(text, true)
}

/// The inside of a CDATA section with its line ends made LF; it has no references.
pub(super) fn resolve_line_ends(text: &str) -> Cow<'_, str> {
    if text.contains('\r') {
        Cow::Owned(text.replace("\r\n", "\n").replace('\r', "\n"))
    } else {
        Cow::Borrowed(text)
    }
}

/// Resolves what has been checked before; a reference that is none stays as it is.
fn resolve(text: &str, is_attribute: bool) -> Cow<'_, str> {
    if special_at(text, is_attribute).is_none() {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = special_at(rest, is_attribute) {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let (character, length) = if rest.starts_with('&') {
            read(rest).unwrap_or(('&', 1))
        } else {
            let length = if rest.starts_with("\r\n") { 2 } else { 1 };
            (if is_attribute { ' ' } else { '\n' }, length)
        };
        out.push(character);
        rest = &rest[length..];
    }
    out.push_str(rest);
    Cow::Owned(out)
}

fn special_at(text: &str, is_attribute: bool) -> Option<usize> {
    if is_attribute {
        let is_special = |byte: &u8| matches!(byte, b'&' | b'\r' | b'\n' | b'\t');
        return text.bytes().position(|byte| is_special(&byte));
    }
    memchr::memchr2(b'&', b'\r', text.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_become_characters() {
        assert_eq!(resolve_text("a &amp; b&lt;&gt;&quot;&apos;"), "a & b<>\"'");
        assert_eq!(resolve_text("1&#50;3 &#x1F600;&#xd;"), "123 \u{1f600}\r");
        assert!(matches!(resolve_text("plain"), Cow::Borrowed("plain")));
    }

    #[test]
    fn escaped_text_can_stand_in_any_markup() {
        assert_eq!(
            escape("a & <b> \"'\n\u{1}\u{ffff}é"),
            "a &amp; &lt;b&gt; &quot;&#39;\n\u{fffd}\u{fffd}é"
        );
    }

    #[test]
    fn line_ends_are_one_character() {
        assert_eq!(resolve_text("a\r\nb\rc\n"), "a\nb\nc\n");
        assert_eq!(resolve_attribute("a\r\nb\tc\nd&#10;"), "a b c d\n");
        assert_eq!(resolve_line_ends("a\r\nb&amp;\r"), "a\nb&amp;\n");
    }

    #[test]
    fn references_to_nothing_are_told_apart() {
        for (text, reason) in [
            ("& b;", "`&` without a reference"),
            ("&;", "`&` without a reference"),
            ("&amp", "`&` without a reference"),
            ("&nbsp;", "undefined entity `nbsp`"),
            ("&#0;", "invalid character reference `&#0;`"),
            ("&#xD800;", "invalid character reference `&#xD800;`"),
            ("&#+5;", "invalid character reference `&#+5;`"),
            ("&#x110000;", "invalid character reference `&#x110000;`"),
            ("&#;", "invalid character reference `&#;`"),
        ] {
            assert_eq!(read(text).unwrap_err().to_string(), reason, "{text}");
        }
    }
}
