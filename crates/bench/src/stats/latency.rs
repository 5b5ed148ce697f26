//! Percentiles of any number of times in bounded memory: a high dynamic range histogram.

use std::time::Duration;

use hdrhistogram::Histogram;

/// Two significant digits and a bit: buckets are at most 0.1 % wide (`docs/reference/bench.md`).
const SIGNIFICANT_DIGITS: u8 = 3;
/// Longer times count as this one.
const NANOSECONDS_MAX: u64 = 3_600_000_000_000;

/// Times, counted in buckets that are 0.1 % wide.
#[derive(Debug, Clone)]
pub struct Latency(Histogram<u64>);

impl Default for Latency {
    fn default() -> Self {
        let histogram = Histogram::new_with_bounds(1000, NANOSECONDS_MAX, SIGNIFICANT_DIGITS);
        Self(histogram.expect("the bounds are constants that the library accepts"))
    }
}

impl Latency {
    /// Counts one time.
    pub fn record(&mut self, time: Duration) {
        let nanoseconds = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        self.0.saturating_record(nanoseconds.min(NANOSECONDS_MAX));
    }

    /// Counts all times of another.
    pub fn merge(&mut self, other: &Self) {
        // Equal bounds everywhere, so every bucket of the other exists here.
        let merged = self.0.add(&other.0);
        debug_assert!(merged.is_ok());
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.0.reset();
    }

    /// How many times.
    pub fn count(&self) -> u64 {
        self.0.len()
    }

    /// The time in milliseconds that `quantile` (0 to 1) of all do not exceed; 0 of none.
    pub fn quantile_ms(&self, quantile: f64) -> f64 {
        if self.0.is_empty() {
            return 0.0;
        }
        #[expect(clippy::cast_precision_loss, reason = "an hour in nanoseconds is below 2^53")]
        let nanoseconds = self.0.value_at_quantile(quantile) as f64;
        nanoseconds / 1e6
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_hundred_even_steps() {
        let mut latency = Latency::default();
        (1..=100).for_each(|step| latency.record(Duration::from_millis(step)));
        for percent in [50.0, 80.0, 90.0, 95.0, 99.0, 100.0_f64] {
            let found = latency.quantile_ms(percent / 100.0);
            assert!((found - percent).abs() <= percent * 0.001, "p{percent} is {found}");
        }
        assert!(Latency::default().quantile_ms(0.5) == 0.0);
    }

    #[test]
    fn times_beyond_the_range_count_as_its_ends() {
        let mut latency = Latency::default();
        latency.record(Duration::ZERO);
        latency.record(Duration::from_secs(1_000_000));
        assert_eq!(latency.count(), 2);
        assert!(latency.quantile_ms(1.0) <= 3_604_000.0);
    }

    proptest! {
        #[test]
        fn quantiles_are_within_one_percent_of_the_sorted_series(
            mut micros in prop::collection::vec(1_u64..50_000_000, 1..300),
            percent in 1_u32..=100,
        ) {
            let (mut whole, mut other) = (Latency::default(), Latency::default());
            for (at, time) in micros.iter().enumerate() {
                let half = if at % 2 == 0 { &mut whole } else { &mut other };
                half.record(Duration::from_micros(*time));
            }
            whole.merge(&other);
            micros.sort_unstable();
            let found = whole.quantile_ms(f64::from(percent) / 100.0);
            // Where the rank is a whole number, rounding of the quantile decides between two.
            let rank = (micros.len() * percent as usize).div_ceil(100).max(1);
            let close = [rank, (rank + 1).min(micros.len())].iter().any(|rank| {
                let expected = Duration::from_micros(micros[rank - 1]).as_secs_f64() * 1000.0;
                (found - expected).abs() <= expected * 0.01 + 0.002
            });
            prop_assert!(close, "{found}");
        }
    }
}
