//! gRPC calls to a server that somebody else has written: grpcio, the reference implementation, in a
//! small Python program.
//!
//! Without Python's `grpc` the test is skipped with a note; under `CI=true` it fails.

use std::env;
use std::fs;
use std::io;
use std::path::Path;
use std::process::Command;

use qlio_testkit::program::{Program, Running};
use serde_json::{Value, json};

use super::{folder, run};

/// Debian's Python, whose modules come from Debian's packages.
const PYTHON: &str = "/usr/bin/python3";

const SCHEMA: &str = r#"
syntax = "proto3";
package harbor.v1;
message Query { string zone = 1; }
message Berth { string berth_id = 1; }
message BerthList { repeated Berth berths = 1; }
service Pilots {
  rpc Find (Query) returns (BerthList);
  rpc Watch (Query) returns (stream Berth);
}
"#;

struct Pilots;

impl Program for Pilots {
    fn executable(&self) -> &'static str {
        PYTHON
    }

    fn configure(&self, command: &mut Command, port: u16, folder: &Path) -> io::Result<()> {
        fs::write(folder.join("pilots.py"), include_str!("pilots.py"))?;
        command.args(["pilots.py", &port.to_string()]);
        Ok(())
    }
}

#[expect(clippy::print_stderr, reason = "a skipped test must say so")]
fn is_installed() -> bool {
    let found = Command::new(PYTHON).args(["-c", "import grpc"]).output();
    let is_there = found.is_ok_and(|output| output.status.success());
    if !is_there {
        assert!(env::var("CI").as_deref() != Ok("true"), "Python's `grpc` is not installed");
        eprintln!("skipped: Python's `grpc` is not installed");
    }
    is_there
}

/// What a script gives, or the error it ends with.
fn outcome(port: u16, script: &str) -> Result<Value, String> {
    let table = |name: &str, method: &str, clauses: &str| {
        format!(
            "create table {name} on select grpc to \
             'grpc://127.0.0.1:{port}/harbor.v1.Pilots/{method}' \
             using format 'protobuf' from 'harbor.proto'{clauses}"
        )
    };
    let headers = " using headers 'X-Harbour' = 'N1', 'Trace-Bin' = 'low tide'";
    let folder = folder(&[
        ("tables/harbor.proto", SCHEMA),
        ("tables/find.ql", &table("find", "Find", headers)),
        ("tables/watch.ql", &table("watch", "Watch", "")),
        ("script.ql", script),
    ]);
    let finished = run(&["run", "script.ql", "--tables", "tables"], folder.path(), "");
    if finished.code() == Some(0) {
        Ok(serde_json::from_str(&finished.stdout).unwrap())
    } else {
        Err(finished.stderr)
    }
}

#[test]
fn calls_of_the_reference_implementation() {
    if !is_installed() {
        return;
    }
    let server = Running::start(Pilots).unwrap();
    let outcome = |script: &str| outcome(server.port(), script);
    assert_eq!(
        outcome("return select berths from find where zone = 'N' timeout 30000"),
        Ok(json!([[{"berthId": "N"}, {"berthId": "N1 low tide True"}]])),
    );
    let ids = |count: usize| -> Value {
        (1..=count).map(|n| json!(format!("B{n}{}", "x".repeat(1000)))).collect()
    };
    assert_eq!(outcome("return select berthId from watch where zone = 'N'"), Ok(ids(3)));
    assert_eq!(
        outcome("return select berthId from watch where zone = 'endless' limit 20"),
        Ok(ids(20)),
    );
    let refused = outcome("return select * from find where zone = 'nowhere'").unwrap_err();
    assert!(refused.contains("no such zone: å") && refused.contains("404"), "{refused}");
    let late = outcome("return select * from find where zone = 'slow' timeout 200").unwrap_err();
    assert!(late.contains("timed out") || late.contains("504"), "{late}");
}
