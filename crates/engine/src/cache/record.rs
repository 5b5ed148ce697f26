//! The stored form of an entry in a shared tier: bytes with a version, the full key and a stamp.
//!
//! ```text
//! magic "qlioR1" · kind (0 whole, 1 sliced) · stored at (ms since 1970, u64) · lives for (s, u32)
//! status u16 · key (u32 length + bytes) · content type (u32 length + bytes, length MAX = none)
//! whole:  body up to the end
//! sliced: slices u32 · bytes of the body u64 · suffix (16 bytes)
//! ```
//!
//! Integers are big-endian. The key is stored because the name under which a tier keeps the record
//! may be a digest: a reader compares, so two keys with one digest never share an answer. Decoding
//! trusts nothing; whatever is not exactly such a record is refused.

use std::time::Duration;

use bytes::{Buf, BufMut, Bytes, BytesMut};
use http::StatusCode;

use super::entry::Entry;

const MAGIC: &[u8; 6] = b"qlioR1";
const KIND_WHOLE: u8 = 0;
const KIND_SLICED: u8 = 1;
const NO_CONTENT_TYPE: u32 = u32::MAX;
/// Length of the random text that the slices of one generation share.
pub(super) const SUFFIX_BYTES: usize = 16;

/// When a record was written and for how long it holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Lifetime {
    /// Milliseconds since 1970 by the writer's clock.
    pub(super) stored_at_ms: u64,
    /// Seconds.
    pub(super) ttl_seconds: u32,
}

impl Lifetime {
    /// What is left. The server decides whether an entry is alive; this only bounds local copies,
    /// so a clock that is off costs at most a copy or its whole `ttl`.
    pub(super) fn remaining(self, now_ms: u64) -> Duration {
        let ttl_ms = u64::from(self.ttl_seconds) * 1000;
        let age_ms = now_ms.saturating_sub(self.stored_at_ms);
        Duration::from_millis(ttl_ms.saturating_sub(age_ms))
    }
}

/// A decoded record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Record {
    pub(super) key: Bytes,
    pub(super) lifetime: Lifetime,
    pub(super) status: StatusCode,
    pub(super) content_type: Option<String>,
    pub(super) content: Content,
}

/// The body, or where it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Content {
    Whole(Bytes),
    Sliced(Slices),
}

/// How a body was cut.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Slices {
    pub(super) count: u32,
    pub(super) body_bytes: u64,
    pub(super) suffix: [u8; SUFFIX_BYTES],
}

impl Record {
    /// A record that carries its body.
    pub(super) fn whole(key: &str, entry: &Entry, lifetime: Lifetime) -> Self {
        Self::with(key, entry, lifetime, Content::Whole(entry.body.clone()))
    }

    /// A record whose body is elsewhere.
    pub(super) fn sliced(key: &str, entry: &Entry, lifetime: Lifetime, slices: Slices) -> Self {
        Self::with(key, entry, lifetime, Content::Sliced(slices))
    }

    fn with(key: &str, entry: &Entry, lifetime: Lifetime, content: Content) -> Self {
        Self {
            key: Bytes::copy_from_slice(key.as_bytes()),
            lifetime,
            status: entry.status,
            content_type: entry.content_type.clone(),
            content,
        }
    }

    /// The entry with `body`.
    pub(super) fn into_entry(self, body: Bytes) -> Entry {
        Entry { status: self.status, content_type: self.content_type, body }
    }

    pub(super) fn encode(&self) -> Bytes {
        let body_bytes = match &self.content {
            Content::Whole(body) => body.len(),
            Content::Sliced(_) => 32,
        };
        let type_bytes = self.content_type.as_ref().map_or(0, String::len);
        let mut out = BytesMut::with_capacity(64 + self.key.len() + type_bytes + body_bytes);
        out.put_slice(MAGIC);
        out.put_u8(match self.content {
            Content::Whole(_) => KIND_WHOLE,
            Content::Sliced(_) => KIND_SLICED,
        });
        out.put_u64(self.lifetime.stored_at_ms);
        out.put_u32(self.lifetime.ttl_seconds);
        out.put_u16(self.status.as_u16());
        out.put_u32(self.key.len() as u32);
        out.put_slice(&self.key);
        match &self.content_type {
            Some(content_type) => {
                out.put_u32(content_type.len() as u32);
                out.put_slice(content_type.as_bytes());
            }
            None => out.put_u32(NO_CONTENT_TYPE),
        }
        match &self.content {
            Content::Whole(body) => out.put_slice(body),
            Content::Sliced(slices) => {
                out.put_u32(slices.count);
                out.put_u64(slices.body_bytes);
                out.put_slice(&slices.suffix);
            }
        }
        out.freeze()
    }

    /// The record in `bytes`, or `None` if they are anything else. The body is a slice of `bytes`.
    pub(super) fn decode(mut bytes: Bytes) -> Option<Self> {
        if bytes.len() < MAGIC.len() || bytes.split_to(MAGIC.len()) != MAGIC[..] {
            return None;
        }
        let kind = bytes.try_get_u8().ok()?;
        let lifetime = Lifetime {
            stored_at_ms: bytes.try_get_u64().ok()?,
            ttl_seconds: bytes.try_get_u32().ok()?,
        };
        let status = StatusCode::from_u16(bytes.try_get_u16().ok()?).ok()?;
        let key_bytes = bytes.try_get_u32().ok()?;
        let key = take(&mut bytes, key_bytes)?;
        let content_type = match bytes.try_get_u32().ok()? {
            NO_CONTENT_TYPE => None,
            length => Some(String::from_utf8(take(&mut bytes, length)?.to_vec()).ok()?),
        };
        let content = match kind {
            KIND_WHOLE => Content::Whole(bytes),
            KIND_SLICED => {
                let count = bytes.try_get_u32().ok()?;
                let body_bytes = bytes.try_get_u64().ok()?;
                let suffix = take(&mut bytes, SUFFIX_BYTES as u32)?.as_ref().try_into().ok()?;
                if !bytes.is_empty() {
                    return None;
                }
                Content::Sliced(Slices { count, body_bytes, suffix })
            }
            _ => return None,
        };
        Some(Self { key, lifetime, status, content_type, content })
    }
}

fn take(bytes: &mut Bytes, length: u32) -> Option<Bytes> {
    let length = length as usize;
    (length <= bytes.len()).then(|| bytes.split_to(length))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn entry() -> impl Strategy<Value = Entry> {
        (100..1000u16, any::<Option<String>>(), any::<Vec<u8>>()).prop_map(
            |(status, content_type, body)| Entry {
                status: StatusCode::from_u16(status).expect("in range"),
                content_type,
                body: body.into(),
            },
        )
    }

    proptest! {
        #[test]
        fn a_whole_record_survives(key: String, entry in entry(), stored_at_ms: u64, ttl_seconds: u32) {
            let record = Record::whole(&key, &entry, Lifetime { stored_at_ms, ttl_seconds });
            let decoded = Record::decode(record.encode());
            prop_assert_eq!(decoded.as_ref(), Some(&record));
        }

        #[test]
        fn a_sliced_record_survives(
            key: String, entry in entry(), count: u32, body_bytes: u64,
            suffix: [u8; SUFFIX_BYTES],
        ) {
            let lifetime = Lifetime { stored_at_ms: 5, ttl_seconds: 6 };
            let slices = Slices { count, body_bytes, suffix };
            let record = Record::sliced(&key, &entry, lifetime, slices);
            let decoded = Record::decode(record.encode());
            prop_assert_eq!(decoded.as_ref(), Some(&record));
            let bytes = record.encode();
            prop_assert_eq!(Record::decode(bytes.slice(..bytes.len() - 1)), None);
        }

        #[test]
        fn any_bytes_are_refused_or_read_but_never_panic(bytes: Vec<u8>, tail: Vec<u8>) {
            let _ = Record::decode(bytes.into());
            let mut bytes = MAGIC.to_vec();
            bytes.extend(tail);
            let _ = Record::decode(bytes.into());
        }
    }

    #[test]
    fn a_length_beyond_the_end_is_refused() {
        let entry = Entry { status: StatusCode::OK, content_type: None, body: Bytes::new() };
        let record = Record::whole("k", &entry, Lifetime { stored_at_ms: 0, ttl_seconds: 1 });
        let mut bytes = record.encode().to_vec();
        let at = MAGIC.len() + 1 + 8 + 4 + 2;
        bytes[at..at + 4].copy_from_slice(&u32::MAX.to_be_bytes());
        assert_eq!(Record::decode(bytes.into()), None);
    }

    #[test]
    fn a_copy_lives_no_longer_than_the_original() {
        let lifetime = Lifetime { stored_at_ms: 10_000, ttl_seconds: 5 };
        assert_eq!(lifetime.remaining(10_000), Duration::from_secs(5));
        assert_eq!(lifetime.remaining(12_500), Duration::from_millis(2500));
        assert_eq!(lifetime.remaining(20_000), Duration::ZERO);
        assert_eq!(lifetime.remaining(0), Duration::from_secs(5));
    }
}
