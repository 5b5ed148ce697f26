//! Rows written as JSON text, straight from their cells (`ADR 0014`).
//!
//! In: cells, row by row, of [`CellTable`]s or as values. Out: the raw array that the encoder would
//! write for the same rows as values, byte for byte: without white space of the source's, strings
//! with the encoder's escapes, absent members left out of objects and `null` in lists.

use super::{
    cells::CellTable,
    text::{unescape, write_string},
    to_string,
};
use crate::{Number, Text, Value, value::loose::LooseValue};

/// A cell of a row: a place in the text of a table, or a value.
#[derive(Debug, Clone, Copy)]
pub enum RowCell<'t> {
    /// Where it stands in a table.
    Text {
        /// The table.
        table: &'t CellTable,
        /// The number of the row.
        row: usize,
        /// The number of the column.
        column: usize,
    },
    /// The value itself.
    Value(&'t Value),
}

impl<'t> From<(&'t CellTable, usize, usize)> for RowCell<'t> {
    fn from((table, row, column): (&'t CellTable, usize, usize)) -> Self {
        Self::Text { table, row, column }
    }
}

impl<'t> RowCell<'t> {
    /// Whether the row has no value here.
    #[inline]
    pub fn is_absent(self) -> bool {
        match self {
            Self::Text { table, row, column } => table.is_absent(row, column),
            Self::Value(value) => value.is_absent(),
        }
    }

    /// The value, structures of a text staying raw.
    #[inline]
    pub fn value(self) -> Value {
        match self {
            Self::Text { table, row, column } => table.value(row, column),
            Self::Value(value) => value.clone(),
        }
    }

    /// The cell as loose equality sees it; `None` if it is a list, which filters and joins take for its
    /// elements.
    #[inline]
    pub fn loose(self) -> Option<LooseValue<'t>> {
        match self {
            Self::Text { table, row, column } => table.loose(row, column),
            Self::Value(value) => (!value.is_array()).then(|| LooseValue::of(value)),
        }
    }

    /// The bytes of its text; a list or an object that is no text any more has none of its own.
    #[inline]
    pub fn text_bytes(self) -> usize {
        match self {
            Self::Text { table, row, column } => table.text_bytes(row, column),
            Self::Value(
                Value::String(text) | Value::Raw(text) | Value::Number(Number::Source(text)),
            ) => text.len(),
            Self::Value(_) => 0,
        }
    }

    /// The whole number that the cell is, if it is one of few enough digits.
    #[inline]
    pub fn whole(self) -> Option<i64> {
        match self {
            Self::Text { table, row, column } => whole_of(table.json(row, column).0),
            Self::Value(Value::Number(Number::Int(number))) => Some(*number),
            Self::Value(Value::Number(Number::Source(text))) => whole_of(text),
            Self::Value(_) => None,
        }
    }
}

/// Digits of a number that fits 64 bits, whatever they are.
const WHOLE_DIGITS_MAX: usize = 18;

/// The whole number that a text is: a sign, and digits.
#[inline]
fn whole_of(text: &str) -> Option<i64> {
    let digits = text.strip_prefix('-').unwrap_or(text).as_bytes();
    if digits.is_empty() || digits.len() > WHOLE_DIGITS_MAX {
        return None;
    }
    let mut number = 0;
    for byte in digits {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        number = number * 10 + i64::from(digit);
    }
    Some(if digits.len() < text.len() { -number } else { number })
}

/// The form of a written row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowForm<'a> {
    /// An object with these member names, which must differ.
    Object(&'a [&'a str]),
    /// A list of all cells.
    List,
    /// The one cell of the row.
    Bare,
}

/// Writes rows of a fixed number of cells.
#[derive(Debug)]
pub struct RowWriter {
    out: String,
    /// For each cell what stands before it, from the comma behind another one on.
    openings: Vec<String>,
    /// The beginning of a row, instead of that comma, and its end.
    brackets: (&'static str, &'static str),
    is_object: bool,
    /// The text of the last cell that was a value.
    encoded: String,
}

impl RowWriter {
    /// A writer of rows of `width` cells.
    pub fn new(form: RowForm<'_>, width: usize) -> Self {
        let (openings, brackets) = match form {
            RowForm::Object(names) => {
                (names.iter().map(|name| member_opening(name)).collect(), ("{", "}"))
            }
            RowForm::List => (vec![",".to_owned(); width], ("[", "]")),
            RowForm::Bare => (vec![",".to_owned(); width], ("", "")),
        };
        let is_object = matches!(form, RowForm::Object(_));
        Self { out: "[".to_owned(), openings, brackets, is_object, encoded: String::new() }
    }

    /// Makes room for `rows` rows whose cells take `cell_bytes` bytes in all.
    pub fn reserve(&mut self, rows: usize, cell_bytes: usize) {
        // A row ends with a bracket and a comma, and begins with a bracket in a comma's place.
        let around = self.openings.iter().map(String::len).sum::<usize>() + 2;
        self.out.reserve(rows.saturating_mul(around).saturating_add(cell_bytes) + 2);
    }

    /// The bytes written so far.
    pub fn bytes(&self) -> usize {
        self.out.len()
    }

    /// Adds a row; `cell` tells what stands at each position.
    #[inline]
    pub fn push<'t, C: Into<RowCell<'t>>>(&mut self, cell: impl Fn(usize) -> C) {
        if self.out.len() > 1 {
            self.out.push(',');
        }
        let mut is_first = true;
        for (position, opening) in self.openings.iter().enumerate() {
            let (json, has_other_escapes) = match cell(position).into() {
                RowCell::Text { table, row, column } => table.json(row, column),
                RowCell::Value(Value::Absent) => ("", false),
                RowCell::Value(value) => {
                    self.encoded = to_string(value);
                    (&*self.encoded, false)
                }
            };
            if json.is_empty() && self.is_object {
                continue;
            }
            if is_first {
                self.out.push_str(self.brackets.0);
                self.out.push_str(&opening[1..]);
                is_first = false;
            } else {
                self.out.push_str(opening);
            }
            if json.is_empty() {
                self.out.push_str("null");
            } else if has_other_escapes {
                self.out.push_str(&rewritten(json));
            } else {
                self.out.push_str(json);
            }
        }
        if is_first && self.is_object {
            self.out.push_str(self.brackets.0);
        }
        self.out.push_str(self.brackets.1);
    }

    /// The array of all rows.
    pub fn finish(mut self) -> Value {
        self.out.push(']');
        Value::Raw(Text::from(self.out))
    }
}

/// A string whose escapes the encoder writes in another way.
#[cold]
fn rewritten(json: &str) -> String {
    string_text(&unescape(json.get(1..json.len() - 1).unwrap_or_default()))
}

fn member_opening(name: &str) -> String {
    let mut bytes = Vec::with_capacity(name.len() + 4);
    bytes.push(b',');
    write_string(name, &mut bytes);
    bytes.push(b':');
    String::from_utf8(bytes).unwrap_or_default()
}

/// `text` as a JSON string with its quotes.
fn string_text(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len() + 2);
    write_string(text, &mut bytes);
    // Text with escapes added is text.
    String::from_utf8(bytes).unwrap_or_default()
}
