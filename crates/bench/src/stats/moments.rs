//! Mean and deviation in one pass, without keeping the numbers.
//!
//! Summing squares and subtracting loses all digits when the deviation is small beside the mean;
//! the update of Welford, and the merge of Chan, do not.

/// Count, mean, deviation, least and greatest of the numbers added so far.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Moments {
    count: u64,
    mean: f64,
    /// Sum of the squared distances from the mean.
    squares: f64,
    least: f64,
    greatest: f64,
}

impl Moments {
    /// Adds one number.
    pub fn add(&mut self, number: f64) {
        if self.count == 0 {
            (self.least, self.greatest) = (number, number);
        }
        self.count += 1;
        let distance = number - self.mean;
        self.mean += distance / as_f64(self.count);
        self.squares += distance * (number - self.mean);
        self.least = self.least.min(number);
        self.greatest = self.greatest.max(number);
    }

    /// Adds all numbers of another.
    pub fn merge(&mut self, other: &Self) {
        if other.count == 0 {
            return;
        }
        if self.count == 0 {
            *self = *other;
            return;
        }
        let (own, others) = (as_f64(self.count), as_f64(other.count));
        let distance = other.mean - self.mean;
        self.count += other.count;
        let all = as_f64(self.count);
        self.mean += distance * others / all;
        self.squares += other.squares + distance * distance * own * others / all;
        self.least = self.least.min(other.least);
        self.greatest = self.greatest.max(other.greatest);
    }

    /// How many numbers.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The average; 0 of no numbers.
    pub fn mean(&self) -> f64 {
        self.mean
    }

    /// The population deviation, `sqrt(sum(t²)/n - average²)`; 0 of no numbers.
    pub fn deviation(&self) -> f64 {
        if self.count == 0 { 0.0 } else { (self.squares / as_f64(self.count)).sqrt() }
    }

    /// The deviation of the population that the numbers are a sample of (divisor `n - 1`); 0 of
    /// fewer than two.
    pub fn sample_deviation(&self) -> f64 {
        if self.count < 2 { 0.0 } else { (self.squares / as_f64(self.count - 1)).sqrt() }
    }

    /// The least number; 0 of none.
    pub fn least(&self) -> f64 {
        self.least
    }

    /// The greatest number; 0 of none.
    pub fn greatest(&self) -> f64 {
        self.greatest
    }
}

#[expect(clippy::cast_precision_loss, reason = "no run has 2^53 samples")]
fn as_f64(count: u64) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn of(numbers: &[f64]) -> Moments {
        let mut moments = Moments::default();
        for number in numbers {
            moments.add(*number);
        }
        moments
    }

    #[test]
    fn a_series_worked_out_by_hand() {
        let moments = of(&[2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0]);
        assert!((moments.mean() - 5.0).abs() < 1e-12);
        assert!((moments.deviation() - 2.0).abs() < 1e-12);
        assert!((moments.sample_deviation() - (32.0_f64 / 7.0).sqrt()).abs() < 1e-12);
        assert!((moments.least() - 2.0).abs() < 1e-12 && (moments.greatest() - 9.0).abs() < 1e-12);
    }

    #[test]
    fn small_deviations_beside_large_means_survive() {
        let moments = of(&[1e9 + 4.0, 1e9 + 7.0, 1e9 + 13.0, 1e9 + 16.0]);
        assert!((moments.deviation() - 22.5_f64.sqrt()).abs() < 1e-6, "{}", moments.deviation());
    }

    #[test]
    fn no_numbers_are_all_zero() {
        let moments = Moments::default();
        assert_eq!(moments.count(), 0);
        assert!(moments.mean() == 0.0 && moments.deviation() == 0.0 && moments.least() == 0.0);
    }

    proptest! {
        #[test]
        fn one_pass_and_merging_agree_with_the_definition(
            numbers in prop::collection::vec(0.0..1000.0_f64, 1..200),
            cut in any::<prop::sample::Index>(),
        ) {
            let count = f64::from(u32::try_from(numbers.len()).unwrap());
            let mean = numbers.iter().sum::<f64>() / count;
            let squares = numbers.iter().map(|number| number * number).sum::<f64>() / count;
            let deviation = (squares - mean * mean).max(0.0).sqrt();
            let cut = cut.index(numbers.len());
            let mut merged = of(&numbers[..cut]);
            merged.merge(&of(&numbers[cut..]));
            for moments in [of(&numbers), merged] {
                prop_assert_eq!(moments.count(), numbers.len() as u64);
                prop_assert!((moments.mean() - mean).abs() < 1e-8);
                prop_assert!((moments.deviation() - deviation).abs() < 1e-4);
                prop_assert!(numbers.contains(&moments.least()));
                prop_assert!(numbers.iter().all(|number| *number <= moments.greatest()));
            }
        }
    }
}
