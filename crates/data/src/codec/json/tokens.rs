//! The tokens of JSON: where a string, a number, a word, white space end.
//!
//! In: bytes and a position. Out: the position behind the token, or a [`Fault`]. Functions without state;
//! [`Scanner`](super::scan::Scanner) puts tokens together. Strings are read sixteen bytes at a time.

use super::{
    fault::{COLON, DIGIT, Fault, NAME, Problem, VALUE},
    text::{is_special, special_lanes},
};
use crate::codec::lanes::{LANES, Lanes, find};

/// A string as it stands in the text: its content lies between the quotes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Span {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) has_escapes: bool,
    /// Whether the encoder would write one of the escapes in another way: `\/`, or one by number.
    pub(super) has_other_escapes: bool,
}

impl Span {
    pub(super) fn plain(start: usize, end: usize) -> Self {
        Self { start, end, has_escapes: false, has_other_escapes: false }
    }
}

/// Whether `text` is a JSON number and nothing else.
pub(super) fn is_number(text: &[u8]) -> bool {
    matches!(text.first(), Some(b'-' | b'0'..=b'9'))
        && behind_number_or_word(text, 0) == Ok(text.len())
}

/// The next byte that a string cannot simply contain. The end of the text if there is none.
#[inline]
pub(super) fn special_byte(bytes: &[u8], at: usize) -> usize {
    find(bytes, at, special_lanes, is_special)
}

/// The next bracket, brace or quote, or the end of the text.
#[inline]
pub(super) fn bracket_or_quote(bytes: &[u8], at: usize) -> usize {
    find(
        bytes,
        at,
        |lanes| {
            // With this bit set, `[` is `{`, `]` is `}`, and no other byte becomes one of them.
            let folded = lanes | Lanes::splat(0x20);
            lanes.simd_eq(Lanes::splat(b'"'))
                | folded.simd_eq(Lanes::splat(b'{'))
                | folded.simd_eq(Lanes::splat(b'}'))
        },
        |byte| matches!(byte, b'"' | b'{' | b'[' | b'}' | b']'),
    )
}

#[inline]
fn word_at(bytes: &[u8], at: usize) -> Option<u64> {
    bytes.get(at..)?.first_chunk().map(|chunk| u64::from_le_bytes(*chunk))
}

#[inline]
pub(super) fn behind_blanks(bytes: &[u8], at: usize) -> usize {
    match bytes.get(at) {
        Some(byte) if *byte > b' ' => at,
        _ => behind_blank_run(bytes, at),
    }
}

#[cold]
#[inline(never)]
pub(super) fn behind_blank_run(bytes: &[u8], mut at: usize) -> usize {
    const BLANKS: u64 = u64::from_le_bytes([b' '; 8]);
    loop {
        match bytes.get(at) {
            Some(b' ') => {
                // Indented documents: a line break and many blanks.
                while word_at(bytes, at) == Some(BLANKS) {
                    at += 8;
                }
                while bytes.get(at) == Some(&b' ') {
                    at += 1;
                }
            }
            Some(b'\n' | b'\r' | b'\t') => at += 1,
            _ => return at,
        }
    }
}

/// The byte at a position; at the end of the text a zero, which no grammar rule accepts.
#[inline]
pub(super) fn byte_at(bytes: &[u8], at: usize) -> u8 {
    bytes.get(at).copied().unwrap_or(0)
}

/// Over a member name and its colon, and white space between them.
#[expect(clippy::inline_always, reason = "measured: half of all strings are names")]
#[inline(always)]
pub(super) fn behind_name(bytes: &[u8], mut at: usize) -> Result<usize, Fault> {
    if byte_at(bytes, at) != b'"' {
        return Err(NAME.at(at));
    }
    at = behind_string(bytes, at + 1)?;
    if byte_at(bytes, at) != b':' {
        at = behind_blanks(bytes, at);
        if byte_at(bytes, at) != b':' {
            return Err(COLON.at(at));
        }
    }
    Ok(at + 1)
}

#[inline]
pub(super) fn behind_colon(bytes: &[u8], at: usize) -> Result<usize, Fault> {
    let at = behind_blanks(bytes, at);
    if bytes.get(at) != Some(&b':') {
        return Err(COLON.at(at));
    }
    Ok(behind_blanks(bytes, at + 1))
}

/// The string whose content starts here.
#[expect(clippy::inline_always, reason = "measured: the span must not travel through memory")]
#[inline(always)]
pub(super) fn span_at(bytes: &[u8], start: usize) -> Result<Span, Fault> {
    let end = special_byte(bytes, start);
    if byte_at(bytes, end) == b'"' {
        return Ok(Span::plain(start, end));
    }
    special_span(bytes, start, end)
}

/// As [`span_at`], from the first byte on that is not plain.
#[inline(never)]
fn special_span(bytes: &[u8], start: usize, mut at: usize) -> Result<Span, Fault> {
    let mut has_other_escapes = false;
    while bytes.get(at) == Some(&b'\\') {
        has_other_escapes |= matches!(bytes.get(at + 1), Some(b'/' | b'u'));
        at = special_byte(bytes, behind_escape(bytes, at)?);
    }
    // A quote, or what should not be there.
    let behind = behind_special_string(bytes, at)?;
    Ok(Span { start, end: behind - 1, has_escapes: true, has_other_escapes })
}

/// The member name at a position.
#[expect(clippy::inline_always, reason = "measured: the span must not travel through memory")]
#[inline(always)]
pub(super) fn name_at(bytes: &[u8], at: usize) -> Result<Span, Fault> {
    if byte_at(bytes, at) == b'"' { span_at(bytes, at + 1) } else { Err(NAME.at(at)) }
}

/// From a place inside a string to the place behind its closing quote.
#[expect(clippy::inline_always, reason = "measured: a call costs as much as a short string")]
#[inline(always)]
pub(super) fn behind_string(bytes: &[u8], at: usize) -> Result<usize, Fault> {
    let at = special_byte(bytes, at);
    if byte_at(bytes, at) == b'"' { Ok(at + 1) } else { behind_special_string(bytes, at) }
}

/// As [`behind_string`], from the first byte on that is not plain.
#[inline(never)]
fn behind_special_string(bytes: &[u8], mut at: usize) -> Result<usize, Fault> {
    // Escapes come in groups, so all of those in sixteen bytes are found at once.
    while let Some(chunk) = bytes.get(at..).and_then(|rest| rest.first_chunk::<LANES>()) {
        let mut found = special_lanes(Lanes::new(*chunk)).to_bitmask();
        let mut behind = LANES;
        while found != 0 {
            let place = found.trailing_zeros() as usize;
            match chunk[place % LANES] {
                b'"' => return Ok(at + place + 1),
                b'\\' => {}
                _ => return Err(Problem::ControlCharacter.at(at + place)),
            }
            if place + 1 < LANES && is_escaped_plainly(chunk[(place + 1) % LANES]) {
                behind = place + 2;
            } else {
                behind = behind_escape(bytes, at + place)? - at;
                if behind >= LANES {
                    break;
                }
            }
            // What an escape consists of is not special.
            found &= u32::MAX << behind;
            behind = behind.max(LANES);
        }
        at += behind;
    }
    loop {
        match bytes.get(at) {
            Some(b'"') => return Ok(at + 1),
            Some(b'\\') => at = special_byte(bytes, behind_escape(bytes, at)?),
            Some(0..=0x1f) => return Err(Problem::ControlCharacter.at(at)),
            Some(_) => at = special_byte(bytes, at),
            None => return Err(Problem::OpenString.at(at)),
        }
    }
}

/// Whether a backslash and this byte are a whole escape.
#[inline]
fn is_escaped_plainly(byte: u8) -> bool {
    matches!(byte, b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't')
}

#[inline]
fn behind_escape(bytes: &[u8], at: usize) -> Result<usize, Fault> {
    match bytes.get(at + 1) {
        Some(byte) if is_escaped_plainly(*byte) => Ok(at + 2),
        Some(b'u') => {
            let digits = bytes.get(at + 2..at + 6).unwrap_or_default();
            if digits.len() == 4 && digits.iter().all(u8::is_ascii_hexdigit) {
                Ok(at + 6)
            } else {
                Err(Problem::UnknownEscape.at(at))
            }
        }
        Some(_) => Err(Problem::UnknownEscape.at(at)),
        None => Err(Problem::OpenString.at(at + 1)),
    }
}

pub(super) fn behind_number_or_word(bytes: &[u8], at: usize) -> Result<usize, Fault> {
    match bytes.get(at) {
        Some(b'0'..=b'9') => behind_number(bytes, at),
        Some(b'-') => behind_number(bytes, at + 1),
        Some(b't') => behind_word(bytes, at, b"true"),
        Some(b'f') => behind_word(bytes, at, b"false"),
        Some(b'n') => behind_word(bytes, at, b"null"),
        _ => Err(VALUE.at(at)),
    }
}

/// Of known length, so that comparing takes no call.
#[inline]
fn behind_word<const BYTES: usize>(
    bytes: &[u8],
    at: usize,
    word: &[u8; BYTES],
) -> Result<usize, Fault> {
    if bytes.get(at..at + BYTES) == Some(&word[..]) { Ok(at + BYTES) } else { Err(VALUE.at(at)) }
}

/// From the first digit of a number to the place behind it.
#[inline]
fn behind_number(bytes: &[u8], at: usize) -> Result<usize, Fault> {
    // Most numbers are whole and end within sixteen bytes.
    if let Some(chunk) = bytes.get(at..).and_then(|rest| rest.first_chunk::<LANES>()) {
        let digits = no_digits(Lanes::new(*chunk)).to_bitmask().trailing_zeros() as usize;
        let is_whole = digits < LANES && !matches!(chunk[digits % LANES], b'.' | b'e' | b'E');
        if is_whole && digits > 0 && (digits == 1 || chunk[0] != b'0') {
            return Ok(at + digits);
        }
    }
    behind_any_number(bytes, at)
}

/// As [`behind_number`], whatever the number looks like.
#[inline(never)]
fn behind_any_number(bytes: &[u8], mut at: usize) -> Result<usize, Fault> {
    match bytes.get(at) {
        Some(b'0') => at += 1,
        Some(b'1'..=b'9') => at = behind_digits(bytes, at)?,
        _ => return Err(DIGIT.at(at)),
    }
    if bytes.get(at) == Some(&b'.') {
        at = behind_digits(bytes, at + 1)?;
    }
    if let Some(b'e' | b'E') = bytes.get(at) {
        at += 1;
        if let Some(b'+' | b'-') = bytes.get(at) {
            at += 1;
        }
        at = behind_digits(bytes, at)?;
    }
    Ok(at)
}

/// Which of sixteen bytes are no digits.
#[inline]
fn no_digits(lanes: Lanes) -> Lanes {
    const NINE: Lanes = Lanes::splat(9);
    let digits = lanes - Lanes::splat(b'0');
    !digits.min(NINE).simd_eq(digits)
}

#[inline]
fn behind_digits(bytes: &[u8], at: usize) -> Result<usize, Fault> {
    let end = find(bytes, at, no_digits, |byte| !byte.is_ascii_digit());
    if end == at { Err(DIGIT.at(at)) } else { Ok(end) }
}
