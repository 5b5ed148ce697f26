//! What a client has not taken yet.
//!
//! Runs tell their events without waiting, so somebody has to hold them. A client that does not read
//! must not fill the memory: beyond the limit, its own or that of all clients, nothing more is taken, and the
//! connection is closed.

use std::{
    cell::{Cell, RefCell},
    collections::VecDeque,
    sync::Arc,
};

use tokio::sync::Notify;

use crate::http::quota::Quota;

/// What a message costs beside its text.
const OVERHEAD_BYTES: usize = 64;

/// The messages that wait to be sent.
#[derive(Debug)]
pub(crate) struct Outbox {
    bytes_max: usize,
    /// What waits for all clients.
    quota: Arc<Quota>,
    waiting: RefCell<VecDeque<String>>,
    bytes: Cell<usize>,
    is_over: Cell<bool>,
    changed: Notify,
    overflowed: Notify,
}

impl Outbox {
    /// Takes messages until so many bytes wait.
    pub(crate) fn new(bytes_max: usize, quota: Arc<Quota>) -> Self {
        Self {
            bytes_max,
            quota,
            waiting: RefCell::default(),
            bytes: Cell::new(0),
            is_over: Cell::new(false),
            changed: Notify::new(),
            overflowed: Notify::new(),
        }
    }

    /// Puts a message in; refused once the limit was passed.
    pub(crate) fn push(&self, message: String) {
        if self.is_over.get() {
            return;
        }
        let has_all = self.bytes.get() == 0;
        if self.bytes.get() > self.bytes_max || (!has_all && self.quota.is_exceeded()) {
            self.is_over.set(true);
            self.overflowed.notify_one();
            return;
        }
        self.bytes.set(self.bytes.get() + message.len() + OVERHEAD_BYTES);
        self.quota.add(message.len() + OVERHEAD_BYTES);
        self.waiting.borrow_mut().push_back(message);
        self.changed.notify_one();
    }

    /// Takes the oldest message, if there is one.
    pub(crate) fn take(&self) -> Option<String> {
        let message = self.waiting.borrow_mut().pop_front()?;
        self.bytes.set(self.bytes.get() - message.len() - OVERHEAD_BYTES);
        self.quota.give_back(message.len() + OVERHEAD_BYTES);
        Some(message)
    }

    /// Waits for a message and takes it.
    ///
    /// # Cancellation
    /// Safe: a message is taken only when this completes.
    pub(crate) async fn next(&self) -> String {
        loop {
            if let Some(message) = self.take() {
                return message;
            }
            self.changed.notified().await;
        }
    }

    /// Whether the client has fallen too far behind.
    pub(crate) fn is_over(&self) -> bool {
        self.is_over.get()
    }

    /// Completes when the client has fallen too far behind.
    pub(crate) async fn overflow(&self) {
        while !self.is_over() {
            self.overflowed.notified().await;
        }
    }
}

impl Drop for Outbox {
    fn drop(&mut self) {
        self.quota.give_back(self.bytes.get());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const QUEUE_BYTES_MAX: usize = 10_000;

    fn outbox(quota: &Arc<Quota>) -> Outbox {
        Outbox::new(QUEUE_BYTES_MAX, Arc::clone(quota))
    }

    #[test]
    fn what_waits_for_all_clients_is_bounded_by_those_who_do_not_read() {
        let quota = Arc::new(Quota::new(1_000));
        let [slow, reading] = [(); 2].map(|()| outbox(&quota));
        slow.push("x".repeat(2_000));
        reading.push("a".to_owned());
        assert!(reading.take().is_some());
        reading.push("b".to_owned());
        assert!(!reading.is_over(), "it has taken all there was");
        slow.push("c".to_owned());
        assert!(slow.is_over());
        drop(slow);
        reading.push("d".to_owned());
        assert!(!reading.is_over(), "there is room again");
        drop(reading);
        assert!(quota.take(1_000).is_some());
    }

    #[test]
    fn messages_come_out_in_order_until_too_many_wait() {
        let quota = Arc::new(Quota::new(usize::MAX));
        let outbox = outbox(&quota);
        outbox.push("a".to_owned());
        outbox.push("x".repeat(QUEUE_BYTES_MAX - 1 - 2 * OVERHEAD_BYTES));
        outbox.push("b".to_owned());
        assert!(!outbox.is_over(), "exactly the limit, and one more");
        outbox.push("c".to_owned());
        assert!(outbox.is_over());
        assert_eq!(outbox.take().as_deref(), Some("a"));
        assert_eq!(outbox.take().map(|text| text.len()), Some(QUEUE_BYTES_MAX - 129));
        assert_eq!(outbox.take().as_deref(), Some("b"));
        assert_eq!(outbox.take(), None);
        assert_eq!(outbox.bytes.get(), 0);
        outbox.push("d".to_owned());
        assert_eq!(outbox.take(), None, "nothing more is taken");
    }
}
