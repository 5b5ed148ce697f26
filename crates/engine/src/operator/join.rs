//! Joins of two sets of rows by hash (`docs/language/reference/join.md`).
//!
//! In: rows of two sides and the equalities between them. Out: the numbers of the rows that meet, main
//! rows in order and for each the joined rows in order. Both sides may be text, values or both: keys
//! are read through [`RowCell`](qlio_data::codec::json::RowCell), in a text where they stand. The cost is that of reading both sides
//! once, and of the pairs that are found, because the index has the normal forms of all keys at once.
//!
//! A key may be a list, which stands for each of its elements. One key of that kind is indexed by its
//! elements; of further ones every element would have to be combined with every other, so they are
//! only compared. Lists, and what is large, are opened once ([`join_keys`](super::join_keys)).
//!
//! Lists that are joined are in different orders, so nearly every look at the other side is one at
//! cold memory. Rows are therefore taken in blocks: what a block will need is touched first, all of
//! it at the same time, and only then used. Without that a row of a million costs three times as
//! much as one of ten thousand.

mod partners;

use std::{
    collections::HashMap,
    hash::BuildHasher,
    iter::{once, repeat_n},
    ops::Range,
};

use foldhash::quality::RandomState;
use qlio_plan::operator::JoinKey;
use qlio_syntax::diagnostic::codes;

use super::{
    hash_index::{BLOCK_ROWS, HashIndex, NONE},
    join_keys::{Held, Key, OpenKey, Opened, Opener, joined_key, main_key},
    pieces,
    rows::{Row, Rows},
};
use crate::{
    budget::Budget,
    error::{Fact, RunError},
    heavy::LetGo,
};
use partners::Partners;

/// Rows that are compared before others may have their turn.
const COMPARED_MAX: usize = 1024;

/// Bytes of the index for each row.
const INDEX_BYTES: usize = 32;

/// What mixes the hashes of several keys: an odd number whose bits are half ones, and a turn.
const HASH_FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
const HASH_ROTATION: u32 = 23;

/// The pairs of rows that meet in all `keys`; without keys each row meets each.
///
/// # Errors
/// There are more than the settings allow, or than the budget of the run does; without keys that is told
/// before the first pair is made.
pub(crate) async fn pairs(
    opener: Opener<'_>,
    main: &Rows,
    joined: &Rows,
    keys: &[JoinKey],
    pairs_max: usize,
) -> Result<Vec<(u32, u32)>, RunError> {
    let budget = opener.budget;
    let mut found = Found { pairs: Vec::new(), pairs_max, budget };
    // Rows are numbered with 32 bits.
    let (Ok(main_len), Ok(joined_len)) = (u32::try_from(main.len()), u32::try_from(joined.len()))
    else {
        return Err(too_many_rows(pairs_max));
    };
    if keys.is_empty() {
        let product = main.len().saturating_mul(joined.len());
        if product > pairs_max {
            return Err(cross_product(pairs_max, main.len(), joined.len()));
        }
        found.charge(product)?;
        for main_row in 0..main_len {
            for joined_row in 0..joined_len {
                found.push(main_row, joined_row)?;
            }
            if budget.spend(joined.len()) {
                budget.pause().await?;
            }
        }
        return Ok(found.pairs);
    }
    // Lists of things usually have one partner for each.
    found.pairs.reserve(main.len().min(pairs_max));
    Join::of(opener, main, joined, keys).await?.search(&mut found).await?;
    Ok(found.pairs)
}

/// A join gives more rows than it may.
pub(crate) fn too_many_rows(rows_max: usize) -> RunError {
    let message = format!(
        "the join gives more than maxJoinRows = {rows_max} rows; narrow it with conditions, or raise the setting"
    );
    RunError::client(codes::TOO_MANY_ROWS, message).with(Fact::Limit(rows_max as u64))
}

/// A join without a condition gives more rows than it may.
pub(crate) fn cross_product(rows_max: usize, main: usize, joined: usize) -> RunError {
    let product = main.saturating_mul(joined);
    let message = format!(
        "without a condition between them, {main} and {joined} rows give {product}, more than maxJoinRows = {rows_max}; join them with `where a.x = b.y`, or raise the setting"
    );
    let error = RunError::client(codes::TOO_MANY_ROWS, message);
    error.with(Fact::Limit(rows_max as u64)).with(Fact::Asked(product as u64))
}

/// The pairs found so far, and how many there may be.
struct Found<'f> {
    pairs: Vec<(u32, u32)>,
    pairs_max: usize,
    budget: &'f Budget,
}

impl Found<'_> {
    #[inline]
    fn push(&mut self, main: u32, joined: u32) -> Result<(), RunError> {
        if self.pairs.len() >= self.pairs_max {
            return Err(too_many_rows(self.pairs_max));
        }
        self.pairs.push((main, joined));
        Ok(())
    }

    /// Charges pairs that are looked at.
    fn charge(&self, count: usize) -> Result<(), RunError> {
        self.budget.charge_pairs(count as u64)?;
        self.budget.charge_memory(count.saturating_mul(size_of::<(u32, u32)>()))
    }
}

/// A join whose joined side is indexed.
struct Join<'r> {
    opener: Opener<'r>,
    main: &'r Rows,
    joined: &'r Rows,
    keys: &'r [JoinKey],
    /// Which of the keys the index has: all but lists after the first.
    indexed: Vec<usize>,
    /// The one of them that may be a list.
    listed: usize,
    hasher: RandomState,
    index: HashIndex,
    /// For each entry of the index which element of a list it is; empty if there is no list.
    elements: Vec<u32>,
    /// The keys of joined rows that are lists or large, by row and key.
    opened: LetGo<'r, OpenedKeys>,
    /// How often two rows were compared.
    #[cfg(test)]
    comparisons: std::cell::Cell<usize>,
}

type OpenedKeys = HashMap<(u32, usize), Opened, RandomState>;

/// How the partners of a row are found.
enum Lookup {
    Nowhere,
    /// Under this hash.
    One(u64),
    /// Under those of the elements of a list; or what is large has to be opened.
    Many,
}

impl<'r> Join<'r> {
    async fn of(
        opener: Opener<'r>,
        main: &'r Rows,
        joined: &'r Rows,
        keys: &'r [JoinKey],
    ) -> Result<Self, RunError> {
        let budget = opener.budget;
        // The index has a few words for each row.
        budget.charge_memory(joined.len() * INDEX_BYTES)?;
        let (indexed, listed) = choose_indexed_keys(budget, main, joined, keys).await?;
        let mut join = Self {
            opener,
            main,
            joined,
            keys,
            indexed,
            listed,
            hasher: RandomState::default(),
            index: HashIndex::default(),
            elements: Vec::new(),
            opened: LetGo::new(HashMap::default(), None),
            #[cfg(test)]
            comparisons: std::cell::Cell::default(),
        };
        let mut entries = Vec::with_capacity(joined.len());
        let mut values = Vec::with_capacity(keys.len());
        let mut rows = (0..).zip(joined.iter());
        for block in split_into_blocks(joined.len()) {
            for (number, row) in rows.by_ref().take(block.len()) {
                values.clear();
                values.extend(keys.iter().map(|key| joined_key(row.cell(key.joined_column))));
                match join.lookup(&values) {
                    Lookup::Nowhere => {}
                    Lookup::One(hash) => entries.push((hash, number)),
                    Lookup::Many => join.enter_opened(&mut entries, &values, number).await?,
                }
            }
            if budget.spend(block.len() * keys.len()) {
                budget.pause().await?;
            }
        }
        if u32::try_from(entries.len()).is_err() {
            return Err(too_many_rows(u32::MAX as usize));
        }
        let has_lists = !join.elements.is_empty();
        if has_lists {
            let missing = entries.len() - join.elements.len();
            pieces::extend(budget, &mut join.elements, repeat_n(0, missing)).await?;
        }
        join.index = HashIndex::of(budget, &entries, joined.len(), has_lists).await?;
        Ok(join)
    }

    /// Enters a row of the joined side that has lists or something large.
    async fn enter_opened(
        &mut self,
        entries: &mut Vec<(u64, u32)>,
        values: &[Key<'_>],
        number: u32,
    ) -> Result<(), RunError> {
        let budget = self.opener.budget;
        let open = self.open(values).await?;
        // Rows before this one that have no list have one entry each.
        let missing = entries.len() - self.elements.len();
        pieces::extend(budget, &mut self.elements, repeat_n(0, missing)).await?;
        let count = self.count_items(&open);
        budget.charge_memory(count.saturating_mul(INDEX_BYTES + size_of::<(u64, u32)>()))?;
        let made = (0..count).map(|place| (self.hash(&open, place), number));
        pieces::extend(budget, entries, made).await?;
        pieces::extend(budget, &mut self.elements, 0..count as u32).await?;
        for (place, key) in open.into_iter().enumerate() {
            if let OpenKey::Opened(opened) = key {
                if opened.is_long() {
                    self.opened.drop_on(self.opener.heavy);
                }
                budget.charge_memory(opened.bytes())?;
                self.opened.insert((number, place), opened);
            }
        }
        Ok(())
    }

    async fn open<'k>(&self, keys: &[Key<'k>]) -> Result<Vec<OpenKey<'k>>, RunError> {
        let mut open = Vec::with_capacity(keys.len());
        for key in keys {
            open.push(self.opener.open_key(&self.hasher, key.clone()).await?);
        }
        Ok(open)
    }

    /// Where a row with these keys is found.
    #[inline]
    fn lookup(&self, keys: &[Key<'_>]) -> Lookup {
        if let [Key::One(value)] = keys {
            return Lookup::One(self.hasher.hash_one(value));
        }
        let mut is_closed = false;
        let mut hash = 0;
        let are_all_indexed = self.indexed.len() == keys.len();
        for (place, key) in keys.iter().enumerate() {
            match key {
                Key::Missing => return Lookup::Nowhere,
                Key::Closed(_) => is_closed = true,
                Key::One(value) if are_all_indexed || self.indexed.contains(&place) => {
                    hash = self.combine(hash, self.hasher.hash_one(value));
                }
                Key::One(_) => {}
            }
        }
        if is_closed { Lookup::Many } else { Lookup::One(hash) }
    }

    /// The hash of several keys, of which this is the next.
    #[inline]
    fn combine(&self, before: u64, next: u64) -> u64 {
        if self.indexed.len() == 1 {
            return next;
        }
        (before.rotate_left(HASH_ROTATION) ^ next).wrapping_mul(HASH_FACTOR)
    }

    /// Under how many hashes a row with these keys stands.
    fn count_items(&self, keys: &[OpenKey<'_>]) -> usize {
        match &keys[self.listed] {
            OpenKey::Missing => 0,
            OpenKey::One(_) => 1,
            OpenKey::Opened(list) => list.len(),
        }
    }

    /// One of these hashes.
    fn hash(&self, keys: &[OpenKey<'_>], item: usize) -> u64 {
        self.indexed.iter().fold(0, |hash, place| {
            let next = match &keys[*place] {
                OpenKey::Missing => 0,
                OpenKey::One(value) => self.hasher.hash_one(value),
                OpenKey::Opened(list) => list.hash(item),
            };
            self.combine(hash, next)
        })
    }

    async fn search(&self, found: &mut Found<'_>) -> Result<(), RunError> {
        let budget = found.budget;
        let stride = self.keys.len();
        let mut values = Vec::with_capacity(BLOCK_ROWS * stride);
        let mut lookups: Vec<Lookup> = Vec::with_capacity(BLOCK_ROWS);
        let mut partners = Partners::default();
        let mut rows = self.main.iter();
        for block in split_into_blocks(self.main.len()) {
            values.clear();
            lookups.clear();
            for row in rows.by_ref().take(block.len()) {
                let before = values.len();
                values.extend(self.keys.iter().map(|key| main_key(row.cell(key.main_column))));
                lookups.push(self.lookup(&values[before..]));
            }
            self.touch(&lookups);
            let mut compared = 0;
            for ((lookup, main_row), keys) in
                lookups.iter().zip(block.clone()).zip(values.chunks_exact(stride))
            {
                match lookup {
                    Lookup::One(hash) if self.elements.is_empty() => {
                        let mut candidates = self.index.rows(*hash);
                        while self.compare(keys, main_row, &mut candidates, &mut compared, found)? {
                            found.charge(std::mem::take(&mut compared))?;
                            if budget.spend(COMPARED_MAX) {
                                budget.pause().await?;
                            }
                        }
                    }
                    Lookup::Nowhere => {}
                    Lookup::One(_) | Lookup::Many => {
                        self.find_partners(keys, &mut partners, found).await?;
                        partners.tell(budget, |row| found.push(main_row, row)).await?;
                    }
                }
            }
            found.charge(compared)?;
            if budget.spend(block.len() * stride + compared) {
                budget.pause().await?;
            }
        }
        Ok(())
    }

    /// Compares a row with candidates; whether there may be further ones when as many were compared as may be in one
    /// go.
    fn compare(
        &self,
        keys: &[Key<'_>],
        main_row: u32,
        candidates: &mut impl Iterator<Item = u32>,
        compared: &mut usize,
        found: &mut Found<'_>,
    ) -> Result<bool, RunError> {
        for candidate in candidates {
            if self.meet(keys, candidate) {
                found.push(main_row, candidate)?;
            }
            *compared += 1;
            if *compared == COMPARED_MAX {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether rows without lists meet in all keys. A hash says "perhaps"; loose equality decides.
    #[inline]
    fn meet(&self, main: &[Key<'_>], joined: u32) -> bool {
        #[cfg(test)]
        self.comparisons.set(self.comparisons.get() + 1);
        let row = self.joined.row(joined as usize);
        main.iter().zip(self.keys).all(|(wanted, key)| {
            match (wanted, joined_key(row.cell(key.joined_column))) {
                (Key::One(wanted), Key::One(found)) => *wanted == found,
                _ => false,
            }
        })
    }

    /// The rows that meet one where lists, or what is large, are among the keys.
    async fn find_partners(
        &self,
        keys: &[Key<'_>],
        partners: &mut Partners,
        found: &Found<'_>,
    ) -> Result<(), RunError> {
        let budget = self.opener.budget;
        let keys = self.open(keys).await?;
        let mut compared = 0;
        partners.make_room(budget, self.joined.len()).await?;
        for item in 0..self.count_items(&keys) {
            for entry in self.index.entries(self.hash(&keys, item)) {
                let row = self.index.row(entry);
                if !partners.has(row) && self.meet_in_item(&keys, item, entry, row).await? {
                    partners.add(row);
                }
                compared += 1;
                if compared == COMPARED_MAX {
                    found.charge(std::mem::take(&mut compared))?;
                    self.opener.count(COMPARED_MAX).await?;
                }
            }
            self.opener.count(1).await?;
        }
        found.charge(compared)?;
        let lists = keys.into_iter().filter_map(OpenKey::into_opened);
        lists.filter(Opened::is_long).for_each(|list| self.opener.heavy.drop_apart(list));
        Ok(())
    }

    /// Whether a row meets the row of an entry, with one of the items of its list in that of the entry.
    async fn meet_in_item(
        &self,
        main: &[OpenKey<'_>],
        item: usize,
        entry: u32,
        joined: u32,
    ) -> Result<bool, RunError> {
        #[cfg(test)]
        self.comparisons.set(self.comparisons.get() + 1);
        let row = self.joined.row(joined as usize);
        let element = self.elements.get(entry as usize).map_or(0, |element| *element as usize);
        for (place, (own, key)) in main.iter().zip(self.keys).enumerate() {
            let cell = joined_key(row.cell(key.joined_column));
            let other = match &cell {
                Key::Missing => return Ok(false),
                Key::One(value) => Held::One(value),
                Key::Closed(_) => match self.opened.get(&(joined, place)) {
                    None => return Ok(false),
                    Some(opened) => Held::Opened(opened),
                },
            };
            let do_meet = if place == self.listed {
                match (own.held().item(item), other.item(element)) {
                    (Some(own), Some(other)) => self.opener.are_equal(own, other).await?,
                    _ => false,
                }
            } else {
                self.opener.meet(&self.hasher, own.held(), other).await?
            };
            if !do_meet {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Brings in what the search for these hashes will need: their slots, the rows there, their keys.
    fn touch(&self, lookups: &[Lookup]) {
        let first = self.keys.first().map_or(0, |key| key.joined_column);
        let rows = lookups.iter().filter_map(|lookup| match lookup {
            Lookup::One(hash) => self.index.first_guess(*hash),
            Lookup::Nowhere | Lookup::Many => None,
        });
        self.joined.bring_in(rows.map(|row| row as usize), &once(first));
    }
}

/// The keys that rows are hashed by: those that are lists, or large, in some row only once. That one is told as
/// well; without any the first.
async fn choose_indexed_keys(
    budget: &Budget,
    main: &Rows,
    joined: &Rows,
    keys: &[JoinKey],
) -> Result<(Vec<usize>, usize), RunError> {
    if keys.len() == 1 {
        return Ok((vec![0], 0));
    }
    let mut indexed = Vec::with_capacity(keys.len());
    let mut listed = None;
    for (place, key) in keys.iter().enumerate() {
        let of_main = |row: Row<'_>| matches!(main_key(row.cell(key.main_column)), Key::Closed(_));
        let of_joined =
            |row: Row<'_>| matches!(joined_key(row.cell(key.joined_column)), Key::Closed(_));
        let is_list = any(budget, main, of_main).await? || any(budget, joined, of_joined).await?;
        if !is_list || listed.is_none() {
            indexed.push(place);
        }
        if is_list {
            listed.get_or_insert(place);
        }
    }
    Ok((indexed, listed.unwrap_or(0)))
}

/// Whether something holds for some row.
async fn any(
    budget: &Budget,
    rows: &Rows,
    holds: impl Fn(Row<'_>) -> bool,
) -> Result<bool, RunError> {
    let mut all = rows.iter();
    for block in split_into_blocks(rows.len()) {
        if all.by_ref().take(block.len()).any(&holds) {
            return Ok(true);
        }
        if budget.spend(block.len()) {
            budget.pause().await?;
        }
    }
    Ok(false)
}

/// All rows, block by block; their number fits.
fn split_into_blocks(rows: usize) -> impl Iterator<Item = Range<u32>> {
    let number = |row: usize| u32::try_from(row).unwrap_or(NONE);
    (0..rows.div_ceil(BLOCK_ROWS))
        .map(move |block| number(block * BLOCK_ROWS)..number(rows.min((block + 1) * BLOCK_ROWS)))
}

#[cfg(test)]
mod tests;
