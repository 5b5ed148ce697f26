//! gRPC calls to a server that somebody else has written: grpcio, the reference implementation, in a
//! small Python program.
//!
//! Without Python's `grpc` the test is skipped with a note; under `CI=true` it fails.

use std::env;
use std::fs;
use std::io;
use std::path::Path;
use std::process::Command;

use qlio_testkit::program::{Authority, Identity, Nginx, Program, Running, Tinyproxy};
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

/// The server; over TLS if it has a certificate.
#[derive(Default)]
struct Pilots {
    identity: Option<Identity>,
}

impl Program for Pilots {
    fn executable(&self) -> &'static str {
        PYTHON
    }

    fn configure(&self, command: &mut Command, port: u16, folder: &Path) -> io::Result<()> {
        fs::write(folder.join("pilots.py"), include_str!("pilots.py"))?;
        command.args(["pilots.py", &port.to_string()]);
        if let Some(identity) = &self.identity {
            command.args([&identity.key, &identity.certificate]);
        }
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

/// What a script gives with a server at `base` and these settings, or the error it ends with.
fn outcome(base: &str, config: &Value, script: &str) -> Result<Value, String> {
    let table = |name: &str, method: &str, clauses: &str| {
        format!(
            "create table {name} on select grpc to '{base}/harbor.v1.Pilots/{method}' \
             using format 'protobuf' from 'harbor.proto'{clauses}"
        )
    };
    let headers = " using headers 'X-Harbour' = 'N1', 'Trace-Bin' = 'low tide'";
    let folder = folder(&[
        ("tables/harbor.proto", SCHEMA),
        ("tables/find.ql", &table("find", "Find", headers)),
        ("tables/watch.ql", &table("watch", "Watch", "")),
        ("script.ql", script),
        ("config.json", &config.to_string()),
    ]);
    let arguments = ["run", "script.ql", "--tables", "tables", "--config", "config.json"];
    let finished = run(&arguments, folder.path(), "");
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
    let server = Running::start(Pilots::default()).unwrap();
    let base = format!("grpc://127.0.0.1:{}", server.port());
    let outcome = |script: &str| outcome(&base, &json!({}), script);
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

const SCRIPT: &str = "return select berthId from watch where zone = 'N' timeout 30000";

/// What the script gives.
fn berths() -> Value {
    (1..=3).map(|n| json!(format!("B{n}{}", "x".repeat(1000)))).collect()
}

#[test]
fn calls_over_tls_need_a_certificate_that_is_trusted_and_http2() {
    if !is_installed() {
        return;
    }
    let authority = Authority::new();
    let identity = authority.issue("localhost");
    let server = Running::start(Pilots { identity: Some(identity.clone()) }).unwrap();
    let base = format!("grpcs://localhost:{}", server.port());
    let trust = json!({"tls": {"caFile": authority.file()}});
    assert_eq!(outcome(&base, &trust, SCRIPT), Ok(berths()));

    let stranger = outcome(&base, &json!({}), SCRIPT).unwrap_err();
    assert!(stranger.contains("Q5012") && stranger.contains(&base), "{stranger}");
    let misnamed = outcome(&base.replace("localhost", "127.0.0.1"), &trust, SCRIPT).unwrap_err();
    assert!(misnamed.contains("Q5012"), "{misnamed}");
    let unencrypted = outcome(&base.replace("grpcs", "grpc"), &trust, SCRIPT).unwrap_err();
    assert!(!unencrypted.contains("Q5012") && unencrypted.contains("Q5"), "{unencrypted}");

    let Some(old) = Running::start(Nginx::new(format!(
        "server {{ listen 127.0.0.1:{{port}} ssl; ssl_certificate {}; ssl_certificate_key {}; }}",
        identity.certificate.display(),
        identity.key.display()
    ))) else {
        return;
    };
    let base = format!("grpcs://localhost:{}", old.port());
    let refused = outcome(&base, &trust, SCRIPT).unwrap_err();
    assert!(refused.contains("does not offer HTTP/2"), "{refused}");
}

#[test]
fn calls_go_through_a_tunnel_of_the_proxy() {
    if !is_installed() {
        return;
    }
    let authority = Authority::new();
    let Some(proxy) = Running::start(Tinyproxy::with_login("keeper", "ofthelight")) else { return };
    let plain = Running::start(Pilots::default()).unwrap();
    let secure = Running::start(Pilots { identity: Some(authority.issue("localhost")) }).unwrap();
    let config = |password: &str| {
        let proxy = json!({
            "host": "127.0.0.1", "port": proxy.port(), "user": "keeper", "password": password
        });
        json!({"tls": {"caFile": authority.file()}, "proxy": {"*": proxy}})
    };
    let bases = [
        format!("grpc://localhost:{}", plain.port()),
        format!("grpcs://localhost:{}", secure.port()),
    ];
    for base in &bases {
        let before = proxy.tunnels();
        assert_eq!(outcome(base, &config("ofthelight"), SCRIPT), Ok(berths()));
        assert_eq!(proxy.tunnels(), before + 1);
        let stranger = outcome(base, &config("wrong"), SCRIPT).unwrap_err();
        assert!(stranger.contains("Q5002") && !stranger.contains("wrong"), "{stranger}");
    }
    let mut direct = config("ofthelight");
    direct["proxy"]["localhost"] = json!({});
    let before = proxy.tunnels();
    assert_eq!(outcome(&bases[0], &direct, SCRIPT), Ok(berths()));
    assert_eq!(proxy.tunnels(), before);
}
