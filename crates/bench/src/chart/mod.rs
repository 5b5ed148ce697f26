//! Charts as SVG: lines over a number, bars with names. Every axis has its unit, every line its name.
//!
//! Written by hand because the two kinds need three hundred lines, and a plotting library would need
//! fonts and a megabyte. Colours can be told apart by people who do not see all of them (Okabe and Ito).

mod bars;
mod lines;
mod scale;
mod svg;

pub use self::{
    bars::{BarChart, BarSeries},
    lines::{LineChart, Mark, Series},
    scale::Spacing,
};

/// A picture of figures.
#[derive(Debug, Clone)]
pub enum Chart {
    /// Something that changes with something else.
    Lines(LineChart),
    /// Things beside each other.
    Bars(BarChart),
}

impl Chart {
    /// For file names.
    pub fn name(&self) -> &str {
        match self {
            Self::Lines(chart) => &chart.name,
            Self::Bars(chart) => &chart.name,
        }
    }

    /// The picture.
    pub fn to_svg(&self) -> String {
        match self {
            Self::Lines(chart) => chart.to_svg(),
            Self::Bars(chart) => chart.to_svg(),
        }
    }
}

/// Colours of series, in order; a ninth begins again.
const COLOURS: [&str; 8] =
    ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#7a5195", "#4d4d4d"];

fn colour(series: usize) -> &'static str {
    COLOURS[series % COLOURS.len()]
}
