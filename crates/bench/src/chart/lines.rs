//! Lines over a number.

use super::{
    colour,
    scale::{Scale, Spacing},
    svg::{Anchor, BOTTOM, Drawing, LEFT, RIGHT, TOP, WIDTH},
};

const HEIGHT: f64 = 400.0;
/// Points are marked if there are no more of them.
const DOTS_MAX: usize = 24;

/// One line.
#[derive(Debug, Clone)]
pub struct Series {
    /// For the legend.
    pub name: String,
    /// From left to right.
    pub points: Vec<(f64, f64)>,
    /// Whether it is only there for comparison.
    pub is_reference: bool,
}

/// A place on the horizontal axis with a remark.
#[derive(Debug, Clone)]
pub struct Mark {
    /// Where.
    pub at: f64,
    /// What to say.
    pub label: String,
}

/// Lines over a number.
#[derive(Debug, Clone)]
pub struct LineChart {
    /// For file names.
    pub name: String,
    /// Over the chart.
    pub title: String,
    /// The horizontal axis, with its unit.
    pub x_label: String,
    /// How the horizontal axis is spread.
    pub x_spacing: Spacing,
    /// The vertical axis, with its unit. It begins at zero.
    pub y_label: String,
    /// The lines.
    pub series: Vec<Series>,
    /// Remarks.
    pub marks: Vec<Mark>,
}

impl LineChart {
    pub(super) fn to_svg(&self) -> String {
        let points = || self.series.iter().flat_map(|series| &series.points);
        let x_low = points().map(|point| point.0).fold(f64::INFINITY, f64::min);
        let x_high = points().map(|point| point.0).fold(f64::NEG_INFINITY, f64::max);
        let (x_low, x_high) = if x_low <= x_high { (x_low, x_high) } else { (0.0, 1.0) };
        let y_high = points().map(|point| point.1).fold(0.0, f64::max);
        let (right, bottom) = (WIDTH - RIGHT, HEIGHT - BOTTOM);
        let x = Scale::new(self.x_spacing, x_low, x_high, LEFT, right);
        let y = Scale::from_zero(y_high, bottom, TOP);
        let mut drawing = Drawing::new(HEIGHT, &self.title);
        for (figure, name) in y.ticks() {
            drawing.grid((LEFT, y.at(figure)), (right, y.at(figure)));
            drawing.text(LEFT - 8.0, y.at(figure) + 4.0, Anchor::End, &name);
        }
        for (figure, name) in x.ticks() {
            drawing.grid((x.at(figure), TOP), (x.at(figure), bottom));
            drawing.text(x.at(figure), bottom + 20.0, Anchor::Middle, &name);
        }
        drawing.axis((LEFT, bottom), (right, bottom));
        drawing.text(f64::midpoint(LEFT, right), HEIGHT - 14.0, Anchor::Middle, &self.x_label);
        drawing.upward_text(18.0, f64::midpoint(TOP, bottom), &self.y_label);
        for mark in &self.marks {
            drawing.line((x.at(mark.at), TOP), (x.at(mark.at), bottom), "#57606a", 1.2, true);
            let is_right = x.at(mark.at) > f64::midpoint(LEFT, right);
            let (anchor, gap) = if is_right { (Anchor::End, -6.0) } else { (Anchor::Start, 6.0) };
            drawing.text(x.at(mark.at) + gap, bottom - 10.0, anchor, &mark.label);
        }
        for (number, series) in self.series.iter().enumerate() {
            let places: Vec<(f64, f64)> = series
                .points
                .iter()
                .filter(|point| point.0.is_finite() && point.1.is_finite())
                .map(|point| (x.at(point.0), y.at(point.1)))
                .collect();
            drawing.path(&places, colour(number), series.is_reference);
            if places.len() <= DOTS_MAX && !series.is_reference {
                for place in &places {
                    drawing.dot(*place, colour(number));
                }
            }
        }
        let names: Vec<(&str, &str)> = self
            .series
            .iter()
            .enumerate()
            .map(|(number, series)| (series.name.as_str(), colour(number)))
            .collect();
        drawing.legend(&names);
        drawing.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_names_and_lines_are_there() {
        let chart = LineChart {
            name: "n".to_owned(),
            title: "A < B".to_owned(),
            x_label: "workers".to_owned(),
            x_spacing: Spacing::Linear,
            y_label: "requests/s".to_owned(),
            series: vec![Series {
                name: "measured".to_owned(),
                points: vec![(1.0, 100.0), (2.0, f64::NAN), (4.0, 300.0)],
                is_reference: false,
            }],
            marks: vec![Mark { at: 2.0, label: "knee".to_owned() }],
        };
        let svg = chart.to_svg();
        for part in ["A &lt; B", ">workers<", ">requests/s<", ">measured<", ">knee<", "<path"] {
            assert!(svg.contains(part), "{part}");
        }
        assert!(!svg.contains("NaN"));
    }

    #[test]
    fn no_points_draw_no_nonsense() {
        let chart = LineChart {
            name: "n".to_owned(),
            title: String::new(),
            x_label: String::new(),
            x_spacing: Spacing::Percentile,
            y_label: String::new(),
            series: Vec::new(),
            marks: Vec::new(),
        };
        let svg = chart.to_svg();
        assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
    }
}
