//! What happens on a connection: when bytes moved last, and whether a request is being answered.
//!
//! The stream of a connection is wrapped so that every read and write is noted; the connection's
//! driver asks now and then whether the client has been silent for too long. Times are counted in
//! milliseconds since the connection began, in atomics only because a stream that is upgraded to
//! another protocol may travel.

use std::{
    io,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
    task::{Context, Poll},
    time::Duration,
};

use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::TcpStream,
    sync::{Notify, OwnedSemaphorePermit},
    time::Instant,
};

use super::ServerLimits;

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
}

impl Activity {
    pub(super) fn new() -> Self {
        Self {
            began: Instant::now(),
            last: AtomicU64::new(0),
            head: AtomicU64::new(0),
            in_flight: AtomicUsize::new(0),
            requests: AtomicUsize::new(0),
        }
    }

    /// A request head is complete; the request is in flight until the guard is dropped.
    pub(super) fn begin(self: &Arc<Self>) -> InFlight {
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

    fn note_read(&self) {
        let now = self.now();
        self.last.store(now, Ordering::Relaxed);
        if self.in_flight.load(Ordering::Relaxed) == 0 && self.head.load(Ordering::Relaxed) == 0 {
            self.head.store(now + 1, Ordering::Relaxed);
        }
    }

    fn note_write(&self) {
        self.last.store(self.now(), Ordering::Relaxed);
    }
}

/// A request being answered.
#[derive(Debug)]
pub(super) struct InFlight(Arc<Activity>);

impl Drop for InFlight {
    fn drop(&mut self) {
        self.0.in_flight.fetch_sub(1, Ordering::Relaxed);
        self.0.note_write();
    }
}

/// A client's socket whose reads and writes are noted.
#[derive(Debug)]
pub(super) struct WatchedStream {
    stream: TcpStream,
    activity: Arc<Activity>,
    _guard: OpenGuard,
}

impl WatchedStream {
    pub(super) fn new(stream: TcpStream, activity: Arc<Activity>, guard: OpenGuard) -> Self {
        Self { stream, activity, _guard: guard }
    }
}

impl AsyncRead for WatchedStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let poll = Pin::new(&mut self.stream).poll_read(context, buffer);
        if buffer.filled().len() > before {
            self.activity.note_read();
        }
        poll
    }
}

impl AsyncWrite for WatchedStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &[u8],
    ) -> Poll<io::Result<usize>> {
        let poll = Pin::new(&mut self.stream).poll_write(context, buffer);
        if poll.is_ready() {
            self.activity.note_write();
        }
        poll
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffers: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let poll = Pin::new(&mut self.stream).poll_write_vectored(context, buffers);
        if poll.is_ready() {
            self.activity.note_write();
        }
        poll
    }
}
