//! The response cache that settings describe.

use std::time::Duration;

use qlio_engine::cache::{Backend, CacheConfigError, CacheSettings};

use super::{setting::Draft, slot::CacheKind};

/// Most servers of one cache.
const SERVERS_MAX: usize = 256;

/// The cache; without `cache.impl` there is none.
pub(super) fn read(draft: &Draft) -> Result<Option<CacheSettings>, CacheConfigError> {
    let cache = &draft.cache;
    let servers = |implementation| {
        let servers: Vec<String> =
            cache.servers.iter().map(|server| server.trim().to_owned()).collect();
        let reason = match servers.len() {
            0 => "`options` must name a server, `host:port`".to_owned(),
            count if count > SERVERS_MAX => format!("more than {SERVERS_MAX} servers"),
            _ if servers.iter().any(String::is_empty) => {
                "the address of a server is empty".to_owned()
            }
            _ => return Ok(servers),
        };
        Err(CacheConfigError::new(implementation, reason))
    };
    let backend = match cache.kind {
        CacheKind::None => return Ok(None),
        CacheKind::Memory => Backend::Memory,
        CacheKind::Memcached => {
            let servers = servers("memcached")?;
            if let Some(server) = servers.iter().find(|server| !is_host_and_port(server)) {
                let reason = format!("`{server}` is not `host:port`");
                return Err(CacheConfigError::new("memcached", reason));
            }
            Backend::Memcached { servers }
        }
        CacheKind::Redis => {
            Backend::Redis { servers: servers("redis")?, is_cluster: cache.is_cluster }
        }
    };
    let memory_bytes =
        if backend == Backend::Memory { cache.memory_bytes } else { cache.local_bytes };
    Ok(Some(CacheSettings {
        backend,
        memory_bytes,
        local_time: Duration::from_secs(cache.local_seconds),
        tls: draft.transport.tls.clone(),
        ..cache.common.clone()
    }))
}

fn is_host_and_port(server: &str) -> bool {
    server.rsplit_once(':').is_some_and(|(host, port)| {
        !host.is_empty() && port.parse::<u16>().is_ok_and(|port| port > 0)
    })
}
