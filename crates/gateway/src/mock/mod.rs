//! `qlio mock DIR`: an upstream made of files, to write and show scripts without the real services.
//!
//! In go a folder and [`MockOptions`]; out come HTTP answers. The scheme, complete:
//!
//! - `GET /shop/search?q=mac` is answered by `shop/search@q=mac.json` if there is one, else by
//!   `shop/search.json`. The part after `@` is a query of its own: a file fits if the request has all
//!   its pairs, in any order; of several that fit, the one with the most pairs is taken. Characters
//!   that a file name can not hold are percent-encoded there.
//! - A path that ends in `/` is answered by `index.…` of that folder.
//! - A path may name its file with the ending (`/shop/search.xml`). Else, of several endings, the
//!   `accept` header chooses; without a fitting one the order of [`find::KINDS`] does.
//! - The ending decides the content type.
//! - `_mock.json` in a folder: `{"latency": 20, "status": 200, "headers": {…}, "files": {"search.json":
//!   {…the same…}}}`, latency in milliseconds. It holds for the folder and those below, unless they
//!   say otherwise; `files` holds for files of its own folder.
//! - Every method but `HEAD` gets the same answer; bodies of requests are read and ignored.
//! - What fits no file is answered 404, with a JSON body that names files near it.
//!
//! Files are read once and again when they change. A path can not leave the folder, neither by dots
//! nor by links. Deliberately missing: recording, faults, answers computed from the request.

pub mod find;
mod folder;
mod respond;
mod rules;

#[cfg(test)]
mod tests;

use std::fmt;
use std::io::{self, Write};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;
use tokio::task::JoinSet;

use folder::Store;

/// How many connections are served at once; further ones wait in the system's queue.
const CONNECTIONS_MAX: usize = 4096;

/// What to serve, and where.
pub struct MockOptions {
    /// The folder with the canned answers.
    pub folder: PathBuf,
    /// The address to listen on, `127.0.0.1` by default.
    pub host: String,
    /// The port; 0, the default, takes a free one.
    pub port: u16,
    /// How long every answer waits for which no `_mock.json` says otherwise; not at all by default.
    pub latency: Duration,
    /// Where a line for each request is written; nowhere by default.
    pub log: Option<Box<dyn Write + Send>>,
}

impl MockOptions {
    /// The defaults for a folder.
    #[must_use]
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self {
            folder: folder.into(),
            host: "127.0.0.1".to_owned(),
            port: 0,
            latency: Duration::ZERO,
            log: None,
        }
    }
}

impl fmt::Debug for MockOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MockOptions")
            .field("folder", &self.folder)
            .field("host", &self.host)
            .field("port", &self.port)
            .field("latency", &self.latency)
            .field("log", &self.log.is_some())
            .finish()
    }
}

/// Why there is no mock server.
#[derive(Debug)]
pub enum MockError {
    /// The folder can not be read.
    Folder(PathBuf, io::Error),
    /// The address can not be listened on.
    Listen(String, io::Error),
}

impl fmt::Display for MockError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Folder(path, error) => write!(f, "folder `{}`: {error}", path.display()),
            Self::Listen(address, error) => write!(f, "can not listen on `{address}`: {error}"),
        }
    }
}

impl std::error::Error for MockError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Folder(_, error) | Self::Listen(_, error) => Some(error),
        }
    }
}

/// A mock server that is bound and waits to be run.
#[derive(Debug)]
pub struct MockServer {
    listener: TcpListener,
    address: SocketAddr,
    shared: Arc<Shared>,
}

/// What all connections share.
struct Shared {
    store: Mutex<Store>,
    latency: Duration,
    log: Option<Mutex<Box<dyn Write + Send>>>,
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared").field("latency", &self.latency).finish_non_exhaustive()
    }
}

/// Binds a mock server. Run it with [`MockServer::run`].
///
/// # Errors
/// If the folder is none, or the address is taken.
pub async fn serve(options: MockOptions) -> Result<MockServer, MockError> {
    let store = Store::open(&options.folder)
        .map_err(|error| MockError::Folder(options.folder.clone(), error))?;
    let wanted = (options.host.as_str(), options.port);
    let failed = |error| MockError::Listen(format!("{}:{}", options.host, options.port), error);
    let listener = TcpListener::bind(wanted).await.map_err(failed)?;
    let address = listener.local_addr().map_err(failed)?;
    let shared = Arc::new(Shared {
        store: Mutex::new(store),
        latency: options.latency,
        log: options.log.map(Mutex::new),
    });
    Ok(MockServer { listener, address, shared })
}

impl MockServer {
    /// The bound address.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The bound address as a URL, to be printed before anything else.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Serves until the future is done.
    ///
    /// # Cancellation
    /// Dropping this future, or the end of the one given, closes every connection at once.
    pub async fn run(self, until: impl Future<Output = ()>) {
        let mut connections = JoinSet::new();
        tokio::pin!(until);
        loop {
            tokio::select! {
                () = &mut until => return,
                Some(_ended) = connections.join_next(), if !connections.is_empty() => {}
                accepted = self.listener.accept(), if connections.len() < CONNECTIONS_MAX => {
                    // A connection that failed before it was accepted concerns nobody else.
                    if let Ok((stream, _)) = accepted {
                        let shared = Arc::clone(&self.shared);
                        connections.spawn(connection(stream, shared));
                    } else {
                        tokio::task::yield_now().await;
                    }
                }
            }
        }
    }
}

async fn connection(stream: tokio::net::TcpStream, shared: Arc<Shared>) {
    // Without it small answers wait for the client's acknowledgement; failing costs only time.
    let _fast = stream.set_nodelay(true);
    let service = service_fn(|request| respond::respond(Arc::clone(&shared), request));
    // The client went away or sent no HTTP: hyper has answered what could be answered.
    let _ended = http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
}
