//! Records on Redis or Valkey servers: several on their own, or one cluster.
//!
//! Values need no slices here. One connection per thread and server carries all commands of the
//! thread at once; it is replaced as soon as one of them fails or is given up.

use std::{
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use qlio_data::{Object, Text, Value};
use redis::{
    AsyncConnectionConfig, Client, ConnectionAddr, ConnectionInfo, ErrorKind, FromRedisValue,
    IntoConnectionInfo, RedisConnectionInfo, RedisError,
    aio::MultiplexedConnection,
    cluster::{ClusterClient, ClusterClientBuilder},
    cluster_async::ClusterConnection,
};
use sha2::{Digest, Sha256};
use tokio::net::TcpStream;

use super::{
    CacheConfigError,
    entry::HEAD_BYTES_MAX,
    key::{CacheKey, PREFIX, hex},
    record::{Content, Record},
    tier::{Kept, Put, Server, Store, TierError, kept, lifetime, record_of},
};
use crate::transport::{Tls, TlsSettings};

/// Keys up to this length are stored under their own name.
const NAME_BYTES_MAX: usize = 250;

/// The longest key.
const KEY_BYTES_MAX: usize = 512 << 10;

/// Most members of one server's statistics.
const STATISTICS_MAX: usize = 1000;

/// How to reach one server or one cluster. Shared by all threads.
pub(super) enum Target {
    Single(Client),
    Secure(Box<Secure>),
    Cluster(Box<ClusterClient>),
}

/// A server behind TLS, which is the one that upstreams are called with: the client library is built
/// without any.
pub(super) struct Secure {
    host: String,
    port: u16,
    login: RedisConnectionInfo,
    tls: Arc<Tls>,
}

#[derive(Clone)]
enum Connection {
    Single(MultiplexedConnection),
    Cluster(ClusterConnection),
}

/// A thread's connection to one target.
#[derive(Default)]
struct Slot {
    /// With a number, so that one who failed does not remove a newer one.
    current: Mutex<Option<(u64, Connection)>>,
    /// Held while connecting: one connects, the others wait for it.
    connecting: tokio::sync::Mutex<()>,
    next_number: AtomicU64,
}

/// The servers as one thread reaches them. A target has the position of its server.
pub(super) struct RedisStore {
    targets: Arc<[Target]>,
    slots: Vec<Slot>,
    timeout: Duration,
    value_bytes_max: usize,
}

/// The targets behind configured addresses; a cluster is one target.
///
/// # Errors
/// An address or a certificate that cannot be read.
pub(super) fn targets(
    addresses: &[String],
    is_cluster: bool,
    timeout: Duration,
    tls: &TlsSettings,
) -> Result<Arc<[Target]>, CacheConfigError> {
    let infos: Vec<(ConnectionInfo, bool)> =
        addresses.iter().map(|address| connection_info(address)).collect::<Result<_, _>>()?;
    let is_any_secure = infos.iter().any(|(_, is_secure)| *is_secure);
    if is_cluster {
        if is_any_secure {
            return Err(wrong(&"a cluster cannot be reached over TLS (`rediss://`)"));
        }
        let infos = infos.into_iter().map(|(info, _)| info);
        let client = ClusterClientBuilder::new(infos)
            .connection_timeout(timeout)
            .response_timeout(timeout)
            .retries(1)
            .build()
            .map_err(|error| wrong(&error))?;
        return Ok([Target::Cluster(Box::new(client))].into());
    }
    let tls = if is_any_secure {
        Some(Arc::new(Tls::with_protocols(tls, &[]).map_err(|error| wrong(&error))?))
    } else {
        None
    };
    let target = |(info, is_secure): (ConnectionInfo, bool)| match (&tls, info.addr()) {
        (Some(tls), ConnectionAddr::Tcp(host, port)) if is_secure => {
            let login = info.redis_settings().clone();
            let (host, port, tls) = (host.clone(), *port, Arc::clone(tls));
            Ok(Target::Secure(Box::new(Secure { host, port, login, tls })))
        }
        _ => Client::open(info).map(Target::Single).map_err(|error| wrong(&error)),
    };
    infos.into_iter().map(target).collect()
}

fn wrong(reason: &impl ToString) -> CacheConfigError {
    CacheConfigError::new("redis", reason.to_string())
}

/// What an address says, and whether it asks for TLS.
fn connection_info(address: &str) -> Result<(ConnectionInfo, bool), CacheConfigError> {
    // The address may hold a password; what is said about it must not.
    let shown = super::settings::without_credentials(address);
    let (is_secure, rest) = match address.split_once("://") {
        None => (false, address),
        Some(("redis", rest)) => (false, rest),
        Some(("rediss", rest)) => (true, rest),
        Some(_) => {
            let reason = format!("`{shown}` is not `host:port`, `redis://…` or `rediss://…`");
            return Err(wrong(&reason));
        }
    };
    let info = format!("redis://{rest}")
        .into_connection_info()
        .map_err(|error| wrong(&format!("`{shown}`: {}", error.category())))?;
    let settings = info.redis_settings().clone().set_skip_set_lib_name();
    Ok((info.set_redis_settings(settings), is_secure))
}

impl Target {
    async fn connect(&self, timeout: Duration) -> Result<Connection, RedisError> {
        let config = AsyncConnectionConfig::new()
            .set_connection_timeout(Some(timeout))
            .set_response_timeout(None);
        match self {
            Self::Secure(server) => {
                let Secure { host, port, login, tls } = &**server;
                let stream = TcpStream::connect((host.as_str(), *port)).await?;
                stream.set_nodelay(true)?;
                let stream = tls.secure(host, *port, stream).await?;
                let opened = MultiplexedConnection::new_with_config(login, stream, config).await;
                let (connection, driver) = opened?;
                // It ends with the last copy of the connection.
                tokio::spawn(driver);
                Ok(Connection::Single(connection))
            }
            Self::Single(client) => {
                let connection = client.get_multiplexed_async_connection_with_config(&config);
                connection.await.map(Connection::Single)
            }
            Self::Cluster(client) => client.get_async_connection().await.map(Connection::Cluster),
        }
    }
}

impl Connection {
    async fn run<T: FromRedisValue>(&mut self, command: &redis::Cmd) -> Result<T, RedisError> {
        match self {
            Self::Single(connection) => command.query_async(connection).await,
            Self::Cluster(connection) => command.query_async(connection).await,
        }
    }
}

impl Slot {
    fn current(&self) -> MutexGuard<'_, Option<(u64, Connection)>> {
        // Replaced whole, so it is sound whatever happened to its last user.
        self.current.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The connection, and whether others have used it before.
    async fn connection(
        &self,
        target: &Target,
        timeout: Duration,
    ) -> Result<(Use<'_>, Connection, bool), RedisError> {
        let known = || self.current().clone();
        if let Some((number, connection)) = known() {
            return Ok((Use::new(self, number), connection, true));
        }
        let _connecting = self.connecting.lock().await;
        if let Some((number, connection)) = known() {
            return Ok((Use::new(self, number), connection, true));
        }
        let connection = target.connect(timeout).await?;
        let number = self.next_number.fetch_add(1, Ordering::Relaxed);
        *self.current() = Some((number, connection.clone()));
        Ok((Use::new(self, number), connection, false))
    }
}

/// A command under way. Dropped without [`Use::answered`], it takes the connection out of use: an
/// answer that never came may never come for the next one either.
struct Use<'a> {
    slot: &'a Slot,
    number: Option<u64>,
}

impl<'a> Use<'a> {
    fn new(slot: &'a Slot, number: u64) -> Self {
        Self { slot, number: Some(number) }
    }

    fn answered(mut self) {
        self.number = None;
    }
}

impl Drop for Use<'_> {
    fn drop(&mut self) {
        let Some(number) = self.number else { return };
        let mut current = self.slot.current();
        if current.as_ref().is_some_and(|(current, _)| *current == number) {
            *current = None;
        }
    }
}

impl RedisStore {
    pub(super) fn new(targets: Arc<[Target]>, timeout: Duration, value_bytes_max: usize) -> Self {
        let slots = targets.iter().map(|_| Slot::default()).collect();
        Self { targets, slots, timeout, value_bytes_max }
    }

    /// Runs one command. A connection that was used before may have died unnoticed, so its failure is
    /// tried again on a new one; commands may be repeated.
    async fn run<T: FromRedisValue>(
        &self,
        server: &Server,
        command: &redis::Cmd,
    ) -> Result<T, TierError> {
        let (slot, target) = (&self.slots[server.position], &self.targets[server.position]);
        for _ in 0..2 {
            let connected = slot.connection(target, self.timeout).await;
            let (using, mut connection, was_used) =
                connected.map_err(|error| server.connection_error(error))?;
            match connection.run(command).await {
                Ok(answer) => {
                    using.answered();
                    return Ok(answer);
                }
                Err(error) if is_connection_trouble(&error) && was_used => {}
                Err(error) => {
                    let failure = tier_error(server, &error);
                    if matches!(failure, TierError::Refused { .. }) {
                        using.answered();
                    }
                    return Err(failure);
                }
            }
        }
        // The second connection was one that another command had just made, and it broke as well.
        Err(server.connection_error("the connection breaks again and again"))
    }
}

impl Store for RedisStore {
    async fn read(&self, server: &Server, key: &CacheKey) -> Result<Option<Kept>, TierError> {
        let mut command = redis::cmd("GET");
        command.arg(stored_name(key));
        let Some(value) = self.run::<Option<Vec<u8>>>(server, &command).await? else {
            return Ok(None);
        };
        let record_bytes_max =
            self.value_bytes_max.saturating_add(KEY_BYTES_MAX).saturating_add(2 * HEAD_BYTES_MAX);
        if value.len() > record_bytes_max {
            return Err(TierError::Unusable("a value larger than `maxValue`"));
        }
        let record = record_of(Bytes::from(value), key)?;
        match &record.content {
            Content::Whole(body) => {
                let body = body.clone();
                Ok(Some(kept(record, body)))
            }
            Content::Sliced(_) => Err(TierError::Unusable("not a cache record")),
        }
    }

    /// One for each megabyte.
    fn parts(&self, put: &Put<'_>) -> Result<u32, TierError> {
        if put.key.as_str().len() >= KEY_BYTES_MAX {
            return Err(TierError::TooLarge("key is too large"));
        }
        let megabytes = u32::try_from(put.entry.body.len() >> 20).unwrap_or(u32::MAX);
        Ok(megabytes.saturating_add(1))
    }

    async fn write(&self, server: &Server, put: &Put<'_>) -> Result<(), TierError> {
        let Put { key, entry, seconds } = *put;
        let record = Record::whole(key.as_str(), entry, lifetime(seconds)).encode();
        let mut command = redis::cmd("SET");
        command.arg(stored_name(key)).arg(&record[..]).arg("EX").arg(seconds);
        self.run::<()>(server, &command).await
    }

    async fn statistics(&self, server: &Server) -> Result<Value, TierError> {
        let mut command = redis::cmd("INFO");
        command.arg("stats");
        if let Target::Cluster(_) = self.targets[server.position] {
            // `INFO` of a cluster answers once per node; the number of keys is one number.
            command = redis::cmd("DBSIZE");
        }
        let answer = self.run::<redis::Value>(server, &command).await?;
        Ok(statistics_of(server, &answer))
    }
}

fn statistics_of(server: &Server, answer: &redis::Value) -> Value {
    let mut object = Object::new();
    object.insert("server", Value::String(Text::from(server.name.as_str())));
    let text = |text: &str| Value::String(Text::from(text));
    match answer {
        redis::Value::Int(keys) => {
            object.insert("keys", Value::int(*keys));
        }
        other => {
            let info = redis::from_redis_value_ref::<String>(other).unwrap_or_default();
            let pairs = info.lines().filter_map(|line| line.split_once(':'));
            for (name, value) in pairs.take(STATISTICS_MAX) {
                object.insert(name, text(value.trim_end()));
            }
        }
    }
    Value::object(object)
}

/// The connection is dead or what it carries makes no sense; a new one may do.
fn is_connection_trouble(error: &RedisError) -> bool {
    matches!(error.kind(), ErrorKind::Io | ErrorKind::ClusterConnectionNotFound)
}

fn tier_error(server: &Server, error: &RedisError) -> TierError {
    match error.kind() {
        _ if is_connection_trouble(error) => server.connection_error(error),
        ErrorKind::Server(_) | ErrorKind::Extension => server.refused(error),
        _ => server.garbled(error),
    }
}

fn stored_name(key: &CacheKey) -> String {
    if key.as_str().len() <= NAME_BYTES_MAX {
        key.as_str().to_owned()
    } else {
        format!("{PREFIX}#{}", hex(&Sha256::digest(key.as_str())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_host_and_port_or_a_url() {
        for (address, is_secure) in [
            ("h:1", false),
            ("redis://h", false),
            ("redis://u:p@h:1/2", false),
            ("127.0.0.1:6379", false),
            ("rediss://u:p@h:1/2", true),
        ] {
            let (info, found) = connection_info(address).expect(address);
            assert_eq!(found, is_secure, "{address}");
            assert!(matches!(info.addr(), ConnectionAddr::Tcp(..)), "{address}");
        }
        for address in [
            "http://u:secret@h",
            "rediss://u:secret@h:1/x",
            "redis://u:secret@",
            "redis://u:secret@h:1/x",
        ] {
            let reason = connection_info(address).expect_err(address);
            assert!(!reason.to_string().contains("secret"), "{reason}");
        }
    }

    #[test]
    fn only_single_servers_are_reached_over_tls() {
        let second = Duration::from_secs(1);
        let read = |addresses: &[&str], is_cluster| {
            let addresses: Vec<_> = addresses.iter().map(|&text| text.to_owned()).collect();
            targets(&addresses, is_cluster, second, &TlsSettings::default())
        };
        let both = read(&["rediss://h:1", "h:2"], false).expect("valid");
        assert!(matches!(&*both, [Target::Secure(_), Target::Single(_)]));
        let reason = read(&["h:2", "rediss://u:secret@h:1"], true).err().expect("refused");
        assert_eq!(reason, wrong(&"a cluster cannot be reached over TLS (`rediss://`)"));
    }

    #[test]
    fn a_long_key_is_stored_under_a_digest() {
        let short = CacheKey::computed("k").expect("key");
        assert_eq!(stored_name(&short), short.as_str());
        let long = CacheKey::computed(&"k".repeat(10_000)).expect("key");
        assert_eq!(stored_name(&long).len(), PREFIX.len() + 1 + 64);
    }
}
