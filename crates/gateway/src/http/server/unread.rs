//! Answers that their clients do not take.
//!
//! An answer that the socket does not take at once waits in memory. All that wait are counted over the whole process;
//! beyond the limit the client that takes its answer slowest loses it, on the worker that has noticed. A single one
//! that waits on a worker is left alone: nobody else waits because of it.

use std::{
    cell::{Cell, RefCell},
    collections::HashMap,
    rc::Rc,
    sync::Arc,
    task::Waker,
    time::Duration,
};

use tokio::time::Instant;

use crate::http::quota::Quota;

/// The answers that wait on one worker.
#[derive(Debug)]
pub(super) struct Unread {
    quota: Arc<Quota>,
    waiting: RefCell<HashMap<u64, Waiting>>,
    so_far: Cell<u64>,
}

#[derive(Debug)]
struct Waiting {
    /// All of it stays in memory until the last of it is taken.
    bytes: usize,
    written: usize,
    since: Instant,
    waker: Waker,
}

impl Waiting {
    /// Bytes taken in a second, counted from a second ago, so that nobody is judged by his first moments.
    fn rate(&self, now: Instant) -> u128 {
        let elapsed = (now - self.since).saturating_add(Duration::from_secs(1));
        self.written as u128 * 1000 / elapsed.as_millis().max(1)
    }
}

/// An answer that waits; it is no longer counted when this is dropped.
#[derive(Debug)]
pub(super) struct Stuck {
    unread: Rc<Unread>,
    number: u64,
}

impl Unread {
    pub(super) fn new(quota: Arc<Quota>) -> Rc<Self> {
        Rc::new(Self { quota, waiting: RefCell::default(), so_far: Cell::new(0) })
    }

    /// Counts an answer of so many bytes, of which some were taken.
    pub(super) fn count(self: &Rc<Self>, bytes: usize, written: usize, waker: &Waker) -> Stuck {
        let number = self.so_far.get();
        self.so_far.set(number + 1);
        self.quota.add(bytes);
        let waiting = Waiting { bytes, written, since: Instant::now(), waker: waker.clone() };
        self.waiting.borrow_mut().insert(number, waiting);
        while self.quota.is_exceeded() && self.cut_slowest() {}
        Stuck { unread: Rc::clone(self), number }
    }

    /// The most that may wait, in bytes.
    pub(super) fn most(&self) -> usize {
        self.quota.most()
    }

    /// Gives the slowest up; false if there are no two.
    fn cut_slowest(&self) -> bool {
        let mut waiting = self.waiting.borrow_mut();
        let now = Instant::now();
        let slowest = waiting.iter().min_by_key(|(number, one)| (one.rate(now), **number));
        let Some((&number, _)) = slowest.filter(|_| waiting.len() > 1) else { return false };
        if let Some(cut) = waiting.remove(&number) {
            self.quota.give_back(cut.bytes);
            cut.waker.wake();
        }
        true
    }
}

impl Stuck {
    /// Notes how much was taken; false if the answer was given up.
    pub(super) fn go_on(&self, written: usize, waker: &Waker) -> bool {
        let mut waiting = self.unread.waiting.borrow_mut();
        let Some(own) = waiting.get_mut(&self.number) else { return false };
        own.written = written;
        own.waker.clone_from(waker);
        true
    }
}

impl Drop for Stuck {
    fn drop(&mut self) {
        if let Some(own) = self.unread.waiting.borrow_mut().remove(&self.number) {
            self.unread.quota.give_back(own.bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slowest_loses_its_answer_and_one_alone_does_not() {
        let unread = Unread::new(Arc::new(Quota::new(100)));
        let waker = Waker::noop();
        let large = unread.count(150, 0, waker);
        assert!(large.go_on(0, waker), "nobody waits because of it");
        drop(large);
        let slow = unread.count(50, 10, waker);
        let fast = unread.count(50, 1000, waker);
        assert!(slow.go_on(10, waker) && fast.go_on(1000, waker));
        let next = unread.count(1, 500, waker);
        assert!(!slow.go_on(10, waker));
        assert!(fast.go_on(1000, waker) && next.go_on(500, waker));
        drop((slow, fast, next));
        assert!(unread.quota.take(100).is_some(), "all is given back");
    }
}
