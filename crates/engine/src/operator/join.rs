//! Joins of two sets of rows by hash (`docs/language/reference/join.md`).
//!
//! In: rows of two sides and the equalities between them. Out: the numbers of the rows that meet, main
//! rows in order and for each the joined rows in order. Both sides may be text, values or both: keys
//! are read through [`RowCell`], in a text where they stand. The cost is that of reading both sides
//! once, and of the pairs that are found, because the index has the normal forms of all keys at once.
//!
//! A key may be a list, which stands for each of its elements. One key of that kind is indexed by its
//! elements; of further ones every element would have to be combined with every other, so they are
//! only compared.
//!
//! Lists that are joined are in different orders, so nearly every look at the other side is one at
//! cold memory. Rows are therefore taken in blocks: what a block will need is touched first, all of
//! it at the same time, and only then used. Without that a row of a million costs three times as
//! much as one of ten thousand.

use std::{
    hash::{BuildHasher, Hash, Hasher},
    hint::black_box,
    ops::Range,
};

use foldhash::quality::RandomState;
use qlio_data::{Value, codec::json::RowCell, compute::test, value::loose::LooseValue};
use qlio_plan::operator::JoinKey;
use qlio_syntax::diagnostic::codes;

use super::{
    hash_index::{BLOCK_ROWS, HashIndex, NONE},
    rows::{Row, Rows},
};
use crate::{
    budget::Budget,
    error::{Fact, RunError},
};

/// Rows that are compared before others may have their turn.
const COMPARED_MAX: usize = 1024;

/// Bytes of the index for each row.
const INDEX_BYTES: usize = 32;

/// The pairs of rows that meet in all `keys`; without keys each row meets each.
///
/// # Errors
/// There are more than the settings allow, or than the budget of the run does; without keys that is told
/// before the first pair is made.
pub(crate) async fn pairs(
    budget: &Budget,
    main: &Rows,
    joined: &Rows,
    keys: &[JoinKey],
    pairs_max: usize,
) -> Result<Vec<(u32, u32)>, RunError> {
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
    Join::of(budget, main, joined, keys).await?.search(&mut found).await?;
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

/// The values of a key in one row.
enum Key<'r> {
    /// It is missing, and meets nothing.
    Missing,
    One(LooseValue<'r>),
    /// A list: any of its elements.
    Any(Value),
}

/// The main side's key: a list counts as any of its elements, and a list in it as any of its own, as
/// in filters; absent can still meet null.
#[inline]
fn main_key(cell: RowCell<'_>) -> Key<'_> {
    match cell.loose() {
        Some(value) => Key::One(value),
        None => Key::Any(open_lists(&cell.value())),
    }
}

/// The joined side's key: the list of matches of its path, or in a text the one member.
#[inline]
fn joined_key(cell: RowCell<'_>) -> Key<'_> {
    if cell.is_absent() {
        return Key::Missing;
    }
    if let RowCell::Value(Value::Array(matches)) = cell
        && let [only] = matches.as_slice()
    {
        return Key::One(LooseValue::of(only));
    }
    match cell.loose() {
        Some(value) => Key::One(value),
        None => Key::Any(cell.value()),
    }
}

/// Whether a value meets the cell of a key column.
pub(crate) fn do_meet(value: &Value, joined: RowCell<'_>) -> bool {
    main_key(RowCell::Value(value)).meets(&joined_key(joined))
}

/// A list in which the lists are opened.
fn open_lists(list: &Value) -> Value {
    let mut values = Vec::with_capacity(list.len());
    for element in list.elements().iter().flat_map(|elements| elements.iter()) {
        match element.elements() {
            Some(inner) => values.extend(inner.iter().cloned()),
            None => values.push(element.clone()),
        }
    }
    Value::array(values)
}

impl Key<'_> {
    /// Whether some value of the one side equals some value of the other.
    fn meets(&self, other: &Key<'_>) -> bool {
        match (self, other) {
            (Key::One(one), Key::One(other)) => one == other,
            (Key::Any(one), Key::Any(other)) => test::equals(one, other),
            _ => {
                let mut is_match = false;
                self.each(|one| other.each(|other| is_match |= one == other));
                is_match
            }
        }
    }

    fn each(&self, mut visit: impl FnMut(&LooseValue<'_>)) {
        match self {
            Key::Missing => {}
            Key::One(value) => visit(value),
            Key::Any(list) => {
                for element in list.elements().iter().flat_map(|elements| elements.iter()) {
                    visit(&LooseValue::of(element));
                }
            }
        }
    }
}

/// A join whose joined side is indexed.
struct Join<'r> {
    main: &'r Rows,
    joined: &'r Rows,
    keys: &'r [JoinKey],
    /// Which of the keys the index has: all but lists after the first.
    indexed: Vec<usize>,
    hasher: RandomState,
    index: HashIndex,
    /// How often two rows were compared.
    #[cfg(test)]
    comparisons: std::cell::Cell<usize>,
}

impl<'r> Join<'r> {
    async fn of(
        budget: &Budget,
        main: &'r Rows,
        joined: &'r Rows,
        keys: &'r [JoinKey],
    ) -> Result<Self, RunError> {
        // The index has a few words for each row.
        budget.charge_memory(joined.len() * INDEX_BYTES)?;
        let mut join = Self {
            main,
            joined,
            keys,
            indexed: choose_indexed_keys(budget, main, joined, keys).await?,
            hasher: RandomState::default(),
            index: HashIndex::default(),
            #[cfg(test)]
            comparisons: std::cell::Cell::default(),
        };
        let mut entries = Vec::with_capacity(joined.len());
        let mut values = Vec::with_capacity(keys.len());
        let mut has_lists = false;
        let mut rows = (0..).zip(joined.iter());
        for block in split_into_blocks(joined.len()) {
            for (number, row) in rows.by_ref().take(block.len()) {
                has_lists |= join.enter(&mut entries, &mut values, number, row);
            }
            if budget.spend(block.len() * keys.len()) {
                budget.pause().await?;
            }
        }
        if u32::try_from(entries.len()).is_err() {
            return Err(too_many_rows(u32::MAX as usize));
        }
        join.index = HashIndex::of(budget, &entries, joined.len(), has_lists).await?;
        Ok(join)
    }

    /// Enters a row of the second side under its hashes; whether it has several. `values` is room for its keys.
    fn enter(
        &self,
        entries: &mut Vec<(u64, u32)>,
        values: &mut Vec<Key<'r>>,
        number: u32,
        row: Row<'r>,
    ) -> bool {
        values.clear();
        values.extend(self.keys.iter().map(|key| joined_key(row.cell(key.joined_column))));
        let before = entries.len();
        self.each_hash(values, |hash| entries.push((hash, number)));
        entries.len() > before + 1
    }

    /// The hashes under which a row with these keys is known: one, or one for each element of a list.
    #[inline]
    fn each_hash(&self, keys: &[Key<'_>], mut visit: impl FnMut(u64)) {
        if let [Key::One(value)] = keys {
            return visit(self.hasher.hash_one(value));
        }
        if keys.iter().any(|key| matches!(key, Key::Missing)) {
            return;
        }
        let list = self.indexed.iter().find_map(|place| match &keys[*place] {
            Key::Any(list) => Some((*place, list)),
            Key::Missing | Key::One(_) => None,
        });
        let hash = |element: Option<&LooseValue<'_>>| {
            let mut state = self.hasher.build_hasher();
            for place in &self.indexed {
                match (&keys[*place], element) {
                    (Key::One(value), _) => value.hash(&mut state),
                    (_, Some(element)) => element.hash(&mut state),
                    (_, None) => {}
                }
            }
            state.finish()
        };
        match list {
            None => visit(hash(None)),
            Some((place, _)) => keys[place].each(|element| visit(hash(Some(element)))),
        }
    }

    async fn search(&self, found: &mut Found<'_>) -> Result<(), RunError> {
        let budget = found.budget;
        let stride = self.keys.len();
        let mut values = Vec::with_capacity(BLOCK_ROWS * stride);
        let mut hashes: Vec<(u64, u32)> = Vec::with_capacity(BLOCK_ROWS);
        let mut candidates = Vec::new();
        let mut rows = self.main.iter();
        for block in split_into_blocks(self.main.len()) {
            self.hash_block(rows.by_ref().take(block.len()), &mut values, &mut hashes);
            self.touch(&hashes);
            let mut hashes = hashes.iter().peekable();
            let mut compared = 0;
            while let Some((hash, place)) = hashes.next() {
                let keys = &values[*place as usize * stride..][..stride];
                let main_row = block.start + place;
                candidates.clear();
                let mut first = self.index.rows(*hash);
                if hashes.peek().is_some_and(|(_, next)| next == place) {
                    candidates.extend(first.by_ref());
                    while let Some((hash, _)) = hashes.next_if(|(_, next)| next == place) {
                        candidates.extend(self.index.rows(*hash));
                    }
                    candidates.sort_unstable();
                }
                let mut all = first.chain(candidates.iter().copied());
                let mut last = NONE;
                while self.compare(keys, main_row, &mut all, &mut last, &mut compared, found)? {
                    found.charge(std::mem::take(&mut compared))?;
                    if budget.spend(COMPARED_MAX) {
                        budget.pause().await?;
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

    /// The keys of a block of rows, and the hashes of each by its place in the block.
    fn hash_block(
        &self,
        rows: impl Iterator<Item = Row<'r>>,
        values: &mut Vec<Key<'r>>,
        hashes: &mut Vec<(u64, u32)>,
    ) {
        values.clear();
        hashes.clear();
        for (place, row) in (0..).zip(rows) {
            let before = values.len();
            values.extend(self.keys.iter().map(|key| main_key(row.cell(key.main_column))));
            self.each_hash(&values[before..], |hash| hashes.push((hash, place)));
        }
    }

    /// Compares a row with candidates, of which equal ones stand behind each other; whether there may be further ones
    /// when as many were compared as may be in one go.
    fn compare(
        &self,
        keys: &[Key<'_>],
        main_row: u32,
        candidates: &mut impl Iterator<Item = u32>,
        last: &mut u32,
        compared: &mut usize,
        found: &mut Found<'_>,
    ) -> Result<bool, RunError> {
        for candidate in candidates {
            if candidate != *last && self.meet(keys, candidate) {
                found.push(main_row, candidate)?;
            }
            *last = candidate;
            *compared += 1;
            if *compared == COMPARED_MAX {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether the rows meet in all keys. A hash says "perhaps"; loose equality decides.
    #[inline]
    fn meet(&self, main: &[Key<'_>], joined: u32) -> bool {
        #[cfg(test)]
        self.comparisons.set(self.comparisons.get() + 1);
        let row = self.joined.row(joined as usize);
        let pairs = main.iter().zip(self.keys);
        pairs
            .into_iter()
            .all(|(wanted, key)| wanted.meets(&joined_key(row.cell(key.joined_column))))
    }

    /// Brings in what the search for these hashes will need: their slots, the rows there, their keys.
    fn touch(&self, hashes: &[(u64, u32)]) {
        let first = self.keys.first().map_or(0, |key| key.joined_column);
        let rows = hashes.iter().filter_map(|(hash, _)| self.index.first_guess(*hash));
        let bytes = rows.map(|row| self.joined.row(row as usize).cell(first).first_byte());
        black_box(bytes.fold(0, |all, byte| all ^ byte));
    }
}

/// The keys that rows are hashed by: those that are lists in some row only once.
async fn choose_indexed_keys(
    budget: &Budget,
    main: &Rows,
    joined: &Rows,
    keys: &[JoinKey],
) -> Result<Vec<usize>, RunError> {
    if keys.len() == 1 {
        return Ok(vec![0]);
    }
    let mut indexed = Vec::with_capacity(keys.len());
    let mut has_list = false;
    for (place, key) in keys.iter().enumerate() {
        let of_main = |row: Row<'_>| matches!(main_key(row.cell(key.main_column)), Key::Any(_));
        let of_joined =
            |row: Row<'_>| matches!(joined_key(row.cell(key.joined_column)), Key::Any(_));
        let is_list = any(budget, main, of_main).await? || any(budget, joined, of_joined).await?;
        if !is_list || !std::mem::replace(&mut has_list, true) {
            indexed.push(place);
        }
    }
    Ok(indexed)
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
mod tests {
    use qlio_data::codec::{
        DecodeLimits,
        json::{self, CellTable},
    };

    use super::{super::rows::ValueRows, *};

    fn text(row_count: u32, row: impl Fn(u32) -> String) -> Rows {
        let rows: Vec<String> = (0..row_count).map(row).collect();
        let body = format!("[{}]", rows.join(",")).into_bytes().into();
        let limits = DecodeLimits::default();
        CellTable::decode(body, &[], &["k", "m"], &limits).expect("rows").into()
    }

    /// The rows as values; the columns of the joined side are lists of matches.
    fn values(rows: &Rows, is_joined: bool) -> Rows {
        let mut made = ValueRows::with_capacity(2, rows.len());
        for row in rows.iter() {
            made.push([0, 1].map(|column| match row.cell(column).value() {
                value if !is_joined || value.is_array() => value,
                Value::Absent => Value::array(Vec::new()),
                value => Value::array(vec![value]),
            }));
        }
        made.into()
    }

    fn keys(count: usize) -> Vec<JoinKey> {
        let key = |column| JoinKey {
            main_column: column,
            joined_column: column,
            joined_name: ["k", "m"][column].into(),
        };
        (0..count).map(key).collect()
    }

    /// Runs what may let others go first.
    fn wait<T>(future: impl Future<Output = T>) -> T {
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        runtime.block_on(future)
    }

    fn find_pairs(
        main: &Rows,
        joined: &Rows,
        key_count: usize,
        pairs_max: usize,
    ) -> Result<Vec<(u32, u32)>, RunError> {
        wait(pairs(&Budget::unlimited(), main, joined, &keys(key_count), pairs_max))
    }

    /// The number of pairs and of comparisons that finding them took.
    fn work(main: &Rows, joined: &Rows, key_count: usize) -> (usize, usize) {
        let keys = keys(key_count);
        let budget = Budget::unlimited();
        let mut found = Found { pairs: Vec::new(), pairs_max: usize::MAX, budget: &budget };
        let comparisons = wait(async {
            let join = Join::of(&budget, main, joined, &keys).await.expect("few rows");
            join.search(&mut found).await.expect("no limit");
            join.comparisons.get()
        });
        (found.pairs.len(), comparisons)
    }

    #[test]
    fn comparisons_grow_with_the_rows_and_not_with_their_product() {
        // The first key alone would leave half of the other side to each row.
        let two_keys = |row: u32| format!(r#"{{"k":{},"m":"{}"}}"#, row % 2, row * 7 % 20_000);
        let first_is_list = |row: u32| format!(r#"{{"k":[{},"all"],"m":{row}}}"#, row % 2);
        for count in [2_000, 20_000] {
            let rows = [text(count, two_keys), text(count, first_is_list)];
            for rows in &rows {
                for joined in [rows, &values(rows, true)] {
                    for main in [rows, &values(rows, false)] {
                        let (pairs, comparisons) = work(main, joined, 2);
                        assert_eq!(pairs, count as usize);
                        assert!(comparisons <= 3 * pairs, "{comparisons} for {count} rows");
                    }
                }
            }
        }
    }

    #[test]
    fn text_and_values_meet_alike() {
        let cells = [
            "1",
            "\"1\"",
            "\"1.0\"",
            "null",
            "[1,2]",
            "[]",
            "{}",
            "\"[object Object]\"",
            "[[1],3]",
        ];
        let row = |row: u32| {
            let (k, m) = (cells[row as usize % 9], cells[row as usize / 9 % 9]);
            let members = [format!("\"k\":{k}"), format!("\"m\":{m}")];
            format!("{{{}}}", members[..2 - row as usize % 3 / 2].join(","))
        };
        let (main, joined) = (text(81, row), text(81, |number| row(80 - number)));
        for count in 0..=2 {
            let of = |main: &Rows, joined: &Rows| {
                find_pairs(main, joined, count, usize::MAX).expect("no limit")
            };
            let expected = of(&main, &joined);
            assert!(!expected.is_empty());
            assert_eq!(of(&values(&main, false), &joined), expected);
            assert_eq!(of(&main, &values(&joined, true)), expected);
            assert_eq!(of(&values(&main, false), &values(&joined, true)), expected);
        }
    }

    #[test]
    fn more_pairs_than_allowed_are_refused() {
        let rows = text(40, |row| format!("{{\"k\":{}}}", row % 2));
        for count in 0..=1 {
            let find = |pairs_max| find_pairs(&rows, &rows, count, pairs_max);
            let all = find(usize::MAX).expect("no limit").len();
            assert!(find(all).is_ok());
            assert_eq!(find(all - 1).map_err(|error| error.code), Err(codes::TOO_MANY_ROWS));
        }
        assert_eq!(json::to_string(&rows.row(1).cell(0).value()), "1");
    }
}
