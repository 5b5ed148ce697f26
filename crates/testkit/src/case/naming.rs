//! Names in place of ids that nobody knows beforehand (`spec/README.md`, "Expectation").
//!
//! In an expected value a text such as `<call>` stands for any text: the same wherever the name is
//! repeated, another one for another name. In go what is expected and what came; out comes what is
//! expected with the texts in place of the names, to be compared as usual.

use std::collections::BTreeMap;

use serde_json::Value;

/// Puts the texts that came in place of the names.
///
/// # Errors
/// Two names for the same text.
pub(super) fn resolve(expected: &Value, actual: &Value) -> Result<Value, String> {
    let mut names = BTreeMap::new();
    let resolved = walk(expected, actual, &mut names);
    for (name, text) in &names {
        if let Some((other, _)) = names.iter().find(|(n, t)| *n != name && *t == text) {
            return Err(format!("`{name}` and `{other}` are both `{text}`"));
        }
    }
    Ok(resolved)
}

/// A name that has no text to stand for stays, and so differs.
fn walk(expected: &Value, actual: &Value, names: &mut BTreeMap<String, String>) -> Value {
    match (expected, actual) {
        (Value::String(name), Value::String(text)) if is_name(name) => {
            Value::from(names.entry(name.clone()).or_insert_with(|| text.clone()).as_str())
        }
        (Value::Array(a), Value::Array(b)) => (a.iter().enumerate())
            .map(|(at, inner)| walk(inner, b.get(at).unwrap_or(&Value::Null), names))
            .collect(),
        (Value::Object(a), Value::Object(b)) => {
            let member = |name: &String| b.get(name).unwrap_or(&Value::Null);
            (a.iter().map(|(name, inner)| (name.clone(), walk(inner, member(name), names))))
                .collect()
        }
        _ => expected.clone(),
    }
}

fn is_name(text: &str) -> bool {
    let inner = text.strip_prefix('<').and_then(|rest| rest.strip_suffix('>'));
    inner.is_some_and(|name| !name.is_empty() && name.chars().all(|c| c.is_ascii_lowercase()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_name_is_one_text_and_two_names_are_two() {
        let wanted = json!([{"a": "<run>", "b": "<call>"}, {"a": "<run>", "b": "<p>1</p>"}]);
        let actual = json!([{"a": "x", "b": "y"}, {"a": "x", "b": "<p>1</p>"}]);
        assert_eq!(resolve(&wanted, &actual).unwrap(), actual);
        let changed = json!([{"a": "x", "b": "y"}, {"a": "z", "b": "<p>1</p>"}]);
        assert_ne!(resolve(&wanted, &changed).unwrap(), changed);
        let same = json!([{"a": "x", "b": "x"}]);
        assert_eq!(resolve(&wanted, &same).unwrap_err(), "`<call>` and `<run>` are both `x`");
        assert_ne!(resolve(&wanted, &json!([{"a": "x"}])).unwrap(), json!([{"a": "x"}]));
    }
}
