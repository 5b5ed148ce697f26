//! The head of a request, as bytes (RFC 9112, 3).

use std::iter;

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, header};
use qlio_http1::{
    fields::{LINE_BYTES_USUAL, put_field},
    framing::has_token,
};

use crate::{
    trace::{CallTrace, TRACEPARENT, TRACESTATE},
    transport::exchange::OwnHeader,
};

/// Room for the method, the version and what is ours, in bytes.
const FRAME_BYTES_USUAL: usize = 64;

/// Room for the lines of a trace, in bytes.
const TRACE_BYTES_USUAL: usize = 72;

/// A request to write. Method, target and headers are of types that hold no line break.
pub(in super::super) struct Request<'a> {
    pub(in super::super) method: &'a Method,
    /// Path and query, or the whole URI for a proxy.
    pub(in super::super) target: &'a str,
    /// [`Self::host`] is sent instead of `host`.
    pub(in super::super) headers: &'a HeaderMap,
    /// The lines of [`Self::headers`], if they were written before.
    pub(in super::super) lines: Option<&'a Lines>,
    /// A line that only this request has.
    pub(in super::super) own_header: Option<&'a OwnHeader>,
    /// Its place in a trace.
    pub(in super::super) trace: Option<&'a CallTrace>,
    pub(in super::super) host: &'a HeaderValue,
    /// The login at the proxy that this goes to.
    pub(in super::super) proxy_authorization: Option<&'a HeaderValue>,
    pub(in super::super) body: &'a Bytes,
}

impl Request<'_> {
    /// The bytes before the body, and whether they ask for the end of the connection.
    pub(super) fn head(&self) -> (Vec<u8>, bool) {
        // What others send too does not have the login of this request.
        let written = self.lines.filter(|_| self.proxy_authorization.is_none());
        let lines = written.map_or(self.headers.len() * LINE_BYTES_USUAL, |lines| lines.text.len());
        let own = self.own_header.map_or(0, |_| LINE_BYTES_USUAL)
            + self.trace.map_or(0, |_| TRACE_BYTES_USUAL);
        let mut head = Vec::with_capacity(self.target.len() + lines + own + FRAME_BYTES_USUAL);
        head.extend_from_slice(self.method.as_str().as_bytes());
        head.push(b' ');
        head.extend_from_slice(self.target.as_bytes());
        head.extend_from_slice(b" HTTP/1.1\r\n");
        put_field(&mut head, header::HOST.as_str(), self.host.as_bytes());
        let closes = if let Some(lines) = written {
            head.extend_from_slice(&lines.text);
            lines.closes
        } else {
            put_lines(&mut head, self.headers, self.proxy_authorization.is_some())
        };
        if let Some(own) = self.own_header {
            own.put(&mut head);
        }
        if let Some(trace) = self.trace {
            put_field(&mut head, TRACEPARENT.as_str(), &trace.parent());
            if let Some(state) = trace.state() {
                put_field(&mut head, TRACESTATE.as_str(), state.as_bytes());
            }
        }
        if let Some(login) = self.proxy_authorization {
            put_field(&mut head, header::PROXY_AUTHORIZATION.as_str(), login.as_bytes());
        }
        if !self.body.is_empty() {
            let length = HeaderValue::from(self.body.len());
            put_field(&mut head, header::CONTENT_LENGTH.as_str(), length.as_bytes());
        }
        head.extend_from_slice(b"\r\n");
        (head, closes)
    }
}

/// Headers as lines, but for `host`, and whether they ask for the end of the connection.
#[derive(Debug)]
pub(in super::super) struct Lines {
    text: Box<[u8]>,
    closes: bool,
}

impl Lines {
    pub(in super::super) fn of(headers: &HeaderMap) -> Self {
        let mut text = Vec::with_capacity(headers.len() * LINE_BYTES_USUAL);
        let closes = put_lines(&mut text, headers, false);
        Self { text: text.into(), closes }
    }

    #[cfg(test)]
    pub(in super::super) fn text(&self) -> &[u8] {
        &self.text
    }
}

/// Tells whether the headers ask for the end of the connection.
fn put_lines(head: &mut Vec<u8>, headers: &HeaderMap, has_login: bool) -> bool {
    let mut closes = false;
    for (name, value) in headers {
        match *name {
            header::HOST => continue,
            header::PROXY_AUTHORIZATION if has_login => continue,
            header::CONNECTION => closes |= has_token(iter::once(value.as_bytes()), "close"),
            _ => {}
        }
        put_field(head, name.as_str(), value.as_bytes());
    }
    closes
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use qlio_data::Text;

    use super::*;
    use crate::trace::TraceContext;

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
        let own = OwnHeader::new(http::HeaderName::from_static("x-own"), Text::from("r."));
        let own = own.map(|own| own.numbered(3));
        let state = Some(HeaderValue::from_static("a=1"));
        let context = TraceContext { trace_id: 10, span_id: 11, is_sampled: false, state };
        let trace = CallTrace::new(&Arc::new(context));
        let request = Request {
            method: &Method::POST,
            target: "http://h/p?q",
            headers: &headers,
            // Those of somebody without a login.
            lines: Some(&Lines::of(&headers)),
            own_header: own.as_ref(),
            trace: Some(&trace),
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
            [
                "content-length: 5",
                "host: h",
                "proxy-authorization: Basic x",
                "traceparent: 00-0000000000000000000000000000000a-000000000000000b-00",
                "tracestate: a=1",
                "x-a: 1 2",
                "x-own: r.3"
            ]
        );
        assert!(!closes);
    }

    #[test]
    fn a_request_may_ask_for_the_end_of_the_connection() {
        for (value, closes) in [("close", true), ("x, Close", true), ("keep-alive", false)] {
            let headers = headers(&[("connection", value), ("host", "elsewhere"), ("x-a", "1 2")]);
            let mut request = Request {
                method: &Method::GET,
                target: "/",
                headers: &headers,
                lines: None,
                own_header: None,
                trace: None,
                host: &HeaderValue::from_static("h"),
                proxy_authorization: None,
                body: &Bytes::new(),
            };
            let alone = request.head();
            assert_eq!(alone.1, closes, "{value}");
            let lines = Lines::of(&headers);
            request.lines = Some(&lines);
            assert_eq!(request.head(), alone, "{value}");
        }
    }
}
