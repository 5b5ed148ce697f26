//! Values of settings that come from the environment, and values that must not be shown.
//!
//! This is the only module that reads the environment for settings.

use std::collections::HashMap;

use qlio_data::{Object, Value};

use super::place::{element, member};

/// Nested objects and arrays that are searched for references to the environment.
const DEPTH_MAX: usize = 32;

/// The name of the variable that a value refers to.
fn variable_in(value: &Value) -> Option<&str> {
    value.as_str()?.strip_prefix("${")?.strip_suffix('}')
}

/// Fills in variables of the environment and remembers what they held.
#[derive(Default)]
pub(super) struct Environment {
    /// Values that came from the environment.
    pub(super) secrets: Vec<String>,
    /// Settings whose variable is not set, and the name of that variable.
    pub(super) missing: Vec<(String, String)>,
    /// The variables that were filled in, by path.
    variables: HashMap<String, String>,
}

impl Environment {
    /// Replaces each `"${NAME}"` by the variable of that name; its value counts as a secret.
    pub(super) fn fill(&mut self, values: &Value) -> Value {
        self.fill_at(values, "", 0)
    }

    /// The variable that a value comes from.
    pub(super) fn variable_at(&self, path: &str) -> Option<&str> {
        self.variables.get(path).map(String::as_str)
    }

    fn fill_at(&mut self, value: &Value, path: &str, depth: usize) -> Value {
        if depth > DEPTH_MAX {
            return value.clone();
        }
        match &*value.open() {
            text @ Value::String(_) => match variable_in(text) {
                None => value.clone(),
                Some(name) => self.variable(name, path),
            },
            Value::Array(elements) => {
                let elements = elements.iter().enumerate();
                elements
                    .map(|(index, value)| self.fill_at(value, &element(path, index), depth + 1))
                    .collect()
            }
            Value::Object(object) => {
                let mut filled = Object::with_capacity(object.len());
                for (name, value) in object.iter() {
                    let value = self.fill_at(value, &member(path, name), depth + 1);
                    filled.insert(name.clone(), value);
                }
                Value::object(filled)
            }
            other => other.clone(),
        }
    }

    fn variable(&mut self, name: &str, path: &str) -> Value {
        if let Ok(found) = std::env::var(name) {
            self.variables.insert(path.to_owned(), name.to_owned());
            self.secrets.push(found.clone());
            return Value::from(found);
        }
        self.missing.push((path.to_owned(), name.to_owned()));
        Value::Absent
    }
}
