//! The way to the real upstream, for the proxy and the recorder: a request in, an answer out, as
//! little changed as HTTP allows.
//!
//! Built on the engine's transport, so that TLS, pooling and limits are those of the gateway. Redirects
//! are handed through, failures are no reason to back off, and bodies arrive without content coding.

use std::{fmt, time::Duration};

use bytes::Bytes;
use hyper::{
    HeaderMap, Method, Response, StatusCode,
    header::{self, HeaderName, HeaderValue},
};
use qlio_data::{Object, Value};
use qlio_engine::transport::{
    ACCEPT_ENCODING, Exchange, SettingsError, Transport, TransportError, TransportSettings,
};

use super::{behaviour::json_answer, body::MockBody};

/// The largest body of an upstream, in bytes, as sent and decoded.
const BODY_BYTES_MAX: usize = 64 * 1024 * 1024;
/// How long an upstream may be silent.
const SILENCE_MAX: Duration = Duration::from_mins(1);

/// Headers that concern one connection only (RFC 9110, 7.6.1), or that framing replaces.
const HOP_BY_HOP: [HeaderName; 9] = [
    header::CONNECTION,
    header::CONTENT_LENGTH,
    header::HOST,
    header::PROXY_AUTHENTICATE,
    header::PROXY_AUTHORIZATION,
    header::TE,
    header::TRAILER,
    header::TRANSFER_ENCODING,
    header::UPGRADE,
];

/// Calls upstreams.
#[derive(Debug)]
pub(super) struct Upstream {
    transport: Transport,
}

/// An upstream's answer.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
}

/// An upstream that can not be reached or does not answer properly; in words for the client.
#[derive(Debug, thiserror::Error)]
#[error("the upstream failed: {0}")]
pub(super) struct UpstreamError(TransportError);

impl Upstream {
    pub(super) fn new() -> Result<Self, SettingsError> {
        let settings = TransportSettings {
            body_bytes_max: BODY_BYTES_MAX,
            decoded_bytes_max: BODY_BYTES_MAX,
            ..TransportSettings::default()
        };
        Ok(Self { transport: Transport::new(settings)? })
    }

    /// Makes one exchange.
    ///
    /// # Errors
    /// There is no answer of the upstream.
    pub(super) async fn call(
        &self,
        method: Method,
        uri: String,
        headers: &HeaderMap,
        body: Bytes,
    ) -> Result<Answer, UpstreamError> {
        let mut exchange = Exchange::new(method, uri);
        exchange.headers = end_to_end(headers).into();
        if exchange.headers.contains_key(header::ACCEPT_ENCODING) {
            let ours = HeaderValue::from_static(ACCEPT_ENCODING);
            exchange.headers_mut().insert(header::ACCEPT_ENCODING, ours);
        }
        exchange.body = body;
        exchange.timeout = SILENCE_MAX;
        exchange.follows_redirects = false;
        (exchange.backoff_min, exchange.backoff_max) = (Duration::ZERO, Duration::ZERO);
        let is_head = exchange.method == Method::HEAD;
        let reply = self.transport.send(exchange).await.map_err(UpstreamError)?;
        let mut headers = end_to_end(reply.headers.map());
        if is_head && let Some(length) = reply.headers.map().get(header::CONTENT_LENGTH) {
            headers.insert(header::CONTENT_LENGTH, length.clone());
        }
        headers.remove(header::CONTENT_ENCODING);
        Ok(Answer { status: reply.status, headers, body: reply.body })
    }
}

impl Answer {
    pub(super) fn into_response(self) -> Response<MockBody> {
        let mut response = Response::new(MockBody::full(self.body));
        *response.status_mut() = self.status;
        *response.headers_mut() = self.headers;
        response
    }
}

/// The answer where there is none of the upstream.
pub(super) fn bad_gateway(reason: impl fmt::Display) -> Response<MockBody> {
    refuse(StatusCode::BAD_GATEWAY, reason)
}

/// A fault of the mock or of its client.
pub(super) fn refuse(status: StatusCode, reason: impl fmt::Display) -> Response<MockBody> {
    let body: Object = [("message", Value::from(reason.to_string()))].into_iter().collect();
    json_answer(status, &Value::object(body))
}

/// The headers that travel on.
fn end_to_end(headers: &HeaderMap) -> HeaderMap {
    let named: Vec<String> = headers
        .get_all(header::CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .map(|name| name.trim().to_ascii_lowercase())
        .collect();
    let mut kept = HeaderMap::with_capacity(headers.len());
    for (name, value) in headers {
        let is_kept = !HOP_BY_HOP.contains(name)
            && name.as_str() != "keep-alive"
            && name.as_str() != "proxy-connection"
            && !named.iter().any(|named| named == name.as_str());
        if is_kept {
            kept.append(name, value.clone());
        }
    }
    kept
}
