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
fn every_kind_of_item_is_read() {
    for (bytes, expected) in [
        (&b"\x00"[..], "0"),
        (b"\x17", "23"),
        (b"\x18\x18", "24"),
        (b"\x19\x03\xe8", "1000"),
        (b"\x1a\x00\x0f\x42\x40", "1000000"),
        (b"\x1b\x00\x00\x00\xe8\xd4\xa5\x10\x00", "1000000000000"),
        (b"\x1b\xff\xff\xff\xff\xff\xff\xff\xff", "18446744073709551615"),
        (b"\x1b\x00\x20\x00\x00\x00\x00\x00\x01", "9007199254740993"),
        (b"\x20", "-1"),
        (b"\x38\x63", "-100"),
        (b"\x3b\x7f\xff\xff\xff\xff\xff\xff\xff", "-9223372036854775808"),
        (b"\x3b\xff\xff\xff\xff\xff\xff\xff\xff", "-18446744073709551616"),
        (b"\xf9\x3c\x00", "1"),
        (b"\xf9\x7b\xff", "65504"),
        (b"\xf9\x00\x01", "5.9604645e-8"),
        (b"\xf9\xc4\x00", "-4"),
        (b"\xf9\x7c\x00", "null"),
        (b"\xf9\x7e\x00", "null"),
        (b"\xfa\x43\x77\xfd\x71", "247.99"),
        (b"\xfb\x3f\xf1\x99\x99\x99\x99\x99\x9a", "1.1"),
        (b"\xfb\xff\xf0\x00\x00\x00\x00\x00\x00", "null"),
        (b"\xf4", "false"),
        (b"\xf5", "true"),
        (b"\xf6", "null"),
        (b"\xf7", "null"),
        (b"\xf0", "null"),
        (b"\xf8\xff", "null"),
        (b"\x40", r#""""#),
        (b"\x42\xff\xfe", r#""//4=""#),
        (b"\x5f\x42\xff\xfe\x40\x41a\xff", r#""//5h""#),
        (b"\x60", r#""""#),
        (b"\x62ab", r#""ab""#),
        (b"\x78\x01a", r#""a""#),
        (b"\x7f\x61a\x60\x62bc\xff", r#""abc""#),
        (b"\x7f\xff", r#""""#),
        (b"\x80", "[]"),
        (b"\x82\x01\xf6", "[1,null]"),
        (b"\x9f\x01\x9f\xff\xff", "[1,[]]"),
        (b"\xa0", "{}"),
        (b"\xa1\x61a\x01", r#"{"a":1}"#),
        (b"\xbf\x61a\x01\x61b\x80\xff", r#"{"a":1,"b":[]}"#),
        (b"\xa2\x61a\x01\x61a\x02", r#"{"a":2}"#),
    ] {
        assert_eq!(told(bytes), expected, "{bytes:x?}");
    }
}

#[test]
fn tags_are_looked_through_or_shown() {
    for (bytes, expected) in [
        (&b"\xc0\x742013-03-21T20:04:00Z"[..], r#""2013-03-21T20:04:00Z""#),
        (b"\xc1\x1a\x51\x4b\x67\xb0", r#""2013-03-21T20:04:00Z""#),
        (b"\xc1\xfb\x41\xd4\x52\xd9\xec\x20\x00\x00", r#""2013-03-21T20:04:00.500Z""#),
        (b"\xc1\x20", r#""1969-12-31T23:59:59Z""#),
        (b"\xc1\xf9\xb8\x00", r#""1969-12-31T23:59:59.500Z""#),
        (b"\xc2\x49\x01\x00\x00\x00\x00\x00\x00\x00\x00", "18446744073709551616"),
        (b"\xc3\x49\x01\x00\x00\x00\x00\x00\x00\x00\x00", "-18446744073709551617"),
        (b"\xc2\x40", "0"),
        (b"\xc2\x41\x05", "5"),
        (b"\xc2\x5f\x41\x01\x41\x00\xff", "256"),
        (b"\xd7\x41a", r#""YQ==""#),
        (b"\xd8\x20\x68http://h", r#""http://h""#),
        (b"\xd9\xd9\xf7\xa1\x61a\x01", r#"{"a":1}"#),
        (b"\xd8\x40\x42\x01\x02", r#"{"$ext":64,"$data":"AQI="}"#),
        (b"\xd9\x01\x02\x82\x01\x02", r#"{"$ext":258,"$data":"ggEC"}"#),
        (b"\xc2\x01", r#"{"$ext":2,"$data":"AQ=="}"#),
        (b"\xc0\x01", r#"{"$ext":0,"$data":"AQ=="}"#),
        (
            b"\xdb\xff\xff\xff\xff\xff\xff\xff\xff\x40",
            r#"{"$ext":18446744073709551615,"$data":""}"#,
        ),
    ] {
        assert_eq!(told(bytes), expected, "{bytes:x?}");
    }
}

#[test]
fn integers_of_any_size_print_exactly() {
    for (exponent, expected) in [
        (64, "18446744073709551616"),
        (128, "340282366920938463463374607431768211456"),
        (256, "115792089237316195423570985008687907853269984665640564039457584007913129639936"),
    ] {
        let digits = [&[0xc2, 0x58, (exponent / 8 + 1) as u8, 1][..], &vec![0; exponent / 8]];
        assert_eq!(told(&digits.concat()), expected);
    }
    let huge = [&[0xc2, 0x58, 129][..], &[1; 129]].concat();
    assert!(told(&huge).starts_with(r#"{"$ext":2,"#), "more than the limit is not counted out");
}

#[test]
fn keys_are_printed_as_text() {
    let bytes =
        b"\xa7\x01\x01\xf5\x02\xf6\x03\xf9\x3e\x00\x04\x41a\x05\x81\x01\x06\xc1\x00\x07".as_slice();
    assert_eq!(
        told(bytes),
        r#"{"1":1,"true":2,"null":3,"1.5":4,"YQ==":5,"[1]":6,"1970-01-01T00:00:00Z":7}"#
    );
}

#[test]
fn keys_within_keys_do_not_double_for_ever() {
    let nested = |levels: usize| [b"\xa1".repeat(levels), b"\x01".repeat(levels + 1)].concat();
    assert_eq!(told(&nested(2)), r#"{"{\"1\":1}":1}"#);
    assert!(told(&nested(60)).contains("key of more than 4096 bytes"));
}

#[test]
fn malformed_messages_are_told_with_their_place() {
    for (bytes, offset, reason) in [
        (&b""[..], 0, "message ends early"),
        (b"\x1c", 0, "byte 0x1c starts no item"),
        (b"\x1f", 0, "byte 0x1f starts no item"),
        (b"\xdf\x01", 0, "byte 0xdf starts no item"),
        (b"\x01\x02", 1, "bytes after the message"),
        (b"\x62a", 1, "message ends early"),
        (b"\x62a\xff", 2, "text is not UTF-8"),
        (b"\x7f\x61a\x61\xff\xff", 4, "text is not UTF-8"),
        (b"\x7f\x41a\xff", 1, "chunk of another kind in a string"),
        (b"\x5f\x5f\xff\xff", 1, "chunk of another kind in a string"),
        (b"\x5f\x41a", 3, "message ends early"),
        (b"\x9b\xff\xff\xff\xff\xff\xff\xff\xff", 9, "message ends early"),
        (b"\xbb\xff\xff\xff\xff\xff\xff\xff\xff\x01", 10, "message ends early"),
        (b"\x7b\xff\xff\xff\xff\xff\xff\xff\xffa", 9, "message ends early"),
        (b"\xff", 0, "break outside of what it could end"),
        (b"\x81\xff", 1, "break outside of what it could end"),
        (b"\xbf\x61a\xff", 3, "break outside of what it could end"),
        (b"\xc1\xff", 1, "point in time that is no number"),
        (b"\xc1\x61a", 1, "point in time that is no number"),
        (b"\xc1\xf9\x7e\x00", 1, "timestamp out of range"),
        (b"\xc1\x1b\xff\xff\xff\xff\xff\xff\xff\xff", 1, "timestamp out of range"),
        (b"\xf8\x14", 0, "simple value 20 in two bytes"),
        (b"\xd8\x40\xff", 2, "break outside of what it could end"),
    ] {
        assert_eq!(
            told(bytes),
            format!("{offset}: Malformed cbor message: {reason}"),
            "{bytes:x?}"
        );
    }
}

#[test]
fn parts_that_are_not_kept_are_passed_and_checked() {
    let bytes = written(r#"{"a":{"x":[1,{"y":"z"}],"k":1},"l":[{"k":1,"m":2},7],"s":"t"}"#);
    let mut projection = Projection::none();
    projection.add_members(&["l", "k"]);
    projection.add_members(&["a", "k"]);
    let pruned = read(&bytes, &projection).unwrap();
    assert_eq!(json::to_string(&pruned), r#"{"a":{"k":1},"l":[{"k":1},7]}"#);
    assert_eq!(json::to_string(&read(&bytes, &Projection::none()).unwrap()), "{}");
    assert!(read(&bytes[..bytes.len() - 1], &Projection::none()).is_err());
    for hostile in [
        &b"\xa1\x61a\xbb\xff\xff\xff\xff\xff\xff\xff\xff\x01\x01"[..],
        b"\xa1\x61a\x61\xff",
        b"\xa1\x61a\x9f\x7f\x41a\xff\xff",
        b"\xa1\x61a\x81\xff",
        b"\xa1\x61a\xf8\x14",
    ] {
        assert!(read(hostile, &Projection::none()).is_err(), "{hostile:x?}");
    }
    let indefinite = b"\xbf\x61a\x9f\x5f\x41a\xff\xd8\x40\x01\xff\x61b\x01\xff";
    let mut projection = Projection::none();
    projection.add_members(&["b"]);
    assert_eq!(json::to_string(&read(indefinite, &projection).unwrap()), r#"{"b":1}"#);
}

#[test]
fn limits_hold_at_their_bound() {
    for head in [&b"\x81"[..], b"\x9f", b"\xd8\x40", b"\xd9\xd9\xf7", b"\xa1\x60"] {
        let nested = |depth: usize| {
            let ends = if head == b"\x9f" { vec![0xff; depth] } else { Vec::new() };
            [head.repeat(depth), vec![0x01], ends].concat()
        };
        assert!(read(&nested(100), &Projection::All).is_ok(), "{head:x?}");
        assert!(told(&nested(101)).contains("nested deeper than 100"), "{head:x?}");
        let within = |depth: usize| [b"\xa1\x61a".to_vec(), nested(depth)].concat();
        assert!(read(&within(99), &Projection::none()).is_ok(), "{head:x?}");
        assert!(read(&within(100), &Projection::none()).is_err(), "{head:x?}");
    }
    let within = |bytes: &'static [u8], decoded_bytes_max, elements_max| {
        let limits = DecodeLimits { decoded_bytes_max, elements_max, ..DecodeLimits::default() };
        decode(Bytes::from_static(bytes), &Projection::All, &limits).is_ok()
    };
    assert!(within(b"\x82\x01\x02", 3, 3));
    assert!(!within(b"\x82\x01\x02", 2, 3));
    assert!(!within(b"\x82\x01\x02", 3, 2));
    assert!(within(b"\x41a", 6, 1));
    assert!(!within(b"\x41a", 5, 1));
    assert!(within(b"\x7f\x61a\x61b\xff", 8, 1));
    assert!(!within(b"\x7f\x61a\x61b\xff", 7, 1));
    let deep = |depth| (0..depth).fold(Value::Null, |inner, _| Value::array(vec![inner]));
    assert!(encode(&deep(100), &mut Vec::new()).is_ok());
    assert!(encode(&deep(101), &mut Vec::new()).is_err());
}

#[test]
fn numbers_are_written_in_their_shortest_exact_form() {
    for (text, bytes) in [
        ("23", &b"\x17"[..]),
        ("24", b"\x18\x18"),
        ("-1", b"\x20"),
        ("-25", b"\x38\x18"),
        ("256", b"\x19\x01\x00"),
        ("65536", b"\x1a\x00\x01\x00\x00"),
        ("4294967296", b"\x1b\x00\x00\x00\x01\x00\x00\x00\x00"),
        ("18446744073709551615", b"\x1b\xff\xff\xff\xff\xff\xff\xff\xff"),
        ("-18446744073709551616", b"\x3b\xff\xff\xff\xff\xff\xff\xff\xff"),
        ("18446744073709551616", b"\x7418446744073709551616"),
        ("1.5", b"\xfb\x3f\xf8\x00\x00\x00\x00\x00\x00"),
        ("1e2", b"\xfb\x40\x59\x00\x00\x00\x00\x00\x00"),
    ] {
        assert_eq!(written(text), bytes, "{text}");
    }
}

#[test]
fn absent_members_are_left_out_and_absent_elements_are_null() {
    let object = [("a", Value::Absent), ("b", Value::int(1))].into_iter().collect();
    let mut out = Vec::new();
    encode(&Value::object(object), &mut out).unwrap();
    encode(&Value::array(vec![Value::Absent]), &mut out).unwrap();
    assert_eq!(out, b"\xa1\x61b\x01\x81\xf6");
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
        let whole = read(&bytes, &Projection::All);
        let outline = read(&bytes, &Projection::none());
        prop_assert!(whole.is_err() || outline.is_ok());
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

    #[test]
    fn half_floats_are_what_their_bits_say(bits: u16) {
        let (exponent, fraction) = (i32::from(bits >> 10 & 0x1f), f64::from(bits & 0x3ff));
        prop_assume!(exponent < 31);
        let magnitude = match exponent {
            0 => fraction * 2_f64.powi(-24),
            _ => (1024.0 + fraction) * 2_f64.powi(exponent - 25),
        };
        let expected = if bits >> 15 == 1 { -magnitude } else { magnitude };
        let message = [&[0xf9][..], &bits.to_be_bytes()].concat();
        let read = read(&message, &Projection::All).unwrap();
        let Value::Number(number) = read else { panic!("a number") };
        prop_assert_eq!((number.as_f64() as f32).to_bits(), (expected as f32).to_bits());
    }
}
