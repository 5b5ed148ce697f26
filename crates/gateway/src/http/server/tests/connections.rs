//! Connections: kept, idle, too many; panics; and the end of the server.

use super::*;

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
fn the_connection_that_has_waited_longest_makes_room_for_a_new_one() {
    let running = Running::start(ServerLimits { connections_max: 2, ..ServerLimits::default() });
    let mut first = running.connect();
    assert_eq!(first.get("/a").1, "/a");
    let mut second = running.connect();
    assert_eq!(second.get("/b").1, "/b");
    assert_eq!(first.get("/c").1, "/c");
    let mut third = running.connect();
    assert_eq!(third.get("/d").1, "/d");
    second.expect_closed();
    assert_eq!(first.get("/e").1, "/e");
    let mut fourth = running.connect();
    third.expect_closed();
    assert_eq!(fourth.get("/g").1, "/g");
    let mut last = running.connect();
    assert_eq!(last.get("/f").1, "/f");
    first.expect_closed();
    assert_eq!(fourth.get("/h").1, "/h");
}

#[test]
fn a_client_that_there_is_no_room_for_hears_so() {
    let running = Running::start(ServerLimits { connections_max: 1, ..ServerLimits::default() });
    let mut busy = running.connect();
    busy.send("GET /wait HTTP/1.1\r\nhost: h\r\n\r\n");
    running.notes.wait_for("waiting");
    for _ in 0..100 {
        let mut client = running.connect();
        client.send("GET /a HTTP/1.1\r\nhost: h\r\n\r\n");
        let (head, body) = client.receive();
        assert!(head.starts_with("http/1.1 503"), "{head}");
        assert!(head.contains("retry-after: 1\r\n"), "{head}");
        assert!(head.contains("connection: close\r\n"), "{head}");
        assert!(body.contains("\"message\""), "{body}");
        client.expect_closed();
    }
    let is_told = |note: &&String| note.contains("all 1 connections that there may be are in use");
    assert_eq!(running.notes.list().iter().filter(is_told).count(), 1, "not a hundred times");
    running.release.send_replace(true);
    assert_eq!(busy.receive().1, "waited");
    // Now it is idle, and so in nobody's way.
    assert_eq!(running.connect().get("/b").1, "/b");
    busy.expect_closed();
}

#[test]
fn a_worker_that_is_kept_gets_no_new_connections() {
    let running = Running::start_with(ServerLimits::default(), 3);
    let mut keeping = running.connect();
    keeping.send("GET /keep HTTP/1.1\r\nhost: h\r\n\r\n");
    running.notes.wait_for("kept ");
    let kept = running.notes.list()[0].replace("kept ", "");
    let start = Instant::now();
    // Far more than other programs may keep the others.
    while running.server().lateness().all(|late| late < Duration::from_millis(300)) {
        assert!(start.elapsed() < PATIENCE);
        thread::yield_now();
    }
    for _ in 0..6 {
        assert_ne!(running.connect().get("/worker").1, kept);
    }
    running.release.send_replace(true);
    assert_eq!(keeping.receive().1, "kept");
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
    let address = running.address();
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
        listens: vec![Listen::plain(running.address())],
        workers: 1,
        limits: ServerLimits::default(),
        answers: Arc::new(Quota::new(0)),
    };
    let error = Server::start(&config, Arc::new(drop), |_| Err::<Dummy, _>("unused".into()));
    assert_eq!(error.expect_err("the port is taken").kind(), io::ErrorKind::AddrInUse);
    let config =
        ServerConfig { listens: vec![Listen::plain(([127, 0, 0, 1], 0).into())], ..config };
    let error = Server::start(&config, Arc::new(drop), |_| Err::<Dummy, _>("no luck".into()));
    assert_eq!(error.expect_err("the factory fails").to_string(), "no luck");
}
