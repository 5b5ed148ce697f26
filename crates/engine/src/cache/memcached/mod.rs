//! Records on memcached servers (CAC-11).
//!
//! The stored name is the MD5 of the key, the record carries the key itself. A record over the size
//! that servers take is cut: the slices are written first, under names with a random suffix of their
//! own, the record that names them last. So a reader finds all slices of one generation or an older
//! record, never a mixture (CAC-11); slices of a generation that was never finished expire.

mod protocol;

use std::sync::{Mutex, MutexGuard, PoisonError};

use bytes::{Bytes, BytesMut};
use md5::{Digest, Md5};
use qlio_data::{Object, Text, Value};
use tokio::net::TcpStream;

use crate::clock::epoch_ms;

use self::protocol::{Command, Connection, Failure, Outcome};
use super::{
    key::{CacheKey, hex},
    record::{Content, Record, SUFFIX_BYTES, Slices},
    tier::{Kept, Put, Server, Store, TierError, kept, lifetime, record_of},
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
pub(super) struct MemcachedStore {
    /// By position of the server.
    idle: Vec<Idle>,
    value_bytes_max: usize,
}

impl MemcachedStore {
    /// A store on so many servers.
    pub(super) fn new(servers: usize, value_bytes_max: usize) -> Self {
        let idle = (0..servers).map(|_| Idle::default()).collect();
        Self { idle, value_bytes_max }
    }

    fn idle(&self, server: &Server) -> MutexGuard<'_, Vec<Connection<TcpStream>>> {
        // A list of connections is whole whatever happened to its last user.
        self.idle[server.position].lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs one command. A connection that has been idle may have died unnoticed, so its failure is
    /// tried again on a new one; commands may be repeated.
    async fn run(&self, server: &Server, command: &Command<'_>) -> Result<Outcome, TierError> {
        let known = self.idle(server).pop();
        if let Some(mut connection) = known {
            match connection.run(command).await {
                Ok(outcome) => return Ok(self.keep(server, connection, outcome)),
                // What else is idle is likely to be as dead.
                Err(Failure::Connection(_)) => self.idle(server).clear(),
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
            Ok(outcome) => Ok(self.keep(server, connection, outcome)),
            Err(failure) => Err(tier_error(server, failure)),
        }
    }

    fn keep(
        &self,
        server: &Server,
        connection: Connection<TcpStream>,
        outcome: Outcome,
    ) -> Outcome {
        let mut idle = self.idle(server);
        if idle.len() < IDLE_MAX {
            idle.push(connection);
        }
        outcome
    }

    async fn values(
        &self,
        server: &Server,
        names: &[String],
    ) -> Result<Vec<Option<Bytes>>, TierError> {
        match self.run(server, &Command::Get(names)).await? {
            Outcome::Values(values) => Ok(values),
            _ => Err(server.garbled("not values")),
        }
    }

    async fn read_slices(
        &self,
        server: &Server,
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
            for slice in self.values(server, names).await? {
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
}

impl Store for MemcachedStore {
    async fn read(&self, server: &Server, key: &CacheKey) -> Result<Option<Kept>, TierError> {
        let name = stored_name(key);
        let record = self.values(server, std::slice::from_ref(&name)).await?.pop().flatten();
        let Some(record) = record else { return Ok(None) };
        let record = record_of(record, key)?;
        let body = match &record.content {
            Content::Whole(body) => body.clone(),
            Content::Sliced(slices) => self.read_slices(server, &name, slices).await?,
        };
        Ok(Some(kept(record, body)))
    }

    /// One for each value that is written.
    fn parts(&self, put: &Put<'_>) -> Result<u32, TierError> {
        let slices = slice_bytes(put)?.map_or(0, |size| put.entry.body.len().div_ceil(size));
        let parts = u32::try_from(slices).unwrap_or(u32::MAX).saturating_add(1);
        if parts > SLICES_MAX { Err(KEY_TOO_LARGE) } else { Ok(parts) }
    }

    async fn write(&self, server: &Server, put: &Put<'_>) -> Result<(), TierError> {
        let Put { key, entry, seconds } = *put;
        let (name, expiry, lifetime) =
            (stored_name(key), expiry(seconds, epoch_ms()), lifetime(seconds));
        let record = if let Some(size) = slice_bytes(put)? {
            let mut suffix = [0; SUFFIX_BYTES];
            getrandom::fill(&mut suffix)
                .map_err(|_| TierError::Unusable("the system gives no random numbers"))?;
            let mut count = 0;
            for slice in entry.body.chunks(size) {
                let name = slice_name(&name, &suffix, count);
                let set = Command::Set { name: &name, expiry, value: slice };
                self.run(server, &set).await?;
                count += 1;
            }
            let slices = Slices { count, body_bytes: entry.body.len() as u64, suffix };
            Record::sliced(key.as_str(), entry, lifetime, slices)
        } else {
            Record::whole(key.as_str(), entry, lifetime)
        };
        let value = record.encode();
        let set = Command::Set { name: &name, expiry, value: &value };
        self.run(server, &set).await.map(|_stored| ())
    }

    async fn statistics(&self, server: &Server) -> Result<Value, TierError> {
        match self.run(server, &Command::Statistics).await? {
            Outcome::Statistics(pairs) => Ok(statistics_of(server, pairs)),
            _ => Err(server.garbled("not statistics")),
        }
    }
}

const KEY_TOO_LARGE: TierError = TierError::TooLarge("key is too large");

/// The size of the slices if the entry must be cut. Key and head stay in the record.
fn slice_bytes(put: &Put<'_>) -> Result<Option<usize>, TierError> {
    let key_bytes = put.key.as_str().len();
    let kept_whole = key_bytes + SLICE_MARGIN_BYTES + put.entry.head_weight();
    if kept_whole >= WHOLE_BYTES_MAX {
        return Err(KEY_TOO_LARGE);
    }
    let is_cut = put.entry.weight(put.key.as_str()) > WHOLE_BYTES_MAX;
    Ok(is_cut.then(|| WHOLE_BYTES_MAX - key_bytes - SLICE_MARGIN_BYTES))
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
    use std::sync::Arc;

    use http::{HeaderMap, HeaderValue, StatusCode, header};

    use super::{
        super::entry::{Entry, Form},
        *,
    };

    fn writing(key_bytes: usize, body_bytes: usize) -> Result<(Option<usize>, u32), TierError> {
        let prefix = CacheKey::computed("x").expect("key").as_str().len() - 1;
        let key = CacheKey::computed(&"k".repeat(key_bytes - prefix)).expect("key");
        let entry = entry(HeaderMap::new(), vec![b'x'; body_bytes]);
        parts_of(&Put { key: &key, entry: &entry, seconds: 1 })
    }

    fn entry(headers: HeaderMap, body: Vec<u8>) -> Entry {
        let (headers, body) = (Arc::new(headers), Bytes::from(body));
        Entry { status: StatusCode::OK, headers, form: Form::Received, body }
    }

    fn parts_of(put: &Put<'_>) -> Result<(Option<usize>, u32), TierError> {
        let parts = MemcachedStore::new(1, 0).parts(put)?;
        slice_bytes(put).map(|size| (size, parts))
    }

    #[test]
    fn small_entries_stay_whole_and_large_ones_are_cut_in_bytes() {
        assert_eq!(writing(200, 1_000_000), Ok((None, 1)));
        // CAC-11.
        assert_eq!(writing(200, 2_500_000), Ok((Some(1_023_700), 3 + 1)));
    }

    #[test]
    fn a_key_that_leaves_no_room_is_refused() {
        assert_eq!(writing(1_023_900, 10), Err(TierError::TooLarge("key is too large")));
        assert_eq!(writing(1_023_899, 1_000_000), Err(TierError::TooLarge("key is too large")));
        assert!(writing(1_000_000, 10).is_ok());
    }

    #[test]
    fn headers_count_as_much_as_the_body() {
        let key = CacheKey::computed("k").expect("key");
        let headers = |length: usize| {
            let value = HeaderValue::from_bytes(&vec![b'v'; length]).expect("a value");
            HeaderMap::from_iter([(header::SERVER, value)])
        };
        let put = |entry: &Entry| parts_of(&Put { key: &key, entry, seconds: 1 });
        let body = vec![b'x'; 900_000];
        assert_eq!(put(&entry(headers(10), body.clone())), Ok((None, 1)));
        assert_eq!(put(&entry(headers(200_000), body)).map(|(_, parts)| parts), Ok(2));
        assert_eq!(put(&entry(headers(1_024_000), Vec::new())), Err(KEY_TOO_LARGE));
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
