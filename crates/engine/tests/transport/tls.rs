//! TLS with a certificate authority of our own; certificates are verified (UPS-29).

use std::{
    io,
    net::SocketAddr,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use bytes::Bytes;
use futures_util::future::join_all;
use http::{Request, Response};
use http_body::{Body, Frame};
use hyper::{
    body::Incoming,
    server::conn::{http1, http2},
    service::service_fn,
};
use hyper_util::rt::{TokioExecutor, TokioIo};
use qlio_engine::transport::{
    ErrorKind, Exchange, ProxyTarget, Retry, TlsSettings, Transport, TransportError,
    TransportSettings,
};
use qlio_testkit::program::{Authority, Identity};
use tokio::{
    io::copy_bidirectional,
    net::{TcpListener, TcpStream},
    sync::watch,
    task::JoinHandle,
};
use tokio_rustls::{
    TlsAcceptor,
    rustls::{
        RootCertStore, ServerConfig,
        crypto::ring,
        pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
        server::WebPkiClientVerifier,
    },
};

use crate::{
    HASTY, body_of, failure_of, get, post, trust, trusting, upstream::read_request, with_tls,
};

/// One frame of text.
struct Text(Option<Bytes>);

impl Body for Text {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(
        mut self: std::pin::Pin<&mut Self>,
        _cx: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        std::task::Poll::Ready(self.0.take().map(|bytes| Ok(Frame::data(bytes))))
    }
}

fn certificate(file: &Path) -> CertificateDer<'static> {
    CertificateDer::from_pem_file(file).expect("a certificate")
}

fn read(identity: &Identity) -> (Vec<CertificateDer<'static>>, PrivateKeyDer<'static>) {
    let key = PrivateKeyDer::from_pem_file(&identity.key).expect("a key");
    (vec![certificate(&identity.certificate)], key)
}

struct Server {
    address: SocketAddr,
    connections: watch::Receiver<usize>,
    /// How many requests to `/hang` have begun, less those that were given up.
    hanging: watch::Receiver<usize>,
    task: JoinHandle<()>,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Server {
    /// Answers every request with its version, method and target; `/once` only as a connection's first,
    /// which ends at the second.
    async fn start(
        authority: &Authority,
        name: &str,
        protocols: &[&str],
        wants_client: bool,
    ) -> Self {
        let (chain, key) = read(&authority.issue(name));
        let provider = Arc::new(ring::default_provider());
        let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .expect("versions");
        let builder = if wants_client {
            let mut roots = RootCertStore::empty();
            roots.add(certificate(&authority.file())).expect("added");
            let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
            builder.with_client_cert_verifier(verifier.build().expect("a verifier"))
        } else {
            builder.with_no_client_auth()
        };
        let mut config = builder.with_single_cert(chain, key).expect("a configuration");
        config.alpn_protocols = protocols.iter().map(|name| name.as_bytes().to_vec()).collect();
        let acceptor = TlsAcceptor::from(Arc::new(config));
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("an address");
        let (sender, connections) = watch::channel(0);
        let (hangs, hanging) = watch::channel(0);
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                sender.send_modify(|count| *count += 1);
                tokio::spawn(serve(stream, acceptor.clone(), hangs.clone()));
            }
        });
        Self { address, connections, hanging, task }
    }

    fn uri(&self, path: &str) -> String {
        format!("https://localhost:{}{path}", self.address.port())
    }

    fn connections(&self) -> usize {
        *self.connections.borrow()
    }
}

/// A request that is being kept waiting.
struct Hanging(watch::Sender<usize>);

impl Drop for Hanging {
    fn drop(&mut self) {
        self.0.send_modify(|count| *count -= 1);
    }
}

async fn serve(stream: TcpStream, acceptor: TlsAcceptor, hangs: watch::Sender<usize>) {
    let Ok(stream) = acceptor.accept(stream).await else { return };
    let is_http2 = stream.get_ref().1.alpn_protocol() == Some(b"h2");
    let requests = AtomicUsize::new(0);
    let service = service_fn(|request: Request<Incoming>| {
        let hangs = hangs.clone();
        let is_first = requests.fetch_add(1, Ordering::Relaxed) == 0;
        async move {
            if request.uri().path() == "/once" && !is_first {
                return Err(io::Error::other("only once"));
            }
            if request.uri().path() == "/hang" {
                hangs.send_modify(|count| *count += 1);
                let _hanging = Hanging(hangs);
                std::future::pending::<()>().await;
            }
            let text = format!("{:?} {} {}", request.version(), request.method(), request.uri());
            let mut response = Response::new(Text(Some(text.into())));
            if let Some(length) = request.uri().query() {
                response.headers_mut().insert("content-length", length.parse().expect("a length"));
            }
            Ok(response)
        }
    });
    let io = TokioIo::new(stream);
    // A client that leaves in the middle is part of the tests.
    if is_http2 {
        http2::Builder::new(TokioExecutor::new()).serve_connection(io, service).await.ok();
    } else {
        http1::Builder::new().serve_connection(io, service).await.ok();
    }
}

#[tokio::test]
async fn http2_is_used_if_the_upstream_offers_it_and_shared() {
    let authority = Authority::new();
    let server = Server::start(&authority, "localhost", &["h2", "http/1.1"], false).await;
    let transport = trusting(&authority);
    let uri = server.uri("/x");
    let replies = join_all((0..20).map(|_| transport.send(get(&uri)))).await;
    for reply in replies {
        let text = format!("HTTP/2.0 GET {uri}");
        assert_eq!(reply.expect("an answer").body, text);
    }
    let reply = transport.send(post(&uri, b"body")).await.expect("an answer");
    assert!(reply.body.starts_with(b"HTTP/2.0 POST"));
    assert_eq!(server.connections(), 1);
}

#[tokio::test]
async fn dropping_an_exchange_resets_its_stream_and_spares_the_others() {
    let authority = Authority::new();
    let server = Server::start(&authority, "localhost", &["h2"], false).await;
    let transport = Arc::new(trusting(&authority));
    let (shared, exchange) = (Arc::clone(&transport), get(&server.uri("/hang")));
    let task = tokio::spawn(async move { shared.send(exchange).await });
    let mut hanging = server.hanging.clone();
    hanging.wait_for(|count| *count == 1).await.expect("the server lives");
    task.abort();
    hanging.wait_for(|count| *count == 0).await.expect("the server lives");
    assert!(transport.send(get(&server.uri("/"))).await.is_ok());
    let large = Exchange { body: vec![7; 500_000].into(), ..post(&server.uri("/"), b"") };
    assert!(transport.send(large).await.is_ok());
    let hasty = Exchange { timeout: HASTY, ..get(&server.uri("/hang")) };
    assert_eq!(failure_of(&transport, hasty).await.kind, ErrorKind::Timeout { ms: 150 });
    hanging.wait_for(|count| *count == 0).await.expect("the server lives");
    assert_eq!(server.connections(), 1);
}

#[tokio::test]
async fn http1_is_used_over_tls_if_nothing_else_is_offered() {
    let authority = Authority::new();
    for protocols in [&["http/1.1"][..], &[]] {
        let server = Server::start(&authority, "localhost", protocols, false).await;
        let transport = trusting(&authority);
        for _ in 0..3 {
            assert_eq!(body_of(&transport, &server.uri("/x")).await, "HTTP/1.1 GET /x");
        }
        assert_eq!(server.connections(), 1);
    }
}

#[tokio::test]
async fn a_retry_over_tls_does_not_trust_other_idle_connections() {
    let authority = Authority::new();
    let server = Server::start(&authority, "localhost", &["http/1.1"], false).await;
    let transport = trusting(&authority);
    let select = || Exchange { retry: Retry::Once, ..get(&server.uri("/once")) };
    let (one, two) = tokio::join!(transport.send(select()), transport.send(select()));
    assert!(one.is_ok() && two.is_ok());
    assert_eq!(server.connections(), 2);
    assert_eq!(transport.send(select()).await.expect("an answer").attempts, 2);
    assert_eq!(server.connections(), 3);
}

#[tokio::test]
async fn a_body_that_contradicts_its_length_is_noticed_on_http2() {
    let authority = Authority::new();
    let server = Server::start(&authority, "localhost", &["h2"], false).await;
    let error = failure_of(&trusting(&authority), get(&server.uri("/?5000"))).await;
    assert_eq!(error.kind, ErrorKind::LengthMismatch, "{error:?}");
}

fn assert_unverified(error: &TransportError) {
    assert_eq!(error.kind, ErrorKind::Tls, "{error:?}");
    assert!(!error.is_retryable());
    assert!(error.to_string().contains("certificate"), "{error}");
}

#[tokio::test]
async fn a_certificate_is_verified_unless_the_host_is_exempt() {
    let authority = Authority::new();
    let server = Server::start(&authority, "localhost", &["h2"], false).await;
    let strict = Transport::new(TransportSettings::default()).expect("valid");
    assert_unverified(&failure_of(&strict, get(&server.uri("/"))).await);
    let other = Server::start(&authority, "elsewhere.test", &["h2"], false).await;
    assert_unverified(&failure_of(&trusting(&authority), get(&other.uri("/"))).await);
    let tls = TlsSettings { insecure_hosts: vec!["localhost".into()], ..TlsSettings::default() };
    let lax = with_tls(tls);
    assert!(lax.send(get(&server.uri("/"))).await.is_ok());
}

#[tokio::test]
async fn a_client_certificate_is_shown_if_asked_for() {
    let authority = Authority::new();
    let server = Server::start(&authority, "localhost", &["http/1.1"], true).await;
    assert!(trusting(&authority).send(get(&server.uri("/"))).await.is_err());
    let identity = authority.issue("client.test");
    let transport = with_tls(TlsSettings {
        client_cert: Some(identity.certificate),
        client_key: Some(identity.key),
        ..trust(&authority)
    });
    assert!(transport.send(get(&server.uri("/"))).await.is_ok());
}

#[tokio::test]
async fn unreadable_certificates_are_reported_when_the_transport_is_built() {
    let authority = Authority::new();
    std::fs::write(authority.folder().join("empty.pem"), "").expect("written");
    for name in ["missing.pem", "empty.pem"] {
        let ca_file = Some(authority.folder().join(name));
        let tls = TlsSettings { ca_file, ..TlsSettings::default() };
        let settings = TransportSettings { tls, ..TransportSettings::default() };
        let error = Transport::new(settings).expect_err("refused");
        assert_eq!(error.setting, "tls.caFile");
        assert!(error.reason.contains(name), "{error}");
    }
}

#[tokio::test]
async fn https_goes_through_a_tunnel_of_the_proxy() {
    let authority = Authority::new();
    let server = Server::start(&authority, "localhost", &["h2"], false).await;
    let target = server.address;
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let port = listener.local_addr().expect("an address").port();
    let proxy = tokio::spawn(async move {
        let (mut client, _) = listener.accept().await.expect("a client");
        let seen = read_request(&mut client, 0, 0).await.expect("a request");
        let mut upstream = TcpStream::connect(target).await.expect("connected");
        tokio::io::AsyncWriteExt::write_all(&mut client, b"HTTP/1.1 200 OK\r\n\r\n")
            .await
            .expect("written");
        copy_bidirectional(&mut client, &mut upstream).await.ok();
        seen
    });
    let transport = {
        let tls = trust(&authority);
        let proxy = ProxyTarget { host: "127.0.0.1".into(), port, login: None };
        let proxies = vec![("localhost".to_owned(), Some(proxy))];
        Transport::new(TransportSettings { tls, proxies, ..TransportSettings::default() })
            .expect("valid")
    };
    assert_eq!(
        body_of(&transport, &server.uri("/x")).await,
        format!("HTTP/2.0 GET {}", server.uri("/x"))
    );
    drop(transport);
    let seen = proxy.await.expect("the proxy is done");
    assert_eq!(seen.line(), format!("CONNECT localhost:{}", target.port()));
}

#[tokio::test]
async fn a_redirect_from_https_to_http_is_refused() {
    let authority = Authority::new();
    let (chain, key) = read(&authority.issue("localhost"));
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .expect("a configuration");
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let port = listener.local_addr().expect("an address").port();
    let server = tokio::spawn(async move {
        let (stream, _) = listener.accept().await.expect("a client");
        let mut stream =
            TlsAcceptor::from(Arc::new(config)).accept(stream).await.expect("a handshake");
        read_request(&mut stream, 0, 0).await.expect("a request");
        let answer = b"HTTP/1.1 302 X\r\nlocation: http://localhost/\r\ncontent-length: 0\r\n\r\n";
        tokio::io::AsyncWriteExt::write_all(&mut stream, answer).await.expect("written");
        read_request(&mut stream, 0, 1).await;
    });
    let error = failure_of(&trusting(&authority), get(&format!("https://localhost:{port}/"))).await;
    assert_eq!(error.kind, ErrorKind::RedirectDowngrade);
    server.await.expect("the server is done");
}
