//! What a watcher is shown of a body, and which bodies it is asked about.

use std::sync::Arc;

use http::Method;
use qlio_engine::transport::{ErrorKind, Exchange, Retry, Watcher};
use tokio::sync::Notify;

use crate::{
    PATIENT, get, transport,
    upstream::{Step, Upstream, ok, redirect, response},
};

/// Writes down what it is told; lets go on the upstream once it has seen something.
#[derive(Default)]
struct Notes {
    /// How the attempt before each one has failed.
    attempts: Vec<Option<String>>,
    asked: Vec<u64>,
    shown: Vec<Vec<u8>>,
    go_on: Arc<Notify>,
}

impl Watcher for Notes {
    fn on_attempt(&mut self, failure: Option<&ErrorKind>) {
        self.attempts.push(failure.map(ToString::to_string));
        self.shown.clear();
    }

    fn wants_body(&mut self, bytes: u64) -> bool {
        self.asked.push(bytes);
        true
    }

    fn on_body(&mut self, beginning: &[u8]) {
        self.shown.push(beginning.to_vec());
        self.go_on.notify_one();
    }
}

fn head(length: usize) -> Vec<u8> {
    format!("HTTP/1.1 200 X\r\ncontent-length: {length}\r\n\r\n").into()
}

#[tokio::test]
async fn a_body_is_shown_while_the_upstream_waits_with_the_rest() {
    let mut notes = Notes::default();
    let go_on = Arc::clone(&notes.go_on);
    let upstream = Upstream::start(move |_| {
        let wait = || Step::Wait(Arc::clone(&go_on));
        let send = |text: &str| Step::Send(text.into());
        vec![Step::Send(head(9)), send("abc"), wait(), send("def"), wait(), send("ghi")]
    })
    .await;
    let mut exchange = get(&upstream.uri("/"));
    let transport = transport();
    let reply = transport.send_watched(&mut exchange, &mut notes).await.expect("an answer");
    assert_eq!(reply.body, "abcdefghi");
    assert_eq!((notes.attempts, notes.asked), (vec![None], vec![9]));
    assert!(notes.shown.len() >= 2, "{:?}", notes.shown);
    let mut length = 0;
    for beginning in &notes.shown {
        assert!(beginning.len() >= length && reply.body.starts_with(beginning), "{beginning:?}");
        length = beginning.len();
    }
    assert!(length < 9, "the end is part of the reply only");
}

#[tokio::test]
async fn a_large_body_is_shown_in_parts_and_each_follows_the_one_before() {
    const LENGTH: usize = 3_000_000;
    let body: Vec<u8> =
        (0..LENGTH).map(|at| b'a' + u8::try_from(at % 23).expect("small")).collect();
    let sent = body.clone();
    let upstream = Upstream::start(move |_| ok(&sent)).await;
    let mut notes = Notes::default();
    let mut exchange = get(&upstream.uri("/"));
    let transport = transport();
    let reply = transport.send_watched(&mut exchange, &mut notes).await.expect("an answer");
    assert!(reply.body == body);
    let ends: Vec<usize> = notes.shown.iter().map(Vec::len).collect();
    assert!(ends.windows(2).all(|pair| pair[1] - pair[0] <= 256 * 1024), "{ends:?}");
    assert!(notes.shown.last().is_some_and(|last| body.starts_with(last)));
}

#[tokio::test]
async fn every_attempt_begins_anew() {
    let upstream = Upstream::start(|seen| match seen.connection {
        0 => vec![Step::Send(head(9)), Step::Send(b"xyz".to_vec()), Step::Close],
        _ => vec![Step::Send(head(9)), Step::Send(b"abc".to_vec()), Step::Send(b"defghi".to_vec())],
    })
    .await;
    let mut notes = Notes::default();
    let mut exchange = Exchange { retry: Retry::Once, ..get(&upstream.uri("/")) };
    let transport = transport();
    let reply = transport.send_watched(&mut exchange, &mut notes).await.expect("an answer");
    let failure = notes.attempts[1].as_deref().unwrap_or_default();
    assert_eq!(failure, "the response body is not as long as declared");
    assert_eq!((&*reply.body, notes.attempts.len()), (&b"abcdefghi"[..], 2));
    assert!(notes.shown.iter().all(|beginning| reply.body.starts_with(beginning)));
}

#[tokio::test]
async fn only_the_body_of_a_reply_is_shown_and_only_as_it_comes() {
    let upstream = Upstream::start(|seen| match seen.path() {
        "/from" => redirect(302, "/to"),
        "/coded" => vec![
            Step::Send(
                b"HTTP/1.1 200 X\r\ncontent-encoding: gzip\r\ncontent-length: 9\r\n\r\n".to_vec(),
            ),
            Step::Send(b"abcdefghi".to_vec()),
        ],
        "/chunked" => vec![
            Step::Send(b"HTTP/1.1 200 X\r\ntransfer-encoding: chunked\r\n\r\n".to_vec()),
            Step::Send(b"3\r\nabc\r\n0\r\n\r\n".to_vec()),
        ],
        "/at-hand" => vec![Step::Send(response(200, &[], "abc"))],
        _ => vec![Step::Send(response(204, &[], ""))],
    })
    .await;
    let transport = transport();
    for path in ["/from", "/coded", "/chunked", "/at-hand"] {
        let mut notes = Notes::default();
        let mut exchange =
            Exchange { timeout: PATIENT, ..Exchange::new(Method::GET, upstream.uri(path)) };
        // A coded body is none here; that it was not shown is what matters.
        let _ = transport.send_watched(&mut exchange, &mut notes).await;
        assert_eq!((notes.attempts, notes.shown.len()), (vec![None], 0), "{path}");
    }
}
