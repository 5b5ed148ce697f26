//! Spans as they go over the wire: those messages of OTLP that are needed.
//!
//! In: spans. Out: the body of a `POST /v1/traces`; in the other direction, what the collector says of it. The numbers
//! of the fields are the protocol's; a test compares with what OpenTelemetry's own package writes.

use prost::Message;

use super::recording::{Kind, Span, Value};

#[derive(Clone, PartialEq, Message)]
struct ExportRequest {
    #[prost(message, repeated, tag = "1")]
    resource_spans: Vec<ResourceSpans>,
}

#[derive(Clone, PartialEq, Message)]
struct ResourceSpans {
    #[prost(message, optional, tag = "1")]
    resource: Option<Resource>,
    #[prost(message, repeated, tag = "2")]
    scope_spans: Vec<ScopeSpans>,
}

#[derive(Clone, PartialEq, Message)]
struct Resource {
    #[prost(message, repeated, tag = "1")]
    attributes: Vec<KeyValue>,
}

#[derive(Clone, PartialEq, Message)]
struct ScopeSpans {
    #[prost(message, optional, tag = "1")]
    scope: Option<Scope>,
    #[prost(message, repeated, tag = "2")]
    spans: Vec<WireSpan>,
}

#[derive(Clone, PartialEq, Message)]
struct Scope {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(string, tag = "2")]
    version: String,
}

#[derive(Clone, PartialEq, Message)]
struct WireSpan {
    #[prost(bytes = "vec", tag = "1")]
    trace_id: Vec<u8>,
    #[prost(bytes = "vec", tag = "2")]
    span_id: Vec<u8>,
    #[prost(string, tag = "3")]
    trace_state: String,
    #[prost(bytes = "vec", tag = "4")]
    parent_span_id: Vec<u8>,
    #[prost(string, tag = "5")]
    name: String,
    #[prost(int32, tag = "6")]
    kind: i32,
    #[prost(fixed64, tag = "7")]
    start_time_unix_nano: u64,
    #[prost(fixed64, tag = "8")]
    end_time_unix_nano: u64,
    #[prost(message, repeated, tag = "9")]
    attributes: Vec<KeyValue>,
    #[prost(message, optional, tag = "15")]
    status: Option<Status>,
    #[prost(fixed32, tag = "16")]
    flags: u32,
}

#[derive(Clone, PartialEq, Message)]
struct Status {
    #[prost(string, tag = "2")]
    message: String,
    #[prost(int32, tag = "3")]
    code: i32,
}

#[derive(Clone, PartialEq, Message)]
struct KeyValue {
    #[prost(string, tag = "1")]
    key: String,
    #[prost(message, optional, tag = "2")]
    value: Option<AnyValue>,
}

#[derive(Clone, PartialEq, Message)]
struct AnyValue {
    #[prost(oneof = "OneValue", tags = "1, 3")]
    value: Option<OneValue>,
}

#[derive(Clone, PartialEq, prost::Oneof)]
enum OneValue {
    #[prost(string, tag = "1")]
    Text(String),
    #[prost(int64, tag = "3")]
    Number(i64),
}

/// The flags of W3C Trace Context, with which spans go.
const FLAG_SAMPLED: u32 = 1;

/// The code of a status that says: failed.
const STATUS_ERROR: i32 = 2;

/// All spans as the body of one request.
pub(super) fn encode(spans: Vec<Span>, resource: &[(String, String)], version: &str) -> Vec<u8> {
    let attributes = resource.iter();
    let attributes =
        attributes.map(|(name, value)| attribute(name, Value::Text(value.clone()))).collect();
    let scope = Scope { name: "qlio".to_owned(), version: version.to_owned() };
    let spans = spans.into_iter().map(wire_span).collect();
    let scope_spans = vec![ScopeSpans { scope: Some(scope), spans }];
    let resource = Some(Resource { attributes });
    let resource_spans = vec![ResourceSpans { resource, scope_spans }];
    ExportRequest { resource_spans }.encode_to_vec()
}

fn wire_span(span: Span) -> WireSpan {
    let id = |id: u64| id.to_be_bytes().to_vec();
    let attributes = span.attributes.into_iter().map(|(name, value)| attribute(name, value));
    WireSpan {
        trace_id: span.trace_id.to_be_bytes().to_vec(),
        span_id: id(span.id),
        trace_state: span.state,
        parent_span_id: span.parent_id.map(id).unwrap_or_default(),
        name: span.name,
        kind: match span.kind {
            Kind::Internal => 1,
            Kind::Server => 2,
            Kind::Client => 3,
        },
        start_time_unix_nano: span.began_ns,
        end_time_unix_nano: span.ended_ns,
        attributes: attributes.collect(),
        status: span.failure.map(|message| Status { message, code: STATUS_ERROR }),
        flags: FLAG_SAMPLED,
    }
}

fn attribute(key: &str, value: Value) -> KeyValue {
    let value = match value {
        Value::Text(text) => OneValue::Text(text),
        Value::Number(number) => OneValue::Number(number),
    };
    KeyValue { key: key.to_owned(), value: Some(AnyValue { value: Some(value) }) }
}

#[derive(Clone, PartialEq, Message)]
struct ExportResponse {
    #[prost(message, optional, tag = "1")]
    partial_success: Option<PartialSuccess>,
}

#[derive(Clone, PartialEq, Message)]
struct PartialSuccess {
    #[prost(int64, tag = "1")]
    rejected_spans: i64,
}

/// How many spans a collector has refused that has taken the others. Some answer with nothing, or in JSON: then all
/// are taken.
pub(super) fn refused(body: &[u8]) -> usize {
    let answer = ExportResponse::decode(body).unwrap_or_default();
    let count = answer.partial_success.map_or(0, |part| part.rejected_spans);
    usize::try_from(count).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use base64::{Engine as _, prelude::BASE64_STANDARD};

    use super::*;

    /// The same three spans as `opentelemetry-proto` for Python writes them (version 1.45.2, `ExportTraceServiceRequest`).
    const REQUEST: &str = "\
CocDChgKFgoMc2VydmljZS5uYW1lEgYKBHNob3AS6gIKCQoEcWxpbxIBNxKAAQoQCvdlGRbNQ92ESOshHIAxnBIIAAAAAAAAAAcaA2E9MSIIAAAA\
AAAAAAgqA0dFVDADOQoAAAAAAAAAQRQAAAAAAAAAShcKCHVybC5mdWxsEgsKCWh0dHA6Ly9hL0oRCgtzZXJ2ZXIucG9ydBICGFB6CBIEZ29uZRgC\
hQEBAAAAEmwKEAr3ZRkWzUPdhEjrIRyAMZwSCAAAAAAAAAAHGgNhPTEqA0dFVDACOQoAAAAAAAAAQRQAAAAAAAAAShcKCHVybC5mdWxsEgsKCWh0\
dHA6Ly9hL0oRCgtzZXJ2ZXIucG9ydBICGFCFAQEAAAASbAoQCvdlGRbNQ92ESOshHIAxnBIIAAAAAAAAAAcaA2E9MSoDR0VUMAE5CgAAAAAAAABB\
FAAAAAAAAABKFwoIdXJsLmZ1bGwSCwoJaHR0cDovL2EvShEKC3NlcnZlci5wb3J0EgIYUIUBAQAAAA==";

    #[test]
    fn spans_are_written_as_opentelemetry_writes_them() {
        let failed = Span {
            trace_id: 0x0af7_6519_16cd_43dd_8448_eb21_1c80_319c,
            id: 7,
            parent_id: Some(8),
            state: "a=1".to_owned(),
            name: "GET".to_owned(),
            kind: Kind::Client,
            began_ns: 10,
            ended_ns: 20,
            attributes: vec![
                ("url.full", Value::Text("http://a/".to_owned())),
                ("server.port", Value::Number(80)),
            ],
            failure: Some("gone".to_owned()),
        };
        let root = Span { parent_id: None, failure: None, kind: Kind::Server, ..failed.clone() };
        let inner = Span { kind: Kind::Internal, ..root.clone() };
        let resource = [("service.name".to_owned(), "shop".to_owned())];
        let bytes = encode(vec![failed, root, inner], &resource, "7");
        assert_eq!(BASE64_STANDARD.encode(bytes), REQUEST);
    }

    #[test]
    fn a_collector_may_refuse_some() {
        // Three, and why, from the same package.
        assert_eq!(refused(b"\x0a\x06\x08\x03\x12\x02no"), 3);
        assert_eq!([refused(b""), refused(b"{}"), refused(b"ok")], [0, 0, 0]);
    }
}
