//! Reproducible random numbers: think times and made-up data.

use std::time::Duration;

/// A generator that gives the same numbers for the same seed, on every machine.
#[derive(Debug, Clone)]
pub(crate) struct Random(fastrand::Rng);

impl Random {
    /// A generator for `seed`.
    pub(crate) fn new(seed: u64) -> Self {
        Self(fastrand::Rng::with_seed(seed))
    }

    /// A number in `low..high`; `low` must be below `high`.
    pub(crate) fn below(&mut self, low: u64, high: u64) -> u64 {
        self.0.u64(low..high)
    }

    /// One of `choices`, which must not be empty.
    pub(crate) fn choose<'a, T: ?Sized>(&mut self, choices: &[&'a T]) -> &'a T {
        choices[self.0.usize(..choices.len())]
    }

    /// True in `percent` of a hundred cases.
    pub(crate) fn chance(&mut self, percent: u8) -> bool {
        self.0.u8(..100) < percent
    }

    /// A number of the normal distribution with mean 0 and deviation 1 (polar method of Marsaglia).
    pub(crate) fn gaussian(&mut self) -> f64 {
        loop {
            let (x, y) = (self.0.f64() * 2.0 - 1.0, self.0.f64() * 2.0 - 1.0);
            let square = x * x + y * y;
            // Three of four points lie in the circle, so this ends.
            if square > 0.0 && square < 1.0 {
                return x * (-2.0 * square.ln() / square).sqrt();
            }
        }
    }

    /// A think time: Gaussian, cut off at zero (`docs/reference/bench.md`).
    pub(crate) fn think(&mut self, mean: Duration, deviation: Duration) -> Duration {
        let seconds = mean.as_secs_f64() + deviation.as_secs_f64() * self.gaussian();
        Duration::from_secs_f64(seconds.max(0.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::Moments;

    #[test]
    fn equal_seeds_give_equal_numbers() {
        let draw = |seed| {
            let mut random = Random::new(seed);
            (0..8).map(|_| random.below(0, 1000)).collect::<Vec<_>>()
        };
        assert_eq!(draw(7), draw(7));
        assert_ne!(draw(7), draw(8));
    }

    #[test]
    fn think_times_have_the_mean_and_deviation_asked_for() {
        let mut random = Random::new(1);
        let mut moments = Moments::default();
        for _ in 0..20_000 {
            let think = random.think(Duration::from_millis(900), Duration::from_millis(100));
            moments.add(think.as_secs_f64() * 1000.0);
        }
        assert!((moments.mean() - 900.0).abs() < 3.0, "{}", moments.mean());
        assert!((moments.deviation() - 100.0).abs() < 3.0, "{}", moments.deviation());
    }

    #[test]
    fn think_times_are_never_negative() {
        let mut random = Random::new(2);
        let mut at_zero = 0;
        for _ in 0..1000 {
            let think = random.think(Duration::from_millis(1), Duration::from_millis(10));
            at_zero += usize::from(think.is_zero());
        }
        // With a mean of a tenth of the deviation, 46 % are cut off.
        assert!((400..520).contains(&at_zero), "{at_zero}");
    }
}
