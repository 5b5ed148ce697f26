//! The `cache` member of the configuration (`connectors.md` 6.1, 6.5; `docs/reference/cache.md`).

use std::{num::NonZeroU64, time::Duration};

use qlio_data::{Object, Text, Value, codec::json};

use crate::transport::TlsSettings;

/// Most servers of one cache.
const SERVERS_MAX: usize = 256;

/// Largest value that any setting may allow.
const VALUE_BYTES_LIMIT: usize = 256 << 20;

/// Most operations in flight that any setting may allow.
const POOL_LIMIT: usize = 10_000;

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

    /// Reads `config.cache`. Without it there is no cache. A value of the wrong kind keeps the
    /// default and is reported.
    ///
    /// # Errors
    /// A cache that cannot be made; the process runs without one.
    pub fn from_config(config: &Value) -> Result<Option<(Self, Vec<String>)>, CacheConfigError> {
        let cache = config.member("cache");
        if cache.is_nothing() {
            return Ok(None);
        }
        let implementation = cache.member("impl");
        let options = cache.member("options");
        let fail =
            |reason: String| CacheConfigError { implementation: implementation.clone(), reason };
        let tuning = options.member("options");
        let is_cluster = [&tuning, &options].iter().any(|from| from.member("cluster").is_truthy());
        let backend = match implementation.as_str() {
            Some("memory") => Backend::Memory,
            Some("memcached") => {
                let servers = servers(&options).map_err(fail)?;
                if let Some(server) = servers.iter().find(|server| !is_host_and_port(server)) {
                    return Err(fail(format!("`{server}` is not `host:port`")));
                }
                Backend::Memcached { servers }
            }
            Some("redis" | "valkey") => {
                Backend::Redis { servers: servers(&options).map_err(fail)?, is_cluster }
            }
            _ => {
                return Err(fail(
                    "`impl` must be one of `memory`, `memcached`, `redis`".to_owned(),
                ));
            }
        };
        let mut settings = Self::new(backend);
        let mut reader = Reader { places: [&tuning, &options, &cache], problems: Vec::new() };
        settings.read(&mut reader);
        Ok(Some((settings, reader.problems)))
    }

    fn read(&mut self, reader: &mut Reader<'_>) {
        let milliseconds = |time: &mut Duration, reader: &mut Reader<'_>, name| {
            if let Some(number) = reader.count(name, 1, u64::from(u32::MAX)) {
                *time = Duration::from_millis(number);
            }
        };
        milliseconds(&mut self.timeout, reader, "timeoutMs");
        milliseconds(&mut self.shared_wait, reader, "sharedWaitMs");
        milliseconds(&mut self.retry_pause, reader, "retryMs");
        milliseconds(&mut self.heartbeat, reader, "heartbeatMs");
        if let Some(bytes) = reader.count("maxValue", 1, VALUE_BYTES_LIMIT as u64) {
            self.value_bytes_max = bytes as usize;
        }
        if let Some(size) = reader.count("poolSize", 1, POOL_LIMIT as u64) {
            self.pool_size = size as usize;
        }
        let (name, least) =
            if self.backend == Backend::Memory { ("maxBytes", 1) } else { ("localBytes", 0) };
        if let Some(bytes) = reader.count(name, least, u64::from(u32::MAX) << 8) {
            self.memory_bytes = bytes;
        }
        if let Some(seconds) = reader.count("localSeconds", 0, u64::from(u32::MAX)) {
            self.local_time = Duration::from_secs(seconds);
        }
    }

    /// The bytes of the tier inside the process, if there is one.
    pub(super) fn memory(&self) -> Option<NonZeroU64> {
        let is_useful = self.backend == Backend::Memory || !self.local_time.is_zero();
        NonZeroU64::new(self.memory_bytes).filter(|_| is_useful)
    }

    /// What the start event shows; credentials are left out.
    pub(super) fn shown(&self) -> Value {
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

/// A `cache` member that names no usable cache.
#[derive(Debug, Clone, PartialEq)]
pub struct CacheConfigError {
    implementation: Value,
    reason: String,
}

impl CacheConfigError {
    pub(super) fn new(implementation: &str, reason: String) -> Self {
        Self { implementation: Value::String(Text::from(implementation)), reason }
    }
}

impl std::fmt::Display for CacheConfigError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut detail = Object::new();
        detail.insert("impl", self.implementation.clone());
        detail.insert("message", Value::String(Text::from(self.reason.as_str())));
        write!(f, "Unable to attach to Cache: {}", json::to_string(&Value::object(detail)))
    }
}

impl std::error::Error for CacheConfigError {}

/// A server address without what stands before `@`.
pub(super) fn without_credentials(server: &str) -> &str {
    server.rsplit_once('@').map_or(server, |(_, address)| address)
}

/// Text, a list of texts, or either as `config` of an object.
fn servers(options: &Value) -> Result<Vec<String>, String> {
    let nested = options.member("config");
    let given = if nested.is_nothing() { options } else { &nested };
    let servers: Vec<String> = match (given.as_str(), given.elements()) {
        (Some(server), _) => vec![server.trim().to_owned()],
        (None, Some(list)) => list
            .iter()
            .map(|server| server.as_str().map(|server| server.trim().to_owned()))
            .collect::<Option<_>>()
            .ok_or("servers must be texts")?,
        (None, None) => return Err("`options` must name a server, `host:port`".to_owned()),
    };
    match servers.len() {
        0 => Err("`options` must name a server, `host:port`".to_owned()),
        count if count > SERVERS_MAX => Err(format!("more than {SERVERS_MAX} servers")),
        _ if servers.iter().any(String::is_empty) => {
            Err("the address of a server is empty".to_owned())
        }
        _ => Ok(servers),
    }
}

fn is_host_and_port(server: &str) -> bool {
    server.rsplit_once(':').is_some_and(|(host, port)| {
        !host.is_empty() && port.parse::<u16>().is_ok_and(|port| port > 0)
    })
}

/// Reads numbers from the first place that has them.
struct Reader<'a> {
    places: [&'a Value; 3],
    problems: Vec<String>,
}

impl Reader<'_> {
    fn count(&mut self, name: &str, least: u64, most: u64) -> Option<u64> {
        let value =
            self.places.iter().map(|place| place.member(name)).find(|value| !value.is_nothing())?;
        let number = match &value {
            Value::Number(number) => number.as_i64().and_then(|number| u64::try_from(number).ok()),
            Value::String(text) => text.trim().parse().ok(),
            _ => None,
        };
        let number = number.filter(|number| (least..=most).contains(number));
        if number.is_none() {
            self.problems.push(format!(
                "setting `cache.{name}` must be a whole number from {least} to {most}"
            ));
        }
        number
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(config: &str) -> Result<Option<(CacheSettings, Vec<String>)>, String> {
        let config = json::parse_str(config).expect("JSON");
        CacheSettings::from_config(&config).map_err(|error| error.to_string())
    }

    fn settings(config: &str) -> CacheSettings {
        let (settings, problems) = read(config).expect("usable").expect("a cache");
        assert_eq!(problems, Vec::<String>::new());
        settings
    }

    #[test]
    fn without_the_member_there_is_no_cache() {
        assert_eq!(read("{}"), Ok(None));
        assert_eq!(read(r#"{"cache":null}"#), Ok(None));
    }

    #[test]
    fn memory_needs_nothing_else() {
        let memory = settings(r#"{"cache":{"impl":"memory"}}"#);
        assert_eq!(memory, CacheSettings::new(Backend::Memory));
        assert_eq!(memory.timeout, Duration::from_millis(50));
        let small = settings(r#"{"cache":{"impl":"memory","options":{"maxBytes":1000}}}"#);
        assert_eq!(small.memory_bytes, 1000);
    }

    #[test]
    fn servers_are_text_a_list_or_a_member_beside_options() {
        let one = Backend::Memcached { servers: vec!["h:1".to_owned()] };
        for config in [
            r#"{"cache":{"impl":"memcached","options":"h:1"}}"#,
            r#"{"cache":{"impl":"memcached","options":["h:1"]}}"#,
            r#"{"cache":{"impl":"memcached","options":{"config":"h:1"}}}"#,
            r#"{"cache":{"impl":"memcached","options":{"config":["h:1"],"options":{}}}}"#,
        ] {
            assert_eq!(settings(config).backend, one, "{config}");
        }
        let tuned = settings(
            r#"{"cache":{"impl":"memcached","timeoutMs":20,"options":{"config":"h:1",
               "options":{"maxValue":10240000,"poolSize":"7","localBytes":0}}}}"#,
        );
        assert_eq!((tuned.pool_size, tuned.timeout.as_millis()), (7, 20));
        assert_eq!(tuned.memory(), None);
    }

    #[test]
    fn redis_may_be_a_cluster() {
        let config =
            r#"{"cache":{"impl":"valkey","options":{"config":"h:1","options":{"cluster":true}}}}"#;
        let servers = vec!["h:1".to_owned()];
        assert_eq!(settings(config).backend, Backend::Redis { servers, is_cluster: true });
    }

    #[test]
    fn an_unusable_cache_is_an_error_in_the_words_of_the_event() {
        let error = read(r#"{"cache":{"impl":"./mine","options":{}}}"#).expect_err("unknown");
        assert_eq!(
            error,
            "Unable to attach to Cache: {\"impl\":\"./mine\",\"message\":\"`impl` must be one of \
             `memory`, `memcached`, `redis`\"}"
        );
        for config in [
            r#"{"cache":{}}"#,
            r#"{"cache":"memory"}"#,
            r#"{"cache":{"impl":"memcached"}}"#,
            r#"{"cache":{"impl":"memcached","options":[]}}"#,
            r#"{"cache":{"impl":"memcached","options":[1]}}"#,
            r#"{"cache":{"impl":"memcached","options":"h"}}"#,
            r#"{"cache":{"impl":"memcached","options":"h:99999"}}"#,
            r#"{"cache":{"impl":"redis","options":{"config":{"h:1":1}}}}"#,
        ] {
            assert!(read(config).is_err(), "{config}");
        }
    }

    #[test]
    fn a_number_of_the_wrong_kind_keeps_the_default_and_is_reported() {
        let config = r#"{"cache":{"impl":"memory","timeoutMs":"soon","options":{"maxValue":-1}}}"#;
        let (settings, problems) = read(config).expect("usable").expect("a cache");
        assert_eq!(settings, CacheSettings::new(Backend::Memory));
        assert_eq!(problems.len(), 2);
    }

    #[test]
    fn what_is_shown_holds_no_password() {
        let servers = vec!["redis://u:secret@h:1/2".to_owned()];
        let settings = CacheSettings::new(Backend::Redis { servers, is_cluster: false });
        let shown = json::to_string(&settings.shown());
        assert!(shown.contains(r#""servers":["h:1/2"]"#), "{shown}");
        assert!(!shown.contains("secret"), "{shown}");
    }
}
