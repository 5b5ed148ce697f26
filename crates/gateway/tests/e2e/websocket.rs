//! WebSocket connections as connections: limits, clients that leave, clients that do not answer, and
//! the stop of the server. What is said on them is the business of the case files.

use std::time::Duration;

use qlio_testkit::case::conversation::Received;
use qlio_testkit::process::{ServerProcess, wait};
use qlio_testkit::upstream::{Expectation, Fault, Ledger, Respond, Upstream};
use qlio_testkit::websocket::{Refused, Socket, connect};
use rustix::process::Signal;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::{PATIENCE, folder, serve_folder};

const OPTIONS: [&str; 4] = ["--config", "config.json", "--dev", "--strict"];

/// A server with one table `t`, its upstream and its settings.
struct Bench {
    upstream: Upstream,
    server: Option<ServerProcess>,
    _folder: TempDir,
}

impl Bench {
    fn new(respond: Respond, config: &Value, more: &[&str]) -> Self {
        let upstream =
            Upstream::with([Expectation::get("/t").respond(respond).any_calls()]).unwrap();
        let table = format!("create table t on select get from '{}/t'", upstream.base());
        let folder = folder(&[("tables/t.ql", &table), ("config.json", &config.to_string())]);
        let server = serve_folder(folder.path(), &[&OPTIONS, more].concat());
        Self { upstream, server: Some(server), _folder: folder }
    }

    fn connect(&self) -> Socket {
        let address = self.server.as_ref().unwrap().address();
        connect(address, "/", Some("ql.io-console"), &[], PATIENCE).unwrap()
    }
}

fn script(text: &str, id: u64) -> String {
    json!({"type": "script", "data": text, "id": id}).to_string()
}

#[track_caller]
fn message(socket: &mut Socket) -> Value {
    match socket.receive() {
        Received::Message(message) => message,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_message_over_the_limit_closes_the_connection_and_no_other() {
    let config = json!({"wsMaxFrame": 2000, "wsMaxMessage": 1000});
    let bench = Bench::new(Respond::json(json!(1)), &config, &[]);
    let mut good = bench.connect();
    let frame = |bytes: usize| {
        let empty = script("return \"\"", 1).len();
        script(&format!("return \"{}\"", "x".repeat(bytes - empty)), 1)
    };
    let mut bad = bench.connect();
    bad.send_text(&frame(1000)).unwrap();
    assert_eq!(message(&mut bad)["type"], "script-result");
    bad.send_text(&frame(1001)).unwrap();
    assert_eq!(bad.receive(), Received::Closed(Some(1009)));
    let mut worse = bench.connect();
    // Larger than anything that is read in one go; the server must not wait for all of it.
    worse.send_text(&"x".repeat(1_000_000)).unwrap();
    assert_eq!(worse.receive(), Received::Closed(Some(1009)));
    let mut binary = bench.connect();
    binary.send_binary(b"{}").unwrap();
    assert_eq!(binary.receive(), Received::Closed(Some(1003)));
    good.send_text(&script("return 1", 1)).unwrap();
    assert_eq!(message(&mut good)["data"]["body"], 1);
}

#[test]
fn a_client_that_goes_takes_its_scripts_with_it() {
    let bench = Bench::new(Respond::fault(Fault::Never), &json!({}), &[]);
    let mut socket = bench.connect();
    socket.send_text(&script("select * from t", 1)).unwrap();
    assert!(bench.upstream.wait_until(PATIENCE, |ledger| ledger.in_flight() == 1));
    drop(socket);
    // The statement's own timeout is ten seconds: only the client's going can end the call before.
    assert!(bench.upstream.wait_until(Duration::from_secs(5), |ledger| ledger.hang_ups() == 1));
}

#[test]
fn too_many_scripts_at_once_are_refused_by_name() {
    let bench = Bench::new(Respond::json(json!(1)).delay(500), &json!({}), &[]);
    let mut socket = bench.connect();
    let asked: u64 = 40;
    for id in 0..asked {
        socket.send_text(&script("select * from t", id)).unwrap();
    }
    let messages: Vec<Value> = (0..asked).map(|_| message(&mut socket)).collect();
    let refused: Vec<_> = messages.iter().filter(|one| one["type"] == "error").collect();
    assert_eq!(refused.len(), 24, "{messages:?}");
    let text = refused[0]["data"]["message"].as_str().unwrap();
    assert!(text.contains("more than 16 scripts at once"), "{text}");
    assert_eq!(refused[0]["id"], 16);
    socket.send_text(&script("return 5", 99)).unwrap();
    assert_eq!(message(&mut socket)["data"]["body"], 5, "there is room again");
}

#[test]
fn connections_have_a_number_and_a_time_without_use() {
    let config = json!({"wsMaxConnections": 1, "wsIdleTimeout": 300});
    let bench = Bench::new(Respond::json(json!("late")).delay(1_000), &config, &["--workers", "1"]);
    let mut socket = bench.connect();
    let address = bench.server.as_ref().unwrap().address();
    let refused = connect(address, "/", Some("ql.io-console"), &[], PATIENCE);
    assert!(matches!(refused, Err(Refused::Status(503))));
    // A script that runs is use.
    socket.send_text(&script("select * from t", 1)).unwrap();
    assert_eq!(message(&mut socket)["data"]["body"], "late");
    assert_eq!(socket.receive(), Received::Closed(Some(1008)));
    drop(socket);
    assert!(wait(PATIENCE, || connect(address, "/", Some("ql.io-console"), &[], PATIENCE).is_ok()));
}

#[test]
fn scripts_that_nobody_steps_are_given_up_and_have_a_number() {
    let config = json!({"wsMaxSessions": 1, "wsSessionIdle": 2_000});
    let bench = Bench::new(Respond::json(json!(1)), &config, &[]);
    let stepped = script("__debug__a = 1\nb = 2\nreturn \"{a}{b}\"", 1);
    let mut other = bench.connect();
    let mut socket = bench.connect();
    socket.send_text(&json!({"type": "events", "data": "[\"ack\"]"}).to_string()).unwrap();
    assert_eq!(message(&mut socket)["type"], "events");
    socket.send_text(&stepped).unwrap();
    assert_eq!(message(&mut socket)["type"], "ack", "it has begun");
    other.send_text(&stepped).unwrap();
    let refused = message(&mut other);
    assert_eq!(refused["type"], "error", "{refused}");
    let text = refused["data"]["message"].as_str().unwrap();
    assert!(text.contains("`wsMaxSessions`"), "{text}");
    let result = message(&mut socket);
    assert_eq!((&result["type"], &result["data"]), (&json!("script-result"), &Value::Null));
    let config = json!({"wsSessionTime": 300, "wsSessionIdle": 60_000});
    let bench = Bench::new(Respond::json(json!(1)), &config, &[]);
    let mut socket = bench.connect();
    socket.send_text(&stepped).unwrap();
    assert_eq!(message(&mut socket)["data"], Value::Null);
}

#[test]
fn stopping_waits_for_the_script_that_runs() {
    // One worker, so that what one connection has been told, the others know as well.
    let one_worker = ["--workers", "1"];
    // Long enough for what follows to happen before the answer, also on a machine that is busy.
    let respond = Respond::json(json!("late")).delay(3_000);
    let mut bench = Bench::new(respond, &json!({}), &one_worker);
    let mut idle = bench.connect();
    let mut busy = bench.connect();
    let mut stepping = bench.connect();
    stepping.send_text(&script("__debug__a = 1\nreturn a", 1)).unwrap();
    busy.send_text(&script("select * from t", 7)).unwrap();
    assert!(bench.upstream.wait_until(PATIENCE, |ledger| ledger.in_flight() == 1));
    let server = bench.server.take().unwrap();
    server.signal(Signal::TERM).unwrap();
    assert_eq!(idle.receive(), Received::Closed(Some(1001)));
    assert_eq!(message(&mut stepping)["data"], Value::Null, "nobody steps any more");
    assert_eq!(stepping.receive(), Received::Closed(Some(1001)));
    busy.send_text(&script("return 1", 8)).unwrap();
    let refused = message(&mut busy);
    assert_eq!((&refused["type"], &refused["id"]), (&json!("error"), &json!(8)));
    let result = message(&mut busy);
    assert_eq!((&result["id"], &result["data"]["body"]), (&json!(7), &json!("late")));
    assert_eq!(busy.receive(), Received::Closed(Some(1001)));
    drop((idle, busy, stepping));
    let finished = server.stop(PATIENCE);
    assert_eq!(finished.code(), Some(0), "{}", finished.stderr);
}

#[test]
fn without_scripts_of_clients_a_script_closes_the_connection() {
    let bench = Bench::new(Respond::json(json!(1)), &json!({}), &["--disableQ"]);
    let mut socket = bench.connect();
    socket.send_text(&json!({"type": "events", "data": "[]"}).to_string()).unwrap();
    assert_eq!(message(&mut socket)["type"], "events");
    socket.send_text(&script("return 1", 1)).unwrap();
    assert_eq!(socket.receive(), Received::Closed(Some(1008)));
}

#[test]
fn a_client_that_answers_no_ping_is_dropped() {
    let config = json!({"wsPingInterval": 50, "wsPongTimeout": 50});
    let bench = Bench::new(Respond::fault(Fault::Never), &config, &[]);
    let mut socket = bench.connect();
    socket.send_text(&script("select * from t", 1)).unwrap();
    assert!(bench.upstream.wait_until(PATIENCE, |ledger| ledger.in_flight() == 1));
    // The library answers pings while it reads, which this client does not do.
    assert!(bench.upstream.wait_until(Duration::from_secs(5), |ledger| ledger.hang_ups() == 1));
    drop(socket);
}

#[test]
fn a_client_that_answers_pings_stays() {
    let config = json!({"wsPingInterval": 50, "wsPongTimeout": 2000});
    let bench = Bench::new(Respond::json(json!("late")).delay(1000), &config, &[]);
    let mut socket = bench.connect();
    socket.send_text(&script("select * from t", 1)).unwrap();
    assert_eq!(message(&mut socket)["data"]["body"], "late");
}

#[test]
fn a_client_that_does_not_read_is_given_up() {
    const SCRIPTS_MAX: usize = 100;
    let text = "x".repeat(4 << 20);
    let bench = Bench::new(Respond::json(json!(text)), &json!({}), &[]);
    let mut socket = bench.connect();
    // Results pile up until they are more than the queue of 16 MiB and what the system holds for a
    // connection; whoever is given up cannot send any more.
    let is_given_up = (0..SCRIPTS_MAX).any(|id| {
        let is_sent = socket.send_text(&script("select * from t", id as u64)).is_ok();
        let is_answered = |ledger: &Ledger| ledger.requests().len() > id && ledger.in_flight() == 0;
        bench.upstream.wait_until(Duration::from_secs(2), is_answered);
        !is_sent
    });
    assert!(is_given_up);
    let mut results = 0;
    let end = loop {
        match socket.receive() {
            Received::Message(_) => results += 1,
            end => break end,
        }
    };
    assert!(results < SCRIPTS_MAX, "{results} results");
    assert!(!matches!(end, Received::Closed(Some(code)) if code != 1008), "{end:?}");
}
