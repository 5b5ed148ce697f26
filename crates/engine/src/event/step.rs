//! Letting the statements of a run through one at a time (WSK-9).

use std::{
    cell::{Cell, RefCell},
    collections::VecDeque,
};

use tokio::sync::Notify;

/// Which statement a step lets through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// The one that has waited longest.
    Next,
    /// This one, by the position of its node in the plan.
    Statement(u32),
}

/// The handle with which a watcher lets statements through.
///
/// The run says which statements wait; a step that nobody waits for is no step, so steps cannot be saved up.
#[derive(Debug, Default)]
pub struct Stepper {
    waiting: RefCell<VecDeque<u32>>,
    granted: RefCell<VecDeque<u32>>,
    is_released: Cell<bool>,
    changed: Notify,
}

impl Stepper {
    /// Lets a statement through. Answers whether it waited.
    pub fn step(&self, step: Step) -> bool {
        let mut waiting = self.waiting.borrow_mut();
        let position = match step {
            Step::Next => 0,
            Step::Statement(statement) => {
                match waiting.iter().position(|waiting| *waiting == statement) {
                    Some(position) => position,
                    None => return false,
                }
            }
        };
        let Some(statement) = waiting.remove(position) else { return false };
        self.granted.borrow_mut().push_back(statement);
        self.changed.notify_one();
        true
    }

    /// Lets all statements through from now on, without stopping again.
    pub fn release(&self) {
        self.is_released.set(true);
        let waiting = std::mem::take(&mut *self.waiting.borrow_mut());
        self.granted.borrow_mut().extend(waiting);
        self.changed.notify_one();
    }

    /// Whether statements need not wait any more.
    pub(crate) fn is_released(&self) -> bool {
        self.is_released.get()
    }

    /// A statement has begun to wait.
    pub(crate) fn wait_for(&self, statement: u32) {
        self.waiting.borrow_mut().push_back(statement);
    }

    /// Completes with the next statement that may go.
    ///
    /// # Cancellation
    /// Safe: a step is taken only when this completes.
    pub(crate) async fn next(&self) -> u32 {
        loop {
            let granted = self.granted.borrow_mut().pop_front();
            if let Some(statement) = granted {
                return statement;
            }
            self.changed.notified().await;
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    #[test]
    fn a_step_lets_exactly_one_waiting_statement_through() {
        let stepper = Stepper::default();
        assert!(!stepper.step(Step::Next), "nobody waits");
        stepper.wait_for(4);
        stepper.wait_for(5);
        assert_eq!(stepper.next().now_or_never(), None);
        assert!(stepper.step(Step::Next));
        assert_eq!(stepper.next().now_or_never(), Some(4));
        assert_eq!(stepper.next().now_or_never(), None);
        assert!(stepper.step(Step::Next) && !stepper.step(Step::Next), "one is left");
    }

    #[test]
    fn a_statement_may_be_chosen_if_it_waits() {
        let stepper = Stepper::default();
        for statement in [1, 2, 3] {
            stepper.wait_for(statement);
        }
        assert!(stepper.step(Step::Statement(2)) && !stepper.step(Step::Statement(2)));
        assert_eq!(stepper.next().now_or_never(), Some(2));
        assert!(stepper.step(Step::Next));
        assert_eq!(stepper.next().now_or_never(), Some(1));
    }

    #[test]
    fn all_that_wait_may_go_at_once() {
        let stepper = Stepper::default();
        for statement in [1, 2] {
            stepper.wait_for(statement);
        }
        stepper.release();
        assert!(stepper.is_released() && !stepper.step(Step::Next));
        let gone = [stepper.next().now_or_never(), stepper.next().now_or_never()];
        assert_eq!(gone, [Some(1), Some(2)]);
    }
}
