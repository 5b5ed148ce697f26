//! What goes into the transport and what comes out: one [`Exchange`], one [`Reply`].

use std::{path::Path, sync::Arc, time::Duration};

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use qlio_data::Text;
use tokio::time::Instant;

use super::{
    allowance::Room,
    error::{ErrorKind, Fault, TransportError},
    frames::Grpc,
    headers::{Headers, as_text},
    request_headers::RequestHeaders,
};
use crate::trace::CallTrace;

/// The content codings we decode, in the form of an `accept-encoding` value.
pub const ACCEPT_ENCODING: &str = "gzip, deflate, br, zstd";

/// The idle timeout if the statement names none (UPS-7).
pub const TIMEOUT_DEFAULT: Duration = Duration::from_secs(10);

/// The shortest back-off delay if the statement names none (UPS-12).
pub const BACKOFF_MIN_DEFAULT: Duration = Duration::from_millis(500);

/// The longest back-off delay if the statement names none (UPS-12).
pub const BACKOFF_MAX_DEFAULT: Duration = Duration::from_secs(30);

/// The longest header name that is repeated in an error.
const NAME_BYTES_SHOWN_MAX: usize = 64;

/// One request to make, complete: the transport adds `host`, framing and (if missing) `user-agent`.
#[derive(Debug, Clone)]
pub struct Exchange {
    /// The method.
    pub method: Method,
    /// The absolute `http` or `https` URI; user-info and fragment are ignored.
    pub uri: String,
    /// The Unix socket to connect to, wherever the URI points; only operators name one.
    pub socket: Option<Arc<Path>>,
    /// The headers, which all requests of a statement may share. `host`, `content-length` and
    /// `transfer-encoding` are replaced by our own.
    pub headers: RequestHeaders,
    /// A header of this exchange alone, beside those that others may share.
    pub own_header: Option<OwnHeader>,
    /// Its place in a trace, which redirects to other origins do not learn.
    pub trace: Option<CallTrace>,
    /// The body; empty for none.
    pub body: Bytes,
    /// How long nothing may move: while queueing, connecting, waiting for the head, between chunks.
    pub timeout: Duration,
    /// When the caller's patience ends, over all attempts and redirects.
    pub deadline: Option<Instant>,
    /// Whether to try again.
    pub retry: Retry,
    /// Whether redirects are followed rather than being the answer.
    pub follows_redirects: bool,
    /// The table on whose behalf this is sent; part of the back-off key and of the proxy lookup.
    pub table: Text,
    /// How far the egress guard goes.
    pub guard: Guard,
    /// The run on whose behalf this is sent: however often it fails, it closes a target for itself alone.
    pub run: u64,
    /// Who has chosen the timeout and the back-off delays.
    pub patience_of: PatienceOf,
    /// The shortest back-off delay.
    pub backoff_min: Duration,
    /// The longest back-off delay.
    pub backoff_max: Duration,
    /// The memory that answers may take, shared with other exchanges; `None` for no bound beside that of
    /// each answer.
    pub room: Option<Room>,
    /// A gRPC call: over HTTP/2 from the first byte, and the reply's headers hold the trailers.
    pub grpc: Option<Grpc>,
}

/// A header of one exchange: its value is a text and a number, put together where it is sent.
#[derive(Debug, Clone)]
pub struct OwnHeader {
    name: HeaderName,
    text: Text,
    number: u32,
}

impl OwnHeader {
    /// The header with the number 0; none if the text cannot be sent.
    pub fn new(name: HeaderName, text: Text) -> Option<Self> {
        as_text(text.as_bytes()).is_some().then_some(Self { name, text, number: 0 })
    }

    /// The same with another number.
    #[must_use]
    pub fn numbered(&self, number: u32) -> Self {
        Self { name: self.name.clone(), text: self.text.clone(), number }
    }

    /// Its name.
    pub fn name(&self) -> &HeaderName {
        &self.name
    }

    /// Its value.
    pub fn value(&self) -> String {
        format!("{}{}", self.text, self.number)
    }

    /// The same for those who keep headers in a map.
    pub(super) fn to_entry(&self) -> Option<(HeaderName, HeaderValue)> {
        Some((self.name.clone(), HeaderValue::try_from(self.value()).ok()?))
    }

    /// Writes its line.
    pub(super) fn put(&self, head: &mut Vec<u8>) {
        let mut digits = itoa::Buffer::new();
        let digits = digits.format(self.number);
        for part in [self.name.as_str(), ": ", &*self.text, digits, "\r\n"] {
            head.extend_from_slice(part.as_bytes());
        }
    }
}

impl Exchange {
    /// A request without headers, body, retry or guard, and with the default times.
    pub fn new(method: Method, uri: impl Into<String>) -> Self {
        Self {
            method,
            uri: uri.into(),
            socket: None,
            headers: RequestHeaders::default(),
            own_header: None,
            trace: None,
            body: Bytes::new(),
            timeout: TIMEOUT_DEFAULT,
            deadline: None,
            retry: Retry::Never,
            follows_redirects: true,
            table: Text::default(),
            guard: Guard::Off,
            run: 0,
            patience_of: PatienceOf::Operator,
            backoff_min: BACKOFF_MIN_DEFAULT,
            backoff_max: BACKOFF_MAX_DEFAULT,
            room: None,
            grpc: None,
        }
    }

    /// The headers, to change them for this exchange only.
    pub fn headers_mut(&mut self) -> &mut HeaderMap {
        self.headers.make_mut()
    }
}

/// Whether a failed exchange is sent again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Retry {
    /// One attempt.
    #[default]
    Never,
    /// A second attempt, at once, after a timeout or a network failure; never because of a status.
    Once,
}

/// Who has chosen how long an exchange waits for its upstream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PatienceOf {
    /// The operator: a timeout says something of the upstream.
    #[default]
    Operator,
    /// A client, with its script: a timeout says nothing to others, and they do not wait as long as it says.
    Client,
}

/// The egress guard of one exchange (SAF-8, SAF-11). The deny list of the settings holds in any case.
#[derive(Debug, Clone, Default)]
pub enum Guard {
    /// The operator wrote the target; anything not denied goes. Redirects stay at its host, or go to those of
    /// the settings' allow list.
    #[default]
    Off,
    /// Somebody else wrote the target: only hosts listed here or in the settings' allow list, and never an
    /// address that is not public unless the settings' allow list names that host or address.
    Restricted {
        /// Host patterns, written like those of the settings (`EgressSettings`).
        allowed_hosts: Arc<[String]>,
    },
}

/// The answer, complete in memory.
#[derive(Debug, Clone)]
pub struct Reply {
    /// The status, whatever it is; an error status is not a transport failure.
    pub status: StatusCode,
    /// The headers as received; `content-encoding` and `content-length` describe the wire, not `body`.
    pub headers: Headers,
    /// The body after content decoding.
    pub body: Bytes,
    /// The URI that answered, after redirects, without user-info and fragment. It may hold credentials in
    /// its query; pass it through `shown_uri` before printing.
    pub uri: String,
    /// Size of the body on the wire, in bytes.
    pub wire_bytes: usize,
    /// Where the time went in the last hop of the last attempt.
    pub timings: Timings,
    /// Number of attempts, at least 1.
    pub attempts: u32,
    /// Number of redirects followed.
    pub redirects: u32,
}

/// Durations of the phases of a hop; `None` if the phase did not take place.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Timings {
    /// Waiting for an access token, and for a free connection.
    pub blocked: Option<Duration>,
    /// Resolving the name.
    pub dns: Option<Duration>,
    /// Connecting, proxy tunnel and TLS handshake included.
    pub connect: Option<Duration>,
    /// Handing the request to the connection; of a large body only its first part.
    pub send: Option<Duration>,
    /// From there to the response head.
    pub wait: Option<Duration>,
    /// Receiving the body, without decoding.
    pub receive: Option<Duration>,
}

/// Checks one header before it goes into [`Exchange::headers`].
///
/// Fails with `Invalid header value for <name>` if the name is not a token or the value holds CR, LF, NUL or
/// another control character (CON-33).
pub fn header(name: &str, value: &str) -> Result<(HeaderName, HeaderValue), TransportError> {
    let invalid = || {
        let shown: String = name
            .chars()
            .map(|c| if c.is_control() { '?' } else { c })
            .take(NAME_BYTES_SHOWN_MAX)
            .collect();
        Fault::from(ErrorKind::InvalidHeader { name: shown.into() }).attach("", "", 0)
    };
    let parsed = HeaderName::from_bytes(name.as_bytes()).map_err(|_| invalid())?;
    let value = HeaderValue::from_bytes(value.as_bytes()).map_err(|_| invalid())?;
    Ok((parsed, value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_with_a_line_break_is_refused_by_name() {
        for value in ["a\r\nb: c", "a\nb", "a\0b"] {
            let error = header("X-Thing", value).expect_err("refused");
            assert_eq!(error.to_string(), "Invalid header value for X-Thing");
        }
        assert_eq!(
            header("a\r\nb", "x").expect_err("refused").to_string(),
            "Invalid header value for a??b"
        );
        assert!(header("X-Thing", "a b\tc é").is_ok());
    }
}
