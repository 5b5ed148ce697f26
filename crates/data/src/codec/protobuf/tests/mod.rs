//! The rules of FMT-31 to FMT-34, one by one; [`properties`] compares with another library.

mod properties;

use bytes::Bytes;
use prost_reflect::DescriptorPool;

use super::*;
use crate::{
    Number, Object, Value,
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
    mapped(bytes, message, ProtobufOptions::default())
}

fn mapped(bytes: &[u8], message: &Message, options: ProtobufOptions) -> Result<Value, DecodeError> {
    let bytes = Bytes::copy_from_slice(bytes);
    decode(bytes, &Projection::All, message, &options, &DecodeLimits::default())
}

fn told(bytes: &[u8], message: &Message) -> String {
    match plain(bytes, message) {
        Ok(value) => json::to_string(&value),
        Err(error) => format!("{}: {error}", error.offset),
    }
}

fn low_level(bytes: &[u8], message: &Message) -> String {
    let options = ProtobufOptions { mapping: Mapping::LowLevel, ..ProtobufOptions::default() };
    json::to_string(&mapped(bytes, message, options).unwrap())
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
fn what_is_kept_whole_is_raw_unless_it_is_unusual() {
    let message = berth();
    let value = |bytes: &[u8]| plain(bytes, &message).unwrap();
    let usual = written(
        r#"{"berthId":"B7","depths":[1,2],"kinds":{"1":"QUAY"},"company":{"name":"Quays"},"tonnage":"5"}"#,
        &message,
    );
    assert!(matches!(value(&usual), Value::Raw(_)));
    let [company, number] =
        [r#"{"company":{}}"#, r#"{"number":"1"}"#].map(|text| written(text, &message));
    assert!(
        matches!(value(&[number.clone(), usual.clone()].concat()), Value::Object(_)),
        "a oneof"
    );
    assert!(matches!(value(&[company.clone(), company].concat()), Value::Object(_)), "two pieces");
    assert!(matches!(value(&[usual.clone(), usual].concat()), Value::Object(_)), "a field twice");
    let [open, name] =
        [r#"{"open":true}"#, r#"{"berthId":"é"}"#].map(|text| written(text, &message));
    let unordered = value(&[open, name].concat());
    assert_eq!(json::to_string(&unordered), r#"{"berthId":"é","open":true}"#);
    assert!(matches!(unordered, Value::Raw(_)));
    let parts = [
        r#"{"depths":[1,2]}"#,
        r#"{"kinds":{"1":"QUAY","2":"BUOY"}}"#,
        r#"{"berthId":"B7"}"#,
        r#"{"depths":[]}"#,
        r#"{"depths":[3]}"#,
        r#"{"tonnage":"5"}"#,
    ];
    let bytes = parts.map(|text| written(text, &message)).concat();
    let unordered = value(&bytes);
    let expected =
        r#"{"berthId":"B7","tonnage":"5","depths":[1,2,3],"kinds":{"1":"QUAY","2":"BUOY"}}"#;
    assert_eq!(json::to_string(&unordered), expected);
    assert!(matches!(unordered, Value::Raw(_)));
    let options = ProtobufOptions { defaults: true, ..ProtobufOptions::default() };
    assert!(matches!(mapped(&bytes, &message, options), Ok(Value::Object(_))), "with defaults");
    let large = written(r#"{"area":1152921504606846976}"#, &message);
    assert!(matches!(value(&large), Value::Object(_)), "a float that its text does not tell");
    assert!(
        value(&large).member("area") == Value::Number(Number::Float(1_152_921_504_606_846_976.0))
    );
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
    let value = mapped(b"", &company, options).unwrap();
    assert_eq!(json::to_string(&value), r#"{"name":"","sites":[],"staff":0}"#);
    let options = ProtobufOptions { names: Names::Proto, ..ProtobufOptions::default() };
    let bytes = written(r#"{"berth_id":"a","open":true}"#, &berth());
    let value = mapped(&bytes, &berth(), options).unwrap();
    assert_eq!(json::to_string(&value), r#"{"berth_id":"a","is_open":true}"#);
    let options = ProtobufOptions { defaults: true, ..ProtobufOptions::default() };
    let value = mapped(b"", &berth(), options).unwrap();
    assert_eq!(value.member("kind").as_str(), Some("UNKNOWN"));
    assert_eq!(value.member("tonnage").as_str(), Some("0"));
    assert!(value.member("pilots").is_absent() && value.member("operator").is_absent());
    assert_eq!(json::to_string(&value.member("kinds")), "{}");
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
    assert_eq!(refused("{}", &message), "required field `ack` is missing");
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
    let groups = |depth: usize| [[0xfb, 0x07].repeat(depth), [0xfc, 0x07].repeat(depth)].concat();
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

/// The schema in the library that the walk is compared with.
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
