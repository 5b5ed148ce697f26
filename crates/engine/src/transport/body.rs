//! Bodies over HTTP/2: handing ours over, and collecting the upstream's under a limit.

use std::{
    convert::Infallible,
    future::poll_fn,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    task::{Context, Poll},
};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;
use tokio::time::Instant;

use super::{
    allowance::Allowance,
    collected::Collected,
    error::{ErrorKind, Fault},
    frames::Tail,
    patience::Patience,
};

/// Request bodies are handed over in pieces of this size, so that progress shows.
const UPLOAD_PIECE_BYTES: usize = 64 * 1024;

/// A request body in memory.
#[derive(Debug)]
pub(super) struct RequestBody {
    rest: Bytes,
    /// Counts pieces; only long bodies pay for it.
    progress: Option<Arc<AtomicU64>>,
}

impl RequestBody {
    pub(super) fn new(bytes: Bytes, patience: &mut Patience<'_>) -> Self {
        let is_long = bytes.len() > UPLOAD_PIECE_BYTES;
        Self { rest: bytes, progress: is_long.then(|| patience.upload_counter()) }
    }
}

impl Body for RequestBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        if self.rest.is_empty() {
            return Poll::Ready(None);
        }
        if let Some(progress) = &self.progress {
            progress.fetch_add(1, Ordering::Relaxed);
        }
        let size = self.rest.len().min(UPLOAD_PIECE_BYTES);
        Poll::Ready(Some(Ok(Frame::data(self.rest.split_to(size)))))
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.rest.len() as u64)
    }
}

/// Receives the whole body of an HTTP/2 stream; `tail` takes the trailers and says when enough has come.
pub(super) async fn receive(
    mut body: Incoming,
    patience: &mut Patience<'_>,
    allowance: &mut Allowance<'_>,
    mut tail: Option<&mut Tail>,
) -> Result<Bytes, Fault> {
    let limit = allowance.limit();
    let declared = body.size_hint().exact().map(|size| usize::try_from(size).unwrap_or(usize::MAX));
    if declared.is_some_and(|size| size > limit) {
        return Err(ErrorKind::ResponseTooLarge { limit }.into());
    }
    let mut collected = Collected::default();
    while !body.is_end_stream() {
        let frame = poll_fn(|cx| Pin::new(&mut body).poll_frame(cx));
        let frame = patience.limit(frame).await?;
        patience.touch(Instant::now());
        let Some(frame) = frame else { break };
        let mut data = match frame.map_err(|cause| Fault::from_hyper(&cause, true))?.into_data() {
            Ok(data) => data,
            Err(frame) => {
                // Only of a gRPC call do trailers say something that we use.
                if let (Some(tail), Ok(trailers)) = (&mut tail, frame.into_trailers()) {
                    tail.set_trailers(trailers);
                }
                continue;
            }
        };
        if let Some(tail) = &mut tail {
            data.truncate(tail.wanted(&data));
        }
        if data.len() > limit - collected.len() {
            return Err(ErrorKind::ResponseTooLarge { limit }.into());
        }
        collected.push(data);
        allowance.admit(collected.len())?;
        if tail.as_ref().is_some_and(|tail| tail.is_cut()) {
            break;
        }
    }
    Ok(collected.into_bytes())
}
