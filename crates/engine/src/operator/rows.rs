//! Rows between operators: one flat list of column values, no names.

use qlio_data::{Value, codec::json::CellTable};

use super::cells;

/// What a scan gives.
#[derive(Debug, Clone)]
pub(crate) enum Rows {
    /// The value as it is: `select *`, or nothing to project (`language.md` 5.9).
    Whole(Value),
    /// Rows of `width` values each.
    Table(Table),
    /// Rows that are still places in the text they came from.
    Cells(CellTable),
}

impl Rows {
    /// The same with the values of rows that are text.
    pub(crate) fn with_values(self) -> Self {
        match self {
            Self::Cells(cells) => Self::Table(cells::table_of(&cells)),
            other => other,
        }
    }
}

/// Rows of equal width, stored one after the other.
#[derive(Debug, Clone, Default)]
pub(crate) struct Table {
    width: usize,
    count: usize,
    values: Vec<Value>,
}

impl Table {
    pub(crate) fn new(width: usize) -> Self {
        Self { width, count: 0, values: Vec::new() }
    }

    pub(crate) fn with_capacity(width: usize, rows: usize) -> Self {
        Self { width, count: 0, values: Vec::with_capacity(width.saturating_mul(rows)) }
    }

    /// Adds a row; it must have the table's width.
    pub(crate) fn push(&mut self, row: impl IntoIterator<Item = Value>) {
        self.values.extend(row);
        self.count += 1;
        debug_assert_eq!(self.values.len(), self.width * self.count);
    }

    /// Adds the row that `fill` writes, which must have the table's width.
    pub(crate) fn push_with<E>(
        &mut self,
        fill: impl FnOnce(&mut Vec<Value>) -> Result<(), E>,
    ) -> Result<(), E> {
        fill(&mut self.values)?;
        self.count += 1;
        debug_assert_eq!(self.values.len(), self.width * self.count);
        Ok(())
    }

    pub(crate) fn append(&mut self, other: Self) {
        debug_assert_eq!(self.width, other.width);
        self.values.extend(other.values);
        self.count += other.count;
    }

    pub(crate) fn len(&self) -> usize {
        self.count
    }

    pub(crate) fn width(&self) -> usize {
        self.width
    }

    pub(crate) fn row(&self, index: usize) -> &[Value] {
        &self.values[index * self.width..(index + 1) * self.width]
    }

    pub(crate) fn value_mut(&mut self, row: usize, column: usize) -> &mut Value {
        &mut self.values[row * self.width + column]
    }

    pub(crate) fn rows(&self) -> impl Iterator<Item = &[Value]> {
        (0..self.count).map(|index| self.row(index))
    }

    /// Keeps `limit` rows after the first `offset`.
    pub(crate) fn cut(&mut self, limit: Option<u64>, offset: Option<u64>) {
        let (skip, keep) = bounds(limit, offset);
        let skip = skip.min(self.count);
        let keep = keep.min(self.count - skip);
        self.values.drain(..skip * self.width);
        self.values.truncate(keep * self.width);
        self.count = keep;
    }
}

/// How many rows are left out by `offset`, and how many are kept by `limit`.
pub(crate) fn bounds(limit: Option<u64>, offset: Option<u64>) -> (usize, usize) {
    let count = |count| usize::try_from(count).unwrap_or(usize::MAX);
    (count(offset.unwrap_or(0)), count(limit.unwrap_or(u64::MAX)))
}
