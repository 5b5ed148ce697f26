//! The stored form of an entry in a shared tier: bytes with a version, the full key and a stamp.
//!
//! ```text
//! magic "qlioR" · version "2" · kind (0 whole, 1 sliced)
//! stored at (ms since 1970, u64) · lives for (s, u32) · key (text) · status u16
//! headers u32, each name (text) and value (text)
//! form (0 received, 1 text, 2 bytes, 3 value) · media type (text, length MAX = none)
//! whole:  body up to the end
//! sliced: slices u32 · bytes of the body u64 · suffix (16 bytes)
//! ```
//!
//! Integers are big-endian, a text is its length (u32) and its bytes. The key is stored because the
//! name under which a tier keeps the record may be a digest: a reader compares, so two keys with one
//! digest never share an answer. Decoding trusts nothing; whatever is not exactly such a record is
//! refused, one of another version too.

use std::{sync::Arc, time::Duration};

use bytes::{Buf, BufMut, Bytes, BytesMut};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};

use super::entry::{Entry, Form};

const MAGIC: &[u8; 5] = b"qlioR";
/// Raise it with the prefix of [`super::key`] when the form changes.
const VERSION: u8 = b'2';
const KIND_WHOLE: u8 = 0;
const KIND_SLICED: u8 = 1;
const FORM_RECEIVED: u8 = 0;
const FORM_TEXT: u8 = 1;
const FORM_BYTES: u8 = 2;
const FORM_VALUE: u8 = 3;
/// In place of the length of a text that is not there.
const NO_TEXT: u32 = u32::MAX;
/// Length of the random text that the slices of one generation share.
pub(super) const SUFFIX_BYTES: usize = 16;
/// What a record takes beside its key, headers, media type and body, at most.
const FIXED_BYTES: usize = 80;

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
    pub(super) headers: Arc<HeaderMap>,
    pub(super) form: Form,
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

/// Why bytes are no record that can be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unreadable {
    /// Something else, or a record that was cut or changed.
    NoRecord,
    /// A record in the form of another version.
    OtherVersion,
}

impl Unreadable {
    pub(super) fn reason(self) -> &'static str {
        match self {
            Self::NoRecord => "not a cache record",
            Self::OtherVersion => "a cache record of another version",
        }
    }
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
            headers: Arc::clone(&entry.headers),
            form: entry.form.clone(),
            content,
        }
    }

    /// The entry with `body`.
    pub(super) fn into_entry(self, body: Bytes) -> Entry {
        Entry { status: self.status, headers: self.headers, form: self.form, body }
    }

    pub(super) fn encode(&self) -> Bytes {
        let texts: usize =
            self.headers.iter().map(|(name, value)| 8 + name.as_str().len() + value.len()).sum();
        let media_type = self.form.media_type();
        let texts = texts + self.key.len() + media_type.map_or(0, str::len);
        let body_bytes = match &self.content {
            Content::Whole(body) => body.len(),
            Content::Sliced(_) => 0,
        };
        let mut out = BytesMut::with_capacity(FIXED_BYTES + texts + body_bytes);
        out.put_slice(MAGIC);
        out.put_u8(VERSION);
        out.put_u8(match self.content {
            Content::Whole(_) => KIND_WHOLE,
            Content::Sliced(_) => KIND_SLICED,
        });
        out.put_u64(self.lifetime.stored_at_ms);
        out.put_u32(self.lifetime.ttl_seconds);
        put_text(&mut out, &self.key);
        out.put_u16(self.status.as_u16());
        // Keys and heads of answers are bounded far below 32 bits.
        out.put_u32(self.headers.len() as u32);
        for (name, value) in self.headers.iter() {
            put_text(&mut out, name.as_str().as_bytes());
            put_text(&mut out, value.as_bytes());
        }
        out.put_u8(match self.form {
            Form::Received => FORM_RECEIVED,
            Form::Text { .. } => FORM_TEXT,
            Form::Bytes { .. } => FORM_BYTES,
            Form::Value => FORM_VALUE,
        });
        match media_type {
            Some(media_type) => put_text(&mut out, media_type.as_bytes()),
            None => out.put_u32(NO_TEXT),
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

    /// The record in `bytes`. Its body is a slice of them.
    ///
    /// # Errors
    /// The bytes are anything else, or a record of another version.
    pub(super) fn decode(mut bytes: Bytes) -> Result<Self, Unreadable> {
        if bytes.len() <= MAGIC.len() || bytes.split_to(MAGIC.len()) != MAGIC[..] {
            return Err(Unreadable::NoRecord);
        }
        if bytes.get_u8() != VERSION {
            return Err(Unreadable::OtherVersion);
        }
        Self::decode_fields(bytes).ok_or(Unreadable::NoRecord)
    }

    fn decode_fields(mut bytes: Bytes) -> Option<Self> {
        let kind = bytes.try_get_u8().ok()?;
        let lifetime = Lifetime {
            stored_at_ms: bytes.try_get_u64().ok()?,
            ttl_seconds: bytes.try_get_u32().ok()?,
        };
        let key = take_text(&mut bytes)?;
        let status = StatusCode::from_u16(bytes.try_get_u16().ok()?).ok()?;
        let headers = Arc::new(decode_headers(&mut bytes)?);
        let form = bytes.try_get_u8().ok()?;
        let media_type = match bytes.try_get_u32().ok()? {
            NO_TEXT => None,
            length => Some(String::from_utf8(take(&mut bytes, length)?.into()).ok()?.into()),
        };
        let form = match (form, media_type) {
            (FORM_RECEIVED, None) => Form::Received,
            (FORM_TEXT, media_type) => Form::Text { media_type },
            (FORM_BYTES, media_type) => Form::Bytes { media_type },
            (FORM_VALUE, None) => Form::Value,
            _ => return None,
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
        Some(Self { key, lifetime, status, headers, form, content })
    }
}

fn decode_headers(bytes: &mut Bytes) -> Option<HeaderMap> {
    let count = bytes.try_get_u32().ok()?;
    let mut headers = HeaderMap::new();
    for _ in 0..count {
        let name = HeaderName::from_bytes(&take_text(bytes)?).ok()?;
        let value = HeaderValue::from_maybe_shared(take_text(bytes)?).ok()?;
        headers.try_append(name, value).ok()?;
    }
    Some(headers)
}

fn put_text(out: &mut BytesMut, text: &[u8]) {
    out.put_u32(text.len() as u32);
    out.put_slice(text);
}

fn take_text(bytes: &mut Bytes) -> Option<Bytes> {
    let length = bytes.try_get_u32().ok()?;
    take(bytes, length)
}

fn take(bytes: &mut Bytes, length: u32) -> Option<Bytes> {
    let length = length as usize;
    (length <= bytes.len()).then(|| bytes.split_to(length))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn form() -> impl Strategy<Value = Form> {
        let media_type = any::<Option<String>>().prop_map(|text| text.map(String::into_boxed_str));
        prop_oneof![
            Just(Form::Received),
            media_type.clone().prop_map(|media_type| Form::Text { media_type }),
            media_type.prop_map(|media_type| Form::Bytes { media_type }),
            Just(Form::Value),
        ]
    }

    fn headers() -> impl Strategy<Value = HeaderMap> {
        let value = proptest::collection::vec(prop_oneof![32..127u8, 128..=255u8], 0..8);
        proptest::collection::vec(("[a-c]{1,2}", value), 0..6).prop_map(|pairs| {
            let mut headers = HeaderMap::new();
            for (name, value) in pairs {
                let name = HeaderName::from_bytes(name.as_bytes()).expect("a name");
                headers.append(name, HeaderValue::from_bytes(&value).expect("a value"));
            }
            headers
        })
    }

    fn entry() -> impl Strategy<Value = Entry> {
        (100..1000u16, headers(), form(), any::<Vec<u8>>()).prop_map(
            |(status, headers, form, body)| Entry {
                status: StatusCode::from_u16(status).expect("in range"),
                headers: Arc::new(headers),
                form,
                body: body.into(),
            },
        )
    }

    fn plain() -> Record {
        let entry = Entry {
            status: StatusCode::OK,
            headers: Arc::default(),
            form: Form::Received,
            body: Bytes::new(),
        };
        Record::whole("k", &entry, Lifetime { stored_at_ms: 0, ttl_seconds: 1 })
    }

    proptest! {
        #[test]
        fn a_whole_record_survives(key: String, entry in entry(), stored_at_ms: u64, ttl_seconds: u32) {
            let record = Record::whole(&key, &entry, Lifetime { stored_at_ms, ttl_seconds });
            let decoded = Record::decode(record.encode());
            prop_assert_eq!(decoded.as_ref(), Ok(&record));
            let body = entry.body.clone();
            prop_assert_eq!(record.into_entry(body), entry);
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
            prop_assert_eq!(decoded.as_ref(), Ok(&record));
            let bytes = record.encode();
            let cut = Record::decode(bytes.slice(..bytes.len() - 1));
            prop_assert_eq!(cut, Err(Unreadable::NoRecord));
        }

        #[test]
        fn any_bytes_are_refused_or_read_but_never_panic(bytes: Vec<u8>, tail: Vec<u8>) {
            let _ = Record::decode(bytes.into());
            let mut bytes = MAGIC.to_vec();
            bytes.push(VERSION);
            bytes.extend(tail);
            let _ = Record::decode(bytes.into());
        }

        #[test]
        fn a_changed_record_is_refused_or_read_but_never_panics(
            entry in entry(), at: usize, byte: u8,
        ) {
            let lifetime = Lifetime { stored_at_ms: 5, ttl_seconds: 6 };
            let mut bytes = Record::whole("k", &entry, lifetime).encode().to_vec();
            let at = at % bytes.len();
            bytes[at] = byte;
            let _ = Record::decode(bytes.into());
        }
    }

    #[test]
    fn a_length_beyond_the_end_is_refused() {
        let mut bytes = plain().encode().to_vec();
        let at = MAGIC.len() + 1 + 1 + 8 + 4;
        bytes[at..at + 4].copy_from_slice(&u32::MAX.to_be_bytes());
        assert_eq!(Record::decode(bytes.into()), Err(Unreadable::NoRecord));
    }

    #[test]
    fn more_headers_than_a_map_can_hold_are_refused() {
        let mut bytes = plain().encode().to_vec();
        let at = MAGIC.len() + 1 + 1 + 8 + 4 + (4 + 1) + 2;
        let count = 100_000_u32;
        let mut many = count.to_be_bytes().to_vec();
        for number in 0..count {
            let name = format!("h{number}");
            many.extend((name.len() as u32).to_be_bytes());
            many.extend(name.as_bytes());
            many.extend(0_u32.to_be_bytes());
        }
        bytes.splice(at..at + 4, many);
        assert_eq!(Record::decode(bytes.into()), Err(Unreadable::NoRecord));
    }

    #[test]
    fn another_version_is_told_from_something_else() {
        let mut bytes = plain().encode().to_vec();
        for version in [b'1', b'3', 0, 255] {
            bytes[MAGIC.len()] = version;
            let decoded = Record::decode(bytes.clone().into());
            assert_eq!(decoded, Err(Unreadable::OtherVersion));
        }
        for other in ["", "qlioR", "qlioX2", "hello"] {
            let decoded = Record::decode(Bytes::from_static(other.as_bytes()));
            assert_eq!(decoded, Err(Unreadable::NoRecord), "{other}");
        }
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
