//! Failures of exchanges as errors of statements (UPS-20, SRV-31).

use qlio_data::{Text, Value};
use qlio_syntax::diagnostic::{Code, codes};

use crate::{
    error::{Fact, Origin, RunError},
    transport::{ErrorKind, TransportError, shown_uri},
};

/// Raw text of an answer is repeated in an error up to this length.
const BODY_BYTES_SHOWN_MAX: usize = 64 << 10;

/// The exchange did not give an answer.
pub(super) fn transport_failed(error: &TransportError) -> RunError {
    let (code, origin) = classify(&error.kind);
    let mut failed = RunError::new(code, origin, error.to_string());
    if !error.uri.is_empty() {
        failed = failed.with(Fact::Uri(error.uri.to_string()));
    }
    match &error.kind {
        ErrorKind::Connect { code } => failed.with(Fact::ConnectCause(code)),
        ErrorKind::Timeout { ms } | ErrorKind::QueueTimeout { ms } => {
            failed.with(Fact::TimeoutMs(*ms))
        }
        ErrorKind::BackOff { count, delay_ms, retry_after } => failed
            .with(Fact::RetryAfterSeconds(*retry_after))
            .with(Fact::BackOff { count: *count, delay_ms: *delay_ms }),
        ErrorKind::ResponseTooLarge { limit } | ErrorKind::DecodedTooLarge { limit } => {
            failed.with(Fact::Limit(*limit as u64))
        }
        ErrorKind::QueueFull { limit } | ErrorKind::NoMemory { limit } => {
            failed.with(Fact::RetryAfterSeconds(1)).with(Fact::Limit(*limit as u64))
        }
        ErrorKind::Busy(busy) => RunError::from(*busy),
        _ => failed,
    }
}

fn classify(kind: &ErrorKind) -> (Code, Origin) {
    use Origin::{Client, Gateway, Upstream};
    match kind {
        ErrorKind::Connect { code: "ENOTFOUND" | "EAI_AGAIN" } => {
            (codes::NAME_RESOLUTION, Upstream)
        }
        ErrorKind::Connect { code: "ECONNRESET" | "EPIPE" } => (codes::CONNECTION_LOST, Upstream),
        ErrorKind::Connect { .. } | ErrorKind::ProxyFailed => (codes::CONNECT_FAILED, Upstream),
        ErrorKind::Timeout { .. } | ErrorKind::QueueTimeout { .. } => {
            (codes::UPSTREAM_TIMEOUT, Upstream)
        }
        ErrorKind::Deadline => (codes::DEADLINE, Upstream),
        ErrorKind::Tls => (codes::TLS_FAILED, Upstream),
        ErrorKind::Truncated | ErrorKind::LengthMismatch => (codes::TRUNCATED_RESPONSE, Upstream),
        ErrorKind::ResponseTooLarge { .. } | ErrorKind::DecodedTooLarge { .. } => {
            (codes::UPSTREAM_TOO_LARGE, Upstream)
        }
        ErrorKind::NoRoom => (codes::RUN_LIMIT, Client),
        ErrorKind::ContentCoding { .. } | ErrorKind::CorruptedStream => {
            (codes::CONTENT_CODING, Upstream)
        }
        ErrorKind::RedirectLimit | ErrorKind::RedirectLoop => (codes::TOO_MANY_REDIRECTS, Upstream),
        ErrorKind::RedirectWithoutLocation
        | ErrorKind::RedirectUnusable
        | ErrorKind::RedirectDowngrade
        | ErrorKind::RedirectAbroad { .. }
        | ErrorKind::UseProxy305 => (codes::BAD_REDIRECT, Upstream),
        ErrorKind::BackOff { .. } => (codes::BACK_OFF, Upstream),
        ErrorKind::QueueFull { .. } => (codes::OVERLOAD, Gateway),
        ErrorKind::NoMemory { .. } => (codes::UPSTREAM_MEMORY, Gateway),
        ErrorKind::Busy(_) => (codes::BUSY, Gateway),
        ErrorKind::EgressDenied { .. } => (codes::EGRESS_DENIED, Client),
        ErrorKind::InvalidUri => (codes::BAD_URI, Client),
        ErrorKind::InvalidHeader { .. } => (codes::BAD_HEADER, Client),
        _ => (codes::BAD_RESPONSE, Upstream),
    }
}

/// An answer that is treated as a failure.
pub(super) struct FailedAnswer<'a> {
    pub(super) table: &'a Text,
    /// The URI as it answered; it may hold credentials and is shown without them.
    pub(super) uri: &'a str,
    /// The status as the upstream sent it.
    pub(super) status: u16,
    /// The status that `patch status` made of it, if it made another.
    pub(super) patched: Option<u16>,
    /// The statuses that the client gets as they are (TAB-22).
    pub(super) passed: &'a [u16],
}

impl FailedAnswer<'_> {
    /// The upstream answered with a failure status; `body` is the decoded answer, or its text.
    pub(super) fn status_error(&self, body: Value) -> RunError {
        let Self { table, status, .. } = self;
        let message = match self.patched {
            None => format!("the upstream of table {table} answered with status {status}"),
            Some(patched) => format!(
                "`patch status` of table {table} gave status {patched}; the upstream's own was {status}"
            ),
        };
        let mut failed = self.describe(RunError::upstream(codes::UPSTREAM_STATUS, message));
        if let Some(patched) = self.patched {
            failed = failed.with(Fact::Hook("patch status")).with(Fact::PatchedStatus(patched));
        }
        let judged = self.patched.unwrap_or(*status);
        if self.passed.contains(&judged) {
            failed = failed.with(Fact::PassedStatus(judged));
        }
        failed.with(Fact::Body(if body.is_absent() { Value::Null } else { body }))
    }

    /// The answer could not be decoded; its text is repeated as far as it is short.
    pub(super) fn decode_error(&self, code: Code, message: String, text: Option<&str>) -> RunError {
        let failed = self.describe(RunError::upstream(code, message));
        match text {
            None => failed,
            Some(text) if text.len() <= BODY_BYTES_SHOWN_MAX => {
                failed.with(Fact::Body(text.into()))
            }
            Some(text) => {
                let end = text.floor_char_boundary(BODY_BYTES_SHOWN_MAX);
                failed.with(Fact::Body(text[..end].into())).with(Fact::BodyTruncated)
            }
        }
    }

    fn describe(&self, failed: RunError) -> RunError {
        failed.with(Fact::Uri(shown_uri(self.uri))).with(Fact::UpstreamStatus(self.status))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_exchange_has_a_code_and_somebody_at_fault() {
        let kinds = [
            (ErrorKind::Tls, codes::TLS_FAILED, Origin::Upstream),
            (ErrorKind::Deadline, codes::DEADLINE, Origin::Upstream),
            (ErrorKind::QueueFull { limit: 1 }, codes::OVERLOAD, Origin::Gateway),
            (ErrorKind::InvalidUri, codes::BAD_URI, Origin::Client),
        ];
        for (kind, code, origin) in kinds {
            assert_eq!(classify(&kind), (code, origin));
        }
    }
}
