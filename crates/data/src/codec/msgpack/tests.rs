use bytes::Bytes;
use proptest::prelude::*;

use super::*;
use crate::{
    Number, Value,
    codec::{DecodeError, DecodeLimits, json, prune::prune},
    projection::Projection,
};

fn read(bytes: &[u8], projection: &Projection) -> Result<Value, DecodeError> {
    decode(Bytes::copy_from_slice(bytes), projection, &DecodeLimits::default())
}

fn told(bytes: &[u8]) -> String {
    match read(bytes, &Projection::All) {
        Ok(value) => json::to_string(&value),
        Err(error) => format!("{}: {error}", error.offset),
    }
}

fn written(text: &str) -> Vec<u8> {
    let mut out = Vec::new();
    encode(&json::parse_str(text).unwrap(), &mut out).unwrap();
    out
}

#[test]
fn every_head_is_read() {
    for (bytes, expected) in [
        (&b"\x07"[..], "7"),
        (b"\xe0", "-32"),
        (b"\xcc\xff", "255"),
        (b"\xcd\x01\x00", "256"),
        (b"\xce\xff\xff\xff\xff", "4294967295"),
        (b"\xcf\xff\xff\xff\xff\xff\xff\xff\xff", "18446744073709551615"),
        (b"\xcf\x00\x20\x00\x00\x00\x00\x00\x01", "9007199254740993"),
        (b"\xd0\x80", "-128"),
        (b"\xd1\x80\x00", "-32768"),
        (b"\xd2\x80\x00\x00\x00", "-2147483648"),
        (b"\xd3\x80\x00\x00\x00\x00\x00\x00\x00", "-9223372036854775808"),
        (b"\xca\x43\x77\xfd\x71", "247.99"),
        (b"\xcb\x3f\xf8\x00\x00\x00\x00\x00\x00", "1.5"),
        (b"\xcb\x7f\xf8\x00\x00\x00\x00\x00\x00", "null"),
        (b"\xca\xff\x80\x00\x00", "null"),
        (b"\xc0", "null"),
        (b"\xc2", "false"),
        (b"\xc3", "true"),
        (b"\xa2ab", r#""ab""#),
        (b"\xd9\x01a", r#""a""#),
        (b"\xda\x00\x01a", r#""a""#),
        (b"\xdb\x00\x00\x00\x01a", r#""a""#),
        (b"\xc4\x02\xff\xfe", r#""//4=""#),
        (b"\xc5\x00\x01a", r#""YQ==""#),
        (b"\xc6\x00\x00\x00\x01a", r#""YQ==""#),
        (b"\x92\x01\xc0", "[1,null]"),
        (b"\xdc\x00\x01\x01", "[1]"),
        (b"\xdd\x00\x00\x00\x01\x01", "[1]"),
        (b"\x81\xa1a\x01", r#"{"a":1}"#),
        (b"\xde\x00\x01\xa1a\x01", r#"{"a":1}"#),
        (b"\xdf\x00\x00\x00\x01\xa1a\x01", r#"{"a":1}"#),
        (b"\x82\xa1a\x01\xa1a\x02", r#"{"a":2}"#),
        (b"\xd6\xff\x00\x00\x00\x00", r#""1970-01-01T00:00:00Z""#),
        (b"\xd7\xff\x77\x35\x94\x00\x00\x00\x00\x01", r#""1970-01-01T00:00:01.500Z""#),
        (
            b"\xc7\x0c\xff\x00\x00\x00\x01\xff\xff\xff\xff\xff\xff\xff\xff",
            r#""1969-12-31T23:59:59.000000001Z""#,
        ),
        (b"\xd4\x05a", r#"{"$ext":5,"$data":"YQ=="}"#),
        (b"\xc8\x00\x00\x80", r#"{"$ext":-128,"$data":""}"#),
    ] {
        assert_eq!(told(bytes), expected, "{bytes:x?}");
    }
}

#[test]
fn keys_are_printed_as_text() {
    let bytes = b"\x86\x01\x01\xc3\x02\xc0\x03\xcb\x3f\xf8\x00\x00\x00\x00\x00\x00\x04\xc4\x01a\x05\x91\x01\x06";
    assert_eq!(told(bytes), r#"{"1":1,"true":2,"null":3,"1.5":4,"YQ==":5,"[1]":6}"#);
}

#[test]
fn keys_within_keys_do_not_double_for_ever() {
    let nested = |levels: usize| [b"\x81".repeat(levels), b"\x01".repeat(levels + 1)].concat();
    assert_eq!(told(&nested(2)), r#"{"{\"1\":1}":1}"#);
    assert!(told(&nested(60)).contains("key of more than 4096 bytes"));
}

#[test]
fn malformed_messages_are_told_with_their_place() {
    for (bytes, offset, reason) in [
        (&b""[..], 0, "message ends early"),
        (b"\xc1", 0, "byte 0xc1 starts no value"),
        (b"\x01\x02", 1, "bytes after the message"),
        (b"\xa2a", 1, "message ends early"),
        (b"\xa2a\xff", 2, "text is not UTF-8"),
        (b"\xdd\xff\xff\xff\xff", 5, "message ends early"),
        (b"\xdf\xff\xff\xff\xff\x01", 6, "message ends early"),
        (b"\xdb\xff\xff\xff\xffa", 5, "message ends early"),
        (b"\xd4\xffa", 2, "timestamp out of range"),
        (b"\xd7\xff\xff\xff\xff\xff\xff\xff\xff\xff", 2, "timestamp out of range"),
    ] {
        assert_eq!(told(bytes), format!("{offset}: Malformed msgpack message: {reason}"));
    }
}

#[test]
fn parts_that_are_not_kept_are_passed() {
    let bytes = written(r#"{"a":{"x":[1,{"y":"z"}],"k":1},"l":[{"k":1,"m":2},7],"s":"t"}"#);
    let mut projection = Projection::none();
    projection.add_members(&["l", "k"]);
    projection.add_members(&["a", "k"]);
    let pruned = read(&bytes, &projection).unwrap();
    assert_eq!(json::to_string(&pruned), r#"{"a":{"k":1},"l":[{"k":1},7]}"#);
    assert_eq!(json::to_string(&read(&bytes, &Projection::none()).unwrap()), "{}");
    assert!(read(&bytes[..bytes.len() - 1], &Projection::none()).is_err());
    let hostile = b"\x81\xa1a\xdf\xff\xff\xff\xff\x01\x01";
    assert!(read(hostile, &Projection::none()).is_err());
}

#[test]
fn limits_hold_at_their_bound() {
    let nested = |depth: usize| [vec![0x91; depth], vec![0x01]].concat();
    assert!(read(&nested(100), &Projection::All).is_ok());
    assert!(told(&nested(101)).contains("nested deeper than 100"));
    let within = |bytes: &'static [u8], decoded_bytes_max, elements_max| {
        let limits = DecodeLimits { decoded_bytes_max, elements_max, ..DecodeLimits::default() };
        decode(Bytes::from_static(bytes), &Projection::All, &limits).is_ok()
    };
    assert!(within(b"\x92\x01\x02", 3, 3));
    assert!(!within(b"\x92\x01\x02", 2, 3));
    assert!(!within(b"\x92\x01\x02", 3, 2));
    assert!(within(b"\xc4\x01a", 7, 1));
    assert!(!within(b"\xc4\x01a", 6, 1));
    let deep = |depth| (0..depth).fold(Value::Null, |inner, _| Value::array(vec![inner]));
    assert!(encode(&deep(100), &mut Vec::new()).is_ok());
    assert!(encode(&deep(101), &mut Vec::new()).is_err());
}

#[test]
fn numbers_are_written_in_their_shortest_exact_form() {
    for (text, bytes) in [
        ("127", &b"\x7f"[..]),
        ("128", b"\xcc\x80"),
        ("-32", b"\xe0"),
        ("-33", b"\xd0\xdf"),
        ("65536", b"\xce\x00\x01\x00\x00"),
        ("-32769", b"\xd2\xff\xff\x7f\xff"),
        ("18446744073709551615", b"\xcf\xff\xff\xff\xff\xff\xff\xff\xff"),
        ("18446744073709551616", b"\xb418446744073709551616"),
        ("1.5", b"\xcb\x3f\xf8\x00\x00\x00\x00\x00\x00"),
        ("1e2", b"\xcb\x40\x59\x00\x00\x00\x00\x00\x00"),
    ] {
        assert_eq!(written(text), bytes, "{text}");
    }
}

#[test]
fn absent_members_are_left_out_and_absent_elements_are_nil() {
    let object = [("a", Value::Absent), ("b", Value::int(1))].into_iter().collect();
    let mut out = Vec::new();
    encode(&Value::object(object), &mut out).unwrap();
    encode(&Value::array(vec![Value::Absent]), &mut out).unwrap();
    assert_eq!(out, b"\x81\xa1b\x01\x91\xc0");
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        any::<i64>().prop_map(Value::int),
        any::<u64>().prop_map(|n| Value::Number(Number::Source(n.to_string().into()))),
        any::<f64>()
            .prop_filter("finite", |value| value.is_finite())
            .prop_map(|value| Value::Number(Number::Float(value))),
        ".{0,40}".prop_map(Value::string),
    ];
    leaf.prop_recursive(4, 60, 20, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..20).prop_map(Value::array),
            proptest::collection::vec(("[a-d]{1,2}", inner), 0..20)
                .prop_map(|members| Value::object(members.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn arbitrary_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..60)) {
        let _ = read(&bytes, &Projection::All);
        let _ = read(&bytes, &Projection::none());
    }

    #[test]
    fn decode_after_encode_is_identity(value in value()) {
        let mut out = Vec::new();
        encode(&value, &mut out).unwrap();
        let again = read(&out, &Projection::All).unwrap();
        prop_assert_eq!(json::to_string(&again), json::to_string(&value));
    }

    #[test]
    fn pruning_while_decoding_is_pruning_afterwards(
        value in value(),
        paths in proptest::collection::vec(proptest::collection::vec("[a-d]{1,2}|0", 0..4), 0..4),
    ) {
        let mut projection = Projection::none();
        for path in &paths {
            projection.add_members(path);
        }
        let mut out = Vec::new();
        encode(&value, &mut out).unwrap();
        let pruned = read(&out, &projection).unwrap();
        prop_assert_eq!(json::to_string(&pruned), json::to_string(&prune(&value, &projection)));
    }
}
