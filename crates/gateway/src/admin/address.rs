//! Where operators are listened to: an address or the path of a socket.

use std::{
    fmt, io,
    net::{IpAddr, Ipv4Addr, SocketAddr},
    path::{Path, PathBuf},
};

use crate::http::server::InheritedListener;

/// What stands before the path of a socket.
const UNIX: &str = "unix:";

/// Where the admin listener listens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Address {
    /// An address; port 0 takes a free one.
    Tcp(SocketAddr),
    /// The path of a socket.
    Unix(PathBuf),
}

impl Address {
    /// Reads `host:port`, where the host is an address or `localhost`, a port alone, or `unix:` and a path.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        if let Some(path) = text.strip_prefix(UNIX) {
            let path = path.strip_prefix("//").unwrap_or(path);
            return (!path.is_empty()).then(|| Self::Unix(path.into()));
        }
        let local = |port: &str| {
            port.parse().ok().map(|port| SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port))
        };
        let address = match text.strip_prefix("localhost:") {
            Some(port) => local(port),
            None => text.parse().ok().or_else(|| local(text)),
        };
        address.map(Self::Tcp)
    }

    /// Where a listener is that somebody else has opened.
    ///
    /// # Errors
    /// The system does not know.
    pub(super) fn of(listener: &InheritedListener) -> io::Result<Self> {
        match listener {
            InheritedListener::Tcp(listener) => listener.local_addr().map(Self::Tcp),
            InheritedListener::Unix(listener) => {
                let address = listener.local_addr()?;
                Ok(Self::Unix(address.as_pathname().unwrap_or(Path::new("")).to_owned()))
            }
        }
    }

    /// Whether only this machine reaches it.
    pub(crate) fn is_local(&self) -> bool {
        match self {
            Self::Tcp(address) => address.ip().to_canonical().is_loopback(),
            Self::Unix(_) => true,
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(address) => write!(f, "http://{address}"),
            Self::Unix(path) => write!(f, "{UNIX}{}", path.display()),
        }
    }
}

/// Whether a text is an address of the admin listener.
pub(crate) fn is_address(text: &str) -> bool {
    Address::parse(text).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_a_socket_address_a_port_or_a_path() {
        for (text, shown, is_local) in [
            ("3001", "http://127.0.0.1:3001", true),
            ("localhost:3001", "http://127.0.0.1:3001", true),
            ("127.0.0.9:1", "http://127.0.0.9:1", true),
            ("[::1]:3001", "http://[::1]:3001", true),
            ("[::ffff:127.0.0.1]:3001", "http://[::ffff:127.0.0.1]:3001", true),
            ("0.0.0.0:3001", "http://0.0.0.0:3001", false),
            ("[::]:0", "http://[::]:0", false),
            ("unix:a/b.sock", "unix:a/b.sock", true),
            ("unix:///run/b.sock", "unix:/run/b.sock", true),
        ] {
            let address = Address::parse(text).expect(text);
            assert_eq!((address.to_string().as_str(), address.is_local()), (shown, is_local));
        }
        for text in ["", "host:3001", "127.0.0.1", "65536", "unix:", ":3001", "::1:3001 "] {
            assert!(!is_address(text), "{text}");
        }
    }
}
