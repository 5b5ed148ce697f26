//! memcached: names, slices, collisions, and what every shared tier must do.

use std::time::Instant;

use md5::{Digest, Md5};
use qlio_engine::cache::{CacheKey, Source};
use qlio_testkit::program::{CacheServer, Running};

use crate::support::{MINUTE, PATIENCE, Watched, entry, key, memcached, patient};

fn stored_name(key: &CacheKey) -> String {
    format!("{:032x}", u128::from_be_bytes(Md5::digest(key.as_str()).into()))
}

/// The names of all that the server holds.
fn names(server: &Running<CacheServer>) -> Vec<String> {
    let dump = server.raw(b"lru_crawler metadump all\r\n", b"END\r\n");
    let dump = String::from_utf8(dump).expect("text");
    let names = dump.lines().filter_map(|line| line.strip_prefix("key=")?.split(' ').next());
    names.map(str::to_owned).collect()
}

/// The names of all that the server holds, which is so many items: asked again until all are listed,
/// as the server passes over an item that it is just moving between its lists.
fn names_of(server: &Running<CacheServer>, count: usize) -> Vec<String> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let names = names(server);
        if names.len() == count {
            return names;
        }
        assert!(Instant::now() < deadline, "{count} expected: {names:?}");
    }
}

#[tokio::test]
async fn entries_come_back_as_they_were() {
    let Some(server) = Running::start(CacheServer::Memcached) else { return };
    crate::layers::entries_come_back(memcached(&server.address())).await;
}

#[tokio::test]
async fn an_entry_is_gone_after_its_time() {
    let Some(server) = Running::start(CacheServer::Memcached) else { return };
    crate::layers::entries_expire(memcached(&server.address())).await;
}

#[tokio::test]
async fn a_server_that_comes_back_is_used_again() {
    let Some(server) = Running::start(CacheServer::Memcached) else { return };
    let backend = memcached(&server.address());
    crate::faults::killed_and_restarted(server, backend).await;
}

#[tokio::test]
async fn the_stored_name_is_the_md5_of_the_key() {
    let Some(server) = Running::start(CacheServer::Memcached) else { return };
    let watched = Watched::new(patient(memcached(&server.address())));
    let key = key("spring tide\r\nflush_all\r\n");
    watched.cache.client().put(&key, &entry("{}"), MINUTE).await;
    assert_eq!(names_of(&server, 1), [stored_name(&key)]);
}

#[tokio::test]
async fn an_entry_of_another_key_under_the_same_name_is_a_miss() {
    let Some(server) = Running::start(CacheServer::Memcached) else { return };
    let watched = Watched::new(patient(memcached(&server.address())));
    let client = watched.cache.client();
    let (own, other) = (key("own"), key("other"));
    client.put(&other, &entry("{}"), MINUTE).await;
    let get = format!("get {}\r\n", stored_name(&other));
    let answer = server.raw(get.as_bytes(), b"END\r\n");
    let head = answer.iter().position(|byte| *byte == b'\n').expect("a line") + 1;
    let record = &answer[head..answer.len() - "\r\nEND\r\n".len()];
    let mut set = format!("set {} 0 60 {}\r\n", stored_name(&own), record.len()).into_bytes();
    set.extend_from_slice(record);
    set.extend_from_slice(b"\r\n");
    assert_eq!(server.raw(&set, b"\r\n"), b"STORED\r\n");
    watched.told();
    assert_eq!(client.get(&own).await, None);
    assert_eq!(
        watched.told(),
        [
            r#"{"name":"cacheMiss","event":{"key":"qlio:2:=own","error":"unexpected result - md5 collusion"}}"#
        ]
    );
    assert!(client.get(&other).await.is_some());
}

#[tokio::test]
async fn a_record_of_another_version_is_a_miss_and_is_written_over() {
    let Some(server) = Running::start(CacheServer::Memcached) else { return };
    let watched = Watched::new(patient(memcached(&server.address())));
    let client = watched.cache.client();
    let set = format!("set {} 0 60 20\r\nqlioR1..............\r\n", stored_name(&key("old")));
    assert_eq!(server.raw(set.as_bytes(), b"\r\n"), b"STORED\r\n");
    assert_eq!(client.get(&key("old")).await, None);
    let told = watched.told().concat();
    assert!(told.contains("a cache record of another version"), "{told}");
    client.put(&key("old"), &entry("{}"), MINUTE).await;
    assert_eq!(client.get(&key("old")).await.expect("stored").entry, entry("{}"));
}

#[tokio::test]
async fn a_large_value_is_cut_in_bytes_and_is_nothing_without_one_of_its_slices() {
    let Some(server) = Running::start(CacheServer::Memcached) else { return };
    let watched = Watched::new(patient(memcached(&server.address())));
    let client = watched.cache.client();
    let key = key(&"k".repeat(200 - "qlio:2:=".len()));
    // Two bytes a character: counted in characters, the slices would be too large for the server.
    let large = entry("é".repeat(1_250_000));
    client.put(&key, &large, MINUTE).await;
    let found = client.get(&key).await.expect("stored");
    assert_eq!((found.source, found.entry == large), (Source::Server, true));
    let record = stored_name(&key);
    let names = names_of(&server, 4);
    let slice = names.iter().find(|name| **name != record).expect("slices");
    let delete = format!("delete {slice}\r\n");
    assert_eq!(server.raw(delete.as_bytes(), b"\r\n"), b"DELETED\r\n");
    watched.told();
    assert_eq!(client.get(&key).await, None);
    let told = watched.told().concat();
    assert!(told.contains("a slice is missing"), "{told}");
}

#[tokio::test]
async fn readers_never_see_two_generations_in_one_value() {
    let Some(server) = Running::start(CacheServer::Memcached) else { return };
    let watched = Watched::new(patient(memcached(&server.address())));
    let key = key("tides");
    let generations = [b'a', b'b'].map(|letter| entry(vec![letter; 3_000_000]));
    watched.cache.client().put(&key, &generations[0], MINUTE).await;
    let writers: Vec<_> = generations
        .iter()
        .map(|generation| {
            let (cache, key, generation) = (watched.cache.clone(), key.clone(), generation.clone());
            on_a_thread(async move || {
                let client = cache.client();
                for _ in 0..8 {
                    client.put(&key, &generation, MINUTE).await;
                }
            })
        })
        .collect();
    let client = watched.cache.client();
    let deadline = Instant::now() + PATIENCE;
    let mut hits = 0;
    while hits < 5 || writers.iter().any(|writer| !writer.is_finished()) {
        assert!(Instant::now() < deadline, "{hits} hits, {:?}", watched.told());
        if let Some(found) = client.get(&key).await {
            assert!(generations.contains(&found.entry), "a mixture");
            hits += 1;
        }
    }
    for writer in writers {
        writer.join().expect("no panic");
    }
}

fn on_a_thread(task: impl AsyncFnOnce() + Send + 'static) -> std::thread::JoinHandle<()> {
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.expect("a runtime").block_on(task());
    })
}

#[tokio::test]
async fn a_value_that_the_server_refuses_is_reported_and_the_server_stays_in_use() {
    let Some(server) = Running::start(CacheServer::Memcached) else { return };
    let watched = Watched::new(patient(memcached(&server.address())));
    let client = watched.cache.client();
    let long = key(&"k".repeat(1_030_000));
    for _ in 0..5 {
        client.put(&long, &entry("{}"), MINUTE).await;
    }
    let told = watched.told();
    assert_eq!(told.len(), 5);
    assert!(told.iter().all(|message| message.contains("key is too large")));
    client.put(&key("short"), &entry("{}"), MINUTE).await;
    assert!(client.get(&key("short")).await.is_some());
}

#[tokio::test]
async fn statistics_are_a_heartbeat() {
    let Some(server) = Running::start(CacheServer::Memcached) else { return };
    let watched = Watched::new(patient(memcached(&server.address())));
    watched.cache.client().heartbeat().await;
    let told = watched.told().concat();
    assert!(
        told.starts_with(r#"{"name":"cacheHeartBeat","event":{"data":[{"server":"memcached 127"#)
    );
    assert!(told.contains(r#""curr_items":"0""#), "{told}");
}
