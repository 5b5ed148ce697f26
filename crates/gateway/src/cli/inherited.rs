//! Listeners that whoever started this process has opened for it: a supervisor or systemd (SUP-2).
//!
//! They come as systemd hands sockets over: `LISTEN_FDS` of them, called as `LISTEN_FDNAMES` says. The one called `admin`
//! is for operators, all others are for clients.

use std::{io, sync::Arc};

use listenfd::ListenFd;

use crate::http::server::InheritedListener;

/// What the listener for operators is called.
pub(super) const ADMIN: &str = "admin";

/// The listeners that were there when the process began.
#[derive(Debug, Default)]
pub(super) struct Inherited {
    /// For clients.
    pub(super) clients: Vec<Arc<InheritedListener>>,
    /// For operators.
    pub(super) admin: Option<InheritedListener>,
}

impl Inherited {
    /// Takes them; to be called once, before there are threads.
    ///
    /// # Errors
    /// One is no socket that we can listen on.
    pub(super) fn take() -> io::Result<Self> {
        let mut sockets = ListenFd::from_env();
        let names = std::env::var("LISTEN_FDNAMES").unwrap_or_default();
        let mut names = names.split(':');
        let mut inherited = Self::default();
        for index in 0..sockets.len() {
            let named = |error: io::Error| {
                let text =
                    format!("socket {index} that was handed over cannot be listened on: {error}");
                io::Error::new(error.kind(), text)
            };
            // One that is no TCP socket is left where it is.
            let listener = if let Ok(listener) = sockets.take_tcp_listener(index) {
                listener.map(InheritedListener::Tcp)
            } else {
                let listener = sockets.take_unix_listener(index).map_err(named)?;
                listener.map(InheritedListener::Unix)
            };
            if names.next() == Some(ADMIN) {
                inherited.admin = listener;
            } else {
                inherited.clients.extend(listener.map(Arc::new));
            }
        }
        Ok(inherited)
    }
}
