//! Whose requests may drive scripts: the names of this server, and the pages that may ask it.
//!
//! In: the headers of a request. Out: a [`Visitor`], or why it is refused. A browser sends requests for
//! any page that asks it to, with the network of its user: so a page of somebody else must not run
//! scripts, and a foreign name that is pointed to this server (DNS rebinding) must not make such a page
//! look like one of ours (SAF-28, SAF-29). Programs send none of these headers and are let in. Routes
//! are published, so nothing of this holds for them.

use std::net::IpAddr;

use hyper::{
    HeaderMap,
    header::{self, HeaderName, HeaderValue},
};
use qlio_engine::transport::HostPattern;

use super::{failure::Failure, forwarded::ForwardedHeader};

/// Where a browser says that a request comes from, if not from the page that it goes to.
const FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// Stands for all origins.
const ANY: &str = "*";

/// Settings of whom the server trusts.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TrustSettings {
    /// Names of this server, beside addresses and `localhost`, as patterns.
    pub hosts: Vec<String>,
    /// Origins whose pages may run scripts, such as `https://console.example`, or `*` for all; pages of
    /// this server always may.
    pub origins: Vec<String>,
    /// Networks of the proxies that are believed whose requests they pass on.
    pub proxies: Vec<String>,
    /// The header in which they say it.
    pub forwarded: ForwardedHeader,
}

/// Who sent a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Visitor {
    /// A program, or a page of this server.
    Own,
    /// A page of a listed origin.
    Listed,
}

/// Judges requests by their headers.
#[derive(Debug, Clone, Default)]
pub struct Gate {
    is_dev: bool,
    hosts: Vec<HostPattern>,
    origins: Vec<String>,
}

impl Gate {
    /// The rules of these settings. What is no pattern matches nothing; reading the settings has told.
    pub fn new(settings: &TrustSettings, is_dev: bool) -> Self {
        let hosts = settings.hosts.iter().filter_map(|text| HostPattern::parse(text)).collect();
        Self { is_dev, hosts, origins: settings.origins.clone() }
    }

    /// Whether the server runs in development mode.
    pub fn is_dev(&self) -> bool {
        self.is_dev
    }

    /// Lets any request in, but in development mode only one that asks for a name of this server:
    /// what is told there is for this machine.
    pub fn check(&self, headers: &HeaderMap) -> Result<(), Failure> {
        if self.is_dev { self.check_host(headers) } else { Ok(()) }
    }

    /// Lets in who may run scripts.
    pub fn admit(&self, headers: &HeaderMap) -> Result<Visitor, Failure> {
        self.check_host(headers)?;
        let page = headers.get(header::ORIGIN).or_else(|| headers.get(header::REFERER));
        let origin = page.map(|page| origin_of(page.to_str().unwrap_or_default()));
        let is_own_page = origin.is_none_or(|origin| is_same_host(origin, headers));
        let site = headers.get(FETCH_SITE).map(HeaderValue::as_bytes);
        if is_own_page && matches!(site, None | Some(b"same-origin" | b"none")) {
            return Ok(Visitor::Own);
        }
        let is_listed = |listed: &String| {
            listed == ANY || origin.is_some_and(|origin| listed.eq_ignore_ascii_case(origin))
        };
        if self.origins.iter().any(is_listed) {
            return Ok(Visitor::Listed);
        }
        Err(Failure::ForeignPage)
    }

    fn check_host(&self, headers: &HeaderMap) -> Result<(), Failure> {
        // Only HTTP/1.0 has requests without a host, and no browser speaks that.
        let Some(host) = headers.get(header::HOST) else { return Ok(()) };
        let host = host.to_str().unwrap_or_default();
        if self.is_own_host(host) {
            return Ok(());
        }
        Err(Failure::ForeignHost { host: host.to_owned() })
    }

    /// An address cannot be pointed elsewhere, so it is ours; of development mode, which listens on
    /// loopback, only those of loopback are.
    fn is_own_host(&self, host: &str) -> bool {
        let (name, port) = split_port(host);
        let bare = name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or(name);
        if let Ok(address) = bare.parse::<IpAddr>()
            && (!self.is_dev || address.to_canonical().is_loopback())
        {
            return true;
        }
        let bare = bare.strip_suffix('.').unwrap_or(bare).to_ascii_lowercase();
        bare == "localhost"
            || self.hosts.iter().any(|pattern| pattern.matches_host(&bare, port.unwrap_or(80)))
    }
}

/// Whether a text is an origin, or stands for all of them.
pub(crate) fn is_origin_pattern(text: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"-._:[]".contains(&byte);
    text == ANY
        || text.split_once("://").is_some_and(|(scheme, authority)| {
            matches!(scheme.to_ascii_lowercase().as_str(), "http" | "https")
                && !authority.is_empty()
                && authority.bytes().all(is_part)
        })
}

/// The origin that a URI begins with, or the text as it is.
fn origin_of(uri: &str) -> &str {
    let authority_at = uri.find("://").map_or(0, |at| at + 3);
    let end = uri[authority_at..].find(['/', '?', '#']);
    end.map_or(uri, |end| &uri[..authority_at + end])
}

/// Whether an origin is the host that was asked. The scheme is not compared: TLS may have ended before
/// us.
fn is_same_host(origin: &str, headers: &HeaderMap) -> bool {
    let Some((scheme, authority)) = origin.split_once("://") else { return false };
    let default_port = if scheme.eq_ignore_ascii_case("https") { ":443" } else { ":80" };
    let without_port = |host: &str| host.strip_suffix(default_port).unwrap_or(host).to_lowercase();
    let host = headers.get(header::HOST).and_then(|host| host.to_str().ok());
    host.is_some_and(|host| without_port(host) == without_port(authority))
}

/// A `host` header as name and port; an address of version 6 keeps its brackets.
fn split_port(host: &str) -> (&str, Option<u16>) {
    match host.rsplit_once(':') {
        Some((name, port)) if !port.contains(']') => {
            port.parse().map_or((host, None), |port| (name, Some(port)))
        }
        _ => (host, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(lines: &[(&'static str, &'static str)]) -> HeaderMap {
        let header = |(name, value): &(&'static str, &'static str)| {
            (HeaderName::from_static(name), HeaderValue::from_static(value))
        };
        lines.iter().map(header).collect()
    }

    fn gate(is_dev: bool, hosts: &[&str], origins: &[&str]) -> Gate {
        let texts = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
        let (hosts, origins) = (texts(hosts), texts(origins));
        Gate::new(&TrustSettings { hosts, origins, ..TrustSettings::default() }, is_dev)
    }

    fn is_admitted(gate: &Gate, lines: &[(&'static str, &'static str)]) -> bool {
        gate.admit(&headers(lines)).is_ok()
    }

    #[test]
    fn in_development_only_loopback_and_listed_names_are_ours() {
        let dev = gate(true, &["shop.test", "*.dev.test:3000", "10.0.0.0/8"], &[]);
        for host in [
            "localhost",
            "LOCALHOST:3000",
            "localhost.:3000",
            "127.0.0.1",
            "127.9.9.9:80",
            "[::1]",
            "[::1]:3000",
            "[::ffff:127.0.0.1]:1",
            "shop.test",
            "Shop.Test:8080",
            "a.dev.test:3000",
            "10.1.2.3:3000",
        ] {
            assert!(dev.check(&headers(&[("host", host)])).is_ok(), "{host}");
        }
        for host in [
            "evil.test",
            "evil.test:3000",
            "localhost.evil.test",
            "127.0.0.1.evil.test",
            "0.0.0.0:3000",
            "192.0.2.1",
            "[2001:db8::1]:3000",
            "a.dev.test",
            "dev.test:3000",
            "notshop.test",
            "127.0.0.1:99999",
            "2130706433",
            "",
        ] {
            assert!(dev.check(&headers(&[("host", host)])).is_err(), "{host}");
        }
        assert!(dev.check(&headers(&[])).is_ok());
    }

    #[test]
    fn elsewhere_names_matter_to_scripts_only_and_addresses_are_ours() {
        let public = gate(false, &["api.test"], &[]);
        assert!(public.check(&headers(&[("host", "evil.test")])).is_ok());
        for host in ["api.test", "api.test:3000", "192.0.2.1:80", "[2001:db8::1]", "localhost:1"] {
            assert!(is_admitted(&public, &[("host", host)]), "{host}");
        }
        for host in ["evil.test", "192.0.2.1.evil.test", "api.test.evil.test"] {
            assert!(!is_admitted(&public, &[("host", host)]), "{host}");
        }
    }

    #[test]
    fn pages_of_the_same_host_and_of_listed_origins_are_let_in() {
        const HOST: (&str, &str) = ("host", "localhost:3000");
        let from = |origins: &[&str], lines: &[(&'static str, &'static str)]| {
            let lines = [&[HOST], lines].concat();
            gate(true, &[], origins).admit(&headers(&lines)).ok()
        };
        let own = Some(Visitor::Own);
        assert_eq!(from(&[], &[]), own);
        assert_eq!(from(&[], &[("origin", "http://localhost:3000")]), own);
        assert_eq!(from(&[], &[("origin", "https://LOCALHOST:3000")]), own);
        assert_eq!(from(&[], &[("referer", "http://localhost:3000/console?s=1")]), own);
        assert_eq!(from(&[], &[("sec-fetch-site", "none")]), own);
        let same = [("sec-fetch-site", "same-origin"), ("origin", "http://localhost:3000")];
        assert_eq!(from(&[], &same), own);
        for lines in [
            &[("origin", "http://localhost")][..],
            &[("origin", "http://localhost:3001")],
            &[("origin", "https://evil.test")],
            &[("origin", "null")],
            &[("origin", "")],
            &[("referer", "https://evil.test/localhost:3000")],
            &[("referer", "about:client")],
            &[("sec-fetch-site", "cross-site")],
            &[("sec-fetch-site", "same-site")],
            &[("sec-fetch-site", "same-planet")],
            &[("sec-fetch-site", "cross-site"), ("origin", "http://localhost:3000")],
            &[("sec-fetch-site", "none"), ("origin", "https://evil.test")],
        ] {
            assert_eq!(from(&[], lines), None, "{lines:?}");
            assert_eq!(from(&["*"], lines), Some(Visitor::Listed), "{lines:?}");
        }
        let listed = ["https://b.test", "https://a.test:8443"];
        for lines in [
            &[("origin", "https://A.test:8443"), ("sec-fetch-site", "cross-site")][..],
            &[("origin", "https://b.test"), ("sec-fetch-site", "same-site")],
            &[("referer", "https://b.test/any?q")],
        ] {
            assert_eq!(from(&listed, lines), Some(Visitor::Listed), "{lines:?}");
        }
        assert_eq!(from(&listed, &[("origin", "https://a.test")]), None);
    }

    #[test]
    fn an_origin_has_a_scheme_and_a_host_and_nothing_else() {
        for text in ["*", "https://a.test", "http://localhost:3000", "HTTPS://[::1]:1"] {
            assert!(is_origin_pattern(text), "{text}");
        }
        for text in
            ["", "a.test", "https://", "https://a.test/", "ftp://a.test", "null", "https://*.a"]
        {
            assert!(!is_origin_pattern(text), "{text}");
        }
    }
}
