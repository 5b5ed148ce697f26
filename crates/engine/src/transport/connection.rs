//! One connection and one exchange on it, HTTP/1.1 or HTTP/2.
//!
//! An HTTP/1.1 connection has no task of its own: whoever uses it polls it. That saves a task switch per
//! exchange, and dropping the user drops the connection, so that a cancelled exchange closes its socket. An
//! HTTP/2 connection is shared and driven by a task, which the pool ends with the connection; dropping an
//! exchange resets its stream.

use std::{
    future::{Future, poll_fn},
    net::IpAddr,
    pin::{Pin, pin},
    task::{Context, Poll, Waker},
};

use http::{Request, Response};
use hyper::{
    body::Incoming,
    client::conn::{TrySendError, http1, http2},
};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::{task::AbortHandle, time::Instant};

use super::{
    body::RequestBody,
    connect::Stream,
    error::{ErrorKind, Fault},
    exchange::Timings,
    patience::Patience,
    quiet::Quiet,
};

/// An exchange that failed on a connection.
#[derive(Debug)]
pub(super) struct Failed {
    pub(super) fault: Fault,
    /// The upstream cannot have acted on the request, or acting twice is harmless: another connection may
    /// be used without the caller knowing.
    pub(super) may_resend: bool,
}

impl From<Fault> for Failed {
    fn from(fault: Fault) -> Self {
        Self { fault, may_resend: false }
    }
}

/// An HTTP/1.1 connection, used by one exchange at a time.
pub(super) struct H1 {
    sender: http1::SendRequest<RequestBody>,
    wire: Wire,
    quiet: Quiet,
    /// The target's address, if we know it.
    pub(super) peer: Option<IpAddr>,
    is_reused: bool,
}

/// The half of a connection that reads and writes.
struct Wire {
    connection: http1::Connection<TokioIo<Stream>, RequestBody>,
    is_closed: bool,
}

impl Wire {
    /// Moves the connection on, on behalf of the task in `cx`.
    fn drive(&mut self, cx: &mut Context<'_>) {
        if !self.is_closed && Pin::new(&mut self.connection).poll(cx).is_ready() {
            // An error here is also reported to the exchange under way, if there is one.
            self.is_closed = true;
        }
    }
}

impl H1 {
    pub(super) async fn open(stream: Stream, peer: Option<IpAddr>) -> Result<Self, Fault> {
        let (sender, connection) = http1::handshake(TokioIo::new(stream))
            .await
            .map_err(|cause| Fault::from_hyper(&cause, false))?;
        let wire = Wire { connection, is_closed: false };
        Ok(Self { sender, wire, quiet: Quiet::new(), peer, is_reused: false })
    }

    /// Polls what waits for the connection, and moves the connection on for it.
    pub(super) fn poll_with<T>(
        &mut self,
        cx: &mut Context<'_>,
        mut poll: impl FnMut(&mut Context<'_>) -> Poll<T>,
    ) -> Poll<T> {
        let Self { quiet, wire, .. } = self;
        quiet.poll(cx, |cx| {
            wire.drive(cx);
            poll(cx)
        })
    }

    /// Whether the connection can take another exchange; notices if the other side has closed it.
    pub(super) fn is_usable(&mut self) -> bool {
        self.wire.drive(&mut Context::from_waker(Waker::noop()));
        self.is_reused = true;
        !self.wire.is_closed && self.sender.is_ready()
    }

    /// Sends a request and waits for the head of the response. The request is made here rather than handed
    /// in, because arguments stay in the future for as long as it lasts.
    pub(super) async fn head(
        &mut self,
        request: impl FnOnce(&mut Patience) -> Result<Request<RequestBody>, Fault>,
        is_idempotent: bool,
        patience: &mut Patience,
        timings: &mut Timings,
    ) -> Result<Response<Incoming>, Failed> {
        let Self { sender, wire, quiet, .. } = self;
        let started = Instant::now();
        let mut sent = None;
        let mut response = pin!(sender.try_send_request(request(patience)?));
        let result = poll_fn(|cx| {
            let polled = quiet.poll(cx, |cx| {
                // In this order: the response future relies on the connection being there.
                wire.drive(cx);
                sent.get_or_insert_with(Instant::now);
                response.as_mut().poll(cx)
            });
            match polled {
                Poll::Ready(result) => Poll::Ready(Ok(result)),
                Poll::Pending if wire.is_closed => Poll::Ready(Err(Fault::network("ECONNRESET"))),
                Poll::Pending => patience.poll_expired(cx).map(Err),
            }
        })
        .await?;
        note_head(timings, patience, started, sent);
        result.map_err(|error| failed(error, self.is_reused && is_idempotent))
    }
}

/// An HTTP/2 connection, used by many exchanges at a time.
pub(super) struct H2 {
    sender: http2::SendRequest<RequestBody>,
    driver: AbortHandle,
    /// The target's address, if we know it.
    pub(super) peer: Option<IpAddr>,
}

impl Drop for H2 {
    fn drop(&mut self) {
        self.driver.abort();
    }
}

impl H2 {
    pub(super) async fn open(stream: Stream, peer: Option<IpAddr>) -> Result<Self, Fault> {
        let (sender, connection) = http2::handshake(TokioExecutor::new(), TokioIo::new(stream))
            .await
            .map_err(|cause| Fault::from_hyper(&cause, false))?;
        // The driver ends with the connection; what it reports reaches every exchange by itself.
        let driver = tokio::spawn(async { drop(connection.await) }).abort_handle();
        Ok(Self { sender, driver, peer })
    }

    pub(super) fn is_usable(&self) -> bool {
        !self.sender.is_closed()
    }

    pub(super) async fn head(
        &self,
        request: Request<RequestBody>,
        is_idempotent: bool,
        patience: &mut Patience,
        timings: &mut Timings,
    ) -> Result<Response<Incoming>, Failed> {
        let started = Instant::now();
        let mut sender = self.sender.clone();
        let response = sender.try_send_request(request);
        let sent = Some(Instant::now());
        let result = patience.limit(response).await?;
        note_head(timings, patience, started, sent);
        result.map_err(|error| {
            let is_refused = h2_reason(error.error()) == Some(h2::Reason::REFUSED_STREAM);
            let mut failed = failed(error, is_idempotent);
            failed.may_resend |= is_refused;
            failed
        })
    }
}

fn note_head(
    timings: &mut Timings,
    patience: &mut Patience,
    started: Instant,
    sent: Option<Instant>,
) {
    let now = Instant::now();
    let sent = sent.unwrap_or(now);
    timings.send = Some(sent - started);
    timings.wait = Some(now - sent);
    patience.touch(now);
}

/// `may_repeat`: repeating is harmless, and the connection may simply have been stale.
fn failed(mut error: TrySendError<Request<RequestBody>>, may_repeat: bool) -> Failed {
    let is_unsent = error.take_message().is_some();
    let fault = Fault::from_hyper(error.error(), false);
    let is_broken = matches!(fault.kind, ErrorKind::Connect { .. });
    Failed { may_resend: is_unsent || (is_broken && may_repeat), fault }
}

fn h2_reason(error: &hyper::Error) -> Option<h2::Reason> {
    std::error::Error::source(error)?.downcast_ref::<h2::Error>()?.reason()
}
