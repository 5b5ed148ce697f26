//! Lines on stdout, and how much of them there is (LOG-9 to LOG-13).

use qlio_testkit::{
    client::{Request, fetch},
    process::ServerProcess,
    upstream::{Expectation, Respond, Upstream},
    websocket::connect,
};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::{
    PATIENCE, SERVE,
    admin::{admin_of, ask, json_of},
    binary, folder,
};

const PARENT: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

/// An app that asks an upstream, and waits for it.
fn app() -> (Upstream, TempDir) {
    let answer = Respond::json(json!([{"a": 1}]));
    let asked = Expectation { prefix: Some("/t".to_owned()), ..Expectation::default() };
    let upstream = Upstream::with([asked.any_calls().respond(answer)]).unwrap();
    let table = format!("create table t on select get from '{}/t?key={{key}}'", upstream.base());
    let route =
        "return select * from t where key = 's3cret-k' via route '/t/{id}' using method get";
    let settings = json!({"k": "s3cret-k", "secrets": ["k"], "traces": {"accept": "all"}});
    let files = [
        ("settings.json", settings.to_string()),
        ("tables/t.ql", table),
        ("routes/t.ql", route.to_owned()),
    ];
    let files = files.each_ref().map(|(name, text)| (*name, text.as_str()));
    (upstream, folder(&files))
}

fn serve(app: &TempDir, format: &str, level: &str) -> ServerProcess {
    let arguments =
        [&SERVE[..], &["--config", "settings.json", "--admin", "0", "--enable-q"]].concat();
    let variables = [("QLIO_LOG_FORMAT", format), ("QLIO_LOG_LEVEL", level)];
    ServerProcess::start(binary(), &arguments, app.path(), &variables, PATIENCE).unwrap()
}

fn visit(server: &ServerProcess, id: &str) {
    let request = Request::get("/t/7?token=t0ken").header("request-id", id);
    let request = request.header("traceparent", PARENT);
    assert_eq!(fetch(server.address(), &request, PATIENCE).unwrap().status, 200);
}

/// The lines of a request, once the last of them is there.
fn lines(server: &ServerProcess, id: &str) -> Vec<Value> {
    let lines = || {
        let stdout = server.stdout();
        let whole = stdout.rsplit_once('\n').map_or("", |(whole, _)| whole).to_owned();
        let lines = whole.lines().skip(1).map(|line| serde_json::from_str(line).expect(line));
        lines.filter(|line: &Value| line["request_id"] == id).collect::<Vec<_>>()
    };
    let is_last = |line: &Value| line["message"] == "request" || line["message"] == "script";
    let is_over = |_: &str| lines().iter().any(is_last);
    assert!(server.wait_for_stdout(PATIENCE, is_over), "{}", server.stdout());
    lines()
}

#[test]
fn a_line_of_json_names_request_and_trace() {
    let (_upstream, app) = app();
    let server = serve(&app, "json", "info");
    visit(&server, "r-1");
    let [line] = &lines(&server, "r-1")[..] else { panic!("{}", server.stdout()) };
    for (name, expected) in [
        ("level", "info"),
        ("trace_id", "0af7651916cd43dd8448eb211c80319c"),
        ("span_id", "b7ad6b7169203331"),
        ("method", "GET"),
        ("route", "/t/{id}"),
        ("client", "127.0.0.1"),
    ] {
        assert_eq!(line[name], expected, "{line}");
    }
    assert_eq!(line["status"], 200);
    assert!(line["duration_us"].as_u64().is_some() && line["time"].as_str().is_some(), "{line}");
    assert!(line["path"].as_str().unwrap().starts_with("/t/7?token="), "{line}");
    let finished = server.stop(PATIENCE);
    assert!(!finished.stdout.contains("t0ken"), "{finished:?}");
}

#[test]
fn a_script_over_websocket_has_the_lines_of_a_request() {
    let (_upstream, app) = app();
    let server = serve(&app, "json", "debug");
    let headers = [("request-id", "r-1"), ("traceparent", PARENT)];
    let path = "/console?token=t0ken";
    let mut socket =
        connect(server.address(), path, Some("ql.io-console"), &headers, PATIENCE).unwrap();
    let script = json!({"type": "script", "data": "select * from t where key = 's3cret-k'"});
    socket.send_text(&script.to_string()).unwrap();
    let [call, script] = &lines(&server, "r-1")[..] else { panic!("{}", server.stdout()) };
    assert_eq!((&call["message"], &call["table"]), (&json!("upstream request"), &json!("t")));
    for (name, expected) in [
        ("message", "script"),
        ("protocol", "websocket"),
        ("level", "info"),
        ("trace_id", "0af7651916cd43dd8448eb211c80319c"),
        ("span_id", "b7ad6b7169203331"),
        ("method", "GET"),
        ("client", "127.0.0.1"),
    ] {
        assert_eq!(script[name], expected, "{script}");
    }
    assert_eq!((&script["status"], &script["trace_id"]), (&json!(200), &call["trace_id"]));
    assert!(script["duration_us"].as_u64().is_some(), "{script}");
    drop(socket);
    let finished = server.stop(PATIENCE);
    assert!(!finished.stdout.contains("t0ken") && !finished.stdout.contains("s3cret-k"));
}

#[test]
fn an_operator_changes_the_level_while_the_server_works() {
    let (_upstream, app) = app();
    let server = serve(&app, "json", "warn");
    let admin = admin_of(&server);
    visit(&server, "r-1");
    assert_eq!(json_of(admin, "/log-level"), json!({"level": "warn"}));
    let changed = ask(admin, "PUT", "/log-level?level=debug");
    assert_eq!((changed.status, changed.json().unwrap()), (200, json!({"level": "debug"})));
    visit(&server, "r-2");
    let [call, request] = &lines(&server, "r-2")[..] else { panic!("{}", server.stdout()) };
    assert_eq!((&call["level"], &call["table"]), (&json!("debug"), &json!("t")));
    assert_eq!((&call["status"], &request["status"]), (&json!(200), &json!(200)));
    assert_eq!(call["trace_id"], request["trace_id"]);

    for (method, target, status) in [
        ("PUT", "/log-level", 400),
        ("PUT", "/log-level?level=loud", 400),
        ("DELETE", "/log-level", 405),
    ] {
        let refused = ask(admin, method, target);
        assert_eq!(refused.status, status, "{}", refused.text());
    }
    assert!(
        ask(admin, "POST", "/log-level?level=loud").text().contains("error, warn, info, debug")
    );
    let foreign =
        Request::new("PUT", "/log-level?level=error").header("origin", "http://evil.test");
    assert_eq!(fetch(admin, &foreign, PATIENCE).unwrap().status, 403);
    assert_eq!(json_of(admin, "/log-level"), json!({"level": "debug"}));

    // What the settings say holds again when they say something new.
    assert_eq!(ask(admin, "POST", "/reload").status, 200);
    assert_eq!(json_of(admin, "/log-level"), json!({"level": "debug"}));
    let finished = server.stop(PATIENCE);
    assert!(!finished.stdout.contains("r-1"), "{finished:?}");
    assert!(!finished.stdout.contains("s3cret-k"), "{finished:?}");
    let told = "an operator has changed the log level from warn to debug";
    assert!(finished.stdout.contains(told) && finished.stderr.contains(told), "{finished:?}");
}

#[test]
fn people_read_text_and_without_a_terminal_nothing_is_written() {
    let (_upstream, app) = app();
    let server = serve(&app, "text", "info");
    visit(&server, "r-1");
    let is_told = |text: &str| text.contains(" GET     /t/7?token=") && text.contains(" ms\n");
    assert!(server.wait_for_stdout(PATIENCE, is_told), "{}", server.stdout());
    drop(server);
    let server = serve(&app, "none", "info");
    let admin = admin_of(&server);
    visit(&server, "r-1");
    let refused = ask(admin, "GET", "/log-level");
    assert_eq!(refused.status, 404);
    assert!(refused.text().contains("`log.format`"), "{}", refused.text());
    assert_eq!(server.stop(PATIENCE).stdout.lines().count(), 1);
}
