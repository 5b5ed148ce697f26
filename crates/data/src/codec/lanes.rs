//! Looking for bytes sixteen at a time, for scanners of text.
//!
//! Texts are short: what is looked for often stands within the first sixteen bytes, so a search that is made
//! for long texts, with a call and a choice of method, loses against this.

use std::ops::Range;

use wide::u8x16;

/// Sixteen bytes of a text, compared at once.
pub(super) type Lanes = u8x16;

/// How many those are.
pub(super) const LANES: usize = 16;

/// The sixteen bytes from a position on, if there are as many.
#[inline]
pub(super) fn lanes_at(bytes: &[u8], at: usize) -> Option<Lanes> {
    // With an end it takes one comparison less: measured, a tenth of what passing over JSON takes.
    let end = at.checked_add(LANES)?;
    bytes.get(at..end)?.first_chunk().map(|chunk| Lanes::new(*chunk))
}

/// The first byte that `is_hit`; `hits` tells the same of sixteen bytes at once.
#[inline]
pub(super) fn find(
    bytes: &[u8],
    at: usize,
    hits: impl Fn(Lanes) -> Lanes,
    is_hit: impl Fn(u8) -> bool,
) -> usize {
    find_until(bytes, at, usize::MAX, hits, is_hit)
}

/// As [`find`], where nobody asks for what stands behind `end`: a place there may be told for any other.
#[inline]
pub(super) fn find_until(
    bytes: &[u8],
    mut at: usize,
    end: usize,
    hits: impl Fn(Lanes) -> Lanes,
    is_hit: impl Fn(u8) -> bool,
) -> usize {
    while let Some(lanes) = lanes_at(bytes, at) {
        let found = hits(lanes).to_bitmask();
        if found != 0 {
            return at + found.trailing_zeros() as usize;
        }
        at += LANES;
        if at >= end {
            return at;
        }
    }
    // The last sixteen bytes, of which some have been looked at.
    if at < bytes.len()
        && let Some(chunk) = bytes.last_chunk::<LANES>()
    {
        let found = hits(Lanes::new(*chunk)).to_bitmask() >> (LANES - (bytes.len() - at));
        return if found == 0 { bytes.len() } else { at + found.trailing_zeros() as usize };
    }
    find_in_rest(bytes, at, is_hit)
}

/// As [`find`], for texts of less than sixteen bytes.
#[cold]
fn find_in_rest(bytes: &[u8], at: usize, is_hit: impl Fn(u8) -> bool) -> usize {
    let rest = bytes.get(at..).unwrap_or_default();
    at + rest.iter().position(|byte| is_hit(*byte)).unwrap_or(rest.len())
}

/// Appends a part of `source`. One of up to sixteen bytes is copied together with what stands behind it,
/// which is cut off: that is cheaper than a call that copies just as many as there are.
#[inline]
pub(super) fn append(source: &[u8], part: Range<usize>, out: &mut Vec<u8>) {
    match source.get(part.start..).and_then(|rest| rest.first_chunk::<LANES>()) {
        Some(chunk) if part.len() <= LANES => {
            out.extend_from_slice(chunk);
            out.truncate(out.len() - LANES + part.len());
        }
        _ => out.extend_from_slice(&source[part]),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_first_hit_is_found(
            bytes in proptest::collection::vec(prop::sample::select(vec![0_u8, 0, 0, 0, 0, 0, 1]), 0..70),
            at in 0..80_usize, end in 0..80_usize,
        ) {
            let hits = |lanes: Lanes| lanes.simd_eq(Lanes::splat(1));
            let expected = bytes.iter().skip(at).position(|byte| *byte == 1);
            let expected = expected.map_or(bytes.len().max(at), |found| at + found);
            prop_assert_eq!(find(&bytes, at, hits, |byte| byte == 1), expected);
            let until = find_until(&bytes, at, end, hits, |byte| byte == 1);
            prop_assert_eq!(until.min(end), expected.min(end));
        }

        #[test]
        fn a_part_is_appended(
            bytes in proptest::collection::vec(any::<u8>(), 0..50), one in 0..50_usize, other in 0..50_usize,
        ) {
            let (one, other) = (one.min(bytes.len()), other.min(bytes.len()));
            let part = one.min(other)..one.max(other);
            let mut out = vec![1];
            append(&bytes, part.clone(), &mut out);
            prop_assert_eq!(&out[1..], &bytes[part]);
        }
    }
}
