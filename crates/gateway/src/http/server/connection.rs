//! One connection: hyper drives the protocol, this module watches over it.
//!
//! Closes silent connections, tells hyper when to stop keeping alive, bounds the requests in flight,
//! catches panics at the request's edge, and says in JSON what hyper would refuse without a word.

use std::{
    any::Any,
    cell::{Cell, RefCell},
    convert::Infallible,
    future::poll_fn,
    net::SocketAddr,
    panic::{AssertUnwindSafe, catch_unwind},
    pin::{Pin, pin},
    rc::Rc,
    sync::Arc,
    task::Poll,
    time::Duration,
};

use hyper::{
    StatusCode, Version,
    body::{Body, Incoming},
    header::{self, HeaderValue},
    server::conn::http1::{self, UpgradeableConnection},
    service::{Service, service_fn},
    upgrade::OnUpgrade,
};
use hyper_util::rt::TokioIo;
use tokio::{io::AsyncReadExt, net::TcpStream, sync::watch, time::timeout};

use super::{
    App, Event, EventSink, Held, Phase, Request, ServerLimits, Takeover,
    accept::Accepted,
    activity::{Activity, Silence},
    request_body::RequestBody,
    stream::{DueBody, WatchedStream},
    target::Framing,
};
use crate::http::{
    failure::Failure,
    incident::IncidentId,
    respond::{self, Note, Rendition, Response},
};

/// How long a client that has connected but sent nothing is waited for while shutting down: its
/// request may be on the way.
const FRESH_GRACE: Duration = Duration::from_millis(250);
/// What `retry-after` says when too many requests are in flight, in seconds.
const OVERLOAD_RETRY_S: u64 = 1;
/// hyper's smallest read buffer.
const BUFFER_BYTES_MIN: usize = 8192;
/// How many header lines hyper reads unless it is told otherwise.
pub(super) const HEADERS_USUAL: usize = 100;
/// How long a client may go on sending a request that has been refused. Were the connection closed
/// while it sends, the answer would be lost with it.
const LINGER_TIMEOUT: Duration = Duration::from_secs(2);
/// Bytes of such a client that are read and dropped.
const LINGER_BYTES_MAX: u64 = 16 << 20;

/// What the connections of one worker share.
pub(super) struct Shared<A> {
    app: A,
    limits: ServerLimits,
    events: EventSink,
    phase: watch::Receiver<Phase>,
    in_flight: Cell<usize>,
    protocol: http1::Builder,
}

impl<A: App> Shared<A> {
    pub(super) fn new(
        app: A,
        limits: ServerLimits,
        events: EventSink,
        phase: watch::Receiver<Phase>,
    ) -> Self {
        let mut protocol = http1::Builder::new();
        protocol
            // The driver below has timers of its own, which tell a slow head from an idle client.
            .header_read_timeout(None)
            // The stream below looks for the end of the client without reading.
            .half_close(true)
            .max_header_size(limits.head_bytes_max)
            .max_buf_size(limits.head_bytes_max.max(BUFFER_BYTES_MIN));
        if limits.headers_max != HEADERS_USUAL {
            // For any number that it is told, hyper allocates and fills two arrays per request.
            protocol.max_headers(limits.headers_max);
        }
        Self { app, limits, events, phase, in_flight: Cell::new(0), protocol }
    }

    pub(super) fn app(&self) -> &A {
        &self.app
    }

    pub(super) fn phase(&self) -> watch::Receiver<Phase> {
        self.phase.clone()
    }

    pub(super) fn limits(&self) -> &ServerLimits {
        &self.limits
    }

    /// Answers one request; never panics.
    #[expect(clippy::manual_async_fn, reason = "an `async fn` would hold the request twice")]
    fn answer(&self, request: Request) -> impl Future<Output = Response> {
        async move {
            let Some(_slot) = Slot::take(&self.in_flight, self.limits.in_flight_max) else {
                let busy = Failure::Overloaded { retry_after: OVERLOAD_RETRY_S };
                return respond::failure(&busy, Rendition::default());
            };
            if request.message.headers().get_all(header::HOST).iter().nth(1).is_some() {
                // Somebody before us may have decided by the other one (RFC 9112, 3.2).
                let reason = "more than one `host` header".to_owned();
                return respond::failure(&Failure::MalformedHead { reason }, Rendition::default());
            }
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

/// Serves a connection to its end.
pub(super) async fn drive<A: App>(shared: Rc<Shared<A>>, accepted: Accepted) {
    let Accepted { stream, peer, guard } = accepted;
    let stream = TcpStream::from_std(stream);
    let (stream, local) = match stream.and_then(|stream| {
        let local = stream.local_addr()?;
        Ok((stream, local))
    }) {
        Ok(stream) => stream,
        Err(error) => {
            (shared.events)(Event::ConnectionFailed { peer, message: error.to_string() });
            return;
        }
    };
    let activity = Arc::new(Activity::new());
    let takeover: RefCell<Option<Takeover>> = RefCell::default();
    // An answer was given before its request was read in full.
    let is_cut_short = Cell::new(false);
    let stream = TokioIo::new(WatchedStream::new(stream, Arc::clone(&activity), guard));
    let service = service_fn(|message: hyper::Request<Incoming>| {
        let in_flight = activity.begin(framing(&message));
        let stays_open = stays_open(&message);
        let message = message.map(|body| RequestBody::new(body, Arc::clone(&activity)));
        let shared = Rc::clone(&shared);
        let (takeover, activity, is_cut_short) = (&takeover, &activity, &is_cut_short);
        async move {
            let mut response = shared.answer(Request { message, peer, local }).await;
            let due = in_flight.answered();
            let close = HeaderValue::from_static("close");
            let connection = response.headers().get(header::CONNECTION);
            is_cut_short.set(connection == Some(&close));
            let is_told = connection.is_some();
            if response.status() == StatusCode::SWITCHING_PROTOCOLS {
                activity.leave_http();
                takeover.replace(response.extensions_mut().remove());
            } else if *shared.phase.borrow() != Phase::Serving {
                // The phase may have changed while the answer was made, before the loop of `watch`
                // saw it.
                response.headers_mut().insert(header::CONNECTION, close);
            } else if stays_open && !is_told {
                let keep_alive = HeaderValue::from_static("keep-alive");
                response.headers_mut().insert(header::CONNECTION, keep_alive);
            }
            Ok::<_, Infallible>(response.map(|body| DueBody::new(body, due)))
        }
    });
    let mut connection = shared.protocol.serve_connection(stream, service).with_upgrades();
    match watch(&shared, &activity, peer, &mut connection).await {
        None => {}
        Some(Ok(())) => {
            let takeover = takeover.take();
            if let Some(takeover) = takeover {
                // Boxed, so that every other connection does not carry the room for one.
                Box::pin(hold(&shared, takeover, peer)).await;
            } else if is_cut_short.get()
                && let Some(parts) = connection.into_parts()
            {
                Box::pin(linger(parts.io.into_inner())).await;
            }
        }
        Some(Err(error)) => {
            report(&shared.events, peer, &error);
            if let Some(stream) = connection.into_parts().map(|parts| parts.io) {
                Box::pin(refuse(&shared, &activity, peer, stream, &error)).await;
            }
        }
    }
}

/// Runs a connection to its end; nothing if it was given up because the client was silent or has gone.
async fn watch<A: App, S>(
    shared: &Shared<A>,
    activity: &Activity,
    peer: SocketAddr,
    connection: &mut UpgradeableConnection<TokioIo<WatchedStream>, S>,
) -> Option<hyper::Result<()>>
where
    S: Service<hyper::Request<Incoming>, Response = hyper::Response<DueBody>, Error = Infallible>,
{
    let mut connection = Pin::new(connection);
    let mut phase = shared.phase();
    let mut is_draining = false;
    loop {
        let end = poll_fn(|context| match connection.as_mut().poll(context) {
            Poll::Ready(result) => Poll::Ready(Some(result)),
            Poll::Pending if activity.is_gone() => Poll::Ready(None),
            Poll::Pending => Poll::Pending,
        });
        let pause = check_after(&shared.limits, is_draining && activity.is_fresh());
        tokio::select! {
            biased;
            // First, so that a request which has arrived is seen before the connection is told to
            // end.
            result = end => return result,
            _ = phase.wait_for(|phase| *phase != Phase::Serving), if !is_draining => {
                is_draining = true;
                connection.as_mut().graceful_shutdown();
            }
            () = tokio::time::sleep(pause) => {
                if is_draining && activity.is_fresh() {
                    return None;
                }
                if let Some(silence) = activity.silence(&shared.limits) {
                    let is_in_head = silence == Silence::InHead;
                    (shared.events)(Event::TimedOut { peer, is_in_head });
                    return None;
                }
            }
        }
    }
}

/// Whether the connection serves further requests as far as the client is concerned; then the answer
/// says so (`server.md` 1.9). What older clients are told is hyper's affair.
fn stays_open<B>(message: &hyper::Request<B>) -> bool {
    let wishes = message.headers().get_all(header::CONNECTION);
    let tokens = wishes.iter().flat_map(|wish| wish.as_bytes().split(|byte| *byte == b','));
    let closes = |token: &[u8]| token.trim_ascii().eq_ignore_ascii_case(b"close");
    message.version() == Version::HTTP_11 && !tokens.into_iter().any(closes)
}

/// How hyper will read the body of a request.
fn framing(message: &hyper::Request<Incoming>) -> Framing {
    match message.body().size_hint().exact() {
        Some(length) if message.extensions().get::<OnUpgrade>().is_none() => Framing::Sized(length),
        _ => Framing::Unsized,
    }
}

/// Tells the client why hyper has refused its head, if that is how the connection ended.
async fn refuse<A: App>(
    shared: &Shared<A>,
    activity: &Arc<Activity>,
    peer: SocketAddr,
    mut stream: TokioIo<WatchedStream>,
    error: &hyper::Error,
) {
    let Some(status) = stream.inner().refused() else { return };
    let failure = match status {
        StatusCode::URI_TOO_LONG => Failure::TargetTooLong,
        StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE => Failure::HeadTooLarge {
            bytes_max: shared.limits.head_bytes_max,
            headers_max: shared.limits.headers_max,
        },
        _ => Failure::MalformedHead { reason: error.to_string() },
    };
    stream.inner_mut().substitute();
    let service = service_fn(|message: hyper::Request<Incoming>| {
        let due = activity.begin(framing(&message)).answered();
        let response = respond::failure(&failure, Rendition::default());
        async move { Ok::<_, Infallible>(response.map(|body| DueBody::new(body, due))) }
    });
    let mut connection = shared.protocol.serve_connection(stream, service).with_upgrades();
    if let Some(Ok(())) = watch(shared, activity, peer, &mut connection).await
        && let Some(parts) = connection.into_parts()
    {
        linger(parts.io.into_inner()).await;
    }
}

/// Reads and drops what the client still sends after its answer, so that it gets to read it.
async fn linger(mut stream: WatchedStream) {
    let mut rest = stream.socket().take(LINGER_BYTES_MAX);
    // Whether it ends, breaks or takes too long: then the connection is closed.
    let _ = timeout(LINGER_TIMEOUT, tokio::io::copy(&mut rest, &mut tokio::io::sink())).await;
}

/// Hands a connection that has left HTTP behind to the app, and stays until it ends.
async fn hold<A: App>(shared: &Shared<A>, takeover: Takeover, peer: SocketAddr) {
    let Takeover { upgrade, head } = takeover;
    // It fails only if the connection ended instead of changing its protocol.
    let Ok(io) = upgrade.await else { return };
    let request = format!("{} {}", head.method, head.uri.path());
    let (phase, events) = (shared.phase(), Arc::clone(&shared.events));
    let mut holding = pin!(shared.app.hold(Held { io, head, peer, phase, events }));
    if let Err(panic) = unwound(holding.as_mut()).await {
        let incident = IncidentId::new();
        let message = panic_message(&*panic).to_owned();
        (shared.events)(Event::Panicked { incident, message, request });
    }
}

/// How long until the connection is looked at again: a fraction of the shorter timeout, so that
/// both are kept closely enough without a timer being set at every byte.
fn check_after(limits: &ServerLimits, is_ending_fresh: bool) -> Duration {
    if is_ending_fresh {
        return FRESH_GRACE;
    }
    (limits.head_timeout.min(limits.idle_timeout) / 4).max(Duration::from_millis(10))
}

fn report(events: &EventSink, peer: SocketAddr, error: &hyper::Error) {
    // A client that leaves is no event; one that sends nonsense, or whose connection breaks, is.
    if !error.is_incomplete_message() && !error.is_closed() {
        events(Event::ConnectionFailed { peer, message: error.to_string() });
    }
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
