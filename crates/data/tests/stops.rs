//! Decodes that nobody waits for end soon, whatever the format and whether the body is kept or passed.
//!
//! Each body is broken at its end: who gets there says so, and who stops does not.

use bytes::Bytes;
use qlio_data::{
    Value,
    codec::{
        DecodeError, DecodeLimits, Stop, cbor, csv,
        json::{self, CellTable},
        msgpack,
        protobuf::{self, ProtobufOptions, Schema},
        xml::{self, XmlOptions},
    },
    projection::Projection,
};

/// Rows of each body: more than are read between two looks.
const ROWS: usize = 20_000;

type Decode = fn(Bytes, &Projection, &DecodeLimits) -> Result<Value, DecodeError>;

fn decode_xml(
    body: Bytes,
    projection: &Projection,
    limits: &DecodeLimits,
) -> Result<Value, DecodeError> {
    xml::decode(body, projection, &XmlOptions::default(), limits)
}

fn decode_csv(
    body: Bytes,
    projection: &Projection,
    limits: &DecodeLimits,
) -> Result<Value, DecodeError> {
    csv::decode(body, true, projection, limits)
}

fn decode_protobuf(
    body: Bytes,
    projection: &Projection,
    limits: &DecodeLimits,
) -> Result<Value, DecodeError> {
    let source = "syntax = 'proto3'; message D { repeated R rows = 1; }
        message R { int32 a = 1; string b = 2; }";
    let schema = Schema::from_proto("d.proto", source, &mut |_| None).expect("a schema");
    let message = schema.message("D").expect("its message");
    protobuf::decode(body, projection, &message, &ProtobufOptions::default(), limits)
}

/// A body of many rows, each with two members, and a fault behind them.
fn bodies() -> Vec<(&'static str, Decode, Vec<u8>)> {
    let json = format!(r#"{{"rows":[{}],}}"#, vec![r#"{"a":1,"b":[2,"x"]}"#; ROWS].join(","));
    let xml = format!("<d>{}</e>", "<rows><a>1</a><b c='2'>x</b></rows>".repeat(ROWS));
    let csv = format!("a,b\n{}\"", "1,x\n".repeat(ROWS));
    let rows = |array: &[u8], row: &[u8]| {
        let mut body = vec![array[0], 0x64, b'r', b'o', b'w', b's'];
        body.extend_from_slice(&array[1..]);
        body.extend_from_slice(&(ROWS as u16).to_be_bytes());
        body.extend(std::iter::repeat_n(row, ROWS).flatten());
        body.push(0);
        body
    };
    let mut msgpack = rows(&[0x81, 0xdc], &[0x82, 0xa1, b'a', 1, 0xa1, b'b', 0xa1, b'x']);
    // The head of a text of four bytes.
    msgpack[1] = 0xa4;
    let cbor = rows(&[0xa1, 0x99], &[0xa2, 0x61, b'a', 1, 0x61, b'b', 0x61, b'x']);
    let mut protobuf = b"\x0a\x05\x08\x01\x12\x01x".repeat(ROWS);
    // The tag of a row that does not follow.
    protobuf.push(0x0a);
    vec![
        ("JSON", json::decode as Decode, json.into_bytes()),
        ("XML", decode_xml, xml.into_bytes()),
        ("CSV", decode_csv, csv.into_bytes()),
        ("MessagePack", msgpack::decode, msgpack),
        ("CBOR", cbor::decode, cbor),
        ("Protocol Buffers", decode_protobuf, protobuf),
    ]
}

/// What is kept: all, one member of each row, nothing.
fn projections() -> [Projection; 3] {
    let one = Projection::within("rows", Projection::within("a", Projection::All));
    [Projection::All, one, Projection::none()]
}

#[test]
fn a_decode_that_nobody_waits_for_ends_before_the_body_does() {
    for (format, decode, body) in bodies() {
        for projection in projections() {
            let waited = DecodeLimits::default();
            let error = decode(body.clone().into(), &projection, &waited).expect_err(format);
            assert!(!error.reason.contains("nobody waits"), "{format}: {error:?}");
            assert!(error.offset >= body.len() - 30, "{format}: {error:?}");

            let stop = Stop::new();
            stop.ask();
            let unwanted = DecodeLimits { stop, ..DecodeLimits::default() };
            let error = decode(body.clone().into(), &projection, &unwanted).expect_err(format);
            assert!(error.reason.contains("nobody waits for it any more"), "{format}: {error:?}");
            assert!(error.offset < body.len() / 2, "{format}: {error:?}");
        }
    }
}

#[test]
fn rows_that_nobody_waits_for_are_not_read() {
    let body = Bytes::from(format!("[{}]", vec![r#"{"a":1}"#; ROWS].join(",")));
    let limits = DecodeLimits { stop: Stop::new(), ..DecodeLimits::default() };
    assert_eq!(
        CellTable::decode(body.clone(), &[], &["a"], &limits).map(|rows| rows.len()),
        Some(ROWS)
    );
    limits.stop.ask();
    assert!(CellTable::decode(body, &[], &["a"], &limits).is_none());
}

#[test]
fn a_raw_list_that_nobody_waits_for_is_not_opened() {
    let list = format!("[{}]", vec!["1"; ROWS].join(",")).into();
    let stop = Stop::new();
    let count = |value| if let Value::Array(elements) = value { elements.len() } else { 0 };
    assert_eq!(count(json::open_until(&list, &stop)), ROWS);
    stop.ask();
    assert!(count(json::open_until(&list, &stop)) < ROWS / 2);
}
