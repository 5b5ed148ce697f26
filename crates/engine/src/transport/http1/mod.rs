//! One HTTP/1.1 connection, used by one exchange at a time.
//!
//! In: a request, whole. Out: the head of the response, then its body in one buffer. Whoever uses the
//! connection polls it: it has no task, no channel and, between exchanges, no buffer, which is why it is
//! written here rather than taken from a library (`docs/adr/0011-own-http1-client.md`). Heads are parsed by
//! `httparse`.
//!
//! Promises: every size has a limit; a response that can be understood in two ways is refused; a connection
//! on which anything was out of order is not used again. Time is left to [`Patience`].

mod receiving;
mod request;
mod response;
mod spare;

use std::{
    future::{Future, poll_fn},
    io::{self, IoSlice},
    net::IpAddr,
    pin::{Pin, pin},
    task::{Context, Poll, Waker, ready},
};

use bytes::{Buf, BufMut, Bytes};
use http::Method;
pub(super) use qlio_http1::framing::Framing;
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, ReadBuf},
    task::yield_now,
    time::Instant,
};

use super::{
    allowance::Allowance,
    connect::Stream,
    connection::{Body, Failed, Head, note_head},
    error::{ErrorKind, Fault},
    exchange::Timings,
    headers::Headers,
    patience::Patience,
    watcher::Watcher,
};
use receiving::Receiving;
pub(super) use request::{Lines, Request};
use response::{HEAD_BYTES_MAX, Parsed, parse};

/// Room for what arrives, in bytes: for the first response of a connection, and at least and at most later.
const READ_BYTES_FIRST: usize = 2 * 1024;
const READ_BYTES_MIN: usize = 512;
const READ_BYTES_MAX: usize = 64 * 1024;

/// How much of a body is read at once, in bytes: what looks at it while it arrives finds it in the processor's
/// cache, and the upstream sends on meanwhile.
const READ_AT_ONCE_BYTES_MAX: usize = 256 * 1024;

/// After so many bytes others get their turn: about as many as are read and looked at in half a millisecond. To
/// let others go first costs a microsecond or two.
const TURN_BYTES: usize = 256 * 1024;

/// Room for a head of the usual size, in bytes.
const HEAD_BYTES_USUAL: usize = 512;

/// How many responses that only announce another one (status 1xx) are passed over.
const INTERIM_RESPONSES_MAX: u32 = 16;

pub(super) struct Connection {
    stream: Stream,
    sending: Sending,
    /// What has arrived and is not used yet.
    arrived: Bytes,
    /// Room to make for the next read: about the size of the responses so far.
    read_bytes: usize,
    /// Whether another exchange may follow this one.
    stays_open: bool,
    is_reused: bool,
    /// The target's address, if we know it.
    pub(super) peer: Option<IpAddr>,
}

/// The request under way.
#[derive(Default)]
struct Sending {
    head: Vec<u8>,
    /// How much of the head is written.
    head_written: usize,
    /// What of the body is not.
    body: Bytes,
    is_begun: bool,
    /// When all of it was on its way, or when that failed.
    ended_at: Option<Instant>,
    failure: Option<Fault>,
}

/// What is known of a response before its head is complete.
#[derive(Default)]
struct Prelude {
    /// How much of what has arrived was searched for the end of the head.
    searched: usize,
    interim_responses: u32,
    has_begun: bool,
}

/// How the other side's part goes on.
#[derive(Debug, PartialEq, Eq)]
enum Arrival {
    Data,
    /// The other side has ended the connection.
    End,
    /// The connection has ended, and nobody knows who ended it: TLS without a farewell.
    Cut,
}

impl Connection {
    pub(super) fn new(stream: Stream, peer: Option<IpAddr>) -> Self {
        Self {
            stream,
            sending: Sending::default(),
            arrived: Bytes::new(),
            read_bytes: READ_BYTES_FIRST,
            stays_open: true,
            is_reused: false,
            peer,
        }
    }

    /// Whether another exchange may follow, as far as the last one has shown.
    pub(super) fn is_reusable(&mut self) -> bool {
        self.is_reused = true;
        self.stays_open && self.sending.is_empty() && self.arrived.is_empty()
    }

    /// Whether nothing has come since: neither the end nor words that nobody asked for.
    pub(super) fn is_silent(&mut self) -> bool {
        let mut byte = [0; 1];
        let mut context = Context::from_waker(Waker::noop());
        Pin::new(&mut self.stream)
            .poll_read(&mut context, &mut ReadBuf::new(&mut byte))
            .is_pending()
    }

    /// Takes a request to send; it goes its way while its response is waited for.
    pub(super) fn begin(&mut self, request: &Request<'_>) {
        let (head, closes) = request.head();
        self.stays_open = !closes;
        self.sending = Sending { head, body: request.body.clone(), ..Sending::default() };
    }

    /// Sends the request that was begun, of this method, and waits for the head of the response.
    #[expect(clippy::manual_async_fn, reason = "an `async fn` would hold each argument twice")]
    pub(super) fn head(
        &mut self,
        method: &Method,
        patience: &mut Patience<'_>,
        timings: &mut Timings,
    ) -> impl Future<Output = Result<Head, Failed>> {
        async move {
            let started = patience.moved_at();
            let mut prelude = Prelude::default();
            let result = poll_fn(|cx| match self.poll_head(cx, method, &mut prelude, patience) {
                Poll::Pending => patience.poll_expired(cx).map(Err),
                ready @ Poll::Ready(_) => ready,
            })
            .await;
            note_head(timings, patience.moved_at(), started, self.sending.ended_at);
            result.map_err(|fault| {
                let is_stale = self.is_reused
                    && !prelude.has_begun
                    && matches!(fault.kind, ErrorKind::Connect { .. });
                Failed { may_resend: is_stale && !self.sending.is_begun, fault }
            })
        }
    }

    fn poll_head(
        &mut self,
        cx: &mut Context<'_>,
        method: &Method,
        prelude: &mut Prelude,
        patience: &mut Patience<'_>,
    ) -> Poll<Result<Head, Fault>> {
        loop {
            match ready!(self.poll_arrival(cx, patience)) {
                Ok(Arrival::Data) => prelude.has_begun = true,
                // An answer may come although the request could not be sent whole; here none has.
                Ok(Arrival::End | Arrival::Cut) => {
                    let failure = self.sending.failure.take();
                    let failure = failure.unwrap_or_else(|| Fault::network("ECONNRESET"));
                    return Poll::Ready(Err(failure));
                }
                Err(cause) => {
                    return Poll::Ready(Err(self.sending.failure.take().unwrap_or(cause)));
                }
            }
            if let Some(head) = self.parse_head(method, prelude)? {
                return Poll::Ready(Ok(head));
            }
        }
    }

    /// Takes a head from what has arrived, if it is complete; those that announce another one are dropped.
    fn parse_head(
        &mut self,
        method: &Method,
        prelude: &mut Prelude,
    ) -> Result<Option<Head>, Fault> {
        while prelude.may_have_head(&self.arrived) {
            match parse(&self.arrived, method)? {
                Parsed::Partial => break,
                Parsed::Interim { length } => {
                    self.arrived.advance(length);
                    prelude.searched = 0;
                    prelude.interim_responses += 1;
                    if prelude.interim_responses > INTERIM_RESPONSES_MAX {
                        return Err(Fault::new(
                            ErrorKind::Protocol,
                            format_args!("more than {INTERIM_RESPONSES_MAX} interim responses"),
                        ));
                    }
                }
                Parsed::Final { length, head, stays_open } => {
                    self.arrived.advance(length);
                    self.stays_open &= stays_open;
                    return Ok(Some(head));
                }
            }
        }
        if self.arrived.len() > HEAD_BYTES_MAX {
            return Err(Fault::new(
                ErrorKind::Protocol,
                format_args!("a response head of more than {HEAD_BYTES_MAX} bytes"),
            ));
        }
        Ok(None)
    }

    /// Receives the body of a response; as far as it is allowed. If its length is known, it
    /// is shown to `watcher`.
    pub(super) async fn body(
        &mut self,
        framing: Framing,
        patience: &mut Patience<'_>,
        allowance: &mut Allowance<'_>,
        watcher: Option<&mut impl Watcher>,
    ) -> Result<Bytes, Fault> {
        let body = self.whole_body(framing, patience, allowance, watcher).await;
        self.note_body(&body);
        body
    }

    /// The body of a response, if it has come together with the head. Otherwise nothing is taken.
    pub(super) fn body_at_hand(
        &mut self,
        framing: Framing,
        limit: usize,
    ) -> Option<Result<Bytes, Fault>> {
        let length = match framing {
            Framing::None => 0,
            Framing::Length(length) => usize::try_from(length).ok()?,
            Framing::Chunked | Framing::UntilClose => return None,
        };
        if length > limit || length > self.arrived.len() {
            return None;
        }
        let body = Ok(self.arrived.split_to(length));
        self.note_body(&body);
        Some(body)
    }

    /// What a body leaves behind for the next exchange.
    fn note_body(&mut self, body: &Result<Bytes, Fault>) {
        if self.arrived.is_empty() {
            // An empty rest would keep the memory of what was before it.
            self.arrived = Bytes::new();
        }
        match body {
            Ok(body) => self.read_bytes = room_for(body.len(), self.read_bytes),
            Err(_) => self.stays_open = false,
        }
    }

    async fn whole_body(
        &mut self,
        framing: Framing,
        patience: &mut Patience<'_>,
        allowance: &mut Allowance<'_>,
        mut watcher: Option<&mut impl Watcher>,
    ) -> Result<Bytes, Fault> {
        let mut receiving = Receiving::new(framing, allowance.limit())?;
        let mut turn_ends_at = TURN_BYTES;
        loop {
            if let Some(body) = receiving.take(&mut self.arrived)? {
                return Ok(body);
            }
            allowance.admit(receiving.len())?;
            if let Some(watcher) = &mut watcher
                && let Some(beginning) = receiving.beginning()
            {
                watcher.on_body(beginning);
            }
            if receiving.len() >= turn_ends_at {
                turn_ends_at = receiving.len() + TURN_BYTES;
                yield_now().await;
            }
            let arrival = poll_fn(|cx| match self.poll_more(cx, &mut receiving, patience) {
                Poll::Pending => patience.poll_expired(cx).map(Err),
                ready @ Poll::Ready(_) => ready,
            });
            match arrival.await? {
                Arrival::Data => {}
                Arrival::End => return receiving.end(),
                Arrival::Cut => return Err(ErrorKind::Truncated.into()),
            }
        }
    }

    fn poll_more(
        &mut self,
        cx: &mut Context<'_>,
        receiving: &mut Receiving,
        patience: &mut Patience<'_>,
    ) -> Poll<Result<Arrival, Fault>> {
        let Some(room) = receiving.room() else { return self.poll_arrival(cx, patience) };
        self.poll_send(cx, patience);
        let mut room = room.limit(READ_AT_ONCE_BYTES_MAX);
        let read = ready!(pin!(self.stream.read_buf(&mut room)).poll(cx));
        patience.touch(Instant::now());
        Poll::Ready(arrival(read))
    }

    /// Appends what comes to [`Self::arrived`], while the request goes its way.
    fn poll_arrival(
        &mut self,
        cx: &mut Context<'_>,
        patience: &mut Patience<'_>,
    ) -> Poll<Result<Arrival, Fault>> {
        self.poll_send(cx, patience);
        // Room is made once there is something to fill it, so that waiting costs no memory.
        ready!(self.stream.poll_read_ready(cx)).map_err(|cause| Fault::from_io(&cause))?;
        let mut buffer = spare::take(self.arrived.len() + self.read_bytes);
        buffer.extend_from_slice(&self.arrived);
        let read = ready!(pin!(self.stream.read_buf(&mut buffer)).poll(cx));
        if buffer.len() == buffer.capacity() {
            self.read_bytes = (self.read_bytes * 2).min(READ_BYTES_MAX);
        }
        self.arrived = spare::share(buffer);
        patience.touch(Instant::now());
        Poll::Ready(arrival(read))
    }

    /// Moves the request on. If that fails, the response tells why, or does not come.
    fn poll_send(&mut self, cx: &mut Context<'_>, patience: &mut Patience<'_>) {
        let Self { sending, stream, stays_open, .. } = self;
        if sending.ended_at.is_some() {
            return;
        }
        let Poll::Ready(result) = sending.poll(stream, cx, patience) else { return };
        sending.ended_at = Some(patience.moved_at());
        match result {
            Ok(()) => {
                // An idle connection keeps nothing of what was sent.
                sending.head = Vec::new();
                sending.head_written = 0;
                sending.body = Bytes::new();
            }
            Err(cause) => {
                *stays_open = false;
                sending.failure = Some(Fault::from_io(&cause));
            }
        }
    }
}

impl Sending {
    fn is_empty(&self) -> bool {
        self.head_written == self.head.len() && self.body.is_empty()
    }

    fn poll(
        &mut self,
        stream: &mut Stream,
        cx: &mut Context<'_>,
        patience: &mut Patience<'_>,
    ) -> Poll<io::Result<()>> {
        let mut stream = Pin::new(stream);
        while !self.is_empty() {
            let head = &self.head[self.head_written..];
            let written = if self.body.is_empty() {
                ready!(stream.as_mut().poll_write(cx, head))?
            } else {
                let slices = [IoSlice::new(head), IoSlice::new(&self.body)];
                ready!(stream.as_mut().poll_write_vectored(cx, &slices))?
            };
            if written == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            self.is_begun = true;
            patience.touch(Instant::now());
            let of_head = written.min(head.len());
            self.head_written += of_head;
            self.body.advance(written - of_head);
        }
        stream.poll_flush(cx)
    }
}

impl Prelude {
    /// Whether it is worth while to parse: at first, then whenever an empty line has come. So a head that
    /// comes byte by byte is not parsed for each of them.
    fn may_have_head(&mut self, arrived: &[u8]) -> bool {
        if self.searched == 0 {
            self.searched = arrived.len();
            return !arrived.is_empty();
        }
        // The line before may have ended where the search did.
        let from = self.searched.saturating_sub(2);
        let mut unsearched = &arrived[from.min(arrived.len())..];
        self.searched = arrived.len();
        while let Some(end) = memchr::memchr(b'\n', unsearched) {
            unsearched = &unsearched[end + 1..];
            if unsearched.starts_with(b"\n") || unsearched.starts_with(b"\r\n") {
                return true;
            }
        }
        false
    }
}

fn arrival(read: io::Result<usize>) -> Result<Arrival, Fault> {
    match read {
        Ok(0) => Ok(Arrival::End),
        Ok(_) => Ok(Arrival::Data),
        Err(cause) if cause.kind() == io::ErrorKind::UnexpectedEof => Ok(Arrival::Cut),
        Err(cause) => Err(Fault::from_io(&cause)),
    }
}

/// What to reserve for the next response after one with so large a body; shrinks slowly.
fn room_for(body_bytes: usize, before: usize) -> usize {
    (body_bytes + HEAD_BYTES_USUAL).max(before / 2).clamp(READ_BYTES_MIN, READ_BYTES_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_is_parsed_at_first_and_when_a_line_is_empty() {
        let head = b"HTTP/1.1 200 X\r\na: b\r\n\r\n";
        let mut prelude = Prelude::default();
        let parsed: Vec<usize> =
            (1..=head.len()).filter(|end| prelude.may_have_head(&head[..*end])).collect();
        assert_eq!(parsed, [1, head.len()]);
        let mut prelude = Prelude::default();
        assert!(prelude.may_have_head(b"x"));
        assert!(!prelude.may_have_head(b"x\ny\n"));
        assert!(prelude.may_have_head(b"x\ny\n\n"));
    }

    #[test]
    fn room_follows_the_size_of_responses() {
        assert_eq!(room_for(0, 4 * READ_BYTES_MIN), 2 * READ_BYTES_MIN);
        assert_eq!(room_for(0, 0), READ_BYTES_MIN);
        assert_eq!(room_for(11_000, READ_BYTES_FIRST), 11_000 + HEAD_BYTES_USUAL);
        assert_eq!(room_for(8_000_000, READ_BYTES_FIRST), READ_BYTES_MAX);
    }
}
