//! Redirects: what is followed, where to, and what stays behind.

use http::{HeaderValue, Method};
use qlio_engine::transport::{ErrorKind, Exchange};

use crate::{
    PATIENT, body_of, failure_of, get, post, transport,
    upstream::{Step, Upstream, ok, redirect, response},
};

#[tokio::test]
async fn ten_redirects_are_followed_and_the_eleventh_is_not() {
    let upstream = Upstream::start(|seen| {
        let left: u32 = seen.path()[1..].parse().expect("a number");
        if left == 0 { ok("arrived") } else { redirect(302, &format!("/{}", left - 1)) }
    })
    .await;
    let transport = transport();
    let reply = transport.send(get(&upstream.uri("/10"))).await.expect("an answer");
    assert_eq!((&*reply.body, reply.redirects), (&b"arrived"[..], 10));
    assert_eq!(reply.uri, upstream.uri("/0"));
    let error = failure_of(&transport, get(&upstream.uri("/11"))).await;
    assert_eq!(error.kind, ErrorKind::RedirectLimit);
    assert_eq!(error.to_string(), "Exceeded max redirects");
    assert_eq!(upstream.log().requests.len(), 22);
    assert_eq!(upstream.log().connections, 1, "short redirect bodies don't cost the connection");
}

#[tokio::test]
async fn a_location_is_resolved_with_its_query_and_without_its_fragment() {
    let upstream = Upstream::start(|seen| match seen.path() {
        "/a/b?x" => redirect(301, "../c d?z=1#frag"),
        "/c%20d?z=1" => redirect(303, "?only=query"),
        path => ok(path),
    })
    .await;
    assert_eq!(body_of(&transport(), &upstream.uri("/a/b?x")).await, "/c%20d?only=query");
}

#[tokio::test]
async fn get_and_head_follow_these_statuses_and_others_do_not() {
    let upstream = Upstream::start(|seen| match seen.path() {
        "/to" => ok("there"),
        path => redirect(path[1..].parse().expect("a status"), "/to"),
    })
    .await;
    let transport = transport();
    for status in [301, 302, 303, 307, 308] {
        for method in [Method::GET, Method::HEAD] {
            let uri = upstream.uri(&format!("/{status}"));
            let exchange = Exchange { timeout: PATIENT, ..Exchange::new(method, uri) };
            assert_eq!(transport.send(exchange).await.expect("an answer").status, 200);
        }
        let reply = transport.send(post(&upstream.uri(&format!("/{status}")), b"x")).await;
        assert_eq!(reply.expect("an answer").status, status);
    }
    for status in [300, 304, 306] {
        let reply = transport.send(get(&upstream.uri(&format!("/{status}")))).await;
        assert_eq!(reply.expect("an answer").status, status);
    }
    let error = failure_of(&transport, get(&upstream.uri("/305"))).await;
    assert_eq!(error.to_string(), "Received status code 305 from downstream server");
}

#[tokio::test]
async fn a_redirect_is_the_answer_where_none_is_to_be_followed() {
    let upstream = Upstream::start(|_| redirect(302, "/to")).await;
    let exchange = Exchange { follows_redirects: false, ..get(&upstream.uri("/a")) };
    let reply = transport().send(exchange).await.expect("an answer");
    assert_eq!((reply.status.as_u16(), reply.redirects), (302, 0));
    assert_eq!(reply.headers.map()["location"], "/to");
    assert_eq!(upstream.log().requests.len(), 1);
}

#[tokio::test]
async fn a_circle_is_noticed() {
    let upstream =
        Upstream::start(|seen| redirect(302, if seen.path() == "/a" { "/b" } else { "/a" })).await;
    assert_eq!(
        failure_of(&transport(), get(&upstream.uri("/a"))).await.kind,
        ErrorKind::RedirectLoop
    );
    assert_eq!(upstream.log().requests.len(), 2);
    let upstream = Upstream::start(|_| redirect(302, "/a")).await;
    assert_eq!(
        failure_of(&transport(), get(&upstream.uri("/a"))).await.kind,
        ErrorKind::RedirectLoop
    );
    let upstream = Upstream::start(|_| redirect(302, "")).await;
    assert_eq!(
        failure_of(&transport(), get(&upstream.uri("/a"))).await.kind,
        ErrorKind::RedirectWithoutLocation
    );
}

#[tokio::test]
async fn a_redirect_without_a_usable_location_is_an_error() {
    let upstream = Upstream::start(|seen| match seen.path() {
        "/none" => vec![Step::Send(response(302, &[], ""))],
        _ => redirect(302, "javascript:alert(1)"),
    })
    .await;
    let error = failure_of(&transport(), get(&upstream.uri("/none"))).await;
    assert_eq!(error.kind, ErrorKind::RedirectWithoutLocation);
    assert_eq!(error.to_string(), "Missing Location header in redirect");
    let error = failure_of(&transport(), get(&upstream.uri("/script"))).await;
    assert_eq!(error.kind, ErrorKind::RedirectUnusable);
}

#[tokio::test]
async fn credentials_go_to_their_origin_only() {
    let there = Upstream::start(|_| ok("there")).await;
    let away = there.uri("/away");
    let here =
        Upstream::start(move |seen| redirect(302, if seen.path() == "/1" { "/2" } else { &away }))
            .await;
    let transport = transport();
    let names = ["authorization", "cookie", "x-api-key", "x-session-token", "client-secret"];
    let mut exchange = get(&here.uri("/1"));
    for name in names {
        exchange.headers_mut().insert(name, HeaderValue::from_static("hush"));
    }
    exchange.headers_mut().insert("x-plain", HeaderValue::from_static("open"));
    transport.send(exchange).await.expect("an answer");
    for seen in here.log().requests {
        assert!(
            names.iter().all(|name| seen.header(name) == Some("hush")),
            "same origin: {}",
            seen.head
        );
    }
    let seen = &there.log().requests[0];
    assert!(names.iter().all(|name| seen.header(name).is_none()), "another origin: {}", seen.head);
    assert_eq!(seen.header("x-plain"), Some("open"));
    assert_eq!(seen.header("host"), Some(there.address.to_string().as_str()));
}

#[tokio::test]
async fn a_large_redirect_body_is_not_read() {
    let upstream = Upstream::start(|seen| match seen.path() {
        "/to" => ok("there"),
        _ => vec![
            Step::Send(
                b"HTTP/1.1 302 X\r\nlocation: /to\r\ncontent-length: 99999999\r\n\r\n".to_vec(),
            ),
            Step::Hang,
        ],
    })
    .await;
    assert_eq!(body_of(&transport(), &upstream.uri("/")).await, "there");
    upstream.until(|log| log.closed == 1 && log.connections == 2).await;
}
