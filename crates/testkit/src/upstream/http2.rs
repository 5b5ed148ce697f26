//! HTTP/2 without TLS for the scripted upstream: gRPC calls in, framed messages and trailers out.
//!
//! Spoken on connections that begin with the preface of HTTP/2. Requests are booked and answered
//! like any other; of what can go wrong there is `delay`, `drop` (the stream is reset) and
//! `endless` (the stream stays open after its messages).

use std::collections::VecDeque;
use std::io::{self, Write as _};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use h2::server::SendResponse;
use h2::{Reason, RecvStream, SendStream};
use http::{HeaderMap, HeaderName, HeaderValue, Request, Response};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

use super::{Ledger, Received, Respond, Shared};

/// How every HTTP/2 connection begins, up to the first empty line.
pub(super) const PREFACE_HEAD: &[u8] = b"PRI * HTTP/2.0\r\n\r\n";

const BODY_BYTES_MAX: usize = 64 * 1024 * 1024;

/// Flag byte and length of a gRPC message.
const FRAME_HEAD_BYTES: usize = 5;

/// Serves a connection whose first bytes have been read already.
///
/// # Errors
/// Says what came that was no request.
pub(super) async fn serve(
    stream: TcpStream,
    read_already: Vec<u8>,
    shared: &Arc<Shared>,
    number: usize,
) -> Result<(), String> {
    let stream = Rewound { read_already: read_already.into(), stream };
    // Whoever hangs up in the middle of a handshake or between requests has asked nothing.
    let Ok(mut connection) = h2::server::handshake(stream).await else { return Ok(()) };
    while let Some(Ok((request, respond))) = connection.accept().await {
        let shared = Arc::clone(shared);
        tokio::spawn(async move {
            if let Err(what) = exchange(request, respond, &shared, number).await {
                shared.update(|ledger| ledger.reject(what));
            }
        });
    }
    Ok(())
}

async fn exchange(
    request: Request<RecvStream>,
    respond: SendResponse<Bytes>,
    shared: &Shared,
    number: usize,
) -> Result<(), String> {
    let (head, mut stream) = request.into_parts();
    let mut body = Vec::new();
    while let Some(piece) = stream.data().await {
        let piece = piece.map_err(|error| format!("half a request body: {error}"))?;
        if body.len() + piece.len() > BODY_BYTES_MAX {
            return Err(format!("a request body of more than {BODY_BYTES_MAX} bytes"));
        }
        body.extend_from_slice(&piece);
        // A stream that has ended gives nothing back any more.
        stream.flow_control().release_capacity(piece.len()).ok();
    }
    let target = head.uri.path_and_query().map_or("/", |target| target.as_str());
    let headers = head.headers.iter();
    let request = Received {
        method: head.method.to_string(),
        target: target.to_owned(),
        headers: headers
            .map(|(name, value)| {
                (name.to_string(), String::from_utf8_lossy(value.as_bytes()).into_owned())
            })
            .collect(),
        body,
        connection: number,
        met: None,
    };
    let expected = shared.update(|ledger| ledger.receive(request.clone()));
    let mut booking = Booking { shared, hung_up: true };
    let answered = match expected {
        Some(told) => answer(respond, &request, &told).await,
        None => answer(respond, &request, &Respond::default().status(501)).await,
    };
    booking.hung_up = answered.is_err();
    Ok(())
}

/// Ends the booking of a request, also if the connection is dropped in the middle of it.
struct Booking<'a> {
    shared: &'a Shared,
    hung_up: bool,
}

impl Drop for Booking<'_> {
    fn drop(&mut self) {
        let hung_up = self.hung_up;
        self.shared.update(|ledger: &mut Ledger| ledger.answered(hung_up));
    }
}

/// Errors mean that the other side has gone.
async fn answer(
    mut respond: SendResponse<Bytes>,
    request: &Received,
    told: &Respond,
) -> io::Result<()> {
    tokio::time::sleep(Duration::from_millis(told.delay)).await;
    if told.drop {
        respond.send_reset(Reason::INTERNAL_ERROR);
        return Ok(());
    }
    let mut head = Response::new(());
    *head.status_mut() =
        http::StatusCode::from_u16(told.status.unwrap_or(200)).map_err(io::Error::other)?;
    *head.headers_mut() = head_of(told)?;
    let body = match &told.messages {
        Some(messages) => framed(messages, told.coding.as_deref())?,
        None => told.plain_body(request),
    };
    let is_whole = body.is_empty() && told.trailers.is_empty() && !told.endless;
    let mut stream = respond.send_response(head, is_whole).map_err(io::Error::other)?;
    if is_whole {
        return Ok(());
    }
    send_all(&mut stream, body).await?;
    if told.endless {
        std::future::poll_fn(|cx| stream.poll_reset(cx)).await.map_err(io::Error::other)?;
        return Err(io::ErrorKind::ConnectionReset.into());
    }
    let trailers = header_map(told.trailers.iter())?;
    stream.send_trailers(trailers).map_err(io::Error::other)
}

async fn send_all(stream: &mut SendStream<Bytes>, body: Vec<u8>) -> io::Result<()> {
    let mut rest = Bytes::from(body);
    while !rest.is_empty() {
        stream.reserve_capacity(rest.len());
        let capacity = std::future::poll_fn(|cx| stream.poll_capacity(cx)).await;
        let capacity = capacity.ok_or(io::ErrorKind::ConnectionReset)?.map_err(io::Error::other)?;
        let piece = rest.split_to(capacity.min(rest.len()));
        stream.send_data(piece, false).map_err(io::Error::other)?;
    }
    Ok(())
}

fn head_of(told: &Respond) -> io::Result<HeaderMap> {
    let mut headers = header_map(told.headers.iter())?;
    let default_type = told.messages.is_some().then_some("application/grpc+proto");
    if let Some(media_type) = told.media_type().or(default_type) {
        headers.insert("content-type", value_of(media_type)?);
    }
    if let Some(coding) = &told.coding {
        headers.insert("grpc-encoding", value_of(coding)?);
    }
    Ok(headers)
}

fn header_map<'a>(pairs: impl Iterator<Item = (&'a String, &'a String)>) -> io::Result<HeaderMap> {
    let mut headers = HeaderMap::new();
    for (name, value) in pairs {
        let name = HeaderName::from_bytes(name.as_bytes()).map_err(io::Error::other)?;
        headers.append(name, value_of(value)?);
    }
    Ok(headers)
}

fn value_of(text: &str) -> io::Result<HeaderValue> {
    HeaderValue::from_str(text).map_err(io::Error::other)
}

/// gRPC messages with their frames; with a coding each is compressed by itself.
fn framed(messages: &[String], coding: Option<&str>) -> io::Result<Vec<u8>> {
    let mut body = Vec::new();
    for message in messages {
        let plain = STANDARD.decode(message).map_err(io::Error::other)?;
        let is_coded = coding == Some("gzip");
        let message = if is_coded {
            let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
            encoder.write_all(&plain)?;
            encoder.finish()?
        } else {
            plain
        };
        let length = u32::try_from(message.len()).map_err(io::Error::other)?;
        body.push(u8::from(is_coded));
        body.extend_from_slice(&length.to_be_bytes());
        body.extend_from_slice(&message);
    }
    Ok(body)
}

/// The one uncompressed message of a gRPC request.
pub(super) fn message_of(body: &[u8]) -> Option<&[u8]> {
    let (head, message) = body.split_at_checked(FRAME_HEAD_BYTES)?;
    let length = u32::from_be_bytes(head[1..].try_into().ok()?);
    (head[0] == 0 && length as usize == message.len()).then_some(message)
}

/// A stream that gives back what was read of it before.
struct Rewound {
    read_already: VecDeque<u8>,
    stream: TcpStream,
}

impl AsyncRead for Rewound {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if this.read_already.is_empty() {
            return Pin::new(&mut this.stream).poll_read(cx, buffer);
        }
        let count = buffer.remaining().min(this.read_already.len());
        let bytes: Vec<u8> = this.read_already.drain(..count).collect();
        buffer.put_slice(&bytes);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Rewound {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().stream).poll_write(cx, bytes)
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_shutdown(cx)
    }
}
