//! From a target to an open stream: name resolution, TCP, proxy tunnel, TLS.

use std::{
    future::Future,
    io,
    net::{IpAddr, SocketAddr},
    path::Path,
    pin::{Pin, pin},
    task::{Context, Poll},
    time::Duration,
};

use futures_util::{StreamExt, stream::FuturesUnordered};
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::{TcpStream, UnixStream, lookup_host},
    time::{Instant, sleep},
};
use tokio_rustls::client::TlsStream;

use super::{
    egress::{Egress, denied},
    error::{ErrorKind, Fault},
    exchange::{Guard, Timings},
    proxy::open_tunnel,
    settings::ProxyTarget,
    target::Target,
    tls::Tls,
};

/// How long one address may keep us waiting before the next one is tried beside it.
const NEXT_ADDRESS_AFTER: Duration = Duration::from_millis(250);

/// How many addresses of a name are tried.
const ADDRESSES_MAX: usize = 8;

/// What a new connection needs to know.
pub(super) struct Dialer<'a> {
    pub(super) tls: &'a Tls,
    pub(super) egress: &'a Egress,
    pub(super) guard: &'a Guard,
    pub(super) target: &'a Target,
    /// Connected to in the place of the target.
    pub(super) socket: Option<&'a Path>,
    pub(super) proxy: Option<&'a ProxyTarget>,
    /// Nothing but HTTP/2 will do, with TLS or without.
    pub(super) needs_http2: bool,
}

/// An open stream.
pub(super) struct Dialed {
    pub(super) stream: Stream,
    /// The target's address; `None` behind a proxy, where it is unknown.
    pub(super) peer: Option<IpAddr>,
    pub(super) is_http2: bool,
}

impl Dialer<'_> {
    pub(super) async fn dial(&self, timings: &mut Timings) -> Result<Dialed, Fault> {
        let started = Instant::now();
        if let Some(socket) = self.socket {
            let stream = UnixStream::connect(socket).await;
            let stream = stream.map_err(|cause| Fault::from_io(&cause))?;
            timings.connect = Some(started.elapsed());
            return Ok(Dialed { stream: Stream::Unix(stream), peer: None, is_http2: false });
        }
        let addresses = self.addresses().await?;
        let resolved = Instant::now();
        timings.dns = Some(resolved - started);
        let (mut tcp, peer) = connect_any(addresses).await?;
        // Requests are written whole; waiting to fill packets would only delay them. An error here would
        // show again, and better, at the first write.
        tcp.set_nodelay(true).ok();
        // Proxies that pass requests on do not speak HTTP/2 without TLS, but they can be tunnelled.
        if let Some(proxy) = self.proxy
            && (self.target.site.is_https || self.needs_http2)
        {
            open_tunnel(&mut tcp, self.target, proxy.login.as_ref()).await?;
        }
        let (stream, is_http2) = if self.target.site.is_https {
            let (stream, is_http2) = self.tls.connect(self.target, tcp).await?;
            (Stream::Tls(Box::new(stream)), is_http2)
        } else {
            (Stream::Plain(tcp), self.needs_http2)
        };
        if self.needs_http2 && !is_http2 {
            return Err(Fault::new(ErrorKind::Protocol, "the upstream does not offer HTTP/2"));
        }
        timings.connect = Some(resolved.elapsed());
        Ok(Dialed { stream, peer: self.proxy.is_none().then_some(peer), is_http2 })
    }

    /// The addresses to connect to: the proxy's, or those of the target that the guard permits.
    async fn addresses(&self) -> Result<Vec<SocketAddr>, Fault> {
        match self.proxy {
            Some(proxy) => resolve(&proxy.host, proxy.port).await,
            None => permitted(self.egress, self.guard, self.target).await,
        }
    }
}

/// Resolves a target and keeps the addresses that the guard permits; none left is a denial.
pub(super) async fn permitted(
    egress: &Egress,
    guard: &Guard,
    target: &Target,
) -> Result<Vec<SocketAddr>, Fault> {
    let mut found = resolve(&target.site.host, target.site.port).await?;
    found.retain(|address| egress.permits(target, address.ip(), guard));
    if found.is_empty() { Err(denied(target)) } else { Ok(found) }
}

async fn resolve(host: &str, port: u16) -> Result<Vec<SocketAddr>, Fault> {
    if let Ok(address) = host.parse::<IpAddr>() {
        return Ok(vec![SocketAddr::new(address, port)]);
    }
    let not_found = ErrorKind::Connect { code: "ENOTFOUND" };
    let found: Vec<_> = lookup_host((host, port))
        .await
        .map_err(|cause| Fault::new(not_found.clone(), cause))?
        .take(ADDRESSES_MAX)
        .collect();
    if found.is_empty() { Err(not_found.into()) } else { Ok(found) }
}

/// Connects to the first address that answers; slow ones are overtaken, not waited for.
async fn connect_any(addresses: Vec<SocketAddr>) -> Result<(TcpStream, IpAddr), Fault> {
    let attempt = |address: SocketAddr| async move {
        TcpStream::connect(address).await.map(|stream| (stream, address.ip()))
    };
    let mut waiting = addresses.into_iter();
    let mut running = FuturesUnordered::new();
    let mut failure = None;
    loop {
        let next = waiting.next();
        let is_last = next.is_none();
        running.extend(next.map(attempt));
        let mut pause = pin!(sleep(NEXT_ADDRESS_AFTER));
        let event = std::future::poll_fn(|cx| match running.poll_next_unpin(cx) {
            Poll::Pending if is_last => Poll::Pending,
            Poll::Pending => pause.as_mut().poll(cx).map(|()| None),
            Poll::Ready(result) => Poll::Ready(result),
        })
        .await;
        match event {
            Some(Ok(connected)) => return Ok(connected),
            Some(Err(cause)) => failure = Some(cause),
            None if is_last => {
                return Err(failure
                    .map_or_else(|| Fault::network("ENOTFOUND"), |cause| Fault::from_io(&cause)));
            }
            None => {}
        }
    }
}

/// A stream to an upstream, encrypted or not.
#[derive(Debug)]
pub(super) enum Stream {
    Plain(TcpStream),
    Unix(UnixStream),
    Tls(Box<TlsStream<TcpStream>>),
}

impl Stream {
    /// Ready when reading may succeed, so that room for it need not be made before.
    pub(super) fn poll_read_ready(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self {
            Self::Plain(stream) => stream.poll_read_ready(cx),
            Self::Unix(stream) => stream.poll_read_ready(cx),
            // What has been decrypted already shows only in reading.
            Self::Tls(_) => Poll::Ready(Ok(())),
        }
    }
}

impl AsyncRead for Stream {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_read(cx, buffer),
            Self::Unix(stream) => Pin::new(stream).poll_read(cx, buffer),
            Self::Tls(stream) => Pin::new(stream).poll_read(cx, buffer),
        }
    }
}

impl AsyncWrite for Stream {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_write(cx, bytes),
            Self::Unix(stream) => Pin::new(stream).poll_write(cx, bytes),
            Self::Tls(stream) => Pin::new(stream).poll_write(cx, bytes),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_flush(cx),
            Self::Unix(stream) => Pin::new(stream).poll_flush(cx),
            Self::Tls(stream) => Pin::new(stream).poll_flush(cx),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_shutdown(cx),
            Self::Unix(stream) => Pin::new(stream).poll_shutdown(cx),
            Self::Tls(stream) => Pin::new(stream).poll_shutdown(cx),
        }
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_write_vectored(cx, slices),
            Self::Unix(stream) => Pin::new(stream).poll_write_vectored(cx, slices),
            Self::Tls(stream) => Pin::new(stream).poll_write_vectored(cx, slices),
        }
    }

    fn is_write_vectored(&self) -> bool {
        match self {
            Self::Plain(stream) => stream.is_write_vectored(),
            Self::Unix(stream) => stream.is_write_vectored(),
            Self::Tls(stream) => stream.is_write_vectored(),
        }
    }
}
