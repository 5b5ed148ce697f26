//! What a client has not taken yet.
//!
//! Runs tell their events without waiting, so somebody has to hold them. A client that does not read
//! must not fill the memory: beyond the limit nothing more is taken, and the connection is closed.

use std::{
    cell::{Cell, RefCell},
    collections::VecDeque,
};

use tokio::sync::Notify;

/// Bytes that may wait; one more message is taken as long as there are no more than that, so the
/// result of a script may be larger.
pub(crate) const QUEUE_BYTES_MAX: usize = 16 << 20;

/// What a message costs beside its text.
const OVERHEAD_BYTES: usize = 64;

/// The messages that wait to be sent.
#[derive(Debug, Default)]
pub(crate) struct Outbox {
    waiting: RefCell<VecDeque<String>>,
    bytes: Cell<usize>,
    is_over: Cell<bool>,
    changed: Notify,
    overflowed: Notify,
}

impl Outbox {
    /// Puts a message in; refused once the limit was passed.
    pub(crate) fn push(&self, message: String) {
        if self.is_over.get() {
            return;
        }
        if self.bytes.get() > QUEUE_BYTES_MAX {
            self.is_over.set(true);
            self.overflowed.notify_one();
            return;
        }
        self.bytes.set(self.bytes.get() + message.len() + OVERHEAD_BYTES);
        self.waiting.borrow_mut().push_back(message);
        self.changed.notify_one();
    }

    /// Takes the oldest message, if there is one.
    pub(crate) fn take(&self) -> Option<String> {
        let message = self.waiting.borrow_mut().pop_front()?;
        self.bytes.set(self.bytes.get() - message.len() - OVERHEAD_BYTES);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_come_out_in_order_until_too_many_wait() {
        let outbox = Outbox::default();
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
