//! The clocks of the machine, read here alone. Timeouts and deadlines use the clock of the runtime, which
//! tests can stop.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// Milliseconds since 1970.
#[expect(clippy::disallowed_methods, reason = "the one place that reads the calendar's clock")]
pub(crate) fn epoch_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// An instant of the clock that never goes back.
#[expect(clippy::disallowed_methods, reason = "the one place that reads this clock")]
pub(crate) fn instant() -> Instant {
    Instant::now()
}

/// Microseconds that this thread has run.
pub(crate) fn thread_us() -> u64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    seconds.saturating_mul(1_000_000) + u64::try_from(time.tv_nsec).unwrap_or(0) / 1_000
}
