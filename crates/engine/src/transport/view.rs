//! The connections of a transport as somebody else may see them, from any thread.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use tokio::time::Instant;

use super::{backoff::BackOff, pool::PoolView, shown_uri};

/// Shows the connections of one transport. It holds the locks of the transport only while it copies numbers.
#[derive(Clone)]
pub struct TransportView {
    pub(super) pool: PoolView,
    pub(super) backoff: Arc<Mutex<BackOff>>,
}

impl std::fmt::Debug for TransportView {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TransportView").finish_non_exhaustive()
    }
}

/// The connections to one upstream.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Connections {
    /// Exchanges under way.
    pub in_flight: usize,
    /// Exchanges that wait for their turn.
    pub waiting: usize,
    /// Connections that wait for an exchange.
    pub idle: usize,
    /// HTTP/2 connections, which exchanges share.
    pub shared: usize,
}

/// An upstream that has failed lately.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failing {
    /// What is left alone: an URI or an origin, credentials replaced, and perhaps the table.
    pub target: String,
    /// How many runs have failed there in a row.
    pub failures: u32,
    /// For how long it is left alone by all.
    pub closed_for: Duration,
}

impl TransportView {
    /// The connections by scheme, host and port, and the proxy in between if there is one.
    pub fn connections(&self) -> HashMap<Box<str>, Connections> {
        self.pool.connections()
    }

    /// The upstreams that have failed lately.
    pub fn failing(&self) -> Vec<Failing> {
        let mut failing =
            self.backoff.lock().unwrap_or_else(PoisonError::into_inner).failing(Instant::now());
        for failing in &mut failing {
            failing.target = shown_uri(&failing.target);
        }
        failing
    }
}
