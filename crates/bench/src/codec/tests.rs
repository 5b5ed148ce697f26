//! Sizes that were published, and the way through every format.

use proptest::prelude::*;
use qlio_data::codec::json;

use super::*;
use crate::data::{Shape, header, schema, text};

fn codec(format: Format, shape: Shape) -> Codec {
    Codec { format, message: Some(schema::message(shape)), root: shape.root().to_owned() }
}

fn encoded(format: Format, shape: Shape, value: &Value) -> Vec<u8> {
    let mut out = Vec::new();
    codec(format, shape).encode(value, &mut out).unwrap();
    out
}

#[test]
fn header_messages_have_the_published_sizes() {
    let size = |format, value: &Value| encoded(format, Shape::Header, value).len();
    assert_eq!(size(Format::Struct, &header::message()), 63);
    assert_eq!(size(Format::Protobuf, &header::message()), 61);
    assert_eq!(size(Format::Http, &header::http_message()), 96);
}

#[test]
fn the_published_http_text_is_reproduced() {
    let text = encoded(Format::Http, Shape::Header, &header::http_message());
    assert_eq!(
        String::from_utf8(text).unwrap(),
        "GET /user/abcde/getVcard/ HTTP/1.1\r\nHost: localhost:8080\r\nX-MessageID: 33\r\n\
         X-ACKMessage: 100\r\n\r\n"
    );
}

#[test]
fn items_have_the_published_sizes() {
    let value = Shape::Items.value();
    let xml = encoded(Format::Xml, Shape::Items, &value).len();
    let protobuf = encoded(Format::Protobuf, Shape::Items, &value).len();
    // Within five percent of 84,387 and 27,497 bytes, and a ratio of 3.0 ± 0.2.
    assert!(xml.abs_diff(84_387) < 84_387 / 20, "XML has {xml} bytes");
    assert!(protobuf.abs_diff(27_497) < 27_497 / 20, "Protocol Buffers has {protobuf} bytes");
    let tenths = xml * 10 / protobuf;
    assert!((28..=32).contains(&tenths), "{xml} / {protobuf}");
}

#[test]
fn every_shape_comes_through_every_format_that_holds_it() {
    for shape in [Shape::Header, Shape::Hotel, Shape::Items] {
        for format in Format::ALL {
            if format.is_flat() && shape != Shape::Header {
                assert!(codec(format, shape).encode(&shape.value(), &mut Vec::new()).is_err());
                continue;
            }
            let mut value = shape.value();
            if format == Format::MsgpackArray {
                value = positional(&value);
            }
            let codec = codec(format, shape);
            let decoded = codec.decode(encoded(format, shape, &value).into()).unwrap();
            let found = difference(&value, &decoded, codec.leniency());
            assert_eq!(found, None, "{shape:?} as {format:?}");
        }
    }
}

#[test]
fn frames_are_found_again() {
    for format in Format::ALL {
        let codec = codec(format, Shape::Header);
        let (mut out, mut scratch) = (Vec::new(), Vec::new());
        let value = header::message();
        let overhead = frame(&codec, &value, &mut scratch, &mut out).unwrap();
        frame(&codec, &value, &mut scratch, &mut out).unwrap();
        assert_eq!(overhead == 0, format.is_flat(), "{format:?}");
        let (start, end) = next_frame(&codec, &out).unwrap();
        let (again, last) = next_frame(&codec, &out[end..]).unwrap();
        assert_eq!((start, end), (again, last), "{format:?}");
        assert_eq!(end + last, out.len(), "{format:?}");
        assert!(next_frame(&codec, &out[..end - 1]).is_err(), "{format:?}");
    }
}

#[test]
fn a_struct_refuses_what_its_lengths_cannot_say() {
    let value = |length: usize| crate::data::object([("request", text("x".repeat(length)))]);
    let encode =
        |length| codec(Format::Struct, Shape::Header).encode(&value(length), &mut Vec::new());
    // Two bytes of the total are the length of the field.
    assert!(encode(65_533).is_ok());
    assert!(encode(65_534).unwrap_err().to_string().contains("the message has 65536 bytes"));
    assert!(encode(65_536).unwrap_err().to_string().contains("`request` has 65536 bytes"));
}

#[test]
fn differences_are_named_by_their_place() {
    let parse = |text: &str| json::parse_str(text).unwrap();
    let whole = parse(r#"{"a": [{"b": 1}, {"b": 2}], "c": false}"#);
    let other = parse(r#"{"a": [{"b": 1}, {"b": 3}]}"#);
    assert_eq!(difference(&whole, &whole, Leniency::EXACT), None);
    assert_eq!(difference(&whole, &other, Leniency::SCHEMA).as_deref(), Some("$.a[1].b"));
    let unset = parse(r#"{"a": [{"b": "1"}, {"b": 2}]}"#);
    assert_eq!(difference(&whole, &unset, Leniency::SCHEMA), None);
    assert_eq!(difference(&whole, &unset, Leniency::EXACT).as_deref(), Some("$.a[0].b"));
}

/// Values that every format with types holds.
fn any_value() -> impl Strategy<Value = Value> {
    let scalar = prop_oneof![
        any::<bool>().prop_map(Value::Bool),
        any::<i32>().prop_map(|number| Value::int(i64::from(number))),
        "[ -~äöü<>&\"']{0,12}".prop_map(text),
    ];
    scalar.prop_recursive(4, 40, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::array),
            prop::collection::vec(("[a-z]{1,4}", inner), 0..5)
                .prop_map(|members| Value::object(members.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn typed_formats_are_exact(value in any_value()) {
        for format in [Format::Json, Format::MsgpackMap] {
            let decoded = codec(format, Shape::Header).decode(encoded(format, Shape::Header, &value).into());
            prop_assert_eq!(difference(&value, &decoded.unwrap(), Leniency::EXACT), None);
        }
    }

    #[test]
    fn written_xml_is_always_well_formed(value in any_value()) {
        let bytes = encoded(Format::Xml, Shape::Header, &value);
        prop_assert!(codec(Format::Xml, Shape::Header).decode(bytes.into()).is_ok());
    }

    #[test]
    fn reading_any_bytes_answers(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        for format in Format::ALL {
            let codec = codec(format, Shape::Header);
            let _ = codec.decode(bytes.clone().into());
            if let Ok((start, end)) = next_frame(&codec, &bytes) {
                prop_assert!(start <= end && end <= bytes.len());
            }
        }
    }
}
