//! Sorting rows (ORD-1 to ORD-5).
//!
//! In: the keys of rows, made once. Out: the order of the rows, as their numbers. The sort is stable, and pauses
//! between steps. Many rows are sorted by their codes, digit by digit, and only those with the same code by their
//! keys; if few rows are wanted, others are dropped on the way.

use std::{cmp::Ordering, ops::Range};

use qlio_plan::operator::SortKey;

use super::sort_keys::SortKeys;
use crate::{budget::Budget, error::RunError};

/// Rows that are sorted without a pause.
const RUN_ROWS: usize = 256;

/// Rows that are compared and not coded: the codes would cost more.
const COMPARED_ROWS_MAX: usize = 32;

/// Rows that are moved by a digit before others may have their turn.
const BLOCK_ROWS: usize = 4096;

/// Bits of a digit.
const DIGIT_BITS: u32 = 11;
const DIGITS: usize = 1 << DIGIT_BITS;

/// How much there is to do for a comparison.
#[derive(Clone, Copy)]
struct Effort {
    /// Rows that are compared without a pause.
    run_rows: usize,
    units: usize,
}

/// The code of a row, and its number.
type Coded = (u64, u32);

/// The order of some rows, of which the first `wanted` are needed.
pub(crate) async fn sort(
    budget: &Budget,
    rows: Range<usize>,
    keys: &SortKeys,
    order: &[SortKey],
    wanted: usize,
) -> Result<Vec<u32>, RunError> {
    let width = order.len();
    let units = keys.units();
    // Fewer if their keys are large.
    let run_rows = (RUN_ROWS * width / units).clamp(2, RUN_ROWS);
    let effort = Effort { run_rows, units };
    let compare = |left: u32, right: u32| keys.compare(order, left, right);
    if rows.len() <= COMPARED_ROWS_MAX.min(run_rows) {
        // Row numbers fit, because rows do not fit into memory otherwise.
        let mut sorted: Vec<u32> = (rows.start as u32..rows.end as u32).collect();
        sorted.sort_by(|left, right| compare(*left, *right));
        sorted.truncate(wanted);
        if budget.spend(rows.len() * units) {
            budget.pause().await?;
        }
        return Ok(sorted);
    }
    let coding = keys.coding(order);
    let mut candidates = Candidates::new(wanted, coding.is_exact);
    budget.charge_memory(rows.len().min(candidates.full).saturating_mul(size_of::<Coded>()))?;
    for start in rows.clone().step_by(BLOCK_ROWS) {
        let block = start..rows.end.min(start + BLOCK_ROWS);
        let units = block.len() * width;
        for row in block {
            candidates.take((coding.code(row), row as u32));
        }
        if budget.spend(units) {
            budget.pause().await?;
        }
    }
    let coded = sort_codes(budget, candidates.rows, candidates.are_mixed).await?;
    let mut sorted: Vec<u32> = coded.iter().map(|(_, row)| *row).collect();
    if !coding.is_exact {
        sort_equals(budget, &coded, &mut sorted, effort, wanted, &compare).await?;
    }
    sorted.truncate(wanted);
    Ok(sorted)
}

/// Rows that may be among the first that are wanted.
struct Candidates {
    rows: Vec<Coded>,
    wanted: usize,
    /// Codes tell all rows apart that differ.
    is_exact: bool,
    /// Rows with a greater code are not among the first.
    most: u64,
    /// With so many, those that are too many are dropped.
    full: usize,
    /// What was dropped has mixed up the others.
    are_mixed: bool,
}

impl Candidates {
    fn new(wanted: usize, is_exact: bool) -> Self {
        let full = wanted.saturating_mul(2).saturating_add(RUN_ROWS);
        Self { rows: Vec::new(), wanted, is_exact, most: u64::MAX, full, are_mixed: false }
    }

    #[inline]
    fn take(&mut self, row: Coded) {
        if row.0 > self.most {
            return;
        }
        self.rows.push(row);
        if self.rows.len() >= self.full {
            self.drop_last();
        }
    }

    fn drop_last(&mut self) {
        if self.wanted == 0 {
            self.rows.clear();
            return;
        }
        self.are_mixed = true;
        let (_, last, _) = self.rows.select_nth_unstable(self.wanted - 1);
        let last = *last;
        self.most = last.0;
        if self.is_exact {
            self.rows.truncate(self.wanted);
        } else {
            // Which of them are the first is not known.
            self.rows.retain(|row| row.0 <= last.0);
        }
        self.full = self.full.max(2 * self.rows.len());
    }
}

/// Rows by their codes, and of equal codes by their numbers.
async fn sort_codes(
    budget: &Budget,
    mut rows: Vec<Coded>,
    are_mixed: bool,
) -> Result<Vec<Coded>, RunError> {
    if rows.len() <= BLOCK_ROWS {
        rows.sort_unstable();
        if budget.spend(rows.len()) {
            budget.pause().await?;
        }
        return Ok(rows);
    }
    budget.charge_memory(rows.len().saturating_mul(size_of::<Coded>()))?;
    let mut moved = vec![(0, 0); rows.len()];
    if are_mixed {
        sort_by(budget, &mut rows, &mut moved, |row| u64::from(row.1)).await?;
    }
    sort_by(budget, &mut rows, &mut moved, |row| row.0).await?;
    Ok(rows)
}

/// A stable sort by a number, from its lowest digit on. Digits that are the same everywhere cost nothing.
async fn sort_by(
    budget: &Budget,
    rows: &mut Vec<Coded>,
    moved: &mut Vec<Coded>,
    number: impl Fn(&Coded) -> u64,
) -> Result<(), RunError> {
    let (mut all, mut some) = (u64::MAX, 0);
    for block in rows.chunks(BLOCK_ROWS) {
        for row in block {
            all &= number(row);
            some |= number(row);
        }
        if budget.spend(block.len() / 8) {
            budget.pause().await?;
        }
    }
    let differs = all ^ some;
    for shift in (0..u64::BITS).step_by(DIGIT_BITS as usize) {
        if (differs >> shift) & (DIGITS as u64 - 1) == 0 {
            continue;
        }
        #[expect(clippy::cast_possible_truncation, reason = "a digit is small")]
        let digit = |row: &Coded| (number(row) >> shift) as usize & (DIGITS - 1);
        let mut ends = vec![0_u32; DIGITS];
        for block in rows.chunks(BLOCK_ROWS) {
            for row in block {
                ends[digit(row)] += 1;
            }
            if budget.spend(block.len() / 8) {
                budget.pause().await?;
            }
        }
        let mut start = 0;
        for end in &mut ends {
            start += std::mem::replace(end, start);
        }
        for block in rows.chunks(BLOCK_ROWS) {
            for row in block {
                let place = &mut ends[digit(row)];
                moved[*place as usize] = *row;
                *place += 1;
            }
            if budget.spend(block.len() / 4) {
                budget.pause().await?;
            }
        }
        std::mem::swap(rows, moved);
    }
    Ok(())
}

/// Puts rows with the same code in the order of their keys.
async fn sort_equals(
    budget: &Budget,
    coded: &[Coded],
    rows: &mut [u32],
    effort: Effort,
    wanted: usize,
    compare: &impl Fn(u32, u32) -> Ordering,
) -> Result<(), RunError> {
    let mut start = 0;
    for run in coded.chunk_by(|left, right| left.0 == right.0) {
        let end = start + run.len();
        if run.len() > 1 && start < wanted {
            let wanted = wanted - start;
            sort_compared(budget, &mut rows[start..end], effort, wanted, compare).await?;
        }
        if budget.spend(run.len()) {
            budget.pause().await?;
        }
        start = end;
    }
    Ok(())
}

/// A stable sort by comparing, of which the first `wanted` are needed; behind them anything may stand.
async fn sort_compared(
    budget: &Budget,
    rows: &mut [u32],
    effort: Effort,
    wanted: usize,
    compare: &impl Fn(u32, u32) -> Ordering,
) -> Result<(), RunError> {
    let mut runs: Vec<Vec<u32>> = Vec::with_capacity(rows.len().div_ceil(effort.run_rows));
    for run in rows.chunks_mut(effort.run_rows) {
        run.sort_by(|left, right| compare(*left, *right));
        if budget.spend(run.len() * effort.units) {
            budget.pause().await?;
        }
        runs.push(run[..run.len().min(wanted)].to_vec());
    }
    while runs.len() > 1 {
        let mut merged = Vec::with_capacity(runs.len().div_ceil(2));
        let mut pairs = runs.into_iter();
        while let Some(left) = pairs.next() {
            match pairs.next() {
                None => merged.push(left),
                Some(right) => {
                    merged.push(merge(budget, &left, &right, wanted, effort, compare).await?);
                }
            }
        }
        runs = merged;
    }
    let sorted = runs.pop().unwrap_or_default();
    rows[..sorted.len()].copy_from_slice(&sorted);
    Ok(())
}

/// Two sorted runs as one; of equal rows those of the left come first.
async fn merge(
    budget: &Budget,
    left: &[u32],
    right: &[u32],
    wanted: usize,
    effort: Effort,
    compare: &impl Fn(u32, u32) -> Ordering,
) -> Result<Vec<u32>, RunError> {
    let (mut at_left, mut at_right) = (0, 0);
    let length = wanted.min(left.len() + right.len());
    let mut merged = Vec::with_capacity(length);
    while merged.len() < length {
        let takes_left = match (left.get(at_left), right.get(at_right)) {
            (Some(left), Some(right)) => compare(*left, *right).is_le(),
            (left, _) => left.is_some(),
        };
        if takes_left {
            merged.push(left[at_left]);
            at_left += 1;
        } else {
            merged.push(right[at_right]);
            at_right += 1;
        }
        if merged.len() % effort.run_rows == 0 && budget.spend(effort.run_rows * effort.units) {
            budget.pause().await?;
        }
    }
    Ok(merged)
}

#[cfg(test)]
mod tests {
    use proptest::{collection::vec, prelude::*, sample::select};
    use qlio_data::{Value, codec::json, compute::order::Key};
    use qlio_plan::operator::Program;

    use super::*;
    use crate::budget::turns::turns_of;

    /// Few different values, so that many are equal, and nothing among them.
    const FEW: &[&str] = &["null", "1", "2", "3", "-4"];

    /// Whole numbers of a range that fills a code.
    const WIDE: &[&str] =
        &["null", "0", "-9223372036854775808", "-9223372036854775807", "9223372036854775807", "12"];

    /// Of all kinds, some with the same beginning.
    const ANY: &[&str] = &[
        "null",
        "false",
        "true",
        "0",
        "1.5",
        "-1.5",
        "1e400",
        "-1e-400",
        "123456789012345678",
        "\"\"",
        "123456789012345678.5",
        "\"a long text, the one\"",
        "\"a long text, the other\"",
        "[1]",
        "[2]",
        "{}",
        "{\"a\": 1}",
        "-3",
        "1000",
    ];

    fn order_of(keys: [(bool, bool); 2]) -> Vec<SortKey> {
        keys.into_iter()
            .map(|(is_descending, are_nulls_first)| {
                let program = Program { operations: Vec::new(), places: Vec::new() };
                SortKey { program, is_descending, are_nulls_first }
            })
            .collect()
    }

    fn key(text: &str) -> Key {
        Key::of(&json::parse_str(text).expect("JSON")).expect("a small value")
    }

    /// As the rule says it, without codes.
    fn expected(rows: &[[Key; 2]], order: &[SortKey]) -> Vec<u32> {
        let mut sorted: Vec<u32> = (0..rows.len() as u32).collect();
        sorted.sort_by(|left, right| {
            let pairs = rows[*left as usize].iter().zip(&rows[*right as usize]).zip(order);
            pairs
                .map(|((left, right), key)| match (left.is_nothing(), right.is_nothing()) {
                    (true, true) => Ordering::Equal,
                    (true, false) if key.are_nulls_first => Ordering::Less,
                    (true, false) => Ordering::Greater,
                    (false, true) if key.are_nulls_first => Ordering::Greater,
                    (false, true) => Ordering::Less,
                    _ if key.is_descending => right.cmp(left),
                    _ => left.cmp(right),
                })
                .find(|found| found.is_ne())
                .unwrap_or(Ordering::Equal)
        });
        sorted
    }

    fn check(
        pool: &[&'static [&'static str]; 2],
        picked: &[(usize, usize)],
        wanted: usize,
        order: &[SortKey],
    ) -> Result<(), TestCaseError> {
        let keys = pool.map(|texts| texts.iter().map(|text| key(text)).collect::<Vec<_>>());
        let of = |at: usize, number: usize| keys[at][number % keys[at].len()].clone();
        let rows: Vec<[Key; 2]> = picked.iter().map(|(a, b)| [of(0, *a), of(1, *b)]).collect();
        let budget = Budget::unlimited();
        let mut keys = SortKeys::new(&budget, 2, rows.len()).expect("room");
        for row in &rows {
            for (column, key) in row.iter().enumerate() {
                match key.to_whole() {
                    Some(number) => keys.push_whole(&budget, column, number),
                    None => keys.push(&budget, column, key.clone()),
                }
                .expect("room");
            }
        }
        let mut expected = expected(&rows, order);
        expected.truncate(wanted);
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        let sorted = runtime.block_on(sort(&budget, 0..rows.len(), &keys, order, wanted));
        prop_assert_eq!(sorted.expect("no limit"), expected);
        Ok(())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(96))]
        #[test]
        fn the_order_is_that_of_a_stable_sort(
            first in select(vec![FEW, WIDE, ANY]),
            second in select(vec![FEW, WIDE, ANY]),
            picked in prop_oneof![
                vec(any::<(usize, usize)>(), 0..60),
                vec(any::<(usize, usize)>(), 0..6000),
            ],
            wanted in prop_oneof![0_usize..40, 0_usize..6000, Just(usize::MAX)],
            directions in any::<[(bool, bool); 2]>(),
        ) {
            check(&[first, second], &picked, wanted, &order_of(directions))?;
        }
    }

    #[test]
    fn null_has_its_place_beside_all_numbers() {
        let picked: Vec<_> = (0..5000).map(|number| (number, number / 7)).collect();
        for directions in [[(false, true), (true, false)], [(true, true), (false, false)]] {
            check(&[WIDE, FEW], &picked, usize::MAX, &order_of(directions)).expect("the order");
        }
        assert!(Key::of(&Value::Null).expect("small").is_nothing());
    }

    #[test]
    fn rows_with_large_keys_are_sorted_in_turns() {
        let large = |number: usize| {
            let mut elements = vec![Value::int(7); 40_000];
            elements.push(Value::int(-i64::try_from(number).expect("few")));
            Key::of(&Value::array(elements)).expect("not too large")
        };
        let (order, count) = (order_of([(false, false), (false, false)]), 60);
        let (sorted, turns) = turns_of(async |budget| {
            let mut keys = SortKeys::new(budget, 2, count)?;
            for number in 0..count {
                keys.push(budget, 0, large(number))?;
                keys.push_whole(budget, 1, 0)?;
            }
            sort(budget, 0..count, &keys, &order, usize::MAX).await
        });
        assert!(sorted.into_iter().eq((0..count as u32).rev()));
        assert!(turns > 2, "{turns} turns");
    }
}
