//! Redis behind TLS.

use qlio_engine::cache::{Backend, CacheSettings};
use qlio_engine::transport::TlsSettings;
use qlio_testkit::program::{Authority, CacheServer, Running};

use crate::support::{MINUTE, Watched, entry, key, patient};

fn secure(server: &Running<CacheServer>, tls: TlsSettings) -> CacheSettings {
    let servers = vec![format!("rediss://localhost:{}", server.port())];
    CacheSettings { tls, ..patient(Backend::Redis { servers, is_cluster: false }) }
}

#[tokio::test]
async fn a_trusted_server_keeps_entries_and_a_stranger_gets_none() {
    let authority = Authority::new();
    let program = CacheServer::RedisOverTls(authority.issue("localhost"));
    let Some(mut server) = Running::start(program) else { return };
    let tls = TlsSettings { ca_file: Some(authority.file()), ..TlsSettings::default() };
    let settings = secure(&server, tls);
    let watched = Watched::new(settings.clone());
    let client = watched.cache.client();
    let large = entry(vec![b'x'; 3_000_000]);
    for entry in [entry("{}"), large] {
        client.put(&key("k"), &entry, MINUTE).await;
        let found = client.get(&key("k")).await.unwrap_or_else(|| panic!("{:?}", watched.told()));
        assert!(found.entry == entry);
    }
    // The idle connection is dead, the next operation is not.
    server.restart();
    client.put(&key("k"), &entry("[]"), MINUTE).await;
    assert_eq!(client.get(&key("k")).await.expect("stored").entry, entry("[]"));
    let stranger = Watched::new(secure(&server, TlsSettings::default()));
    assert_eq!(stranger.cache.client().get(&key("k")).await, None);
    let told = stranger.told().concat();
    assert!(told.contains("certificate"), "{told}");
}

#[tokio::test]
async fn all_that_every_server_does_is_done_over_tls_too() {
    let authority = Authority::new();
    let program = CacheServer::RedisOverTls(authority.issue("localhost"));
    let Some(server) = Running::start(program) else { return };
    let settings = secure(
        &server,
        TlsSettings { insecure_hosts: vec!["localhost".to_owned()], ..TlsSettings::default() },
    );
    crate::layers::entries_come_back_with(settings).await;
}
