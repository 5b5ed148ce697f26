//! The body of a request, which notes when nothing more is wanted of the client.
//!
//! Until then an end of the client is the body's affair: one that breaks off is an error with an answer.
//! From then on it means that nobody waits for the answer.

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use bytes::Bytes;
use hyper::body::{Body, Frame, Incoming, SizeHint};

use super::activity::Activity;

/// A body on its way from the client.
#[derive(Debug)]
pub struct RequestBody {
    body: Incoming,
    has_failed: bool,
    activity: Arc<Activity>,
}

impl RequestBody {
    pub(super) fn new(body: Incoming, activity: Arc<Activity>) -> Self {
        Self { body, has_failed: false, activity }
    }
}

impl Body for RequestBody {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let polled = Pin::new(&mut self.body).poll_frame(context);
        match &polled {
            Poll::Ready(Some(Err(_))) => self.has_failed = true,
            Poll::Ready(None) => self.activity.note_body_end(),
            _ => {}
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl Drop for RequestBody {
    fn drop(&mut self) {
        // Who gives a body up does not wait for the rest of it.
        if !self.has_failed {
            self.activity.note_body_end();
        }
    }
}
