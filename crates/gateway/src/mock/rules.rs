//! `_mock.json`: how late, with which status and headers the files of a folder are answered.

use std::time::Duration;

use qlio_data::codec::{DecodeError, json};
use qlio_data::{Object, Value};

/// The name of the rule file in a folder.
pub(super) const FILE_NAME: &str = "_mock.json";

/// The rule for one file; a member that it leaves open is decided by the next rule.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Rule {
    pub(super) latency: Option<Duration>,
    pub(super) status: Option<u16>,
    pub(super) headers: Vec<(String, String)>,
}

/// One rule file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Rules {
    folder: Rule,
    files: Vec<(String, Rule)>,
}

/// Why a rule file can not be used.
#[derive(Debug, thiserror::Error)]
pub(super) enum RuleError {
    #[error(transparent)]
    NotJson(#[from] DecodeError),
    #[error("{0} is no object")]
    NoObject(String),
    #[error("{place}: `{name}` is no {wanted}")]
    Kind { place: String, name: String, wanted: &'static str },
    #[error("{0}: `{1}` is not known")]
    Unknown(String, String),
}

impl Rule {
    /// This rule where it says something, else the other one.
    fn or(mut self, other: &Self) -> Self {
        self.latency = self.latency.or(other.latency);
        self.status = self.status.or(other.status);
        for (name, value) in &other.headers {
            if !self.headers.iter().any(|(own, _)| own.eq_ignore_ascii_case(name)) {
                self.headers.push((name.clone(), value.clone()));
            }
        }
        self
    }
}

impl Rules {
    /// Reads a rule file.
    ///
    /// # Errors
    /// Says what is wrong with it; unknown keys are errors.
    pub(super) fn parse(text: &str) -> Result<Self, RuleError> {
        let whole = json::parse_str(text)?;
        let members = object(&whole, "the file")?;
        let mut rules = Self { folder: rule(&members, "the file", &["files"])?, files: Vec::new() };
        if let Some(files) = members.get("files") {
            for (name, value) in object(files, "`files`")?.iter() {
                let place = format!("`files`, `{name}`", name = name.as_str());
                let members = object(value, &place)?;
                rules.files.push((name.as_str().to_owned(), rule(&members, &place, &[])?));
            }
        }
        Ok(rules)
    }

    /// The rule that holds for a file: its own, then its folder's, then those of the folders around it.
    pub(super) fn resolve(outermost_first: &[&Self], file: &str) -> Rule {
        let own = outermost_first
            .last()
            .and_then(|rules| rules.files.iter().find(|(name, _)| name == file));
        let start = own.map(|(_, rule)| rule.clone()).unwrap_or_default();
        outermost_first.iter().rev().fold(start, |rule, rules| rule.or(&rules.folder))
    }
}

fn object(value: &Value, place: &str) -> Result<Object, RuleError> {
    match value.into_tree() {
        Value::Object(members) => Ok((*members).clone()),
        _ => Err(RuleError::NoObject(place.to_owned())),
    }
}

fn rule(members: &Object, place: &str, others: &[&str]) -> Result<Rule, RuleError> {
    let mut rule = Rule::default();
    for (name, value) in members.iter() {
        let number = || match value {
            Value::Number(number) => number.as_i64().and_then(|number| u64::try_from(number).ok()),
            _ => None,
        };
        let wrong = |wanted| {
            let (place, name) = (place.to_owned(), name.to_string());
            RuleError::Kind { place, name, wanted }
        };
        match name.as_str() {
            "latency" => {
                let milliseconds = number().ok_or_else(|| wrong("number of milliseconds"))?;
                rule.latency = Some(Duration::from_millis(milliseconds));
            }
            "status" => {
                let status = number().and_then(|number| u16::try_from(number).ok());
                let status = status.filter(|status| (200..600).contains(status));
                rule.status = Some(status.ok_or_else(|| wrong("status"))?);
            }
            "headers" => {
                let Value::Object(headers) = &*value.open() else {
                    return Err(wrong("object of texts"));
                };
                for (header, value) in headers.iter() {
                    let text = value.as_str().ok_or_else(|| wrong("object of texts"))?;
                    rule.headers.push((header.as_str().to_owned(), text.to_owned()));
                }
            }
            other if others.contains(&other) => {}
            other => return Err(RuleError::Unknown(place.to_owned(), other.to_owned())),
        }
    }
    Ok(rule)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_innermost_rule_that_says_something_holds() {
        let outer =
            Rules::parse(r#"{"latency": 5, "headers": {"X-A": "outer", "x-b": "outer"}}"#).unwrap();
        let inner =
            r#"{"status": 201, "headers": {"x-a": "inner"}, "files": {"a.json": {"latency": 9}}}"#;
        let inner = Rules::parse(inner).unwrap();
        let of_file = Rules::resolve(&[&outer, &inner], "a.json");
        assert_eq!((of_file.latency, of_file.status), (Some(Duration::from_millis(9)), Some(201)));
        let headers =
            [("x-a", "inner"), ("x-b", "outer")].map(|(n, v)| (n.to_owned(), v.to_owned()));
        assert_eq!(of_file.headers, headers);
        let of_other = Rules::resolve(&[&outer, &inner], "b.json");
        assert_eq!(of_other.latency, Some(Duration::from_millis(5)));
    }

    #[test]
    fn what_is_wrong_is_named() {
        let message = |text: &str| Rules::parse(text).unwrap_err().to_string();
        assert_eq!(message(r#"{"latncy": 1}"#), "the file: `latncy` is not known");
        assert_eq!(message(r#"{"status": 99}"#), "the file: `status` is no status");
        let nested = message(r#"{"files": {"a": {"latency": -1}}}"#);
        assert_eq!(nested, "`files`, `a`: `latency` is no number of milliseconds");
        for headers in ["7", r#"{"x": 7}"#] {
            let nested = message(&format!(r#"{{"files": {{"a": {{"headers": {headers}}}}}}}"#));
            assert_eq!(nested, "`files`, `a`: `headers` is no object of texts");
        }
        assert_eq!(
            message(r#"{"files": {"a": {"files": {}}}}"#),
            "`files`, `a`: `files` is not known"
        );
        assert!(Rules::parse("[").is_err() && Rules::parse("[]").is_err());
    }
}
