//! Servers that are not there, die, say nothing or talk nonsense: bounded, reported, forgotten
//! (CAC-7).

use std::time::{Duration, Instant};

use qlio_engine::cache::{Backend, CacheSettings, Source};
use qlio_testkit::program::{CacheServer, Running, free_port};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
};

use crate::support::{MINUTE, PATIENCE, Watched, entry, key, memcached, patient, redis};

fn both(address: &str) -> [Backend; 2] {
    [memcached(address), redis(address)]
}

/// Fails fast, and once failed stays away for good.
fn impatient(backend: Backend) -> CacheSettings {
    CacheSettings {
        timeout: Duration::from_millis(50),
        retry_pause: Duration::from_mins(10),
        memory_bytes: 1 << 20,
        ..CacheSettings::new(backend)
    }
}

/// Asks once; the request must be made and answered. Returns what was told up to the failed put.
async fn asks(watched: &Watched) -> Vec<String> {
    let fetch = async || Ok::<_, ()>(entry("{}"));
    let found = watched.cache.client().get_or_fetch(&key("k"), MINUTE, fetch).await;
    assert_eq!(found.expect("fetched").source, Source::Fetched);
    watched.hears("cacheError\",\"event\":{\"key\"").await;
    watched.told()
}

pub(crate) async fn killed_and_restarted(mut server: Running<CacheServer>, backend: Backend) {
    let watched = Watched::new(patient(backend));
    let client = watched.cache.client();
    client.put(&key("k"), &entry("before"), MINUTE).await;
    assert!(client.get(&key("k")).await.is_some());
    watched.told();
    // Often enough to open the circuit.
    server.kill();
    for _ in 0..5 {
        assert_eq!(client.get(&key("k")).await, None);
        client.put(&key("k"), &entry("lost"), MINUTE).await;
    }
    let told = watched.told();
    assert!(told.iter().any(|message| message.contains("not asked for 20 ms")), "{told:?}");
    server.restart();
    let deadline = Instant::now() + PATIENCE;
    while client.get(&key("k")).await.is_none() {
        assert!(Instant::now() < deadline, "not used again: {:?}", watched.told());
        client.put(&key("k"), &entry("after"), MINUTE).await;
    }
    watched.hears("answers again").await;
    assert_eq!(client.get(&key("k")).await.expect("stored").entry, entry("after"));
    // Killed without anybody noticing: the idle connection is dead, the next operation is not.
    server.restart();
    watched.told();
    client.put(&key("k"), &entry("again"), MINUTE).await;
    assert_eq!(client.get(&key("k")).await.expect("stored").entry, entry("again"));
    assert_eq!(watched.told().len(), 2, "one new, one hit");
}

#[tokio::test]
async fn without_a_server_every_request_is_made_and_every_step_is_told() {
    let address = format!("127.0.0.1:{}", free_port());
    for backend in both(&address) {
        let watched = Watched::new(impatient(backend));
        let told = asks(&watched).await;
        assert!(told[0].starts_with(r#"{"name":"cacheError","event":{"message":"#), "{told:?}");
        assert!(told[1].starts_with(r#"{"name":"cacheMiss","event":{"key":"#), "{told:?}");
        assert!(told[1].contains(r#""error":"#), "{told:?}");
        let mut told = Vec::new();
        for _ in 0..5 {
            told.extend(asks(&watched).await);
        }
        assert!(told.iter().any(|message| message.contains("not asked for 600000 ms")), "{told:?}");
        assert!(told.iter().any(|message| message.contains("not asked after")), "{told:?}");
    }
}

#[tokio::test]
async fn a_silent_server_costs_its_timeout_a_few_times_and_then_nothing() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address").to_string();
    for backend in both(&address) {
        let watched = Watched::new(impatient(backend));
        let client = watched.cache.client();
        let before = Instant::now();
        for _ in 0..3 {
            assert_eq!(client.get(&key("k")).await, None);
        }
        let waited = before.elapsed();
        assert!(waited >= Duration::from_millis(100), "the circuit opened too soon: {waited:?}");
        assert!(waited < PATIENCE, "{waited:?}");
        watched.hears("not asked for").await;
        watched.told();
        for _ in 0..100 {
            assert_eq!(client.get(&key("k")).await, None);
        }
        let told = watched.told();
        assert_eq!(told.len(), 100, "only misses: {:?}", told.first());
        assert!(told.iter().all(|message| message.contains("not asked after")));
    }
}

#[tokio::test]
async fn nonsense_is_a_miss_and_never_more() {
    let nonsense: [&'static [u8]; 6] = [
        b"HTTP/1.1 400 Bad Request\r\n\r\n",
        b"VALUE x 0 18446744073709551615\r\n",
        b"$99999999999\r\n",
        b"*2147483647\r\n",
        b"\x00\xff\x00\xff\r\n\r\n",
        b"",
    ];
    for answer in nonsense {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address").to_string();
        let speaker = tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let mut request = [0; 1024];
                let _ = stream.read(&mut request).await;
                let _ = stream.write_all(answer).await;
            }
        });
        for backend in both(&address) {
            let watched = Watched::new(impatient(backend));
            let before = Instant::now();
            let mut told = String::new();
            for _ in 0..5 {
                told.push_str(&asks(&watched).await.concat());
            }
            assert!(before.elapsed() < PATIENCE);
            assert!(told.contains(r#""error":"#), "{}: {told}", answer.escape_ascii());
        }
        speaker.abort();
    }
}

#[tokio::test]
async fn one_dead_server_of_two_costs_only_its_own_keys() {
    let Some(server) = Running::start(CacheServer::Memcached) else { return };
    let servers = vec![server.address().to_string(), format!("127.0.0.1:{}", free_port())];
    let watched = Watched::new(patient(Backend::Memcached { servers }));
    let client = watched.cache.client();
    let mut kept = 0;
    for number in 0..40 {
        let key = key(&format!("key {number}"));
        client.put(&key, &entry("{}"), MINUTE).await;
        kept += usize::from(client.get(&key).await.is_some());
    }
    assert!((5..=35).contains(&kept), "{kept} of 40");
}

#[tokio::test]
async fn a_heartbeat_of_a_dead_server_is_an_error_and_an_empty_list() {
    let watched = Watched::new(impatient(memcached(&format!("127.0.0.1:{}", free_port()))));
    watched.cache.client().heartbeat().await;
    let told = watched.told();
    assert!(told[0].starts_with(r#"{"name":"cacheError""#), "{told:?}");
    assert_eq!(told[1], r#"{"name":"cacheHeartBeat","event":{"data":[]}}"#);
}
