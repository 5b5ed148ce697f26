//! What can go wrong between us and an upstream, as data.
//!
//! Every failure of an exchange is one [`TransportError`]: what happened ([`ErrorKind`]), for which URI,
//! at which origin, and whether sending the same exchange again makes sense. The wording that the
//! rule UPS-25 fixes is produced by `Display` and nowhere else.
//!
//! Promise: no user-info, no value of a query parameter that looks like a credential, and no request
//! header ever appears in a message or in [`TransportError::uri`].

use std::{error, fmt, io};

use qlio_data::credential::shown_uri;
use rustix::io::Errno;

use crate::{heavy::Busy, meter::Outcome};

/// The kinds of failure.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The network failed: name resolution, connecting, or a connection that broke.
    Connect {
        /// The system's name for it: `ECONNREFUSED`, `ENOTFOUND`, `ECONNRESET` and so on.
        code: &'static str,
    },
    /// Nothing moved for the exchange's idle timeout.
    Timeout {
        /// The timeout, in milliseconds.
        ms: u64,
    },
    /// Nothing moved for the exchange's idle timeout while it waited for one of our own connections to become free:
    /// the upstream has not been asked.
    QueueTimeout {
        /// The timeout, in milliseconds.
        ms: u64,
    },
    /// The overall deadline of the caller has passed.
    Deadline,
    /// The TLS handshake failed, or the certificate could not be verified.
    Tls,
    /// The connection ended before the end of the body.
    Truncated,
    /// `content-length` contradicts the body, or itself.
    LengthMismatch,
    /// The body on the wire is larger than the limit.
    ResponseTooLarge {
        /// The limit, in bytes.
        limit: usize,
    },
    /// The body after content decoding is larger than the limit.
    DecodedTooLarge {
        /// The limit, in bytes.
        limit: usize,
    },
    /// The caller has no memory left for the body.
    NoRoom,
    /// The large bodies of all callers take all memory that they may.
    NoMemory {
        /// The limit, in bytes.
        limit: usize,
    },
    /// The body has a content coding that we do not speak.
    ContentCoding {
        /// The coding as the upstream named it, lower-cased and shortened.
        name: Box<str>,
    },
    /// The content coding is broken.
    CorruptedStream,
    /// More redirects than allowed.
    RedirectLimit,
    /// A redirect leads to a URI that this exchange has visited already.
    RedirectLoop,
    /// A redirect without a `Location`.
    RedirectWithoutLocation,
    /// A redirect to a URI that cannot be requested.
    RedirectUnusable,
    /// A redirect from `https` to `http`.
    RedirectDowngrade,
    /// A redirect to a host that neither the table nor `egress.allow` names.
    RedirectAbroad {
        /// The host that was refused.
        host: Box<str>,
    },
    /// Status 305; we do not let an upstream choose our proxy.
    UseProxy305,
    /// The target failed repeatedly and is left alone for a while (UPS-10).
    BackOff {
        /// Consecutive failures so far.
        count: u32,
        /// The delay in force, in milliseconds.
        delay_ms: u64,
        /// Seconds until the next attempt goes through, rounded up, at least 1.
        retry_after: u64,
    },
    /// The egress rules forbid this host, or all of its addresses.
    EgressDenied {
        /// The host that was refused.
        host: Box<str>,
    },
    /// The URI cannot be requested: not `http` or `https`, no host, or characters that no URI may hold.
    InvalidUri,
    /// A header that must not be sent.
    InvalidHeader {
        /// The name of the header, safe to print.
        name: Box<str>,
    },
    /// The proxy refused to open a tunnel, or answered nonsense.
    ProxyFailed,
    /// The upstream does not speak HTTP properly.
    Protocol,
    /// Too many exchanges already wait for a connection to this host.
    QueueFull {
        /// How many may wait.
        limit: usize,
    },
    /// Too many large bodies already wait to be decompressed.
    Busy(Busy),
}

/// A failed exchange.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TransportError {
    /// What happened.
    pub kind: ErrorKind,
    /// The URI that was being requested when it happened (after redirects), fit for showing:
    /// without user-info, with credentials in the query replaced.
    pub uri: Box<str>,
    /// `scheme://host:port` of that URI; empty if the URI is invalid.
    pub origin: Box<str>,
    /// What the layer below said, where that helps an operator.
    pub detail: Option<Box<str>>,
    /// How many attempts were made, the failed one included; 0 if nothing was sent.
    pub attempts: u32,
}

impl TransportError {
    /// Whether the same exchange might succeed if sent again at once: the failure was a timeout or in
    /// the network, not in what was asked or answered.
    pub fn is_retryable(&self) -> bool {
        is_network(&self.kind)
    }
}

/// What operators are told of a failure when they ask for numbers.
pub(super) fn outcome(kind: &ErrorKind) -> Outcome {
    match kind {
        ErrorKind::Timeout { .. } | ErrorKind::Deadline => Outcome::Timeout,
        ErrorKind::BackOff { .. } => Outcome::BackOff,
        ErrorKind::QueueFull { .. } => Outcome::QueueFull,
        _ => Outcome::Failed,
    }
}

pub(super) fn is_network(kind: &ErrorKind) -> bool {
    matches!(
        kind,
        ErrorKind::Connect { .. }
            | ErrorKind::Timeout { .. }
            | ErrorKind::Truncated
            | ErrorKind::LengthMismatch
    )
}

impl fmt::Display for TransportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.kind.fmt(f)?;
        match &self.detail {
            Some(detail) if !self.kind.has_fixed_message() => write!(f, ": {detail}"),
            _ => Ok(()),
        }
    }
}

impl error::Error for TransportError {}

impl ErrorKind {
    /// Whether UPS-25 fixes the whole message, so that nothing may be appended.
    fn has_fixed_message(&self) -> bool {
        matches!(
            self,
            Self::Timeout { .. }
                | Self::QueueTimeout { .. }
                | Self::ResponseTooLarge { .. }
                | Self::NoRoom
                | Self::RedirectLimit
                | Self::RedirectWithoutLocation
                | Self::ContentCoding { .. }
                | Self::CorruptedStream
                | Self::BackOff { .. }
                | Self::UseProxy305
                | Self::InvalidHeader { .. }
        )
    }
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Connect { code } => write!(f, "connection failed ({code})"),
            Self::Timeout { .. } | Self::QueueTimeout { .. } => f.write_str("Request timed out"),
            Self::Deadline => f.write_str("the deadline passed before the upstream answered"),
            Self::Tls => f.write_str("no secure connection to the upstream"),
            Self::Truncated => f.write_str("the response ended before its body was complete"),
            Self::LengthMismatch => f.write_str("the response body is not as long as declared"),
            Self::ResponseTooLarge { .. } => f.write_str("Response length exceeds limit"),
            Self::DecodedTooLarge { limit } => {
                write!(f, "decoded response length exceeds limit of {limit} bytes")
            }
            Self::NoRoom => f.write_str("no memory is left for the response"),
            Self::NoMemory { limit } => write!(
                f,
                "the answers of upstreams take all memory that they may (`maxUpstreamMemory` is {limit} bytes)"
            ),
            Self::ContentCoding { name } => {
                write!(f, "Content-Encoding '{name}' is not supported")
            }
            Self::CorruptedStream => f.write_str("Corrupted stream"),
            Self::RedirectLimit => f.write_str("Exceeded max redirects"),
            Self::RedirectLoop => f.write_str("redirects lead in a circle"),
            Self::RedirectWithoutLocation => f.write_str("Missing Location header in redirect"),
            Self::RedirectUnusable => {
                f.write_str("the redirect leads to no URI that can be requested")
            }
            Self::RedirectDowngrade => f.write_str("redirect from `https` to `http` refused"),
            Self::RedirectAbroad { host } => write!(
                f,
                "redirect to `{host}` refused: it is not the host of the table; list it in `egress.allow` if the upstream may lead there"
            ),
            Self::UseProxy305 => f.write_str("Received status code 305 from downstream server"),
            Self::BackOff { .. } => f.write_str("Back-off in progress"),
            Self::EgressDenied { host } => write!(f, "requests to `{host}` are not allowed"),
            Self::InvalidUri => f.write_str("the URI cannot be requested"),
            Self::InvalidHeader { name } => write!(f, "Invalid header value for {name}"),
            Self::ProxyFailed => f.write_str("the proxy did not open a tunnel"),
            Self::Protocol => f.write_str("the upstream does not answer in valid HTTP"),
            Self::QueueFull { limit } => {
                write!(f, "more than {limit} requests already wait for this host")
            }
            Self::Busy(busy) => busy.fmt(f),
        }
    }
}

/// A failure before it is known which exchange it belongs to; the lower layers speak in these.
#[derive(Debug)]
pub(super) struct Fault {
    pub(super) kind: ErrorKind,
    pub(super) detail: Option<Box<str>>,
}

impl From<ErrorKind> for Fault {
    fn from(kind: ErrorKind) -> Self {
        Self { kind, detail: None }
    }
}

impl From<qlio_http1::Malformed> for Fault {
    fn from(malformed: qlio_http1::Malformed) -> Self {
        Self::new(ErrorKind::Protocol, malformed)
    }
}

impl Fault {
    pub(super) fn new(kind: ErrorKind, detail: impl fmt::Display) -> Self {
        Self { kind, detail: Some(detail.to_string().into()) }
    }

    /// A time-out that is none of the upstream's.
    pub(super) fn in_queue(self) -> Self {
        match self.kind {
            ErrorKind::Timeout { ms } => ErrorKind::QueueTimeout { ms }.into(),
            _ => self,
        }
    }

    pub(super) fn network(code: &'static str) -> Self {
        ErrorKind::Connect { code }.into()
    }

    /// An input/output error while connecting or sending.
    pub(super) fn from_io(cause: &io::Error) -> Self {
        if is_from_tls(cause) {
            return Self::new(ErrorKind::Tls, cause);
        }
        if let Some(of_ours) = our_shortage(cause) {
            return of_ours;
        }
        match system_code(cause.kind()) {
            Some(code) => Self::network(code),
            // Whatever it is, its words say more than this code.
            None => Self::new(ErrorKind::Connect { code: "EIO" }, cause),
        }
    }

    /// What hyper reports about an exchange over HTTP/2; `in_body` once the response head has arrived.
    pub(super) fn from_hyper(cause: &hyper::Error, in_body: bool) -> Self {
        let mut next: Option<&(dyn error::Error + 'static)> = error::Error::source(cause);
        while let Some(link) = next {
            if let Some(h2) = link.downcast_ref::<h2::Error>() {
                return Self::from_h2(h2, in_body);
            }
            if let Some(io) = link.downcast_ref::<io::Error>() {
                return Self::from_io(io);
            }
            next = link.source();
        }
        if cause.is_canceled() || cause.is_closed() {
            return if in_body { ErrorKind::Truncated } else { reset() }.into();
        }
        Self::new(ErrorKind::Protocol, cause)
    }

    fn from_h2(cause: &h2::Error, in_body: bool) -> Self {
        if let Some(io) = cause.get_io() {
            return Self::from_io(io);
        }
        match cause.reason() {
            // h2 raises this itself when the data contradicts `content-length`.
            Some(h2::Reason::PROTOCOL_ERROR) if in_body && !cause.is_remote() => {
                ErrorKind::LengthMismatch.into()
            }
            Some(h2::Reason::PROTOCOL_ERROR | h2::Reason::HTTP_1_1_REQUIRED) | None => {
                Self::new(ErrorKind::Protocol, cause)
            }
            Some(_) if in_body => Self::new(ErrorKind::Truncated, cause),
            Some(_) => Self::new(reset(), cause),
        }
    }

    pub(super) fn attach(self, uri: &str, origin: &str, attempts: u32) -> TransportError {
        TransportError {
            kind: self.kind,
            uri: shown_uri(uri).into(),
            origin: origin.into(),
            detail: self.detail,
            attempts,
        }
    }
}

fn reset() -> ErrorKind {
    ErrorKind::Connect { code: "ECONNRESET" }
}

/// Whether rustls caused the error; it hides its own errors inside `io::Error`.
fn is_from_tls(cause: &io::Error) -> bool {
    cause
        .get_ref()
        .is_some_and(|inner| inner.downcast_ref::<tokio_rustls::rustls::Error>().is_some())
}

/// What this process or its machine has too little of to connect to anybody.
fn our_shortage(cause: &io::Error) -> Option<Fault> {
    let (code, words) = match Errno::from_io_error(cause)? {
        Errno::MFILE => ("EMFILE", "this process has too many open files"),
        Errno::NFILE => ("ENFILE", "this machine has too many open files"),
        Errno::NOBUFS => ("ENOBUFS", "this machine has no buffers left"),
        Errno::NOMEM => ("ENOMEM", "this machine has no memory left"),
        Errno::ADDRNOTAVAIL => {
            ("EADDRNOTAVAIL", "this machine has no free port or no such address")
        }
        _ => return None,
    };
    Some(Fault::new(ErrorKind::Connect { code }, words))
}

/// The system's name for what stands in its way, as far as we know it.
fn system_code(kind: io::ErrorKind) -> Option<&'static str> {
    Some(match kind {
        io::ErrorKind::ConnectionRefused => "ECONNREFUSED",
        io::ErrorKind::ConnectionAborted => "ECONNABORTED",
        io::ErrorKind::BrokenPipe => "EPIPE",
        io::ErrorKind::TimedOut => "ETIMEDOUT",
        io::ErrorKind::HostUnreachable => "EHOSTUNREACH",
        io::ErrorKind::NetworkUnreachable => "ENETUNREACH",
        io::ErrorKind::AddrNotAvailable => "EADDRNOTAVAIL",
        io::ErrorKind::PermissionDenied => "EACCES",
        io::ErrorKind::ConnectionReset | io::ErrorKind::UnexpectedEof => "ECONNRESET",
        io::ErrorKind::OutOfMemory => "ENOMEM",
        io::ErrorKind::NetworkDown => "ENETDOWN",
        io::ErrorKind::AddrInUse => "EADDRINUSE",
        io::ErrorKind::NotConnected => "ENOTCONN",
        io::ErrorKind::InvalidInput => "EINVAL",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_system_says_is_named() {
        for (errno, message) in [
            (Errno::CONNREFUSED, "connection failed (ECONNREFUSED)"),
            (Errno::NETDOWN, "connection failed (ENETDOWN)"),
            (Errno::MFILE, "connection failed (EMFILE): this process has too many open files"),
            (Errno::NFILE, "connection failed (ENFILE): this machine has too many open files"),
            (Errno::NOBUFS, "connection failed (ENOBUFS): this machine has no buffers left"),
        ] {
            let fault = Fault::from_io(&io::Error::from(errno));
            assert_eq!(fault.attach("http://h/", "http://h:80", 1).to_string(), message);
        }
        let other = Fault::from_io(&io::Error::from(Errno::IO)).attach("http://h/", "", 1);
        let words = other.to_string();
        assert!(words.starts_with("connection failed (EIO): "), "{words}");
        assert!(words.contains("os error 5"), "{words}");
    }
}
