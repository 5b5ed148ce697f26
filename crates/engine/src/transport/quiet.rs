//! Polling several futures that wake each other, without waking their task for it.
//!
//! An HTTP/1.1 connection and the exchange on it are polled by one task. hyper lets them talk through
//! channels, so each wakes the other, which is: the task that is polling both at that moment. It would run
//! once more for nothing, or only to find what it could have found at once. A [`Quiet`] keeps such wakes to
//! itself and polls again on the spot; wakes from outside, such as those of sockets, reach the task.

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering::SeqCst},
    },
    task::{Context, Poll, Wake, Waker},
};

/// Polls in a row; then the task is woken like any other, so that nobody holds its thread.
const POLLS_MAX: u32 = 3;

/// Kept with the connection, because making one takes memory.
pub(super) struct Quiet {
    latch: Arc<Latch>,
    waker: Waker,
}

#[derive(Default)]
struct Latch {
    task: Mutex<Option<Waker>>,
    is_polling: AtomicBool,
    is_woken: AtomicBool,
}

impl Latch {
    fn wake_task(&self) {
        // No code under this lock panics.
        let task = self.task.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(task) = task {
            task.wake();
        }
    }

    fn attend(&self, waker: &Waker) {
        let mut task = self.task.lock().unwrap_or_else(PoisonError::into_inner);
        match &mut *task {
            Some(known) => known.clone_from(waker),
            none => *none = Some(waker.clone()),
        }
    }
}

impl Wake for Latch {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.is_woken.store(true, SeqCst);
        // Whoever polls looks at the flag after this one has been cleared, so no wake is lost.
        if !self.is_polling.load(SeqCst) {
            self.wake_task();
        }
    }
}

impl Quiet {
    pub(super) fn new() -> Self {
        let latch = Arc::<Latch>::default();
        Self { waker: Waker::from(Arc::clone(&latch)), latch }
    }

    /// Polls until nothing changes any more, or a result is there.
    pub(super) fn poll<T>(
        &self,
        cx: &mut Context<'_>,
        mut poll: impl FnMut(&mut Context<'_>) -> Poll<T>,
    ) -> Poll<T> {
        let Self { latch, waker } = self;
        latch.attend(cx.waker());
        for _ in 0..POLLS_MAX {
            latch.is_woken.store(false, SeqCst);
            latch.is_polling.store(true, SeqCst);
            let result = poll(&mut Context::from_waker(waker));
            latch.is_polling.store(false, SeqCst);
            if result.is_ready() || !latch.is_woken.load(SeqCst) {
                return result;
            }
        }
        latch.wake_task();
        Poll::Pending
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicU32;

    use super::*;

    #[derive(Default)]
    struct Counter(AtomicU32);

    impl Wake for Counter {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, SeqCst);
        }
    }

    /// Polls a body, which counts its calls, and gives: the result, calls, wakes of the task.
    fn poll(mut body: impl FnMut(u32, &Waker) -> Poll<()>) -> (Poll<()>, u32, u32) {
        let task = Arc::<Counter>::default();
        let waker = Waker::from(Arc::clone(&task));
        let mut calls = 0;
        let result = Quiet::new().poll(&mut Context::from_waker(&waker), |cx| {
            calls += 1;
            body(calls, cx.waker())
        });
        (result, calls, task.0.load(SeqCst))
    }

    #[test]
    fn a_wake_while_polling_polls_again_and_leaves_the_task_alone() {
        let outcome = poll(|call, waker| {
            if call == 2 {
                return Poll::Ready(());
            }
            waker.wake_by_ref();
            Poll::Pending
        });
        assert_eq!(outcome, (Poll::Ready(()), 2, 0));
    }

    #[test]
    fn one_that_always_wakes_itself_gives_way_to_other_tasks() {
        let outcome = poll(|_, waker| {
            waker.wake_by_ref();
            Poll::Pending
        });
        assert_eq!(outcome, (Poll::Pending, POLLS_MAX, 1));
    }

    #[test]
    fn a_wake_from_outside_reaches_the_task() {
        let task = Arc::<Counter>::default();
        let waker = Waker::from(Arc::clone(&task));
        let quiet = Quiet::new();
        let mut kept = None;
        let result: Poll<()> = quiet.poll(&mut Context::from_waker(&waker), |cx| {
            kept = Some(cx.waker().clone());
            Poll::Pending
        });
        assert_eq!((result, task.0.load(SeqCst)), (Poll::Pending, 0));
        kept.expect("a waker").wake();
        assert_eq!(task.0.load(SeqCst), 1);
    }
}
