//! The response cache that settings describe.

use std::time::Duration;

use qlio_engine::cache::{Backend, CacheConfigError, CacheSettings};

use super::{setting::Draft, slot::CacheKind};

/// Most servers of one cache.
const SERVERS_MAX: usize = 256;

/// The cache; without `cache.impl` there is none.
pub(super) fn read(draft: &Draft) -> Result<Option<CacheSettings>, CacheConfigError> {
    let cache = &draft.cache;
    let servers = || -> Result<Vec<String>, String> {
        let servers: Vec<String> =
            cache.servers.iter().map(|server| server.trim().to_owned()).collect();
        match servers.len() {
            0 => Err("`options` must name a server, `host:port`".to_owned()),
            count if count > SERVERS_MAX => Err(format!("more than {SERVERS_MAX} servers")),
            _ if servers.iter().any(String::is_empty) => {
                Err("the address of a server is empty".to_owned())
            }
            _ => Ok(servers),
        }
    };
    let backend = match cache.kind {
        CacheKind::None => return Ok(None),
        CacheKind::Memory => Backend::Memory,
        CacheKind::Memcached => {
            let fail = |reason| CacheConfigError::new("memcached", reason);
            let servers = servers().map_err(fail)?;
            if let Some(server) = servers.iter().find(|server| !is_host_and_port(server)) {
                return Err(fail(format!("`{server}` is not `host:port`")));
            }
            Backend::Memcached { servers }
        }
        CacheKind::Redis => {
            let servers = servers().map_err(|reason| CacheConfigError::new("redis", reason))?;
            Backend::Redis { servers, is_cluster: cache.is_cluster }
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
