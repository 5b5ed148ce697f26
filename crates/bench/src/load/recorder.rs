//! What is counted while load runs, and what it comes to.

use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

use super::client::{Exchange, Failure};
use crate::stats::{Latency, Moments};

/// Errors by kind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ErrorCounts {
    /// No connection.
    pub connect: u64,
    /// The connection broke, or the answer was not HTTP.
    pub transport: u64,
    /// No whole answer in time.
    pub timeout: u64,
    /// A status outside 200..399.
    pub status: u64,
    /// Another body than expected.
    pub body: u64,
    /// Requests of an open loop that were due and never sent, because no user became free.
    pub unsent: u64,
}

impl ErrorCounts {
    /// All of them that were requests.
    pub fn sent(&self) -> u64 {
        self.connect + self.transport + self.timeout + self.status + self.body
    }

    fn count(&mut self, failure: &Failure) {
        match failure {
            Failure::Connect(_) => self.connect += 1,
            Failure::Transport(_) => self.transport += 1,
            Failure::Timeout => self.timeout += 1,
            Failure::Status(_) => self.status += 1,
            Failure::Body => self.body += 1,
        }
    }

    fn merge(&mut self, other: &Self) {
        self.connect += other.connect;
        self.transport += other.transport;
        self.timeout += other.timeout;
        self.status += other.status;
        self.body += other.body;
        self.unsent += other.unsent;
    }
}

/// What happened in one part of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Point {
    /// Seconds from the start of the run to the start of the part.
    pub from: f64,
    /// Seconds from the start of the run to the end of the part.
    pub to: f64,
    /// Requests that ended in it.
    pub samples: u64,
    /// Those of them that failed.
    pub errors: u64,
    /// Median response time in milliseconds.
    pub p50_ms: f64,
    /// 99th percentile in milliseconds.
    pub p99_ms: f64,
}

/// What one thread has counted.
#[derive(Debug, Default)]
pub(super) struct Recorder {
    pub(super) total: Tally,
    /// Since the last look.
    pub(super) recent: Recent,
}

/// Counts since the last look.
#[derive(Debug, Default)]
pub(super) struct Recent {
    pub(super) samples: u64,
    pub(super) errors: u64,
    pub(super) times: Latency,
}

/// Everything about a run that can be added up.
#[derive(Debug, Clone, Default)]
pub(super) struct Tally {
    /// Response times in milliseconds.
    pub(super) moments: Moments,
    pub(super) times: Latency,
    /// Times from sending, without the wait for a free user.
    pub(super) service: Latency,
    /// How much later than due requests were sent.
    pub(super) delay: Latency,
    pub(super) errors: ErrorCounts,
    pub(super) first_failure: Option<String>,
    pub(super) statuses: BTreeMap<u16, u64>,
    pub(super) bytes: u64,
    pub(super) connections: u64,
    pub(super) reused: u64,
    /// First start and last end.
    pub(super) span: Option<(Instant, Instant)>,
    /// Seconds that users were there, added up.
    pub(super) user_seconds: f64,
}

/// When a request was due, sent and answered. Without a schedule it is due when it is sent.
pub(super) struct Times {
    pub(super) due: Instant,
    pub(super) sent: Instant,
    pub(super) ended: Instant,
}

impl Recorder {
    pub(super) fn record(&mut self, times: &Times, exchange: &Exchange) {
        let response = times.ended.duration_since(times.due);
        let total = &mut self.total;
        total.moments.add(response.as_secs_f64() * 1000.0);
        total.times.record(response);
        total.service.record(times.ended.duration_since(times.sent));
        total.delay.record(times.sent.duration_since(times.due));
        total.bytes += exchange.bytes;
        total.connections += u64::from(exchange.is_connected);
        total.reused += u64::from(exchange.is_reused);
        let (first, last) = total.span.unwrap_or((times.due, times.ended));
        total.span = Some((first.min(times.due), last.max(times.ended)));
        self.recent.samples += 1;
        self.recent.times.record(response);
        if let Some(failure) = &exchange.failure {
            total.errors.count(failure);
            self.recent.errors += 1;
            if let Failure::Status(status) = failure {
                *total.statuses.entry(status.as_u16()).or_default() += 1;
            }
            total.first_failure.get_or_insert_with(|| failure.to_string());
        }
    }
}

impl Tally {
    pub(super) fn merge(&mut self, other: Self) {
        self.moments.merge(&other.moments);
        self.times.merge(&other.times);
        self.service.merge(&other.service);
        self.delay.merge(&other.delay);
        self.errors.merge(&other.errors);
        self.first_failure = self.first_failure.take().or(other.first_failure);
        for (status, count) in other.statuses {
            *self.statuses.entry(status).or_default() += count;
        }
        self.bytes += other.bytes;
        self.connections += other.connections;
        self.reused += other.reused;
        self.user_seconds += other.user_seconds;
        self.span = match (self.span, other.span) {
            (Some((a, b)), Some((c, d))) => Some((a.min(c), b.max(d))),
            (one, other) => one.or(other),
        };
    }
}

/// What a run came to. Times in milliseconds unless they say otherwise.
#[derive(Debug, Clone)]
pub struct LoadResult {
    /// Average, deviation, least and greatest response time.
    pub moments: Moments,
    /// All response times.
    pub times: Latency,
    /// All times from sending to the end of the answer.
    pub service: Latency,
    /// How late requests were sent.
    pub delay: Latency,
    /// What went wrong.
    pub errors: ErrorCounts,
    /// The first thing that went wrong, for a message.
    pub first_failure: Option<String>,
    /// Statuses outside 200..399.
    pub statuses: BTreeMap<u16, u64>,
    /// Bytes received, heads included.
    pub bytes: u64,
    /// Connections opened.
    pub connections: u64,
    /// Requests on a connection that had served one before.
    pub reused: u64,
    /// From the first start to the last end.
    pub elapsed: Duration,
    /// Users that were there on average (those that had not started yet count as absent).
    pub users_mean: f64,
    /// The run in parts.
    pub points: Vec<Point>,
}

impl LoadResult {
    pub(super) fn of(tally: Tally, points: Vec<Point>) -> Self {
        let elapsed = tally.span.map_or(Duration::ZERO, |(first, last)| last - first);
        let seconds = elapsed.as_secs_f64();
        Self {
            users_mean: if seconds > 0.0 { tally.user_seconds / seconds } else { 0.0 },
            moments: tally.moments,
            times: tally.times,
            service: tally.service,
            delay: tally.delay,
            errors: tally.errors,
            first_failure: tally.first_failure,
            statuses: tally.statuses,
            bytes: tally.bytes,
            connections: tally.connections,
            reused: tally.reused,
            elapsed,
            points,
        }
    }

    /// Finished requests.
    pub fn samples(&self) -> u64 {
        self.moments.count()
    }

    /// Requests per second: samples by the time from the first start to the last end.
    pub fn rate(&self) -> f64 {
        per_second(self.samples(), self.elapsed)
    }

    /// Kilobytes (1,024 bytes) received per second, heads included.
    pub fn throughput_kb(&self) -> f64 {
        per_second(self.bytes, self.elapsed) / 1024.0
    }

    /// Errors of all requests, in percent.
    pub fn error_percent(&self) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "no run has 2^53 samples")]
        let share = self.errors.sent() as f64 / self.samples().max(1) as f64;
        100.0 * share
    }
}

fn per_second(count: u64, elapsed: Duration) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "no run has 2^53 samples or bytes")]
    let count = count as f64;
    if elapsed.is_zero() { 0.0 } else { count / elapsed.as_secs_f64() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exchange(failure: Option<Failure>) -> Exchange {
        Exchange { failure, bytes: 2048, is_reused: true, is_connected: false }
    }

    #[test]
    fn figures_follow_the_definitions() {
        let start = Instant::now();
        let at = |ms: u64| start + Duration::from_millis(ms);
        let mut recorder = Recorder::default();
        for (due, sent, ended) in [(0, 0, 100), (100, 150, 400), (1000, 1000, 2000)] {
            let times = Times { due: at(due), sent: at(sent), ended: at(ended) };
            recorder.record(&times, &exchange(None));
        }
        recorder.total.user_seconds = 1.0;
        let mut tally = Tally::default();
        tally.merge(recorder.total);
        let result = LoadResult::of(tally, Vec::new());
        assert_eq!(result.samples(), 3);
        assert!((result.moments.mean() - 1400.0 / 3.0).abs() < 1e-9);
        assert!((result.rate() - 1.5).abs() < 1e-9);
        assert!((result.throughput_kb() - 3.0).abs() < 1e-9);
        assert!((result.users_mean - 0.5).abs() < 1e-9);
        // The wait for a free user counts as response time, not as service time.
        assert!((result.times.quantile_ms(0.5) - 300.0).abs() < 1.0);
        assert!((result.service.quantile_ms(0.5) - 250.0).abs() < 1.0);
        assert!((result.delay.quantile_ms(1.0) - 50.0).abs() < 1.0);
    }

    #[test]
    fn errors_are_counted_by_kind_and_as_samples() {
        let now = Instant::now();
        let mut recorder = Recorder::default();
        let failures = [
            None,
            Some(Failure::Status(hyper::StatusCode::BAD_GATEWAY)),
            Some(Failure::Timeout),
            Some(Failure::Body),
        ];
        for failure in failures {
            recorder.record(&Times { due: now, sent: now, ended: now }, &exchange(failure));
        }
        let result = LoadResult::of(recorder.total, Vec::new());
        assert_eq!((result.samples(), result.errors.sent()), (4, 3));
        assert!((result.error_percent() - 75.0).abs() < 1e-9);
        assert_eq!(result.statuses.get(&502), Some(&1));
        assert_eq!(result.first_failure.as_deref(), Some("status 502 Bad Gateway"));
        assert!(result.rate() == 0.0);
    }
}
