//! The server over real sockets, with apps that need no engine. Tests wait on conditions; the only
//! times are upper bounds for them and the short timeouts that are being tested.

mod bodies;
mod clients;
mod connections;
mod http2;
mod requests;

use std::{
    io::{Read, Write},
    net::TcpStream,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Instant,
};

use bytes::Bytes;
use qlio_engine::heavy::Heavy;

use super::*;
use crate::http::{
    body::{self, BodyLimits},
    respond::{self, Rendition},
};

/// What a test waits for at most.
const PATIENCE: Duration = Duration::from_secs(20);

/// What the apps and the server reported.
#[derive(Clone, Default)]
struct Notes(Arc<Mutex<Vec<String>>>);

impl Notes {
    fn list(&self) -> MutexGuard<'_, Vec<String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, note: impl Into<String>) {
        self.list().push(note.into());
    }

    #[track_caller]
    fn wait_for(&self, part: &str) {
        let start = Instant::now();
        while !self.list().iter().any(|note| note.contains(part)) {
            assert!(start.elapsed() < PATIENCE, "{part} missing in {:?}", self.list());
            thread::yield_now();
        }
    }
}

/// Room for any body.
static ROOM: Quota = Quota::new(usize::MAX);

/// Answers by path: `/echo` the body, `/panic`, `/wait` until released, `/keep` the worker until then, `/switch`
/// another protocol, anything else its name.
struct Dummy {
    index: usize,
    notes: Notes,
    release: watch::Receiver<bool>,
}

/// Notes that a request's future was dropped before it was answered.
struct Dropped<'a>(&'a Notes);

impl Drop for Dropped<'_> {
    fn drop(&mut self) {
        self.0.add("dropped");
    }
}

impl App for Dummy {
    async fn answer(&self, request: Request) -> Response {
        assert!(request.peer.ip().is_loopback());
        let path = request.message.uri().path().to_owned();
        match path.as_str() {
            "/panic" => panic!("boom"),
            "/wait" => {
                let limits = BodyLimits::default();
                let _ = body::read(
                    request.message.into_body(),
                    None,
                    &limits,
                    &ROOM,
                    &Heavy::default(),
                )
                .await;
                self.notes.add("waiting");
                let dropped = Dropped(&self.notes);
                let _ = self.release.clone().wait_for(|is_released| *is_released).await;
                std::mem::forget(dropped);
                text("waited")
            }
            "/echo" => {
                let limits = BodyLimits { request_bytes_max: 10, ..BodyLimits::default() };
                match body::read(
                    request.message.into_body(),
                    None,
                    &limits,
                    &ROOM,
                    &Heavy::default(),
                )
                .await
                {
                    Ok((body, _)) => respond::plain(hyper::StatusCode::OK, "text/plain", body),
                    Err(failure) => respond::failure(&failure, Rendition::default()),
                }
            }
            "/keep" => {
                self.notes.add(format!("kept {}", self.index));
                while !*self.release.borrow() {
                    thread::yield_now();
                }
                text("kept")
            }
            "/worker" => text(&self.index.to_string()),
            "/large" => text(&"x".repeat(LARGE_BYTES)),
            "/switch" => {
                let mut response = respond::plain(
                    hyper::StatusCode::SWITCHING_PROTOCOLS,
                    "text/plain",
                    Bytes::new(),
                );
                let head = Arc::new(request.message.into_parts().0);
                response.extensions_mut().insert(Takeover { head });
                response
            }
            path => text(path),
        }
    }

    /// Says back what it hears.
    async fn hold(&self, held: Held) {
        let (mut reader, mut writer) = tokio::io::split(held.io);
        let _ = tokio::io::copy(&mut reader, &mut writer).await;
        self.notes.add(format!("left {}", held.head.uri.path()));
    }
}

/// More than a socket takes without its client reading.
const LARGE_BYTES: usize = 32 << 20;

fn text(text: &str) -> Response {
    respond::plain(hyper::StatusCode::OK, "text/plain", Bytes::copy_from_slice(text.as_bytes()))
}

struct Running {
    server: Option<Server>,
    notes: Notes,
    release: watch::Sender<bool>,
}

impl Running {
    fn start(limits: ServerLimits) -> Self {
        Self::start_with(limits, 1)
    }

    fn start_with(limits: ServerLimits, workers: usize) -> Self {
        Self::start_with_answers(limits, workers, usize::MAX)
    }

    /// With so many bytes of answers that may wait to be taken.
    fn start_with_answers(limits: ServerLimits, workers: usize, answers: usize) -> Self {
        let listen = Listen::plain(([127, 0, 0, 1], 0).into());
        Self::start_at(listen, limits, workers, answers)
    }

    fn start_at(listen: Listen, limits: ServerLimits, workers: usize, answers: usize) -> Self {
        let notes = Notes::default();
        let (release, released) = watch::channel(false);
        let listens = vec![listen];
        let answers = Arc::new(Quota::new(answers));
        let config = ServerConfig { listens, workers, limits, answers };
        let (events, app_notes) = (notes.clone(), notes.clone());
        let server = Server::start(
            &config,
            Arc::new(move |event| events.add(event.to_string())),
            move |context| {
                let (notes, release) = (app_notes.clone(), released.clone());
                Ok(Dummy { index: context.index, notes, release })
            },
        );
        Self { server: Some(server.expect("port 0 is free")), notes, release }
    }

    fn server(&self) -> &Server {
        self.server.as_ref().expect("not ended yet")
    }

    fn address(&self) -> SocketAddr {
        match self.server().listens()[0].address {
            Address::Tcp(address) => address,
            Address::Unix(..) => panic!("it listens on TCP"),
        }
    }

    fn connect(&self) -> Client {
        let stream = TcpStream::connect(self.address()).expect("is listening");
        stream.set_read_timeout(Some(PATIENCE)).expect("a valid timeout");
        Client { stream, buffer: Vec::new() }
    }

    /// Ends the server; the number of connections that were cut off.
    fn end(mut self) -> usize {
        self.server().stopper().drain();
        self.server.take().expect("not ended yet").join().expect("no thread panicked")
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(server) = self.server.take() {
            server.stopper().stop();
            let _ = server.join();
        }
    }
}

struct Client {
    stream: TcpStream,
    buffer: Vec<u8>,
}

impl Client {
    fn send(&mut self, text: &str) {
        self.stream.write_all(text.as_bytes()).expect("the server reads");
    }

    fn get(&mut self, path: &str) -> (String, String) {
        self.send(&format!("GET {path} HTTP/1.1\r\nhost: h\r\n\r\n"));
        self.receive()
    }

    /// Reads until the buffer holds `marker`; its end.
    fn read_until(&mut self, marker: &[u8]) -> usize {
        loop {
            let found = self.buffer.windows(marker.len()).position(|window| window == marker);
            if let Some(at) = found {
                return at + marker.len();
            }
            assert!(self.fill(), "closed after {:?}", String::from_utf8_lossy(&self.buffer));
        }
    }

    fn fill(&mut self) -> bool {
        let mut piece = [0; 4096];
        match self.stream.read(&mut piece) {
            Ok(0) => false,
            Ok(count) => {
                self.buffer.extend_from_slice(&piece[..count]);
                true
            }
            Err(error) if error.kind() == io::ErrorKind::ConnectionReset => false,
            Err(error) => panic!("nothing came: {error}"),
        }
    }

    fn head(&mut self) -> String {
        let end = self.read_until(b"\r\n\r\n");
        let rest = self.buffer.split_off(end);
        let head = std::mem::replace(&mut self.buffer, rest);
        String::from_utf8(head).expect("a head is text").to_lowercase()
    }

    /// One answer: its head in lower case, and its body.
    fn receive(&mut self) -> (String, String) {
        let head = self.head();
        let length = head
            .split("content-length: ")
            .nth(1)
            .and_then(|rest| rest.lines().next())
            .map_or(0, |length| length.parse().expect("a number"));
        while self.buffer.len() < length {
            assert!(self.fill(), "closed in a body");
        }
        let rest = self.buffer.split_off(length);
        let body = std::mem::replace(&mut self.buffer, rest);
        (head, String::from_utf8(body).expect("text"))
    }

    /// One answer behind those that only announce it.
    fn receive_final(&mut self) -> (String, String) {
        loop {
            let (head, body) = self.receive();
            if !head.starts_with("http/1.1 1") {
                return (head, body);
            }
        }
    }

    #[track_caller]
    fn expect_closed(&mut self) {
        while self.fill() {}
        assert_eq!(String::from_utf8_lossy(&self.buffer), "");
    }
}
