//! Any bytes decode or are refused, and what was decoded is written and read again unchanged.
#![no_main]

use std::sync::LazyLock;

use bytes::Bytes;
use libfuzzer_sys::fuzz_target;
use qlio_data::{
    codec::{
        DecodeLimits,
        protobuf::{Mapping, Message, ProtobufOptions, Schema, decode, encode},
    },
    projection::Projection,
};

const SCHEMA: &str = r#"
syntax = "proto2";
package fuzz;
message All {
  optional string text = 1; optional bytes blob = 2; optional float single = 3;
  optional double wide = 4; optional sint64 big = 5; optional fixed32 fixed = 6;
  optional bool flag = 7; repeated int32 list = 8 [packed = true]; map<string, All> map = 9;
  optional All inner = 10; repeated group Row = 11 { optional All cell = 1; }
  oneof one { uint64 number = 12; string name = 13; All message = 14; }
  enum Kind { NONE = 0; SOME = 1; }
  repeated Kind kinds = 15;
}
"#;

static MESSAGE: LazyLock<Message> = LazyLock::new(|| {
    let schema = Schema::from_proto("fuzz.proto", SCHEMA, &mut |_| None).expect("valid");
    schema.message("fuzz.All").expect("in the schema")
});

fuzz_target!(|bytes: &[u8]| {
    let limits = DecodeLimits::default();
    let body = Bytes::copy_from_slice(bytes);
    let options = ProtobufOptions { mapping: Mapping::LowLevel, ..ProtobufOptions::default() };
    let _ = decode(body.clone(), &Projection::All, &MESSAGE, &options, &limits);
    let options = ProtobufOptions::default();
    let Ok(value) = decode(body, &Projection::All, &MESSAGE, &options, &limits) else { return };
    let again = encode(&value, &MESSAGE).expect("what was read can be written");
    let once_more = decode(again.into(), &Projection::All, &MESSAGE, &options, &limits);
    assert_eq!(once_more.as_ref(), Ok(&value));
});
