//! Whom the admin listener answers: who is on this machine or has the token, and no page of somebody else (OBS-2).

use base64::{Engine as _, engine::general_purpose::STANDARD};
use hyper::{
    HeaderMap, StatusCode,
    header::{self, HeaderValue},
};
use qlio_data::{Object, Value};
use sha2::{Digest as _, Sha256};

use crate::http::{
    failure::Failure,
    gate::{Gate, Visitor},
    respond::{self, Rendition, Response},
};

/// The shortest and the longest token.
const TOKEN_BYTES_MIN: usize = 16;
const TOKEN_BYTES_MAX: usize = 512;

/// Whether a text can be a token.
pub(crate) fn is_token(text: &str) -> bool {
    (TOKEN_BYTES_MIN..=TOKEN_BYTES_MAX).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_graphic())
}

/// Judges requests of operators.
pub(super) struct Guard {
    gate: Gate,
    /// The digest of the token, so that comparing takes as long whatever is sent.
    token: Option<[u8; 32]>,
}

impl Guard {
    pub(super) fn new(gate: Gate, token: Option<&str>) -> Self {
        Self { gate, token: token.map(|token| digest(token.as_bytes())) }
    }

    /// Lets a request in, or says why not. Pages reach no socket of the file system, so whoever comes by one may name
    /// any host.
    pub(super) fn admit(&self, headers: &HeaderMap, is_socket: bool) -> Result<(), Box<Response>> {
        let refuse = |failure| Box::new(respond::failure(&failure, Rendition::default()));
        if !is_socket && self.gate.admit(headers).map_err(refuse)? != Visitor::Own {
            return Err(refuse(Failure::ForeignPage));
        }
        let Some(token) = &self.token else { return Ok(()) };
        let shown = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
        let shown = shown.and_then(shown_token).unwrap_or_default();
        if is_same(&digest(&shown), token) { Ok(()) } else { Err(Box::new(unauthorized())) }
    }
}

/// The token of `Bearer token`, or the password of `Basic …`, whatever the user.
fn shown_token(authorization: &str) -> Option<Vec<u8>> {
    let (scheme, value) = authorization.split_once(' ')?;
    let value = value.trim();
    if scheme.eq_ignore_ascii_case("bearer") {
        return Some(value.as_bytes().to_vec());
    }
    if !scheme.eq_ignore_ascii_case("basic") {
        return None;
    }
    let decoded = STANDARD.decode(value).ok()?;
    let colon = decoded.iter().position(|byte| *byte == b':')?;
    Some(decoded[colon + 1..].to_vec())
}

fn digest(bytes: &[u8]) -> [u8; 32] {
    Sha256::digest(bytes).into()
}

/// Compares without stopping at the first difference.
fn is_same(a: &[u8; 32], b: &[u8; 32]) -> bool {
    let difference = a.iter().zip(b).fold(0, |difference, (a, b)| difference | (a ^ b));
    std::hint::black_box(difference) == 0
}

fn unauthorized() -> Response {
    let message =
        "show the token of the setting `admin.token`: `authorization: Bearer …`, or as password";
    let body = Value::object(Object::from_iter([("message", Value::from(message))]));
    let mut response = respond::value(StatusCode::UNAUTHORIZED, &body, &[], Rendition::default());
    let asks = HeaderValue::from_static("Basic realm=\"qlio admin\", charset=\"UTF-8\"");
    response.headers_mut().insert(header::WWW_AUTHENTICATE, asks);
    response
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::gate::TrustSettings;

    fn status(guard: &Guard, lines: &[(&'static str, &'static str)], is_socket: bool) -> u16 {
        let lines = lines.iter().map(|(name, value)| {
            (header::HeaderName::from_static(name), HeaderValue::from_static(value))
        });
        match guard.admit(&lines.collect(), is_socket) {
            Ok(()) => 200,
            Err(response) => response.status().as_u16(),
        }
    }

    #[test]
    fn the_admin_listener_wants_its_token_however_it_is_shown() {
        let guard = Guard::new(Gate::default(), Some("0123456789abcdef"));
        for (authorization, wanted) in [
            ("Bearer 0123456789abcdef", 200),
            ("bearer  0123456789abcdef", 200),
            ("Basic b3BzOjAxMjM0NTY3ODlhYmNkZWY=", 200),
            ("Basic b3BzOjAxMjM0NTY3ODlhYmNkZWc=", 401),
            ("Basic ?", 401),
            ("Bearer 0123456789abcdeF", 401),
            ("Bearer", 401),
            ("Digest 0123456789abcdef", 401),
        ] {
            assert_eq!(status(&guard, &[("authorization", authorization)], false), wanted);
        }
        assert_eq!(status(&guard, &[], true), 401);
    }

    #[test]
    fn the_admin_listener_answers_no_page_and_no_name_of_somebody_else() {
        let trust = TrustSettings {
            hosts: vec!["ops.test".to_owned()],
            origins: vec!["https://console.test".to_owned()],
            ..TrustSettings::default()
        };
        let guard = Guard::new(Gate::new(&trust, false), None);
        for (lines, wanted) in [
            (&[("host", "127.0.0.1:3001")][..], 200),
            (&[("host", "ops.test")], 200),
            (&[("host", "evil.test")], 403),
            (&[("host", "localhost:1"), ("origin", "http://localhost:1")], 200),
            (&[("host", "localhost:1"), ("origin", "http://evil.test")], 403),
            (&[("host", "localhost:1"), ("sec-fetch-site", "cross-site")], 403),
            // Listed for scripts, which is less than to rule the server.
            (&[("host", "localhost:1"), ("origin", "https://console.test")], 403),
        ] {
            assert_eq!(status(&guard, lines, false), wanted, "{lines:?}");
            assert_eq!(status(&guard, lines, true), 200, "{lines:?}");
        }
    }

    #[test]
    fn a_token_has_a_least_and_a_greatest_length_and_no_spaces() {
        assert!(is_token("0123456789abcdef") && is_token(&"x".repeat(TOKEN_BYTES_MAX)));
        assert!(!is_token("0123456789abcde") && !is_token(&"x".repeat(TOKEN_BYTES_MAX + 1)));
        assert!(!is_token("0123456789 abcdef") && !is_token("0123456789abcdefé"));
    }
}
