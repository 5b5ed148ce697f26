//! Which characters a document has, found before it is read.
//!
//! In: text in UTF-8. Out: the first character that no document may have, and whether there are line ends
//! to resolve. Most text has neither, nor anything like it, and is looked at 64 bytes at a time.

use memchr::memchr;

use crate::codec::lanes::{LANES, Lanes};

/// Bytes that are looked at at once.
const BLOCK: usize = 4 * LANES;

/// The findings in a text that decide how it is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Characters {
    /// The place of the first control other than tabulator and line breaks, U+FFFE or U+FFFF.
    pub(super) forbidden: Option<usize>,
    /// Whether there are carriage returns anywhere. Not told of text with forbidden characters.
    pub(super) has_returns: bool,
}

impl Characters {
    pub(super) fn of(bytes: &[u8]) -> Self {
        let (blocks, rest) = bytes.as_chunks::<BLOCK>();
        let mut has_returns = false;
        for (number, block) in blocks.iter().enumerate() {
            if !is_unusual(block) || is_usual(block) {
                continue;
            }
            let start = number * BLOCK;
            // A character that begins in the block may end behind it.
            let end = (start + BLOCK + 2).min(bytes.len());
            if let Some(at) = forbidden_character(&bytes[start..end]) {
                return Self { forbidden: Some(start + at), has_returns };
            }
            has_returns |= memchr(b'\r', block).is_some();
        }
        let start = bytes.len() - rest.len();
        let forbidden = forbidden_character(rest).map(|at| start + at);
        Self { forbidden, has_returns: has_returns || memchr(b'\r', rest).is_some() }
    }
}

/// Whether there may be a carriage return, a control or a byte that non-characters begin with. Some line
/// breaks and characters of other scripts are taken for one.
#[inline]
fn is_unusual(block: &[u8; BLOCK]) -> bool {
    let [a, b, c, d] = lanes(block);
    let least = a.min(b).min(c.min(d));
    let greatest = a.max(b).max(c.max(d));
    let is_control = least.min(Lanes::splat(0x1f)).simd_eq(least);
    let is_wide = greatest.max(Lanes::splat(0xef)).simd_eq(greatest);
    (is_control | is_wide).to_bitmask() != 0
}

/// Whether what was found in a block is nothing but line feeds, tabulators and other characters.
fn is_usual(block: &[u8; BLOCK]) -> bool {
    let found = lanes(block).map(|lanes| {
        let is_control = lanes.min(Lanes::splat(0x1f)).simd_eq(lanes);
        let is_blank = lanes.simd_eq(Lanes::splat(b'\n')) | lanes.simd_eq(Lanes::splat(b'\t'));
        (is_control & !is_blank) | lanes.simd_eq(Lanes::splat(0xef))
    });
    let [a, b, c, d] = found;
    (a | b | c | d).to_bitmask() == 0
}

#[inline]
fn lanes(block: &[u8; BLOCK]) -> [Lanes; 4] {
    let (chunks, _) = block.as_chunks::<LANES>();
    let lanes = |at: usize| chunks.get(at).map_or(Lanes::splat(b' '), |chunk| Lanes::new(*chunk));
    [lanes(0), lanes(1), lanes(2), lanes(3)]
}

/// The first character that no document may have.
fn forbidden_character(bytes: &[u8]) -> Option<usize> {
    let is_control = |byte: &u8| *byte < b' ' && !matches!(*byte, b'\t' | b'\n' | b'\r');
    // Without an early exit the compiler checks many bytes at once.
    let has_control = bytes.iter().fold(false, |found, byte| found | is_control(byte));
    let control = if has_control { bytes.iter().position(is_control) } else { None };
    let mut from = 0;
    while let Some(length) = memchr(0xef, &bytes[from..control.unwrap_or(bytes.len())]) {
        let at = from + length;
        if matches!(bytes[at..], [_, 0xbf, 0xbe | 0xbf, ..]) {
            return Some(at);
        }
        from = at + 1;
    }
    control
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_first_forbidden_character_is_found(
            pieces in proptest::collection::vec(
                prop_oneof![
                    30 => "[ -~]{0,40}",
                    6 => prop::sample::select(vec!["\n", "\t", "é", "東", "\u{ff0c}", "\u{fffd}"]).prop_map(str::to_owned),
                    1 => prop::sample::select(vec!["\r", "\u{fffe}", "\u{ffff}", "\u{1}", "\0", "\u{7f}", "\u{1f}"])
                        .prop_map(str::to_owned),
                ],
                0..12,
            ),
        ) {
            let text = pieces.concat();
            let forbidden = text.char_indices().find_map(|(at, c)| {
                let is_control = c < ' ' && !matches!(c, '\t' | '\n' | '\r');
                (is_control || matches!(c, '\u{fffe}' | '\u{ffff}')).then_some(at)
            });
            let found = Characters::of(text.as_bytes());
            prop_assert_eq!(found.forbidden, forbidden);
            if forbidden.is_none() {
                prop_assert_eq!(found.has_returns, text.contains('\r'));
            }
        }
    }
}
