//! Compares what came out of a case with what it expects (`spec/README.md`, "Expectations").
//!
//! In go an [`Expect`] and an [`Outcome`] whose addresses were turned back into the placeholder;
//! out comes nothing, or every reason why they differ.

use regex::Regex;
use serde_json::Value;

use super::conversation::Received;
use super::equality::{difference, partial_difference};
use super::naming;
use super::placeholder::{PLACEHOLDER, take_out, take_out_encoded, take_out_of};
use super::{Expect, ExpectedError};

/// How many characters of an unexpected body a report shows.
const SHOWN_MAX: usize = 2_000;

/// What an engine made of a case.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// The script's value and result headers. No value is [`Value::Null`].
    Value {
        /// The result as JSON.
        value: Value,
        /// Result headers in their order.
        headers: Vec<(String, String)>,
    },
    /// The script failed.
    Error {
        /// The error as JSON.
        error: Value,
        /// The status that the HTTP front would use.
        status: Option<u16>,
    },
    /// The answers to the requests of an `http` case, one for each.
    Answers(Vec<HttpOutcome>),
    /// What came back on a WebSocket connection.
    Conversation {
        /// The status of the answer to the handshake.
        status: u16,
        /// What was received, one for each step that expects something.
        received: Vec<Received>,
    },
    /// The engine itself did not work: it hung, crashed, or printed something unreadable.
    Broken(String),
}

/// One HTTP answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpOutcome {
    /// Its status.
    pub status: u16,
    /// Its headers in their order.
    pub headers: Vec<(String, String)>,
    /// Its decoded body.
    pub body: Vec<u8>,
}

impl Outcome {
    /// The outcome with the upstream's address turned back into the placeholder.
    #[must_use]
    pub fn without_address(self, base: &str) -> Self {
        match self {
            Self::Value { value, headers } => {
                Self::Value { value: take_out_of(value, base), headers: clean(headers, base) }
            }
            Self::Error { error, status } => {
                Self::Error { error: take_out_of(error, base), status }
            }
            Self::Answers(answers) => Self::Answers(
                answers.into_iter().map(|answer| answer.without_address(base)).collect(),
            ),
            Self::Conversation { status, received } => Self::Conversation {
                status,
                received: received.into_iter().map(|one| one.without_address(base)).collect(),
            },
            Self::Broken(why) => Self::Broken(why),
        }
    }
}

impl HttpOutcome {
    fn without_address(self, base: &str) -> Self {
        let body = match String::from_utf8(self.body) {
            Ok(text) => take_out(&text, base).into_bytes(),
            Err(error) => error.into_bytes(),
        };
        Self { status: self.status, headers: clean(self.headers, base), body }
    }
}

fn clean(headers: Vec<(String, String)>, base: &str) -> Vec<(String, String)> {
    let clean = |value: &str| take_out_encoded(&take_out(value, base), base);
    headers.into_iter().map(|(name, value)| (name, clean(&value))).collect()
}

/// Compares an outcome with what is expected.
///
/// # Errors
/// Every difference, one per line.
pub fn check(expect: &Expect, outcome: &Outcome) -> Result<(), String> {
    let mut problems = Vec::new();
    match outcome {
        Outcome::Broken(why) => problems.push(why.clone()),
        Outcome::Value { value, headers } => check_value(expect, value, headers, &mut problems),
        Outcome::Error { error, status } => match &expect.error {
            Some(expected) => check_error(expected, error, *status, &mut problems),
            None => problems.push(format!(
                "failed with status {}: {}",
                status.map_or_else(|| "unknown".to_owned(), |status| status.to_string()),
                shown(&error.to_string())
            )),
        },
        Outcome::Answers(answers) => check_answers(expect, answers, &mut problems),
        Outcome::Conversation { .. } => {
            problems.push("a conversation is compared with its steps".to_owned());
        }
    }
    if problems.is_empty() { Ok(()) } else { Err(problems.join("\n")) }
}

fn check_value(
    expect: &Expect,
    value: &Value,
    headers: &[(String, String)],
    problems: &mut Vec<String>,
) {
    if let Some(expected) = &expect.value {
        problems.extend(difference(expected, value));
    } else {
        problems.push(format!("expected an error, got the value {}", shown(&value.to_string())));
    }
    check_headers(expect, headers, problems);
}

fn check_answers(expect: &Expect, answers: &[HttpOutcome], problems: &mut Vec<String>) {
    if expect.responses.is_empty() {
        match answers {
            [answer] => check_answer(expect, answer, problems),
            _ => problems.push(format!("expected one answer, got {}", answers.len())),
        }
        return;
    }
    if answers.len() != expect.responses.len() {
        problems.push(format!("{} answers, expected {}", answers.len(), expect.responses.len()));
    }
    for (index, (expected, answer)) in expect.responses.iter().zip(answers).enumerate() {
        let mut of_one = Vec::new();
        check_answer(expected, answer, &mut of_one);
        problems.extend(of_one.into_iter().map(|one| format!("answer {}: {one}", index + 1)));
    }
}

fn check_answer(expect: &Expect, answer: &HttpOutcome, problems: &mut Vec<String>) {
    let text = String::from_utf8_lossy(&answer.body);
    let before = problems.len();
    if let Some(status) = expect.status
        && status != answer.status
    {
        problems.push(format!("status is {}, expected {status}", answer.status));
    }
    if let Some(body) = &expect.body
        && *body != text
    {
        problems.push(format!("body is `{}`, expected `{body}`", shown(&text)));
    }
    if let Some(pattern) = &expect.pattern {
        match Regex::new(pattern) {
            Err(broken) => problems.push(format!("the pattern of the body is none: {broken}")),
            Ok(pattern) if pattern.is_match(&text) => {}
            Ok(pattern) => problems.push(format!("body does not match `{pattern}`")),
        }
    }
    if let Some(expected) = &expect.trace {
        match trace_of(&answer.headers) {
            Ok(packets) => {
                let found = match naming::resolve(&Value::Array(expected.clone()), &packets) {
                    Ok(expected) => partial_difference(&expected, &packets),
                    Err(why) => Some(why),
                };
                problems.extend(
                    found.map(|found| format!("trace: {found} in {}", shown(&packets.to_string()))),
                );
            }
            Err(why) => problems.push(format!("trace: {why}")),
        }
    }
    if expect.json.is_some() || expect.error.is_some() {
        match serde_json::from_slice::<Value>(&answer.body) {
            Err(error) => problems.push(format!("body is no JSON ({error}): `{}`", shown(&text))),
            Ok(json) => {
                if let Some(expected) = &expect.json {
                    problems.extend(difference(expected, &json));
                }
                if let Some(expected) = &expect.error {
                    check_error(expected, &json, Some(answer.status), problems);
                }
            }
        }
    }
    check_headers(expect, &answer.headers, problems);
    if problems.len() > before && expect.body.is_none() {
        problems.push(format!("the answer was {}: `{}`", answer.status, shown(&text)));
    }
}

/// The packets of the execution trace, which is a data URI in a `link` header.
///
/// # Errors
/// There is none, or it cannot be read.
pub fn trace_of(headers: &[(String, String)]) -> Result<Value, String> {
    let links = headers.iter().filter(|(name, _)| name.eq_ignore_ascii_case("link"));
    let mut traces = links.filter_map(|(_, link)| {
        link.strip_prefix("<data:application/json,")?.strip_suffix(">;rel=execstate")
    });
    let encoded = traces.next().ok_or("there is none")?;
    let mut bytes = Vec::with_capacity(encoded.len());
    let mut rest = encoded.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(if byte == b'%' {
            let digits: Vec<u8> = rest.by_ref().take(2).collect();
            let digits = String::from_utf8_lossy(&digits).into_owned();
            u8::from_str_radix(&digits, 16).map_err(|_| format!("`%{digits}` is no byte"))?
        } else {
            byte
        });
    }
    serde_json::from_slice(&bytes).map_err(|error| format!("it is no JSON: {error}"))
}

fn check_headers(expect: &Expect, headers: &[(String, String)], problems: &mut Vec<String>) {
    for (name, expected) in &expect.headers {
        let found: Vec<&str> = headers
            .iter()
            .filter(|(other, _)| other.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.as_str())
            .collect();
        match expected {
            None if !found.is_empty() => {
                problems.push(format!("header `{name}` is `{}`, expected none", found.join(", ")));
            }
            Some(value) if found != [value.as_str()] => {
                problems.push(format!("header `{name}` is {found:?}, expected `{value}`"));
            }
            _ => {}
        }
    }
}

fn check_error(
    expected: &ExpectedError,
    error: &Value,
    status: Option<u16>,
    problems: &mut Vec<String>,
) {
    if let Some(pattern) = &expected.message {
        match Regex::new(&pattern.replace(PLACEHOLDER, &regex::escape(PLACEHOLDER))) {
            Err(broken) => problems.push(format!("the expected message is no pattern: {broken}")),
            Ok(pattern) => match error_text(error) {
                Some(text) if pattern.is_match(text) => {}
                Some(text) => {
                    problems.push(format!("error text is `{}`, expected `{pattern}`", shown(text)));
                }
                None => problems.push(format!("error without text: {}", shown(&error.to_string()))),
            },
        }
    }
    for (name, member) in &expected.members {
        match error.get(name) {
            None => problems.push(format!("error has no `{name}`: {}", shown(&error.to_string()))),
            Some(actual) => problems
                .extend(difference(member, actual).map(|found| format!("error `{name}`: {found}"))),
        }
    }
    if let Some(wanted) = expected.status
        && status != Some(wanted)
    {
        let status = status.map_or_else(|| "none".to_owned(), |status| status.to_string());
        problems.push(format!(
            "error status is {status}, expected {wanted}: {}",
            shown(&error.to_string())
        ));
    }
}

/// The text of an error: itself if it is a text, else its `message`, else its `error`.
fn error_text(error: &Value) -> Option<&str> {
    error
        .as_str()
        .or_else(|| error.get("message").and_then(Value::as_str))
        .or_else(|| error.get("error").and_then(Value::as_str))
}

pub(super) fn shown(text: &str) -> String {
    match text.char_indices().nth(SHOWN_MAX) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn expect(json: Value) -> Expect {
        serde_json::from_value(json).unwrap()
    }

    fn value(value: Value, headers: &[(&str, &str)]) -> Outcome {
        let headers = headers.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect();
        Outcome::Value { value, headers }
    }

    fn error(error: Value, status: Option<u16>) -> Outcome {
        Outcome::Error { error, status }
    }

    fn answer(status: u16, body: &str) -> HttpOutcome {
        let headers = vec![("Content-Type".to_owned(), "application/json".to_owned())];
        HttpOutcome { status, headers, body: body.as_bytes().to_vec() }
    }

    #[test]
    fn a_value_is_compared_as_json_and_headers_without_case() {
        let wanted =
            expect(json!({"value": {"a": 1}, "headers": {"X-Kind": "demo", "x-no": null}}));
        assert_eq!(check(&wanted, &value(json!({"a": 1.0}), &[("x-kind", "demo")])), Ok(()));
        assert!(check(&wanted, &value(json!({"a": 1}), &[])).is_err());
        assert!(
            check(&wanted, &value(json!({"a": 1}), &[("x-kind", "demo"), ("x-no", "")])).is_err()
        );
        assert!(check(&wanted, &value(json!({"a": 2}), &[("x-kind", "demo")])).is_err());
    }

    #[test]
    fn an_error_where_a_value_is_expected_fails_and_the_reverse() {
        assert!(check(&expect(json!({"value": null})), &error(json!("x"), None)).is_err());
        assert!(check(&expect(json!({"error": {}})), &value(json!(null), &[])).is_err());
        assert!(
            check(&expect(json!({"value": null})), &Outcome::Broken("hung".to_owned())).is_err()
        );
    }

    #[test]
    fn the_text_of_an_error_is_itself_or_its_message_or_its_error() {
        let wanted = expect(json!({"error": {"message": "^No such table \\w+$"}}));
        for text in [
            json!("No such table x"),
            json!({"message": "No such table x", "error": "y"}),
            json!({"error": "No such table x"}),
        ] {
            assert_eq!(check(&wanted, &error(text, None)), Ok(()));
        }
        assert!(
            check(&wanted, &error(json!({"message": "no", "error": "No such table x"}), None))
                .is_err()
        );
        assert!(check(&wanted, &error(json!({"a": 1}), None)).is_err());
    }

    #[test]
    fn members_and_status_of_an_error_are_compared() {
        let wanted = expect(json!({"error": {"match": {"body": {"w": 1}}, "status": 502}}));
        let body = json!({"body": {"w": 1}, "more": 2});
        assert_eq!(check(&wanted, &error(body.clone(), Some(502))), Ok(()));
        assert!(check(&wanted, &error(body, Some(400))).is_err());
        assert!(check(&wanted, &error(json!({"body": {"w": 1, "x": 1}}), Some(502))).is_err());
    }

    #[test]
    fn an_answer_is_compared_in_status_body_and_json() {
        let outcome = Outcome::Answers(vec![answer(200, "{\"a\":1}")]);
        assert_eq!(check(&expect(json!({"status": 200, "json": {"a": 1}})), &outcome), Ok(()));
        assert_eq!(check(&expect(json!({"body": "{\"a\":1}"})), &outcome), Ok(()));
        assert!(check(&expect(json!({"body": "{\"a\": 1}"})), &outcome).is_err());
        assert!(check(&expect(json!({"status": 404})), &outcome).is_err());
        let no_json = Outcome::Answers(vec![answer(200, "low")]);
        assert!(check(&expect(json!({"json": "low"})), &no_json).is_err());
    }

    #[test]
    fn each_answer_of_a_list_has_its_own_expectation() {
        let outcome = Outcome::Answers(vec![answer(200, "1"), answer(404, "2")]);
        let wanted = expect(json!({"responses": [{"status": 200}, {"status": 404, "json": 2}]}));
        assert_eq!(check(&wanted, &outcome), Ok(()));
        let wanted = expect(json!({"responses": [{"status": 200}, {"status": 200}]}));
        assert!(check(&wanted, &outcome).unwrap_err().starts_with("answer 2: status is 404"));
    }

    #[test]
    fn addresses_are_turned_back_in_values_errors_headers_and_bodies() {
        let base = "http://127.0.0.1:99";
        let outcome =
            error(json!({"error": "at http://127.0.0.1:99/p"}), None).without_address(base);
        let wanted = expect(json!({"error": {"message": "^at {{upstream}}/p$"}}));
        assert_eq!(check(&wanted, &outcome), Ok(()));
        let outcome = Outcome::Answers(vec![answer(200, "\"http://127.0.0.1:99/p\"")]);
        let wanted = expect(json!({"body": "\"{{upstream}}/p\""}));
        assert_eq!(check(&wanted, &outcome.without_address(base)), Ok(()));
    }
}
