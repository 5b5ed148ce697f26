//! Back-off: leaving a failing target alone for a growing while (UPS-10 to UPS-13).
//!
//! Only targets that have failed are remembered, so a healthy system pays one comparison per exchange. Times
//! come in as arguments; nothing here looks at a clock.

use std::{
    collections::{BTreeMap, HashMap},
    hash::{BuildHasher, RandomState},
    sync::Arc,
    time::Duration,
};

use tokio::time::Instant;

use super::error::ErrorKind;

/// Failures that pass before a target is left alone.
const FREE_FAILURES: u32 = 4;

/// After this many times the longest delay without use, a target is forgotten.
const IDLE_FACTOR: u32 = 10;

/// Doublings after which the delay certainly exceeds any bound.
const DOUBLINGS_MAX: u32 = 32;

/// The bounds of the delay, as the statement has them.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bounds {
    pub(super) min: Duration,
    pub(super) max: Duration,
}

/// The memory of failing targets.
#[derive(Debug)]
pub(super) struct BackOff {
    keys_max: usize,
    entries: HashMap<Arc<str>, Entry>,
    /// Keys by last use; the smallest tick is the least recent.
    by_use: BTreeMap<u64, Arc<str>>,
    tick: u64,
    random: u64,
}

#[derive(Debug)]
struct Entry {
    used_tick: u64,
    used_at: Instant,
    failed_at: Instant,
    count: u32,
    delay: Duration,
    idle_max: Duration,
}

impl BackOff {
    pub(super) fn new(keys_max: usize) -> Self {
        Self::with_seed(keys_max, RandomState::new().hash_one(0_u8))
    }

    fn with_seed(keys_max: usize, seed: u64) -> Self {
        Self { keys_max, entries: HashMap::new(), by_use: BTreeMap::new(), tick: 0, random: seed }
    }

    /// Whether no target has failed lately; then [`BackOff::ask`] and [`BackOff::succeed`] need no key.
    pub(super) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// May an attempt be made now?
    pub(super) fn ask(&mut self, key: &str, now: Instant) -> Result<(), ErrorKind> {
        let Some(entry) = self.touch(key, now) else { return Ok(()) };
        let remaining = entry.delay.saturating_sub(now.saturating_duration_since(entry.failed_at));
        if entry.count < FREE_FAILURES || remaining.is_zero() {
            return Ok(());
        }
        Err(ErrorKind::BackOff {
            count: entry.count,
            delay_ms: u64::try_from(entry.delay.as_millis()).unwrap_or(u64::MAX),
            retry_after: remaining
                .as_secs()
                .saturating_add(u64::from(remaining.subsec_nanos() > 0)),
        })
    }

    /// The target answered.
    pub(super) fn succeed(&mut self, key: &str) {
        if let Some(entry) = self.entries.remove(key) {
            self.by_use.remove(&entry.used_tick);
        }
    }

    /// The target failed for good: after the retry, if there was one.
    pub(super) fn fail(&mut self, key: &str, bounds: Bounds, now: Instant) {
        if self.touch(key, now).is_none() {
            self.insert(key, now);
        }
        let draw = self.draw();
        let Some(entry) = self.entries.get_mut(key) else { return };
        entry.count = entry.count.saturating_add(1);
        entry.failed_at = now;
        entry.idle_max = bounds.max.saturating_mul(IDLE_FACTOR);
        entry.delay = match entry.count.checked_sub(FREE_FAILURES) {
            None => Duration::ZERO,
            Some(doublings) => {
                let factor = 1_u32.checked_shl(doublings.min(DOUBLINGS_MAX)).unwrap_or(u32::MAX);
                let fixed = bounds.min.saturating_mul(factor);
                // `draw` thousandths are added: a factor in [1, 2).
                let added = fixed.checked_mul(draw).map_or(Duration::MAX, |product| product / 1000);
                fixed.saturating_add(added).min(bounds.max)
            }
        };
    }

    fn insert(&mut self, key: &str, now: Instant) {
        while self.entries.len() >= self.keys_max.max(1) {
            let Some((_, oldest)) = self.by_use.pop_first() else { break };
            self.entries.remove(&oldest);
        }
        let key: Arc<str> = key.into();
        self.tick += 1;
        self.by_use.insert(self.tick, Arc::clone(&key));
        let entry = Entry {
            used_tick: self.tick,
            used_at: now,
            failed_at: now,
            count: 0,
            delay: Duration::ZERO,
            idle_max: Duration::MAX,
        };
        self.entries.insert(key, entry);
    }

    /// Marks a key as used, after forgetting it and the oldest others if they were idle for too long.
    fn touch(&mut self, key: &str, now: Instant) -> Option<&mut Entry> {
        let expired = |entry: &Entry| now.saturating_duration_since(entry.used_at) > entry.idle_max;
        while let Some((&tick, oldest)) = self.by_use.first_key_value() {
            if !self.entries.get(oldest).is_none_or(expired) {
                break;
            }
            self.entries.remove(oldest);
            self.by_use.remove(&tick);
        }
        if self.entries.get(key).is_some_and(expired) {
            self.succeed(key);
        }
        let entry = self.entries.get_mut(key)?;
        self.tick += 1;
        let owned = self.by_use.remove(&entry.used_tick)?;
        self.by_use.insert(self.tick, owned);
        entry.used_tick = self.tick;
        entry.used_at = now;
        Some(entry)
    }

    /// A number below 1000 (xorshift; spreading retries needs no better source).
    fn draw(&mut self) -> u32 {
        let mut x = self.random | 1;
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        self.random = x;
        u32::try_from((x >> 16) % 1000).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOUNDS: Bounds =
        Bounds { min: Duration::from_millis(100), max: Duration::from_millis(500) };

    fn delay(error: ErrorKind) -> u64 {
        match error {
            ErrorKind::BackOff { delay_ms, .. } => delay_ms,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn the_delay_starts_at_the_fourth_failure_and_doubles_up_to_the_maximum() {
        for seed in 0..200 {
            let mut back_off = BackOff::with_seed(10, seed);
            let mut now = Instant::now();
            for _ in 0..4 {
                assert_eq!(back_off.ask("k", now), Ok(()));
                back_off.fail("k", BOUNDS, now);
            }
            for expected in [100..200, 200..400, 400..501, 500..501, 500..501] {
                let blocked = delay(back_off.ask("k", now).expect_err("blocked"));
                assert!(expected.contains(&blocked), "{blocked} not in {expected:?}");
                now += Duration::from_millis(blocked + 1);
                assert_eq!(back_off.ask("k", now), Ok(()));
                back_off.fail("k", BOUNDS, now);
            }
        }
    }

    #[test]
    fn a_success_clears_everything() {
        let mut back_off = BackOff::with_seed(10, 1);
        let now = Instant::now();
        for _ in 0..9 {
            back_off.fail("k", BOUNDS, now);
        }
        assert!(back_off.ask("k", now).is_err());
        back_off.succeed("k");
        assert_eq!(back_off.ask("k", now), Ok(()));
        assert!(back_off.is_empty() && back_off.by_use.is_empty());
    }

    #[test]
    fn the_least_recently_used_target_is_forgotten_first() {
        let mut back_off = BackOff::with_seed(2, 1);
        let now = Instant::now();
        for _ in 0..4 {
            back_off.fail("a", BOUNDS, now);
            back_off.fail("b", BOUNDS, now);
        }
        assert!(back_off.ask("a", now).is_err());
        back_off.fail("c", BOUNDS, now);
        assert_eq!(back_off.entries.len(), 2);
        assert!(back_off.ask("a", now).is_err());
        assert_eq!(back_off.ask("b", now), Ok(()));
    }

    #[test]
    fn an_idle_target_is_forgotten() {
        let mut back_off = BackOff::with_seed(10, 1);
        let now = Instant::now();
        for _ in 0..9 {
            back_off.fail("a", BOUNDS, now);
        }
        let later = now + BOUNDS.max * IDLE_FACTOR + Duration::from_millis(1);
        assert_eq!(back_off.ask("b", later), Ok(()));
        assert!(back_off.is_empty());
    }

    #[test]
    fn extreme_bounds_and_counts_do_not_overflow() {
        let mut back_off = BackOff::with_seed(10, 1);
        let bounds = Bounds { min: Duration::MAX, max: Duration::MAX };
        let now = Instant::now();
        for _ in 0..100 {
            back_off.fail("a", bounds, now);
        }
        assert!(back_off.ask("a", now).is_err());
    }
}
