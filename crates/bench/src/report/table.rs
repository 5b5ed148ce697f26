//! Rows and columns, as text with even columns, as CSV and as HTML.

use std::fmt::Write as _;

use super::number::decimals;

/// One field.
#[derive(Debug, Clone, PartialEq)]
pub enum Cell {
    /// A name.
    Text(String),
    /// A figure, and the decimals that people see of it.
    Number(f64, usize),
    /// There is nothing to say.
    Nothing,
}

impl Cell {
    /// A figure that may be missing.
    pub fn maybe(number: Option<f64>, places: usize) -> Self {
        number.map_or(Self::Nothing, |number| Self::Number(number, places))
    }

    /// For people.
    pub fn shown(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Number(number, places) => decimals(*number, *places),
            Self::Nothing => "-".to_owned(),
        }
    }

    fn is_text(&self) -> bool {
        matches!(self, Self::Text(_))
    }
}

impl<T: Into<String>> From<T> for Cell {
    fn from(text: T) -> Self {
        Self::Text(text.into())
    }
}

/// Figures in rows.
#[derive(Debug, Clone, PartialEq)]
pub struct Table {
    /// For file names.
    pub name: String,
    /// Over the table.
    pub title: String,
    /// Over the columns, with the unit.
    pub columns: Vec<String>,
    /// As many cells in each as there are columns.
    pub rows: Vec<Vec<Cell>>,
}

impl Table {
    /// A table without rows.
    pub fn new(name: &str, title: &str, columns: &[&str]) -> Self {
        Self {
            name: name.to_owned(),
            title: title.to_owned(),
            columns: columns.iter().map(|column| (*column).to_owned()).collect(),
            rows: Vec::new(),
        }
    }

    /// For a terminal: numbers end at the same place, names begin there.
    pub fn to_text(&self) -> String {
        let shown: Vec<Vec<String>> =
            self.rows.iter().map(|row| row.iter().map(Cell::shown).collect()).collect();
        let width = |column: usize| {
            let cells = shown.iter().map(|row| row[column].chars().count());
            cells.chain([self.columns[column].chars().count()]).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..self.columns.len()).map(width).collect();
        let is_left = |column: usize| self.rows.iter().any(|row| row[column].is_text());
        let mut out = String::new();
        for row in std::iter::once(&self.columns).chain(&shown) {
            let mut line = String::new();
            for (column, cell) in row.iter().enumerate() {
                let width = widths[column];
                let gap = if column == 0 { "" } else { "  " };
                // Writing to a string cannot fail.
                let _ = if is_left(column) {
                    write!(line, "{gap}{cell:<width$}")
                } else {
                    write!(line, "{gap}{cell:>width$}")
                };
            }
            out.push_str(line.trim_end());
            out.push('\n');
        }
        out
    }

    /// RFC 4180, numbers exact.
    pub fn to_csv(&self) -> String {
        let field = |cell: &Cell| match cell {
            Cell::Text(text) => quoted(text),
            Cell::Number(number, _) if number.is_finite() => number.to_string(),
            Cell::Number(..) | Cell::Nothing => String::new(),
        };
        let mut out = self.columns.iter().map(|name| quoted(name)).collect::<Vec<_>>().join(",");
        out.push_str("\r\n");
        for row in &self.rows {
            out.push_str(&row.iter().map(field).collect::<Vec<_>>().join(","));
            out.push_str("\r\n");
        }
        out
    }
}

fn quoted(text: &str) -> String {
    if text.contains([',', '"', '\r', '\n']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        let mut table = Table::new("t", "T", &["name", "req/s"]);
        table.rows.push(vec!["a, \"b\"".into(), Cell::Number(1234.567, 1)]);
        table.rows.push(vec!["c".into(), Cell::Nothing]);
        table
    }

    #[test]
    fn columns_are_even() {
        assert_eq!(table().to_text(), "name      req/s\na, \"b\"  1,234.6\nc             -\n");
    }

    #[test]
    fn csv_is_quoted_and_exact() {
        assert_eq!(table().to_csv(), "name,req/s\r\n\"a, \"\"b\"\"\",1234.567\r\nc,\r\n");
    }
}
