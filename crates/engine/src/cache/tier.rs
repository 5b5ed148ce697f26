//! What all shared tiers have in common: how entries are got from servers and put there, whatever the
//! product, and how a server is asked. What a product is told and answers is its [`Store`].

use std::{fmt, sync::Arc, time::Duration};

use bytes::Bytes;
use futures_util::{FutureExt, future::BoxFuture};
use qlio_data::Value;
use sha2::{Digest, Sha256};
use tokio::sync::Semaphore;

use crate::clock::epoch_ms;

use super::{
    circuit::{Change, Circuit},
    entry::Entry,
    event::{CacheEvent, CacheEventSink},
    key::CacheKey,
    record::{Lifetime, Record},
    settings::without_credentials,
};

/// The longest time to live that is sent to a server; a year says "for ever" well enough.
const TTL_SECONDS_MAX: u32 = 365 * 24 * 3600;

/// An entry and the time it may still be used.
pub(super) type Kept = (Entry, Duration);

/// Entries outside the process, as one thread reaches them: the connections belong to the thread's
/// runtime, everything else is shared. Every future ends within the tier's timeout.
pub(super) trait SharedTier: Send + Sync {
    /// The entry of `key`, if there is one.
    fn get<'a>(&'a self, key: &'a CacheKey) -> BoxFuture<'a, Result<Option<Kept>, TierError>>;

    /// Stores an entry.
    fn put<'a>(
        &'a self,
        key: &'a CacheKey,
        entry: &'a Entry,
        ttl: Duration,
    ) -> BoxFuture<'a, Result<(), TierError>>;

    /// One object per server that answered, and what the others failed with.
    fn statistics(&self) -> BoxFuture<'_, (Value, Vec<TierError>)>;
}

/// How one product keeps records. Its exchanges need not watch the time: who asks does.
pub(super) trait Store: Send + Sync {
    /// The entry that `server` keeps under the name of `key`.
    fn read(
        &self,
        server: &Server,
        key: &CacheKey,
    ) -> impl Future<Output = Result<Option<Kept>, TierError>> + Send;

    /// How often the timeout may pass while this is written; an error if it cannot be.
    fn parts(&self, put: &Put<'_>) -> Result<u32, TierError>;

    /// Keeps an entry on `server`.
    fn write(
        &self,
        server: &Server,
        put: &Put<'_>,
    ) -> impl Future<Output = Result<(), TierError>> + Send;

    /// What `server` counts, as an object.
    fn statistics(&self, server: &Server) -> impl Future<Output = Result<Value, TierError>> + Send;
}

/// An entry on its way to a server.
#[derive(Debug, Clone, Copy)]
pub(super) struct Put<'a> {
    pub(super) key: &'a CacheKey,
    pub(super) entry: &'a Entry,
    /// How long it lives; at least 1.
    pub(super) seconds: u32,
}

/// Servers of one product.
pub(super) struct ServerTier<S> {
    servers: Arc<Servers>,
    store: S,
}

impl<S: Store> ServerTier<S> {
    pub(super) fn new(servers: Arc<Servers>, store: S) -> Self {
        Self { servers, store }
    }
}

impl<S: Store> SharedTier for ServerTier<S> {
    fn get<'a>(&'a self, key: &'a CacheKey) -> BoxFuture<'a, Result<Option<Kept>, TierError>> {
        async move {
            let Some(server) = self.servers.of(key) else { return Ok(None) };
            self.servers.ask(server, 1, self.store.read(server, key)).await
        }
        .boxed()
    }

    fn put<'a>(
        &'a self,
        key: &'a CacheKey,
        entry: &'a Entry,
        ttl: Duration,
    ) -> BoxFuture<'a, Result<(), TierError>> {
        async move {
            let (Some(seconds), Some(server)) = (whole_seconds(ttl), self.servers.of(key)) else {
                return Ok(());
            };
            let put = Put { key, entry, seconds };
            let parts = self.store.parts(&put)?;
            self.servers.ask(server, parts, self.store.write(server, &put)).await
        }
        .boxed()
    }

    fn statistics(&self) -> BoxFuture<'_, (Value, Vec<TierError>)> {
        async move {
            let (mut all, mut errors) = (Vec::new(), Vec::new());
            for server in &self.servers.list {
                match self.servers.ask(server, 1, self.store.statistics(server)).await {
                    Ok(statistics) => all.push(statistics),
                    Err(error) => errors.push(error),
                }
            }
            (Value::array(all), errors)
        }
        .boxed()
    }
}

/// Why a shared tier could not do what it was asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum TierError {
    /// No answer in time.
    Timeout { server: String, timeout: Duration },
    /// The connection could not be made or broke.
    Connection { server: String, reason: String },
    /// The answer is not in the server's protocol.
    Garbled { server: String, reason: String },
    /// The server answered that it will not.
    Refused { server: String, reason: String },
    /// The server is left alone after failures.
    Paused { server: String },
    /// All connections stayed busy.
    Busy { pool_size: usize },
    /// What is stored is of no use.
    Unusable(&'static str),
    /// The value may not be stored.
    TooLarge(&'static str),
}

impl fmt::Display for TierError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Timeout { server, timeout } => {
                write!(f, "{server}: no answer within {} ms", timeout.as_millis())
            }
            Self::Connection { server, reason }
            | Self::Garbled { server, reason }
            | Self::Refused { server, reason } => write!(f, "{server}: {reason}"),
            Self::Paused { server } => write!(f, "{server}: not asked after repeated failures"),
            Self::Busy { pool_size } => write!(f, "all {pool_size} connections stayed busy"),
            Self::Unusable(reason) | Self::TooLarge(reason) => f.write_str(reason),
        }
    }
}

impl TierError {
    /// Whether it tells that the server or the way to it is in trouble.
    pub(super) fn is_trouble(&self) -> bool {
        matches!(self, Self::Timeout { .. } | Self::Connection { .. } | Self::Garbled { .. })
    }
}

/// What the threads share about one server.
#[derive(Debug)]
pub(super) struct Server {
    /// Its place among the servers of the tier.
    pub(super) position: usize,
    /// As configured, credentials included.
    pub(super) address: String,
    /// For messages.
    pub(super) name: String,
    circuit: Circuit,
}

/// What the threads share about all servers of a tier.
pub(super) struct Servers {
    list: Vec<Server>,
    timeout: Duration,
    pool_size: usize,
    pool: Semaphore,
    sink: CacheEventSink,
}

impl Server {
    pub(super) fn connection_error(&self, reason: impl fmt::Display) -> TierError {
        TierError::Connection { server: self.name.clone(), reason: reason.to_string() }
    }

    pub(super) fn garbled(&self, reason: impl fmt::Display) -> TierError {
        TierError::Garbled { server: self.name.clone(), reason: reason.to_string() }
    }

    pub(super) fn refused(&self, reason: impl fmt::Display) -> TierError {
        TierError::Refused { server: self.name.clone(), reason: reason.to_string() }
    }
}

impl Servers {
    pub(super) fn new(
        product: &str,
        addresses: &[String],
        timeout: Duration,
        retry_pause: Duration,
        pool_size: usize,
        sink: CacheEventSink,
    ) -> Self {
        let list = addresses.iter().enumerate().map(|(position, address)| Server {
            position,
            address: address.clone(),
            name: format!("{product} {}", without_credentials(address)),
            circuit: Circuit::new(retry_pause),
        });
        Self { list: list.collect(), timeout, pool_size, pool: Semaphore::new(pool_size), sink }
    }

    /// How many there are.
    pub(super) fn count(&self) -> usize {
        self.list.len()
    }

    /// The server that keeps `key`: the one with the highest score for it, so that adding or removing
    /// a server moves only the keys it gets or had. `None` if there are no servers.
    fn of(&self, key: &CacheKey) -> Option<&Server> {
        let score = |server: &&Server| {
            let mut digest = Sha256::new();
            digest.update(without_credentials(&server.address).as_bytes());
            digest.update([0]);
            digest.update(key.as_str().as_bytes());
            digest.finalize()
        };
        match &*self.list {
            [only] => Some(only),
            several => several.iter().max_by_key(score),
        }
    }

    /// Runs one exchange with `server`: not at all while its circuit is open, behind those that wait
    /// for a free place in the pool, and no longer than the timeout times `parts`.
    async fn ask<T>(
        &self,
        server: &Server,
        parts: u32,
        exchange: impl Future<Output = Result<T, TierError>>,
    ) -> Result<T, TierError> {
        // Asked first: a dead server must not hold places of the pool.
        let Some(permit) = server.circuit.admit() else {
            return Err(TierError::Paused { server: server.name.clone() });
        };
        let timeout = self.timeout * parts.max(1);
        let Ok(Ok(_place)) = tokio::time::timeout(timeout, self.pool.acquire()).await else {
            return Err(TierError::Busy { pool_size: self.pool_size });
        };
        let result = tokio::time::timeout(timeout, exchange).await.unwrap_or_else(|_elapsed| {
            Err(TierError::Timeout { server: server.name.clone(), timeout })
        });
        let change = match &result {
            Err(error) if error.is_trouble() => permit.failed(),
            Ok(_) | Err(_) => permit.succeeded(),
        };
        match change {
            Change::None => {}
            Change::Opened(pause) => self.inform(format!(
                "{}: not asked for {} ms after repeated failures",
                server.name,
                pause.as_millis()
            )),
            Change::Closed => self.inform(format!("{}: answers again", server.name)),
        }
        result
    }

    fn inform(&self, message: String) {
        (self.sink)(&CacheEvent::Info { message });
    }
}

/// The whole seconds that a server is told; `None` if the entry would be dead at once.
fn whole_seconds(ttl: Duration) -> Option<u32> {
    let seconds = u32::try_from(ttl.as_secs()).unwrap_or(u32::MAX).min(TTL_SECONDS_MAX);
    (seconds > 0).then_some(seconds)
}

/// A lifetime that begins now.
pub(super) fn lifetime(ttl_seconds: u32) -> Lifetime {
    Lifetime { stored_at_ms: epoch_ms(), ttl_seconds }
}

/// The record in `bytes`, which were found under the name of `key`; refused if it is another key's.
pub(super) fn record_of(bytes: Bytes, key: &CacheKey) -> Result<Record, TierError> {
    let record = Record::decode(bytes).map_err(|fault| TierError::Unusable(fault.reason()))?;
    if record.key == key.as_str().as_bytes() {
        Ok(record)
    } else {
        // The literal text of CAC-11.
        Err(TierError::Unusable("unexpected result - md5 collusion"))
    }
}

/// What a record and its body are, now.
pub(super) fn kept(record: Record, body: Bytes) -> Kept {
    let remaining = record.lifetime.remaining(epoch_ms());
    (record.into_entry(body), remaining)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn servers(addresses: &[&str]) -> Servers {
        let addresses: Vec<_> = addresses.iter().map(|&address| address.to_owned()).collect();
        let second = Duration::from_secs(1);
        Servers::new("test", &addresses, second, second, 1, Arc::new(|_| {}))
    }

    fn keys() -> Vec<CacheKey> {
        (0..300).filter_map(|number| CacheKey::computed(&format!("key {number}"))).collect()
    }

    #[test]
    fn keys_are_spread_and_losing_a_server_moves_only_its_own() {
        let three = servers(&["a:1", "b:1", "c:1"]);
        let two = servers(&["a:1", "b:1"]);
        let mut counts = [0; 3];
        for key in keys() {
            let position = |servers: &Servers| servers.of(&key).expect("servers").position;
            let at = position(&three);
            counts[at] += 1;
            if at < 2 {
                assert_eq!(position(&two), at);
            }
        }
        assert!(counts.iter().all(|count| *count > 60), "{counts:?}");
    }

    #[test]
    fn a_time_to_live_is_whole_seconds_within_a_year() {
        assert_eq!(whole_seconds(Duration::from_millis(999)), None);
        assert_eq!(whole_seconds(Duration::from_millis(1999)), Some(1));
        assert_eq!(whole_seconds(Duration::MAX), Some(TTL_SECONDS_MAX));
    }

    #[tokio::test(start_paused = true)]
    async fn operations_beyond_the_pool_wait_in_order_and_do_not_blame_the_server() {
        let servers = servers(&["a:1"]);
        let server = &servers.list[0];
        let answered = || async { Ok::<_, TierError>(()) };
        let place = servers.pool.acquire().await.expect("open");
        for _ in 0..10 {
            let busy = servers.ask(server, 1, answered()).await;
            assert_eq!(busy, Err(TierError::Busy { pool_size: 1 }));
        }
        drop(place);
        assert_eq!(servers.ask(server, 1, answered()).await, Ok(()));
    }

    #[tokio::test(start_paused = true)]
    async fn a_silent_server_is_left_alone_after_some_timeouts() {
        let servers = servers(&["a:1"]);
        let server = &servers.list[0];
        let silent = || std::future::pending::<Result<(), TierError>>();
        for _ in 0..3 {
            let timeout = servers.ask(server, 1, silent()).await.expect_err("silent");
            assert_eq!(timeout.to_string(), "test a:1: no answer within 1000 ms");
        }
        let before = tokio::time::Instant::now();
        let paused = servers.ask(server, 1, silent()).await.expect_err("paused");
        assert_eq!(paused, TierError::Paused { server: "test a:1".to_owned() });
        assert_eq!(before.elapsed(), Duration::ZERO);
    }
}
