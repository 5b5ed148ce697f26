//! Horizontal bars: names have room on the left, figures at the end of each bar.

use super::{
    colour,
    scale::Scale,
    svg::{Anchor, Drawing, RIGHT, TOP as TOP_WITH_LEGEND, WIDTH, width_of},
};
use crate::report::number::short;

const BAR_HEIGHT: f64 = 16.0;
const GROUP_GAP: f64 = 14.0;
/// Space above bars of one kind, which need no legend.
const TOP_PLAIN: f64 = 50.0;
const BOTTOM: f64 = 56.0;
/// Room for the figure behind the longest bar.
const FIGURE_WIDTH: f64 = 84.0;

/// One figure for each group.
#[derive(Debug, Clone)]
pub struct BarSeries {
    /// For the legend.
    pub name: String,
    /// One for each group; what is no number has no bar.
    pub values: Vec<f64>,
    /// How far each may be off, drawn as a whisker; empty if that is not known.
    pub margins: Vec<f64>,
}

/// Bars in groups.
#[derive(Debug, Clone)]
pub struct BarChart {
    /// For file names.
    pub name: String,
    /// Over the chart.
    pub title: String,
    /// What the bars measure, with its unit.
    pub label: String,
    /// The names of the groups.
    pub groups: Vec<String>,
    /// The bars of each group.
    pub series: Vec<BarSeries>,
}

impl BarChart {
    pub(super) fn to_svg(&self) -> String {
        let group_height = BAR_HEIGHT * as_f64(self.series.len().max(1)) + GROUP_GAP;
        let above = if self.series.len() > 1 { TOP_WITH_LEGEND } else { TOP_PLAIN };
        let bottom = above + group_height * as_f64(self.groups.len());
        let widest = self.groups.iter().map(|group| width_of(group)).fold(40.0, f64::max);
        let left = (widest + 36.0).min(WIDTH / 2.0);
        let values = self.series.iter().flat_map(|series| {
            let margins = series.margins.iter().copied().chain(std::iter::repeat(0.0));
            series.values.iter().zip(margins).map(|(value, margin)| value + margin)
        });
        let high = values.filter(|value| value.is_finite()).fold(0.0, f64::max);
        let x = Scale::from_zero(high, left, WIDTH - RIGHT - FIGURE_WIDTH);
        let mut drawing = Drawing::new(bottom + BOTTOM, &self.title);
        for (figure, name) in x.ticks() {
            drawing.grid((x.at(figure), above), (x.at(figure), bottom));
            drawing.text(x.at(figure), bottom + 20.0, Anchor::Middle, &name);
        }
        for (group, name) in self.groups.iter().enumerate() {
            let top = above + group_height * as_f64(group) + GROUP_GAP / 2.0;
            let middle = top + (group_height - GROUP_GAP) / 2.0;
            drawing.text(left - 10.0, middle + 4.0, Anchor::End, name);
            for (number, series) in self.series.iter().enumerate() {
                let value = series.values.get(group).copied().unwrap_or(f64::NAN);
                if !value.is_finite() {
                    continue;
                }
                let y = top + BAR_HEIGHT * as_f64(number);
                let end = x.at(value);
                drawing.bar(left, y + 1.0, (end - left).max(0.5), BAR_HEIGHT - 2.0, colour(number));
                let margin = series.margins.get(group).copied().unwrap_or(0.0);
                let mut figure_at = end;
                if margin > 0.0 && margin.is_finite() {
                    let (low, high) = (x.at((value - margin).max(0.0)), x.at(value + margin));
                    let y = y + BAR_HEIGHT / 2.0;
                    drawing.line((low, y), (high, y), "#1b1f24", 1.2, false);
                    for end in [low, high] {
                        drawing.line((end, y - 4.0), (end, y + 4.0), "#1b1f24", 1.2, false);
                    }
                    figure_at = high;
                }
                let figure = short(value);
                drawing.text(figure_at + 6.0, y + BAR_HEIGHT - 4.0, Anchor::Start, &figure);
            }
        }
        drawing.axis((left, above), (left, bottom));
        let middle = f64::midpoint(left, WIDTH - RIGHT - FIGURE_WIDTH);
        drawing.text(middle, bottom + 42.0, Anchor::Middle, &self.label);
        // One kind of bar needs no legend; the axis says what it is.
        if self.series.len() > 1 {
            let names: Vec<(&str, &str)> = self
                .series
                .iter()
                .enumerate()
                .map(|(number, series)| (series.name.as_str(), colour(number)))
                .collect();
            drawing.legend(&names);
        }
        drawing.finish()
    }
}

fn as_f64(count: usize) -> f64 {
    f64::from(u32::try_from(count).unwrap_or(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_group_has_its_bars_and_missing_figures_have_none() {
        let series = |name: &str, values: Vec<f64>| BarSeries {
            name: name.to_owned(),
            values,
            margins: vec![0.5],
        };
        let chart = BarChart {
            name: "n".to_owned(),
            title: "Time".to_owned(),
            label: "µs per message".to_owned(),
            groups: vec!["json".to_owned(), "xml".to_owned()],
            series: vec![series("encode", vec![1.25, 2.5]), series("decode", vec![3.0, f64::NAN])],
        };
        let svg = chart.to_svg();
        for part in [">json<", ">xml<", ">1.25<", ">3.00<", ">encode<", "µs per message"] {
            assert!(svg.contains(part), "{part}");
        }
        assert!(!svg.contains("NaN"));
    }
}
