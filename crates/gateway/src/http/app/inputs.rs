//! What scripts see of a client's message.

use hyper::{HeaderMap, header};
use qlio_data::{Object, Value};

use crate::http::multipart;

/// Headers that concern the connection or us; scripts never see them (SRV-20).
const HIDDEN_HEADERS: [&str; 13] = [
    "connection",
    "host",
    "referer",
    "content-length",
    "accept",
    "accept-charset",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "te",
    "trailers",
    "transfer-encoding",
    "upgrade",
];

/// The headers by lower-case name. A repeated header is one list; bytes that are not UTF-8 are
/// replaced.
pub fn visible_headers(headers: &HeaderMap) -> Object {
    // Mostly empty, and then it costs nothing.
    let mut visible = Object::new();
    for name in headers.keys().filter(|name| !HIDDEN_HEADERS.contains(&name.as_str())) {
        let separator = if name == header::COOKIE { "; " } else { ", " };
        let mut values =
            headers.get_all(name).iter().map(|value| String::from_utf8_lossy(value.as_bytes()));
        let mut text = values.next().unwrap_or_default();
        for value in values {
            let text = text.to_mut();
            text.push_str(separator);
            text.push_str(&value);
        }
        visible.insert(name.as_str(), Value::from(&*text));
    }
    visible
}

/// An attachment as the engine takes it.
pub(super) fn engine_part(part: multipart::Part) -> qlio_engine::Part {
    qlio_engine::Part {
        name: part.name,
        file_name: part.file_name,
        content_type: part.content_type,
        data: part.data,
    }
}

#[cfg(test)]
mod tests {
    use hyper::header::HeaderValue;
    use qlio_data::codec::json;

    use super::*;

    #[test]
    fn hidden_headers_are_left_out_and_repeated_ones_joined() {
        let mut headers = HeaderMap::new();
        for name in HIDDEN_HEADERS {
            headers.insert(name, HeaderValue::from_static("x"));
        }
        for (name, value) in [("x-shelf", "top"), ("accept-encoding", "gzip"), ("x-shelf", "two")] {
            headers.append(name, HeaderValue::from_static(value));
        }
        headers.append("cookie", HeaderValue::from_static("a=1"));
        headers.append("cookie", HeaderValue::from_static("b=2"));
        headers.insert("x-latin", HeaderValue::from_bytes(b"caf\xe9").expect("opaque bytes"));
        let visible = Value::object(visible_headers(&headers));
        let expected = r#"{"x-shelf":"top, two","accept-encoding":"gzip","cookie":"a=1; b=2","x-latin":"caf�"}"#;
        assert_eq!(visible, json::parse_str(expected).expect("valid JSON"));
    }
}
