//! What a run has told and nobody has read yet.
//!
//! The host may be slower than the run, which does not wait for it: the queue is bounded, and when it is full further
//! events are left out and counted. The next event that has room comes behind one that says how many are missing, so
//! that nothing is lost in silence.

use std::{
    collections::VecDeque,
    sync::{Mutex, PoisonError},
};

/// Most events that wait to be read.
const WAITING_MAX: usize = 1_024;

/// Most bytes of them.
const WAITING_BYTES_MAX: usize = 8 << 20;

/// The name of the event that says how many are missing.
const LOST: &str = "events-lost";

/// One event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventText {
    /// Its name, or that of the variable that was set.
    pub name: String,
    /// What happened, as JSON.
    pub data: String,
}

impl EventText {
    fn bytes(&self) -> usize {
        self.name.len() + self.data.len()
    }

    fn lost(count: u64) -> Self {
        let data = format!(r#"{{"type":"{LOST}","count":{count}}}"#);
        Self { name: LOST.to_owned(), data }
    }
}

type Reader = Box<dyn FnOnce(Option<EventText>) + Send>;

#[derive(Default)]
struct State {
    waiting: VecDeque<EventText>,
    bytes: usize,
    lost: u64,
    reader: Option<Reader>,
    is_over: bool,
}

/// The events of one run.
#[derive(Default)]
pub(crate) struct EventQueue(Mutex<State>);

impl EventQueue {
    /// Tells an event.
    pub(crate) fn push(&self, event: EventText) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(reader) = state.reader.take() {
            drop(state);
            return reader(Some(event));
        }
        let is_full = state.waiting.len() >= WAITING_MAX
            || state.bytes.saturating_add(event.bytes()) > WAITING_BYTES_MAX;
        if is_full || state.is_over {
            state.lost += 1;
            return;
        }
        let lost = std::mem::take(&mut state.lost);
        if lost > 0 {
            state.waiting.push_back(EventText::lost(lost));
        }
        state.bytes += event.bytes();
        state.waiting.push_back(event);
    }

    /// There will be no more.
    pub(crate) fn end(&self) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        state.is_over = true;
        let lost = std::mem::take(&mut state.lost);
        if lost > 0 {
            state.waiting.push_back(EventText::lost(lost));
        }
        if let Some(reader) = state.reader.take() {
            drop(state);
            reader(None);
        }
    }

    /// Has the next event handed over, now or when there is one; `None` when there will be none. Answers whether
    /// nobody else waits: only one may.
    pub(crate) fn next(&self, reader: impl FnOnce(Option<EventText>) + Send + 'static) -> bool {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if state.reader.is_some() {
            return false;
        }
        match state.waiting.pop_front() {
            Some(event) => {
                state.bytes = state.bytes.saturating_sub(event.bytes());
                drop(state);
                reader(Some(event));
            }
            None if state.is_over => {
                drop(state);
                reader(None);
            }
            None => state.reader = Some(Box::new(reader)),
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    fn event(name: &str) -> EventText {
        EventText { name: name.to_owned(), data: "{}".to_owned() }
    }

    fn read(queue: &EventQueue) -> Option<EventText> {
        let (sender, receiver) = mpsc::channel();
        assert!(queue.next(move |event| sender.send(event).expect("the test listens")));
        receiver.try_recv().expect("it is there already")
    }

    #[test]
    fn a_reader_that_waits_gets_the_next_event_and_the_end() {
        let queue = EventQueue::default();
        let (sender, receiver) = mpsc::channel();
        let told = sender.clone();
        assert!(queue.next(move |event| told.send(event).expect("the test listens")));
        assert!(!queue.next(|_| panic!("only one may wait")));
        queue.push(event("a"));
        assert!(queue.next(move |event| sender.send(event).expect("the test listens")));
        queue.end();
        assert_eq!(receiver.iter().collect::<Vec<_>>(), [Some(event("a")), None]);
        assert_eq!(read(&queue), None);
    }

    #[test]
    fn events_beyond_the_bounds_are_counted() {
        let queue = EventQueue::default();
        for _ in 0..WAITING_MAX + 3 {
            queue.push(event("a"));
        }
        assert_eq!(read(&queue), Some(event("a")));
        queue.push(event("b"));
        for _ in 1..WAITING_MAX {
            assert_eq!(read(&queue), Some(event("a")));
        }
        assert_eq!(read(&queue), Some(EventText::lost(3)));
        assert_eq!(read(&queue), Some(event("b")));
        queue.push(EventText { name: String::new(), data: "x".repeat(WAITING_BYTES_MAX + 1) });
        queue.end();
        assert_eq!(read(&queue), Some(EventText::lost(1)));
        assert_eq!(read(&queue), None);
    }
}
