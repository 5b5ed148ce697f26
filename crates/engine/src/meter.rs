//! What one worker counts for its operator: numbers that its thread writes and others read.
//!
//! In: what happens, from the places where it happens. Out: a [`Meter`] for each worker, whose numbers whoever
//! shows them adds up. Promises: counting is a load and a store of the worker's own memory, without a lock and
//! without an instruction that other cores have to know of; what clients and upstreams name has a bound
//! ([`UPSTREAM_SERIES_MAX`]), beyond which it is counted as [`OTHER`]. An engine without a meter counts nothing.
//! What the numbers are called, and in which format they are told, is not decided here (OBS-3, OBS-4).

use std::{
    collections::{HashMap, HashSet},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use foldhash::fast::RandomState;
use qlio_data::Text;
use qlio_syntax::ast::RunLimit;

/// Pairs of table and upstream that are counted by name, of the whole process.
pub const UPSTREAM_SERIES_MAX: usize = 1_000;

/// What everything beyond a bound is counted as, and what clients have named.
pub const OTHER: &str = "other";

/// Upper bounds of the buckets of [`Histogram`], in microseconds: those that OpenTelemetry advises for requests.
pub const BUCKETS_US: [u64; 14] = [
    5_000, 10_000, 25_000, 50_000, 75_000, 100_000, 250_000, 500_000, 750_000, 1_000_000,
    2_500_000, 5_000_000, 7_500_000, 10_000_000,
];

/// A number that one thread adds to and any thread reads.
#[derive(Debug, Default)]
pub struct Count(AtomicU64);

impl Count {
    /// Adds to it. Only ever called by the thread that it belongs to: of two that add, one would be lost.
    #[inline]
    pub fn add(&self, more: u64) {
        self.0.store(self.0.load(Ordering::Relaxed).wrapping_add(more), Ordering::Relaxed);
    }

    /// What it has come to.
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// How long things took.
#[derive(Debug, Default)]
pub struct Histogram {
    /// How many took up to each of [`BUCKETS_US`] and more than the bucket before; the last are all others.
    buckets: [Count; BUCKETS_US.len() + 1],
    sum_us: Count,
}

impl Histogram {
    /// Counts one. Only ever called by the thread that it belongs to.
    #[inline]
    pub fn observe(&self, time: Duration) {
        let us = u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
        let bucket = BUCKETS_US.iter().position(|bound| us <= *bound);
        self.buckets[bucket.unwrap_or(BUCKETS_US.len())].add(1);
        self.sum_us.add(us);
    }

    /// Adds its numbers to a sum of several.
    pub fn add_to(&self, sum: &mut HistogramSum) {
        for (count, sum) in self.buckets.iter().zip(&mut sum.buckets) {
            *sum += count.get();
        }
        sum.sum_us = sum.sum_us.wrapping_add(self.sum_us.get());
    }
}

/// The numbers of histograms of several threads, added up.
#[derive(Debug, Clone, Default)]
pub struct HistogramSum {
    /// As in [`Histogram`]: not added up from bucket to bucket.
    pub buckets: [u64; BUCKETS_US.len() + 1],
    /// All times together, in microseconds.
    pub sum_us: u64,
}

impl HistogramSum {
    /// How many there were.
    pub fn count(&self) -> u64 {
        self.buckets.iter().sum()
    }
}

/// How an exchange with an upstream ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// With a status of this class, 1 to 5.
    Status(u8),
    /// Its upstream took too long.
    Timeout,
    /// It was not begun: the upstream is left alone for a while.
    BackOff,
    /// It was not begun: too many wait for the upstream.
    QueueFull,
    /// It failed otherwise.
    Failed,
}

impl Outcome {
    /// All that there are.
    pub const ALL: [Self; 9] = [
        Self::Status(1),
        Self::Status(2),
        Self::Status(3),
        Self::Status(4),
        Self::Status(5),
        Self::Timeout,
        Self::BackOff,
        Self::QueueFull,
        Self::Failed,
    ];

    /// What it is called.
    pub fn name(self) -> &'static str {
        match self {
            Self::Status(1) => "1xx",
            Self::Status(2) => "2xx",
            Self::Status(3) => "3xx",
            Self::Status(4) => "4xx",
            Self::Status(_) => "5xx",
            Self::Timeout => "timeout",
            Self::BackOff => "back_off",
            Self::QueueFull => "queue_full",
            Self::Failed => "failed",
        }
    }

    /// How an exchange ended that was answered with this status.
    pub(crate) fn of_status(status: u16) -> Self {
        Self::Status((status / 100).clamp(1, 5) as u8)
    }

    fn place(self) -> usize {
        match self {
            Self::Status(class) => usize::from(class).saturating_sub(1).min(4),
            Self::Timeout => 5,
            Self::BackOff => 6,
            Self::QueueFull => 7,
            Self::Failed => 8,
        }
    }
}

/// Exchanges of one table with one upstream.
#[derive(Debug)]
pub struct UpstreamSeries {
    /// The table.
    pub table: Text,
    /// Scheme, host and port of the upstream.
    pub origin: Box<str>,
    /// How long exchanges took that were begun, from the place in the queue to the last byte, retries included.
    pub time: Histogram,
    outcomes: [Count; Outcome::ALL.len()],
    /// Attempts after the first.
    pub retries: Count,
}

impl UpstreamSeries {
    fn new(table: &str, origin: &str) -> Self {
        Self {
            table: Text::from(table),
            origin: origin.into(),
            time: Histogram::default(),
            outcomes: Default::default(),
            retries: Count::default(),
        }
    }

    /// How many have ended so.
    pub fn count(&self, outcome: Outcome) -> u64 {
        self.outcomes[outcome.place()].get()
    }
}

/// Which pairs of table and upstream are counted by name; shared by the meters of all workers, which ask when they
/// meet one for the first time.
#[derive(Debug, Default)]
pub struct SeriesNames(Mutex<HashSet<(Box<str>, Text)>>);

impl SeriesNames {
    /// Whether the pair is counted by name.
    fn admits(&self, origin: &str, table: &Text) -> bool {
        let mut names = lock(&self.0);
        let key = (Box::from(origin), table.clone());
        if names.contains(&key) {
            return true;
        }
        let has_room = names.len() < UPSTREAM_SERIES_MAX;
        if has_room {
            names.insert(key);
        }
        has_room
    }
}

type ByTable = HashMap<Text, Arc<UpstreamSeries>, RandomState>;

/// What one worker counts.
#[derive(Debug)]
pub struct Meter {
    /// How often runs were refused more of something, in the order of [`RunLimit::ALL`].
    limits: [Count; RunLimit::ALL.len()],
    /// Processor time that scripts took, in microseconds, those on heavy threads included.
    pub script_us: Count,
    /// Answers that the cache had.
    pub cache_hits: Count,
    /// Answers that it had not.
    pub cache_misses: Count,
    names: Arc<SeriesNames>,
    /// By upstream and table. Only the worker takes this lock.
    own: Mutex<HashMap<Box<str>, ByTable, RandomState>>,
    /// The same in the order of their appearance, for those who read; the worker takes this lock for new ones only.
    series: Mutex<Vec<Arc<UpstreamSeries>>>,
    other: Arc<UpstreamSeries>,
}

impl Meter {
    /// A meter of nothing so far.
    pub fn new(names: Arc<SeriesNames>) -> Self {
        let other = Arc::new(UpstreamSeries::new(OTHER, OTHER));
        Self {
            limits: Default::default(),
            script_us: Count::default(),
            cache_hits: Count::default(),
            cache_misses: Count::default(),
            names,
            own: Mutex::default(),
            series: Mutex::new(vec![Arc::clone(&other)]),
            other,
        }
    }

    /// How often runs were refused more of this.
    pub fn refusals(&self, limit: RunLimit) -> u64 {
        self.limits[place(limit)].get()
    }

    /// The exchanges with upstreams, each pair of table and upstream once.
    pub fn upstreams(&self) -> Vec<Arc<UpstreamSeries>> {
        lock(&self.series).clone()
    }

    /// A run was refused more of this.
    pub(crate) fn refused(&self, limit: RunLimit) {
        self.limits[place(limit)].add(1);
    }

    /// An exchange is over. What a client has named counts as [`OTHER`].
    pub(crate) fn exchanged(&self, done: &Exchanged<'_>) {
        let series = if done.is_named { self.series(done) } else { Arc::clone(&self.other) };
        let outcome = done.outcome;
        series.outcomes[outcome.place()].add(1);
        series.retries.add(u64::from(done.attempts.saturating_sub(1)));
        if !matches!(outcome, Outcome::BackOff | Outcome::QueueFull) {
            series.time.observe(done.time);
        }
    }

    fn series(&self, done: &Exchanged<'_>) -> Arc<UpstreamSeries> {
        let mut own = lock(&self.own);
        if let Some(series) = own.get(done.origin).and_then(|tables| tables.get(done.table)) {
            return Arc::clone(series);
        }
        if !self.names.admits(done.origin, done.table) {
            return Arc::clone(&self.other);
        }
        let series = Arc::new(UpstreamSeries::new(done.table, done.origin));
        let tables = own.entry(done.origin.into()).or_default();
        tables.insert(done.table.clone(), Arc::clone(&series));
        lock(&self.series).push(Arc::clone(&series));
        series
    }
}

/// An exchange with an upstream that is over.
pub(crate) struct Exchanged<'e> {
    pub(crate) table: &'e Text,
    /// Scheme, host and port of where it began.
    pub(crate) origin: &'e str,
    /// The operator has named table and upstream.
    pub(crate) is_named: bool,
    pub(crate) outcome: Outcome,
    pub(crate) attempts: u32,
    pub(crate) time: Duration,
}

fn place(limit: RunLimit) -> usize {
    RunLimit::ALL.iter().position(|known| *known == limit).unwrap_or_default()
}

/// No code under these locks panics.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn done<'e>(table: &'e Text, origin: &'e str, is_named: bool) -> Exchanged<'e> {
        let time = Duration::from_millis(6);
        Exchanged { table, origin, is_named, outcome: Outcome::of_status(204), attempts: 2, time }
    }

    #[test]
    fn a_time_is_in_the_first_bucket_that_has_room_for_it() {
        let histogram = Histogram::default();
        for ms in [0, 5, 6, 10_000, 10_001] {
            histogram.observe(Duration::from_millis(ms));
        }
        let mut sum = HistogramSum::default();
        histogram.add_to(&mut sum);
        histogram.add_to(&mut sum);
        assert_eq!(
            (sum.buckets[0], sum.buckets[1], sum.buckets[13], sum.buckets[14]),
            (4, 2, 2, 2)
        );
        assert_eq!((sum.count(), sum.sum_us), (10, 2 * 20_012_000));
    }

    #[test]
    fn names_have_a_bound_for_all_workers_together() {
        let names = Arc::<SeriesNames>::default();
        let (first, second) = (Meter::new(Arc::clone(&names)), Meter::new(names));
        let table = Text::from("t");
        for number in 0..UPSTREAM_SERIES_MAX + 5 {
            first.exchanged(&done(&table, &format!("http://h{number}:80"), true));
        }
        second.exchanged(&done(&table, "http://h0:80", true));
        second.exchanged(&done(&table, "http://new:80", true));
        second.exchanged(&done(&table, "http://h1:80", false));
        let told = |meter: &Meter| meter.upstreams().len();
        assert_eq!((told(&first), told(&second)), (UPSTREAM_SERIES_MAX + 1, 2));
        let two = Outcome::Status(2);
        assert_eq!((first.other.count(two), second.other.count(two)), (5, 2));
        assert_eq!(second.other.retries.get(), 2);
    }

    #[test]
    fn every_outcome_has_a_place_and_a_name_of_its_own() {
        for (index, outcome) in Outcome::ALL.into_iter().enumerate() {
            assert_eq!(outcome.place(), index);
        }
        let names: HashSet<_> = Outcome::ALL.iter().map(|outcome| outcome.name()).collect();
        assert_eq!(names.len(), Outcome::ALL.len());
        assert_eq!(Outcome::of_status(999), Outcome::Status(5));
    }
}
