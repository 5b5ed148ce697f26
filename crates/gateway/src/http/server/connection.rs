//! One connection: requests in, answers out, one after the other.
//!
//! ```text
//! idle ─ head ─▶ body, as the app asks for it ─▶ answer ─▶ idle, closed, or another protocol
//! ```
//!
//! Bounds the time of each part, closes idle connections when the server drains, bounds the requests in flight,
//! catches panics at the request's edge, and drops a request whose client has left ([`Wire::lose_client`]). What
//! cannot be read is answered with the reason, and the connection closed: nobody knows where the next request
//! would begin.

use std::{
    any::Any,
    cell::Cell,
    future::poll_fn,
    io,
    panic::{AssertUnwindSafe, catch_unwind},
    pin::{Pin, pin},
    rc::Rc,
    sync::Arc,
    task::{Context, Poll, Waker},
    time::Duration,
};

use bytes::Bytes;
use hyper::{Method, Version, body::Body, header};
use qlio_http1::request::{Head, HeadLimits, HeadSearch, Refusal};
use tokio::{
    sync::watch,
    time::{Instant, sleep, timeout},
};

use super::{
    App, Event, EventSink, Held, Phase, Request, ServerLimits, Takeover, WorkerContext,
    accept::Accepted,
    door::{self, Entered, SocketEnds},
    http2,
    idle::{Seat, Seats},
    pulse::Pulse,
    request_body::Incoming,
    response_head::{self, DateClock, Next},
    socket::Upgraded,
    timer::Timer,
    unread::Unread,
    wire::Wire,
};
use crate::http::{
    failure::Failure,
    incident::IncidentId,
    quota::Quota,
    respond::{self, Note, Rendition, Response},
};

/// How long a client that has connected but sent nothing is waited for while shutting down: its
/// request may be on the way.
const FRESH_GRACE: Duration = Duration::from_millis(250);
/// Room for what comes while a connection is idle, in bytes: for most heads.
const HEAD_BYTES_USUAL: usize = 2 * 1024;

/// Bytes of a body that nobody wanted which are read and dropped for the sake of the next request.
const PASSED_BYTES_MAX: u64 = 256 * 1024;

/// What the connections of one worker share.
pub(super) struct Shared<A> {
    pub(super) app: A,
    pub(super) limits: ServerLimits,
    pub(super) events: EventSink,
    phase: watch::Receiver<Phase>,
    in_flight: Cell<usize>,
    date: DateClock,
    pub(super) pulse: Arc<Pulse>,
    pub(super) unread: Rc<Unread>,
    pub(super) seats: Rc<Seats>,
}

impl<A: App> Shared<A> {
    pub(super) fn new(
        app: A,
        limits: ServerLimits,
        events: EventSink,
        context: WorkerContext,
        answers: Arc<Quota>,
    ) -> Self {
        let WorkerContext { phase, pulse, .. } = context;
        let (in_flight, date) = (Cell::new(0), DateClock::new());
        let (unread, seats) = (Unread::new(answers), Rc::default());
        Self { app, limits, events, phase, in_flight, date, pulse, unread, seats }
    }

    /// Watches how late the worker is; never ends.
    pub(super) async fn keep_pulse(self: Rc<Self>) {
        self.pulse.keep(|| self.in_flight.get() > 0).await;
    }

    pub(super) fn phase(&self) -> watch::Receiver<Phase> {
        self.phase.clone()
    }

    /// Answers one request; never panics.
    #[expect(clippy::manual_async_fn, reason = "an `async fn` would hold the request twice")]
    pub(super) fn answer(&self, request: Request) -> impl Future<Output = Response> {
        async move {
            let Some(_slot) = Slot::take(&self.in_flight, self.limits.in_flight_max) else {
                let reason = "the server has too many requests in flight";
                let busy = Failure::Overloaded { reason };
                return respond::failure(&busy, Rendition::default());
            };
            let (method, uri) = (request.message.method().clone(), request.message.uri().clone());
            let mut answering = pin!(self.app.answer(request));
            match unwound(answering.as_mut()).await {
                Ok(mut response) => {
                    if let Some(Note(message)) = response.extensions_mut().remove() {
                        (self.events)(Event::Noted { message });
                    }
                    response
                }
                Err(panic) => {
                    let incident = IncidentId::new();
                    let message = panic_message(&*panic).to_owned();
                    let request = format!("{method} {}", uri.path());
                    (self.events)(Event::Panicked { incident, message, request });
                    respond::failure(&Failure::Internal { incident }, Rendition::default())
                }
            }
        }
    }
}

/// Why a connection takes no further request.
enum End {
    /// In good order, or because nobody is there.
    Closed,
    /// Its answer is written, but the client may still be sending.
    CutShort,
    /// A head was begun and not completed.
    HeadTimedOut,
    /// It has failed; an error of the kind `TimedOut` if nothing happened for too long.
    Broken(io::Error),
    /// A head that cannot be answered otherwise.
    Refused(Refusal),
    /// To another protocol.
    Left(Takeover),
}

impl From<io::Error> for End {
    fn from(error: io::Error) -> Self {
        Self::Broken(error)
    }
}

impl From<Refusal> for End {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

/// Serves a connection to its end.
pub(super) async fn drive<A: App>(shared: Rc<Shared<A>>, accepted: Accepted, seat: Seat) {
    let Accepted { stream, peer, door, guard: _open } = accepted;
    let mut entered = door::open(stream, peer);
    if !door.is_plain() {
        // Boxed, so that no connection carries the room for it all the time.
        seat.begin_idling(Instant::now());
        entered = Box::pin(enter(&shared, &door, entered)).await;
        seat.end_idling();
    }
    drop(door);
    let entered = match entered {
        Ok(entered) => entered,
        Err(error) if error.kind() == io::ErrorKind::TimedOut => {
            return (shared.events)(Event::TimedOut { peer, is_in_head: true });
        }
        Err(error) => {
            return (shared.events)(Event::ConnectionFailed { peer, message: error.to_string() });
        }
    };
    if entered.is_http2 {
        return Box::pin(http2::drive(shared, entered, seat)).await;
    }
    let Entered { socket, arrived, ends, identity, .. } = entered;
    let peer = ends.peer;
    let idle = pin!(sleep(shared.limits.idle_timeout));
    let mut phase = shared.phase();
    let draining = pin!(phase.wait_for(|phase| *phase >= Phase::Draining));
    let wire = Wire::new(socket, arrived, Timer::new(idle));
    let mut connection =
        Connection { shared: &*shared, wire, draining, ends, identity, seat, is_fresh: true };
    let end = loop {
        if let Err(end) = connection.serve_request().await {
            break end;
        }
    };
    // Boxed, so that no connection carries the room for its end all the time.
    match end {
        End::Closed => {}
        End::CutShort => Box::pin(connection.wire.linger()).await,
        End::HeadTimedOut => (shared.events)(Event::TimedOut { peer, is_in_head: true }),
        End::Broken(error) if error.kind() == io::ErrorKind::TimedOut => {
            (shared.events)(Event::TimedOut { peer, is_in_head: false });
        }
        End::Broken(error) => {
            (shared.events)(Event::ConnectionFailed { peer, message: error.to_string() });
        }
        End::Refused(refusal) => Box::pin(connection.refuse(refusal)).await,
        End::Left(takeover) => Box::pin(connection.hold(takeover)).await,
    }
}

/// Lets a connection in; while the server drains, only for a moment.
async fn enter<A: App>(
    shared: &Shared<A>,
    door: &door::Door,
    opened: io::Result<Entered>,
) -> io::Result<Entered> {
    let mut phase = shared.phase();
    let draining = async {
        // A server without a handle is at its end as well.
        let _ = phase.wait_for(|phase| *phase >= Phase::Draining).await;
        sleep(FRESH_GRACE).await;
    };
    tokio::select! {
        entered = door::enter(door, opened?, shared.limits.head_timeout) => entered,
        () = draining => Err(io::Error::other("it came while the server was ending")),
    }
}

struct Connection<'c, A, D> {
    shared: &'c Shared<A>,
    wire: Wire<'c>,
    /// Completes when the server drains.
    draining: Pin<&'c mut D>,
    ends: SocketEnds,
    identity: Option<Arc<str>>,
    seat: Seat,
    /// Nothing has come yet.
    is_fresh: bool,
}

impl<A: App, D: Future> Connection<'_, A, D> {
    /// Waits for a request and answers it.
    async fn serve_request(&mut self) -> Result<(), End> {
        let Head { request, framing, stays_open, expects_continue } = self.read_head().await?;
        self.shared.pulse.touch();
        let is_head = *request.method() == Method::HEAD;
        let version = request.version();
        let (body, incoming) = Incoming::open(framing, expects_continue, &mut self.wire);
        let SocketEnds { peer, local, is_tls } = self.ends;
        let (message, identity) = (request.map(|()| body), self.identity.clone());
        let request = Request { message, peer, local, is_tls, identity };
        // Boxed, so that an idle connection does not carry the room for it.
        let answering = Box::pin(self.shared.answer(request));
        let (mut response, incoming) = self.await_answer(answering, incoming, version).await?;

        let takeover = response.extensions_mut().remove::<Takeover>();
        let closes = response.headers().get(header::CONNECTION).is_some_and(|next| next == "close");
        let is_passable = incoming.as_ref().is_none_or(|rest| rest.is_passable(PASSED_BYTES_MAX));
        let is_serving = *self.shared.phase.borrow() == Phase::Serving;
        let next = if takeover.is_some() {
            Next::OtherProtocol
        } else if stays_open && is_serving && is_passable && !closes {
            Next::Requests
        } else {
            Next::Close
        };
        self.write(response, version, is_head, next).await?;
        if let Some(takeover) = takeover {
            return Err(End::Left(takeover));
        }
        if let Some(rest) = incoming {
            // Nobody waits for it if there is no next request.
            let pass = rest.pass(&mut self.wire, PASSED_BYTES_MAX);
            let is_passed = next == Next::Requests
                && matches!(timeout(self.shared.limits.head_timeout, pass).await, Ok(Ok(true)));
            if !is_passed {
                return Err(End::CutShort);
            }
        }
        match next {
            Next::Requests => Ok(()),
            _ if self.wire.arrived.is_empty() => Err(End::Closed),
            _ => Err(End::CutShort),
        }
    }

    /// Waits for the head of a request.
    async fn read_head(&mut self) -> Result<Head, End> {
        let Self { shared, wire, draining, seat, is_fresh, .. } = self;
        let limits = &shared.limits;
        let head_limits =
            HeadLimits { bytes_max: limits.head_bytes_max, lines_max: limits.headers_max };
        let mut search = HeadSearch::default();
        let mut is_begun = false;
        let mut is_draining = false;
        let now = Instant::now();
        wire.timer.set(now + limits.idle_timeout);
        if wire.arrived.is_empty() {
            seat.begin_idling(now);
        }
        loop {
            // What a client has sent behind its last request is here already.
            if let Some(length) = search.find(&wire.arrived, &head_limits)? {
                *is_fresh = false;
                return Ok(Head::parse(wire.take(length))?);
            }
            if !is_begun && !wire.arrived.is_empty() {
                is_begun = true;
                wire.timer.set(Instant::now() + limits.head_timeout);
            }
            let read = poll_fn(|context| {
                // First, so that a request which has arrived is seen before the connection is closed.
                if let Poll::Ready(read) = wire.poll_read(context, HEAD_BYTES_USUAL) {
                    return Poll::Ready(read.map_err(End::from));
                }
                if !is_begun && !is_draining && draining.as_mut().poll(context).is_ready() {
                    if !*is_fresh {
                        return Poll::Ready(Err(End::Closed));
                    }
                    is_draining = true;
                    wire.timer.set(Instant::now() + FRESH_GRACE);
                }
                if !is_begun && seat.poll_leave(context).is_ready() {
                    return Poll::Ready(Err(End::Closed));
                }
                wire.timer.poll(context).map(|()| {
                    Err(match (is_begun, is_draining) {
                        (true, _) => End::HeadTimedOut,
                        (false, true) => End::Closed,
                        (false, false) => io::Error::from(io::ErrorKind::TimedOut).into(),
                    })
                })
            });
            match read.await? {
                0 if is_begun => return Err(Refusal::broken_off().into()),
                0 => return Err(End::Closed),
                _ => seat.note_request(),
            }
        }
    }

    /// Waits for an answer, giving the app its body as it asks for it.
    async fn await_answer(
        &mut self,
        mut answering: Pin<Box<impl Future<Output = Response>>>,
        mut incoming: Option<Incoming>,
        version: Version,
    ) -> Result<(Response, Option<Incoming>), End> {
        let wire = &mut self.wire;
        let mut fed = None;
        if let Some(incoming) = &mut incoming {
            let feed = poll_fn(|context| incoming.poll_feed(context, wire, answering.as_mut()));
            fed = feed.await?;
        }
        if let Some(response) = fed {
            return Ok((response, incoming));
        }
        tokio::select! {
            biased;
            response = &mut answering => Ok((response, incoming)),
            () = wire.lose_client(version == Version::HTTP_11) => Err(End::Closed),
        }
    }

    async fn write(
        &mut self,
        response: Response,
        version: Version,
        is_head: bool,
        next: Next,
    ) -> Result<(), End> {
        let (response, body) = split_body(response);
        let date = self.shared.date.at(Instant::now());
        let head = response_head::write(&response, version, next, body.len(), date);
        let is_sent = !is_head && response_head::has_body(response.status());
        let body = if is_sent { &body[..] } else { &[] };
        let (pace, unread) = (&self.shared.limits.answer_pace, &self.shared.unread);
        Ok(self.wire.write(&head, body, pace, unread).await?)
    }

    /// Says why a head is refused; the client may go on sending what belongs to it.
    async fn refuse(mut self, refusal: Refusal) {
        let ServerLimits { head_bytes_max: bytes_max, headers_max, .. } = self.shared.limits;
        let failure = match refusal {
            Refusal::TargetTooLong => Failure::TargetTooLong,
            Refusal::TooLarge => Failure::HeadTooLarge { bytes_max, headers_max },
            Refusal::UnknownCoding(coding) => Failure::UnknownTransferCoding { coding },
            Refusal::Malformed(reason) => Failure::MalformedHead { reason: reason.to_string() },
        };
        let response = respond::failure(&failure, Rendition::default());
        let message = failure.body().member("message").as_str().unwrap_or_default().to_owned();
        (self.shared.events)(Event::ConnectionFailed { peer: self.ends.peer, message });
        if self.write(response, Version::HTTP_11, false, Next::Close).await.is_ok() {
            self.wire.linger().await;
        }
    }

    /// Hands a connection that has left HTTP behind to the app, and stays until it ends.
    async fn hold(self, takeover: Takeover) {
        let Self { shared, wire, ends, .. } = self;
        let SocketEnds { peer, local, is_tls } = ends;
        let Takeover { head } = takeover;
        let request = format!("{} {}", head.method, head.uri.path());
        let (phase, events) = (shared.phase(), Arc::clone(&shared.events));
        let io = Upgraded::new(wire.arrived.freeze(), wire.stream);
        let held = Held { io, head, peer, local, is_tls, phase, events };
        let mut holding = pin!(shared.app.hold(held));
        if let Err(panic) = unwound(holding.as_mut()).await {
            let incident = IncidentId::new();
            let message = panic_message(&*panic).to_owned();
            (shared.events)(Event::Panicked { incident, message, request });
        }
    }
}

/// An answer without its body, which is at hand as a whole, and the body.
pub(super) fn split_body(response: Response) -> (hyper::Response<()>, Bytes) {
    let (head, mut body) = response.into_parts();
    let mut context = Context::from_waker(Waker::noop());
    let frame = Pin::new(&mut body).poll_frame(&mut context);
    let body = match frame {
        Poll::Ready(Some(Ok(frame))) => frame.into_data().unwrap_or_default(),
        _ => Bytes::new(),
    };
    (hyper::Response::from_parts(head, ()), body)
}

/// One of the requests that a worker may have in flight.
struct Slot<'c>(&'c Cell<usize>);

impl<'c> Slot<'c> {
    fn take(in_flight: &'c Cell<usize>, limit: usize) -> Option<Self> {
        if in_flight.get() >= limit {
            return None;
        }
        in_flight.set(in_flight.get() + 1);
        Some(Self(in_flight))
    }
}

impl Drop for Slot<'_> {
    fn drop(&mut self) {
        self.0.set(self.0.get() - 1);
    }
}

/// The outcome of a future, or what it panicked with. A future that panicked is never polled again;
/// what it shared with others on this thread is the app's, whose cells are free between polls.
async fn unwound<F: Future>(mut future: Pin<&mut F>) -> Result<F::Output, Box<dyn Any + Send>> {
    poll_fn(|context| match catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(context))) {
        Ok(Poll::Pending) => Poll::Pending,
        Ok(Poll::Ready(output)) => Poll::Ready(Ok(output)),
        Err(panic) => Poll::Ready(Err(panic)),
    })
    .await
}

fn panic_message(panic: &(dyn Any + Send)) -> &str {
    panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("no message")
}
