//! What all cache tests need: caches with an open ear, keys, entries, and waiting for a condition.

use std::{
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use qlio_engine::cache::{Backend, Cache, CacheEvent, CacheKey, CacheSettings, Entry, Form};

/// Longer than anything here takes on a busy machine; reached only by a hang.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

pub(crate) const MINUTE: Duration = Duration::from_mins(1);

/// A started cache and all that it has told so far.
pub(crate) struct Watched {
    pub(crate) cache: Arc<Cache>,
    events: Arc<Mutex<Vec<CacheEvent>>>,
}

impl Watched {
    pub(crate) fn new(settings: CacheSettings) -> Self {
        let events = Arc::<Mutex<Vec<CacheEvent>>>::default();
        let ear = Arc::clone(&events);
        let sink = Arc::new(move |event: &CacheEvent| {
            ear.lock().expect("events").push(event.clone());
        });
        let cache = Cache::new(settings, sink).expect("good settings");
        cache.start();
        Self { cache, events }
    }

    /// The messages since the last call, without the start.
    pub(crate) fn told(&self) -> Vec<String> {
        let events = std::mem::take(&mut *self.events.lock().expect("events"));
        events
            .iter()
            .filter(|event| !matches!(event, CacheEvent::Start { .. }))
            .map(CacheEvent::message)
            .collect()
    }

    /// Waits for an event whose message contains `part`.
    pub(crate) async fn hears(&self, part: &str) {
        let heard = || {
            let events = self.events.lock().expect("events");
            events.iter().any(|event| event.message().contains(part))
        };
        let deadline = Instant::now() + PATIENCE;
        while !heard() {
            assert!(Instant::now() < deadline, "nothing heard of {part}: {:?}", self.told());
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}

/// Settings for a healthy server: patient, and without copies in the process.
pub(crate) fn patient(backend: Backend) -> CacheSettings {
    CacheSettings {
        timeout: Duration::from_secs(10),
        memory_bytes: 0,
        retry_pause: Duration::from_millis(20),
        ..CacheSettings::new(backend)
    }
}

pub(crate) fn memcached(address: &(impl ToString + ?Sized)) -> Backend {
    Backend::Memcached { servers: vec![address.to_string()] }
}

pub(crate) fn redis(address: &(impl ToString + ?Sized)) -> Backend {
    Backend::Redis { servers: vec![address.to_string()], is_cluster: false }
}

pub(crate) fn key(name: &str) -> CacheKey {
    CacheKey::computed(name).expect("a key")
}

pub(crate) fn entry(body: impl Into<Bytes>) -> Entry {
    let headers = [
        ("content-type", "application/json; charset=utf-8"),
        ("x-page", "3"),
        ("link", "</a>; rel=prev"),
        ("link", "</c>; rel=next"),
        ("x-harbour", "B\u{f8}d\u{f8}"),
    ];
    let headers = headers.map(|(name, value)| {
        (HeaderName::from_static(name), HeaderValue::from_bytes(value.as_bytes()).expect("a value"))
    });
    Entry {
        status: StatusCode::OK,
        headers: Arc::new(HeaderMap::from_iter(headers)),
        form: Form::Received,
        body: body.into(),
    }
}

/// The same, with a body that a script has made.
pub(crate) fn formed(form: Form, body: impl Into<Bytes>) -> Entry {
    Entry { form, ..entry(body) }
}
