//! Rows of plain columns as places in their text (`ADR 0014`).
//!
//! In: JSON text, the way to its rows and the names of the members that become columns. Out: a
//! [`CellTable`], eight bytes for each cell, or `None` for everything that is not simply rows; the
//! general decoder is asked then, and knows what to say. It promises that the whole text was checked
//! under the same limits as there, and that the cells are what columns of these names would be. It
//! does not evaluate paths and does not write; see [`RowWriter`](super::RowWriter).

use bytes::Bytes;

use super::{
    BYTE_ORDER_MARK,
    decode::string,
    scan::{COMMA_OR_BRACE, COMMA_OR_BRACKET, Fault, Scanner, Span},
};
use crate::{
    Number, Text, Value,
    codec::DecodeLimits,
    value::{is_same, loose::LooseScalar},
};

/// The longest text that cells can point into; the top bit of a length has another meaning.
const TEXT_BYTES_MAX: usize = (1 << 31) - 1;

/// A value in a text: where it starts, how long it is, whether it is a string with escapes.
#[derive(Debug, Clone, Copy)]
struct Cell {
    start: u32,
    length: u32,
}

impl Cell {
    const HAS_ESCAPES: u32 = 1 << 31;
    /// No value is empty text.
    const ABSENT: Self = Self { start: 0, length: 0 };

    fn new(start: usize, end: usize, has_escapes: bool) -> Self {
        // The text is bounded, so both fit.
        let start = u32::try_from(start).unwrap_or(0);
        let length = u32::try_from(end).unwrap_or(0).saturating_sub(start);
        Self { start, length: length | if has_escapes { Self::HAS_ESCAPES } else { 0 } }
    }

    fn len(self) -> usize {
        (self.length & !Self::HAS_ESCAPES) as usize
    }

    fn start(self) -> usize {
        self.start as usize
    }

    fn end(self) -> usize {
        self.start() + self.len()
    }

    fn has_escapes(self) -> bool {
        self.length & Self::HAS_ESCAPES != 0
    }
}

/// Rows whose values are still text: what the members of the same names were in a JSON array of
/// objects. Members that a row lacks are absent; of several of one name the last one counts.
#[derive(Debug, Clone)]
pub struct CellTable {
    text: Text,
    width: usize,
    cells: Vec<Cell>,
}

impl CellTable {
    /// The rows of a body: the members `steps`, one inside the other, lead to an array of objects or
    /// to one object. Several columns may have the same name.
    ///
    /// `None` unless there is at least one row and the body is valid JSON within `limits`.
    pub fn decode(
        body: Bytes,
        steps: &[Text],
        columns: &[&str],
        limits: &DecodeLimits,
    ) -> Option<Self> {
        if body.len() > limits.decoded_bytes_max || body.starts_with(BYTE_ORDER_MARK) {
            return None;
        }
        Self::read(Text::from_utf8(body).ok()?, steps, columns, limits)
    }

    /// The rows of a raw array that some decoder has accepted before.
    pub fn of_raw(text: &Text, columns: &[&str]) -> Option<Self> {
        let is_array = text.as_bytes().first() == Some(&b'[');
        let limits = DecodeLimits { depth_max: usize::MAX, ..DecodeLimits::default() };
        if is_array { Self::read(text.clone(), &[], columns, &limits) } else { None }
    }

    fn read(text: Text, steps: &[Text], columns: &[&str], limits: &DecodeLimits) -> Option<Self> {
        if text.len() > TEXT_BYTES_MAX || columns.is_empty() {
            return None;
        }
        let mut reader = Reader {
            text: &text,
            scanner: Scanner::new(text.as_bytes(), limits.depth_max),
            columns,
            lengths: columns.iter().fold(0, |all, name| all | length_bit(name.len())),
            repeated: repeated(columns),
            cells: Vec::new(),
            elements_left: limits.elements_max,
        };
        if !matches!(reader.document(steps), Ok(true)) {
            return None;
        }
        let cells = reader.cells;
        Some(Self { text, width: columns.len(), cells })
    }

    /// The number of rows.
    pub fn len(&self) -> usize {
        self.cells.len() / self.width
    }

    /// Whether there is no row; only a cut table is empty.
    pub fn is_empty(&self) -> bool {
        self.cells.is_empty()
    }

    /// The number of columns.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Keeps `take` rows after the first `skip`.
    pub fn cut(&mut self, skip: usize, take: usize) {
        let skip = skip.min(self.len());
        let take = take.min(self.len() - skip);
        self.cells.drain(..skip * self.width);
        self.cells.truncate(take * self.width);
    }

    /// Whether a row has no such member.
    pub fn is_absent(&self, row: usize, column: usize) -> bool {
        self.cell(row, column).length == 0
    }

    /// Whether some row has the member.
    pub fn has_column(&self, column: usize) -> bool {
        (0..self.len()).any(|row| !self.is_absent(row, column))
    }

    /// The bytes that the JSON text of these columns takes in all rows.
    pub fn json_bytes(&self, columns: &[usize]) -> usize {
        let of_row = |row: &[Cell]| columns.iter().map(|column| row[*column].len()).sum::<usize>();
        self.cells.chunks_exact(self.width).map(of_row).sum()
    }

    /// The value of a cell, structures staying raw.
    pub fn value(&self, row: usize, column: usize) -> Value {
        let cell = self.cell(row, column);
        let (start, end) = (cell.start(), cell.end());
        match self.text.as_bytes().get(start) {
            _ if cell.length == 0 => Value::Absent,
            Some(b'"') => Value::String(string(&self.text, content(cell))),
            Some(b'{' | b'[') => Value::Raw(self.text.slice(start, end)),
            Some(b't') => Value::Bool(true),
            Some(b'f') => Value::Bool(false),
            Some(b'n') => Value::Null,
            _ => Value::Number(Number::Source(self.text.slice(start, end))),
        }
    }

    /// The cell as loose equality sees it; `None` if it is an array or an object.
    pub fn scalar(&self, row: usize, column: usize) -> Option<LooseScalar<'_>> {
        let cell = self.cell(row, column);
        let text = self.text.get(cell.start()..cell.end()).unwrap_or_default();
        Some(match text.as_bytes().first() {
            None | Some(b'n') => LooseScalar::nothing(),
            Some(b'"') if cell.has_escapes() => {
                LooseScalar::of_text(string(&self.text, content(cell)).to_string().into())
            }
            Some(b'"') => {
                LooseScalar::of_text(text.get(1..text.len() - 1).unwrap_or_default().into())
            }
            Some(b'{' | b'[') => return None,
            Some(b't') => LooseScalar::of_bool(true),
            Some(b'f') => LooseScalar::of_bool(false),
            Some(_) => LooseScalar::of_number(text),
        })
    }

    /// The first byte of a cell's text: whoever asks for it has the text brought in from memory.
    pub fn first_byte(&self, row: usize, column: usize) -> u8 {
        self.text.as_bytes().get(self.cell(row, column).start()).copied().unwrap_or(0)
    }

    /// The JSON text of a cell as it came, and whether it is a string with escapes. Empty if absent.
    pub(super) fn json(&self, row: usize, column: usize) -> (&str, bool) {
        let cell = self.cell(row, column);
        (self.text.get(cell.start()..cell.end()).unwrap_or_default(), cell.has_escapes())
    }

    fn cell(&self, row: usize, column: usize) -> Cell {
        self.cells[row * self.width + column]
    }
}

/// What is between the quotes of a string.
fn content(cell: Cell) -> Span {
    Span {
        start: cell.start() + 1,
        end: cell.end().saturating_sub(1),
        has_escapes: cell.has_escapes(),
    }
}

/// The columns of a name that an earlier one has, each with that earlier one.
fn repeated(columns: &[&str]) -> Vec<(usize, usize)> {
    let first = |name| columns.iter().position(|column| column == name);
    let with_first = columns.iter().enumerate().filter_map(|(at, name)| Some((at, first(name)?)));
    with_first.filter(|(at, first)| first < at).collect()
}

struct Reader<'t> {
    text: &'t Text,
    scanner: Scanner<'t>,
    columns: &'t [&'t str],
    /// The lengths that names of columns have: most others differ in length from all of them.
    lengths: u64,
    repeated: Vec<(usize, usize)>,
    cells: Vec<Cell>,
    /// Counts what the general decoder would build.
    elements_left: usize,
}

impl Reader<'_> {
    /// Whether the document is what a table can be made of.
    fn document(&mut self, steps: &[Text]) -> Result<bool, Fault> {
        self.scanner.skip_blanks();
        for (depth, step) in steps.iter().enumerate() {
            if self.scanner.peek() != b'{' || !self.open(depth, b'}')? || !self.find(depth, step)? {
                return Ok(false);
            }
        }
        if !self.rows(steps.len())? {
            return Ok(false);
        }
        for (depth, step) in steps.iter().enumerate().rev() {
            // A second member of this name would be the one that counts.
            if self.scanner.has_next(b'}', COMMA_OR_BRACE)? && self.find(depth, step)? {
                return Ok(false);
            }
        }
        self.scanner.skip_blanks();
        Ok(self.scanner.is_done())
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
        let text = self.text;
        let found = self
            .scanner
            .wanted_member(depth, |span| is_name(text, span, name.as_bytes()).then_some(()))?;
        Ok(found.is_some() && self.count())
    }

    fn rows(&mut self, depth: usize) -> Result<bool, Fault> {
        match self.scanner.peek() {
            b'{' => self.row(depth),
            b'[' => {
                if !self.open(depth, b']')? {
                    return Ok(false);
                }
                let start = self.scanner.at();
                let first_name = self.scanner.first_name();
                loop {
                    let is_row = self.scanner.peek() == b'{';
                    if !is_row || !self.row(depth + 1)? || !self.count() {
                        return Ok(false);
                    }
                    if self.cells.len() == self.columns.len() {
                        self.reserve(start);
                    }
                    if !self.scanner.has_next(b']', COMMA_OR_BRACKET)? {
                        return Ok(true);
                    }
                    self.scanner.expect(first_name);
                }
            }
            _ => Ok(false),
        }
    }

    /// Room for as many rows as the rest of the text has if they are like the first, within its size.
    fn reserve(&mut self, start: usize) {
        let width = self.columns.len();
        let row_bytes = (self.scanner.at() - start).max(width * size_of::<Cell>());
        self.cells.reserve((self.text.len() - self.scanner.at()) / row_bytes * width);
    }

    /// Reads the object at the position; false if the budget is spent.
    fn row(&mut self, depth: usize) -> Result<bool, Fault> {
        let (text, columns, lengths) = (self.text, self.columns, self.lengths);
        let row = self.cells.len();
        self.cells.resize(row + columns.len(), Cell::ABSENT);
        let mut has_next = self.open(depth, b'}')?;
        while has_next {
            let column = self.scanner.wanted_member(depth, |span| {
                if !span.has_escapes && lengths & length_bit(span.end - span.start) == 0 {
                    return None;
                }
                columns.iter().position(|column| is_name(text, span, column.as_bytes()))
            })?;
            let Some(column) = column else { break };
            if !self.count() {
                return Ok(false);
            }
            let start = self.scanner.at();
            let has_escapes = if self.scanner.peek() == b'"' {
                self.scanner.string()?.has_escapes
            } else {
                self.scanner.value(depth + 1)?;
                false
            };
            self.cells[row + column] = Cell::new(start, self.scanner.at(), has_escapes);
            has_next = self.scanner.has_next(b'}', COMMA_OR_BRACE)?;
        }
        for (column, first) in &self.repeated {
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

/// Lengths that differ by a multiple of 64 share a bit.
#[inline]
fn length_bit(length: usize) -> u64 {
    1 << (length % 64)
}

#[inline]
fn is_name(text: &Text, span: Span, name: &[u8]) -> bool {
    if span.has_escapes {
        string(text, span).as_bytes() == name
    } else {
        is_same(&text.as_bytes()[span.start..span.end], name)
    }
}
