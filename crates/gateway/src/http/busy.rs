//! Whether the machine is too busy to compress answers (SRV-36).
//!
//! The five-minute load average is compared with half the number of processors. It is read at most
//! every few seconds, from a file that the kernel makes up and that never waits for a disk. Where
//! there is no such file the machine counts as idle.

use std::{
    cell::Cell,
    fs, thread,
    time::{Duration, Instant},
};

/// How long one reading is used.
const READ_EVERY: Duration = Duration::from_secs(5);
/// Where Linux tells the load average.
const LOAD_FILE: &str = "/proc/loadavg";

/// Watches the load for one worker.
#[derive(Debug, Default)]
pub struct LoadWatch {
    read_at: Cell<Option<Instant>>,
    is_busy: Cell<bool>,
}

impl LoadWatch {
    /// Whether the machine is busy now, and a text for the log if that has just begun.
    pub fn check(&self) -> (bool, Option<String>) {
        let is_fresh = self.read_at.get().is_some_and(|then| then.elapsed() < READ_EVERY);
        if is_fresh {
            return (self.is_busy.get(), None);
        }
        self.read_at.set(Some(Instant::now()));
        let load = fs::read_to_string(LOAD_FILE).ok().and_then(|text| five_minutes(&text));
        let processors = thread::available_parallelism().map_or(1, usize::from);
        let busy = load.filter(|load| is_too_high(*load, processors));
        let was_busy = self.is_busy.replace(busy.is_some());
        let note = busy
            .filter(|_| !was_busy)
            .map(|load| format!("CPU load is high - {load}. Responses are not compressed."));
        (busy.is_some(), note)
    }
}

/// The second of the three averages.
fn five_minutes(text: &str) -> Option<f64> {
    text.split_whitespace().nth(1)?.parse().ok()
}

fn is_too_high(load: f64, processors: usize) -> bool {
    let processors = u32::try_from(processors).unwrap_or(u32::MAX);
    load > f64::from(processors) / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_five_minute_average_is_compared_with_half_the_processors() {
        assert_eq!(five_minutes("0.10 1.25 3.00 1/200 4242"), Some(1.25));
        assert_eq!(five_minutes(""), None);
        assert!(!is_too_high(1.0, 2));
        assert!(is_too_high(1.01, 2));
    }

    #[test]
    fn a_reading_is_used_for_a_while_and_noted_once() {
        let watch = LoadWatch::default();
        let (first, _) = watch.check();
        assert_eq!(watch.check(), (first, None));
    }
}
