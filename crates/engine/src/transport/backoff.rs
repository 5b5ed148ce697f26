//! Back-off: leaving a failing target alone for a growing while (UPS-10 to UPS-13, UPS-39).
//!
//! A target is closed for all when runs that know nothing of each other have failed there, one after the other;
//! however often one run fails, it closes the target for itself alone. A closed target is opened by a probe: when
//! the delay is over, one attempt goes through and the others go on waiting for its outcome.
//!
//! Only targets that have failed are remembered, so a healthy system pays one comparison per exchange. Times
//! come in as arguments; nothing here looks at a clock.

use std::{
    collections::{BTreeMap, HashMap, VecDeque},
    hash::{BuildHasher, RandomState},
    sync::Arc,
    time::Duration,
};

use tokio::time::Instant;

use super::{error::ErrorKind, view::Failing};

/// Failures that pass before a target is left alone: of as many runs for all, of one run for itself.
const FREE_FAILURES: u32 = 4;

/// Runs of which a target knows how often each has failed; of more of them the oldest is forgotten.
const RUNS_MAX: usize = 8;

/// A probe without an outcome stands in the way of others no longer than this.
const PROBE_TIME_MAX: Duration = Duration::from_secs(10);

/// After this many times the longest delay without use, a target is forgotten.
const IDLE_FACTOR: u32 = 10;

/// Doublings after which the delay certainly exceeds any bound.
const DOUBLINGS_MAX: u32 = 32;

/// The bounds of a delay.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bounds {
    pub(super) min: Duration,
    pub(super) max: Duration,
}

impl Bounds {
    fn delay(self, doublings: u32, draw: u32) -> Duration {
        let factor = 1_u32.checked_shl(doublings.min(DOUBLINGS_MAX)).unwrap_or(u32::MAX);
        let fixed = self.min.saturating_mul(factor);
        // `draw` thousandths are added: a factor in [1, 2).
        let added = fixed.checked_mul(draw).map_or(Duration::MAX, |product| product / 1000);
        fixed.saturating_add(added).min(self.max)
    }
}

/// A failure, as far as it matters here.
#[derive(Debug, Clone, Copy)]
pub(super) struct Failure {
    /// The run that has failed.
    pub(super) run: u64,
    /// It says something of the target, and not only of who has asked.
    pub(super) is_evidence: bool,
    /// The attempt was let through to see whether the target is back.
    pub(super) is_probe: bool,
    /// How long the run itself stays away.
    pub(super) own: Bounds,
    /// How long all stay away.
    pub(super) shared: Bounds,
}

/// An attempt that may be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pass {
    /// Like any other.
    Free,
    /// To see whether the target is back; what becomes of it must be told.
    Probe,
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
    idle_max: Duration,
    /// Different runs that have failed in a row, and probes that have.
    count: u32,
    /// For all.
    closed: Closed,
    /// Until when the outcome of a probe is waited for.
    probed_until: Option<Instant>,
    runs: VecDeque<FailedRun>,
}

/// What a target knows of a run that has failed there.
#[derive(Debug)]
struct FailedRun {
    run: u64,
    failures: u32,
    /// It is one of those that [`Entry::count`] counts.
    is_counted: bool,
    /// For this run.
    closed: Closed,
}

#[derive(Debug, Clone, Copy)]
struct Closed {
    since: Instant,
    delay: Duration,
}

impl Closed {
    fn left(self, now: Instant) -> Duration {
        self.delay.saturating_sub(now.saturating_duration_since(self.since))
    }

    fn refusal(self, count: u32, left: Duration) -> ErrorKind {
        ErrorKind::BackOff {
            count,
            delay_ms: u64::try_from(self.delay.as_millis()).unwrap_or(u64::MAX),
            retry_after: left.as_secs().saturating_add(u64::from(left.subsec_nanos() > 0)),
        }
    }
}

impl Entry {
    fn is_closed_for_all(&self) -> bool {
        self.count >= FREE_FAILURES
    }
}

impl FailedRun {
    /// Its own failures, and one for each other run that has failed.
    fn weight(&self, count: u32) -> u32 {
        count.saturating_sub(u32::from(self.is_counted)).saturating_add(self.failures)
    }
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

    /// May a run make an attempt now?
    pub(super) fn ask(&mut self, key: &str, run: u64, now: Instant) -> Result<Pass, ErrorKind> {
        let Some(entry) = self.touch(key, now) else { return Ok(Pass::Free) };
        if entry.is_closed_for_all() {
            let probed = entry.probed_until.map(|until| until.saturating_duration_since(now));
            let left = entry.closed.left(now).max(probed.unwrap_or_default());
            if !left.is_zero() {
                return Err(entry.closed.refusal(entry.count, left));
            }
            entry.probed_until = Some(now + PROBE_TIME_MAX);
            return Ok(Pass::Probe);
        }
        let Some(failed) = entry.runs.iter().find(|failed| failed.run == run) else {
            return Ok(Pass::Free);
        };
        let (weight, left) = (failed.weight(entry.count), failed.closed.left(now));
        if weight < FREE_FAILURES || left.is_zero() {
            return Ok(Pass::Free);
        }
        Err(failed.closed.refusal(weight, left))
    }

    /// The target answered.
    pub(super) fn succeed(&mut self, key: &str) {
        if let Some(entry) = self.entries.remove(key) {
            self.by_use.remove(&entry.used_tick);
        }
    }

    /// A probe has ended and says nothing of the target: the next attempt is one.
    pub(super) fn give_back(&mut self, key: &str) {
        if let Some(entry) = self.entries.get_mut(key) {
            entry.probed_until = None;
        }
    }

    /// The target failed for good: after the retry, if there was one.
    pub(super) fn fail(&mut self, key: &str, failure: Failure, now: Instant) {
        if self.touch(key, now).is_none() {
            self.insert(key, now);
        }
        let draw = self.draw();
        let Some(entry) = self.entries.get_mut(key) else { return };
        entry.idle_max = failure.shared.max.max(failure.own.max).saturating_mul(IDLE_FACTOR);
        let known = entry.runs.iter().position(|failed| failed.run == failure.run);
        let place = known.unwrap_or_else(|| {
            if entry.runs.len() >= RUNS_MAX {
                entry.runs.pop_front();
            }
            let closed = Closed { since: now, delay: Duration::ZERO };
            entry.runs.push_back(FailedRun {
                run: failure.run,
                failures: 0,
                is_counted: false,
                closed,
            });
            entry.runs.len() - 1
        });
        let is_closed = entry.is_closed_for_all();
        let Entry { count, closed, probed_until, runs, .. } = entry;
        let failed = &mut runs[place];
        failed.failures = failed.failures.saturating_add(1);
        if failure.is_probe {
            *probed_until = None;
        }
        // Attempts that were under way when the target was closed say what is known already.
        let is_new = if is_closed { failure.is_probe } else { !failed.is_counted };
        if failure.is_evidence && is_new {
            failed.is_counted = true;
            *count = count.saturating_add(1);
            if let Some(doublings) = count.checked_sub(FREE_FAILURES) {
                *closed = Closed { since: now, delay: failure.shared.delay(doublings, draw) };
            }
        }
        if let Some(doublings) = failed.weight(*count).checked_sub(FREE_FAILURES) {
            failed.closed = Closed { since: now, delay: failure.own.delay(doublings, draw) };
        }
    }

    /// The targets that have failed lately.
    pub(super) fn failing(&self, now: Instant) -> Vec<Failing> {
        let failing = |(key, entry): (&Arc<str>, &Entry)| {
            let is_closed = entry.is_closed_for_all();
            let closed_for = if is_closed { entry.closed.left(now) } else { Duration::ZERO };
            Failing { target: key.to_string(), failures: entry.count, closed_for }
        };
        self.entries.iter().map(failing).collect()
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
            idle_max: Duration::MAX,
            count: 0,
            closed: Closed { since: now, delay: Duration::ZERO },
            probed_until: None,
            runs: VecDeque::new(),
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
mod tests;
