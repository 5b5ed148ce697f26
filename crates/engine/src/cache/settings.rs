//! What a response cache is made of (`docs/reference/cache.md`).

use std::{num::NonZeroU64, time::Duration};

use qlio_data::{Object, Text, Value, codec::json};

use crate::transport::TlsSettings;

/// Memory of the cache inside the process when it is the only tier.
const MEMORY_BYTES: u64 = 64 << 20;

/// Memory for copies of what a shared tier holds.
const LOCAL_BYTES: u64 = 32 << 20;

/// Where entries are kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Backend {
    /// In this process only.
    Memory,
    /// On memcached servers; keys are spread over them.
    Memcached {
        /// Each as `host:port`.
        servers: Vec<String>,
    },
    /// On Redis or Valkey servers; keys are spread over them, or the servers are a cluster.
    Redis {
        /// Each as `host:port` or `redis://[user:password@]host[:port][/database]`; `rediss://` for
        /// TLS, which a cluster cannot have.
        servers: Vec<String>,
        /// The servers are seeds of one cluster, which spreads the keys itself.
        is_cluster: bool,
    },
}

/// Everything that a cache is made of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CacheSettings {
    /// Where entries are kept.
    pub backend: Backend,
    /// How long a server may take to answer a get before it counts as a miss (`timeoutMs`, default
    /// 50 ms). A put may take as long for each megabyte.
    pub timeout: Duration,
    /// Most bytes of one body (`maxValue`, default 10,240,000); larger answers are not cached.
    pub value_bytes_max: usize,
    /// Most operations in flight, of all threads together (`poolSize`, default 100).
    pub pool_size: usize,
    /// Bytes of the tier inside the process (`maxBytes`, default 64 MiB for `memory`; `localBytes`,
    /// default 32 MiB, 0 for none, in front of servers).
    pub memory_bytes: u64,
    /// How long the process may use a copy without asking its server again (`localSeconds`, default
    /// 5 s). Of no effect for `memory`.
    pub local_time: Duration,
    /// How long one waits for another one's fetch of the same key before fetching too
    /// (`sharedWaitMs`, default 10 s).
    pub shared_wait: Duration,
    /// The first pause after a server has failed several times (`retryMs`, default 1 s); it doubles
    /// up to sixteen times as long while the server stays silent.
    pub retry_pause: Duration,
    /// How often the servers' statistics are told (`heartbeatMs`, default 300 s).
    pub heartbeat: Duration,
    /// Certificates and keys for servers behind TLS; not part of `cache` but the same as for
    /// upstreams.
    pub tls: TlsSettings,
}

impl CacheSettings {
    /// The defaults with `backend`.
    pub fn new(backend: Backend) -> Self {
        let memory_bytes = if backend == Backend::Memory { MEMORY_BYTES } else { LOCAL_BYTES };
        Self {
            backend,
            timeout: Duration::from_millis(50),
            value_bytes_max: 10_240_000,
            pool_size: 100,
            memory_bytes,
            local_time: Duration::from_secs(5),
            shared_wait: Duration::from_secs(10),
            retry_pause: Duration::from_secs(1),
            heartbeat: Duration::from_mins(5),
            tls: TlsSettings::default(),
        }
    }

    /// The bytes of the tier inside the process, if there is one.
    pub(super) fn memory(&self) -> Option<NonZeroU64> {
        let is_useful = self.backend == Backend::Memory || !self.local_time.is_zero();
        NonZeroU64::new(self.memory_bytes).filter(|_| is_useful)
    }

    /// What the start event shows; credentials are left out.
    pub fn shown(&self) -> Value {
        let text = |text: &str| Value::String(Text::from(text));
        let number = |number: u64| Value::from(number);
        let millis = |time: Duration| number(u64::try_from(time.as_millis()).unwrap_or(u64::MAX));
        let mut shown = Object::new();
        let (name, servers) = match &self.backend {
            Backend::Memory => ("memory", &[][..]),
            Backend::Memcached { servers } => ("memcached", &servers[..]),
            Backend::Redis { servers, .. } => ("redis", &servers[..]),
        };
        shown.insert("impl", text(name));
        if self.backend == Backend::Memory {
            shown.insert("maxBytes", number(self.memory_bytes));
        } else {
            let servers = servers.iter().map(|server| text(without_credentials(server))).collect();
            shown.insert("servers", Value::array(servers));
            shown.insert("poolSize", number(self.pool_size as u64));
            shown.insert("timeoutMs", millis(self.timeout));
            shown.insert("localBytes", number(self.memory_bytes));
            shown.insert("localSeconds", number(self.local_time.as_secs()));
        }
        shown.insert("maxValue", number(self.value_bytes_max as u64));
        Value::object(shown)
    }
}

/// Settings that describe no usable cache.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CacheConfigError {
    implementation: &'static str,
    reason: String,
}

impl CacheConfigError {
    /// What is wrong with a cache of this kind.
    pub fn new(implementation: &'static str, reason: String) -> Self {
        Self { implementation, reason }
    }
}

impl std::fmt::Display for CacheConfigError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut detail = Object::new();
        detail.insert("impl", Value::from(self.implementation));
        detail.insert("message", Value::String(Text::from(self.reason.as_str())));
        write!(f, "Unable to attach to Cache: {}", json::to_string(&Value::object(detail)))
    }
}

impl std::error::Error for CacheConfigError {}

/// A server address without what stands before `@`.
pub(super) fn without_credentials(server: &str) -> &str {
    server.rsplit_once('@').map_or(server, |(_, address)| address)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_shown_holds_no_password() {
        let servers = vec!["redis://u:secret@h:1/2".to_owned()];
        let settings = CacheSettings::new(Backend::Redis { servers, is_cluster: false });
        let shown = json::to_string(&settings.shown());
        assert!(shown.contains(r#""servers":["h:1/2"]"#), "{shown}");
        assert!(!shown.contains("secret"), "{shown}");
    }
}
