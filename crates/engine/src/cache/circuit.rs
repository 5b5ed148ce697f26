//! Keeps a dead server from costing anything: after a few failures it is left alone for a while.
//!
//! One circuit per server, shared by all threads. While it is open nobody asks the server; when the
//! pause is over one operation tries, and its outcome closes the circuit or doubles the pause. An
//! operation that is dropped without an outcome gives its try back.

use std::{
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::time::Instant;

/// Failures in a row that open a circuit.
const FAILURES_MAX: u32 = 3;

/// The longest pause, as a multiple of the first.
const PAUSE_FACTOR_MAX: u32 = 16;

#[derive(Debug, Clone, Copy)]
enum State {
    Closed { failures: u32 },
    Open { until: Instant, pause: Duration },
    Trying { pause: Duration },
}

/// The state of one server.
#[derive(Debug)]
pub(super) struct Circuit {
    first_pause: Duration,
    state: Mutex<State>,
}

/// What an outcome changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Change {
    None,
    /// The server is not asked for this long.
    Opened(Duration),
    /// The server answers again.
    Closed,
}

/// Leave to ask the server once. Dropping it says nothing about the server.
#[derive(Debug)]
pub(super) struct Permit<'a> {
    circuit: &'a Circuit,
    is_try: bool,
}

impl Circuit {
    pub(super) fn new(first_pause: Duration) -> Self {
        Self { first_pause, state: Mutex::new(State::Closed { failures: 0 }) }
    }

    /// Leave to ask, or `None` while the server is left alone.
    pub(super) fn admit(&self) -> Option<Permit<'_>> {
        let mut state = self.lock();
        match *state {
            State::Closed { .. } => Some(Permit { circuit: self, is_try: false }),
            State::Open { until, pause } if until <= Instant::now() => {
                *state = State::Trying { pause };
                Some(Permit { circuit: self, is_try: true })
            }
            State::Open { .. } | State::Trying { .. } => None,
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // The state is a plain value that is replaced whole; a panic elsewhere cannot break it.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Permit<'_> {
    /// The server answered.
    pub(super) fn succeeded(mut self) -> Change {
        self.is_try = false;
        let mut state = self.circuit.lock();
        let was_closed = matches!(*state, State::Closed { .. });
        *state = State::Closed { failures: 0 };
        if was_closed { Change::None } else { Change::Closed }
    }

    /// The server did not answer, or not sensibly.
    pub(super) fn failed(mut self) -> Change {
        let was_try = std::mem::take(&mut self.is_try);
        let mut state = self.circuit.lock();
        let pause = match *state {
            State::Closed { failures } if failures + 1 < FAILURES_MAX => {
                *state = State::Closed { failures: failures + 1 };
                return Change::None;
            }
            State::Closed { .. } => self.circuit.first_pause,
            State::Trying { pause } if was_try => {
                (pause * 2).min(self.circuit.first_pause * PAUSE_FACTOR_MAX)
            }
            // An operation from before the pause; what it says is known.
            State::Open { .. } | State::Trying { .. } => return Change::None,
        };
        *state = State::Open { until: Instant::now() + pause, pause };
        Change::Opened(pause)
    }
}

impl Drop for Permit<'_> {
    fn drop(&mut self) {
        if !self.is_try {
            return;
        }
        let mut state = self.circuit.lock();
        if let State::Trying { pause } = *state {
            *state = State::Open { until: Instant::now(), pause };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAUSE: Duration = Duration::from_secs(1);

    fn open() -> Circuit {
        let circuit = Circuit::new(PAUSE);
        for _ in 1..FAILURES_MAX {
            assert_eq!(circuit.admit().expect("closed").failed(), Change::None);
        }
        assert_eq!(circuit.admit().expect("closed").failed(), Change::Opened(PAUSE));
        circuit
    }

    #[tokio::test(start_paused = true)]
    async fn failures_in_a_row_open_and_an_answer_after_the_pause_closes() {
        let circuit = open();
        assert!(circuit.admit().is_none());
        tokio::time::advance(PAUSE).await;
        let attempt = circuit.admit().expect("one may try");
        assert!(circuit.admit().is_none(), "only one may try");
        assert_eq!(attempt.succeeded(), Change::Closed);
        assert_eq!(circuit.admit().expect("closed").succeeded(), Change::None);
    }

    #[tokio::test(start_paused = true)]
    async fn the_pause_doubles_up_to_a_bound() {
        let circuit = open();
        let mut pause = PAUSE;
        for _ in 0..8 {
            tokio::time::advance(pause).await;
            let next = (pause * 2).min(PAUSE * PAUSE_FACTOR_MAX);
            assert_eq!(circuit.admit().expect("one may try").failed(), Change::Opened(next));
            pause = next;
        }
        assert_eq!(pause, PAUSE * PAUSE_FACTOR_MAX);
    }

    #[tokio::test(start_paused = true)]
    async fn a_dropped_try_lets_another_one_try() {
        let circuit = open();
        tokio::time::advance(PAUSE).await;
        drop(circuit.admit().expect("one may try"));
        assert!(circuit.admit().is_some());
    }

    #[test]
    fn an_answer_in_between_starts_the_count_again() {
        let circuit = Circuit::new(PAUSE);
        for _ in 0..10 {
            assert_eq!(circuit.admit().expect("closed").failed(), Change::None);
            assert_eq!(circuit.admit().expect("closed").succeeded(), Change::None);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn late_failures_of_old_operations_do_not_lengthen_the_pause() {
        let circuit = Circuit::new(PAUSE);
        let permits: Vec<_> = (0..10).filter_map(|_| circuit.admit()).collect();
        let changes: Vec<_> = permits.into_iter().map(Permit::failed).collect();
        assert_eq!(changes.iter().filter(|change| **change != Change::None).count(), 1);
        tokio::time::advance(PAUSE).await;
        assert!(circuit.admit().is_some());
    }
}
