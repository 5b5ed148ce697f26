//! The bounds of every measurement. Going over one is refused by name before anything is sent.

use std::time::Duration;

/// Virtual users, which is also connections, of one run.
pub const USERS_MAX: usize = 10_000;
/// How long one run may send.
pub const DURATION_MAX: Duration = Duration::from_hours(24);
/// Requests of one run.
pub const REQUESTS_MAX: u64 = 1_000_000_000;
/// Requests per second of an open loop.
pub const RATE_MAX: f64 = 1_000_000.0;
/// Time that one request may take; longer ones count as errors.
pub const TIMEOUT_MAX: Duration = Duration::from_mins(10);
/// Bytes of one answer; a longer one counts as an error.
pub const ANSWER_BYTES_MAX: usize = 256 << 20;

/// Virtual users against a target that is not loopback.
pub const REMOTE_USERS_MAX: usize = 50;
/// How long one run may send to a target that is not loopback, ramp and capacity phase included.
pub const REMOTE_DURATION_MAX: Duration = Duration::from_mins(2);
/// Requests per second of an open loop against a target that is not loopback.
pub const REMOTE_RATE_MAX: f64 = 500.0;

/// Entries of a list on the command line (thread counts, concurrencies, codecs, tests).
pub const LIST_MAX: usize = 64;
/// Threads of a gateway or of the load generator.
pub const THREADS_MAX: usize = 1024;

/// Messages of one codec measurement.
pub const MESSAGES_MAX: usize = 10_000_000;
/// Bytes of the buffer that all messages of one codec are written to.
pub const CODEC_BUFFER_BYTES_MAX: usize = 1 << 30;
/// Repetitions of one codec measurement.
pub const REPEAT_MAX: usize = 1000;
/// Bytes of a sample or schema that the user brings.
pub const SAMPLE_BYTES_MAX: u64 = 16 << 20;
/// Bytes of a report that is compared with.
pub const BASELINE_BYTES_MAX: u64 = 64 << 20;

/// Points of the time series of one run; longer runs get wider intervals.
pub const INTERVALS_MAX: usize = 600;
