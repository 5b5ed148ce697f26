//! `union`: the rows of several selects, one behind the other (UNI-1 to UNI-6).
//!
//! In: selects. Out: a list of the values of their rows. All selects run at the same time.

use std::collections::HashSet;

use foldhash::quality::RandomState;
use futures_util::future::try_join_all;
use qlio_data::{Value, compute::order::Key};
use qlio_plan::operator::Unioned;

use super::{statement, steps::key_of};
use crate::{budget::VALUE_BYTES, error::RunError, heavy::LetGo, operator::opening, run::Run};

/// The rows of all selects; where rows are there once, the first of them stays.
pub(super) async fn union(run: &Run<'_>, parts: &[Unioned]) -> Result<Value, RunError> {
    let selects = parts.iter().map(|part| Box::pin(statement::select(run, &part.select)));
    let values = try_join_all(selects).await?;
    // A `union` looks at all rows before it, those of a `union all` included.
    let last = parts.iter().rposition(|part| !part.is_all).unwrap_or(0);
    let mut rows: LetGo<'_, Vec<Value>> = LetGo::new(Vec::new(), None);
    for (position, value) in values.into_iter().enumerate() {
        append(run, &mut rows, value).await?;
        if position == last && last > 0 {
            let all = std::mem::take(&mut *rows);
            *rows = drop_repeated(run, all).await?;
        }
    }
    Ok(Value::array(rows.take()))
}

/// Adds the rows of one select; what is no list is one row, and nothing is none.
async fn append(run: &Run<'_>, rows: &mut Vec<Value>, value: Value) -> Result<(), RunError> {
    if value.is_nothing() {
        return Ok(());
    }
    if !value.is_array() {
        rows.push(value);
        return Ok(());
    }
    let value = run.let_go(opening::open_large(run, value).await?);
    let Some(elements) = value.elements() else { return Ok(()) };
    run.budget.charge_rows(elements.len())?;
    run.budget.charge_memory(elements.len() * VALUE_BYTES)?;
    for row in elements.iter() {
        rows.push(row.clone());
        if run.budget.spend(1) {
            run.budget.pause().await?;
        }
    }
    Ok(())
}

/// The first of all rows that are identical.
async fn drop_repeated(run: &Run<'_>, rows: Vec<Value>) -> Result<Vec<Value>, RunError> {
    let apart = run.apart(rows.len());
    let mut seen: LetGo<'_, HashSet<Key, RandomState>> = LetGo::new(HashSet::default(), apart);
    let mut kept = Vec::with_capacity(rows.len());
    for row in rows {
        if seen.insert(key_of(&run.budget, &row)?) {
            run.budget.charge_memory(size_of::<Key>())?;
            kept.push(row);
        }
        if run.budget.spend(1) {
            run.budget.pause().await?;
        }
    }
    Ok(kept)
}
