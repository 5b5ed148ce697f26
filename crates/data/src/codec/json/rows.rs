//! Rows written as JSON text, straight from their cells (`ADR 0014`).
//!
//! In: cells of one or two [`CellTable`]s, row by row. Out: the raw array that the encoder would
//! write for the same rows as values, byte for byte: without white space of the source's, strings
//! with the encoder's escapes, absent members left out of objects and `null` in lists.

use super::{
    cells::CellTable,
    text::{unescape, write_string},
};
use crate::{Text, Value};

/// What a row becomes.
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
    /// What begins a row, instead of that comma, and what ends it.
    brackets: (&'static str, &'static str),
    is_object: bool,
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
        Self { out: "[".to_owned(), openings, brackets, is_object }
    }

    /// Makes room for `rows` rows whose cells take `cell_bytes` bytes in all.
    pub fn reserve(&mut self, rows: usize, cell_bytes: usize) {
        // A row ends with a bracket and a comma, and begins with a bracket in a comma's place.
        let around = self.openings.iter().map(String::len).sum::<usize>() + 2;
        self.out.reserve(rows.saturating_mul(around).saturating_add(cell_bytes) + 2);
    }

    /// Adds a row; `cell` tells for each position the table, the row and the column in it.
    #[inline]
    pub fn push<'t>(&mut self, cell: impl Fn(usize) -> (&'t CellTable, usize, usize)) {
        if self.out.len() > 1 {
            self.out.push(',');
        }
        let mut is_first = true;
        for (position, opening) in self.openings.iter().enumerate() {
            let (table, row, column) = cell(position);
            let (json, has_other_escapes) = table.json(row, column);
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
    format!(",{}:", string_text(name))
}

/// `text` as a JSON string with its quotes.
fn string_text(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len() + 2);
    write_string(text, &mut bytes);
    // Text with escapes added is text.
    String::from_utf8(bytes).unwrap_or_default()
}
