//! Accepting connections and handing them to workers.
//!
//! In: bound listeners and the workers' inboxes. A connection goes to the worker with the fewest
//! open ones; equal workers take turns. A permit is taken before accepting and travels with the
//! connection, so that at the limit further connections wait in the kernel's backlog.

use std::{
    io,
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use tokio::{
    net::{TcpListener, TcpSocket},
    runtime::Runtime,
    sync::{Semaphore, mpsc, watch},
    task::LocalSet,
};

use super::{
    Event, EventSink, Phase,
    open::{OpenCount, OpenGuard},
};

/// Connections that the kernel holds until we accept them.
const BACKLOG: u32 = 1024;
/// The pause after a failure such as too many open files, so that the loop does not spin.
const FAILURE_PAUSE: Duration = Duration::from_millis(50);

/// An accepted connection on its way to a worker.
#[derive(Debug)]
pub(super) struct Accepted {
    /// The socket, registered with no runtime.
    pub(super) stream: std::net::TcpStream,
    /// The client.
    pub(super) peer: SocketAddr,
    /// Counts the connection as open while it lives.
    pub(super) guard: OpenGuard,
}

/// How the acceptor reaches a worker.
#[derive(Debug)]
pub(super) struct Inbox {
    /// The worker's queue.
    pub(super) sender: mpsc::Sender<Accepted>,
    /// Its open connections, queued ones included.
    pub(super) open: Arc<OpenCount>,
}

/// Binds all addresses.
pub(super) fn bind(addresses: &[SocketAddr]) -> io::Result<(Runtime, Vec<TcpListener>)> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let entered = runtime.enter();
    let listeners = addresses
        .iter()
        .map(|address| {
            let named = |error: io::Error| {
                // The words by which scripts of the original know a taken port (SRV-60).
                let taken = match error.kind() {
                    io::ErrorKind::AddrInUse => format!("port {} is taken: ", address.port()),
                    _ => String::new(),
                };
                let text = format!("{taken}cannot listen on {address}: {error}");
                io::Error::new(error.kind(), text)
            };
            listen(*address).map_err(named)
        })
        .collect::<Result<_, _>>()?;
    drop(entered);
    Ok((runtime, listeners))
}

fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
    // A restarted server can listen at once, although old connections linger.
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

/// Accepts until the server leaves its serving phase; then the inboxes close.
pub(super) fn run(
    runtime: &Runtime,
    listeners: Vec<TcpListener>,
    inboxes: Vec<Inbox>,
    slots: &Arc<Semaphore>,
    phase: &watch::Receiver<Phase>,
    events: &EventSink,
) {
    let inboxes = Arc::new(inboxes);
    let turn = Arc::new(AtomicUsize::new(0));
    let tasks = LocalSet::new();
    for listener in listeners {
        let (inboxes, turn) = (Arc::clone(&inboxes), Arc::clone(&turn));
        let (slots, events) = (Arc::clone(slots), Arc::clone(events));
        let mut phase = phase.clone();
        tasks.spawn_local(async move {
            tokio::select! {
                biased;
                _ = phase.wait_for(|phase| *phase != Phase::Serving) => {}
                () = accept(listener, &inboxes, &turn, &slots, &events) => {}
            }
        });
    }
    drop(inboxes);
    runtime.block_on(tasks);
}

async fn accept(
    listener: TcpListener,
    inboxes: &[Inbox],
    turn: &AtomicUsize,
    slots: &Arc<Semaphore>,
    events: &EventSink,
) {
    loop {
        let Ok(permit) = Arc::clone(slots).acquire_owned().await else { return };
        let accepted = listener.accept().await.and_then(|(stream, peer)| {
            stream.set_nodelay(true)?;
            Ok((stream.into_std()?, peer))
        });
        let (stream, peer) = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                // A client that went away before we accepted is no failure of ours.
                if error.kind() != io::ErrorKind::ConnectionAborted {
                    events(Event::AcceptFailed { message: error.to_string() });
                    tokio::time::sleep(FAILURE_PAUSE).await;
                }
                continue;
            }
        };
        let first = turn.fetch_add(1, Ordering::Relaxed);
        let least = (0..inboxes.len())
            .map(|step| &inboxes[(first + step) % inboxes.len()])
            .min_by_key(|inbox| inbox.open.get());
        let Some(inbox) = least else { return };
        let guard = OpenGuard::new(&inbox.open, permit);
        if inbox.sender.send(Accepted { stream, peer, guard }).await.is_err() {
            events(Event::AcceptFailed { message: "a worker has ended".to_owned() });
            tokio::time::sleep(FAILURE_PAUSE).await;
        }
    }
}
