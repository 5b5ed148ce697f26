//! Names of headers and query parameters that carry credentials, and URIs shown without them.
//!
//! The rule is by name, since values tell nothing: better to hide a harmless value than to print a key.

/// Parts of a name that mark its value as a credential; compared in lower case.
const MARKS: [&str; 11] = [
    "appname",
    "auth",
    "cookie",
    "credential",
    "jwt",
    "key",
    "passw",
    "secret",
    "session",
    "signature",
    "token",
];

/// Names of credentials that are too short to search for; compared without `-` and `_`.
const NAMES: [&str; 4] = ["appid", "pass", "pwd", "sig"];

/// A search term, which is no key although its name holds the word.
const SEARCH_TERM: &str = "keyword";

/// Replaces the value of a credential wherever it is printed.
pub const REDACTED: &str = "[redacted]";

/// Whether the value of a header or parameter of this name is a credential, in any case: it is not
/// printed, and a header of this name does not follow a redirect to another origin.
pub fn is_credential_name(name: &str) -> bool {
    let name = name.to_ascii_lowercase().replace(SEARCH_TERM, "");
    MARKS.iter().any(|mark| name.contains(mark))
        || NAMES.contains(&name.replace(['-', '_'], "").as_str())
}

/// The URI without user-info and fragment, and with the values of credential parameters replaced.
pub fn shown_uri(uri: &str) -> String {
    let uri = uri.split('#').next().unwrap_or_default();
    let (before, query) = match uri.split_once('?') {
        Some((before, query)) => (before, Some(query)),
        None => (uri, None),
    };
    let mut shown = String::with_capacity(uri.len());
    match before.split_once("://") {
        Some((scheme, rest)) => {
            let end = rest.find(['/', '\\']).unwrap_or(rest.len());
            let (authority, path) = rest.split_at(end);
            shown.push_str(scheme);
            shown.push_str("://");
            shown.push_str(authority.rsplit('@').next().unwrap_or_default());
            shown.push_str(path);
        }
        None => shown.push_str(before),
    }
    if let Some(query) = query {
        let mut separator = '?';
        for pair in query.split('&') {
            shown.push(separator);
            separator = '&';
            match pair.split_once('=') {
                Some((name, _)) if is_credential_name(name) => {
                    shown.push_str(name);
                    shown.push('=');
                    shown.push_str(REDACTED);
                }
                _ => shown.push_str(pair),
            }
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn user_info_and_credentials_in_the_query_are_not_shown() {
        assert_eq!(
            shown_uri("https://me:pw@h.test:1/a@b?q=1&api_key=s3&x=2&Access_Token=t#frag"),
            "https://h.test:1/a@b?q=1&api_key=[redacted]&x=2&Access_Token=[redacted]"
        );
        assert_eq!(
            shown_uri("http://a@b@c/?key=1&keyword=2"),
            "http://c/?key=[redacted]&keyword=2"
        );
        assert_eq!(shown_uri("no scheme"), "no scheme");
    }

    #[test]
    fn credentials_are_known_by_their_names() {
        for name in [
            "authorization",
            "cookie",
            "proxy-authorization",
            "x-api-key",
            "x-csrf-token",
            "APPID",
            "app_id",
            "App-Id",
            "SECURITY-APPNAME",
            "consumerkey",
            "consumer_key",
            "subscription-key",
            "keyId",
            "sig",
            "x_signature",
            "passwd",
        ] {
            assert!(is_credential_name(name), "{name}");
        }
        for name in ["accept", "x-request-id", "content-type", "x-keyword", "Keywords", "signal"] {
            assert!(!is_credential_name(name), "{name}");
        }
    }
}
