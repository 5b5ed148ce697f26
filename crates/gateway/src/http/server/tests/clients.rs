//! Clients that leave, wait, or do not read; and what follows behind another protocol.

use std::net::Shutdown;

use super::*;

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
    let answer_pace = Pace { pause_max: Duration::from_millis(60), rate_min: 1 };
    let running = Running::start(ServerLimits { answer_pace, ..ServerLimits::default() });
    let mut client = running.connect();
    client.send("GET /large HTTP/1.1\r\nhost: h\r\n\r\n");
    running.notes.wait_for("Client socket timed out");
    let running = Running::start(ServerLimits::default());
    let mut reading = running.connect();
    assert_eq!(reading.get("/large").1.len(), LARGE_BYTES);
}

#[test]
fn an_answer_that_is_taken_byte_by_byte_is_given_up() {
    let answer_pace = Pace { pause_max: Duration::from_secs(1), rate_min: u64::MAX };
    let running = Running::start(ServerLimits { answer_pace, ..ServerLimits::default() });
    let mut client = running.connect();
    client.send("GET /large HTTP/1.1\r\nhost: h\r\n\r\n");
    let start = Instant::now();
    let mut taken = 0;
    // Some 5 MB a second, so that it is far from its end: it never pauses, but no rate is enough.
    while !running.notes.list().iter().any(|note| note.contains("Client socket timed out")) {
        assert!(start.elapsed() < PATIENCE);
        if taken < start.elapsed().as_micros() * 5 {
            let mut bytes = [0; 8192];
            taken += client.stream.read(&mut bytes).map_or(0, |count| count as u128);
        }
    }
}

#[test]
fn answers_that_wait_have_a_limit_together() {
    let most = LARGE_BYTES + LARGE_BYTES / 2;
    let running = Running::start_with_answers(ServerLimits::default(), 1, most);
    let mut clients = [(); 3].map(|()| running.connect());
    for client in &mut clients {
        client.send("GET /large HTTP/1.1\r\nhost: h\r\n\r\n");
    }
    // Three cannot wait, one can.
    running.notes.wait_for(&format!("`maxAnswersMemory` ({most} bytes)"));
    let lengths: Vec<_> = clients
        .iter_mut()
        .map(|client| {
            while client.buffer.len() < LARGE_BYTES && client.fill() {}
            client.buffer.len()
        })
        .collect();
    assert_eq!(lengths.iter().filter(|length| **length >= LARGE_BYTES).count(), 1, "{lengths:?}");
    assert_eq!(running.connect().get("/large").1.len(), LARGE_BYTES, "there is room again");
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

#[test]
fn a_client_that_leaves_behind_its_body_drops_its_request() {
    let running = Running::start(ServerLimits::default());
    let mut client = running.connect();
    client.send("POST /wait HTTP/1.1\r\nhost: h\r\ncontent-length: 3\r\n\r\ns=a");
    running.notes.wait_for("waiting");
    drop(client);
    running.notes.wait_for("dropped");
}
