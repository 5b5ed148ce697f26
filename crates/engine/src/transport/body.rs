//! Bodies: handing ours over, and collecting the upstream's into one buffer under a limit.

use std::{
    convert::Infallible,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    task::{Context, Poll},
};

use bytes::{Bytes, BytesMut};
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;
use tokio::time::Instant;

use super::{
    error::{ErrorKind, Fault},
    frames::Tail,
    patience::Patience,
    pool::Connection,
};

/// Request bodies are handed over in pieces of this size, so that progress shows.
const UPLOAD_PIECE_BYTES: usize = 64 * 1024;

/// The most that is reserved on the word of a `content-length` alone.
const RESERVED_BYTES_MAX: usize = 1024 * 1024;

/// A request body in memory.
#[derive(Debug)]
pub(super) struct RequestBody {
    rest: Bytes,
    /// Counts pieces; only long bodies pay for it.
    progress: Option<Arc<AtomicU64>>,
}

impl RequestBody {
    pub(super) fn new(bytes: Bytes, patience: &mut Patience) -> Self {
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

/// Receives a whole body over the connection that its head came by; `tail` takes the trailers and says when
/// enough has come.
///
/// A body that arrives in one piece is passed on as it is; others are copied once, into one buffer.
pub(super) async fn receive(
    body: &mut Incoming,
    connection: &mut Connection,
    patience: &mut Patience,
    limit: usize,
    mut tail: Option<&mut Tail>,
) -> Result<Bytes, Fault> {
    let declared = body.size_hint().exact().map(|size| usize::try_from(size).unwrap_or(usize::MAX));
    if declared.is_some_and(|size| size > limit) {
        return Err(ErrorKind::ResponseTooLarge { limit }.into());
    }
    let mut collected = Collected::default();
    while !body.is_end_stream() {
        let frame = std::future::poll_fn(|cx| {
            match connection.poll_with(cx, |cx| Pin::new(&mut *body).poll_frame(cx)) {
                Poll::Ready(frame) => Poll::Ready(Ok(frame)),
                Poll::Pending => patience.poll_expired(cx).map(Err),
            }
        })
        .await?;
        let Some(frame) = frame else {
            patience.touch(Instant::now());
            break;
        };
        let frame = frame.map_err(|cause| {
            let fault = Fault::from_hyper(&cause, true);
            match fault.kind {
                // The connection was closed in good order, but too early.
                ErrorKind::Truncated if declared.is_some() => ErrorKind::LengthMismatch.into(),
                _ => fault,
            }
        })?;
        patience.touch(Instant::now());
        let mut data = match frame.into_data() {
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
        collected.push(data, declared);
        if tail.as_ref().is_some_and(|tail| tail.is_cut()) {
            break;
        }
    }
    Ok(collected.into_bytes())
}

/// What has arrived so far: nothing, one piece, or a buffer with several.
#[derive(Debug, Default)]
struct Collected {
    first: Bytes,
    buffer: BytesMut,
}

impl Collected {
    fn len(&self) -> usize {
        if self.buffer.is_empty() { self.first.len() } else { self.buffer.len() }
    }

    fn push(&mut self, data: Bytes, declared: Option<usize>) {
        if self.buffer.is_empty() {
            if self.first.is_empty() {
                self.first = data;
                return;
            }
            let expected = self.first.len() + data.len();
            let reserved = declared.unwrap_or(0).min(RESERVED_BYTES_MAX).max(expected);
            self.buffer.reserve(reserved);
            self.buffer.extend_from_slice(&std::mem::take(&mut self.first));
        } else if self.buffer.capacity() - self.buffer.len() < data.len()
            && let Some(missing) = declared.and_then(|size| size.checked_sub(self.buffer.len()))
        {
            // The declaration has proved itself for the first part; make room for all of it at once.
            self.buffer.reserve(missing);
        }
        self.buffer.extend_from_slice(&data);
    }

    fn into_bytes(self) -> Bytes {
        if self.buffer.is_empty() { self.first } else { self.buffer.freeze() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_piece_is_not_copied() {
        let piece = Bytes::from(vec![7; 100]);
        let mut collected = Collected::default();
        collected.push(piece.clone(), Some(100));
        assert_eq!(collected.into_bytes().as_ptr(), piece.as_ptr());
    }

    #[test]
    fn pieces_keep_their_order() {
        let mut collected = Collected::default();
        let mut expected = Vec::new();
        for n in 0..100_u8 {
            let piece = vec![n; 30_000];
            expected.extend_from_slice(&piece);
            collected.push(piece.into(), Some(3_000_000));
            assert_eq!(collected.len(), expected.len());
        }
        assert_eq!(collected.into_bytes(), expected);
    }
}
