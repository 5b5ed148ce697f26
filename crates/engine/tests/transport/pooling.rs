//! Connections: reuse, staleness, limits, idle time.

use std::{sync::Arc, time::Duration};

use futures_util::future::join_all;
use qlio_engine::transport::{ErrorKind, Exchange, Retry, Transport, TransportSettings};
use tokio::{sync::Notify, time::Instant};

use crate::{
    HASTY, PATIENT, body_of, failure_of, get, post, reset, transport,
    upstream::{Step, Upstream, ok, response},
};

#[tokio::test]
async fn a_connection_serves_many_exchanges() {
    let upstream = Upstream::start(|_| ok("x")).await;
    let transport = transport();
    for _ in 0..5 {
        let reply = transport.send(get(&upstream.uri("/"))).await.expect("an answer");
        assert_eq!(reply.timings.connect.is_some(), upstream.log().requests.len() == 1);
    }
    assert_eq!((upstream.log().connections, upstream.log().requests.len()), (1, 5));
}

#[tokio::test]
async fn a_connection_that_says_close_is_not_used_again() {
    let upstream =
        Upstream::start(|_| vec![Step::Send(response(200, &["connection: close"], "x"))]).await;
    let transport = transport();
    for _ in 0..3 {
        assert_eq!(body_of(&transport, &upstream.uri("/")).await, "x");
    }
    assert_eq!(upstream.log().connections, 3);
}

#[tokio::test]
async fn bytes_after_a_response_do_not_become_the_next_one() {
    let upstream = Upstream::start(|seen| {
        let mut bytes = response(200, &[], format!("{}", seen.connection));
        bytes.extend_from_slice(b"HTTP/1.1 200 X\r\ncontent-length: 6\r\n\r\npoison");
        vec![Step::Send(bytes)]
    })
    .await;
    let transport = transport();
    for expected in ["0", "1", "2"] {
        assert_eq!(body_of(&transport, &upstream.uri("/")).await, expected);
    }
}

/// Answers the first request of each connection; drops the connection at the second.
async fn forgetful() -> Upstream {
    Upstream::start(|seen| if seen.nth == 0 { ok("x") } else { vec![Step::Close] }).await
}

#[tokio::test]
async fn sending_again_after_a_stale_connection_is_the_one_retry() {
    let upstream = forgetful().await;
    let transport = transport();
    for attempts in [1, 2, 2] {
        let exchange = Exchange { retry: Retry::Once, ..get(&upstream.uri("/")) };
        let reply = transport.send(exchange).await.expect("an answer");
        assert_eq!(reply.attempts, attempts);
    }
    assert_eq!(upstream.log().connections, 3);
}

#[tokio::test]
async fn what_was_sent_is_not_repeated_behind_the_callers_back() {
    for make in [get as fn(&str) -> Exchange, |uri| post(uri, b"x")] {
        let upstream = forgetful().await;
        let transport = transport();
        assert!(transport.send(make(&upstream.uri("/"))).await.is_ok());
        assert_eq!(failure_of(&transport, make(&upstream.uri("/"))).await.kind, reset());
        assert_eq!(upstream.log().requests.len(), 2);
    }
}

#[tokio::test]
async fn a_retried_exchange_reaches_the_upstream_twice_at_most() {
    let upstream = Upstream::start(|seen| match (seen.connection, seen.nth) {
        (0, 0) => ok("x"),
        _ => vec![Step::Close],
    })
    .await;
    let transport = transport();
    assert!(transport.send(get(&upstream.uri("/"))).await.is_ok());
    let exchange = Exchange { retry: Retry::Once, ..get(&upstream.uri("/")) };
    assert_eq!(failure_of(&transport, exchange).await.attempts, 2);
    assert_eq!(upstream.log().requests.len(), 3);
}

#[tokio::test]
async fn a_retry_does_not_trust_other_idle_connections() {
    let upstream = Upstream::start(|seen| if seen.nth == 0 { ok("x") } else { vec![Step::Close] });
    let upstream = upstream.await;
    let transport = transport();
    let (one, two) = tokio::join!(
        transport.send(get(&upstream.uri("/"))),
        transport.send(get(&upstream.uri("/"))),
    );
    assert!(one.is_ok() && two.is_ok());
    assert_eq!(upstream.log().connections, 2);
    let exchange = Exchange { retry: Retry::Once, ..get(&upstream.uri("/")) };
    assert_eq!(transport.send(exchange).await.expect("an answer").attempts, 2);
    assert_eq!(upstream.log().connections, 3);
}

#[tokio::test]
async fn a_connection_the_upstream_has_closed_is_not_used_even_for_a_post() {
    let upstream =
        Upstream::start(|seen| vec![Step::Send(response(200, &[], seen.path())), Step::Close])
            .await;
    let transport = transport();
    for round in 1..4 {
        assert!(transport.send(post(&upstream.uri("/"), b"x")).await.is_ok());
        upstream.until(|log| log.closed == round).await;
        // Lets the runtime see that the socket was closed.
        tokio::task::yield_now().await;
    }
    assert_eq!(upstream.log().connections, 3);
}

/// An upstream that answers each time it is told to.
async fn gated() -> (Upstream, Arc<Notify>) {
    let gate = Arc::new(Notify::new());
    let held = Arc::clone(&gate);
    let upstream = Upstream::start(move |_| {
        let mut steps = vec![Step::Wait(Arc::clone(&held))];
        steps.extend(ok("x"));
        steps
    })
    .await;
    (upstream, gate)
}

#[tokio::test]
async fn exchanges_beyond_the_limit_wait_their_turn() {
    let (upstream, gate) = gated().await;
    let settings =
        TransportSettings { connections_per_host_max: 2, ..TransportSettings::default() };
    let transport = Transport::new(settings).expect("valid");
    let uri = upstream.uri("/");
    let exchanges = join_all((0..6).map(|_| transport.send(get(&uri))));
    let release = async {
        for sent in 2..=6 {
            let log = upstream.until(|log| log.requests.len() >= sent).await;
            assert_eq!(
                (log.connections, log.requests.len()),
                (2, sent),
                "never more than two at a time"
            );
            gate.notify_one();
        }
        gate.notify_one();
    };
    let (replies, ()) = tokio::join!(exchanges, release);
    let replies: Vec<_> = replies.into_iter().map(|reply| reply.expect("an answer")).collect();
    assert_eq!(replies.iter().filter(|reply| reply.timings.blocked.is_some()).count(), 4);
    assert_eq!(upstream.log().connections, 2);
}

#[tokio::test]
async fn the_queue_is_bounded_and_waiting_in_it_times_out() {
    let upstream = Upstream::start(|_| vec![Step::Hang]).await;
    let settings = TransportSettings {
        connections_per_host_max: 1,
        queue_per_host_max: 1,
        ..TransportSettings::default()
    };
    let transport = Arc::new(Transport::new(settings).expect("valid"));
    let uri = upstream.uri("/");
    let (shared, exchange) = (Arc::clone(&transport), get(&uri));
    let holder = tokio::spawn(async move { shared.send(exchange).await });
    upstream.until(|log| log.requests.len() == 1).await;
    let mut hasty = get(&uri);
    hasty.timeout = HASTY;
    let (waiting, refused) =
        tokio::join!(failure_of(&transport, hasty), failure_of(&transport, get(&uri)));
    assert_eq!(waiting.kind, ErrorKind::QueueTimeout { ms: 150 });
    assert_eq!(refused.kind, ErrorKind::QueueFull { limit: 1 });
    let late = Exchange { deadline: Some(Instant::now() + HASTY), ..get(&uri) };
    assert_eq!(failure_of(&transport, late).await.kind, ErrorKind::Deadline);
    holder.abort();
    assert!(holder.await.is_err());
    assert_eq!(upstream.log().requests.len(), 1);
}

#[tokio::test]
async fn time_outs_in_our_own_queue_close_no_upstream() {
    let (upstream, gate) = gated().await;
    let settings =
        TransportSettings { connections_per_host_max: 1, ..TransportSettings::default() };
    let transport = Arc::new(Transport::new(settings).expect("valid"));
    let uri = upstream.uri("/");
    let (shared, exchange) = (Arc::clone(&transport), get(&uri));
    let holder = tokio::spawn(async move { shared.send(exchange).await });
    upstream.until(|log| log.requests.len() == 1).await;
    for run in 1..=6 {
        let hasty = Exchange { run, timeout: HASTY, ..get(&uri) };
        let error = failure_of(&transport, hasty).await;
        assert_eq!((error.kind, error.attempts), (ErrorKind::QueueTimeout { ms: 150 }, 1));
    }
    gate.notify_one();
    assert!(holder.await.expect("it ends").is_ok());
    gate.notify_one();
    assert_eq!(body_of(&transport, &uri).await, "x");
}

#[tokio::test]
async fn an_idle_connection_is_closed_in_time() {
    let upstream = Upstream::start(|_| ok("x")).await;
    let settings = TransportSettings {
        idle_connection: Duration::from_secs(2),
        ..TransportSettings::default()
    };
    let transport = Transport::new(settings).expect("valid");
    assert_eq!(body_of(&transport, &upstream.uri("/")).await, "x");
    assert_eq!(upstream.log().closed, 0);
    tokio::time::pause();
    tokio::time::advance(Duration::from_millis(2100)).await;
    tokio::time::resume();
    // Nobody asks for it: the sweeper must come by itself.
    tokio::time::timeout(PATIENT, upstream.until(|log| log.closed == 1)).await.expect("swept");
}

#[tokio::test]
async fn dropping_the_transport_closes_its_connections() {
    let upstream = Upstream::start(|_| ok("x")).await;
    let transport = transport();
    assert_eq!(body_of(&transport, &upstream.uri("/")).await, "x");
    drop(transport);
    upstream.until(|log| log.closed == 1).await;
}
