//! The cache as one thread uses it: look up, store, and fetch once for all who miss.
//!
//! ```text
//! get_or_fetch ─▶ memory ─▶ flight ─┬ lead ─▶ memory again ─▶ server ─▶ fetch ─▶ land ─▶ store
//!                                   └ follow ─▶ the leader's entry
//! ```
//!
//! Nothing here fails a request: what goes wrong with the cache is an event, and the request is made.

use std::{rc::Rc, sync::Arc, time::Duration};

use super::{
    Cache, STORES_PENDING_MAX,
    entry::Entry,
    event::CacheEvent,
    flight::{Ticket, Turn},
    key::CacheKey,
    tier::SharedTier,
};

/// The longest wait for stores that go on behind requests.
const SETTLE_TIME_MAX: Duration = Duration::from_secs(5);

/// An entry and where it came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// The entry.
    pub entry: Entry,
    /// Where it came from.
    pub source: Source,
}

/// Where an entry came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// From this process's memory.
    Memory,
    /// From a server.
    Server,
    /// From another request for the same, which was under way.
    Joined,
    /// From the caller's own fetch.
    Fetched,
}

impl Source {
    /// Whether the caller made no request.
    pub fn is_hit(self) -> bool {
        self != Self::Fetched
    }
}

/// A thread's way to the shared [`Cache`]. It must stay within the runtime in which it is first used,
/// since its connections belong to that runtime. Cloning shares the connections.
#[derive(Clone)]
pub struct CacheClient {
    cache: Arc<Cache>,
    tier: Option<Arc<dyn SharedTier>>,
    /// Keeps clients on their threads.
    _on_one_thread: std::marker::PhantomData<Rc<()>>,
}

impl CacheClient {
    pub(super) fn new(cache: Arc<Cache>, tier: Option<Arc<dyn SharedTier>>) -> Self {
        Self { cache, tier, _on_one_thread: std::marker::PhantomData }
    }

    /// The cache behind this client.
    pub fn cache(&self) -> &Arc<Cache> {
        &self.cache
    }

    /// The entry of `key`, from memory or from a server. A server that fails or is slow is a miss.
    ///
    /// # Cancellation
    /// Dropping the future drops the exchange with the server.
    pub async fn get(&self, key: &CacheKey) -> Option<Found> {
        if !self.cache.is_started_for(key) {
            return None;
        }
        self.look_up(key).await
    }

    /// Stores an entry for `ttl`, whole seconds; waits until it is stored. Failures are events.
    /// Entries with bodies over `maxValue` are not stored.
    ///
    /// # Cancellation
    /// A dropped put may or may not have stored the entry, never a part of it.
    pub async fn put(&self, key: &CacheKey, entry: &Entry, ttl: Duration) {
        if self.cache.is_started_for(key) && self.cache.takes(key, entry, ttl) {
            store(&self.cache, self.tier.as_deref(), key, entry, ttl).await;
        }
    }

    /// The entry of `key`, or else what `fetch` gives, stored for `ttl`. Callers on any thread that
    /// miss the same key at the same time share one fetch, which runs in the task of one of them.
    ///
    /// `fetch` answers only what is worth caching; whatever its status, after hooks it must have been
    /// a success (CAC-5). One that is too large to be stored goes to those who
    /// wait. The store goes on in the background after this returns; until it is done, the entry
    /// serves all who ask.
    ///
    /// # Errors
    /// Those of `fetch`. A failed or dropped fetch lets one of those who wait try; after a second
    /// failure all of them try. Nobody waits for others longer than `sharedWaitMs`.
    ///
    /// # Panics
    /// Never, but it needs a tokio runtime with time, and with I/O if there are servers.
    ///
    /// # Cancellation
    /// Dropping the future drops `fetch`; another waiting caller takes over.
    pub async fn get_or_fetch<F, E>(
        &self,
        key: &CacheKey,
        ttl: Duration,
        fetch: F,
    ) -> Result<Found, E>
    where
        F: AsyncFnOnce() -> Result<Entry, E>,
    {
        if !self.cache.is_started_for(key) {
            return fetch().await.map(fetched);
        }
        if let Some(entry) = self.cache.in_memory(key) {
            self.cache.emit(&CacheEvent::Hit { key: key.clone() });
            return Ok(Found { entry, source: Source::Memory });
        }
        let ticket = self.cache.flights().join(key);
        let wait = self.cache.settings().shared_wait;
        let turn = tokio::time::timeout(wait, ticket.turn()).await;
        let error = match turn {
            Ok(Turn::Landed(entry)) => {
                self.cache.emit(&CacheEvent::Hit { key: key.clone() });
                return Ok(Found { entry, source: Source::Joined });
            }
            Ok(Turn::Lead(lead)) => {
                if let Some(found) = self.look_up(key).await {
                    lead.land(found.entry.clone());
                    drop(ticket.ends_the_flight());
                    return Ok(found);
                }
                let entry = match fetch().await {
                    Ok(entry) => entry,
                    Err(error) => {
                        lead.fail();
                        return Err(error);
                    }
                };
                lead.land(entry.clone());
                if self.cache.takes(key, &entry, ttl) {
                    self.store_behind(Some(ticket.ends_the_flight()), key, &entry, ttl);
                }
                return Ok(fetched(entry));
            }
            Ok(Turn::BrokenUp) => "others who asked for the same failed",
            Err(_elapsed) => "others who asked for the same took too long",
        };
        drop(ticket);
        self.cache.emit(&CacheEvent::Miss { key: key.clone(), error: Some(error.to_owned()) });
        let entry = fetch().await?;
        if self.cache.takes(key, &entry, ttl) {
            self.store_behind(None, key, &entry, ttl);
        }
        Ok(fetched(entry))
    }

    /// Asks the servers for their statistics and emits them.
    pub async fn heartbeat(&self) {
        let Some(tier) = &self.tier else { return };
        let (data, errors) = tier.statistics().await;
        for error in errors {
            self.cache.emit(&CacheEvent::Error { message: error.to_string(), key: None });
        }
        self.cache.emit(&CacheEvent::Heartbeat { data });
    }

    /// Emits the servers' statistics again and again, as often as the settings say, until the cache
    /// ends. To be driven by one thread; without servers it is done at once.
    pub async fn keep_beating(&self) {
        if self.tier.is_none() {
            return;
        }
        while self.cache.is_started() {
            tokio::time::sleep(self.cache.settings().heartbeat).await;
            if self.cache.is_started() {
                self.heartbeat().await;
            }
        }
    }

    /// Waits until everything that is being stored behind requests, on any thread, has been stored or
    /// has failed, but no longer than [`SETTLE_TIME_MAX`]. To be called before a runtime ends, whose
    /// tasks would be cut off.
    pub async fn settle(&self) {
        let all = self.cache.stores().acquire_many(STORES_PENDING_MAX as u32);
        if tokio::time::timeout(SETTLE_TIME_MAX, all).await.is_err() {
            let message = "some entries were not stored before the end".to_owned();
            self.cache.emit(&CacheEvent::Error { message, key: None });
        }
    }

    async fn look_up(&self, key: &CacheKey) -> Option<Found> {
        let (found, error) = match self.cache.in_memory(key) {
            Some(entry) => (Some(Found { entry, source: Source::Memory }), None),
            None => self.look_up_on_server(key).await,
        };
        let key = key.clone();
        self.cache.emit(&match &found {
            Some(_) => CacheEvent::Hit { key },
            None => CacheEvent::Miss { key, error },
        });
        found
    }

    async fn look_up_on_server(&self, key: &CacheKey) -> (Option<Found>, Option<String>) {
        let Some(tier) = &self.tier else { return (None, None) };
        match tier.get(key).await {
            Ok(Some((entry, remaining))) => {
                self.cache.copy_to_memory(key, &entry, remaining);
                (Some(Found { entry, source: Source::Server }), None)
            }
            Ok(None) => (None, None),
            Err(error) => {
                if error.is_trouble() {
                    self.cache.emit(&CacheEvent::Error { message: error.to_string(), key: None });
                }
                (None, Some(error.to_string()))
            }
        }
    }

    /// Stores without making the caller wait. The ticket keeps the flight until it is done.
    fn store_behind(&self, ticket: Option<Ticket>, key: &CacheKey, entry: &Entry, ttl: Duration) {
        let Some(tier) = &self.tier else {
            self.cache.keep_in_memory(key, entry, ttl);
            return;
        };
        let Ok(place) = Arc::clone(self.cache.stores()).try_acquire_owned() else {
            let message = "too many entries wait to be stored".to_owned();
            self.cache.emit(&CacheEvent::Error { message, key: Some(key.clone()) });
            return;
        };
        let (cache, tier) = (Arc::clone(&self.cache), Arc::clone(tier));
        let (key, entry) = (key.clone(), entry.clone());
        // The exchange is over and paid for, so the entry is worth storing even if the request that
        // wanted it goes away. The task ends within the tier's timeout.
        tokio::spawn(async move {
            store(&cache, Some(&*tier), &key, &entry, ttl).await;
            drop((ticket, place));
        });
    }
}

async fn store(
    cache: &Cache,
    tier: Option<&dyn SharedTier>,
    key: &CacheKey,
    entry: &Entry,
    ttl: Duration,
) {
    let Some(tier) = tier else {
        cache.keep_in_memory(key, entry, ttl);
        return;
    };
    match tier.put(key, entry, ttl).await {
        Ok(()) => {
            // Only what a server holds is copied, so that all machines agree on what is cached.
            cache.copy_to_memory(key, entry, ttl);
            cache.emit(&CacheEvent::New { key: key.clone(), duration: ttl });
        }
        Err(error) => {
            cache.emit(&CacheEvent::Error { message: error.to_string(), key: Some(key.clone()) });
        }
    }
}

fn fetched(entry: Entry) -> Found {
    Found { entry, source: Source::Fetched }
}
