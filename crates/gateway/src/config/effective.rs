//! The settings that hold, each with where it comes from, for `qlio config show`.

use std::fmt;

use qlio_data::{Object, Text, Value, redact::redact};
use qlio_engine::transport::{is_credential_name, shown_uri};

use super::{Reading, environment::Referred, names::Names, problem::Place, table};

/// A setting that holds, and where it comes from.
#[derive(Debug, Clone)]
pub struct Effective {
    /// Its dotted path.
    pub name: String,
    /// Its value; secrets are redacted.
    pub value: Value,
    /// Where it comes from.
    pub origin: Origin,
}

/// Where the value of a setting comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// Nobody has set it.
    Default,
    /// A settings file, a variable or a flag.
    Place(Place),
    /// What a settings file refers to.
    Referred(Referred, Place),
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::Place(place) => write!(f, "{place}"),
            Self::Referred(referred, place) => write!(f, "{referred} in {place}"),
        }
    }
}

impl Reading {
    /// All settings in the order of the table, then what scripts find beside them.
    pub(super) fn effective(&mut self, secrets: &[String]) -> Vec<Effective> {
        let mut effective = Vec::new();
        for (setting, origin) in table::all().zip(&self.origins) {
            let value = setting.slot(&mut self.draft).show();
            let value = match value.as_str() {
                Some(_) if is_credential_name(last_name(setting.name)) => Value::from(REDACTED),
                _ => hide_credentials(&value),
            };
            let (name, value) = (setting.name.to_owned(), redact(value, secrets));
            effective.push(Effective { name, value, origin: origin.clone() });
        }
        let names = Names::of_table();
        if let Value::Object(object) = &*self.values.open() {
            for (name, value) in object.iter().filter(|(name, _)| !names.is_known(name)) {
                let only = Object::from_iter([(name.clone(), value.clone())]);
                let value = hide_credentials(&Value::object(only)).member(name);
                let origin = Origin::Place(self.source.place(name));
                let (name, value) = (name.to_string(), redact(value, secrets));
                effective.push(Effective { name, value, origin });
            }
        }
        effective
    }
}

/// What stands in the place of a credential.
const REDACTED: &str = "[redacted]";

/// What a setting is called in its section.
fn last_name(name: &str) -> &str {
    name.rsplit('.').next().unwrap_or(name)
}

/// The value without what is called a credential and without logins in URIs.
fn hide_credentials(value: &Value) -> Value {
    match &*value.open() {
        Value::String(text) if text.contains("://") => Value::from(shown_uri(text)),
        Value::Array(elements) => elements.iter().map(hide_credentials).collect(),
        Value::Object(object) => {
            let hide = |(name, value): (&Text, &Value)| {
                let is_hidden = is_credential_name(name) && !value.is_structure();
                let value = if is_hidden { Value::from(REDACTED) } else { hide_credentials(value) };
                (name.clone(), value)
            };
            Value::object(object.iter().map(hide).collect())
        }
        other => other.clone(),
    }
}
