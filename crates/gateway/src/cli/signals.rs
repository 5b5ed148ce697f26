//! Signals that the process listens to.

use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};

/// SIGINT and SIGTERM.
pub(super) struct StopSignals {
    interrupt: Signal,
    terminate: Signal,
}

impl StopSignals {
    /// Begins to listen; from here on the signals no longer end the process by themselves.
    ///
    /// # Errors
    /// The system refuses a handler.
    pub(super) fn listen() -> io::Result<Self> {
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
        })
    }

    /// Waits for either.
    pub(super) async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}

/// SIGHUP, which many send to have settings read anew.
pub(super) struct Hangups(Signal);

impl Hangups {
    /// Begins to listen; from here on the signal does not end the process.
    ///
    /// # Errors
    /// The system refuses a handler.
    pub(super) fn listen() -> io::Result<Self> {
        signal(SignalKind::hangup()).map(Self)
    }

    /// Does this for each; never ends.
    pub(super) async fn each(&mut self, act: impl Fn()) {
        while self.0.recv().await.is_some() {
            act();
        }
        std::future::pending::<()>().await;
    }
}
