//! Redis, on its own and as a cluster.

use std::time::Duration;

use qlio_engine::cache::{Backend, CacheSettings};
use qlio_testkit::program::{CacheServer, Running};

use crate::support::{MINUTE, Watched, entry, key, patient, redis};

#[tokio::test]
async fn entries_come_back_as_they_were() {
    let Some(server) = Running::start(CacheServer::Redis) else { return };
    crate::layers::entries_come_back(redis(&server.address())).await;
}

#[tokio::test]
async fn an_entry_is_gone_after_its_time() {
    let Some(server) = Running::start(CacheServer::Redis) else { return };
    crate::layers::entries_expire(redis(&server.address())).await;
}

#[tokio::test]
async fn a_server_that_comes_back_is_used_again() {
    let Some(server) = Running::start(CacheServer::Redis) else { return };
    let backend = redis(&server.address());
    crate::faults::killed_and_restarted(server, backend).await;
}

#[tokio::test]
async fn a_cluster_is_one_server() {
    let Some(server) = Running::start(CacheServer::RedisCluster) else { return };
    let backend = Backend::Redis { servers: vec![server.address().to_string()], is_cluster: true };
    crate::layers::entries_come_back(backend.clone()).await;
    let watched = Watched::new(patient(backend));
    watched.cache.client().heartbeat().await;
    let told = watched.told().concat();
    assert!(told.contains(r#""keys":"#), "{told}");
}

#[tokio::test]
async fn an_entry_of_another_key_under_the_same_name_is_a_miss() {
    let Some(server) = Running::start(CacheServer::Redis) else { return };
    let watched = Watched::new(patient(redis(&server.address())));
    let client = watched.cache.client();
    client.put(&key("other"), &entry("{}"), MINUTE).await;
    assert_eq!(server.raw(b"RENAME qlio:2:=other qlio:2:=own\r\n", b"\r\n"), b"+OK\r\n");
    watched.told();
    assert_eq!(client.get(&key("own")).await, None);
    let told = watched.told().concat();
    assert!(told.contains("unexpected result - md5 collusion"), "{told}");
}

#[tokio::test]
async fn what_somebody_else_stored_is_a_miss_and_no_trouble() {
    let Some(server) = Running::start(CacheServer::Redis) else { return };
    let watched = Watched::new(patient(redis(&server.address())));
    let client = watched.cache.client();
    server.raw(b"SET qlio:2:=text hello\r\n", b"\r\n");
    server.raw(b"LPUSH qlio:2:=list hello\r\n", b"\r\n");
    for _ in 0..5 {
        assert_eq!(client.get(&key("text")).await, None);
        assert_eq!(client.get(&key("list")).await, None);
    }
    let told = watched.told();
    assert!(told[0].contains("not a cache record"), "{told:?}");
    assert!(told[1].contains("WRONGTYPE"), "{told:?}");
    assert_eq!(told.len(), 10, "no pause: {told:?}");
}

#[tokio::test]
async fn a_record_of_another_version_is_a_miss_and_is_written_over() {
    let Some(server) = Running::start(CacheServer::Redis) else { return };
    let watched = Watched::new(patient(redis(&server.address())));
    let client = watched.cache.client();
    server.raw(b"SET qlio:2:=old qlioR1........................\r\n", b"\r\n");
    for _ in 0..5 {
        assert_eq!(client.get(&key("old")).await, None);
    }
    let told = watched.told();
    assert!(told[0].contains("a cache record of another version"), "{told:?}");
    assert_eq!(told.len(), 5, "no pause: {told:?}");
    client.put(&key("old"), &entry("{}"), MINUTE).await;
    assert_eq!(client.get(&key("old")).await.expect("stored").entry, entry("{}"));
}

#[tokio::test]
async fn a_wrong_password_is_trouble_and_never_shown() {
    let Some(server) = Running::start(CacheServer::Redis) else { return };
    server.raw(b"CONFIG SET requirepass right\r\n", b"\r\n");
    let address = |password| format!("redis://:{password}@{}", server.address());
    let settings = |password| CacheSettings {
        retry_pause: Duration::from_mins(10),
        ..patient(redis(&address(password)))
    };
    let wrong = Watched::new(settings("secret"));
    let client = wrong.cache.client();
    for _ in 0..4 {
        assert_eq!(client.get(&key("k")).await, None);
    }
    let told = wrong.told().concat();
    assert!(told.contains("not asked after repeated failures"), "{told}");
    assert!(!told.contains("secret"), "{told}");
    let right = Watched::new(settings("right"));
    let client = right.cache.client();
    client.put(&key("k"), &entry("{}"), MINUTE).await;
    assert!(client.get(&key("k")).await.is_some());
}
