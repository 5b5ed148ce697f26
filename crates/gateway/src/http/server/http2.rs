//! A connection of HTTP/2: hyper reads and writes it, the app answers each stream as it answers a request of
//! HTTP/1.1.
//!
//! What is bounded here, beside what holds for every connection: streams at a time, bytes that a client may send
//! before somebody asks for them (the windows), requests that a client takes back (rapid reset, CVE-2023-44487)
//! or makes us take back (CVE-2025-8671), and how long answers wait to be taken. The connection ends as a whole
//! where a bound of it is crossed, and with GOAWAY where there is nothing left to do or the server drains.

use std::{
    cell::{Cell, RefCell},
    collections::HashMap,
    convert::Infallible,
    future::poll_fn,
    io,
    pin::{Pin, pin},
    rc::Rc,
    sync::Arc,
    task::{Context, Poll, Waker},
    time::Duration,
};

use bytes::Bytes;
use http_body_util::BodyExt as _;
use hyper::{
    Method, Uri,
    body::{Body, Frame, Incoming, SizeHint},
    header::{self, HeaderValue},
    rt::{Executor, Read, ReadBufCursor, Write},
    server::conn::http2::Builder,
    service::service_fn,
};
use hyper_util::rt::TokioIo;
use tokio::time::{Instant, sleep, timeout};

use super::{
    App, Event, Phase, Request, RequestBody, ServerLimits,
    connection::{Shared, split_body},
    door::{Entered, SocketEnds},
    idle::Seat,
    request_body::Leftover,
    response_head::has_body,
    socket::Upgraded,
    timer::Timer,
    unread::{Stuck, Unread},
};
use crate::http::{
    failure::Failure,
    pace::Pace,
    respond::{self, Rendition, Response},
};

/// Bytes that a client may send of one body, and of all bodies of a connection, before somebody asks for them.
const STREAM_WINDOW_BYTES: u32 = 64 * 1024;
const CONNECTION_WINDOW_BYTES: u32 = 256 * 1024;
/// Bytes of one answer that are kept for a client, beside the answer itself.
const SEND_BYTES_MAX: usize = 64 * 1024;
/// Bytes of a frame that a client may send.
const FRAME_BYTES_MAX: u32 = 16 * 1024;
/// Bytes of an answer that are handed over at a time.
const PIECE_BYTES: usize = 16 * 1024;
/// Streams that a client may have taken back without our having seen them.
const UNSEEN_RESETS_MAX: usize = 20;
/// Streams that a client may make us take back.
const FORCED_RESETS_MAX: usize = 128;
/// Requests that a client may take back, unless more of them have been answered.
const TAKEN_BACK_MAX: u64 = 200;
/// How often a connection with something to do is looked at.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// Bytes of a body that nobody wanted which are read and dropped, and how long that may take.
const PASSED_BYTES_MAX: usize = 256 * 1024;
const PASS_TIME_MAX: Duration = Duration::from_secs(2);
/// How long the end of a connection may take that has nothing to do.
const CLOSE_GRACE: Duration = Duration::from_secs(1);

/// What the streams of a connection share with it.
#[derive(Debug, Default)]
struct Activity {
    open: Cell<usize>,
    answered: Cell<u64>,
    taken_back: Cell<u64>,
    /// Large answers that are under way.
    answers: RefCell<HashMap<u64, Rc<Progress>>>,
    so_far: Cell<u64>,
    /// Wakes the connection.
    waker: RefCell<Option<Waker>>,
}

/// How much of an answer its client has taken.
#[derive(Debug)]
struct Progress {
    since: Instant,
    moved_at: Cell<Instant>,
    taken: Cell<usize>,
    stuck: Stuck,
}

/// Why a connection is ended before its client ends it.
enum Reason {
    Idle,
    TooSlow,
    TakenBack,
    Ended,
}

impl Reason {
    fn describe(&self) -> String {
        match self {
            Self::Ended => "it has ended".to_owned(),
            Self::Idle => "it was idle".to_owned(),
            Self::TooSlow => "it takes its answers too slowly".to_owned(),
            Self::TakenBack => {
                format!(
                    "it has taken back more than {TAKEN_BACK_MAX} requests, and most that it made"
                )
            }
        }
    }
}

impl Activity {
    fn end_stream(&self, is_answered: bool) {
        self.open.set(self.open.get().saturating_sub(1));
        let count = if is_answered { &self.answered } else { &self.taken_back };
        count.set(count.get() + 1);
    }

    /// Whether the client takes back most of what it asks for.
    fn is_abused(&self) -> bool {
        let taken_back = self.taken_back.get();
        taken_back > TAKEN_BACK_MAX && taken_back > self.answered.get()
    }

    /// Whether an answer is taken too slowly, or has been given up for others.
    fn has_slow_answer(&self, pace: &Pace, now: Instant) -> bool {
        let answers = self.answers.borrow();
        if answers.is_empty() {
            return false;
        }
        let waker = self.waker.borrow();
        let waker = waker.as_ref().unwrap_or(Waker::noop());
        answers.values().any(|answer| {
            let taken = answer.taken.get();
            !answer.stuck.go_on(taken, waker)
                || now - answer.moved_at.get() > pace.pause_max
                || now - answer.since > pace.time_max(taken)
        })
    }
}

/// One request of a connection, from its head to the last byte of its answer.
struct Stream {
    activity: Rc<Activity>,
    is_answered: bool,
}

impl Stream {
    fn begin(activity: &Rc<Activity>) -> Self {
        activity.open.set(activity.open.get() + 1);
        Self { activity: Rc::clone(activity), is_answered: false }
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        self.activity.end_stream(self.is_answered);
    }
}

/// The body of an answer, handed over as its client takes it.
struct Answer {
    rest: Bytes,
    stream: Stream,
    unread: Rc<Unread>,
    /// Set while it is larger than what is handed over at once.
    progress: Option<(u64, Rc<Progress>)>,
}

impl Answer {
    fn new(body: Bytes, mut stream: Stream, unread: &Rc<Unread>) -> Self {
        stream.is_answered = body.is_empty();
        Self { rest: body, stream, unread: Rc::clone(unread), progress: None }
    }

    fn count(&mut self, context: &Context<'_>, taken: usize) {
        let now = Instant::now();
        let (_, progress) = self.progress.get_or_insert_with(|| {
            let activity = &self.stream.activity;
            let number = activity.so_far.get();
            activity.so_far.set(number + 1);
            let waker = activity.waker.borrow();
            let waker = waker.as_ref().unwrap_or(context.waker());
            let stuck = self.unread.count(self.rest.len(), 0, waker);
            let (moved_at, taken) = (Cell::new(now), Cell::new(0));
            let progress = Rc::new(Progress { since: now, moved_at, taken, stuck });
            activity.answers.borrow_mut().insert(number, Rc::clone(&progress));
            (number, progress)
        });
        progress.moved_at.set(now);
        progress.taken.set(progress.taken.get() + taken);
    }
}

impl Drop for Answer {
    fn drop(&mut self) {
        if let Some((number, _)) = &self.progress {
            self.stream.activity.answers.borrow_mut().remove(number);
        }
    }
}

impl Body for Answer {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        if self.rest.is_empty() {
            return Poll::Ready(None);
        }
        let count = self.rest.len().min(PIECE_BYTES);
        if count < self.rest.len() || self.progress.is_some() {
            self.count(context, count);
        }
        let piece = self.rest.split_to(count);
        self.stream.is_answered = self.rest.is_empty();
        Poll::Ready(Some(Ok(Frame::data(piece))))
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.rest.len() as u64)
    }
}

/// Runs what hyper starts beside the connection, on the same thread.
#[derive(Debug, Clone, Copy)]
struct Beside;

impl<F: Future<Output = ()> + 'static> Executor<F> for Beside {
    fn execute(&self, future: F) {
        tokio::task::spawn_local(future);
    }
}

/// A socket that knows since when it takes nothing.
struct Observed {
    io: TokioIo<Upgraded>,
    stuck_since: Rc<Cell<Option<Instant>>>,
}

impl Observed {
    fn note<T>(&self, polled: Poll<T>) -> Poll<T> {
        match (&polled, self.stuck_since.get()) {
            (Poll::Ready(_), _) => self.stuck_since.set(None),
            (Poll::Pending, None) => self.stuck_since.set(Some(Instant::now())),
            (Poll::Pending, Some(_)) => {}
        }
        polled
    }
}

impl Read for Observed {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_read(context, buffer)
    }
}

impl Write for Observed {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.io).poll_write(context, bytes);
        self.note(polled)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.io).poll_write_vectored(context, slices);
        self.note(polled)
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_shutdown(context)
    }
}

/// Serves a connection to its end.
pub(super) async fn drive<A: App>(shared: Rc<Shared<A>>, entered: Entered, seat: Seat) {
    let Entered { socket, arrived, ends, identity, .. } = entered;
    let activity = Rc::new(Activity::default());
    let stuck_since = Rc::new(Cell::new(None));
    let io = TokioIo::new(Upgraded::new(arrived.freeze(), socket));
    let io = Observed { io, stuck_since: Rc::clone(&stuck_since) };
    let limits = shared.limits;
    let service = service_fn(|message: hyper::Request<Incoming>| {
        seat.note_request();
        shared.pulse.touch();
        let stream = Stream::begin(&activity);
        let (shared, identity) = (Rc::clone(&shared), identity.clone());
        async move { Ok::<_, Infallible>(answer(&shared, message, ends, identity, stream).await) }
    });
    let mut serving = pin!(protocol(&limits).serve_connection(io, service));
    let mut phase = shared.phase();
    let mut draining = pin!(phase.wait_for(|phase| *phase != Phase::Serving));
    let idle = pin!(sleep(limits.idle_timeout));
    let mut timer = Timer::new(idle);
    let mut is_draining = false;
    let mut idle_since = Some(Instant::now());
    let mut close_at = None;
    let end = poll_fn(|context| {
        activity.waker.replace(Some(context.waker().clone()));
        if !is_draining && draining.as_mut().poll(context).is_ready() {
            is_draining = true;
            serving.as_mut().graceful_shutdown();
        }
        let now = Instant::now();
        if let Poll::Ready(served) = serving.as_mut().poll(context) {
            return Poll::Ready(served.map(|()| Reason::Ended));
        }
        if activity.is_abused() {
            return Poll::Ready(Ok(Reason::TakenBack));
        }
        let is_stuck =
            stuck_since.get().is_some_and(|since| now - since > limits.answer_pace.pause_max);
        if is_stuck || activity.has_slow_answer(&limits.answer_pace, now) {
            return Poll::Ready(Ok(Reason::TooSlow));
        }
        loop {
            if activity.open.get() > 0 {
                (idle_since, close_at) = (None, None);
            } else if idle_since.is_none() {
                idle_since = Some(now);
            }
            let due = match idle_since {
                None => now + LOOK_EVERY,
                Some(since) => {
                    // Its last answer may not have left the process in the first moment.
                    let is_quiet = now - since >= LOOK_EVERY;
                    if is_quiet && stuck_since.get().is_none() {
                        seat.begin_idling(since);
                    }
                    let is_over = is_draining || now - since >= limits.idle_timeout;
                    if is_over && close_at.is_none() {
                        serving.as_mut().graceful_shutdown();
                        close_at = Some(now + CLOSE_GRACE);
                    }
                    let due = close_at.unwrap_or(since + limits.idle_timeout);
                    if now >= due {
                        return Poll::Ready(Ok(Reason::Idle));
                    }
                    if is_quiet { due } else { due.min(now + LOOK_EVERY) }
                }
            };
            timer.set(due);
            if timer.poll(context).is_pending() {
                return Poll::Pending;
            }
        }
    });
    let message = match end.await {
        Ok(Reason::Ended | Reason::Idle) => return,
        Ok(reason) => reason.describe(),
        Err(error) => error.to_string(),
    };
    (shared.events)(Event::ConnectionFailed { peer: ends.peer, message });
}

/// The protocol with all its bounds.
fn protocol(limits: &ServerLimits) -> Builder<Beside> {
    let mut builder = Builder::new(Beside);
    builder
        .auto_date_header(true)
        .max_concurrent_streams(limits.streams_max)
        .max_header_list_size(u32::try_from(limits.head_bytes_max).unwrap_or(u32::MAX))
        .max_pending_accept_reset_streams(UNSEEN_RESETS_MAX)
        .max_local_error_reset_streams(FORCED_RESETS_MAX)
        .initial_stream_window_size(STREAM_WINDOW_BYTES)
        .initial_connection_window_size(CONNECTION_WINDOW_BYTES)
        .max_frame_size(FRAME_BYTES_MAX)
        .max_send_buf_size(SEND_BYTES_MAX);
    builder
}

/// Answers one request.
async fn answer<A: App>(
    shared: &Shared<A>,
    message: hyper::Request<Incoming>,
    ends: SocketEnds,
    identity: Option<Arc<str>>,
    stream: Stream,
) -> hyper::Response<Answer> {
    let is_head = *message.method() == Method::HEAD;
    let SocketEnds { peer, local, is_tls } = ends;
    let leftover = Leftover::default();
    let understood = understand(message, shared.limits.headers_max, &leftover);
    let response = if let Ok(message) = understood {
        shared.answer(Request { message, peer, local, is_tls, identity }).await
    } else {
        let ServerLimits { head_bytes_max: bytes_max, headers_max, .. } = shared.limits;
        let failure = Failure::HeadTooLarge { bytes_max, headers_max };
        respond::failure(&failure, Rendition::default())
    };
    if let Some(body) = leftover.take().filter(|body| !body.is_end_stream()) {
        tokio::task::spawn_local(pass(body));
    }
    write(response, is_head, stream, &shared.unread)
}

/// Reads and drops what nobody wanted of a body: a stream that is reset while its client still sends would have its
/// answer overlooked. It counts as a stream of the connection until it ends.
async fn pass(mut body: Incoming) {
    let passing = async {
        let mut passed = 0;
        while let Some(Ok(frame)) = body.frame().await {
            passed += frame.data_ref().map_or(0, Bytes::len);
            if passed > PASSED_BYTES_MAX {
                break;
            }
        }
    };
    // Whether it ends, breaks or takes too long: then the stream is reset.
    let _ = timeout(PASS_TIME_MAX, passing).await;
}

/// The request as one of HTTP/1.1 would be: the authority is its `host`, the target a path.
fn understand(
    message: hyper::Request<Incoming>,
    headers_max: usize,
    leftover: &Leftover,
) -> Result<hyper::Request<RequestBody>, ()> {
    let (mut head, body) = message.into_parts();
    if head.headers.len() > headers_max {
        return Err(());
    }
    if let Some(authority) = head.uri.authority()
        && let Ok(host) = HeaderValue::from_str(authority.as_str())
    {
        head.headers.insert(header::HOST, host);
    }
    if let Some(path) = head.uri.path_and_query() {
        head.uri = Uri::from(path.clone());
    }
    Ok(hyper::Request::from_parts(head, RequestBody::of_stream(body, Rc::clone(leftover))))
}

fn write(
    response: Response,
    is_head: bool,
    stream: Stream,
    unread: &Rc<Unread>,
) -> hyper::Response<Answer> {
    let (response, body) = split_body(response);
    let (mut head, ()) = response.into_parts();
    if has_body(head.status) {
        head.headers.insert(header::CONTENT_LENGTH, HeaderValue::from(body.len()));
    }
    let is_sent = !is_head && has_body(head.status);
    let body = if is_sent { body } else { Bytes::new() };
    hyper::Response::from_parts(head, Answer::new(body, stream, unread))
}
