//! Failures of the network and of the upstream, and what is repeated because of them.

use std::{sync::Arc, time::Duration};

use futures_util::FutureExt;
use http::{HeaderValue, Method};
use qlio_engine::transport::{
    ErrorKind, Exchange, PatienceOf, Retry, Transport, TransportSettings,
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
    time::Instant,
};

use crate::{
    HASTY, PATIENT, body_of, failure_of, get, post, reset, transport,
    upstream::{Step, Upstream, ok, raw, response},
};

/// A port nobody listens on.
async fn refusing_uri() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    format!("http://{}/", listener.local_addr().expect("an address"))
}

#[tokio::test]
async fn a_refused_connection_has_its_code_and_no_credentials() {
    let uri = refusing_uri().await.replace("http://", "http://me:hush@") + "?token=hush&a=1";
    let error = failure_of(&transport(), get(&uri)).await;
    assert_eq!(error.kind, ErrorKind::Connect { code: "ECONNREFUSED" });
    assert!(error.is_retryable());
    assert!(error.uri.ends_with("/?token=[redacted]&a=1"), "{}", error.uri);
    assert!(!format!("{error} {error:?}").contains("hush"));
    assert!(error.origin.starts_with("http://127.0.0.1:"));
}

#[tokio::test]
async fn an_unknown_name_is_not_found() {
    let error = failure_of(&transport(), get("http://no-such-host.invalid/")).await;
    assert_eq!(error.kind, ErrorKind::Connect { code: "ENOTFOUND" });
}

#[tokio::test]
async fn a_reset_is_a_network_failure_before_and_within_the_body() {
    let upstream = Upstream::start(|seen| match seen.path() {
        "/head" => vec![Step::Reset],
        "/closed" => vec![Step::Close],
        _ => vec![
            Step::Send(b"HTTP/1.1 200 X\r\ncontent-length: 9\r\n\r\nabc".to_vec()),
            Step::Reset,
        ],
    })
    .await;
    for path in ["/head", "/closed", "/body"] {
        let error = failure_of(&transport(), get(&upstream.uri(path))).await;
        assert!(
            error.kind == reset() || (path == "/body" && error.kind == ErrorKind::LengthMismatch),
            "{path}: {error:?}"
        );
    }
}

#[tokio::test]
async fn a_body_that_breaks_off_is_noticed() {
    let upstream = Upstream::start(|seen| {
        raw(match seen.path() {
            "/length" => "HTTP/1.1 200 X\r\ncontent-length: 9\r\n\r\nabc",
            "/chunk" => "HTTP/1.1 200 X\r\ntransfer-encoding: chunked\r\n\r\n9\r\nabc",
            "/last-chunk" => "HTTP/1.1 200 X\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n",
            "/lengths" => "HTTP/1.1 200 X\r\ncontent-length: 3\r\ncontent-length: 4\r\n\r\nabcd",
            "/bad-chunk" => "HTTP/1.1 200 X\r\ntransfer-encoding: chunked\r\n\r\nzz\r\nabc\r\n",
            "/bad-length" => "HTTP/1.1 200 X\r\ncontent-length: many\r\n\r\nabc",
            _ => "nonsense\r\n\r\n",
        })
    })
    .await;
    let transport = transport();
    for (path, expected) in [
        ("/length", ErrorKind::LengthMismatch),
        ("/chunk", ErrorKind::Truncated),
        ("/last-chunk", ErrorKind::Truncated),
        ("/lengths", ErrorKind::Protocol),
        ("/bad-length", ErrorKind::Protocol),
        ("/bad-chunk", ErrorKind::Protocol),
        ("/nonsense", ErrorKind::Protocol),
    ] {
        let error = failure_of(&transport, get(&upstream.uri(path))).await;
        assert_eq!(error.kind, expected, "{path}: {error:?}");
    }
}

#[tokio::test]
async fn bodies_come_in_every_framing() {
    let upstream = Upstream::start(|seen| match seen.path() {
        "/http10" => raw("HTTP/1.0 200 X\r\n\r\nuntil the end"),
        "/chunked" => {
            let head = "HTTP/1.1 200 X\r\ntransfer-encoding: chunked\r\n\r\n";
            vec![Step::Send(format!("{head}3\r\nabc\r\n2;x=y\r\nde\r\n0\r\nt: v\r\n\r\n").into())]
        }
        "/204" => vec![Step::Send(b"HTTP/1.1 204 X\r\n\r\n".to_vec())],
        "/304" => vec![Step::Send(b"HTTP/1.1 304 X\r\ncontent-length: 5\r\n\r\n".to_vec())],
        "/103" => vec![Step::Send(
            b"HTTP/1.1 103 X\r\n\r\nHTTP/1.1 200 X\r\ncontent-length: 1\r\n\r\nx".to_vec(),
        )],
        _ => ok("x".repeat(3_000_000)),
    })
    .await;
    let transport = transport();
    for (path, expected) in [
        ("/chunked", "abcde"),
        ("/204", ""),
        ("/304", ""),
        ("/103", "x"),
        ("/http10", "until the end"),
    ] {
        assert_eq!(body_of(&transport, &upstream.uri(path)).await, expected, "{path}");
    }
    assert_eq!(body_of(&transport, &upstream.uri("/big")).await.len(), 3_000_000);
    assert_eq!(upstream.log().connections, 2, "only the one without a length ends its connection");
}

#[tokio::test]
async fn an_answer_may_come_in_single_bytes() {
    const ANSWER: &str = "HTTP/1.1 103 X\r\n\r\nHTTP/1.1 200 X\r\ntransfer-encoding: chunked\r\n\r\n\
                   3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n";
    let upstream =
        Upstream::start(|_| ANSWER.bytes().map(|byte| Step::Send(vec![byte])).collect()).await;
    let transport = transport();
    for _ in 0..2 {
        assert_eq!(body_of(&transport, &upstream.uri("/")).await, "abcde");
    }
    assert_eq!(upstream.log().connections, 1);
}

#[tokio::test]
async fn heads_have_limits() {
    let upstream = Upstream::start(|seen| {
        raw(match seen.path() {
            "/endless" => format!("HTTP/1.1 200 X\r\nx: {}", "y".repeat(70_000)),
            "/many" => format!("HTTP/1.1 200 X\r\n{}\r\n", "x: y\r\n".repeat(101)),
            _ => "HTTP/1.1 103 X\r\n\r\n".repeat(17),
        })
    })
    .await;
    for (path, detail) in [
        ("/endless", "a response head of more than 65536 bytes"),
        ("/many", "more than 100 headers"),
        ("/interim", "more than 16 interim responses"),
    ] {
        let error = failure_of(&transport(), get(&upstream.uri(path))).await;
        assert_eq!((error.kind, error.detail.as_deref()), (ErrorKind::Protocol, Some(detail)));
    }
}

#[tokio::test]
async fn an_answer_that_comes_before_the_request_is_sent_is_the_answer() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let uri = format!("http://{}/", listener.local_addr().expect("an address"));
    let upstream = tokio::spawn(async move {
        for answer in ["HTTP/1.1 413 X\r\ncontent-length: 4\r\n\r\nlate", "HTTP/1.1 204 X\r\n\r\n"]
        {
            let (mut stream, _) = listener.accept().await.expect("a connection");
            let mut some = [0; 100];
            stream.read_exact(&mut some).await.expect("the start of a request");
            stream.write_all(answer.as_bytes()).await.expect("sent");
            // The rest of the request stays unread until the client gives up on it.
            let mut rest = Vec::new();
            stream.readable().await.expect("something");
            stream.read_to_end(&mut rest).await.ok();
        }
    });
    let transport = transport();
    let large = Exchange { body: vec![7; 30_000_000].into(), ..post(&uri, b"") };
    let reply = transport.send(large).await.expect("an answer");
    assert_eq!((reply.status.as_u16(), &*reply.body), (413, &b"late"[..]));
    // The connection is not used again: what was not sent of the first request would be in the way.
    let long = "x".repeat(100);
    let reply = transport.send(get(&format!("{uri}{long}"))).await.expect("an answer");
    assert_eq!(reply.status.as_u16(), 204);
    drop(transport);
    upstream.await.expect("no panic");
}

#[tokio::test]
async fn a_head_answer_has_no_body_whatever_its_length_says() {
    let upstream = Upstream::start(|_| {
        vec![Step::Send(
            b"HTTP/1.1 200 X\r\ncontent-length: 999\r\ncontent-encoding: snappy\r\n\r\n".to_vec(),
        )]
    })
    .await;
    let transport = transport();
    for _ in 0..2 {
        let exchange =
            Exchange { timeout: PATIENT, ..Exchange::new(Method::HEAD, upstream.uri("/")) };
        let reply = transport.send(exchange).await.expect("an answer");
        assert!(reply.body.is_empty());
    }
    assert_eq!(upstream.log().connections, 1);
}

#[tokio::test]
async fn too_large_a_body_is_refused_however_it_is_framed() {
    let upstream = Upstream::start(|seen| {
        let size: usize = seen.path()[2..].parse().expect("a size");
        match &seen.path()[..2] {
            "/l" => ok("x".repeat(size)),
            "/c" => {
                let head = "HTTP/1.1 200 X\r\ntransfer-encoding: chunked\r\n\r\n";
                vec![Step::Send(
                    format!("{head}{size:x}\r\n{}\r\n0\r\n\r\n", "x".repeat(size)).into(),
                )]
            }
            _ => raw(format!("HTTP/1.0 200 X\r\n\r\n{}", "x".repeat(size))),
        }
    })
    .await;
    let settings = TransportSettings { body_bytes_max: 1000, ..TransportSettings::default() };
    let transport = Transport::new(settings).expect("valid");
    for framing in ["/l", "/c", "/0"] {
        let uri = upstream.uri(&format!("{framing}1000"));
        assert_eq!(body_of(&transport, &uri).await.len(), 1000);
        let error = failure_of(&transport, get(&upstream.uri(&format!("{framing}1001")))).await;
        assert_eq!(error.kind, ErrorKind::ResponseTooLarge { limit: 1000 });
        assert_eq!(error.to_string(), "Response length exceeds limit");
        assert!(!error.is_retryable());
    }
}

#[tokio::test]
async fn silence_times_out_wherever_it_falls() {
    let upstream = Upstream::start(|seen| match seen.path() {
        "/head" => vec![Step::Hang],
        "/half-head" => vec![Step::Send(b"HTTP/1.1 200 X\r\n".to_vec()), Step::Hang],
        _ => {
            vec![Step::Send(b"HTTP/1.1 200 X\r\ncontent-length: 9\r\n\r\nabc".to_vec()), Step::Hang]
        }
    })
    .await;
    for (index, path) in ["/head", "/half-head", "/body"].into_iter().enumerate() {
        let exchange = Exchange { timeout: HASTY, ..get(&upstream.uri(path)) };
        let error = failure_of(&transport(), exchange).await;
        assert_eq!(error.kind, ErrorKind::Timeout { ms: 150 }, "{path}");
        assert_eq!(error.to_string(), "Request timed out");
        // A timed-out exchange leaves no connection behind.
        upstream.until(|log| log.closed == index + 1).await;
    }
}

#[tokio::test]
async fn a_connection_that_never_opens_times_out() {
    // TEST-NET-1 leads nowhere; without a route the system says so at once.
    let exchange = Exchange { timeout: HASTY, ..get("http://192.0.2.1/") };
    let error = failure_of(&transport(), exchange).await;
    assert!(error.is_retryable(), "{error:?}");
}

#[tokio::test]
async fn the_deadline_covers_all_attempts() {
    let upstream = Upstream::start(|_| vec![Step::Hang]).await;
    let exchange = Exchange {
        timeout: HASTY * 3,
        deadline: Some(Instant::now() + HASTY * 5),
        retry: Retry::Once,
        ..get(&upstream.uri("/"))
    };
    let error = failure_of(&transport(), exchange).await;
    assert_eq!((error.kind, error.attempts), (ErrorKind::Deadline, 2));
}

#[tokio::test]
async fn a_timeout_is_retried_once_if_allowed() {
    let upstream = Upstream::start(|_| vec![Step::Hang]).await;
    let transport = transport();
    let once = Exchange { timeout: HASTY, retry: Retry::Once, ..post(&upstream.uri("/"), b"x") };
    let started = Instant::now();
    let error = failure_of(&transport, once).await;
    assert_eq!((error.kind, error.attempts), (ErrorKind::Timeout { ms: 150 }, 2));
    assert!(started.elapsed() >= HASTY * 2);
    assert_eq!(upstream.log().requests.len(), 2);
    let never = Exchange { timeout: HASTY, ..get(&upstream.uri("/")) };
    assert_eq!(failure_of(&transport, never).await.attempts, 1);
    assert_eq!(upstream.log().requests.len(), 3);
}

#[tokio::test]
async fn a_network_failure_is_retried_once_and_a_status_never() {
    let upstream = Upstream::start(|seen| match (seen.path(), seen.connection) {
        ("/500", _) => vec![Step::Send(response(500, &[], "broken"))],
        (_, 0) => vec![Step::Reset],
        _ => ok("fine"),
    })
    .await;
    let transport = transport();
    let exchange = |path: &str| Exchange { retry: Retry::Once, ..get(&upstream.uri(path)) };
    let reply = transport.send(exchange("/")).await.expect("the second attempt answers");
    assert_eq!((&*reply.body, reply.attempts), (&b"fine"[..], 2));
    let reply = transport.send(exchange("/500")).await.expect("an answer");
    assert_eq!((reply.status.as_u16(), &*reply.body, reply.attempts), (500, &b"broken"[..], 1));
    assert_eq!(upstream.log().requests.len(), 3);
}

#[tokio::test]
async fn dropping_the_exchange_closes_its_connection() {
    let upstream = Upstream::start(|seen| match seen.path() {
        "/head" => vec![Step::Hang],
        _ => {
            vec![Step::Send(b"HTTP/1.1 200 X\r\ncontent-length: 9\r\n\r\nabc".to_vec()), Step::Hang]
        }
    })
    .await;
    let transport = Arc::new(transport());
    for (index, path) in ["/head", "/body"].into_iter().enumerate() {
        let (shared, exchange) = (Arc::clone(&transport), get(&upstream.uri(path)));
        let task = tokio::spawn(async move { shared.send(exchange).await });
        upstream.until(|log| log.requests.len() == index + 1).await;
        assert_eq!(upstream.log().closed, index);
        task.abort();
        upstream.until(|log| log.closed == index + 1).await;
    }
}

#[tokio::test]
async fn a_target_that_keeps_failing_is_left_alone_until_the_delay_is_over() {
    let upstream =
        Upstream::start(|seen| if seen.connection < 4 { vec![Step::Reset] } else { ok("x") }).await;
    let transport = transport();
    let exchange = || Exchange {
        backoff_min: Duration::from_mins(1),
        backoff_max: Duration::from_mins(10),
        ..get(&upstream.uri("/"))
    };
    for _ in 0..4 {
        assert_eq!(failure_of(&transport, exchange()).await.kind, reset());
    }
    let error = failure_of(&transport, exchange()).await;
    let ErrorKind::BackOff { count: 4, delay_ms, retry_after } = error.kind else {
        panic!("{error:?}")
    };
    assert!((60_000..120_000).contains(&delay_ms) && (59..=120).contains(&retry_after));
    assert_eq!((error.to_string().as_str(), error.attempts), ("Back-off in progress", 0));
    let other = Exchange { table: "other".into(), ..exchange() };
    assert_eq!(upstream.log().requests.len(), 4);
    assert!(transport.send(other).await.is_ok(), "another table is another target");
    tokio::time::pause();
    tokio::time::advance(Duration::from_millis(delay_ms)).await;
    tokio::time::resume();
    assert!(transport.send(exchange()).await.is_ok());
}

#[tokio::test]
async fn one_run_closes_a_target_for_itself_alone_and_one_probe_opens_it() {
    let upstream =
        Upstream::start(|seen| if seen.connection < 9 { vec![Step::Reset] } else { ok("x") }).await;
    let transport = transport();
    let of_run = |run| Exchange {
        run,
        backoff_min: Duration::from_mins(1),
        backoff_max: Duration::from_mins(1),
        ..get(&upstream.uri("/"))
    };
    for _ in 0..4 {
        assert_eq!(failure_of(&transport, of_run(1)).await.kind, reset());
    }
    assert!(matches!(failure_of(&transport, of_run(1)).await.kind, ErrorKind::BackOff { .. }));
    for run in 2..=4 {
        assert_eq!(failure_of(&transport, of_run(run)).await.kind, reset(), "run {run}");
    }
    let error = failure_of(&transport, of_run(5)).await;
    assert!(matches!(error.kind, ErrorKind::BackOff { count: 4, .. }), "{error:?}");
    assert_eq!(upstream.log().requests.len(), 7);
    let pass_delay = async || {
        tokio::time::pause();
        tokio::time::advance(Duration::from_mins(2)).await;
        tokio::time::resume();
    };
    // Of many attempts that the delay has held back one goes through, and it fails.
    for _ in 0..2 {
        pass_delay().await;
        let seen = upstream.log().requests.len();
        let attempts = (10..20).map(|run| transport.send(of_run(run)));
        for reply in futures_util::future::join_all(attempts).await {
            assert!(reply.is_err());
        }
        assert_eq!(upstream.log().requests.len(), seen + 1);
    }
    // A probe that is given up lets another one go.
    pass_delay().await;
    let mut given_up = Box::pin(transport.send(of_run(20)));
    assert!((&mut given_up).now_or_never().is_none());
    let error = failure_of(&transport, of_run(21)).await;
    assert!(matches!(error.kind, ErrorKind::BackOff { .. }), "{error:?}");
    drop(given_up);
    assert!(transport.send(of_run(22)).await.is_ok());
    assert!(transport.send(of_run(23)).await.is_ok());
}

#[tokio::test]
async fn impatience_of_a_client_closes_nothing_for_others() {
    let upstream = Upstream::start(|_| vec![Step::Hang]).await;
    let transport = transport();
    let of_run = |run| Exchange {
        run,
        timeout: HASTY,
        patience_of: PatienceOf::Client,
        ..get(&upstream.uri("/"))
    };
    for run in 1..=6 {
        let error = failure_of(&transport, of_run(run)).await;
        assert!(matches!(error.kind, ErrorKind::Timeout { .. }), "run {run}: {error:?}");
    }
}

#[tokio::test]
async fn nothing_is_sent_when_the_deadline_has_passed() {
    let upstream = Upstream::start(|_| ok("x")).await;
    let exchange = Exchange { deadline: Some(Instant::now()), ..get(&upstream.uri("/")) };
    let error = failure_of(&transport(), exchange).await;
    assert_eq!((error.kind, error.attempts), (ErrorKind::Deadline, 0));
    assert_eq!(upstream.log().connections, 0);
}

#[tokio::test]
async fn what_is_sent_is_well_formed() {
    let upstream = Upstream::start(|seen| ok(format!("{}", seen.body.len()))).await;
    let transport = transport();
    let mut exchange = post(&upstream.uri("/p?q=1#frag"), b"12345");
    exchange.headers_mut().insert("content-length", HeaderValue::from_static("3"));
    exchange.headers_mut().insert("transfer-encoding", HeaderValue::from_static("chunked"));
    exchange.headers_mut().insert("host", HeaderValue::from_static("elsewhere.test"));
    assert_eq!(transport.send(exchange).await.expect("an answer").body, "5");
    let large = Exchange { body: vec![7; 2_000_000].into(), ..post(&upstream.uri("/"), b"") };
    assert_eq!(transport.send(large).await.expect("an answer").body, "2000000");
    transport.send(post(&upstream.uri("/"), b"")).await.expect("an answer");
    let requests = upstream.log().requests;
    assert_eq!(requests[0].line(), "POST /p?q=1");
    assert_eq!(requests[0].header("host"), Some(upstream.address.to_string().as_str()));
    assert_eq!(requests[0].header("content-length"), Some("5"));
    assert_eq!(requests[0].header("transfer-encoding"), None);
    assert!(requests[0].header("user-agent").is_some_and(|agent| agent.starts_with("qlio/")));
    assert_eq!(requests[2].header("content-length"), Some("0"));
}

#[tokio::test]
async fn a_uri_that_is_none_is_refused_before_anything_is_sent() {
    for uri in ["", "/x", "ftp://h/", "http://h:0/", "http://h/a b", "http://"] {
        let error = failure_of(&transport(), get(uri)).await;
        assert_eq!((error.kind, error.attempts), (ErrorKind::InvalidUri, 0), "{uri}");
    }
}
