//! Where a server listens, and what it speaks there.

use std::{
    fmt, fs, io,
    net::{Ipv4Addr, SocketAddr},
    os::unix::{
        fs::{FileTypeExt as _, PermissionsExt as _},
        net::UnixStream as StdUnixStream,
    },
    path::{Path, PathBuf},
    sync::Arc,
};

use tokio::net::{TcpListener, TcpSocket, TcpStream, UnixListener, UnixStream};

use super::{
    door::Door,
    opened::{InheritedListener, OpenedListener, SocketFile},
};

/// Connections that the kernel holds until we accept them.
pub(super) const BACKLOG: u32 = 1024;

/// What users may do with the file of a socket, if nothing is said: its owner and group connect.
pub(crate) const SOCKET_MODE: u32 = 0o660;

/// An address, or the path of a socket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Address {
    /// Port 0 takes a free one.
    Tcp(SocketAddr),
    /// The path of a socket, and what users may do with it.
    Unix(PathBuf, u32),
}

/// One of the places where a server listens.
#[derive(Debug, Clone)]
pub(crate) struct Listen {
    /// Where.
    pub address: Address,
    /// What is spoken there.
    pub door: Arc<Door>,
    /// A listener that is there already, and stays when the server ends; then nothing is bound.
    pub inherited: Option<Arc<InheritedListener>>,
}

impl Listen {
    /// HTTP as it is, at an address.
    pub(crate) fn plain(address: SocketAddr) -> Self {
        Self { address: Address::Tcp(address), door: Arc::default(), inherited: None }
    }
}

/// Where a server listens, as URIs show it; a free port has been taken.
impl fmt::Display for Listen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.address {
            Address::Tcp(address) if self.door.tls.is_some() => write!(f, "https://{address}"),
            Address::Tcp(address) => write!(f, "http://{address}"),
            Address::Unix(path, _) => write!(f, "unix:{}", path.display()),
        }
    }
}

/// A place to listen as settings write it: an address or `unix:` and a path, and words that say what is special
/// there: `tls`, `proxy`, and for sockets `mode=660`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ListenText {
    /// Where.
    pub address: Address,
    /// TLS is spoken there.
    pub tls: bool,
    /// Every connection begins with a head of the PROXY protocol.
    pub proxy: bool,
}

impl ListenText {
    /// Reads the text of a setting.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let mut words = text.split_ascii_whitespace();
        let place = words.next()?;
        let mut mode = None;
        let (mut tls, mut proxy) = (false, false);
        for word in words {
            match word {
                "tls" => tls = true,
                "proxy" => proxy = true,
                _ => {
                    let found = u32::from_str_radix(word.strip_prefix("mode=")?, 8).ok()?;
                    mode = Some(found).filter(|mode| *mode <= 0o777);
                    mode?;
                }
            }
        }
        let address = match place.strip_prefix("unix:") {
            Some(path) => {
                let path = path.strip_prefix("//").unwrap_or(path);
                // Who reaches such a socket is on this machine, where nobody listens to the wire.
                if path.is_empty() || tls {
                    return None;
                }
                Address::Unix(path.into(), mode.unwrap_or(SOCKET_MODE))
            }
            None if mode.is_some() => return None,
            None => Address::Tcp(read_address(place)?),
        };
        Some(Self { address, tls, proxy })
    }
}

/// `host:port`, where the host is an address or `localhost`; or a port of this machine.
fn read_address(text: &str) -> Option<SocketAddr> {
    let local = |port: &str| {
        port.parse().ok().map(|port| SocketAddr::new(Ipv4Addr::LOCALHOST.into(), port))
    };
    match text.strip_prefix("localhost:") {
        Some(port) => local(port),
        None => text.parse().ok().or_else(|| local(text)),
    }
}

/// Whether a text says where to listen.
pub(crate) fn is_listen_text(text: &str) -> bool {
    ListenText::parse(text).is_some()
}

/// A bound listener.
#[derive(Debug)]
pub(super) struct Listener {
    socket: Bound,
    pub(super) door: Arc<Door>,
}

#[derive(Debug)]
enum Bound {
    Tcp(TcpListener),
    /// Its file is somebody else's if the listener is.
    Unix(UnixListener, Option<SocketFile>),
}

/// A socket that has just been accepted.
#[derive(Debug)]
pub(super) enum Incoming {
    Tcp(TcpStream, SocketAddr),
    Unix(UnixStream),
}

impl Listener {
    /// Binds an address.
    pub(super) fn bind(listen: &Listen) -> io::Result<Self> {
        let door = Arc::clone(&listen.door);
        if let Some(inherited) = &listen.inherited {
            return Ok(Self { socket: take(inherited)?, door });
        }
        let socket = match &listen.address {
            Address::Tcp(address) => Bound::Tcp(listen_on(*address).map_err(|error| {
                // The words by which scripts of the original know a taken port (SRV-60).
                let taken = match error.kind() {
                    io::ErrorKind::AddrInUse => format!("port {} is taken: ", address.port()),
                    _ => String::new(),
                };
                let text = format!("{taken}cannot listen on {address}: {error}");
                io::Error::new(error.kind(), text)
            })?),
            Address::Unix(path, mode) => listen_at(path, *mode).map_err(|error| {
                let text = format!("cannot listen on unix:{}: {error}", path.display());
                io::Error::new(error.kind(), text)
            })?,
        };
        Ok(Self { socket, door })
    }

    /// Where it listens, with the port that it got.
    pub(super) fn listen(&self, asked: &Listen) -> io::Result<Listen> {
        let address = match &self.socket {
            Bound::Tcp(listener) => Address::Tcp(listener.local_addr()?),
            Bound::Unix(..) => asked.address.clone(),
        };
        Ok(Listen { address, ..asked.clone() })
    }

    /// The listener itself, for other processes that are to answer.
    ///
    /// # Errors
    /// The system refuses.
    pub(super) fn into_opened(self) -> io::Result<OpenedListener> {
        match self.socket {
            Bound::Tcp(listener) => OpenedListener::tcp(listener),
            Bound::Unix(listener, file) => OpenedListener::unix(listener, file),
        }
    }

    pub(super) async fn accept(&self) -> io::Result<Incoming> {
        match &self.socket {
            Bound::Tcp(listener) => {
                let (stream, peer) = listener.accept().await?;
                Ok(Incoming::Tcp(stream, peer))
            }
            Bound::Unix(listener, _) => Ok(Incoming::Unix(listener.accept().await?.0)),
        }
    }
}

/// A listener that somebody else has opened.
fn take(inherited: &InheritedListener) -> io::Result<Bound> {
    match inherited {
        InheritedListener::Tcp(listener) => {
            let listener = listener.try_clone()?;
            listener.set_nonblocking(true)?;
            TcpListener::from_std(listener).map(Bound::Tcp)
        }
        InheritedListener::Unix(listener) => {
            let listener = listener.try_clone()?;
            listener.set_nonblocking(true)?;
            Ok(Bound::Unix(UnixListener::from_std(listener)?, None))
        }
    }
}

fn listen_on(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
    // A restarted server can listen at once, although old connections linger.
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

/// Listens at a path. What a process has left there that is gone is taken away; whatever else is there stays.
fn listen_at(path: &Path, mode: u32) -> io::Result<Bound> {
    let is_left = fs::symlink_metadata(path).is_ok_and(|left| left.file_type().is_socket())
        && StdUnixStream::connect(path)
            .is_err_and(|error| error.kind() == io::ErrorKind::ConnectionRefused);
    if is_left {
        fs::remove_file(path)?;
    }
    let listener = UnixListener::bind(path)?;
    let file = SocketFile(path.to_owned());
    fs::set_permissions(path, fs::Permissions::from_mode(mode))?;
    Ok(Bound::Unix(listener, Some(file)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_an_address_or_a_path_and_words() {
        let read = |text| {
            let ListenText { address, tls, proxy } = ListenText::parse(text).expect(text);
            let address = match address {
                Address::Tcp(address) => address.to_string(),
                Address::Unix(path, mode) => format!("{} {mode:o}", path.display()),
            };
            (address, tls, proxy)
        };
        let place = |text: &str, tls, proxy| (text.to_owned(), tls, proxy);
        assert_eq!(read("3000"), place("127.0.0.1:3000", false, false));
        assert_eq!(read("localhost:1 tls"), place("127.0.0.1:1", true, false));
        assert_eq!(read("[::]:443  proxy tls"), place("[::]:443", true, true));
        assert_eq!(read("unix:a.sock"), place("a.sock 660", false, false));
        assert_eq!(
            read("unix:///run/a.sock mode=600 proxy"),
            place("/run/a.sock 600", false, true)
        );
        for text in [
            "",
            " ",
            "host:1",
            "1.2.3.4",
            "65536",
            "unix:",
            "unix:a tls",
            "1 mode=600",
            "1 http",
            "unix:a mode=9",
            "unix:a mode=1777",
            "unix:a mode=",
        ] {
            assert!(!is_listen_text(text), "{text}");
        }
    }
}
