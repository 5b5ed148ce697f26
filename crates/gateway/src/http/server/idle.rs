//! Connections of one worker that wait for a request: the one that has waited longest makes room for a new one.

use std::{
    cell::{Cell, RefCell},
    collections::HashMap,
    rc::Rc,
};

use tokio::{task::AbortHandle, time::Instant};

/// The connections of a worker.
#[derive(Debug, Default)]
pub(super) struct Seats {
    seats: RefCell<HashMap<u64, Entry>>,
    so_far: Cell<u64>,
}

#[derive(Debug)]
struct Entry {
    idle_since: Rc<Cell<Option<Instant>>>,
    task: Option<AbortHandle>,
}

/// The place of one connection; it is given up when this is dropped.
#[derive(Debug)]
pub(super) struct Seat {
    seats: Rc<Seats>,
    number: u64,
    idle_since: Rc<Cell<Option<Instant>>>,
}

impl Seats {
    /// A place for a connection that has come just now.
    pub(super) fn take(self: &Rc<Self>) -> Seat {
        let number = self.so_far.get();
        self.so_far.set(number + 1);
        let idle_since = Rc::new(Cell::new(None));
        let entry = Entry { idle_since: Rc::clone(&idle_since), task: None };
        self.seats.borrow_mut().insert(number, entry);
        Seat { seats: Rc::clone(self), number, idle_since }
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
        let idle = seats.values().filter_map(|entry| Some((entry.idle_since.get()?, entry)));
        let Some((_, oldest)) = idle.min_by_key(|(since, _)| *since) else { return false };
        // Its task ends with the next turn; until then it is nobody's to end again.
        oldest.idle_since.set(None);
        if let Some(task) = &oldest.task {
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
        self.idle_since.set(Some(now));
    }

    /// A request has begun to come.
    pub(super) fn end_idling(&self) {
        self.idle_since.set(None);
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.seats.seats.borrow_mut().remove(&self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_one_that_has_waited_longest_goes_first() {
        let seats = Rc::new(Seats::default());
        let [first, second, busy] = [(); 3].map(|()| seats.take());
        let now = Instant::now();
        first.begin_idling(now + std::time::Duration::from_secs(1));
        second.begin_idling(now);
        busy.begin_idling(now);
        busy.end_idling();
        assert!(seats.close_oldest());
        assert_eq!((second.idle_since.get(), first.idle_since.get().is_some()), (None, true));
        drop(second);
        assert!(seats.close_oldest());
        assert!(!seats.close_oldest(), "one is busy, the others are gone");
        drop((first, busy));
        assert!(seats.seats.borrow().is_empty());
    }
}
