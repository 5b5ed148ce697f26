//! HTTP/2 with a client that behaves as it should, and as it should not.

use std::{
    io::{Read, Write},
    net::SocketAddr,
};

use h2::{
    Reason, RecvStream,
    client::{Connection, ResponseFuture, SendRequest},
};
use tokio::{net::TcpStream, task::yield_now, time::timeout};

use super::*;
use crate::http::pace::Pace;

fn start(limits: ServerLimits) -> Running {
    start_with_answers(limits, usize::MAX)
}

fn start_with_answers(limits: ServerLimits, answers: usize) -> Running {
    let door = Door { plain_http2: true, ..Door::default() };
    let listen = Listen { door: Arc::new(door), ..Listen::plain(([127, 0, 0, 1], 0).into()) };
    Running::start_at(listen, limits, 1, answers)
}

/// Runs a client to its end.
fn run(test: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.expect("a runtime");
    let tasks = tokio::task::LocalSet::new();
    runtime.block_on(tasks.run_until(async { timeout(PATIENCE, test).await.expect("in time") }));
}

/// A client, and its connection, which has to be driven.
async fn connect(address: SocketAddr) -> (SendRequest<Bytes>, Connection<TcpStream, Bytes>) {
    let stream = TcpStream::connect(address).await.expect("it listens");
    h2::client::handshake(stream).await.expect("it speaks HTTP/2")
}

/// A client whose connection is driven beside it.
async fn client(address: SocketAddr) -> SendRequest<Bytes> {
    let (client, connection) = connect(address).await;
    tokio::task::spawn_local(async move {
        // How it ends is seen by its streams.
        let _ended = connection.await;
    });
    client
}

/// Waits for a note while the connections beside it are driven.
async fn noted(running: &Running, part: &str) {
    while !running.notes.list().iter().any(|note| note.contains(part)) {
        yield_now().await;
    }
}

fn get(path: &str) -> hyper::Request<()> {
    let uri = format!("http://h{path}");
    hyper::Request::builder().uri(uri).body(()).expect("a request")
}

async fn send(client: &SendRequest<Bytes>, request: hyper::Request<()>) -> ResponseFuture {
    let mut client = client.clone().ready().await.expect("the connection is open");
    client.send_request(request, true).expect("a valid request").0
}

async fn read(mut body: RecvStream) -> Result<Vec<u8>, h2::Error> {
    let mut whole = Vec::new();
    while let Some(piece) = body.data().await {
        let piece = piece?;
        body.flow_control().release_capacity(piece.len())?;
        whole.extend_from_slice(&piece);
    }
    Ok(whole)
}

async fn ask(client: &SendRequest<Bytes>, request: hyper::Request<()>) -> (u16, Vec<u8>) {
    let response = send(client, request).await.await.expect("an answer");
    let status = response.status().as_u16();
    (status, read(response.into_body()).await.expect("a body"))
}

#[test]
fn streams_are_answered_side_by_side_and_as_a_request_of_the_older_version() {
    let running = start(ServerLimits::default());
    run(async {
        let client = client(running.address()).await;
        let slow = send(&client, get("/wait")).await;
        noted(&running, "waiting").await;
        assert_eq!(ask(&client, get("/one")).await, (200, b"/one".to_vec()));
        let head = hyper::Request::head("http://h/one").body(()).expect("a request");
        let response = send(&client, head).await.await.expect("an answer");
        assert_eq!(response.headers()["content-length"], "4");
        assert!(response.headers().contains_key("date"));
        assert!(read(response.into_body()).await.expect("no body").is_empty());
        assert_eq!(ask(&client, get("/panic")).await.0, 500);
        let (status, body) = ask(&client, get("/large")).await;
        assert_eq!((status, body.len()), (200, LARGE_BYTES));
        running.release.send_replace(true);
        assert_eq!(slow.await.expect("an answer").status(), 200);
    });
    // The older version is still spoken there.
    let mut client = running.connect();
    assert_eq!(client.get("/one").1, "/one");
    let mut client = running.connect();
    client.send("P");
    client.send("OST /one HTTP/1.1\r\nhost: h\r\n\r\n");
    assert_eq!(client.receive().1, "/one");
}

#[test]
fn a_body_comes_as_it_is_asked_for_and_is_bounded() {
    let running = start(ServerLimits::default());
    run(async {
        let client = client(running.address()).await;
        for (body, status) in [("0123456789", 200), ("0123456789a", 413)] {
            let request = hyper::Request::post("http://h/echo").body(()).expect("a request");
            let mut ready = client.clone().ready().await.expect("the connection is open");
            let (response, mut stream) = ready.send_request(request, false).expect("valid");
            stream.send_data(Bytes::from(body), true).expect("it fits");
            let response = response.await.expect("an answer");
            assert_eq!(response.status(), status);
        }
    });
}

#[test]
fn a_client_that_leaves_or_takes_a_request_back_drops_it() {
    let running = start(ServerLimits::default());
    run(async {
        let (client, connection) = connect(running.address()).await;
        let driven = tokio::task::spawn_local(connection);
        let waiting = send(&client, get("/wait")).await;
        noted(&running, "waiting").await;
        drop(waiting);
        // The reset goes out as the connection is driven.
        noted(&running, "dropped").await;
        running.notes.list().clear();
        let _waiting = send(&client, get("/wait")).await;
        noted(&running, "waiting").await;
        driven.abort();
        drop(client);
    });
    running.notes.wait_for("dropped");
}

#[test]
fn a_client_that_takes_back_what_it_asks_for_is_cut_off() {
    let running = start(ServerLimits::default());
    run(async {
        let client = client(running.address()).await;
        loop {
            let Ok(mut ready) = client.clone().ready().await else { break };
            let Ok((response, mut stream)) = ready.send_request(get("/wait"), true) else { break };
            stream.send_reset(Reason::CANCEL);
            drop(response);
            yield_now().await;
        }
    });
    running.notes.wait_for("connection of 127.0.0.1");
    let notes = running.notes.list();
    let waiting = notes.iter().filter(|note| *note == "waiting").count();
    assert!(waiting < 1000, "{waiting} were begun");
}

#[test]
fn streams_and_headers_are_bounded() {
    let limits = ServerLimits { streams_max: 2, headers_max: 5, ..ServerLimits::default() };
    let running = start(limits);
    run(async {
        let client = client(running.address()).await;
        let many = (0..6).fold(hyper::Request::get("http://h/one"), |request, number| {
            request.header(format!("x-{number}"), "1")
        });
        assert_eq!(ask(&client, many.body(()).expect("a request")).await.0, 431);
        let long = hyper::Request::get("http://h/one").header("x", "1".repeat(70_000));
        let refused = send(&client, long.body(()).expect("a request")).await.await;
        assert_eq!(refused.expect("an answer").status(), 431);
        let [first, second] =
            [send(&client, get("/wait")).await, send(&client, get("/wait")).await];
        noted(&running, "waiting").await;
        let third = async {
            let mut ready = client.clone().ready().await.expect("the connection is open");
            let (third, _) = ready.send_request(get("/one"), true).expect("a valid request");
            third.await
        };
        tokio::select! {
            biased;
            third = third => assert!(third.is_err(), "a third one was answered"),
            () = tokio::time::sleep(Duration::from_millis(50)) => {}
        }
        running.release.send_replace(true);
        for waiting in [first, second] {
            assert_eq!(waiting.await.expect("an answer").status(), 200);
        }
    });
}

#[test]
fn a_client_that_does_not_take_its_answer_is_cut_off() {
    let pace = Pace { pause_max: Duration::from_millis(100), rate_min: 1 };
    let running = start(ServerLimits { answer_pace: pace, ..ServerLimits::default() });
    run(async {
        let client = client(running.address()).await;
        // Its window stays full, while the connection itself is read.
        let response = send(&client, get("/large")).await.await.expect("a head");
        noted(&running, "takes its answers too slowly").await;
        drop((client, response));
    });
}

#[test]
fn of_those_who_take_their_answers_slowly_the_slowest_loses_it() {
    let running = start_with_answers(ServerLimits::default(), LARGE_BYTES + LARGE_BYTES / 2);
    run(async {
        let [one, two] = [client(running.address()).await, client(running.address()).await];
        let first = send(&one, get("/large")).await.await.expect("a head");
        let second = send(&two, get("/large")).await.await.expect("a head");
        noted(&running, "takes its answers too slowly").await;
        let bodies = [read(first.into_body()).await, read(second.into_body()).await];
        let whole = bodies.iter().flatten().filter(|body| body.len() == LARGE_BYTES).count();
        assert_eq!(whole, 1, "one of them");
    });
}

#[test]
fn draining_lets_streams_finish_and_says_goodbye() {
    let running = start(ServerLimits::default());
    run(async {
        let (idle, idle_connection) = connect(running.address()).await;
        let (client, connection) = connect(running.address()).await;
        let idle_driven = tokio::task::spawn_local(idle_connection);
        let driven = tokio::task::spawn_local(connection);
        let waiting = send(&client, get("/wait")).await;
        noted(&running, "waiting").await;
        running.server().stopper().drain();
        idle_driven.await.expect("no panic").expect("a goodbye");
        running.release.send_replace(true);
        let response = waiting.await.expect("an answer");
        assert_eq!(read(response.into_body()).await.expect("a body"), b"waited");
        driven.await.expect("no panic").expect("a goodbye");
        drop((idle, client));
    });
    assert_eq!(running.end(), 0);
}

#[test]
fn an_idle_connection_says_goodbye() {
    const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
    const NO_SETTINGS: &[u8] = &[0, 0, 0, 4, 0, 0, 0, 0, 0];
    const HEAD_BYTES: usize = 9;
    let idle_timeout = Duration::from_secs(1);
    let running = start(ServerLimits { idle_timeout, ..ServerLimits::default() });
    // All that it ever writes goes first: a client that answers may do so when the connection is closed already.
    let mut client = std::net::TcpStream::connect(running.address()).expect("it listens");
    client.set_read_timeout(Some(PATIENCE)).expect("a timeout");
    client.write_all(&[PREFACE, NO_SETTINGS].concat()).expect("it takes them");
    let mut received = Vec::new();
    client.read_to_end(&mut received).expect("it is closed in time");
    let (mut rest, mut frames) = (&received[..], Vec::new());
    while let Some((head, after)) = rest.split_at_checked(HEAD_BYTES) {
        let length = usize::from(head[2]) + 256 * usize::from(head[1]);
        let (payload, after) = after.split_at(length);
        frames.push((head[3], payload));
        rest = after;
    }
    // A frame of the kind GOAWAY (RFC 9113, 6.8) that names no error.
    let is_goodbye = |(kind, payload): &(u8, &[u8])| *kind == 7 && payload[4..8] == [0; 4];
    assert!(frames.iter().any(is_goodbye), "{frames:?}");
}
