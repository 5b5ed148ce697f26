//! Whose request it is that a proxy passes on.
//!
//! In: the address that a connection comes from, and the headers of a request. Out: the address of the client.
//! Anybody can send these headers, so they are believed only of proxies that the settings name: from the right,
//! where the nearest proxy has written, up to the first address that is no such proxy (LIS-14). One header is
//! believed, not whichever is there: a proxy that writes one passes on what clients send in the other.

use std::{net::IpAddr, sync::Arc};

use hyper::{
    HeaderMap,
    header::{self, HeaderName},
};

const X_FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");

/// Proxies in a row that are followed.
const PROXIES_MAX: usize = 32;

/// The header that proxies write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ForwardedHeader {
    /// `X-Forwarded-For`
    #[default]
    XForwardedFor,
    /// `Forwarded` (RFC 7239)
    Forwarded,
}

/// Networks of addresses.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Networks(Vec<(IpAddr, u8)>);

impl Networks {
    /// The networks of these texts. What is none matches nothing; reading the settings has told.
    pub fn new(texts: &[String]) -> Self {
        Self(texts.iter().filter_map(|text| parse_network(text)).collect())
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether an address is in one of them.
    pub fn contain(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        self.0.iter().any(|(network, prefix)| match (network, address) {
            (IpAddr::V4(network), IpAddr::V4(address)) => {
                let shift = 32 - u32::from(*prefix);
                (network.to_bits() ^ address.to_bits()).checked_shr(shift).unwrap_or(0) == 0
            }
            (IpAddr::V6(network), IpAddr::V6(address)) => {
                let shift = 128 - u32::from(*prefix);
                (network.to_bits() ^ address.to_bits()).checked_shr(shift).unwrap_or(0) == 0
            }
            _ => false,
        })
    }
}

/// Whether a text is an address or a network.
pub(crate) fn is_network(text: &str) -> bool {
    parse_network(text).is_some()
}

fn parse_network(text: &str) -> Option<(IpAddr, u8)> {
    let (address, prefix) = match text.split_once('/') {
        Some((address, prefix)) => (address.parse::<IpAddr>().ok()?, Some(prefix)),
        None => (text.parse::<IpAddr>().ok()?, None),
    };
    let most = if address.is_ipv4() { 32 } else { 128 };
    let prefix = match prefix {
        Some(prefix) => prefix.parse().ok().filter(|prefix| *prefix <= most)?,
        None => most,
    };
    Some((address, prefix))
}

/// What is believed of proxies.
#[derive(Debug, Clone, Default)]
pub struct Forwarded {
    /// The proxies.
    pub proxies: Arc<Networks>,
    /// What they write.
    pub header: ForwardedHeader,
}

impl Forwarded {
    /// The client behind a connection from this address.
    pub fn client(&self, peer: IpAddr, headers: &HeaderMap) -> IpAddr {
        if self.proxies.is_empty() || !self.proxies.contain(peer) {
            return peer;
        }
        let name = match self.header {
            ForwardedHeader::XForwardedFor => X_FORWARDED_FOR,
            ForwardedHeader::Forwarded => header::FORWARDED,
        };
        let lines = headers.get_all(name).iter().rev();
        let texts = lines.flat_map(|line| line.to_str().unwrap_or_default().rsplit(','));
        let mut client = peer;
        for text in texts.take(PROXIES_MAX) {
            let found = match self.header {
                ForwardedHeader::XForwardedFor => address_of(text),
                ForwardedHeader::Forwarded => forwarded_for(text),
            };
            // Who is not named is behind the proxy that does not name it.
            let Some(found) = found else { break };
            client = found;
            if !self.proxies.contain(found) {
                break;
            }
        }
        client
    }
}

/// The address in one element of `Forwarded`.
fn forwarded_for(element: &str) -> Option<IpAddr> {
    element.split(';').find_map(|pair| {
        let (name, value) = pair.split_once('=')?;
        name.trim().eq_ignore_ascii_case("for").then(|| address_of(value))?
    })
}

/// An address as proxies write it: in quotes or not, with a port or without, in brackets if it has colons.
fn address_of(text: &str) -> Option<IpAddr> {
    let text = text.trim();
    let text = text.strip_prefix('"').and_then(|text| text.strip_suffix('"')).unwrap_or(text);
    if let Some(rest) = text.strip_prefix('[') {
        let (address, _port) = rest.split_once(']')?;
        return address.parse().ok();
    }
    if let Ok(address) = text.parse::<IpAddr>() {
        return Some(address.to_canonical());
    }
    let (address, port) = text.rsplit_once(':')?;
    port.parse::<u16>().ok()?;
    address.parse().ok()
}

#[cfg(test)]
mod tests {
    use hyper::header::HeaderValue;
    use proptest::prelude::*;

    use super::*;

    fn networks(texts: &[&str]) -> Networks {
        Networks::new(&texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>())
    }

    fn client(header: ForwardedHeader, peer: &str, lines: &[(&'static str, &str)]) -> String {
        let proxies = Arc::new(networks(&["127.0.0.0/8", "10.0.0.0/8", "2001:db8:1::/48"]));
        let mut headers = HeaderMap::new();
        for (name, value) in lines {
            let value = HeaderValue::from_str(value).expect("a value");
            headers.append(HeaderName::from_static(name), value);
        }
        let peer = peer.parse().expect("an address");
        Forwarded { proxies, header }.client(peer, &headers).to_string()
    }

    #[test]
    fn the_rightmost_address_that_is_no_proxy_is_the_client() {
        let of = |peer: &str, lines: &[(&'static str, &str)]| {
            client(ForwardedHeader::XForwardedFor, peer, lines)
        };
        let name = "x-forwarded-for";
        assert_eq!(of("192.0.2.1", &[(name, "198.51.100.1")]), "192.0.2.1", "a stranger");
        assert_eq!(of("127.0.0.1", &[(name, "198.51.100.1")]), "198.51.100.1");
        assert_eq!(of("10.1.1.1", &[(name, "6.6.6.6, 198.51.100.1, 10.0.0.3")]), "198.51.100.1");
        assert_eq!(of("10.1.1.1", &[(name, "6.6.6.6"), (name, "198.51.100.1")]), "198.51.100.1");
        assert_eq!(of("10.1.1.1", &[(name, "10.0.0.2,10.0.0.3")]), "10.0.0.2");
        assert_eq!(of("10.1.1.1", &[(name, "198.51.100.1, nobody, 10.0.0.3")]), "10.0.0.3");
        assert_eq!(of("10.1.1.1", &[(name, "")]), "10.1.1.1");
        assert_eq!(of("10.1.1.1", &[(name, "[2001:db8::7]:80")]), "2001:db8::7");
        assert_eq!(of("10.1.1.1", &[(name, "2001:db8::7")]), "2001:db8::7");
        assert_eq!(of("10.1.1.1", &[(name, "198.51.100.1:4711")]), "198.51.100.1");
        assert_eq!(of("10.1.1.1", &[("forwarded", "for=198.51.100.1")]), "10.1.1.1");
        assert_eq!(of("::ffff:10.1.1.1", &[(name, "::ffff:198.51.100.1")]), "198.51.100.1");
    }

    #[test]
    fn the_standard_header_is_read_where_it_is_the_one() {
        let of =
            |value: &str| client(ForwardedHeader::Forwarded, "127.0.0.1", &[("forwarded", value)]);
        assert_eq!(of("for=198.51.100.1;proto=https"), "198.51.100.1");
        assert_eq!(of(r#"for=6.6.6.6, By=10.0.0.1; For="[2001:db8::7]:4711""#), "2001:db8::7");
        assert_eq!(of("for=198.51.100.1, for=10.0.0.1"), "198.51.100.1");
        assert_eq!(of("for=198.51.100.1, for=_hidden"), "127.0.0.1");
        assert_eq!(of("proto=https"), "127.0.0.1");
    }

    #[test]
    fn a_network_has_a_prefix() {
        for (text, address, is_in) in [
            ("10.0.0.0/8", "10.255.0.1", true),
            ("10.0.0.0/8", "11.0.0.1", false),
            ("0.0.0.0/0", "192.0.2.1", true),
            ("::/0", "192.0.2.1", false),
            ("::/0", "2001:db8::1", true),
            ("192.0.2.1", "192.0.2.1", true),
            ("192.0.2.1", "192.0.2.2", false),
            ("2001:db8::/33", "2001:db8:8000::1", false),
        ] {
            let address = address.parse().expect("an address");
            assert_eq!(networks(&[text]).contain(address), is_in, "{text} {address}");
        }
        for text in ["", "host", "10.0.0.0/33", "::/129", "10.0.0.0/", "10.0.0/8", "1.1.1.1/-1"] {
            assert!(!is_network(text), "{text}");
        }
    }

    proptest! {
        #[test]
        fn a_stranger_cannot_make_itself_somebody_else(value in "[ -~]{0,100}") {
            for header in [ForwardedHeader::XForwardedFor, ForwardedHeader::Forwarded] {
                let lines = [("x-forwarded-for", &*value), ("forwarded", &*value)];
                prop_assert_eq!(client(header, "192.0.2.1", &lines), "192.0.2.1");
            }
        }

        /// Whatever a client sends, the proxy adds what it has seen.
        #[test]
        fn what_clients_send_before_it_changes_nothing(value in "[ -~]{0,100}") {
            let line = format!("{value}, 198.51.100.1");
            let found =
                client(ForwardedHeader::XForwardedFor, "10.0.0.1", &[("x-forwarded-for", &line)]);
            prop_assert_eq!(found, "198.51.100.1");
        }
    }
}
