//! gRPC calls (UPS-31 to UPS-35): a request of the connector made into a call, and the outcome of
//! a call made into an answer like any other.
//!
//! In: a complete exchange whose body is one message; a reply whose body is a row of framed messages
//! and whose headers hold the status. Out: the exchange as gRPC wants it; a reply with the HTTP status
//! that the call's status stands for and, if it failed, `{code, message, details}` as its body. It
//! promises to decompress under a limit and to trust no length. Decoding messages is left to the codec,
//! cutting streams and repeating calls to the transport.

use std::{fmt, sync::LazyLock};

use base64::{
    Engine, alphabet,
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig, general_purpose::STANDARD},
};
use bytes::{BufMut, Bytes, BytesMut};
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use qlio_data::{
    Value,
    codec::{
        DecodeError, DecodeLimits, json,
        protobuf::{self, Message, ProtobufOptions, Schema},
    },
    percent,
    projection::Projection,
};
use qlio_plan::catalog::ProtobufFormat;
use qlio_syntax::diagnostic::codes;
use tokio::time::Instant;

use super::{Call, decoding::Decoding};
use crate::{
    error::{Fact, RunError},
    heavy::Wanted,
    transport::{
        self, AT_ONCE_BYTES_MAX, Exchange, GRPC_HEAD_BYTES, GRPC_STATUS, Reply, as_text, shown_uri,
    },
};

/// Messages of one answer.
const MESSAGES_MAX: usize = 100_000;

/// The largest number that a `grpc-timeout` can have.
const TIMEOUT_MS_MAX: u128 = 99_999_999;

const MEDIA_TYPE: &str = "application/grpc+proto";
const ENCODING: HeaderName = HeaderName::from_static("grpc-encoding");
const ACCEPT_ENCODING: HeaderName = HeaderName::from_static("grpc-accept-encoding");
const TIMEOUT: HeaderName = HeaderName::from_static("grpc-timeout");
const MESSAGE: HeaderName = HeaderName::from_static("grpc-message");
const DETAILS: HeaderName = HeaderName::from_static("grpc-status-details-bin");

/// Binary metadata come with or without padding.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// How errors come in detail, for schemas that do not have the message themselves.
const STATUS_SCHEMA: &str = r#"
syntax = "proto3";
package google.rpc;
import "google/protobuf/any.proto";
message Status { int32 code = 1; string message = 2; repeated google.protobuf.Any details = 3; }
"#;
const STATUS_MESSAGE: &str = "google.rpc.Status";

static STATUS: LazyLock<Option<Message>> = LazyLock::new(|| {
    let schema = Schema::from_proto("status.proto", STATUS_SCHEMA, &mut |_| None).ok()?;
    schema.message(STATUS_MESSAGE)
});

/// Outcomes of calls, by their numbers.
mod code {
    pub(super) const OK: u32 = 0;
    pub(super) const UNKNOWN: u32 = 2;
    pub(super) const PERMISSION_DENIED: u32 = 7;
    pub(super) const UNIMPLEMENTED: u32 = 12;
    pub(super) const INTERNAL: u32 = 13;
    pub(super) const UNAVAILABLE: u32 = 14;
    pub(super) const UNAUTHENTICATED: u32 = 16;
}

impl Call<'_> {
    /// Makes a call of an exchange whose body is the message to send.
    pub(super) fn make_call(&self, exchange: &mut Exchange) {
        exchange.method = Method::POST;
        if let Some(rest) = exchange.uri.strip_prefix("grpcs://") {
            exchange.uri = format!("https://{rest}");
        } else if let Some(rest) = exchange.uri.strip_prefix("grpc://") {
            exchange.uri = format!("http://{rest}");
        }
        exchange.body = framed(std::slice::from_ref(&exchange.body));
        let left = self.deadline.at.saturating_duration_since(Instant::now());
        let milliseconds = exchange.timeout.min(left).as_millis().min(TIMEOUT_MS_MAX);
        let headers = exchange.headers_mut();
        // What these say is said by gRPC in other words.
        for name in [header::ACCEPT, header::ACCEPT_ENCODING, header::CONNECTION] {
            headers.remove(name);
        }
        encode_binary(headers);
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(MEDIA_TYPE));
        headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity,gzip"));
        if let Ok(timeout) = HeaderValue::from_str(&format!("{milliseconds}m")) {
            headers.insert(TIMEOUT, timeout);
        }
        exchange.grpc = Some(transport::Grpc { messages_max: self.messages_max() });
    }

    /// How many messages of a stream can count. A resultset looks elsewhere than at the messages.
    fn messages_max(&self) -> Option<u64> {
        let is_cut =
            self.verb.grpc.is_some_and(|grpc| grpc.is_streaming) && self.verb.resultset.is_empty();
        let offset = if self.verb.takes_offset { 0 } else { self.offset.unwrap_or_default() };
        self.limit.filter(|_| is_cut).map(|limit| limit.saturating_add(offset))
    }

    /// Whether the upstream did not take the credentials, in the words of HTTP or of gRPC.
    pub(super) fn is_unauthenticated(&self, reply: &Reply) -> bool {
        match self.verb.grpc {
            Some(_) => outcome(reply).0 == code::UNAUTHENTICATED,
            None => reply.status == StatusCode::UNAUTHORIZED,
        }
    }

    /// Makes an answer like any other of the reply to a call.
    pub(super) async fn settle_call(&self, mut reply: Reply) -> Result<Reply, RunError> {
        reply.uri = call_uri(&reply.uri);
        let (code, message) = outcome(&reply);
        if code != code::OK {
            let schema = self.verb.format.as_ref().and_then(|format| format.protobuf.as_ref());
            let details = details(reply.headers.map(), schema.map(|schema| &schema.message));
            fail(&mut reply, code, message, details);
            return Ok(reply);
        }
        let limit = self.run.engine.settings().decoded_bytes_max;
        let at_once = limit.min(AT_ONCE_BYTES_MAX);
        let decompressed = match decompressed(&reply.body, reply.headers.map(), at_once, &|| true) {
            // There may only be more than can be done at once.
            Err(_) => {
                let (body, headers) = (reply.body.clone(), reply.headers.clone());
                let work = move |wanted: &Wanted| {
                    decompressed(&body, headers.map(), limit, &|| wanted.is_wanted())
                };
                self.run.heavy(work).await?
            }
            decompressed => decompressed,
        };
        reply.body = decompressed.map_err(|fault| {
            RunError::upstream(codes::BAD_PROTOBUF, fault.to_string())
                .with(Fact::Uri(shown_uri(&reply.uri)))
        })?;
        set_media_type(&mut reply, MEDIA_TYPE);
        Ok(reply)
    }
}

impl Decoding<'_> {
    /// The value of an answer that was settled: a message, or the list of them.
    pub(super) fn call_value(
        &self,
        body: &Bytes,
        format: &ProtobufFormat,
        projection: &Projection,
    ) -> Result<Value, CallFault> {
        let is_streaming = self.verb.grpc.is_some_and(|grpc| grpc.is_streaming);
        // A list keeps what is asked of its elements.
        let kept = if is_streaming { projection.element() } else { projection };
        let limits = self.limits();
        let mut messages = Vec::new();
        for frame in Frames::new(body) {
            let message = frame?.message;
            let value = protobuf::decode(message, kept, &format.message, &format.options, &limits);
            messages.push(value.map_err(CallFault::Message)?);
        }
        if is_streaming {
            return Ok(Value::array(messages));
        }
        match (messages.pop(), messages.is_empty()) {
            (Some(message), true) => Ok(message),
            (None, _) => Err(CallFault::NoMessage),
            (Some(_), false) => Err(CallFault::SeveralMessages),
        }
    }
}

/// Makes the answer of a call that has failed.
fn fail(reply: &mut Reply, code: u32, message: String, details: Value) {
    let body =
        [("code", Value::from(code)), ("message", Value::from(message)), ("details", details)];
    let body = Value::object(body.into_iter().collect());
    reply.body = json::to_string(&body).into();
    reply.status = http_status(code);
    set_media_type(reply, "application/json");
}

fn set_media_type(reply: &mut Reply, media_type: &'static str) {
    let value = HeaderValue::from_static(media_type);
    reply.headers.edit(|headers| drop(headers.insert(header::CONTENT_TYPE, value)));
}

/// The URI of a call as its table has it, from the one that was requested.
pub(super) fn call_uri(uri: &str) -> String {
    match uri.strip_prefix("http") {
        Some(rest) => format!("grpc{rest}"),
        None => uri.to_owned(),
    }
}

/// The status of a call and what was said about it. Servers and proxies that do not speak gRPC say it
/// with a status of HTTP.
fn outcome(reply: &Reply) -> (u32, String) {
    if let Some(status) = reply.headers.get(GRPC_STATUS) {
        let code = as_text(status).and_then(|text| text.trim().parse().ok());
        let message = reply.headers.get(MESSAGE).map(percent::decode_lossy);
        return (code.unwrap_or(code::UNKNOWN), message.unwrap_or_default());
    }
    let status = reply.status.as_u16();
    let code = match status {
        400 => code::INTERNAL,
        401 => code::UNAUTHENTICATED,
        403 => code::PERMISSION_DENIED,
        404 => code::UNIMPLEMENTED,
        429 | 502..=504 => code::UNAVAILABLE,
        _ => code::UNKNOWN,
    };
    (code, format!("no gRPC answer, but HTTP status {status}"))
}

/// The status of HTTP that stands for the status of a call (UPS-33).
fn http_status(code: u32) -> StatusCode {
    let status = match code {
        0 => 200,
        1 => 499,
        3 | 9 | 11 => 400,
        4 => 504,
        5 => 404,
        6 | 10 => 409,
        7 => 403,
        8 => 429,
        12 => 501,
        14 => 503,
        16 => 401,
        _ => 500,
    };
    StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
}

/// The details of an error: a list of messages that name their own types. What cannot be read is not
/// worth hiding the error for.
fn details(headers: &HeaderMap, schema: Option<&Message>) -> Value {
    let read = || {
        let bytes = BASE64.decode(headers.get(DETAILS)?.as_bytes()).ok()?;
        let own = schema.and_then(|message| message.sibling(STATUS_MESSAGE));
        let message = own.or_else(|| STATUS.clone())?;
        let (options, limits) = (ProtobufOptions::default(), DecodeLimits::default());
        let status =
            protobuf::decode(bytes.into(), &Projection::All, &message, &options, &limits).ok()?;
        let details = status.member("details");
        details.is_array().then_some(details)
    };
    read().unwrap_or_else(|| Value::array(Vec::new()))
}

/// Values of metadata whose names say that they are binary travel as base64.
fn encode_binary(headers: &mut HeaderMap) {
    for (name, value) in headers.iter_mut() {
        if name.as_str().ends_with("-bin")
            && let Ok(encoded) = HeaderValue::from_str(&STANDARD.encode(value.as_bytes()))
        {
            *value = encoded;
        }
    }
}

/// Messages behind their flags and lengths, not compressed.
fn framed(messages: &[Bytes]) -> Bytes {
    let length = messages.iter().map(|message| GRPC_HEAD_BYTES + message.len()).sum();
    let mut out = BytesMut::with_capacity(length);
    for message in messages {
        out.put_u8(0);
        // Bodies are bounded far below 32 bits.
        out.put_u32(u32::try_from(message.len()).unwrap_or(u32::MAX));
        out.extend_from_slice(message);
    }
    out.freeze()
}

/// The same messages without compression.
fn decompressed(
    body: &Bytes,
    headers: &HeaderMap,
    limit: usize,
    is_wanted: &dyn Fn() -> bool,
) -> Result<Bytes, CallFault> {
    let mut messages = Vec::new();
    let mut is_changed = false;
    let mut left = limit;
    for frame in Frames::new(body) {
        let Frame { is_compressed, mut message } = frame?;
        if is_compressed {
            let encoding = headers.get(ENCODING).map(HeaderValue::as_bytes);
            if encoding != Some(b"gzip") {
                return Err(CallFault::Compression);
            }
            message = transport::gunzip(message, left, is_wanted)
                .ok_or(CallFault::Gzip { bytes_max: limit })?;
            is_changed = true;
        }
        left = left.checked_sub(message.len()).ok_or(CallFault::TooLong { bytes_max: limit })?;
        messages.push(message);
    }
    Ok(if is_changed { framed(&messages) } else { body.clone() })
}

struct Frame {
    is_compressed: bool,
    message: Bytes,
}

/// The messages of a body.
struct Frames<'a> {
    body: &'a Bytes,
    at: usize,
    count: usize,
}

impl<'a> Frames<'a> {
    fn new(body: &'a Bytes) -> Self {
        Self { body, at: 0, count: 0 }
    }

    fn read(&mut self) -> Result<Frame, CallFault> {
        let rest = &self.body[self.at..];
        let (head, rest) = rest.split_first_chunk::<GRPC_HEAD_BYTES>().ok_or(CallFault::CutOff)?;
        let [flag, length @ ..] = *head;
        let length = u32::from_be_bytes(length) as usize;
        if flag > 1 {
            return Err(CallFault::Flag(flag));
        }
        if length > rest.len() {
            return Err(CallFault::CutOff);
        }
        self.count += 1;
        if self.count > MESSAGES_MAX {
            return Err(CallFault::TooManyMessages);
        }
        let start = self.at + GRPC_HEAD_BYTES;
        self.at = start + length;
        Ok(Frame { is_compressed: flag == 1, message: self.body.slice(start..self.at) })
    }
}

impl Iterator for Frames<'_> {
    type Item = Result<Frame, CallFault>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.at >= self.body.len() {
            return None;
        }
        let frame = self.read();
        if frame.is_err() {
            self.at = self.body.len();
        }
        Some(frame)
    }
}

/// Why the answer to a call cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum CallFault {
    /// It ends inside a message.
    CutOff,
    /// This stands before a message, where it says whether that is compressed.
    Flag(u8),
    TooManyMessages,
    /// A message is compressed in a way that was not asked for.
    Compression,
    /// A message is no gzip, or makes more than is taken.
    Gzip {
        bytes_max: usize,
    },
    /// Its messages are longer than is taken.
    TooLong {
        bytes_max: usize,
    },
    NoMessage,
    SeveralMessages,
    /// A message is not one of its schema.
    Message(DecodeError),
}

impl fmt::Display for CallFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Self::Message(error) = self {
            return f.write_str(&error.reason);
        }
        f.write_str("Malformed gRPC message: ")?;
        match self {
            Self::CutOff => f.write_str("the answer ends inside a message"),
            Self::Flag(flag) => write!(f, "flag {flag} before a message"),
            Self::TooManyMessages => write!(f, "more than {MESSAGES_MAX} messages"),
            Self::Compression => f.write_str("compressed in a way that was not asked for"),
            Self::Gzip { bytes_max } => write!(f, "broken gzip, or more than {bytes_max} bytes"),
            Self::TooLong { bytes_max } => write!(f, "more than {bytes_max} bytes"),
            Self::NoMessage => f.write_str("no message in the answer to a unary call"),
            Self::SeveralMessages => f.write_str("several messages in the answer to a unary call"),
            Self::Message(_) => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn every_status_has_its_counterpart() {
        let mapped: Vec<u16> = (0..=17).map(|code| http_status(code).as_u16()).collect();
        let expected = [
            200, 499, 500, 400, 504, 404, 409, 403, 429, 400, 409, 400, 501, 500, 503, 500, 401,
            500,
        ];
        assert_eq!(mapped, expected);
    }

    #[test]
    fn messages_of_errors_are_percent_decoded() {
        for (text, expected) in [
            ("low tide", "low tide"),
            ("low%20tide", "low tide"),
            ("%c3%a5", "å"),
            ("5%", "5%"),
            ("%zz", "%zz"),
        ] {
            assert_eq!(percent::decode_lossy(text.as_bytes()), expected);
        }
    }

    #[test]
    fn binary_metadata_are_base64() {
        let mut headers = HeaderMap::new();
        headers.insert("trace-bin", HeaderValue::from_static("low tide"));
        headers.insert("trace", HeaderValue::from_static("low tide"));
        encode_binary(&mut headers);
        assert_eq!(headers["trace-bin"], "bG93IHRpZGU=");
        assert_eq!(headers["trace"], "low tide");
    }

    proptest! {
        #[test]
        fn framed_messages_are_read_again(contents in proptest::collection::vec(any::<Vec<u8>>(), 0..5)) {
            let messages: Vec<Bytes> = contents.into_iter().map(Bytes::from).collect();
            let body = framed(&messages);
            let read: Result<Vec<Bytes>, CallFault> =
                Frames::new(&body).map(|frame| frame.map(|frame| frame.message)).collect();
            prop_assert_eq!(read, Ok(messages));
        }

        #[test]
        fn any_bytes_are_read_or_refused(body in any::<Vec<u8>>()) {
            let body = Bytes::from(body);
            let count = Frames::new(&body).count();
            prop_assert!(count <= body.len());
        }
    }
}
