//! Positions as the protocol counts them, in lines and UTF-16 units, and as texts have them, in bytes.
//!
//! In: a text. Out: [`Positions`], an index of it. A position that lies outside is moved to the end of
//! its line, or of the text, as the protocol asks. Both ways cost a search and a scan of at most
//! [`STEP`] bytes, however long a line is.

use qlio_data::Value;
use qlio_syntax::source::Span;

use crate::json::{number_at, object};

/// The distance of the places for which the number of units before them is kept.
const STEP: usize = 256;

/// A place as the protocol writes it, both counted from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Position {
    pub(crate) line: usize,
    pub(crate) unit: usize,
}

/// An index of one text.
#[derive(Debug, Clone)]
pub(crate) struct Positions {
    /// Offsets of the first bytes of lines.
    starts: Vec<usize>,
    /// The number of units before each step.
    units: Vec<usize>,
}

impl Positions {
    /// Scans `text` once. Line ends are LF, CR and CRLF, as the protocol has it.
    pub(crate) fn of(text: &str) -> Self {
        let bytes = text.as_bytes();
        let mut starts = vec![0];
        let mut units = Vec::with_capacity(bytes.len() / STEP + 1);
        let mut count = 0;
        for (at, byte) in bytes.iter().enumerate() {
            if at % STEP == 0 {
                units.push(count);
            }
            count += units_begun_by(*byte);
            let is_end =
                *byte == b'\n' || (*byte == b'\r' && bytes.get(at + 1).is_none_or(|b| *b != b'\n'));
            if is_end {
                starts.push(at + 1);
            }
        }
        if units.is_empty() {
            units.push(0);
        }
        Self { starts, units }
    }

    /// The number of units before a byte.
    fn units_before(&self, text: &str, offset: usize) -> usize {
        let step = (offset / STEP).min(self.units.len() - 1);
        let scanned = text.as_bytes()[step * STEP..offset].iter();
        self.units[step] + scanned.map(|byte| units_begun_by(*byte)).sum::<usize>()
    }

    /// The place of a byte of `text`, the text that this index was made of.
    pub(crate) fn position(&self, text: &str, offset: usize) -> Position {
        let offset = text.floor_char_boundary(offset.min(text.len()));
        let line = self.starts.partition_point(|start| *start <= offset) - 1;
        let unit = self.units_before(text, offset) - self.units_before(text, self.starts[line]);
        Position { line, unit }
    }

    /// The byte at a place of `text`.
    pub(crate) fn offset(&self, text: &str, position: Position) -> usize {
        let Some(start) = self.starts.get(position.line).copied() else { return text.len() };
        let end = self.line_end(text, position.line);
        let before = self.units_before(text, start);
        let Some(wanted) = before.checked_add(position.unit) else { return end };
        let step = self.units.partition_point(|units| *units <= wanted).saturating_sub(1);
        let mut at = text.floor_char_boundary((step * STEP).max(start)).max(start);
        let mut units = self.units_before(text, at);
        while at < end && units < wanted {
            let Some(next) = text[at..].chars().next() else { break };
            if units + next.len_utf16() > wanted {
                break;
            }
            units += next.len_utf16();
            at += next.len_utf8();
        }
        at.min(end)
    }

    /// Where a line ends, its line end not included.
    pub(crate) fn line_end(&self, text: &str, line: usize) -> usize {
        let Some(next) = self.starts.get(line + 1) else { return text.len() };
        let content = &text[self.starts[line]..*next];
        self.starts[line] + content.trim_end_matches(['\r', '\n']).len()
    }

    /// A span as the protocol writes ranges.
    pub(crate) fn range(&self, text: &str, span: Span) -> Value {
        let start = self.position(text, span.start as usize);
        let end = self.position(text, (span.end as usize).max(span.start as usize));
        object([("start", start.to_value()), ("end", end.to_value())])
    }

    /// The span of a range of the protocol; `None` if it is none or ends before it begins.
    pub(crate) fn span(&self, text: &str, range: &Value) -> Option<Span> {
        let start = Position::read(&range.member("start"))?;
        let end = Position::read(&range.member("end"))?;
        if end < start {
            return None;
        }
        let (start, end) = (self.offset(text, start), self.offset(text, end));
        Some(Span::new(start as u32, end as u32))
    }
}

impl Position {
    /// Reads a position; `None` if it is none.
    pub(crate) fn read(value: &Value) -> Option<Self> {
        let line = usize::try_from(number_at(value, &["line"])?).ok()?;
        let unit = usize::try_from(number_at(value, &["character"])?).ok()?;
        Some(Self { line, unit })
    }

    /// The position as the protocol writes it.
    pub(crate) fn to_value(self) -> Value {
        object([("line", Value::from(self.line)), ("character", Value::from(self.unit))])
    }
}

/// The units that the character has which begins with this byte; none for its further bytes.
fn units_begun_by(byte: u8) -> usize {
    match byte {
        0x80..=0xBF => 0,
        0xF0.. => 2,
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn columns_are_counted_in_units() {
        let text = "aé𝄞b\r\nc\rd\n";
        let positions = Positions::of(text);
        for (letter, line, unit) in
            [('a', 0, 0), ('é', 0, 1), ('b', 0, 4), ('c', 1, 0), ('d', 2, 0)]
        {
            let offset = text.find(letter).expect("it is there");
            let position = Position { line, unit };
            assert_eq!(positions.position(text, offset), position, "{letter}");
            assert_eq!(positions.offset(text, position), offset, "{letter}");
        }
        assert_eq!(positions.starts.len(), 4);
    }

    #[test]
    fn a_place_outside_is_moved_to_an_end() {
        let text = "ab\r\n𝄞";
        let positions = Positions::of(text);
        let offset = |line, unit| positions.offset(text, Position { line, unit });
        assert_eq!(offset(0, 99), 2);
        assert_eq!(offset(0, usize::MAX), 2);
        assert_eq!(offset(9, 0), text.len());
        assert_eq!(offset(1, 1), 4, "in the middle of a pair");
        assert_eq!(offset(1, 2), text.len());
    }

    proptest! {
        #[test]
        fn every_character_is_found_again(parts in prop::collection::vec("[aé𝄞\r\n]{0,80}", 0..20)) {
            let text = parts.concat();
            let positions = Positions::of(&text);
            for (at, c) in text.char_indices() {
                let position = positions.position(&text, at);
                let is_in_line_end = c == '\n' && text[..at].ends_with('\r');
                if !is_in_line_end {
                    prop_assert_eq!(positions.offset(&text, position), at);
                }
            }
        }
    }
}
