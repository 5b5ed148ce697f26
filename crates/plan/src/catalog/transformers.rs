//! Transformers that one file names for tables, beside those that tables name themselves (FMT-31).
//!
//! In: what a loader has found. Out: the module of a table. The scripts run in the engine.

use std::{collections::BTreeMap, sync::Arc};

use super::ScriptFile;

/// The modules that decode the answers of tables, by the name of the table. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct Transformers(Arc<BTreeMap<String, ScriptFile>>);

impl Transformers {
    /// These modules, each with the name of its table.
    pub fn new(modules: impl IntoIterator<Item = (String, ScriptFile)>) -> Self {
        Self(Arc::new(modules.into_iter().collect()))
    }

    /// The module of a table.
    pub fn get(&self, table: &str) -> Option<&ScriptFile> {
        self.0.get(table)
    }

    /// The names of all tables that have one, in order.
    pub fn tables(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }
}
