//! What templates and tokens of tables read of large variables, once it has been found.

use std::{cell::RefCell, ptr, sync::Arc};

use qlio_data::{Text, Value, params::Manner, scope::SlotId};

use crate::heavy::JSON_TREE_AT_ONCE_BYTES_MAX;

/// Lists of up to so many elements are looked into where they are needed: that takes less than a millisecond.
const ELEMENTS_AT_ONCE_MAX: usize = 1_024;

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

/// A dotted name that has been looked up.
#[derive(Debug)]
pub(crate) struct FoundToken {
    name: String,
    manner: Manner,
    value: Value,
}

impl FoundToken {
    pub(crate) fn new(name: String, manner: Manner, value: Value) -> Self {
        Self { name, manner, value }
    }

    pub(crate) fn value(&self) -> &Value {
        &self.value
    }

    /// The value of a name that was looked up in this manner.
    pub(crate) fn among(all: &[Self], name: &str, manner: Manner) -> Option<Value> {
        let found = all.iter().find(|found| found.manner == manner && found.name == name)?;
        Some(found.value.clone())
    }
}

/// Whether to look into a value may take more than a millisecond.
pub(crate) fn is_large(value: &Value) -> bool {
    match value {
        Value::Raw(text) => text.len() > JSON_TREE_AT_ONCE_BYTES_MAX,
        Value::Array(elements) => elements.len() > ELEMENTS_AT_ONCE_MAX,
        _ => false,
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
