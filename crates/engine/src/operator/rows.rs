//! Rows between operators: one model, whatever they are made of (ADR 0020).
//!
//! Rows come in batches, one for each answer or list they were read from. The cells of a batch are
//! places in a text or values; operators see [`RowCell`]s, which are either, and never ask which.
//! Nothing is copied when answers are gathered or rows are joined: batches stand one after the other,
//! and a joined row is a pair of row numbers.

use qlio_data::{
    Value,
    codec::json::{CellTable, RowCell},
};
use qlio_plan::operator::Side;

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

impl From<Relation> for Relation<Tuples> {
    fn from(relation: Relation) -> Self {
        match relation {
            Relation::Value(value) => Self::Value(value),
            Relation::Rows(rows) => Self::Rows(rows.into()),
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
    fn values(self) -> impl Iterator<Item = Value> {
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
    fn is_text(&self) -> bool {
        self.batches.iter().all(|batch| matches!(batch.cells, Cells::Text(_)))
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
    fn values_mut(&mut self) -> Option<&mut ValueRows> {
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

/// The rows of a statement: those of its one source, or pairs of rows of two.
#[derive(Debug, Clone)]
pub(crate) struct Tuples {
    main: Rows,
    partners: Option<Partners>,
    /// The numbers of the rows that are left of one source, in their order; `None` if all are, in theirs.
    selected: Option<Vec<u32>>,
}

/// The second source of a join.
#[derive(Debug, Clone)]
struct Partners {
    rows: Rows,
    /// For each row of the join the numbers of its two rows.
    pairs: Vec<(u32, u32)>,
}

/// A row of a statement.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Tuple<'r> {
    main: Row<'r>,
    joined: Option<Row<'r>>,
}

impl<'r> Tuple<'r> {
    /// For programs that read nothing of a row.
    pub(crate) fn without_cells() -> Self {
        Self { main: Row::Values(&[]), joined: None }
    }

    #[inline]
    pub(crate) fn cell(self, side: Side, column: usize) -> RowCell<'r> {
        match (side, self.joined) {
            (Side::Main, _) => self.main.cell(column),
            (Side::Joined, Some(joined)) => joined.cell(column),
            (Side::Joined, None) => RowCell::Value(&Value::Absent),
        }
    }

    /// The values of all columns, those of the joined side last.
    pub(crate) fn values(self) -> Value {
        self.main.values().chain(self.joined.into_iter().flat_map(Row::values)).collect()
    }
}

impl From<Rows> for Tuples {
    fn from(main: Rows) -> Self {
        Self { main, partners: None, selected: None }
    }
}

impl Tuples {
    /// The rows of a join.
    pub(crate) fn of_pairs(main: Rows, joined: Rows, pairs: Vec<(u32, u32)>) -> Self {
        Self { main, partners: Some(Partners { rows: joined, pairs }), selected: None }
    }

    pub(crate) fn len(&self) -> usize {
        match (&self.partners, &self.selected) {
            (Some(partners), _) => partners.pairs.len(),
            (None, Some(selected)) => selected.len(),
            (None, None) => self.main.len,
        }
    }

    /// The rows with these numbers, in this order.
    pub(crate) fn select(mut self, numbers: Vec<u32>) -> Self {
        if let Some(partners) = &mut self.partners {
            partners.pairs =
                numbers.iter().map(|number| partners.pairs[*number as usize]).collect();
            return self;
        }
        self.selected = Some(match self.selected {
            None => numbers,
            Some(before) => numbers.iter().map(|number| before[*number as usize]).collect(),
        });
        self
    }

    /// The row with a number, which must be below the number of rows.
    #[inline]
    pub(crate) fn tuple(&self, number: usize) -> Tuple<'_> {
        match &self.partners {
            None => {
                let number = match &self.selected {
                    None => number,
                    Some(selected) => selected[number] as usize,
                };
                Tuple { main: self.main.row(number), joined: None }
            }
            Some(Partners { rows, pairs }) => {
                let (main, joined) = pairs[number];
                let joined = rows.row(joined as usize);
                Tuple { main: self.main.row(main as usize), joined: Some(joined) }
            }
        }
    }

    /// The values of rows that nobody else looks at, to be taken. Rows of a join are looked at as often
    /// as they have partners.
    pub(crate) fn values_mut(&mut self) -> Option<&mut ValueRows> {
        let is_whole = self.partners.is_none() && self.selected.is_none();
        if is_whole { self.main.values_mut() } else { None }
    }

    /// Whether no row holds values: all are text.
    pub(crate) fn is_text(&self) -> bool {
        self.main.is_text() && self.partners.as_ref().is_none_or(|joined| joined.rows.is_text())
    }

    /// About how many bytes the text of these columns takes in all rows: of a join as if each row of a
    /// side were in as many pairs as the next.
    pub(crate) fn json_bytes(&self, columns: &[(Side, usize)]) -> usize {
        let of_side = |side: Side, rows: &Rows| {
            let columns = columns.iter().filter(|(of, _)| *of == side);
            let columns: Vec<usize> = columns.map(|(_, column)| *column).collect();
            let bytes = rows.json_bytes(&columns);
            match &self.partners {
                None => match &self.selected {
                    None => bytes,
                    Some(selected) => {
                        bytes.div_ceil(rows.len.max(1)).saturating_mul(selected.len())
                    }
                },
                Some(partners) => {
                    bytes.div_ceil(rows.len.max(1)).saturating_mul(partners.pairs.len())
                }
            }
        };
        let joined = self.partners.as_ref().map_or(0, |it| of_side(Side::Joined, &it.rows));
        of_side(Side::Main, &self.main) + joined
    }
}

/// How many rows are left out by `offset`, and how many are kept by `limit`.
pub(crate) fn bounds(limit: Option<u64>, offset: Option<u64>) -> (usize, usize) {
    let count = |count| usize::try_from(count).unwrap_or(usize::MAX);
    (count(offset.unwrap_or(0)), count(limit.unwrap_or(u64::MAX)))
}

#[cfg(test)]
mod tests {
    use qlio_data::codec::{DecodeLimits, json};

    use super::*;

    fn text(body: &str) -> Rows {
        let limits = DecodeLimits::default();
        let body = body.to_owned().into_bytes().into();
        CellTable::decode(body, &[], &["a"], &limits).expect("rows").into()
    }

    fn values(values: &[i64]) -> Rows {
        let mut rows = ValueRows::with_capacity(1, values.len());
        for value in values {
            rows.push([Value::int(*value)]);
        }
        rows.into()
    }

    /// One batch of text, one of values, one of text.
    fn mixed() -> Rows {
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

    #[test]
    fn a_joined_row_shows_the_columns_of_both() {
        let joined = Tuples::of_pairs(mixed(), values(&[7, 8]), vec![(0, 1), (3, 0), (6, 1)]);
        let shown: Value = (0..joined.len()).map(|row| joined.tuple(row).values()).collect();
        assert_eq!(json::to_string(&shown), "[[0,8],[3,7],[null,8]]");
    }
}
