//! Answers: the only place where results and failures become statuses, headers and bytes.
//!
//! In: a value, a page or a [`Failure`], and the [`Rendition`] that the client asked for. Out: a
//! complete response. Promises: every error body is a JSON object, whatever the client accepts
//! (SRV-30); no text from outside can break out of a header; nothing here can fail.
//! Statuses follow SRV-31.

use bytes::Bytes;
use http_body_util::Full;
use hyper::{
    StatusCode,
    header::{self, HeaderMap, HeaderName, HeaderValue},
};
use qlio_data::{Object, Value, codec::json, percent};
use qlio_engine::{
    HOPS_EXCEEDED, HOPS_NAME,
    heavy::{Busy, Heavy},
};

use super::{
    compress::{self, COMPRESS_BYTES_MIN},
    failure::Failure,
    jsonp::{Callback, OwnedCallback},
    negotiate::Coding,
};

/// A complete response.
pub type Response = hyper::Response<Full<Bytes>>;

/// The value of `server`. It tells no version, which would tell attackers what to try.
pub const PRODUCT: &str = "qlio";

/// Answers up to this size are written on the worker, in bytes: about a millisecond of its time.
pub(in crate::http) const WRITTEN_AT_ONCE_BYTES_MAX: usize = 128 * 1024;

/// Answers up to this size are compressed on the worker, in bytes: about a millisecond of its time.
const COMPRESSED_AT_ONCE_BYTES_MAX: usize = 128 * 1024;

/// Room for the text of most answers, so that it need not move as it grows.
const ANSWER_BYTES_USUAL: usize = 1024;

/// The longest header value that a script can set, in bytes; longer ones are omitted.
pub const HEADER_VALUE_BYTES_MAX: usize = 8192;

/// Headers that belong to the message itself; scripts cannot set them (SRV-28).
const RESERVED_HEADERS: [HeaderName; 10] = [
    header::CONNECTION,
    header::CONTENT_ENCODING,
    header::CONTENT_LENGTH,
    header::CONTENT_TYPE,
    header::DATE,
    header::SERVER,
    header::TE,
    header::TRAILER,
    header::TRANSFER_ENCODING,
    header::UPGRADE,
];

/// Something for the log that came up while a request was answered; travels as an extension of the
/// response, and the server reports it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note(pub String);

/// The form in which a client wants its answer.
#[derive(Debug, Clone, Copy, Default)]
pub struct Rendition<'q> {
    /// Wrap the JSON in a call of this name.
    pub callback: Option<Callback<'q>>,
    /// Compress with this coding if it is worth it.
    pub coding: Option<Coding>,
}

impl Rendition<'_> {
    /// How much text takes this form on the worker.
    fn at_once_bytes_max(&self) -> usize {
        match (self.coding, self.callback) {
            (Some(_), _) => COMPRESSED_AT_ONCE_BYTES_MAX,
            (None, Some(_)) => WRITTEN_AT_ONCE_BYTES_MAX,
            (None, None) => usize::MAX,
        }
    }
}

/// A result: the value as JSON; an absent value is `null`. Statuses whose answers have no content get
/// none (RET-12).
///
/// Of `headers`, reserved and invalid names are left out, invalid values are encoded.
pub fn value(
    status: StatusCode,
    value: &Value,
    headers: &[(String, String)],
    rendition: Rendition<'_>,
) -> Response {
    if is_without_content(status) {
        return without_content(status, headers);
    }
    json_answer(status, value, headers, rendition)
}

/// The same; a large value is written and compressed by a heavy thread, and dropped there.
///
/// # Errors
/// Too many wait for a heavy thread.
pub async fn result(
    status: StatusCode,
    value: Value,
    headers: &[(String, String)],
    rendition: Rendition<'_>,
    heavy: &Heavy,
) -> Result<Response, Busy> {
    if is_without_content(status) {
        return Ok(without_content(status, headers));
    }
    let content = match text_within(&value, WRITTEN_AT_ONCE_BYTES_MAX) {
        Some(text) if text.len() <= rendition.at_once_bytes_max() => Content::of(text, rendition),
        text => {
            let Rendition { callback, coding } = rendition;
            let callback = callback.map(Callback::into_owned);
            let content = heavy.run(move |_| {
                let text = text.unwrap_or_else(|| text_of(&value));
                let callback = callback.as_ref().map(OwnedCallback::borrow);
                Content::of(text, Rendition { callback, coding })
            });
            Box::pin(content).await?.value
        }
    };
    Ok(rendered(status, content, headers, rendition))
}

fn is_without_content(status: StatusCode) -> bool {
    matches!(status, StatusCode::NO_CONTENT | StatusCode::RESET_CONTENT | StatusCode::NOT_MODIFIED)
}

fn without_content(status: StatusCode, headers: &[(String, String)]) -> Response {
    let mut response = Response::new(Full::default());
    *response.status_mut() = status;
    add_product(response.headers_mut());
    add_headers(&mut response, headers);
    response
}

/// What a page may do. Pages have no scripts in them; should text ever become one, it stays without effect.
const PAGE_POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; base-uri 'none'; \
                           frame-ancestors 'none'";

/// The same with a script that is a file of this server and asks this server.
const FOLLOWING_PAGE_POLICY: &str = "default-src 'none'; script-src 'self'; connect-src 'self'; \
                                     style-src 'unsafe-inline'; form-action 'self'; base-uri 'none'; \
                                     frame-ancestors 'none'";

/// A page; whether it has a script with which it follows reloads of the app.
pub fn page(html: String, follows: bool) -> Response {
    let mut response = plain(StatusCode::OK, "text/html; charset=utf-8", html.into());
    let policy = if follows { FOLLOWING_PAGE_POLICY } else { PAGE_POLICY };
    let policy = HeaderValue::from_static(policy);
    response.headers_mut().insert(header::CONTENT_SECURITY_POLICY, policy);
    no_sniff(&mut response);
    response
}

/// A script of pages.
pub fn script(text: &'static str) -> Response {
    let text = Bytes::from_static(text.as_bytes());
    let mut response = plain(StatusCode::OK, "text/javascript; charset=utf-8", text);
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    no_sniff(&mut response);
    response
}

/// The answer to `OPTIONS`: the methods in `Allow` and as the body (SRV-17).
pub fn options(allow: &str) -> Response {
    let mut response =
        plain(StatusCode::OK, "text/plain", Bytes::copy_from_slice(allow.as_bytes()));
    response.headers_mut().insert(header::ALLOW, header_value(allow));
    response
}

/// A redirect.
pub fn redirect(location: &str) -> Response {
    let mut response = plain(StatusCode::FOUND, "text/plain", Bytes::new());
    response.headers_mut().insert(header::LOCATION, header_value(location));
    response
}

/// Any other complete body, such as an asset, a health text or an event page.
pub fn plain(status: StatusCode, content_type: &'static str, body: Bytes) -> Response {
    let mut response = Response::new(Full::new(body));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    add_product(headers);
    response
}

/// Every answer says by whom it was made.
fn add_product(headers: &mut HeaderMap) {
    headers.insert(header::SERVER, HeaderValue::from_static(PRODUCT));
}

/// Adds the headers of a script; names that it must not set are left out.
fn add_headers(response: &mut Response, headers: &[(String, String)]) {
    for (name, value) in headers {
        if let Some(name) = header_name(name) {
            add_header(response, name, value.clone());
        }
    }
}

/// A failure.
pub fn failure(failure: &Failure, rendition: Rendition<'_>) -> Response {
    failure_with(failure, &[], rendition)
}

/// A failure, with headers such as an execution trace.
pub fn failure_with(
    failure: &Failure,
    headers: &[(String, String)],
    rendition: Rendition<'_>,
) -> Response {
    let status = failure.status();
    let mut response = json_answer(status, &failure.body(), headers, rendition);
    let headers = response.headers_mut();
    if let Some(seconds) = failure.retry_after() {
        headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
    }
    if let Some(allow) = failure.allow() {
        headers.insert(header::ALLOW, header_value(allow));
    }
    if status == StatusCode::LOOP_DETECTED && failure.is_too_many_hops() {
        // All servers of the chain tell the same.
        headers.insert(HOPS_NAME, HeaderValue::from_static(HOPS_EXCEEDED));
    }
    if failure.closes_connection() {
        headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    response
}

/// The name of a header that scripts and settings may set; `None` if it cannot be one or belongs to the
/// message itself.
pub(super) fn header_name(text: &str) -> Option<HeaderName> {
    let name = HeaderName::from_bytes(text.trim().as_bytes()).ok();
    name.filter(|name| !RESERVED_HEADERS.contains(name))
}

/// Adds a header; a value that is too long is left out.
pub(super) fn add_header(response: &mut Response, name: HeaderName, value: String) {
    if value.len() <= HEADER_VALUE_BYTES_MAX {
        // A text that can be sent as it is is not copied. All bytes, and not up to the first other one: so
        // they are judged many at a time.
        let is_plain =
            value.bytes().fold(true, |is_plain, byte| is_plain & byte.is_ascii_graphic());
        let value = if is_plain {
            HeaderValue::try_from(value).unwrap_or_else(|_| HeaderValue::from_static(""))
        } else {
            header_value(&value)
        };
        response.headers_mut().append(name, value);
    }
}

/// Adds the link of an execution trace, which is a valid header value.
pub(super) fn add_trace(response: &mut Response, link: &str) {
    response.headers_mut().append(header::LINK, header_value(link));
}

/// Text as a header value: whatever is not printable ASCII is percent-encoded, so no text can end
/// the header.
pub fn header_value(text: &str) -> HeaderValue {
    let text = text.trim();
    // Of ASCII it takes what is printable, and nothing else.
    if text.is_ascii()
        && let Ok(value) = HeaderValue::from_str(text)
    {
        return value;
    }
    let mut encoded = String::with_capacity(text.len());
    percent::encode_except(text, |byte| matches!(byte, b' '..=b'~' | b'\t'), &mut encoded);
    // Printable ASCII is always valid; the fallback is for the type only.
    HeaderValue::from_str(&encoded).unwrap_or_else(|_| HeaderValue::from_static(""))
}

/// JSON that is text already; a large one is compressed by a heavy thread.
///
/// # Errors
/// Too many wait for a heavy thread.
pub(super) async fn json_text(
    text: Bytes,
    rendition: Rendition<'_>,
    heavy: &Heavy,
) -> Result<Response, Busy> {
    let rendition = Rendition { callback: None, ..rendition };
    let coding = rendition.coding;
    let content = if text.len() <= rendition.at_once_bytes_max() {
        Content::of(text, rendition)
    } else {
        let compressing =
            heavy.run(move |_| Content::of(text, Rendition { callback: None, coding }));
        Box::pin(compressing).await?.value
    };
    Ok(rendered(StatusCode::OK, content, &[], rendition))
}

fn json_answer(
    status: StatusCode,
    value: &Value,
    headers: &[(String, String)],
    rendition: Rendition<'_>,
) -> Response {
    let content = Content::of(text_of(value), rendition);
    rendered(status, content, headers, rendition)
}

/// A value as JSON.
fn text_of(value: &Value) -> Bytes {
    text_within(value, usize::MAX).unwrap_or_default()
}

/// A value as JSON, unless writing it takes more than so many bytes.
fn text_within(value: &Value, bytes_max: usize) -> Option<Bytes> {
    match value {
        Value::Absent => Some(Bytes::from_static(b"null")),
        // An answer that nobody looked into goes out as it came.
        Value::Raw(text) => Some(text.clone().into_bytes()),
        value => {
            let mut body = Vec::with_capacity(ANSWER_BYTES_USUAL);
            json::encode_within(value, &mut body, bytes_max).ok()?;
            Some(body.into())
        }
    }
}

/// What an answer carries.
struct Content {
    bytes: Bytes,
    /// How they are compressed.
    coding: Option<Coding>,
}

impl Content {
    /// JSON in the form that the client wants.
    fn of(text: Bytes, Rendition { callback, coding }: Rendition<'_>) -> Self {
        let bytes = match callback {
            Some(callback) => callback.wrap(&text).into(),
            None => text,
        };
        let coded = coding
            .filter(|_| bytes.len() >= COMPRESS_BYTES_MIN)
            .and_then(|coding| Some((coding, compress::compress(&bytes, coding).ok()?)));
        match coded {
            Some((coding, bytes)) => Self { bytes, coding: Some(coding) },
            None => Self { bytes, coding: None },
        }
    }
}

fn rendered(
    status: StatusCode,
    content: Content,
    headers: &[(String, String)],
    rendition: Rendition<'_>,
) -> Response {
    let content_type =
        if rendition.callback.is_some() { "application/javascript" } else { "application/json" };
    let Content { bytes, coding } = content;
    let mut response = plain(status, content_type, bytes);
    if rendition.callback.is_some() {
        no_sniff(&mut response);
    }
    let answer = response.headers_mut();
    answer.insert(header::VARY, HeaderValue::from_static("accept-encoding"));
    if let Some(coding) = coding {
        answer.insert(header::CONTENT_ENCODING, HeaderValue::from_static(coding.name()));
    }
    add_headers(&mut response, headers);
    response
}

fn no_sniff(response: &mut Response) {
    response
        .headers_mut()
        .insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
}

/// An object of texts.
pub(super) fn text_object<const N: usize>(members: [(&str, &str); N]) -> Value {
    let members: Object =
        members.into_iter().map(|(name, text)| (name, Value::from(text))).collect();
    Value::object(members)
}

#[cfg(test)]
mod tests {
    use http_body_util::BodyExt;
    use proptest::prelude::*;

    use super::*;
    use crate::http::compress::decompress;

    fn body(response: Response) -> Bytes {
        let collect = response.into_body().collect();
        let mut collect = std::pin::pin!(collect);
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        match collect.as_mut().poll(&mut context) {
            std::task::Poll::Ready(Ok(body)) => body.to_bytes(),
            other => panic!("a full body is ready at once: {other:?}"),
        }
    }

    fn header<'r>(response: &'r Response, name: &str) -> Option<&'r str> {
        response.headers().get(name).and_then(|value| value.to_str().ok())
    }

    #[test]
    fn falsy_results_have_bodies() {
        for (result, expected) in [
            (Value::from(""), "\"\""),
            (Value::int(0), "0"),
            (Value::Bool(false), "false"),
            (Value::Null, "null"),
            (Value::Absent, "null"),
        ] {
            let response = value(StatusCode::OK, &result, &[], Rendition::default());
            assert_eq!(response.status(), 200);
            assert_eq!(header(&response, "content-type"), Some("application/json"));
            assert_eq!(header(&response, "server"), Some(PRODUCT));
            assert_eq!(header(&response, "x-powered-by"), None);
            assert_eq!(body(response), expected);
        }
    }

    #[test]
    fn script_headers_cannot_break_the_message() {
        let headers = [
            ("Cache-Control", "max-age=60"),
            ("X-Sel", "caf\u{e9}\r\nX-Injected: 1"),
            ("Content-Type", "text/html"),
            ("content-length", "0"),
            ("Transfer-Encoding", "chunked"),
            ("bad name", "x"),
            ("", "x"),
            ("X-Twice", "1"),
            ("X-Twice", "2"),
        ];
        let mut headers: Vec<_> =
            headers.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
        headers.push(("X-Long".to_owned(), "y".repeat(HEADER_VALUE_BYTES_MAX + 1)));
        headers.push(("X-Longest".to_owned(), "y".repeat(HEADER_VALUE_BYTES_MAX)));
        let response = value(StatusCode::OK, &Value::int(1), &headers, Rendition::default());
        assert_eq!(header(&response, "cache-control"), Some("max-age=60"));
        assert_eq!(header(&response, "x-sel"), Some("caf%C3%A9%0D%0AX-Injected: 1"));
        assert_eq!(header(&response, "content-type"), Some("application/json"));
        assert_eq!(header(&response, "content-length"), None);
        assert_eq!(header(&response, "transfer-encoding"), None);
        assert_eq!(header(&response, "x-long"), None);
        assert!(header(&response, "x-longest").is_some());
        assert_eq!(response.headers().get_all("x-twice").iter().count(), 2);
    }

    #[test]
    fn a_callback_wraps_results_and_errors_alike() {
        let rendition = Rendition { callback: Callback::parse("cb").ok(), coding: None };
        let response = value(StatusCode::OK, &Value::array(vec![Value::int(1)]), &[], rendition);
        assert_eq!(header(&response, "content-type"), Some("application/javascript"));
        assert_eq!(header(&response, "x-content-type-options"), Some("nosniff"));
        assert_eq!(body(response), "cb([1])");
        let response = failure(&Failure::MissingQuery, rendition);
        assert_eq!(response.status(), 400);
        assert_eq!(body(response), r#"cb({"message":"Missing query"})"#);
    }

    #[test]
    fn large_answers_are_compressed_on_request_and_small_ones_are_not() {
        let rendition = Rendition { callback: None, coding: Some(Coding::Gzip) };
        let at_the_limit = Value::from("x".repeat(COMPRESS_BYTES_MIN - 2));
        let response = value(StatusCode::OK, &at_the_limit, &[], rendition);
        assert_eq!(header(&response, "content-encoding"), Some("gzip"));
        assert_eq!(header(&response, "vary"), Some("accept-encoding"));
        let plain =
            decompress(body(response), Some("gzip"), 10_000, |_| true).expect("our own coding");
        assert_eq!(plain.len(), COMPRESS_BYTES_MIN);
        let below = Value::from("x".repeat(COMPRESS_BYTES_MIN - 3));
        let response = value(StatusCode::OK, &below, &[], rendition);
        assert_eq!(header(&response, "content-encoding"), None);
        assert_eq!(header(&response, "vary"), Some("accept-encoding"));
    }

    #[test]
    fn options_answers_allow_as_header_and_body() {
        let response = options("POST,DELETE");
        assert_eq!(header(&response, "allow"), Some("POST,DELETE"));
        assert_eq!(body(response), "POST,DELETE");
        assert_eq!(header(&options(""), "allow"), Some(""));
    }

    #[test]
    fn failures_carry_their_headers() {
        let busy = failure(&Failure::Overloaded { reason: "busy" }, Rendition::default());
        assert_eq!((busy.status().as_u16(), header(&busy, "retry-after")), (503, Some("1")));
        let wrong = Failure::MethodNotAllowed {
            method: "POST".to_owned(),
            target: "/dock".to_owned(),
            allow: "GET".to_owned(),
        };
        let wrong = failure(&wrong, Rendition::default());
        assert_eq!((wrong.status().as_u16(), header(&wrong, "allow")), (405, Some("GET")));
    }

    proptest! {
        #[test]
        fn any_text_is_a_header_value(text in ".{0,50}") {
            let value = header_value(&text);
            prop_assert!(value.to_str().is_ok());
        }
    }
}
