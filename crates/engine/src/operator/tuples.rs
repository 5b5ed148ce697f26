//! The rows of a statement, made of the rows of its sources (ADR 0020, JOI-15).
//!
//! Nothing is copied when rows are joined, tested, sorted or cut: a row of the statement is the number of a row of
//! each source, and dropping or moving it drops or moves numbers.

use std::ops::Range;

use qlio_data::{
    Value,
    codec::json::{CellTable, RowCell},
};
use qlio_plan::operator::Side;

use super::{
    pieces,
    rows::{Relation, Row, Rows, ValueRows},
};
use crate::{budget::Budget, error::RunError};

/// The rows of a statement: those of its one source, pairs of rows of two, or one of each of many.
#[derive(Debug, Clone)]
pub(crate) struct Tuples {
    form: Form,
}

#[derive(Debug, Clone)]
enum Form {
    One {
        rows: Rows,
        /// The numbers of the rows that are left, in their order; `None` if all are, in theirs.
        selected: Option<Vec<u32>>,
    },
    Two {
        main: Rows,
        joined: Rows,
        /// For each row of the join the numbers of its two rows.
        pairs: Vec<(u32, u32)>,
    },
    Many {
        sources: Vec<Numbered>,
        len: usize,
    },
}

/// Rows of one of many sources, and for each row of the statement the number of the one that is in it.
#[derive(Debug, Clone)]
pub(crate) struct Numbered {
    pub(crate) rows: Rows,
    /// Empty as long as the source has not been read.
    pub(crate) numbers: Vec<u32>,
}

/// In place of the number of a row: there is none, because nothing was the partner in a left join.
pub(crate) const NO_ROW: u32 = u32::MAX;

impl Numbered {
    /// A source that has not been read.
    pub(crate) fn unread() -> Self {
        Self { rows: Rows::new(0), numbers: Vec::new() }
    }

    /// The row that is in a row of the statement.
    #[inline]
    fn row(&self, number: usize) -> Option<Row<'_>> {
        match self.numbers.get(number) {
            None | Some(&NO_ROW) => None,
            Some(row) => Some(self.rows.row(*row as usize)),
        }
    }
}

/// A row of a statement.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Tuple<'r> {
    One(Row<'r>),
    Two(Row<'r>, Row<'r>),
    Many {
        sources: &'r [Numbered],
        number: usize,
        /// A row that may join it, and the source of that row.
        candidate: Option<(usize, Row<'r>)>,
    },
}

impl<'r> Tuple<'r> {
    /// For programs that read nothing of a row.
    pub(crate) fn without_cells() -> Self {
        Self::One(Row::Values(&[]))
    }

    #[inline]
    pub(crate) fn cell(self, side: Side, column: usize) -> RowCell<'r> {
        match (self, side) {
            (Self::One(row) | Self::Two(row, _), Side::Main)
            | (Self::Two(_, row), Side::Joined) => row.cell(column),
            (Self::Many { sources, number, candidate }, side) => match candidate {
                Some((source, row)) if source == side.number() => row.cell(column),
                _ => match sources.get(side.number()) {
                    Some(source) => source
                        .row(number)
                        .map_or(RowCell::Value(&Value::Absent), |row| row.cell(column)),
                    None => RowCell::Value(&Value::Absent),
                },
            },
            _ => RowCell::Value(&Value::Absent),
        }
    }

    /// The same row with one more that may join it.
    #[inline]
    pub(crate) fn beside(self, source: usize, row: Row<'r>) -> Self {
        match self {
            Self::Many { sources, number, .. } => {
                Self::Many { sources, number, candidate: Some((source, row)) }
            }
            other => other,
        }
    }

    /// The values of all columns, those of the joined side last.
    pub(crate) fn values(self) -> Value {
        match self {
            Self::One(row) => row.values().collect(),
            Self::Two(main, joined) => main.values().chain(joined.values()).collect(),
            Self::Many { sources, number, .. } => {
                let rows = sources.iter().filter_map(|source| source.row(number));
                rows.flat_map(Row::values).collect()
            }
        }
    }
}

impl From<Rows> for Tuples {
    fn from(rows: Rows) -> Self {
        Self { form: Form::One { rows, selected: None } }
    }
}

impl Tuples {
    /// The rows of a join.
    pub(crate) fn of_pairs(main: Rows, joined: Rows, pairs: Vec<(u32, u32)>) -> Self {
        Self { form: Form::Two { main, joined, pairs } }
    }

    /// So many rows, each of one row of every source.
    pub(crate) fn of_sources(sources: Vec<Numbered>, len: usize) -> Self {
        Self { form: Form::Many { sources, len } }
    }

    pub(crate) fn len(&self) -> usize {
        match &self.form {
            Form::One { selected: Some(selected), .. } => selected.len(),
            Form::One { rows, selected: None } => rows.len(),
            Form::Two { pairs, .. } => pairs.len(),
            Form::Many { len, .. } => *len,
        }
    }

    /// The rows with these numbers, in this order.
    ///
    /// # Errors
    /// The run has used its processor time.
    pub(crate) async fn select(
        mut self,
        budget: &Budget,
        numbers: Vec<u32>,
    ) -> Result<Self, RunError> {
        match &mut self.form {
            Form::One { selected, .. } => {
                *selected = Some(match selected.take() {
                    None => numbers,
                    Some(before) => pick(budget, &before, &numbers).await?,
                });
            }
            Form::Two { pairs, .. } => *pairs = pick(budget, pairs, &numbers).await?,
            Form::Many { sources, len } => {
                for source in sources.iter_mut().filter(|source| !source.numbers.is_empty()) {
                    source.numbers = pick(budget, &source.numbers, &numbers).await?;
                }
                *len = numbers.len();
            }
        }
        Ok(self)
    }

    /// The row with a number, which must be below the number of rows.
    #[inline]
    pub(crate) fn tuple(&self, number: usize) -> Tuple<'_> {
        match &self.form {
            Form::One { rows, selected } => {
                let number = match selected {
                    None => number,
                    Some(selected) => selected[number] as usize,
                };
                Tuple::One(rows.row(number))
            }
            Form::Two { main, joined, pairs } => {
                let (of_main, of_joined) = pairs[number];
                Tuple::Two(main.row(of_main as usize), joined.row(of_joined as usize))
            }
            Form::Many { sources, .. } => Tuple::Many { sources, number, candidate: None },
        }
    }

    /// The sources of rows that are made of many.
    pub(crate) fn sources(&self) -> &[Numbered] {
        match &self.form {
            Form::Many { sources, .. } => sources,
            Form::One { .. } | Form::Two { .. } => &[],
        }
    }

    /// Adds a source with one row for each row there is.
    pub(crate) fn attach(&mut self, side: Side, rows: Rows) {
        if let Form::Many { sources, len } = &mut self.form {
            while sources.len() <= side.number() {
                sources.push(Numbered::unread());
            }
            sources[side.number()] = Numbered { rows, numbers: (0..*len as u32).collect() };
        }
    }

    /// The rows that pairs of a row there is and one of a new source make.
    ///
    /// # Errors
    /// The run has used its processor time.
    pub(crate) async fn extend(
        mut self,
        budget: &Budget,
        source: usize,
        rows: Rows,
        pairs: &[(u32, u32)],
    ) -> Result<Self, RunError> {
        if let Form::Many { sources, len } = &mut self.form {
            for old in sources.iter_mut().filter(|old| !old.numbers.is_empty()) {
                let numbers = pairs.iter().map(|(tuple, _)| old.numbers[*tuple as usize]);
                old.numbers = pieces::collect(budget, numbers).await?;
            }
            let numbers = pieces::collect(budget, pairs.iter().map(|(_, row)| *row)).await?;
            sources[source] = Numbered { rows, numbers };
            *len = pairs.len();
        }
        Ok(self)
    }

    /// The values of rows that nobody else looks at, to be taken. Rows of a join are looked at as often
    /// as they have partners.
    pub(crate) fn values_mut(&mut self) -> Option<&mut ValueRows> {
        match &mut self.form {
            Form::One { rows, selected: None } => rows.values_mut(),
            _ => None,
        }
    }

    /// Whether rows stand in another order than what they are made of.
    pub(crate) fn are_moved(&self) -> bool {
        !matches!(self.form, Form::One { selected: None, .. })
    }

    /// Whether no row holds values: all are text.
    pub(crate) fn is_text(&self) -> bool {
        match &self.form {
            Form::One { rows, .. } => rows.is_text(),
            Form::Two { main, joined, .. } => main.is_text() && joined.is_text(),
            Form::Many { sources, .. } => sources.iter().all(|source| source.rows.is_text()),
        }
    }

    /// The table that the rows of one source are, and the numbers of those that are left if not all are.
    pub(crate) fn table(&self) -> Option<(&CellTable, Option<&[u32]>)> {
        match &self.form {
            Form::One { rows, selected } => Some((rows.table()?, selected.as_deref())),
            Form::Two { .. } | Form::Many { .. } => None,
        }
    }

    /// Brings the text of these columns of some rows in from memory, that of each source at the same time.
    pub(crate) fn bring_in(&self, block: Range<usize>, columns: &[(Side, usize)]) {
        let of_side = |side: Side| {
            columns.iter().filter(move |(of, _)| *of == side).map(|(_, column)| *column)
        };
        match &self.form {
            Form::One { rows, selected: None } => rows.bring_in(block, &of_side(Side::Main)),
            Form::One { rows, selected: Some(selected) } => {
                rows.bring_in(
                    selected[block].iter().map(|row| *row as usize),
                    &of_side(Side::Main),
                );
            }
            Form::Two { main, joined, pairs } => {
                let pairs = &pairs[block];
                main.bring_in(pairs.iter().map(|pair| pair.0 as usize), &of_side(Side::Main));
                joined.bring_in(pairs.iter().map(|pair| pair.1 as usize), &of_side(Side::Joined));
            }
            Form::Many { sources, .. } => {
                for (place, source) in sources.iter().enumerate() {
                    let numbers = source.numbers.get(block.clone()).unwrap_or_default();
                    let rows = numbers.iter().filter(|row| **row != NO_ROW);
                    source.rows.bring_in(rows.map(|row| *row as usize), &of_side(Side::at(place)));
                }
            }
        }
    }

    /// About how many bytes the text of these columns takes in all rows: of a join as if each row of a
    /// side were in as many pairs as the next.
    pub(crate) fn json_bytes(&self, columns: &[(Side, usize)]) -> usize {
        let of_side = |side: Side, rows: &Rows| {
            let columns = columns.iter().filter(|(of, _)| *of == side);
            let columns: Vec<usize> = columns.map(|(_, column)| *column).collect();
            rows.json_bytes(&columns)
        };
        let spread = |bytes: usize, rows: &Rows| {
            bytes.div_ceil(rows.len().max(1)).saturating_mul(self.len())
        };
        match &self.form {
            Form::One { rows, selected: None } => of_side(Side::Main, rows),
            Form::One { rows, .. } => spread(of_side(Side::Main, rows), rows),
            Form::Two { main, joined, .. } => {
                spread(of_side(Side::Main, main), main)
                    + spread(of_side(Side::Joined, joined), joined)
            }
            Form::Many { sources, .. } => {
                let bytes = |(place, source): (usize, &Numbered)| {
                    spread(of_side(Side::at(place), &source.rows), &source.rows)
                };
                sources.iter().enumerate().map(bytes).sum()
            }
        }
    }
}

async fn pick<T: Copy>(budget: &Budget, from: &[T], numbers: &[u32]) -> Result<Vec<T>, RunError> {
    pieces::collect(budget, numbers.iter().map(|number| from[*number as usize])).await
}

impl From<Relation> for Relation<Tuples> {
    fn from(relation: Relation) -> Self {
        match relation {
            Relation::Value(value) => Self::Value(value),
            Relation::Rows(rows) => Self::Rows(rows.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use qlio_data::codec::json;

    use super::{
        super::rows::tests::{mixed, values},
        *,
    };

    #[test]
    fn a_joined_row_shows_the_columns_of_both() {
        let joined = Tuples::of_pairs(mixed(), values(&[7, 8]), vec![(0, 1), (3, 0), (6, 1)]);
        let shown: Value = (0..joined.len()).map(|row| joined.tuple(row).values()).collect();
        assert_eq!(json::to_string(&shown), "[[0,8],[3,7],[null,8]]");
    }
}
