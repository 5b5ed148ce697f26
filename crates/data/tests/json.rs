//! JSON read and written beside `serde_json`, which knows neither our projections nor our limits.
//!
//! Documented differences: half a surrogate pair is accepted (U+FFFD), and so is a number too large
//! for a float; the depth limit is ours.

use bytes::Bytes;
use proptest::prelude::*;
use qlio_data::{
    Number, Object, Value,
    codec::{DecodeError, DecodeLimits, json},
    path::{Options, Path},
    projection::Projection,
    scope::EmptyScope,
};

fn decode(body: &[u8], projection: &Projection) -> Result<Value, DecodeError> {
    json::decode(Bytes::copy_from_slice(body), projection, &DecodeLimits::default())
}

fn whole(body: &str) -> Result<Value, DecodeError> {
    decode(body.as_bytes(), &Projection::All)
}

/// Builds every level instead of keeping slices, so that another part of the decoder is at work.
fn level_by_level(body: &[u8]) -> Result<Value, DecodeError> {
    let mut projection = Projection::All;
    for _ in 0..6 {
        projection = Projection::Each(Box::new(projection));
    }
    decode(body, &projection)
}

fn failure(body: &str) -> (usize, String) {
    let error = whole(body).expect_err(body);
    assert_eq!(error.format, "JSON");
    assert_eq!(level_by_level(body.as_bytes()), Err(error.clone()), "{body}");
    assert_eq!(decode(body.as_bytes(), &Projection::none()), Err(error.clone()), "{body}");
    (error.offset, error.reason)
}

#[test]
fn structures_stay_slices_and_scalars_are_read() {
    assert!(
        matches!(whole(" {\"a\" : [1]} ").unwrap(), Value::Raw(text) if text == "{\"a\" : [1]}")
    );
    assert!(
        matches!(whole("\n\"a\\u00e9\\ud83d\\ude00\\n\"").unwrap(), Value::String(text) if text == "aé😀\n")
    );
    assert!(
        matches!(whole("1.50").unwrap(), Value::Number(Number::Source(text)) if text == "1.50")
    );
    assert!(matches!(whole("true").unwrap(), Value::Bool(true)));
    assert!(matches!(whole("null").unwrap(), Value::Null));
}

#[test]
fn faults_name_their_place_and_reason() {
    for (body, offset, reason) in [
        ("", 0, "the body is empty"),
        (" \n", 2, "the body is empty"),
        ("[1,]", 3, "expected a value, found `]`"),
        ("[1 2]", 3, "expected `,` or `]`, found `2`"),
        ("{\"a\":1,}", 7, "expected a member name, found `}`"),
        ("{\"a\" 1}", 5, "expected `:`, found `1`"),
        ("{\"a\":1]", 6, "expected `,` or `}`, found `]`"),
        ("{a:1}", 1, "expected a member name, found `a`"),
        ("[1", 2, "expected `,` or `]`, but the text ends"),
        ("\"abc", 4, "the text ends inside a string"),
        ("\"a\nc\"", 2, "a control character in a string is not escaped"),
        ("\"a\\x\"", 2, "unknown escape in a string"),
        ("\"\\u12g4\"", 1, "unknown escape in a string"),
        ("01", 1, "expected the end of the document, found `1`"),
        ("1.", 2, "expected a digit, but the text ends"),
        ("1.e5", 2, "expected a digit, found `e`"),
        ("-", 1, "expected a digit, but the text ends"),
        ("+1", 0, "expected a value, found `+`"),
        ("tru", 0, "expected a value, found `t`"),
        ("nullx", 4, "expected the end of the document, found `x`"),
        ("{} {}", 3, "expected the end of the document, found `{`"),
        ("\u{feff}[1;", 5, "expected `,` or `]`, found `;`"),
        ("'a'", 0, "expected a value, found `\\'`"),
    ] {
        assert_eq!(failure(body), (offset, reason.to_owned()), "{body:?}");
    }
}

#[test]
fn invalid_utf8_is_found_wherever_it_stands() {
    let error = decode(b"{\"skipped\":\"a\xff\"}", &Projection::none()).unwrap_err();
    assert_eq!((error.offset, error.reason.as_str()), (13, "invalid UTF-8"));
}

#[test]
fn a_byte_order_mark_is_dropped() {
    assert_eq!(whole("\u{feff} [1]").unwrap(), whole("[1]").unwrap());
}

#[test]
fn half_a_surrogate_pair_becomes_the_replacement_character() {
    for (body, text) in [
        (r#""\ud800""#, "\u{fffd}"),
        (r#""\udc00x""#, "\u{fffd}x"),
        (r#""\ud800A""#, "\u{fffd}A"),
        (r#""\ud800\ud83d\ude00""#, "\u{fffd}😀"),
        (r#""\ud800\n""#, "\u{fffd}\n"),
    ] {
        assert_eq!(whole(body).unwrap(), Value::from(text), "{body}");
    }
}

#[test]
fn nesting_is_allowed_to_the_limit_and_not_beyond() {
    let nested = |depth: usize| "[".repeat(depth) + &"]".repeat(depth);
    let mut projection = Projection::All;
    for _ in 0..600 {
        projection = Projection::Each(Box::new(projection));
    }
    for projection in [Projection::All, Projection::none(), projection] {
        assert!(decode(nested(512).as_bytes(), &projection).is_ok());
        for depth in [513, 100_000] {
            let error = decode(nested(depth).as_bytes(), &projection).unwrap_err();
            assert_eq!(
                (error.offset, error.reason.as_str()),
                (512, "nested deeper than 512 levels")
            );
        }
        let open = "{\"a\":".repeat(100_000);
        assert_eq!(decode(open.as_bytes(), &projection).unwrap_err().offset, 512 * 5);
    }
}

#[test]
fn sizes_are_limited() {
    let limits = DecodeLimits { decoded_bytes_max: 9, elements_max: 3, ..DecodeLimits::default() };
    let each = Projection::Each(Box::new(Projection::All));
    let run =
        |body: &'static str| json::decode(Bytes::from_static(body.as_bytes()), &each, &limits);
    assert!(run("[1,2,3]").is_ok());
    assert_eq!(run("[1,2,3,4]").unwrap_err().reason, "more than 3 elements and members");
    assert_eq!(run("[1,2,3  ]").unwrap().len(), 3);
    assert_eq!(run("[1,2,3   ]").unwrap_err().reason, "the body is larger than 9 bytes");
}

#[test]
fn the_last_of_several_members_wins_in_its_first_place() {
    let body = r#"{"a":{"x":1},"b":2,"a":{"y":3},"\u0061":{"z":4}}"#;
    let mut projection = Projection::none();
    projection.add_members(&["a", "z"]);
    projection.add_members(&["b"]);
    let pruned = decode(body.as_bytes(), &projection).unwrap();
    assert_eq!(json::to_string(&pruned), r#"{"a":{"z":4},"b":2}"#);
    let raw = whole(body).unwrap();
    assert_eq!(json::to_string(&raw.member("a")), r#"{"z":4}"#);
    assert_eq!(json::to_string(&raw.open()), r#"{"a":{"z":4},"b":2}"#);
    assert_eq!(raw.len(), 2);
}

#[test]
fn a_projection_keeps_positions_and_drops_the_rest() {
    let body = br#"{"rows":[{"a":1,"b":[{"c":2,"d":3}]},7,null,[{"a":4,"e":5}]],"other":{"a":1}}"#;
    let mut projection = Projection::none();
    projection.add_members(&["rows", "a"]);
    projection.add_members(&["rows", "b", "c"]);
    let pruned = decode(body, &projection).unwrap();
    assert_eq!(json::to_string(&pruned), r#"{"rows":[{"a":1,"b":[{"c":2}]},7,null,[{"a":4}]]}"#);
}

#[test]
fn raw_structures_are_opened_one_level_at_a_time() {
    let raw = whole(r#"[ {"a": [1, "]"]} , [] ,"x\"", 5 ]"#).unwrap();
    assert_eq!(raw.len(), 4);
    let elements = raw.elements().unwrap();
    assert!(matches!(&elements[0], Value::Raw(text) if text == r#"{"a": [1, "]"]}"#));
    assert!(matches!(&elements[2], Value::String(text) if text == "x\""));
    assert_eq!(raw.element(0).member("a").element(1), Value::from("]"));
    assert!(raw.element(4).is_absent());
    assert!(raw.member("a").is_absent());
    assert!(raw.element(0).elements().is_none());
}

#[test]
fn writing_leaves_absent_members_out_and_makes_the_rest_null() {
    let object: Object = [
        ("a", Value::Absent),
        ("b", Value::array(vec![Value::Absent, Value::Null])),
        ("c\u{1}\"\\/\n", Number::Float(f64::NAN).into()),
        ("d", Number::Float(f64::INFINITY).into()),
        ("e", Number::Float(0.1).into()),
        ("f", Value::int(i64::MIN)),
        ("g", Value::Number(Number::Source("not a number".into()))),
        ("h", Value::Absent),
    ]
    .into_iter()
    .collect();
    assert_eq!(
        json::to_string(&object.into()),
        r#"{"b":[null,null],"c\u0001\"\\/\n":null,"d":null,"e":0.1,"f":-9223372036854775808,"g":0}"#
    );
    assert_eq!(json::to_string(&Value::Absent), "null");
}

#[test]
fn values_deeper_than_any_document_can_be_written_and_compared() {
    const DEPTH: usize = 3_000;
    let nested = || (0..DEPTH).fold(Value::int(1), |inner, _| Value::array(vec![inner]));
    let text = json::to_string(&nested());
    assert_eq!(text, "[".repeat(DEPTH) + "1" + &"]".repeat(DEPTH));
    assert_eq!(nested(), nested().into_tree());
}

#[test]
fn a_small_value_that_is_huge_as_text_is_stopped() {
    let mut value = Value::from("0123456789");
    for _ in 0..60 {
        value = Value::array(vec![value.clone(), value]);
    }
    let mut out = Vec::new();
    let error = json::encode_within(&value, &mut out, 1_000_000).unwrap_err();
    assert_eq!(error.bytes_max, 1_000_000);
    assert!(out.len() < 1_000_100);
}

#[test]
fn a_text_that_grows_by_its_escapes_is_not_written_beyond_the_bound() {
    for text in ["\"".repeat(1_000), "\u{1}".repeat(1_000), "a\n".repeat(500)] {
        let bytes = json::to_string(&Value::from(text.clone())).len();
        for (bytes_max, fits) in [(bytes, true), (bytes - 1, false), (text.len(), false)] {
            let mut out = Vec::new();
            let written = json::encode_within(&Value::from(text.clone()), &mut out, bytes_max);
            assert_eq!(written.is_ok(), fits, "{bytes_max} of {bytes}");
            assert!(out.len() <= bytes_max);
        }
    }
}

fn to_serde(value: &Value) -> serde_json::Value {
    match value.open().as_ref() {
        Value::Absent | Value::Null | Value::Raw(_) => serde_json::Value::Null,
        Value::Bool(value) => (*value).into(),
        Value::Number(number) => match number.as_i64() {
            Some(whole) if !json::to_string(value).contains(['.', 'e', 'E']) => whole.into(),
            _ => number.as_f64().into(),
        },
        Value::String(text) => text.as_str().into(),
        Value::Array(elements) => elements.iter().map(to_serde).collect(),
        Value::Object(object) => serde_json::Value::Object(
            object.iter().map(|(name, value)| (name.to_string(), to_serde(value))).collect(),
        ),
    }
}

fn name() -> impl Strategy<Value = String> {
    prop_oneof![
        6 => prop::sample::select(vec!["a", "b", "c", "length", "0", "1", ""]).prop_map(str::to_owned),
        1 => any::<String>(),
    ]
}

/// Rows with mostly the same members, as answers have them: names are expected there. Some begin as
/// others do, and some are longer than what is compared at once.
fn rows() -> impl Strategy<Value = serde_json::Value> {
    const NAMES: [&str; 8] = [
        "id",
        "i",
        "",
        "a\"b",
        "sixteen_with_qu",
        "profile_background_image_url",
        "profile_background_image_urn",
        "é",
    ];
    let inner = prop_oneof![
        any::<i32>().prop_map(serde_json::Value::from),
        "[a\"\\\\:,]{0,20}".prop_map(Into::into),
        prop::collection::vec(any::<bool>(), 0..2).prop_map(|has_members| {
            let row = |has| if has { serde_json::json!({"id": []}) } else { serde_json::json!({}) };
            has_members.into_iter().map(row).collect()
        }),
    ];
    let row = prop::collection::vec(prop::option::weighted(0.8, inner), NAMES.len());
    prop::collection::vec(row, 0..8).prop_map(|rows| {
        let object = |row: Vec<Option<serde_json::Value>>| {
            let members = NAMES.iter().zip(row);
            serde_json::Value::Object(
                members.filter_map(|(name, value)| Some(((*name).to_owned(), value?))).collect(),
            )
        };
        rows.into_iter().map(object).collect()
    })
}

fn document() -> impl Strategy<Value = serde_json::Value> {
    prop_oneof![2 => any_document(), 1 => rows()]
}

fn any_document() -> impl Strategy<Value = serde_json::Value> {
    let leaf = prop_oneof![
        Just(serde_json::Value::Null),
        any::<bool>().prop_map(Into::into),
        any::<i64>().prop_map(Into::into),
        any::<f64>().prop_filter("finite", |value| value.is_finite()).prop_map(Into::into),
        "[ -~]{0,20}".prop_map(Into::into),
        any::<String>().prop_map(Into::into),
    ];
    leaf.prop_recursive(5, 60, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Into::into),
            prop::collection::vec((name(), inner), 0..6)
                .prop_map(|members| serde_json::Value::Object(members.into_iter().collect())),
        ]
    })
}

/// Compact or indented text.
fn written(document: &serde_json::Value, is_pretty: bool) -> String {
    if is_pretty { format!(" {document:#}\r\n\t") } else { document.to_string() }
}

fn document_text() -> impl Strategy<Value = String> {
    (document(), any::<bool>()).prop_map(|(document, is_pretty)| written(&document, is_pretty))
}

/// Pieces of JSON in any order: mostly invalid, and near to valid.
fn pieces() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop::sample::select(vec![
        "{",
        "}",
        "[",
        "]",
        ",",
        ":",
        "\"",
        "\\",
        "\"a\"",
        "\"a\":",
        "1",
        "-",
        "0",
        ".5",
        "e1",
        "true",
        "null",
        "fals",
        " ",
        "\n",
        "\u{0}",
        "é",
        "\\u12",
        "\\ud83d\\ude00",
        "[[",
        "]]",
        "{\"b\":[",
        "]}",
    ]);
    prop::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat().into_bytes())
}

fn mutated() -> impl Strategy<Value = Vec<u8>> {
    let edits = prop::collection::vec((any::<prop::sample::Index>(), 0..4, any::<u8>()), 1..4);
    (document_text(), edits).prop_map(|(text, edits)| {
        let mut body = text.into_bytes();
        for (place, kind, byte) in edits {
            let at = place.index(body.len().max(1)).min(body.len());
            match kind {
                0 => body.truncate(at),
                1 => body.insert(at, byte),
                2 if at < body.len() => body[at] = byte,
                _ if at < body.len() => {
                    body.remove(at);
                }
                _ => {}
            }
        }
        body
    })
}

fn path() -> impl Strategy<Value = String> {
    let step = prop_oneof![
        6 => prop::sample::select(vec![".a", ".b", ".c", ".length", ".0", ".1"]),
        4 => prop::sample::select(vec!["[0]", "[1]", ".*", "[*]", "[0:2]", "[-1:]", "['a','b']", "[0,1]"]),
        1 => prop::sample::select(vec!["..a", "[?(@.a)]", "[(@.length-1)]"]),
    ];
    prop::collection::vec(step, 1..5).prop_map(|steps| format!("${}", steps.concat()))
}

/// Whether our decoder and `serde_json` agree on what is a document.
fn agrees(body: &[u8]) -> bool {
    let expected = serde_json::from_slice::<serde_json::Value>(body);
    let answers =
        [decode(body, &Projection::All), decode(body, &Projection::none()), level_by_level(body)];
    if answers.iter().any(|answer| answer.is_ok() != answers[0].is_ok()) {
        return false;
    }
    match (&answers[0], expected) {
        (Ok(_), Ok(_)) | (Err(_), Err(_)) => true,
        (Ok(_), Err(error)) => {
            let reason = error.to_string();
            body.starts_with(b"\xef\xbb\xbf")
                || ["surrogate", "number out of range", "unexpected end of hex escape"]
                    .iter()
                    .any(|known| reason.contains(known))
        }
        (Err(_), Ok(_)) => false,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(512) })]

    #[test]
    fn valid_documents_have_the_same_value(expected in document(), is_pretty: bool) {
        let text = written(&expected, is_pretty);
        prop_assert_eq!(&to_serde(&whole(&text).unwrap()), &expected);
        prop_assert_eq!(&to_serde(&whole(&text).unwrap().into_tree()), &expected);
        prop_assert_eq!(&to_serde(&level_by_level(text.as_bytes()).unwrap()), &expected);
    }

    #[test]
    fn nearly_valid_documents_are_judged_alike(body in pieces()) {
        prop_assert!(agrees(&body), "{}", String::from_utf8_lossy(&body));
    }

    #[test]
    fn damaged_documents_are_judged_alike(body in mutated()) {
        prop_assert!(agrees(&body), "{}", String::from_utf8_lossy(&body));
    }

    #[test]
    fn any_bytes_are_judged_alike(body in prop::collection::vec(any::<u8>(), 0..64)) {
        prop_assert!(agrees(&body));
    }

    #[test]
    fn reading_what_was_written_gives_the_value(text in document_text()) {
        let value = whole(&text).unwrap();
        for value in [value.clone(), value.open().into_owned(), value.into_tree()] {
            let written = json::to_string(&value);
            prop_assert!(serde_json::from_str::<serde_json::Value>(&written).is_ok(), "{}", written);
            prop_assert_eq!(&whole(&written).unwrap().into_tree(), &value);
        }
    }

    #[test]
    fn raw_values_made_by_hand_do_not_panic(body in mutated()) {
        if let Ok(text) = String::from_utf8(body) {
            let raw = Value::Raw(text.into());
            let _ = (raw.open(), raw.len(), raw.element(1), raw.member("a"), raw.elements());
            let _ = (raw.into_tree(), raw == raw.clone());
        }
    }

    #[test]
    fn paths_find_the_same_in_the_pruned_value(
        text in document_text(),
        paths in prop::collection::vec(path(), 1..4),
    ) {
        let paths: Vec<_> = paths.iter().map(|path| Path::parse(path).unwrap()).collect();
        let mut projection = Projection::none();
        for path in &paths {
            projection.add_path(path);
        }
        let all = whole(&text).unwrap();
        let pruned = decode(text.as_bytes(), &projection).unwrap();
        for path in &paths {
            for flatten in [false, true] {
                let options = Options { flatten };
                prop_assert_eq!(
                    path.select(&pruned, &EmptyScope, options),
                    path.select(&all, &EmptyScope, options),
                    "{}", path
                );
            }
        }
    }
}
