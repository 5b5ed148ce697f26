//! Our Protocol Buffers beside `protoc`, the reference implementation: its text form of messages goes
//! in as bytes that it wrote, ours come out as text that it read, and schemas mean the same whoever
//! compiled them.
//!
//! Without `protoc` the tests are skipped with a note; under `CI=true` they fail.

#![cfg(feature = "protobuf")]
#![expect(clippy::unwrap_used, reason = "a broken test bench must fail the test")]

use std::{
    env,
    io::{ErrorKind, Write as _},
    process::{Command, Stdio},
};

use bytes::Bytes;
use proptest::prelude::*;
use qlio_data::{
    Value,
    codec::{
        DecodeLimits, json,
        protobuf::{Mapping, Message, Names, ProtobufOptions, Schema, decode, encode},
    },
    projection::Projection,
};

/// The folder of the schemas.
const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/protoc");

/// A message of one schema in three forms that mean the same.
struct Sample {
    file: &'static str,
    source: &'static str,
    message: &'static str,
    /// As `protoc` prints it.
    text: &'static str,
    json: &'static str,
}

const SAMPLES: [Sample; 2] = [
    Sample {
        file: "proto3.proto",
        source: include_str!("proto3.proto"),
        message: "three.Everything",
        text: include_str!("proto3.txt"),
        json: include_str!("proto3.json"),
    },
    Sample {
        file: "proto2.proto",
        source: include_str!("proto2.proto"),
        message: "two.Everything",
        text: include_str!("proto2.txt"),
        json: include_str!("proto2.json"),
    },
];

impl Sample {
    fn schema(&self) -> Schema {
        Schema::from_proto(self.file, self.source, &mut |_| None).unwrap()
    }

    fn message(&self) -> Message {
        self.schema().message(self.message).unwrap()
    }

    fn value(&self) -> Value {
        json::parse_str(self.json).unwrap().into_tree()
    }

    /// What `protoc` makes of some input: `--encode` turns text into bytes, `--decode` bytes into text.
    fn protoc(&self, what: &str, input: &[u8]) -> Option<Vec<u8>> {
        run(&[&format!("--{what}={}", self.message), self.file], input)
    }
}

/// Runs `protoc`; `None` if it is not there and may be missing.
#[expect(clippy::print_stderr, reason = "a skipped test must say so")]
fn run(arguments: &[&str], input: &[u8]) -> Option<Vec<u8>> {
    let started = Command::new("protoc")
        .arg(format!("--proto_path={FOLDER}"))
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let mut process = match started {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            assert!(env::var("CI").as_deref() != Ok("true"), "`protoc` is not installed");
            eprintln!("skipped: `protoc` is not installed");
            return None;
        }
        started => started.unwrap(),
    };
    process.stdin.take().unwrap().write_all(input).unwrap();
    let output = process.wait_with_output().unwrap();
    assert!(output.status.success(), "protoc: {}", String::from_utf8_lossy(&output.stderr));
    Some(output.stdout)
}

fn read(bytes: Vec<u8>, message: &Message, options: ProtobufOptions) -> Value {
    let limits = DecodeLimits::default();
    decode(Bytes::from(bytes), &Projection::All, message, &options, &limits).unwrap()
}

#[test]
fn what_protoc_writes_is_read() {
    for sample in &SAMPLES {
        let Some(bytes) = sample.protoc("encode", sample.text.as_bytes()) else { return };
        let value = read(bytes, &sample.message(), ProtobufOptions::default());
        assert_eq!(json::to_string(&value), json::to_string(&sample.value()), "{}", sample.file);
    }
}

#[test]
fn what_is_written_protoc_reads() {
    for sample in &SAMPLES {
        let bytes = encode(&sample.value(), &sample.message()).unwrap();
        let Some(text) = sample.protoc("decode", &bytes) else { return };
        assert_eq!(String::from_utf8(text).unwrap(), sample.text, "{}", sample.file);
    }
}

#[test]
fn the_bytes_are_those_of_protoc() {
    for sample in &SAMPLES {
        let Some(bytes) = sample.protoc("encode", sample.text.as_bytes()) else { return };
        assert_eq!(encode(&sample.value(), &sample.message()).unwrap(), bytes, "{}", sample.file);
    }
}

#[test]
fn a_schema_means_the_same_whoever_compiled_it() {
    for sample in &SAMPLES {
        let folder = tempfile::TempDir::new().unwrap();
        let file = folder.path().join("set.binpb");
        let option = format!("--descriptor_set_out={}", file.display());
        if run(&[&option, "--include_imports", sample.file], b"").is_none() {
            return;
        }
        let theirs = Schema::from_descriptor_set(&std::fs::read(&file).unwrap()).unwrap();
        let ours = sample.schema();
        assert_eq!(ours.message_names(), theirs.message_names());
        assert_eq!(ours.methods(), theirs.methods());
        let bytes = encode(&sample.value(), &sample.message()).unwrap();
        for (mapping, names, defaults) in [
            (Mapping::Proto3, Names::Json, false),
            (Mapping::Proto3, Names::Proto, true),
            (Mapping::LowLevel, Names::Json, false),
        ] {
            let options = ProtobufOptions { mapping, names, defaults };
            let told = |schema: &Schema| {
                let message = schema.message(sample.message).unwrap();
                let full = json::to_string(&read(bytes.clone(), &message, options));
                let required_only = encode(&json::parse_str(REQUIRED).unwrap(), &message).unwrap();
                (full, json::to_string(&read(required_only, &message, options)))
            };
            assert_eq!(told(&ours), told(&theirs), "{}: {options:?}", sample.file);
        }
        let again = encode(&sample.value(), &theirs.message(sample.message).unwrap()).unwrap();
        assert_eq!(again, bytes, "{}", sample.file);
    }
}

/// The least that both messages accept.
const REQUIRED: &str = r#"{"fInt32": 0}"#;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn any_scalars_survive_the_way_through_protoc(
        (double, float) in (any::<f64>(), any::<f32>()),
        (int32, int64, uint32, uint64) in any::<(i32, i64, u32, u64)>(),
        text in "\\PC{0,20}",
        blob: Vec<u8>,
        (packed, unpacked) in any::<(Vec<i32>, Vec<u64>)>(),
    ) {
        use base64::Engine as _;

        let number = |value: f64| match value {
            value if value.is_nan() => r#""NaN""#.to_owned(),
            value if value.is_infinite() => format!("\"{}Infinity\"", if value < 0.0 { "-" } else { "" }),
            value => format!("{value:e}"),
        };
        let list = |values: Vec<String>| values.join(",");
        let text = json::to_string(&Value::from(text));
        let blob = base64::engine::general_purpose::STANDARD.encode(blob);
        let json = format!(
            r#"{{"fDouble":{},"fFloat":{},"fInt32":{int32},"fInt64":"{int64}","fUint32":{uint32},
                "fUint64":"{uint64}","fSint32":{int32},"fSint64":"{int64}","fFixed32":{uint32},
                "fFixed64":"{uint64}","fSfixed32":{int32},"fSfixed64":"{int64}","fString":{text},
                "fBytes":"{blob}","packed":[{}],"unpacked":[{}]}}"#,
            number(double),
            number(f64::from(float)),
            list(packed.iter().map(i32::to_string).collect()),
            list(unpacked.iter().map(|value| format!("\"{value}\"")).collect()),
        );
        let value = json::parse_str(&json).unwrap();
        for sample in &SAMPLES {
            let message = sample.message();
            let ours = encode(&value, &message).unwrap();
            let Some(text) = sample.protoc("decode", &ours) else { return Ok(()) };
            let Some(theirs) = sample.protoc("encode", &text) else { return Ok(()) };
            prop_assert_eq!(&theirs, &ours, "{}", sample.file);
            let options = ProtobufOptions::default();
            let (once, again) = (read(ours, &message, options), read(theirs, &message, options));
            prop_assert_eq!(json::to_string(&once), json::to_string(&again));
        }
    }
}
