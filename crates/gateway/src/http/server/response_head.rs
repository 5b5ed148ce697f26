//! The head of an answer, as bytes.

use std::{
    cell::Cell,
    time::{Duration, SystemTime},
};

use hyper::{
    Response, StatusCode, Version,
    header::{self, HeaderValue},
};
use qlio_http1::fields::{LINE_BYTES_USUAL, put_field};
use tokio::time::Instant;

/// Whether an answer is followed by others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Next {
    /// Further requests.
    Requests,
    /// The end of the connection.
    Close,
    /// Another protocol, which the answer names itself.
    OtherProtocol,
}

/// Whether an answer with this status has a body (RFC 9110, 6.4.1).
pub(super) fn has_body(status: StatusCode) -> bool {
    !status.is_informational()
        && !matches!(status, StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED)
}

/// Writes the head of an answer whose body has so many bytes, even if they are not sent.
pub(super) fn write(
    response: &Response<()>,
    version: Version,
    next: Next,
    body_bytes: usize,
    date: HttpDateBytes,
) -> Vec<u8> {
    let (status, headers) = (response.status(), response.headers());
    let mut head = Vec::with_capacity((headers.len() + 4) * LINE_BYTES_USUAL);
    // To a client that speaks only the older version nothing of the newer one is said.
    head.extend_from_slice(match version {
        Version::HTTP_10 => b"HTTP/1.0 ",
        _ => b"HTTP/1.1 ",
    });
    head.extend_from_slice(status.as_str().as_bytes());
    head.push(b' ');
    head.extend_from_slice(status.canonical_reason().unwrap_or_default().as_bytes());
    head.extend_from_slice(b"\r\n");
    for (name, value) in headers {
        // Beside another protocol, whether the connection stays open is said below.
        if name != header::CONNECTION || next == Next::OtherProtocol {
            put_field(&mut head, name.as_str(), value.as_bytes());
        }
    }
    match next {
        Next::Requests => put_field(&mut head, "connection", b"keep-alive"),
        Next::Close => put_field(&mut head, "connection", b"close"),
        Next::OtherProtocol => {}
    }
    if has_body(status) {
        let length = HeaderValue::from(body_bytes);
        put_field(&mut head, "content-length", length.as_bytes());
    }
    put_field(&mut head, "date", &date);
    head.extend_from_slice(b"\r\n");
    head
}

/// The date of answers, written once a second.
#[derive(Debug)]
pub(super) struct DateClock(Cell<(HttpDateBytes, Option<Instant>)>);

/// A date as text (RFC 9110, 5.6.7).
type HttpDateBytes = [u8; 29];

impl DateClock {
    pub(super) fn new() -> Self {
        Self(Cell::new(([b' '; 29], None)))
    }

    /// The date at this moment, which is now.
    pub(super) fn at(&self, now: Instant) -> HttpDateBytes {
        let (text, until) = self.0.get();
        if until.is_some_and(|until| now < until) {
            return text;
        }
        let time = SystemTime::now();
        let since_epoch = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let rest = Duration::from_nanos(1_000_000_000 - u64::from(since_epoch.subsec_nanos()));
        let mut text = text;
        let date = httpdate::fmt_http_date(time);
        if date.len() == text.len() {
            text.copy_from_slice(date.as_bytes());
        }
        self.0.set((text, Some(now + rest)));
        text
    }
}
