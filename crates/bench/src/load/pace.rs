//! When users send.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use tokio::sync::Semaphore;

use crate::stop::Stop;

/// The longest sleep of the clock of a schedule, so that a stop is noticed.
const CLOCK_SLEEP_MAX: Duration = Duration::from_millis(20);
/// Requests that become due at one look at the clock, at most.
const DUE_MAX: u64 = 100_000;

/// The share of all requests that users may still begin.
#[derive(Debug)]
pub(super) struct Quota {
    left: AtomicU64,
}

impl Quota {
    pub(super) fn new(requests: Option<u64>) -> Self {
        Self { left: AtomicU64::new(requests.unwrap_or(u64::MAX)) }
    }

    /// Takes one request; false if there is none left.
    pub(super) fn take(&self) -> bool {
        let take = |left: u64| if left == u64::MAX { Some(left) } else { left.checked_sub(1) };
        self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take).is_ok()
    }
}

/// The schedule of an open loop: request `i` is due `i / rate` seconds after the start.
///
/// A thread looks at the clock and lets users go when a request is due; users that are busy find the
/// requests that became due meanwhile, in order.
#[derive(Debug)]
pub(super) struct Schedule {
    start: Instant,
    rate: f64,
    due: Semaphore,
    /// The next request that nobody has taken.
    next: AtomicU64,
    /// The number of requests once it is known, before that the greatest number.
    count: AtomicU64,
}

impl Schedule {
    pub(super) fn new(start: Instant, rate: f64) -> Arc<Self> {
        let count = AtomicU64::new(u64::MAX);
        let next = AtomicU64::new(0);
        Arc::new(Self { start, rate, due: Semaphore::new(0), next, count })
    }

    /// When request `index` is due.
    fn due(&self, index: u64) -> Instant {
        #[expect(clippy::cast_precision_loss, reason = "no run has 2^53 requests")]
        let seconds = index as f64 / self.rate;
        self.start + Duration::from_secs_f64(seconds)
    }

    /// Waits for the next request; answers when it was due, or `None` after the last one.
    pub(super) async fn next(&self) -> Option<Instant> {
        self.due.acquire().await.ok()?.forget();
        let index = self.next.fetch_add(1, Ordering::Relaxed);
        (index < self.count.load(Ordering::Acquire)).then(|| self.due(index))
    }

    /// Requests that were due and that nobody took.
    pub(super) fn untaken(&self) -> u64 {
        let count = self.count.load(Ordering::Acquire);
        if count == u64::MAX { 0 } else { count.saturating_sub(self.next.load(Ordering::Relaxed)) }
    }

    /// Starts the clock: until `end`, or until `requests` are due. `users` are let go at the end.
    pub(super) fn start_clock(
        self: &Arc<Self>,
        end: Option<Instant>,
        requests: Option<u64>,
        users: usize,
        stop: Stop,
    ) -> std::io::Result<JoinHandle<()>> {
        let schedule = Arc::clone(self);
        let clock = move || {
            let mut issued = 0_u64;
            let requests = requests.unwrap_or(u64::MAX);
            while issued < requests && !stop.is_requested() {
                let next = schedule.due(issued);
                if end.is_some_and(|end| next >= end) {
                    break;
                }
                let now = Instant::now();
                if next > now {
                    thread::sleep((next - now).min(CLOCK_SLEEP_MAX));
                    continue;
                }
                let mut batch = 0;
                while batch < DUE_MAX
                    && issued < requests
                    && schedule.due(issued) <= now
                    && end.is_none_or(|end| schedule.due(issued) < end)
                {
                    issued += 1;
                    batch += 1;
                }
                schedule.due.add_permits(batch as usize);
            }
            schedule.count.store(issued, Ordering::Release);
            schedule.due.add_permits(users);
        };
        thread::Builder::new().name("schedule".to_owned()).spawn(clock)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quota_is_spent_exactly() {
        let quota = Quota::new(Some(3));
        assert_eq!((0..5).filter(|_| quota.take()).count(), 3);
        let endless = Quota::new(None);
        assert!((0..1000).all(|_| endless.take()));
    }

    #[test]
    fn requests_are_due_at_even_distances_also_for_a_late_user() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let start = Instant::now();
            let schedule = Schedule::new(start, 1000.0);
            let clock = schedule.start_clock(None, Some(50), 1, Stop::default()).unwrap();
            let mut dues = Vec::new();
            while let Some(due) = schedule.next().await {
                assert!(due <= Instant::now());
                dues.push(due - start);
            }
            clock.join().unwrap();
            let expected: Vec<Duration> = (0..50).map(Duration::from_millis).collect();
            assert_eq!(dues, expected);
            assert_eq!(schedule.untaken(), 0);
        });
    }

    #[test]
    fn what_nobody_took_is_known() {
        let schedule = Schedule::new(Instant::now(), 10_000.0);
        let clock = schedule.start_clock(None, Some(20), 3, Stop::default()).unwrap();
        clock.join().unwrap();
        assert_eq!(schedule.untaken(), 20);
    }
}
