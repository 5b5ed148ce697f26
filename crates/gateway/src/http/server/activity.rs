//! What happens on a connection: when bytes moved last, and whether an answer is due.
//!
//! The connection's driver notes requests and answers here, its stream notes reads and writes. The
//! driver asks now and then whether the client has been silent for too long; the stream asks whose
//! bytes it writes, and where heads begin. Times are counted in milliseconds since the connection
//! began. All of it is in atomics only because a stream that is upgraded to another protocol may
//! travel.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
    },
    time::Duration,
};

use tokio::{
    sync::{Notify, OwnedSemaphorePermit},
    time::Instant,
};

use super::{ServerLimits, target::Framing};

/// In [`Activity::framing`]: hyper has read no head since the last was told of.
const NO_HEAD: u64 = u64::MAX;
/// In [`Activity::framing`]: the body of the head has no length.
const UNSIZED: u64 = u64::MAX - 1;

/// The open connections of one worker.
#[derive(Debug, Default)]
pub(super) struct OpenCount {
    count: AtomicUsize,
    changed: Notify,
}

impl OpenCount {
    /// How many there are.
    pub(super) fn get(&self) -> usize {
        self.count.load(Ordering::Relaxed)
    }

    /// Waits until there are none.
    pub(super) async fn none_left(&self) {
        loop {
            let changed = self.changed.notified();
            if self.get() == 0 {
                return;
            }
            changed.await;
        }
    }
}

/// Counts one connection as open while it lives.
#[derive(Debug)]
pub(super) struct OpenGuard {
    open: Arc<OpenCount>,
    _permit: OwnedSemaphorePermit,
}

impl OpenGuard {
    pub(super) fn new(open: &Arc<OpenCount>, permit: OwnedSemaphorePermit) -> Self {
        open.count.fetch_add(1, Ordering::Relaxed);
        Self { open: Arc::clone(open), _permit: permit }
    }
}

impl Drop for OpenGuard {
    fn drop(&mut self) {
        self.open.count.fetch_sub(1, Ordering::Relaxed);
        self.open.changed.notify_one();
    }
}

/// Why a connection should be closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Silence {
    /// A request head was begun and not completed.
    InHead,
    /// Nothing at all.
    Idle,
}

/// The notes about one connection.
#[derive(Debug)]
pub(super) struct Activity {
    began: Instant,
    /// When bytes moved or a request ended last.
    last: AtomicU64,
    /// When the first byte of an incomplete head came, plus one; 0 without such a head.
    head: AtomicU64,
    in_flight: AtomicUsize,
    requests: AtomicUsize,
    /// Answers that hyper has not taken in full.
    due: AtomicUsize,
    /// An answer that hyper has taken may not be written in full.
    is_unwritten: AtomicBool,
    /// The connection belongs to another protocol.
    has_left_http: AtomicBool,
    /// The last request has a body of which more is wanted.
    is_body_wanted: AtomicBool,
    /// The client has ended the connection.
    is_gone: AtomicBool,
    /// What hyper made of the last head: the length of its body.
    framing: AtomicU64,
}

impl Activity {
    pub(super) fn new() -> Self {
        Self {
            began: Instant::now(),
            last: AtomicU64::new(0),
            head: AtomicU64::new(0),
            in_flight: AtomicUsize::new(0),
            requests: AtomicUsize::new(0),
            due: AtomicUsize::new(0),
            is_unwritten: AtomicBool::new(false),
            has_left_http: AtomicBool::new(false),
            is_body_wanted: AtomicBool::new(false),
            is_gone: AtomicBool::new(false),
            framing: AtomicU64::new(NO_HEAD),
        }
    }

    /// A request head is complete; the request is in flight until the guard is dropped.
    pub(super) fn begin(self: &Arc<Self>, framing: Framing) -> InFlight {
        self.is_body_wanted.store(framing != Framing::Sized(0), Ordering::Relaxed);
        let framing = match framing {
            Framing::Sized(length) => length.min(UNSIZED),
            Framing::Unsized => UNSIZED,
        };
        self.framing.store(framing, Ordering::Relaxed);
        self.head.store(0, Ordering::Relaxed);
        self.requests.fetch_add(1, Ordering::Relaxed);
        self.in_flight.fetch_add(1, Ordering::Relaxed);
        InFlight(Arc::clone(self))
    }

    /// Whether the client has not sent anything yet.
    pub(super) fn is_fresh(&self) -> bool {
        self.requests.load(Ordering::Relaxed) == 0 && self.head.load(Ordering::Relaxed) == 0
    }

    /// Whether the client has been silent for too long.
    pub(super) fn silence(&self, limits: &ServerLimits) -> Option<Silence> {
        if self.in_flight.load(Ordering::Relaxed) > 0 {
            return None;
        }
        let now = self.now();
        let since = |then: u64| Duration::from_millis(now.saturating_sub(then));
        let head = self.head.load(Ordering::Relaxed);
        if head > 0 {
            return (since(head - 1) >= limits.head_timeout).then_some(Silence::InHead);
        }
        let last = self.last.load(Ordering::Relaxed);
        (since(last) >= limits.idle_timeout).then_some(Silence::Idle)
    }

    fn now(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX - 1)
    }

    /// What hyper made of the head that it has read since the last call, if it has.
    pub(super) fn take_framing(&self) -> Option<Framing> {
        match self.framing.swap(NO_HEAD, Ordering::Relaxed) {
            NO_HEAD => None,
            UNSIZED => Some(Framing::Unsized),
            length => Some(Framing::Sized(length)),
        }
    }

    /// Whether what is written now can be no answer of ours: none is in the making, and all of them
    /// have been written.
    pub(super) fn owes_nothing(&self) -> bool {
        self.in_flight.load(Ordering::Relaxed) == 0
            && self.due.load(Ordering::Relaxed) == 0
            && !self.is_unwritten.load(Ordering::Relaxed)
            && !self.has_left_http.load(Ordering::Relaxed)
    }

    /// Whatever hyper had to write has been written.
    pub(super) fn note_flush(&self) {
        self.is_unwritten.store(false, Ordering::Relaxed);
    }

    /// Whether the answer to a request is being made of which nothing is wanted any more.
    pub(super) fn is_answering(&self) -> bool {
        self.in_flight.load(Ordering::Relaxed) > 0 && !self.is_body_wanted.load(Ordering::Relaxed)
    }

    /// The body of the request has ended, or nobody wants the rest.
    pub(super) fn note_body_end(&self) {
        self.is_body_wanted.store(false, Ordering::Relaxed);
    }

    /// The client does not wait for what is being answered.
    pub(super) fn note_gone(&self) {
        self.is_gone.store(true, Ordering::Relaxed);
    }

    /// Whether the client has gone.
    pub(super) fn is_gone(&self) -> bool {
        self.is_gone.load(Ordering::Relaxed)
    }

    /// From here on the connection speaks another protocol.
    pub(super) fn leave_http(&self) {
        self.has_left_http.store(true, Ordering::Relaxed);
    }

    pub(super) fn note_read(&self) {
        let now = self.now();
        self.last.store(now, Ordering::Relaxed);
        if self.in_flight.load(Ordering::Relaxed) == 0 && self.head.load(Ordering::Relaxed) == 0 {
            self.head.store(now + 1, Ordering::Relaxed);
        }
    }

    pub(super) fn note_write(&self) {
        self.last.store(self.now(), Ordering::Relaxed);
    }
}

/// A request being answered.
#[derive(Debug)]
pub(super) struct InFlight(Arc<Activity>);

impl InFlight {
    /// The answer is made; it is due until the guard is dropped.
    pub(super) fn answered(self) -> Due {
        self.0.due.fetch_add(1, Ordering::Relaxed);
        Due(Arc::clone(&self.0))
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        self.0.in_flight.fetch_sub(1, Ordering::Relaxed);
        self.0.note_write();
    }
}

/// An answer on its way to the client.
#[derive(Debug)]
pub(super) struct Due(Arc<Activity>);

impl Drop for Due {
    fn drop(&mut self) {
        self.0.is_unwritten.store(true, Ordering::Relaxed);
        self.0.due.fetch_sub(1, Ordering::Relaxed);
    }
}
