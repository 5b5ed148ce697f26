//! A rate and how far it may be off, the way benchmark.js states it (`docs/reference/bench.md`).

use super::Moments;

/// Two-sided 95 % quantiles of Student's t for 1 to 30 degrees of freedom (any table of statistics).
const STUDENT_T: [f64; 30] = [
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160,
    2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056,
    2.052, 2.048, 2.045, 2.042,
];

/// The quantile for more degrees of freedom: that of the normal distribution.
const STUDENT_T_LIMIT: f64 = 1.96;

/// `t(0.975, degrees)`; of no degrees the one for 1.
pub fn student_t(degrees: usize) -> f64 {
    STUDENT_T.get(degrees.max(1) - 1).copied().unwrap_or(STUDENT_T_LIMIT)
}

/// Operations per second, estimated from samples of the time of one operation.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    /// Samples taken.
    pub samples: usize,
    /// Mean seconds of one operation.
    pub period: f64,
    /// Half of the 95 % interval of the mean, in seconds.
    pub margin: f64,
}

impl Estimate {
    /// The estimate from sampled seconds per operation. One sample has no margin that means anything;
    /// it is stated as 0.
    pub fn of(periods: &[f64]) -> Self {
        let mut moments = Moments::default();
        for period in periods {
            moments.add(*period);
        }
        let samples = periods.len();
        #[expect(clippy::cast_precision_loss, reason = "at most some thousand samples")]
        let standard_error = moments.sample_deviation() / (samples.max(1) as f64).sqrt();
        let margin = if samples < 2 { 0.0 } else { standard_error * student_t(samples - 1) };
        Self { samples, period: moments.mean(), margin }
    }

    /// Operations per second; 0 if nothing was measured.
    pub fn rate(&self) -> f64 {
        if self.period > 0.0 { 1.0 / self.period } else { 0.0 }
    }

    /// The relative margin of error in percent.
    pub fn error_percent(&self) -> f64 {
        if self.period > 0.0 { 100.0 * self.margin / self.period } else { 0.0 }
    }

    /// The rate less and plus its margin of error.
    pub fn interval(&self) -> (f64, f64) {
        let share = self.error_percent() / 100.0;
        (self.rate() * (1.0 - share), self.rate() * (1.0 + share))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_read_by_degrees_of_freedom() {
        let at = [(0, 12.706), (1, 12.706), (4, 2.776), (30, 2.042), (31, 1.96), (5000, 1.96)];
        for (degrees, expected) in at {
            assert!((student_t(degrees) - expected).abs() < 1e-9, "{degrees}");
        }
    }

    #[test]
    fn the_table_falls() {
        assert!(STUDENT_T.windows(2).all(|pair| pair[0] > pair[1]));
        const { assert!(STUDENT_T[29] > STUDENT_T_LIMIT) };
    }

    #[test]
    fn five_samples_worked_out_by_hand() {
        // Mean 10 ms, sample deviation sqrt(2.5) ms, standard error sqrt(0.5) ms, t(4) = 2.776.
        let estimate = Estimate::of(&[0.008, 0.009, 0.010, 0.011, 0.012]);
        assert!((estimate.rate() - 100.0).abs() < 1e-9);
        let percent = 0.5_f64.sqrt() * 2.776 * 10.0;
        assert!((estimate.error_percent() - percent).abs() < 1e-9, "{}", estimate.error_percent());
        let (low, high) = estimate.interval();
        assert!((low - (100.0 - percent)).abs() < 1e-9 && (high - (100.0 + percent)).abs() < 1e-9);
    }

    #[test]
    fn few_samples_do_not_divide_by_zero() {
        assert!(Estimate::of(&[]).rate() == 0.0);
        assert!(Estimate::of(&[]).error_percent() == 0.0);
        assert!(Estimate::of(&[0.5]).error_percent() == 0.0);
        assert!((Estimate::of(&[0.5]).rate() - 2.0).abs() < 1e-12);
    }
}
