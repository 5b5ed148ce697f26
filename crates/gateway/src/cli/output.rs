//! Values as text for programs and for people: JSON, lines of JSON, CSV, a table.
//!
//! In: the value of a script. Out: pieces of text, one or a few rows each, so that a large result is never a second
//! time in memory, and whoever prints may stop between two. Rows are the elements of a list, and any other value is
//! one row ([`grid`]). What is meant for programs is complete and as it came; what a terminal shows holds nothing
//! that a terminal would obey ([`escaped`]).

mod csv;
mod grid;
mod table;

use std::{borrow::Cow, fmt::Write};

use clap::ValueEnum;
use qlio_data::{Value, codec::json};
use qlio_syntax::titles::titles;

use grid::Grid;
pub(super) use table::TableSize;

/// How values are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Output {
    /// The value on one line.
    Json,
    /// Each row on a line.
    Ndjson,
    /// Comma-separated values below their names.
    Csv,
    /// Columns for people; long cells are cut, which the last line says.
    Table,
}

/// Pieces of text, in order.
pub(super) type Pieces<'v> = Box<dyn Iterator<Item = String> + 'v>;

impl Output {
    /// All forms by name, for messages.
    pub(super) const NAMES: &'static str = "json, ndjson, csv or table";

    /// A value in this form; `size` bounds tables alone. The script that gave it says what columns are called that
    /// have no names.
    ///
    /// # Errors
    /// Rows that have more columns than CSV and tables may have.
    pub(super) fn pieces<'v>(
        self,
        value: &'v Value,
        script: &str,
        size: TableSize,
    ) -> anyhow::Result<Pieces<'v>> {
        let titles = || titles(script);
        Ok(match self {
            Self::Json => Box::new(std::iter::once(json::to_string(value) + "\n")),
            Self::Ndjson => {
                let rows = grid::rows(value);
                let count = rows.len();
                Box::new((0..count).map(move |row| json::to_string(&rows[row]) + "\n"))
            }
            Self::Csv => csv::pieces(Grid::of(value, usize::MAX, titles().as_deref())?),
            Self::Table => {
                table::pieces(Grid::of(value, size.rows_max, titles().as_deref())?, size)
            }
        })
    }
}

/// The text without what a terminal would obey or show in another order: such characters become `\u{…}` as JSON
/// writes them. Line ends stay.
pub(super) fn escaped(text: &str) -> Cow<'_, str> {
    if !text.contains(is_obeyed) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        push_escaped(character, &mut out);
    }
    Cow::Owned(out)
}

fn push_escaped(character: char, out: &mut String) {
    if is_obeyed(character) {
        // Writing to a text does not fail.
        let _ = write!(out, "\\u{:04x}", u32::from(character));
    } else {
        out.push(character);
    }
}

/// Controls, and marks that turn the direction of what follows.
fn is_obeyed(character: char) -> bool {
    let turns = matches!(character, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    turns || (character.is_control() && character != '\n')
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZE: TableSize = TableSize { rows_max: usize::MAX, width: None };

    fn print(output: Output, text: &str) -> String {
        let value = json::parse_str(text).expect("JSON");
        output.pieces(&value, "", SIZE).expect("few columns").collect()
    }

    #[test]
    fn rows_are_lines_of_json() {
        assert_eq!(print(Output::Ndjson, r#"[{"a":1},2,[3],null]"#), "{\"a\":1}\n2\n[3]\nnull\n");
        assert_eq!(print(Output::Ndjson, r#"{"a":1}"#), "{\"a\":1}\n");
        assert_eq!(print(Output::Ndjson, "[]"), "");
        assert_eq!(print(Output::Ndjson, "null"), "");
        assert_eq!(print(Output::Json, r#"{"a": [1, 2]}"#), "{\"a\": [1, 2]}\n");
    }

    #[test]
    fn a_terminal_is_told_nothing_that_it_would_obey() {
        assert_eq!(
            escaped("a\u{1b}[31m\u{9b}b\u{202e}c\td\r\n"),
            "a\\u001b[31m\\u009bb\\u202ec\\u0009d\\u000d\n"
        );
        assert!(matches!(escaped("żółw 漢字\n"), Cow::Borrowed(_)));
    }
}
