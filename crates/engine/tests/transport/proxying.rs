//! Forward proxies (UPS-27, UPS-28).

use qlio_engine::transport::{
    ErrorKind, Exchange, ProxyLogin, ProxyTarget, Transport, TransportSettings,
};

use crate::{
    body_of, failure_of, get,
    upstream::{Step, Upstream, ok, redirect, response},
};

fn through(proxy: &Upstream, direct: &[&str]) -> Transport {
    let target = ProxyTarget { host: "127.0.0.1".into(), port: proxy.address.port(), login: None };
    let mut proxies = vec![("*".to_owned(), Some(target))];
    proxies.extend(direct.iter().map(|key| ((*key).to_owned(), None)));
    Transport::new(TransportSettings { proxies, ..TransportSettings::default() }).expect("valid")
}

#[tokio::test]
async fn http_goes_in_absolute_form_with_the_hosts_own_name() {
    let proxy = Upstream::start(|_| ok("by proxy")).await;
    let transport = through(&proxy, &[]);
    assert_eq!(body_of(&transport, "http://h.test:8080/x?a=1").await, "by proxy");
    assert_eq!(body_of(&transport, "http://other.test/y").await, "by proxy");
    let log = proxy.log();
    assert_eq!(log.requests[0].line(), "GET http://h.test:8080/x?a=1");
    assert_eq!(log.requests[0].header("host"), Some("h.test:8080"));
    assert_eq!(log.requests[1].line(), "GET http://other.test/y");
    assert_eq!(log.requests[1].header("host"), Some("other.test"));
    assert_eq!(log.connections, 1, "one connection to the proxy serves all hosts");
}

#[tokio::test]
async fn an_entry_without_a_proxy_goes_direct_and_redirects_look_again() {
    let direct = Upstream::start(|_| ok("direct")).await;
    let location = direct.uri("/d");
    let proxy = Upstream::start(move |_| redirect(302, &location)).await;
    let transport = through(&proxy, &["127.0.0.1"]);
    assert_eq!(body_of(&transport, "http://h.test/").await, "direct");
    assert_eq!(direct.log().requests[0].line(), "GET /d");
}

#[tokio::test]
async fn a_connection_through_a_proxy_belongs_to_its_login() {
    let proxy = Upstream::start(|_| ok("x")).await;
    let login = |user: &str| ProxyTarget {
        host: "127.0.0.1".into(),
        port: proxy.address.port(),
        login: ProxyLogin::new(user, "hush"),
    };
    let proxies = vec![("a".to_owned(), Some(login("ann"))), ("b".to_owned(), Some(login("bob")))];
    let settings = TransportSettings { proxies, ..TransportSettings::default() };
    let transport = Transport::new(settings).expect("valid");
    for table in ["a", "b", "a", "b"] {
        let exchange = Exchange { table: table.into(), ..get("http://h.test/") };
        transport.send(exchange).await.expect("an answer");
    }
    let log = proxy.log();
    assert_eq!(log.connections, 2);
    for seen in &log.requests {
        let expected = log.requests[seen.connection].header("proxy-authorization");
        assert!(expected.is_some());
        assert_eq!(seen.header("proxy-authorization"), expected);
    }
}

#[tokio::test]
async fn a_refused_tunnel_is_reported() {
    let proxy = Upstream::start(|seen| {
        assert_eq!(seen.line(), "CONNECT h.test:443");
        assert_eq!(seen.header("authorization"), None);
        vec![Step::Send(response(403, &[], "no")), Step::Close]
    })
    .await;
    let error = failure_of(&through(&proxy, &[]), get("https://h.test/secret")).await;
    assert_eq!(error.kind, ErrorKind::ProxyFailed);
    assert_eq!(error.detail.as_deref(), Some("status 403"));
}
