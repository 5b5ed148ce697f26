//! Credentials that a table writes down itself: user-info of its URIs, and literal values of headers,
//! parameters and defaults whose name says what they are (SAF-20).
//!
//! They belong into the settings. Where they are written down all the same, descriptions leave them out by
//! their place, and everything else that is printed by their text.

use qlio_data::{
    Text, Value,
    credential::{REDACTED, is_credential_name},
};
use qlio_syntax::ast;

use super::literal_text;

/// Begins what is not literal.
const TOKEN: char = '{';

/// All literal credentials of a table.
pub(super) fn written_credentials(create: &ast::Create) -> Vec<String> {
    let mut found = Vec::new();
    for verb in &create.verbs {
        if let Some((_, user_info, _)) = split_user_info(&verb.uri.text) {
            found.push(user_info.to_owned());
            found.extend(user_info.split_once(':').map(|(_, password)| password.to_owned()));
        }
        let pairs = query_pairs(&verb.uri.text).filter(|(name, _)| is_credential_name(name));
        found.extend(pairs.map(|(_, value)| value.to_owned()));
        let named = verb.headers.iter().chain(&verb.defaults);
        for pair in named.filter(|pair| is_credential_name(&pair.name.text)) {
            let value = literal_text(&pair.value);
            // The scheme of an `authorization` is none.
            found.extend(value.split_once(' ').map(|(_, value)| value.to_owned()));
            found.push(value.to_string());
        }
    }
    found.retain(|text| !text.contains(TOKEN));
    found
}

/// A URI template as descriptions show it: without literal user-info, and without literal values of
/// credential parameters.
pub(super) fn shown_template(uri: &str) -> String {
    let mut shown = match split_user_info(uri) {
        Some((before, user_info, after)) if !user_info.contains(TOKEN) => {
            format!("{before}{REDACTED}@{after}")
        }
        _ => uri.to_owned(),
    };
    let pairs = query_pairs(uri);
    for (name, value) in pairs.filter(|(name, _)| is_credential_name(name)) {
        if !value.is_empty() && !value.contains(TOKEN) {
            let pair = |value| format!("{name}={value}");
            shown = shown.replace(&pair(value), &pair(REDACTED));
        }
    }
    shown
}

/// The value of a header or default as descriptions show it: of a credential only what a request fills in.
pub(super) fn shown_value(name: &str, value: Value) -> Value {
    if !is_credential_name(name) {
        return value;
    }
    match value.as_str() {
        // A cookie may be made of several.
        Some(text) if text.contains(TOKEN) => {
            let parts: Vec<String> = text.split(';').map(shown_part).collect();
            Value::from(parts.join(";"))
        }
        _ if value.is_nothing() => value,
        _ => Value::from(REDACTED),
    }
}

fn shown_part(part: &str) -> String {
    if part.contains(TOKEN) {
        return part.to_owned();
    }
    match part.split_once('=') {
        Some((name, _)) => format!("{name}={REDACTED}"),
        None => REDACTED.to_owned(),
    }
}

/// The text before, the user-info of a URI template, and what follows its `@`.
fn split_user_info(uri: &str) -> Option<(&str, &str, &str)> {
    let start = uri.find("://")? + 3;
    let authority = uri[start..].split(['/', '?', '#']).next().unwrap_or_default();
    let (user_info, _) = authority.rsplit_once('@')?;
    let end = start + user_info.len();
    Some((&uri[..start], user_info, &uri[end + 1..]))
}

fn query_pairs(uri: &str) -> impl Iterator<Item = (&str, &str)> {
    let query = uri.split_once('?').map(|(_, query)| query).unwrap_or_default();
    query.split('&').filter_map(|pair| pair.split_once('='))
}

/// The value of a header as descriptions show it.
pub(super) fn shown_header(name: &str, value: Text) -> Text {
    match shown_value(name, Value::from(value)) {
        Value::String(text) => text,
        other => other.scalar_text().unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literal_credentials_of_uris_are_not_shown_and_tokens_are() {
        for (uri, shown) in [
            ("https://me:s3cret@h.test/a?b=1", "https://[redacted]@h.test/a?b=1"),
            ("https://me@h.test", "https://[redacted]@h.test"),
            ("https://{user}:{password}@h.test/", "https://{user}:{password}@h.test/"),
            ("https://h.test/a@b?api_key=abc&q={q}", "https://h.test/a@b?api_key=[redacted]&q={q}"),
            ("https://h.test/?token={token}&key=", "https://h.test/?token={token}&key="),
            ("/a?key=k1", "/a?key=[redacted]"),
        ] {
            assert_eq!(shown_template(uri), shown, "{uri}");
        }
    }

    #[test]
    fn literal_credentials_of_headers_and_defaults_are_not_shown() {
        let shown = |name: &str, text: &str| shown_header(name, text.into()).to_string();
        assert_eq!(shown("Authorization", "Basic bWU6cHc="), "[redacted]");
        assert_eq!(shown("authorization", "Bearer {token}"), "Bearer {token}");
        assert_eq!(
            shown("Cookie", "session=abc; lang={lang}; x"),
            "session=[redacted]; lang={lang};[redacted]"
        );
        assert_eq!(shown("accept", "text/plain"), "text/plain");
        assert_eq!(shown_value("apikey", Value::int(12345)), Value::from("[redacted]"));
        assert_eq!(shown_value("limit", Value::int(3)), Value::int(3));
        assert_eq!(shown_value("key", Value::Null), Value::Null);
    }
}
