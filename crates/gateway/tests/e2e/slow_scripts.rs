//! Scripts that take long hold no worker: it answers others meanwhile (SAF-43, HOK-17).

use qlio_testkit::{
    client::{Request, fetch},
    process::ServerProcess,
    upstream::{Expectation, Upstream},
};
use serde_json::json;
use tempfile::TempDir;

use super::{
    PATIENCE, folder,
    heavy::{TURNS_MIN, turns},
    serve_folder,
};

/// Works for a while and for many slices; without end for a negative number.
const WORK: &str = "
    function work(millis) {
        for (var end = Date.now() + millis; millis < 0 || Date.now() < end;) {}
        return 'done';
    }";

const WORK_MS: i64 = 700;

/// A server of one worker with a slow script of every kind, and a cheap route.
fn serve(upstream: &Upstream, settings: &str) -> (ServerProcess, TempDir) {
    let base = upstream.base();
    let table = |name: &str, clauses: &str| {
        (
            format!("tables/{name}.ql"),
            format!(
                "create table {name} on select get from '{base}/rows' {clauses}
                 on insert post to '{base}/posted' using bodyTemplate '{name}.ejs' type 'text/plain'"
            ),
        )
    };
    let route = |name: &str, script: &str| {
        let text = format!("{script} via route '/{name}' using method get");
        (format!("routes/{name}.ql"), text)
    };
    let with_work = |file: &str, text: &str| (file.to_owned(), format!("{WORK}\n{text}"));
    let files = [
        route("cheap", "return 1"),
        table("patched", "using patch 'patch.js'"),
        table("guarded", "auth using 'auth.js'"),
        table("changed", "using transformer 'change.js'"),
        table("plain", ""),
        with_work(
            "tables/patch.js",
            &format!(
                "exports['patch uri'] = function (args) {{ args.params.was = work({WORK_MS}); return args.uri; }};
                 exports['patch status'] = function (args) {{ args.params.was += '!'; return args.status; }};
                 exports['patch response'] = function (args) {{
                     return args.body.map(function (row) {{ row.a += args.params.was; return row; }});
                 }};"
            ),
        ),
        with_work(
            "tables/auth.js",
            &format!("exports.auth = function (params, config, done) {{ params.n = work({WORK_MS}); done(); }};"),
        ),
        with_work(
            "tables/change.js",
            &format!("exports.toJson = function (text, done) {{ work({WORK_MS}); done(JSON.parse(text).reverse()); }};"),
        ),
        (
            "tables/plain.ejs".to_owned(),
            format!("<% {WORK} %><%= work({WORK_MS}) %> <%= params.of %>"),
        ),
        with_work(
            "routes/m.js",
            &format!(
                "exports.call = function (text) {{ return [text, work({WORK_MS})]; }};
                 exports.row = function () {{ this.row.a += work({WORK_MS} / 2); this.next(null, this.row); }};
                 exports.column = function (a) {{ return a + work({WORK_MS} / 2); }};
                 exports.later = function () {{
                     var next = this.next, row = this.row;
                     setTimeout(function () {{ row.a += work({WORK_MS} / 2); next(null, row); }}, 10);
                 }};
                 exports.spin = function () {{ work(-1); }};"
            ),
        ),
        route("patched", "return select a from patched"),
        route("guarded", "return select a from guarded"),
        route("changed", "return select a from changed"),
        route("template", "return insert into plain (of) values ('it')"),
        route("call", "m = require('m.js')\nreturn m.call('x')"),
        route("row", "m = require('m.js')\nreturn select a as a from plain where m.row()"),
        route("later", "m = require('m.js')\nreturn select a as a from plain where m.later()"),
        route("column", "m = require('m.js')\nreturn select m.column(a) as a from plain"),
        route("spin", "m = require('m.js')\nreturn m.spin()"),
        ("qlio.json".to_owned(), settings.to_owned()),
    ];
    // Templates that nobody renders.
    let empty =
        ["patched", "guarded", "changed"].map(|name| (format!("tables/{name}.ejs"), String::new()));
    let files = files.iter().chain(&empty);
    let files: Vec<_> = files.map(|(name, text)| (&**name, &**text)).collect();
    let folder = folder(&files);
    let server = serve_folder(folder.path(), &["--dev", "--workers", "1", "--config", "qlio.json"]);
    (server, folder)
}

fn rows() -> Upstream {
    Upstream::with([
        Expectation::get("/rows").any_calls().json(json!([{"a": "x"}, {"a": "y"}])),
        Expectation::new("POST", "/posted").any_calls().json(json!("taken")),
    ])
    .unwrap()
}

#[test]
fn a_worker_answers_others_while_a_script_takes_long() {
    let upstream = rows();
    let settings = r#"{"hooks": {"timeMs": 20000}, "limits": {"cpuMs": 30000}}"#;
    let (server, _folder) = serve(&upstream, settings);
    for (name, expected) in [
        ("patched", json!(["xdone!", "ydone!"])),
        ("guarded", json!(["x", "y"])),
        ("changed", json!(["y", "x"])),
        ("template", json!("taken")),
        ("call", json!(["x", "done"])),
        ("row", json!([{"a": "xdone"}, {"a": "ydone"}])),
        ("later", json!([{"a": "xdone"}, {"a": "ydone"}])),
        ("column", json!([{"a": "xdone"}, {"a": "ydone"}])),
    ] {
        // The second time it is known to be slow.
        for time in ["first", "second"] {
            let (answer, cheap) = turns(&server, &Request::get(&format!("/{name}")), || true);
            assert_eq!(answer.status, 200, "{name}, {time}: {answer}");
            assert_eq!(answer.json().unwrap(), expected, "{name}, {time}");
            assert!(cheap >= TURNS_MIN, "{name}, {time}: {cheap} cheap answers meanwhile");
        }
    }
    let posted = upstream.requests().into_iter().find(|request| request.method == "POST");
    assert_eq!(posted.unwrap().text(), "done it");
}

#[test]
fn a_script_that_does_not_end_fails_in_its_time_and_is_charged_to_its_run() {
    let upstream = rows();
    let (server, _folder) = serve(&upstream, r#"{"hooks": {"timeMs": 300}}"#);
    let (answer, cheap) = turns(&server, &Request::get("/spin"), || true);
    let error = answer.json().unwrap();
    assert_eq!((answer.status, error["code"].as_str()), (500, Some("Q6010")), "{error}");
    assert_eq!(error["message"], "UDF m.spin exceeded its time limit", "{error}");
    assert!(cheap >= TURNS_MIN, "{cheap} cheap answers meanwhile");
    drop(server);
    let settings = r#"{"hooks": {"timeMs": 300}, "limits": {"cpuMs": 100}}"#;
    let (server, _folder) = serve(&upstream, settings);
    for name in ["spin", "patched", "row"] {
        let answer = fetch(server.address(), &Request::get(&format!("/{name}")), PATIENCE).unwrap();
        let error = answer.json().unwrap();
        assert_eq!(
            (answer.status, error["code"].as_str()),
            (400, Some("Q7016")),
            "{name}: {error}"
        );
    }
}
