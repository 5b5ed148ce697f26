//! Heads of requests, one after the other, and the table of those that can be read in two ways.

use std::net::Shutdown;

use proptest::prelude::*;

use super::*;

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

/// The requests of `requests.json`, each with what it is answered.
fn table() -> serde_json::Value {
    serde_json::from_str(include_str!("../requests.json")).expect("a table of requests")
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
