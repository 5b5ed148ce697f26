//! `union`: the rows of several selects, one behind the other (UNI-1 to UNI-6).
//!
//! In: selects. Out: a list of the values of their rows. All selects run at the same time.

use std::{borrow::Cow, collections::HashSet, ops::Range};

use foldhash::quality::RandomState;
use futures_util::future::try_join_all;
use qlio_data::{Object, Value, compute::order::Key};
use qlio_plan::operator::Unioned;

use super::statement;
use crate::{
    budget::VALUE_BYTES,
    error::RunError,
    heavy::LetGo,
    operator::{opening, program::key_of},
    run::Run,
};

/// The rows of all selects; where rows are there once, the first of them stays.
pub(super) async fn union(run: &Run<'_>, parts: &[Unioned]) -> Result<Value, RunError> {
    let selects = parts.iter().map(|part| Box::pin(statement::select(run, &part.select)));
    let values = try_join_all(selects).await?;
    // A `union` looks at all rows before it, those of a `union all` included.
    let last = parts.iter().rposition(|part| !part.is_all).unwrap_or(0);
    let mut rows: LetGo<'_, Vec<Value>> = LetGo::new(Vec::new(), None);
    let mut made_of_columns = Vec::with_capacity(parts.len());
    for (position, (part, value)) in parts.iter().zip(values).enumerate() {
        let before = rows.len();
        append(run, &mut rows, value).await?;
        if part.select.output.has_aliases {
            made_of_columns.push(before..rows.len());
        }
        if position == last && last > 0 {
            let all = std::mem::take(&mut *rows);
            *rows = drop_repeated(run, all, &made_of_columns).await?;
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

/// The first of all rows that are identical; those in some ranges are objects of columns.
async fn drop_repeated(
    run: &Run<'_>,
    rows: Vec<Value>,
    made_of_columns: &[Range<usize>],
) -> Result<Vec<Value>, RunError> {
    let apart = run.apart(rows.len());
    let mut seen: LetGo<'_, HashSet<Key, RandomState>> = LetGo::new(HashSet::default(), apart);
    let mut kept = Vec::with_capacity(rows.len());
    let mut ranges = made_of_columns.iter().peekable();
    for (number, row) in rows.into_iter().enumerate() {
        while ranges.next_if(|range| range.end <= number).is_some() {}
        let is_made = ranges.peek().is_some_and(|range| range.contains(&number));
        let told = if is_made { of_columns(&row) } else { Cow::Borrowed(&row) };
        if seen.insert(key_of(&run.budget, run.engine.heavy(), &told).await?) {
            run.budget.charge_memory(size_of::<Key>())?;
            kept.push(row);
        }
        if run.budget.spend(1) {
            run.budget.pause().await?;
        }
    }
    Ok(kept)
}

/// A row of columns as it is told from others: a column that is null is the same as one that is not there
/// (UNI-2).
fn of_columns(row: &Value) -> Cow<'_, Value> {
    let opened = row.open();
    let Value::Object(members) = &*opened else { return Cow::Borrowed(row) };
    if !members.iter().any(|(_, value)| value.is_nothing()) {
        return Cow::Borrowed(row);
    }
    let mut there = Object::with_capacity(members.len());
    for (name, value) in members.iter().filter(|(_, value)| !value.is_nothing()) {
        there.insert(name.clone(), value.clone());
    }
    Cow::Owned(Value::object(there))
}
