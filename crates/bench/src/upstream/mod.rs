//! The upstream of every measurement that needs one: the data sets of [`data`](crate::data) over HTTP
//! (`docs/reference/mock.md`, `docs/reference/bench.md`). `qlio mock --bench-upstream` is a thin
//! shell around it.
//!
//! In: an address, a delay, a number of threads. Out: answers that were made before the first request,
//! with their length in front. Deliberately missing: everything a mock can do to an answer; what is
//! measured should be the gateway, so this does as little as it can.

mod answers;

use std::{
    convert::Infallible,
    io,
    net::{SocketAddr, TcpListener as StdListener, ToSocketAddrs},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

use bytes::Bytes;
use http_body_util::{BodyExt, Full, Limited};
use hyper::{
    Method, Request, Response,
    body::Incoming,
    header::{CONTENT_TYPE, HeaderValue},
    server::conn::http1,
    service::service_fn,
};
use hyper_util::rt::TokioIo;
use tokio::{net::TcpListener, sync::watch};

use self::answers::Answers;

/// Connections that are served at once; further ones wait in the system's queue.
const CONNECTIONS_MAX: usize = 20_000;
/// Bytes of a request body; it is read and ignored.
const REQUEST_BYTES_MAX: usize = 1 << 20;
/// After a failed accept (no free descriptors, say) the next try waits this long.
const ACCEPT_PAUSE: Duration = Duration::from_millis(10);

/// What to listen on, and how.
#[derive(Debug, Clone)]
pub struct UpstreamOptions {
    /// Name or address to listen on.
    pub host: String,
    /// The port; 0 takes a free one.
    pub port: u16,
    /// How long every answer waits.
    pub latency: Duration,
    /// Threads that serve.
    pub threads: usize,
}

/// A running upstream; dropping it stops it.
#[derive(Debug)]
pub struct Upstream {
    address: SocketAddr,
    stop: watch::Sender<bool>,
    threads: Vec<JoinHandle<()>>,
}

impl Upstream {
    /// Binds and starts to serve.
    ///
    /// # Errors
    /// The address cannot be listened on, or the system gives no thread.
    pub fn start(options: &UpstreamOptions) -> io::Result<Self> {
        let mut addresses = (options.host.as_str(), options.port).to_socket_addrs()?;
        let address = addresses.next().ok_or(io::ErrorKind::AddrNotAvailable)?;
        let listener = StdListener::bind(address)?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared {
            answers: Answers::new(),
            latency: options.latency,
            connections: AtomicUsize::new(0),
        });
        let (stop, is_stopped) = watch::channel(false);
        let mut upstream = Self { address, stop, threads: Vec::new() };
        for _ in 0..options.threads.max(1) {
            let listener = listener.try_clone()?;
            let (shared, is_stopped) = (Arc::clone(&shared), is_stopped.clone());
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
            let body = move || runtime.block_on(serve(listener, shared, is_stopped));
            upstream.threads.push(thread::Builder::new().name("upstream".to_owned()).spawn(body)?);
        }
        Ok(upstream)
    }

    /// The bound address.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Upstream {
    fn drop(&mut self) {
        let _ = self.stop.send(true);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

struct Shared {
    answers: Answers,
    latency: Duration,
    connections: AtomicUsize,
}

/// Accepts on one thread until told to stop; its connections end with the runtime.
async fn serve(listener: StdListener, shared: Arc<Shared>, mut is_stopped: watch::Receiver<bool>) {
    let Ok(listener) = TcpListener::from_std(listener) else { return };
    loop {
        let accepted = tokio::select! {
            _ = is_stopped.changed() => return,
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok((stream, _)) if shared.connections.load(Ordering::Relaxed) < CONNECTIONS_MAX => {
                let _fast = stream.set_nodelay(true);
                let shared = Arc::clone(&shared);
                shared.connections.fetch_add(1, Ordering::Relaxed);
                tokio::spawn(async move {
                    let service = service_fn(|request| respond(&shared, request));
                    // The client went away or sent no HTTP; there is nobody to tell.
                    let _ended =
                        http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
                    shared.connections.fetch_sub(1, Ordering::Relaxed);
                });
            }
            Ok(_) => {}
            Err(_) => tokio::time::sleep(ACCEPT_PAUSE).await,
        }
    }
}

async fn respond(
    shared: &Shared,
    request: Request<Incoming>,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let uri = request.uri().clone();
    let is_head = request.method() == Method::HEAD;
    // An unread body would close the connection.
    let _ignored = Limited::new(request.into_body(), REQUEST_BYTES_MAX).collect().await;
    if !shared.latency.is_zero() {
        tokio::time::sleep(shared.latency).await;
    }
    let answer = shared.answers.find(uri.path(), uri.query().unwrap_or_default());
    let body = if is_head { Bytes::new() } else { answer.body.clone() };
    let mut response = Response::new(Full::new(body));
    *response.status_mut() = answer.status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(answer.content_type));
    Ok(response)
}
