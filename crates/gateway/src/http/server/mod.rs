//! The HTTP server: listening sockets, worker threads, connections, an orderly end.
//!
//! ```text
//! acceptor thread ── fastest ────▶ worker 0: one-threaded runtime, App, its connections
//!   (all listeners)  ────────────▶ worker 1: …
//! ```
//!
//! In: a [`ServerConfig`] and a factory that makes one [`App`] per worker, on that worker's thread;
//! an app and its requests never leave it. Out: a [`Server`] handle with the bound addresses.
//!
//! **Sharing connections.** One thread accepts and hands each socket to the worker that turns fastest
//! ([`Pulse`]), of equal ones to the one with the fewest open connections. The alternative, a listening socket per worker (`SO_REUSEPORT`), lets the
//! kernel choose by a hash: with few long-lived connections, as between a load balancer and its
//! targets, a worker often gets none, and connections waiting in the queue of a socket that closes
//! are reset. Handing round costs one wake-up per connection, nothing per request; it gives one port
//! for `--port 0` and one place to stop accepting.
//!
//! **Promises.** A panic in one request is answered with 500 and touches nothing else. A client
//! that goes away drops its request's future and all that it started. Header size, header time, idle
//! time, connections, requests in flight and unread answers are bounded ([`ServerLimits`]). Shutting down answers
//! what has been asked, up to a deadline. A head that cannot be read is answered like any other
//! failure. This module knows no routes and no endpoints.

mod accept;
mod connection;
mod door;
mod http2;
mod idle;
mod listen;
mod open;
mod opened;
mod proxy_head;
mod pulse;
mod request_body;
mod response_head;
mod room;
mod socket;
mod timer;
mod unread;
mod view;
mod wire;
mod worker;

use std::{
    error::Error,
    fmt, io,
    net::SocketAddr,
    sync::{Arc, mpsc},
    thread,
    time::Duration,
};

use hyper::http::request::Parts;
use tokio::sync::watch;

pub(crate) use accept::open;
pub(crate) use door::Door;
pub(crate) use listen::{Address, Listen, ListenText, SOCKET_MODE, is_listen_text};
use open::OpenCount;
pub(crate) use opened::SocketFile;
pub(crate) use opened::{InheritedListener, OpenedListener};
pub(crate) use pulse::Pulse;
pub(crate) use request_body::RequestBody;
pub(crate) use socket::Upgraded;
pub(crate) use view::{ServerView, WorkerView};

use super::{incident::IncidentId, pace::Pace, quota::Quota, respond::Response};

/// What answers requests on one worker thread.
pub(crate) trait App: 'static {
    /// Answers one request.
    ///
    /// # Cancellation
    /// The future is dropped when the client goes away or the shutdown deadline passes.
    fn answer(&self, request: Request) -> impl Future<Output = Response>;

    /// Holds a connection that has left HTTP behind, until it returns. It happens after an answer
    /// 101 with a [`Takeover`] among its extensions.
    ///
    /// # Cancellation
    /// The future is dropped when the server stops or its shutdown deadline passes. Following the
    /// phase of the server is its own business.
    fn hold(&self, held: Held) -> impl Future<Output = ()> {
        async { drop(held) }
    }

    /// Finishes what goes on behind the answers, before the worker's runtime ends and cuts it off. By
    /// default there is nothing.
    ///
    /// # Cancellation
    /// The future is dropped when the server is told to stop at once.
    fn end(&self) -> impl Future<Output = ()> {
        async {}
    }
}

/// What has to be remembered of the request that leaves HTTP behind; an extension of the answer.
#[derive(Debug, Clone)]
pub(crate) struct Takeover {
    /// The head of the request.
    pub head: Arc<Parts>,
}

/// A connection that has left HTTP behind.
pub(crate) struct Held {
    /// The connection.
    pub io: Upgraded,
    /// The head of the request that it began with.
    pub head: Arc<Parts>,
    /// The client's end of the connection.
    pub peer: SocketAddr,
    /// Our end of the connection.
    pub local: SocketAddr,
    /// Nobody between the two ends can read along.
    pub is_tls: bool,
    /// Follows the phases of the server.
    pub phase: watch::Receiver<Phase>,
    /// Where events go.
    pub events: EventSink,
}

/// A request as it came, its body not yet read.
#[derive(Debug)]
pub(crate) struct Request {
    /// The message.
    pub message: hyper::Request<RequestBody>,
    /// The client's end of the connection.
    pub peer: SocketAddr,
    /// Our end of the connection.
    pub local: SocketAddr,
    /// Nobody between them can read along.
    pub is_tls: bool,
    /// Who the client is, if it has shown a certificate.
    pub identity: Option<Arc<str>>,
}

/// Bounds of the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ServerLimits {
    /// Bytes of a request head; default 64 KiB. More is answered with 431, or with 414 if that is the target
    /// alone.
    pub head_bytes_max: usize,
    /// Header lines of a request; default 100. More is answered with 431.
    pub headers_max: usize,
    /// How long a head may take from its first byte; default 30 s.
    pub head_timeout: Duration,
    /// How long a connection may be without a request; default 300 s.
    pub idle_timeout: Duration,
    /// How slowly a client may take its answer; default 30 s without taking any, 500 bytes a second on the whole.
    pub answer_pace: Pace,
    /// Open connections of the process; default 20,000. For further ones the one that has waited longest for a
    /// request is closed, or they are answered with 503.
    pub connections_max: usize,
    /// Requests in flight of one worker; default 10,000. More are answered with 503.
    pub in_flight_max: usize,
    /// Requests in flight of one connection of HTTP/2; default 100. Clients know it and keep further ones.
    pub streams_max: u32,
    /// How long shutting down waits for requests; default 30 s.
    pub drain_timeout: Duration,
}

impl Default for ServerLimits {
    fn default() -> Self {
        Self {
            head_bytes_max: 64 * 1024,
            headers_max: 100,
            head_timeout: Duration::from_secs(30),
            idle_timeout: Duration::from_mins(5),
            answer_pace: Pace { pause_max: Duration::from_secs(30), rate_min: 500 },
            connections_max: 20_000,
            in_flight_max: 10_000,
            streams_max: 100,
            drain_timeout: Duration::from_secs(30),
        }
    }
}

/// What to listen on, and with how many threads.
#[derive(Debug, Clone)]
pub(crate) struct ServerConfig {
    /// Every worker serves all of them.
    pub listens: Vec<Listen>,
    /// Worker threads; at least one is started.
    pub workers: usize,
    /// Bounds.
    pub limits: ServerLimits,
    /// Bytes of answers that their clients do not take.
    pub answers: Arc<Quota>,
}

/// Whether the server takes work; it goes from one to the next, and never back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Phase {
    /// Accepting and answering.
    Serving,
    /// Accepting and answering, because others may not know yet; answers carry `connection: close`.
    Leaving,
    /// Not accepting; answers carry `connection: close`.
    Draining,
    /// Whatever is still running is dropped.
    Stopped,
}

/// Something an operator may want to know.
#[derive(Debug)]
pub enum Event {
    /// A request panicked; it was answered with 500 and this id.
    Panicked {
        /// Also in the answer.
        incident: IncidentId,
        /// What the panic said.
        message: String,
        /// The request line.
        request: String,
    },
    /// Something that came up while a request was answered, such as a fault of ours.
    Noted {
        /// What came up.
        message: String,
    },
    /// An operator has had something done.
    Commanded {
        /// What.
        message: String,
    },
    /// Another catalog and other settings are served, or what is served is what the files say.
    Reloaded {
        /// What has changed, and why it was read.
        message: String,
    },
    /// The files were read and there is something wrong with them: what was served is served on.
    ReloadRefused {
        /// What is wrong.
        message: String,
    },
    /// A connection ended with an error: malformed request, reset, or gone in the middle.
    ConnectionFailed {
        /// The client.
        peer: SocketAddr,
        /// What happened.
        message: String,
    },
    /// A connection was closed because nothing happened on it.
    TimedOut {
        /// The client.
        peer: SocketAddr,
        /// A request head was not completed, rather than the connection being idle.
        is_in_head: bool,
    },
    /// Connections cannot be accepted, for want of room or of files.
    AcceptFailed {
        /// What happened.
        message: String,
    },
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Panicked { incident, message, request } => {
                write!(f, "incident {incident}: `{request}` panicked: {message}")
            }
            Self::Noted { message }
            | Self::Commanded { message }
            | Self::Reloaded { message }
            | Self::ReloadRefused { message } => f.write_str(message),
            Self::ConnectionFailed { peer, message } => {
                write!(f, "connection of {peer} failed: {message}")
            }
            Self::TimedOut { peer, is_in_head: true } => {
                write!(f, "Client socket timed out: {peer} did not complete its request head")
            }
            Self::TimedOut { peer, .. } => write!(f, "Client socket timed out: {peer}"),
            Self::AcceptFailed { message } => write!(f, "cannot accept connections: {message}"),
        }
    }
}

/// Where events go; called from all threads, must not block.
pub(crate) type EventSink = Arc<dyn Fn(Event) + Send + Sync>;

/// Why an app could not be made.
pub(crate) type FactoryError = Box<dyn Error + Send + Sync>;

/// What a factory may use to make the app of one worker.
#[derive(Debug, Clone)]
pub(crate) struct WorkerContext {
    /// Which worker, counted from 0.
    pub index: usize,
    /// Follows the phases of the server.
    pub phase: watch::Receiver<Phase>,
    /// How late the worker is.
    pub pulse: Arc<Pulse>,
}

/// A running server.
#[derive(Debug)]
pub(crate) struct Server {
    listens: Vec<Listen>,
    phase: watch::Sender<Phase>,
    /// Beside the phase, whose receivers say that somebody still serves.
    left: watch::Sender<bool>,
    pulses: Vec<Arc<Pulse>>,
    open: Vec<Arc<OpenCount>>,
    acceptor: thread::JoinHandle<()>,
    workers: Vec<thread::JoinHandle<usize>>,
}

impl Server {
    /// Binds all addresses, starts the workers and accepts once all of them are ready.
    ///
    /// # Errors
    /// An address cannot be bound, a thread cannot be started, or a factory fails; nothing stays
    /// behind.
    pub(crate) fn start<A, F>(
        config: &ServerConfig,
        events: EventSink,
        factory: F,
    ) -> io::Result<Self>
    where
        A: App,
        F: Fn(WorkerContext) -> Result<A, FactoryError> + Send + Sync + 'static,
    {
        let (runtime, listeners, listens) = accept::bind(&config.listens)?;
        let (phase, phase_seen) = watch::channel(Phase::Serving);
        let factory = Arc::new(factory);
        let mut workers = Vec::new();
        let mut inboxes = Vec::new();
        let mut pulses = Vec::new();
        let (ready, is_ready) = mpsc::channel();
        for index in 0..config.workers.max(1) {
            let pulse = Arc::new(Pulse::default());
            pulses.push(Arc::clone(&pulse));
            let context = WorkerContext { index, phase: phase_seen.clone(), pulse };
            let (inbox, handle) = worker::spawn(
                context,
                config.limits,
                Arc::clone(&config.answers),
                Arc::clone(&events),
                Arc::clone(&factory),
                ready.clone(),
            )?;
            inboxes.push(inbox);
            workers.push(handle);
        }
        drop(ready);
        for _ in 0..workers.len() {
            // On an error the inboxes are dropped, which ends the workers that did start.
            is_ready
                .recv()
                .map_err(|_| io::Error::other("a worker ended before it was ready"))?
                .map_err(io::Error::other)?;
        }
        let open = inboxes.iter().map(|inbox: &accept::Inbox| Arc::clone(&inbox.open)).collect();
        let connections_max = config.limits.connections_max;
        let acceptor = thread::Builder::new().name("accept".to_owned()).spawn(move || {
            accept::run(&runtime, listeners, inboxes, connections_max, &phase_seen, &events);
        })?;
        Ok(Self {
            listens,
            phase,
            left: watch::Sender::new(false),
            pulses,
            open,
            acceptor,
            workers,
        })
    }

    /// Where it listens, in the order of the configuration.
    pub(crate) fn listens(&self) -> &[Listen] {
        &self.listens
    }

    /// How late each worker is.
    pub(crate) fn lateness(&self) -> impl Iterator<Item = Duration> {
        self.pulses.iter().map(|pulse| pulse.lateness())
    }

    /// Shows how the server is doing, to whoever asks.
    pub(crate) fn view(&self) -> ServerView {
        let workers = self.pulses.iter().zip(&self.open);
        let workers = workers.map(|(pulse, open)| (Arc::clone(pulse), Arc::clone(open)));
        ServerView::new(workers.collect(), self.phase.clone(), self.left.clone())
    }

    /// A handle that ends the server from elsewhere, such as a signal handler.
    pub(crate) fn stopper(&self) -> Stopper {
        Stopper { phase: self.phase.clone(), left: self.left.clone() }
    }

    /// Ready once somebody has asked the server to leave or to drain.
    pub(crate) async fn left(&self) {
        // It is there for as long as the server is.
        let _ = self.left.subscribe().wait_for(|left| *left).await;
    }

    /// Ready when nobody serves any more, whether it was asked to end or not.
    pub(crate) async fn ended(&self) {
        // Every thread follows the phases for as long as it works.
        self.phase.closed().await;
    }

    /// Waits until the server has ended. Answers how many connections were cut off because the
    /// shutdown deadline passed, or because they were told to stop at once.
    ///
    /// # Errors
    /// A thread of the server panicked outside any request, which is a bug.
    pub(crate) fn join(self) -> io::Result<usize> {
        let mut aborted = 0;
        let mut is_sound = self.acceptor.join().is_ok();
        for worker in self.workers {
            match worker.join() {
                Ok(count) => aborted += count,
                Err(_) => is_sound = false,
            }
        }
        if is_sound {
            Ok(aborted)
        } else {
            Err(io::Error::other("a thread of the server panicked"))
        }
    }
}

/// Ends a server.
#[derive(Debug, Clone)]
pub(crate) struct Stopper {
    phase: watch::Sender<Phase>,
    left: watch::Sender<bool>,
}

impl Stopper {
    /// Asks to be sent nothing more; goes on accepting and answering.
    pub(crate) fn leave(&self) {
        self.advance(Phase::Leaving);
    }

    /// Stops accepting, and ends once everything asked is answered or the deadline has passed.
    pub(crate) fn drain(&self) {
        self.advance(Phase::Draining);
    }

    fn advance(&self, next: Phase) {
        self.phase.send_if_modified(|phase| {
            let is_before = *phase < next;
            if is_before {
                *phase = next;
            }
            is_before
        });
        self.left.send_replace(true);
    }

    /// Stops at once, dropping whatever runs.
    pub(crate) fn stop(&self) {
        self.phase.send_replace(Phase::Stopped);
    }
}

#[cfg(test)]
mod tests;
