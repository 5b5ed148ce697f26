//! The test client against answers of any bytes: it never panics and never waits for ever.

#![expect(clippy::unwrap_used, reason = "a broken test bench must fail the test")]

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::thread;
use std::time::{Duration, Instant};

use proptest::prelude::*;
use qlio_testkit::client::{Answer, Request, fetch};

/// Answers one request with these bytes and closes.
fn answer_with(bytes: Vec<u8>, method: &str) -> std::io::Result<Answer> {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let address = listener.local_addr().unwrap();
    let server = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        // Closing with the request unread would reset the connection under the answer.
        let mut request = [0; 1024];
        let _read = stream.read(&mut request);
        // The client may have given up on the first bytes already.
        let _sent = stream.write_all(&bytes);
    });
    let answer = fetch(address, &Request::new(method, "/"), Duration::from_secs(5));
    server.join().unwrap();
    answer
}

#[test]
fn interim_answers_are_skipped() {
    let bytes = b"HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";
    let answer = answer_with(bytes.to_vec(), "GET").unwrap();
    assert_eq!((answer.status, answer.text().as_str()), (200, "ok"));
}

#[test]
fn a_body_without_length_ends_with_the_connection() {
    let answer = answer_with(b"HTTP/1.0 200 OK\r\n\r\nall of it".to_vec(), "GET").unwrap();
    assert_eq!((answer.minor_version, answer.text().as_str()), (0, "all of it"));
}

#[test]
fn silence_ends_with_the_patience() {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let begun = Instant::now();
    let patience = Duration::from_millis(50);
    assert!(fetch(listener.local_addr().unwrap(), &Request::get("/"), patience).is_err());
    assert!(begun.elapsed() < Duration::from_secs(5));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn no_bytes_make_it_panic(
        head in "(HTTP/1.1 [0-9]{3} [a-z]{0,3}\r\n)?",
        lines in "((content-length: [0-9]{1,3}|transfer-encoding: chunked|x: y)\r\n){0,3}(\r\n)?",
        rest in prop::collection::vec(any::<u8>(), 0..64),
    ) {
        let mut bytes = format!("{head}{lines}").into_bytes();
        bytes.extend(rest);
        // Both an answer and an error are right; a panic or a hang is not.
        let _outcome = answer_with(bytes, "GET");
    }
}
