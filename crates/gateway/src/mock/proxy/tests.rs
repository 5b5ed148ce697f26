//! The proxy over real sockets, in front of a scripted upstream.

use std::{
    io::{Read as _, Write as _},
    net::{SocketAddr, TcpListener, TcpStream},
    thread,
    time::{Duration, Instant},
};

use qlio_data::codec::json;
use qlio_testkit::{
    client::{Connection, Request},
    upstream::{Expectation, Respond, Upstream},
};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::*;
use crate::mock::tests::{PATIENCE, Running, Serves};

impl Serves for ProxyServer {
    fn address(&self) -> SocketAddr {
        self.url().trim_start_matches("http://").parse().unwrap()
    }

    fn run(self, until: impl Future<Output = ()>) -> impl Future<Output = ()> {
        Self::run(self, until)
    }
}

struct Bench {
    mock: Running,
    tcp: Vec<(u16, SocketAddr)>,
    saves: TempDir,
}

/// A proxy with this configuration; `PORT` stands for the port of the upstream.
fn proxy(config: &impl ToString, upstream: SocketAddr) -> Bench {
    let text = config.to_string().replace("\"PORT\"", &upstream.port().to_string());
    let saves = TempDir::new().unwrap();
    let mut options = ProxyOptions::new(json::parse_str(&text).unwrap());
    options.port = 0;
    options.saves = saves.path().join("saves");
    let mut tcp = Vec::new();
    let mock = Running::begin(async {
        let server = serve(options).await.unwrap();
        tcp = server.tcp_addresses();
        server
    });
    Bench { mock, tcp, saves }
}

fn upstream() -> Upstream {
    Upstream::with([Expectation::any().any_calls().respond(Respond::json(json!({"ok": 1})))])
        .unwrap()
}

#[test]
fn a_slow_route_is_answered_late_and_can_be_changed_and_asked_about() {
    let upstream = upstream();
    // As text, because the order of members is kept.
    let config = r#"{"/books": {"host": "localhost", "port": "PORT", "type": "slow", "latency": 80, "method": "get"}}"#;
    let bench = proxy(&config, upstream.address());
    let begun = Instant::now();
    let answer = bench.mock.get("/books?subject=sea");
    assert!(begun.elapsed() >= Duration::from_millis(80));
    assert_eq!((answer.status, answer.json().unwrap()), (200, json!({"ok": 1})));
    assert_eq!(upstream.requests()[0].target, "/books?subject=sea");
    let changed = bench.mock.get("/setconfig?srcUrl=/books&type=status&code=503");
    let port = upstream.address().port();
    let expected = format!(
        r#"{{"host":"localhost","port":{port},"type":"status","latency":80,"method":"get","code":503}}"#
    );
    assert_eq!((changed.status, changed.text()), (200, expected.clone()));
    assert_eq!(bench.mock.get("/books").status, 503);
    assert_eq!(bench.mock.get("/getconfig?srcUrl=/books").text(), expected);
    let unknown = bench.mock.get("/getconfig?srcUrl=/nope");
    assert_eq!((unknown.status, unknown.text().as_str()), (404, "Bad Url"));
    assert_eq!(bench.mock.get("/getconfig").text(), format!(r#"{{"/books":{expected}}}"#));
    let saved: Vec<_> = std::fs::read_dir(bench.saves.path().join("saves")).unwrap().collect();
    let saved = std::fs::read_to_string(saved[0].as_ref().unwrap().path()).unwrap();
    assert_eq!((saved, upstream.requests().len()), (format!(r#"{{"/books":{expected}}}"#), 1));
}

#[test]
fn every_type_does_over_http_what_it_says() {
    let body = "x".repeat(4000);
    let respond = Respond::text("text/plain", &body).header("x-from", "upstream");
    let upstream = Upstream::with([Expectation::any().any_calls().respond(respond)]).unwrap();
    let entry = |extra: Value| {
        let mut entry = json!({"host": "127.0.0.1", "port": "PORT"});
        entry.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
        entry
    };
    let config = json!({
        "/normal": entry(json!({"type": "normal"})),
        "/flakey": entry(json!({"type": "flakey", "lo": 60, "hi": 40})),
        "/drop": entry(json!({"type": "drop", "latency": 50})),
        "/unresponsive": entry(json!({"type": "unresponsive"})),
        "/bumpy": entry(json!({"type": "bumpy", "lo": 20, "hi": 30})),
        "/status": {"type": "status", "code": 418, "body": {"short": true}},
        "/rate": entry(json!({"type": "error-rate", "rate": 1, "errorType": "status", "code": 502})),
        "/never": entry(json!({"type": "error-rate", "rate": 0})),
        "/odd": entry(json!({"type": "wobbly"})),
        "/moved/{x}": entry(json!({"url": "/to/{x}?z=1"})),
    });
    let bench = proxy(&config, upstream.address());
    let timed = |target: &str| {
        let begun = Instant::now();
        (bench.mock.get(target), begun.elapsed())
    };
    let calls = || upstream.requests().len();

    let normal =
        bench.mock.fetch(&Request::new("POST", "/normal?a=b").header("x-a", "1").body("hi"));
    assert_eq!(
        (normal.status, normal.text(), normal.header("x-from")),
        (200, body.clone(), Some("upstream".to_owned()))
    );
    let seen = &upstream.requests()[0];
    assert_eq!(
        (seen.method.as_str(), seen.text().as_str(), seen.header("x-a").unwrap().as_str()),
        ("POST", "hi", "1")
    );
    assert_eq!(seen.header("host").unwrap(), format!("127.0.0.1:{}", upstream.address().port()));

    let (flakey, took) = timed("/flakey");
    assert!(flakey.status == 200 && took >= Duration::from_millis(40), "{took:?}");
    let (bumpy, took) = timed("/bumpy");
    assert!(bumpy.text() == body && took >= Duration::from_millis(60), "{took:?}");
    let before = calls();
    let (dropped, took) = timed("/drop");
    assert!(took >= Duration::from_millis(50), "{took:?}");
    assert_eq!((dropped.status, dropped.body.len()), (200, 0));
    let status = bench.mock.get("/status");
    assert_eq!((status.status, status.text().as_str()), (418, "{\"short\":true}"));
    assert_eq!(status.header("content-type").unwrap(), "application/json");
    assert_eq!(bench.mock.get("/rate").status, 502);
    let odd = bench.mock.get("/odd");
    assert_eq!(
        (odd.status, odd.text()),
        (400, "No Handler \"wobbly\" provided for config[\"/odd\"]".to_owned())
    );
    assert_eq!(calls(), before, "the upstream was not asked");
    assert_eq!(bench.mock.get("/never").status, 200);
    bench.mock.get("/moved/a%20b?q=1");
    assert_eq!(upstream.requests().last().unwrap().target, "/to/a%20b?z=1&q=1");
    let missing = bench.mock.get("/nowhere");
    assert_eq!(
        (missing.status, missing.text().as_str()),
        (400, "No config for \"GET /nowhere\" of tenant \"global\"")
    );

    let mut silent = Connection::open(bench.mock.address, Duration::from_millis(150)).unwrap();
    silent.send(&Request::get("/unresponsive").to_bytes(bench.mock.address)).unwrap();
    assert!(silent.answer("GET").is_err(), "no answer within the patience");
}

#[test]
fn redirects_and_failures_of_the_upstream_reach_the_client() {
    let respond = Respond::text("text/plain", "").status(302).header("location", "/else");
    let upstream = Upstream::with([Expectation::any().any_calls().respond(respond)]).unwrap();
    let gone = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let config = json!({"*": {"host": "127.0.0.1", "port": "PORT"}, "/gone": {"host": "127.0.0.1", "port": gone}});
    let bench = proxy(&config, upstream.address());
    let answer = bench.mock.get("/from");
    assert_eq!((answer.status, answer.header("location").unwrap().as_str()), (302, "/else"));
    // As often as one likes: nothing backs off.
    for _ in 0..5 {
        let failed = bench.mock.get("/gone");
        assert_eq!(failed.status, 502);
        assert!(failed.text().contains("ECONNREFUSED"), "{failed}");
    }
}

#[test]
fn tenants_are_told_apart_by_the_address_of_the_client() {
    let config = json!({
        "alice": {"addresses": ["10.1.1.1"], "/a": {"type": "status", "body": "of alice"}},
        "global": {"/a": {"type": "status", "body": "of all"}, "/b": {"type": "status"}},
    });
    let bench = proxy(&config, "127.0.0.1:1".parse().unwrap());
    let as_client = |target: &str, client: &str| {
        bench.mock.fetch(&Request::get(target).header("x-forwarded-for", client))
    };
    assert_eq!(bench.mock.get("/a").text(), "of all");
    assert_eq!(as_client("/a", "10.1.1.1, 10.9.9.9").text(), "of alice");
    let none = as_client("/b", "10.1.1.1");
    assert_eq!(
        (none.status, none.text().as_str()),
        (400, "No config for \"GET /b\" of tenant \"alice\"")
    );
    let set = bench.mock.get("/setconfig?srcUrl=/b&tenant=alice&type=status&body=new");
    assert_eq!(set.status, 200, "{set}");
    assert_eq!(as_client("/b", "10.1.1.1").text(), "new");
    assert_eq!(bench.mock.get("/setconfig?srcUrl=/b&tenant=bob&type=status").status, 400);
    assert_eq!(bench.mock.get("/getconfig?srcUrl=/b&tenant=bob").status, 404);
}

#[test]
fn only_this_machine_controls_the_proxy_and_no_page_of_another_site() {
    let bench = proxy(&json!({}), "127.0.0.1:1".parse().unwrap());
    assert_eq!(bench.mock.get("/getconfig").text(), "{}");
    assert!(bench.mock.get("/config/index.html").text().contains("<title>qlio mock</title>"));
    for (name, value) in [("host", "evil.test"), ("sec-fetch-site", "cross-site")] {
        let refused =
            bench.mock.fetch(&Request::get("/setconfig?srcUrl=/a&type=drop").header(name, value));
        assert_eq!(refused.status, 403, "{refused}");
    }
    for target in [
        "/setconfig",
        "/setconfig?srcUrl=a",
        "/setconfig?srcUrl=/a&port=x",
        "/setconfig?srcUrl=/a&latncy=1",
    ] {
        assert_eq!(bench.mock.get(target).status, 400, "{target}");
    }
    assert_eq!(bench.mock.fetch(&Request::new("POST", "/getconfig")).status, 405);
    assert!(!bench.saves.path().join("saves").exists(), "nothing was changed");
}

/// A TCP upstream: sends back what it gets, and at its end `bye`.
fn echo() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        while let Ok((mut stream, _)) = listener.accept() {
            thread::spawn(move || {
                let mut buffer = [0; 1024];
                while let Ok(length @ 1..) = stream.read(&mut buffer) {
                    if stream.write_all(&buffer[..length]).is_err() {
                        return;
                    }
                }
                let _gone = stream.write_all(b"bye");
            });
        }
    });
    address
}

/// What comes back through a TCP port of a proxy, for `hello` and the end, and how long it took.
fn talk(kind: &Value, closes: bool) -> (String, Duration) {
    let mut entry = json!({"host": "127.0.0.1", "port": "PORT"});
    entry.as_object_mut().unwrap().extend(kind.as_object().unwrap().clone());
    let bench = proxy(&json!({"0": entry}), echo());
    let begun = Instant::now();
    let mut stream = TcpStream::connect(bench.tcp[0].1).unwrap();
    stream
        .set_read_timeout(Some(if closes { PATIENCE } else { Duration::from_millis(150) }))
        .unwrap();
    // What the proxy does not want to talk about is closed at once.
    let _sent = stream.write_all(b"hello");
    if closes && kind["type"] != "drop" {
        let _ended = stream.shutdown(std::net::Shutdown::Write);
    }
    let mut back = Vec::new();
    // A read that times out keeps what came before.
    let _ended = stream.read_to_end(&mut back);
    (String::from_utf8(back).unwrap(), begun.elapsed())
}

#[test]
fn every_type_does_over_tcp_what_it_says() {
    let is_late = |took: Duration, ms| took >= Duration::from_millis(ms);
    assert_eq!(talk(&json!({"type": "normal"}), true).0, "hellobye");
    let (back, took) = talk(&json!({"type": "slow", "latency": 60}), true);
    assert!(back == "hellobye" && is_late(took, 60), "{back} {took:?}");
    let (back, took) = talk(&json!({"type": "flakey", "lo": 40, "hi": 50}), true);
    assert!(back == "hellobye" && is_late(took, 40), "{back} {took:?}");
    let (back, took) = talk(&json!({"type": "bumpy", "lo": 5, "hi": 10}), true);
    assert!(back == "hellobye", "{back} {took:?}");
    // The client never ends: it is the proxy that tells the upstream so.
    let (back, took) = talk(&json!({"type": "drop"}), true);
    assert!(back == "hellobye" && is_late(took, 33), "{back} {took:?}");
    assert_eq!(talk(&json!({"type": "unresponsive"}), false).0, "");
    assert_eq!(talk(&json!({"type": "status", "body": "no"}), true).0, "no");
    assert_eq!(
        talk(&json!({"type": "error-rate", "rate": 1, "errorType": "status", "body": "no"}), true)
            .0,
        "no"
    );
    assert_eq!(talk(&json!({"type": "wobbly"}), true).0, "");
}

#[test]
fn a_tcp_port_can_be_added_while_it_runs() {
    let target = echo();
    let bench = proxy(&json!({}), target);
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let set =
        bench.mock.get(&format!("/setconfig?srcUrl={port}&host=127.0.0.1&port={}", target.port()));
    assert_eq!(set.status, 200, "{set}");
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    stream.write_all(b"hi").unwrap();
    stream.shutdown(std::net::Shutdown::Write).unwrap();
    let mut back = String::new();
    stream.read_to_string(&mut back).unwrap();
    assert_eq!(back, "hibye");
}

#[test]
fn a_configuration_that_makes_no_sense_is_an_error() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let started = |text: &str| {
        let mut options = ProxyOptions::new(json::parse_str(text).unwrap());
        options.port = 0;
        runtime.block_on(serve(options))
    };
    let reason = |text: &str| started(text).map(|_| ()).unwrap_err().to_string();
    assert_eq!(reason(r#"{"/a": {"type": "slow"}}"#), "`/a`: it needs a `host`");
    let warnings = started(r#"{"/a": {"host": "h", "type": "wobbly"}}"#).unwrap().warnings();
    assert_eq!(warnings, ["`/a`: no type `wobbly`; requests will be answered with 400"]);
}
