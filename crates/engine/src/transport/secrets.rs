//! Which header names and query parameters carry credentials, and how to show a URI without them.
//!
//! The rule is by name, since values tell nothing: better to hide a harmless value than to print a key.

/// Parts of a header name that mark it as a credential (compared in lower case).
const HEADER_MARKS: [&str; 9] =
    ["auth", "cookie", "token", "api-key", "apikey", "secret", "password", "session", "credential"];

/// Parts of a query parameter's name that mark it as a credential.
const PARAMETER_MARKS: [&str; 10] = [
    "token",
    "api-key",
    "api_key",
    "apikey",
    "secret",
    "passw",
    "signature",
    "credential",
    "session",
    "auth",
];

/// Parameter names that are credentials although they are too short to search for.
const PARAMETER_NAMES: [&str; 5] = ["key", "sig", "pwd", "pass", "jwt"];

/// What is printed in place of a credential.
const REDACTED: &str = "[redacted]";

/// Whether a header of this name carries a credential, so that it must not follow a redirect to another
/// origin and must not be printed. `name` is in lower case.
pub fn is_sensitive_header(name: &str) -> bool {
    HEADER_MARKS.iter().any(|mark| name.contains(mark))
}

/// Whether a query parameter of this name carries a credential; any case.
pub fn is_sensitive_parameter(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    PARAMETER_NAMES.contains(&name.as_str())
        || PARAMETER_MARKS.iter().any(|mark| name.contains(mark))
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
                Some((name, _)) if is_sensitive_parameter(name) => {
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
    fn the_usual_credential_headers_are_sensitive() {
        for name in ["authorization", "cookie", "proxy-authorization", "x-api-key", "x-csrf-token"]
        {
            assert!(is_sensitive_header(name), "{name}");
        }
        for name in ["accept", "x-request-id", "content-type", "x-keyword"] {
            assert!(!is_sensitive_header(name), "{name}");
        }
    }
}
