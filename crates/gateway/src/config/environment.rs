//! Values of settings that come from the environment and from files of secrets.
//!
//! This is the only module that reads the environment for settings.

use std::{
    collections::HashMap,
    fmt, io,
    path::{Path, PathBuf},
};

use qlio_data::{Object, Value};

use super::{
    place::{element, member},
    problem::Fault,
    source::read_text,
    variables::{PREFIX, Variables, is_standard},
};

/// Nested objects and arrays that are searched for references to the environment.
const DEPTH_MAX: usize = 32;

/// Most bytes of a file that holds one value.
const VALUE_FILE_BYTES_MAX: u64 = 64 << 10;

/// The variables of the process that may be settings; one that is empty counts as not set.
pub(super) fn variables() -> Variables {
    std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value)))
        .filter(|(name, value)| {
            (name.starts_with(PREFIX) || is_standard(name)) && !value.is_empty()
        })
        .map(|(name, value)| (name, value.into_string().ok()))
        .collect()
}

/// What a text of the settings may stand for.
enum Reference<'t> {
    /// `${NAME}` or `${NAME:-default}`
    Variable { name: &'t str, default: Option<&'t str> },
    /// `file:/path`
    File(&'t Path),
}

impl<'t> Reference<'t> {
    fn in_text(text: &'t str) -> Option<Self> {
        if let Some(inner) = text.strip_prefix("${").and_then(|rest| rest.strip_suffix('}')) {
            let (name, default) = match inner.split_once(":-") {
                Some((name, default)) => (name, Some(default)),
                None => (inner, None),
            };
            return Some(Self::Variable { name, default });
        }
        file_in(text).map(Self::File)
    }
}

/// The file whose content a text stands for: `file:` and a path from the root, without the slashes of a URI.
fn file_in(text: &str) -> Option<&Path> {
    let path = text.strip_prefix("file:")?;
    (path.starts_with('/') && !path.starts_with("//")).then(|| Path::new(path))
}

/// Where a value comes from that the settings only refer to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Referred {
    /// A variable of the environment.
    Variable(String),
    /// A file.
    File(PathBuf),
}

impl Referred {
    /// The value in words; the value itself is a secret.
    pub(super) fn describe(&self) -> String {
        match self {
            Self::Variable(name) => format!("what `{name}` of the environment holds"),
            Self::File(path) => format!("what `{}` holds", path.display()),
        }
    }
}

impl fmt::Display for Referred {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Variable(name) => write!(f, "${{{name}}}"),
            Self::File(path) => write!(f, "file:{}", path.display()),
        }
    }
}

/// Fills in what settings refer to and remembers what that was.
#[derive(Default)]
pub(super) struct Environment {
    /// Values that were filled in.
    pub(super) secrets: Vec<String>,
    /// Settings whose value is not there, and why.
    pub(super) missing: Vec<(String, Fault)>,
    /// What was filled in, by path.
    referred: HashMap<String, Referred>,
    /// Files that hold values, those that cannot be read included.
    pub(super) files: Vec<PathBuf>,
}

impl Environment {
    /// Replaces each `"${NAME}"` by the variable of that name and each `"file:/path"` by what is in that file; such
    /// a value counts as a secret.
    pub(super) fn fill(&mut self, values: &Value) -> Value {
        self.fill_at(values, "", 0)
    }

    /// Where the value at a path comes from, if it was filled in.
    pub(super) fn referred_at(&self, path: &str) -> Option<&Referred> {
        self.referred.get(path)
    }

    /// Whether a variable was asked for.
    pub(super) fn names(&self, variable: &str) -> bool {
        self.referred
            .values()
            .any(|referred| matches!(referred, Referred::Variable(name) if name == variable))
    }

    /// The value of a variable that is a setting: what it says, or what is in the file that it names.
    pub(super) fn value_of_variable(&mut self, text: &str) -> Result<String, Fault> {
        let Some(file) = file_in(text) else { return Ok(text.to_owned()) };
        self.files.push(file.to_owned());
        let value = read_value(file)?;
        self.secrets.push(value.clone());
        Ok(value)
    }

    fn fill_at(&mut self, value: &Value, path: &str, depth: usize) -> Value {
        if depth > DEPTH_MAX {
            return value.clone();
        }
        match &*value.open() {
            text @ Value::String(_) => match text.as_str().and_then(Reference::in_text) {
                None => value.clone(),
                Some(Reference::Variable { name, default }) => self.variable(name, default, path),
                Some(Reference::File(file)) => self.file(file, path),
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

    fn variable(&mut self, name: &str, default: Option<&str>, path: &str) -> Value {
        let found = std::env::var(name).ok();
        // As in a shell: where there is a default, an empty variable is none.
        match (found.filter(|found| default.is_none() || !found.is_empty()), default) {
            (Some(found), _) => {
                self.referred.insert(path.to_owned(), Referred::Variable(name.to_owned()));
                self.secrets.push(found.clone());
                Value::from(found)
            }
            // Everybody who reads the file knows it: no secret.
            (None, Some(default)) => Value::from(default),
            (None, None) => {
                self.missing.push((path.to_owned(), Fault::MissingVariable(name.to_owned())));
                Value::Absent
            }
        }
    }

    fn file(&mut self, file: &Path, path: &str) -> Value {
        self.files.push(file.to_owned());
        match read_value(file) {
            Ok(found) => {
                self.referred.insert(path.to_owned(), Referred::File(file.to_owned()));
                self.secrets.push(found.clone());
                Value::from(found)
            }
            Err(fault) => {
                self.missing.push((path.to_owned(), fault));
                Value::Absent
            }
        }
    }
}

/// What is in a file that holds one value, without the end of its line.
fn read_value(file: &Path) -> Result<String, Fault> {
    let read = || {
        // Another kind of file may never come to its end.
        if !file.metadata()?.is_file() {
            return Err(io::Error::other("it is no file"));
        }
        read_text(file, VALUE_FILE_BYTES_MAX)
    };
    let text = read().map_err(|error| Fault::UnreadableValue {
        file: file.display().to_string(),
        reason: error.to_string(),
    })?;
    let value = text.strip_suffix('\n').unwrap_or(&text);
    Ok(value.strip_suffix('\r').unwrap_or(value).to_owned())
}
