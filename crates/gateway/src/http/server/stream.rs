//! A client's socket as hyper sees it, and the bodies of answers as hyper takes them.
//!
//! Every read and write is noted in the connection's [`Activity`]. What is read goes through a
//! [`TargetEncoder`]. What hyper writes on its own account is kept from the client: hyper refuses a
//! head that it cannot read with a bare status, but every error has a body (`decisions.md` 7), so
//! [`WatchedStream::refused`] says what hyper meant to say and the driver says it properly.
//!
//! While an answer is made hyper does not read, so the stream looks for the end of the client.
//!
//! Nothing in hyper tells its own answers from ours. Here they differ by time: an answer of ours is
//! due from its request to the flush that follows the last byte of its body; bytes that come while
//! none is due are hyper's. A refusal behind an answer that the client is slow to take is not
//! recognised, and stays as bare as it was.

use std::{
    io,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

use bytes::Bytes;
use http_body_util::Full;
use hyper::{
    StatusCode,
    body::{Body, Frame, SizeHint},
};
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::TcpStream,
};

use super::{
    activity::{Activity, Due, OpenGuard},
    target::TargetEncoder,
};

/// What hyper hears instead of a head that it has refused, so that it writes a proper refusal.
const SUBSTITUTE: &[u8] = b"GET / HTTP/1.1\r\n\r\n";

/// The status of an answer follows these bytes.
const STATUS_AT: usize = b"HTTP/1.1 ".len();

/// A client's socket.
#[derive(Debug)]
pub(super) struct WatchedStream {
    stream: TcpStream,
    encoder: TargetEncoder,
    /// Hyper has refused a head with this status.
    refused: Option<StatusCode>,
    /// The client is not listened to any more.
    is_deaf: bool,
    /// The client has sent on, so that its end is not to be seen before that is read.
    has_more: bool,
    activity: Arc<Activity>,
    _guard: OpenGuard,
}

impl WatchedStream {
    pub(super) fn new(stream: TcpStream, activity: Arc<Activity>, guard: OpenGuard) -> Self {
        let encoder = TargetEncoder::new();
        Self {
            stream,
            encoder,
            refused: None,
            is_deaf: false,
            has_more: false,
            activity,
            _guard: guard,
        }
    }

    /// The status with which hyper has refused a head; the client has not been told.
    pub(super) fn refused(&self) -> Option<StatusCode> {
        self.refused
    }

    /// Has hyper read one whole request, whatever the client has sent or sends: its answer is for the
    /// head that was refused.
    pub(super) fn substitute(&mut self) {
        self.encoder.replace(SUBSTITUTE);
        self.refused = None;
        self.is_deaf = true;
    }

    /// The socket, for reading what is left.
    pub(super) fn socket(&mut self) -> &mut TcpStream {
        &mut self.stream
    }

    /// Notes whether the client has gone while its answer is made. hyper would find that out by reading,
    /// and make new room for what it reads with every request (`docs/adr/0010-where-the-time-goes.md`).
    fn look_for_end(&mut self, context: &mut Context<'_>) {
        if self.has_more || self.is_deaf || self.encoder.holds() || !self.activity.is_answering() {
            return;
        }
        let mut byte = [0; 1];
        match self.stream.poll_peek(context, &mut ReadBuf::new(&mut byte)) {
            Poll::Pending => {}
            Poll::Ready(Ok(1..)) => self.has_more = true,
            Poll::Ready(Ok(0) | Err(_)) => self.activity.note_gone(),
        }
    }

    /// Whether bytes to be written are hyper's own, and then keeps them from the client.
    fn withhold(&mut self, answer: &[u8]) -> bool {
        if self.refused.is_none() && self.activity.owes_nothing() {
            let status = answer.get(STATUS_AT..).and_then(|rest| rest.get(..3));
            let status = status.and_then(|status| StatusCode::from_bytes(status).ok());
            self.refused = Some(status.unwrap_or(StatusCode::BAD_REQUEST));
        }
        self.refused.is_some()
    }
}

impl AsyncRead for WatchedStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self;
        this.encoder.resume(this.activity.take_framing());
        let before = buffer.filled().len();
        if !this.encoder.holds() {
            if this.is_deaf {
                return Poll::Pending;
            }
            ready!(Pin::new(&mut this.stream).poll_read(context, buffer))?;
            this.has_more = false;
            let count = this.encoder.admit(&buffer.filled()[before..]);
            buffer.set_filled(before + count);
        }
        if buffer.filled().len() == before {
            this.encoder.pass(buffer);
        }
        if buffer.filled().len() > before {
            this.activity.note_read();
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for WatchedStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &[u8],
    ) -> Poll<io::Result<usize>> {
        if self.withhold(buffer) {
            return Poll::Ready(Ok(buffer.len()));
        }
        let poll = Pin::new(&mut self.stream).poll_write(context, buffer);
        if poll.is_ready() {
            self.activity.note_write();
        }
        poll
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(Pin::new(&mut self.stream).poll_flush(context))?;
        self.activity.note_flush();
        self.look_for_end(context);
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.refused.is_some() {
            // The refusal is still to be written.
            return Poll::Ready(Ok(()));
        }
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
        let first = buffers.iter().find(|buffer| !buffer.is_empty());
        if self.withhold(first.map_or(&[], |first| &**first)) {
            return Poll::Ready(Ok(buffers.iter().map(|buffer| buffer.len()).sum()));
        }
        let poll = Pin::new(&mut self.stream).poll_write_vectored(context, buffers);
        if poll.is_ready() {
            self.activity.note_write();
        }
        poll
    }
}

/// The body of an answer, which is due until hyper has taken all of it.
#[derive(Debug)]
pub(super) struct DueBody {
    body: Full<Bytes>,
    _due: Due,
}

impl DueBody {
    pub(super) fn new(body: Full<Bytes>, due: Due) -> Self {
        Self { body, _due: due }
    }
}

impl Body for DueBody {
    type Data = Bytes;
    type Error = <Full<Bytes> as Body>::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
