//! Where a request goes: a URI checked once, taken apart once.

use std::fmt::Write;

use http::{HeaderValue, Uri, uri::PathAndQuery};

use super::error::{ErrorKind, Fault};

/// The longest URI we send, in bytes.
const URI_BYTES_MAX: usize = 32 * 1024;

/// A checked `http` or `https` URI.
#[derive(Debug, Clone)]
pub(super) struct Target {
    pub(super) is_https: bool,
    /// Lower case, without the brackets of an IPv6 address and without a final dot.
    pub(super) host: String,
    pub(super) port: u16,
    /// `scheme://host:port`, the port always present: the key of pools and of "same origin".
    pub(super) origin: String,
    path_and_query: PathAndQuery,
}

impl Target {
    pub(super) fn parse(text: &str) -> Result<Self, Fault> {
        let text = text.split('#').next().unwrap_or_default();
        if text.len() > URI_BYTES_MAX {
            return Err(Fault::new(
                ErrorKind::InvalidUri,
                format_args!("longer than {URI_BYTES_MAX} bytes"),
            ));
        }
        let uri: Uri = text.parse().map_err(|cause| Fault::new(ErrorKind::InvalidUri, cause))?;
        let is_https = match uri.scheme_str() {
            Some("http") => false,
            Some("https") => true,
            _ => return Err(Fault::new(ErrorKind::InvalidUri, "only `http` and `https` work")),
        };
        let authority = uri.authority().ok_or(ErrorKind::InvalidUri)?;
        let without_user = authority.as_str().rsplit('@').next().unwrap_or_default();
        let host = authority.host();
        let port = match without_user.get(host.len()..).unwrap_or_default() {
            "" | ":" if is_https => 443,
            "" | ":" => 80,
            text => text
                .strip_prefix(':')
                .and_then(|digits| digits.parse().ok())
                .filter(|port| *port != 0)
                .ok_or_else(|| Fault::new(ErrorKind::InvalidUri, "invalid port"))?,
        };
        let host = host.strip_prefix('[').and_then(|h| h.strip_suffix(']')).unwrap_or(host);
        let host = host.strip_suffix('.').unwrap_or(host).to_ascii_lowercase();
        if host.is_empty() {
            return Err(Fault::new(ErrorKind::InvalidUri, "no host"));
        }
        let mut origin = String::with_capacity(host.len() + 16);
        origin.push_str(if is_https { "https://" } else { "http://" });
        push_host(&mut origin, &host);
        push_port(&mut origin, port);
        let path_and_query = match uri.path_and_query() {
            Some(found) if found.as_str().starts_with('/') => found.clone(),
            Some(found) => format!("/{}", found.as_str())
                .parse()
                .map_err(|cause| Fault::new(ErrorKind::InvalidUri, cause))?,
            None => PathAndQuery::from_static("/"),
        };
        Ok(Self { is_https, host, port, origin, path_and_query })
    }

    pub(super) fn path_and_query(&self) -> &PathAndQuery {
        &self.path_and_query
    }

    /// The value of `host`: the port only if it is not the scheme's own.
    pub(super) fn host_header(&self) -> Result<HeaderValue, Fault> {
        HeaderValue::from_str(&self.authority()).map_err(|_| ErrorKind::InvalidUri.into())
    }

    /// `host` or `host:port`, IPv6 addresses in brackets.
    pub(super) fn authority(&self) -> String {
        let mut authority = String::with_capacity(self.host.len() + 8);
        push_host(&mut authority, &self.host);
        if self.port != if self.is_https { 443 } else { 80 } {
            push_port(&mut authority, self.port);
        }
        authority
    }

    /// `host:port`, the port always present.
    pub(super) fn host_and_port(&self) -> &str {
        self.origin.split_once("://").map_or("", |(_, rest)| rest)
    }

    /// The URI without user-info and fragment.
    pub(super) fn uri_text(&self) -> String {
        let scheme = if self.is_https { "https://" } else { "http://" };
        format!("{scheme}{}{}", self.authority(), self.path_and_query)
    }

    /// For direct HTTP/1.1 requests: path and query only.
    pub(super) fn origin_form(&self) -> Uri {
        Uri::from(self.path_and_query.clone())
    }

    /// For proxies and HTTP/2.
    pub(super) fn absolute_form(&self) -> Result<Uri, Fault> {
        self.uri_text().parse().map_err(|cause| Fault::new(ErrorKind::InvalidUri, cause))
    }
}

fn push_host(text: &mut String, host: &str) {
    if host.contains(':') {
        text.push('[');
        text.push_str(host);
        text.push(']');
    } else {
        text.push_str(host);
    }
}

fn push_port(text: &mut String, port: u16) {
    // Writing to a string cannot fail.
    write!(text, ":{port}").ok();
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn user_info_and_fragment_are_dropped() {
        let target = Target::parse("http://me:pw@H.Test:8080/x?a=1#f").expect("valid");
        assert_eq!(target.uri_text(), "http://h.test:8080/x?a=1");
        assert_eq!(target.origin, "http://h.test:8080");
        assert_eq!(target.authority(), "h.test:8080");
        assert_eq!(target.origin_form().to_string(), "/x?a=1");
    }

    #[test]
    fn the_port_of_the_scheme_is_implied() {
        let target = Target::parse("https://h.test").expect("valid");
        assert_eq!((target.port, target.authority().as_str()), (443, "h.test"));
        assert_eq!(target.origin, "https://h.test:443");
        assert_eq!(target.origin_form().to_string(), "/");
        assert_eq!(Target::parse("http://h?x=1").expect("valid").uri_text(), "http://h/?x=1");
    }

    #[test]
    fn ipv6_hosts_keep_their_brackets_where_they_are_printed() {
        let target = Target::parse("http://[::1]:81/").expect("valid");
        assert_eq!((target.host.as_str(), target.port), ("::1", 81));
        assert_eq!(target.authority(), "[::1]:81");
    }

    #[test]
    fn what_is_not_http_is_refused() {
        for text in [
            "",
            "/x",
            "h.test/x",
            "ftp://h/x",
            "http://",
            "http:///x",
            "http://h:0/",
            "http://h:99999/",
            "http://h:x/",
            "http://a b/",
            "http://h/\u{0}",
            "http://h/a b",
            "file:///etc/passwd",
        ] {
            assert!(Target::parse(text).is_err(), "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn what_is_accepted_is_stable(text in "(https?://)?[ -~é]{0,40}") {
            if let Ok(target) = Target::parse(&text) {
                let again = Target::parse(&target.uri_text()).expect("our own form is valid");
                prop_assert_eq!(again.uri_text(), target.uri_text());
                prop_assert_eq!(again.origin, target.origin.clone());
                prop_assert!(!target.uri_text().contains('@') || target.path_and_query().as_str().contains('@'));
                prop_assert!(target.absolute_form().is_ok() && target.host_header().is_ok());
            }
        }
    }
}
