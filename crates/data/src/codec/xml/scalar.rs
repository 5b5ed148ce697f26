//! The texts of elements that are kept whole, as JSON scalars.
//!
//! In: the place where a text starts. Out: what it means, written, and where it ends. Most texts are
//! written while their end is looked for; those that mean something else than themselves, or that have
//! to be resolved or trimmed, are looked at when they have been found.

use std::ops::Range;

use memchr::memmem;

use super::{
    Coerce,
    coerce::{self, EXACT_DIGITS, trim},
    reference,
    skip::special_at,
    whole::{Attempt, Whole},
};
use crate::codec::{
    json::write_escape,
    lanes::{LANES, Lanes, append, find},
};

/// The beginning of a section of text without markup.
const CDATA: &[u8] = b"<![CDATA[";

impl Attempt<'_, '_> {
    /// Writes the value of an attribute that starts at `start`; gives the place behind its quote.
    pub(super) fn attribute_value(&mut self, quote: u8, start: usize) -> Option<usize> {
        let end = find(
            self.bytes,
            start,
            |lanes| {
                lanes.simd_eq(Lanes::splat(quote))
                    | lanes.simd_eq(Lanes::splat(b'<'))
                    | lanes.simd_eq(Lanes::splat(b'&'))
                    | lanes.min(Lanes::splat(0x1f)).simd_eq(lanes)
            },
            |byte| byte == quote || matches!(byte, b'<' | b'&' | ..=0x1f),
        );
        if self.bytes.get(end) == Some(&quote) {
            self.scalar(start..end)?;
            return Some(end + 1);
        }
        let end = start + memchr::memchr(quote, self.bytes.get(start..)?)?;
        let value = self.scanner.text.get(start..end)?;
        self.check(start..end)?;
        let resolved = reference::resolve_attribute(value);
        self.count_copied(value.len(), resolved.len())?;
        self.write_resolved(&resolved)?;
        Some(end + 1)
    }

    /// Checks the references in a text that has no other markup.
    fn check(&self, range: Range<usize>) -> Option<()> {
        let mut at = range.start;
        loop {
            at = special_at(&self.bytes[..range.end], at);
            match self.bytes[..range.end].get(at) {
                None => return Some(()),
                Some(b'&') => at = self.scanner.reference(at).ok()?,
                Some(b'<') => return None,
                Some(_) => at += 1,
            }
        }
    }

    /// Writes the scalar that is the text from `at` on, which is not blank there; gives its end. Blanks
    /// before it begin at `start`.
    #[inline]
    pub(super) fn text(&mut self, at: usize, start: usize) -> Option<usize> {
        if at > start && self.scanner.has_returns {
            return self.any_text(start);
        }
        let before = self.whole.out.len();
        let rest = self.bytes.get(at..)?;
        let end = match (self.whole.mode, rest) {
            (Coerce::Safe, [b't', b'r', b'u', b'e', b'<', ..]) => Some(self.word(b"true", at)),
            (Coerce::Safe, [b'f', b'a', b'l', b's', b'e', b'<', ..]) => {
                Some(self.word(b"false", at))
            }
            (Coerce::Safe, [b'-' | b'0'..=b'9', ..]) => {
                self.digits(at).or_else(|| self.plain_text(at))
            }
            (_, [first, ..]) if !first.is_ascii_graphic() => None,
            (Coerce::Original, _) => self.plain_text(at),
            (Coerce::Safe | Coerce::None, _) => self.string(at),
        };
        if end.is_some() {
            return end;
        }
        self.whole.out.truncate(before);
        self.any_text(start)
    }

    fn word(&mut self, word: &[u8], at: usize) -> usize {
        self.whole.out.extend_from_slice(word);
        at + word.len()
    }

    /// Writes a number of few digits and nothing else, as [`Coerce::Safe`] takes it.
    #[inline]
    fn digits(&mut self, at: usize) -> Option<usize> {
        let chunk = self.bytes.get(at..)?.first_chunk::<LANES>()?;
        let lanes = Lanes::new(*chunk);
        let digits = lanes.max(Lanes::splat(b'0')).simd_eq(lanes)
            & lanes.min(Lanes::splat(b'9')).simd_eq(lanes);
        let count = digits.to_bitmask().trailing_ones() as usize;
        let is_number = (1..=EXACT_DIGITS).contains(&count)
            && chunk.get(count) == Some(&b'<')
            && (chunk[0] != b'0' || count == 1);
        if !is_number {
            return None;
        }
        append(self.bytes, at..at + count, &mut self.whole.out);
        Some(at + count)
    }

    /// Writes a text that may mean a number, or another scalar that is no text; nothing if it has to be
    /// changed before it can be looked at.
    fn plain_text(&mut self, start: usize) -> Option<usize> {
        let end = special_at(self.bytes, start);
        let text = self.bytes.get(start..end)?;
        let is_plain = self.bytes.get(end) == Some(&b'<')
            && text.last().is_some_and(u8::is_ascii_graphic)
            && !(self.scanner.has_returns && memchr::memchr(b'\r', text).is_some());
        if !is_plain {
            return None;
        }
        self.scalar(start..end)?;
        Some(end)
    }

    /// Writes a text that is a string, while looking for its end; nothing if it has to be changed
    /// before.
    #[inline]
    fn string(&mut self, start: usize) -> Option<usize> {
        let bytes = self.bytes;
        let out = &mut self.whole.out;
        out.push(b'"');
        let (mut at, mut saved) = (start, 0);
        loop {
            // Copying all sixteen and cutting off what is too much is cheaper than looking for the end first.
            let chunk = bytes.get(at..).and_then(|rest| rest.first_chunk::<LANES>())?;
            let lanes = Lanes::new(*chunk);
            // With one bit set each, a quote is `&`, and a backslash is `]`.
            let special = lanes.simd_eq(Lanes::splat(b'<'))
                | (lanes | Lanes::splat(4)).simd_eq(Lanes::splat(b'&'))
                | (lanes | Lanes::splat(1)).simd_eq(Lanes::splat(b']'))
                | lanes.min(Lanes::splat(0x1f)).simd_eq(lanes);
            let special = special.to_bitmask();
            out.extend_from_slice(chunk);
            if special == 0 {
                at += LANES;
                continue;
            }
            let plain = special.trailing_zeros() as usize;
            out.truncate(out.len() - LANES + plain);
            at += plain;
            match bytes[at] {
                b'<' => break,
                b'&' => {
                    let (character, length) = read_predefined(&bytes[at..])?;
                    if character == b'"' {
                        out.push(b'\\');
                    }
                    out.push(character);
                    at += length;
                    saved += length - 1;
                }
                b']' if bytes[at..].starts_with(b"]]>") => return None,
                b']' => {
                    out.push(b']');
                    at += 1;
                }
                b'\r' => return None,
                other => {
                    write_escape(other, out);
                    at += 1;
                }
            }
        }
        if !bytes[at - 1].is_ascii_graphic() {
            return None;
        }
        out.push(b'"');
        if saved > 0 {
            self.count_copied(at - start, at - start - saved)?;
        }
        Some(at)
    }

    /// Writes the scalar that the CDATA section at `at` is, if it is one and not blank; gives its end.
    #[cold]
    pub(super) fn character_data(&mut self, at: usize) -> Option<usize> {
        let rest = self.bytes.get(at..)?.strip_prefix(CDATA)?;
        let start = at + CDATA.len();
        let end = start + memmem::find(rest, b"]]>")?;
        let text = self.scanner.text.get(start..end)?;
        let trimmed = trim(text);
        if trimmed.is_empty() || text.contains('\r') {
            return None;
        }
        let start = start + (trimmed.as_ptr() as usize - text.as_ptr() as usize);
        self.scalar(start..start + trimmed.len())?;
        Some(end + "]]>".len())
    }

    /// Writes any text that is not blank.
    #[cold]
    fn any_text(&mut self, start: usize) -> Option<usize> {
        let mut end = start;
        let mut is_plain = true;
        loop {
            end = special_at(self.bytes, end);
            match self.bytes.get(end)? {
                b'<' => break,
                b'&' => {
                    is_plain = false;
                    end = self.scanner.reference(end).ok()?;
                }
                _ if self.bytes[end..].starts_with(b"]]>") => return None,
                _ => end += 1,
            }
        }
        let text = self.scanner.text.get(start..end)?;
        is_plain &= !text.contains('\r');
        if is_plain {
            let trimmed = trim(text);
            let start = start + (trimmed.as_ptr() as usize - text.as_ptr() as usize);
            if trimmed.is_empty() {
                return None;
            }
            self.scalar(start..start + trimmed.len())?;
        } else {
            let resolved = reference::resolve_text(text);
            let trimmed = trim(&resolved);
            if trimmed.is_empty() {
                return None;
            }
            self.count_copied(text.len(), trimmed.len())?;
            self.write_resolved(trimmed)?;
        }
        Some(end)
    }

    /// Counts what was written anew for a text of `source` bytes, if there is room for as many.
    fn count_copied(&mut self, source: usize, written: usize) -> Option<()> {
        self.copied_bytes += if self.has_room(source) { written } else { return None };
        Some(())
    }

    /// Whether there is room for a text of this many bytes.
    pub(super) fn has_room(&self, bytes: usize) -> bool {
        self.copied_bytes.saturating_add(bytes) <= self.room.copied_bytes
    }

    fn scalar(&mut self, part: Range<usize>) -> Option<()> {
        let Whole { mode, out, .. } = &mut *self.whole;
        coerce::write(self.scanner.text, part, *mode, out).then_some(())
    }

    fn write_resolved(&mut self, text: &str) -> Option<()> {
        let Whole { mode, out, .. } = &mut *self.whole;
        coerce::write(text, 0..text.len(), *mode, out).then_some(())
    }
}

/// The character of a reference by one of the five names, and its length.
fn read_predefined(bytes: &[u8]) -> Option<(u8, usize)> {
    match bytes {
        [b'&', b'a', b'm', b'p', b';', ..] => Some((b'&', 5)),
        [b'&', b'l', b't', b';', ..] => Some((b'<', 4)),
        [b'&', b'g', b't', b';', ..] => Some((b'>', 4)),
        [b'&', b'q', b'u', b'o', b't', b';', ..] => Some((b'"', 6)),
        [b'&', b'a', b'p', b'o', b's', b';', ..] => Some((b'\'', 6)),
        _ => None,
    }
}
