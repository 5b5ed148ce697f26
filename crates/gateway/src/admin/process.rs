//! What the system says of this process: memory, processor time, open files.

use std::{
    fs,
    time::{Duration, SystemTime},
};

use rustix::{
    param::page_size,
    time::{ClockId, clock_gettime},
};

/// This process at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Usage {
    /// Bytes of memory that are resident; 0 where the system does not tell.
    pub(super) memory_bytes: u64,
    /// Processor time of all threads.
    pub(super) cpu: Duration,
    /// Open files, sockets included; 0 where the system does not tell.
    pub(super) open_files: u64,
}

/// What the process uses now.
pub(super) fn usage() -> Usage {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    let seconds = u64::try_from(time.tv_sec).unwrap_or_default();
    let nanoseconds = u32::try_from(time.tv_nsec).unwrap_or_default();
    Usage {
        memory_bytes: resident_pages().unwrap_or_default().saturating_mul(page_size() as u64),
        cpu: Duration::new(seconds, nanoseconds),
        open_files: fs::read_dir("/proc/self/fd").map_or(0, |files| files.count() as u64),
    }
}

/// The second number of `statm`.
fn resident_pages() -> Option<u64> {
    fs::read_to_string("/proc/self/statm").ok()?.split(' ').nth(1)?.parse().ok()
}

/// Milliseconds since 1970.
pub(super) fn unix_ms(time: SystemTime) -> u64 {
    let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_has_memory_files_and_time() {
        let usage = usage();
        assert!(usage.memory_bytes > 100_000 && usage.open_files > 2);
        assert!(usage.cpu > Duration::ZERO);
    }
}
