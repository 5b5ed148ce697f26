//! Drafts: routes that the console reads, tries and saves as files, in development mode (CSL-7).
//!
//! In: what a page asks for, as JSON. Out: the same with its meaning, and what became of it as JSON. That it is done is
//! the business of the thread that reloads, so that no two drafts and no reload meet; files are the business of
//! [`route_file`](crate::route_file).

use qlio_data::{Object, Value};

use super::Outcome;
use crate::route_file::RouteFileName;

/// The longest text of a route.
pub(crate) const TEXT_BYTES_MAX: usize = 1 << 20;

/// What a page wants with a route file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Draft {
    /// Which file it is.
    pub file: RouteFileName,
    /// What is to be done.
    pub wish: Wish,
}

/// What is to be done with a route file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wish {
    /// Say what it holds.
    Read,
    /// Say what would be wrong if it held this text.
    Check(String),
    /// Write this text, or remove the file, if it still is the version that was read; `None` if there was none.
    Write {
        /// The text; `None` removes the file.
        text: Option<String>,
        /// What was read.
        version: Option<String>,
    },
}

impl Draft {
    /// Reads what a page asks for.
    ///
    /// # Errors
    /// Members that are not there, not of their types, or too long.
    pub fn read(value: &Value) -> Result<Self, Refusal> {
        let text_of = |name: &str| match value.member(name) {
            Value::Absent | Value::Null => Ok(None),
            member => match member.as_str() {
                Some(text) => Ok(Some(text.to_owned())),
                None => Err(Refusal::new(400, format!("`{name}` must be a text"))),
            },
        };
        let file = text_of("file")?
            .ok_or_else(|| Refusal::new(400, "`file`, the name of a route file, is missing"))?;
        let file = RouteFileName::parse(&file);
        let file = file.map_err(|error| Refusal::new(400, error.to_string()))?;
        let text = text_of("text")?;
        if text.as_ref().is_some_and(|text| text.len() > TEXT_BYTES_MAX) {
            let reason = format!("a route may have {TEXT_BYTES_MAX} bytes, and this one has more");
            return Err(Refusal::new(413, reason));
        }
        let version = text_of("version")?;
        let is_written = match value.member("write") {
            Value::Absent => false,
            Value::Bool(is_written) => is_written,
            _ => return Err(Refusal::new(400, "`write` must be `true` or `false`")),
        };
        let wish = match text {
            text if is_written => Wish::Write { text, version },
            Some(text) => Wish::Check(text),
            None => Wish::Read,
        };
        Ok(Self { file, wish })
    }
}

/// What became of a draft.
#[derive(Debug, Clone)]
pub struct Drafted {
    /// The file, by its name below the folder of routes.
    pub file: String,
    /// What it held before; `None` if it was not there.
    pub before: Option<String>,
    /// What tells what it holds now from anything else; `None` if it is not there.
    pub version: Option<String>,
    /// The methods and paths of the routes in the text.
    pub routes: Vec<(String, String)>,
    /// What is wrong or odd, as operators are told.
    pub problems: Value,
    /// It was written or removed.
    pub is_written: bool,
    /// How reading the app anew ended, if it was.
    pub outcome: Option<Outcome>,
}

impl Drafted {
    /// As a page is told.
    pub fn to_value(&self) -> Value {
        let text = |text: &Option<String>| text.as_deref().map_or(Value::Null, Value::from);
        let routes = self.routes.iter().map(|(method, path)| {
            let members =
                [("method", Value::from(method.as_str())), ("path", Value::from(path.as_str()))];
            Value::object(members.into_iter().collect::<Object>())
        });
        let mut members: Object = [
            ("file", Value::from(self.file.as_str())),
            ("before", text(&self.before)),
            ("version", text(&self.version)),
            ("routes", routes.collect()),
            ("problems", self.problems.clone()),
        ]
        .into_iter()
        .collect();
        if let Some(outcome) = &self.outcome {
            let reload = [
                ("verdict", Value::from(outcome.verdict.name())),
                ("message", Value::from(outcome.message.as_str())),
            ];
            members.insert("reload", Value::object(reload.into_iter().collect()));
        }
        Value::object(members)
    }
}

/// Why a draft was not done.
#[derive(Debug, Clone)]
pub struct Refusal {
    /// The status of the answer.
    pub status: u16,
    /// Why, in words.
    pub message: String,
    /// What else is told.
    pub facts: Object,
}

impl Refusal {
    /// A refusal that says no more than this.
    pub fn new(status: u16, message: impl Into<String>) -> Self {
        Self { status, message: message.into(), facts: Object::new() }
    }

    /// Adds a member to what is told.
    #[must_use]
    pub fn with(mut self, name: &str, fact: Value) -> Self {
        self.facts.insert(name, fact);
        self
    }

    /// As a page is told.
    pub fn to_value(&self) -> Value {
        let mut members = Object::new();
        members.insert("message", Value::from(self.message.as_str()));
        for (name, fact) in self.facts.iter() {
            members.insert(name.clone(), fact.clone());
        }
        Value::object(members)
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use qlio_data::{
        codec::{DecodeLimits, json},
        projection::Projection,
    };

    use super::*;

    fn wish(text: &str) -> Result<Wish, u16> {
        let bytes = Bytes::copy_from_slice(text.as_bytes());
        let value = json::decode(bytes, &Projection::All, &DecodeLimits::default()).unwrap();
        Draft::read(&value).map(|draft| draft.wish).map_err(|refusal| refusal.status)
    }

    #[test]
    fn a_draft_reads_checks_writes_or_removes() {
        let write = |text: Option<&str>, version: Option<&str>| Wish::Write {
            text: text.map(str::to_owned),
            version: version.map(str::to_owned),
        };
        for (text, expected) in [
            (r#"{"file": "a.ql"}"#, Wish::Read),
            (r#"{"file": "a.ql", "text": "x"}"#, Wish::Check("x".to_owned())),
            (r#"{"file": "a.ql", "text": "x", "write": true}"#, write(Some("x"), None)),
            (
                r#"{"file": "a.ql", "text": null, "version": "v", "write": true}"#,
                write(None, Some("v")),
            ),
        ] {
            assert_eq!(wish(text), Ok(expected), "{text}");
        }
    }

    #[test]
    fn what_is_no_draft_is_refused() {
        for text in [
            "{}",
            "[]",
            r#"{"file": 1}"#,
            r#"{"file": "../a.ql"}"#,
            r#"{"file": "a.ql", "text": 1}"#,
            r#"{"file": "a.ql", "text": "x", "write": "yes"}"#,
            r#"{"file": "a.ql", "version": {}}"#,
        ] {
            assert_eq!(wish(text), Err(400), "{text}");
        }
        let long = "x".repeat(TEXT_BYTES_MAX + 1);
        assert_eq!(wish(&format!(r#"{{"file": "a.ql", "text": "{long}"}}"#)), Err(413));
    }
}
