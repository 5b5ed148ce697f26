//! The tier inside the process: bounded by bytes, every entry with its own time to live.
//!
//! All threads share it. What is used again stays longer than what was used once; an expired entry
//! is never given out and leaves when it is asked for or when room is needed.

use std::{num::NonZeroU64, time::Duration};

use quick_cache::{
    DefaultHashBuilder, OptionsBuilder, Weighter,
    sync::{Cache, DefaultLifecycle},
};
use tokio::time::Instant;

use super::{entry::Entry, key::CacheKey};

/// Bytes of a typical entry, for the first size of the index.
const TYPICAL_ENTRY_BYTES: u64 = 16 << 10;

/// Most items that the index makes room for at the start.
const FIRST_ITEMS_MAX: u64 = 100_000;

/// Parts with a lock each. A part holds its share of the bytes, so few parts keep room for large
/// entries; reading takes a shared lock only.
const PARTS_MAX: u64 = 16;

/// A part must hold at least this many of the largest entries.
const LARGEST_PER_PART: u64 = 4;

#[derive(Debug, Clone)]
struct Kept {
    entry: Entry,
    until: Instant,
}

#[derive(Debug, Clone)]
struct ByBytes;

impl Weighter<CacheKey, Kept> for ByBytes {
    fn weight(&self, key: &CacheKey, kept: &Kept) -> u64 {
        kept.entry.weight(key.as_str()) as u64
    }
}

/// Entries in memory.
#[derive(Debug)]
pub(super) struct MemoryTier {
    kept: Cache<CacheKey, Kept, ByBytes>,
}

impl MemoryTier {
    /// Room for `bytes`, entries up to `entry_bytes_max` each.
    pub(super) fn new(bytes: NonZeroU64, entry_bytes_max: usize) -> Self {
        let bytes = bytes.get();
        let items = (bytes / TYPICAL_ENTRY_BYTES).clamp(1, FIRST_ITEMS_MAX);
        let parts =
            (bytes / (entry_bytes_max as u64).max(1) / LARGEST_PER_PART).clamp(1, PARTS_MAX);
        // Rounded down: the crate rounds up to a power of two.
        let parts = 1 << parts.ilog2();
        let kept = OptionsBuilder::new()
            .shards(parts)
            .estimated_items_capacity(items as usize)
            .weight_capacity(bytes)
            .build()
            .map_or_else(
                |_| Cache::with_weighter(items as usize, bytes, ByBytes),
                |options| {
                    let hasher = DefaultHashBuilder::default();
                    Cache::with_options(options, ByBytes, hasher, DefaultLifecycle::default())
                },
            );
        Self { kept }
    }

    pub(super) fn get(&self, key: &CacheKey) -> Option<Entry> {
        let kept = self.kept.get(key)?;
        if kept.until > Instant::now() {
            return Some(kept.entry);
        }
        // Another thread may have put a fresh one meanwhile.
        self.kept.remove_if(key, |kept| kept.until <= Instant::now());
        None
    }

    /// Keeps a copy; one that is larger than a part has room for is not kept.
    pub(super) fn put(&self, key: &CacheKey, entry: &Entry, ttl: Duration) {
        if ttl.is_zero() {
            return;
        }
        let kept = Kept { entry: entry.detached(), until: Instant::now() + ttl };
        self.kept.insert(key.clone(), kept);
    }

    /// What is kept, expired entries that nobody has asked for included.
    pub(super) fn used(&self) -> MemoryUse {
        MemoryUse {
            entries: self.kept.len(),
            bytes: self.kept.weight(),
            bytes_max: self.kept.capacity(),
        }
    }

    /// Drops all entries.
    pub(super) fn clear(&self) {
        self.kept.clear();
    }

    #[cfg(test)]
    fn bytes(&self) -> u64 {
        self.kept.weight()
    }
}

/// How much of the memory of a cache is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemoryUse {
    /// Entries.
    pub entries: usize,
    /// Their bytes, keys and heads included.
    pub bytes: u64,
    /// The most that there may be.
    pub bytes_max: u64,
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use bytes::Bytes;
    use http::{HeaderMap, HeaderValue, StatusCode, header};

    use super::{super::entry::Form, *};

    fn tier(bytes: u64, entry_bytes_max: usize) -> MemoryTier {
        MemoryTier::new(NonZeroU64::new(bytes).expect("not zero"), entry_bytes_max)
    }

    fn key(name: &str) -> CacheKey {
        CacheKey::computed(name).expect("key")
    }

    fn entry(body: impl Into<Bytes>) -> Entry {
        Entry {
            status: StatusCode::OK,
            headers: Arc::default(),
            form: Form::Received,
            body: body.into(),
        }
    }

    #[tokio::test(start_paused = true)]
    async fn an_entry_lives_exactly_as_long_as_it_was_given() {
        let tier = tier(1 << 20, 1 << 10);
        tier.put(&key("short"), &entry("a"), Duration::from_secs(1));
        tier.put(&key("long"), &entry("b"), Duration::from_mins(1));
        tokio::time::advance(Duration::from_millis(999)).await;
        assert_eq!(tier.get(&key("short")), Some(entry("a")));
        tokio::time::advance(Duration::from_millis(1)).await;
        assert_eq!(tier.get(&key("short")), None);
        assert_eq!(tier.get(&key("long")), Some(entry("b")));
    }

    #[test]
    fn what_is_kept_is_told_and_can_be_dropped() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
        let runtime = runtime.expect("a runtime");
        let _entered = runtime.enter();
        let tier = tier(1 << 20, 1 << 10);
        tier.put(&key("a"), &entry("12345"), Duration::from_secs(9));
        let used = tier.used();
        assert!(used.entries == 1 && used.bytes > 5 && used.bytes_max >= 1 << 19, "{used:?}");
        tier.clear();
        assert_eq!((tier.used().entries, tier.used().bytes), (0, 0));
        assert_eq!(tier.get(&key("a")), None);
    }

    #[test]
    fn an_expired_entry_leaves_when_asked_for() {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .expect("runtime");
        runtime.block_on(async {
            let tier = tier(1 << 20, 1 << 10);
            tier.put(&key("k"), &entry("a"), Duration::from_secs(1));
            tokio::time::advance(Duration::from_secs(2)).await;
            assert!(tier.bytes() > 0);
            assert_eq!(tier.get(&key("k")), None);
            assert_eq!(tier.bytes(), 0);
        });
    }

    #[test]
    fn the_bytes_stay_within_the_bound() {
        let tier = tier(100_000, 1000);
        for number in 0..10_000 {
            let body = vec![b'x'; number % 1000];
            tier.put(&key(&number.to_string()), &entry(body), Duration::from_mins(1));
            assert!(tier.bytes() <= 100_000);
        }
        assert!(tier.bytes() > 50_000, "most of the room is used");
    }

    #[test]
    fn entries_up_to_the_largest_allowed_fit() {
        let tier = tier(1_000_000, 100_000);
        tier.put(&key("k"), &entry(vec![0; 100_000]), Duration::from_mins(1));
        assert!(tier.get(&key("k")).is_some());
    }

    #[test]
    fn an_entry_larger_than_everything_is_not_kept_and_harms_nothing() {
        let tier = tier(10_000, 1000);
        tier.put(&key("large"), &entry(vec![0; 50_000]), Duration::from_mins(1));
        assert_eq!(tier.get(&key("large")), None);
        tier.put(&key("small"), &entry("a"), Duration::from_mins(1));
        assert_eq!(tier.get(&key("small")), Some(entry("a")));
    }

    #[test]
    fn a_kept_entry_does_not_hold_its_buffers() {
        let tier = tier(1 << 20, 1 << 10);
        let body = Bytes::from(vec![b'x'; 1 << 16]);
        let head = Bytes::from(vec![b'x'; 1 << 16]);
        let value = HeaderValue::from_maybe_shared(head.slice(..10)).expect("a value");
        let headers = Arc::new(HeaderMap::from_iter([(header::SERVER, value)]));
        let entry = Entry { headers, ..entry(body.slice(..10)) };
        tier.put(&key("k"), &entry, Duration::from_mins(1));
        drop(entry);
        assert!(body.is_unique() && head.is_unique());
    }
}
