//! Where a request goes: a URI checked once, taken apart once.

use std::{mem, sync::Arc};

use http::{Uri, uri::PathAndQuery};
use memchr::{memchr, memchr2};

use super::{
    error::{ErrorKind, Fault},
    site::{Site, Sites},
};

/// The longest URI we send, in bytes.
const URI_BYTES_MAX: usize = 32 * 1024;

/// A checked `http` or `https` URI.
#[derive(Debug, Clone)]
pub(super) struct Target {
    pub(super) site: Arc<Site>,
    /// Begins with [`Site::start`]; what follows is path and query.
    text: String,
}

impl Target {
    /// Checks a URI; takes `uri` over if it is in our own form already and leaves it alone otherwise.
    pub(super) fn take(uri: &mut String, sites: &Sites) -> Result<Self, Fault> {
        let text = &uri[..memchr(b'#', uri.as_bytes()).unwrap_or(uri.len())];
        if text.len() > URI_BYTES_MAX {
            return Err(Fault::new(
                ErrorKind::InvalidUri,
                format_args!("longer than {URI_BYTES_MAX} bytes"),
            ));
        }
        let (start, rest) = text.split_at(path_at(text));
        let site = sites.find(start)?;
        check_path_and_query(rest)?;
        let has_path = rest.starts_with('/');
        let is_our_form = text.len() == uri.len() && start == site.start && has_path;
        let text = if is_our_form {
            mem::take(uri)
        } else {
            [site.start.as_str(), if has_path { "" } else { "/" }, rest].concat()
        };
        Ok(Self { site, text })
    }

    /// The path, which begins with a slash, and the query behind it.
    pub(super) fn path_and_query(&self) -> &str {
        self.text.get(self.site.start.len()..).unwrap_or_default()
    }

    /// The URI without user-info and fragment.
    pub(super) fn uri_text(&self) -> &str {
        &self.text
    }

    /// The same, when the exchange is over and nobody needs it here any more.
    pub(super) fn take_uri_text(&mut self) -> String {
        mem::take(&mut self.text)
    }

    /// For HTTP/2.
    pub(super) fn absolute_form(&self) -> Result<Uri, Fault> {
        self.text.parse().map_err(|cause| Fault::new(ErrorKind::InvalidUri, cause))
    }
}

#[cfg(test)]
impl Target {
    /// Checks a URI on its own.
    pub(super) fn parse(uri: &str) -> Result<Self, Fault> {
        Self::take(&mut uri.to_owned(), &Sites::default())
    }
}

/// Checks what stands behind host and port: a path, a query or nothing.
fn check_path_and_query(text: &str) -> Result<(), Fault> {
    if text.bytes().all(|byte| IS_PLAIN_IN_URI[usize::from(byte)]) {
        return Ok(());
    }
    let invalid = |cause| Fault::new(ErrorKind::InvalidUri, cause);
    if text.starts_with('/') {
        PathAndQuery::try_from(text).map_err(invalid)?;
    } else {
        PathAndQuery::try_from(format!("/{text}")).map_err(invalid)?;
    }
    Ok(())
}

/// Whether a byte may stand anywhere in path and query; of others the library knows where they may.
const IS_PLAIN_IN_URI: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < 128 {
        let is_other = matches!(byte as u8, b'"' | b'#' | b'<' | b'>' | b'`');
        table[byte] = (byte as u8).is_ascii_graphic() && !is_other;
        byte += 1;
    }
    table
};

/// Where the path or the query of a URI begins; its end if it has neither.
fn path_at(text: &str) -> usize {
    let bytes = text.as_bytes();
    let authority_at = match memchr(b':', bytes) {
        Some(colon) if bytes[colon..].starts_with(b"://") => colon + "://".len(),
        _ => 0,
    };
    match memchr2(b'/', b'?', &bytes[authority_at..]) {
        Some(length) => authority_at + length,
        None => bytes.len(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn our_own_form_is_taken_over_and_others_are_left_alone() {
        let sites = Sites::default();
        for (text, is_taken) in [
            ("http://h:81/x?y", true),
            ("http://h:81", false),
            ("http://H/", false),
            ("http://h/#f", false),
        ] {
            let mut uri = text.to_owned();
            let target = Target::take(&mut uri, &sites).expect("valid");
            assert_eq!(uri.is_empty(), is_taken, "{text}");
            assert!(is_taken || uri == text, "{text}");
            assert!(!target.uri_text().is_empty());
        }
        let mut uri = "http://h/a b".to_owned();
        assert!(Target::take(&mut uri, &sites).is_err());
        assert_eq!(uri, "http://h/a b");
    }

    #[test]
    fn user_info_and_fragment_are_dropped() {
        let target = Target::parse("http://me:pw@H.Test:8080/x?a=1#f").expect("valid");
        assert_eq!(target.uri_text(), "http://h.test:8080/x?a=1");
        assert_eq!(target.site.origin, "http://h.test:8080");
        assert_eq!(target.site.authority(), "h.test:8080");
        assert_eq!(target.path_and_query(), "/x?a=1");
    }

    #[test]
    fn the_port_of_the_scheme_is_implied() {
        let target = Target::parse("https://h.test").expect("valid");
        assert_eq!((target.site.port, target.site.authority()), (443, "h.test"));
        assert_eq!(target.site.origin, "https://h.test:443");
        assert_eq!(target.path_and_query(), "/");
        assert_eq!(Target::parse("http://h?x=1").expect("valid").uri_text(), "http://h/?x=1");
    }

    #[test]
    fn ipv6_hosts_keep_their_brackets_where_they_are_printed() {
        let target = Target::parse("http://[::1]:81/").expect("valid");
        assert_eq!((target.site.host.as_str(), target.site.port), ("::1", 81));
        assert_eq!(target.site.authority(), "[::1]:81");
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
            "http://..",
            "http://.h/",
            "http://a..b/",
            "file:///etc/passwd",
        ] {
            assert!(Target::parse(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn plain_bytes_may_stand_anywhere() {
        for byte in (0..=u8::MAX).filter(|byte| IS_PLAIN_IN_URI[usize::from(*byte)]) {
            let text = format!("/{0}?{0}", char::from(byte));
            assert!(PathAndQuery::try_from(text.as_str()).is_ok(), "{text}");
        }
        for text in ["/\"", "/é", "?`", "/{x}|^\\"] {
            assert!(check_path_and_query(text).is_ok(), "{text}");
        }
        for text in ["/`", "/<", "?>", "?\"", "/\u{7f}", "/ ", "?\n"] {
            assert!(check_path_and_query(text).is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn what_is_accepted_is_stable(text in "(https?://)?[ -~é]{0,40}") {
            if let Ok(target) = Target::parse(&text) {
                let again = Target::parse(target.uri_text()).expect("our own form is valid");
                prop_assert_eq!(again.uri_text(), target.uri_text());
                prop_assert_eq!(&again.site.origin, &target.site.origin);
                prop_assert!(!target.uri_text().contains('@') || target.path_and_query().contains('@'));
                prop_assert!(target.absolute_form().is_ok());
            }
        }
    }
}
