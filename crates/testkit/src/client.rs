//! A plain blocking HTTP/1.1 client for tests.
//!
//! Deliberately no library: tests must be able to send half a request, two at once, or no HTTP at
//! all, and to see the answer as it came. Every wait ends after the patience given.

use std::fmt;
use std::io::{self, Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::time::Duration;

use serde_json::Value;

use crate::headers::joined_header;

const HEAD_BYTES_MAX: usize = 1024 * 1024;
const BODY_BYTES_MAX: usize = 1024 * 1024 * 1024;
const HEADERS_MAX: usize = 256;
const INTERIM_ANSWERS_MAX: usize = 16;

/// A connection to the server under test.
#[derive(Debug)]
pub struct Connection {
    stream: TcpStream,
    buffer: Vec<u8>,
}

/// An answer as it came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The status code.
    pub status: u16,
    /// The reason phrase.
    pub reason: String,
    /// The minor HTTP version: 1 for HTTP/1.1.
    pub minor_version: u8,
    /// Header names as sent, and values, in their order.
    pub headers: Vec<(String, String)>,
    /// The body without its transfer coding, with its content coding.
    pub body: Vec<u8>,
}

/// A request to send; see [`Request::new`].
#[derive(Debug, Clone)]
pub struct Request {
    method: String,
    target: String,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

impl Request {
    /// A request without headers of its own and without a body.
    #[must_use]
    pub fn new(method: &str, target: &str) -> Self {
        Self {
            method: method.to_owned(),
            target: target.to_owned(),
            headers: Vec::new(),
            body: Vec::new(),
        }
    }

    /// `GET` of this target.
    #[must_use]
    pub fn get(target: &str) -> Self {
        Self::new("GET", target)
    }

    /// With one more header.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// With this body; its length is added when the request is sent.
    #[must_use]
    pub fn body(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = body.into();
        self
    }

    /// With this JSON body and its content type, unless one was given.
    #[must_use]
    pub fn json(self, json: &Value) -> Self {
        let typed = if self.has("content-type") {
            self
        } else {
            self.header("content-type", "application/json")
        };
        typed.body(json.to_string())
    }

    fn has(&self, name: &str) -> bool {
        self.headers.iter().any(|(other, _)| other.eq_ignore_ascii_case(name))
    }

    /// The bytes that go over the wire to this host.
    pub fn to_bytes(&self, host: SocketAddr) -> Vec<u8> {
        let mut head = format!("{} {} HTTP/1.1\r\n", self.method, self.target);
        if !self.has("host") {
            put_header(&mut head, "host", &host.to_string());
        }
        for (name, value) in &self.headers {
            put_header(&mut head, name, value);
        }
        let wants_length = !self.body.is_empty() || !matches!(self.method.as_str(), "GET" | "HEAD");
        if wants_length && !self.has("content-length") && !self.has("transfer-encoding") {
            put_header(&mut head, "content-length", &self.body.len().to_string());
        }
        head.push_str("\r\n");
        let mut bytes = head.into_bytes();
        bytes.extend_from_slice(&self.body);
        bytes
    }
}

impl Answer {
    /// The value of a header, whatever the case of its name; repeated ones joined by commas.
    pub fn header(&self, name: &str) -> Option<String> {
        joined_header(&self.headers, name)
    }

    /// The body as text; bytes that are no UTF-8 become U+FFFD.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// The body as JSON.
    ///
    /// # Errors
    /// If it is no JSON.
    pub fn json(&self) -> Result<Value, serde_json::Error> {
        serde_json::from_slice(&self.body)
    }
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}: {}", self.status, self.reason, self.text())
    }
}

/// Sends one request on a connection of its own.
///
/// # Errors
/// If there is no answer, or none that is HTTP, within the patience.
pub fn fetch(address: SocketAddr, request: &Request, patience: Duration) -> io::Result<Answer> {
    let mut connection = Connection::open(address, patience)?;
    connection.send(&request.to_bytes(address))?;
    connection.answer(&request.method)
}

impl Connection {
    /// Opens a connection; every later wait on it ends after the patience, too.
    ///
    /// # Errors
    /// If nobody accepts it.
    pub fn open(address: SocketAddr, patience: Duration) -> io::Result<Self> {
        let stream = TcpStream::connect_timeout(&address, patience)?;
        stream.set_read_timeout(Some(patience))?;
        stream.set_write_timeout(Some(patience))?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, buffer: Vec::new() })
    }

    /// Sends bytes as they stand.
    ///
    /// # Errors
    /// If the other side does not take them.
    pub fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stream.write_all(bytes)
    }

    /// Says that nothing more will be sent, and stays open for the answer.
    ///
    /// # Errors
    /// If the connection is gone.
    pub fn finish(&mut self) -> io::Result<()> {
        self.stream.shutdown(Shutdown::Write)
    }

    /// Reads the answer to a request with this method, skipping interim ones (1xx).
    ///
    /// # Errors
    /// If it does not come within the patience, ends early, or is no HTTP.
    pub fn answer(&mut self, method: &str) -> io::Result<Answer> {
        for _ in 0..INTERIM_ANSWERS_MAX {
            let mut answer = self.head()?;
            if (100..200).contains(&answer.status) && answer.status != 101 {
                continue;
            }
            if method != "HEAD" && !matches!(answer.status, 101 | 204 | 304) {
                answer.body = self.body(&answer)?;
            }
            return Ok(answer);
        }
        Err(invalid("too many interim answers"))
    }

    /// Reads whatever comes until the other side ends the connection.
    ///
    /// # Errors
    /// If it does not end within the patience.
    pub fn rest(&mut self) -> io::Result<Vec<u8>> {
        while self.more()? {}
        Ok(std::mem::take(&mut self.buffer))
    }

    fn head(&mut self) -> io::Result<Answer> {
        loop {
            let mut headers = [httparse::EMPTY_HEADER; HEADERS_MAX];
            let mut parsed = httparse::Response::new(&mut headers);
            let status = parsed.parse(&self.buffer).map_err(|error| invalid(&error.to_string()))?;
            if let httparse::Status::Complete(length) = status {
                let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
                let answer = Answer {
                    status: parsed.code.unwrap_or_default(),
                    reason: parsed.reason.unwrap_or_default().to_owned(),
                    minor_version: parsed.version.unwrap_or_default(),
                    headers: parsed
                        .headers
                        .iter()
                        .map(|h| (h.name.to_owned(), text(h.value)))
                        .collect(),
                    body: Vec::new(),
                };
                self.buffer.drain(..length);
                return Ok(answer);
            }
            if self.buffer.len() > HEAD_BYTES_MAX {
                return Err(invalid("the answer's head is too long"));
            }
            self.must_read()?;
        }
    }

    fn body(&mut self, answer: &Answer) -> io::Result<Vec<u8>> {
        if answer.header("transfer-encoding").is_some_and(|coding| coding.contains("chunked")) {
            return self.chunks();
        }
        match answer.header("content-length") {
            None => self.rest(),
            Some(length) => {
                let length =
                    length.parse().map_err(|_| invalid("the answer's length is no number"))?;
                self.take(length)
            }
        }
    }

    fn chunks(&mut self) -> io::Result<Vec<u8>> {
        let mut body = Vec::new();
        loop {
            let line = self.line()?;
            let size = line.split(';').next().unwrap_or_default().trim();
            let size = usize::from_str_radix(size, 16)
                .map_err(|_| invalid("a chunk size is no number"))?;
            if size == 0 {
                while !self.line()?.is_empty() {}
                return Ok(body);
            }
            if body.len() + size > BODY_BYTES_MAX {
                return Err(invalid("the answer's body is too long"));
            }
            body.extend(self.take(size)?);
            if !self.line()?.is_empty() {
                return Err(invalid("a chunk is longer than its size"));
            }
        }
    }

    fn take(&mut self, length: usize) -> io::Result<Vec<u8>> {
        if length > BODY_BYTES_MAX {
            return Err(invalid("the answer's body is too long"));
        }
        while self.buffer.len() < length {
            self.must_read()?;
        }
        Ok(self.buffer.drain(..length).collect())
    }

    fn line(&mut self) -> io::Result<String> {
        loop {
            if let Some(end) = self.buffer.windows(2).position(|pair| pair == b"\r\n") {
                let line = String::from_utf8_lossy(&self.buffer[..end]).into_owned();
                self.buffer.drain(..end + 2);
                return Ok(line);
            }
            if self.buffer.len() > HEAD_BYTES_MAX {
                return Err(invalid("a line of the answer is too long"));
            }
            self.must_read()?;
        }
    }

    fn must_read(&mut self) -> io::Result<()> {
        if self.more()? {
            return Ok(());
        }
        let so_far = String::from_utf8_lossy(&self.buffer);
        Err(io::Error::new(
            io::ErrorKind::UnexpectedEof,
            format!("the answer ended early: `{so_far}`"),
        ))
    }

    fn more(&mut self) -> io::Result<bool> {
        if self.buffer.len() > BODY_BYTES_MAX {
            return Err(invalid("the answer is too long"));
        }
        let mut piece = [0; 16 * 1024];
        let length = loop {
            match self.stream.read(&mut piece) {
                // A signal for this process, such as that a child has ended, is not the server's doing.
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                read => break read?,
            }
        };
        self.buffer.extend_from_slice(&piece[..length]);
        Ok(length > 0)
    }
}

fn put_header(head: &mut String, name: &str, value: &str) {
    for part in [name, ": ", value, "\r\n"] {
        head.push_str(part);
    }
}

fn invalid(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what.to_owned())
}
