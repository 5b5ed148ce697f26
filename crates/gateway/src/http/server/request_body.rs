//! The body of a request, between the connection that reads it and the app that wants it.
//!
//! Both run on one task. The app asks for the next piece by polling; the connection, which polls the app, then
//! reads one and hands it over. Nothing is read before somebody asks, so a body waits in the socket. Most bodies
//! are short and have come with their head; those need no hand-over.

use std::{
    cell::RefCell,
    future::poll_fn,
    io, mem,
    pin::Pin,
    rc::Rc,
    task::{Context, Poll, Waker, ready},
};

use bytes::Bytes;
use hyper::body::{Body, Frame, SizeHint};
use qlio_http1::{
    chunks::{Chunks, Step},
    framing::Framing,
};

use super::wire::Wire;

/// Room for a piece of a body of unknown length, and the most for a piece of any, in bytes.
const PIECE_BYTES: usize = 8 * 1024;
const PIECE_BYTES_MAX: usize = 64 * 1024;

/// A body on its way from the client.
#[derive(Debug)]
pub(crate) struct RequestBody(Source);

#[derive(Debug)]
enum Source {
    /// What is left of it is here.
    Whole(Bytes),
    Coming {
        hatch: Rc<Hatch>,
        length: Option<u64>,
    },
    /// That of a stream of HTTP/2, and where its rest goes if nobody wants it.
    Stream(hyper::body::Incoming, Leftover),
}

/// The rest of a body that nobody wanted.
pub(super) type Leftover = Rc<RefCell<Option<hyper::body::Incoming>>>;

impl RequestBody {
    pub(super) fn of_stream(body: hyper::body::Incoming, leftover: Leftover) -> Self {
        Self(Source::Stream(body, leftover))
    }
}

impl Drop for RequestBody {
    fn drop(&mut self) {
        if let Source::Stream(..) = &self.0
            && let Source::Stream(body, leftover) =
                mem::replace(&mut self.0, Source::Whole(Bytes::new()))
        {
            leftover.replace(Some(body));
        }
    }
}

/// Where one piece at a time is handed over.
#[derive(Debug, Default)]
struct Hatch {
    /// Set while the app waits for a piece.
    waker: RefCell<Option<Waker>>,
    next: RefCell<Option<Next>>,
}

/// A piece, the end, or why there is neither.
type Next = Option<io::Result<Bytes>>;

impl Body for RequestBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        let next = match &mut self.0 {
            Source::Whole(body) if body.is_empty() => None,
            Source::Whole(body) => Some(Ok(mem::take(body))),
            Source::Coming { hatch, .. } => {
                let Some(next) = hatch.next.take() else {
                    hatch.waker.replace(Some(context.waker().clone()));
                    return Poll::Pending;
                };
                next
            }
            Source::Stream(body, _) => {
                let frame = ready!(Pin::new(body).poll_frame(context));
                // Trailers say nothing that anybody asks for.
                let piece = frame.map(|frame| match frame {
                    Ok(frame) => Ok(frame.into_data().unwrap_or_default()),
                    Err(error) => Err(io::Error::other(error)),
                });
                return Poll::Ready(piece.map(|piece| piece.map(Frame::data)));
            }
        };
        if !matches!(next, Some(Ok(_))) {
            self.0 = Source::Whole(Bytes::new());
        }
        Poll::Ready(next.map(|piece| piece.map(Frame::data)))
    }

    fn is_end_stream(&self) -> bool {
        match &self.0 {
            Source::Whole(body) => body.is_empty(),
            Source::Coming { .. } => false,
            Source::Stream(body, _) => body.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.0 {
            Source::Whole(body) => SizeHint::with_exact(body.len() as u64),
            Source::Coming { length: Some(length), .. } => SizeHint::with_exact(*length),
            Source::Coming { .. } => SizeHint::default(),
            Source::Stream(body, _) => body.size_hint(),
        }
    }
}

/// The connection's end of a body.
#[derive(Debug)]
pub(super) struct Incoming {
    hatch: Rc<Hatch>,
    left: Left,
    /// The client waits to be asked for its body.
    expects_continue: bool,
    has_failed: bool,
}

/// How much of a body is still to come.
#[derive(Debug)]
enum Left {
    Bytes(u64),
    Chunks(Chunks),
}

impl Incoming {
    /// The two ends of a body; the connection has none if all of it has arrived.
    pub(super) fn open(
        framing: Framing,
        expects_continue: bool,
        wire: &mut Wire<'_>,
    ) -> (RequestBody, Option<Self>) {
        let (left, length) = match framing {
            Framing::None | Framing::UntilClose => {
                return (RequestBody(Source::Whole(Bytes::new())), None);
            }
            Framing::Length(length) if length <= wire.arrived.len() as u64 => {
                let body = wire.take(length as usize);
                return (RequestBody(Source::Whole(body)), None);
            }
            Framing::Length(length) => (Left::Bytes(length), Some(length)),
            Framing::Chunked => (Left::Chunks(Chunks::default()), None),
        };
        let hatch = Rc::new(Hatch::default());
        let body = RequestBody(Source::Coming { hatch: Rc::clone(&hatch), length });
        (body, Some(Self { hatch, left, expects_continue, has_failed: false }))
    }

    /// Whether the next request can be found behind it, with no more than so many bytes to pass over. A client
    /// that was not asked for its body may send it or not, so nobody can tell.
    pub(super) fn is_passable(&self, bytes_max: u64) -> bool {
        let is_short = !matches!(self.left, Left::Bytes(count) if count > bytes_max);
        is_short && !self.expects_continue && !self.has_failed
    }

    /// Reads and drops what is left, up to so many bytes; whether that was all.
    pub(super) async fn pass(mut self, wire: &mut Wire<'_>, bytes_max: u64) -> io::Result<bool> {
        let mut passed = 0;
        while let Some(next) = poll_fn(|context| self.poll_next(context, wire)).await? {
            let Ok(piece) = next else { return Ok(false) };
            passed += piece.len() as u64;
            if passed > bytes_max {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Polls the app, and hands it its body as it asks for it. Ready with what the app has made, or with nothing
    /// once it wants no more of the body.
    pub(super) fn poll_feed<F: Future>(
        &mut self,
        context: &mut Context<'_>,
        wire: &mut Wire<'_>,
        mut app: Pin<&mut F>,
    ) -> Poll<io::Result<Option<F::Output>>> {
        loop {
            if let Poll::Ready(output) = app.as_mut().poll(context) {
                return Poll::Ready(Ok(Some(output)));
            }
            if Rc::strong_count(&self.hatch) == 1 {
                return Poll::Ready(Ok(None));
            }
            let Some(waker) = self.hatch.waker.take() else { return Poll::Pending };
            let Poll::Ready(next) = self.poll_next(context, wire)? else {
                self.hatch.waker.replace(Some(waker));
                return Poll::Pending;
            };
            self.hatch.next.replace(Some(next));
            // Whoever polls the body on a task of its own is told; the app is polled next anyway.
            if !waker.will_wake(context.waker()) {
                waker.wake();
            }
        }
    }

    fn poll_next(
        &mut self,
        context: &mut Context<'_>,
        wire: &mut Wire<'_>,
    ) -> Poll<io::Result<Next>> {
        if mem::take(&mut self.expects_continue) && wire.arrived.is_empty() {
            wire.ask_to_continue();
        }
        ready!(wire.poll_interim(context))?;
        loop {
            let (step, room) = match &mut self.left {
                Left::Bytes(0) => (Ok(Step::End), 0),
                Left::Bytes(left) if wire.arrived.is_empty() => {
                    (Ok(Step::More), usize::try_from(*left).unwrap_or(usize::MAX))
                }
                Left::Bytes(left) => {
                    let at_hand = wire.arrived.len();
                    let taken = usize::try_from(*left).map_or(at_hand, |left| left.min(at_hand));
                    *left -= taken as u64;
                    (Ok(Step::Data(wire.take(taken))), 0)
                }
                Left::Chunks(chunks) => (chunks.next(&mut wire.arrived), PIECE_BYTES),
            };
            let next = match step {
                Ok(Step::Data(piece)) => Some(Ok(piece)),
                Ok(Step::End) => None,
                Ok(Step::More) => {
                    if ready!(wire.poll_read(context, room.min(PIECE_BYTES_MAX)))? > 0 {
                        continue;
                    }
                    Some(Err(io::Error::other("the request body breaks off")))
                }
                Err(malformed) => Some(Err(io::Error::other(malformed))),
            };
            self.has_failed = matches!(next, Some(Err(_)));
            return Poll::Ready(Ok(next));
        }
    }
}
