//! One connection of the scripted upstream: reads requests, books them, hands them to be answered.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::answer::{Ending, answer, unexpected};
use super::{Received, Shared, http2};

const HEAD_BYTES_MAX: usize = 256 * 1024;
const BODY_BYTES_MAX: usize = 64 * 1024 * 1024;
const HEADERS_MAX: usize = 256;

/// A stream with what was read of it and not yet used.
pub(super) struct Connection {
    pub(super) stream: TcpStream,
    buffer: Vec<u8>,
    shared: Arc<Shared>,
    number: usize,
}

/// Serves a connection until one side ends it.
pub(super) fn spawn(stream: TcpStream, shared: Arc<Shared>) {
    let number = shared.update(super::Ledger::connected);
    tokio::spawn(async move {
        let mut connection =
            Connection { stream, buffer: Vec::new(), shared: Arc::clone(&shared), number };
        let served = match connection.is_http2().await {
            Ok(true) => {
                let Connection { stream, buffer, .. } = connection;
                http2::serve(stream, buffer, &shared, number).await
            }
            Ok(false) => connection.serve().await,
            Err(what) => Err(what),
        };
        if let Err(what) = served {
            shared.update(|ledger| ledger.reject(what));
        }
        shared.update(super::Ledger::disconnected);
    });
}

impl Connection {
    /// Whether the other side begins with HTTP/2; takes nothing from the buffer.
    async fn is_http2(&mut self) -> Result<bool, String> {
        Ok(self.read_head().await?.is_some() && self.buffer.starts_with(http2::PREFACE_HEAD))
    }

    /// # Errors
    /// Says what came that was no request.
    async fn serve(&mut self) -> Result<(), String> {
        // Small pieces must leave at once: faults are about single bytes.
        self.stream.set_nodelay(true).map_err(|error| error.to_string())?;
        while let Some(request) = self.read_request().await? {
            let wants_close = request
                .header("connection")
                .is_some_and(|value| value.eq_ignore_ascii_case("close"));
            let respond = self.shared.update(|ledger| ledger.receive(request.clone()));
            let ending = match respond {
                Some(respond) => answer(self, &request, &respond).await,
                None => unexpected(self, &request).await,
            };
            // An error while writing is the other side's doing: it has gone.
            let ending = ending.unwrap_or(Ending::HungUp);
            self.shared.update(|ledger| ledger.answered(ending == Ending::HungUp));
            if wants_close || ending != Ending::Reusable {
                break;
            }
        }
        Ok(())
    }

    async fn read_request(&mut self) -> Result<Option<Received>, String> {
        let Some(head_bytes) = self.read_head().await? else { return Ok(None) };
        let head: Vec<u8> = self.buffer.drain(..head_bytes).collect();
        let mut request = parse_head(&head)?;
        request.connection = self.number;
        if request.header("expect").is_some_and(|value| value.eq_ignore_ascii_case("100-continue"))
        {
            let interim = self.stream.write_all(b"HTTP/1.1 100 Continue\r\n\r\n").await;
            interim.map_err(|error| format!("a request that ended early: {error}"))?;
        }
        request.body = self.read_body(&request).await?;
        Ok(Some(request))
    }

    /// The length of the head in the buffer; none at the end of the connection.
    async fn read_head(&mut self) -> Result<Option<usize>, String> {
        loop {
            if let Some(end) = find(&self.buffer, b"\r\n\r\n") {
                return Ok(Some(end + 4));
            }
            if self.buffer.len() > HEAD_BYTES_MAX {
                return Err(format!("a request head of more than {HEAD_BYTES_MAX} bytes"));
            }
            match self.read_more().await {
                Ok(true) => {}
                // Whoever hangs up between requests or resets has asked nothing.
                Ok(false) | Err(_) if self.buffer.is_empty() => return Ok(None),
                Ok(false) | Err(_) => return Err("half a request head".to_owned()),
            }
        }
    }

    async fn read_body(&mut self, request: &Received) -> Result<Vec<u8>, String> {
        if request.header("transfer-encoding").is_some_and(|coding| coding.contains("chunked")) {
            return self.read_chunks().await;
        }
        let Some(length) = request.header("content-length") else { return Ok(Vec::new()) };
        let length: usize = length.parse().map_err(|_| format!("content-length `{length}`"))?;
        self.take(length).await
    }

    async fn read_chunks(&mut self) -> Result<Vec<u8>, String> {
        let mut body = Vec::new();
        loop {
            let line = self.take_line().await?;
            let size = line.split(';').next().unwrap_or_default().trim();
            let size =
                usize::from_str_radix(size, 16).map_err(|_| format!("a chunk size `{line}`"))?;
            if size == 0 {
                while !self.take_line().await?.is_empty() {}
                return Ok(body);
            }
            if body.len() + size > BODY_BYTES_MAX {
                return Err(format!("a request body of more than {BODY_BYTES_MAX} bytes"));
            }
            body.extend(self.take(size).await?);
            if !self.take_line().await?.is_empty() {
                return Err("a chunk that is longer than its size".to_owned());
            }
        }
    }

    async fn take(&mut self, length: usize) -> Result<Vec<u8>, String> {
        if length > BODY_BYTES_MAX {
            return Err(format!("a request body of more than {BODY_BYTES_MAX} bytes"));
        }
        while self.buffer.len() < length {
            self.must_read().await?;
        }
        Ok(self.buffer.drain(..length).collect())
    }

    async fn take_line(&mut self) -> Result<String, String> {
        loop {
            if let Some(end) = find(&self.buffer, b"\r\n") {
                let line = String::from_utf8_lossy(&self.buffer[..end]).into_owned();
                self.buffer.drain(..end + 2);
                return Ok(line);
            }
            if self.buffer.len() > HEAD_BYTES_MAX {
                return Err(format!("a line of more than {HEAD_BYTES_MAX} bytes"));
            }
            self.must_read().await?;
        }
    }

    async fn must_read(&mut self) -> Result<(), String> {
        match self.read_more().await {
            Ok(true) => Ok(()),
            Ok(false) | Err(_) => Err("half a request body".to_owned()),
        }
    }

    async fn read_more(&mut self) -> io::Result<bool> {
        Ok(self.stream.read_buf(&mut self.buffer).await? > 0)
    }

    /// Waits while watching the other side; true if it hung up meanwhile. Without an end, waits
    /// for just that.
    pub(super) async fn hangs_up_within(&mut self, wait: Option<Duration>) -> bool {
        let end = wait.map(|wait| tokio::time::Instant::now() + wait);
        loop {
            let pause = async {
                match end {
                    Some(end) => tokio::time::sleep_until(end).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                () = pause => return false,
                read = self.stream.read_buf(&mut self.buffer) => match read {
                    Ok(0) | Err(_) => return true,
                    Ok(_) if self.buffer.len() > HEAD_BYTES_MAX => return true,
                    Ok(_) => {}
                },
            }
        }
    }
}

fn parse_head(head: &[u8]) -> Result<Received, String> {
    let mut headers = [httparse::EMPTY_HEADER; HEADERS_MAX];
    let mut parsed = httparse::Request::new(&mut headers);
    let complete = parsed.parse(head).map_err(|error| format!("no HTTP request: {error}"))?;
    if complete.is_partial() {
        return Err("no HTTP request".to_owned());
    }
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Ok(Received {
        method: parsed.method.unwrap_or_default().to_owned(),
        target: parsed.path.unwrap_or_default().to_owned(),
        headers: parsed.headers.iter().map(|h| (h.name.to_owned(), text(h.value))).collect(),
        body: Vec::new(),
        connection: 0,
        met: None,
    })
}

fn find(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    bytes.windows(wanted.len()).position(|window| window == wanted)
}
