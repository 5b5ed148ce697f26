//! A scripted upstream: an HTTP server on a free loopback port that answers what it was told, counts
//! who asked what, and can go wrong in every way a network does.
//!
//! In go [`Expectation`]s, out come answers and a [`Ledger`] of everything received. It runs on a
//! thread of its own, so that plain tests and asynchronous ones use it alike; dropping the handle
//! closes every connection and ends the thread.
//!
//! Written on bare sockets rather than on an HTTP library: a server that keeps the rules can not
//! send a truncated body, a wrong length, or no HTTP at all. HTTP/2, for gRPC, is left to a library.
//!
//! # Limits
//! A request head of 256 KiB, a request body of 64 MiB, 256 headers.

mod answer;
mod body;
mod connection;
mod expectation;
mod http2;
mod ledger;

use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use tokio::net::TcpListener;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

pub use expectation::{Calls, Expectation, Fault, Respond};
pub use ledger::{Ledger, Received};

/// A running scripted upstream.
#[derive(Debug)]
pub struct Upstream {
    address: SocketAddr,
    base: String,
    shared: Arc<Shared>,
    orders: Option<UnboundedSender<Order>>,
    thread: Option<JoinHandle<()>>,
}

/// The ledger with a bell that rings at each change.
#[derive(Debug, Default)]
struct Shared {
    ledger: Mutex<Ledger>,
    changed: Condvar,
}

/// What the handle tells the server's thread; closing the channel ends it.
#[derive(Debug)]
enum Order {
    /// Accept what is waiting, then say so.
    Drain(std::sync::mpsc::Sender<()>),
}

impl Shared {
    fn ledger(&self) -> MutexGuard<'_, Ledger> {
        // A test that panicked while looking leaves the numbers as they were.
        self.ledger.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn update<T>(&self, change: impl FnOnce(&mut Ledger) -> T) -> T {
        let result = change(&mut self.ledger());
        self.changed.notify_all();
        result
    }
}

impl Upstream {
    /// Starts an upstream that expects nothing yet.
    ///
    /// # Errors
    /// If no socket or thread can be had.
    pub fn start() -> io::Result<Self> {
        let listener = std::net::TcpListener::bind(("127.0.0.1", 0))?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let shared = Arc::new(Shared::default());
        let (orders, inbox) = unbounded_channel();
        let of_thread = Arc::clone(&shared);
        let thread = thread::Builder::new().name("upstream".to_owned()).spawn(move || {
            // Leaving the block drops the runtime and with it every open connection.
            runtime.block_on(accept(listener, inbox, &of_thread));
        })?;
        let base = format!("http://{address}");
        Ok(Self { address, base, shared, orders: Some(orders), thread: Some(thread) })
    }

    /// Starts an upstream with these expectations.
    ///
    /// # Errors
    /// If no socket or thread can be had.
    pub fn with(expectations: impl IntoIterator<Item = Expectation>) -> io::Result<Self> {
        let upstream = Self::start()?;
        upstream.expect(expectations);
        Ok(upstream)
    }

    /// Adds expectations.
    pub fn expect(&self, expectations: impl IntoIterator<Item = Expectation>) {
        self.shared.update(|ledger| expectations.into_iter().for_each(|one| ledger.expect(one)));
    }

    /// The base address, such as `http://127.0.0.1:4711`.
    pub fn base(&self) -> &str {
        &self.base
    }

    /// The bound address.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Looks at everything received so far.
    pub fn look<T>(&self, read: impl FnOnce(&Ledger) -> T) -> T {
        read(&self.shared.ledger())
    }

    /// All requests in the order of their arrival.
    pub fn requests(&self) -> Vec<Received> {
        self.look(|ledger| ledger.requests().to_vec())
    }

    /// Waits until the condition holds; false if it does not within the patience.
    pub fn wait_until(&self, patience: Duration, condition: impl Fn(&Ledger) -> bool) -> bool {
        let deadline = Instant::now() + patience;
        let mut ledger = self.shared.ledger();
        loop {
            if condition(&ledger) {
                return true;
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            let woken = self.shared.changed.wait_timeout(ledger, left);
            ledger = woken.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Takes in whatever is on its way, then waits until the other sides have closed their
    /// connections, but not longer than the patience. Afterwards the counts are final if the
    /// caller has ended.
    pub fn settle(&self, patience: Duration) -> bool {
        let (done, drained) = std::sync::mpsc::channel();
        let sent =
            self.orders.as_ref().is_some_and(|orders| orders.send(Order::Drain(done)).is_ok());
        sent && drained.recv_timeout(patience).is_ok()
            && self.wait_until(patience, |ledger| ledger.connections_open() == 0)
    }

    /// Compares what came with what was expected.
    ///
    /// # Errors
    /// Every difference, one per line.
    pub fn verify(&self) -> Result<(), String> {
        let problems = self.look(Ledger::problems);
        if problems.is_empty() { Ok(()) } else { Err(problems.join("\n")) }
    }
}

impl Drop for Upstream {
    fn drop(&mut self) {
        self.orders = None;
        if let Some(thread) = self.thread.take() {
            // A panic of the server shows in the test's output; a second one here would abort.
            let _ended = thread.join();
        }
    }
}

async fn accept(
    listener: std::net::TcpListener,
    mut inbox: UnboundedReceiver<Order>,
    shared: &Arc<Shared>,
) {
    let listener = match TcpListener::from_std(listener) {
        Ok(listener) => listener,
        Err(error) => {
            return shared.update(|ledger| ledger.reject(format!("no listener: {error}")));
        }
    };
    let mut drained: Option<std::sync::mpsc::Sender<()>> = None;
    loop {
        // Waiting makes the runtime look at the sockets, so that accepting nothing afterwards
        // means that nothing was waiting.
        let idle = tokio::time::sleep(Duration::from_millis(1));
        tokio::select! {
            biased;
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => connection::spawn(stream, Arc::clone(shared)),
                Err(error) => shared.update(|ledger| ledger.reject(format!("no connection: {error}"))),
            },
            () = idle, if drained.is_some() => {
                if let Some(done) = drained.take() {
                    let _waiting = done.send(());
                }
            }
            order = inbox.recv(), if drained.is_none() => match order {
                Some(Order::Drain(done)) => drained = Some(done),
                None => return,
            },
        }
    }
}
