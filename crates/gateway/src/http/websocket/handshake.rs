//! From a request to a WebSocket connection, or to the reason why not (RFC 6455, section 4.2).
//!
//! In: a request head and the [`Gate`], since a connection runs scripts. Out: the answer, 101 or an
//! error.

use bytes::Bytes;
use hyper::{
    HeaderMap, StatusCode, Version,
    header::{self, HeaderName, HeaderValue},
    http::request::Parts,
};
use qlio_data::Value;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;

use crate::http::{
    failure::Failure,
    gate::Gate,
    respond::{self, Rendition, Response, text_object},
};

/// What is spoken on a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Protocol {
    /// The console protocol.
    Console,
    /// The Language Server Protocol, a message in each frame.
    Language,
}

impl Protocol {
    const ALL: [Self; 2] = [Self::Console, Self::Language];

    /// The name of the subprotocol.
    fn name(self) -> &'static str {
        match self {
            Self::Console => "ql.io-console",
            Self::Language => "qlio-lsp",
        }
    }

    /// What a request offers that we speak; of both, the first of ours.
    pub(crate) fn offered(headers: &HeaderMap) -> Option<Self> {
        let is_offered =
            |protocol: &Self| lists(headers, &header::SEC_WEBSOCKET_PROTOCOL, protocol.name());
        Self::ALL.into_iter().find(is_offered)
    }
}

/// The only version of WebSocket that is spoken.
const VERSION: &str = "13";
/// Length of a key: 16 bytes in base 64.
const KEY_BYTES: usize = 24;

/// Whether a request wants to leave HTTP for WebSocket.
pub(crate) fn is_asked(head: &Parts) -> bool {
    head.method == hyper::Method::GET
        && head.version == Version::HTTP_11
        && lists(&head.headers, &header::UPGRADE, "websocket")
}

/// The answer to a handshake; the language server is not everywhere.
pub(crate) fn answer(head: &Parts, gate: &Gate, speaks_language: bool) -> Response {
    let headers = &head.headers;
    if headers.get(header::SEC_WEBSOCKET_VERSION).is_none_or(|version| version != VERSION) {
        let mut response = refuse(426, "only version 13 of WebSocket is supported");
        let version = HeaderValue::from_static(VERSION);
        response.headers_mut().insert(header::SEC_WEBSOCKET_VERSION, version);
        return response;
    }
    let key = headers.get(header::SEC_WEBSOCKET_KEY).map(HeaderValue::as_bytes);
    let Some(key) = key.filter(|key| key.len() == KEY_BYTES) else {
        return refuse(400, "the handshake has no valid `sec-websocket-key`");
    };
    let Some(protocol) = Protocol::offered(headers) else {
        return refuse(
            400,
            "the handshake must offer the subprotocol `ql.io-console` or `qlio-lsp`",
        );
    };
    if let Err(failure) = gate.admit(headers) {
        return respond::failure(&failure, Rendition::default());
    }
    if protocol == Protocol::Language && !speaks_language {
        let message = "there is no language server here: it needs the settings `console`, and `all` for `metadata`";
        return refuse(403, message);
    }
    let mut response = respond::plain(StatusCode::SWITCHING_PROTOCOLS, "text/plain", Bytes::new());
    let answer = response.headers_mut();
    answer.remove(header::CONTENT_TYPE);
    answer.insert(header::CONNECTION, HeaderValue::from_static("Upgrade"));
    answer.insert(header::UPGRADE, HeaderValue::from_static("websocket"));
    answer.insert(header::SEC_WEBSOCKET_PROTOCOL, HeaderValue::from_static(protocol.name()));
    let accept = respond::header_value(&derive_accept_key(key));
    answer.insert(header::SEC_WEBSOCKET_ACCEPT, accept);
    response
}

/// A handshake that is refused.
pub(crate) fn refuse(status: u16, message: &str) -> Response {
    let body: Value = text_object([("message", message)]);
    respond::failure(&Failure::Script { status, body, retry_after: None }, Rendition::default())
}

/// Whether a header with a list of words has this one; case does not matter.
fn lists(headers: &HeaderMap, name: &HeaderName, word: &str) -> bool {
    headers
        .get_all(name)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .any(|item| item.trim().eq_ignore_ascii_case(word))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::gate::TrustSettings;

    fn head(headers: &[(&str, &str)]) -> Parts {
        let mut request = hyper::Request::get("/any").header("host", "localhost:3000");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        request.body(()).expect("a request").into_parts().0
    }

    const GOOD: [(&str, &str); 5] = [
        ("upgrade", "WebSocket"),
        ("connection", "Upgrade"),
        ("sec-websocket-version", "13"),
        ("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ=="),
        ("sec-websocket-protocol", "other, ql.io-console"),
    ];

    fn status(headers: &[(&str, &str)], origins: &[&str]) -> u16 {
        let origins = origins.iter().map(|origin| (*origin).to_owned()).collect();
        let gate = Gate::new(&TrustSettings { origins, ..TrustSettings::default() }, false);
        answer(&head(headers), &gate, false).status().as_u16()
    }

    #[test]
    fn a_good_handshake_is_accepted_with_the_key_of_the_rfc() {
        assert!(is_asked(&head(&GOOD)));
        let response = answer(&head(&GOOD), &Gate::default(), false);
        assert_eq!(response.status(), 101);
        assert_eq!(response.headers()["sec-websocket-accept"], "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
        assert_eq!(response.headers()["sec-websocket-protocol"], "ql.io-console");
    }

    #[test]
    fn what_is_missing_or_wrong_is_refused() {
        let without = |name: &str| -> Vec<(&str, &str)> {
            GOOD.into_iter().filter(|(other, _)| *other != name).collect()
        };
        assert!(!is_asked(&head(&without("upgrade"))));
        assert_eq!(status(&without("sec-websocket-version"), &[]), 426);
        assert_eq!(status(&without("sec-websocket-key"), &[]), 400);
        assert_eq!(status(&without("sec-websocket-protocol"), &[]), 400);
        let mut other = without("sec-websocket-protocol");
        other.push(("sec-websocket-protocol", "ql.io-console-2"));
        assert_eq!(status(&other, &[]), 400);
        other[4].1 = "qlio-lsp";
        assert_eq!(status(&other, &[]), 403, "it is not everywhere");
        let response = answer(&head(&other), &Gate::default(), true);
        assert_eq!(response.headers()["sec-websocket-protocol"], "qlio-lsp");
    }

    #[test]
    fn who_may_not_run_scripts_is_refused() {
        let from = |origin: &'static str, origins: &[&str]| {
            let mut headers = GOOD.to_vec();
            headers.push(("origin", origin));
            status(&headers, origins)
        };
        assert_eq!(from("http://localhost:3000", &[]), 101);
        assert_eq!(from("https://evil.test", &[]), 403);
        assert_eq!(from("https://a.test", &["https://b.test", "https://a.test"]), 101);
    }
}
