//! Get, put and the tiers' order, the same for every backend.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, StatusCode, header};
use qlio_engine::cache::{Backend, Cache, CacheSettings, Entry, Form, Source};
use qlio_testkit::program::{CacheServer, Running};

use crate::support::{MINUTE, PATIENCE, Watched, entry, formed, key, memcached, patient};

pub(crate) async fn entries_come_back(backend: Backend) {
    entries_come_back_with(patient(backend)).await;
}

pub(crate) async fn entries_come_back_with(settings: CacheSettings) {
    let watched = Watched::new(settings);
    let client = watched.cache.client();
    let binary: Vec<u8> = (0..=255).cycle().take(100_000).collect();
    let entries = [
        entry(""),
        entry("{\"a\":1}"),
        entry("END\r\nVALUE x 0 1\r\n"),
        entry(binary),
        entry(Bytes::from(vec![b'x'; 1_023_990])),
        entry(Bytes::from(vec![b'x'; 1_048_576])),
        entry(Bytes::from(vec![b'y'; 5_000_000])),
        Entry {
            status: StatusCode::PARTIAL_CONTENT,
            headers: Arc::default(),
            form: Form::Received,
            body: Bytes::new(),
        },
        formed(Form::Text { media_type: None }, "low tide"),
        formed(Form::Text { media_type: Some("text/csv;header".into()) }, "a,b\n1,2"),
        formed(Form::Bytes { media_type: Some("application/cbor".into()) }, vec![0xa1, 0, 1]),
        formed(Form::Value, "{\"n\":9007199254740993}"),
        formed(Form::Value, vec![b' '; 2_000_000]),
    ];
    let names: Vec<_> = (0..entries.len()).map(|at| key(&format!("entry {at} é\r\n"))).collect();
    for (key, entry) in names.iter().zip(&entries) {
        assert_eq!(client.get(key).await, None);
        client.put(key, entry, MINUTE).await;
    }
    // Another thread would have a client of its own.
    let client = watched.cache.client();
    for (key, entry) in names.iter().zip(&entries) {
        let found = client.get(key).await.unwrap_or_else(|| panic!("{key}: {:?}", watched.told()));
        assert!(found.entry == *entry, "{key}");
        assert_eq!(found.source, Source::Server);
    }
    client.put(&names[0], &entries[1], MINUTE).await;
    assert_eq!(client.get(&names[0]).await.expect("stored").entry, entries[1]);
}

pub(crate) async fn entries_expire(backend: Backend) {
    // With copies in the process, which must not outlive the original.
    let settings = CacheSettings { memory_bytes: 1 << 20, local_time: MINUTE, ..patient(backend) };
    let watched = Watched::new(settings);
    let client = watched.cache.client();
    client.put(&key("long"), &entry("{}"), MINUTE).await;
    client.put(&key("longest"), &entry("{}"), Duration::from_hours(40 * 24)).await;
    client.put(&key("short"), &entry("{}"), Duration::from_secs(2)).await;
    let deadline = Instant::now() + PATIENCE;
    while client.get(&key("short")).await.is_some() {
        assert!(Instant::now() < deadline, "it lives on");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    // A client without copies, to see what the server says.
    let fresh = Watched::new(patient(watched.cache.settings().backend.clone()));
    let client = fresh.cache.client();
    assert_eq!(client.get(&key("long")).await.expect("alive").source, Source::Server);
    assert_eq!(client.get(&key("longest")).await.expect("alive").source, Source::Server);
    let deadline = Instant::now() + PATIENCE;
    while client.get(&key("short")).await.is_some() {
        assert!(Instant::now() < deadline, "it lives on");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

fn memory() -> Watched {
    Watched::new(CacheSettings::new(Backend::Memory))
}

#[tokio::test]
async fn memory_alone_is_a_cache() {
    let watched = memory();
    let client = watched.cache.client();
    assert_eq!(client.get(&key("k")).await, None);
    client.put(&key("k"), &entry("{}"), MINUTE).await;
    let found = client.get(&key("k")).await.expect("stored");
    assert_eq!((found.source, found.entry), (Source::Memory, entry("{}")));
    assert_eq!(
        watched.told(),
        [
            r#"{"name":"cacheMiss","event":{"key":"qlio:2:=k"}}"#,
            r#"{"name":"cacheNew","event":{"key":"qlio:2:=k","duration":60}}"#,
            r#"{"name":"cacheHit","event":{"key":"qlio:2:=k"}}"#,
        ]
    );
}

#[tokio::test]
async fn what_is_fetched_once_is_a_hit_for_the_next() {
    let watched = memory();
    let client = watched.cache.client();
    let fetch = async || Ok::<_, ()>(entry("{}"));
    let first = client.get_or_fetch(&key("k"), MINUTE, fetch).await.expect("fetched");
    let never = async || Err(());
    let second = client.get_or_fetch(&key("k"), MINUTE, never).await.expect("a hit");
    assert_eq!((first.source, second.source), (Source::Fetched, Source::Memory));
    assert!(!first.source.is_hit() && second.source.is_hit());
}

#[tokio::test]
async fn failures_and_large_bodies_are_not_stored() {
    let settings = CacheSettings { value_bytes_max: 10, ..CacheSettings::new(Backend::Memory) };
    let watched = Watched::new(settings);
    let client = watched.cache.client();
    let failing = async || Err::<Entry, _>("no");
    assert_eq!(client.get_or_fetch(&key("k"), MINUTE, failing).await, Err("no"));
    let unstored = entry("12345678901");
    let fetch = async || Ok::<_, ()>(unstored.clone());
    let found = client.get_or_fetch(&key("k"), MINUTE, fetch).await.expect("fetched");
    assert_eq!(found.entry, unstored);
    client.put(&key("k"), &unstored, MINUTE).await;
    assert_eq!(client.get(&key("k")).await, None);
    client.put(&key("k"), &entry("{}"), Duration::ZERO).await;
    assert_eq!(client.get(&key("k")).await, None);
    let told = watched.told();
    assert!(!told.iter().any(|message| message.contains("cacheNew")), "{told:?}");
    let large = "a body of 11 bytes is more than `maxValue`, 10";
    assert_eq!(told.iter().filter(|message| message.contains(large)).count(), 2, "{told:?}");
}

#[tokio::test]
async fn headers_that_are_too_large_are_not_stored() {
    let with_headers = |length: usize| {
        let value = HeaderValue::from_bytes(&vec![b'v'; length]).expect("a value");
        let headers = Arc::new(HeaderMap::from_iter([(header::SERVER, value)]));
        Entry { headers, ..entry("{}") }
    };
    let overhead = 64 + "server".len();
    let watched = memory();
    let client = watched.cache.client();
    client.put(&key("small"), &with_headers((256 << 10) - overhead), MINUTE).await;
    assert!(client.get(&key("small")).await.is_some());
    client.put(&key("large"), &with_headers((256 << 10) - overhead + 1), MINUTE).await;
    assert_eq!(client.get(&key("large")).await, None);
    let told = watched.told().concat();
    assert!(told.contains("headers of 262145 bytes is more than the limit, 262144"), "{told}");
}

#[tokio::test]
async fn an_answer_that_hooks_made_a_success_keeps_the_status_it_came_with() {
    let watched = memory();
    let client = watched.cache.client();
    let missing = Entry { status: StatusCode::NOT_FOUND, ..entry("[]") };
    let fetch = async || Ok::<_, ()>(missing.clone());
    client.get_or_fetch(&key("k"), MINUTE, fetch).await.expect("fetched");
    assert_eq!(client.get(&key("k")).await.expect("stored").entry, missing);
}

#[tokio::test]
async fn a_cache_that_is_not_started_only_says_so() {
    let watched = memory();
    let client = watched.cache.client();
    client.put(&key("k"), &entry("{}"), MINUTE).await;
    watched.cache.end();
    watched.told();
    let fetch = async || Ok::<_, ()>(entry("[]"));
    let found = client.get_or_fetch(&key("k"), MINUTE, fetch).await.expect("fetched");
    assert_eq!(found.entry, entry("[]"));
    assert_eq!(client.get(&key("k")).await, None);
    client.put(&key("k"), &entry("[]"), MINUTE).await;
    let told = watched.told();
    assert_eq!(told.len(), 3);
    let expected =
        r#"{"name":"cacheError","event":{"key":"qlio:2:=k","message":"Cache not started"}}"#;
    assert!(told.iter().all(|message| message == expected), "{told:?}");
    watched.cache.start();
    assert_eq!(client.get(&key("k")).await.expect("still there").entry, entry("{}"));
}

#[tokio::test]
async fn what_a_server_holds_is_copied_for_a_while() {
    let Some(server) = Running::start(CacheServer::Memcached) else { return };
    let backend = memcached(&server.address());
    let near = CacheSettings { memory_bytes: 1 << 20, local_time: MINUTE, ..patient(backend) };
    let writer = Watched::new(near.clone());
    let client = writer.cache.client();
    let fetch = async || Ok::<_, ()>(entry("{}"));
    let fetched = client.get_or_fetch(&key("k"), MINUTE, fetch).await.expect("fetched");
    assert_eq!(fetched.source, Source::Fetched);
    writer.hears("cacheNew").await;
    assert_eq!(client.get(&key("k")).await.expect("a copy").source, Source::Memory);
    let reader = Watched::new(near);
    let client = reader.cache.client();
    assert_eq!(client.get(&key("k")).await.expect("stored").source, Source::Server);
    assert_eq!(client.get(&key("k")).await.expect("a copy").source, Source::Memory);
}

#[test]
fn the_start_shows_the_settings() {
    let events = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    let ear = std::sync::Arc::clone(&events);
    let sink = std::sync::Arc::new(move |event: &qlio_engine::cache::CacheEvent| {
        ear.lock().expect("events").push(event.message());
    });
    let cache = Cache::new(CacheSettings::new(Backend::Memory), sink).expect("good settings");
    cache.start();
    cache.start();
    cache.end();
    cache.end();
    let expected = [
        r#"{"name":"cacheStart","event":{"opts":{"impl":"memory","maxBytes":67108864,"maxValue":10240000}}}"#,
        r#"{"name":"cacheEnd","event":{}}"#,
    ];
    assert_eq!(*events.lock().expect("events"), expected);
}
