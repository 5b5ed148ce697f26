//! The egress guard over real connections.

use http::Method;
use qlio_engine::transport::{
    EgressSettings, ErrorKind, Exchange, Grpc, Guard, Transport, TransportSettings,
};
use qlio_testkit::upstream::{Expectation, Respond, Upstream as Scripted};

use crate::{
    body_of, failure_of, get, transport,
    upstream::{Upstream, ok, redirect},
};

fn restricted(uri: &str, hosts: &[&str]) -> Exchange {
    let allowed_hosts = hosts.iter().map(|host| (*host).to_owned()).collect();
    Exchange { guard: Guard::Restricted { allowed_hosts }, ..get(uri) }
}

fn with_egress(allow: &[&str], deny: &[&str]) -> Transport {
    let owned = |list: &[&str]| list.iter().map(|text| (*text).to_owned()).collect();
    let egress =
        EgressSettings { allow: owned(allow), deny: owned(deny), ..EgressSettings::default() };
    Transport::new(TransportSettings { egress, ..TransportSettings::default() }).expect("valid")
}

#[tokio::test]
async fn a_restricted_exchange_does_not_reach_the_local_network() {
    let upstream = Upstream::start(|_| ok("inside")).await;
    let port = upstream.address.port();
    let transport = transport();
    // An open connection of somebody who may must not help somebody who may not.
    assert_eq!(body_of(&transport, &upstream.uri("/")).await, "inside");
    assert_eq!(body_of(&transport, &format!("http://localhost:{port}/")).await, "inside");
    let seen = upstream.log().requests.len();
    for host in ["127.0.0.1", "localhost", "[::ffff:127.0.0.1]", "127.1", "2130706433", "0.0.0.0"] {
        let uri = format!("http://{host}:{port}/");
        let error = failure_of(&transport, restricted(&uri, &["*"])).await;
        assert!(
            matches!(
                error.kind,
                ErrorKind::EgressDenied { .. } | ErrorKind::Connect { code: "ENOTFOUND" }
            ),
            "{uri}: {error:?}"
        );
        assert!(!error.is_retryable() || host.starts_with(['1', '2']), "{host}");
    }
    assert_eq!(upstream.log().requests.len(), seen);
}

#[tokio::test]
async fn a_restricted_exchange_calls_listed_hosts_only() {
    let upstream = Upstream::start(|_| ok("inside")).await;
    let transport = with_egress(&["127.0.0.1"], &[]);
    assert!(
        transport.send(restricted(&upstream.uri("/"), &[])).await.is_ok(),
        "named by the operator"
    );
    let error =
        failure_of(&transport, restricted("http://public.example/", &["other.example"])).await;
    assert_eq!(error.kind, ErrorKind::EgressDenied { host: "public.example".into() });
    assert_eq!(error.to_string(), "requests to `public.example` are not allowed");
}

#[tokio::test]
async fn every_redirect_is_judged_again() {
    let inside = Upstream::start(|_| ok("inside")).await;
    let target = format!("http://localhost:{}/", inside.address.port());
    let upstream = Upstream::start(move |_| redirect(302, &target)).await;
    let transport = with_egress(&[&upstream.address.to_string()], &[]);
    let error = failure_of(&transport, restricted(&upstream.uri("/"), &["localhost"])).await;
    assert_eq!(error.kind, ErrorKind::EgressDenied { host: "localhost".into() });
    assert_eq!((upstream.log().requests.len(), inside.log().connections), (1, 0));
    let error = failure_of(&transport, get(&upstream.uri("/"))).await;
    assert_eq!(error.kind, ErrorKind::RedirectAbroad { host: "localhost".into() });
    assert_eq!(inside.log().connections, 0, "the upstream of a loaded table may not lead there");
    let transport = with_egress(&["localhost"], &[]);
    assert_eq!(body_of(&transport, &upstream.uri("/")).await, "inside", "unless it is listed");
}

#[tokio::test]
async fn what_is_denied_is_denied_to_everybody() {
    let upstream = Upstream::start(|_| ok("inside")).await;
    let by_network = with_egress(&["*"], &["127.0.0.0/8", "::1"]);
    for host in ["127.0.0.1", "localhost"] {
        let uri = format!("http://{host}:{}/", upstream.address.port());
        let error = failure_of(&by_network, get(&uri)).await;
        assert_eq!(error.kind, ErrorKind::EgressDenied { host: host.into() });
    }
    assert_eq!(upstream.log().connections, 0);
}

#[tokio::test]
async fn grpc_calls_are_guarded_also_where_others_have_a_connection_already() {
    let answer = Respond { messages: Some(vec![String::new()]), ..Respond::default() };
    let upstream =
        Scripted::with([Expectation::new("POST", "/a.B/C").any_calls().respond(answer)]).unwrap();
    let uri = format!("{}/a.B/C", upstream.base());
    let call = |guard| {
        let exchange = Exchange::new(Method::POST, uri.as_str());
        Exchange { guard, grpc: Some(Grpc { messages_max: None }), ..exchange }
    };
    let transport = transport();
    transport.send(call(Guard::Off)).await.expect("the operator may");
    let allowed_hosts = ["*".to_owned()].into();
    let error = failure_of(&transport, call(Guard::Restricted { allowed_hosts })).await;
    assert_eq!(error.kind, ErrorKind::EgressDenied { host: "127.0.0.1".into() });
    assert_eq!(upstream.look(|ledger| ledger.requests().len()), 1);
}
