//! The head of a request, as bytes (RFC 9112, 3).

use std::iter;

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, header};

use super::response::has_token;

/// Room for a header line of the usual length, in bytes.
const LINE_BYTES_USUAL: usize = 48;

/// Room for the method, the version and what is ours, in bytes.
const FRAME_BYTES_USUAL: usize = 64;

/// A request to write. Method, target and headers are of types that hold no line break.
pub(in super::super) struct Request<'a> {
    pub(in super::super) method: &'a Method,
    /// Path and query, or the whole URI for a proxy.
    pub(in super::super) target: &'a str,
    /// [`Self::host`] is sent instead of `host`.
    pub(in super::super) headers: &'a HeaderMap,
    pub(in super::super) host: &'a HeaderValue,
    /// The login at the proxy that this goes to.
    pub(in super::super) proxy_authorization: Option<&'a HeaderValue>,
    pub(in super::super) body: &'a Bytes,
}

impl Request<'_> {
    /// The bytes before the body, and whether they ask for the end of the connection.
    pub(super) fn head(&self) -> (Vec<u8>, bool) {
        let lines = self.headers.len() * LINE_BYTES_USUAL;
        let mut head = Vec::with_capacity(self.target.len() + lines + FRAME_BYTES_USUAL);
        let mut closes = false;
        head.extend_from_slice(self.method.as_str().as_bytes());
        head.push(b' ');
        head.extend_from_slice(self.target.as_bytes());
        head.extend_from_slice(b" HTTP/1.1\r\n");
        put_line(&mut head, header::HOST.as_str(), self.host.as_bytes());
        for (name, value) in self.headers {
            match *name {
                header::HOST => continue,
                header::PROXY_AUTHORIZATION if self.proxy_authorization.is_some() => continue,
                header::CONNECTION => closes |= has_token(iter::once(value.as_bytes()), "close"),
                _ => {}
            }
            put_line(&mut head, name.as_str(), value.as_bytes());
        }
        if let Some(login) = self.proxy_authorization {
            put_line(&mut head, header::PROXY_AUTHORIZATION.as_str(), login.as_bytes());
        }
        if !self.body.is_empty() {
            let length = HeaderValue::from(self.body.len());
            put_line(&mut head, header::CONTENT_LENGTH.as_str(), length.as_bytes());
        }
        head.extend_from_slice(b"\r\n");
        (head, closes)
    }
}

fn put_line(head: &mut Vec<u8>, name: &str, value: &[u8]) {
    head.extend_from_slice(name.as_bytes());
    head.extend_from_slice(b": ");
    head.extend_from_slice(value);
    head.extend_from_slice(b"\r\n");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(lines: &[(&'static str, &'static str)]) -> HeaderMap {
        lines
            .iter()
            .map(|(name, value)| {
                (http::HeaderName::from_static(name), HeaderValue::from_static(value))
            })
            .collect()
    }

    #[test]
    fn a_head_has_our_host_the_length_and_the_login_of_the_proxy() {
        let headers =
            headers(&[("host", "elsewhere"), ("x-a", "1 2"), ("proxy-authorization", "not this")]);
        let request = Request {
            method: &Method::POST,
            target: "http://h/p?q",
            headers: &headers,
            host: &HeaderValue::from_static("h"),
            proxy_authorization: Some(&HeaderValue::from_static("Basic x")),
            body: &Bytes::from_static(b"12345"),
        };
        let (head, closes) = request.head();
        let head = String::from_utf8(head).expect("text");
        let (first, lines) = head.split_once("\r\n").expect("lines");
        assert_eq!(first, "POST http://h/p?q HTTP/1.1");
        let mut lines: Vec<&str> = lines.split("\r\n").collect();
        assert_eq!(lines.split_off(lines.len() - 2), ["", ""]);
        lines.sort_unstable();
        assert_eq!(
            lines,
            ["content-length: 5", "host: h", "proxy-authorization: Basic x", "x-a: 1 2"]
        );
        assert!(!closes);
    }

    #[test]
    fn a_request_may_ask_for_the_end_of_the_connection() {
        for (value, closes) in [("close", true), ("x, Close", true), ("keep-alive", false)] {
            let request = Request {
                method: &Method::GET,
                target: "/",
                headers: &headers(&[("connection", value)]),
                host: &HeaderValue::from_static("h"),
                proxy_authorization: None,
                body: &Bytes::new(),
            };
            assert_eq!(request.head().1, closes, "{value}");
        }
    }
}
