//! Log files: the tree of events of a request, who is told, and what is not (LOG-4, LOG-6, LOG-1).

use std::{collections::HashMap, fs, path::Path};

use qlio_testkit::{
    case::conversation::Received,
    client::{Connection, Request, fetch},
    upstream::{Expectation, Fault, Respond, Upstream},
    websocket::connect,
};
use serde_json::{Value, json};

use super::{PATIENCE, SERVE, folder, run, serve_folder};

const OPTIONS: [&str; 4] = ["--config", "config.json", "--logs", "logs"];

/// The lines of a file.
fn lines(folder: &Path, file: &str) -> Vec<Value> {
    let text = fs::read_to_string(folder.join("logs").join(file)).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The lines of all files.
fn all_lines(folder: &Path) -> Vec<Value> {
    let files = ["access.log", "proxy.log", "error.log", "ql.io.log"];
    files.into_iter().flat_map(|file| lines(folder, file)).collect()
}

/// `type/name` of an event and of everything it is part of, outermost first.
fn path(line: &Value, begun: &HashMap<u64, &Value>) -> String {
    let own = format!("{}/{}", line["type"].as_str().unwrap(), line["name"].as_str().unwrap());
    match begun.get(&line["parentEventId"].as_u64().unwrap()) {
        Some(parent) => format!("{} > {own}", path(parent, begun)),
        None => own,
    }
}

/// Quirks 62, 68, 69, 70: the tree as it should be, every begin with its end, requests in `access.log`.
#[test]
fn q68_q70_a_request_is_a_tree_of_events_in_four_files() {
    let upstream =
        Upstream::with([Expectation::any().respond(Respond::json(json!([{"a": 1}]))).any_calls()])
            .unwrap();
    let base = upstream.base();
    let table = format!(
        "create table t on select get from '{base}/t?key={{key}}' using headers 'Authorization' = 'Basic {{config.pass}}'
           on insert post to '{base}/t'"
    );
    let route = "-- Two statements\nrows = select * from t where key = 'k3y';\ndone = insert into t (a) values ('1');\n\
                 return {\"rows\": \"{rows}\", \"done\": \"{done}\"} via route '/r' using method get";
    let config = r#"{"pass": "hush-hush", "secrets": ["pass"]}"#;
    let folder =
        folder(&[("tables/t.ql", &table), ("routes/r.ql", route), ("config.json", config)]);
    let server = serve_folder(folder.path(), &OPTIONS);
    let request = Request::get("/r?token=t0ken&x=1").header("cookie", "sid=c00kie");
    assert_eq!(fetch(server.address(), &request, PATIENCE).unwrap().status, 200);
    assert_eq!(server.stop(PATIENCE).code(), Some(0));

    let all = all_lines(folder.path());
    let text = serde_json::to_string(&all).unwrap();
    for secret in ["hush-hush", "t0ken", "k3y", "c00kie"] {
        assert!(!text.contains(secret), "{secret}: {text}");
    }
    let of_class = |class: &'static str| all.iter().filter(move |line| line["clazz"] == class);
    let id = |line: &Value| line["eventId"].as_u64().unwrap();
    let begun: HashMap<u64, &Value> = of_class("begin").map(|line| (id(line), line)).collect();
    let mut ended: Vec<u64> = of_class("end").map(id).collect();
    ended.sort_unstable();
    let mut expected: Vec<u64> = begun.keys().copied().collect();
    expected.sort_unstable();
    assert_eq!(ended, expected, "each event ends once");
    let mut paths: Vec<String> = begun.values().map(|line| path(line, &begun)).collect();
    paths.sort_unstable();
    let engine = "route/GET /r > ql.io/start-exec > ql.io/engine";
    let table = format!("{engine} > ql.io/select > ql.io/select-exec > table/t");
    let mut expected = vec![
        "route/GET /r".to_owned(),
        "route/GET /r > ql.io/start-exec".to_owned(),
        engine.to_owned(),
        format!("{engine} > ql.io/select"),
        format!("{engine} > ql.io/select > ql.io/select-exec"),
        table.clone(),
        format!("{table} > ql.io/http-request"),
        format!("{table} > ql.io/processingEvent"),
        format!("{engine} > ql.io/insert"),
        format!("{engine} > ql.io/insert > ql.io/http-request"),
        format!("{engine} > ql.io/insert > ql.io/processingEvent"),
    ];
    expected.sort_unstable();
    assert_eq!(paths, expected);

    let access = lines(folder.path(), "access.log");
    assert_eq!(access.len(), 2);
    assert_eq!((&access[0]["type"], &access[0]["clazz"]), (&json!("route"), &json!("begin")));
    assert_eq!(access[0]["message"]["ip"], "127.0.0.1");
    assert_eq!(access[0]["message"]["path"], "/r?token=[redacted]&x=1");
    assert_eq!(access[1]["message"], json!({"status": "Success", "statusCode": 200}));
    assert!(access[1]["duration"].is_u64() && access[0].get("duration").is_none());
    let proxy = lines(folder.path(), "proxy.log");
    assert_eq!(proxy.len(), 4);
    assert!(proxy.iter().all(|line| line["name"] == "http-request"));
    let shared = |member: &str| {
        all.iter().filter(|line| line["tid"] == 0).all(|line| line[member] == access[0][member])
    };
    assert!(shared("uuid") && shared("pid"));
    let sizes = all.iter().find(|line| line["message"].get("resSize").is_some()).unwrap();
    assert_eq!(
        (&sizes["clazz"], path(sizes, &begun)),
        (&json!("info"), format!("{table} > ql.io/processingEvent > ql.io/ql.io"))
    );
}

/// LOG-6: a header that is made from settings may hold a secret that nobody has marked.
#[test]
fn headers_made_from_settings_are_not_logged() {
    let upstream = Upstream::with([Expectation::get("/t")
        .with_header("x-app", Some("id app-4711"))
        .with_header("x-zone", Some("inner-zone"))
        .with_header("x-plain", Some("seen"))
        .respond(Respond::json(json!(1)))])
    .unwrap();
    let table = format!(
        "create table t on select get from '{}/t' using headers 'X-App' = 'id {{config.app}}', \
         'X-Zone' = '{{zone}}', 'X-Plain' = 'seen' using defaults zone = '{{config.zone}}'",
        upstream.base()
    );
    let folder = folder(&[
        ("tables/t.ql", &table),
        ("routes/r.ql", "return select * from t via route '/r' using method get"),
        ("config.json", r#"{"app": "app-4711", "zone": "inner-zone"}"#),
    ]);
    let server = serve_folder(folder.path(), &OPTIONS);
    let answer = fetch(server.address(), &Request::get("/r"), PATIENCE).unwrap();
    assert_eq!(answer.status, 200, "{answer}");
    assert_eq!(server.stop(PATIENCE).code(), Some(0));
    upstream.verify().unwrap();
    let all = all_lines(folder.path());
    let text = serde_json::to_string(&all).unwrap();
    assert!(!text.contains("app-4711") && !text.contains("inner-zone"), "{text}");
    let begun = lines(folder.path(), "proxy.log").remove(0);
    let headers = &begun["message"]["headers"];
    assert_eq!(headers["x-app"], "[redacted]");
    assert_eq!(headers["x-plain"], "seen");
}

/// Failures are told once, in `error.log`, and end their events all the same; so does a client that goes.
#[test]
fn what_fails_or_is_given_up_ends_too() {
    let upstream = Upstream::with([
        Expectation::get("/broken").respond(Respond::fault(Fault::Reset)).any_calls(),
        Expectation::get("/never").respond(Respond::fault(Fault::Never)),
    ])
    .unwrap();
    let base = upstream.base();
    let tables = ["broken", "never"]
        .map(|name| format!("create table {name} on select get from '{base}/{name}'"));
    let routes = ["broken", "never"]
        .map(|name| format!("return select * from {name} via route '/{name}' using method get"));
    let folder = folder(&[
        ("tables/broken.ql", &tables[0]),
        ("tables/never.ql", &tables[1]),
        ("routes/broken.ql", &routes[0]),
        ("routes/never.ql", &routes[1]),
        ("config.json", "{}"),
    ]);
    let options = [&OPTIONS[..], &["--enable-q"]].concat();
    let server = serve_folder(folder.path(), &options);
    let status =
        |target: &str| fetch(server.address(), &Request::get(target), PATIENCE).unwrap().status;
    assert_eq!((status("/broken"), status("/none"), status("/q?s=selec")), (502, 404, 400));
    let mut connection = Connection::open(server.address(), PATIENCE).unwrap();
    connection.send(&Request::get("/never").to_bytes(server.address())).unwrap();
    assert!(upstream.wait_until(PATIENCE, |ledger| ledger.in_flight() == 1));
    drop(connection);
    assert!(upstream.wait_until(PATIENCE, |ledger| ledger.hang_ups() == 1));
    assert_eq!(server.stop(PATIENCE).code(), Some(0));

    let all = all_lines(folder.path());
    let ids = |class: &str| {
        let mut ids: Vec<u64> = all
            .iter()
            .filter(|line| line["clazz"] == class)
            .map(|line| line["eventId"].as_u64().unwrap())
            .collect();
        ids.sort_unstable();
        ids
    };
    assert_eq!(ids("begin"), ids("end"));
    let access = lines(folder.path(), "access.log");
    let failed = access.iter().filter(|line| line["message"]["status"] == "Failure").count();
    assert_eq!((access.len(), failed), (8, 4));
    let errors = lines(folder.path(), "error.log");
    let codes: Vec<&str> =
        errors.iter().filter_map(|line| line["message"]["code"].as_str()).collect();
    assert_eq!(codes.len(), 2, "{errors:?}");
}

/// LOG-5: a script over WebSocket is a request of its own in all four files, also one that fails, that does not
/// compile, or that its client gives up.
#[test]
fn scripts_over_websocket_are_requests_of_their_own() {
    let upstream = Upstream::with([
        Expectation::get("/t").respond(Respond::json(json!([{"a": 1}]))),
        Expectation::get("/broken").respond(Respond::fault(Fault::Reset)).any_calls(),
        Expectation::get("/never").respond(Respond::fault(Fault::Never)),
    ])
    .unwrap();
    let base = upstream.base();
    let tables = ["t", "broken", "never"]
        .map(|name| format!("create table {name} on select get from '{base}/{name}';"))
        .concat();
    let folder = folder(&[("tables/all.ql", &tables), ("config.json", "{}")]);
    let server = serve_folder(folder.path(), &[&OPTIONS[..], &["--enable-q"]].concat());
    let protocol = Some("ql.io-console");
    let mut socket =
        connect(server.address(), "/any?token=t0ken", protocol, &[], PATIENCE).unwrap();
    let script = |text: &str| json!({"type": "script", "data": text}).to_string();
    for text in ["select * from t", "select * from broken", "selec"] {
        socket.send_text(&script(text)).unwrap();
        let Received::Message(message) = socket.receive() else { panic!("no answer to {text}") };
        assert_eq!(message["type"], "script-result", "{message}");
    }
    socket.send_text(&script("select * from never")).unwrap();
    assert!(upstream.wait_until(PATIENCE, |ledger| ledger.in_flight() == 1));
    drop(socket);
    assert!(upstream.wait_until(PATIENCE, |ledger| ledger.hang_ups() == 1));
    assert_eq!(server.stop(PATIENCE).code(), Some(0));

    let all = all_lines(folder.path());
    assert!(!serde_json::to_string(&all).unwrap().contains("t0ken"), "{all:?}");
    let ids = |class: &str| {
        let of_class = all.iter().filter(|line| line["clazz"] == class);
        let mut ids: Vec<u64> = of_class.map(|line| line["eventId"].as_u64().unwrap()).collect();
        ids.sort_unstable();
        ids
    };
    assert_eq!(ids("begin"), ids("end"), "each event ends once");
    let access = lines(folder.path(), "access.log");
    let of_class = |class: &'static str| access.iter().filter(move |line| line["clazz"] == class);
    assert!(of_class("begin").all(|line| line["message"]["path"] == "/any?token=[redacted]"));
    let statuses: Vec<&Value> =
        of_class("end").map(|line| &line["message"]["statusCode"]).collect();
    assert_eq!(statuses, [&json!(200), &json!(502), &json!(400), &Value::Null], "{access:?}");
    let scripts: Vec<&str> = of_class("begin").map(|line| line["uuid"].as_str().unwrap()).collect();
    // Whose lines a file has, of those that a condition picks.
    let whose = |file: &str, is_meant: &dyn Fn(&Value) -> bool| {
        let lines = lines(folder.path(), file);
        let meant = lines.iter().filter(|line| is_meant(line));
        let uuids: Vec<&str> = meant.map(|line| line["uuid"].as_str().unwrap()).collect();
        (0..4).filter(|script| uuids.contains(&scripts[*script])).collect::<Vec<usize>>()
    };
    assert_eq!(whose("proxy.log", &|line| line["name"] == "http-request"), [0, 1, 3]);
    assert_eq!(whose("error.log", &|line| line["message"]["code"].is_string()), [1, 2]);
    assert_eq!(whose("ql.io.log", &|line| line["name"] == "engine"), [0, 1, 3]);
}

#[test]
fn a_folder_that_cannot_be_written_is_refused_at_the_start() {
    let folder = folder(&[("config.json", "{}"), ("logs", "a file")]);
    let finished = run(&[&SERVE[..], &OPTIONS].concat(), folder.path(), "");
    assert_eq!(finished.code(), Some(1));
    assert!(finished.stderr.contains("cannot write log files to `logs`"), "{}", finished.stderr);
}
