//! A place for one value, which somebody else is told of as soon as it is there.

use std::sync::{Mutex, PoisonError};

type Waiter<T> = Box<dyn FnOnce(T) + Send>;

/// What a slot holds.
enum State<T> {
    Empty,
    Waited(Waiter<T>),
    Filled(T),
    Taken,
}

/// A place that is filled once and taken once, on any two threads.
pub(crate) struct Slot<T>(Mutex<State<T>>);

impl<T> Default for Slot<T> {
    fn default() -> Self {
        Self(Mutex::new(State::Empty))
    }
}

impl<T> Slot<T> {
    /// Fills it; what comes second is dropped.
    pub(crate) fn fill(&self, value: T) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match std::mem::replace(&mut *state, State::Taken) {
            State::Empty => *state = State::Filled(value),
            State::Waited(waiter) => {
                // The waiter may come back here.
                drop(state);
                waiter(value);
            }
            known @ (State::Filled(_) | State::Taken) => *state = known,
        }
    }

    /// Has the value handed over, now or when it is there. Answers whether nobody has asked before; the second one
    /// to ask never gets anything.
    pub(crate) fn when_filled(&self, waiter: impl FnOnce(T) + Send + 'static) -> bool {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match std::mem::replace(&mut *state, State::Taken) {
            State::Empty => {
                *state = State::Waited(Box::new(waiter));
                true
            }
            State::Filled(value) => {
                drop(state);
                waiter(value);
                true
            }
            known @ (State::Waited(_) | State::Taken) => {
                *state = known;
                false
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    #[test]
    fn a_value_is_handed_over_once_whoever_comes_first() {
        for is_filled_first in [true, false] {
            let (sender, receiver) = mpsc::channel();
            let slot = Slot::default();
            if is_filled_first {
                slot.fill(1);
                slot.fill(2);
            }
            assert!(slot.when_filled(move |value| sender.send(value).expect("the test listens")));
            assert!(!slot.when_filled(|_: i32| panic!("nobody else is told")));
            if !is_filled_first {
                slot.fill(1);
                slot.fill(2);
            }
            assert_eq!(receiver.iter().collect::<Vec<_>>(), [1]);
        }
    }
}
