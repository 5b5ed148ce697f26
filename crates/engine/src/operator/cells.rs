//! Rows that stay text from the answer to the result (`ADR 0014`).
//!
//! Most selects want plain members of JSON objects and look at none of them. Their rows are places in
//! the text they came from, and their result is written straight from there. In: a scan or an
//! output. Out: whether it is of that kind, the rows, the result; whatever is not goes the general
//! way over values, which says the same more slowly.

use qlio_data::{
    Text, Value,
    codec::json::{CellTable, RowForm, RowWriter},
    path::Segment,
};
use qlio_plan::operator::{ColumnPath, Output, OutputValue, Scan, ScanColumns, Side};

use super::{project, rows::Table, shape::or_null};
use crate::run::Run;

/// Bare values up to this number cost no more than their text, and are mostly looked at: ids that the
/// next calls are made for.
const BARE_VALUES_MAX: usize = 64;

/// Whether a scan may have columns that are keys of a join: lists of what is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Keys {
    Allowed,
    Refused,
}

/// The names of the columns of a scan if each is a plain member of its row.
pub(crate) fn plain_columns(scan: &Scan, keys: Keys) -> Option<Vec<&str>> {
    let ScanColumns::List(columns) = &scan.columns else { return None };
    let mut names = Vec::with_capacity(columns.len());
    for column in columns {
        let ColumnPath::Static(path) = &column.path else { return None };
        match path.segments() {
            [Segment::Member(name)] if !column.is_key || keys == Keys::Allowed => {
                names.push(&**name);
            }
            _ => return None,
        }
    }
    Some(names)
}

/// The rows of a variable that nothing has looked into, or whose elements nothing has looked into, if no
/// condition looks at them either.
pub(crate) fn of_variable(scan: &Scan, value: &Value, keys: Keys) -> Option<CellTable> {
    if !scan.conditions.is_empty() {
        return None;
    }
    match value {
        Value::Raw(text) => CellTable::of_raw(text, &plain_columns(scan, keys)?),
        Value::Array(elements) => CellTable::of_elements(elements, &plain_columns(scan, keys)?),
        _ => None,
    }
}

/// As [`project::warn_of_unmatched`] of rows that are text: their columns are all static.
pub(crate) fn warn_of_unmatched(run: &Run<'_>, scan: &Scan, cells: &CellTable) {
    let ScanColumns::List(columns) = &scan.columns else { return };
    let columns = columns.iter().filter_map(|column| match &column.path {
        ColumnPath::Static(path) => Some((path, column.is_key)),
        ColumnPath::Dynamic(_) => None,
    });
    let is_matched = |position| cells.has_column(position);
    project::warn_of_unmatched(run, scan, cells.len(), columns, is_matched);
}

/// The rows as values.
pub(crate) fn table_of(cells: &CellTable) -> Table {
    let mut table = Table::with_capacity(cells.width(), cells.len());
    for row in 0..cells.len() {
        table.push((0..cells.width()).map(|column| cells.value(row, column)));
    }
    table
}

/// How the rows of an output are written as text.
pub(crate) struct TextShape<'o> {
    /// The member names; empty for lists and bare values.
    names: Vec<&'o str>,
    is_flat: bool,
    /// Which columns are shown, in order.
    columns: Vec<(Side, usize)>,
}

impl<'o> TextShape<'o> {
    /// `None` if a function is called for rows, or if members would have the same name.
    pub(crate) fn of(output: &'o Output) -> Option<Self> {
        let mut names = Vec::new();
        let mut columns = Vec::with_capacity(output.columns.len());
        for column in &output.columns {
            let OutputValue::Column { side, column: position } = column.value else { return None };
            columns.push((side, position));
            if output.has_aliases {
                let name: &Text = column.alias.as_ref()?;
                names.push(&**name);
            }
        }
        let mut sorted = names.clone();
        sorted.sort_unstable();
        let is_distinct = sorted.windows(2).all(|pair| pair[0] != pair[1]);
        (is_distinct && !columns.is_empty()).then_some(Self {
            names,
            is_flat: output.is_flat,
            columns,
        })
    }

    /// The rows of a table.
    pub(crate) fn rows(&self, cells: &CellTable) -> Value {
        let columns: Vec<usize> = self.columns.iter().map(|(_, column)| *column).collect();
        if self.is_flat && cells.len() <= BARE_VALUES_MAX {
            return (0..cells.len()).map(|row| or_null(cells.value(row, columns[0]))).collect();
        }
        let mut writer = self.writer();
        writer.reserve(cells.len(), cells.json_bytes(&columns));
        for row in 0..cells.len() {
            writer.push(|position| (cells, row, columns[position]));
        }
        writer.finish()
    }

    /// A writer of pairs of a main and a joined row, with room for `pairs` of them.
    pub(crate) fn pair_writer<'s>(
        &'s self,
        main: &'s CellTable,
        joined: &'s CellTable,
        pairs: usize,
    ) -> PairWriter<'s> {
        let mut writer = self.writer();
        let of_side = |wanted: Side, cells: &CellTable| {
            let columns = self.columns.iter().filter(|(side, _)| *side == wanted);
            let columns: Vec<usize> = columns.map(|(_, column)| *column).collect();
            // Each row of a side is in as many pairs as the next, as far as anybody knows.
            cells.json_bytes(&columns).div_ceil(cells.len().max(1)).saturating_mul(pairs)
        };
        writer.reserve(pairs, of_side(Side::Main, main) + of_side(Side::Joined, joined));
        PairWriter { columns: &self.columns, main, joined, writer }
    }

    fn writer(&self) -> RowWriter {
        let form = match (self.names.is_empty(), self.is_flat) {
            (false, _) => RowForm::Object(&self.names),
            (true, true) => RowForm::Bare,
            (true, false) => RowForm::List,
        };
        RowWriter::new(form, self.columns.len())
    }
}

/// Writes pairs of rows.
pub(crate) struct PairWriter<'s> {
    columns: &'s [(Side, usize)],
    main: &'s CellTable,
    joined: &'s CellTable,
    writer: RowWriter,
}

impl PairWriter<'_> {
    pub(crate) fn push(&mut self, (main_row, joined_row): (u32, u32)) {
        let Self { columns, main, joined, writer } = self;
        writer.push(|position| match columns[position] {
            (Side::Main, column) => (main, main_row as usize, column),
            (Side::Joined, column) => (joined, joined_row as usize, column),
        });
    }

    pub(crate) fn finish(self) -> Value {
        self.writer.finish()
    }
}
