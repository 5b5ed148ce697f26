//! Commands that run to their end: output on stdout, diagnostics on stderr, exit codes.

use std::fs;

use qlio_testkit::upstream::{Expectation, Respond, Upstream};
use serde_json::{Value, json};

use super::{binary, folder, run};

fn printed(stdout: &str) -> Value {
    serde_json::from_str(stdout).unwrap()
}

#[test]
fn run_prints_the_result_as_json() {
    let folder = folder(&[("s.ql", "return {\"a\": [1, null]}")]);
    for (arguments, stdin) in [
        (["run", "s.ql"].as_slice(), ""),
        (["run", "-"].as_slice(), "return {\"a\": [1, null]}"),
        (["run", "-e", "return {\"a\": [1, null]}"].as_slice(), ""),
        (["run", "-e", "-- note\nreturn {\"a\": [1, null]}"].as_slice(), ""),
    ] {
        let finished = run(arguments, folder.path(), stdin);
        assert_eq!(finished.code(), Some(0), "{}", finished.stderr);
        assert_eq!(printed(&finished.stdout), json!({"a": [1, null]}));
    }
}

#[test]
fn run_takes_variables_and_a_request() {
    let folder = folder(&[("r.json", "{\"query\": {\"q\": \"Q\"}}")]);
    let arguments = ["run", "-", "--var", "v={\"k\":1}", "--request", "r.json", "--envelope"];
    let finished = run(&arguments, folder.path(), "return {\"v\": \"{v}\", \"q\": \"{q}\"}");
    assert_eq!(finished.code(), Some(0), "{}", finished.stderr);
    let envelope = printed(&finished.stdout);
    assert_eq!(envelope["value"], json!({"v": {"k": 1}, "q": "Q"}));
    assert!(envelope["headers"].is_object() || envelope["headers"].is_array());
}

#[test]
fn a_failing_script_exits_with_one_and_says_why_on_stderr() {
    let folder = folder(&[]);
    let finished = run(&["run", "-e", "return select * from nope"], folder.path(), "");
    assert_eq!(finished.code(), Some(1));
    assert!(finished.stderr.contains("No such table nope"), "{}", finished.stderr);
    assert!(finished.stdout.trim().is_empty(), "{}", finished.stdout);
}

#[test]
fn a_syntax_error_is_shown_with_its_place() {
    let folder = folder(&[("s.ql", "a = 1\nb = }\n")]);
    let finished = run(&["run", "s.ql"], folder.path(), "");
    assert_eq!(finished.code(), Some(1));
    assert!(finished.stderr.contains("s.ql:2:5"), "{}", finished.stderr);
}

#[test]
fn unknown_options_exit_with_one_and_unusable_files_with_two() {
    let folder = folder(&[]);
    for (arguments, code) in [
        (["run", "--no-such-option"].as_slice(), 1),
        (&["--no-such-option"], 1),
        (&["no-such-command"], 1),
        (&["run", "no-such-file.ql"], 2),
    ] {
        let finished = run(arguments, folder.path(), "");
        assert_eq!(finished.code(), Some(code), "{arguments:?}: {}", finished.stderr);
        assert!(!finished.stderr.is_empty());
    }
}

#[test]
fn output_has_no_colours_when_it_is_no_terminal() {
    let folder = folder(&[]);
    let finished = run(&["run", "-e", "b = }"], folder.path(), "");
    assert!(!finished.stderr.contains('\u{1b}'), "{}", finished.stderr);
}

/// `docs/reference/plan.md`.
#[test]
fn plan_shows_what_runs_in_parallel() {
    let folder = folder(&[
        (
            "tables/t.ql",
            "create table lib.books on select get from 'http://127.0.0.1:1/books?subject={subject}'\n\
             create table lib.down on select get from 'http://127.0.0.1:1/none'",
        ),
        (
            "routes/fb.ql",
            "ok = select title as t from lib.books where subject = 'sea'; \
             bad = select * from lib.down || {\"fallback\":true};\n\
             return {\"ok\":\"{ok}\",\"bad\":\"{bad}\"} via route '/fb' using method get;",
        ),
    ]);
    let plan = |format: &str| {
        let arguments = ["plan", "routes/fb.ql", "--tables", "tables", "--format", format];
        let finished = run(&arguments, folder.path(), "");
        assert_eq!(finished.code(), Some(0), "{}", finished.stderr);
        finished.stdout
    };
    assert_eq!(
        plan("text"),
        "level 1, in parallel\n  \
           n1 [1] ok = select from lib.books\n  \
           n2 [1] bad = select from lib.down  -- else n3\n  \
           n3 [1] bad = [Object] (fallback)\n\
         level 2\n  \
           n4 [2] [Object]  -- after n1, n2\n\
         then\n  \
           n5 [2] return  -- after n4\n\
         total = slowest of ok, bad\n"
    );
    let json = printed(&plan("json"));
    assert_eq!(json["version"], 1);
    assert_eq!(json["nodes"].as_array().map(Vec::len), Some(5));
    assert!(plan("dot").starts_with("digraph plan {\n  rankdir=TB; node [shape=box];\n  n5 "));
    assert_eq!(plan("yuml").trim_end(), "[2]->[1],[2]->[1.2],[1.2]->[note:1.3],");
    assert!(plan("svg").starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\" "));
}

/// `docs/reference/plan.md`.
#[test]
fn plan_says_where_the_time_of_a_run_went() {
    let rows = |milliseconds| Respond::json(json!([{"id": 1}])).delay(milliseconds);
    let upstream = Upstream::with([
        Expectation::get("/ids").respond(rows(30)),
        Expectation::get("/det").respond(rows(0)),
        Expectation::get("/rev?z=Z").respond(rows(200)),
    ])
    .unwrap();
    let table = |name: &str, rest: &str| {
        format!("create table {name} on select get from '{}/{name}{rest}'", upstream.base())
    };
    let script = "i = select id from ids\nd = select * from det where x in ('{i}')\n\
                  r = select * from rev where x in ('{i}')\nreturn {'d': '{d}', 'r': '{r}'}";
    let folder = folder(&[
        ("tables/ids.ql", &table("ids", "")),
        ("tables/det.ql", &table("det", "")),
        ("tables/rev.ql", &table("rev", "?z={z}")),
        ("s.ql", script),
        (
            "trace.json",
            r#"[{"line":1,"type":"statement-success","elapsed":80},
                {"line":2,"type":"statement-success","elapsed":95},
                {"line":3,"type":"statement-success","elapsed":120},
                {"line":4,"type":"statement-success","elapsed":12}]"#,
        ),
    ]);
    let plan = |more: &[&str]| {
        let arguments = [&["plan", "s.ql", "-t", "tables"], more].concat();
        let finished = run(&arguments, folder.path(), "");
        assert_eq!(finished.code(), Some(0), "{}", finished.stderr);
        finished.stdout
    };
    let measured = printed(&plan(&["--run", "--var", "z=\"Z\"", "--format", "json"]));
    upstream.verify().unwrap();
    assert_eq!(measured["latency"]["criticalPath"], json!(["n1", "n3", "n4"]));
    let reviews = &measured["nodes"][2];
    assert_eq!(reviews["requests"], 1);
    assert_eq!(reviews["slowest"]["uri"], format!("{}/rev?z=Z", upstream.base()));
    assert!(reviews["elapsed"].as_f64().unwrap() >= 200.0, "{reviews}");
    assert!(measured["nodes"][1]["slack"].as_f64().unwrap() > 0.0, "{measured}");
    let text = plan(&["--trace", "trace.json"]);
    assert!(
        text.ends_with(
            "total 212 ms; critical path [1] 80 ms -> [3] 120 ms -> [4] 12 ms; \
             [2] 95 ms has 25 ms slack\n"
        ),
        "{text}"
    );
    let bad = run(&["plan", "s.ql", "-t", "tables", "--trace", "s.ql"], folder.path(), "");
    assert_eq!(bad.code(), Some(2));
    assert!(bad.stderr.contains("`s.ql`: invalid JSON"), "{}", bad.stderr);
}

#[test]
fn check_counts_in_words_that_fit_the_number() {
    let table = "create table t on select get from 'http://127.0.0.1:1/t'";
    let folder = folder(&[("tables/t.ql", table), ("routes/r.ql", "retrn 1"), ("ok/t.ql", table)]);
    let finished = run(&["check"], folder.path(), "");
    assert_eq!(finished.code(), Some(1));
    assert!(
        finished.stderr.ends_with("1 table, 0 routes, 1 error, 0 warnings\n"),
        "{}",
        finished.stderr
    );
    let finished = run(&["check", "ok"], folder.path(), "");
    assert_eq!(finished.code(), Some(0));
    assert!(
        finished.stderr.ends_with("1 table, 0 routes, 0 errors, 0 warnings\n"),
        "{}",
        finished.stderr
    );
}

#[test]
fn misspelt_settings_are_told_with_a_place_and_the_nearest_name() {
    let settings = "{\n  \"maxNestedRequest\": 5,\n  \"shop\": {\"host\": \"h\"},\n  \"xml\": {\"corce\": \"none\"}\n}";
    let table = "create table t on select get from 'http://127.0.0.1:1/t'";
    let folder = folder(&[
        ("c.json", settings),
        ("right.json", "{\"timeout\": 5}"),
        ("s.ql", "return \"{config.shop.host}\""),
        ("t.ql", table),
    ]);
    let warnings = [
        "warning[Q3021 unknown-setting]: c.json:2:3: no setting is called `maxNestedRequest`; did you mean `maxNestedRequests`?",
        "error[Q3021 unknown-setting]: c.json:4:11: no setting is called `xml.corce`; did you mean `coerce`?",
    ];
    for arguments in [["run", "s.ql"], ["check", "s.ql"], ["plan", "s.ql"]] {
        let arguments = [&arguments[..], &["--config", "c.json"]].concat();
        let finished = run(&arguments, folder.path(), "");
        let is_checked = arguments[0] == "check";
        assert_eq!(finished.code(), Some(is_checked.into()), "{}", finished.stderr);
        for warning in warnings {
            assert!(finished.stderr.contains(warning), "{arguments:?}: {}", finished.stderr);
        }
        assert!(!finished.stderr.contains("called `shop"), "{}", finished.stderr);
    }
    let strict = |config: &str| {
        let arguments = ["check", "t.ql", "--strict", "--config", config];
        run(&arguments, folder.path(), "").code()
    };
    assert_eq!((strict("c.json"), strict("right.json")), (Some(1), Some(0)));
}

#[test]
fn settings_that_cannot_be_used_are_errors_with_a_place() {
    let settings = "{\n  \"timeout\": \"soon\",\n  \"key\": \"${QLIO_NO_SUCH_VARIABLE}\"\n}";
    let folder =
        folder(&[("c.json", settings), ("bad.json", "{\n  \"a\": }"), ("s.ql", "return 1")]);
    let finished = run(&["check", "s.ql", "--config", "c.json"], folder.path(), "");
    assert_eq!(finished.code(), Some(1));
    for error in [
        "error[Q3010 bad-config]: c.json:2:3: setting `timeout` must be a whole number of milliseconds from 1 to 4294967295, not the text `soon`",
        "error[Q3022 missing-secret]: c.json:3:3: environment variable `QLIO_NO_SUCH_VARIABLE` is not set",
    ] {
        assert!(finished.stderr.contains(error), "{}", finished.stderr);
    }
    let finished = run(&["check", "s.ql", "--config", "bad.json"], folder.path(), "");
    assert!(
        finished.stderr.contains("error[Q4001 bad-json]: bad.json:2:8: invalid JSON"),
        "{}",
        finished.stderr
    );
}

#[test]
fn a_result_that_can_not_be_printed_is_no_success() {
    let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let mut command = std::process::Command::new(binary());
    let ended = command.args(["run", "-e", "return 1"]).stdout(full).output().unwrap();
    let told = String::from_utf8(ended.stderr).unwrap();
    assert_eq!(ended.status.code(), Some(1), "{told}");
    assert_eq!(told.matches("error: cannot write to standard output").count(), 1, "{told}");
}

#[test]
fn a_request_file_has_objects_and_the_envelope_the_name_of_the_request_id() {
    let folder = folder(&[("r.json", "{\"query\": [1]}")]);
    let finished = run(&["run", "-e", "return 1", "--request", "r.json"], folder.path(), "");
    assert_eq!(finished.code(), Some(2));
    assert!(
        finished.stderr.contains("`query` in `r.json` must be an object"),
        "{}",
        finished.stderr
    );

    let upstream =
        Upstream::with([Expectation::get("/t").respond(Respond::json(json!(1)))]).unwrap();
    let table = format!("create table t on select get from '{}/t'", upstream.base());
    let settings = "{\"requestId\": \"x-trace\"}";
    let folder = super::folder(&[("tables/t.ql", &table), ("c.json", settings)]);
    let arguments =
        ["run", "-e", "return select * from t", "--envelope", "-t", "tables", "-c", "c.json"];
    let finished = run(&arguments, folder.path(), "");
    let headers = &printed(&finished.stdout)["headers"];
    assert!(headers["x-trace"].is_string(), "{headers}");
}

#[test]
fn no_script_changes_the_media_type_of_its_answer() {
    let folder = folder(&[]);
    let script = "return 1 via route '/a' using method get \
                  using headers 'Content-Type' = 'text/x', 'x-kept' = 'k'";
    let finished = run(&["run", "-e", script, "--envelope"], folder.path(), "");
    let headers = &printed(&finished.stdout)["headers"];
    assert_eq!(*headers, json!({"content-type": "application/json", "x-kept": "k"}));
}

#[test]
fn the_body_of_a_request_file_is_sent_on_with_its_media_type() {
    for (request, media_type, body) in [
        (
            json!({"body": "<a/>", "headers": {"Content-Type": "application/xml"}}),
            "application/xml",
            "<a/>",
        ),
        (json!({"body": {"a": 1}}), "application/json", "{\"a\":1}"),
        (
            json!({"body": {"a": 1}, "headers": {"content-type": "application/x+json"}}),
            "application/x+json",
            "{\"a\":1}",
        ),
    ] {
        let upstream =
            Upstream::with([Expectation::new("POST", "/t").respond(Respond::json(json!(1)))])
                .unwrap();
        let table = format!("create table t on insert post to '{}/t'", upstream.base());
        let folder = folder(&[("tables/t.ql", &table), ("r.json", &request.to_string())]);
        let arguments =
            ["run", "-e", "return insert into t", "-t", "tables", "--request", "r.json"];
        let finished = run(&arguments, folder.path(), "");
        assert_eq!(finished.code(), Some(0), "{}", finished.stderr);
        let received = &upstream.requests()[0];
        assert_eq!(received.header("content-type").as_deref(), Some(media_type));
        assert_eq!(received.body, body.as_bytes());
    }
}
