//! One connection of either version, and what an exchange on it looks like to the rest of the transport.

use std::sync::Arc;

use bytes::Bytes;
use http::StatusCode;
use hyper::body::{Body as _, Incoming};
use tokio::time::Instant;

use super::{
    allowance::Allowance,
    body::receive,
    error::{ErrorKind, Fault},
    exchange::Timings,
    frames::Tail,
    headers::Headers,
    http1, http2,
    patience::Patience,
    watcher::Watcher,
};

/// A connection to use for one exchange.
pub(super) enum Connection {
    /// HTTP/1.1: ours alone. Dropping it closes the socket.
    Own(Box<http1::Connection>),
    /// HTTP/2: shared with other exchanges.
    Shared(Arc<http2::Connection>),
}

/// The head of a response.
#[derive(Debug)]
pub(super) struct Head {
    pub(super) status: StatusCode,
    pub(super) headers: Headers,
    pub(super) body: Body,
}

/// A body that is still to come.
#[derive(Debug)]
pub(super) enum Body {
    /// Over HTTP/1.1.
    Framed(http1::Framing),
    /// Over HTTP/2.
    Stream(Incoming),
}

/// An exchange that failed on a connection.
#[derive(Debug)]
pub(super) struct Failed {
    pub(super) fault: Fault,
    /// The upstream cannot have seen the request: another connection may be used without the caller
    /// knowing.
    pub(super) may_resend: bool,
}

impl From<Fault> for Failed {
    fn from(fault: Fault) -> Self {
        Self { fault, may_resend: false }
    }
}

impl Connection {
    /// Receives a whole body, as far as it is allowed. `tail` takes the trailers of a gRPC
    /// call and says when enough has come; a body of known length over HTTP/1.1 is shown to `watcher`.
    pub(super) async fn body(
        &mut self,
        body: Body,
        patience: &mut Patience<'_>,
        allowance: &mut Allowance<'_>,
        tail: Option<&mut Tail>,
        watcher: Option<&mut impl Watcher>,
    ) -> Result<Bytes, Fault> {
        match (self, body) {
            (Self::Own(connection), Body::Framed(framing)) => {
                connection.body(framing, patience, allowance, watcher).await
            }
            (_, Body::Stream(body)) => receive(body, patience, allowance, tail).await,
            // A head comes from the connection of its exchange.
            (Self::Shared(_), Body::Framed(_)) => {
                Err(Fault::new(ErrorKind::Protocol, "a body of another version"))
            }
        }
    }

    /// The whole body, if it has come together with its head, as small ones do.
    pub(super) fn body_at_hand(
        &mut self,
        body: &Body,
        limit: usize,
    ) -> Option<Result<Bytes, Fault>> {
        match (self, body) {
            (Self::Own(connection), Body::Framed(framing)) => {
                connection.body_at_hand(*framing, limit)
            }
            _ => None,
        }
    }
}

impl Body {
    pub(super) fn is_empty(&self) -> bool {
        match self {
            Self::Framed(framing) => *framing == http1::Framing::None,
            Self::Stream(body) => body.is_end_stream(),
        }
    }

    /// The length, in bytes, if the head has told it.
    pub(super) fn length(&self) -> Option<u64> {
        match self {
            Self::Framed(http1::Framing::None) => Some(0),
            Self::Framed(http1::Framing::Length(length)) => Some(*length),
            Self::Framed(http1::Framing::Chunked | http1::Framing::UntilClose) => None,
            Self::Stream(body) => body.size_hint().exact(),
        }
    }
}

/// Writes down when the request was sent and its head `arrived`.
pub(super) fn note_head(
    timings: &mut Timings,
    arrived: Instant,
    started: Instant,
    sent: Option<Instant>,
) {
    let sent = sent.unwrap_or(arrived);
    timings.send = Some(sent - started);
    timings.wait = Some(arrived - sent);
}
