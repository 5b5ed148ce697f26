//! Rows by the hash of what is looked for: the index of joins and of long lists in filters.
//!
//! In: hashes with the numbers of rows, in the order of the rows. Out: for a hash the rows that may have
//! it, in that order. A hash says "perhaps"; whoever asks compares.

use std::hint::black_box;

use super::pieces;
use crate::{budget::Budget, error::RunError};

/// No row.
pub(super) const NONE: u32 = u32::MAX;

/// Rows that are taken together: enough to wait for memory at the same time, few enough to find it
/// still there.
pub(super) const BLOCK_ROWS: usize = 128;

/// A place of the hash table: the first entry of a hash, and some bits of it, so that hardly any other
/// row is ever looked at.
#[derive(Clone, Copy)]
struct Slot {
    tag: u32,
    entry: u32,
}

/// Rows by hash: open addressing, a chain for the entries of one hash.
#[derive(Default)]
pub(super) struct HashIndex {
    slots: Vec<Slot>,
    /// For each entry the next one of its hash; empty as long as there is none.
    next: Vec<u32>,
    /// The row of each entry; `None` if entries have the numbers of their rows.
    rows: Option<Vec<u32>>,
}

impl HashIndex {
    /// The index of these hashes and rows, in the order of the rows, of which there are `row_count`.
    /// Without `has_lists` each row has one hash at most.
    ///
    /// # Errors
    /// The run has used its processor time.
    pub(super) async fn of(
        budget: &Budget,
        entries: &[(u64, u32)],
        row_count: usize,
        has_lists: bool,
    ) -> Result<Self, RunError> {
        // At most two thirds of the slots are taken.
        let size = (entries.len() + entries.len() / 2 + 1).next_power_of_two();
        let mut index = Self {
            slots: pieces::repeat(budget, Slot { tag: 0, entry: NONE }, size).await?,
            next: Vec::new(),
            rows: None,
        };
        if has_lists {
            let rows = entries.iter().map(|(_, row)| *row);
            index.rows = Some(pieces::collect(budget, rows).await?);
        }
        let count = if has_lists { entries.len() } else { row_count };
        let mut number = entries.len();
        // From the last row on, so that chains lead from the first to the last.
        for block in entries.rchunks(BLOCK_ROWS) {
            let slots = block.iter().map(|(hash, _)| index.slots[index.start(*hash)].tag);
            black_box(slots.fold(0, |all, tag| all ^ tag));
            for (hash, row) in block.iter().rev() {
                number -= 1;
                let entry = if has_lists { u32::try_from(number).unwrap_or(NONE) } else { *row };
                let later = index.insert(*hash, entry);
                if later != NONE {
                    if index.next.is_empty() {
                        index.next = pieces::repeat(budget, NONE, count).await?;
                    }
                    index.next[entry as usize] = later;
                }
            }
            if budget.spend(block.len()) {
                budget.pause().await?;
            }
        }
        Ok(index)
    }

    /// Enters an entry as the first of its hash; gives the one that was the first before.
    #[inline]
    fn insert(&mut self, hash: u64, entry: u32) -> u32 {
        let at = self.find(hash);
        std::mem::replace(&mut self.slots[at], Slot { tag: tag(hash), entry }).entry
    }

    /// The rows of a hash, in order; perhaps some others.
    #[inline]
    pub(super) fn rows(&self, hash: u64) -> impl Iterator<Item = u32> {
        self.entries(hash).map(|entry| self.row(entry))
    }

    /// The entries of these rows.
    #[inline]
    pub(super) fn entries(&self, hash: u64) -> impl Iterator<Item = u32> {
        let mut entry = self.slots[self.find(hash)].entry;
        std::iter::from_fn(move || {
            let found = (entry != NONE).then_some(entry)?;
            entry = self.next.get(entry as usize).copied().unwrap_or(NONE);
            Some(found)
        })
    }

    /// The row that the search for a hash looks at first.
    #[inline]
    pub(super) fn first_guess(&self, hash: u64) -> Option<u32> {
        let entry = self.slots[self.start(hash)].entry;
        (entry != NONE).then(|| self.row(entry))
    }

    /// The row of an entry.
    #[inline]
    pub(super) fn row(&self, entry: u32) -> u32 {
        self.rows.as_ref().map_or(entry, |rows| rows[entry as usize])
    }

    #[inline]
    fn start(&self, hash: u64) -> usize {
        #[expect(clippy::cast_possible_truncation, reason = "any bits of the hash will do")]
        let start = hash as usize & (self.slots.len() - 1);
        start
    }

    /// The slot of a hash, or the free one where it belongs.
    #[inline]
    fn find(&self, hash: u64) -> usize {
        let mut at = self.start(hash);
        loop {
            let slot = self.slots[at];
            if slot.entry == NONE || slot.tag == tag(hash) {
                return at;
            }
            at = (at + 1) & (self.slots.len() - 1);
        }
    }
}

/// Bits of a hash that do not choose the slot.
fn tag(hash: u64) -> u32 {
    (hash >> 32) as u32
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;
    use crate::budget::turns::turns_of;

    fn index_of(entries: &[(u64, u32)], rows: usize, has_lists: bool) -> HashIndex {
        let budget = Budget::unlimited();
        let made = HashIndex::of(&budget, entries, rows, has_lists);
        made.now_or_never().expect("short").expect("no limit")
    }

    fn found(index: &HashIndex, hash: u64) -> Vec<u32> {
        index.rows(hash).collect()
    }

    #[test]
    fn rows_of_a_hash_are_found_in_their_order() {
        let entries = [(7, 0), (9, 1), (7, 2), (1 << 40, 4), (7, 5)];
        let index = index_of(&entries, 6, false);
        assert_eq!(found(&index, 7), [0, 2, 5]);
        assert_eq!(found(&index, 9), [1]);
        assert_eq!(found(&index, 1 << 40), [4]);
        assert!(found(&index, 1 << 41).is_empty());
    }

    #[test]
    fn a_row_may_have_several_hashes() {
        let index = index_of(&[(7, 0), (8, 0), (8, 1), (7, 3)], 4, true);
        assert_eq!(found(&index, 7), [0, 3]);
        assert_eq!(found(&index, 8), [0, 1]);
    }

    #[test]
    fn an_index_of_nothing_finds_nothing() {
        assert!(found(&index_of(&[], 0, false), 0).is_empty());
    }

    #[test]
    fn a_large_index_is_made_in_turns() {
        let count = 300_000_u32;
        // Half of the rows have the hash of another.
        let hash = |row: u32| u64::from(row / 2).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let entries: Vec<_> = (0..count).map(|row| (hash(row), row)).collect();
        let (index, turns) =
            turns_of(async |budget| HashIndex::of(budget, &entries, count as usize, true).await);
        assert_eq!(found(&index, hash(7)), [6, 7]);
        assert!(turns > 2, "{turns} turns");
    }
}
