//! The one timer of a connection, which moves only when it has to.
//!
//! Whatever is bounded in time is bounded by a moment, and a later moment costs nothing: the timer notices when
//! it fires too early. So a busy connection sets its timer once in the time that it may be idle.

use std::{
    pin::Pin,
    task::{Context, Poll, ready},
};

use tokio::time::{Instant, Sleep};

/// A timer that its owner has pinned.
#[derive(Debug)]
pub(super) struct Timer<'t> {
    sleep: Pin<&'t mut Sleep>,
    due: Instant,
}

impl<'t> Timer<'t> {
    pub(super) fn new(sleep: Pin<&'t mut Sleep>) -> Self {
        let due = sleep.deadline();
        Self { sleep, due }
    }

    pub(super) fn set(&mut self, due: Instant) {
        self.due = due;
        if due < self.sleep.deadline() {
            self.sleep.as_mut().reset(due);
        }
    }

    /// Ready when the moment has come.
    pub(super) fn poll(&mut self, context: &mut Context<'_>) -> Poll<()> {
        loop {
            ready!(self.sleep.as_mut().poll(context));
            if self.due <= self.sleep.deadline() {
                return Poll::Ready(());
            }
            self.sleep.as_mut().reset(self.due);
        }
    }
}
