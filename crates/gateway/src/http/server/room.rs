//! What happens to connections that there is no room for.
//!
//! The connection that has waited longest for a request is closed to make room. If none waits, the client hears 503
//! instead of silence. Both are bounded: how long a worker is waited for, how many clients are told at the same
//! time and how long, and how often it is logged.

use std::{
    cell::Cell,
    cmp::Reverse,
    io::Write,
    rc::Rc,
    sync::Arc,
    time::{Duration, Instant},
};

use hyper::Version;
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, copy, sink},
    net::TcpSocket,
    sync::{OwnedSemaphorePermit, Semaphore, oneshot},
    time::timeout,
};

use super::{
    Event, EventSink,
    accept::{Handed, Inbox},
    connection::split_body,
    door::Door,
    listen::{Incoming, Listener},
    response_head::{self, DateClock, Next},
};
use crate::http::{
    failure::Failure,
    respond::{self, Rendition},
};

/// How long one worker is waited for to close a connection. One that is slower than this is no help.
const ASK_TIMEOUT: Duration = Duration::from_millis(20);
/// How long a connection that is being closed may take until its place is free.
const CLOSE_TIMEOUT: Duration = Duration::from_millis(100);
/// Clients that are told no at the same time and may still send what they wanted; others may miss the reason.
const REFUSALS_MAX: usize = 64;
/// How long such a client is listened to, so that it gets to read the reason.
const REFUSAL_TIMEOUT: Duration = Duration::from_secs(1);
/// Bytes of such a client that are read and dropped.
const REFUSAL_BYTES_MAX: u64 = 64 << 10;
/// How often at most it is logged that there is no room.
const TELL_EVERY: Duration = Duration::from_secs(10);

/// Has a worker close the connection that has waited longest for a request; false if none waits. Asked first is
/// who turns fastest and has the most.
pub(super) async fn make_room(inboxes: &[Inbox]) -> bool {
    let mut order: Vec<&Inbox> = inboxes.iter().filter(|inbox| inbox.open.get() > 0).collect();
    order.sort_by_cached_key(|inbox| (inbox.pulse.step(), Reverse(inbox.open.get())));
    for inbox in order {
        let (reply, answer) = oneshot::channel();
        if inbox.sender.try_send(Handed::Room(reply)).is_ok()
            && matches!(timeout(ASK_TIMEOUT, answer).await, Ok(Ok(true)))
        {
            return true;
        }
    }
    false
}

/// The place that has been made.
pub(super) async fn wait_for_room(slots: &Arc<Semaphore>) -> Option<OwnedSemaphorePermit> {
    let permit = timeout(CLOSE_TIMEOUT, Arc::clone(slots).acquire_owned()).await;
    permit.ok()?.ok()
}

/// A file that is open for nothing, so that there is one left to tell a client why there are none.
#[derive(Debug)]
pub(super) struct Spare(Option<TcpSocket>);

impl Spare {
    pub(super) fn new() -> Self {
        Self(TcpSocket::new_v4().ok())
    }

    /// A client that would have to wait otherwise.
    pub(super) async fn accept(&mut self, listener: &Listener) -> Option<Incoming> {
        drop(self.0.take()?);
        let accepted = timeout(ASK_TIMEOUT, listener.accept()).await;
        let incoming = accepted.ok()?.ok();
        if incoming.is_none() {
            *self = Self::new();
        }
        incoming
    }

    /// Whether there is one, now that others may have been closed.
    pub(super) fn renew(&mut self) {
        if self.0.is_none() {
            *self = Self::new();
        }
    }
}

/// Tells clients that there is no room for them.
pub(super) struct Refusals {
    connections_max: usize,
    events: EventSink,
    date: DateClock,
    under_way: Rc<Cell<usize>>,
    told_at: Cell<Option<Instant>>,
}

impl Refusals {
    pub(super) fn new(connections_max: usize, events: EventSink) -> Self {
        let (under_way, told_at) = (Rc::default(), Cell::new(None));
        Self { connections_max, events, date: DateClock::new(), under_way, told_at }
    }

    /// Refuses a connection beyond the limit.
    pub(super) fn refuse_for_connections(&self, incoming: Incoming, door: &Door) {
        let most = self.connections_max;
        let reason = format!("all {most} connections that there may be are in use");
        self.refuse(incoming, door, &reason);
    }

    /// Refuses a connection for this reason, which is for the log.
    pub(super) fn refuse(&self, incoming: Incoming, door: &Door, reason: &str) {
        if door.tls.is_some() {
            // What could be said would have to be encrypted, which costs more than there is room for.
            return self.tell(&format!("{reason}; connections with TLS are closed"));
        }
        self.tell(&format!("{reason}; clients hear 503"));
        let failure =
            Failure::Overloaded { reason: "the server has no room for a connection more" };
        let (response, body) = split_body(respond::failure(&failure, Rendition::default()));
        let date = self.date.at(tokio::time::Instant::now());
        let mut answer =
            response_head::write(&response, Version::HTTP_11, Next::Close, body.len(), date);
        answer.extend_from_slice(&body);
        if self.under_way.get() >= REFUSALS_MAX {
            // Short as it is, a new socket takes it at once; whether the client reads it is not waited for.
            let _ = match incoming {
                Incoming::Tcp(stream, _) => {
                    stream.into_std().and_then(|mut stream| stream.write_all(&answer))
                }
                Incoming::Unix(stream) => {
                    stream.into_std().and_then(|mut stream| stream.write_all(&answer))
                }
            };
            return;
        }
        self.under_way.set(self.under_way.get() + 1);
        let under_way = Rc::clone(&self.under_way);
        tokio::task::spawn_local(async move {
            // Whether it is heard, breaks or takes too long: then the connection is closed.
            let _ = match incoming {
                Incoming::Tcp(stream, _) => {
                    timeout(REFUSAL_TIMEOUT, tell_client(stream, &answer)).await
                }
                Incoming::Unix(stream) => {
                    timeout(REFUSAL_TIMEOUT, tell_client(stream, &answer)).await
                }
            };
            under_way.set(under_way.get() - 1);
        });
    }

    /// Logs it, if it was not logged lately.
    pub(super) fn tell(&self, message: &str) {
        if self.told_at.get().is_none_or(|then| then.elapsed() >= TELL_EVERY) {
            self.told_at.set(Some(Instant::now()));
            (self.events)(Event::AcceptFailed { message: message.to_owned() });
        }
    }
}

/// Says it, and reads what the client still sends: closing before would throw the answer away.
async fn tell_client(
    mut stream: impl AsyncRead + AsyncWrite + Unpin,
    answer: &[u8],
) -> std::io::Result<()> {
    stream.write_all(answer).await?;
    stream.shutdown().await?;
    copy(&mut stream.take(REFUSAL_BYTES_MAX), &mut sink()).await?;
    Ok(())
}
