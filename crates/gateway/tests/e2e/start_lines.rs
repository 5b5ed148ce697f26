//! The start lines of the original start the same server (SRV-59).

use std::{fs, path::Path};

use qlio_testkit::{
    client::{Connection, Request, fetch},
    process::ServerProcess,
    upstream::{Expectation, Respond, Upstream},
};
use serde_json::json;

use super::{PATIENCE, binary, folder, run, start};

/// An app as ql.io had it, of an upstream.
fn app(upstream: &Upstream) -> tempfile::TempDir {
    let settings = format!(r#"{{"api": "{}"}}"#, upstream.base());
    folder(&[
        ("app/tables/tides.ql", "create table sea.tides on select get from '{config.api}/tides'"),
        (
            "app/routes/tides.ql",
            "return select high from sea.tides via route '/tides' using method get",
        ),
        ("app/config/dev.json", &settings),
        ("app/config/xformers.json", r#"{"sea.tides": "./lib/tides.js"}"#),
        ("app/config/other.json", r#"{"sea.tides": "./lib/other.js"}"#),
        ("lib/tides.js", "exports.toJson = function (text, ok) { ok([{high: text}]); };"),
        ("lib/other.js", "exports.toJson = function (text, ok) { ok([{high: 'other'}]); };"),
    ])
}

fn upstream(requests: usize) -> Upstream {
    let asked = Expectation::get("/tides").with_header("x-trail", Some("r9.1"));
    let answer = asked.with_header("request-id", None).respond(Respond::text("text/tides", "7 h"));
    Upstream::with([answer.calls(requests)]).unwrap()
}

#[test]
fn the_start_line_of_the_original_starts_the_same_server() {
    let upstream = upstream(2);
    let folder = app(&upstream);
    let long = [
        ["--cluster", "--tables", "app/tables", "--routes", "app/routes"].as_slice(),
        &["--config", "app/config/dev.json", "--port", "0", "--monPort", "0", "--noWorkers", "2"],
        &["--xformers", "app/config/xformers.json", "--ecvPath", "/up", "--ecvControl", "true"],
        &["--connectors", "app/tables", "--requestId", "X-Trail", "--timeout", "300000"],
        &["--connThreshold", "10000", "--disableConsole", "--disableQ", "--logs", "logs"],
        &["--pids", "pids"],
    ];
    let short = [
        ["-C", "-t", "app/tables", "-r", "app/routes", "-c", "app/config/dev.json"].as_slice(),
        &["-p", "0", "-m", "0", "-n", "2", "-x", "app/config/xformers.json", "-a", "/up"],
        &["--ecvControl", "true", "--requestId", "X-Trail", "-e", "-q", "--logs", "logs"],
        &["--pids", "pids"],
    ];
    for line in [long.concat(), short.concat()] {
        check_server(start(&line, folder.path()), folder.path());
    }
    upstream.verify().unwrap();
}

/// The same without a flag for what is a setting (`docs/reference/settings.md`).
#[test]
fn the_names_of_the_environment_start_the_same_server() {
    let upstream = upstream(1);
    let folder = app(&upstream);
    let line = [
        ["-C", "-t", "app/tables", "-r", "app/routes", "-c", "app/config/dev.json"].as_slice(),
        &["-n", "2", "-x", "app/config/xformers.json", "--pids", "pids"],
    ];
    let environment = [
        ("QLIO_LISTEN", "127.0.0.1:0"),
        ("QLIO_ADMIN_LISTEN", "127.0.0.1:0"),
        ("QLIO_REQUEST_ID_HEADER", "X-Trail"),
        ("QLIO_ECV_PATH", "/up"),
        ("QLIO_ECV_CONTROL", "true"),
        ("QLIO_CONSOLE", "false"),
        ("QLIO_ADHOC_ENABLED", "false"),
        ("QLIO_LOGS", "logs"),
    ];
    let server =
        ServerProcess::start(binary(), &line.concat(), folder.path(), &environment, PATIENCE);
    check_server(server.unwrap_or_else(|error| panic!("{error}")), folder.path());
    upstream.verify().unwrap();
}

/// Whether it is what its start line says, and ends when it is told to.
fn check_server(mut server: ServerProcess, folder: &Path) {
    let told = server.wait_for_stderr(PATIENCE, |told| told.contains("with 2 workers"));
    assert!(told, "{}", server.stderr());
    let get = |target: &str| {
        let request = Request::get(target).header("x-trail", "r9");
        fetch(server.address(), &request, PATIENCE).unwrap()
    };
    let answer = get("/tides");
    assert_eq!((answer.status, answer.json().unwrap()), (200, json!(["7 h"])));
    assert_eq!(answer.header("x-trail").as_deref(), Some("r9"));
    assert_eq!(answer.header("request-id"), None);
    assert_eq!(get("/q?s=return%201").status, 404);
    assert_eq!(get("/console").status, 404);
    assert!(get("/up").text().starts_with("status=AVAILABLE"));
    let monitor = "admin listener on http://";
    assert!(server.wait_for_stderr(PATIENCE, |told| told.contains(monitor)));
    let told = server.stderr();
    let monitor = told.split(monitor).nth(1).unwrap().split_whitespace().next().unwrap();
    let alive = Request::get("/livez");
    assert_eq!(fetch(monitor.parse().unwrap(), &alive, PATIENCE).unwrap().status, 200);
    assert!(folder.join("logs").is_dir());
    let ended = run(&["shutdown", "--pids", "pids"], folder, "");
    assert_eq!(ended.code(), Some(0), "{}", ended.stderr);
    assert_eq!(server.finish(PATIENCE).code(), Some(0));
    assert_eq!(fs::read_dir(folder.join("pids")).unwrap().count(), 0);
}

#[test]
fn the_file_of_transformers_is_found_in_the_app_or_where_it_is_named() {
    let upstream = upstream(0);
    let folder = app(&upstream);
    let checked = run(&["check", "--app", "app"], folder.path(), "");
    // Its modules count from the folder of the app, and there is none.
    assert_eq!(checked.code(), Some(1), "{}", checked.stderr);
    let error = "error[Q3017 missing-transformer]: cannot load the transformer of `sea.tides`";
    assert!(checked.stderr.contains(error), "{}", checked.stderr);
    assert!(checked.stderr.contains("app/config/xformers.json:1:2"), "{}", checked.stderr);
    let line = ["-t", "app/tables", "-r", "app/routes", "-c", "app/config/dev.json"];
    let other = [["check"].as_slice(), &line, &["-x", "app/config/other.json"]].concat();
    assert_eq!(run(&other, folder.path(), "").code(), Some(0));
    let none = [["check"].as_slice(), &line, &["-x", "nowhere.json"]].concat();
    let missing = run(&none, folder.path(), "");
    assert_eq!(missing.code(), Some(1));
    assert!(missing.stderr.contains("[Q3020 unreadable-file]"), "{}", missing.stderr);
}

#[test]
fn a_file_of_transformers_that_makes_no_sense_is_told_with_its_places() {
    let cases = [
        ("[]", "1:1", "[Q3033 bad-transformers]: it must be an object of table names and modules"),
        ("{\n \"t\" 1}", "2:6", "[Q3033 bad-transformers]: invalid JSON"),
        (
            "{\n \"t\": 1}",
            "2:2",
            "[Q3033 bad-transformers]: the module of `t` must be text, not `1`",
        ),
        (
            "{\"xml\": \"x\"}",
            "1:2",
            "[Q3033 bad-transformers]: `xml` is a decoder that comes with qlio",
        ),
        ("{\"s\": \"./x\"}", "1:2", "warning[Q3033 bad-transformers]: there is no table `s`"),
    ];
    let table = ("tables/t.ql", "create table t on select get from 'http://127.0.0.1:1/'");
    for (text, place, message) in cases {
        let module = ("x.js", "exports.toJson = function () {};");
        let folder = folder(&[table, module, ("config/xformers.json", text)]);
        let checked = run(&["check"], folder.path(), "");
        assert!(checked.stderr.contains(message), "{}", checked.stderr);
        let place = format!("config/xformers.json:{place}");
        assert!(checked.stderr.contains(&place), "{place}: {}", checked.stderr);
    }
}

#[test]
fn a_connection_that_waits_longer_than_it_may_is_closed() {
    let folder = folder(&[("routes/r.ql", "return 1 via route '/r' using method get")]);
    let server = start(&["-p", "0", "--timeout", "100"], folder.path());
    let mut connection = Connection::open(server.address(), PATIENCE).unwrap();
    connection.send(&Request::get("/r").to_bytes(server.address())).unwrap();
    assert_eq!(connection.answer("GET").unwrap().status, 200);
    // Without its end the server would be waited for in vain.
    assert_eq!(connection.rest().unwrap(), b"");
    let refused = run(&["-p", "0", "--timeout", "0"], folder.path(), "");
    assert_eq!(refused.code(), Some(2), "{}", refused.stderr);
}
