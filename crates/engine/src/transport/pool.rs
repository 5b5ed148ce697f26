//! The pool: idle HTTP/1.1 connections, shared HTTP/2 connections, and who may use how many.
//!
//! One pool per transport, so its locks are never contended; they are there to let exchanges move between
//! threads if a runtime wants that. A sweeper task closes connections that idle too long or that the other
//! side has closed; it lives only while there is something to sweep and ends with the pool.

use std::{
    collections::HashMap,
    net::IpAddr,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, Weak,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use foldhash::fast::RandomState;
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore, SemaphorePermit},
    task::AbortHandle,
    time::{Instant, sleep},
};

use super::{
    connection::Connection,
    error::{ErrorKind, Fault},
    http1, http2,
    view::Connections,
};

/// The sweeper comes round four times per idle time, but within these bounds.
const SWEEP_EVERY_MIN: Duration = Duration::from_millis(50);
const SWEEP_EVERY_MAX: Duration = Duration::from_secs(1);

/// All connections of a transport.
pub(super) struct Pool {
    state: Arc<Mutex<State>>,
    idle_max: Duration,
    permits_max: usize,
    queue_max: usize,
}

#[derive(Default)]
struct State {
    origins: HashMap<Box<str>, Arc<Origin>, RandomState>,
    sweeper: Option<AbortHandle>,
}

/// The connections to one origin, direct or by way of one proxy.
pub(super) struct Origin {
    permits: Arc<Semaphore>,
    waiting: AtomicUsize,
    /// Held while the first handshake finds out which protocol the origin speaks, so that a burst of
    /// exchanges shares one HTTP/2 connection instead of opening one each.
    first_handshake: Semaphore,
    slots: Mutex<Slots>,
}

#[derive(Default)]
struct Slots {
    idle: Vec<Idle>,
    shared: Option<Shared>,
    is_protocol_known: bool,
}

impl Slots {
    fn share(
        &mut self,
        now: Instant,
        accept: impl Fn(Option<IpAddr>) -> bool,
    ) -> Option<Connection> {
        let shared = self.shared.as_mut()?;
        if !shared.connection.is_usable() {
            self.shared = None;
            return None;
        }
        if !accept(shared.connection.peer) {
            return None;
        }
        shared.used_at = now;
        Some(Connection::Shared(Arc::clone(&shared.connection)))
    }
}

struct Idle {
    connection: Box<http1::Connection>,
    since: Instant,
}

struct Shared {
    connection: Arc<http2::Connection>,
    used_at: Instant,
}

/// The right to have one exchange with an origin under way.
pub(super) struct Lease {
    pub(super) origin: Arc<Origin>,
    _permit: OwnedSemaphorePermit,
}

impl Pool {
    pub(super) fn new(idle_max: Duration, permits_max: usize, queue_max: usize) -> Self {
        let permits_max = permits_max.clamp(1, Semaphore::MAX_PERMITS);
        Self { state: Arc::default(), idle_max, permits_max, queue_max }
    }

    pub(super) fn idle_max(&self) -> Duration {
        self.idle_max
    }

    /// The right to exchange, or where to queue for it.
    pub(super) fn try_enter(&self, key: &str) -> Result<Lease, Arc<Origin>> {
        let origin = self.origin(key);
        match Arc::clone(&origin.permits).try_acquire_owned() {
            Ok(permit) => Ok(Lease { origin, _permit: permit }),
            Err(_) => Err(origin),
        }
    }

    /// Waits for the right to exchange.
    pub(super) async fn queue(&self, origin: Arc<Origin>) -> Result<Lease, Fault> {
        let permit = {
            let _place = Place::take(&origin.waiting, self.queue_max)?;
            // The semaphore is never closed; if it were, there would be no connection to be had.
            Arc::clone(&origin.permits)
                .acquire_owned()
                .await
                .map_err(|_| ErrorKind::QueueFull { limit: self.queue_max })?
        };
        Ok(Lease { origin, _permit: permit })
    }

    /// Shows how many connections there are.
    pub(super) fn view(&self) -> PoolView {
        PoolView { state: Arc::clone(&self.state), permits_max: self.permits_max }
    }

    fn origin(&self, key: &str) -> Arc<Origin> {
        let mut state = lock(&self.state);
        if let Some(origin) = state.origins.get(key) {
            return Arc::clone(origin);
        }
        let origin = Arc::new(Origin {
            permits: Arc::new(Semaphore::new(self.permits_max)),
            waiting: AtomicUsize::new(0),
            first_handshake: Semaphore::new(1),
            slots: Mutex::default(),
        });
        state.origins.insert(key.into(), Arc::clone(&origin));
        if state.sweeper.as_ref().is_none_or(AbortHandle::is_finished) {
            let task = sweep_on(Arc::downgrade(&self.state), self.idle_max);
            state.sweeper = Some(tokio::spawn(task).abort_handle());
        }
        origin
    }
}

/// Shows how many connections there are, to any thread.
#[derive(Clone)]
pub(super) struct PoolView {
    state: Arc<Mutex<State>>,
    permits_max: usize,
}

impl PoolView {
    /// The connections by origin.
    pub(super) fn connections(&self) -> HashMap<Box<str>, Connections> {
        let state = lock(&self.state);
        let origins: Vec<_> =
            state.origins.iter().map(|(key, origin)| (key.clone(), Arc::clone(origin))).collect();
        // The worker need not wait for the counting.
        drop(state);
        origins.into_iter().map(|(key, origin)| (key, self.count(&origin))).collect()
    }

    fn count(&self, origin: &Origin) -> Connections {
        let slots = lock(&origin.slots);
        Connections {
            in_flight: self.permits_max.saturating_sub(origin.permits.available_permits()),
            waiting: origin.waiting.load(Ordering::Relaxed),
            idle: slots.idle.len(),
            shared: usize::from(slots.shared.is_some()),
        }
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        if let Some(sweeper) = lock(&self.state).sweeper.take() {
            sweeper.abort();
        }
    }
}

impl Origin {
    /// A usable connection to a peer that `accept` agrees with, if there is one; most recently used first.
    pub(super) fn take(
        &self,
        idle_max: Duration,
        now: Instant,
        accept: impl Fn(Option<IpAddr>) -> bool,
    ) -> Option<Connection> {
        let mut slots = lock(&self.slots);
        if let Some(shared) = slots.share(now, &accept) {
            return Some(shared);
        }
        let mut position = slots.idle.len();
        while position > 0 {
            position -= 1;
            if !accept(slots.idle[position].connection.peer) {
                continue;
            }
            let mut idle = slots.idle.remove(position);
            if now.saturating_duration_since(idle.since) < idle_max && idle.connection.is_silent() {
                return Some(Connection::Own(idle.connection));
            }
        }
        None
    }

    /// The usable connection that all share, if there is one to a peer that `accept` agrees with.
    pub(super) fn share(
        &self,
        now: Instant,
        accept: impl Fn(Option<IpAddr>) -> bool,
    ) -> Option<Connection> {
        lock(&self.slots).share(now, &accept)
    }

    /// Keeps a connection for later, unless it is used up. `since`: when it was used last.
    pub(super) fn put_back(&self, connection: Connection, since: Instant) {
        // A shared connection was never taken away.
        let Connection::Own(mut connection) = connection else { return };
        if connection.is_reusable() {
            lock(&self.slots).idle.push(Idle { connection, since });
        }
    }

    /// Waits until nobody else is finding out the protocol; `None` if it is known.
    pub(super) async fn first_handshake(&self) -> Option<SemaphorePermit<'_>> {
        if lock(&self.slots).is_protocol_known {
            return None;
        }
        let permit = self.first_handshake.acquire().await.ok()?;
        // It may have become known meanwhile; then the next in line need not wait either.
        (!lock(&self.slots).is_protocol_known).then_some(permit)
    }

    /// Registers a new connection with the origin.
    pub(super) fn admit_own(&self) {
        lock(&self.slots).is_protocol_known = true;
    }

    /// Registers a new connection and shares it with whoever comes.
    pub(super) fn admit_shared(&self, connection: http2::Connection) -> Arc<http2::Connection> {
        let connection = Arc::new(connection);
        let mut slots = lock(&self.slots);
        slots.is_protocol_known = true;
        slots.shared =
            Some(Shared { connection: Arc::clone(&connection), used_at: Instant::now() });
        connection
    }

    /// Shares a connection no longer; exchanges under way finish on it.
    pub(super) fn forget(&self, connection: &Arc<http2::Connection>) {
        let mut slots = lock(&self.slots);
        if slots.shared.as_ref().is_some_and(|shared| Arc::ptr_eq(&shared.connection, connection)) {
            slots.shared = None;
        }
    }

    /// Closes what has idled too long or was closed by the other side; tells whether anything is left.
    fn sweep(&self, idle_max: Duration, now: Instant) -> bool {
        let mut slots = lock(&self.slots);
        slots.idle.retain_mut(|idle| {
            now.saturating_duration_since(idle.since) < idle_max && idle.connection.is_silent()
        });
        if let Some(shared) = &mut slots.shared {
            if Arc::strong_count(&shared.connection) > 1 {
                shared.used_at = now;
            }
            if !shared.connection.is_usable()
                || now.saturating_duration_since(shared.used_at) >= idle_max
            {
                slots.shared = None;
            }
        }
        !slots.idle.is_empty() || slots.shared.is_some()
    }
}

async fn sweep_on(pool: Weak<Mutex<State>>, idle_max: Duration) {
    let period = (idle_max / 4).clamp(SWEEP_EVERY_MIN, SWEEP_EVERY_MAX);
    loop {
        sleep(period).await;
        let Some(state) = pool.upgrade() else { return };
        let mut state = lock(&state);
        let now = Instant::now();
        // Nobody can start to use an origin meanwhile: that needs the lock we hold.
        state
            .origins
            .retain(|_, origin| origin.sweep(idle_max, now) || Arc::strong_count(origin) > 1);
        if state.origins.is_empty() {
            state.sweeper = None;
            return;
        }
    }
}

/// A place in the queue, given up on drop.
struct Place<'a>(&'a AtomicUsize);

impl<'a> Place<'a> {
    fn take(waiting: &'a AtomicUsize, limit: usize) -> Result<Self, Fault> {
        if waiting.fetch_add(1, Ordering::Relaxed) < limit {
            return Ok(Self(waiting));
        }
        waiting.fetch_sub(1, Ordering::Relaxed);
        Err(ErrorKind::QueueFull { limit }.into())
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// No code under these locks panics; should it ever, the state is still consistent.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
