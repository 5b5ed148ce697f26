//! Bodies of mock answers: all at once, in pieces with pauses, or nothing and a late end.

use std::{
    collections::VecDeque,
    convert::Infallible,
    pin::Pin,
    task::{Context, Poll, ready},
    time::Duration,
};

use bytes::Bytes;
use hyper::body::{Body, Frame, Incoming, SizeHint};
use tokio::time::Sleep;

/// How much of a request's body is read before it is given up.
pub(super) const REQUEST_BYTES_MAX: usize = 64 * 1024 * 1024;

/// A wait and what is sent after it.
type Step = (Duration, Option<Bytes>);

/// The body of a mock's answer.
#[derive(Debug, Default)]
pub(crate) struct MockBody {
    steps: VecDeque<Step>,
    waiting: Option<(Pin<Box<Sleep>>, Option<Bytes>)>,
}

impl MockBody {
    /// All of it at once.
    pub(crate) fn full(bytes: impl Into<Bytes>) -> Self {
        let bytes = bytes.into();
        let steps = if bytes.is_empty() { None } else { Some((Duration::ZERO, Some(bytes))) };
        Self { steps: steps.into_iter().collect(), waiting: None }
    }

    /// Nothing, and the end only after a while.
    pub(super) fn ends_after(wait: Duration) -> Self {
        Self { steps: VecDeque::from([(wait, None)]), waiting: None }
    }

    /// The bytes in so many pieces, with a pause of `pause()` before each but the first.
    pub(super) fn in_pieces(
        bytes: &Bytes,
        pieces: usize,
        mut pause: impl FnMut() -> Duration,
    ) -> Self {
        let length = bytes.len().div_ceil(pieces.max(1)).max(1);
        let mut steps = VecDeque::with_capacity(pieces);
        let mut at = 0;
        while at < bytes.len() {
            let end = (at + length).min(bytes.len());
            let wait = if at == 0 { Duration::ZERO } else { pause() };
            steps.push_back((wait, Some(bytes.slice(at..end))));
            at = end;
        }
        Self { steps, waiting: None }
    }

    /// Joins the parts that are still to be sent.
    pub(super) fn into_bytes(self) -> Bytes {
        let mut parts: Vec<Bytes> = self.steps.into_iter().filter_map(|(_, part)| part).collect();
        match parts.len() {
            0 => Bytes::new(),
            1 => parts.swap_remove(0),
            _ => parts.concat().into(),
        }
    }
}

impl Body for MockBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        loop {
            if let Some((sleep, _)) = &mut self.waiting {
                ready!(sleep.as_mut().poll(cx));
                if let Some((_, Some(bytes))) = self.waiting.take() {
                    return Poll::Ready(Some(Ok(Frame::data(bytes))));
                }
                continue;
            }
            match self.steps.pop_front() {
                None => return Poll::Ready(None),
                Some((wait, Some(bytes))) if wait.is_zero() => {
                    return Poll::Ready(Some(Ok(Frame::data(bytes))));
                }
                Some((wait, bytes)) => {
                    self.waiting = Some((Box::pin(tokio::time::sleep(wait)), bytes));
                }
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.steps.is_empty() && self.waiting.is_none()
    }

    fn size_hint(&self) -> SizeHint {
        // With a known length of nothing the end would be sent at once.
        if self.steps.iter().any(|(_, part)| part.is_none()) || self.waiting.is_some() {
            return SizeHint::default();
        }
        let length: usize =
            self.steps.iter().filter_map(|(_, part)| part.as_ref()).map(Bytes::len).sum();
        SizeHint::with_exact(u64::try_from(length).unwrap_or(u64::MAX))
    }
}

/// Reads a request's body; `None` if it is too large or ends early.
pub(super) async fn collect(body: Incoming) -> Option<Bytes> {
    use http_body_util::{BodyExt as _, Limited};

    let limited = Limited::new(body, REQUEST_BYTES_MAX);
    limited.collect().await.ok().map(http_body_util::Collected::to_bytes)
}
