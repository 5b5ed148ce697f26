//! Memory of a run that is promised to decoders before it is charged.
//!
//! In: how much a decoder may build at most. Out: how much it may, once that is left beside what others hold.

use std::{cell::Cell, rc::Rc};

use tokio::sync::Notify;

/// Memory that decoders are filling or have filled, before it is charged.
#[derive(Debug, Default)]
pub(super) struct Reservations {
    bytes: Cell<usize>,
    has_changed: Notify,
}

impl Reservations {
    /// Waits until `most` bytes are left beside what others hold; with nobody to wait for, gives all that is left.
    pub(super) async fn reserve(
        self: &Rc<Self>,
        most: usize,
        memory_left: impl Fn() -> usize,
    ) -> Reserved {
        loop {
            let left = memory_left().saturating_sub(self.bytes.get());
            if left >= most || self.bytes.get() == 0 {
                let bytes = left.min(most);
                self.bytes.set(self.bytes.get() + bytes);
                return Reserved { of: Rc::clone(self), bytes };
            }
            self.has_changed.notified().await;
        }
    }
}

/// Memory that one decoder may fill. Whoever keeps what it has made charges that, and drops this afterwards.
#[derive(Debug)]
pub(crate) struct Reserved {
    of: Rc<Reservations>,
    bytes: usize,
}

impl Reserved {
    /// How much it is.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// The decoder has ended, and what it has made takes so much.
    pub(crate) fn settle(&mut self, bytes: usize) {
        self.give_back();
        self.of.bytes.set(self.of.bytes.get().saturating_add(bytes));
        self.bytes = bytes;
    }

    fn give_back(&self) {
        self.of.bytes.set(self.of.bytes.get().saturating_sub(self.bytes));
        self.of.has_changed.notify_waiters();
    }
}

impl Drop for Reserved {
    fn drop(&mut self) {
        self.give_back();
    }
}
