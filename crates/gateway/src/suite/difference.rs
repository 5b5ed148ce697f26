//! Where two values differ first, in words: what a failed expectation says.

use std::borrow::Cow;

use qlio_data::{Value, codec::json};

/// How many characters of a value are shown.
const SHOWN_CHARS_MAX: usize = 200;

/// Says where `actual` is not as expected; `None` if both are the same JSON.
pub(super) fn difference(expected: &Value, actual: &Value) -> Option<String> {
    if expected == actual {
        return None;
    }
    let mut path = "$".to_owned();
    let (mut expected, mut actual) = (expected.into_tree(), actual.into_tree());
    // Goes down to the one place that differs, as long as there is one.
    loop {
        let next = match (&expected, &actual) {
            (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
                let at = a.iter().zip(b.iter()).position(|(a, b)| a != b);
                at.map(|at| (format!("[{at}]"), a[at].clone(), b[at].clone()))
            }
            (Value::Array(a), Value::Array(b)) => {
                let (wanted, given) = (a.len(), b.len());
                return Some(format!("{path}: expected {wanted} elements, got {given}"));
            }
            (Value::Object(a), Value::Object(b)) => {
                let names = a.iter().chain(b.iter()).map(|(name, _)| name);
                let differs = |name: &str| expected.member(name) != actual.member(name);
                let mut names = names.filter(|name| differs(name));
                names.next().map(|name| (step(name), expected.member(name), actual.member(name)))
            }
            _ => None,
        };
        let Some((step, wanted, given)) = next else {
            let (wanted, given) = (shorten(&expected), shorten(&actual));
            return Some(format!("{path}: expected {wanted}, got {given}"));
        };
        path.push_str(&step);
        (expected, actual) = (wanted, given);
    }
}

fn step(name: &str) -> String {
    let is_plain = !name.is_empty()
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        && !name.as_bytes()[0].is_ascii_digit();
    if is_plain { format!(".{name}") } else { format!("[{}]", json::to_string(&Value::from(name))) }
}

/// A value as messages show it: JSON, cut where it is long.
pub(super) fn shorten(value: &Value) -> Cow<'static, str> {
    if value.is_absent() {
        return Cow::Borrowed("nothing");
    }
    let text = json::to_string(value);
    match text.char_indices().nth(SHOWN_CHARS_MAX) {
        None => Cow::Owned(text),
        Some((end, _)) => Cow::Owned(format!("{}… ({} bytes)", &text[..end], text.len())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_place_that_differs_is_named() {
        let said = |a: &str, b: &str| {
            difference(&json::parse_str(a).unwrap(), &json::parse_str(b).unwrap())
        };
        assert_eq!(said(r#"{"a": [1, {"b": 1.0}]}"#, r#"{"a": [1, {"b": 1}]}"#), None);
        for (expected, actual, message) in [
            (r#"{"a": [1, {"b": 1}]}"#, r#"{"a": [1, {"b": 2}]}"#, "$.a[1].b: expected 1, got 2"),
            (r#"{"a": 1}"#, r"{}", "$.a: expected 1, got nothing"),
            (r"{}", r#"{"x y": null}"#, "$[\"x y\"]: expected nothing, got null"),
            ("[1]", "[1, 2]", "$: expected 1 elements, got 2"),
            ("[]", "{}", "$: expected [], got {}"),
        ] {
            assert_eq!(said(expected, actual).unwrap(), message);
        }
    }

    #[test]
    fn long_values_are_cut() {
        let text = shorten(&Value::from("ö".repeat(1000)));
        assert!(text.ends_with("… (2002 bytes)"), "{text}");
    }
}
