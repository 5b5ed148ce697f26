//! Bodies of requests that come slowly, not at all, or too many at once.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use qlio_testkit::client::{Connection, Request, fetch};
use qlio_testkit::process::{ServerProcess, wait};
use serde_json::json;
use tempfile::TempDir;

use super::{PATIENCE, folder, resident_bytes, serve_folder};

fn serve(settings: &serde_json::Value) -> (ServerProcess, TempDir) {
    let folder = folder(&[
        ("routes/post.ql", "return {\"title\": \"{title}\"} via route '/book' using method post"),
        ("routes/one.ql", "return 1 via route '/one' using method get"),
        ("qlio.json", &settings.to_string()),
    ]);
    (serve_folder(folder.path(), &["--workers", "2", "--config", "qlio.json"]), folder)
}

/// A client that has declared a body of so many bytes, and sent these.
fn begin(server: &ServerProcess, declared: usize, sent: &[u8]) -> Connection {
    let mut client = Connection::open(server.address(), PATIENCE).unwrap();
    let head = format!(
        "POST /book HTTP/1.1\r\nhost: h\r\ncontent-type: application/json\r\ncontent-length: {declared}\r\n\r\n"
    );
    client.send(&[head.as_bytes(), sent].concat()).unwrap();
    client
}

/// A client whose body of so many bytes has its memory: it was asked for it.
fn hold(server: &ServerProcess, declared: usize) -> TcpStream {
    let mut client = TcpStream::connect(server.address()).unwrap();
    client.set_read_timeout(Some(PATIENCE)).unwrap();
    let head = format!(
        "POST /book HTTP/1.1\r\nhost: h\r\nexpect: 100-continue\r\ncontent-length: {declared}\r\n\r\n"
    );
    client.write_all(head.as_bytes()).unwrap();
    let mut told = [0; "HTTP/1.1 100 Continue\r\n\r\n".len()];
    client.read_exact(&mut told).unwrap();
    assert_eq!(str::from_utf8(&told).unwrap(), "HTTP/1.1 100 Continue\r\n\r\n");
    client
}

fn chunked(server: &ServerProcess, sent: &[u8]) -> Connection {
    let mut client = Connection::open(server.address(), PATIENCE).unwrap();
    let head = format!(
        "POST /book HTTP/1.1\r\nhost: h\r\ncontent-type: application/json\r\n\
         transfer-encoding: chunked\r\n\r\n{:x}\r\n",
        sent.len()
    );
    client.send(&[head.as_bytes(), sent, b"\r\n"].concat()).unwrap();
    client
}

fn post(server: &ServerProcess, bytes: usize) -> u16 {
    let empty = json!({"title": ""}).to_string().len();
    let body = json!({"title": "x".repeat(bytes.saturating_sub(empty))});
    fetch(server.address(), &Request::new("POST", "/book").json(&body), PATIENCE).unwrap().status
}

#[test]
fn a_body_that_stalls_is_answered_and_its_connection_closed() {
    let (server, _folder) = serve(&json!({"body": {"pauseMs": 100}}));
    for mut client in [begin(&server, 10, b"{\"t"), begin(&server, 10, b""), chunked(&server, b"{")]
    {
        let answer = client.answer("POST").unwrap();
        assert_eq!((answer.status, answer.header("connection").as_deref()), (408, Some("close")));
        assert!(answer.text().contains("did not arrive in time"), "{}", answer.text());
        assert!(client.rest().unwrap().is_empty());
    }
    assert_eq!(post(&server, 100), 200);
}

#[test]
fn a_body_that_drips_is_answered_although_it_never_stalls() {
    let slow = json!({"body": {"pauseMs": 300, "minBytesPerSecond": 1_000_000}});
    let (server, _folder) = serve(&slow);
    let mut client = begin(&server, 1_000_000, b"{");
    // A byte at a time: it comes to an end, because sending fails once the server has closed.
    let is_closed = wait(PATIENCE, || client.send(b" ").is_err());
    assert!(is_closed);
    let (server, _folder) = serve(&json!({"body": {"pauseMs": 300, "minBytesPerSecond": 1}}));
    let mut client = begin(&server, 14, b"{\"title\": \"x\"");
    client.send(b"}").unwrap();
    assert_eq!(client.answer("POST").unwrap().status, 200);
}

#[test]
fn bodies_beyond_their_memory_are_refused_before_they_are_read() {
    let limits = json!({"maxBodiesMemory": 10_000, "body": {"pauseMs": 60_000}});
    let (server, _folder) = serve(&limits);
    // Exactly what there may be; nothing of it has come.
    let first = hold(&server, 6_000);
    let second = hold(&server, 4_000);
    assert_eq!(post(&server, 100), 503);
    // Its body never comes, so the answer is one without it.
    let answer = begin(&server, 100, b"").answer("POST").unwrap();
    assert_eq!(answer.status, 503);
    assert_eq!(answer.header("retry-after").as_deref(), Some("1"));
    let body = answer.json().unwrap();
    assert_eq!(body["limit"], 10_000);
    assert!(
        body["message"].as_str().unwrap().contains("`maxBodiesMemory` (10000 bytes)"),
        "{body}"
    );
    assert_eq!(fetch(server.address(), &Request::get("/one"), PATIENCE).unwrap().status, 200);
    drop(second);
    assert!(wait(PATIENCE, || post(&server, 4_000) == 200), "what was kept is given back");
    assert_eq!(post(&server, 4_001), 503);
    drop(first);
    assert!(wait(PATIENCE, || post(&server, 10_000) == 200));
}

#[test]
fn a_body_without_a_length_takes_memory_as_it_comes() {
    let limits = json!({"maxBodiesMemory": 100_000, "body": {"pauseMs": 60_000}});
    let (server, _folder) = serve(&limits);
    let piece = vec![b' '; 30_000];
    let mut client = chunked(&server, &piece);
    let is_held = wait(PATIENCE, || {
        let is_refused = post(&server, 75_000) == 503;
        if !is_refused {
            // Whoever was first, it may have been the one without room.
            client = chunked(&server, &piece);
        }
        is_refused
    });
    assert!(is_held);
    assert_eq!(post(&server, 1_000), 200, "of what has not come nothing is taken");
    for _ in 0..4 {
        let _ = client.send(&[b"7530\r\n", &piece[..], b"\r\n"].concat());
    }
    assert_eq!(client.answer("POST").unwrap().status, 503);
    assert!(wait(PATIENCE, || post(&server, 75_000) == 200));
}

#[test]
fn a_hundred_stalled_bodies_cost_no_more_than_they_may() {
    const MEMORY: usize = 16 << 20;
    const BODY: usize = 2 << 20;
    let limits = json!({"maxBodiesMemory": MEMORY, "body": {"pauseMs": 60_000}});
    let (server, _folder) = serve(&limits);
    assert_eq!(post(&server, 100), 200);
    let before = resident_bytes(&server);
    let almost = vec![b' '; BODY - 1];
    let clients: Vec<_> = (0..MEMORY / BODY)
        .map(|_| {
            let mut client = hold(&server, BODY);
            client.write_all(&almost).unwrap();
            client
        })
        .collect();
    for _ in clients.len()..100 {
        assert_eq!(begin(&server, BODY, &almost[..1000]).answer("POST").unwrap().status, 503);
    }
    let mut grown = 0;
    let is_bounded = wait(PATIENCE, || {
        grown = resident_bytes(&server).saturating_sub(before);
        grown < MEMORY + MEMORY / 5
    });
    assert!(is_bounded, "{grown} bytes for bodies that may have {MEMORY}");
    assert_eq!(fetch(server.address(), &Request::get("/one"), PATIENCE).unwrap().status, 200);
    drop(clients);
    assert!(wait(PATIENCE, || post(&server, 1_000_000) == 200));
}
