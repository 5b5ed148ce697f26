//! How slowly a message may move.

use std::time::Duration;

/// The bounds of a message that clients send or take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pace {
    /// The longest time without a byte.
    pub pause_max: Duration,
    /// Bytes that have to move in a second on the whole, once it has taken as long as a pause may. Who moves a
    /// byte now and then would go on for ever.
    pub rate_min: u64,
}

impl Pace {
    /// How long so many bytes may take in all.
    pub fn time_max(&self, bytes: usize) -> Duration {
        self.pause_max.saturating_add(self.earned(bytes))
    }

    /// How long the next piece may take, when so many bytes have moved in this time.
    pub fn patience(&self, bytes: usize, elapsed: Duration) -> Duration {
        self.time_max(bytes).saturating_sub(elapsed).min(self.pause_max)
    }

    fn earned(&self, bytes: usize) -> Duration {
        Duration::from_millis((bytes as u64).saturating_mul(1000) / self.rate_min.max(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_come_earns_time() {
        let pace = Pace { pause_max: Duration::from_secs(30), rate_min: 500 };
        for (bytes, elapsed, expected) in
            [(0, 0, 30), (0, 29, 1), (0, 31, 0), (500, 30, 1), (500, 32, 0), (1_000_000, 1000, 30)]
        {
            let patience = pace.patience(bytes, Duration::from_secs(elapsed));
            assert_eq!(patience, Duration::from_secs(expected), "{bytes} {elapsed:?}");
        }
    }
}
