//! The keys of rows that are being sorted, column by column, and what is compared first of them.
//!
//! A column of whole numbers takes eight bytes for a row. Of all keys of a row as much as fits becomes one number,
//! its code, whose order is theirs: where the columns are whole numbers of a small range, nothing else is ever
//! compared; else rows with the same code are.

use std::cmp::Ordering;

use qlio_data::compute::order::Key;
use qlio_plan::operator::SortKey;

use crate::{budget::Budget, error::RunError};

/// In a column of whole numbers: null. The number itself makes keys of the column.
const NOTHING: i64 = i64::MIN;

/// Bytes of keys that are compared for a unit of work.
const COMPARED_BYTES_PER_UNIT: usize = 512;

/// Bits of a code.
const CODE_BITS: u32 = u64::BITS;

/// The keys of rows.
pub(crate) struct SortKeys {
    columns: Vec<Column>,
    /// The most bytes that one of them has.
    largest: usize,
}

enum Column {
    Whole(WholeColumn),
    Any(Vec<Key>),
}

struct WholeColumn {
    numbers: Vec<i64>,
    /// The least and the greatest of them.
    least: i64,
    most: i64,
}

impl WholeColumn {
    fn push(&mut self, number: i64) {
        self.numbers.push(number);
        self.least = self.least.min(number);
        self.most = self.most.max(number);
    }

    /// How far they are apart.
    fn range(&self) -> u64 {
        if self.least > self.most { 0 } else { self.most.abs_diff(self.least) }
    }
}

impl SortKeys {
    /// Room for the keys of so many rows, which is charged.
    pub(crate) fn new(budget: &Budget, width: usize, rows: usize) -> Result<Self, RunError> {
        budget.charge_memory(rows.saturating_mul(width).saturating_mul(size_of::<i64>()))?;
        let column = || {
            let numbers = Vec::with_capacity(rows);
            Column::Whole(WholeColumn { numbers, least: i64::MAX, most: i64::MIN })
        };
        Ok(Self { columns: (0..width).map(|_| column()).collect(), largest: 0 })
    }

    /// The next key of a column that is a whole number.
    #[inline]
    pub(crate) fn push_whole(
        &mut self,
        budget: &Budget,
        column: usize,
        number: i64,
    ) -> Result<(), RunError> {
        match &mut self.columns[column] {
            Column::Whole(numbers) if number != NOTHING => numbers.push(number),
            _ => self.push(budget, column, Key::whole(number))?,
        }
        Ok(())
    }

    /// The next key of a column.
    pub(crate) fn push(
        &mut self,
        budget: &Budget,
        column: usize,
        key: Key,
    ) -> Result<(), RunError> {
        let column = &mut self.columns[column];
        if let Column::Whole(whole) = column {
            match key.to_whole() {
                Some(number) if number != NOTHING => {
                    whole.push(number);
                    return Ok(());
                }
                None if key.is_nothing() => {
                    whole.numbers.push(NOTHING);
                    return Ok(());
                }
                _ => {}
            }
            let numbers = &whole.numbers;
            budget.charge_memory(numbers.capacity().saturating_mul(size_of::<Key>()))?;
            let mut keys = Vec::with_capacity(numbers.capacity());
            keys.extend(numbers.iter().map(|number| match *number {
                NOTHING => Key::nothing(),
                number => Key::whole(number),
            }));
            *column = Column::Any(keys);
        }
        if let Column::Any(keys) = column {
            self.largest = self.largest.max(key.compared_bytes());
            keys.push(key);
        }
        Ok(())
    }

    /// The work of comparing two rows, at most.
    pub(super) fn units(&self) -> usize {
        self.columns.len() + self.largest / COMPARED_BYTES_PER_UNIT
    }

    /// How two rows stand to each other.
    pub(super) fn compare(&self, order: &[SortKey], left: u32, right: u32) -> Ordering {
        let (left, right) = (left as usize, right as usize);
        for (column, key) in self.columns.iter().zip(order) {
            let found = match column {
                Column::Whole(WholeColumn { numbers, .. }) => {
                    compare(&numbers[left], &numbers[right], key)
                }
                Column::Any(keys) => compare(&keys[left], &keys[right], key),
            };
            if found.is_ne() {
                return found;
            }
        }
        Ordering::Equal
    }

    /// What makes the codes of rows.
    pub(super) fn coding(&self, order: &[SortKey]) -> Coding<'_> {
        let mut coding = Coding { parts: Vec::with_capacity(order.len()), is_exact: true };
        let mut left = CODE_BITS;
        for (column, key) in self.columns.iter().zip(order) {
            if left == 0 {
                coding.is_exact = false;
                break;
            }
            let part = Part::of(column, key, left);
            left -= part.bits;
            coding.is_exact &= part.is_exact;
            let is_exact = part.is_exact;
            coding.parts.push(part);
            if !is_exact {
                break;
            }
        }
        coding
    }
}

/// How codes are made.
pub(super) struct Coding<'k> {
    parts: Vec<Part<'k>>,
    /// Rows with the same code have the same keys.
    pub(super) is_exact: bool,
}

/// What a code has of one column.
struct Part<'k> {
    column: &'k Column,
    is_descending: bool,
    are_nulls_first: bool,
    bits: u32,
    /// Lower bits that have no place.
    dropped: u32,
    is_exact: bool,
}

impl<'k> Part<'k> {
    /// The part of a column in codes with so many bits left.
    fn of(column: &'k Column, key: &SortKey, bits_left: u32) -> Self {
        let needed = match column {
            // One more, for null.
            Column::Whole(whole) => u128::BITS - (u128::from(whole.range()) + 1).leading_zeros(),
            // A bit for null, and the bits of the prefix of a key.
            Column::Any(_) => 1 + u64::BITS,
        };
        let bits = needed.min(bits_left);
        let is_exact = matches!(column, Column::Whole(_)) && bits == needed;
        Self {
            column,
            is_descending: key.is_descending,
            are_nulls_first: key.are_nulls_first,
            bits,
            dropped: needed - bits,
            is_exact,
        }
    }

    #[inline]
    fn code(&self, row: usize) -> u64 {
        let (place, most) = match self.column {
            Column::Whole(whole) => {
                let place = match whole.numbers[row] {
                    NOTHING => None,
                    number if self.is_descending => Some(whole.most.abs_diff(number)),
                    number => Some(number.abs_diff(whole.least)),
                };
                (place, u128::from(whole.range()))
            }
            Column::Any(keys) => {
                let key = &keys[row];
                let place = (!key.is_nothing())
                    .then(|| if self.is_descending { !key.prefix() } else { key.prefix() });
                (place, u128::from(u64::MAX))
            }
        };
        let code = match place {
            Some(place) => u128::from(place) + u128::from(self.are_nulls_first),
            None if self.are_nulls_first => 0,
            None => most + 1,
        };
        #[expect(
            clippy::cast_possible_truncation,
            reason = "no more bits than a code has are left"
        )]
        let code = (code >> self.dropped) as u64;
        code
    }
}

impl Coding<'_> {
    /// The code of a row.
    #[inline]
    pub(super) fn code(&self, row: usize) -> u64 {
        self.parts.iter().fold(0, |code, part| {
            // A part of all bits is alone.
            code.checked_shl(part.bits).unwrap_or(0) | part.code(row)
        })
    }
}

/// A key as it is ordered among others of its column.
trait Ordered: Ord {
    fn is_nothing(&self) -> bool;
}

impl Ordered for i64 {
    fn is_nothing(&self) -> bool {
        *self == NOTHING
    }
}

impl Ordered for Key {
    fn is_nothing(&self) -> bool {
        Self::is_nothing(self)
    }
}

fn compare<T: Ordered>(left: &T, right: &T, key: &SortKey) -> Ordering {
    match (left.is_nothing(), right.is_nothing()) {
        (true, true) => Ordering::Equal,
        (true, false) if key.are_nulls_first => Ordering::Less,
        (true, false) => Ordering::Greater,
        (false, true) if key.are_nulls_first => Ordering::Greater,
        (false, true) => Ordering::Less,
        (false, false) if key.is_descending => right.cmp(left),
        (false, false) => left.cmp(right),
    }
}
