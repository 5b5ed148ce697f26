//! Accepting connections and handing them to workers.
//!
//! In: bound listeners and the workers' inboxes. A connection goes to the worker that turns fastest; of those that
//! are as fast, to the one with the fewest open ones; equal workers take turns. Whoever comes when there is no room
//! is the business of [`super::room`].

use std::{
    cell::Cell,
    io,
    net::{Ipv4Addr, SocketAddr},
    os::unix::net::UnixStream as StdUnixStream,
    rc::Rc,
    sync::Arc,
    time::Duration,
};

use rustix::io::Errno;
use tokio::{
    runtime::Runtime,
    sync::{Semaphore, mpsc, oneshot, watch},
    task::LocalSet,
};

use super::{
    Event, EventSink, Phase,
    door::Door,
    listen::{BACKLOG, Incoming, Listen, Listener},
    open::{OpenCount, OpenGuard},
    opened::OpenedListener,
    pulse::Pulse,
    room::{Refusals, Spare, make_room, wait_for_room},
};

/// The first pause after a failure such as too many open files, so that the loop does not spin; it doubles.
const FAILURE_PAUSE: Duration = Duration::from_millis(50);
/// The longest of these pauses.
const FAILURE_PAUSE_MAX: Duration = Duration::from_secs(1);

/// How long nobody may have connected until the listener is closed.
const REST_PAUSE: Duration = Duration::from_millis(5);
/// Who connects over a unix socket.
const THIS_MACHINE: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 0);

/// An accepted connection on its way to a worker.
#[derive(Debug)]
pub(super) struct Accepted {
    pub(super) stream: Stream,
    /// The client.
    pub(super) peer: SocketAddr,
    /// What it goes through.
    pub(super) door: Arc<Door>,
    /// Counts the connection as open while it lives.
    pub(super) guard: OpenGuard,
}

/// A socket, registered with no runtime.
#[derive(Debug)]
pub(super) enum Stream {
    Tcp(std::net::TcpStream),
    Unix(StdUnixStream),
}

/// What a worker is handed.
#[derive(Debug)]
pub(super) enum Handed {
    Connection(Accepted),
    /// It shall close the connection that has waited longest for a request, and say whether there was one.
    Room(oneshot::Sender<bool>),
}

/// How the acceptor reaches a worker.
#[derive(Debug)]
pub(super) struct Inbox {
    /// The worker's queue.
    pub(super) sender: mpsc::Sender<Handed>,
    /// Its open connections, queued ones included.
    pub(super) open: Arc<OpenCount>,
    /// How late it is.
    pub(super) pulse: Arc<Pulse>,
}

/// Opens listeners for a server that somebody else starts, beside where they are.
///
/// # Errors
/// A place cannot be listened at.
pub(crate) fn open(listens: &[Listen]) -> io::Result<Vec<(Listen, OpenedListener)>> {
    let (runtime, listeners, bound) = bind(listens)?;
    let _entered = runtime.enter();
    let open = |(listener, listen): (Listener, Listen)| Ok((listen, listener.into_opened()?));
    listeners.into_iter().zip(bound).map(open).collect()
}

/// Binds everything; what was bound says with which ports.
pub(super) fn bind(listens: &[Listen]) -> io::Result<(Runtime, Vec<Listener>, Vec<Listen>)> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let entered = runtime.enter();
    let listeners: Vec<Listener> = listens.iter().map(Listener::bind).collect::<Result<_, _>>()?;
    let bound = listeners.iter().zip(listens).map(|(listener, asked)| listener.listen(asked));
    let bound = bound.collect::<Result<_, _>>()?;
    drop(entered);
    Ok((runtime, listeners, bound))
}

/// Accepts until the server drains, and whoever has connected by then; then the inboxes close.
pub(super) fn run(
    runtime: &Runtime,
    listeners: Vec<Listener>,
    inboxes: Vec<Inbox>,
    connections_max: usize,
    phase: &watch::Receiver<Phase>,
    events: &EventSink,
) {
    let connections_max = connections_max.clamp(1, Semaphore::MAX_PERMITS);
    let entrance = Rc::new(Entrance {
        inboxes,
        turn: Cell::new(0),
        slots: Arc::new(Semaphore::new(connections_max)),
        refusals: Refusals::new(connections_max, Arc::clone(events)),
        events: Arc::clone(events),
    });
    let tasks = LocalSet::new();
    for listener in listeners {
        let entrance = Rc::clone(&entrance);
        let mut phase = phase.clone();
        tasks.spawn_local(async move {
            tokio::select! {
                biased;
                _ = phase.wait_for(|phase| *phase >= Phase::Draining) => {}
                () = entrance.accept(&listener) => {}
            }
            if *phase.borrow() < Phase::Stopped {
                entrance.accept_rest(&listener).await;
            }
        });
    }
    drop(entrance);
    runtime.block_on(tasks);
}

/// What all listeners share.
struct Entrance {
    inboxes: Vec<Inbox>,
    turn: Cell<usize>,
    /// One for each connection that may be open.
    slots: Arc<Semaphore>,
    refusals: Refusals,
    events: EventSink,
}

impl Entrance {
    async fn accept(&self, listener: &Listener) {
        let mut spare = Spare::new();
        let mut pause = FAILURE_PAUSE;
        loop {
            spare.renew();
            match listener.accept().await {
                Ok(incoming) => {
                    pause = FAILURE_PAUSE;
                    self.admit(incoming, &listener.door).await;
                    continue;
                }
                // A client that went away before we accepted is no failure of ours.
                Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => continue,
                Err(error) => match files_exhausted(&error) {
                    None => {
                        (self.events)(Event::AcceptFailed { message: error.to_string() });
                    }
                    Some(words) if make_room(&self.inboxes).await => {
                        self.refusals
                            .tell(&format!("{words}; an idle connection was closed for it"));
                    }
                    Some(words) => match spare.accept(listener).await {
                        Some(incoming) => self.refusals.refuse(incoming, &listener.door, words),
                        None => self.refusals.tell(words),
                    },
                },
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(FAILURE_PAUSE_MAX);
        }
    }

    /// Takes the connections that wait: the system would reset them when the listener goes.
    async fn accept_rest(&self, listener: &Listener) {
        for _ in 0..BACKLOG {
            let waiting = tokio::time::timeout(REST_PAUSE, listener.accept()).await;
            let Ok(Ok(incoming)) = waiting else { return };
            self.admit(incoming, &listener.door).await;
        }
    }

    /// Hands a connection to a worker, or refuses it.
    async fn admit(&self, incoming: Incoming, door: &Arc<Door>) {
        let permit = match Arc::clone(&self.slots).try_acquire_owned() {
            Ok(permit) => Some(permit),
            Err(_) if make_room(&self.inboxes).await => wait_for_room(&self.slots).await,
            Err(_) => None,
        };
        let Some(permit) = permit else {
            return self.refusals.refuse_for_connections(incoming, door);
        };
        let first = self.turn.replace(self.turn.get().wrapping_add(1));
        let Some(inbox) = choose(&self.inboxes, first) else {
            return self.refusals.refuse(incoming, door, "no worker takes connections");
        };
        let (ready, peer) = match incoming {
            Incoming::Tcp(stream, peer) => {
                let ready = stream.set_nodelay(true).and_then(|()| stream.into_std());
                (ready.map(Stream::Tcp), peer)
            }
            // Who is at the other end of it is on this machine.
            Incoming::Unix(stream) => (stream.into_std().map(Stream::Unix), THIS_MACHINE),
        };
        let stream = match ready {
            Ok(stream) => stream,
            Err(error) => {
                return (self.events)(Event::ConnectionFailed { peer, message: error.to_string() });
            }
        };
        let guard = OpenGuard::new(&inbox.open, permit);
        let accepted = Accepted { stream, peer, door: Arc::clone(door), guard };
        if inbox.sender.try_send(Handed::Connection(accepted)).is_err() {
            (self.events)(Event::AcceptFailed { message: "a worker has ended".to_owned() });
        }
    }
}

/// The worker that turns fastest, beginning with this one; `None` if the inboxes of all are full.
fn choose(inboxes: &[Inbox], first: usize) -> Option<&Inbox> {
    (0..inboxes.len())
        .map(|step| &inboxes[first.wrapping_add(step) % inboxes.len()])
        .filter(|inbox| inbox.sender.capacity() > 0)
        .min_by_key(|inbox| (inbox.pulse.step(), inbox.open.get()))
}

/// The reason in words, if a connection could not be accepted for want of files.
fn files_exhausted(error: &io::Error) -> Option<&'static str> {
    match Errno::from_io_error(error)? {
        Errno::MFILE => Some("too many open files in this process (`ulimit -n`)"),
        Errno::NFILE => Some("too many open files on this machine"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn inbox(room: usize) -> (Inbox, mpsc::Receiver<Handed>) {
        let (sender, receiver) = mpsc::channel(room);
        let (open, pulse) = (Arc::default(), Arc::default());
        (Inbox { sender, open, pulse }, receiver)
    }

    #[test]
    fn a_connection_goes_to_the_worker_that_turns_fastest() {
        let (inboxes, receivers): (Vec<_>, Vec<_>) = (0..3).map(|_| inbox(1)).unzip();
        let chosen = |first| {
            let chosen = choose(&inboxes, first).expect("there is room");
            inboxes.iter().position(|inbox| std::ptr::eq(inbox, chosen)).expect("one of them")
        };
        assert_eq!([0, 1, 2, usize::MAX].map(chosen), [0, 1, 2, 0], "equal ones take turns");
        // The tick of the first is overdue until somebody ticks, which nobody does here.
        inboxes[0].pulse.touch();
        while inboxes[0].pulse.step() == 0 {
            std::hint::spin_loop();
        }
        assert_eq!([0, 1, 2].map(chosen), [1, 1, 2]);
        let (full, _) = oneshot::channel();
        inboxes[1].sender.try_send(Handed::Room(full)).expect("there is room");
        assert_eq!([0, 1, 2].map(chosen), [2, 2, 2]);
        drop(receivers);
    }

    #[test]
    fn want_of_files_is_told_in_words() {
        let words = |errno| files_exhausted(&io::Error::from(errno));
        assert!(words(Errno::MFILE).is_some_and(|words| words.starts_with("too many open files")));
        assert!(words(Errno::NFILE).is_some_and(|words| words.starts_with("too many open files")));
        assert_eq!(words(Errno::CONNRESET), None);
    }
}
