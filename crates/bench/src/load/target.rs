//! Where load goes: an address that was resolved once, and the request that is sent there.
//!
//! A load generator is a weapon, so everything but loopback is refused unless the user says otherwise,
//! and even then is bounded ([`limits`](crate::limits)). The name is resolved once; nothing can
//! point it elsewhere later.

use std::net::{SocketAddr, ToSocketAddrs};

use bytes::Bytes;
use hyper::{
    HeaderMap, Method, Uri,
    header::{HOST, HeaderName, HeaderValue},
};

use crate::error::{BenchError, usage};

/// Header lines that a user may add.
const HEADERS_MAX: usize = 100;

/// A request as the user describes it.
#[derive(Debug, Clone, Default)]
pub struct TargetOptions {
    /// `http://host[:port]/path?query`.
    pub url: String,
    /// The method; GET without.
    pub method: Option<String>,
    /// Lines `Name: value`.
    pub headers: Vec<String>,
    /// The body.
    pub body: Bytes,
    /// Whether the host may be another one than this.
    pub allows_remote: bool,
}

/// A request, ready to be sent any number of times.
#[derive(Debug, Clone)]
pub struct Target {
    /// The URL, for messages.
    pub url: String,
    /// The addresses of the host, to be tried in order.
    pub addresses: Vec<SocketAddr>,
    /// Whether all of them are this machine.
    pub is_loopback: bool,
    pub(super) method: Method,
    pub(super) path: Uri,
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
    /// What every answer must be, if that is known.
    pub(super) expected: Option<Bytes>,
}

impl Target {
    /// Understands a description.
    ///
    /// # Errors
    /// It is no URL of HTTP, the host has no address, or is not this machine and `allows_remote` is
    /// not set.
    pub fn new(options: &TargetOptions) -> Result<Self, BenchError> {
        let url = &options.url;
        if !url.contains("://") {
            return Err(usage(format!("`{url}` does not begin with `http://`")));
        }
        let uri: Uri = url.parse().map_err(|error| usage(format!("`{url}` is no URL: {error}")))?;
        match uri.scheme_str() {
            Some("http") => {}
            Some("https") => {
                return Err(usage(
                    "the load generator speaks plain HTTP only; use `http://` or put a proxy that \
                     ends TLS in front",
                ));
            }
            _ => return Err(usage(format!("`{url}` does not begin with `http://`"))),
        }
        let authority = uri.authority().ok_or_else(|| usage(format!("`{url}` has no host")))?;
        if authority.as_str().contains('@') {
            return Err(usage("credentials in a URL are not sent; use `--header authorization:…`"));
        }
        let host = authority.host().trim_start_matches('[').trim_end_matches(']');
        let addresses: Vec<SocketAddr> = (host, authority.port_u16().unwrap_or(80))
            .to_socket_addrs()
            .map_err(|error| usage(format!("cannot resolve `{host}`: {error}")))?
            .collect();
        if addresses.is_empty() {
            return Err(usage(format!("`{host}` has no address")));
        }
        let is_loopback = addresses.iter().all(|address| address.ip().to_canonical().is_loopback());
        if !is_loopback && !options.allows_remote {
            return Err(usage(format!(
                "`{host}` is not this machine; load goes elsewhere only with `--allow-remote`, and \
                 only with the consent of whoever runs it"
            )));
        }
        let mut headers = header_lines(&options.headers)?;
        if !headers.contains_key(HOST) {
            let value = HeaderValue::from_str(authority.as_str());
            headers.insert(HOST, value.map_err(|_| usage(format!("`{url}` has a bad host")))?);
        }
        let method = options.method.as_deref().unwrap_or("GET");
        let method = Method::from_bytes(method.as_bytes())
            .map_err(|_| usage(format!("`{method}` is no method")))?;
        let path = uri.path_and_query().map_or("/", |path| path.as_str());
        let path = path.parse().map_err(|error| usage(format!("`{url}`: {error}")))?;
        Ok(Self {
            url: url.clone(),
            addresses,
            is_loopback,
            method,
            path,
            headers,
            body: options.body.clone(),
            expected: None,
        })
    }

    /// A GET to a server of this measurement.
    pub(crate) fn own(address: SocketAddr, path: &str) -> Result<Self, BenchError> {
        Self::new(&TargetOptions {
            url: format!("http://{address}{path}"),
            ..TargetOptions::default()
        })
    }

    /// The same target; answers with another body count as errors.
    #[must_use]
    pub fn expecting(mut self, body: Bytes) -> Self {
        self.expected = Some(body);
        self
    }
}

fn header_lines(lines: &[String]) -> Result<HeaderMap, BenchError> {
    if lines.len() > HEADERS_MAX {
        return Err(usage(format!("more than {HEADERS_MAX} headers")));
    }
    let mut headers = HeaderMap::new();
    for line in lines {
        let bad = || usage(format!("`{line}` is no header; write `Name: value`"));
        let (name, value) = line.split_once(':').ok_or_else(bad)?;
        let name = HeaderName::from_bytes(name.trim().as_bytes()).map_err(|_| bad())?;
        headers.append(name, HeaderValue::from_str(value.trim()).map_err(|_| bad())?);
    }
    Ok(headers)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(url: &str) -> Result<Target, BenchError> {
        Target::new(&TargetOptions { url: url.to_owned(), ..TargetOptions::default() })
    }

    #[test]
    fn every_spelling_of_this_machine_is_loopback() {
        for host in ["127.0.0.1", "127.9.9.9:81", "[::1]:8080", "[::ffff:127.0.0.1]:8080"] {
            assert!(target(&format!("http://{host}/x")).unwrap().is_loopback, "{host}");
        }
    }

    #[test]
    fn other_machines_need_consent() {
        for host in ["192.0.2.1", "10.0.0.1:8080", "[2001:db8::1]", "0.0.0.0"] {
            let error = target(&format!("http://{host}/")).unwrap_err();
            assert!(error.to_string().contains("--allow-remote"), "{host}: {error}");
        }
        let options = TargetOptions {
            url: "http://192.0.2.1/".to_owned(),
            allows_remote: true,
            ..TargetOptions::default()
        };
        assert!(!Target::new(&options).unwrap().is_loopback);
    }

    #[test]
    fn what_is_no_plain_url_is_refused_by_name() {
        let cases = [
            ("127.0.0.1/x", "does not begin with `http://`"),
            ("https://127.0.0.1/", "plain HTTP only"),
            ("http://me:pw@127.0.0.1/", "credentials"),
            ("http://[::1/", "is no URL"),
        ];
        for (url, reason) in cases {
            let error = target(url).unwrap_err().to_string();
            assert!(error.contains(reason), "{url}: {error}");
        }
    }

    #[test]
    fn headers_are_lines() {
        let lines = ["Accept: text/xml".to_owned(), "x-a:1".to_owned()];
        assert_eq!(header_lines(&lines).unwrap().len(), 2);
        for bad in ["nothing", "a b: c", "a: b\nc"] {
            assert!(header_lines(&[bad.to_owned()]).is_err(), "{bad}");
        }
    }
}
