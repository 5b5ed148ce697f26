//! The monitor page: what a server does, for people, without anything from elsewhere (OBS-10).

use hyper::{
    StatusCode,
    header::{self, HeaderValue},
};

use super::answers::with_type;
use crate::http::respond::Response;

/// What the page may load and do: its own script, style and numbers, nothing else.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

pub(super) fn page() -> Response {
    let text = include_str!("page/monitor.html");
    let mut response = with_type(StatusCode::OK, "text/html; charset=utf-8", text);
    let policy = HeaderValue::from_static(POLICY);
    response.headers_mut().insert(header::CONTENT_SECURITY_POLICY, policy);
    response
}

pub(super) fn style() -> Response {
    with_type(StatusCode::OK, "text/css; charset=utf-8", include_str!("page/monitor.css"))
}

pub(super) fn script() -> Response {
    with_type(StatusCode::OK, "text/javascript; charset=utf-8", include_str!("page/monitor.js"))
}
