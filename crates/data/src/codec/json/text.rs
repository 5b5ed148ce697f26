//! Escapes in JSON strings, in both directions.
//!
//! Reading expects content that the scanner has accepted. A `\u` escape that is half of a surrogate
//! pair without its other half has no UTF-8 form and becomes U+FFFD.

use std::ops::Range;

use super::tokens::special_byte;
use crate::codec::lanes::{Lanes, append, find_until};

/// The text that the content of a JSON string stands for.
pub(super) fn unescape(content: &str) -> String {
    let mut text = String::with_capacity(content.len());
    let mut start = 0;
    loop {
        // In content that was accepted, only a backslash is special.
        let at = special_byte(content.as_bytes(), start);
        text.push_str(content.get(start..at).unwrap_or_default());
        let character = match content.as_bytes().get(at + 1) {
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => {
                let escapes = content.get(at + 2..).unwrap_or_default();
                let (character, behind) = unicode_escape(escapes);
                text.push(character);
                start = content.len() - behind.len();
                continue;
            }
            // A quote, a slash or a backslash.
            Some(itself) => char::from(*itself),
            None => return text,
        };
        text.push(character);
        start = at + 2;
    }
}

/// The character of a `\u` escape, given the text behind the `u`, and what follows.
fn unicode_escape(digits: &str) -> (char, &str) {
    let (unit, behind) = hex_unit(digits);
    if let 0xd800..=0xdbff = unit
        && let Some(next) = behind.strip_prefix("\\u")
        && let (low @ 0xdc00..=0xdfff, behind) = hex_unit(next)
    {
        let code = 0x1_0000 + ((unit - 0xd800) << 10) + (low - 0xdc00);
        return (char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER), behind);
    }
    (char::from_u32(unit).unwrap_or(char::REPLACEMENT_CHARACTER), behind)
}

fn hex_unit(text: &str) -> (u32, &str) {
    // The scanner has seen four digits here.
    let (digits, behind) = text.split_at_checked(4).unwrap_or((text, ""));
    (u32::from_str_radix(digits, 16).unwrap_or(0xfffd), behind)
}

/// Writes `text` as a JSON string with its quotes.
pub(in crate::codec) fn write_string(text: &str, out: &mut Vec<u8>) {
    let bytes = text.as_bytes();
    out.push(b'"');
    let mut at = 0;
    loop {
        let stop = special_byte(bytes, at);
        out.extend_from_slice(&bytes[at..stop]);
        let Some(special) = bytes.get(stop) else { break };
        write_escape(*special, out);
        at = stop + 1;
    }
    out.push(b'"');
}

/// `\u` and four digits.
const ESCAPE_BYTES_MAX: usize = 6;

/// The quotes of a string.
const QUOTES: usize = 2;

/// Whether [`write_string`] writes no more than so many bytes.
pub(super) fn is_written_within(text: &str, bytes_max: usize) -> bool {
    text.len().saturating_mul(ESCAPE_BYTES_MAX).saturating_add(QUOTES) <= bytes_max
        || written_bytes(text) <= bytes_max
}

/// How many bytes a text takes as a JSON string, quotes included.
pub(crate) fn written_bytes(text: &str) -> usize {
    let bytes = text.as_bytes();
    let mut written = bytes.len() + QUOTES;
    let mut at = special_byte(bytes, 0);
    while let Some(special) = bytes.get(at) {
        let is_short = matches!(special, b'"' | b'\\' | b'\n' | b'\r' | b'\t' | 8 | 12);
        written += if is_short { 1 } else { ESCAPE_BYTES_MAX - 1 };
        at = special_byte(bytes, at + 1);
    }
    written
}

/// Writes a part of `source`, which is text, as a JSON string with its quotes. What stands behind the
/// part is looked at and not written, so that short parts of a long source, too, are taken sixteen
/// bytes at a time.
pub(in crate::codec) fn write_part(source: &[u8], part: Range<usize>, out: &mut Vec<u8>) {
    let Range { start: mut at, end } = part;
    out.push(b'"');
    while at < end {
        let stop = find_until(source, at, end, special_lanes, is_special).min(end);
        append(source, at..stop, out);
        at = stop;
        if at < end {
            write_escape(source[at], out);
            at += 1;
        }
    }
    out.push(b'"');
}

/// Which bytes a string cannot simply contain: quotes, backslashes and control characters.
#[inline]
pub(super) fn special_lanes(lanes: Lanes) -> Lanes {
    const CONTROL_MAX: Lanes = Lanes::splat(0x1f);
    lanes.simd_eq(Lanes::splat(b'"'))
        | lanes.simd_eq(Lanes::splat(b'\\'))
        | lanes.min(CONTROL_MAX).simd_eq(lanes)
}

/// As [`special_lanes`].
#[inline]
pub(super) fn is_special(byte: u8) -> bool {
    matches!(byte, b'"' | b'\\' | ..=0x1f)
}

/// Appends the escape of a byte that needs one.
#[cold]
pub(in crate::codec) fn write_escape(byte: u8, out: &mut Vec<u8>) {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    match byte {
        b'"' => out.extend_from_slice(b"\\\""),
        b'\\' => out.extend_from_slice(b"\\\\"),
        b'\n' => out.extend_from_slice(b"\\n"),
        b'\r' => out.extend_from_slice(b"\\r"),
        b'\t' => out.extend_from_slice(b"\\t"),
        0x08 => out.extend_from_slice(b"\\b"),
        0x0c => out.extend_from_slice(b"\\f"),
        control => {
            out.extend_from_slice(b"\\u00");
            out.push(HEX[usize::from(control >> 4)]);
            out.push(HEX[usize::from(control & 0xf)]);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn whether_a_text_fits_is_known_before(text in "(.|[\\x00-\\x1f\"]){0,20}", missing in 0_usize..3) {
            let mut written = Vec::new();
            write_string(&text, &mut written);
            prop_assert_eq!(is_written_within(&text, written.len() - missing), missing == 0);
            prop_assert!(is_written_within(&text, written.len() + 1));
        }

        #[test]
        fn a_part_is_written_as_if_it_stood_alone(
            before in ".{0,20}", text in "([ -~]|\\PC|[\"\\\\\n\r\t\u{1}\u{8}\u{c}\u{1f}é]){0,40}", after in ".{0,20}",
        ) {
            let source = format!("{before}{text}{after}");
            let (mut part, mut alone) = (Vec::new(), Vec::new());
            write_part(source.as_bytes(), before.len()..before.len() + text.len(), &mut part);
            write_string(&text, &mut alone);
            prop_assert_eq!(&part, &alone);
            prop_assert_eq!(serde_json::from_slice::<String>(&part).unwrap(), text);
        }
    }
}
