//! Writes the answers of the scripted upstream: the proper ones and the faulty ones.

use std::io;
use std::time::Duration;

use tokio::io::AsyncWriteExt as _;

use super::connection::Connection;
use super::{Fault, Received, Respond};

const PACE_MS_DEFAULT: u64 = 20;
const HUGE_HEAD_BYTES_DEFAULT: usize = 1024 * 1024;
const HUGE_BODY_BYTES_DEFAULT: usize = 1024 * 1024 * 1024;
const HUGE_PIECE_BYTES: usize = 16 * 1024;

/// How an answer left its connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ending {
    /// Another request may follow.
    Reusable,
    /// We end the connection.
    Closed,
    /// The other side ended it before it had the answer.
    HungUp,
}

/// Tells the caller, and a person who reads the outcome, that the request was not expected.
pub(super) async fn unexpected(to: &mut Connection, request: &Received) -> io::Result<Ending> {
    let body = serde_json::json!({
        "message": "the scripted upstream does not expect this request",
        "method": request.method,
        "path": request.target,
    });
    answer(to, request, &Respond::json(body).status(501)).await
}

/// Answers a request as told.
pub(super) async fn answer(
    to: &mut Connection,
    request: &Received,
    respond: &Respond,
) -> io::Result<Ending> {
    if respond.delay > 0 && to.hangs_up_within(Some(Duration::from_millis(respond.delay))).await {
        return Ok(Ending::HungUp);
    }
    if respond.drop {
        return Ok(Ending::Closed);
    }
    let body = respond.coded_body(request)?;
    match respond.fault {
        Some(fault) => fail(to, respond, &body, fault).await,
        None => send(to, request, respond, &body).await,
    }
}

async fn send(
    to: &mut Connection,
    request: &Received,
    respond: &Respond,
    body: &[u8],
) -> io::Result<Ending> {
    let status = respond.status.unwrap_or(200);
    let bodiless = matches!(status, 100..=199 | 204 | 304);
    let mut out = head(respond);
    if bodiless {
        out.push_str("\r\n");
    } else if respond.chunked {
        out.push_str("transfer-encoding: chunked\r\n\r\n");
    } else {
        put_header(&mut out, "content-length", &body.len().to_string());
        out.push_str("\r\n");
    }
    let mut out = out.into_bytes();
    if !bodiless && request.method != "HEAD" {
        if respond.chunked {
            // Two chunks, so that a reader has something to put together.
            let (first, second) = body.split_at(body.len() / 2);
            for piece in [first, second].into_iter().filter(|piece| !piece.is_empty()) {
                put_chunk(&mut out, piece);
            }
            out.extend_from_slice(b"0\r\n\r\n");
        } else {
            out.extend_from_slice(body);
        }
    }
    to.stream.write_all(&out).await?;
    Ok(if respond.close { Ending::Closed } else { Ending::Reusable })
}

async fn fail(
    to: &mut Connection,
    respond: &Respond,
    body: &[u8],
    fault: Fault,
) -> io::Result<Ending> {
    let with_length = |length: usize| format!("{}content-length: {length}\r\n\r\n", head(respond));
    let half = respond.size.unwrap_or(body.len() / 2).min(body.len());
    match fault {
        Fault::Reset => to.stream.set_zero_linger()?,
        Fault::ResetBody => {
            to.stream.write_all(with_length(body.len()).as_bytes()).await?;
            to.stream.write_all(&body[..half]).await?;
            // A reset throws away what the other side has not read yet, so the head may be lost
            // too; the pause makes that unlikely and costs nothing.
            if to.hangs_up_within(Some(Duration::from_millis(PACE_MS_DEFAULT))).await {
                return Ok(Ending::HungUp);
            }
            to.stream.set_zero_linger()?;
        }
        Fault::SlowHead => {
            let bytes = with_length(body.len()).into_bytes();
            if drip(to, &bytes, 1, respond.pace).await? {
                return Ok(Ending::HungUp);
            }
            to.stream.write_all(body).await?;
            return Ok(Ending::Reusable);
        }
        Fault::SlowBody => {
            to.stream.write_all(with_length(body.len()).as_bytes()).await?;
            let hung_up = drip(to, body, respond.size.unwrap_or(1), respond.pace).await?;
            return Ok(if hung_up { Ending::HungUp } else { Ending::Reusable });
        }
        Fault::Truncated => {
            to.stream.write_all(with_length(body.len()).as_bytes()).await?;
            to.stream.write_all(&body[..half]).await?;
        }
        Fault::WrongLength => {
            let length = respond.size.unwrap_or(body.len().saturating_sub(1));
            to.stream.write_all(with_length(length).as_bytes()).await?;
            to.stream.write_all(body).await?;
        }
        Fault::BadChunk => {
            let mut out =
                format!("{}transfer-encoding: chunked\r\n\r\n", head(respond)).into_bytes();
            put_chunk(&mut out, &body[..half.max(1).min(body.len())]);
            out.extend_from_slice(b"many\r\n");
            to.stream.write_all(&out).await?;
        }
        Fault::Never => {
            to.hangs_up_within(None).await;
            return Ok(Ending::HungUp);
        }
        Fault::Garbage => {
            to.stream.write_all(b"\x16\x03\x01 not http at all\r\n\r\n\0\xff").await?;
        }
        Fault::HugeHead => {
            let filler = "x".repeat(respond.size.unwrap_or(HUGE_HEAD_BYTES_DEFAULT));
            let out = format!("{}x-filler: {filler}\r\ncontent-length: 0\r\n\r\n", head(respond));
            to.stream.write_all(out.as_bytes()).await?;
        }
        Fault::Huge => return huge(to, respond).await,
    }
    Ok(Ending::Closed)
}

/// A JSON array of zeros, valid as far as it goes and complete when the size is reached.
async fn huge(to: &mut Connection, respond: &Respond) -> io::Result<Ending> {
    let size = respond.size.unwrap_or(HUGE_BODY_BYTES_DEFAULT);
    let start = format!("{}transfer-encoding: chunked\r\n\r\n", head(respond));
    to.stream.write_all(start.as_bytes()).await?;
    let mut opening = Vec::new();
    put_chunk(&mut opening, b"[0");
    to.stream.write_all(&opening).await?;
    let mut piece = Vec::new();
    put_chunk(&mut piece, ",0".repeat(HUGE_PIECE_BYTES / 2).as_bytes());
    for _ in 0..size / HUGE_PIECE_BYTES {
        to.stream.write_all(&piece).await?;
    }
    let mut closing = Vec::new();
    put_chunk(&mut closing, b"]");
    closing.extend_from_slice(b"0\r\n\r\n");
    to.stream.write_all(&closing).await?;
    Ok(Ending::Reusable)
}

/// Writes in pieces at the pace; true if the other side hung up.
async fn drip(
    to: &mut Connection,
    bytes: &[u8],
    piece: usize,
    pace: Option<u64>,
) -> io::Result<bool> {
    let pace = Duration::from_millis(pace.unwrap_or(PACE_MS_DEFAULT));
    for piece in bytes.chunks(piece.max(1)) {
        to.stream.write_all(piece).await?;
        if to.hangs_up_within(Some(pace)).await {
            return Ok(true);
        }
    }
    Ok(false)
}

fn put_chunk(out: &mut Vec<u8>, piece: &[u8]) {
    out.extend_from_slice(format!("{:x}\r\n", piece.len()).as_bytes());
    out.extend_from_slice(piece);
    out.extend_from_slice(b"\r\n");
}

/// Status line and headers, all but the length.
fn head(respond: &Respond) -> String {
    let status = respond.status.unwrap_or(200);
    let mut head = format!("HTTP/1.1 {status} {}\r\n", reason(status));
    if let Some(media_type) = respond.media_type() {
        put_header(&mut head, "content-type", media_type);
    }
    if let Some(coding) = &respond.coding {
        put_header(&mut head, "content-encoding", coding);
    }
    for (name, value) in &respond.headers {
        put_header(&mut head, name, value);
    }
    if respond.close {
        put_header(&mut head, "connection", "close");
    }
    head
}

fn put_header(head: &mut String, name: &str, value: &str) {
    for part in [name, ": ", value, "\r\n"] {
        head.push_str(part);
    }
}

fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        201 => "Created",
        204 => "No Content",
        301 => "Moved Permanently",
        302 => "Found",
        304 => "Not Modified",
        400 => "Bad Request",
        404 => "Not Found",
        500 => "Internal Server Error",
        503 => "Service Unavailable",
        _ => "Status",
    }
}
