//! The server: start, answers, stop.

use std::time::Duration;

use qlio_testkit::client::{Connection, Request, fetch};
use qlio_testkit::upstream::{Expectation, Fault, Respond, Upstream};
use rustix::process::Signal;
use serde_json::json;

use super::{PATIENCE, folder, run, serve_folder, start};

const ROUTE: (&str, &str) = ("routes/r.ql", "return {\"ok\": 1} via route '/r' using method get");

#[test]
fn it_names_its_address_and_answers() {
    let folder = folder(&[ROUTE]);
    let server = serve_folder(folder.path(), &["--dev"]);
    let answer = fetch(server.address(), &Request::get("/r"), PATIENCE).unwrap();
    assert_eq!((answer.status, answer.json().unwrap()), (200, json!({"ok": 1})));
    let finished = server.stop(PATIENCE);
    assert_eq!(finished.code(), Some(0), "{}", finished.stderr);
}

#[test]
fn it_takes_tables_routes_and_settings_from_their_usual_places() {
    let folder = folder(&[
        ("tables/t.ql", "create table t on select get from 'http://127.0.0.1:1/{config.place}'"),
        ROUTE,
        ("routes/place.ql", "return \"{config.place}\" via route '/place' using method get"),
        ("config/dev.json", "{\"place\": \"here\"}"),
    ]);
    let server = start(&["serve", "--port", "0", "--dev"], folder.path());
    let answer = fetch(server.address(), &Request::get("/r"), PATIENCE).unwrap();
    assert_eq!(answer.status, 200);
    let table = Request::get("/table?name=t&format=json");
    let table = fetch(server.address(), &table, PATIENCE).unwrap().json().unwrap();
    // As it is written (SAF-18); that the setting has its value is the route's to show.
    assert_eq!(table["select"]["uri"], "http://127.0.0.1:1/{config.place}");
    let place = fetch(server.address(), &Request::get("/place"), PATIENCE).unwrap();
    assert_eq!(place.json().unwrap(), json!("here"));
    assert_eq!(server.stop(PATIENCE).code(), Some(0));
}

#[test]
fn it_stops_on_interrupt_and_on_terminate() {
    for signal in [Signal::INT, Signal::TERM] {
        let folder = folder(&[]);
        let mut server = serve_folder(folder.path(), &["--dev"]);
        server.signal(signal).unwrap();
        let finished = server.finish(PATIENCE);
        assert_eq!(finished.code(), Some(0), "{signal:?}: {}", finished.stderr);
    }
}

#[test]
fn a_request_under_way_is_answered_before_the_stop() {
    let upstream =
        Upstream::with([Expectation::get("/t").respond(Respond::json(json!([1])).delay(300))])
            .unwrap();
    let table = format!("create table t on select get from '{}/t'", upstream.base());
    let route = "return select * from t via route '/t' using method get";
    let folder = folder(&[("tables/t.ql", &table), ("routes/t.ql", route)]);
    let server = serve_folder(folder.path(), &["--dev"]);
    let mut connection = Connection::open(server.address(), PATIENCE).unwrap();
    connection.send(&Request::get("/t").to_bytes(server.address())).unwrap();
    assert!(upstream.wait_until(PATIENCE, |ledger| ledger.in_flight() == 1));
    server.signal(Signal::TERM).unwrap();
    let answer = connection.answer("GET").unwrap();
    assert_eq!((answer.status, answer.json().unwrap()), (200, json!([1])));
    assert_eq!(server.stop(PATIENCE).code(), Some(0));
}

#[test]
fn a_client_that_goes_takes_its_upstream_calls_with_it() {
    let upstream =
        Upstream::with([Expectation::get("/t").respond(Respond::fault(Fault::Never))]).unwrap();
    let table = format!("create table t on select get from '{}/t'", upstream.base());
    let route = "return select * from t via route '/t' using method get";
    let folder = folder(&[("tables/t.ql", &table), ("routes/t.ql", route)]);
    let server = serve_folder(folder.path(), &["--dev"]);
    let mut connection = Connection::open(server.address(), PATIENCE).unwrap();
    connection.send(&Request::get("/t").to_bytes(server.address())).unwrap();
    assert!(upstream.wait_until(PATIENCE, |ledger| ledger.in_flight() == 1));
    drop(connection);
    // The table's own timeout is ten seconds: only the client's going can end the call before.
    assert!(upstream.wait_until(Duration::from_secs(5), |ledger| ledger.hang_ups() == 1));
}

/// A folder in which a route, a table and a setting are broken, and one route is whole.
fn broken() -> tempfile::TempDir {
    folder(&[
        ROUTE,
        ("routes/bad.ql", "retrn 1"),
        ("tables/bad.ql", "create tabel"),
        ("qlio.json", "{\n  \"timeout\": \"soon\"\n}"),
    ])
}

const BROKEN: [&str; 3] = ["routes/bad.ql", "tables/bad.ql", "qlio.json:2:3"];

#[test]
fn with_dev_or_lenient_what_loads_is_served() {
    for flag in ["--dev", "--lenient"] {
        let folder = broken();
        let server = serve_folder(folder.path(), &[flag]);
        assert_eq!(fetch(server.address(), &Request::get("/r"), PATIENCE).unwrap().status, 200);
        let told = |text: &str| BROKEN.iter().all(|place| text.contains(place));
        assert!(server.wait_for_stderr(PATIENCE, told), "{flag}: {}", server.stderr());
    }
}

/// Decision 23.
#[test]
fn a_server_does_not_start_half_and_tells_all_that_is_wrong() {
    let broken = broken();
    for more in [&[][..], &["--strict"], &["--dev", "--strict"]] {
        let finished = run(&[&["serve", "-p", "0"], more].concat(), broken.path(), "");
        assert_eq!(finished.code(), Some(1), "{more:?}: {}", finished.stderr);
        assert!(finished.stdout.is_empty(), "{}", finished.stdout);
        for place in BROKEN.iter().chain(&["3 errors; not started"]) {
            assert!(finished.stderr.contains(place), "{more:?}: {}", finished.stderr);
        }
    }
    let whole = folder(&[ROUTE, ("bad.json", "{")]);
    for (arguments, told) in [
        (["--tables", "nowhere"], "nowhere"),
        (["--routes", "nowhere"], "nowhere"),
        (["--app", "nowhere"], "there is no folder `nowhere`"),
        (["--config", "nowhere.json"], "nowhere.json: cannot read the settings"),
        (["--config", "bad.json"], "bad.json:1:2: invalid JSON"),
        (["--ecvPath", "up"], "--ecvPath: setting `ecvPath` must be a path such as `/ecv`"),
    ] {
        let finished = run(&[&["serve", "-p", "0"], &arguments[..]].concat(), whole.path(), "");
        assert_eq!(finished.code(), Some(1), "{arguments:?}: {}", finished.stderr);
        assert!(finished.stderr.contains(told), "{arguments:?}: {}", finished.stderr);
    }
}

/// Decision 3: the address that the server listens on does not matter.
#[test]
fn scripts_of_clients_are_answered_with_dev_or_when_switched_on() {
    let folder = folder(&[
        ROUTE,
        ("on.json", "{\"adhoc\": true}"),
        ("off.json", "{\"adhoc\": {\"enabled\": false}}"),
    ]);
    for (arguments, status) in [
        (&["--strict"][..], 404),
        (&["--dev"], 200),
        (&["--enable-q"], 200),
        (&["--config", "on.json"], 200),
        (&["--dev", "--config", "off.json"], 404),
        (&["--config", "off.json", "--enable-q"], 200),
        (&["--dev", "--disableQ"], 404),
        (&["--config", "on.json", "-q"], 404),
    ] {
        let server = serve_folder(folder.path(), arguments);
        let answer = fetch(server.address(), &Request::get("/q?s=return%201"), PATIENCE).unwrap();
        assert_eq!(answer.status, status, "{arguments:?}");
        assert_eq!(server.stop(PATIENCE).code(), Some(0));
    }
}

#[test]
fn a_port_that_is_taken_has_an_exit_code_of_its_own() {
    let taken = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = taken.local_addr().unwrap().port();
    let folder = folder(&[]);
    let finished = run(&["serve", "--port", &format!("0,{port}")], folder.path(), "");
    assert_eq!(finished.code(), Some(255), "{}", finished.stderr);
    assert!(finished.stderr.contains(&format!("port {port} is taken")), "{}", finished.stderr);
    assert!(finished.stdout.is_empty(), "{}", finished.stdout);
}

#[test]
fn it_serves_without_being_told_to_and_on_several_ports() {
    let folder = folder(&[ROUTE]);
    let mut server = start(&["--port", "0,0", "-p", "0", "--dev"], folder.path());
    assert!(server.wait_for_stdout(PATIENCE, |told| told.lines().count() == 3));
    let told = server.stdout();
    let addresses: Vec<&str> =
        told.lines().filter_map(|line| line.strip_prefix("http://")).collect();
    assert_eq!(addresses.len(), 3, "{told}");
    for address in addresses {
        let answer = fetch(address.parse().unwrap(), &Request::get("/r"), PATIENCE).unwrap();
        assert_eq!(answer.status, 200, "{address}");
    }
    server.signal(Signal::TERM).unwrap();
    assert_eq!(server.finish(PATIENCE).code(), Some(0));
}

#[test]
fn what_is_no_http_is_refused_with_a_reason_and_hurts_nobody() {
    let folder = folder(&[ROUTE]);
    let server = serve_folder(folder.path(), &["--dev"]);
    for (nonsense, status, reason) in [
        (b"\0\xff\r\n\r\n".to_vec(), 400, "HTTP version"),
        (b"\0\xff / HTTP/1.1\r\n\r\n".to_vec(), 400, "HTTP method"),
        (b"GET / HTTP/9.9\r\n\r\n".to_vec(), 400, "HTTP version"),
        (b"GET /r?a b HTTP/1.1\r\n\r\n".to_vec(), 400, "HTTP version"),
        (b"GET /r HTTP/1.1\r\ncontent-length: x\r\n\r\n".to_vec(), 400, "content-length"),
        (b"GET /r HTTP/1.1\r\nhost: a\r\nhost: b\r\n\r\n".to_vec(), 400, "one `host`"),
        ([b"GET /r HTTP/1.1\r\nx: ", vec![b'y'; 1 << 17].as_slice()].concat(), 431, "65536 bytes"),
        (vec![b'y'; 1 << 20], 414, "target is too long"),
    ] {
        let mut connection = Connection::open(server.address(), PATIENCE).unwrap();
        connection.send(&nonsense).unwrap();
        let answer = connection.answer("GET").unwrap();
        let body = answer.json().unwrap();
        assert_eq!(answer.status, status, "{body}");
        let told = body["error"].as_str().unwrap();
        assert!(told.starts_with("Server Error - ") && told.contains(reason), "{told}");
        assert_eq!(body["message"], told);
        assert!(connection.rest().unwrap().is_empty());
    }
    // Two framings at once: one of them holds, and the connection does not go on with the other.
    let both =
        b"POST /r HTTP/1.1\r\ntransfer-encoding: chunked\r\ncontent-length: 3\r\n\r\n0\r\n\r\n";
    let mut connection = Connection::open(server.address(), PATIENCE).unwrap();
    connection.send(both).unwrap();
    connection.finish().unwrap();
    let rest = connection.rest().unwrap();
    assert!(rest.is_empty() || rest.starts_with(b"HTTP/1."), "{rest:?}");
    assert_eq!(fetch(server.address(), &Request::get("/r"), PATIENCE).unwrap().status, 200);
}

#[test]
fn a_raw_target_is_answered_like_any_other() {
    let route =
        "return {\"a\": \"{a}\", \"b\": \"{b}\"} via route '/x<{a}>?b={b}' using method get";
    let folder = folder(&[("routes/raw.ql", route)]);
    let server = serve_folder(folder.path(), &["--dev"]);
    let mut connection = Connection::open(server.address(), PATIENCE).unwrap();
    let head = "HTTP/1.1\r\nhost: localhost\r\naccept: application/json\r\n\r\n";
    // SRV-33, SRV-34, to the letter, on a connection that goes on.
    let nf = "/nf.pl?\"><script>alert(73541);</script>";
    connection.send(format!("GET {nf} {head}GET {nf} {head}").as_bytes()).unwrap();
    for _ in 0..2 {
        let answer = connection.answer("GET").unwrap();
        let text = "Cannot GET /nf.pl?\">[removed]alert&#40;73541&#41;;[removed]";
        let body = json!({"message": text, "error": text});
        assert_eq!((answer.status, answer.json().unwrap()), (404, body));
    }
    // What a route gets of it is what was sent.
    connection.send(format!("GET /x<`\"é>?b=<\"é\"> {head}").as_bytes()).unwrap();
    let answer = connection.answer("GET").unwrap();
    let body = json!({"a": "`\"é", "b": "<\"é\">"});
    assert_eq!((answer.status, answer.json().unwrap()), (200, body));
    connection.send(b"GET /x<\xe9>?b= HTTP/1.1\r\nhost: localhost\r\n\r\n").unwrap();
    let answer = connection.answer("GET").unwrap();
    let text = "Server Error - malformed path";
    assert_eq!((answer.status, answer.json().unwrap()["error"].as_str()), (400, Some(text)));
}

#[test]
fn misspelt_settings_are_told_at_the_start_and_do_not_prevent_it() {
    let settings = "{\n  \"maxRequestLenght\": 5,\n  \"shop\": 1,\n  \"hooks\": {\"timMs\": 5}\n}";
    let folder = folder(&[ROUTE, ("c.json", settings)]);
    let server = serve_folder(folder.path(), &["--dev", "--config", "c.json"]);
    assert_eq!(fetch(server.address(), &Request::get("/r"), PATIENCE).unwrap().status, 200);
    for warning in [
        "warning[Q3021 unknown-setting]: c.json:2:3: no setting is called `maxRequestLenght`; did you mean `maxRequestLength`?",
        "error[Q3021 unknown-setting]: c.json:4:13: no setting is called `hooks.timMs`; did you mean `timeMs`?",
    ] {
        let told = |text: &str| text.contains(warning);
        assert!(server.wait_for_stderr(PATIENCE, told), "{}", server.stderr());
    }
    assert!(!server.stderr().contains("called `shop"), "{}", server.stderr());
}
