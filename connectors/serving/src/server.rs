//! The two requests of the protocol over HTTP/1.1, on a port or a Unix socket.
//!
//! Connections, heads, bodies and times are bounded; a client that goes ends its statement.

use std::{convert::Infallible, path::Path, sync::Arc, time::Duration};

use bytes::Bytes;
use futures_util::stream::unfold;
use http_body_util::{BodyExt, Either, Full, Limited, StreamBody};
use hyper::{
    Method, Request, Response, StatusCode,
    body::{Frame, Incoming},
    header::{AUTHORIZATION, CONTENT_TYPE, HeaderValue},
    server::conn::http1,
    service::service_fn,
};
use hyper_util::rt::{TokioIo, TokioTimer};
use serde_json::Value;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::{TcpListener, UnixListener},
    sync::{Semaphore, mpsc},
};

use crate::{
    Refused, Source,
    rows::{PIECES_MAX, Piece, Sender, error_line},
};

/// Bytes of a request.
const REQUEST_BYTES_MAX: usize = 1 << 20;

/// How long a head may take.
const HEAD_PATIENCE: Duration = Duration::from_secs(30);

/// Connections that are open at a time; further ones wait.
const CONNECTIONS_MAX: usize = 1000;

const JSON: HeaderValue = HeaderValue::from_static("application/json");
const LINES: HeaderValue = HeaderValue::from_static("application/x-ndjson");

/// A source, and who may ask it.
#[derive(Debug)]
pub struct Serving<S> {
    /// The source.
    pub source: Arc<S>,
    /// What callers have to show as bearer token; without it anybody may ask.
    pub token: Option<String>,
}

type Streamed = futures_util::stream::BoxStream<'static, Result<Frame<Bytes>, Infallible>>;
type Answer = Response<Either<Full<Bytes>, StreamBody<Streamed>>>;

/// Listens, tells the address, and serves until the process ends.
///
/// # Errors
/// Nobody can listen there.
pub async fn serve<S: Source>(place: &str, connector: Serving<S>) -> Result<(), String> {
    let cannot = |error: std::io::Error| format!("cannot listen on `{place}`: {error}");
    let connector = Arc::new(connector);
    let permits = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    if let Some(path) = place.strip_prefix("unix:") {
        // What an earlier process has left; a file that is no socket stays.
        if std::os::unix::net::UnixStream::connect(path).is_err() && is_socket(Path::new(path)) {
            std::fs::remove_file(path).map_err(cannot)?;
        }
        let listener = UnixListener::bind(path).map_err(cannot)?;
        println!("unix:{path}");
        loop {
            let permit = Arc::clone(&permits).acquire_owned().await;
            if let Ok((stream, _)) = listener.accept().await {
                let serving = converse(stream, Arc::clone(&connector));
                tokio::spawn(async move {
                    serving.await;
                    drop(permit);
                });
            }
        }
    }
    let listener = TcpListener::bind(place).await.map_err(cannot)?;
    println!("http://{}", listener.local_addr().map_err(cannot)?);
    loop {
        let permit = Arc::clone(&permits).acquire_owned().await;
        if let Ok((stream, _)) = listener.accept().await {
            let serving = converse(stream, Arc::clone(&connector));
            tokio::spawn(async move {
                serving.await;
                drop(permit);
            });
        }
    }
}

fn is_socket(path: &Path) -> bool {
    use std::os::unix::fs::FileTypeExt as _;
    path.metadata().is_ok_and(|data| data.file_type().is_socket())
}

async fn converse<S: Source>(
    stream: impl AsyncRead + AsyncWrite + Unpin,
    connector: Arc<Serving<S>>,
) {
    let answer = service_fn(|request| {
        let connector = Arc::clone(&connector);
        async move { Ok::<_, Infallible>(respond(request, connector).await) }
    });
    let served = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_PATIENCE)
        .serve_connection(TokioIo::new(stream), answer);
    // How a connection ends is the business of its client.
    let _ = served.await;
}

async fn respond<S: Source>(request: Request<Incoming>, connector: Arc<Serving<S>>) -> Answer {
    if !is_known(connector.token.as_deref(), request.headers().get(AUTHORIZATION)) {
        return refuse(&Refused::new(401, "the token is missing or wrong"));
    }
    match (request.method(), request.uri().path()) {
        (&Method::GET, "/describe") => answer(StatusCode::OK, &connector.source.describe()),
        (&Method::POST, "/execute") => {
            let body = Limited::new(request.into_body(), REQUEST_BYTES_MAX).collect().await;
            match body {
                Ok(body) => execute(body.to_bytes().to_vec(), Arc::clone(&connector.source)).await,
                Err(error) => {
                    refuse(&Refused::new(413, format!("the request is no good: {error}")))
                }
            }
        }
        _ => refuse(&Refused::new(404, "there are GET /describe and POST /execute")),
    }
}

/// Whether the caller has the token, compared in the same time however much of it is right.
fn is_known(token: Option<&str>, shown: Option<&HeaderValue>) -> bool {
    let Some(token) = token else { return true };
    let shown = shown.map(HeaderValue::as_bytes).and_then(|shown| shown.strip_prefix(b"Bearer "));
    let shown = shown.unwrap_or_default();
    let differs = token.bytes().zip(shown).fold(0, |differs, (one, other)| differs | (one ^ other));
    token.len() == shown.len() && differs == 0
}

async fn execute<S: Source>(body: Vec<u8>, source: Arc<S>) -> Answer {
    let (sender, mut pieces) = mpsc::channel::<Piece>(PIECES_MAX);
    tokio::spawn(source.execute(body, Sender::new(sender)));
    // What fails at once has a status; later it can only be a line.
    let first = match pieces.recv().await {
        Some(Ok(first)) => first,
        Some(Err(refused)) => return refuse(&refused),
        None => return refuse(&Refused::new(500, "the statement came to no end")),
    };
    let stream = unfold((Some(Ok(first)), pieces), |(next, mut pieces)| async move {
        let piece: Piece = match next {
            Some(piece) => piece,
            None => pieces.recv().await?,
        };
        let bytes = piece.unwrap_or_else(|refused| {
            let mut line = error_line(&refused).to_string();
            line.push('\n');
            Bytes::from(line)
        });
        Some((Ok(Frame::data(bytes)), (None, pieces)))
    });
    let mut response = Response::new(Either::Right(StreamBody::new(Box::pin(stream) as Streamed)));
    response.headers_mut().insert(CONTENT_TYPE, LINES);
    response
}

fn refuse(refused: &Refused) -> Answer {
    let status = StatusCode::from_u16(refused.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    answer(status, &error_line(refused))
}

fn answer(status: StatusCode, value: &Value) -> Answer {
    let mut response = Response::new(Either::Left(Full::new(Bytes::from(value.to_string()))));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, JSON);
    response
}
