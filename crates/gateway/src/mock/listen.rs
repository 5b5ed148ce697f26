//! Sockets of mock servers: bound first, then run with whatever answers the requests.
//!
//! In go an address and a [`Handler`]; out comes a [`MockServer`], whose address is known before it
//! serves. Every kind of mock (folder, proxy, recorder, replay, canned answers of tests) is such a
//! handler; this module knows none of them.

use std::{convert::Infallible, fmt, net::SocketAddr, pin::Pin, sync::Arc};

use hyper::{Request, Response, body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::{
    net::{TcpListener, TcpStream},
    task::JoinSet,
};

use super::{body::MockBody, error::MockError};

/// How many connections a listener serves at once; further ones wait in the system's queue.
pub(super) const CONNECTIONS_MAX: usize = 4096;

/// The answer of a mock, on its way.
pub(crate) type Answering = Pin<Box<dyn Future<Output = Response<MockBody>> + Send>>;

/// Answers a request, given the client's address. It never fails: mocks answer their own faults.
pub(crate) type Handler = Arc<dyn Fn(Request<Incoming>, SocketAddr) -> Answering + Send + Sync>;

/// A mock server that is bound and waits to be run.
pub(crate) struct MockServer {
    listener: TcpListener,
    address: SocketAddr,
    handler: Handler,
}

impl fmt::Debug for MockServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MockServer").field("address", &self.address).finish_non_exhaustive()
    }
}

/// Binds a socket; port 0 takes a free one.
pub(super) async fn bind(host: &str, port: u16) -> Result<(TcpListener, SocketAddr), MockError> {
    let failed = |error| MockError::Listen(format!("{host}:{port}"), error);
    let listener = TcpListener::bind((host, port)).await.map_err(failed)?;
    let address = listener.local_addr().map_err(failed)?;
    Ok((listener, address))
}

impl MockServer {
    /// Binds a server. Run it with [`MockServer::run`].
    ///
    /// # Errors
    /// The address is taken or is none of ours.
    pub(crate) async fn bind(host: &str, port: u16, handler: Handler) -> Result<Self, MockError> {
        let (listener, address) = bind(host, port).await?;
        Ok(Self::on(listener, address, handler))
    }

    /// A server on a socket that is bound already.
    pub(super) fn on(listener: TcpListener, address: SocketAddr, handler: Handler) -> Self {
        Self { listener, address, handler }
    }

    /// The bound address as a URL, to be printed before anything else.
    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Serves until the future is done.
    ///
    /// # Cancellation
    /// Dropping this future, or the end of the one given, closes every connection at once.
    pub(crate) async fn run(self, until: impl Future<Output = ()>) {
        let Self { listener, handler, .. } = self;
        let serve = |connections: &mut JoinSet<()>, stream, peer| {
            connections.spawn(connection(stream, peer, Arc::clone(&handler)));
        };
        tokio::select! {
            () = until => {}
            () = accept_all(&listener, serve) => {}
        }
    }
}

/// Accepts for ever and runs a task for each connection, which `serve` spawns; they end with this future.
pub(crate) async fn accept_all(
    listener: &TcpListener,
    mut serve: impl FnMut(&mut JoinSet<()>, TcpStream, SocketAddr),
) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            Some(_ended) = connections.join_next(), if !connections.is_empty() => {}
            accepted = listener.accept(), if connections.len() < CONNECTIONS_MAX => {
                // A connection that failed before it was accepted concerns nobody else.
                if let Ok((stream, peer)) = accepted {
                    // Without it small answers wait for the client's acknowledgement; failing
                    // costs only time.
                    let _fast = stream.set_nodelay(true);
                    serve(&mut connections, stream, peer);
                } else {
                    tokio::task::yield_now().await;
                }
            }
        }
    }
}

async fn connection(stream: TcpStream, peer: SocketAddr, handler: Handler) {
    let service = service_fn(|request| {
        let answering = handler(request, peer);
        async move { Ok::<_, Infallible>(answering.await) }
    });
    let mut protocol = http1::Builder::new();
    protocol.timer(TokioTimer::new());
    // The client went away or sent no HTTP: hyper has answered what could be answered.
    let _ended = protocol.serve_connection(TokioIo::new(stream), service).await;
}
