//! The server over real sockets, with apps that need no engine. Tests wait on conditions; the only
//! times are upper bounds for them and the short timeouts that are being tested.

use std::{
    io::{Read, Write},
    net::{Shutdown, TcpStream},
    sync::{Mutex, MutexGuard, PoisonError},
    time::Instant,
};

use bytes::Bytes;
use proptest::prelude::*;

use super::*;
use crate::http::{
    body::{self, BodyLimits},
    respond::{self, Rendition},
};

/// What a test waits for at most.
const PATIENCE: Duration = Duration::from_secs(20);

/// What the apps and the server reported.
#[derive(Clone, Default)]
struct Notes(Arc<Mutex<Vec<String>>>);

impl Notes {
    fn list(&self) -> MutexGuard<'_, Vec<String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, note: impl Into<String>) {
        self.list().push(note.into());
    }

    #[track_caller]
    fn wait_for(&self, part: &str) {
        let start = Instant::now();
        while !self.list().iter().any(|note| note.contains(part)) {
            assert!(start.elapsed() < PATIENCE, "{part} missing in {:?}", self.list());
            thread::yield_now();
        }
    }
}

/// Answers by path: `/echo` the body, `/panic`, `/wait` until released, `/switch` another protocol,
/// anything else its name.
struct Dummy {
    index: usize,
    notes: Notes,
    release: watch::Receiver<bool>,
}

/// Notes that a request's future was dropped before it was answered.
struct Dropped<'a>(&'a Notes);

impl Drop for Dropped<'_> {
    fn drop(&mut self) {
        self.0.add("dropped");
    }
}

impl App for Dummy {
    async fn answer(&self, request: Request) -> Response {
        assert!(request.peer.ip().is_loopback());
        let path = request.message.uri().path().to_owned();
        match path.as_str() {
            "/panic" => panic!("boom"),
            "/wait" => {
                let limits = BodyLimits::default();
                let _ = body::read(request.message.into_body(), None, &limits).await;
                self.notes.add("waiting");
                let dropped = Dropped(&self.notes);
                let _ = self.release.clone().wait_for(|is_released| *is_released).await;
                std::mem::forget(dropped);
                text("waited")
            }
            "/echo" => {
                let limits = BodyLimits { request_bytes_max: 10, ..BodyLimits::default() };
                match body::read(request.message.into_body(), None, &limits).await {
                    Ok(body) => respond::plain(hyper::StatusCode::OK, "text/plain", body),
                    Err(failure) => respond::failure(&failure, Rendition::default()),
                }
            }
            "/worker" => text(&self.index.to_string()),
            "/large" => text(&"x".repeat(LARGE_BYTES)),
            "/switch" => {
                let mut response = respond::plain(
                    hyper::StatusCode::SWITCHING_PROTOCOLS,
                    "text/plain",
                    Bytes::new(),
                );
                let head = Arc::new(request.message.into_parts().0);
                response.extensions_mut().insert(Takeover { head });
                response
            }
            path => text(path),
        }
    }

    /// Says back what it hears.
    async fn hold(&self, held: Held) {
        let (mut reader, mut writer) = tokio::io::split(held.io);
        let _ = tokio::io::copy(&mut reader, &mut writer).await;
        self.notes.add(format!("left {}", held.head.uri.path()));
    }
}

/// More than a socket takes without its client reading.
const LARGE_BYTES: usize = 32 << 20;

fn text(text: &str) -> Response {
    respond::plain(hyper::StatusCode::OK, "text/plain", Bytes::copy_from_slice(text.as_bytes()))
}

struct Running {
    server: Option<Server>,
    notes: Notes,
    release: watch::Sender<bool>,
}

impl Running {
    fn start(limits: ServerLimits) -> Self {
        Self::start_with(limits, 1)
    }

    fn start_with(limits: ServerLimits, workers: usize) -> Self {
        let notes = Notes::default();
        let (release, released) = watch::channel(false);
        let config = ServerConfig { addresses: vec![([127, 0, 0, 1], 0).into()], workers, limits };
        let (events, app_notes) = (notes.clone(), notes.clone());
        let server = Server::start(
            &config,
            Arc::new(move |event| events.add(event.to_string())),
            move |context| {
                let (notes, release) = (app_notes.clone(), released.clone());
                Ok(Dummy { index: context.index, notes, release })
            },
        );
        Self { server: Some(server.expect("port 0 is free")), notes, release }
    }

    fn server(&self) -> &Server {
        self.server.as_ref().expect("not ended yet")
    }

    fn connect(&self) -> Client {
        let stream = TcpStream::connect(self.server().addresses()[0]).expect("is listening");
        stream.set_read_timeout(Some(PATIENCE)).expect("a valid timeout");
        Client { stream, buffer: Vec::new() }
    }

    /// Ends the server; the number of connections that were cut off.
    fn end(mut self) -> usize {
        self.server().stopper().drain();
        self.server.take().expect("not ended yet").join().expect("no thread panicked")
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(server) = self.server.take() {
            server.stopper().stop();
            let _ = server.join();
        }
    }
}

struct Client {
    stream: TcpStream,
    buffer: Vec<u8>,
}

impl Client {
    fn send(&mut self, text: &str) {
        self.stream.write_all(text.as_bytes()).expect("the server reads");
    }

    fn get(&mut self, path: &str) -> (String, String) {
        self.send(&format!("GET {path} HTTP/1.1\r\nhost: h\r\n\r\n"));
        self.receive()
    }

    /// Reads until the buffer holds `marker`; its end.
    fn read_until(&mut self, marker: &[u8]) -> usize {
        loop {
            let found = self.buffer.windows(marker.len()).position(|window| window == marker);
            if let Some(at) = found {
                return at + marker.len();
            }
            assert!(self.fill(), "closed after {:?}", String::from_utf8_lossy(&self.buffer));
        }
    }

    fn fill(&mut self) -> bool {
        let mut piece = [0; 4096];
        match self.stream.read(&mut piece) {
            Ok(0) => false,
            Ok(count) => {
                self.buffer.extend_from_slice(&piece[..count]);
                true
            }
            Err(error) if error.kind() == io::ErrorKind::ConnectionReset => false,
            Err(error) => panic!("nothing came: {error}"),
        }
    }

    fn head(&mut self) -> String {
        let end = self.read_until(b"\r\n\r\n");
        let rest = self.buffer.split_off(end);
        let head = std::mem::replace(&mut self.buffer, rest);
        String::from_utf8(head).expect("a head is text").to_lowercase()
    }

    /// One answer: its head in lower case, and its body.
    fn receive(&mut self) -> (String, String) {
        let head = self.head();
        let length = head
            .split("content-length: ")
            .nth(1)
            .and_then(|rest| rest.lines().next())
            .map_or(0, |length| length.parse().expect("a number"));
        while self.buffer.len() < length {
            assert!(self.fill(), "closed in a body");
        }
        let rest = self.buffer.split_off(length);
        let body = std::mem::replace(&mut self.buffer, rest);
        (head, String::from_utf8(body).expect("text"))
    }

    /// One answer behind those that only announce it.
    fn receive_final(&mut self) -> (String, String) {
        loop {
            let (head, body) = self.receive();
            if !head.starts_with("http/1.1 1") {
                return (head, body);
            }
        }
    }

    #[track_caller]
    fn expect_closed(&mut self) {
        while self.fill() {}
        assert_eq!(String::from_utf8_lossy(&self.buffer), "");
    }
}

#[test]
fn a_connection_is_used_again() {
    let running = Running::start(ServerLimits::default());
    let mut client = running.connect();
    for path in ["/a", "/b", "/c"] {
        let (head, body) = client.get(path);
        assert!(head.starts_with("http/1.1 200 ok"), "{head}");
        assert!(head.contains("\r\ndate: "), "{head}");
        assert!(head.contains(&format!("\r\nserver: {}\r\n", respond::PRODUCT)), "{head}");
        assert_eq!(body, path);
    }
}

#[test]
fn an_answer_tells_whether_the_connection_stays_open() {
    let running = Running::start(ServerLimits::default());
    let mut client = running.connect();
    for _ in 0..2 {
        let (head, _) = client.get("/a");
        assert!(head.contains("\r\nconnection: keep-alive\r\n"), "{head}");
    }
    client.send("GET /b HTTP/1.1\r\nhost: h\r\nconnection: te, Close\r\n\r\n");
    let (head, _) = client.receive();
    assert!(head.contains("\r\nconnection: close\r\n"), "{head}");
    assert!(!head.contains("keep-alive"), "{head}");
    client.expect_closed();
}

#[test]
fn pipelined_requests_are_answered_in_order() {
    let running = Running::start(ServerLimits::default());
    let mut client = running.connect();
    client.send(&"GET /1 HTTP/1.1\r\nhost: h\r\n\r\nGET /2 HTTP/1.1\r\nhost: h\r\n\r\n".repeat(20));
    for _ in 0..20 {
        assert_eq!(client.receive().1, "/1");
        assert_eq!(client.receive().1, "/2");
    }
}

#[test]
fn head_has_the_headers_of_get_and_no_body() {
    let running = Running::start(ServerLimits::default());
    let mut client = running.connect();
    client.send("HEAD /path HTTP/1.1\r\nhost: h\r\n\r\nGET /next HTTP/1.1\r\nhost: h\r\n\r\n");
    assert!(client.head().contains("content-length: 5\r\n"));
    assert_eq!(client.receive().1, "/next");
}

#[test]
fn old_clients_are_answered_and_may_keep_the_connection() {
    let running = Running::start(ServerLimits::default());
    let mut client = running.connect();
    client.send("GET /a HTTP/1.0\r\nconnection: keep-alive\r\n\r\n");
    let (head, body) = client.receive();
    assert!(head.contains("connection: keep-alive"), "{head}");
    assert_eq!(body, "/a");
    client.send("GET /b HTTP/1.0\r\n\r\n");
    assert_eq!(client.receive().1, "/b");
    client.expect_closed();
}

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
fn a_malformed_request_is_refused_with_a_reason_and_reported() {
    let running = Running::start(ServerLimits::default());
    for (text, reason) in [
        ("GET / HTTP/1.1\r\nbad header\r\n\r\n", "invalid HTTP header"),
        ("GET / HTTP/9.9\r\n\r\n", "invalid HTTP version"),
        ("GET /a b HTTP/1.1\r\n\r\n", "invalid HTTP version"),
        ("G<T / HTTP/1.1\r\n\r\n", "invalid HTTP method"),
        ("GET /a\u{7}<b HTTP/1.1\r\n\r\n", "invalid URI"),
        ("GET nowhere:// HTTP/1.1\r\n\r\n", "invalid URI"),
        ("GET / HTTP/1.1\r\ncontent-length: x\r\n\r\n", "content-length"),
    ] {
        let mut client = running.connect();
        // Behind an answer that has been given, and while more is sent.
        assert_eq!(client.get("/a").1, "/a");
        client.send(text);
        client.send(&"x".repeat(100_000));
        let (head, body) = client.receive();
        assert!(head.starts_with("http/1.1 400 "), "{text:?}: {head}");
        assert!(head.contains("content-type: application/json\r\n"), "{text:?}: {head}");
        assert!(head.contains("connection: close\r\n"), "{text:?}: {head}");
        assert!(head.contains(&format!("\r\nserver: {}\r\n", respond::PRODUCT)), "{head}");
        assert!(body.contains("\"error\":\"Server Error - malformed"), "{text:?}: {body}");
        assert!(body.contains(reason), "{text:?}: {body}");
        client.expect_closed();
    }
    running.notes.wait_for("failed");
}

#[test]
fn raw_targets_are_read_encoded_in_whatever_pieces_they_come() {
    let running = Running::start(ServerLimits::default());
    let text = "POST /echo?<> HTTP/1.1\r\nhost: h\r\ncontent-length: 9\r\n\r\nGET /<>\"\r\
                GET /<a>\"?\"<>` HTTP/1.1\r\nhost: h\r\nx: </a>\r\n\r\n\r\n\
                GET /é/\u{20ac} HTTP/1.1\r\nhost: h\r\n\r\n";
    let expected = ["GET /<>\"\r", "/%3Ca%3E\"", "/%C3%A9/%E2%82%AC"];
    for cut in (0..text.len()).filter(|cut| text.is_char_boundary(*cut)) {
        let mut client = running.connect();
        client.stream.set_nodelay(true).expect("an open socket");
        client.send(&text[..cut]);
        client.send(&text[cut..]);
        for expected in expected {
            assert_eq!(client.receive().1, expected, "cut at {cut}");
        }
    }
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
fn a_head_over_the_limit_is_refused() {
    let running = Running::start(ServerLimits { head_bytes_max: 9000, ..ServerLimits::default() });
    let mut client = running.connect();
    let head =
        |filler: usize| format!("GET /x HTTP/1.1\r\nhost: h\r\na: {}\r\n\r\n", "x".repeat(filler));
    client.send(&head(8500));
    assert_eq!(client.receive().1, "/x");
    client.send(&head(9000));
    let (head, body) = client.receive();
    assert!(head.starts_with("http/1.1 431"), "{head}");
    assert!(body.contains("larger than 9000 bytes"), "{body}");
    client.expect_closed();

    for headers_max in [3, ServerLimits::default().headers_max, 300] {
        let running = Running::start(ServerLimits { headers_max, ..ServerLimits::default() });
        let mut client = running.connect();
        let more = |count| "a: 1\r\n".repeat(count - 1);
        let head = |count| format!("GET /x HTTP/1.1\r\nhost: h\r\n{}\r\n", more(count));
        client.send(&head(headers_max));
        assert_eq!(client.receive().1, "/x");
        client.send(&head(headers_max + 1));
        let (head, body) = client.receive();
        assert!(head.starts_with("http/1.1 431"), "{head}");
        assert!(body.contains(&format!("more than {headers_max} lines")), "{body}");
    }

    let running =
        Running::start(ServerLimits { head_bytes_max: 1 << 17, ..ServerLimits::default() });
    let mut client = running.connect();
    client.send(&format!("GET /{} HTTP/1.1\r\nhost: h\r\n\r\n", "x".repeat(1 << 16)));
    let (head, body) = client.receive();
    assert!(head.starts_with("http/1.1 414"), "{head}");
    assert!(body.contains("target is too long"), "{body}");
    // Nor is there room for more of a head than its target.
    let running = Running::start(ServerLimits::default());
    let mut client = running.connect();
    client.send(&format!("GET /{}", "x".repeat(1 << 16)));
    assert!(client.receive().0.starts_with("http/1.1 414"));
    client.expect_closed();
}

#[test]
fn a_slow_head_is_given_up() {
    let limits =
        ServerLimits { head_timeout: Duration::from_millis(60), ..ServerLimits::default() };
    let running = Running::start(limits);
    let mut client = running.connect();
    assert_eq!(client.get("/first").1, "/first");
    client.send("GET /slow HTT");
    client.expect_closed();
    running.notes.wait_for("did not complete its request head");
}

#[test]
fn an_idle_connection_is_closed_but_not_one_that_waits_for_an_answer() {
    let limits =
        ServerLimits { idle_timeout: Duration::from_millis(60), ..ServerLimits::default() };
    let running = Running::start(limits);
    let mut waiting = running.connect();
    waiting.send("GET /wait HTTP/1.1\r\nhost: h\r\n\r\n");
    running.notes.wait_for("waiting");
    let mut idle = running.connect();
    assert_eq!(idle.get("/a").1, "/a");
    idle.expect_closed();
    running.notes.wait_for("Client socket timed out");
    running.release.send_replace(true);
    assert_eq!(waiting.receive().1, "waited");
}

#[test]
fn a_panic_is_an_answer_and_touches_nobody_else() {
    let running = Running::start(ServerLimits::default());
    let mut other = running.connect();
    other.send("GET /wait HTTP/1.1\r\nhost: h\r\n\r\n");
    running.notes.wait_for("waiting");
    let mut client = running.connect();
    let (head, body) = client.get("/panic");
    assert!(head.starts_with("http/1.1 500"), "{head}");
    let incident = body.split("\"incident\":\"").nth(1).and_then(|rest| rest.split('"').next());
    running
        .notes
        .wait_for(&format!("incident {}: `GET /panic` panicked: boom", incident.expect("an id")));
    assert_eq!(client.get("/after").1, "/after");
    running.release.send_replace(true);
    assert_eq!(other.receive().1, "waited");
}

#[test]
fn a_client_that_leaves_drops_its_request() {
    let running = Running::start(ServerLimits::default());
    let mut client = running.connect();
    client.send("GET /wait HTTP/1.1\r\nhost: h\r\n\r\n");
    running.notes.wait_for("waiting");
    drop(client);
    running.notes.wait_for("dropped");
}

#[test]
fn a_client_that_resets_its_connection_drops_its_request() {
    let running = Running::start(ServerLimits::default());
    let mut client = running.connect();
    // Whoever leaves without having read an answer resets.
    client.send("GET /a HTTP/1.1\r\nhost: h\r\n\r\nGET /wait HTTP/1.0\r\nhost: h\r\n\r\n");
    running.notes.wait_for("waiting");
    drop(client);
    running.notes.wait_for("dropped");
}

#[test]
fn a_client_that_closes_its_half_gets_its_answer() {
    let running = Running::start(ServerLimits::default());
    for version in ["1.0", "1.1"] {
        running.release.send_replace(false);
        running.notes.list().clear();
        let mut client = running.connect();
        client.send(&format!("GET /wait HTTP/{version}\r\nhost: h\r\n\r\n"));
        client.stream.shutdown(Shutdown::Write).expect("is open");
        running.notes.wait_for("waiting");
        running.release.send_replace(true);
        assert_eq!(client.receive_final().1, "waited", "HTTP/{version}");
        client.expect_closed();
    }
}

#[test]
fn a_client_that_waits_long_behind_its_half_is_asked_whether_it_is_there() {
    let running = Running::start(ServerLimits::default());
    let mut client = running.connect();
    client.send("GET /a HTTP/1.1\r\nhost: h\r\n\r\nGET /wait HTTP/1.1\r\nhost: h\r\n\r\n");
    client.stream.shutdown(Shutdown::Write).expect("is open");
    assert_eq!(client.receive().1, "/a");
    assert_eq!(client.head(), "http/1.1 100 continue\r\n\r\n");
    running.release.send_replace(true);
    assert_eq!(client.receive().1, "waited");
    client.expect_closed();
}

#[test]
fn an_answer_that_nobody_reads_is_given_up() {
    let limits =
        ServerLimits { idle_timeout: Duration::from_millis(60), ..ServerLimits::default() };
    let running = Running::start(limits);
    let mut client = running.connect();
    client.send("GET /large HTTP/1.1\r\nhost: h\r\n\r\n");
    running.notes.wait_for("Client socket timed out");
    let running = Running::start(ServerLimits::default());
    let mut reading = running.connect();
    assert_eq!(reading.get("/large").1.len(), LARGE_BYTES);
}

#[test]
fn what_comes_behind_the_request_belongs_to_the_other_protocol() {
    let running = Running::start(ServerLimits::default());
    let mut client = running.connect();
    client.send("GET /switch HTTP/1.1\r\nhost: h\r\n\r\nearly, ");
    assert!(client.head().starts_with("http/1.1 101"));
    client.send("late.");
    assert_eq!(client.read_until(b"early, late."), 12);
    client.stream.shutdown(Shutdown::Write).expect("is open");
    running.notes.wait_for("left /switch");
}

/// The requests of `requests.json`, each with what it is answered.
fn table() -> serde_json::Value {
    serde_json::from_str(include_str!("requests.json")).expect("a table of requests")
}

/// Sends bytes in pieces, of which the first end at these places, and judges what is answered.
#[track_caller]
fn check_answers(running: &Running, case: &serde_json::Value, cuts: &[usize]) {
    let text = case["send"].as_str().expect("what is sent");
    let why = format!("{} ({text:?}, cut at {cuts:?})", case["why"]);
    let mut client = running.connect();
    client.stream.set_nodelay(true).expect("an open socket");
    let mut sent = 0;
    for cut in cuts.iter().copied().chain([text.len()]) {
        // Whoever is refused in the middle may be gone.
        let _ = client.stream.write_all(&text.as_bytes()[sent..cut]);
        sent = cut;
    }
    let _ = client.stream.shutdown(Shutdown::Write);
    for answer in case["answers"].as_array().expect("a list") {
        let (head, body) = client.receive_final();
        let status = head.split(' ').nth(1).expect("a status");
        assert_eq!(status, answer["status"].to_string(), "{why}: {head}{body}");
        let part = answer["body"].as_str().expect("text");
        if head.starts_with("http/1.1 200") || head.starts_with("http/1.0 200") {
            assert_eq!(body, part, "{why}");
        } else {
            assert!(body.contains(part), "{why}: {body}");
            let body: serde_json::Value = serde_json::from_str(&body).expect("an error is JSON");
            assert!(body["message"].is_string(), "{why}: {body}");
        }
        let is_last = head.contains("connection: close\r\n");
        assert!(!is_last || case["closed"] == true, "{why}: {head}");
    }
    assert!(!client.fill(), "{why}: more than the answers");
    assert_eq!(String::from_utf8_lossy(&client.buffer), "", "{why}");
}

#[test]
fn every_request_of_the_table_is_answered_as_it_says() {
    let running = Running::start(ServerLimits::default());
    for case in table().as_array().expect("a list") {
        check_answers(&running, case, &[]);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8))]

    #[test]
    fn requests_are_answered_the_same_in_any_pieces(
        cuts in prop::collection::vec(0.0..1.0_f64, 1..6),
    ) {
        let running = Running::start(ServerLimits::default());
        for case in table().as_array().expect("a list") {
            let length = case["send"].as_str().expect("what is sent").len();
            #[expect(clippy::cast_precision_loss, clippy::cast_sign_loss, reason = "places in a short text")]
            let mut cuts: Vec<_> = cuts.iter().map(|cut| (cut * length as f64) as usize).collect();
            cuts.sort_unstable();
            check_answers(&running, case, &cuts);
        }
    }

    #[test]
    fn any_bytes_come_to_an_end(
        bytes in prop::collection::vec(any::<u8>(), 0..200),
        start in prop::sample::select(vec![
            "",
            "GET / HTTP/1.1\r\n",
            "POST /echo HTTP/1.1\r\nhost: h\r\ntransfer-encoding: chunked\r\n\r\n",
            "GET /switch HTTP/1.1\r\nhost: h\r\n\r\n",
        ]),
    ) {
        let running = Running::start(ServerLimits::default());
        let mut client = running.connect();
        let _ = client.stream.write_all(&[start.as_bytes(), &bytes].concat());
        let _ = client.stream.shutdown(Shutdown::Write);
        while client.fill() {}
        prop_assert_eq!(running.connect().get("/a").1, "/a");
        prop_assert!(!running.notes.list().iter().any(|note| note.contains("panicked")));
    }
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

#[test]
fn a_client_that_leaves_behind_its_body_drops_its_request() {
    let running = Running::start(ServerLimits::default());
    let mut client = running.connect();
    client.send("POST /wait HTTP/1.1\r\nhost: h\r\ncontent-length: 3\r\n\r\ns=a");
    running.notes.wait_for("waiting");
    drop(client);
    running.notes.wait_for("dropped");
}

#[test]
fn what_a_client_sends_while_its_answer_is_made_is_answered_next() {
    let running = Running::start(ServerLimits::default());
    let mut client = running.connect();
    client.send("GET /wait HTTP/1.1\r\nhost: h\r\n\r\n");
    running.notes.wait_for("waiting");
    client.send("GET /a HTTP/1.1\r\nhost: h\r\n\r\n");
    running.release.send_replace(true);
    assert_eq!(client.receive().1, "waited");
    assert_eq!(client.receive().1, "/a");
}

#[test]
fn too_many_requests_in_flight_are_refused_with_a_hint() {
    let running = Running::start(ServerLimits { in_flight_max: 1, ..ServerLimits::default() });
    let mut first = running.connect();
    first.send("GET /wait HTTP/1.1\r\nhost: h\r\n\r\n");
    running.notes.wait_for("waiting");
    let mut second = running.connect();
    let (head, body) = second.get("/a");
    assert!(head.starts_with("http/1.1 503"), "{head}");
    assert!(head.contains("retry-after: 1\r\n"), "{head}");
    assert!(body.contains("\"message\""), "{body}");
    running.release.send_replace(true);
    assert_eq!(first.receive().1, "waited");
    assert_eq!(second.get("/a").1, "/a");
}

#[test]
fn connections_over_the_limit_wait_until_others_end() {
    let running = Running::start(ServerLimits { connections_max: 1, ..ServerLimits::default() });
    let mut first = running.connect();
    assert_eq!(first.get("/a").1, "/a");
    let mut second = running.connect();
    second.send("GET /b HTTP/1.1\r\nhost: h\r\n\r\n");
    assert_eq!(first.get("/c").1, "/c");
    drop(first);
    assert_eq!(second.receive().1, "/b");
}

#[test]
fn few_connections_are_spread_over_all_workers() {
    let running = Running::start_with(ServerLimits::default(), 3);
    let mut clients: Vec<_> = (0..6).map(|_| running.connect()).collect();
    let mut workers: Vec<_> = clients.iter_mut().map(|client| client.get("/worker").1).collect();
    workers.sort();
    assert_eq!(workers, ["0", "0", "1", "1", "2", "2"]);
}

#[test]
fn draining_answers_what_was_asked_and_ends_idle_connections() {
    let running = Running::start_with(ServerLimits::default(), 2);
    let mut idle = running.connect();
    assert_eq!(idle.get("/a").1, "/a");
    let mut waiting: Vec<_> = (0..10).map(|_| running.connect()).collect();
    for client in &mut waiting {
        client.send("GET /wait HTTP/1.1\r\nhost: h\r\n\r\n");
    }
    let start = Instant::now();
    while running.notes.list().len() < 10 {
        assert!(start.elapsed() < PATIENCE);
        thread::yield_now();
    }
    let address = running.server().addresses()[0];
    running.server().stopper().drain();
    idle.expect_closed();
    let start = Instant::now();
    while TcpStream::connect(address).is_ok() {
        assert!(start.elapsed() < PATIENCE, "still accepts");
    }
    running.release.send_replace(true);
    for client in &mut waiting {
        let (head, body) = client.receive();
        assert!(head.contains("connection: close"), "{head}");
        assert_eq!(body, "waited");
        client.expect_closed();
    }
    assert_eq!(running.end(), 0);
}

#[test]
fn draining_gives_up_at_its_deadline_and_stopping_at_once() {
    let limits =
        ServerLimits { drain_timeout: Duration::from_millis(30), ..ServerLimits::default() };
    let running = Running::start(limits);
    let mut client = running.connect();
    client.send("GET /wait HTTP/1.1\r\nhost: h\r\n\r\n");
    running.notes.wait_for("waiting");
    let notes = running.notes.clone();
    assert_eq!(running.end(), 1);
    notes.wait_for("dropped");
    client.expect_closed();

    let mut running = Running::start(ServerLimits::default());
    let mut client = running.connect();
    client.send("GET /wait HTTP/1.1\r\nhost: h\r\n\r\n");
    running.notes.wait_for("waiting");
    let server = running.server.take().expect("not ended yet");
    server.stopper().stop();
    assert_eq!(server.join().expect("no thread panicked"), 1);
    client.expect_closed();
}

#[test]
fn a_failed_start_leaves_nothing_behind() {
    let running = Running::start(ServerLimits::default());
    let config = ServerConfig {
        addresses: vec![running.server().addresses()[0]],
        workers: 1,
        limits: ServerLimits::default(),
    };
    let error = Server::start(&config, Arc::new(drop), |_| Err::<Dummy, _>("unused".into()));
    assert_eq!(error.expect_err("the port is taken").kind(), io::ErrorKind::AddrInUse);
    let config = ServerConfig { addresses: vec![([127, 0, 0, 1], 0).into()], ..config };
    let error = Server::start(&config, Arc::new(drop), |_| Err::<Dummy, _>("no luck".into()));
    assert_eq!(error.expect_err("the factory fails").to_string(), "no luck");
}
