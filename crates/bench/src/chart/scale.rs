//! From figures to places, and round figures for an axis.

use crate::report::number::short;

/// How figures are spread over an axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Spacing {
    /// Evenly.
    Linear,
    /// Evenly, of things that are counted: only whole numbers are named.
    Whole,
    /// By the share above them: 50, 90, 99 and 99.9 percent are equally far apart.
    Percentile,
}

/// An axis from one place to another.
#[derive(Debug, Clone)]
pub(super) struct Scale {
    spacing: Spacing,
    low: f64,
    high: f64,
    from: f64,
    to: f64,
    /// The distance of named figures.
    step: f64,
}

/// Percentiles that are named on an axis.
const PERCENTILES: [f64; 6] = [0.0, 50.0, 90.0, 99.0, 99.9, 99.99];

impl Scale {
    /// Spreads `low..high` over `from..to`.
    pub(super) fn new(spacing: Spacing, low: f64, high: f64, from: f64, to: f64) -> Self {
        let mut scale = Self { spacing, low, high, from, to, step: 1.0 };
        // An axis without length would put everything nowhere.
        if !(scale.spread(high) - scale.spread(low)).is_normal() {
            scale.high = low + 1.0;
        }
        scale.step = step(scale.high - low);
        if spacing == Spacing::Whole {
            scale.step = scale.step.max(1.0);
        }
        scale
    }

    /// A linear axis from zero to a round figure above `high`.
    pub(super) fn from_zero(high: f64, from: f64, to: f64) -> Self {
        let high = if high.is_finite() && high > 0.0 { high } else { 1.0 };
        let step = step(high);
        let scale = Self::new(Spacing::Linear, 0.0, (high / step).ceil() * step, from, to);
        Self { step, ..scale }
    }

    fn spread(&self, figure: f64) -> f64 {
        match self.spacing {
            Spacing::Linear | Spacing::Whole => figure,
            Spacing::Percentile => -(1.0 - figure.min(99.9999) / 100.0).log10(),
        }
    }

    /// The place of a figure.
    pub(super) fn at(&self, figure: f64) -> f64 {
        let (low, high) = (self.spread(self.low), self.spread(self.high));
        let share = (self.spread(figure) - low) / (high - low);
        self.from + share * (self.to - self.from)
    }

    /// Round figures and their names.
    pub(super) fn ticks(&self) -> Vec<(f64, String)> {
        match self.spacing {
            Spacing::Percentile => PERCENTILES
                .into_iter()
                .filter(|percentile| (self.low..=self.high).contains(percentile))
                .map(|percentile| (percentile, percentile.to_string()))
                .collect(),
            Spacing::Linear | Spacing::Whole => {
                let step = self.step;
                let first = (self.low / step).ceil();
                (0..=12)
                    .map(|at| (first + f64::from(at)) * step)
                    .take_while(|figure| *figure <= self.high + step * 1e-6)
                    .map(|figure| (figure, name(figure, step)))
                    .collect()
            }
        }
    }
}

fn name(figure: f64, step: f64) -> String {
    if step >= 1.0 { crate::report::number::decimals(figure, 0) } else { short(figure) }
}

/// The distance of round figures, four to eight of them over `length`: 1, 2 or 5 and zeros.
fn step(length: f64) -> f64 {
    let rough = length / 5.0;
    let magnitude = 10_f64.powf(rough.log10().floor());
    let factor = [1.0, 2.0, 5.0, 10.0].into_iter().find(|factor| rough <= factor * magnitude * 1.1);
    factor.unwrap_or(10.0) * magnitude
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_few() {
        for high in [0.003, 0.7, 1.0, 9.0, 12.0, 99.0, 384.5, 2526.0, 1e7] {
            let scale = Scale::from_zero(high, 0.0, 100.0);
            let ticks = scale.ticks();
            assert!((4..=9).contains(&ticks.len()), "{high}: {ticks:?}");
            assert!(scale.at(high) <= 100.001 && scale.at(0.0).abs() < 1e-9);
        }
    }

    #[test]
    fn counted_things_have_whole_ticks() {
        let scale = Scale::new(Spacing::Whole, 1.0, 2.0, 0.0, 100.0);
        let names: Vec<String> = scale.ticks().into_iter().map(|(_, name)| name).collect();
        assert_eq!(names, ["1", "2"]);
    }

    #[test]
    fn percentiles_are_spread_by_the_share_above() {
        let scale = Scale::new(Spacing::Percentile, 0.0, 99.9, 0.0, 300.0);
        for (percentile, place) in [(0.0, 0.0), (90.0, 100.0), (99.0, 200.0), (99.9, 300.0)] {
            assert!((scale.at(percentile) - place).abs() < 0.01, "{percentile}");
        }
    }

    #[test]
    fn an_axis_without_length_is_given_one() {
        let scale = Scale::new(Spacing::Linear, 5.0, 5.0, 0.0, 100.0);
        assert!(scale.at(5.0).is_finite());
        assert!(Scale::from_zero(f64::NAN, 0.0, 1.0).at(0.5).is_finite());
    }
}
