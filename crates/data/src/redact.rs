//! Keeping secrets of the settings out of what people read: errors, traces, logs, descriptions of tables
//! (SAF-19).

use std::cmp::Reverse;

use crate::{Object, Text, Value, credential::REDACTED, percent};

/// Shorter texts are not searched for: they would hide half of every message.
pub const SECRET_BYTES_MIN: usize = 4;

/// Structures nested deeper than this are replaced as a whole.
const DEPTH_MAX: usize = 100;

/// Texts to keep out of sight, as [`redact`] and [`replaced`] take them: without those that are shorter
/// than [`SECRET_BYTES_MIN`], each also as it stands in a URI, and the longest first, because a secret
/// may stand in a longer one, of which the rest would stay.
pub fn secret_texts(texts: impl IntoIterator<Item = String>) -> Vec<String> {
    let mut secrets = Vec::new();
    for text in texts.into_iter().filter(|text| text.len() >= SECRET_BYTES_MIN) {
        let mut encoded = String::new();
        percent::encode_component(&text, &mut encoded);
        secrets.push(text);
        secrets.push(encoded);
    }
    secrets.sort_unstable_by(|one, two| (Reverse(one.len()), one).cmp(&(Reverse(two.len()), two)));
    secrets.dedup();
    secrets
}

/// The value with every occurrence of a secret replaced, in names and texts.
pub fn redact(value: Value, secrets: &[String]) -> Value {
    if secrets.is_empty() { value } else { redacted(&value, secrets, 0) }
}

fn redacted(value: &Value, secrets: &[String], depth: usize) -> Value {
    if depth > DEPTH_MAX {
        return Value::from(REDACTED);
    }
    match &*value.open() {
        Value::String(text) => Value::String(replaced(text, secrets)),
        Value::Number(number) if secrets.contains(&number.to_shortest()) => Value::from(REDACTED),
        Value::Array(elements) => {
            elements.iter().map(|element| redacted(element, secrets, depth + 1)).collect()
        }
        Value::Object(object) => {
            let members: Object = object
                .iter()
                .map(|(name, value)| (replaced(name, secrets), redacted(value, secrets, depth + 1)))
                .collect();
            Value::object(members)
        }
        other => other.clone(),
    }
}

/// A text with every occurrence of a secret replaced.
pub fn replaced(text: &Text, secrets: &[String]) -> Text {
    let is_leaking = |secret: &&String| !secret.is_empty() && text.contains(secret.as_str());
    if !secrets.iter().any(|secret| is_leaking(&secret)) {
        return text.clone();
    }
    let mut clean = text.to_string();
    for secret in secrets.iter().filter(is_leaking) {
        clean = clean.replace(secret.as_str(), REDACTED);
    }
    clean.into()
}

#[cfg(test)]
mod tests {
    use crate::codec::json::{parse_str, to_string};

    use super::*;

    #[test]
    fn secrets_vanish_wherever_they_stand() {
        let body = parse_str(
            r#"{"message":"key s3cret refused","s3cret":[1,"x-s3cret-y",12345],"n":{"a":"ok"}}"#,
        );
        let secrets = ["s3cret".to_owned(), "12345".to_owned(), String::new()];
        let expected = r#"{"message":"key [redacted] refused","[redacted]":[1,"x-[redacted]-y","[redacted]"],"n":{"a":"ok"}}"#;
        assert_eq!(redact(body.expect("valid"), &secrets), parse_str(expected).expect("valid"));
    }

    #[test]
    fn secrets_are_searched_for_as_they_stand_in_uris_and_the_longest_first() {
        let texts = ["abc", "a key", "a key and more", "a key"].map(str::to_owned);
        assert_eq!(
            secret_texts(texts),
            ["a%20key%20and%20more", "a key and more", "a%20key", "a key"]
        );
    }

    #[test]
    fn what_is_nested_too_deeply_is_not_searched_but_replaced() {
        let deep = format!("{}\"s3cret\"{}", "[".repeat(200), "]".repeat(200));
        let clean = redact(parse_str(&deep).expect("valid"), &["s3cret".to_owned()]);
        assert!(!to_string(&clean).contains("s3cret"));
    }
}
