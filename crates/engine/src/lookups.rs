//! What templates read of large variables, once it has been found.

use std::{cell::RefCell, ptr, sync::Arc};

use qlio_data::{Text, Value, scope::SlotId};

/// What was found below the variables of a run.
#[derive(Debug, Default)]
pub(crate) struct Lookups(RefCell<Vec<Found>>);

/// What was found below one variable.
#[derive(Debug)]
struct Found {
    slot: SlotId,
    /// The value that it had then; when it has another, this is of no use any more.
    root: Value,
    /// Each path with its value.
    values: Vec<(Text, Value)>,
}

impl Lookups {
    /// What a path finds below a variable, if that is known for the value that it has now.
    pub(crate) fn get(&self, slot: SlotId, path: &str, root: impl Fn() -> Value) -> Option<Value> {
        let all = self.0.borrow();
        let found = all.iter().rev().find(|found| found.slot == slot)?;
        let (_, value) = found.values.iter().find(|(found, _)| **found == *path)?;
        is_identical(&found.root, &root()).then(|| value.clone())
    }

    /// Keeps what was found below a variable in this value of it.
    pub(crate) fn keep(&self, slot: SlotId, root: Value, values: Vec<(Text, Value)>) {
        let mut all = self.0.borrow_mut();
        all.retain(|other| other.slot != slot);
        all.push(Found { slot, root, values });
    }

    /// Lets go of all that was found.
    pub(crate) fn take(&self) -> impl Send + 'static {
        self.0.take().into_iter().map(|found| (found.root, found.values)).collect::<Vec<_>>()
    }
}

/// Whether two values are one in memory.
fn is_identical(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Raw(one), Value::Raw(other)) => ptr::eq(one.as_bytes(), other.as_bytes()),
        (Value::Array(one), Value::Array(other)) => Arc::ptr_eq(one, other),
        _ => false,
    }
}
