//! Spans that wait to be sent, and what became of those before.
//!
//! In: the spans of a request, all at once. Out: batches. Promises: no more wait than there may; nobody who brings
//! spans waits for anything but a lock that is held for a glance; each span is counted once, as sent or as dropped.

use std::{
    collections::VecDeque,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use tokio::{
    sync::Notify,
    time::{Instant, timeout_at},
};

use super::recording::Span;

/// Spans of one request to the collector.
const BATCH_MAX: usize = 512;

/// How long spans wait for others.
const BATCH_EVERY: Duration = Duration::from_secs(2);

/// What became of spans.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SpanCounts {
    /// Taken by the collector.
    pub sent: u64,
    /// Dropped because the queue was full, the request had too many, or the collector did not take them.
    pub dropped: u64,
}

/// The queue.
#[derive(Debug)]
pub(super) struct Queue {
    waiting: Mutex<Waiting>,
    most: usize,
    changed: Notify,
    /// Told once, when it is closed.
    closed: Notify,
    sent: AtomicU64,
    dropped: AtomicU64,
}

#[derive(Debug, Default)]
struct Waiting {
    spans: VecDeque<Span>,
    is_closed: bool,
}

impl Queue {
    pub(super) fn new(most: usize) -> Self {
        Self {
            waiting: Mutex::default(),
            most,
            changed: Notify::new(),
            closed: Notify::new(),
            sent: AtomicU64::new(0),
            dropped: AtomicU64::new(0),
        }
    }

    /// Brings the spans of a request; a request has all of its spans or none.
    pub(super) fn push(&self, spans: Vec<Span>) {
        let mut waiting = self.lock();
        let count = waiting.spans.len() + spans.len();
        if waiting.is_closed || count > self.most {
            drop(waiting);
            return self.note_dropped(spans.len());
        }
        // Between these two there is nothing to do for who sends.
        let is_worth_waking = waiting.spans.is_empty() || count >= BATCH_MAX;
        waiting.spans.extend(spans);
        drop(waiting);
        if is_worth_waking {
            self.changed.notify_one();
        }
    }

    /// The next spans to send, once there are enough of them or they have waited long enough; nothing when the queue
    /// is closed and empty.
    pub(super) async fn next_batch(&self) -> Option<Vec<Span>> {
        let mut due = None;
        loop {
            let is_empty = {
                let mut waiting = self.lock();
                let is_due = due.is_some_and(|due| due <= Instant::now());
                if waiting.is_closed || is_due || waiting.spans.len() >= BATCH_MAX {
                    let count = waiting.spans.len().min(BATCH_MAX);
                    let batch: Vec<Span> = waiting.spans.drain(..count).collect();
                    return (!batch.is_empty()).then_some(batch);
                }
                waiting.spans.is_empty()
            };
            if is_empty {
                self.changed.notified().await;
            } else {
                let due = *due.get_or_insert_with(|| Instant::now() + BATCH_EVERY);
                // Whether it is due or more have come is seen above.
                let _ = timeout_at(due, self.changed.notified()).await;
            }
        }
    }

    /// Waits, but not for a queue that is closed.
    pub(super) async fn pause(&self, pause: Duration) {
        let until = Instant::now() + pause;
        while !self.is_closed() && timeout_at(until, self.changed.notified()).await.is_ok() {}
    }

    /// Takes nothing more.
    pub(super) fn close(&self) {
        self.lock().is_closed = true;
        self.changed.notify_one();
        self.closed.notify_one();
    }

    /// Waits until it is closed; there is one who does.
    pub(super) async fn closed(&self) {
        self.closed.notified().await;
    }

    pub(super) fn is_closed(&self) -> bool {
        self.lock().is_closed
    }

    /// Gives up what still waits.
    pub(super) fn abandon(&self) {
        let count = std::mem::take(&mut self.lock().spans).len();
        self.note_dropped(count);
    }

    pub(super) fn note_sent(&self, count: usize) {
        self.sent.fetch_add(count as u64, Ordering::Relaxed);
    }

    pub(super) fn note_dropped(&self, count: usize) {
        self.dropped.fetch_add(count as u64, Ordering::Relaxed);
    }

    pub(super) fn counts(&self) -> SpanCounts {
        SpanCounts {
            sent: self.sent.load(Ordering::Relaxed),
            dropped: self.dropped.load(Ordering::Relaxed),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spans(count: usize) -> Vec<Span> {
        vec![Span::default(); count]
    }

    #[tokio::test(start_paused = true)]
    async fn spans_wait_for_others_but_not_for_long() {
        let queue = Queue::new(10_000);
        let began = Instant::now();
        queue.push(spans(3));
        assert_eq!(queue.next_batch().await.map(|batch| batch.len()), Some(3));
        assert_eq!(began.elapsed(), BATCH_EVERY);
        queue.push(spans(BATCH_MAX + 5));
        assert_eq!(queue.next_batch().await.map(|batch| batch.len()), Some(BATCH_MAX));
        assert_eq!(began.elapsed(), BATCH_EVERY, "enough of them wait for nobody");
        queue.close();
        assert_eq!(queue.next_batch().await.map(|batch| batch.len()), Some(5));
        assert_eq!(queue.next_batch().await, None);
    }

    #[test]
    fn what_finds_no_room_is_counted() {
        let queue = Queue::new(5);
        queue.push(spans(5));
        queue.push(spans(1));
        assert_eq!(queue.counts(), SpanCounts { sent: 0, dropped: 1 });
        queue.abandon();
        queue.push(spans(6));
        assert_eq!(queue.counts().dropped, 12);
        queue.close();
        queue.push(spans(1));
        assert_eq!(queue.counts().dropped, 13);
    }

    #[tokio::test(start_paused = true)]
    async fn a_pause_ends_with_the_queue() {
        let queue = Queue::new(5);
        let began = Instant::now();
        queue.push(spans(1));
        queue.pause(Duration::from_secs(9)).await;
        assert_eq!(began.elapsed(), Duration::from_secs(9), "spans that come do not end it");
        queue.close();
        queue.pause(Duration::from_secs(9)).await;
        assert_eq!(began.elapsed(), Duration::from_secs(9));
    }
}
