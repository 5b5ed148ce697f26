//! Values of settings that come from the environment, and values that must not be shown.
//!
//! This is the only module that reads the environment for settings.

use qlio_data::{Object, Text, Value};

/// Nested objects and arrays that are searched for references to the environment.
const DEPTH_MAX: usize = 32;

/// The name of the variable that a value refers to.
pub(super) fn variable_in(value: &Value) -> Option<&str> {
    value.as_str()?.strip_prefix("${")?.strip_suffix('}')
}

/// Fills in variables of the environment and remembers what they held.
#[derive(Default)]
pub(super) struct Environment {
    /// Values that came from the environment.
    pub(super) secrets: Vec<String>,
    /// Settings whose variable is not set, and the name of that variable.
    pub(super) missing: Vec<(String, String)>,
    /// The names around the value that is being filled.
    path: Vec<Text>,
    depth: usize,
}

impl Environment {
    /// Replaces `"${NAME}"` by the variable of that name; its value counts as a secret.
    pub(super) fn fill(&mut self, value: &Value) -> Value {
        if self.depth > DEPTH_MAX {
            return value.clone();
        }
        self.depth += 1;
        let filled = match &*value.open() {
            text @ Value::String(_) => match variable_in(text) {
                None => value.clone(),
                Some(name) => self.variable(name),
            },
            Value::Array(elements) => elements.iter().map(|element| self.fill(element)).collect(),
            Value::Object(object) => {
                let mut filled = Object::with_capacity(object.len());
                for (name, value) in object.iter() {
                    self.path.push(name.clone());
                    filled.insert(name.clone(), self.fill(value));
                    self.path.pop();
                }
                Value::object(filled)
            }
            other => other.clone(),
        };
        self.depth -= 1;
        filled
    }

    fn variable(&mut self, name: &str) -> Value {
        if let Ok(found) = std::env::var(name) {
            self.secrets.push(found.clone());
            return Value::from(found);
        }
        let path: Vec<&str> = self.path.iter().map(|name| &**name).collect();
        self.missing.push((path.join("."), name.to_owned()));
        Value::Absent
    }
}
