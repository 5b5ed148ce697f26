//! Numbers as text for Prometheus: the classic format, version 0.0.4, and `OpenMetrics` 1.0 (OBS-3).
//!
//! The two differ in what the family of a counter is called and in the last line. A library would bring its own
//! counters with locks and write only one of the two.

use std::fmt::{Display, Write as _};

use qlio_engine::meter::{BUCKETS_US, HistogramSum};

/// What kind of numbers a family has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Only grows, until the process ends; its samples are called `…_total`.
    Counter,
    /// Goes up and down.
    Gauge,
    /// Times, by upper bounds.
    Histogram,
}

impl Kind {
    /// Its name, which is the same in both formats.
    pub fn name(self) -> &'static str {
        match self {
            Self::Counter => "counter",
            Self::Gauge => "gauge",
            Self::Histogram => "histogram",
        }
    }
}

/// Numbers of one name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Family {
    /// The name, without `_total`.
    pub name: &'static str,
    /// What kind of numbers.
    pub kind: Kind,
    /// What tells its series from each other.
    pub labels: &'static [&'static str],
    /// What it says.
    pub help: &'static str,
}

/// The two formats.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Format {
    Classic,
    OpenMetrics,
}

impl Format {
    /// What the client can read.
    pub(super) fn accepted(accept: &str) -> Self {
        let is_open = accept.contains("application/openmetrics-text");
        if is_open { Self::OpenMetrics } else { Self::Classic }
    }

    pub(super) fn media_type(self) -> &'static str {
        match self {
            Self::Classic => "text/plain; version=0.0.4; charset=utf-8",
            Self::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
        }
    }
}

/// Writes families, one after the other.
pub(super) struct Exposition {
    format: Format,
    text: String,
}

/// Writes the series of one family.
pub(super) struct Series<'e> {
    family: Family,
    text: &'e mut String,
}

// Writing to a string cannot fail: the results below say nothing.
impl Exposition {
    pub(super) fn new(format: Format) -> Self {
        Self { format, text: String::new() }
    }

    /// Begins a family; each comes once.
    pub(super) fn family(&mut self, family: Family) -> Series<'_> {
        let suffix = match (self.format, family.kind) {
            (Format::Classic, Kind::Counter) => "_total",
            _ => "",
        };
        let Family { name, kind, help, .. } = family;
        let _ = writeln!(self.text, "# HELP {name}{suffix} {help}");
        let _ = writeln!(self.text, "# TYPE {name}{suffix} {}", kind.name());
        Series { family, text: &mut self.text }
    }

    pub(super) fn finish(mut self) -> String {
        if self.format == Format::OpenMetrics {
            self.text.push_str("# EOF\n");
        }
        self.text
    }
}

impl Series<'_> {
    /// One number, with the values of the family's labels.
    pub(super) fn number(&mut self, values: &[&str], number: impl Display) {
        let suffix = if self.family.kind == Kind::Counter { "_total" } else { "" };
        self.sample(suffix, values, None, number);
    }

    /// Times that were added up.
    pub(super) fn times(&mut self, values: &[&str], times: &HistogramSum) {
        let mut so_far = 0;
        for (index, count) in times.buckets.iter().enumerate() {
            so_far += count;
            let bound = BUCKETS_US.get(index).map(|bound| in_seconds(*bound));
            let bound = bound.unwrap_or_else(|| "+Inf".to_owned());
            self.sample("_bucket", values, Some(&bound), so_far);
        }
        self.sample("_sum", values, None, in_seconds(times.sum_us));
        self.sample("_count", values, None, so_far);
    }

    fn sample(&mut self, suffix: &str, values: &[&str], bound: Option<&str>, number: impl Display) {
        let Self { family, text } = self;
        text.push_str(family.name);
        text.push_str(suffix);
        let labels = family.labels.iter().copied().zip(values.iter().copied());
        for (index, (label, value)) in labels.chain(bound.map(|bound| ("le", bound))).enumerate() {
            let _ = write!(text, "{}{label}=\"", if index == 0 { '{' } else { ',' });
            push_escaped(text, value);
            text.push('"');
        }
        if !family.labels.is_empty() || bound.is_some() {
            text.push('}');
        }
        let _ = writeln!(text, " {number}");
    }
}

/// Microseconds as seconds, with a point.
pub(super) fn in_seconds(us: u64) -> String {
    let (whole, rest) = (us / 1_000_000, us % 1_000_000);
    let digits = format!("{rest:06}");
    let digits = digits.trim_end_matches('0');
    format!("{whole}.{}", if digits.is_empty() { "0" } else { digits })
}

fn push_escaped(text: &mut String, value: &str) {
    for character in value.chars() {
        match character {
            '\\' => text.push_str("\\\\"),
            '"' => text.push_str("\\\""),
            '\n' => text.push_str("\\n"),
            other => text.push(other),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRIES: Family =
        Family { name: "tries", kind: Kind::Counter, labels: &["at"], help: "How often." };

    #[test]
    fn the_formats_differ_in_the_names_of_counters_and_at_the_end() {
        let write = |format| {
            let mut exposition = Exposition::new(format);
            exposition.family(TRIES).number(&["a\"\\\nb"], 3);
            exposition.finish()
        };
        assert_eq!(
            write(Format::Classic),
            "# HELP tries_total How often.\n# TYPE tries_total counter\ntries_total{at=\"a\\\"\\\\\\nb\"} 3\n"
        );
        assert_eq!(
            write(Format::OpenMetrics),
            "# HELP tries How often.\n# TYPE tries counter\ntries_total{at=\"a\\\"\\\\\\nb\"} 3\n# EOF\n"
        );
    }

    #[test]
    fn buckets_add_up() {
        let mut times = HistogramSum { sum_us: 6_000_400, ..HistogramSum::default() };
        times.buckets[0] = 2;
        times.buckets[14] = 1;
        let family = Family { name: "t", kind: Kind::Histogram, labels: &[], help: "Times." };
        let mut exposition = Exposition::new(Format::Classic);
        exposition.family(family).times(&[], &times);
        let text = exposition.finish();
        for line in [
            "t_bucket{le=\"0.005\"} 2",
            "t_bucket{le=\"10.0\"} 2",
            "t_bucket{le=\"+Inf\"} 3",
            "t_sum 6.0004",
            "t_count 3",
        ] {
            assert!(text.lines().any(|told| told == line), "{line} in {text}");
        }
    }

    #[test]
    fn microseconds_are_told_as_seconds() {
        for (us, told) in [(0, "0.0"), (1, "0.000001"), (2_500_000, "2.5"), (10_000_000, "10.0")] {
            assert_eq!(in_seconds(us), told);
        }
    }
}
