//! The response cache: answers of upstreams, kept for the time that a table's `expires` says.
//!
//! ```text
//!            Cache (one per process, shared by all threads)
//!            ├─ memory: bounded by bytes, a time to live per entry
//! requests ─▶├─ flights: one fetch for all who miss the same key
//!            └─ servers: circuits, pool ◀── CacheClient (one per thread): connections
//!                                           to memcached or to Redis
//! ```
//!
//! In: a [`CacheKey`] and an [`Entry`], the head and body of an answer. Out: the same, within the time to live, or a
//! miss; and [`CacheEvent`]s. A cache that fails, is slow or is full costs at most its timeout and
//! never fails a request. It knows nothing of plans, tables, hooks or decoding: the caller decides what
//! is worth caching, and hands over only answers that were successes and decoded.

mod circuit;
mod client;
mod entry;
mod event;
mod flight;
mod key;
mod memcached;
mod memory;
mod record;
mod redis;
mod settings;
mod tier;

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use tokio::sync::Semaphore;

pub use self::{
    client::{CacheClient, Found, Source},
    entry::{Entry, Form},
    event::{CacheEvent, CacheEventSink},
    key::{CacheKey, KeyParts},
    memory::MemoryUse,
    settings::{Backend, CacheConfigError, CacheSettings},
};
use self::{
    entry::HEAD_BYTES_MAX,
    flight::Flights,
    memcached::MemcachedStore,
    memory::MemoryTier,
    redis::{RedisStore, Target},
    tier::{ServerTier, Servers, SharedTier},
};

/// The time to live of an entry whose table says none.
pub const TTL_DEFAULT: Duration = Duration::from_hours(1);

/// Most entries that wait to be stored on servers; further ones are not stored.
const STORES_PENDING_MAX: usize = 64;

/// The part of the cache that all threads share.
pub struct Cache {
    settings: CacheSettings,
    sink: CacheEventSink,
    memory: Option<MemoryTier>,
    remote: Option<Remote>,
    flights: Arc<Flights>,
    stores: Arc<Semaphore>,
    is_started: AtomicBool,
}

/// The servers, in the form that threads make their tiers of.
struct Remote {
    servers: Arc<Servers>,
    product: Product,
}

enum Product {
    Memcached,
    Redis(Arc<[Target]>),
}

impl fmt::Debug for Cache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The settings may hold passwords.
        f.debug_struct("Cache").finish_non_exhaustive()
    }
}

impl Cache {
    /// Makes a cache that is not yet started; connects to nothing.
    ///
    /// # Errors
    /// An address or a certificate that cannot be read.
    pub fn new(
        settings: CacheSettings,
        sink: CacheEventSink,
    ) -> Result<Arc<Self>, CacheConfigError> {
        let servers = |product: &str, addresses: &[String]| {
            Arc::new(Servers::new(
                product,
                addresses,
                settings.timeout,
                settings.retry_pause,
                settings.pool_size,
                Arc::clone(&sink),
            ))
        };
        let remote = match &settings.backend {
            Backend::Memory => None,
            Backend::Memcached { servers: addresses } => Some(Remote {
                servers: servers("memcached", addresses),
                product: Product::Memcached,
            }),
            Backend::Redis { servers: addresses, is_cluster } => {
                let targets =
                    redis::targets(addresses, *is_cluster, settings.timeout, &settings.tls)?;
                // A cluster is one target with one circuit, however many seeds it has.
                let named = &addresses[..targets.len().min(addresses.len())];
                Some(Remote { servers: servers("redis", named), product: Product::Redis(targets) })
            }
        };
        let memory =
            settings.memory().map(|bytes| MemoryTier::new(bytes, settings.value_bytes_max));
        Ok(Arc::new(Self {
            settings,
            sink,
            memory,
            remote,
            flights: Arc::default(),
            stores: Arc::new(Semaphore::new(STORES_PENDING_MAX)),
            is_started: AtomicBool::new(false),
        }))
    }

    /// Begins to take requests.
    pub fn start(&self) {
        if !self.is_started.swap(true, Ordering::AcqRel) {
            self.emit(&CacheEvent::Start { options: self.settings.shown() });
        }
    }

    /// Takes no more requests; those under way come to their end.
    pub fn end(&self) {
        if self.is_started.swap(false, Ordering::AcqRel) {
            self.emit(&CacheEvent::End);
        }
    }

    /// A way to the cache for one thread; each thread makes one and keeps it.
    pub fn client(self: &Arc<Self>) -> CacheClient {
        let tier = self.remote.as_ref().map(|remote| -> Arc<dyn SharedTier> {
            let servers = Arc::clone(&remote.servers);
            let value_bytes_max = self.settings.value_bytes_max;
            match &remote.product {
                Product::Memcached => {
                    let store = MemcachedStore::new(servers.count(), value_bytes_max);
                    Arc::new(ServerTier::new(servers, store))
                }
                Product::Redis(targets) => {
                    let targets = Arc::clone(targets);
                    let store = RedisStore::new(targets, self.settings.timeout, value_bytes_max);
                    Arc::new(ServerTier::new(servers, store))
                }
            }
        });
        CacheClient::new(Arc::clone(self), tier)
    }

    /// How much of its memory in the process is used; `None` if it has none.
    pub fn used(&self) -> Option<MemoryUse> {
        self.memory.as_ref().map(MemoryTier::used)
    }

    /// Drops what is kept in the process; what servers keep stays.
    pub fn purge_memory(&self) {
        if let Some(memory) = &self.memory {
            memory.clear();
        }
    }

    /// What the cache is made of.
    pub fn settings(&self) -> &CacheSettings {
        &self.settings
    }

    fn is_started(&self) -> bool {
        self.is_started.load(Ordering::Acquire)
    }

    fn is_started_for(&self, key: &CacheKey) -> bool {
        let is_started = self.is_started();
        if !is_started {
            // The literal text of CAC-11.
            let message = "Cache not started".to_owned();
            self.emit(&CacheEvent::Error { message, key: Some(key.clone()) });
        }
        is_started
    }

    /// Whether the entry may be stored; one that is too large is reported.
    fn takes(&self, key: &CacheKey, entry: &Entry, ttl: Duration) -> bool {
        if ttl.as_secs() == 0 {
            return false;
        }
        let sizes = [
            ("a body of", entry.body.len(), "`maxValue`,", self.settings.value_bytes_max),
            ("headers of", entry.head_weight(), "the limit,", HEAD_BYTES_MAX),
        ];
        for (what, bytes, limit, bytes_max) in sizes {
            if bytes > bytes_max {
                let message = format!("{what} {bytes} bytes is more than {limit} {bytes_max}");
                self.emit(&CacheEvent::Error { message, key: Some(key.clone()) });
                return false;
            }
        }
        true
    }

    fn in_memory(&self, key: &CacheKey) -> Option<Entry> {
        self.memory.as_ref()?.get(key)
    }

    /// Keeps the entry where memory is all there is.
    fn keep_in_memory(&self, key: &CacheKey, entry: &Entry, ttl: Duration) {
        if let Some(memory) = &self.memory {
            memory.put(key, entry, ttl);
            self.emit(&CacheEvent::New { key: key.clone(), duration: ttl });
        }
    }

    /// Copies what a server holds, for a short while.
    fn copy_to_memory(&self, key: &CacheKey, entry: &Entry, remaining: Duration) {
        if let Some(memory) = &self.memory {
            memory.put(key, entry, remaining.min(self.settings.local_time));
        }
    }

    fn flights(&self) -> &Arc<Flights> {
        &self.flights
    }

    fn stores(&self) -> &Arc<Semaphore> {
        &self.stores
    }

    fn emit(&self, event: &CacheEvent) {
        (self.sink)(event);
    }
}
