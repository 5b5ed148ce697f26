//! One HTTP/2 connection, used by many exchanges at a time.
//!
//! It is driven by a task, which the pool ends with the connection; dropping an exchange resets its stream.

use std::net::IpAddr;

use http::Request;
use hyper::client::conn::http2;
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::{task::AbortHandle, time::Instant};

use super::{
    body::RequestBody,
    connect::Stream,
    connection::{Body, Failed, Head, note_head},
    error::Fault,
    exchange::Timings,
    patience::Patience,
};

pub(super) struct Connection {
    sender: http2::SendRequest<RequestBody>,
    driver: AbortHandle,
    /// The target's address, if we know it.
    pub(super) peer: Option<IpAddr>,
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.driver.abort();
    }
}

impl Connection {
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
        patience: &mut Patience<'_>,
        timings: &mut Timings,
    ) -> Result<Head, Failed> {
        let started = Instant::now();
        let mut sender = self.sender.clone();
        let response = sender.try_send_request(request);
        let sent = Some(Instant::now());
        let result = patience.limit(response).await?;
        patience.touch(Instant::now());
        note_head(timings, patience.moved_at(), started, sent);
        let (head, body) = result
            .map_err(|mut error| {
                let is_unseen = error.take_message().is_some() || is_refused(error.error());
                Failed { may_resend: is_unseen, fault: Fault::from_hyper(error.error(), false) }
            })?
            .into_parts();
        Ok(Head { status: head.status, headers: head.headers.into(), body: Body::Stream(body) })
    }
}

/// The upstream says that it has not looked at the request: it refused it, or was about to close the
/// connection when it came.
fn is_refused(error: &hyper::Error) -> bool {
    let cause =
        std::error::Error::source(error).and_then(|cause| cause.downcast_ref::<h2::Error>());
    cause.is_some_and(|cause| match cause.reason() {
        Some(h2::Reason::REFUSED_STREAM) => true,
        // Streams that it still answers are not ended by this.
        Some(h2::Reason::NO_ERROR) => cause.is_go_away() && cause.is_remote(),
        _ => false,
    })
}
