//! Upstream sites: scheme, host and port, worked out once and then shared by all exchanges with them.
//!
//! In comes the beginning of a URI (`http://host:port`), out goes a shared [`Site`] with everything that an
//! exchange needs of it: pool key, `host` header, address. Few sites get most of the exchanges, so they are
//! remembered, up to a fixed number; beginnings with user-info or of unusual length are not.

use std::{
    collections::HashMap,
    fmt::Write,
    net::IpAddr,
    sync::{Arc, Mutex, PoisonError},
};

use foldhash::fast::RandomState;
use http::{HeaderValue, Uri};

use super::{
    error::{ErrorKind, Fault},
    old_ports::OldPorts,
};

/// How many beginnings of URIs are remembered; one more and all are forgotten.
const REMEMBERED_MAX: usize = 1024;

/// The longest beginning of a URI that is remembered, in bytes: a host name and what surrounds it.
const REMEMBERED_BYTES_MAX: usize = 288;

/// An upstream's scheme, host and port.
#[derive(Debug)]
pub(super) struct Site {
    pub(super) is_https: bool,
    /// Lower case, without the brackets of an IPv6 address and without a final dot.
    pub(super) host: String,
    /// The host if it is an address.
    pub(super) address: Option<IpAddr>,
    pub(super) port: u16,
    /// `scheme://host:port`, the port always present: the key of pools and of "same origin".
    pub(super) origin: String,
    /// `scheme://host`, followed by the port if it is not the scheme's own: how our URIs begin.
    pub(super) start: String,
    /// The value of `host`: the port only if it is not the scheme's own.
    pub(super) host_header: HeaderValue,
}

impl Site {
    /// Checks the beginning of a URI, up to where its path begins.
    fn parse(start: &str, old_ports: Option<&OldPorts>) -> Result<Self, Fault> {
        let uri: Uri = start.parse().map_err(|cause| Fault::new(ErrorKind::InvalidUri, cause))?;
        let is_https = match uri.scheme_str() {
            Some("http") => false,
            Some("https") => true,
            _ => return Err(Fault::new(ErrorKind::InvalidUri, "only `http` and `https` work")),
        };
        let authority = uri.authority().ok_or(ErrorKind::InvalidUri)?;
        let without_user = authority.as_str().rsplit('@').next().unwrap_or_default();
        let host = authority.host();
        let implied_port = if is_https { 443 } else { 80 };
        let port = match without_user.get(host.len()..).unwrap_or_default() {
            "" | ":" => implied_port,
            text => text
                .strip_prefix(':')
                .and_then(|digits| match old_ports {
                    None => digits.parse().ok(),
                    Some(old_ports) => {
                        let place = || {
                            format!("{}://{host}:{digits}", uri.scheme_str().unwrap_or_default())
                        };
                        digits.parse().ok().map(|written| old_ports.find(written, place))
                    }
                })
                .filter(|port| *port != 0)
                .ok_or_else(|| Fault::new(ErrorKind::InvalidUri, "invalid port"))?,
        };
        let host = host.strip_prefix('[').and_then(|h| h.strip_suffix(']')).unwrap_or(host);
        let host = host.strip_suffix('.').unwrap_or(host).to_ascii_lowercase();
        if host.is_empty() {
            return Err(Fault::new(ErrorKind::InvalidUri, "no host"));
        }
        if host.split('.').any(str::is_empty) {
            return Err(Fault::new(ErrorKind::InvalidUri, "a host with nothing between two dots"));
        }
        let mut origin = String::with_capacity(host.len() + 16);
        origin.push_str(if is_https { "https://" } else { "http://" });
        let host_at = origin.len();
        push_host(&mut origin, &host);
        let mut start = origin.clone();
        push_port(&mut origin, port);
        if port != implied_port {
            push_port(&mut start, port);
        }
        let host_header =
            HeaderValue::from_str(&start[host_at..]).map_err(|_| ErrorKind::InvalidUri)?;
        let address = host.parse().ok();
        Ok(Self { is_https, host, address, port, origin, start, host_header })
    }

    /// `host` or `host:port`, IPv6 addresses in brackets.
    pub(super) fn authority(&self) -> &str {
        self.start.split_once("://").map_or("", |(_, rest)| rest)
    }

    /// `host:port`, the port always present.
    pub(super) fn host_and_port(&self) -> &str {
        self.origin.split_once("://").map_or("", |(_, rest)| rest)
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

/// The sites a transport has met.
#[derive(Debug, Default)]
pub(super) struct Sites {
    old_ports: Option<Arc<OldPorts>>,
    by_start: Mutex<HashMap<Box<str>, Arc<Site>, RandomState>>,
}

impl Sites {
    /// None yet; with old ports, those above 65535 are sites, too.
    pub(super) fn new(old_ports: Option<Arc<OldPorts>>) -> Self {
        Self { old_ports, ..Self::default() }
    }

    /// The site of a URI with this beginning.
    pub(super) fn find(&self, start: &str) -> Result<Arc<Site>, Fault> {
        // No code under this lock panics; should it ever, a map of sites is still one.
        let mut by_start = self.by_start.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(site) = by_start.get(start) {
            return Ok(Arc::clone(site));
        }
        let site = Arc::new(Site::parse(start, self.old_ports.as_deref())?);
        if start.len() <= REMEMBERED_BYTES_MAX && !start.contains('@') {
            if by_start.len() >= REMEMBERED_MAX {
                by_start.clear();
            }
            by_start.insert(start.into(), Arc::clone(&site));
        }
        Ok(site)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_site_is_worked_out_once() {
        let sites = Sites::default();
        let first = sites.find("http://h.test:81").expect("valid");
        let second = sites.find("http://h.test:81").expect("valid");
        assert!(Arc::ptr_eq(&first, &second));
        assert_eq!(sites.find("http://H.test:81").expect("valid").origin, first.origin);
    }

    #[test]
    fn a_port_that_is_none_is_one_where_old_ones_are() {
        let old = Arc::<OldPorts>::default();
        let start = "http://h.test:80126";
        assert!(Sites::default().find(start).is_err());
        let site = Sites::new(Some(Arc::clone(&old))).find(start).expect("valid");
        assert_eq!((site.port, &*site.start), (14_590, "http://h.test:14590"));
        assert_eq!(old.met()[0].place, start);
        assert!(Sites::new(Some(old)).find("http://h.test:131072").is_err(), "that is 0");
    }

    #[test]
    fn neither_user_info_nor_a_mistake_is_remembered() {
        let sites = Sites::default();
        assert_eq!(sites.find("http://me:pw@h.test").expect("valid").origin, "http://h.test:80");
        assert!(sites.find("ftp://h.test").is_err());
        assert!(sites.by_start.lock().expect("not poisoned").is_empty());
    }

    #[test]
    fn the_number_of_remembered_sites_is_bounded() {
        let sites = Sites::default();
        for port in 1..=3000 {
            sites.find(&format!("http://h.test:{port}")).expect("valid");
            assert!(sites.by_start.lock().expect("not poisoned").len() <= REMEMBERED_MAX);
        }
    }
}
