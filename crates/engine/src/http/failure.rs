//! Failures of exchanges as errors of statements (`connectors.md` 4.9, `decisions.md` 8).

use qlio_data::{Object, Text, Value};
use qlio_syntax::diagnostic::{Code, codes};

use crate::{
    error::{Origin, RunError},
    transport::{ErrorKind, TransportError, shown_uri},
};

/// Raw text of an answer is repeated in an error up to this length.
const BODY_BYTES_SHOWN_MAX: usize = 64 << 10;

/// The exchange did not give an answer.
pub(super) fn transport_failed(error: &TransportError) -> RunError {
    let message = error.to_string();
    let (code, origin, status) = classify(&error.kind);
    let mut failed = RunError::new(code, origin, status, message);
    if !error.uri.is_empty() {
        failed = failed.with("uri", &*error.uri);
    }
    match &error.kind {
        ErrorKind::Connect { code } => failed.with("cause", *code),
        ErrorKind::Timeout { ms } => failed.with("timeout", int(*ms)),
        ErrorKind::BackOff { count, delay_ms, retry_after } => {
            failed.retry_after_seconds = Some(*retry_after);
            failed.with("count", int(u64::from(*count))).with("delay", int(*delay_ms))
        }
        ErrorKind::ResponseTooLarge { limit } | ErrorKind::DecodedTooLarge { limit } => {
            failed.with("limit", int(*limit as u64))
        }
        ErrorKind::QueueFull { limit } => {
            failed.retry_after_seconds = Some(1);
            failed.with("limit", int(*limit as u64))
        }
        _ => failed,
    }
}

fn classify(kind: &ErrorKind) -> (Code, Origin, u16) {
    use Origin::{Client, Gateway, Upstream};
    match kind {
        ErrorKind::Connect { code: "ENOTFOUND" | "EAI_AGAIN" } => {
            (codes::NAME_RESOLUTION, Upstream, 502)
        }
        ErrorKind::Connect { code: "ECONNRESET" | "EPIPE" } => {
            (codes::CONNECTION_LOST, Upstream, 502)
        }
        ErrorKind::Connect { .. } | ErrorKind::ProxyFailed => {
            (codes::CONNECT_FAILED, Upstream, 502)
        }
        ErrorKind::Timeout { .. } => (codes::UPSTREAM_TIMEOUT, Upstream, 504),
        ErrorKind::Deadline => (codes::DEADLINE, Upstream, 504),
        ErrorKind::Tls => (codes::TLS_FAILED, Upstream, 502),
        ErrorKind::Truncated | ErrorKind::LengthMismatch => {
            (codes::TRUNCATED_RESPONSE, Upstream, 502)
        }
        ErrorKind::ResponseTooLarge { .. } | ErrorKind::DecodedTooLarge { .. } => {
            (codes::UPSTREAM_TOO_LARGE, Upstream, 502)
        }
        ErrorKind::ContentCoding { .. } | ErrorKind::CorruptedStream => {
            (codes::CONTENT_CODING, Upstream, 502)
        }
        ErrorKind::RedirectLimit | ErrorKind::RedirectLoop => {
            (codes::TOO_MANY_REDIRECTS, Upstream, 502)
        }
        ErrorKind::RedirectWithoutLocation
        | ErrorKind::RedirectUnusable
        | ErrorKind::RedirectDowngrade
        | ErrorKind::UseProxy305 => (codes::BAD_REDIRECT, Upstream, 502),
        ErrorKind::BackOff { .. } => (codes::BACK_OFF, Upstream, 503),
        ErrorKind::QueueFull { .. } => (codes::OVERLOAD, Gateway, 503),
        ErrorKind::EgressDenied { .. } => (codes::EGRESS_DENIED, Client, 400),
        ErrorKind::InvalidUri => (codes::BAD_URI, Client, 400),
        ErrorKind::InvalidHeader { .. } => (codes::BAD_HEADER, Client, 400),
        _ => (codes::BAD_RESPONSE, Upstream, 502),
    }
}

/// What is known of an answer that is treated as a failure.
pub(super) struct FailedAnswer<'a> {
    pub(super) table: &'a Text,
    /// The URI as it answered; it may hold credentials and is shown without them.
    pub(super) uri: &'a str,
    pub(super) status: u16,
}

impl FailedAnswer<'_> {
    /// The upstream answered with a failure status; `body` is the decoded answer, or its text.
    pub(super) fn status_error(&self, body: Value) -> RunError {
        let message =
            format!("the upstream of table {} answered with status {}", self.table, self.status);
        let headers: Object =
            [("content-type", Value::from("application/json"))].into_iter().collect();
        self.describe(RunError::upstream(codes::UPSTREAM_STATUS, message))
            .with("headers", headers)
            .with("body", if body.is_absent() { Value::Null } else { body })
    }

    /// The answer could not be decoded; its text is repeated as far as it is short.
    pub(super) fn decode_error(&self, code: Code, message: String, text: Option<&str>) -> RunError {
        let failed = self.describe(RunError::upstream(code, message));
        match text {
            None => failed,
            Some(text) if text.len() <= BODY_BYTES_SHOWN_MAX => failed.with("body", text),
            Some(text) => {
                let end = text.floor_char_boundary(BODY_BYTES_SHOWN_MAX);
                failed.with("body", &text[..end]).with("bodyTruncated", true)
            }
        }
    }

    fn describe(&self, failed: RunError) -> RunError {
        let status = int(u64::from(self.status));
        let uri = Value::from(shown_uri(self.uri));
        let upstream: Object = [
            ("status", status.clone()),
            ("table", Value::from(self.table.clone())),
            ("uri", uri.clone()),
        ]
        .into_iter()
        .collect();
        failed.with("uri", uri).with("upstreamStatus", status).with("upstream", upstream)
    }
}

fn int(value: u64) -> Value {
    Value::int(i64::try_from(value).unwrap_or(i64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_exchange_dies_of_has_a_code_and_a_status() {
        let kinds = [
            (ErrorKind::Tls, codes::TLS_FAILED, 502),
            (ErrorKind::Deadline, codes::DEADLINE, 504),
            (ErrorKind::QueueFull { limit: 1 }, codes::OVERLOAD, 503),
        ];
        for (kind, code, status) in kinds {
            let (found, _, answered) = classify(&kind);
            assert_eq!((found, answered), (code, status));
        }
    }
}
