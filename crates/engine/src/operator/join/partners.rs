//! The partners of one row of a join that has lists, where a row may be found several times.
//!
//! In: numbers of rows, in any order. Out: each of them once, in order.

use crate::{budget::Budget, error::RunError, operator::pieces};

/// Rows that are sorted; more are looked up among all.
const SORTED_MAX: usize = 1024;

/// Words of bits that are looked through before others may have their turn.
const WORDS_AT_ONCE: usize = 256;

/// Rows of the joined side that meet a row of the main one, each once.
#[derive(Default)]
pub(super) struct Partners {
    rows: Vec<u32>,
    /// A bit for each row of the joined side.
    are_partners: Vec<u64>,
}

impl Partners {
    pub(super) async fn make_room(&mut self, budget: &Budget, rows: usize) -> Result<(), RunError> {
        if self.are_partners.is_empty() {
            let words = rows.div_ceil(u64::BITS as usize);
            self.are_partners = pieces::repeat(budget, 0, words).await?;
        }
        Ok(())
    }

    pub(super) fn has(&self, row: u32) -> bool {
        self.are_partners[(row / u64::BITS) as usize] >> (row % u64::BITS) & 1 == 1
    }

    pub(super) fn add(&mut self, row: u32) {
        self.are_partners[(row / u64::BITS) as usize] |= 1 << (row % u64::BITS);
        self.rows.push(row);
    }

    /// Gives the rows in their order, and is empty again.
    pub(super) async fn tell(
        &mut self,
        budget: &Budget,
        mut take: impl FnMut(u32) -> Result<(), RunError>,
    ) -> Result<(), RunError> {
        if self.rows.len() <= SORTED_MAX {
            self.rows.sort_unstable();
            for row in self.rows.drain(..) {
                self.are_partners[(row / u64::BITS) as usize] = 0;
                take(row)?;
            }
            return Ok(());
        }
        self.rows.clear();
        for (words, start) in
            self.are_partners.chunks_mut(WORDS_AT_ONCE).zip((0..).step_by(WORDS_AT_ONCE))
        {
            let mut told = 0;
            for (word, number) in words.iter_mut().zip(start..) {
                let mut left = std::mem::take(word);
                while left != 0 {
                    take(number * u64::BITS + left.trailing_zeros())?;
                    left &= left - 1;
                    told += 1;
                }
            }
            pieces::count(budget, words.len() + told).await?;
        }
        Ok(())
    }
}
