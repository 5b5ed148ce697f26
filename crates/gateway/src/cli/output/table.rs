//! Columns for people.
//!
//! Two walks over the rows: one finds how wide columns are, the other prints. Cells are one line; those that are too
//! long end with `…`. The last line says how many rows there are, and what was cut, so that nothing is missing in
//! silence.

use std::fmt::Write;

use qlio_data::Value;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::{
    Pieces,
    grid::{Grid, text_of},
    push_escaped,
};

/// The widest column, in columns of a terminal.
const COLUMN_WIDTH_MAX: usize = 60;

/// Columns are not made narrower than this to fit a terminal; then its lines wrap.
const COLUMN_WIDTH_MIN: usize = 12;

/// Between two columns.
const GAP: &str = "  ";

/// The room for a table.
#[derive(Debug, Clone, Copy)]
pub(in crate::cli) struct TableSize {
    /// The most rows.
    pub(in crate::cli) rows_max: usize,
    /// Columns of the terminal, if it is one.
    pub(in crate::cli) width: Option<usize>,
}

/// A column and how it is printed.
struct Column {
    width: usize,
    /// To the right: it holds numbers alone.
    is_number: bool,
}

/// Head, rows and the last line.
pub(super) fn pieces(grid: Grid<'_>, size: TableSize) -> Pieces<'_> {
    if grid.columns().is_empty() {
        return Box::new(std::iter::once("(no rows)\n".to_owned()));
    }
    let columns = columns(&grid, size);
    let mut cut = 0;
    let mut head = String::new();
    let names = grid.columns().iter().map(|name| on_one_line(name));
    push_line(names, &columns, &mut cut, &mut head);
    let rules = columns.iter().map(|column| "-".repeat(column.width));
    push_line(rules, &columns, &mut cut, &mut head);
    let mut next = 0;
    let mut is_done = false;
    let rest = std::iter::from_fn(move || {
        let mut text = String::new();
        if next < grid.len() {
            let cells = grid.cells(next);
            push_line(cells.iter().map(shown), &columns, &mut cut, &mut text);
            next += 1;
        } else if !is_done {
            is_done = true;
            text = last_line(&grid, cut);
        } else {
            return None;
        }
        Some(text)
    });
    Box::new(std::iter::once(head).chain(rest))
}

/// How wide each column is: as its widest cell, unless that is too much.
fn columns(grid: &Grid<'_>, size: TableSize) -> Vec<Column> {
    let of_head = |name: &String| {
        let width = on_one_line(name).width().min(COLUMN_WIDTH_MAX);
        Column { width, is_number: false }
    };
    let mut columns: Vec<Column> = grid.columns().iter().map(of_head).collect();
    let mut has_other = vec![false; columns.len()];
    for row in 0..grid.len() {
        for (at, cell) in grid.cells(row).iter().enumerate() {
            let column = &mut columns[at];
            column.width = column.width.max(shown(cell).width().min(COLUMN_WIDTH_MAX));
            column.is_number |= matches!(cell, Value::Number(_));
            has_other[at] |= !matches!(cell, Value::Number(_)) && !cell.is_nothing();
        }
    }
    for (column, has_other) in columns.iter_mut().zip(has_other) {
        column.is_number &= !has_other;
    }
    let gaps = GAP.len() * (columns.len() - 1);
    let needs = |bound: usize| columns.iter().map(|column| column.width.min(bound)).sum::<usize>();
    let fits = |bound: &usize| size.width.is_none_or(|width| needs(*bound) + gaps <= width);
    let bound = (COLUMN_WIDTH_MIN..=COLUMN_WIDTH_MAX).rev().find(fits).unwrap_or(COLUMN_WIDTH_MIN);
    for column in &mut columns {
        column.width = column.width.min(bound);
    }
    columns
}

/// A cell on one line. `null` is told from a member that is not there.
fn shown(cell: &Value) -> String {
    if matches!(cell, Value::Null) { "null".to_owned() } else { on_one_line(&text_of(cell)) }
}

fn on_one_line(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            character => push_escaped(character, &mut out),
        }
    }
    out
}

/// Adds a line of cells, and counts those that are cut.
fn push_line(
    cells: impl Iterator<Item = String>,
    columns: &[Column],
    cut: &mut usize,
    out: &mut String,
) {
    let start = out.len();
    for (at, (cell, column)) in cells.zip(columns).enumerate() {
        let mut width = cell.width();
        let mut cell = cell;
        if width > column.width {
            *cut += 1;
            cell = shorten(&cell, column.width);
            width = cell.width();
        }
        let blank = " ".repeat(column.width.saturating_sub(width));
        let gap = if at == 0 { "" } else { GAP };
        let (before, behind) = if column.is_number { (&*blank, "") } else { ("", &*blank) };
        // Writing to a text does not fail.
        let _ = write!(out, "{gap}{before}{cell}{behind}");
    }
    let end = out[start..].trim_end_matches(' ').len();
    out.truncate(start + end);
    out.push('\n');
}

/// As much of a text as leaves room for `…`.
fn shorten(text: &str, width: usize) -> String {
    let mut room = width.saturating_sub(1);
    let mut out = String::new();
    for character in text.chars() {
        let Some(left) = room.checked_sub(character.width().unwrap_or_default()) else { break };
        room = left;
        out.push(character);
    }
    out.push('…');
    out
}

fn last_line(grid: &Grid<'_>, cut: usize) -> String {
    let count = grid.len();
    let plural = |count: usize| if count == 1 { "" } else { "s" };
    let mut text = match grid.cut() {
        0 => format!("({count} row{}", plural(count)),
        more => format!("({count} of {} rows", count + more),
    };
    if cut > 0 {
        let verb = if cut == 1 { "is" } else { "are" };
        let _ = write!(text, "; {cut} cell{} {verb} cut, json has all", plural(cut));
    }
    text + ")\n"
}

#[cfg(test)]
mod tests {
    use qlio_data::codec::json;

    use super::*;

    const ALL: TableSize = TableSize { rows_max: usize::MAX, width: None };

    fn print(text: &str, size: TableSize) -> String {
        let value = json::parse_str(text).expect("JSON");
        pieces(Grid::of(&value, size.rows_max, None).expect("few columns"), size).collect()
    }

    #[test]
    fn columns_are_as_wide_as_a_terminal_shows_them() {
        let text = r#"[{"name":"ランプ","price":9.50,"in":null},{"name":"chair","price":120},
            {"name":"e\u0301te\u0301","in":{"shop":[1,"x"]}}]"#;
        let expected = "\
name    price  in
------  -----  ----------------
ランプ   9.50  null
chair     120
e\u{301}te\u{301}            {\"shop\":[1,\"x\"]}
(3 rows)
";
        assert_eq!(print(text, ALL), expected);
    }

    #[test]
    fn what_is_cut_is_said() {
        let long = "x".repeat(100);
        let text = format!(r#"[{{"a":"{long}","b":"{long}"}},{{"a":"y"}},{{"a":"z"}}]"#);
        let shown = print(&text, ALL);
        assert!(shown.contains(&format!("\n{}…  {}…\n", &long[..59], &long[..59])), "{shown}");
        assert!(shown.ends_with("\n(3 rows; 2 cells are cut, json has all)\n"), "{shown}");
        let shown = print(&text, TableSize { rows_max: 2, width: Some(40) });
        assert!(shown.lines().all(|line| line.width() <= 40 || line.starts_with('(')), "{shown}");
        assert!(shown.ends_with("\n(2 of 3 rows; 2 cells are cut, json has all)\n"), "{shown}");
        assert_eq!(print("[]", ALL), "(no rows)\n");
        assert!(print("[1]", ALL).ends_with("(1 row)\n"));
    }

    #[test]
    fn a_cell_is_one_line_that_a_terminal_does_not_obey() {
        let shown = print(r#"["a\u001b[31m\nb\u009b\tc"]"#, ALL);
        assert!(shown.contains("\na\\u001b[31m\\nb\\u009b\\tc\n"), "{shown}");
    }

    #[test]
    fn columns_that_cannot_fit_stay_readable() {
        let members: Vec<_> =
            (0..50).map(|at| format!(r#""m{at}":"{}""#, "x".repeat(30))).collect();
        let text = format!("[{{{}}}]", members.join(","));
        let shown = print(&text, TableSize { rows_max: 9, width: Some(80) });
        assert!(shown.contains(&format!("{}…  {}…", "x".repeat(11), "x".repeat(11))), "{shown}");
        assert!(shown.ends_with("(1 row; 50 cells are cut, json has all)\n"), "{shown}");
    }
}
