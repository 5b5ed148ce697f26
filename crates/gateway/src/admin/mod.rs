//! The admin listener: what a server does, for those who run it.
//!
//! ```text
//! operator, Prometheus, kubelet ─▶ guard ─▶ answers ─▶ metrics, views of the workers
//! ```
//!
//! In: the handles of a running server ([`Observed`]). Out: answers on an address of its own (OBS-1). It is one thread
//! with a runtime of its own, which asks no worker for anything: it reads numbers that workers write, and lists behind
//! locks that workers hold for a glance, so it answers while all of them are busy. Connections, heads and times are
//! bounded here; who is answered is decided in [`guard`].

mod address;
mod answers;
mod events;
mod exposition;
mod guard;
mod metrics;
mod observed;
mod page;
mod process;
mod views;

use std::{
    convert::Infallible,
    fs, io,
    os::unix::{
        fs::{FileTypeExt as _, PermissionsExt as _},
        net::UnixStream,
    },
    path::Path,
    pin::pin,
    sync::Arc,
    thread,
    time::Duration,
};

use hyper::{Request, body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::{TcpListener, UnixListener},
    runtime::Runtime,
    task::JoinSet,
    time::{sleep, timeout},
};

pub(crate) use self::{
    address::{Address, is_address},
    events::EventCounts,
    guard::is_token,
    observed::Observed,
    views::problem_of,
};
use self::{answers::Answers, guard::Guard};
pub use self::{
    exposition::{Family, Kind},
    metrics::FAMILIES,
};
use crate::http::{
    gate::Gate,
    server::{EventSink, InheritedListener, OpenedListener, SocketFile},
};

/// Operators that are listened to at the same time; further ones wait in the system's queue.
const CONNECTIONS_MAX: usize = 64;

/// How long a head may take, and how long a connection may be without a request.
const HEAD_TIME_MAX: Duration = Duration::from_secs(30);

/// How long a connection may last: whoever does not take an answer goes with it.
const CONNECTION_TIME_MAX: Duration = Duration::from_mins(5);

/// Bytes of a head.
const HEAD_BYTES_MAX: usize = 16 * 1024;

/// Header lines of a request.
const HEADERS_MAX: usize = 64;

/// The pause after a connection could not be accepted.
const FAILURE_PAUSE: Duration = Duration::from_millis(100);

/// What only the owner may do with the socket.
const SOCKET_MODE: u32 = 0o600;

/// Settings of the admin listener.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AdminSettings {
    /// Setting `admin.listen`; none by default.
    pub listen: Option<String>,
    /// Setting `admin.token`.
    pub token: Option<String>,
}

/// An address that is bound, with nobody to answer yet.
pub(crate) struct AdminListener {
    runtime: Runtime,
    socket: Socket,
    address: Address,
    guard: Guard,
    /// Another process may answer here as well: it does so alone once this one is to end.
    is_shared: bool,
}

enum Socket {
    Tcp(TcpListener),
    /// The file goes with the listener, unless somebody else has made it.
    Unix {
        listener: UnixListener,
        _file: Option<SocketFile>,
    },
}

impl Socket {
    fn inherited(listener: InheritedListener) -> io::Result<Self> {
        Ok(match listener {
            InheritedListener::Tcp(listener) => {
                listener.set_nonblocking(true)?;
                Self::Tcp(TcpListener::from_std(listener)?)
            }
            InheritedListener::Unix(listener) => {
                listener.set_nonblocking(true)?;
                Self::Unix { listener: UnixListener::from_std(listener)?, _file: None }
            }
        })
    }
}

/// Answers while it lives.
#[derive(Debug)]
pub(crate) struct AdminServer {
    stop: tokio::sync::oneshot::Sender<Infallible>,
    thread: thread::JoinHandle<()>,
}

impl AdminListener {
    /// Takes the listener that there is already, wherever that is, or binds the address of the settings; nothing if
    /// they name none. `gate` knows the names of this server.
    ///
    /// # Errors
    /// The address is taken or cannot be listened on, or a token is needed.
    pub(crate) fn bind(
        settings: &AdminSettings,
        gate: Gate,
        inherited: Option<InheritedListener>,
    ) -> io::Result<Option<Self>> {
        let address = match &inherited {
            Some(listener) => Some(Address::of(listener)?),
            None => settings.listen.as_deref().and_then(Address::parse),
        };
        let Some(address) = address else { return Ok(None) };
        if !address.is_local() && settings.token.is_none() {
            let reason = format!(
                "the admin listener at {address} can be reached from elsewhere: set `admin.token`, or listen on 127.0.0.1 or a unix socket"
            );
            return Err(io::Error::new(io::ErrorKind::InvalidInput, reason));
        }
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let entered = runtime.enter();
        let named = |error: io::Error| {
            let reason = format!("cannot listen for operators on {address}: {error}");
            io::Error::new(error.kind(), reason)
        };
        let is_shared = inherited.is_some();
        let socket = match (inherited, &address) {
            (Some(listener), _) => Socket::inherited(listener).map_err(named)?,
            (None, Address::Tcp(wanted)) => Socket::Tcp(listen(*wanted).map_err(named)?),
            (None, Address::Unix(path)) => {
                let listener = listen_at(path).map_err(named)?;
                Socket::Unix { listener, _file: Some(SocketFile(path.clone())) }
            }
        };
        let address = match &socket {
            Socket::Tcp(listener) => Address::Tcp(listener.local_addr()?),
            Socket::Unix { .. } => address.clone(),
        };
        drop(entered);
        let guard = Guard::new(gate, settings.token.as_deref());
        Ok(Some(Self { runtime, socket, address, guard, is_shared }))
    }

    /// The listener for other processes that are to answer.
    ///
    /// # Errors
    /// The system refuses.
    pub(crate) fn into_opened(self) -> io::Result<OpenedListener> {
        let _entered = self.runtime.enter();
        match self.socket {
            Socket::Tcp(listener) => OpenedListener::tcp(listener),
            Socket::Unix { listener, _file: file } => OpenedListener::unix(listener, file),
        }
    }

    /// Where it listens, with the port that it got.
    pub(crate) fn address(&self) -> &Address {
        &self.address
    }

    /// Answers from a thread of its own, until the server is dropped.
    ///
    /// # Errors
    /// The thread cannot be started.
    pub(crate) fn serve(self, observed: Observed, events: EventSink) -> io::Result<AdminServer> {
        let Self { runtime, socket, guard, is_shared, .. } = self;
        let server = observed.server.clone();
        let (stop, stopped) = tokio::sync::oneshot::channel::<Infallible>();
        let answers = Arc::new(Answers::new(observed, guard, events));
        let thread = thread::Builder::new().name("admin".to_owned()).spawn(move || {
            runtime.block_on(async {
                let is_left = async {
                    if !is_shared {
                        std::future::pending::<()>().await;
                    }
                    server.left().await;
                };
                tokio::select! {
                    () = accept(&socket, &answers, is_left) => {}
                    // Nothing is ever sent: the other end is dropped.
                    _ = stopped => {}
                }
            });
        })?;
        Ok(AdminServer { stop, thread })
    }
}

impl AdminServer {
    /// Ends it, and takes its socket away.
    pub(crate) fn end(self) {
        let Self { stop, thread } = self;
        drop(stop);
        // One that has panicked is at its end as well.
        let _ = thread.join();
    }
}

fn listen(address: std::net::SocketAddr) -> io::Result<TcpListener> {
    let socket = if address.is_ipv4() {
        tokio::net::TcpSocket::new_v4()?
    } else {
        tokio::net::TcpSocket::new_v6()?
    };
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(CONNECTIONS_MAX as u32)
}

/// Listens at a path. What a process has left there that is gone is taken away.
fn listen_at(path: &Path) -> io::Result<UnixListener> {
    let is_left = fs::symlink_metadata(path).is_ok_and(|left| left.file_type().is_socket())
        && UnixStream::connect(path)
            .is_err_and(|error| error.kind() == io::ErrorKind::ConnectionRefused);
    if is_left {
        fs::remove_file(path)?;
    }
    let listener = UnixListener::bind(path)?;
    fs::set_permissions(path, fs::Permissions::from_mode(SOCKET_MODE))?;
    Ok(listener)
}

/// Accepts for ever, or until others do; the connections end with it.
async fn accept(socket: &Socket, answers: &Arc<Answers>, is_left: impl Future<Output = ()>) {
    let mut connections = JoinSet::new();
    let mut is_left = pin!(is_left);
    let mut accepts = true;
    loop {
        tokio::select! {
            Some(_ended) = connections.join_next(), if !connections.is_empty() => {}
            () = &mut is_left, if accepts => accepts = false,
            accepted = accept_one(socket), if accepts && connections.len() < CONNECTIONS_MAX => {
                let answers = Arc::clone(answers);
                match accepted {
                    Ok(Accepted::Tcp(stream)) => connections.spawn(drive(stream, answers, false)),
                    Ok(Accepted::Unix(stream)) => connections.spawn(drive(stream, answers, true)),
                    Err(_) => {
                        sleep(FAILURE_PAUSE).await;
                        continue;
                    }
                };
            }
            // Whoever has the handle ends it.
            () = std::future::pending() => {}
        }
    }
}

enum Accepted {
    Tcp(tokio::net::TcpStream),
    Unix(tokio::net::UnixStream),
}

async fn accept_one(socket: &Socket) -> io::Result<Accepted> {
    match socket {
        Socket::Tcp(listener) => Ok(Accepted::Tcp(listener.accept().await?.0)),
        Socket::Unix { listener, .. } => Ok(Accepted::Unix(listener.accept().await?.0)),
    }
}

async fn drive(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    answers: Arc<Answers>,
    is_socket: bool,
) {
    let service = service_fn(|request: Request<Incoming>| {
        // No endpoint reads a body.
        let (head, _body) = request.into_parts();
        let answers = Arc::clone(&answers);
        async move { Ok::<_, Infallible>(answers.answer(&head, is_socket).await) }
    });
    let mut protocol = http1::Builder::new();
    protocol
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIME_MAX)
        .max_buf_size(HEAD_BYTES_MAX)
        .max_headers(HEADERS_MAX);
    let serving = protocol.serve_connection(TokioIo::new(stream), service);
    // Whoever goes away, sends no HTTP or takes too long has been told what could be told.
    let _ended = timeout(CONNECTION_TIME_MAX, serving).await;
}
