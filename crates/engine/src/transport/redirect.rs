//! Redirects: which answers are followed, where they lead, and what must stay behind.
//!
//! The original lost the query, kept the scheme and resolved against the first URI; here a location is
//! resolved against the current URI as RFC 3986 says (UPS-15).

use http::{HeaderMap, HeaderName, Method, StatusCode, header};
use qlio_data::{credential::is_credential_name, percent};

use super::{
    error::{ErrorKind, Fault},
    headers::Headers,
    site::Sites,
    target::Target,
};

/// What a response head asks for.
#[derive(Debug)]
pub(super) enum Next {
    /// It is the answer.
    Answer,
    /// Go on there.
    Follow(Target),
}

/// Decides about a response to `method` from `current`.
pub(super) fn next(
    method: &Method,
    current: &Target,
    sites: &Sites,
    status: StatusCode,
    headers: &Headers,
) -> Result<Next, Fault> {
    if !matches!(*method, Method::GET | Method::HEAD) {
        return Ok(Next::Answer);
    }
    match status.as_u16() {
        301 | 302 | 303 | 307 | 308 => {}
        305 => return Err(ErrorKind::UseProxy305.into()),
        _ => return Ok(Next::Answer),
    }
    let location = headers.get(header::LOCATION).map(clean);
    let location = location
        .filter(|location| !location.is_empty())
        .ok_or(ErrorKind::RedirectWithoutLocation)?;
    // What is wrong with it is the upstream's fault, not that of who made the request.
    let target = Target::take(&mut resolve(current, &location), sites).map_err(|mut fault| {
        if fault.kind == ErrorKind::InvalidUri {
            fault.kind = ErrorKind::RedirectUnusable;
        }
        fault
    })?;
    if current.site.is_https && !target.site.is_https {
        return Err(ErrorKind::RedirectDowngrade.into());
    }
    Ok(Next::Follow(target))
}

/// Removes everything that another origin must not see; values marked sensitive count as credentials too.
pub(crate) fn strip_credentials(headers: &mut HeaderMap) {
    let names: Vec<HeaderName> = headers
        .iter()
        .filter(|(name, value)| value.is_sensitive() || is_credential_name(name.as_str()))
        .map(|(name, _)| name.clone())
        .collect();
    for name in names {
        while headers.remove(&name).is_some() {}
    }
}

/// Trims the value and percent-encodes what may not stand in a URI but does in practice.
pub(super) fn clean(value: &[u8]) -> String {
    let mut text = String::with_capacity(value.len());
    for &byte in value.trim_ascii() {
        if byte.is_ascii_graphic()
            && !matches!(byte, b'"' | b'<' | b'>' | b'\\' | b'^' | b'`' | b'{' | b'|' | b'}')
        {
            text.push(char::from(byte));
        } else {
            percent::push_escape(byte, &mut text);
        }
    }
    text
}

/// Resolves a reference against the current URI.
pub(super) fn resolve(current: &Target, reference: &str) -> String {
    let reference = reference.split('#').next().unwrap_or_default();
    if has_scheme(reference) {
        return reference.to_owned();
    }
    let scheme = if current.site.is_https { "https:" } else { "http:" };
    if reference.starts_with("//") {
        return format!("{scheme}{reference}");
    }
    let (path, query) = match reference.split_once('?') {
        Some((path, query)) => (path, Some(query)),
        None => (reference, None),
    };
    let base = current.path_and_query();
    let (base_path, base_query) = match base.split_once('?') {
        Some((path, query)) => (path, Some(query)),
        None => (base, None),
    };
    let (path, query) = if path.is_empty() {
        (base_path.to_owned(), query.or(base_query))
    } else if path.starts_with('/') {
        (without_dots(path), query)
    } else {
        let directory = base_path.rfind('/').map_or("/", |end| &base_path[..=end]);
        (without_dots(&format!("{directory}{path}")), query)
    };
    let mut uri = format!("{scheme}//{}{path}", current.site.authority());
    if let Some(query) = query {
        uri.push('?');
        uri.push_str(query);
    }
    uri
}

fn has_scheme(reference: &str) -> bool {
    let Some((scheme, _)) = reference.split_once(':') else { return false };
    scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'))
}

/// Applies `.` and `..` segments of an absolute path.
fn without_dots(path: &str) -> String {
    let mut kept: Vec<&str> = Vec::new();
    let mut segments = path.split('/').skip(1).peekable();
    while let Some(segment) = segments.next() {
        let is_last = segments.peek().is_none();
        match segment {
            "." | ".." => {
                if segment == ".." {
                    kept.pop();
                }
                if is_last {
                    kept.push("");
                }
            }
            _ => kept.push(segment),
        }
    }
    let mut result = String::with_capacity(path.len());
    for segment in kept {
        result.push('/');
        result.push_str(segment);
    }
    if result.is_empty() {
        result.push('/');
    }
    result
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;
    use proptest::prelude::*;

    use super::*;

    fn resolved(base: &str, reference: &str) -> String {
        resolve(&Target::parse(base).expect("valid"), reference)
    }

    #[test]
    fn references_resolve_against_the_current_uri() {
        let base = "http://a.test:81/b/c/d?q";
        for (reference, expected) in [
            ("g", "http://a.test:81/b/c/g"),
            ("./g?y=1", "http://a.test:81/b/c/g?y=1"),
            ("g/", "http://a.test:81/b/c/g/"),
            ("/g", "http://a.test:81/g"),
            ("//g.test/x", "http://g.test/x"),
            ("?y", "http://a.test:81/b/c/d?y"),
            ("", "http://a.test:81/b/c/d?q"),
            ("..", "http://a.test:81/b/"),
            ("../../../g", "http://a.test:81/g"),
            (".", "http://a.test:81/b/c/"),
            ("g#frag", "http://a.test:81/b/c/g"),
            ("https://x.test/y?z=http://h", "https://x.test/y?z=http://h"),
            ("./a:b", "http://a.test:81/b/c/a:b"),
            ("/a//b", "http://a.test:81/a//b"),
        ] {
            assert_eq!(resolved(base, reference), expected, "{reference}");
        }
    }

    #[test]
    fn what_a_uri_may_not_hold_is_encoded() {
        assert_eq!(clean("  /a b/é\"\\ ".as_bytes()), "/a%20b/%C3%A9%22%5C");
    }

    #[test]
    fn credentials_stay_behind() {
        let mut headers = HeaderMap::new();
        for name in [
            "authorization",
            "cookie",
            "x-api-key",
            "x-csrf-token",
            "my-secret",
            "accept",
            "x-plain",
        ] {
            headers.append(
                HeaderName::from_bytes(name.as_bytes()).expect("valid"),
                HeaderValue::from_static("v"),
            );
        }
        let mut marked = HeaderValue::from_static("v");
        marked.set_sensitive(true);
        headers.append("x-marked", marked);
        strip_credentials(&mut headers);
        let mut left: Vec<_> = headers.keys().map(HeaderName::as_str).collect();
        left.sort_unstable();
        assert_eq!(left, ["accept", "x-plain"]);
    }

    proptest! {
        #[test]
        fn whatever_a_location_holds_it_leads_to_a_uri_or_an_error(value: Vec<u8>) {
            let current = Target::parse("https://a.test/b/c?d").expect("valid");
            let text = resolve(&current, &clean(&value));
            prop_assert!(text.bytes().all(|byte| byte.is_ascii_graphic()));
            if let Ok(target) = Target::parse(&text) {
                prop_assert!(Target::parse(target.uri_text()).is_ok());
            }
        }
    }
}
