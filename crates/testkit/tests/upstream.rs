//! The scripted upstream over real sockets: what it answers, what it counts, how it goes wrong.

#![expect(clippy::unwrap_used, reason = "a broken test bench must fail the test")]

use std::io::ErrorKind;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use qlio_testkit::client::{Answer, Connection, Request, fetch};
use qlio_testkit::upstream::{Expectation, Fault, Ledger, Respond, Upstream};
use serde_json::json;

const PATIENCE: Duration = Duration::from_secs(10);

fn get(upstream: &Upstream, target: &str) -> Answer {
    fetch(upstream.address(), &Request::get(target), PATIENCE).unwrap()
}

fn faulty(fault: Fault) -> Upstream {
    with(Respond::fault(fault))
}

fn with(respond: Respond) -> Upstream {
    Upstream::with([Expectation::get("/").respond(respond)]).unwrap()
}

fn fails(address: SocketAddr) -> ErrorKind {
    fetch(address, &Request::get("/"), PATIENCE).unwrap_err().kind()
}

#[test]
fn it_answers_as_told_and_counts() {
    let upstream = Upstream::with([
        Expectation::get("/a?b=1").json(json!({"n": 1})),
        Expectation::new("POST", "/a").respond(Respond::text("text/csv", "a,b").status(201)),
    ])
    .unwrap();
    let first = get(&upstream, "/a?b=1");
    assert_eq!((first.status, first.json().unwrap()), (200, json!({"n": 1})));
    assert_eq!(first.header("content-type").unwrap(), "application/json");
    assert!(upstream.verify().unwrap_err().contains("POST /a 0 times, expected 1"));
    let request = Request::new("POST", "/a").header("X-A", "1").body("xyz");
    let second = fetch(upstream.address(), &request, PATIENCE).unwrap();
    assert_eq!((second.status, second.text().as_str()), (201, "a,b"));
    assert_eq!(second.header("content-type").unwrap(), "text/csv");
    assert_eq!(upstream.verify(), Ok(()));
    let requests = upstream.requests();
    assert_eq!(
        (requests[1].header("x-a").unwrap(), requests[1].text()),
        ("1".to_owned(), "xyz".to_owned())
    );
}

#[test]
fn a_body_without_type_has_no_content_type() {
    let upstream = with(Respond { body: Some("{}".to_owned()), ..Respond::default() });
    assert_eq!(get(&upstream, "/").header("content-type"), None);
}

#[test]
fn a_connection_is_used_again() {
    let upstream = Upstream::with([Expectation::any().json(json!(1))]).unwrap();
    let mut connection = Connection::open(upstream.address(), PATIENCE).unwrap();
    for _ in 0..3 {
        connection.send(&Request::get("/").to_bytes(upstream.address())).unwrap();
        assert_eq!(connection.answer("GET").unwrap().status, 200);
    }
    assert_eq!(upstream.look(|ledger| (ledger.connections(), ledger.requests().len())), (1, 3));
}

#[test]
fn a_chunked_request_with_continue_is_read() {
    let echo = Respond { echo: Some(vec!["body".to_owned()]), ..Respond::default() };
    let upstream = Upstream::with([Expectation::new("POST", "/").respond(echo)]).unwrap();
    let mut connection = Connection::open(upstream.address(), PATIENCE).unwrap();
    connection
        .send(b"POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\nexpect: 100-continue\r\n\r\n")
        .unwrap();
    connection.send(b"3\r\nabc\r\n2;x=y\r\nde\r\n0\r\ntrailer: t\r\n\r\n").unwrap();
    assert_eq!(connection.answer("POST").unwrap().json().unwrap(), json!({"body": "abcde"}));
}

#[test]
fn echo_names_what_was_received_and_null_for_the_rest() {
    let names = ["method", "path", "body", "json", "header:x-a", "header:x-b"];
    let echo = Respond { echo: Some(names.map(str::to_owned).to_vec()), ..Respond::default() };
    let upstream = Upstream::with([Expectation::new("PUT", "/p?q").respond(echo)]).unwrap();
    let request = Request::new("PUT", "/p?q").header("X-A", "1").body("{\"k\": [1]}");
    let answer = fetch(upstream.address(), &request, PATIENCE).unwrap();
    let expected = json!({
        "method": "PUT", "path": "/p?q", "body": "{\"k\": [1]}", "json": {"k": [1]},
        "header:x-a": "1", "header:x-b": null,
    });
    assert_eq!(answer.json().unwrap(), expected);
}

#[test]
fn every_coding_named_is_applied_and_an_unknown_one_only_named() {
    use std::io::Read as _;
    let plain = json!({"a": "é".repeat(500)});
    for coding in ["gzip", "deflate", "br", "zstd", "snappy"] {
        let upstream = with(Respond::json(plain.clone()).coding(coding));
        let answer = get(&upstream, "/");
        assert_eq!(answer.header("content-encoding").unwrap(), coding);
        let mut decoded = Vec::new();
        let body = answer.body.as_slice();
        match coding {
            "gzip" => flate2::read::GzDecoder::new(body).read_to_end(&mut decoded).unwrap(),
            "deflate" => flate2::read::ZlibDecoder::new(body).read_to_end(&mut decoded).unwrap(),
            "br" => brotli::Decompressor::new(body, 4096).read_to_end(&mut decoded).unwrap(),
            "zstd" => {
                let mut decoder = ruzstd::decoding::StreamingDecoder::new(body).unwrap();
                decoder.read_to_end(&mut decoded).unwrap()
            }
            _ => decoded.write(body),
        };
        assert_eq!(
            serde_json::from_slice::<serde_json::Value>(&decoded).unwrap(),
            plain,
            "{coding}"
        );
    }
}

/// Gives a vector the shape of the decoders above.
trait Write {
    fn write(&mut self, bytes: &[u8]) -> usize;
}

impl Write for Vec<u8> {
    fn write(&mut self, bytes: &[u8]) -> usize {
        self.extend_from_slice(bytes);
        bytes.len()
    }
}

#[test]
fn base64_gives_any_bytes_and_head_gives_none() {
    let respond = Respond { base64: Some("/wACgA==".to_owned()), ..Respond::default() };
    let upstream = Upstream::with([
        Expectation::get("/").respond(respond.clone()),
        Expectation::new("HEAD", "/").respond(respond),
    ])
    .unwrap();
    assert_eq!(get(&upstream, "/").body, [0xff, 0, 2, 0x80]);
    let head = fetch(upstream.address(), &Request::new("HEAD", "/"), PATIENCE).unwrap();
    assert_eq!((head.header("content-length").unwrap().as_str(), head.body.len()), ("4", 0));
}

#[test]
fn an_unexpected_request_is_answered_and_reported() {
    let upstream = Upstream::start().unwrap();
    assert_eq!(get(&upstream, "/nobody").status, 501);
    assert!(upstream.verify().unwrap_err().contains("unexpected upstream request GET /nobody"));
}

#[test]
fn what_is_no_request_is_reported() {
    let upstream = Upstream::start().unwrap();
    let mut connection = Connection::open(upstream.address(), PATIENCE).unwrap();
    connection.send(b"\0\0\0 nonsense\r\n\r\n").unwrap();
    assert!(connection.rest().unwrap().is_empty());
    assert!(upstream.wait_until(PATIENCE, |ledger| !ledger.malformed().is_empty()));
    assert!(upstream.verify().is_err());
}

#[test]
fn a_delay_holds_the_answer_back_and_requests_at_once_are_counted() {
    let upstream =
        Upstream::with([Expectation::any().respond(Respond::json(json!(1)).delay(80))]).unwrap();
    let begun = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| assert_eq!(get(&upstream, "/").status, 200));
        }
    });
    assert!(begun.elapsed() >= Duration::from_millis(80));
    assert!(upstream.look(Ledger::in_flight_max) >= 2);
    assert!(upstream.wait_until(PATIENCE, |ledger| ledger.in_flight() == 0));
}

#[test]
fn a_client_that_hangs_up_is_noticed_during_a_delay_and_during_silence() {
    for respond in [Respond::json(json!(1)).delay(60_000), Respond::fault(Fault::Never)] {
        let upstream = with(respond);
        let mut connection = Connection::open(upstream.address(), PATIENCE).unwrap();
        connection.send(&Request::get("/").to_bytes(upstream.address())).unwrap();
        assert!(upstream.wait_until(PATIENCE, |ledger| ledger.in_flight() == 1));
        drop(connection);
        assert!(upstream.wait_until(PATIENCE, |ledger| ledger.hang_ups() == 1));
    }
}

#[test]
fn drop_and_reset_give_no_answer() {
    let upstream = with(Respond { drop: true, ..Respond::default() });
    assert_eq!(fails(upstream.address()), ErrorKind::UnexpectedEof);
    assert_eq!(fails(faulty(Fault::Reset).address()), ErrorKind::ConnectionReset);
}

#[test]
fn a_body_may_be_reset_cut_or_have_the_wrong_length() {
    assert_eq!(fails(faulty(Fault::ResetBody).address()), ErrorKind::ConnectionReset);
    assert_eq!(fails(faulty(Fault::Truncated).address()), ErrorKind::UnexpectedEof);
    assert_eq!(get(&faulty(Fault::WrongLength), "/").text(), "{\"ok\":1");
    assert_eq!(fails(faulty(Fault::BadChunk).address()), ErrorKind::InvalidData);
}

#[test]
fn garbage_is_no_http() {
    assert_eq!(fails(faulty(Fault::Garbage).address()), ErrorKind::InvalidData);
}

#[test]
fn slow_heads_and_bodies_arrive_whole() {
    for fault in [Fault::SlowHead, Fault::SlowBody] {
        let upstream = with(Respond::fault(fault).paced(1, 1));
        let begun = Instant::now();
        assert_eq!(get(&upstream, "/").text(), "{\"ok\":1}");
        assert!(begun.elapsed() >= Duration::from_millis(8));
    }
}

#[test]
fn huge_heads_and_bodies_have_the_size_asked_for() {
    let upstream = with(Respond::fault(Fault::HugeHead).paced(0, 100_000));
    assert_eq!(get(&upstream, "/").header("x-filler").unwrap().len(), 100_000);
    let upstream = with(Respond::fault(Fault::Huge).paced(0, 1_000_000));
    let answer = get(&upstream, "/");
    assert!(answer.body.len() > 990_000 && answer.json().unwrap().is_array());
}

#[test]
fn a_huge_body_stops_when_the_client_goes() {
    let upstream = faulty(Fault::Huge);
    let mut connection = Connection::open(upstream.address(), PATIENCE).unwrap();
    connection.send(&Request::get("/").to_bytes(upstream.address())).unwrap();
    assert!(upstream.wait_until(PATIENCE, |ledger| ledger.in_flight() == 1));
    drop(connection);
    assert!(upstream.wait_until(PATIENCE, |ledger| ledger.hang_ups() == 1));
}

#[test]
fn chunked_answers_arrive_whole() {
    let upstream = with(Respond { chunked: true, ..Respond::json(json!([1, 2, 3])) });
    let answer = get(&upstream, "/");
    assert_eq!((answer.header("content-length"), answer.json().unwrap()), (None, json!([1, 2, 3])));
}

#[test]
fn settling_takes_in_what_was_sent_before() {
    let upstream = Upstream::with([Expectation::any()]).unwrap();
    for _ in 0..20 {
        let mut connection = Connection::open(upstream.address(), PATIENCE).unwrap();
        connection.send(&Request::get("/").to_bytes(upstream.address())).unwrap();
    }
    assert!(upstream.settle(PATIENCE));
    assert_eq!(upstream.requests().len(), 20);
}

#[test]
fn dropping_the_upstream_closes_its_connections() {
    let upstream = Upstream::start().unwrap();
    let mut connection = Connection::open(upstream.address(), PATIENCE).unwrap();
    assert!(upstream.wait_until(PATIENCE, |ledger| ledger.connections() == 1));
    drop(upstream);
    assert!(connection.rest().is_ok_and(|rest| rest.is_empty()));
}
