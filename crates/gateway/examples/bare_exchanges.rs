//! Scenario D of `bench/` with nothing but its exchanges: the floor that the route is measured against.
//!
//! For each request it makes one upstream request, then ten side by side, and answers their bodies as
//! one JSON array. It is built like the gateway (one thread per core with a runtime and a pool of its
//! own, hyper on both sides, the same allocator), but reads no answer: no script, no table, no JSON.
//! `plain` uses hyper's connections as they are, `transport` the gateway's own HTTP client, so that the
//! report can tell what the client costs from what the language costs.
//!
//! `bare_exchanges plain|transport UPSTREAM WORKERS FIRST OTHER...`, the paths beginning with `/`; the
//! first line on stdout names the address. Errors end up as status 502.

#![expect(clippy::disallowed_methods, reason = "it has a command line and threads of its own")]

use std::{
    cell::RefCell,
    convert::Infallible,
    env,
    error::Error,
    future::{Future, poll_fn},
    io::{self, Write as _},
    net::{SocketAddr, TcpListener},
    pin::{Pin, pin},
    rc::Rc,
    task::{Context, Poll},
    thread,
};

use bytes::Bytes;
use futures_util::future::try_join_all;
use http_body_util::{BodyExt as _, Empty, Full};
use hyper::{
    Method, Request, Response, StatusCode,
    body::Incoming,
    client::conn::http1::{Connection, SendRequest, handshake},
    header::{ACCEPT, CONTENT_TYPE, HOST, HeaderValue, USER_AGENT},
    server::conn::http1::Builder,
    service::service_fn,
};
use hyper_util::rt::TokioIo;
use qlio_engine::transport::{Exchange, Transport, TransportSettings};
use tokio::{net::TcpStream, sync::mpsc, task::LocalSet};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

type Failure = Box<dyn Error + Send + Sync>;

/// What to ask for, and of whom.
#[derive(Clone)]
struct Work {
    upstream: SocketAddr,
    first: String,
    others: Vec<String>,
}

/// How a worker reaches the upstream.
enum Client {
    Plain { upstream: SocketAddr, host: HeaderValue, idle: RefCell<Vec<Link>> },
    Transport { origin: String, transport: Box<Transport> },
}

/// A connection that is polled by whoever uses it.
struct Link {
    sender: SendRequest<Empty<Bytes>>,
    connection: Connection<TokioIo<TcpStream>, Empty<Bytes>>,
}

impl Link {
    async fn open(upstream: SocketAddr) -> Result<Self, Failure> {
        let stream = TcpStream::connect(upstream).await?;
        stream.set_nodelay(true)?;
        let (sender, connection) = handshake(TokioIo::new(stream)).await?;
        Ok(Self { sender, connection })
    }

    /// Waits for `step` while moving the connection on.
    async fn with<T>(&mut self, step: impl Future<Output = T>) -> T {
        let mut step = pin!(step);
        poll_fn(|cx| {
            drive(&mut self.connection, cx);
            step.as_mut().poll(cx)
        })
        .await
    }

    async fn get(&mut self, request: Request<Empty<Bytes>>) -> Result<Bytes, Failure> {
        poll_fn(|cx| {
            drive(&mut self.connection, cx);
            self.sender.poll_ready(cx)
        })
        .await?;
        let answer = self.sender.send_request(request);
        let answer = self.with(answer).await?;
        if answer.status() != StatusCode::OK {
            return Err(format!("the upstream answered {}", answer.status()).into());
        }
        Ok(self.with(answer.into_body().collect()).await?.to_bytes())
    }
}

fn drive(connection: &mut Connection<TokioIo<TcpStream>, Empty<Bytes>>, cx: &mut Context<'_>) {
    // That the connection has ended is what the exchange on it reports.
    let _: Poll<_> = Pin::new(connection).poll(cx);
}

impl Client {
    fn new(kind: &str, work: &Work) -> Result<Self, Failure> {
        match kind {
            "plain" => Ok(Self::Plain {
                upstream: work.upstream,
                host: HeaderValue::from_str(&work.upstream.to_string())?,
                idle: RefCell::default(),
            }),
            "transport" => Ok(Self::Transport {
                origin: format!("http://{}", work.upstream),
                transport: Box::new(Transport::new(TransportSettings::default())?),
            }),
            _ => Err(format!("unknown client `{kind}`").into()),
        }
    }

    async fn get(&self, path: &str) -> Result<Bytes, Failure> {
        match self {
            Self::Plain { upstream, host, idle } => {
                let pooled = idle.borrow_mut().pop();
                let mut link = match pooled {
                    Some(link) => link,
                    None => Link::open(*upstream).await?,
                };
                let request = Request::get(path)
                    .header(HOST, host)
                    .header(ACCEPT, "application/json")
                    .header(USER_AGENT, "bare")
                    .body(Empty::new())?;
                let body = link.get(request).await?;
                idle.borrow_mut().push(link);
                Ok(body)
            }
            Self::Transport { origin, transport } => {
                let exchange = Exchange::new(Method::GET, format!("{origin}{path}"));
                let reply = transport.send(exchange).await?;
                if reply.status != StatusCode::OK {
                    return Err(format!("the upstream answered {}", reply.status).into());
                }
                Ok(reply.body)
            }
        }
    }

    /// The eleven exchanges; their bodies as one JSON array.
    async fn all(&self, work: &Work) -> Result<Bytes, Failure> {
        let first = self.get(&work.first).await?;
        let others = try_join_all(work.others.iter().map(|path| Box::pin(self.get(path)))).await?;
        let bytes = others.iter().map(|body| body.len() + 1).sum::<usize>() + first.len() + 2;
        let mut text = Vec::with_capacity(bytes);
        text.push(b'[');
        text.extend_from_slice(&first);
        for body in &others {
            text.push(b',');
            text.extend_from_slice(body);
        }
        text.push(b']');
        Ok(text.into())
    }
}

async fn answer(client: &Client, work: &Work) -> Response<Full<Bytes>> {
    let (status, body) = match client.all(work).await {
        Ok(body) => (StatusCode::OK, body),
        Err(failure) => (StatusCode::BAD_GATEWAY, failure.to_string().into()),
    };
    let mut response = Response::new(Full::new(body));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

async fn connection(stream: std::net::TcpStream, client: Rc<Client>, work: Rc<Work>) {
    let Ok(stream) = TcpStream::from_std(stream) else { return };
    let service = service_fn(move |_: Request<Incoming>| {
        let (client, work) = (Rc::clone(&client), Rc::clone(&work));
        async move { Ok::<_, Infallible>(answer(&client, &work).await) }
    });
    // A client that breaks off ends its connection; there is nobody else to tell.
    let _ = Builder::new().serve_connection(TokioIo::new(stream), service).await;
}

fn worker(
    kind: &str,
    work: Work,
    mut inbox: mpsc::UnboundedReceiver<std::net::TcpStream>,
) -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    LocalSet::new().block_on(&runtime, async {
        let client = Rc::new(Client::new(kind, &work)?);
        let work = Rc::new(work);
        while let Some(stream) = inbox.recv().await {
            tokio::task::spawn_local(connection(stream, Rc::clone(&client), Rc::clone(&work)));
        }
        Ok(())
    })
}

fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [kind, upstream, workers, first, others @ ..] = arguments.as_slice() else {
        return Err("usage: bare_exchanges plain|transport UPSTREAM WORKERS FIRST OTHER...".into());
    };
    let work = Work { upstream: upstream.parse()?, first: first.clone(), others: others.to_vec() };
    Client::new(kind, &work)?;
    let mut inboxes = Vec::new();
    for _ in 0..workers.parse::<usize>()?.max(1) {
        let (sender, receiver) = mpsc::unbounded_channel();
        let (kind, work) = (kind.clone(), work.clone());
        thread::spawn(move || worker(&kind, work, receiver));
        inboxes.push(sender);
    }
    let listener = TcpListener::bind(("127.0.0.1", 0))?;
    writeln!(io::stdout(), "http://{}", listener.local_addr()?)?;
    for inbox in inboxes.iter().cycle() {
        let (stream, _) = listener.accept()?;
        stream.set_nodelay(true)?;
        stream.set_nonblocking(true)?;
        inbox.send(stream).map_err(|_| "a worker has ended")?;
    }
    Ok(())
}
