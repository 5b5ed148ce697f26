//! The egress guard: which hosts and addresses may be called, and by whom (SAF-8 to SAF-12).
//!
//! Names are judged before anything is resolved, addresses after; only addresses that were judged are
//! connected to, so a name that resolves differently a moment later gains nothing.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::{
    error::{ErrorKind, Fault},
    exchange::Guard,
    settings::{EgressSettings, SettingsError, ViaProxy},
    target::Target,
};

/// A host pattern of the settings (SAF-11).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostPattern {
    hosts: Hosts,
    port: Option<u16>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Hosts {
    Any,
    Exactly(String),
    /// `*.example.com`, stored as `.example.com`.
    Below(String),
    Network {
        address: IpAddr,
        prefix: u8,
    },
}

impl HostPattern {
    /// Reads `*`, `host`, `*.domain`, an address or a network, each but the last with an optional port.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim().to_ascii_lowercase();
        if let Some((address, prefix)) = text.split_once('/') {
            let address: IpAddr = address.parse().ok()?;
            let prefix: u8 = prefix.parse().ok()?;
            let prefix_max = if address.is_ipv4() { 32 } else { 128 };
            return (prefix <= prefix_max)
                .then_some(Self { hosts: Hosts::Network { address, prefix }, port: None });
        }
        let (host, port) = split_port(&text)?;
        let host = host.strip_suffix('.').filter(|host| *host != "*").unwrap_or(host);
        let hosts = if let Ok(address) = host.parse::<IpAddr>() {
            Hosts::Network { address, prefix: if address.is_ipv4() { 32 } else { 128 } }
        } else if host == "*" {
            Hosts::Any
        } else if let Some(domain) = host.strip_prefix('*') {
            Hosts::Below(Some(domain).filter(|d| d.len() > 1 && d.starts_with('.'))?.to_owned())
        } else {
            let is_name = !host.is_empty()
                && host
                    .bytes()
                    .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'.' | b'_'));
            Hosts::Exactly(Some(host).filter(|_| is_name)?.to_owned())
        };
        Some(Self { hosts, port })
    }

    /// Whether a host is meant: in lower case, without brackets and final dot.
    pub fn matches_host(&self, host: &str, port: u16) -> bool {
        self.matches_port(port)
            && match &self.hosts {
                Hosts::Any => true,
                Hosts::Exactly(name) => name == host,
                Hosts::Below(domain) => {
                    host.len() > domain.len() && host.ends_with(domain.as_str())
                }
                Hosts::Network { .. } => {
                    host.parse().is_ok_and(|address| self.matches_address(address, port))
                }
            }
    }

    fn matches_address(&self, found: IpAddr, port: u16) -> bool {
        match self.hosts {
            Hosts::Network { address, prefix } if self.matches_port(port) => {
                match (address, found.to_canonical()) {
                    (IpAddr::V4(a), IpAddr::V4(b)) => same_start(
                        u128::from(a.to_bits()) << 96,
                        u128::from(b.to_bits()) << 96,
                        prefix,
                    ),
                    (IpAddr::V6(a), IpAddr::V6(b)) => same_start(a.to_bits(), b.to_bits(), prefix),
                    _ => false,
                }
            }
            _ => false,
        }
    }

    fn matches_port(&self, port: u16) -> bool {
        self.port.is_none_or(|own| own == port)
    }
}

/// Splits `host:port`, `[v6]:port`, `host` and a bare IPv6 address.
fn split_port(text: &str) -> Option<(&str, Option<u16>)> {
    if let Some(rest) = text.strip_prefix('[') {
        let (host, port) = rest.split_once(']')?;
        let port = match port {
            "" => None,
            port => Some(port.strip_prefix(':')?.parse().ok()?),
        };
        return Some((host, port));
    }
    match text.split_once(':') {
        Some((_, port)) if port.contains(':') => Some((text, None)),
        Some((host, port)) => Some((host, Some(port.parse().ok()?))),
        None => Some((text, None)),
    }
}

fn same_start(a: u128, b: u128, bits: u8) -> bool {
    (a ^ b).checked_shr(128 - u32::from(bits)).unwrap_or(0) == 0
}

/// The egress rules of the settings.
#[derive(Debug, Clone, Default)]
pub(super) struct Egress {
    allow: Vec<HostPattern>,
    deny: Vec<HostPattern>,
    via_proxy: ViaProxy,
}

impl Egress {
    pub(super) fn new(settings: &EgressSettings) -> Result<Self, SettingsError> {
        Ok(Self {
            allow: parse_all("egress.allow", &settings.allow)?,
            deny: parse_all("egress.deny", &settings.deny)?,
            via_proxy: settings.via_proxy,
        })
    }

    /// Judges a target by name, or by address if the URI holds one.
    pub(super) fn judge_target(&self, target: &Target, guard: &Guard) -> Result<(), Fault> {
        let (host, port) = (target.site.host.as_str(), target.site.port);
        if any_host(&self.deny, host, port) {
            return Err(denied(target));
        }
        if let Guard::Restricted { allowed_hosts } = guard {
            let is_listed = any_host(&self.allow, host, port)
                || allowed_hosts.iter().any(|text| listed(text, host, port));
            if !is_listed {
                return Err(denied(target));
            }
        }
        match target.site.address {
            Some(address) if !self.permits(target, address, guard) => Err(denied(target)),
            _ => Ok(()),
        }
    }

    /// Judges where a redirect leads (UPS-38): what the operator wrote names the host, or the list does.
    pub(super) fn judge_redirect(
        &self,
        first: &Target,
        next: &Target,
        guard: &Guard,
    ) -> Result<(), Fault> {
        let (host, port) = (next.site.host.as_str(), next.site.port);
        match guard {
            Guard::Off if host != first.site.host && !any_host(&self.allow, host, port) => {
                Err(ErrorKind::RedirectAbroad { host: host.into() }.into())
            }
            // All that a restricted exchange calls is judged by its list.
            Guard::Off | Guard::Restricted { .. } => Ok(()),
        }
    }

    /// Whether a target that passed [`Egress::judge_target`] could still be refused for an address that its
    /// name has, and nobody else looks at it.
    pub(super) fn judges_behind_proxy(&self, target: &Target, guard: &Guard) -> bool {
        if self.via_proxy == ViaProxy::Trusted || target.site.address.is_some() {
            return false;
        }
        if self.deny.iter().any(|pattern| matches!(pattern.hosts, Hosts::Network { .. })) {
            return true;
        }
        match guard {
            Guard::Off => false,
            Guard::Restricted { .. } => !self.names(target),
        }
    }

    /// The list of hosts names this one, and not just all.
    fn names(&self, target: &Target) -> bool {
        self.allow.iter().any(|pattern| {
            // `*` opens the list of hosts, not the internal network.
            pattern.hosts != Hosts::Any && pattern.matches_host(&target.site.host, target.site.port)
        })
    }

    /// Judges one resolved address of a target that passed [`Egress::judge_target`].
    pub(super) fn permits(&self, target: &Target, address: IpAddr, guard: &Guard) -> bool {
        if self.deny.iter().any(|pattern| pattern.matches_address(address, target.site.port)) {
            return false;
        }
        match guard {
            Guard::Off => true,
            Guard::Restricted { .. } => {
                let is_listed =
                    |pattern: &HostPattern| pattern.matches_address(address, target.site.port);
                is_public(address) || self.names(target) || self.allow.iter().any(is_listed)
            }
        }
    }
}

pub(super) fn denied(target: &Target) -> Fault {
    ErrorKind::EgressDenied { host: target.site.host.as_str().into() }.into()
}

pub(super) fn parse_all(
    setting: &'static str,
    texts: &[String],
) -> Result<Vec<HostPattern>, SettingsError> {
    texts
        .iter()
        .map(|text| {
            HostPattern::parse(text).ok_or_else(|| SettingsError {
                setting,
                reason: format!("`{text}` is not a host pattern"),
            })
        })
        .collect()
}

/// Whether a list entry of an exchange matches; an entry that is no pattern matches nothing.
fn listed(text: &str, host: &str, port: u16) -> bool {
    // Most entries are plain names, which need no parsing.
    text.eq_ignore_ascii_case(host)
        || (text.contains(['*', ':', '/']) || text.ends_with('.'))
            && HostPattern::parse(text).is_some_and(|pattern| pattern.matches_host(host, port))
}

fn any_host(patterns: &[HostPattern], host: &str, port: u16) -> bool {
    patterns.iter().any(|pattern| pattern.matches_host(host, port))
}

/// Whether an address belongs to the public internet, also when an IPv4 address hides in an IPv6 one.
pub(super) fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    !(a == 0
        || address.is_private()
        || address.is_loopback()
        || address.is_link_local()
        || address.is_multicast()
        || address.is_documentation()
        || (a == 100 && (64..128).contains(&b))
        || (a == 192 && b == 0 && c == 0)
        || (a == 198 && (b == 18 || b == 19))
        || a >= 240)
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    let segments = address.segments();
    let embedded = |high: u16, low: u16| {
        let [a, b] = high.to_be_bytes();
        let [c, d] = low.to_be_bytes();
        is_public_v4(Ipv4Addr::new(a, b, c, d))
    };
    match segments {
        // Mapped and compatible IPv4, `::` and `::1` among them; NAT64; 6to4.
        [0, 0, 0, 0, 0, 0xffff | 0, high, low]
        | [0x64, 0xff9b, 0, 0, 0, 0, high, low]
        | [0x2002, high, low, ..] => embedded(high, low),
        // Other translation prefixes, discard, Teredo, benchmarking, documentation.
        [0x64, 0xff9b, ..] | [0x100, 0, 0, 0, ..] | [0x2001, 0 | 2 | 0xdb8, ..] | [0x3fff, ..] => {
            false
        }
        // Unique local, link local, site local, multicast.
        [first, ..] => {
            first & 0xfe00 != 0xfc00
                && first & 0xffc0 != 0xfe80
                && first & 0xffc0 != 0xfec0
                && first & 0xff00 != 0xff00
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn addresses_that_are_not_public_are_known() {
        for text in [
            "127.0.0.1",
            "10.1.2.3",
            "172.16.0.1",
            "192.168.1.1",
            "169.254.169.254",
            "0.0.0.0",
            "0.1.2.3",
            "100.64.0.1",
            "100.127.255.255",
            "224.0.0.1",
            "255.255.255.255",
            "198.18.0.1",
            "::",
            "::1",
            "::ffff:127.0.0.1",
            "::ffff:10.0.0.1",
            "::127.0.0.1",
            "fe80::1",
            "fc00::1",
            "fd12::1",
            "ff02::1",
            "64:ff9b::7f00:1",
            "2002:7f00:1::",
            "2001::1",
            "fec0::1",
        ] {
            assert!(!is_public(text.parse().expect("address")), "{text}");
        }
        for text in [
            "8.8.8.8",
            "100.63.0.1",
            "100.128.0.1",
            "172.32.0.1",
            "2606:4700::1111",
            "::ffff:8.8.8.8",
        ] {
            assert!(is_public(text.parse().expect("address")), "{text}");
        }
    }

    #[test]
    fn host_patterns_match_as_described() {
        for (pattern, host, port, expected) in [
            ("*", "x", 1, true),
            ("a.test", "a.test", 80, true),
            ("A.Test:81", "a.test", 81, true),
            ("a.test:81", "a.test", 80, false),
            ("*.a.test", "b.a.test", 80, true),
            ("*.a.test", "a.test", 80, false),
            ("*.a.test", "xa.test", 80, false),
            ("10.0.0.0/8", "10.9.8.7", 80, true),
            ("10.0.0.0/8", "11.9.8.7", 80, false),
            ("0.0.0.0/0", "11.9.8.7", 80, true),
            ("::1", "::1", 80, true),
            ("[::1]:81", "::1", 80, false),
            ("127.0.0.1", "127.0.0.1", 9, true),
        ] {
            let parsed = HostPattern::parse(pattern).expect(pattern);
            assert_eq!(parsed.matches_host(host, port), expected, "{pattern} {host}:{port}");
        }
        for pattern in ["", "a b", "*a.test", "*.", "1.2.3.4/33", "a:b", "x/8"] {
            assert_eq!(HostPattern::parse(pattern), None, "{pattern}");
        }
    }

    #[test]
    fn a_restricted_exchange_reaches_listed_public_hosts_only() {
        let settings = EgressSettings {
            allow: vec!["in.test".into()],
            deny: vec!["bad.test".into()],
            ..EgressSettings::default()
        };
        let egress = Egress::new(&settings).expect("valid");
        let guard = Guard::Restricted { allowed_hosts: Arc::from(["a.test".to_owned()]) };
        let judged =
            |uri: &str| egress.judge_target(&Target::parse(uri).expect("valid"), &guard).is_ok();
        assert!(judged("http://a.test/") && judged("http://in.test/"));
        assert!(
            !judged("http://b.test/")
                && !judged("http://127.0.0.1/")
                && !judged("http://bad.test/")
        );
        let local = "127.0.0.1".parse().expect("address");
        let permits =
            |uri: &str| egress.permits(&Target::parse(uri).expect("valid"), local, &guard);
        assert!(!permits("http://a.test/"), "listed, but not at a loopback address");
        assert!(permits("http://in.test/"), "the operator named the host");
        let target = Target::parse("http://bad.test/").expect("valid");
        assert!(egress.judge_target(&target, &Guard::Off).is_err(), "denied to everybody");
    }

    #[test]
    fn redirects_stay_at_the_host_or_go_where_the_list_says() {
        let allow = vec!["in.test".into(), "*.cdn.test".into()];
        let egress = Egress::new(&EgressSettings { allow, ..EgressSettings::default() });
        let egress = egress.expect("valid");
        let target = |uri: &str| Target::parse(uri).expect("valid");
        let first = target("http://a.test:81/x");
        for (next, is_allowed) in [
            ("http://a.test:81/y", true),
            ("https://A.test./", true),
            ("http://a.test:9000/", true),
            ("http://in.test/", true),
            ("http://b.cdn.test/", true),
            ("http://b.a.test/", false),
            ("http://b.test/", false),
            ("http://169.254.169.254/", false),
        ] {
            let judged = egress.judge_redirect(&first, &target(next), &Guard::Off);
            assert_eq!(judged.is_ok(), is_allowed, "{next}");
        }
    }

    proptest! {
        #[test]
        fn an_ipv4_address_is_judged_alike_however_it_is_written(bits: u32) {
            let address = Ipv4Addr::from(bits);
            let mapped = IpAddr::V6(address.to_ipv6_mapped());
            prop_assert_eq!(is_public(IpAddr::V4(address)), is_public(mapped));
        }

        #[test]
        fn a_network_contains_its_own_addresses(bits: u32, prefix in 0_u8..=32) {
            let address = Ipv4Addr::from(bits);
            let pattern = HostPattern::parse(&format!("{address}/{prefix}")).expect("a network");
            prop_assert!(pattern.matches_host(&address.to_string(), 80));
            let outside = Ipv4Addr::from(bits ^ 0x8000_0000);
            prop_assert_eq!(pattern.matches_host(&outside.to_string(), 80), prefix == 0);
        }

        #[test]
        fn any_text_is_a_pattern_or_not(text in "[ -~é]{0,20}") {
            if let Some(pattern) = HostPattern::parse(&text) {
                pattern.matches_host("a.test", 80);
            }
        }
    }
}
