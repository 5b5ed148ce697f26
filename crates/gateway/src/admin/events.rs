//! How often what happened that the server reports: seldom things, so that all threads count in one place.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::http::server::Event;

/// What events are called.
const NAMES: [&str; 6] =
    ["panic", "fault", "connection_failed", "idle_timeout", "head_timeout", "accept_failed"];

/// Counts events.
#[derive(Debug, Default)]
pub(crate) struct EventCounts([AtomicU64; NAMES.len()]);

impl EventCounts {
    /// Counts one.
    pub(crate) fn count(&self, event: &Event) {
        let place = match event {
            Event::Commanded { .. } | Event::Reloaded { .. } | Event::ReloadRefused { .. } => {
                return;
            }
            Event::Panicked { .. } => 0,
            Event::Noted { .. } => 1,
            Event::ConnectionFailed { .. } => 2,
            Event::TimedOut { is_in_head: false, .. } => 3,
            Event::TimedOut { is_in_head: true, .. } => 4,
            Event::AcceptFailed { .. } => 5,
        };
        self.0[place].fetch_add(1, Ordering::Relaxed);
    }

    /// Names and counts.
    pub(super) fn all(&self) -> impl Iterator<Item = (&'static str, u64)> {
        NAMES.into_iter().zip(self.0.iter().map(|count| count.load(Ordering::Relaxed)))
    }
}
