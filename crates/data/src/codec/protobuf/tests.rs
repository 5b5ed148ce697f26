use bytes::Bytes;
use proptest::prelude::*;
use prost_reflect::{DescriptorPool, DynamicMessage};

use super::*;
use crate::{
    Number, Object, Text, Value,
    codec::{DecodeError, DecodeLimits, json},
    projection::Projection,
};

const HARBOR: &str = r#"
syntax = "proto3";
package harbor.v1;
import "harbor/kind.proto";
import "google/protobuf/timestamp.proto";
import "google/protobuf/duration.proto";
import "google/protobuf/wrappers.proto";
import "google/protobuf/struct.proto";
import "google/protobuf/field_mask.proto";
import "google/protobuf/any.proto";
import "google/protobuf/empty.proto";

message BerthList {
  repeated Berth berths = 1;
  int32 total = 2;
}
message Berth {
  string berth_id = 1;
  float max_draft = 2;
  int64 tonnage = 3;
  Kind kind = 4;
  optional int32 pilots = 5;
  repeated int32 depths = 6;
  repeated sint64 offsets = 7 [packed = false];
  map<string, Berth> neighbours = 8;
  map<int32, Kind> kinds = 9;
  oneof owner {
    string person = 10;
    Company company = 11;
    uint64 number = 12;
  }
  bytes seal = 13;
  Company operator = 14;
  bool is_open = 15 [json_name = "open"];
  double area = 16;
  uint32 u32 = 17;
  fixed32 f32 = 18;
  fixed64 f64 = 19;
  sfixed32 sf32 = 20;
  sfixed64 sf64 = 21;
  sint32 s32 = 22;
  repeated string names = 23;
  repeated Kind all_kinds = 24;
  map<bool, bytes> seals = 25;
  google.protobuf.Timestamp built = 600;
  google.protobuf.Duration stay = 601;
  google.protobuf.Int64Value crew = 602;
  google.protobuf.StringValue note = 603;
  google.protobuf.Struct extra = 604;
  google.protobuf.Value anything = 605;
  google.protobuf.ListValue list = 606;
  google.protobuf.FieldMask mask = 607;
  google.protobuf.Any any = 608;
  google.protobuf.Empty empty = 609;
  repeated google.protobuf.Value values = 610;
}
message Company {
  string name = 1;
  Company parent = 2;
  repeated string sites = 3;
  int32 staff = 4;
}
service Pilots {
  rpc Find(Company) returns (stream BerthList);
}
"#;

const KIND: &str = r#"
syntax = "proto3";
package harbor.v1;
enum Kind {
  option allow_alias = true;
  UNKNOWN = 0;
  QUAY = 1;
  PIER = 1;
  BUOY = -2;
}
"#;

const LEGACY: &str = r#"
syntax = "proto2";
package legacy;
message Answer {
  required string ack = 1;
  optional Inner inner = 2;
  optional int32 count = 3 [default = 7];
  repeated group Row = 4 {
    required int32 id = 1;
    optional string text = 2;
  }
  optional group Single = 6 { repeated int32 n = 1; }
  repeated int64 plain = 8;
  extensions 100 to 200;
}
message Inner {
  required int32 must = 1;
  optional int32 may = 2;
}
extend Answer {
  optional string remark = 100;
  repeated Inner more = 101;
}
"#;

fn harbor() -> Schema {
    Schema::from_proto("harbor/berth.proto", HARBOR, &mut |name| {
        (name == "harbor/kind.proto").then(|| KIND.to_owned())
    })
    .unwrap()
}

fn legacy() -> Schema {
    Schema::load("legacy.proto", LEGACY.as_bytes(), &mut |_| None).unwrap()
}

fn berth() -> Message {
    harbor().message("harbor.v1.Berth").unwrap()
}

fn plain(bytes: &[u8], message: &Message) -> Result<Value, DecodeError> {
    mapped(bytes, message, &ProtobufOptions::default())
}

fn mapped(
    bytes: &[u8],
    message: &Message,
    options: &ProtobufOptions,
) -> Result<Value, DecodeError> {
    let bytes = Bytes::copy_from_slice(bytes);
    decode(bytes, &Projection::All, message, options, &DecodeLimits::default())
}

fn told(bytes: &[u8], message: &Message) -> String {
    match plain(bytes, message) {
        Ok(value) => json::to_string(&value),
        Err(error) => format!("{}: {error}", error.offset),
    }
}

fn low_level(bytes: &[u8], message: &Message) -> String {
    let options = ProtobufOptions { mapping: Mapping::LowLevel, ..ProtobufOptions::default() };
    json::to_string(&mapped(bytes, message, &options).unwrap())
}

fn written(text: &str, message: &Message) -> Vec<u8> {
    encode(&json::parse_str(text).unwrap(), message).unwrap()
}

fn refused(text: &str, message: &Message) -> String {
    encode(&json::parse_str(text).unwrap(), message).unwrap_err().to_string()
}

#[test]
fn the_two_mappings_of_the_worked_example() {
    let list = harbor().message("harbor.v1.BerthList").unwrap();
    let text = r#"{"berths":[{"berthId":"B7","maxDraft":4.6,"tonnage":"9007199254740993","kind":"QUAY"}]}"#;
    let bytes = written(text, &list);
    assert_eq!(told(&bytes, &list), text);
    assert_eq!(
        low_level(&bytes, &list),
        r#"{"berths":[{"berthId":"B7","maxDraft":4.599999904632568,"tonnage":9007199254740992,"kind":"QUAY"}]}"#
    );
}

#[test]
fn scalars_have_their_json_forms() {
    let message = berth();
    for text in [
        r#"{"maxDraft":247.99,"area":1.5}"#,
        r#"{"maxDraft":"NaN","area":"-Infinity"}"#,
        r#"{"depths":[1,-2,300],"offsets":["-1","9007199254740993"]}"#,
        r#"{"kind":"BUOY","allKinds":["UNKNOWN","QUAY",9]}"#,
        r#"{"seal":"//4=","open":true}"#,
        r#"{"u32":4294967295,"f32":1,"f64":"18446744073709551615","sf32":-1,"sf64":"-1","s32":-2147483648}"#,
        r#"{"pilots":0}"#,
        r#"{"kinds":{"-1":"QUAY","0":"UNKNOWN"},"seals":{"true":"YQ==","false":""}}"#,
        r#"{"neighbours":{"":{},"x":{"berthId":"y"}}}"#,
        r#"{"number":"0"}"#,
        r#"{"company":{}}"#,
    ] {
        assert_eq!(told(&written(text, &message), &message), text);
    }
}

#[test]
fn well_known_types_have_their_json_forms() {
    let message = berth();
    for text in [
        r#"{"built":"2012-06-22T00:51:16.538Z","stay":"-1.500s"}"#,
        r#"{"built":"1970-01-01T00:00:00Z","stay":"0s"}"#,
        r#"{"crew":"0","note":""}"#,
        r#"{"extra":{"a":[1,null,{"b":true}],"c":"d"}}"#,
        r#"{"anything":null}"#,
        r#"{"anything":[{}],"list":[null,"x",[]]}"#,
        r#"{"values":[null,0,""]}"#,
        r#"{"mask":"berthId,operator.name","empty":{}}"#,
        r#"{"any":{"@type":"type.googleapis.com/harbor.v1.Company","name":"N"}}"#,
        r#"{"any":{"@type":"x/google.protobuf.Duration","value":"3s"}}"#,
        r#"{"any":{}}"#,
    ] {
        assert_eq!(told(&written(text, &message), &message), text);
    }
    let unknown = b"\x82\x26\x07\x0a\x02a/\x12\x01z";
    assert_eq!(told(unknown, &message), r#"{"any":{"@type":"a/","value":"eg=="}}"#);
    let far = written(r#"{"stay":"315576000000s"}"#, &message);
    assert_eq!(told(&far, &message), r#"{"stay":"315576000000s"}"#);
    assert!(told(b"\xc2\x25\x07\x08\xff\xff\xff\xff\xff\x7f", &message).contains("out of range"));
}

#[test]
fn low_level_mapping_is_plain() {
    let message = berth();
    let text = r#"{"maxDraft":"NaN","kind":9,"kinds":{"3":"QUAY"},"seal":"AQI=","built":"1970-01-01T00:00:01Z",
        "open":true,"allKinds":[9,"PIER"],"offsets":["5"]}"#;
    assert_eq!(
        low_level(&written(text, &message), &message),
        r#"{"maxDraft":null,"offsets":[5],"kinds":[{"key":3,"value":"QUAY"}],"seal":{"0":1,"1":2},"isOpen":true,"allKinds":["QUAY"],"built":{"seconds":1}}"#
    );
}

#[test]
fn names_and_defaults_can_be_chosen() {
    let company = harbor().message("harbor.v1.Company").unwrap();
    let options = ProtobufOptions { defaults: true, ..ProtobufOptions::default() };
    let value = mapped(b"", &company, &options).unwrap();
    assert_eq!(json::to_string(&value), r#"{"name":"","sites":[],"staff":0}"#);
    let options = ProtobufOptions { names: Names::Proto, ..ProtobufOptions::default() };
    let bytes = written(r#"{"berth_id":"a","open":true}"#, &berth());
    let value = mapped(&bytes, &berth(), &options).unwrap();
    assert_eq!(json::to_string(&value), r#"{"berth_id":"a","is_open":true}"#);
    let options = ProtobufOptions { defaults: true, ..ProtobufOptions::default() };
    let value = mapped(b"", &berth(), &options).unwrap();
    let Value::Object(object) = &value else { panic!("{value:?}") };
    assert_eq!(object.get("kind").and_then(Value::as_str), Some("UNKNOWN"));
    assert_eq!(object.get("tonnage").and_then(Value::as_str), Some("0"));
    assert!(object.get("pilots").is_none() && object.get("operator").is_none());
    assert_eq!(json::to_string(object.get("kinds").unwrap()), "{}");
}

#[test]
fn no_bytes_are_a_message() {
    assert_eq!(told(b"", &berth()), "{}");
}

#[test]
fn lists_come_packed_or_not_whatever_the_schema_says() {
    let message = berth();
    assert_eq!(told(b"\x30\x01\x32\x02\x02\x03\x30\x04", &message), r#"{"depths":[1,2,3,4]}"#);
    assert_eq!(told(b"\x3a\x02\x01\x02\x38\x04", &message), r#"{"offsets":["-1","1","2"]}"#);
    assert_eq!(told(b"\x32\x00", &message), "{}", "an empty packed list has no elements");
}

#[test]
fn the_last_scalar_counts_and_messages_merge() {
    let message = berth();
    assert_eq!(told(b"\x0a\x01a\x0a\x01b", &message), r#"{"berthId":"b"}"#);
    assert_eq!(told(b"\x0a\x01a\x0a\x00", &message), "{}", "the zero of an implicit field");
    let first =
        written(r#"{"operator":{"name":"a","sites":["x"],"parent":{"staff":1}}}"#, &message);
    let second =
        written(r#"{"operator":{"name":"b","sites":["y"],"parent":{"name":"p"}}}"#, &message);
    assert_eq!(
        told(&[first, second].concat(), &message),
        r#"{"operator":{"name":"b","parent":{"name":"p","staff":1},"sites":["x","y"]}}"#
    );
}

#[test]
fn the_last_member_of_a_oneof_counts_even_when_it_is_not_kept() {
    let message = berth();
    let person = written(r#"{"person":"p"}"#, &message);
    let company = written(r#"{"company":{"name":"c"}}"#, &message);
    let staffed = written(r#"{"company":{"staff":1}}"#, &message);
    let both = [person.clone(), company.clone()].concat();
    assert_eq!(told(&both, &message), r#"{"company":{"name":"c"}}"#);
    let merged = [company.clone(), staffed.clone()].concat();
    assert_eq!(told(&merged, &message), r#"{"company":{"name":"c","staff":1}}"#);
    let reset = [company, person, staffed].concat();
    assert_eq!(told(&reset, &message), r#"{"company":{"staff":1}}"#);
    let mut projection = Projection::none();
    projection.add_members(&["person"]);
    let options = ProtobufOptions::default();
    let pruned = decode(both.into(), &projection, &message, &options, &DecodeLimits::default());
    assert_eq!(json::to_string(&pruned.unwrap()), "{}");
}

#[test]
fn groups_extensions_and_required_fields() {
    let message = legacy().message(".legacy.Answer").unwrap();
    let text = r#"{"ack":"ok","row":[{"id":1,"text":"t"},{"id":0}],"single":{"n":[1,2]},"plain":["1"],"[legacy.remark]":"r","[legacy.more]":[{"must":0}]}"#;
    let bytes = written(text, &message);
    assert_eq!(told(&bytes, &message), text);
    assert_eq!(
        low_level(&bytes, &message),
        r#"{"ack":"ok","row":[{"id":1,"text":"t"},{"id":0}],"single":{"n":[1,2]},"plain":[1]}"#
    );
    assert_eq!(
        told(b"", &message),
        "0: Malformed protobuf message: required field `ack` is missing"
    );
    assert_eq!(
        told(b"\x0a\x01a\x12\x02\x10\x01", &message),
        "7: Malformed protobuf message: required field `must` is missing"
    );
    let halves = b"\x0a\x01a\x12\x02\x10\x01\x12\x02\x08\x05";
    assert_eq!(told(halves, &message), r#"{"ack":"a","inner":{"must":5,"may":1}}"#);
    let two_groups = b"\x0a\x01a\x33\x08\x01\x34\x33\x08\x02\x34";
    assert_eq!(told(two_groups, &message), r#"{"ack":"a","single":{"n":[1,2]}}"#);
    assert_eq!(refused(r#"{}"#, &message), "required field `ack` is missing");
}

#[test]
fn unknown_fields_are_passed() {
    let company = harbor().message("harbor.v1.Company").unwrap();
    let bytes = b"\xf8\x07\x05\xfa\x07\x01x\xf9\x0712345678\xfd\x071234\xfb\x07\x08\x01\x0b\x0c\xfc\x07\x20\x02";
    assert_eq!(told(bytes, &company), r#"{"staff":2}"#);
}

#[test]
fn malformed_messages_are_told_with_their_place() {
    let message = berth();
    for (bytes, offset, reason) in [
        (&b"\x0a"[..], 1, "message ends early"),
        (b"\x0a\x02a", 1, "length goes beyond the message"),
        (b"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 1, "length goes beyond the message"),
        (b"\x0a\x01\xff", 2, "text is not UTF-8"),
        (b"\x10", 0, "field `max_draft` is framed as another type"),
        (b"\x15\x00\x00", 3, "message ends early"),
        (b"\x18\x80", 2, "message ends early"),
        (b"\x18\x80\x80\x80\x80\x80\x80\x80\x80\x80\x02", 1, "integer of more than 64 bits"),
        (b"\x18\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x00", 1, "integer of more than 64 bits"),
        (b"\x00\x01", 0, "field number out of range"),
        (b"\x80\x80\x80\x80\x10\x01", 0, "field number out of range"),
        (b"\x0e", 0, "unknown wire type 6"),
        (b"\x0c", 1, "group ends that has not started"),
        (b"\xfb\x07\x08\x01", 4, "message ends inside a group"),
        (b"\xfb\x07\x0c", 2, "group ends that has not started"),
        (b"\x72\x04\x0a\x05ab", 3, "length goes beyond the message"),
        (b"\x32\x01\x80", 3, "message ends early"),
    ] {
        let expected = format!("{offset}: Malformed protobuf message: {reason}");
        let told = told(bytes, &message);
        // A known field of another framing is told where its content starts.
        let is_framing = reason.contains("framed");
        assert!(told == expected || (is_framing && told.ends_with(reason)), "{told} {expected}");
    }
}

#[test]
fn limits_hold_at_their_bound() {
    let company = harbor().message("harbor.v1.Company").unwrap();
    let nested = |depth: usize| {
        (1..depth).fold(Vec::new(), |inner: Vec<u8>, _| {
            let mut out = vec![0x12];
            encode::write_bytes(&inner, &mut out);
            out
        })
    };
    assert!(plain(&nested(100), &company).is_ok());
    assert!(told(&nested(101), &company).contains("nested deeper than 100"));
    let groups =
        |depth: usize| [vec![0xfb, 0x07].repeat(depth), vec![0xfc, 0x07].repeat(depth)].concat();
    assert_eq!(told(&groups(100), &company), "{}");
    assert!(told(&groups(101), &company).contains("nested deeper than 100"));
    let within = |bytes: &'static [u8], decoded_bytes_max, elements_max| {
        let limits = DecodeLimits { decoded_bytes_max, elements_max, ..DecodeLimits::default() };
        let bytes = Bytes::from_static(bytes);
        decode(bytes, &Projection::All, &berth(), &ProtobufOptions::default(), &limits).is_ok()
    };
    assert!(within(b"\x32\x02\x01\x02", 4, 2));
    assert!(!within(b"\x32\x02\x01\x02", 3, 2));
    assert!(!within(b"\x32\x02\x01\x02", 4, 1));
    assert!(within(b"\x18\x0a", 4, 1), "`10` is written anew");
    assert!(!within(b"\x18\x0a", 3, 1));
}

#[test]
fn encoding_takes_every_spelling_and_refuses_the_rest() {
    let message = berth();
    let canonical = written(r#"{"tonnage":"5","kind":"QUAY","seal":"-_8="}"#, &message);
    for text in [
        r#"{"tonnage":5,"kind":1,"seal":"+/8="}"#,
        r#"{"tonnage":5.0,"kind":"PIER","seal":"-_8"}"#,
        r#"{"seal":"+/8","tonnage":"5","kind":"QUAY","person":null}"#,
    ] {
        assert_eq!(written(text, &message), canonical, "{text}");
    }
    for (text, reason) in [
        (r#"{"nope":1}"#, "message `harbor.v1.Berth` has no field `nope`"),
        (
            r#"{"operator":{"nope":1}}"#,
            "message `harbor.v1.Company` has no field `nope` (at `operator`)",
        ),
        (r#"{"kind":"SHED"}"#, "no enum value is named `SHED` (at `kind`)"),
        (r#"{"tonnage":1.5}"#, "a whole number in range is needed (at `tonnage`)"),
        (r#"{"pilots":2147483648}"#, "a whole number in range is needed (at `pilots`)"),
        (r#"{"u32":-1}"#, "a whole number in range is needed (at `u32`)"),
        (r#"{"maxDraft":1e300}"#, "number too large for a 32-bit float (at `maxDraft`)"),
        (r#"{"depths":[1,"x"]}"#, "a whole number in range is needed (at `depths.1`)"),
        (r#"{"depths":1}"#, "an array is needed (at `depths`)"),
        (r#"{"kinds":[]}"#, "an object is needed (at `kinds`)"),
        (r#"{"person":"a","number":"1"}"#, "only one of `person` and `number` can be set"),
        (r#"{"berthId":"a","berth_id":"b"}"#, "field `berth_id` is given under two names"),
        (
            r#"{"operator":7}"#,
            "an object is needed for message `harbor.v1.Company` (at `operator`)",
        ),
        (r#"{"open":1}"#, "true or false is needed (at `open`)"),
        (r#"{"seal":"*"}"#, "base64 text is needed (at `seal`)"),
        (r#"{"built":"yesterday"}"#, "RFC 3339 text is needed (at `built`)"),
        (r#"{"stay":"5"}"#, "seconds like `1.5s` are needed (at `stay`)"),
        (r#"{"any":{"@type":"x/nope"}}"#, "the schema has no message `nope` (at `any`)"),
        ("[]", "an object is needed for message `harbor.v1.Berth`"),
    ] {
        assert_eq!(refused(text, &message), reason, "{text}");
    }
    let deep = |depth| {
        (1..depth)
            .fold(Object::new(), |inner, _| Object::from_iter([("parent", Value::object(inner))]))
    };
    let company = harbor().message("harbor.v1.Company").unwrap();
    assert!(encode(&Value::object(deep(100)), &company).is_ok());
    assert!(encode(&Value::object(deep(101)), &company).is_err());
}

#[test]
fn schemas_are_loaded_with_their_imports_or_refused() {
    let schema = harbor();
    assert!(schema.message_names().contains(&"google.protobuf.Timestamp"));
    assert!(schema.message("harbor.v1.Nope").is_none());
    let method = schema.method("/harbor.v1.Pilots/Find").unwrap();
    assert_eq!(method.input.full_name(), "harbor.v1.Company");
    assert_eq!(method.output.full_name(), "harbor.v1.BerthList");
    assert!(method.is_server_streaming && !method.is_client_streaming);
    assert!(schema.method("harbor.v1.Pilots/Nope").is_none());
    let missing = Schema::from_proto("b.proto", HARBOR, &mut |_| None).unwrap_err();
    assert!(missing.to_string().contains("harbor/kind.proto"), "{missing}");
    let broken = Schema::from_proto("b.proto", "message {", &mut |_| None).unwrap_err();
    assert!(broken.to_string().contains("b.proto"), "{broken}");
    assert!(Schema::load("x.desc", b"\xff", &mut |_| None).is_err());
    let pool = reference_pool();
    let again = Schema::load("x.desc", &pool.encode_to_vec(), &mut |_| None).unwrap();
    assert_eq!(again.message_names(), schema.message_names());
}

/// The same schema in the library that the walk is compared with.
fn reference_pool() -> DescriptorPool {
    struct Files;
    impl protox::file::FileResolver for Files {
        fn open_file(&self, name: &str) -> Result<protox::file::File, protox::Error> {
            match name {
                "harbor/berth.proto" => protox::file::File::from_source(name, HARBOR),
                "harbor/kind.proto" => protox::file::File::from_source(name, KIND),
                _ => protox::file::GoogleFileResolver::new().open_file(name),
            }
        }
    }
    let mut compiler = protox::Compiler::with_file_resolver(Files);
    compiler.open_file("harbor/berth.proto").unwrap();
    compiler.descriptor_pool()
}

fn leaf_value(name: &'static str) -> BoxedStrategy<Value> {
    let number = |text: String| Value::Number(Number::Source(Text::from(text)));
    match name {
        "berthId" | "person" | "name" | "note" => "[a-zé]{0,5}".prop_map(Value::string).boxed(),
        // Amounts: of other floats there may be two shortest texts, and the reference may take the
        // other one.
        "maxDraft" => prop_oneof![
            (-900_000..900_000_i32)
                .prop_map(|cents| crate::codec::single::widen(cents as f32 / 100.0))
                .prop_map(|value| Value::Number(Number::Float(value))),
            Just(Value::from("NaN")),
            Just(Value::from("-Infinity")),
        ]
        .boxed(),
        "area" => any::<f64>()
            .prop_filter("finite", |value| value.is_finite())
            // The reference takes -0 for unset, the wire does not.
            .prop_map(|value| Value::Number(Number::Float(value + 0.0)))
            .boxed(),
        "tonnage" | "sf64" | "crew" => {
            any::<i64>().prop_map(|value| Value::string(value.to_string())).boxed()
        }
        "f64" | "number" => any::<u64>().prop_map(move |value| number(value.to_string())).boxed(),
        "kind" => prop_oneof![Just(Value::from("QUAY")), (-3..12_i64).prop_map(Value::int)].boxed(),
        "pilots" | "sf32" | "s32" | "staff" => {
            any::<i32>().prop_map(|value| Value::int(i64::from(value))).boxed()
        }
        "u32" | "f32" => any::<u32>().prop_map(|value| Value::int(i64::from(value))).boxed(),
        "open" => any::<bool>().prop_map(Value::Bool).boxed(),
        "seal" => proptest::collection::vec(any::<u8>(), 0..5)
            .prop_map(|bytes| Value::string(scalar::to_base64(&bytes)))
            .boxed(),
        "built" => Just(Value::from("2012-06-22T00:51:16.538Z")).boxed(),
        "stay" => Just(Value::from("-3.000000001s")).boxed(),
        "mask" => Just(Value::from("aB,c")).boxed(),
        _ => Just(Value::object(Object::new())).boxed(),
    }
}

fn company() -> BoxedStrategy<Value> {
    let flat = (
        proptest::option::of(leaf_value("name")),
        proptest::option::of(leaf_value("staff")),
        proptest::collection::vec("[a-z]{0,3}".prop_map(Value::string), 0..3),
    )
        .prop_map(|(name, staff, sites)| {
            Object::from_iter([
                ("name", name.unwrap_or_default()),
                ("staff", staff.unwrap_or_default()),
                ("sites", Value::array(sites)),
            ])
        });
    flat.clone()
        .prop_flat_map(move |outer| {
            proptest::option::of(flat.clone()).prop_map(move |parent| {
                let mut outer = outer.clone();
                outer.insert("parent", parent.map(Value::object).unwrap_or_default());
                Value::object(outer)
            })
        })
        .boxed()
}

fn json_value() -> BoxedStrategy<Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        (-1000..1000_i32).prop_map(|n| Value::Number(Number::Float(f64::from(n) / 8.0))),
        "[a-z]{0,4}".prop_map(Value::string),
    ];
    leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..3).prop_map(Value::array),
            proptest::collection::vec(("[a-z]{1,2}", inner), 0..3)
                .prop_map(|members| Value::object(members.into_iter().collect())),
        ]
    })
    .boxed()
}

fn berth_value() -> impl Strategy<Value = Value> {
    const LEAVES: [&str; 19] = [
        "berthId", "maxDraft", "tonnage", "kind", "pilots", "seal", "open", "area", "u32", "f32",
        "f64", "sf32", "sf64", "s32", "built", "stay", "crew", "mask", "empty",
    ];
    let leaves = proptest::sample::subsequence(LEAVES.to_vec(), 0..8).prop_flat_map(|names| {
        let members: Vec<_> =
            names.into_iter().map(|name| leaf_value(name).prop_map(move |v| (name, v))).collect();
        members
    });
    let owner = proptest::option::of(prop_oneof![
        leaf_value("person").prop_map(|value| ("person", value)),
        leaf_value("number").prop_map(|value| ("number", value)),
        company().prop_map(|value| ("company", value)),
    ]);
    let lists = (
        proptest::collection::vec(leaf_value("s32"), 0..4),
        proptest::collection::vec(leaf_value("sf64"), 0..4),
        proptest::collection::vec(leaf_value("kind"), 0..3),
        proptest::collection::vec((-9..9_i32, leaf_value("kind")), 0..3),
        proptest::collection::vec(("[ab]", company()), 0..3),
    );
    let special =
        (proptest::option::of(json_value()), proptest::collection::vec(json_value(), 0..3));
    (leaves, owner, lists, special, proptest::option::of(company())).prop_map(
        |(leaves, owner, (depths, offsets, all_kinds, kinds, neighbours), special, operator)| {
            let mut object: Object = leaves.into_iter().chain(owner).collect();
            let (anything, values) = special;
            object.insert("depths", Value::array(depths));
            object.insert("offsets", Value::array(offsets));
            object.insert("allKinds", Value::array(all_kinds));
            let kinds = kinds.into_iter().map(|(key, kind)| (key.to_string(), kind)).collect();
            object.insert("kinds", Value::object(kinds));
            let neighbours = neighbours.into_iter().map(|(key, company)| {
                (key, Value::object(Object::from_iter([("operator", company)])))
            });
            object.insert("neighbours", Value::object(neighbours.collect()));
            object.insert("anything", anything.unwrap_or_default());
            object.insert("values", Value::array(values));
            object.insert("operator", operator.unwrap_or_default());
            Value::object(object)
        },
    )
}

/// What a projection keeps of a value that was built whole.
fn prune(value: &Value, projection: &Projection) -> Value {
    match value {
        Value::Object(object) => {
            let kept = object.iter().filter_map(|(name, member)| {
                let inner = projection.member(name.as_bytes())?;
                Some((name.clone(), prune(member, inner)))
            });
            Value::object(kept.collect())
        }
        Value::Array(elements) => {
            elements.iter().map(|element| prune(element, projection.element())).collect()
        }
        scalar => scalar.clone(),
    }
}

fn reference_json(bytes: &[u8], pool: &DescriptorPool, options: ProtobufOptions) -> Value {
    let descriptor = pool.get_message_by_name("harbor.v1.Berth").unwrap();
    let message = DynamicMessage::decode(descriptor, bytes).unwrap();
    let mut out = serde_json::Serializer::new(Vec::new());
    let settings = prost_reflect::SerializeOptions::new()
        .stringify_64_bit_integers(true)
        .use_proto_field_name(options.names == Names::Proto)
        .skip_default_fields(!options.defaults);
    message.serialize_with_options(&mut out, &settings).unwrap();
    json::parse_str(std::str::from_utf8(&out.into_inner()).unwrap()).unwrap()
}

thread_local! {
    static SHARED: (Schema, DescriptorPool) = (harbor(), reference_pool());
}

proptest! {
    #[test]
    fn the_walk_reads_what_the_reference_reads(
        first in berth_value(), second in berth_value(), is_proto in any::<bool>(),
    ) {
        let (schema, pool) = SHARED.with(Clone::clone);
        let message = schema.message("harbor.v1.Berth").unwrap();
        let options = ProtobufOptions {
            names: if is_proto { Names::Proto } else { Names::Json },
            ..ProtobufOptions::default()
        };
        // Two messages one after the other are one, merged.
        let bytes = [encode(&first, &message).unwrap(), encode(&second, &message).unwrap()].concat();
        let own = mapped(&bytes, &message, &options).unwrap();
        let reference = reference_json(&bytes, &pool, options);
        prop_assert!(own == reference, "{} {}", json::to_string(&own), json::to_string(&reference));
    }

    #[test]
    fn decode_after_encode_is_identity(value in berth_value()) {
        let (schema, _) = SHARED.with(Clone::clone);
        let message = schema.message("harbor.v1.Berth").unwrap();
        let once = plain(&encode(&value, &message).unwrap(), &message).unwrap();
        let twice = plain(&encode(&once, &message).unwrap(), &message).unwrap();
        prop_assert_eq!(json::to_string(&twice), json::to_string(&once));
    }

    #[test]
    fn pruning_while_decoding_is_pruning_afterwards(
        value in berth_value(),
        paths in proptest::collection::vec(proptest::collection::vec(
            "depths|operator|parent|name|neighbours|a|company|person|kinds|3|tonnage|0", 1..4), 0..5),
    ) {
        let (schema, _) = SHARED.with(Clone::clone);
        let message = schema.message("harbor.v1.Berth").unwrap();
        let mut projection = Projection::none();
        for path in &paths {
            projection.add_members(path);
        }
        let bytes = encode(&value, &message).unwrap();
        let whole = plain(&bytes, &message).unwrap();
        let options = ProtobufOptions::default();
        let pruned =
            decode(bytes.into(), &projection, &message, &options, &DecodeLimits::default()).unwrap();
        // Types with a JSON form of their own are kept whole, so what is kept is pruned once more.
        prop_assert_eq!(
            json::to_string(&prune(&pruned, &projection)), json::to_string(&prune(&whole, &projection))
        );
        prop_assert!(json::to_string(&pruned).len() <= json::to_string(&whole).len());
    }

    #[test]
    fn arbitrary_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..80)) {
        let (schema, _) = SHARED.with(Clone::clone);
        let message = schema.message("harbor.v1.Berth").unwrap();
        let _ = plain(&bytes, &message);
        let options = ProtobufOptions {
            mapping: Mapping::LowLevel, defaults: true, ..ProtobufOptions::default()
        };
        let _ = mapped(&bytes, &message, &options);
    }

    #[test]
    fn damaged_messages_never_panic(
        value in berth_value(), at in any::<proptest::sample::Index>(), byte in any::<u8>(),
    ) {
        let (schema, _) = SHARED.with(Clone::clone);
        let message = schema.message("harbor.v1.Berth").unwrap();
        let mut bytes = encode(&value, &message).unwrap();
        if !bytes.is_empty() {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        let _ = plain(&bytes, &message);
    }

    #[test]
    fn arbitrary_values_are_refused_without_panic(value in json_value()) {
        let (schema, _) = SHARED.with(Clone::clone);
        let _ = encode(&value, &schema.message("harbor.v1.Berth").unwrap());
    }
}
