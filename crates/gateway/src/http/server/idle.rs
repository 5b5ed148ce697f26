//! Connections of one worker that wait for a request: the one that has waited longest makes room for a new one.

use std::{
    cell::{Cell, RefCell},
    collections::HashMap,
    rc::Rc,
    task::{Context, Poll, Waker},
    time::Duration,
};

use tokio::{task::AbortHandle, time::Instant};

/// Who has asked for something already counts as waiting so much later: a flood of connections that never ask for
/// anything makes room for itself first. No more, so that nobody holds a place by a request long ago, and newcomers,
/// whose first request is on its way, do not drive each other out.
const KNOWN_BONUS: Duration = Duration::from_millis(250);

/// The connections of a worker.
#[derive(Debug, Default)]
pub(super) struct Seats {
    seats: RefCell<HashMap<u64, Entry>>,
    so_far: Cell<u64>,
}

#[derive(Debug)]
struct Entry {
    idle: Rc<Idle>,
    task: Option<AbortHandle>,
}

/// How a connection waits.
#[derive(Debug, Default)]
struct Idle {
    /// `None` while there is a request.
    since: Cell<Option<Instant>>,
    is_known: Cell<bool>,
    /// Of a connection that looks whether a request has come before it leaves.
    waker: RefCell<Option<Waker>>,
    is_asked_to_leave: Cell<bool>,
}

/// The place of one connection; it is given up when this is dropped.
#[derive(Debug)]
pub(super) struct Seat {
    seats: Rc<Seats>,
    number: u64,
    idle: Rc<Idle>,
}

impl Seats {
    /// A place for a connection that has come just now.
    pub(super) fn take(self: &Rc<Self>) -> Seat {
        let number = self.so_far.get();
        self.so_far.set(number + 1);
        let idle = Rc::new(Idle::default());
        self.seats.borrow_mut().insert(number, Entry { idle: Rc::clone(&idle), task: None });
        Seat { seats: Rc::clone(self), number, idle }
    }

    /// What the connection at this place runs on.
    pub(super) fn attach(&self, number: u64, task: AbortHandle) {
        if let Some(entry) = self.seats.borrow_mut().get_mut(&number) {
            entry.task = Some(task);
        }
    }

    /// Ends the connection that has waited longest for a request; false if none waits.
    pub(super) fn close_oldest(&self) -> bool {
        let seats = self.seats.borrow();
        let idle = seats.values().filter_map(|entry| Some((entry.idle.since.get()?, entry)));
        let Some((_, oldest)) = idle.min_by_key(|(since, _)| *since) else { return false };
        // It ends with the next turn; until then it is nobody's to end again.
        oldest.idle.since.set(None);
        if let Some(waker) = oldest.idle.waker.take() {
            oldest.idle.is_asked_to_leave.set(true);
            waker.wake();
        } else if let Some(task) = &oldest.task {
            task.abort();
        }
        true
    }
}

impl Seat {
    pub(super) fn number(&self) -> u64 {
        self.number
    }

    /// From this moment the connection waits for a request.
    pub(super) fn begin_idling(&self, now: Instant) {
        let bonus = if self.idle.is_known.get() { KNOWN_BONUS } else { Duration::ZERO };
        self.idle.since.set(Some(now + bonus));
    }

    /// It waits for nothing more, or for something else.
    pub(super) fn end_idling(&self) {
        self.idle.since.set(None);
    }

    /// A request has begun to come. If the connection was asked to leave, another one leaves in its place.
    pub(super) fn note_request(&self) {
        self.end_idling();
        self.idle.is_known.set(true);
        if self.idle.is_asked_to_leave.take() {
            self.seats.close_oldest();
        }
    }

    /// Waits to be asked to leave; to be polled when nothing has come.
    pub(super) fn poll_leave(&self, context: &Context<'_>) -> Poll<()> {
        if self.idle.is_asked_to_leave.get() {
            return Poll::Ready(());
        }
        let mut known = self.idle.waker.borrow_mut();
        if !known.as_ref().is_some_and(|known| known.will_wake(context.waker())) {
            *known = Some(context.waker().clone());
        }
        Poll::Pending
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.seats.seats.borrow_mut().remove(&self.number);
    }
}

#[cfg(test)]
mod tests {
    use std::task::Wake;

    use super::*;

    fn places<const COUNT: usize>() -> (Rc<Seats>, [Seat; COUNT]) {
        let seats = Rc::new(Seats::default());
        let taken = [(); COUNT].map(|()| seats.take());
        (seats, taken)
    }

    fn is_idle(seat: &Seat) -> bool {
        seat.idle.since.get().is_some()
    }

    #[test]
    fn the_one_that_has_waited_longest_goes_first() {
        let (seats, [first, second, busy]) = places();
        let now = Instant::now();
        first.begin_idling(now + Duration::from_secs(1));
        second.begin_idling(now);
        busy.begin_idling(now);
        busy.end_idling();
        assert!(seats.close_oldest());
        assert_eq!((is_idle(&second), is_idle(&first)), (false, true));
        drop(second);
        assert!(seats.close_oldest());
        assert!(!seats.close_oldest(), "one is busy, the others are gone");
        drop((first, busy));
        assert!(seats.seats.borrow().is_empty());
    }

    #[test]
    fn whoever_has_asked_for_something_counts_as_come_a_little_later() {
        let (seats, [known, stranger, long_known]) = places();
        let now = Instant::now();
        known.note_request();
        known.begin_idling(now);
        stranger.begin_idling(now + KNOWN_BONUS / 2);
        assert!(seats.close_oldest());
        assert_eq!((is_idle(&known), is_idle(&stranger)), (true, false));
        stranger.begin_idling(now + KNOWN_BONUS * 2);
        long_known.note_request();
        long_known.begin_idling(now);
        assert!(seats.close_oldest() && seats.close_oldest());
        assert!(is_idle(&stranger), "those that were known have waited for longer");
    }

    #[test]
    fn a_connection_whose_request_has_come_stays_and_another_one_leaves() {
        struct Unheard;
        impl Wake for Unheard {
            fn wake(self: std::sync::Arc<Self>) {}
        }
        let (seats, [first, second]) = places();
        let waker = Waker::from(std::sync::Arc::new(Unheard));
        let context = Context::from_waker(&waker);
        let now = Instant::now();
        for (seat, since) in [(&first, now), (&second, now + Duration::from_secs(1))] {
            seat.begin_idling(since);
            assert!(seat.poll_leave(&context).is_pending());
        }
        assert!(seats.close_oldest());
        first.note_request();
        assert!(first.poll_leave(&context).is_pending());
        assert!(second.poll_leave(&context).is_ready());
    }
}
