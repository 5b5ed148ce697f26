//! Rows and columns of a value.
//!
//! Columns of rows that are objects are all their members, in the order in which they first appear; rows that are
//! lists have numbered columns, and other rows one, `value`, unless the script says what they are called. A value that is no list is one row. Rows are decoded
//! one at a time, and again for each walk over them, so that only one is ever open.

use std::{borrow::Cow, collections::HashMap};

use anyhow::ensure;
use qlio_data::{Value, codec::json};

/// Rows with more columns are for JSON.
const COLUMNS_MAX: usize = 1000;

/// The column of rows that have none of their own.
const LONE: &str = "value";

/// Rows below the names of their columns.
pub(super) struct Grid<'v> {
    columns: Vec<String>,
    /// What the columns are called, if not as they are.
    titles: Option<Vec<String>>,
    rows: Cow<'v, [Value]>,
    /// Rows that are not in `rows`.
    cut: usize,
}

/// The rows of a value: none of nothing.
pub(super) fn rows(value: &Value) -> Cow<'_, [Value]> {
    if value.is_nothing() {
        return Cow::Borrowed(&[]);
    }
    value.elements().unwrap_or(Cow::Borrowed(std::slice::from_ref(value)))
}

impl<'v> Grid<'v> {
    /// The first `rows_max` rows of a value; `titles` are for rows that have no names.
    ///
    /// # Errors
    /// They have more than [`COLUMNS_MAX`] columns.
    pub(super) fn of(
        value: &'v Value,
        rows_max: usize,
        titles: Option<&[String]>,
    ) -> anyhow::Result<Self> {
        let mut rows = rows(value);
        let cut = rows.len().saturating_sub(rows_max);
        match &mut rows {
            Cow::Borrowed(all) => *all = &all[..all.len() - cut],
            Cow::Owned(all) => all.truncate(rows_max),
        }
        let mut known: HashMap<String, usize> = HashMap::new();
        let (mut has_names, mut has_lists, mut has_others) = (false, false, false);
        for row in rows.iter() {
            let row = row.open();
            has_names |= row.is_object();
            has_lists |= row.is_array();
            has_others |= !row.is_structure();
            for name in names(&row) {
                if !known.contains_key(&*name) {
                    known.insert(name.into_owned(), known.len());
                }
            }
            ensure!(
                known.len() <= COLUMNS_MAX,
                "the rows have more than {COLUMNS_MAX} columns; json and ndjson print them"
            );
        }
        let mut columns: Vec<(String, usize)> = known.into_iter().collect();
        columns.sort_unstable_by_key(|(_, position)| *position);
        let columns: Vec<String> = columns.into_iter().map(|(name, _)| name).collect();
        // A select of one column gives bare values, one of several lists.
        let fits = |titles: &&[String]| {
            let is_list = titles.len() > 1;
            titles.len() == columns.len()
                && !has_names
                && has_lists == is_list
                && has_others != is_list
        };
        let titles = titles.filter(fits).map(<[String]>::to_vec);
        Ok(Self { columns, titles, rows, cut })
    }

    /// What the columns are called.
    pub(super) fn columns(&self) -> &[String] {
        self.titles.as_ref().unwrap_or(&self.columns)
    }

    /// How many rows there are.
    pub(super) fn len(&self) -> usize {
        self.rows.len()
    }

    /// How many more there would be.
    pub(super) fn cut(&self) -> usize {
        self.cut
    }

    /// The cells of a row, one for each column.
    pub(super) fn cells(&self, row: usize) -> Vec<Value> {
        let row = self.rows[row].open();
        let cell = |column: &String| match &*row {
            Value::Object(members) => members.get(column).cloned().unwrap_or_default(),
            Value::Array(elements) => {
                let position = column.parse().ok().and_then(|number: usize| number.checked_sub(1));
                position.and_then(|position| elements.get(position)).cloned().unwrap_or_default()
            }
            lone if column == LONE => lone.clone(),
            _ => Value::Absent,
        };
        self.columns.iter().map(cell).collect()
    }
}

/// The names of the columns that a row has.
fn names(row: &Value) -> Vec<Cow<'_, str>> {
    match row {
        Value::Object(members) => members.iter().map(|(name, _)| Cow::Borrowed(&**name)).collect(),
        Value::Array(elements) => {
            // One more than is allowed is enough to be refused.
            let count = elements.len().min(COLUMNS_MAX + 1);
            (1..=count).map(|number| Cow::Owned(number.to_string())).collect()
        }
        _ => vec![Cow::Borrowed(LONE)],
    }
}

/// A cell as text: numbers keep their digits, what is nested is JSON. No value is the empty text.
pub(super) fn text_of(cell: &Value) -> String {
    match cell {
        Value::String(text) => text.to_string(),
        Value::Absent | Value::Null => String::new(),
        _ => json::to_string(cell),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_columns_in_the_order_of_their_first_row() {
        let value = json::parse_str(r#"[{"b":1,"a":2},7,{"c":3,"a":4},[5,6]]"#).expect("JSON");
        let grid = Grid::of(&value, usize::MAX, None).expect("few columns");
        assert_eq!(grid.columns(), ["b", "a", "value", "c", "1", "2"]);
        let texts = |row| grid.cells(row).iter().map(text_of).collect::<Vec<_>>();
        assert_eq!(texts(0), ["1", "2", "", "", "", ""]);
        assert_eq!(texts(1), ["", "", "7", "", "", ""]);
        assert_eq!(texts(2), ["", "4", "", "3", "", ""]);
        assert_eq!(texts(3), ["", "", "", "", "5", "6"]);
    }

    #[test]
    fn rows_without_names_are_called_as_the_script_says() {
        let called = |text: &str, titles: &[&str]| {
            let value = json::parse_str(text).expect("JSON");
            let titles: Vec<String> = titles.iter().map(|title| (*title).to_owned()).collect();
            let grid = Grid::of(&value, usize::MAX, Some(&titles)).expect("few columns");
            grid.columns().join(" ")
        };
        assert_eq!(called("[[1,2],[3,null]]", &["a", "b.c"]), "a b.c");
        assert_eq!(called("[1,null]", &["a"]), "a");
        // These are not what the script has selected.
        assert_eq!(called("[[1,2,3]]", &["a", "b"]), "1 2 3");
        assert_eq!(called(r#"[{"x":1,"y":2}]"#, &["a", "b"]), "x y");
        assert_eq!(called("[[1]]", &["a"]), "1");
        assert_eq!(called("[[1,2],3]", &["a", "b", "c"]), "1 2 value");
    }

    #[test]
    fn too_many_columns_are_refused_however_they_come() {
        let list = |count: usize| Value::array(vec![Value::array(vec![Value::Null; count])]);
        assert!(Grid::of(&list(COLUMNS_MAX), 1, None).is_ok());
        assert!(Grid::of(&list(COLUMNS_MAX + 1), 1, None).is_err());
        let row = |number: usize| {
            let member = (format!("m{number}"), Value::Null);
            Value::object([member].into_iter().collect::<qlio_data::Object>())
        };
        let distinct = Value::array((0..=COLUMNS_MAX).map(row).collect());
        let all = Grid::of(&distinct, usize::MAX, None);
        assert!(all.is_err_and(|error| error.to_string().contains("1000 columns")));
        assert!(Grid::of(&distinct, COLUMNS_MAX, None).is_ok_and(|grid| grid.cut() == 1));
    }
}
