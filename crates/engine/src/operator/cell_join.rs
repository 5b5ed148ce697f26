//! Joins of rows that stay text (`language.md` 5.11, `decisions.md` 17).
//!
//! In: two tables of cells and the equalities between them. Out: the pairs of rows that meet, main
//! rows in order and for each the joined rows in order. Keys are read where they stand: no value is
//! made, and what is kept of a joined row is eight bytes in a hash table. Arrays and objects as keys
//! are left to the general way.
//!
//! Lists that are joined are in different orders, so nearly every look at the other side is one at
//! cold memory. Rows are therefore taken in blocks: what a block will need is touched first, all of
//! it at the same time, and only then used. Without that a row of a million costs three times as
//! much as one of ten thousand.

use std::{
    hash::BuildHasher,
    hint::black_box,
    ops::{ControlFlow, Range},
};

use foldhash::quality::RandomState;
use qlio_data::{codec::json::CellTable, value::loose::LooseScalar};
use qlio_plan::operator::JoinKey;

/// No row.
const NONE: u32 = u32::MAX;

/// Rows of a block: enough to wait for memory together, few enough to find it still there.
const BLOCK_ROWS: usize = 128;

/// An array or an object is a key: this join has to be done by values.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct NotScalar;

/// Hands the pairs of rows that meet in all `keys`, of which there is at least one, to `visit`, many
/// at a time; it may stop the search.
pub(crate) fn each_pair<B>(
    main: &CellTable,
    joined: &CellTable,
    keys: &[JoinKey],
    mut visit: impl FnMut(&[(u32, u32)]) -> ControlFlow<B>,
) -> Result<ControlFlow<B>, NotScalar> {
    let (first, rest) = keys.split_first().ok_or(NotScalar)?;
    let index = Index::of(joined, first.joined_column)?;
    let mut wanted = Vec::with_capacity(BLOCK_ROWS);
    let mut pairs = Vec::with_capacity(BLOCK_ROWS);
    for block in blocks(main) {
        wanted.clear();
        for row in block.clone() {
            wanted.push(index.hashed(main, row, first.main_column)?);
        }
        index.touch(&wanted);
        for (row, wanted) in block.zip(&wanted) {
            let mut candidate = index.first_alike(wanted);
            while candidate != NONE {
                let found = scalar(joined, candidate, first.joined_column)?;
                if wanted.value == found && all_meet(main, row, joined, candidate, rest)? {
                    pairs.push((row, candidate));
                }
                candidate = index.next_alike(candidate);
                if pairs.len() >= BLOCK_ROWS {
                    if let stop @ ControlFlow::Break(_) = visit(&pairs) {
                        return Ok(stop);
                    }
                    pairs.clear();
                }
            }
        }
    }
    Ok(visit(&pairs))
}

/// Whether two rows meet in further keys.
fn all_meet(
    main: &CellTable,
    row: u32,
    joined: &CellTable,
    joined_row: u32,
    keys: &[JoinKey],
) -> Result<bool, NotScalar> {
    for key in keys {
        let wanted = scalar(main, row, key.main_column)?;
        let found = scalar(joined, joined_row, key.joined_column)?;
        // Null equals what is absent, but a missing joined value meets nothing.
        if joined.is_absent(joined_row as usize, key.joined_column) || wanted != found {
            return Ok(false);
        }
    }
    Ok(true)
}

fn scalar(table: &CellTable, row: u32, column: usize) -> Result<LooseScalar<'_>, NotScalar> {
    table.scalar(row as usize, column).ok_or(NotScalar)
}

/// All rows, block by block. A table has fewer rows than its text has bytes, whose number fits.
fn blocks(table: &CellTable) -> impl DoubleEndedIterator<Item = Range<u32>> {
    let number = |row: usize| u32::try_from(row).unwrap_or(NONE);
    let rows = table.len();
    (0..rows.div_ceil(BLOCK_ROWS))
        .map(move |block| number(block * BLOCK_ROWS)..number(rows.min((block + 1) * BLOCK_ROWS)))
}

/// A key with the hash of its normal form.
struct Hashed<'t> {
    value: LooseScalar<'t>,
    hash: u64,
}

impl Hashed<'_> {
    /// Bits of the hash that do not choose the slot.
    fn tag(&self) -> u32 {
        (self.hash >> 32) as u32
    }
}

/// A place of the hash table: the first row of a normal form, and some bits of its hash, so that
/// hardly any other row is ever looked at.
#[derive(Clone, Copy)]
struct Slot {
    tag: u32,
    row: u32,
}

/// Rows by the normal form of a column: open addressing for the forms, a chain for the rows of each.
struct Index<'t> {
    table: &'t CellTable,
    column: usize,
    hasher: RandomState,
    slots: Vec<Slot>,
    /// For each row the next one of its form; empty as long as there is none.
    next: Vec<u32>,
}

impl<'t> Index<'t> {
    /// The rows that have a value; the others meet nothing.
    fn of(table: &'t CellTable, column: usize) -> Result<Self, NotScalar> {
        // At most two thirds of the slots are taken.
        let size = (table.len() + table.len() / 2 + 1).next_power_of_two();
        let slots = vec![Slot { tag: 0, row: NONE }; size];
        let mut index =
            Self { table, column, hasher: RandomState::default(), slots, next: Vec::new() };
        let mut values = Vec::with_capacity(BLOCK_ROWS);
        // From the last row on, so that chains lead from the first to the last.
        for block in blocks(table).rev() {
            values.clear();
            for row in block.clone() {
                values.push(index.hashed(table, row, column)?);
            }
            black_box(values.iter().fold(0, |all, value| all ^ index.slot(value).row));
            for (row, value) in block.zip(&values).rev() {
                if !table.is_absent(row as usize, column) {
                    index.insert(row, value);
                }
            }
        }
        Ok(index)
    }

    fn hashed<'v>(
        &self,
        table: &'v CellTable,
        row: u32,
        column: usize,
    ) -> Result<Hashed<'v>, NotScalar> {
        let value = scalar(table, row, column)?;
        let hash = self.hasher.hash_one(&value);
        Ok(Hashed { value, hash })
    }

    fn insert(&mut self, row: u32, value: &Hashed<'_>) {
        let at = self.find(value);
        let later = std::mem::replace(&mut self.slots[at], Slot { tag: value.tag(), row }).row;
        if later != NONE {
            if self.next.is_empty() {
                self.next = vec![NONE; self.table.len()];
            }
            self.next[row as usize] = later;
        }
    }

    /// Brings in what the search for these values will need: their slots, the rows there, their text.
    fn touch(&self, values: &[Hashed<'_>]) {
        let rows = values.iter().map(|value| self.slot(value).row).filter(|row| *row != NONE);
        let bytes = rows.map(|row| self.table.first_byte(row as usize, self.column));
        black_box(bytes.fold(0, |all, byte| all ^ byte));
    }

    /// The first row whose value has this normal form.
    fn first_alike(&self, value: &Hashed<'_>) -> u32 {
        self.slots[self.find(value)].row
    }

    fn next_alike(&self, row: u32) -> u32 {
        self.next.get(row as usize).copied().unwrap_or(NONE)
    }

    /// Where the search for a value starts.
    fn slot(&self, value: &Hashed<'_>) -> Slot {
        self.slots[self.start(value)]
    }

    fn start(&self, value: &Hashed<'_>) -> usize {
        #[expect(clippy::cast_possible_truncation, reason = "any bits of the hash will do")]
        let start = value.hash as usize & (self.slots.len() - 1);
        start
    }

    /// The slot of a normal form, or the free one where it belongs.
    fn find(&self, value: &Hashed<'_>) -> usize {
        let mut at = self.start(value);
        loop {
            let slot = self.slots[at];
            let is_alike = |row| {
                let known = self.table.scalar(row as usize, self.column);
                known.is_some_and(|known| known.is_alike(&value.value))
            };
            if slot.row == NONE || slot.tag == value.tag() && is_alike(slot.row) {
                return at;
            }
            at = (at + 1) & (self.slots.len() - 1);
        }
    }
}
