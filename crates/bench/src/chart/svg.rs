//! The elements that charts are made of.

use std::fmt::Write as _;

use qlio_data::codec::xml;

/// Width of every chart.
pub(super) const WIDTH: f64 = 760.0;
/// Space left of the plot.
pub(super) const LEFT: f64 = 72.0;
/// Space right of it.
pub(super) const RIGHT: f64 = 28.0;
/// Space above it: title and legend.
pub(super) const TOP: f64 = 76.0;
/// Space below it: figures and the name of the axis.
pub(super) const BOTTOM: f64 = 58.0;

const INK: &str = "#1b1f24";
const FAINT: &str = "#57606a";
const GRID: &str = "#e3e7eb";

/// Where a text stands relative to its place.
#[derive(Debug, Clone, Copy)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

/// A drawing that grows.
pub(super) struct Drawing {
    out: String,
}

impl Drawing {
    pub(super) fn new(height: f64, title: &str) -> Self {
        let label = xml::escape(title);
        let out = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" \
             width=\"{WIDTH}\" height=\"{height}\" role=\"img\" aria-label=\"{label}\" \
             font-family=\"system-ui, sans-serif\" font-size=\"13\">\n\
             <rect width=\"{WIDTH}\" height=\"{height}\" fill=\"#ffffff\"/>\n\
             <text x=\"24\" y=\"30\" font-size=\"17\" font-weight=\"600\" fill=\"{INK}\">{label}</text>\n"
        );
        Self { out }
    }

    // Writing to a string cannot fail, so its results are dropped here and below.

    pub(super) fn text(&mut self, x: f64, y: f64, anchor: Anchor, text: &str) {
        let anchor = match anchor {
            Anchor::Start => "start",
            Anchor::Middle => "middle",
            Anchor::End => "end",
        };
        let text = xml::escape(text);
        let _ = writeln!(
            self.out,
            "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\" fill=\"{FAINT}\">{text}</text>"
        );
    }

    /// A text that reads upwards, for a vertical axis.
    pub(super) fn upward_text(&mut self, x: f64, y: f64, text: &str) {
        let text = xml::escape(text);
        let _ = writeln!(
            self.out,
            "<text transform=\"translate({x:.1} {y:.1}) rotate(-90)\" text-anchor=\"middle\" \
             fill=\"{FAINT}\">{text}</text>"
        );
    }

    pub(super) fn grid(&mut self, from: (f64, f64), to: (f64, f64)) {
        self.line(from, to, GRID, 1.0, false);
    }

    pub(super) fn axis(&mut self, from: (f64, f64), to: (f64, f64)) {
        self.line(from, to, FAINT, 1.2, false);
    }

    pub(super) fn line(
        &mut self,
        from: (f64, f64),
        to: (f64, f64),
        colour: &str,
        width: f64,
        is_dashed: bool,
    ) {
        let dash = if is_dashed { " stroke-dasharray=\"5 4\"" } else { "" };
        let _ = writeln!(
            self.out,
            "<line x1=\"{:.1}\" y1=\"{:.1}\" x2=\"{:.1}\" y2=\"{:.1}\" stroke=\"{colour}\" \
             stroke-width=\"{width}\"{dash}/>",
            from.0, from.1, to.0, to.1
        );
    }

    pub(super) fn path(&mut self, points: &[(f64, f64)], colour: &str, is_dashed: bool) {
        let dash = if is_dashed { " stroke-dasharray=\"6 5\"" } else { "" };
        let mut places = String::new();
        for (at, (x, y)) in points.iter().enumerate() {
            let _ = write!(places, "{}{x:.1} {y:.1}", if at == 0 { "M" } else { "L" });
        }
        let _ = writeln!(
            self.out,
            "<path d=\"{places}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\" \
             stroke-linejoin=\"round\"{dash}/>"
        );
    }

    pub(super) fn dot(&mut self, (x, y): (f64, f64), colour: &str) {
        let _ =
            writeln!(self.out, "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3.2\" fill=\"{colour}\"/>");
    }

    pub(super) fn bar(&mut self, x: f64, y: f64, width: f64, height: f64, colour: &str) {
        let _ = writeln!(
            self.out,
            "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" rx=\"1.5\" \
             fill=\"{colour}\"/>"
        );
    }

    /// Names and colours of the series in one row under the title.
    pub(super) fn legend(&mut self, names: &[(&str, &str)]) {
        let mut x = 24.0;
        for (name, colour) in names {
            self.bar(x, 45.0, 12.0, 12.0, colour);
            self.text(x + 18.0, 56.0, Anchor::Start, name);
            // No fonts are known here; this is wide enough for all of them.
            x += 18.0 + width_of(name) + 20.0;
        }
    }

    pub(super) fn finish(mut self) -> String {
        self.out.push_str("</svg>\n");
        self.out
    }
}

/// About how wide a text is.
pub(super) fn width_of(text: &str) -> f64 {
    f64::from(u32::try_from(text.chars().count()).unwrap_or(u32::MAX)) * 7.2
}
