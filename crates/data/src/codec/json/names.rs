//! Member names as they came before.
//!
//! Elements of an array mostly have the same members in the same order. A name that stands where the
//! element before had it is recognised by comparing bytes that are already at hand, so the scanner
//! need not wait for the end of the name before it looks at the value: measured, a fifth of the time
//! that passing over rows takes. In: positions in the text that is scanned. Out: how long the
//! expected name is, if it is there. A name that is not expected is left to the grammar.

use super::tokens::special_byte;
use crate::codec::lanes::{LANES, lanes_at};

/// How many names are kept for one text: more than the rows of most answers have, and few enough for
/// the processor's first cache.
const NAMES_MAX: usize = 256;

/// How many of the expected names are passed over in search of the one that stands there: as many as the
/// members of a small object that only some elements have.
const NAMES_PASSED_MAX: usize = 8;

/// Room for the names of most rows, so that it is made once.
const NAMES_USUAL: usize = 32;

/// A name as it stands in the text, with its quotes and the colon behind them, without escapes. In
/// the first four gigabytes, so that a name takes one word.
#[derive(Debug, Clone, Copy)]
struct Name {
    start: u32,
    length: u32,
}

/// The names of the elements so far, in the order in which they are expected.
#[derive(Debug, Default)]
pub(super) struct Names {
    seen: Vec<Name>,
}

/// The place in the order of names that is expected next; nowhere outside of all arrays.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Expected(u32);

impl Expected {
    pub(super) const NOWHERE: Self = Self(u32::MAX);

    fn next(self, count: u32) -> Self {
        Self(self.0 + count)
    }
}

impl Names {
    /// The beginning that the elements share of an array which opens where `expected` is next.
    #[inline]
    pub(super) fn of_elements(&self, expected: Expected) -> Expected {
        if expected == Expected::NOWHERE {
            // No more than `NAMES_MAX`.
            Expected(u32::try_from(self.seen.len()).unwrap_or(u32::MAX))
        } else {
            expected
        }
    }

    /// The length of the name at a position, with quotes and colon, if it is the one expected.
    #[inline]
    pub(super) fn take(&self, bytes: &[u8], at: usize, expected: &mut Expected) -> Option<usize> {
        let name = self.seen.get(expected.0 as usize)?;
        if !name.is_at(bytes, at) {
            return None;
        }
        *expected = expected.next(1);
        Some(name.length as usize)
    }

    /// Notes a name that was not expected, from its first quote to behind the colon.
    #[inline]
    pub(super) fn note(&mut self, bytes: &[u8], at: usize, behind: usize, expected: &mut Expected) {
        if *expected != Expected::NOWHERE {
            self.note_element(bytes, at, behind, expected);
        }
    }

    #[cold]
    fn note_element(&mut self, bytes: &[u8], at: usize, behind: usize, expected: &mut Expected) {
        // Perhaps this element only lacks those that were expected.
        let place = (expected.0 as usize).min(self.seen.len());
        let mut next = self.seen[place..].iter().zip(0_u32..).skip(1).take(NAMES_PASSED_MAX);
        if let Some((_, passed)) = next.find(|(name, _)| name.is_at(bytes, at)) {
            *expected = expected.next(passed + 1);
            return;
        }
        // Neither escapes nor white space in front of the colon.
        let is_plain = special_byte(bytes, at + 1) + b"\":".len() == behind;
        if is_plain
            && self.seen.len() < NAMES_MAX
            && let (Ok(start), Ok(length)) = (u32::try_from(at), u32::try_from(behind - at))
        {
            if self.seen.is_empty() {
                self.seen.reserve(NAMES_USUAL);
            }
            self.seen.insert(place, Name { start, length });
            *expected = expected.next(1);
        }
    }
}

impl Name {
    /// Whether the same bytes stand at a position.
    #[inline]
    fn is_at(self, bytes: &[u8], at: usize) -> bool {
        let (start, length) = (self.start as usize, self.length as usize);
        let (Some(there), Some(here)) = (lanes_at(bytes, start), lanes_at(bytes, at)) else {
            return false;
        };
        let same = (!there.simd_eq(here).to_bitmask()).trailing_zeros() as usize;
        if same >= length {
            return true;
        }
        if same == LANES && length <= 2 * LANES {
            // The rest, together with some of what has been compared.
            let behind = length - LANES;
            return lanes_at(bytes, start + behind) == lanes_at(bytes, at + behind);
        }
        same == LANES && {
            let rest = |from: usize| bytes.get(from + LANES..from + length);
            rest(start).is_some_and(|there| rest(at) == Some(there))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The names of a text that are recognised, one after the other.
    fn taken(names: &mut Names, text: &[u8], at: &[usize], first: Expected) -> Vec<Option<usize>> {
        let mut expected = first;
        let mut take = |at: usize| {
            let taken = names.take(text, at, &mut expected);
            if taken.is_none() {
                let colon = text[at..].iter().position(|byte| *byte == b':').expect("a colon");
                names.note(text, at, at + colon + 1, &mut expected);
            }
            taken
        };
        at.iter().map(|at| take(*at)).collect()
    }

    #[test]
    fn names_are_expected_in_the_order_of_the_element_before() {
        //           0    5    10   15   20   25   30
        let text = b"\"a\":1\"bb\":\"c\":\"bb\":\"x\":\"a\":                ";
        let mut names = Names::default();
        let first = names.of_elements(Expected::NOWHERE);
        assert_eq!(taken(&mut names, text, &[0, 5, 10], first), [None, None, None]);
        assert_eq!(taken(&mut names, text, &[0, 5, 10], first), [Some(4), Some(5), Some(4)]);
        // One is missing.
        assert_eq!(taken(&mut names, text, &[5, 10], first), [None, Some(4)]);
        // A new one comes between, and is expected there from then on.
        let with_new = [0, 19, 14, 10];
        assert_eq!(taken(&mut names, text, &with_new, first), [Some(4), None, Some(5), Some(4)]);
        assert_eq!(taken(&mut names, text, &with_new, first), [Some(4), Some(4), Some(5), Some(4)]);
        assert_eq!(taken(&mut names, text, &[0, 5, 10], first), [Some(4), None, Some(4)]);
        // So does one that is known, but comes later than it did.
        assert_eq!(taken(&mut names, text, &[10, 23], first), [None, None]);
        assert_eq!(taken(&mut names, text, &[10, 23], first), [None, Some(4)]);
    }

    #[test]
    fn members_that_an_element_lacks_are_passed_over() {
        let text: Vec<u8> = (b'a'..=b'm').flat_map(|name| [b'"', name, b'"', b':']).collect();
        let text = [text, b" ".repeat(LANES)].concat();
        let at = |name: u8| 4 * usize::from(name - b'a');
        let mut names = Names::default();
        let first = names.of_elements(Expected::NOWHERE);
        taken(&mut names, &text, &(b'a'..=b'm').map(at).collect::<Vec<_>>(), first);
        // As many as are looked at, and one more.
        let few = [at(b'a'), at(b'j'), at(b'k')];
        assert_eq!(taken(&mut names, &text, &few, first), [Some(4), None, Some(4)]);
        let many = [at(b'a'), at(b'k'), at(b'l')];
        assert_eq!(taken(&mut names, &text, &many, first), [Some(4), None, None]);
    }

    #[test]
    fn long_names_are_compared_to_their_end() {
        for name in
            ["profile_image_url", "profile_background_image_url", "profile_background_image_urls"]
        {
            compare_long_name(name);
        }
        compare_long_name(&"name".repeat(LANES));
    }

    fn compare_long_name(name: &str) {
        let text = format!("\"{name}\":\"{name}\":\"{}x\":{}", &name[1..], " ".repeat(LANES));
        let at = [0, name.len() + 3, 2 * (name.len() + 3)];
        let mut names = Names::default();
        let first = names.of_elements(Expected::NOWHERE);
        assert_eq!(taken(&mut names, text.as_bytes(), &at[..1], first), [None]);
        assert_eq!(taken(&mut names, text.as_bytes(), &at[1..2], first), [Some(name.len() + 3)]);
        assert_eq!(taken(&mut names, text.as_bytes(), &at[2..], first), [None]);
    }

    #[test]
    fn names_outside_of_arrays_and_names_with_escapes_are_not_kept() {
        let text = b"\"a\":\"\\u0061\":\"b\" :                ";
        let mut names = Names::default();
        assert_eq!(taken(&mut names, text, &[0], Expected::NOWHERE), [None]);
        let first = names.of_elements(Expected::NOWHERE);
        assert_eq!(taken(&mut names, text, &[4, 13], first), [None, None]);
        assert!(names.seen.is_empty());
    }

    #[test]
    fn no_more_than_a_number_of_names_is_kept() {
        let text = "\"a\":".repeat(NAMES_MAX + 10) + &" ".repeat(LANES);
        let at: Vec<usize> = (0..NAMES_MAX + 10).map(|index| 4 * index).collect();
        let mut names = Names::default();
        let first = names.of_elements(Expected::NOWHERE);
        taken(&mut names, text.as_bytes(), &at, first);
        assert_eq!(names.seen.len(), NAMES_MAX);
        let again = taken(&mut names, text.as_bytes(), &at, first);
        assert_eq!(again.iter().flatten().count(), NAMES_MAX);
    }
}
