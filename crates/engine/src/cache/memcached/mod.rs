//! Entries on memcached servers (`connectors.md` 6.5).
//!
//! The stored name is the MD5 of the key, the record carries the key itself. A record over the size
//! that servers take is cut: the slices are written first, under names with a random suffix of their
//! own, the record that names them last. So a reader finds all slices of one generation or an older
//! record, never a mixture (Q63); slices of a generation that was never finished expire.

mod protocol;

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use bytes::{Bytes, BytesMut};
use futures_util::{FutureExt, future::BoxFuture};
use md5::{Digest, Md5};
use qlio_data::{Object, Text, Value};
use tokio::net::TcpStream;

use self::protocol::{Command, Connection, Failure, Outcome};
use super::{
    entry::Entry,
    key::{CacheKey, hex},
    record::{Content, Record, SUFFIX_BYTES, Slices},
    tier::{
        Kept, Server, Servers, SharedTier, TierError, checked, lifetime, now_ms, whole_seconds,
    },
};

/// Records beyond this are cut; servers take 1 MiB including their own overhead.
const WHOLE_BYTES_MAX: usize = 1_024_000;

/// What a slice leaves free besides the key.
const SLICE_MARGIN_BYTES: usize = 100;

/// The largest value that is read, the limit of a server with its usual settings.
const ITEM_BYTES_MAX: usize = 1 << 20;

/// Most slices of one entry; only absurdly long keys need more.
const SLICES_MAX: u32 = 1024;

/// Slices that one command asks for.
const SLICES_PER_GET: usize = 16;

/// Connections of one thread to one server that stay open while nobody uses them.
const IDLE_MAX: usize = 16;

/// Expiries beyond this many seconds are read as dates by the server.
const RELATIVE_EXPIRY_MAX: u32 = 30 * 24 * 3600;

type Idle = Mutex<Vec<Connection<TcpStream>>>;

/// The servers as one thread reaches them.
pub(super) struct MemcachedTier {
    servers: Arc<Servers>,
    /// By position of the server.
    idle: Vec<Idle>,
    value_bytes_max: usize,
}

impl MemcachedTier {
    pub(super) fn new(servers: Arc<Servers>, value_bytes_max: usize) -> Self {
        let idle = servers.list.iter().map(|_| Idle::default()).collect();
        Self { servers, idle, value_bytes_max }
    }

    fn idle(&self, at: usize) -> MutexGuard<'_, Vec<Connection<TcpStream>>> {
        // A list of connections is whole whatever happened to its last user.
        self.idle[at].lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs one command. A connection that has been idle may have died unnoticed, so its failure is
    /// tried again on a new one; commands may be repeated.
    async fn run(&self, at: usize, command: &Command<'_>) -> Result<Outcome, TierError> {
        let server = &self.servers.list[at];
        let known = self.idle(at).pop();
        if let Some(mut connection) = known {
            match connection.run(command).await {
                Ok(outcome) => return Ok(self.keep(at, connection, outcome)),
                // What else is idle is likely to be as dead.
                Err(Failure::Connection(_)) => self.idle(at).clear(),
                Err(failure) => return Err(tier_error(server, failure)),
            }
        }
        let connect = async {
            let stream = TcpStream::connect(&server.address).await?;
            stream.set_nodelay(true)?;
            Ok(stream)
        };
        let stream =
            connect.await.map_err(|error: std::io::Error| server.connection_error(error))?;
        let mut connection = Connection::new(stream, ITEM_BYTES_MAX);
        match connection.run(command).await {
            Ok(outcome) => Ok(self.keep(at, connection, outcome)),
            Err(failure) => Err(tier_error(server, failure)),
        }
    }

    fn keep(&self, at: usize, connection: Connection<TcpStream>, outcome: Outcome) -> Outcome {
        let mut idle = self.idle(at);
        if idle.len() < IDLE_MAX {
            idle.push(connection);
        }
        outcome
    }

    async fn values(&self, at: usize, names: &[String]) -> Result<Vec<Option<Bytes>>, TierError> {
        match self.run(at, &Command::Get(names)).await? {
            Outcome::Values(values) => Ok(values),
            _ => Err(self.servers.list[at].garbled("not values")),
        }
    }

    async fn read(&self, at: usize, key: &CacheKey) -> Result<Option<Kept>, TierError> {
        let name = stored_name(key);
        let record = self.values(at, std::slice::from_ref(&name)).await?.pop().flatten();
        let Some(record) = record else { return Ok(None) };
        let record = Record::decode(record).ok_or(TierError::Unusable("not a cache record"))?;
        checked(&record, key)?;
        let body = match &record.content {
            Content::Whole(body) => body.clone(),
            Content::Sliced(slices) => self.read_slices(at, &name, slices).await?,
        };
        let remaining = record.lifetime.remaining(now_ms());
        Ok(Some((record.into_entry(body), remaining)))
    }

    async fn read_slices(
        &self,
        at: usize,
        name: &str,
        slices: &Slices,
    ) -> Result<Bytes, TierError> {
        let body_bytes = usize::try_from(slices.body_bytes).unwrap_or(usize::MAX);
        if slices.count > SLICES_MAX || body_bytes > self.value_bytes_max {
            return Err(TierError::Unusable("a value larger than `maxValue`"));
        }
        let names: Vec<_> =
            (0..slices.count).map(|index| slice_name(name, &slices.suffix, index)).collect();
        let mut body = BytesMut::with_capacity(body_bytes);
        for names in names.chunks(SLICES_PER_GET) {
            for slice in self.values(at, names).await? {
                let slice = slice.ok_or(TierError::Unusable("a slice is missing"))?;
                if body.len() + slice.len() > body_bytes {
                    return Err(TierError::Unusable("slices that do not fit their record"));
                }
                body.extend_from_slice(&slice);
            }
        }
        if body.len() == body_bytes {
            Ok(body.freeze())
        } else {
            Err(TierError::Unusable("slices that do not fit their record"))
        }
    }

    async fn write(&self, at: usize, writing: &Writing<'_>) -> Result<(), TierError> {
        let name = stored_name(writing.key);
        let lifetime = lifetime(writing.seconds);
        let expiry = expiry(writing.seconds, now_ms());
        let record = if let Some(size) = writing.slice_bytes {
            let mut suffix = [0; SUFFIX_BYTES];
            getrandom::fill(&mut suffix)
                .map_err(|_| TierError::Unusable("the system gives no random numbers"))?;
            let body = &writing.entry.body;
            let mut count = 0;
            for slice in body.chunks(size) {
                let name = slice_name(&name, &suffix, count);
                let set = Command::Set { name: &name, expiry, value: slice };
                self.run(at, &set).await?;
                count += 1;
            }
            let slices = Slices { count, body_bytes: body.len() as u64, suffix };
            Record::sliced(writing.key.as_str(), writing.entry, lifetime, slices)
        } else {
            Record::whole(writing.key.as_str(), writing.entry, lifetime)
        };
        let value = record.encode();
        self.run(at, &Command::Set { name: &name, expiry, value: &value }).await.map(|_stored| ())
    }
}

/// An entry on its way out.
struct Writing<'a> {
    key: &'a CacheKey,
    entry: &'a Entry,
    seconds: u32,
    /// The size of the slices if the entry must be cut.
    slice_bytes: Option<usize>,
}

impl<'a> Writing<'a> {
    fn new(key: &'a CacheKey, entry: &'a Entry, seconds: u32) -> Result<Self, TierError> {
        let key_bytes = key.as_str().len();
        if key_bytes + SLICE_MARGIN_BYTES >= WHOLE_BYTES_MAX {
            return Err(TierError::TooLarge("key is too large"));
        }
        let whole = entry.weight(key.as_str());
        let slice_bytes =
            (whole > WHOLE_BYTES_MAX).then(|| WHOLE_BYTES_MAX - key_bytes - SLICE_MARGIN_BYTES);
        let writing = Self { key, entry, seconds, slice_bytes };
        if writing.parts() > SLICES_MAX {
            return Err(TierError::TooLarge("key is too large"));
        }
        Ok(writing)
    }

    /// How many values are written.
    fn parts(&self) -> u32 {
        let slices = self.slice_bytes.map_or(0, |size| self.entry.body.len().div_ceil(size));
        u32::try_from(slices).unwrap_or(u32::MAX).saturating_add(1)
    }
}

impl SharedTier for MemcachedTier {
    fn get<'a>(&'a self, key: &'a CacheKey) -> BoxFuture<'a, Result<Option<Kept>, TierError>> {
        let at = self.servers.position_of(key);
        async move { self.servers.ask(&self.servers.list[at], 1, self.read(at, key)).await }.boxed()
    }

    fn put<'a>(
        &'a self,
        key: &'a CacheKey,
        entry: &'a Entry,
        ttl: Duration,
    ) -> BoxFuture<'a, Result<(), TierError>> {
        let at = self.servers.position_of(key);
        async move {
            let Some(seconds) = whole_seconds(ttl) else { return Ok(()) };
            let writing = Writing::new(key, entry, seconds)?;
            let server = &self.servers.list[at];
            self.servers.ask(server, writing.parts(), self.write(at, &writing)).await
        }
        .boxed()
    }

    fn statistics(&self) -> BoxFuture<'_, (Value, Vec<TierError>)> {
        async move {
            let (mut all, mut errors) = (Vec::new(), Vec::new());
            for (at, server) in self.servers.list.iter().enumerate() {
                let asked = self.run(at, &Command::Statistics);
                match self.servers.ask(server, 1, asked).await {
                    Ok(Outcome::Statistics(pairs)) => all.push(statistics_of(server, pairs)),
                    Ok(_) => errors.push(server.garbled("not statistics")),
                    Err(error) => errors.push(error),
                }
            }
            (Value::array(all), errors)
        }
        .boxed()
    }
}

fn statistics_of(server: &Server, pairs: Vec<(String, String)>) -> Value {
    let mut object = Object::with_capacity(pairs.len() + 1);
    object.insert("server", Value::String(Text::from(server.name.as_str())));
    for (name, value) in pairs {
        object.insert(name.as_str(), Value::String(Text::from(value.as_str())));
    }
    Value::object(object)
}

fn tier_error(server: &Server, failure: Failure) -> TierError {
    match failure {
        Failure::Connection(error) => server.connection_error(error),
        Failure::Garbled(reason) => server.garbled(reason),
        Failure::Refused(reason) => server.refused(reason),
    }
}

fn stored_name(key: &CacheKey) -> String {
    hex(&Md5::digest(key.as_str()))
}

fn slice_name(name: &str, suffix: &[u8; SUFFIX_BYTES], index: u32) -> String {
    format!("{name}{}{index}", hex(suffix))
}

/// The expiry of a command: seconds, or a date where the server would take seconds for one.
fn expiry(seconds: u32, now_ms: u64) -> u64 {
    let seconds_64 = u64::from(seconds);
    if seconds <= RELATIVE_EXPIRY_MAX { seconds_64 } else { now_ms / 1000 + seconds_64 }
}

#[cfg(test)]
mod tests {
    use http::StatusCode;

    use super::*;

    fn writing(key_bytes: usize, body_bytes: usize) -> Result<(Option<usize>, u32), TierError> {
        let prefix = CacheKey::computed("x").expect("key").as_str().len() - 1;
        let key = CacheKey::computed(&"k".repeat(key_bytes - prefix)).expect("key");
        let body = Bytes::from(vec![b'x'; body_bytes]);
        let entry = Entry { status: StatusCode::OK, content_type: None, body };
        Writing::new(&key, &entry, 1).map(|writing| (writing.slice_bytes, writing.parts()))
    }

    #[test]
    fn small_entries_stay_whole_and_large_ones_are_cut_in_bytes() {
        assert_eq!(writing(200, 1_000_000), Ok((None, 1)));
        // `connectors.md` Ex 59.
        assert_eq!(writing(200, 2_500_000), Ok((Some(1_023_700), 3 + 1)));
    }

    #[test]
    fn a_key_that_leaves_no_room_is_refused() {
        assert_eq!(writing(1_023_900, 10), Err(TierError::TooLarge("key is too large")));
        assert_eq!(writing(1_023_899, 1_000_000), Err(TierError::TooLarge("key is too large")));
        assert!(writing(1_000_000, 10).is_ok());
    }

    #[test]
    fn a_long_time_to_live_becomes_a_date() {
        assert_eq!(expiry(60, 1_000_000_000_000), 60);
        assert_eq!(expiry(RELATIVE_EXPIRY_MAX, 1_000_000_000_000), 2_592_000);
        assert_eq!(expiry(RELATIVE_EXPIRY_MAX + 1, 1_000_000_000_000), 1_002_592_001);
    }

    #[test]
    fn names_are_short_whatever_the_key() {
        let key = CacheKey::computed(&"é \r\n".repeat(1000)).expect("key");
        let name = stored_name(&key);
        assert_eq!(name.len(), 32);
        let slice = slice_name(&name, &[255; SUFFIX_BYTES], SLICES_MAX);
        assert!(slice.len() < 250 && slice.bytes().all(|byte| byte.is_ascii_alphanumeric()));
    }
}
