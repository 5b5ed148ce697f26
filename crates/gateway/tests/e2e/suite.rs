//! `qlio test`: example 8.60, reports and exit codes.

use std::{fs, net::TcpListener, path::Path};

use qlio_testkit::upstream::{Expectation, Upstream};
use serde_json::json;
use tempfile::TempDir;

use super::{folder, run};

/// The directory of example 8.60 with its tables and routes, but ports that are free here; the
/// upstream of the fixture is elsewhere.
fn example(upstream: &Upstream) -> TempDir {
    let books = format!(
        "create table lib.books on select get from '{}/books?subject={{^subject}}&limit={{limit}}&lang={{lang}}'\n\
         using defaults limit = 3, lang = 'en' resultset 'result.items'",
        upstream.base()
    );
    let route = "return select title as t, year as y from lib.books where subject = '{subject}' \
                 via route '/books/{subject}' using method get;";
    let rows = "name,request,type,header1\nby-subject,/books/sea,get,\"X-When:Tue, 1 Jan\"\n";
    let [price, down] = free_ports();
    let script = |port: u16, rest: &str| {
        format!("create table p on select get from \"http://localhost:{port}/x\"; {rest}")
    };
    folder(&[
        ("tables/books.ql", &books),
        ("routes/sel.ql", route),
        ("tests/price.ql", &script(price, "r = select * from p; return \"{r}\"")),
        (&format!("tests/price.{price}.200.application.json"), "{\"amount\": 12}"),
        ("tests/price.expect.json", "{\"amount\": 12}"),
        ("tests/down.ql", &script(down, "return select * from p")),
        (&format!("tests/down.{down}.500.application.json"), "{\"fault\": \"busy\"}"),
        ("tests/down.assert", "failed == true\n$.body.fault == \"busy\""),
        ("tests/all.routes.csv", rows),
    ])
}

/// Two ports that nobody listens on, the lower one first, as tests are ordered by them.
fn free_ports() -> [u16; 2] {
    let listeners = [(); 2].map(|()| TcpListener::bind("127.0.0.1:0").unwrap());
    let mut ports = listeners.map(|listener| listener.local_addr().unwrap().port());
    ports.sort_unstable();
    ports
}

const ARGUMENTS: [&str; 7] =
    ["test", "--tests", "tests", "--tables", "tables", "--routes", "routes"];

fn upstream() -> Upstream {
    let items = json!([{"title": "Tides", "year": 1998, "id": 1}]);
    let answer = Expectation::any().any_calls().json(json!({"result": {"items": items}}));
    Upstream::with([answer]).unwrap()
}

fn with(more: &[&str], folder: &Path) -> (Option<i32>, String, String) {
    let arguments: Vec<&str> = ARGUMENTS.iter().chain(more).copied().collect();
    let finished = run(&arguments, folder, "");
    (finished.code(), finished.stdout.clone(), finished.stderr)
}

#[test]
fn example_8_60_passes_and_is_reported_in_every_format() {
    let upstream = upstream();
    let folder = example(&upstream);
    let (code, stdout, stderr) = with(&[], folder.path());
    let looked_at = "3 tests from 7 files in `tests`, with 1 table and 1 route of the app in the current folder\n";
    assert_eq!((code, stderr.as_str()), (Some(0), looked_at), "{stdout}");
    assert_eq!(stdout, "TAP version 13\n1..3\nok 1 - price\nok 2 - down\nok 3 - by-subject\n");
    assert_eq!(upstream.requests()[0].target, "/books?subject=sea&limit=3&lang=en");
    let (code, stdout, _) = with(&["--reporter", "junit"], folder.path());
    assert_eq!(code, Some(0));
    assert!(stdout.contains("<testsuite name=\"tests\" tests=\"3\" failures=\"0\""), "{stdout}");
    let (code, stdout, _) = with(&["--reporter", "text", "--filter", "^p"], folder.path());
    assert_eq!(code, Some(0));
    assert!(
        stdout.starts_with("ok    price  ") && stdout.contains("1 test, all passed"),
        "{stdout}"
    );

    fs::write(folder.path().join("tests/down.assert"), "failed == true\n$.body.fault == \"idle\"")
        .unwrap();
    let (code, stdout, _) = with(&[], folder.path());
    assert_eq!(code, Some(1));
    let expected = "not ok 2 - down\n  ---\n  problems:\n    \
                    - message: \"`$.body.fault == \\\"idle\\\"` does not hold: it is \\\"busy\\\"\"\n      \
                    at: \"tests/down.assert:2\"\n  ...\nok 3 - by-subject\n";
    assert!(stdout.ends_with(expected), "{stdout}");
}

#[test]
fn a_missing_directory_fails_and_nothing_to_run_is_a_mistake() {
    let folder = folder(&[("tests/a.ql", "return 1")]);
    let finished = run(&["test", "--tests", "nowhere"], folder.path(), "");
    assert_eq!(finished.code(), Some(1));
    assert!(finished.stdout.contains("not ok 1 - initFailed"), "{}", finished.stdout);
    let finished = run(&["test", "--filter", "^b$"], folder.path(), "");
    assert_eq!(
        (finished.code(), finished.stderr.as_str()),
        (Some(2), "error: nothing to run: none of 1 test from 1 file in `tests` matches `^b$`\n")
    );
    let finished = run(&["test", "--filter", "("], folder.path(), "");
    assert_eq!(finished.code(), Some(2));
}

#[test]
fn scripts_may_call_the_app_itself() {
    let [port, _] = free_ports();
    let script = format!(
        "create table r on select get from 'http://localhost:{port}/r'; return select * from r"
    );
    let folder = folder(&[
        ("routes/r.ql", "return {\"ok\": 1} via route '/r' using method get"),
        ("tests/a.ql", &script),
        ("tests/a.expect.json", "{\"ok\": 1}"),
    ]);
    let finished =
        run(&["test", "--routes", "routes", "--port", &port.to_string()], folder.path(), "");
    assert_eq!(finished.code(), Some(0), "{}{}", finished.stdout, finished.stderr);
}

/// The published test `ping-pong-post` of ql-unit listens at 80126 and calls it, which Node took for 14590.
#[test]
fn a_port_that_is_none_is_told_once_and_only_here() {
    let [port, _] = free_ports();
    let written = (1 << 16) + u32::from(port);
    let table = format!("create table ping on select get from 'http://localhost:{written}/ping'");
    let hooks = format!(
        "exports.setup = function (cb) {{\n\
           var server = require('http').createServer(function (req, res) {{ res.end('{{\"id\": 1}}'); }});\n\
           server.listen({written}, function () {{ cb({{server: server}}); }});\n\
         }};\n\
         exports.tearDown = function (cb, ctx) {{ ctx.server.close(); cb(); }};"
    );
    let script = "return select * from ping";
    let folder = folder(&[
        ("tables/ping.ql", &table),
        ("tests/ping.ql", script),
        ("tests/ping.js", &hooks),
        ("tests/pong.ql", script),
        ("tests/pong.js", &hooks),
    ]);
    let (code, stdout, stderr) = with(&[], folder.path());
    assert_eq!(
        (code, stdout.as_str()),
        (Some(0), "TAP version 13\n1..2\nok 1 - ping\nok 2 - pong\n")
    );
    let told: Vec<&str> = stderr.lines().filter(|line| line.contains("warning")).collect();
    let [told] = told[..] else { panic!("{stderr}") };
    assert!(told.starts_with("warning: tests/p"), "{told}");
    let rest = format!(
        ".js: there is no port {written}, the last is 65535; {port} was taken for it, as old versions of Node did"
    );
    assert!(told.ends_with(&rest), "{told}");
    let finished = run(&["run", "--tables", "tables", "tests/ping.ql"], folder.path(), "");
    assert!(finished.code() != Some(0) && finished.stderr.contains("port"), "{}", finished.stderr);
}

#[test]
fn the_tests_of_the_example_app_pass() {
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/shop");
    let elsewhere = folder(&[]);
    let app = example.display().to_string();
    for (arguments, folder) in
        [(&["test"][..], example.as_path()), (&["test", "--app", &app], elsewhere.path())]
    {
        let finished = run(arguments, folder, "");
        assert_eq!(finished.code(), Some(0), "{}{}", finished.stdout, finished.stderr);
        assert!(finished.stdout.contains("1..7\nok 1 - colours\n"), "{}", finished.stdout);
    }
}
