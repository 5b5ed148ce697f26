//! Listeners that one process opens and another one serves: those of a supervisor and of systemd (SUP-2).
//!
//! In: sockets. Out: the same, for tokio. Who has opened a unix socket also takes its file away; who has been handed one
//! does not.

use std::{
    fs, io,
    net::TcpListener,
    os::{
        fd::{AsFd, BorrowedFd},
        unix::net::UnixListener,
    },
    path::PathBuf,
};

/// A listener that somebody else has opened, and keeps.
#[derive(Debug)]
pub(crate) enum InheritedListener {
    /// At an address.
    Tcp(TcpListener),
    /// At a path, whose file belongs to whoever has opened it.
    Unix(UnixListener),
}

impl AsFd for InheritedListener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Tcp(listener) => listener.as_fd(),
            Self::Unix(listener) => listener.as_fd(),
        }
    }
}

/// A listener that this process has opened so that others answer; its file goes with it.
#[derive(Debug)]
pub(crate) struct OpenedListener {
    /// What others inherit.
    pub listener: InheritedListener,
    _file: Option<SocketFile>,
}

impl OpenedListener {
    /// One of TCP.
    ///
    /// # Errors
    /// The system refuses.
    pub(crate) fn tcp(listener: tokio::net::TcpListener) -> io::Result<Self> {
        Ok(Self { listener: InheritedListener::Tcp(listener.into_std()?), _file: None })
    }

    /// One at a path, with its file if this process has made it.
    ///
    /// # Errors
    /// The system refuses.
    pub(crate) fn unix(
        listener: tokio::net::UnixListener,
        file: Option<SocketFile>,
    ) -> io::Result<Self> {
        Ok(Self { listener: InheritedListener::Unix(listener.into_std()?), _file: file })
    }
}

/// The file of a socket; it goes with the listener.
#[derive(Debug)]
pub(crate) struct SocketFile(pub(crate) PathBuf);

impl Drop for SocketFile {
    fn drop(&mut self) {
        // Somebody else may have removed it.
        let _ = fs::remove_file(&self.0);
    }
}
