//! Reads rows of plain columns, also while their text still arrives (`ADR 0014`, `ADR 0016`).
//!
//! In: the beginning of a body, longer each time, then the body. Out: the [`CellTable`] that the body
//! alone would have given. What is read of a beginning ends with a whole row; a row that does not end
//! yet, or will never be one, is read again once there is so much more text that all that is read in
//! vain stays in proportion to the body. What was wrong, if anything, is nobody's business here: at
//! the end the reader says `None`, and the general decoder is asked.

use bytes::Bytes;

use super::{
    BYTE_ORDER_MARK,
    cells::{Cell, CellTable, TEXT_BYTES_MAX},
    fault::{COMMA_OR_BRACE, COMMA_OR_BRACKET, Fault},
    names::{Expected, Names},
    scan::Scanner,
    text::unescape,
    tokens::Span,
};
use crate::{
    Text,
    codec::{DecodeLimits, stop::Watch},
    value::is_same,
};

/// How much more text, in bytes, is worth going on for, unless the caller says otherwise.
const PIECE_BYTES_MIN: usize = 16 * 1024;

/// Text that was read in vain is read again when there is this many times as much of it.
const RETRY_GROWTH: usize = 4;

/// Rows that do not begin within so many pieces are left for the end: what stands before them, or is
/// a single row, is not read in pieces.
const PREFACE_PIECES_MAX: usize = 4;

/// Reads the rows of one body.
#[derive(Debug)]
pub struct RowReader<'c> {
    steps: &'c [Text],
    columns: &'c [&'c str],
    limits: DecodeLimits,
    /// The lengths that names of columns have: most others differ in length from all of them.
    lengths: u64,
    repeated: Vec<(usize, usize)>,
    names: Names,
    cells: Vec<Cell>,
    settled: Settled,
    piece_bytes_min: usize,
    /// The length of text that it is worth while to read on at.
    next_try: usize,
    /// All that was read, in bytes, what was read again included.
    #[cfg(test)]
    bytes_read: usize,
}

/// The part of the work that more text cannot change.
#[derive(Debug, Clone, Copy)]
struct Settled {
    place: Place,
    at: usize,
    cells: usize,
    elements_left: usize,
    /// The names that a row begins with.
    first_name: Expected,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// Before the rows.
    Preface,
    /// Where a row must begin.
    Rows,
    /// Behind all rows.
    Behind,
}

impl<'c> RowReader<'c> {
    /// A reader of one body; `steps`, `columns` and `limits` as for [`CellTable::decode`].
    pub fn new(steps: &'c [Text], columns: &'c [&'c str], limits: &DecodeLimits) -> Self {
        let settled = Settled {
            place: Place::Preface,
            at: 0,
            cells: 0,
            elements_left: limits.elements_max,
            first_name: Expected::NOWHERE,
        };
        Self {
            steps,
            columns,
            limits: limits.clone(),
            lengths: columns.iter().fold(0, |all, name| all | length_bit(name.len())),
            repeated: repeated(columns),
            names: Names::default(),
            cells: Vec::new(),
            settled,
            piece_bytes_min: PIECE_BYTES_MIN,
            next_try: PIECE_BYTES_MIN,
            #[cfg(test)]
            bytes_read: 0,
        }
    }

    /// Reads on each time that so many more bytes are there, at least one; 16 KiB unless set.
    #[must_use]
    pub fn with_pieces_of(mut self, bytes: usize) -> Self {
        self.piece_bytes_min = bytes.max(1);
        self.next_try = self.piece_bytes_min;
        self
    }

    /// Reads on, given the beginning of the body: all of it that is there, so each time the same and
    /// more.
    pub fn read(&mut self, beginning: &[u8]) {
        let is_long_enough = beginning.len() >= self.next_try;
        if !is_long_enough || self.columns.is_empty() || beginning.len() > TEXT_BYTES_MAX {
            return;
        }
        // A fault may be nothing but the end of what is there.
        let _ = self.read_rows(beginning);
        let Settled { place, at, cells, .. } = self.settled;
        self.cells.truncate(cells);
        let in_vain = beginning.len() - at;
        self.next_try = match place {
            Place::Preface if in_vain / self.piece_bytes_min >= PREFACE_PIECES_MAX => usize::MAX,
            Place::Preface | Place::Rows => {
                at + (in_vain * RETRY_GROWTH).max(in_vain + self.piece_bytes_min)
            }
            Place::Behind => usize::MAX,
        };
    }

    /// How much of the body, in bytes, is not read again.
    pub fn bytes_settled(&self) -> usize {
        self.settled.at
    }

    /// The rows of the body, whose beginnings were read before, or nothing yet.
    ///
    /// `None` unless there is at least one row and the body is valid JSON within the limits.
    pub fn finish(self, body: Bytes) -> Option<CellTable> {
        if body.len() > self.limits.decoded_bytes_max || body.starts_with(BYTE_ORDER_MARK) {
            return None;
        }
        self.finish_text(Text::from_utf8(body).ok()?)
    }

    /// The rows of a body that is known to be UTF-8.
    pub(super) fn finish_text(mut self, text: Text) -> Option<CellTable> {
        let is_another = text.len() < self.settled.at;
        if is_another || text.len() > TEXT_BYTES_MAX || self.columns.is_empty() {
            return None;
        }
        match self.read_rows(text.as_bytes()) {
            Ok(true) if self.has_end(text.as_bytes()) == Ok(true) => {
                Some(CellTable::new(text, self.columns.len(), self.cells))
            }
            _ => None,
        }
    }

    /// Reads up to the end of the rows. If that fails, what is settled and the cells of it are as
    /// they should be, and behind them may be cells of a part of a row.
    fn read_rows(&mut self, bytes: &[u8]) -> Result<bool, Fault> {
        if self.settled.place == Place::Behind {
            return Ok(true);
        }
        #[cfg(test)]
        {
            self.bytes_read += bytes.len() - self.settled.at;
        }
        let mut pass = self.pass(bytes);
        let result = pass.rows();
        (self.cells, self.settled, self.names) =
            (pass.cells, pass.settled, pass.scanner.into_names());
        result
    }

    /// Whether behind the rows nothing changes them.
    fn has_end(&mut self, bytes: &[u8]) -> Result<bool, Fault> {
        let mut pass = self.pass(bytes);
        let result = pass.end();
        self.cells = pass.cells;
        result
    }

    fn pass<'p>(&'p mut self, bytes: &'p [u8]) -> Pass<'p> {
        let Settled { at, elements_left, .. } = self.settled;
        Pass {
            bytes,
            scanner: Scanner::from(
                bytes,
                at,
                self.limits.depth_max,
                std::mem::take(&mut self.names),
            )
            .until(&self.limits.stop),
            watch: self.limits.stop.watch(),
            steps: self.steps,
            columns: self.columns,
            lengths: self.lengths,
            repeated: &self.repeated,
            cells: std::mem::take(&mut self.cells),
            elements_left,
            settled: self.settled,
        }
    }
}

/// Reads on in text that is there.
struct Pass<'p> {
    bytes: &'p [u8],
    scanner: Scanner<'p>,
    watch: Watch,
    steps: &'p [Text],
    columns: &'p [&'p str],
    lengths: u64,
    repeated: &'p [(usize, usize)],
    cells: Vec<Cell>,
    /// Counts what the general decoder would build.
    elements_left: usize,
    settled: Settled,
}

impl Pass<'_> {
    /// From what is settled to the end of the rows; false if they are not what a table can be made of.
    fn rows(&mut self) -> Result<bool, Fault> {
        let depth = self.steps.len();
        if self.settled.place == Place::Preface {
            if !self.preface()? {
                return Ok(false);
            }
            match self.scanner.peek() {
                b'{' => {
                    let is_row = self.row(depth)?;
                    if is_row {
                        self.settle(Place::Behind);
                    }
                    return Ok(is_row);
                }
                b'[' => {
                    if !self.open(depth, b']')? {
                        return Ok(false);
                    }
                    self.settled.first_name = self.scanner.first_name();
                    self.settle(Place::Rows);
                }
                _ => return Ok(false),
            }
        }
        // There may be more blanks than there were.
        self.scanner.skip_blanks();
        let start = self.scanner.at();
        loop {
            self.scanner.expect(self.settled.first_name);
            let is_row = self.scanner.peek() == b'{';
            if !is_row || !self.row(depth + 1)? || !self.count() || self.watch.is_over() {
                return Ok(false);
            }
            if self.cells.len() == self.columns.len() {
                self.reserve(start);
            }
            if !self.scanner.has_next(b']', COMMA_OR_BRACKET)? {
                self.settle(Place::Behind);
                return Ok(true);
            }
            self.settle(Place::Rows);
        }
    }

    /// Moves to the rows.
    fn preface(&mut self) -> Result<bool, Fault> {
        self.scanner.skip_blanks();
        for (depth, step) in self.steps.iter().enumerate() {
            if self.scanner.peek() != b'{' || !self.open(depth, b'}')? || !self.find(depth, step)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// From behind the rows to the end of the text; false if there is more than there should be.
    fn end(&mut self) -> Result<bool, Fault> {
        for (depth, step) in self.steps.iter().enumerate().rev() {
            // A second member of this name would be the one that counts.
            if self.scanner.has_next(b'}', COMMA_OR_BRACE)? && self.find(depth, step)? {
                return Ok(false);
            }
        }
        self.scanner.skip_blanks();
        Ok(self.scanner.is_done())
    }

    #[inline]
    fn settle(&mut self, place: Place) {
        self.settled = Settled {
            place,
            at: self.scanner.at(),
            cells: self.cells.len(),
            elements_left: self.elements_left,
            ..self.settled
        };
    }

    /// Opens the structure at the position inside `depth` others; false if nothing is in it.
    fn open(&mut self, depth: usize, closer: u8) -> Result<bool, Fault> {
        self.scanner.check_depth(depth)?;
        self.scanner.advance();
        self.scanner.skip_blanks();
        let is_empty = self.scanner.peek() == closer;
        if is_empty {
            self.scanner.advance();
        }
        Ok(!is_empty)
    }

    /// Moves to the value of the member `name`, or behind the object; false also if the budget is
    /// spent.
    fn find(&mut self, depth: usize, name: &Text) -> Result<bool, Fault> {
        let bytes = self.bytes;
        let found = self
            .scanner
            .wanted_member(depth, |span| is_name(bytes, span, name.as_bytes()).then_some(()))?;
        Ok(found.is_some() && self.count())
    }

    /// Room for as many rows as the rest of the text has if they are like the first, within its size.
    fn reserve(&mut self, start: usize) {
        let width = self.columns.len();
        let row_bytes = (self.scanner.at() - start).max(width * size_of::<Cell>());
        self.cells.reserve((self.bytes.len() - self.scanner.at()) / row_bytes * width);
    }

    /// Reads the object at the position; false if the budget is spent.
    fn row(&mut self, depth: usize) -> Result<bool, Fault> {
        let (bytes, columns, lengths) = (self.bytes, self.columns, self.lengths);
        let row = self.cells.len();
        self.cells.resize(row + columns.len(), Cell::ABSENT);
        let mut has_next = self.open(depth, b'}')?;
        while has_next {
            let column = self.scanner.wanted_member(depth, |span| {
                if !span.has_escapes && lengths & length_bit(span.end - span.start) == 0 {
                    return None;
                }
                columns.iter().position(|column| is_name(bytes, span, column.as_bytes()))
            })?;
            let Some(column) = column else { break };
            if !self.count() {
                return Ok(false);
            }
            self.cells[row + column] = if self.scanner.peek() == b'"' {
                Cell::of_string(self.scanner.string()?)
            } else {
                let start = self.scanner.at();
                self.scanner.value(depth + 1)?;
                Cell::new(start, self.scanner.at())
            };
            has_next = self.scanner.has_next(b'}', COMMA_OR_BRACE)?;
        }
        for (column, first) in self.repeated {
            self.cells[row + column] = self.cells[row + first];
        }
        Ok(true)
    }

    fn count(&mut self) -> bool {
        let left = self.elements_left.checked_sub(1);
        self.elements_left = left.unwrap_or(0);
        left.is_some()
    }
}

/// The columns of a name that an earlier one has, each with that earlier one.
fn repeated(columns: &[&str]) -> Vec<(usize, usize)> {
    let first = |name| columns.iter().position(|column| column == name);
    let with_first = columns.iter().enumerate().filter_map(|(at, name)| Some((at, first(name)?)));
    with_first.filter(|(at, first)| first < at).collect()
}

/// Lengths that differ by a multiple of 64 share a bit.
#[inline]
fn length_bit(length: usize) -> u64 {
    1 << (length % 64)
}

#[inline]
fn is_name(bytes: &[u8], span: Span, name: &[u8]) -> bool {
    let content = &bytes[span.start..span.end];
    if span.has_escapes { is_escaped_name(content, name) } else { is_same(content, name) }
}

/// A name that is not UTF-8 has no equal; its body is refused in the end.
#[cold]
fn is_escaped_name(content: &[u8], name: &[u8]) -> bool {
    std::str::from_utf8(content).is_ok_and(|content| unescape(content).as_bytes() == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PIECE: usize = 100;

    /// Reads a body in pieces; the number of its rows, and how many bytes were read for them.
    fn read(body: &str, steps: &[Text], piece_bytes: usize) -> (Option<usize>, usize) {
        let mut reader =
            RowReader::new(steps, &["a"], &DecodeLimits::default()).with_pieces_of(PIECE);
        for end in (0..body.len()).step_by(piece_bytes) {
            reader.read(&body.as_bytes()[..end]);
        }
        let before = reader.bytes_read + body.len() - reader.settled.at;
        (reader.finish(Bytes::copy_from_slice(body.as_bytes())).map(|cells| cells.len()), before)
    }

    #[test]
    fn small_rows_are_read_about_once() {
        let body = format!("[{}{{}}]", "{\"a\":1},".repeat(10_000));
        for piece_bytes in [1, PIECE, 10 * PIECE] {
            let (rows, bytes_read) = read(&body, &[], piece_bytes);
            assert_eq!(rows, Some(10_001));
            assert!(bytes_read < body.len() / 10 * 11, "{bytes_read} of {}", body.len());
        }
    }

    #[test]
    fn whatever_a_body_is_reading_it_stays_linear() {
        let large = format!("{{\"a\":\"{}\"}}", "x".repeat(100_000));
        let deep = format!("{{\"a\":{}{}}}", "[".repeat(500), "]".repeat(500)).repeat(100);
        let step = [Text::from("r")];
        for (body, steps) in [
            (format!("[{large}]"), &[][..]),
            (format!("[{{}},{large},{large},{{}},{large}]"), &[]),
            (large.clone(), &[]),
            (format!("{{\"b\":{large},\"r\":[{large}]}}"), &step),
            (format!("{{\"r\":[{{}}],\"b\":{large}}}"), &step),
            (format!("[{deep}]"), &[]),
            (format!("[{{}},{large}"), &[]),
            (format!("[{{}},tru,{large}]"), &[]),
            (" ".repeat(100_000), &[]),
        ] {
            for piece_bytes in [1, 10, PIECE, 33 * PIECE] {
                let whole = read(&body, steps, body.len()).0;
                let (rows, bytes_read) = read(&body, steps, piece_bytes);
                assert_eq!(rows, whole);
                assert!(bytes_read <= body.len() / 3 * 7 + 8 * PIECE, "{bytes_read}");
            }
        }
    }

    #[test]
    fn rows_behind_a_long_preface_are_left_for_the_end() {
        let body = format!("{{\"b\":\"{}\",\"r\":[{{}}]}}", "x".repeat(100_000));
        let (rows, bytes_read) = read(&body, &[Text::from("r")], 1);
        assert_eq!(rows, Some(1));
        assert!(bytes_read < body.len() + 2 * PREFACE_PIECES_MAX * PIECE, "{bytes_read}");
    }

    #[test]
    fn another_body_has_no_rows_of_the_one_before() {
        let limits = DecodeLimits::default();
        let mut reader = RowReader::new(&[], &["a"], &limits).with_pieces_of(1);
        reader.read(b"[{\"a\":1},{\"a\":2}]");
        assert!(reader.finish(Bytes::from_static(b"[{\"a\":1}]")).is_none());
    }
}
