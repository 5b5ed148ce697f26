//! What a connection goes through before its first request: whose it is, TLS, and which version of HTTP it speaks.
//!
//! ```text
//! accepted ─▶ [head of the PROXY protocol] ─▶ [TLS handshake] ─▶ HTTP/1.1, or HTTP/2 by its name (ALPN) or by its first bytes
//! ```
//!
//! Everything here is bounded in time, and in number where it costs: a handshake waits for its turn.

use std::{io, net::SocketAddr, sync::Arc, time::Duration};

use bytes::BytesMut;
use tokio::{
    io::AsyncReadExt as _,
    net::{TcpStream, UnixStream},
    time::timeout,
};
use tokio_rustls::TlsAcceptor;

use super::{accept::Stream, proxy_head, socket::Socket};
use crate::{
    http::forwarded::Networks,
    tls::{TlsFront, identity},
};

/// The first bytes of HTTP/2, if nothing else has said that it is spoken (RFC 9113, 3.4).
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// How long the head of the PROXY protocol may take, which a proxy sends with its first bytes.
const PROXY_HEAD_TIME_MAX: Duration = Duration::from_secs(5);

/// What is spoken where connections come in.
#[derive(Debug, Default)]
pub(crate) struct Door {
    /// TLS, with these certificates.
    pub tls: Option<Arc<TlsFront>>,
    /// Every connection begins with a head of the PROXY protocol, which only these may send; over a unix socket,
    /// whoever may connect.
    pub proxies: Option<Arc<Networks>>,
    /// Who begins with HTTP/2 without TLS is answered in it.
    pub plain_http2: bool,
}

/// A connection that has come in.
#[derive(Debug)]
pub(super) struct Entered {
    pub(super) socket: Socket,
    /// What has come on it and is not used yet.
    pub(super) arrived: BytesMut,
    pub(super) ends: SocketEnds,
    /// Who the client is, if it has shown a certificate.
    pub(super) identity: Option<Arc<str>>,
    pub(super) is_http2: bool,
}

/// The client's end of a connection, and ours.
#[derive(Debug, Clone, Copy)]
pub(super) struct SocketEnds {
    pub(super) peer: SocketAddr,
    pub(super) local: SocketAddr,
    /// Nobody between them can read along.
    pub(super) is_tls: bool,
}

impl Door {
    /// Whether HTTP/1.1 begins at once.
    pub(super) fn is_plain(&self) -> bool {
        self.tls.is_none() && !self.plain_http2 && self.proxies.is_none()
    }
}

/// The socket of an accepted connection, on this runtime.
pub(super) fn open(stream: Stream, peer: SocketAddr) -> io::Result<Entered> {
    let (socket, local) = match stream {
        Stream::Tcp(stream) => {
            let stream = TcpStream::from_std(stream)?;
            let local = stream.local_addr()?;
            (Socket::Tcp(stream), local)
        }
        // Both ends of such a socket are on this machine, which is all that is known of them.
        Stream::Unix(stream) => (Socket::Unix(UnixStream::from_std(stream)?), peer),
    };
    let ends = SocketEnds { peer, local, is_tls: false };
    Ok(Entered { socket, arrived: BytesMut::new(), ends, identity: None, is_http2: false })
}

/// Lets a connection in; `head_time_max` is for the first bytes of one without TLS.
pub(super) async fn enter(
    door: &Door,
    mut entered: Entered,
    head_time_max: Duration,
) -> io::Result<Entered> {
    if let Some(proxies) = &door.proxies {
        entered = learn_client(proxies, entered).await?;
    }
    if let Some(tls) = &door.tls {
        return shake_hands(tls, entered).await;
    }
    if door.plain_http2 {
        let found = find_preface(&mut entered.socket, &mut entered.arrived);
        entered.is_http2 = timeout(head_time_max, found).await??;
    }
    Ok(entered)
}

/// Reads whose connection a proxy passes on.
async fn learn_client(proxies: &Networks, mut entered: Entered) -> io::Result<Entered> {
    let peer = entered.ends.peer.ip();
    let head = match &mut entered.socket {
        Socket::Tcp(_) if !proxies.contain(peer) => {
            return Err(io::Error::other("it comes from no proxy that `trust.proxies` names"));
        }
        Socket::Tcp(stream) => timeout(PROXY_HEAD_TIME_MAX, proxy_head::read(stream)).await,
        Socket::Unix(stream) => timeout(PROXY_HEAD_TIME_MAX, proxy_head::read(stream)).await,
        Socket::Tls(_) => return Ok(entered),
    };
    if let Some((peer, local)) = head?? {
        entered.ends = SocketEnds { peer, local, ..entered.ends };
    }
    Ok(entered)
}

async fn shake_hands(tls: &TlsFront, entered: Entered) -> io::Result<Entered> {
    let Socket::Tcp(stream) = entered.socket else { return Ok(entered) };
    let shaking = async {
        // Nobody closes the semaphore.
        let _turn = tls.handshakes().acquire().await.map_err(io::Error::other)?;
        TlsAcceptor::from(tls.config()).accept(stream).await
    };
    let stream = match timeout(tls.handshake_timeout(), shaking).await {
        Ok(Ok(stream)) => stream,
        Ok(Err(error)) => {
            return Err(io::Error::other(format!("the TLS handshake failed: {error}")));
        }
        Err(_) => {
            let most = tls.handshake_timeout().as_millis();
            let text = format!("the TLS handshake took longer than `tls.handshakeMs` ({most} ms)");
            return Err(io::Error::other(text));
        }
    };
    let (_, session) = stream.get_ref();
    let is_http2 = session.alpn_protocol() == Some(b"h2");
    let shown = session.peer_certificates().and_then(|chain| chain.first());
    let identity = shown.and_then(identity).map(Arc::from);
    let ends = SocketEnds { is_tls: true, ..entered.ends };
    Ok(Entered { socket: Socket::Tls(Box::new(stream)), is_http2, identity, ends, ..entered })
}

/// Reads until it is certain whether HTTP/2 is spoken.
async fn find_preface(socket: &mut Socket, arrived: &mut BytesMut) -> io::Result<bool> {
    loop {
        let common =
            PREFACE.iter().zip(arrived.iter()).take_while(|(wanted, found)| wanted == found);
        let count = common.count();
        if count == PREFACE.len() {
            return Ok(true);
        }
        if count < arrived.len() || socket.read_buf(arrived).await? == 0 {
            return Ok(false);
        }
    }
}
