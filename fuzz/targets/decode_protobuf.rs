//! Any bytes decode or are refused, and what was decoded is written and read again unchanged. What is
//! read as rows of columns is what is decoded of them.
#![no_main]

use std::sync::LazyLock;

use bytes::Bytes;
use libfuzzer_sys::fuzz_target;
use qlio_data::{
    codec::{
        DecodeLimits,
        protobuf::{Mapping, Message, ProtobufOptions, Schema, decode, decode_rows, encode},
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

const COLUMNS: [&str; 8] = ["text", "blob", "single", "big", "flag", "list", "map", "inner"];

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
    let cells = decode_rows(body.clone(), &[], &COLUMNS, &MESSAGE, &options, &limits);
    let members = COLUMNS.map(|name| (name.into(), Projection::All));
    let columns =
        decode(body.clone(), &Projection::Members(members.into()), &MESSAGE, &options, &limits);
    if let Some(cells) = cells {
        let columns = columns.expect("what is rows can be read");
        for (column, name) in COLUMNS.iter().enumerate() {
            let (cell, value) = (cells.value(0, column), columns.member(name));
            assert!(cell == value && cell.is_absent() == value.is_absent());
        }
    }
    let Ok(value) = decode(body, &Projection::All, &MESSAGE, &options, &limits) else { return };
    let again = encode(&value, &MESSAGE).expect("what was read can be written");
    let once_more = decode(again.into(), &Projection::All, &MESSAGE, &options, &limits);
    assert_eq!(once_more.as_ref(), Ok(&value));
});
