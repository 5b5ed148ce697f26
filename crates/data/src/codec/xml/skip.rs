//! Passing elements that nobody asked for.
//!
//! In: a scanner behind the start tag of an element. Out: the same scanner behind its end tag. What
//! is passed has been checked just as [`Scanner::next`] checks it, with the same errors; most of it is
//! leaves without attributes, which are passed in one go, without events and without being noted as
//! open.

use std::ops::Range;

use super::scan::{Event, Fault, IS_NAME_BYTE, Scanner};
use crate::codec::lanes::{LANES, Lanes, find};

impl Scanner<'_> {
    /// Passes the rest of the innermost open element, its end tag included.
    pub(super) fn skip_element(&mut self) -> Result<(), Fault> {
        let outside = self.open.len().saturating_sub(1);
        while self.open.len() > outside {
            self.check_wanted()?;
            let bytes = self.text.as_bytes();
            let stop = special_at(bytes, self.at);
            match bytes.get(stop..) {
                Some([b'<', b'/', ..]) => {
                    self.at = stop;
                    self.end_tag()?;
                    continue;
                }
                Some([b'<', ..]) => {
                    self.at = stop;
                    if self.skip_leaf() {
                        continue;
                    }
                }
                // References and brackets in the text: from its beginning, in the general way.
                _ => {}
            }
            if let Event::Done = self.next()? {
                break;
            }
        }
        Ok(())
    }

    /// Passes `<name>text</name>`. Whatever else comes next, also a mistake, is left where it is.
    pub(super) fn skip_leaf(&mut self) -> bool {
        self.simple_tag().is_some_and(|name| self.pass_leaf(&name).is_some())
    }

    /// The name in `<name>` if that comes next, inside the root and not too deep.
    #[inline]
    pub(super) fn simple_tag(&self) -> Option<Range<usize>> {
        let (start, bytes) = (self.at + 1, self.text.as_bytes());
        if bytes.get(self.at) != Some(&b'<') {
            return None;
        }
        let end = start + name_length_at(bytes, start)?;
        let is_simple =
            bytes.get(end) == Some(&b'>') && (1..self.depth_max).contains(&self.open.len());
        is_simple.then_some(start..end)
    }

    /// Goes into such an element.
    #[inline]
    pub(super) fn enter(&mut self, name: &Range<usize>) {
        self.at = name.end + 1;
        self.attributes.clear();
        self.open.push(name.clone());
    }

    /// Passes such an element if there is nothing but text in it.
    #[inline]
    pub(super) fn pass_leaf(&mut self, name: &Range<usize>) -> Option<Leaf> {
        let bytes = self.text.as_bytes();
        let start = name.end + 1;
        let (mut end, mut is_plain) = (start, true);
        loop {
            end = special_at(bytes, end);
            match bytes.get(end..) {
                Some([b'<', b'/', ..]) => break,
                Some([b'&', ..]) => {
                    is_plain = false;
                    end = self.reference(end).ok()?;
                }
                _ => return None,
            }
        }
        let behind = end + 2 + name.len();
        if bytes.get(behind) != Some(&b'>') || !is_repeated(bytes, name, end + 2) {
            return None;
        }
        self.at = behind + 1;
        is_plain &= !self.has_returns || memchr::memchr(b'\r', &bytes[start..end]).is_none();
        Some(Leaf { text: start..end, is_plain })
    }
}

/// The length of the name of ASCII characters that stands at `at`. It may go on behind them.
#[inline]
pub(super) fn name_length_at(bytes: &[u8], at: usize) -> Option<usize> {
    let rest = bytes.get(at..)?;
    let length = match rest.first_chunk::<LANES>() {
        Some(chunk) => match name_bytes(*chunk) {
            LANES => name_length(rest),
            length => length,
        },
        None => name_length(rest),
    };
    let has_start = rest.first().is_some_and(|byte| !matches!(byte, b'-' | b'.' | b'0'..=b'9'));
    (length > 0 && has_start).then_some(length)
}

/// How many bytes at the start are ASCII characters of names.
#[inline]
fn name_bytes(chunk: [u8; LANES]) -> usize {
    let lanes = Lanes::new(chunk);
    let is_within = |lanes: Lanes, first: u8, last: u8| {
        lanes.max(Lanes::splat(first)).simd_eq(lanes) & lanes.min(Lanes::splat(last)).simd_eq(lanes)
    };
    // With this bit set, capitals are small letters, and nothing else becomes one.
    let letters = is_within(lanes | Lanes::splat(0x20), b'a', b'z');
    // From `-` to `:` there are the digits, `.` and `/`.
    let others = is_within(lanes, b'-', b':') & !lanes.simd_eq(Lanes::splat(b'/'));
    let names = letters | others | lanes.simd_eq(Lanes::splat(b'_'));
    names.to_bitmask().trailing_ones() as usize
}

fn name_length(bytes: &[u8]) -> usize {
    let is_name = |byte: &u8| byte.is_ascii() && IS_NAME_BYTE[usize::from(*byte)];
    bytes.iter().position(|byte| !is_name(byte)).unwrap_or(bytes.len())
}

/// Whether the name stands again at `at`.
#[inline]
pub(super) fn is_repeated(bytes: &[u8], name: &Range<usize>, at: usize) -> bool {
    let chunk = |at: usize| bytes.get(at..).and_then(|rest| rest.first_chunk::<LANES>());
    if let (Some(first), Some(second)) = (chunk(name.start), chunk(at))
        && name.len() <= LANES
    {
        let same = Lanes::new(*first).simd_eq(Lanes::new(*second)).to_bitmask();
        return same.trailing_ones() as usize >= name.len();
    }
    bytes.get(at..at + name.len()) == bytes.get(name.clone())
}

/// The text of an element that has nothing else.
pub(super) struct Leaf {
    pub(super) text: Range<usize>,
    /// Nothing to resolve: no reference and no carriage return.
    pub(super) is_plain: bool,
}

/// The place of the next `<`, `&` or `]`, the bytes that end plain text; the end if there is none.
#[inline]
pub(super) fn special_at(bytes: &[u8], from: usize) -> usize {
    find(
        bytes,
        from,
        |lanes| {
            lanes.simd_eq(Lanes::splat(b'<'))
                | lanes.simd_eq(Lanes::splat(b'&'))
                | lanes.simd_eq(Lanes::splat(b']'))
        },
        |byte| matches!(byte, b'<' | b'&' | b']'),
    )
    .min(bytes.len())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn scanner_behind_root(text: &str) -> Scanner<'_> {
        let mut scanner = Scanner::new(text, 5).ok().unwrap();
        assert!(matches!(scanner.next(), Ok(Event::Start { is_empty: false, .. })));
        scanner
    }

    /// The other way through the same element: event by event.
    fn pass_events(scanner: &mut Scanner<'_>) -> Result<(), Fault> {
        let mut depth = 1_usize;
        while depth > 0 {
            match scanner.next()? {
                Event::Start { is_empty, .. } => depth += usize::from(!is_empty),
                Event::End => depth -= 1,
                Event::Done => break,
                Event::Text { .. } | Event::CharacterData(_) => {}
            }
        }
        Ok(())
    }

    proptest! {
        #[test]
        fn the_next_special_byte_is_found(bytes in "[a-z<&\\]é]{0,40}", from in 0..50_usize) {
            let expected = bytes.bytes().enumerate().skip(from).find_map(|(at, byte)| {
                matches!(byte, b'<' | b'&' | b']').then_some(at)
            });
            prop_assert_eq!(special_at(bytes.as_bytes(), from), expected.unwrap_or(bytes.len()));
        }

        #[test]
        fn an_element_is_passed_as_its_events_would_be(
            pieces in proptest::collection::vec(
                prop::sample::select(vec![
                    "<a>", "</a>", "<b>", "</b>", "<b/>", "<c x='1'>", "</c>", "<é>", "</é>", "text", " ",
                    "&amp;", "&no;", "]", "]]>", "<!-- c -->", "<![CDATA[<x>]]>", "<?p i?>", "</b >",
                    "<1>", "<a>t</a>", "<a>&lt;</a>", "<b>\r\n</b>", "<", "&",
                ]),
                0..14,
            ),
        ) {
            let text = format!("<root>{}</root>", pieces.concat());
            let (mut by_events, mut at_once) = (scanner_behind_root(&text), scanner_behind_root(&text));
            let expected = pass_events(&mut by_events).map_err(|fault| (fault.offset, fault.reason));
            let passed = at_once.skip_element().map_err(|fault| (fault.offset, fault.reason));
            prop_assert_eq!(&passed, &expected);
            if passed.is_ok() {
                prop_assert_eq!(at_once.offset(), by_events.offset());
            }
        }
    }
}
