//! How many connections are open.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use tokio::sync::{Notify, OwnedSemaphorePermit};

/// The open connections of one worker.
#[derive(Debug, Default)]
pub(super) struct OpenCount {
    count: AtomicUsize,
    changed: Notify,
}

impl OpenCount {
    /// How many there are.
    pub(super) fn get(&self) -> usize {
        self.count.load(Ordering::Relaxed)
    }

    /// Waits until there are none.
    pub(super) async fn none_left(&self) {
        loop {
            let changed = self.changed.notified();
            if self.get() == 0 {
                return;
            }
            changed.await;
        }
    }
}

/// Counts one connection as open while it lives.
#[derive(Debug)]
pub(super) struct OpenGuard {
    open: Arc<OpenCount>,
    _permit: OwnedSemaphorePermit,
}

impl OpenGuard {
    pub(super) fn new(open: &Arc<OpenCount>, permit: OwnedSemaphorePermit) -> Self {
        open.count.fetch_add(1, Ordering::Relaxed);
        Self { open: Arc::clone(open), _permit: permit }
    }
}

impl Drop for OpenGuard {
    fn drop(&mut self) {
        self.open.count.fetch_sub(1, Ordering::Relaxed);
        self.open.changed.notify_one();
    }
}
