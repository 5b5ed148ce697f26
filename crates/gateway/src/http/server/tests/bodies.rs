//! Bodies of requests: their bounds, and where the next request begins.

use std::net::Shutdown;

use super::*;

#[test]
fn a_body_over_the_limit_is_413_and_is_not_asked_for() {
    let running = Running::start(ServerLimits::default());
    let mut client = running.connect();
    client.send("POST /echo HTTP/1.1\r\nhost: h\r\ncontent-length: 10\r\n\r\n0123456789");
    assert_eq!(client.receive().1, "0123456789");
    client.send(
        "POST /echo HTTP/1.1\r\nhost: h\r\nexpect: 100-continue\r\ncontent-length: 3\r\n\r\n",
    );
    assert!(client.head().starts_with("http/1.1 100"));
    client.send("abc");
    assert_eq!(client.receive().1, "abc");
    client.send(
        "POST /echo HTTP/1.1\r\nhost: h\r\nexpect: 100-continue\r\ncontent-length: 11\r\n\r\n",
    );
    let (head, body) = client.receive();
    assert!(head.starts_with("http/1.1 413"), "{head}");
    assert!(head.contains("connection: close"), "{head}");
    assert!(body.contains("\"message\""), "{body}");
    client.expect_closed();
}

#[test]
fn a_client_that_goes_on_sending_gets_to_read_why_not() {
    let running = Running::start(ServerLimits::default());
    let mut client = running.connect();
    let body = "x".repeat(8 << 20);
    let length = body.len();
    client
        .send(&format!("POST /echo HTTP/1.1\r\nhost: h\r\ncontent-length: {length}\r\n\r\n{body}"));
    assert!(client.receive().0.starts_with("http/1.1 413"));
    client.expect_closed();
}

#[test]
fn chunked_bodies_are_bounded_too() {
    let running = Running::start(ServerLimits::default());
    let mut client = running.connect();
    let head = "POST /echo HTTP/1.1\r\nhost: h\r\ntransfer-encoding: chunked\r\n\r\n";
    client.send(&format!("{head}5\r\n01234\r\n5\r\n56789\r\n0\r\n\r\n"));
    assert_eq!(client.receive().1, "0123456789");
    client.send(&format!("{head}5\r\n01234\r\n6\r\n56789A\r\n0\r\n\r\n"));
    assert!(client.receive().0.starts_with("http/1.1 413"));
}

#[test]
fn a_raw_target_behind_chunks_is_read_like_any_other() {
    let running = Running::start(ServerLimits::default());
    let mut client = running.connect();
    let chunked = "POST /echo HTTP/1.1\r\nhost: h\r\ntransfer-encoding: chunked\r\n\r\n";
    client.send(&format!("{chunked}7\r\nGET /< \r\n0\r\n\r\n"));
    assert_eq!(client.receive().1, "GET /< ");
    assert_eq!(client.get("/a").1, "/a");
    assert_eq!(client.get("/<").1, "/%3C");
}

#[test]
fn a_body_that_is_not_read_is_no_request() {
    let running = Running::start(ServerLimits::default());
    let mut client = running.connect();
    let body = "GET /smuggled?< HTTP/1.1\r\nhost: h\r\n\r\n";
    let length = body.len();
    let head = format!("POST /unread HTTP/1.1\r\nhost: h\r\ncontent-length: {length}\r\n\r\n");
    client.send(&format!("{head}{body}GET /next?< HTTP/1.1\r\nhost: h\r\n\r\n"));
    assert_eq!(client.receive().1, "/unread");
    assert_eq!(client.receive().1, "/next");
}

#[test]
fn a_body_that_breaks_off_is_answered() {
    let running = Running::start(ServerLimits::default());
    let length = "POST /echo HTTP/1.1\r\nhost: h\r\ncontent-length: 8\r\n\r\n";
    let chunks = "POST /echo HTTP/1.1\r\nhost: h\r\ntransfer-encoding: chunked\r\n\r\n5\r\n";
    for head in [length, chunks] {
        let mut client = running.connect();
        client.send(&format!("{head}s=a"));
        client.stream.shutdown(Shutdown::Write).expect("is open");
        assert!(client.receive().0.starts_with("http/1.1 400"), "{head}");
    }
}
