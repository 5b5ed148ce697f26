//! tinyproxy as the forward proxy.

use http::HeaderMap;
use qlio_engine::transport::{
    ErrorKind, Exchange, ProxyLogin, ProxyTarget, Reply, Retry, Transport, TransportSettings,
};
use qlio_testkit::program::{Authority, Nginx, Running, Tinyproxy};

use crate::{failure_of, get, trust};

/// Answers with what the request says about its way.
const TELLS_WAY: &str =
    r#"location / { return 200 "$http_host via $http_via login $http_proxy_authorization"; }"#;

fn upstream() -> Option<Running<Nginx>> {
    Running::start(Nginx::new(format!("server {{ listen 127.0.0.1:{{port}}; {TELLS_WAY} }}")))
}

fn secure_upstream(authority: &Authority) -> Option<Running<Nginx>> {
    let identity = authority.issue("localhost");
    Running::start(Nginx::new(format!(
        "server {{
            listen 127.0.0.1:{{port}} ssl http2;
            ssl_certificate {};
            ssl_certificate_key {};
            location / {{ return 200 \"$server_protocol $connection\"; }}
        }}",
        identity.certificate.display(),
        identity.key.display()
    )))
}

fn through(
    proxy: &Running<Tinyproxy>,
    login: Option<(&str, &str)>,
    direct: &[&str],
    authority: &Authority,
) -> Transport {
    let login = login.map(|(user, password)| ProxyLogin::new(user, password).expect("valid"));
    let target = ProxyTarget { host: "127.0.0.1".into(), port: proxy.port(), login };
    let mut proxies = vec![("*".to_owned(), Some(target))];
    proxies.extend(direct.iter().map(|key| ((*key).to_owned(), None)));
    let tls = trust(authority);
    Transport::new(TransportSettings { proxies, tls, ..TransportSettings::default() })
        .expect("valid")
}

async fn answer_of(transport: &Transport, uri: &str) -> Reply {
    // The proxy may close a connection at the moment it is used again.
    let exchange = Exchange { retry: Retry::Once, ..get(uri) };
    transport.send(exchange).await.unwrap_or_else(|error| panic!("{error:?}"))
}

fn is_by_proxy(headers: &HeaderMap) -> bool {
    headers.get("via").is_some_and(|via| via.as_bytes().starts_with(b"1.1 tinyproxy"))
}

#[tokio::test]
async fn http_goes_through_the_proxy_unless_a_rule_says_direct() {
    let (Some(proxy), Some(upstream)) = (Running::start(Tinyproxy::default()), upstream()) else {
        return;
    };
    let authority = Authority::new();
    let by_name = format!("http://localhost:{}/a?b=1", upstream.port());
    let by_address = format!("http://{}/a?b=1", upstream.address());
    let transport = through(&proxy, None, &["127.0.0.1"], &authority);
    for _ in 0..3 {
        let reply = answer_of(&transport, &by_name).await;
        assert!(is_by_proxy(reply.headers.map()), "{:?}", reply.headers);
        let text = String::from_utf8_lossy(&reply.body).into_owned();
        let host = format!("localhost:{} via 1.1 tinyproxy", upstream.port());
        assert!(text.starts_with(&host), "{text}");
    }
    let reply = answer_of(&transport, &by_address).await;
    assert!(!is_by_proxy(reply.headers.map()), "{:?}", reply.headers);
    assert_eq!(reply.body, format!("{} via  login ", upstream.address()));
}

#[tokio::test]
async fn https_goes_through_a_tunnel_and_is_verified_end_to_end() {
    let authority = Authority::new();
    let Some(proxy) = Running::start(Tinyproxy::default()) else { return };
    let Some(upstream) = secure_upstream(&authority) else { return };
    let uri = format!("https://localhost:{}/", upstream.port());
    let transport = through(&proxy, None, &[], &authority);
    let first = answer_of(&transport, &uri).await;
    assert!(first.body.starts_with(b"HTTP/2.0 "), "{:?}", first.body);
    assert!(!is_by_proxy(first.headers.map()), "{:?}", first.headers);
    for _ in 0..5 {
        assert_eq!(answer_of(&transport, &uri).await.body, first.body);
    }
    assert_eq!(proxy.tunnels(), 1, "one tunnel serves all");
    let stranger = through(&proxy, None, &[], &Authority::new());
    let error = failure_of(&stranger, get(&uri)).await;
    assert_eq!(error.kind, ErrorKind::Tls, "{error:?}");
}

#[tokio::test]
async fn a_proxy_that_wants_a_login_gets_it_and_nobody_else() {
    let authority = Authority::new();
    let proxy = Running::start(Tinyproxy::with_login("keeper", "ofthelight"));
    let (Some(proxy), Some(upstream)) = (proxy, upstream()) else { return };
    let Some(secure) = secure_upstream(&authority) else { return };
    let plain = format!("http://localhost:{}/", upstream.port());
    let tunnelled = format!("https://localhost:{}/", secure.port());
    // A login that it does not know is 401 in the words of this proxy.
    for (login, status) in [(None, 407), (Some(("keeper", "of:the light")), 401)] {
        let transport = through(&proxy, login, &[], &authority);
        assert_eq!(answer_of(&transport, &plain).await.status, status);
        let error = failure_of(&transport, get(&tunnelled)).await;
        assert_eq!(error.kind, ErrorKind::ProxyFailed, "{error:?}");
        let text = format!("the proxy did not open a tunnel: status {status}");
        assert_eq!(error.to_string(), text);
    }
    let transport = through(&proxy, Some(("keeper", "ofthelight")), &["127.0.0.1"], &authority);
    let reply = answer_of(&transport, &plain).await;
    // The proxy keeps the login to itself, and who is asked directly never sees it.
    assert!(is_by_proxy(reply.headers.map()), "{:?}", reply.headers);
    assert!(reply.body.ends_with(b" login "), "{:?}", reply.body);
    let direct = answer_of(&transport, &format!("http://{}/", upstream.address())).await;
    assert!(direct.body.ends_with(b" via  login "), "{:?}", direct.body);
    assert_eq!(answer_of(&transport, &tunnelled).await.status, 200);
}
