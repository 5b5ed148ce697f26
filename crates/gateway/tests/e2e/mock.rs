//! `qlio mock`: files, a proxy and a recording as an upstream.

use std::{
    fs,
    io::Read as _,
    net::{Shutdown, SocketAddr, TcpStream},
    time::{Duration, Instant},
};

use qlio_testkit::{
    client::{Request, fetch},
    upstream::{Expectation, Upstream},
};
use serde_json::json;

use super::{PATIENCE, folder, run, start};

#[test]
fn it_names_its_address_and_serves_its_folder() {
    let folder = folder(&[("canned/s@q=mac.json", "[{\"n\": 1}]")]);
    let mock = start(&["mock", "canned", "--port", "0"], folder.path());
    let answer = fetch(mock.address(), &Request::get("/s?q=mac"), PATIENCE).unwrap();
    assert_eq!(answer.json().unwrap(), json!([{"n": 1}]));
    let script = format!(
        "create table s on select get from '{}/s?q={{q}}'\nreturn select n from s where q = 'mac'",
        mock.url()
    );
    let finished = run(&["run", "-"], folder.path(), &script);
    assert_eq!(finished.stdout.trim(), "[1]", "{}", finished.stderr);
    assert_eq!(mock.stop(PATIENCE).code(), Some(0));
}

/// `docs/reference/mock.md`.
#[test]
fn example_8_61_slows_a_route_down_and_replaces_it() {
    let upstream =
        Upstream::with([Expectation::get("/books?subject=sea").json(json!([1]))]).unwrap();
    let port = upstream.address().port();
    let config = format!(
        r#"{{"/books":{{"host":"localhost","port":{port},"type":"slow","latency":300,"method":"get"}}}}"#
    );
    let folder = folder(&[("slow.json", &config)]);
    let mock = start(&["mock", "--config", "slow.json", "--port", "0"], folder.path());
    let get = |target: &str| fetch(mock.address(), &Request::get(target), PATIENCE).unwrap();
    let begun = Instant::now();
    assert_eq!(get("/books?subject=sea").json().unwrap(), json!([1]));
    assert!(begun.elapsed() >= Duration::from_millis(300));
    assert_eq!(
        get("/setconfig?srcUrl=/books&type=status&code=503").text(),
        format!(
            r#"{{"host":"localhost","port":{port},"type":"status","latency":300,"method":"get","code":503}}"#
        )
    );
    assert_eq!(get("/books").status, 503);
    let unknown = get("/getconfig?srcUrl=/nope");
    assert_eq!((unknown.status, unknown.text().as_str()), (404, "Bad Url"));
    assert_eq!(mock.stop(PATIENCE).code(), Some(0));
    assert_eq!(fs::read_dir(folder.path().join("netmorphic-configs")).unwrap().count(), 1);
}

#[test]
fn a_recording_is_replayed() {
    let upstream = Upstream::with([Expectation::get("/a").json(json!({"a": 1}))]).unwrap();
    let folder = folder(&[]);
    let recorder = ["mock", "--record", "calls", "--upstream", upstream.base(), "--port", "0"];
    let recorder = start(&recorder, folder.path());
    let recorded = fetch(recorder.address(), &Request::get("/a"), PATIENCE).unwrap();
    assert_eq!(recorder.stop(PATIENCE).code(), Some(0));
    drop(upstream);
    let replay = ["mock", "--replay", "calls", "--latency", "recorded", "--port", "0"];
    let player = start(&replay, folder.path());
    let replayed = fetch(player.address(), &Request::get("/a"), PATIENCE).unwrap();
    assert_eq!((replayed.status, replayed.text()), (recorded.status, recorded.text()));
}

#[test]
fn tcp_ports_of_the_configuration_are_named() {
    let folder = folder(&[("tcp.json", r#"{"0": {"type": "status", "body": "hello"}}"#)]);
    let mock = start(&["mock", "tcp.json", "--port", "0"], folder.path());
    let told = || mock.stdout().lines().nth(1).map(str::to_owned);
    let begun = Instant::now();
    while told().is_none() && begun.elapsed() < PATIENCE {
        std::thread::yield_now();
    }
    let line = told().unwrap();
    let address: SocketAddr = line.strip_prefix("tcp 0 ").unwrap().parse().unwrap();
    let mut stream = TcpStream::connect(address).unwrap();
    stream.shutdown(Shutdown::Write).unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    assert_eq!(text, "hello");
}

#[test]
fn what_can_not_be_served_is_an_error_of_usage() {
    let folder = folder(&[
        ("bad.json", "{\n\"/a\": }"),
        ("odd.json", r#"{"/a": {"host": "h", "height": 3}}"#),
    ]);
    for (arguments, message) in [
        (&["mock", "bad.json"][..], "error: `bad.json`:2:7: invalid JSON"),
        (&["mock", "odd.json"], "error: `odd.json`: `/a`: `height` is not known"),
        (&["mock", "--replay", "none"], "error: `none/index.json`"),
        (&["mock", "--record", "r", "--upstream", "ftp://h"], "error: the upstream `ftp://h`"),
        (&["mock", "--latency", "recorded", "tables"], "error: `--latency recorded`"),
        (&["mock"], "error: the following required arguments"),
    ] {
        let finished = run(arguments, folder.path(), "");
        assert_eq!(finished.code(), Some(2), "{arguments:?}");
        assert!(finished.stderr.starts_with(message), "{}", finished.stderr);
    }
}

/// With tenants, a port of TCP, numbers that are text, and what stands for all paths (`docs/reference/mock.md`).
#[test]
fn a_configuration_of_netmorphic_runs_as_it_was_written() {
    let upstream = Upstream::with([
        Expectation::get("/books/7?page=2").json(json!({"from": "upstream"})).any_calls(),
        Expectation::get("/moved").json(json!({"from": "another path"})),
    ])
    .unwrap();
    let port = upstream.address().port();
    let config = json!({
        "global": {
            "/books/{id}": {
                "host": "localhost", "port": port.to_string(), "method": "get", "type": "slow",
                "latency": "1",
            },
            "/old": {"host": "localhost", "port": port, "type": "normal", "url": "/moved"},
            "/gone": {"host": "localhost", "port": port, "type": "drop", "latency": 1},
            "*": {"host": "localhost", "port": port, "type": "flakey", "lo": 2, "hi": 1},
            "0": {"host": "localhost", "port": port, "type": "bumpy", "lo": 1, "hi": 2},
        },
        "mobile": {
            "addresses": ["10.2.3.4"],
            "/books/{id}": {"host": "localhost", "port": port, "type": "status", "code": 503},
        },
    });
    let folder = folder(&[("netmorphic.json", &config.to_string())]);
    let mock = start(&["mock", "--config", "netmorphic.json", "--port", "0"], folder.path());
    let get = |request: Request| fetch(mock.address(), &request, PATIENCE).unwrap();
    let books = || Request::get("/books/7?page=2");
    assert_eq!(get(books()).json().unwrap(), json!({"from": "upstream"}));
    assert_eq!(get(books().header("x-forwarded-for", "10.2.3.4")).status, 503);
    assert_eq!(get(Request::get("/old")).json().unwrap(), json!({"from": "another path"}));
    let dropped = get(Request::get("/gone"));
    assert_eq!((dropped.status, dropped.text().as_str()), (200, ""));
    let shown = get(Request::get("/getConfig?srcUrl=/books/{id}&tenant=mobile"));
    assert_eq!(shown.json().unwrap()["code"], 503);
    let changed = get(Request::get("/setconfig?srcUrl=/books/{id}&tenant=global&type=normal"));
    assert_eq!(changed.json().unwrap()["type"], "normal");
    assert_eq!(get(books()).json().unwrap(), json!({"from": "upstream"}));
    assert_eq!(mock.stop(PATIENCE).code(), Some(0));
}
