//! Who may drive a server that does not run in development mode: what is open is what is switched on,
//! and for whom (SAF-28 to SAF-31). What holds with `--dev` stands in `spec/route/trust.yaml`.

use qlio_testkit::client::{Answer, Request, fetch};
use qlio_testkit::process::ServerProcess;
use qlio_testkit::upstream::{Expectation, Respond, Upstream};
use serde_json::json;
use tempfile::TempDir;

use super::{PATIENCE, folder, serve_folder};

fn ask(server: &ServerProcess, request: &Request) -> Answer {
    fetch(server.address(), request, PATIENCE).unwrap()
}

/// The path that runs a script.
fn script(text: &str) -> String {
    let encoded: Vec<String> = text.bytes().map(|byte| format!("%{byte:02X}")).collect();
    format!("/q?s={}", encoded.concat())
}

const ROUTE: (&str, &str) = ("routes/r.ql", "return 7 via route '/r?a={a}' using method get");
const TABLE: (&str, &str) = ("tables/t.ql", "create table t on select get from 'http://h.test/'");

#[test]
fn nothing_is_open_because_a_server_listens_on_loopback() {
    let folder = folder(&[ROUTE, TABLE]);
    let server = serve_folder(folder.path(), &["--host", "127.0.0.1"]);
    for path in [&script("return 1"), "/tables", "/table?name=t"] {
        assert_eq!(ask(&server, &Request::get(path)).status, 404, "{path}");
    }
    let traced = ask(&server, &Request::get("/r?a=1&events=true&callback=f"));
    assert_eq!(traced.header("content-type").as_deref(), Some("application/json"));
    let link = traced.header("link").unwrap_or_default();
    assert!(!link.contains("statement-request"), "{link}");
    assert_eq!(ask(&server, &Request::get("/routes")).status, 200);
}

/// CNC-14, and PRO-11 for connectors out of process.
#[test]
fn a_client_makes_no_table_of_a_connector() {
    let described = json!({"protocol": 1, "verbs": {"look": {"kinds": ["select"]}, "drain": {"kinds": ["select"]}}});
    let upstream = Upstream::with([
        Expectation::get("/describe").json(described).any_calls(),
        Expectation::new("POST", "/execute").json(json!({"value": "look"})),
    ])
    .unwrap();
    let far = json!({"connector": upstream.base()}).to_string();
    let folder = folder(&[
        ROUTE,
        ("connectors/sea.js", "exports.exec = async (args, verb) => ({body: verb.method});"),
        ("connectors/far.json", &far),
        ("tables/sea.ql", "create table sea via sea on select do look at 'x'"),
        ("tables/far.ql", "create table far via far on select do look at 'x'"),
        ("qlio.json", r#"{"adhoc": true}"#),
    ]);
    let server = serve_folder(folder.path(), &["--config", "qlio.json"]);
    for name in ["sea", "far"] {
        let own = format!(
            "create table own via {name} on select do drain at 'x'; return select * from own"
        );
        let refused = ask(&server, &Request::new("POST", &script(&own)));
        assert_eq!(refused.json().unwrap()["code"], "Q3009", "{:?}", refused.json());
        let used = format!("return select * from {name}");
        let used = ask(&server, &Request::new("POST", &script(&used)));
        assert_eq!(used.json().unwrap(), json!("look"), "{name}");
    }
    upstream.verify().unwrap();
}

/// A server that answers scripts of clients, with one loaded table.
fn open_server(settings: &str) -> (Upstream, ServerProcess, TempDir) {
    let answer = || Respond::json(json!([{"a": 1}]));
    let upstream = Upstream::with([
        Expectation::get("/t").respond(answer()).any_calls(),
        Expectation::new("POST", "/t").respond(answer()).any_calls(),
        Expectation::new("DELETE", "/t").respond(answer()).any_calls(),
    ])
    .unwrap();
    let at = format!("'{}/t'", upstream.base());
    let table = format!(
        "create table t on select get from {at} on insert post to {at} on update put to {at} on delete delete {at}"
    );
    let search = format!("create table search on select post to {at}");
    let files = [ROUTE, ("tables/t.ql", &table), ("tables/s.ql", &search), ("qlio.json", settings)];
    let folder = folder(&files);
    let server = serve_folder(folder.path(), &["--config", "qlio.json"]);
    (upstream, server, folder)
}

#[test]
fn scripts_that_write_are_sent_by_post() {
    let (upstream, server, _folder) = open_server(r#"{"adhoc": true}"#);
    let own_table =
        format!("create table o on select post to '{}/t'; return select * from o", upstream.base());
    for writing in [
        "return insert into t (a) values (1)",
        "b = {'a': 1}; return update t with '{b}'",
        "return delete from t where a = 1",
        "x = insert into t (a) values (1); return 1",
        "y = 1; if (y) { x = insert into t (a) values (1) } return 1",
        "x = delete from t where a = 1 || 5; return x",
        &own_table,
    ] {
        for method in ["GET", "HEAD"] {
            let answer = ask(&server, &Request::new(method, &script(writing)));
            assert_eq!(answer.status, 405, "{method} {writing}");
            assert_eq!(answer.header("allow").as_deref(), Some("POST,PUT,DELETE,PATCH"));
        }
    }
    let error = ask(&server, &Request::get(&script("return delete from t where a = 1")));
    assert_eq!(error.json().unwrap()["code"], "Q2035");
    assert_eq!(upstream.requests().len(), 0);
    for reading in [
        "return select * from t",
        // The operator's word that it reads.
        "return select * from search",
        "a = [{'b': 1}]; insert into a (b) values (2); return a",
    ] {
        let answer = ask(&server, &Request::get(&script(reading)));
        assert_eq!(answer.status, 200, "{reading}: {:?}", answer.json());
    }
    let body = json!({"s": "return insert into t (a) values (1)"});
    assert_eq!(ask(&server, &Request::new("POST", "/q").json(&body)).status, 200);
    let form = Request::new("POST", "/q")
        .header("content-type", "application/x-www-form-urlencoded")
        .body("s=return%20delete%20from%20t%20where%20a%20%3D%201");
    assert_eq!(ask(&server, &form).status, 200);
    // A page may hide where it comes from, but not that it asks by POST.
    assert_eq!(ask(&server, &form.header("origin", "https://evil.example")).status, 403);
}

#[test]
fn scripts_want_a_name_of_this_server_and_routes_do_not() {
    let settings = r#"{"adhoc": true, "trust": {"hosts": ["api.test"]}}"#;
    let (_upstream, server, _folder) = open_server(settings);
    let with_host = |path: &str, host: &str| {
        let answer = ask(&server, &Request::get(path).header("host", host));
        (answer.status, answer.json().unwrap()["code"].as_str().map(str::to_owned))
    };
    let run = script("return 1");
    for host in ["api.test", "API.test:8080", "192.0.2.7:3000", "[2001:db8::7]", "localhost"] {
        assert_eq!(ask(&server, &Request::get(&run).header("host", host)).status, 200, "{host}");
    }
    for host in ["evil.test", "api.test.evil.test", "127.0.0.1.evil.test:3000"] {
        assert_eq!(with_host(&run, host), (403, Some("Q2034".to_owned())), "{host}");
        let path = "/r?a=1";
        assert_eq!(ask(&server, &Request::get(path).header("host", host)).status, 200, "{host}");
    }
    let page = |site: &str| Request::get("/r?a=1").header("sec-fetch-site", site);
    assert_eq!(ask(&server, &page("cross-site").header("origin", "https://x.test")).status, 200);
}

#[test]
fn jsonp_of_a_script_is_for_listed_pages() {
    let (_upstream, server, _folder) = open_server(r#"{"adhoc": true, "jsonp": true}"#);
    let path = format!("{}&callback=f", script("return 1"));
    let own = ask(&server, &Request::get(&path));
    assert_eq!(own.status, 200);
    assert!(String::from_utf8(own.body).unwrap().contains("f(1)"));
    let foreign = ask(&server, &Request::get(&path).header("sec-fetch-site", "cross-site"));
    assert_eq!(foreign.status, 403);
}

#[test]
fn what_a_table_writes_down_as_a_credential_is_told_nowhere() {
    let respond = Respond::json(json!({"echo": "p4ssw0rd open-sesame s3ss10n-cookie"})).status(500);
    let upstream = Upstream::with([Expectation::any().respond(respond).any_calls()]).unwrap();
    let host = upstream.address();
    let table = format!(
        "create table t on select get from 'http://mole:p4ssw0rd@{host}/x?api_key=k3y-of-t&w={{secretWord}}'\n\
         using headers 'Cookie' = 's3ss10n-cookie', 'Authorization' = 'Basic bW9sZTpw'\n\
         using defaults secretWord = 'open-sesame'"
    );
    let route = "return select * from t via route '/r' using method get";
    let folder = folder(&[("tables/t.ql", &table), ("routes/r.ql", route)]);
    let server = serve_folder(folder.path(), &["--dev", "--logs", "logs"]);
    let mut told = String::new();
    for path in [
        "/table?name=t&format=json",
        "/table?name=t&format=html",
        "/r?events=true",
        &script("return describe t"),
        &script("return select nope from t where nope = 1"),
    ] {
        let answer = ask(&server, &Request::get(path));
        told += &String::from_utf8(answer.body).unwrap();
        told += &answer.headers.iter().map(|(_, value)| value.as_str()).collect::<String>();
    }
    assert!(told.contains("redacted"), "{told}");
    let plan = super::run(&["plan", "--run", "-e", "return select * from t"], folder.path(), "");
    told += &plan.stdout;
    told += &plan.stderr;
    let checked = super::run(&["run", "-e", "return select * from t"], folder.path(), "");
    told += &checked.stdout;
    told += &checked.stderr;
    let finished = server.stop(PATIENCE);
    told += &finished.stderr;
    for file in std::fs::read_dir(folder.path().join("logs")).unwrap() {
        told += &std::fs::read_to_string(file.unwrap().path()).unwrap();
    }
    assert!(told.contains("http-request"), "{told}");
    for secret in ["p4ssw0rd", "k3y-of-t", "open-sesame", "s3ss10n-cookie", "bW9sZTpw", "mole:"] {
        let at = told.find(secret);
        assert_eq!(at, None, "{secret}: {}", &told[at.unwrap_or(0).saturating_sub(300)..]);
    }
}
