//! Rows between operators: one model, whatever they are made of (ADR 0020).
//!
//! Rows come in batches, one for each answer or list they were read from. The cells of a batch are
//! places in a text or values; operators see [`RowCell`]s, which are either, and never ask which.
//! Nothing is copied when answers are gathered: batches stand one after the other. What a statement makes of
//! the rows of its sources is in [`tuples`](super::tuples).

use std::iter::once;

use qlio_data::{
    Value,
    codec::json::{CellTable, RowCell},
};

/// A source that has been read: a value as a whole, or rows.
#[derive(Debug, Clone)]
pub(crate) enum Relation<R = Rows> {
    /// `select *`, or a value that has no rows.
    Value(Value),
    /// Rows of columns.
    Rows(R),
}

impl Relation {
    /// The rows; a value without columns has none of them.
    pub(crate) fn into_rows(self) -> Option<Rows> {
        match self {
            Self::Rows(rows) => Some(rows),
            Self::Value(_) => None,
        }
    }

    /// The value, or the rows as lists of their columns.
    pub(crate) fn into_lists(self) -> Value {
        match self {
            Self::Value(value) => value,
            Self::Rows(rows) => rows.iter().map(|row| row.values().collect::<Value>()).collect(),
        }
    }
}

/// Rows of equal width.
#[derive(Debug, Clone)]
pub(crate) struct Rows {
    width: usize,
    len: usize,
    batches: Vec<Batch>,
}

/// Rows from one place.
#[derive(Debug, Clone)]
struct Batch {
    /// The number of its first row.
    start: usize,
    cells: Cells,
}

#[derive(Debug, Clone)]
enum Cells {
    Text(CellTable),
    Values(ValueRows),
}

/// One row.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Row<'r> {
    Text(&'r CellTable, usize),
    Values(&'r [Value]),
}

impl<'r> Row<'r> {
    #[inline]
    pub(crate) fn cell(self, column: usize) -> RowCell<'r> {
        match self {
            Self::Text(table, row) => RowCell::Text { table, row, column },
            Self::Values(values) => RowCell::Value(&values[column]),
        }
    }

    /// The values of all columns.
    pub(super) fn values(self) -> impl Iterator<Item = Value> {
        let width = match self {
            Self::Text(table, _) => table.width(),
            Self::Values(values) => values.len(),
        };
        (0..width).map(move |column| self.cell(column).value())
    }
}

impl Rows {
    /// No rows yet.
    pub(crate) fn new(width: usize) -> Self {
        Self { width, len: 0, batches: Vec::new() }
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn width(&self) -> usize {
        self.width
    }

    /// Adds the rows of `other`, which have the same columns.
    pub(crate) fn append(&mut self, other: Self) {
        debug_assert_eq!(self.width, other.width);
        let before = self.len;
        self.len += other.len;
        self.batches.extend(
            other
                .batches
                .into_iter()
                .map(|batch| Batch { start: before + batch.start, cells: batch.cells }),
        );
    }

    /// Keeps `limit` rows after the first `offset`.
    pub(crate) fn cut(&mut self, limit: Option<u64>, offset: Option<u64>) {
        if limit.is_none() && offset.is_none() {
            return;
        }
        let (mut skip, mut take) = bounds(limit, offset);
        self.len = 0;
        for batch in &mut self.batches {
            let before = batch.cells.len();
            batch.cells.cut(skip, take);
            let kept = batch.cells.len();
            skip = skip.saturating_sub(before);
            take -= kept;
            batch.start = self.len;
            self.len += kept;
        }
        self.batches.retain(|batch| batch.cells.len() > 0);
    }

    /// The row with a number, which must be below the number of rows.
    #[inline]
    pub(crate) fn row(&self, number: usize) -> Row<'_> {
        let batch = match &self.batches[..] {
            [only] => only,
            batches => {
                &batches[batches.partition_point(|batch| batch.start <= number).saturating_sub(1)]
            }
        };
        batch.cells.row(number - batch.start)
    }

    /// All rows in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = Row<'_>> {
        self.batches
            .iter()
            .flat_map(|batch| (0..batch.cells.len()).map(move |row| batch.cells.row(row)))
    }

    /// Whether some row has a value in the column.
    pub(crate) fn has_column(&self, column: usize) -> bool {
        self.iter().any(|row| !row.cell(column).is_absent())
    }

    /// Whether no row holds values: all are text.
    pub(super) fn is_text(&self) -> bool {
        self.batches.iter().all(|batch| matches!(batch.cells, Cells::Text(_)))
    }

    /// The table that all rows are, if they are text from one place.
    pub(super) fn table(&self) -> Option<&CellTable> {
        match &self.batches[..] {
            [Batch { cells: Cells::Text(table), .. }] => Some(table),
            _ => None,
        }
    }

    /// Brings the text of these columns of rows in from memory, all of it at the same time.
    pub(crate) fn bring_in(
        &self,
        rows: impl Iterator<Item = usize>,
        columns: &(impl Iterator<Item = usize> + Clone),
    ) {
        if let Some(table) = self.table() {
            table.bring_in(rows, columns);
            return;
        }
        for row in rows {
            if let Row::Text(table, row) = self.row(row) {
                table.bring_in(once(row), columns);
            }
        }
    }

    /// The bytes that the text of these columns takes in all rows that are text.
    pub(crate) fn json_bytes(&self, columns: &[usize]) -> usize {
        let of_batch = |batch: &Batch| match &batch.cells {
            Cells::Text(table) => table.json_bytes(columns),
            Cells::Values(_) => 0,
        };
        self.batches.iter().map(of_batch).sum()
    }

    /// The values of rows from one place, to be taken; `None` if there is text among them.
    pub(super) fn values_mut(&mut self) -> Option<&mut ValueRows> {
        match &mut self.batches[..] {
            [Batch { cells: Cells::Values(values), .. }] => Some(values),
            _ => None,
        }
    }
}

impl Cells {
    fn len(&self) -> usize {
        match self {
            Self::Text(table) => table.len(),
            Self::Values(rows) => rows.len,
        }
    }

    #[inline]
    fn row(&self, number: usize) -> Row<'_> {
        match self {
            Self::Text(table) => Row::Text(table, number),
            Self::Values(rows) => {
                Row::Values(&rows.values[number * rows.width..(number + 1) * rows.width])
            }
        }
    }

    fn cut(&mut self, skip: usize, take: usize) {
        match self {
            Self::Text(table) => table.cut(skip, take),
            Self::Values(rows) => rows.cut(skip, take),
        }
    }
}

impl From<CellTable> for Rows {
    fn from(table: CellTable) -> Self {
        let (width, len) = (table.width(), table.len());
        Self { width, len, batches: vec![Batch { start: 0, cells: Cells::Text(table) }] }
    }
}

impl From<ValueRows> for Rows {
    fn from(rows: ValueRows) -> Self {
        let (width, len) = (rows.width, rows.len);
        Self { width, len, batches: vec![Batch { start: 0, cells: Cells::Values(rows) }] }
    }
}

/// Rows that are being made of values.
#[derive(Debug, Clone)]
pub(crate) struct ValueRows {
    width: usize,
    len: usize,
    values: Vec<Value>,
}

impl ValueRows {
    pub(crate) fn with_capacity(width: usize, rows: usize) -> Self {
        Self { width, len: 0, values: Vec::with_capacity(width.saturating_mul(rows)) }
    }

    /// Adds a row; it must have the table's width.
    pub(crate) fn push(&mut self, row: impl IntoIterator<Item = Value>) {
        self.values.extend(row);
        self.len += 1;
        debug_assert_eq!(self.values.len(), self.width * self.len);
    }

    /// Adds the row that `fill` writes, which must have the table's width.
    pub(crate) fn push_with<E>(
        &mut self,
        fill: impl FnOnce(&mut Vec<Value>) -> Result<(), E>,
    ) -> Result<(), E> {
        fill(&mut self.values)?;
        self.len += 1;
        debug_assert_eq!(self.values.len(), self.width * self.len);
        Ok(())
    }

    /// Takes a value that nothing looks at any more.
    pub(crate) fn take(&mut self, row: usize, column: usize) -> Value {
        std::mem::take(&mut self.values[row * self.width + column])
    }

    pub(crate) fn value(&self, row: usize, column: usize) -> &Value {
        &self.values[row * self.width + column]
    }

    fn cut(&mut self, skip: usize, take: usize) {
        let skip = skip.min(self.len);
        let keep = take.min(self.len - skip);
        self.values.drain(..skip * self.width);
        self.values.truncate(keep * self.width);
        self.len = keep;
    }
}

/// How many rows are left out by `offset`, and how many are kept by `limit`.
pub(crate) fn bounds(limit: Option<u64>, offset: Option<u64>) -> (usize, usize) {
    let count = |count| usize::try_from(count).unwrap_or(usize::MAX);
    (count(offset.unwrap_or(0)), count(limit.unwrap_or(u64::MAX)))
}

#[cfg(test)]
pub(super) mod tests {
    use qlio_data::codec::{DecodeLimits, json};

    use super::*;

    fn text(body: &str) -> Rows {
        let limits = DecodeLimits::default();
        let body = body.to_owned().into_bytes().into();
        CellTable::decode(body, &[], &["a"], &limits).expect("rows").into()
    }

    pub(in crate::operator) fn values(values: &[i64]) -> Rows {
        let mut rows = ValueRows::with_capacity(1, values.len());
        for value in values {
            rows.push([Value::int(*value)]);
        }
        rows.into()
    }

    /// One batch of text, one of values, one of text.
    pub(in crate::operator) fn mixed() -> Rows {
        let mut rows = text(r#"[{"a":0},{"a":1}]"#);
        rows.append(values(&[2, 3, 4]));
        rows.append(text(r#"[{"a":5},{"b":1}]"#));
        rows
    }

    fn column(rows: &Rows) -> String {
        json::to_string(&rows.iter().map(|row| row.cell(0).value()).collect())
    }

    #[test]
    fn rows_of_any_batch_are_found_by_their_number() {
        let rows = mixed();
        assert_eq!(column(&rows), "[0,1,2,3,4,5,null]");
        let by_number: Value = (0..rows.len()).map(|row| rows.row(row).cell(0).value()).collect();
        assert_eq!(json::to_string(&by_number), "[0,1,2,3,4,5,null]");
        assert!(rows.has_column(0) && !rows.is_text());
        assert!(text(r#"[{"a":0}]"#).is_text());
    }

    #[test]
    fn a_cut_goes_across_batches() {
        for offset in 0..9 {
            for limit in 0..9 {
                let mut rows = mixed();
                rows.cut(Some(limit), Some(offset));
                let all = ["0", "1", "2", "3", "4", "5", "null"];
                let skip = usize::try_from(offset).expect("small");
                let take = usize::try_from(limit).expect("small");
                let kept: Vec<_> = all.into_iter().skip(skip).take(take).collect();
                assert_eq!(column(&rows), format!("[{}]", kept.join(",")), "{limit} {offset}");
                assert_eq!(rows.len(), kept.len());
                for (row, expected) in kept.iter().enumerate() {
                    assert_eq!(json::to_string(&rows.row(row).cell(0).value()), *expected);
                }
            }
        }
    }
}
