//! Sorting rows (ORD-1 to ORD-5).
//!
//! In: the keys of rows, made once. Out: the order of the rows, as their numbers. The sort is stable, and
//! a merge of sorted runs, so that it pauses between the steps; only as many rows are kept as are wanted.

use std::cmp::Ordering;

use qlio_data::compute::order::Key;
use qlio_plan::operator::SortKey;

use crate::{budget::Budget, error::RunError};

/// Rows that are sorted without a pause.
const RUN_ROWS: usize = 256;

/// The order of `count` rows, of which the first `wanted` are needed. `keys` has those of each row side by
/// side.
pub(crate) async fn sort(
    budget: &Budget,
    count: usize,
    keys: &[Key],
    order: &[SortKey],
    wanted: usize,
) -> Result<Vec<u32>, RunError> {
    let width = order.len();
    let compare = |left: u32, right: u32| {
        let keys_of = |row: u32| &keys[row as usize * width..][..width];
        let pairs = keys_of(left).iter().zip(keys_of(right));
        pairs
            .zip(order)
            .map(|((left, right), key)| compare_keys(left, right, key))
            .find(|found| found.is_ne())
            .unwrap_or(Ordering::Equal)
    };
    // Row numbers fit, because rows do not fit into memory otherwise.
    let mut rows: Vec<u32> = (0..count as u32).collect();
    let mut runs: Vec<Vec<u32>> = Vec::with_capacity(count.div_ceil(RUN_ROWS));
    for run in rows.chunks_mut(RUN_ROWS) {
        run.sort_by(|left, right| compare(*left, *right));
        if budget.spend(run.len() * width) {
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
                    merged.push(merge(budget, &left, &right, wanted, width, &compare).await?);
                }
            }
        }
        runs = merged;
    }
    Ok(runs.pop().unwrap_or_default())
}

/// Two sorted runs as one; of equal rows those of the left come first.
async fn merge(
    budget: &Budget,
    left: &[u32],
    right: &[u32],
    wanted: usize,
    width: usize,
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
        if merged.len() % RUN_ROWS == 0 && budget.spend(RUN_ROWS * width) {
            budget.pause().await?;
        }
    }
    Ok(merged)
}

fn compare_keys(left: &Key, right: &Key, key: &SortKey) -> Ordering {
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

#[cfg(test)]
mod tests {
    use proptest::{collection::vec, prelude::*};
    use qlio_data::Value;
    use qlio_plan::operator::Program;

    use super::*;

    fn key(is_descending: bool, are_nulls_first: bool) -> SortKey {
        let program = Program { operations: Vec::new(), places: Vec::new() };
        SortKey { program, is_descending, are_nulls_first }
    }

    /// Few different values, so that many are equal, and nothing among them.
    fn keys(rows: &[(u8, u8)]) -> Vec<Key> {
        let key = |number: u8| match number % 5 {
            0 => Value::Null,
            rest => Value::int(i64::from(rest)),
        };
        let pairs = rows.iter().flat_map(|(first, second)| [key(*first), key(*second)]);
        pairs.map(|value| Key::of(&value).expect("a small value")).collect()
    }

    proptest! {
        #[test]
        fn the_order_is_that_of_a_stable_sort(
            rows in vec(any::<(u8, u8)>(), 0..1500),
            wanted in 0_usize..1600,
            down in any::<bool>(),
            first in any::<bool>(),
        ) {
            let order = [key(down, first), key(!down, false)];
            let keys = keys(&rows);
            let mut expected: Vec<u32> = (0..rows.len() as u32).collect();
            expected.sort_by(|left, right| {
                let of = |row: &u32, at: usize| &keys[*row as usize * 2 + at];
                compare_keys(of(left, 0), of(right, 0), &order[0])
                    .then_with(|| compare_keys(of(left, 1), of(right, 1), &order[1]))
            });
            expected.truncate(wanted);
            let budget = Budget::unlimited();
            let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
            let sorted = runtime
                .block_on(sort(&budget, rows.len(), &keys, &order, wanted))
                .expect("no limit");
            prop_assert_eq!(sorted, expected);
        }
    }
}
