//! An app inside of this program: scripts, routes, events, budgets, giving up, closing.

use std::{
    fs,
    sync::mpsc,
    time::{Duration, Instant},
};

use bytes::Bytes;
use qlio_embed::{
    App, AppSettings, Failure, FailureKind, Options, RouteCall, Script, ScriptRun, Trust,
};
use qlio_testkit::upstream::{Expectation, Respond, Upstream};
use serde_json::json;
use tempfile::TempDir;

/// The longest that a test waits for what must happen.
const PATIENCE: Duration = Duration::from_mins(1);

fn folder(files: &[(&str, &str)]) -> TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, text) in files {
        let file = folder.path().join(name);
        fs::create_dir_all(file.parent().expect("it has one")).expect("a folder");
        fs::write(file, text).expect("a file");
    }
    folder
}

fn options(folder: &TempDir, settings: &str) -> Options {
    Options {
        app: folder.path().to_owned(),
        settings: AppSettings::Text(settings.to_owned()),
        threads: Some(2),
        ..Options::default()
    }
}

fn open(folder: &TempDir) -> App {
    App::open(&options(folder, "{}")).expect("the app is right")
}

fn outcome(app: &App, said: &str) -> Result<String, Failure> {
    let script = Script::parse(said).expect("it is right");
    app.exec(script)?.wait().map(|answer| answer.body)
}

fn failure(app: &App, said: &str) -> Failure {
    outcome(app, said).expect_err("it fails")
}

/// An upstream that answers one product at `/product`, and takes its time at `/slow`.
fn shop() -> (Upstream, TempDir) {
    let upstream = Upstream::with([
        Expectation::get("/product?id=7").json(json!({"id": 7, "title": "lamp"})).any_calls(),
        Expectation::get("/slow")
            .respond(Respond::json(json!({"id": 7})).delay(60_000))
            .any_calls(),
    ])
    .expect("an upstream");
    let tables = format!(
        "create table product on select get from '{base}/product?id={{^id}}';\n\
         create table slow on select get from '{base}/slow';",
        base = upstream.base()
    );
    let route = "rows = select title as title from product where id = '{id}'\n\
                 return rows via route '/products/{id}' using method get";
    let folder = folder(&[("tables/t.ql", &tables), ("routes/r.ql", route)]);
    (upstream, folder)
}

#[test]
fn a_script_has_variables_a_request_and_tables() {
    let (_upstream, folder) = shop();
    let app = open(&folder);
    assert_eq!(app.size(), (2, 1));
    assert!(app.warnings().is_empty(), "{:?}", app.warnings());
    let script = r#"{"script": "rows = select title as title, id as id from product where id = '{key}'\nreturn {\"rows\": \"{rows}\", \"who\": \"{who}\", \"own\": \"{own}\"}",
        "context": {"own": {"a": 1}}, "request": {"params": {"key": "7", "who": "me"}}}"#;
    let body = outcome(&app, script).expect("it runs");
    assert_eq!(body, r#"{"rows":[{"title":"lamp","id":7}],"who":"me","own":{"a":1}}"#);
    // From the plan that was kept.
    assert_eq!(outcome(&app, script).expect("it runs"), body);
}

#[test]
fn variables_of_the_host_are_sources() {
    let folder = folder(&[]);
    let app = open(&folder);
    let script = r#"{"script": "return select a as a from rows where b = 2",
        "context": {"rows": [{"a": 1, "b": 1}, {"a": 2, "b": 2}]}}"#;
    assert_eq!(outcome(&app, script).expect("it runs"), r#"[{"a":2}]"#);
}

#[test]
fn a_route_answers_as_it_does_over_http() {
    let (_upstream, folder) = shop();
    let app = open(&folder);
    let call = |path: &str| {
        let call = RouteCall::parse(&format!(r#"{{"path": "{path}"}}"#), Bytes::new());
        app.call(call.expect("it is right")).expect("there is room").wait().expect("it answers")
    };
    let answer = call("/products/7");
    assert_eq!((answer.status, &*answer.body), (200, br#"[{"title":"lamp"}]"#.as_slice()));
    assert!(answer.headers.contains(&("content-type".to_owned(), "application/json".to_owned())));
    assert_eq!(call("/nowhere").status, 404);
}

#[test]
fn errors_say_what_where_and_whose_fault() {
    let folder = folder(&[]);
    let app = open(&folder);
    let compile = failure(&app, r#"{"script": "return\n select a form b"}"#);
    assert_eq!((compile.kind, compile.status), (FailureKind::Compile, 400));
    assert!(compile.to_json().contains(r#""line":2"#), "{}", compile.to_json());
    let text = "create table t on select get from 'http://127.0.0.1:9/'; return select * from t";
    let run = failure(&app, &json!({"script": text}).to_string());
    assert_eq!((run.kind, run.status), (FailureKind::Run, 502));
    assert!(run.to_json().contains(r#""code":"Q5002""#), "{}", run.to_json());
}

#[test]
fn budgets_of_the_settings_hold() {
    let folder = folder(&[]);
    let app = App::open(&options(
        &folder,
        r#"{"limits": {"rows": 3}, "adhoc": {"limits": {"rows": 1}}}"#,
    ))
    .expect("the app is right");
    let rows = |count: usize, trust: &str| {
        let rows: Vec<_> = (0..count).map(|number| json!({"a": number})).collect();
        let script = "return select a as a from rows where a >= 0";
        let said = json!({"script": script, "context": {"rows": rows}, "trust": trust});
        outcome(&app, &said.to_string())
    };
    assert!(rows(1, "app").is_ok());
    let refused = rows(9, "app").expect_err("too many rows");
    assert!(refused.to_json().contains("Q7016"), "{}", refused.to_json());
    assert!(rows(3, "client").is_err(), "a client has less");
}

#[test]
fn a_script_of_a_client_reads_no_settings_and_calls_nobody_at_will() {
    let folder = folder(&[]);
    let app = App::open(&options(&folder, r#"{"own": "inside"}"#)).expect("the app is right");
    let read = |trust: &str| {
        outcome(&app, &json!({"script": "return '{config.own}'", "trust": trust}).to_string())
    };
    assert_eq!(read("app").expect("it runs"), r#""inside""#);
    assert!(read("client").map_or(true, |body| !body.contains("inside")));
    let upstream = Upstream::start().expect("an upstream");
    let text =
        format!("create table t on select get from '{}/'; return select * from t", upstream.base());
    let refused = failure(&app, &json!({"script": text, "trust": "client"}).to_string());
    assert!(refused.to_json().contains("Q5009"), "{}", refused.to_json());
    assert!(upstream.requests().is_empty());
}

fn slow(app: &App, timeout: Option<Duration>) -> ScriptRun {
    let script = Script { timeout, ..Script::new("return select * from slow") };
    app.exec(script).expect("there is room")
}

#[test]
fn giving_up_drops_what_was_begun() {
    let (upstream, folder) = shop();
    let app = open(&folder);
    let run = slow(&app, None);
    assert!(upstream.wait_until(PATIENCE, |ledger| ledger.in_flight() == 1));
    run.cancel();
    assert_eq!(run.wait().expect_err("given up").kind, FailureKind::Cancelled);
    assert!(upstream.wait_until(PATIENCE, |ledger| ledger.hang_ups() == 1));
    let late = slow(&app, Some(Duration::from_millis(50)));
    assert_eq!(late.wait().expect_err("too slow").kind, FailureKind::TimedOut);
}

#[test]
fn one_run_more_than_may_be_is_refused() {
    let (upstream, folder) = shop();
    let app = App::open(&Options { runs_max: 1, ..options(&folder, "{}") }).expect("it is right");
    let run = slow(&app, None);
    assert!(upstream.wait_until(PATIENCE, |ledger| ledger.in_flight() == 1));
    assert_eq!(failure(&app, r#"{"script": "return 1"}"#).kind, FailureKind::Busy);
    run.cancel();
    assert!(run.wait().is_err());
    assert_eq!(outcome(&app, r#"{"script": "return 1"}"#).expect("there is room"), "1");
}

#[test]
fn events_are_told_in_order_and_end() {
    let (_upstream, folder) = shop();
    let app = open(&folder);
    let said = r#"{"script": "rows = select id as id from product where id = 7\nreturn rows",
        "events": ["ack", "statement-request", "statement-response", "script-done", "rows"]}"#;
    let run = app.exec(Script::parse(said).expect("it is right")).expect("there is room");
    let mut names = Vec::new();
    loop {
        let (sender, receiver) = mpsc::channel();
        assert!(run.next_event(move |event| sender.send(event).expect("the test listens")));
        match receiver.recv_timeout(PATIENCE).expect("the run goes on") {
            Some(event) => names.push(event.name),
            None => break,
        }
    }
    assert_eq!(names, ["ack", "statement-request", "statement-response", "rows", "script-done"]);
    assert!(run.wait().is_ok());
}

#[test]
fn closing_waits_for_runs_and_then_gives_them_up() {
    let (upstream, folder) = shop();
    let app = open(&folder);
    let run = slow(&app, None);
    assert!(upstream.wait_until(PATIENCE, |ledger| ledger.in_flight() == 1));
    let (closed, is_closed) = mpsc::channel();
    let began = Instant::now();
    app.close(Duration::from_millis(200), move || closed.send(()).expect("the test listens"));
    assert_eq!(failure(&app, r#"{"script": "return 1"}"#).kind, FailureKind::Closed);
    assert_eq!(run.wait().expect_err("given up").kind, FailureKind::Closed);
    is_closed.recv_timeout(PATIENCE).expect("it closes");
    assert!(began.elapsed() >= Duration::from_millis(200));
    assert!(upstream.wait_until(PATIENCE, |ledger| ledger.hang_ups() == 1));
}

#[test]
fn an_app_that_is_dropped_gives_up_what_runs() {
    let (upstream, folder) = shop();
    let app = open(&folder);
    let run = slow(&app, None);
    assert!(upstream.wait_until(PATIENCE, |ledger| ledger.in_flight() == 1));
    drop(app);
    assert_eq!(run.wait().expect_err("given up").kind, FailureKind::Closed);
}

#[test]
fn what_is_wrong_with_an_app_is_told_at_once() {
    let folder = folder(&[("tables/a.ql", "create tabel a"), ("tables/b.ql", "create table")]);
    let told = App::open(&options(&folder, r#"{"deadlin": 1}"#)).err().expect("it is wrong");
    let told = told.to_string();
    for part in ["a.ql", "b.ql", "Q1001"] {
        assert!(told.contains(part), "{told}");
    }
    let nowhere = Options { app: "/no/such/folder".into(), ..Options::default() };
    assert!(App::open(&nowhere).is_err());
}

#[test]
fn many_runs_at_once_all_end() {
    let folder = folder(&[]);
    let app = open(&folder);
    let script = |number: usize| Script {
        trust: Trust::App,
        ..Script::parse(&json!({"script": "return '{n}'", "context": {"n": number}}).to_string())
            .expect("it is right")
    };
    let runs: Vec<_> =
        (0..500).map(|number| app.exec(script(number)).expect("there is room")).collect();
    for (number, run) in runs.into_iter().enumerate() {
        assert_eq!(run.wait().expect("it runs").body, format!("\"{number}\""));
    }
}
