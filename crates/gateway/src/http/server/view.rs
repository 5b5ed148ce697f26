//! How a server is doing, as somebody else may see it, from any thread and without asking a worker.

use std::{sync::Arc, time::Duration};

use tokio::sync::watch;

use super::{Phase, Pulse, open::OpenCount};

/// Shows a server.
#[derive(Debug, Clone)]
pub(crate) struct ServerView {
    workers: Vec<(Arc<Pulse>, Arc<OpenCount>)>,
    /// Not a receiver: the server has ended when nobody receives any more.
    phase: watch::Sender<Phase>,
    left: watch::Sender<bool>,
}

/// One worker at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct WorkerView {
    /// How long something new would wait for its next turn.
    pub lag: Duration,
    /// Its open connections.
    pub connections: usize,
}

impl ServerView {
    pub(super) fn new(
        workers: Vec<(Arc<Pulse>, Arc<OpenCount>)>,
        phase: watch::Sender<Phase>,
        left: watch::Sender<bool>,
    ) -> Self {
        Self { workers, phase, left }
    }

    /// Ready once somebody has asked the server to leave or to drain.
    pub(crate) async fn left(&self) {
        // It is there for as long as this is.
        let _ = self.left.subscribe().wait_for(|left| *left).await;
    }

    /// All workers in order.
    pub(crate) fn workers(&self) -> impl Iterator<Item = WorkerView> {
        self.workers
            .iter()
            .map(|(pulse, open)| WorkerView { lag: pulse.lateness(), connections: open.get() })
    }

    /// Whether the server takes work.
    pub(crate) fn phase(&self) -> Phase {
        *self.phase.borrow()
    }
}
