//! A client's socket: bytes in, bytes out, and whether anybody is there.
//!
//! Room for what arrives is made once something has arrived, and given up when it is used, so that an idle
//! connection holds a socket, a timer and nothing else.
//!
//! **The end of a client.** A client that has sent all it wants may close its half of the connection and wait
//! for the answer; one that leaves closes both halves. Both send the same: the end of what they send. What
//! differs is what happens to bytes that we send: the one who waits reads them, the one who has left answers
//! with a reset, which the system reports as an error of the socket. So the end of what a client sends is never
//! taken for its leaving. While an answer takes long after that end, we ask: with `100 Continue`, which every
//! client of HTTP/1.1 expects at any time and passes over (RFC 9110, 15.2). Older clients are not asked; for
//! them, and for a client that has sent more behind its request, only a reset or the answer tells.

use std::{
    future::poll_fn,
    io::{self, IoSlice},
    pin::{Pin, pin},
    rc::Rc,
    task::{Context, Poll, ready},
    time::Duration,
};

use bytes::{Buf, Bytes, BytesMut};
use tokio::{
    io::{AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadBuf, copy, sink},
    task::yield_now,
    time::{Instant, timeout},
};

use super::{socket::Socket, timer::Timer, unread::Unread};
use crate::http::pace::Pace;

/// What a client hears that may send its body, or that may not be there any more.
const CONTINUE: &[u8] = b"HTTP/1.1 100 Continue\r\n\r\n";
/// How long an answer may take after the end of what its client sends, until we ask whether it is there: shorter
/// than the 10 ms in which the work of a client that left has to end, and long enough that the short requests of
/// clients that close one half never hear the question.
const ASK_AFTER: Duration = Duration::from_millis(5);
/// How long a client may go on sending after its last answer. Were the connection closed while it sends, the
/// answer would be lost with it.
const LINGER_TIMEOUT: Duration = Duration::from_secs(2);
/// Bytes of such a client that are read and dropped.
const LINGER_BYTES_MAX: u64 = 16 << 20;

/// Bytes that a client may send behind its request while its answer is made, where they have to be read for its
/// leaving to be seen; beyond it they wait in the system.
const AHEAD_BYTES_MAX: usize = 16 * 1024;

/// Bytes of an answer that are written until others have their turn.
const TURN_BYTES: usize = 256 * 1024;

/// How much of an answer the socket has taken.
#[derive(PartialEq, Eq)]
enum Written {
    Whole,
    InPart,
}

/// A socket, and what has arrived on it and is not used yet.
#[derive(Debug)]
pub(super) struct Wire<'t> {
    pub(super) stream: Socket,
    pub(super) arrived: BytesMut,
    pub(super) timer: Timer<'t>,
    /// What is left to write of an interim answer.
    interim: &'static [u8],
}

impl<'t> Wire<'t> {
    pub(super) fn new(stream: Socket, arrived: BytesMut, timer: Timer<'t>) -> Self {
        Self { stream, arrived, timer, interim: &[] }
    }

    /// Appends what comes to what has arrived, with room for so many bytes; 0 at the end.
    pub(super) fn poll_read(
        &mut self,
        context: &mut Context<'_>,
        room: usize,
    ) -> Poll<io::Result<usize>> {
        ready!(self.stream.poll_read_ready(context))?;
        self.arrived.reserve(room);
        let read = pin!(self.stream.read_buf(&mut self.arrived)).poll(context);
        self.release();
        read
    }

    /// Takes bytes that have arrived.
    pub(super) fn take(&mut self, count: usize) -> Bytes {
        let taken = self.arrived.split_to(count).freeze();
        self.release();
        taken
    }

    /// An empty rest would keep the memory of what was before it.
    pub(super) fn release(&mut self) {
        if self.arrived.is_empty() {
            self.arrived = BytesMut::new();
        }
    }

    /// Tells the client to go on; it is written with what is polled or written next.
    pub(super) fn ask_to_continue(&mut self) {
        self.interim = CONTINUE;
    }

    /// Ready when no interim answer is left to write.
    pub(super) fn poll_interim(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        while !self.interim.is_empty() {
            let stream = Pin::new(&mut self.stream);
            let written = ready!(stream.poll_write(context, self.interim))?;
            self.interim = &self.interim[written..];
        }
        if self.stream.holds_back() {
            ready!(Pin::new(&mut self.stream).poll_flush(context))?;
        }
        Poll::Ready(Ok(()))
    }

    /// Writes an answer. A client that takes it more slowly than this is an error of the kind `TimedOut`; one
    /// that is too slow while too much is unread, another error.
    pub(super) async fn write(
        &mut self,
        mut head: &[u8],
        mut body: &[u8],
        pace: &Pace,
        unread: &Rc<Unread>,
    ) -> io::Result<()> {
        let bytes = head.len() + body.len();
        let mut waiting = None;
        let mut written = 0;
        let mut is_due = false;
        let mut turn_ends_at = TURN_BYTES;
        let mut write_turn = |context: &mut Context<'_>| {
            ready!(self.poll_interim(context))?;
            while !(head.is_empty() && body.is_empty()) || self.stream.holds_back() {
                // A large answer fills the socket in one go, and to copy that much takes a while.
                let piece = &body[..body.len().min(TURN_BYTES)];
                let slices = [IoSlice::new(head), IoSlice::new(piece)];
                let stream = Pin::new(&mut self.stream);
                let polled = if head.is_empty() && body.is_empty() {
                    stream.poll_flush(context).map_ok(|()| 0)
                } else {
                    stream.poll_write_vectored(context, &slices)
                };
                if let Poll::Ready(count) = polled {
                    let count = count?;
                    let of_head = count.min(head.len());
                    head.advance(of_head);
                    body.advance(count - of_head);
                    written += count;
                    is_due = false;
                    if written >= turn_ends_at && !body.is_empty() {
                        turn_ends_at = written + TURN_BYTES;
                        return Poll::Ready(Ok(Written::InPart));
                    }
                    continue;
                }
                let now = Instant::now();
                let (stuck, since) = waiting
                    .get_or_insert_with(|| (unread.count(bytes, written, context.waker()), now));
                if !stuck.go_on(written, context.waker()) {
                    let most = unread.most();
                    return Poll::Ready(Err(io::Error::other(format!(
                        "it takes its answer more slowly than others, and more than \
                         `maxAnswersMemory` ({most} bytes) wait to be taken"
                    ))));
                }
                if !is_due {
                    let patience = pace.patience(written, now - *since);
                    if patience.is_zero() {
                        // The timer would be moved by the next byte, before it fires.
                        return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
                    }
                    self.timer.set(now + patience);
                    is_due = true;
                }
                ready!(self.timer.poll(context));
                return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
            }
            Poll::Ready(Ok(Written::Whole))
        };
        while poll_fn(&mut write_turn).await? == Written::InPart {
            yield_now().await;
        }
        Ok(())
    }

    /// Completes when it is certain that nobody can get an answer any more. Nothing is read where the next bytes
    /// can be looked at; elsewhere they are kept.
    ///
    /// # Cancellation
    /// Safe.
    pub(super) async fn lose_client(&mut self, may_ask: bool) {
        let ended = if self.stream.can_peek() {
            let mut byte = [0; 1];
            let peek =
                poll_fn(|context| self.stream.poll_peek(context, &mut ReadBuf::new(&mut byte)));
            peek.await.map(|count| count == 0)
        } else {
            self.read_ahead().await
        };
        match ended {
            Err(_) => return,
            Ok(true) if may_ask => {
                if timeout(ASK_AFTER, self.stream.broken()).await.is_ok() {
                    return;
                }
                self.ask_to_continue();
                if poll_fn(|context| self.poll_interim(context)).await.is_err() {
                    return;
                }
            }
            Ok(_) => {}
        }
        // An error of this wait is no news of the client: then the answer goes its way.
        if self.stream.broken().await.is_err() {
            std::future::pending::<()>().await;
        }
    }

    /// Reads what comes behind a request until the client sends no more, or as much as is kept of it; true at the
    /// end.
    async fn read_ahead(&mut self) -> io::Result<bool> {
        while self.arrived.len() < AHEAD_BYTES_MAX {
            let room = AHEAD_BYTES_MAX - self.arrived.len();
            if poll_fn(|context| self.poll_read(context, room)).await? == 0 {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Ends what we send, and reads and drops what the client still sends, so that it gets to read its answer.
    pub(super) async fn linger(mut self) {
        if self.stream.shutdown().await.is_err() {
            return;
        }
        let mut rest = self.stream.take(LINGER_BYTES_MAX);
        // Whether it ends, breaks or takes too long: then the connection is closed.
        let _ = timeout(LINGER_TIMEOUT, copy(&mut rest, &mut sink())).await;
    }
}
