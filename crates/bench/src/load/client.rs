//! One connection of one user: requests one after the other, every received byte counted.

use std::{
    fmt, io,
    net::SocketAddr,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    task::{Context, Poll},
    time::Duration,
};

use bytes::{Bytes, BytesMut};
use http_body_util::{BodyExt, Full};
use hyper::{
    Request, StatusCode,
    body::Incoming,
    client::conn::http1::{self, SendRequest},
    header::{CONNECTION, HeaderValue},
};
use hyper_util::rt::TokioIo;
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::TcpStream,
};

use super::target::Target;
use crate::limits::ANSWER_BYTES_MAX;

/// Why a request has no good answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Failure {
    /// No connection.
    Connect(String),
    /// The connection broke, or the answer is not HTTP.
    Transport(String),
    /// No whole answer in time.
    Timeout,
    /// A status outside 200..399.
    Status(StatusCode),
    /// Another body than expected.
    Body,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Connect(reason) => write!(f, "cannot connect: {reason}"),
            Self::Transport(reason) => write!(f, "connection failed: {reason}"),
            Self::Timeout => f.write_str("no answer in time"),
            Self::Status(status) => write!(f, "status {status}"),
            Self::Body => f.write_str("the body differs from the expected one"),
        }
    }
}

/// One request and its answer, or what came of it.
pub(crate) struct Exchange {
    pub(super) failure: Option<Failure>,
    /// Bytes received, heads included.
    pub(super) bytes: u64,
    /// Whether the connection had served a request before.
    pub(super) is_reused: bool,
    /// Whether a connection was opened for it.
    pub(super) is_connected: bool,
}

/// The connection of a user, opened when it is needed.
pub(super) struct Client {
    address: SocketAddr,
    keep_alive: bool,
    timeout: Duration,
    received: Arc<AtomicU64>,
    sender: Option<SendRequest<Full<Bytes>>>,
}

impl Client {
    pub(super) fn new(address: SocketAddr, keep_alive: bool, timeout: Duration) -> Self {
        Self { address, keep_alive, timeout, received: Arc::default(), sender: None }
    }

    /// Sends the target's request and reads the whole answer.
    pub(super) async fn exchange(&mut self, target: &Target) -> Exchange {
        let before = self.received.load(Ordering::Relaxed);
        let is_open = self.sender.as_ref().is_some_and(|sender| !sender.is_closed());
        let (mut is_reused, mut is_connected) = (is_open, !is_open);
        let timeout = self.timeout;
        let work = async {
            match self.attempt(target).await {
                // The server may end a kept connection at any time; that is no failure of an answer.
                Err(Failure::Transport(_)) if is_open && self.received_since(before) == 0 => {
                    self.sender = None;
                    (is_reused, is_connected) = (false, true);
                    self.attempt(target).await
                }
                done => done,
            }
        };
        let done = tokio::time::timeout(timeout, work).await.unwrap_or(Err(Failure::Timeout));
        let is_broken =
            matches!(done, Err(Failure::Connect(_) | Failure::Transport(_) | Failure::Timeout));
        if is_broken || !self.keep_alive {
            self.sender = None;
        }
        Exchange {
            failure: done.err(),
            bytes: self.received_since(before),
            is_reused,
            is_connected,
        }
    }

    fn received_since(&self, before: u64) -> u64 {
        self.received.load(Ordering::Relaxed) - before
    }

    async fn attempt(&mut self, target: &Target) -> Result<(), Failure> {
        if self.sender.as_ref().is_none_or(SendRequest::is_closed) {
            self.sender = Some(self.connect().await?);
        }
        let Some(sender) = &mut self.sender else { return Err(Failure::Transport(String::new())) };
        sender.ready().await.map_err(|error| broken(&error))?;
        let request = request(target, self.keep_alive);
        let answer = sender.send_request(request).await.map_err(|error| broken(&error))?;
        let status = answer.status();
        let is_expected = read(answer.into_body(), target.expected.as_ref()).await?;
        if !(200..400).contains(&status.as_u16()) {
            return Err(Failure::Status(status));
        }
        if is_expected { Ok(()) } else { Err(Failure::Body) }
    }

    /// One request; answers status and body.
    async fn kept(&mut self, target: &Target) -> Result<(StatusCode, Bytes), Failure> {
        if self.sender.as_ref().is_none_or(SendRequest::is_closed) {
            self.sender = Some(self.connect().await?);
        }
        let Some(sender) = &mut self.sender else { return Err(Failure::Transport(String::new())) };
        sender.ready().await.map_err(|error| broken(&error))?;
        let request = request(target, self.keep_alive);
        let answer = sender.send_request(request).await.map_err(|error| broken(&error))?;
        let status = answer.status();
        let mut body = answer.into_body();
        let mut kept = BytesMut::new();
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(|error| broken(&error))?;
            if let Some(data) = frame.data_ref() {
                kept.extend_from_slice(data);
            }
            if kept.len() > ANSWER_BYTES_MAX {
                return Err(Failure::Transport(format!("more than {ANSWER_BYTES_MAX} bytes")));
            }
        }
        Ok((status, kept.freeze()))
    }

    async fn connect(&self) -> Result<SendRequest<Full<Bytes>>, Failure> {
        let failed = |error: io::Error| Failure::Connect(error.to_string());
        let stream = TcpStream::connect(self.address).await.map_err(failed)?;
        stream.set_nodelay(true).map_err(failed)?;
        let counted = Counted { stream, received: Arc::clone(&self.received) };
        let (sender, connection) =
            http1::handshake(TokioIo::new(counted)).await.map_err(|error| broken(&error))?;
        // It ends with its sender; what goes wrong on it is told there.
        tokio::spawn(async move {
            let _told_to_the_sender = connection.await;
        });
        Ok(sender)
    }
}

fn broken(error: &hyper::Error) -> Failure {
    Failure::Transport(error.to_string())
}

fn request(target: &Target, keep_alive: bool) -> Request<Full<Bytes>> {
    let mut request = Request::new(Full::new(target.body.clone()));
    *request.method_mut() = target.method.clone();
    *request.uri_mut() = target.path.clone();
    *request.headers_mut() = target.headers.clone();
    if !keep_alive {
        request.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    }
    request
}

/// Reads to the end; answers whether the body was the expected one. Nothing is kept.
async fn read(mut body: Incoming, expected: Option<&Bytes>) -> Result<bool, Failure> {
    let (mut length, mut is_expected) = (0_usize, true);
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| broken(&error))?;
        let Some(data) = frame.data_ref() else { continue };
        if let Some(expected) = expected {
            is_expected &= expected.get(length..length + data.len()) == Some(&data[..]);
        }
        length += data.len();
        if length > ANSWER_BYTES_MAX {
            return Err(Failure::Transport(format!("more than {ANSWER_BYTES_MAX} bytes")));
        }
    }
    Ok(is_expected && expected.is_none_or(|expected| expected.len() == length))
}

/// One request whose answer is kept: status and body.
///
/// # Errors
/// As for every request, except that any status is an answer.
pub(crate) async fn fetch(
    target: &Target,
    address: SocketAddr,
    timeout: Duration,
) -> Result<(StatusCode, Bytes), Failure> {
    let mut client = Client::new(address, false, timeout);
    let work = client.kept(target);
    tokio::time::timeout(timeout, work).await.unwrap_or(Err(Failure::Timeout))
}

/// A kept connection whose answers are kept too.
pub(crate) struct Keeper(Client);

impl Keeper {
    /// Connects with the first request.
    pub(crate) fn new(address: SocketAddr, timeout: Duration) -> Self {
        Self(Client::new(address, true, timeout))
    }

    /// The body of a good answer.
    ///
    /// # Errors
    /// There is none.
    pub(crate) async fn get(&mut self, target: &Target) -> Result<Bytes, Failure> {
        let timeout = self.0.timeout;
        let work = self.0.kept(target);
        match tokio::time::timeout(timeout, work).await.unwrap_or(Err(Failure::Timeout))? {
            (status, body) if status.is_success() => Ok(body),
            (status, _) => Err(Failure::Status(status)),
        }
    }
}

/// A stream that counts what it receives.
struct Counted {
    stream: TcpStream,
    received: Arc<AtomicU64>,
}

impl AsyncRead for Counted {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let polled = Pin::new(&mut self.stream).poll_read(context, buffer);
        self.received.fetch_add((buffer.filled().len() - before) as u64, Ordering::Relaxed);
        polled
    }
}

impl AsyncWrite for Counted {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(context, parts)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}
