//! Forward proxies (UPS-27, UPS-28).

use qlio_engine::transport::{
    EgressSettings, ErrorKind, Exchange, Guard, ProxyLogin, ProxyTarget, Transport,
    TransportSettings, ViaProxy,
};

use crate::{
    body_of, failure_of, get,
    upstream::{Step, Upstream, ok, redirect, response},
};

fn through(proxy: &Upstream, direct: &[&str]) -> Transport {
    guarded(proxy, direct, EgressSettings::default())
}

fn guarded(proxy: &Upstream, direct: &[&str], egress: EgressSettings) -> Transport {
    let target = ProxyTarget { host: "127.0.0.1".into(), port: proxy.address.port(), login: None };
    let mut proxies = vec![("*".to_owned(), Some(target))];
    proxies.extend(direct.iter().map(|key| ((*key).to_owned(), None)));
    Transport::new(TransportSettings { proxies, egress, ..TransportSettings::default() })
        .expect("valid")
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
    let allow = vec!["127.0.0.1".to_owned()];
    let egress = EgressSettings { allow, ..EgressSettings::default() };
    let transport = guarded(&proxy, &["127.0.0.1"], egress);
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

#[tokio::test]
async fn a_proxy_is_no_way_around_rules_about_addresses() {
    let proxy = Upstream::start(|_| ok("by proxy")).await;
    let deny = vec!["127.0.0.0/8".to_owned(), "::1".to_owned()];
    let rules =
        |via_proxy| EgressSettings { deny: deny.clone(), via_proxy, ..EgressSettings::default() };
    let transport = guarded(&proxy, &[], rules(ViaProxy::Resolve));
    let error = failure_of(&transport, get("http://localhost:1/")).await;
    assert_eq!(error.kind, ErrorKind::EgressDenied { host: "localhost".into() });
    let error = failure_of(&transport, get("http://no-such-host.invalid/")).await;
    assert_eq!(error.kind, ErrorKind::EgressDenied { host: "no-such-host.invalid".into() });
    assert!(error.to_string().contains("set `egress.viaProxy` to `trusted`"), "{error}");
    let error = failure_of(&transport, get("https://localhost/")).await;
    assert_eq!(error.kind, ErrorKind::EgressDenied { host: "localhost".into() });
    assert_eq!(proxy.log().connections, 0, "it was not even asked");
    let transport = guarded(&proxy, &[], rules(ViaProxy::Trusted));
    assert_eq!(body_of(&transport, "http://localhost:1/").await, "by proxy");
    assert_eq!(body_of(&transport, "http://no-such-host.invalid/").await, "by proxy");
    let error = failure_of(&transport, get("http://127.0.0.1:1/")).await;
    assert_eq!(error.kind, ErrorKind::EgressDenied { host: "127.0.0.1".into() }, "no name at all");
}

#[tokio::test]
async fn tables_of_clients_reach_no_private_address_through_a_proxy() {
    let proxy = Upstream::start(|_| ok("by proxy")).await;
    let hosts = ["localhost", "no-such-host.invalid"].map(str::to_owned);
    let restricted = |uri: &str| Exchange {
        guard: Guard::Restricted { allowed_hosts: hosts.clone().into() },
        ..get(uri)
    };
    for uri in ["http://localhost:1/", "http://no-such-host.invalid/"] {
        let error = failure_of(&through(&proxy, &[]), restricted(uri)).await;
        assert!(matches!(error.kind, ErrorKind::EgressDenied { .. }), "{uri}: {error:?}");
    }
    assert_eq!(proxy.log().connections, 0);
    let allow = vec!["localhost".to_owned()];
    let named = guarded(&proxy, &[], EgressSettings { allow, ..EgressSettings::default() });
    assert!(named.send(restricted("http://localhost:1/")).await.is_ok(), "named by the operator");
}
