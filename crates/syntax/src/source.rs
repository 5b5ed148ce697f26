//! Positions in source text: byte spans inside, 1-based lines and columns outside.

use std::fmt;

/// A half-open byte range `start..end` of one source text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, PartialOrd, Ord)]
pub struct Span {
    /// Offset of the first byte.
    pub start: u32,
    /// Offset after the last byte.
    pub end: u32,
}

impl Span {
    /// The span `start..end`.
    pub const fn new(start: u32, end: u32) -> Self {
        Self { start, end }
    }

    /// The bytes that it covers.
    pub fn range(self) -> std::ops::Range<usize> {
        self.start as usize..self.end as usize
    }

    /// The smallest span that covers both.
    #[must_use]
    pub fn to(self, other: Self) -> Self {
        Self { start: self.start.min(other.start), end: self.end.max(other.end) }
    }
}

/// A position as people count it: lines and columns start at 1, columns count characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Position {
    /// 1-based line.
    pub line: u32,
    /// 1-based column in characters (TXT-1).
    pub column: u32,
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.line, self.column)
    }
}

/// The starts of all lines of a text, for turning byte offsets into positions.
///
/// Line ends are LF, CR, CRLF (one end), U+2028 and U+2029 (TXT-2).
#[derive(Debug, Clone)]
pub struct LineIndex {
    starts: Vec<u32>,
}

impl LineIndex {
    /// Scans `text` once.
    pub fn new(text: &str) -> Self {
        let mut starts = vec![0];
        let bytes = text.as_bytes();
        let mut at = 0;
        while at < bytes.len() {
            let length = match bytes[at] {
                b'\r' if bytes.get(at + 1) == Some(&b'\n') => 2,
                b'\n' | b'\r' => 1,
                0xE2 if bytes.get(at + 1) == Some(&0x80)
                    && matches!(bytes.get(at + 2), Some(0xA8 | 0xA9)) =>
                {
                    3
                }
                _ => {
                    at += 1;
                    continue;
                }
            };
            at += length;
            starts.push(at as u32);
        }
        Self { starts }
    }

    /// The 1-based line of a byte offset.
    pub fn line(&self, offset: u32) -> u32 {
        self.starts.partition_point(|start| *start <= offset) as u32
    }

    /// The position of a byte offset of `text`, the text that this index was made of.
    pub fn position(&self, text: &str, offset: u32) -> Position {
        let line = self.line(offset);
        let start = self.starts[line as usize - 1] as usize;
        let end = text.floor_char_boundary((offset as usize).min(text.len()));
        let column = text[start.min(end)..end].chars().count() as u32 + 1;
        Position { line, column }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_line_end_counts_once() {
        let text = "a\nb\rc\r\nd\u{2028}e";
        let index = LineIndex::new(text);
        for (letter, line) in [('a', 1), ('b', 2), ('c', 3), ('d', 4), ('e', 5)] {
            let offset = text.find(letter).expect("letter is in the text") as u32;
            assert_eq!(index.position(text, offset), Position { line, column: 1 });
        }
    }

    #[test]
    fn columns_count_characters() {
        let text = "é日x";
        assert_eq!(LineIndex::new(text).position(text, 5).column, 3);
    }
}
