//! Upstreams that are not the real ones: `qlio mock` and the mocks of `qlio test`
//! (`docs/reference/mock.md`).
//!
//! | | answers with |
//! | --- | --- |
//! | [`serve`] | files of a folder, by path and query |
//! | [`proxy`] | a real upstream, slowed down, cut or replaced as a configuration says |
//! | [`record`], [`replay`] | a real upstream once, what was recorded from then on |
//! | [`canned`] | the answers of one test |
//!
//! All of them are handlers of a [`MockServer`]; how answers are delayed or broken is one
//! [`Behaviour`]. Nothing here knows scripts or tables.
//!
//! # The folder
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
//! nor by links.

mod behaviour;
mod body;
pub(crate) mod canned;
mod error;
pub(crate) mod find;
mod folder;
mod listen;
pub(crate) mod proxy;
pub(crate) mod record;
pub(crate) mod replay;
mod respond;
mod rules;
mod upstream;

#[cfg(test)]
mod recording_tests;
#[cfg(test)]
mod tests;

use std::{
    fmt,
    io::Write,
    path::PathBuf,
    sync::{Arc, Mutex},
    time::Duration,
};

pub(crate) use behaviour::Behaviour;
pub(crate) use body::MockBody;
pub(crate) use error::MockError;
pub(crate) use listen::accept_all;
pub(crate) use listen::{Handler, MockServer};

use folder::Store;

/// Where a line for each request is written.
pub(crate) type Log = Option<Mutex<Box<dyn Write + Send>>>;

/// The folder to serve, and the port.
pub(crate) struct MockOptions {
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
    pub(crate) fn new(folder: impl Into<PathBuf>) -> Self {
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

/// State that all connections share.
struct Shared {
    store: Mutex<Store>,
    latency: Duration,
    log: Log,
}

/// Binds a mock server for a folder. Run it with [`MockServer::run`].
///
/// # Errors
/// If the folder is none, or the address is taken.
pub(crate) async fn serve(options: MockOptions) -> Result<MockServer, MockError> {
    let store = Store::open(&options.folder)
        .map_err(|error| MockError::Folder(options.folder.clone(), error))?;
    let shared = Arc::new(Shared {
        store: Mutex::new(store),
        latency: options.latency,
        log: options.log.map(Mutex::new),
    });
    let handler: Handler =
        Arc::new(move |request, _| Box::pin(respond::respond(Arc::clone(&shared), request)));
    MockServer::bind(&options.host, options.port, handler).await
}

/// Writes a line about an exchange.
fn log(log: &Log, line: impl fmt::Display) {
    if let Some(log) = log {
        let line = format!("{line}\n");
        // Nobody to tell when the log itself can not be written.
        let _written = log
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
            .write_all(line.as_bytes());
    }
}
