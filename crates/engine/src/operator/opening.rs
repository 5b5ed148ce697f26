//! Looking into a variable that is still text.
//!
//! In: a value, and what a statement reads of it. Out: its rows, its elements, or its tree. What would hold the
//! worker too long is done by a heavy thread (`docs/adr/0027-heavy-threads.md`).

use qlio_data::{
    Object, Text, Value,
    codec::{
        DecodeError, DecodeLimits, Stop,
        json::{self, CellTable},
    },
    projection::Projection,
};
use qlio_plan::operator::Scan;

use crate::{
    budget::{elements_in, most_built_of},
    error::RunError,
    heavy::{JSON_TEXT_AT_ONCE_BYTES_MAX, JSON_TREE_AT_ONCE_BYTES_MAX},
    run::Run,
};

/// Lists of up to so many texts are put together where they are needed: none takes more than about a millisecond.
const TEXTS_AT_ONCE_MAX: usize = 4_096;

/// A raw variable decoded once, keeping only what the statement reads.
pub(super) async fn prune(run: &Run<'_>, scan: &Scan, value: Value) -> Result<Value, RunError> {
    let text = match value {
        Value::Raw(text) if !scan.projection.is_all() => text,
        other => return Ok(other),
    };
    let (length, mut reserved) = (text.len(), None);
    let decode = move |text: Text, projection: &Projection, memory: usize, stop: Stop| {
        let limits =
            DecodeLimits { elements_max: elements_in(memory), stop, ..DecodeLimits::default() };
        json::decode(text.into_bytes(), projection, &limits)
    };
    let decoded = if text.len() <= JSON_TREE_AT_ONCE_BYTES_MAX {
        run.budget.work_of_decoding(text.len());
        decode(text, &scan.projection, run.budget.memory_left(), Stop::default())
    } else {
        let projection = scan.projection.clone();
        run.has_large_values.set(true);
        let held = Box::pin(run.budget.reserve(most_built_of(length))).await;
        let memory = reserved.insert(held).bytes();
        let work = run.heavy(move |wanted| decode(text, &projection, memory, wanted.stop()));
        Box::pin(work).await?
    };
    let decoded = decoded.map_err(|error| does_not_decode(run, &error, length))?;
    run.budget.charge_value(&decoded).await?;
    drop(reserved);
    Ok(decoded)
}

fn does_not_decode(run: &Run<'_>, error: &DecodeError, length: usize) -> RunError {
    if error.has_too_many {
        return run.budget.refuse_decoded(error.offset, length);
    }
    RunError::internal(format!("a kept slice does not decode: {error}"))
}

/// The value with its elements at hand, if it is so large that to find them takes long.
pub(crate) async fn open_large(run: &Run<'_>, value: Value) -> Result<Value, RunError> {
    match value {
        Value::Raw(text) if text.len() > JSON_TREE_AT_ONCE_BYTES_MAX => {
            let reserved = Box::pin(run.budget.reserve(most_built_of(text.len()))).await;
            let opened = run.heavy(move |wanted| json::open_until(&text, &wanted.stop()));
            let opened = Box::pin(opened).await?;
            run.budget.charge_value(&opened).await?;
            drop(reserved);
            Ok(opened)
        }
        value => Ok(value),
    }
}

/// What a projection keeps of a row, if looking into the row takes long because it, or a member of it, is a large
/// text; nothing if it does not.
pub(super) async fn narrow(
    run: &Run<'_>,
    row: &Value,
    kept: &Projection,
) -> Result<Option<Value>, RunError> {
    let is_large = |value: &Value| match value {
        Value::Raw(text) => text.len() > JSON_TREE_AT_ONCE_BYTES_MAX,
        _ => false,
    };
    match row {
        Value::Object(members) if members.iter().any(|(_, member)| is_large(member)) => {
            let mut narrow = Object::with_capacity(members.len());
            for (name, member) in members.iter() {
                let Some(kept) = kept.member(name.as_bytes()) else { continue };
                let member = match member {
                    large @ Value::Raw(text) if is_large(large) => project(run, text, kept).await?,
                    small => small.clone(),
                };
                narrow.insert(name.clone(), member);
            }
            Ok(Some(Value::object(narrow)))
        }
        large @ Value::Raw(text) if is_large(large) => project(run, text, kept).await.map(Some),
        _ => Ok(None),
    }
}

/// What a projection keeps of a large text.
async fn project(run: &Run<'_>, text: &Text, kept: &Projection) -> Result<Value, RunError> {
    let length = text.len();
    let reserved = Box::pin(run.budget.reserve(most_built_of(length))).await;
    let elements_max = elements_in(reserved.bytes());
    let (text, kept) = (text.clone(), kept.clone());
    let decode = run.heavy(move |wanted| {
        let limits = DecodeLimits { elements_max, stop: wanted.stop(), ..DecodeLimits::default() };
        // A text that stays as it is would be looked into where it is.
        json::decode(text.into_bytes(), &kept, &limits).map(|value| value.into_tree())
    });
    let decoded = Box::pin(decode).await?;
    let decoded = decoded.map_err(|error| does_not_decode(run, &error, length))?;
    run.budget.charge_value(&decoded).await?;
    drop(reserved);
    Ok(decoded)
}

/// The rows of a list that nothing has looked into, or whose elements nothing has looked into (ADR 0014).
pub(super) async fn read_cells(
    run: &Run<'_>,
    value: &Value,
    columns: &[&str],
) -> Result<Option<CellTable>, RunError> {
    Ok(match value {
        Value::Raw(text) if text.len() <= JSON_TEXT_AT_ONCE_BYTES_MAX => {
            run.budget.work_of_decoding(text.len());
            CellTable::of_raw(text, columns, Stop::default())
        }
        Value::Array(elements) if elements.len() <= TEXTS_AT_ONCE_MAX => {
            CellTable::of_elements(elements, columns, Stop::default())
        }
        Value::Raw(_) => Box::pin(read_cells_apart(run, value, columns)).await?,
        Value::Array(elements) if matches!(elements.first(), Some(Value::Raw(_))) => {
            Box::pin(read_cells_apart(run, value, columns)).await?
        }
        _ => None,
    })
}

async fn read_cells_apart(
    run: &Run<'_>,
    value: &Value,
    columns: &[&str],
) -> Result<Option<CellTable>, RunError> {
    let value = value.clone();
    let columns: Vec<String> = columns.iter().map(|column| (*column).to_owned()).collect();
    run.has_large_values.set(true);
    run.heavy(move |wanted| {
        let columns: Vec<&str> = columns.iter().map(String::as_str).collect();
        match &value {
            Value::Raw(text) => CellTable::of_raw(text, &columns, wanted.stop()),
            Value::Array(elements) => CellTable::of_elements(elements, &columns, wanted.stop()),
            _ => None,
        }
    })
    .await
}
