//! A scripted upstream: for every request a function says what to do on the socket.

use std::{
    net::SocketAddr,
    sync::{Arc, Mutex},
};

use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::{Notify, watch},
    task::JoinHandle,
};

/// What to do on the connection after a request.
#[derive(Clone)]
pub(crate) enum Step {
    /// Send these bytes.
    Send(Vec<u8>),
    /// Wait for a signal.
    Wait(Arc<Notify>),
    /// Wait until the client goes away.
    Hang,
    /// Close in good order.
    Close,
    /// Close with a reset.
    Reset,
}

/// A request as it arrived.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    /// Which connection, counted from 0.
    pub(crate) connection: usize,
    /// Which request on that connection, counted from 0.
    pub(crate) nth: usize,
    /// Request line and headers, names in lower case.
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
}

impl Seen {
    /// Method and target.
    pub(crate) fn line(&self) -> &str {
        self.head.lines().next().and_then(|line| line.strip_suffix(" HTTP/1.1")).unwrap_or_default()
    }

    pub(crate) fn path(&self) -> &str {
        self.line().split_once(' ').map_or("", |(_, path)| path)
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.head
            .lines()
            .skip(1)
            .filter_map(|line| line.split_once(": "))
            .find_map(|(key, value)| (key == name).then_some(value))
    }
}

/// What has happened so far.
#[derive(Clone, Debug, Default)]
pub(crate) struct Log {
    pub(crate) connections: usize,
    pub(crate) closed: usize,
    pub(crate) requests: Vec<Seen>,
}

type Script = dyn Fn(&Seen) -> Vec<Step> + Send + Sync;

pub(crate) struct Upstream {
    pub(crate) address: SocketAddr,
    log: watch::Receiver<Log>,
    task: JoinHandle<()>,
}

impl Drop for Upstream {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Upstream {
    pub(crate) async fn start(script: impl Fn(&Seen) -> Vec<Step> + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("an address");
        let (sender, log) = watch::channel(Log::default());
        let script: Arc<Script> = Arc::new(script);
        let task = tokio::spawn(accept(listener, script, sender));
        Self { address, log, task }
    }

    pub(crate) fn uri(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    pub(crate) fn log(&self) -> Log {
        self.log.borrow().clone()
    }

    /// Waits until the log fulfils a condition.
    pub(crate) async fn until(&self, condition: impl Fn(&Log) -> bool) -> Log {
        self.log.clone().wait_for(|log| condition(log)).await.expect("the upstream lives").clone()
    }
}

async fn accept(listener: TcpListener, script: Arc<Script>, log: watch::Sender<Log>) {
    let log = Arc::new(log);
    let tasks = Mutex::new(tokio::task::JoinSet::new());
    while let Ok((stream, _)) = listener.accept().await {
        let mut number = 0;
        log.send_modify(|log| {
            number = log.connections;
            log.connections += 1;
        });
        let (script, log) = (Arc::clone(&script), Arc::clone(&log));
        tasks.lock().expect("not poisoned").spawn(async move {
            serve(stream, number, &*script, &log).await;
            log.send_modify(|log| log.closed += 1);
        });
    }
}

async fn serve(
    mut stream: TcpStream,
    connection: usize,
    script: &Script,
    log: &watch::Sender<Log>,
) {
    let mut nth = 0;
    while let Some(seen) = read_request(&mut stream, connection, nth).await {
        nth += 1;
        log.send_modify(|log| log.requests.push(seen.clone()));
        for step in script(&seen) {
            match step {
                Step::Send(bytes) => {
                    if stream.write_all(&bytes).await.is_err() {
                        return;
                    }
                }
                Step::Wait(signal) => signal.notified().await,
                Step::Hang => {
                    let mut ignored = [0; 1024];
                    while stream.read(&mut ignored).await.is_ok_and(|size| size > 0) {}
                    return;
                }
                Step::Close => {
                    stream.shutdown().await.ok();
                    return;
                }
                Step::Reset => {
                    stream.set_zero_linger().expect("linger");
                    return;
                }
            }
        }
    }
}

/// Reads a request with its body; `None` when the client has gone.
pub(crate) async fn read_request(
    stream: &mut (impl AsyncRead + AsyncWrite + Unpin),
    connection: usize,
    nth: usize,
) -> Option<Seen> {
    let mut bytes = Vec::new();
    let end = loop {
        if let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            break end + 4;
        }
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    };
    let head = String::from_utf8(bytes[..end].to_vec()).expect("a text head");
    let mut seen = Seen { connection, nth, head, body: bytes.split_off(end) };
    let length = seen.header("content-length").map_or(0, |text| text.parse().expect("a length"));
    while seen.body.len() < length {
        if stream.read_buf(&mut seen.body).await.ok()? == 0 {
            return None;
        }
    }
    Some(seen)
}

/// A complete response with a status, header lines and a body.
pub(crate) fn response(status: u16, headers: &[&str], body: impl AsRef<[u8]>) -> Vec<u8> {
    let body = body.as_ref();
    let mut bytes =
        format!("HTTP/1.1 {status} X\r\ncontent-length: {}\r\n", body.len()).into_bytes();
    for header in headers {
        bytes.extend_from_slice(header.as_bytes());
        bytes.extend_from_slice(b"\r\n");
    }
    bytes.extend_from_slice(b"\r\n");
    bytes.extend_from_slice(body);
    bytes
}

/// A plain 200.
pub(crate) fn ok(body: impl AsRef<[u8]>) -> Vec<Step> {
    vec![Step::Send(response(200, &[], body))]
}

/// Bytes as they are, then a close in good order.
pub(crate) fn raw(bytes: impl Into<Vec<u8>>) -> Vec<Step> {
    vec![Step::Send(bytes.into()), Step::Close]
}

/// A redirect.
pub(crate) fn redirect(status: u16, location: &str) -> Vec<Step> {
    vec![Step::Send(response(status, &[&format!("location: {location}")], "moved"))]
}
