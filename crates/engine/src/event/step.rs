//! Letting the statements of a run through one at a time (WSK-9).

use std::cell::Cell;

use tokio::sync::Notify;

/// The handle with which a watcher lets statements through.
///
/// The run says how many statements wait; a step that nobody waits for is no step, so steps cannot
/// be saved up.
#[derive(Debug, Default)]
pub struct Stepper {
    waiting: Cell<usize>,
    granted: Cell<usize>,
    changed: Notify,
}

impl Stepper {
    /// Lets the statement through that has waited longest. Answers whether one waited.
    pub fn step(&self) -> bool {
        let is_waiting = self.granted.get() < self.waiting.get();
        if is_waiting {
            self.granted.set(self.granted.get() + 1);
            self.changed.notify_one();
        }
        is_waiting
    }

    /// A statement has begun to wait.
    pub(crate) fn wait_for_one_more(&self) {
        self.waiting.set(self.waiting.get() + 1);
    }

    /// Completes when the statement that has waited longest may go.
    ///
    /// # Cancellation
    /// Safe: a step is taken only when this completes.
    pub(crate) async fn next(&self) {
        while self.granted.get() == 0 {
            self.changed.notified().await;
        }
        self.granted.set(self.granted.get() - 1);
        self.waiting.set(self.waiting.get() - 1);
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    #[test]
    fn a_step_lets_exactly_one_waiting_statement_through() {
        let stepper = Stepper::default();
        assert!(!stepper.step(), "nobody waits");
        stepper.wait_for_one_more();
        stepper.wait_for_one_more();
        assert_eq!(stepper.next().now_or_never(), None);
        assert!(stepper.step());
        assert_eq!(stepper.next().now_or_never(), Some(()));
        assert_eq!(stepper.next().now_or_never(), None);
        assert!(stepper.step() && !stepper.step(), "one is left");
    }
}
