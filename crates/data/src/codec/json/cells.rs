//! Rows of plain columns as places in their text (`ADR 0014`).
//!
//! In: JSON text, the way to its rows and the names of the members that become columns. Out: a
//! [`CellTable`], eight bytes for each cell, or `None` for everything that is not simply rows; the
//! general decoder is asked then, and knows what to say. It promises that the whole text was checked
//! under the same limits as there, and that the cells are what columns of these names would be. It
//! leaves reading to [`RowReader`] and writing to [`RowWriter`](super::RowWriter).

use std::{hint::black_box, ops::Range};

use bytes::Bytes;

use super::{RowReader, decode::string, tokens::Span};
use crate::{
    Number, Text, Value,
    codec::{
        DecodeLimits, Stop,
        lanes::{Lanes, find},
    },
    value::loose::LooseValue,
};

/// The longest text that cells can point into; the top bits have another meaning.
pub(super) const TEXT_BYTES_MAX: usize = (1 << 31) - 1;

/// Rows whose text is brought in from memory at the same time: more do not make it faster, and push out each other.
const NEAR_ROWS: usize = 64;

/// A value in a text: where it starts, how long it is, whether it is a string with escapes, and whether
/// the encoder would write them in another way.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cell {
    start: u32,
    length: u32,
}

impl Cell {
    /// In a length.
    const HAS_ESCAPES: u32 = 1 << 31;
    /// In a start.
    const HAS_OTHER_ESCAPES: u32 = 1 << 31;
    /// No value is empty text.
    pub(super) const ABSENT: Self = Self { start: 0, length: 0 };

    /// A value that is no string with escapes.
    pub(super) fn new(start: usize, end: usize) -> Self {
        // The text is bounded, so both fit.
        let start = u32::try_from(start).unwrap_or(0);
        Self { start, length: u32::try_from(end).unwrap_or(0).saturating_sub(start) }
    }

    /// A string, the quotes being part of it.
    pub(super) fn of_string(span: Span) -> Self {
        let Self { start, length } = Self::new(span.start - 1, span.end + 1);
        let flag = |is_set, flag| if is_set { flag } else { 0 };
        Self {
            start: start | flag(span.has_other_escapes, Self::HAS_OTHER_ESCAPES),
            length: length | flag(span.has_escapes, Self::HAS_ESCAPES),
        }
    }

    fn len(self) -> usize {
        (self.length & !Self::HAS_ESCAPES) as usize
    }

    fn start(self) -> usize {
        (self.start & !Self::HAS_OTHER_ESCAPES) as usize
    }

    fn end(self) -> usize {
        self.start() + self.len()
    }

    fn has_escapes(self) -> bool {
        self.length & Self::HAS_ESCAPES != 0
    }

    fn has_other_escapes(self) -> bool {
        self.start & Self::HAS_OTHER_ESCAPES != 0
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
        RowReader::new(steps, columns, limits).finish(body)
    }

    /// The rows of a raw array that some decoder has accepted before.
    pub fn of_raw(text: &Text, columns: &[&str], stop: Stop) -> Option<Self> {
        let is_array = text.as_bytes().first() == Some(&b'[');
        let limits = DecodeLimits { depth_max: usize::MAX, stop, ..DecodeLimits::default() };
        if is_array {
            RowReader::new(&[], columns, &limits).finish_text(text.clone())
        } else {
            None
        }
    }

    /// The rows of a list whose elements some decoder has accepted one by one, such as answers that were
    /// gathered; their text is copied together. `None` unless all are raw objects.
    pub fn of_elements(elements: &[Value], columns: &[&str], stop: Stop) -> Option<Self> {
        let mut text = String::with_capacity(joined_bytes(elements)?);
        for element in elements {
            let Value::Raw(object) = element else { return None };
            text.push(if text.is_empty() { '[' } else { ',' });
            text.push_str(object);
        }
        text.push(']');
        Self::of_raw(&text.into(), columns, stop)
    }

    /// Rows of `width` cells each, at least one.
    pub(super) fn new(text: Text, width: usize, cells: Vec<Cell>) -> Self {
        Self { text, width, cells }
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

    /// Keeps the rows with these numbers, which rise, and the first `width` columns of them.
    pub fn keep(&mut self, rows: &[u32], width: usize) {
        let mut end = 0;
        for row in rows {
            let start = *row as usize * self.width;
            self.cells.copy_within(start..start + width, end);
            end += width;
        }
        self.cells.truncate(end);
        self.width = width;
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

    /// The cell as loose equality sees it; `None` if it is an array.
    #[inline]
    pub fn loose(&self, row: usize, column: usize) -> Option<LooseValue<'_>> {
        let cell = self.cell(row, column);
        let text = self.text.get(cell.start()..cell.end()).unwrap_or_default();
        Some(match text.as_bytes().first() {
            None | Some(b'n') => LooseValue::nothing(),
            Some(b'"') if cell.has_escapes() => {
                LooseValue::of_text(string(&self.text, content(cell)).to_string().into())
            }
            Some(b'"') => {
                LooseValue::of_text(text.get(1..text.len() - 1).unwrap_or_default().into())
            }
            Some(b'{') => LooseValue::of_object(),
            Some(b'[') => return None,
            Some(b't') => LooseValue::of_bool(true),
            Some(b'f') => LooseValue::of_bool(false),
            Some(_) => LooseValue::of_number(text),
        })
    }

    /// The bytes of a cell's JSON text.
    #[inline]
    pub(super) fn text_bytes(&self, row: usize, column: usize) -> usize {
        self.cell(row, column).len()
    }

    /// Brings the text of these columns of rows in from memory. Rows that are far from each other wait for it together:
    /// the cells are read first, none of them waiting for another, and then the text that they point to.
    pub fn bring_in(
        &self,
        mut rows: impl Iterator<Item = usize>,
        columns: &(impl Iterator<Item = usize> + Clone),
    ) {
        let text = self.text.as_bytes();
        let (mut places, mut starts) = ([0; NEAR_ROWS], [0; NEAR_ROWS]);
        let mut seen = 0;
        loop {
            let mut count = 0;
            for (place, row) in places.iter_mut().zip(rows.by_ref()) {
                *place = row * self.width;
                count += 1;
            }
            if count == 0 {
                break;
            }
            for column in columns.clone() {
                for (start, place) in starts.iter_mut().zip(&places[..count]) {
                    *start = self.cells.get(place + column).map_or(0, |cell| cell.start);
                }
                for start in &starts[..count] {
                    let start = (start & !Cell::HAS_OTHER_ESCAPES) as usize;
                    seen ^= text.get(start).copied().unwrap_or(0);
                }
            }
        }
        black_box(seen);
    }

    /// The JSON text of a cell as it came, and whether the encoder would write it with other escapes. Empty
    /// if absent.
    pub(super) fn json(&self, row: usize, column: usize) -> (&str, bool) {
        let cell = self.cell(row, column);
        (self.text.get(cell.start()..cell.end()).unwrap_or_default(), cell.has_other_escapes())
    }

    fn cell(&self, row: usize, column: usize) -> Cell {
        self.cells[row * self.width + column]
    }
}

/// Collects the cells of a table whose text is being written by a decoder of another format.
pub(in crate::codec) struct CellWriter {
    width: usize,
    cells: Vec<Cell>,
}

impl CellWriter {
    /// For rows of `width` columns.
    pub(in crate::codec) fn new(width: usize) -> Self {
        Self { width, cells: Vec::new() }
    }

    /// Begins a row whose cells are absent.
    pub(in crate::codec) fn begin_row(&mut self) {
        self.cells.resize(self.cells.len() + self.width, Cell::ABSENT);
    }

    /// Where the text of the cell of the last row in `column` is; `None` if it is absent.
    #[inline]
    pub(in crate::codec) fn place(&self, column: usize) -> Option<Range<usize>> {
        let cell = self.cells[self.cells.len() - self.width + column];
        (cell.length > 0).then(|| cell.start()..cell.end())
    }

    /// Makes one column of all rows what another one is.
    pub(in crate::codec) fn repeat(&mut self, column: usize, of: usize) {
        for row in self.cells.chunks_exact_mut(self.width) {
            row[column] = row[of];
        }
    }

    /// The cell of the last row in `column` is the JSON value that `text` ends with, from `start` on, as the
    /// encoder writes it.
    pub(in crate::codec) fn set(&mut self, column: usize, start: usize, text: &[u8]) {
        let (value, row) = (&text[start..], self.cells.len() - self.width);
        self.cells[row + column] = if value.first() == Some(&b'"') {
            Cell::of_string(Span {
                start: start + 1,
                end: text.len() - 1,
                has_escapes: has_escapes(value),
                has_other_escapes: false,
            })
        } else {
            Cell::new(start, text.len())
        };
    }

    /// The table, with all text. `None` if there is no row, or more text than cells can point into.
    pub(in crate::codec) fn finish(self, text: Text) -> Option<CellTable> {
        let Self { width, cells } = self;
        let is_table = !cells.is_empty() && text.len() <= TEXT_BYTES_MAX;
        is_table.then_some(CellTable { text, width, cells })
    }
}

/// How many bytes raw objects take as the elements of one text; `None` if one of them is something else.
fn joined_bytes(elements: &[Value]) -> Option<usize> {
    let mut bytes = "[".len();
    for element in elements {
        match element {
            Value::Raw(object) if object.as_bytes().first() == Some(&b'{') => {
                bytes = bytes.checked_add(object.len() + ",".len())?;
            }
            _ => return None,
        }
    }
    (bytes <= TEXT_BYTES_MAX).then_some(bytes + "]".len())
}

/// Whether there is a backslash. Most cells are too short for a search that is made for long texts.
#[inline]
fn has_escapes(value: &[u8]) -> bool {
    let is_backslash = |lanes: Lanes| lanes.simd_eq(Lanes::splat(b'\\'));
    find(value, 0, is_backslash, |byte| byte == b'\\') < value.len()
}

/// The text between the quotes of a string.
fn content(cell: Cell) -> Span {
    Span {
        start: cell.start() + 1,
        end: cell.end().saturating_sub(1),
        has_escapes: cell.has_escapes(),
        has_other_escapes: cell.has_other_escapes(),
    }
}
