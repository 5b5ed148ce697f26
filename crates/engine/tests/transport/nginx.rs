//! nginx as the upstream: TLS, HTTP/2, content codings and connections as somebody else does them.

use std::time::Duration;

use futures_util::future::join_all;
use http::HeaderValue;
use qlio_engine::transport::{
    ACCEPT_ENCODING, ErrorKind, Exchange, Reply, Retry, TlsSettings, Transport, TransportError,
};
use qlio_testkit::program::{Authority, Identity, Nginx, Running};

use crate::{failure_of, get, post, transport, trust, trusting, with_tls};

/// Answers with its version, and with the number of the connection that the request came on.
const TELLS_CONNECTION: &str = r#"location / { return 200 "$server_protocol $connection"; }"#;

/// A TLS server with this identity and more directives.
fn secure(identity: &Identity, listen: &str, more: &str) -> Option<Running<Nginx>> {
    Running::start(Nginx::new(format!(
        "server {{
            listen 127.0.0.1:{{port}} ssl {listen};
            ssl_certificate {};
            ssl_certificate_key {};
            {more}
        }}",
        identity.certificate.display(),
        identity.key.display(),
    )))
}

fn https(nginx: &Running<Nginx>, path: &str) -> String {
    format!("https://localhost:{}{path}", nginx.port())
}

fn plain(servers: &str) -> Option<Running<Nginx>> {
    Running::start(Nginx::new(format!("server {{ listen 127.0.0.1:{{port}}; {servers} }}")))
}

async fn answer_of(transport: &Transport, uri: &str) -> Reply {
    transport.send(get(uri)).await.unwrap_or_else(|error| panic!("{error:?}"))
}

async fn text_of(transport: &Transport, uri: &str) -> String {
    String::from_utf8(answer_of(transport, uri).await.body.to_vec()).expect("text")
}

/// Asserts that the peer was not trusted, and that the error says why.
fn assert_refused(error: &TransportError, reason: &str) {
    assert_eq!(error.kind, ErrorKind::Tls, "{error:?}");
    assert!(!error.is_retryable(), "{error:?}");
    let text = error.to_string();
    assert!(text.starts_with("no secure connection to the upstream: invalid peer"), "{text}");
    assert!(text.contains(reason), "{text}");
}

#[tokio::test]
async fn a_server_is_trusted_if_the_given_authority_vouches_for_it() {
    let authority = Authority::new();
    let Some(nginx) = secure(&authority.issue("localhost"), "", TELLS_CONNECTION) else { return };
    let reply = answer_of(&trusting(&authority), &https(&nginx, "/")).await;
    assert_eq!(reply.status, 200);
    for stranger in [transport(), trusting(&Authority::new())] {
        assert_refused(&failure_of(&stranger, get(&https(&nginx, "/"))).await, "UnknownIssuer");
    }
}

#[tokio::test]
async fn a_certificate_for_another_host_or_of_the_past_is_refused() {
    let authority = Authority::new();
    let elsewhere = secure(&authority.issue("elsewhere.test"), "http2", TELLS_CONNECTION);
    let Some(elsewhere) = elsewhere else { return };
    let transport = trusting(&authority);
    let error = failure_of(&transport, get(&https(&elsewhere, "/"))).await;
    assert_refused(&error, "not valid for name \"localhost\"");
    let expired = secure(&authority.issue_expired("localhost"), "http2", TELLS_CONNECTION);
    let Some(expired) = expired else { return };
    assert_refused(&failure_of(&transport, get(&https(&expired, "/"))).await, "expired");
}

#[tokio::test]
async fn a_client_certificate_opens_what_is_closed_without_one() {
    let authority = Authority::new();
    let more = format!(
        "ssl_client_certificate {}; ssl_verify_client on;
         location / {{ return 200 $ssl_client_verify; }}",
        authority.file().display()
    );
    let Some(nginx) = secure(&authority.issue("localhost"), "http2", &more) else { return };
    // nginx shakes hands with everybody and refuses the request.
    let refused = answer_of(&trusting(&authority), &https(&nginx, "/")).await;
    assert_eq!(refused.status, 400);
    let shows = |identity: Identity| {
        with_tls(TlsSettings {
            client_cert: Some(identity.certificate),
            client_key: Some(identity.key),
            ..trust(&authority)
        })
    };
    let known = shows(authority.issue("client.test"));
    assert_eq!(text_of(&known, &https(&nginx, "/")).await, "SUCCESS");
    let others = Authority::new();
    let unknown = shows(others.issue("client.test"));
    assert_eq!(answer_of(&unknown, &https(&nginx, "/")).await.status, 400);
}

#[tokio::test]
async fn http2_is_agreed_on_and_one_connection_carries_all() {
    let authority = Authority::new();
    let Some(nginx) = secure(&authority.issue("localhost"), "http2", TELLS_CONNECTION) else {
        return;
    };
    let transport = trusting(&authority);
    let uri = https(&nginx, "/");
    let first = text_of(&transport, &uri).await;
    assert!(first.starts_with("HTTP/2.0 "), "{first}");
    // More than the 128 streams that nginx allows at once.
    for text in join_all((0..300).map(|_| text_of(&transport, &uri))).await {
        assert_eq!(text, first);
    }
}

#[tokio::test]
async fn http1_connections_are_used_again_with_tls_and_without() {
    let authority = Authority::new();
    let Some(nginx) = secure(&authority.issue("localhost"), "", TELLS_CONNECTION) else { return };
    let Some(open) = plain(TELLS_CONNECTION) else { return };
    let transport = trusting(&authority);
    for uri in [https(&nginx, "/"), format!("http://{}/", open.address())] {
        let first = text_of(&transport, &uri).await;
        assert!(first.starts_with("HTTP/1.1 "), "{first}");
        for _ in 0..20 {
            assert_eq!(text_of(&transport, &uri).await, first);
        }
    }
}

#[tokio::test]
async fn connections_that_the_upstream_retires_cost_no_request() {
    let authority = Authority::new();
    let more = format!("keepalive_requests 7; {TELLS_CONNECTION}");
    for listen in ["", "http2"] {
        let Some(nginx) = secure(&authority.issue("localhost"), listen, &more) else { return };
        let transport = trusting(&authority);
        let uri = https(&nginx, "/");
        let mut connections = Vec::new();
        for _ in 0..20 {
            connections.extend(join_all((0..10).map(|_| text_of(&transport, &uri))).await);
        }
        connections.sort_unstable();
        connections.dedup();
        assert!(connections.len() >= 200 / 7, "{}", connections.len());
    }
}

#[tokio::test]
async fn an_idle_connection_that_the_upstream_has_closed_costs_no_request() {
    let authority = Authority::new();
    // Much less would also end handshakes on a machine with much else to do.
    let more = format!("keepalive_timeout 60ms; {TELLS_CONNECTION}");
    for listen in ["", "http2"] {
        let Some(nginx) = secure(&authority.issue("localhost"), listen, &more) else { return };
        let transport = trusting(&authority);
        let first = text_of(&transport, &https(&nginx, "/")).await;
        // At every distance from the moment of closing. What is on its way in that very moment is lost,
        // and nobody can tell whether it was read: that is what the retry of a select is for.
        let mut others = 0;
        for pause in (45..75).step_by(2) {
            tokio::time::sleep(Duration::from_millis(pause)).await;
            let select = Exchange { retry: Retry::Once, ..get(&https(&nginx, "/")) };
            let reply = transport.send(select).await.unwrap_or_else(|error| panic!("{error:?}"));
            others += usize::from(reply.body != first);
        }
        assert!(others > 0, "no connection was closed");
        // Long after it, nothing needs to be repeated.
        for _ in 0..3 {
            tokio::time::sleep(Duration::from_millis(150)).await;
            text_of(&transport, &https(&nginx, "/")).await;
        }
    }
}

#[tokio::test]
async fn coded_and_chunked_answers_are_read() {
    let text = "the tide comes in, the tide goes out; ".repeat(5000);
    let brotli = if Nginx::has_brotli() {
        "location /br { rewrite ^ /text.txt break; gzip off; brotli on; brotli_types *; }"
    } else {
        ""
    };
    let nginx = Nginx::new(format!(
        "server {{
            listen 127.0.0.1:{{port}};
            root {{folder}};
            location / {{ }}
            location /gzip {{ rewrite ^ /text.txt break; gzip on; gzip_types *; }}
            {brotli}
        }}"
    ));
    let Some(nginx) = Running::start(nginx.file("text.txt", text.clone())) else { return };
    let transport = transport();
    let mut cases = vec![("/text.txt", None), ("/gzip", Some("gzip"))];
    if Nginx::has_brotli() {
        cases.push(("/br", Some("br")));
    }
    for (path, coding) in cases {
        let mut exchange = get(&format!("http://{}{path}", nginx.address()));
        exchange.headers_mut().insert("accept-encoding", HeaderValue::from_static(ACCEPT_ENCODING));
        let reply = transport.send(exchange).await.expect("an answer");
        assert_eq!(reply.body, text, "{path}");
        let header =
            |name: &str| reply.headers.map().get(name).and_then(|value| value.to_str().ok());
        assert_eq!(header("content-encoding"), coding, "{path}");
        let is_chunked = header("transfer-encoding") == Some("chunked");
        assert_eq!(is_chunked, coding.is_some(), "{path}");
        assert_eq!(reply.wire_bytes < text.len() / 10, coding.is_some(), "{path}");
    }
}

#[tokio::test]
async fn a_large_body_arrives_whole() {
    let authority = Authority::new();
    // Proxying makes nginx read the body; what it sends on to itself has the length it has read.
    let more = "client_max_body_size 8m;
        location / { proxy_pass https://127.0.0.1:{port}/length; }
        location /length { return 200 $content_length; }";
    for listen in ["", "http2"] {
        let Some(nginx) = secure(&authority.issue("localhost"), listen, more) else { return };
        let transport = trusting(&authority);
        let body = vec![b'x'; 5_000_000].into();
        let exchange = Exchange { body, ..post(&https(&nginx, "/"), b"") };
        let reply = transport.send(exchange).await.expect("an answer");
        assert_eq!(reply.body, "5000000", "{listen}");
    }
}
