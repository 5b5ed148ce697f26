//! Looking for bytes sixteen at a time, for scanners of text.
//!
//! Texts are short: what is looked for often stands within the first sixteen bytes, so a search that is made
//! for long texts, with a call and a choice of method, loses against this.

use wide::u8x16;

/// Sixteen bytes of a text, compared at once.
pub(super) type Lanes = u8x16;

/// How many those are.
pub(super) const LANES: usize = 16;

/// The sixteen bytes from a position on, if there are as many.
#[inline]
pub(super) fn lanes_at(bytes: &[u8], at: usize) -> Option<Lanes> {
    bytes.get(at..)?.first_chunk().map(|chunk| Lanes::new(*chunk))
}

/// The first byte that `is_hit`; `hits` tells the same of sixteen bytes at once.
#[inline]
pub(super) fn find(
    bytes: &[u8],
    mut at: usize,
    hits: impl Fn(Lanes) -> Lanes,
    is_hit: impl Fn(u8) -> bool,
) -> usize {
    while let Some(lanes) = lanes_at(bytes, at) {
        let found = hits(lanes).to_bitmask();
        if found != 0 {
            return at + found.trailing_zeros() as usize;
        }
        at += LANES;
    }
    find_in_rest(bytes, at, is_hit)
}

/// As [`find`], for the last bytes of a text.
#[cold]
fn find_in_rest(bytes: &[u8], at: usize, is_hit: impl Fn(u8) -> bool) -> usize {
    let rest = bytes.get(at..).unwrap_or_default();
    at + rest.iter().position(|byte| is_hit(*byte)).unwrap_or(rest.len())
}
