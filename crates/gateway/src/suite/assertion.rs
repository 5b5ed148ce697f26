//! `<test>.assert`: what must hold for a result, one assertion on each line (`docs/guide/testing.md`).
//!
//! ```text
//! # comment
//! status == 200
//! header content-type == application/json
//! failed == true
//! $.body.items[0].title =~ ^Lan
//! $.body.items count > 3
//! $.body.next exists false
//! ```
//!
//! In goes text, then results; out come assertions, and what does not hold. `$` is the result
//! `{headers, statusCode, body}`, or the error if the run failed. What stands right of an operator is
//! JSON, or else the text as it is. Pure; reading never panics, whatever the bytes.

use qlio_data::{
    Value,
    codec::json,
    path::{Options, Path, PathError},
    scope::EmptyScope,
};
use regex_lite::Regex;

use super::difference::shorten;

/// How many assertions one file may have.
const ASSERTIONS_MAX: usize = 10_000;

/// The outcome of a run, as assertions judge it.
#[derive(Debug, Clone)]
pub(super) struct Subject {
    /// Whether the run failed.
    pub(super) is_failed: bool,
    /// The status.
    pub(super) status: u16,
    /// Headers by lower-case name.
    pub(super) headers: qlio_data::Object,
    /// `$`.
    pub(super) root: Value,
}

/// One line.
#[derive(Debug)]
pub(super) struct Assertion {
    pub(super) line: u32,
    text: String,
    target: Target,
    check: Check,
}

#[derive(Debug)]
enum Target {
    Status,
    Failed,
    Header(String),
    Path(Path),
}

#[derive(Debug)]
enum Check {
    Equals(Value),
    Differs(Value),
    Matches(Regex),
    Exists(bool),
    Count(Comparison, usize),
}

#[derive(Debug, Clone, Copy)]
enum Comparison {
    Equal,
    NotEqual,
    Less,
    AtMost,
    More,
    AtLeast,
}

/// Why a line is no assertion.
#[derive(Debug, thiserror::Error)]
pub(super) enum AssertionError {
    #[error("more than {ASSERTIONS_MAX} assertions")]
    TooMany,
    #[error(transparent)]
    Path(#[from] PathError),
    #[error("an assertion begins with `status`, `header <name>`, `failed` or `$`, not with `{0}`")]
    Target(String),
    #[error("{0} needs a {1}")]
    Missing(&'static str, &'static str),
    #[error("expected `==`, `!=`, {0}")]
    Operator(&'static str),
    #[error("`{0}`: {1}")]
    Pattern(String, regex_lite::Error),
    #[error("after `exists` comes nothing or `false`, not `{0}`")]
    Exists(String),
    #[error("after `count` comes `==`, `!=`, `<`, `<=`, `>` or `>=` and a number")]
    Count,
    #[error("`{0}` is no whole number")]
    Number(String),
}

/// An assertion that does not hold, and what was found instead.
#[derive(Debug, thiserror::Error)]
pub(super) enum Refutation {
    #[error("`{0}` does not hold: {1}")]
    Failure(String, PathError),
    #[error("`{0}` does not hold: there are {1}")]
    Count(String, usize),
    #[error("`{}` does not hold: it is {}", .0, shorten(.1))]
    Value(String, Value),
}

/// Longer ones first, as they begin alike.
const COMPARISONS: [(&str, Comparison); 7] = [
    ("==", Comparison::Equal),
    ("!=", Comparison::NotEqual),
    ("<>", Comparison::NotEqual),
    ("<=", Comparison::AtMost),
    (">=", Comparison::AtLeast),
    ("<", Comparison::Less),
    (">", Comparison::More),
];

/// Reads a file.
///
/// # Errors
/// The lines that are no assertions, with the reasons.
pub(super) fn parse(text: &str) -> Result<Vec<Assertion>, Vec<(u32, AssertionError)>> {
    let mut assertions = Vec::new();
    let mut problems = Vec::new();
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    for (at, line) in text.lines().enumerate() {
        let number = at as u32 + 1;
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') || line.starts_with("--") {
            continue;
        }
        if assertions.len() + problems.len() == ASSERTIONS_MAX {
            problems.push((number, AssertionError::TooMany));
            break;
        }
        match parse_line(line) {
            Ok((target, check)) => {
                assertions.push(Assertion { line: number, text: line.to_owned(), target, check });
            }
            Err(error) => problems.push((number, error)),
        }
    }
    if problems.is_empty() { Ok(assertions) } else { Err(problems) }
}

fn parse_line(line: &str) -> Result<(Target, Check), AssertionError> {
    if line.starts_with('$') {
        let (path, rest) = line.split_at(path_end(line));
        return Ok((Target::Path(Path::parse(path)?), parse_check(rest.trim_start(), true)?));
    }
    let end = line.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(line.len());
    let (word, rest) = line.split_at(end);
    let rest = rest.trim_start();
    match word {
        "status" => Ok((Target::Status, parse_check(rest, false)?)),
        "failed" => Ok((Target::Failed, parse_check(rest, false)?)),
        "header" => {
            let end = rest.find(|c: char| c.is_whitespace() || c == '=' || c == '!');
            let (name, rest) = rest.split_at(end.unwrap_or(rest.len()));
            if name.is_empty() {
                return Err(AssertionError::Missing("`header`", "name"));
            }
            let check = parse_check(rest.trim_start(), false)?;
            Ok((Target::Header(name.to_ascii_lowercase()), check))
        }
        _ => {
            let first = line.split_whitespace().next().unwrap_or_default();
            Err(AssertionError::Target(first.to_owned()))
        }
    }
}

/// Where the path at the start of a line ends: at a blank or an operator outside of brackets.
fn path_end(line: &str) -> usize {
    let mut depth = 0_usize;
    let mut quote = None;
    let mut is_escaped = false;
    for (at, c) in line.char_indices() {
        match (quote, c) {
            (Some(_), _) if is_escaped => is_escaped = false,
            (Some(_), '\\') => is_escaped = true,
            (Some(open), _) if c == open => quote = None,
            (None, '"' | '\'') if depth > 0 => quote = Some(c),
            (None, '[') => depth += 1,
            (None, ']') => depth = depth.saturating_sub(1),
            (None, '=' | '!') if depth == 0 => return at,
            (None, c) if depth == 0 && c.is_whitespace() => return at,
            _ => {}
        }
    }
    line.len()
}

fn parse_check(text: &str, may_count: bool) -> Result<Check, AssertionError> {
    let needs_value = |rest: &str| match rest.trim() {
        "" => Err(AssertionError::Missing("the operator", "value")),
        rest => Ok(value(rest)),
    };
    if let Some(rest) = text.strip_prefix("==") {
        return Ok(Check::Equals(needs_value(rest)?));
    }
    if let Some(rest) = text.strip_prefix("!=") {
        return Ok(Check::Differs(needs_value(rest)?));
    }
    if let Some(rest) = text.strip_prefix("=~") {
        let pattern = match value(rest.trim()) {
            Value::String(text) => text.to_string(),
            _ => rest.trim().to_owned(),
        };
        let regex = Regex::new(&pattern);
        return regex.map(Check::Matches).map_err(|error| AssertionError::Pattern(pattern, error));
    }
    if let Some(rest) = text.strip_prefix("exists") {
        return match rest.trim() {
            "" | "true" | "== true" => Ok(Check::Exists(true)),
            "false" | "== false" => Ok(Check::Exists(false)),
            other => Err(AssertionError::Exists(other.to_owned())),
        };
    }
    if let Some(rest) = text.strip_prefix("count").filter(|_| may_count) {
        let rest = rest.trim_start();
        for (sign, comparison) in COMPARISONS {
            if let Some(number) = rest.strip_prefix(sign) {
                let number = number.trim();
                let count = number.parse().map_err(|_| AssertionError::Number(number.to_owned()));
                return Ok(Check::Count(comparison, count?));
            }
        }
        return Err(AssertionError::Count);
    }
    let operators = if may_count { "`=~`, `exists` or `count`" } else { "`=~` or `exists`" };
    Err(AssertionError::Operator(operators))
}

/// JSON, or the text as it is.
fn value(text: &str) -> Value {
    json::parse_str(text).unwrap_or_else(|_| Value::from(text))
}

/// Whether the test itself says what it makes of a failed run.
pub(super) fn judges_failure(assertions: &[Assertion]) -> bool {
    assertions.iter().any(|one| matches!(one.target, Target::Failed | Target::Status))
}

impl Assertion {
    /// Says why the assertion does not hold.
    ///
    /// # Errors
    /// The value that was found instead, or why none could be.
    pub(super) fn check(&self, subject: &Subject) -> Result<(), Refutation> {
        let text = || self.text.clone();
        let matches = match &self.target {
            Target::Status => vec![Value::from(subject.status)],
            Target::Failed => vec![Value::Bool(subject.is_failed)],
            Target::Header(name) => subject.headers.get(name).cloned().into_iter().collect(),
            Target::Path(path) => path
                .select(&subject.root, &EmptyScope, Options::default())
                .map_err(|error| Refutation::Failure(text(), error))?,
        };
        let found = match &*matches {
            [] => Value::Absent,
            [one] => one.clone(),
            several => Value::array(several.to_vec()),
        };
        let holds = match &self.check {
            Check::Equals(wanted) => found == *wanted || self.is_text(&found, wanted),
            Check::Differs(wanted) => !(found == *wanted || self.is_text(&found, wanted)),
            Check::Matches(regex) => match found.scalar_text() {
                Some(text) => regex.is_match(&text),
                None => found.is_structure() && regex.is_match(&json::to_string(&found)),
            },
            Check::Exists(wanted) => matches.is_empty() != *wanted,
            Check::Count(comparison, wanted) => {
                let count = match &*matches {
                    [one] if one.is_array() => one.len(),
                    several => several.len(),
                };
                if comparison.holds(count, *wanted) {
                    return Ok(());
                }
                return Err(Refutation::Count(text(), count));
            }
        };
        if holds { Ok(()) } else { Err(Refutation::Value(text(), found)) }
    }

    /// Headers are texts, so `header age == 5` compares with the text `5`.
    fn is_text(&self, found: &Value, wanted: &Value) -> bool {
        let is_header = matches!(self.target, Target::Header(_));
        is_header && found.scalar_text().is_some_and(|text| wanted.scalar_text() == Some(text))
    }
}

impl Comparison {
    fn holds(self, count: usize, wanted: usize) -> bool {
        match self {
            Self::Equal => count == wanted,
            Self::NotEqual => count != wanted,
            Self::Less => count < wanted,
            Self::AtMost => count <= wanted,
            Self::More => count > wanted,
            Self::AtLeast => count >= wanted,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn subject() -> Subject {
        let root = r#"{"headers": {"age": "5"}, "statusCode": 200,
            "body": {"items": [{"t": "Tides", "n": 1}, {"t": "Maps", "n": 2}], "empty": [], "null": null, "a b": 1.0}}"#;
        let root = json::parse_str(root).unwrap();
        let headers = [("age", "5"), ("content-type", "application/json")];
        Subject {
            is_failed: false,
            status: 200,
            headers: headers.into_iter().map(|(name, text)| (name, Value::from(text))).collect(),
            root,
        }
    }

    fn holds(line: &str) -> bool {
        let assertions = parse(line).unwrap_or_else(|problems| panic!("{line}: {problems:?}"));
        assertions.iter().all(|assertion| assertion.check(&subject()).is_ok())
    }

    #[test]
    fn every_operator_can_hold_and_fail() {
        for (line, expected) in [
            ("status == 200", true),
            ("status != 200", false),
            ("status =~ ^2", true),
            ("failed == false", true),
            ("failed == true", false),
            ("header content-type == application/json", true),
            ("header Content-Type =~ json$", true),
            ("header age == 5", true),
            ("header age == \"5\"", true),
            ("header age != 6", true),
            ("header x exists", false),
            ("header x exists false", true),
            ("$.statusCode == 200", true),
            ("$.statusCode == \"200\"", false),
            ("$.body.items[0].t == Tides", true),
            ("$.body.items[0].t == \"Tides\"", true),
            ("$.body.items[0] == {\"n\": 1.0, \"t\": \"Tides\"}", true),
            ("$.body.items[?(@.n == 2)].t == Maps", true),
            ("$.body['a b']==1", true),
            ("$.body.items.*.n == [1, 2]", true),
            ("$.body.items[1].t =~ \"^M.ps$\"", true),
            ("$.body.items exists", true),
            ("$.body.null exists", true),
            ("$.body.none exists", false),
            ("$.body.none exists false", true),
            ("$.body.none == null", false),
            ("$.body.items count == 2", true),
            ("$.body.items[*] count>1", true),
            ("$.body.items count<2", false),
            ("$.body.items count <= 2", true),
            ("$.body.items count <> 2", false),
            ("$.body.items count >= 3", false),
            ("$.body.empty count == 0", true),
            ("$.body.none count == 0", true),
            ("$.body.items != []", true),
            ("$ exists", true),
            ("# status == 1\n\n-- and\nstatus == 200\n", true),
        ] {
            assert_eq!(holds(line), expected, "{line}");
        }
    }

    #[test]
    fn what_does_not_hold_says_what_is_there() {
        let assertions = parse("\n$.body.items[0].t == Maps\n$.body.items count > 5").unwrap();
        let said: Vec<_> = assertions
            .iter()
            .map(|one| (one.line, one.check(&subject()).unwrap_err().to_string()))
            .collect();
        assert_eq!(
            said,
            [
                (2, "`$.body.items[0].t == Maps` does not hold: it is \"Tides\"".to_owned()),
                (3, "`$.body.items count > 5` does not hold: there are 2".to_owned()),
            ]
        );
    }

    #[test]
    fn lines_that_are_no_assertions_are_all_named() {
        let problems = parse("stats == 1\nstatus = 1\nheader\n$.a ==\n$[ == 1\n$.a =~ (\n$.a count 3\nstatus count == 1").unwrap_err();
        let lines: Vec<u32> = problems.iter().map(|(line, _)| *line).collect();
        assert_eq!(lines, [1, 2, 3, 4, 5, 6, 7, 8], "{problems:?}");
        assert_eq!(
            problems[0].1.to_string(),
            "an assertion begins with `status`, `header <name>`, `failed` or `$`, not with `stats`"
        );
        assert_eq!(problems[1].1.to_string(), "expected `==`, `!=`, `=~` or `exists`");
    }

    #[test]
    fn the_number_of_assertions_has_a_limit() {
        assert!(parse(&"status == 1\n".repeat(ASSERTIONS_MAX)).is_ok());
        assert!(parse(&"status == 1\n".repeat(ASSERTIONS_MAX + 1)).is_err());
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _read = parse(&String::from_utf8_lossy(&bytes));
        }

        #[test]
        fn anything_like_an_assertion_is_checked_or_refused(
            target in "(\\$(\\.?[a-z*]{0,5}|\\[[^\\n]{0,8}\\]?){0,3}|status|failed|header [a-z-]{0,8})",
            rest in " ?(==|!=|=~|exists|count ?[<>=!]{0,2}) ?[^\\n]{0,12}",
        ) {
            if let Ok(assertions) = parse(&format!("{target}{rest}")) {
                for assertion in assertions {
                    let _checked = assertion.check(&subject());
                }
            }
        }
    }
}
