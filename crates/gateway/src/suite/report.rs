//! Outcomes as text: TAP for pipelines, `JUnit` XML for build servers, plain text for people.
//!
//! In go outcomes, one by one; out come pieces of text to be printed as they come, so that a long run
//! shows how far it is. Only `JUnit` waits for the end, as its totals come first.

use std::{fmt::Write as _, time::Duration};

use qlio_data::{
    Value,
    codec::{json, xml},
};

use super::{Outcome, Problem};

/// How a run is reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    /// Test Anything Protocol, version 13.
    Tap,
    /// XML as `JUnit` writes it.
    Junit,
    /// Text for people.
    Text,
}

/// A report under way.
#[derive(Debug)]
pub(crate) struct Report {
    format: Format,
    /// The name of all tests together.
    suite: String,
    outcomes: Vec<Outcome>,
    name_width: usize,
}

/// Wider names do not move the times of the others.
const NAME_WIDTH_MAX: usize = 40;

impl Report {
    /// Begins a report of tests with these names; answers it with the text that comes first.
    pub(crate) fn begin<'n>(
        format: Format,
        suite: &str,
        names: impl ExactSizeIterator<Item = &'n str>,
    ) -> (Self, String) {
        let count = names.len();
        let widest = names.map(|name| name.chars().count()).max().unwrap_or(0);
        let name_width = widest.min(NAME_WIDTH_MAX);
        let head = match format {
            Format::Tap => format!("TAP version 13\n1..{count}\n"),
            Format::Junit | Format::Text => String::new(),
        };
        (Self { format, suite: suite.to_owned(), outcomes: Vec::new(), name_width }, head)
    }

    /// Adds an outcome; answers the text for it.
    pub(crate) fn add(&mut self, outcome: &Outcome) -> String {
        self.outcomes.push(outcome.clone());
        match self.format {
            Format::Tap => tap(outcome, self.outcomes.len()),
            Format::Text => self.text(outcome),
            Format::Junit => String::new(),
        }
    }

    /// Whether all tests so far have passed.
    pub(crate) fn is_passed(&self) -> bool {
        self.outcomes.iter().all(Outcome::is_passed)
    }

    /// Ends the report; answers the text that comes last.
    pub(crate) fn end(&self, took: Duration) -> String {
        let failed = self.outcomes.iter().filter(|outcome| !outcome.is_passed()).count();
        let count = self.outcomes.len();
        match self.format {
            Format::Tap => String::new(),
            Format::Text => {
                let tests = if count == 1 { "test" } else { "tests" };
                let verdict = match failed {
                    0 => "all passed".to_owned(),
                    some => format!("{some} failed"),
                };
                format!("\n{count} {tests}, {verdict} ({:.2} s)\n", took.as_secs_f64())
            }
            Format::Junit => self.junit(failed, took),
        }
    }

    fn text(&self, outcome: &Outcome) -> String {
        let verdict = if outcome.is_passed() { "ok  " } else { "FAIL" };
        let (name, width) = (&outcome.name, self.name_width);
        let mut text = format!("{verdict}  {name:width$}  {} ms\n", outcome.duration.as_millis());
        for problem in &outcome.problems {
            let said = describe(problem).replace('\n', "\n      ");
            // Writing to text can not fail.
            let _written = writeln!(text, "      {said}");
        }
        text
    }

    fn junit(&self, failed: usize, took: Duration) -> String {
        let (count, suite) = (self.outcomes.len(), escape(&self.suite));
        let totals =
            format!("tests=\"{count}\" failures=\"{failed}\" time=\"{:.3}\"", took.as_secs_f64());
        let mut text = format!(
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites {totals}>\n  \
             <testsuite name=\"{suite}\" {totals}>\n"
        );
        for outcome in &self.outcomes {
            let (name, time) = (escape(&outcome.name), outcome.duration.as_secs_f64());
            let _written = write!(
                text,
                "    <testcase name=\"{name}\" classname=\"{suite}\" time=\"{time:.3}\""
            );
            let Some(first) = outcome.problems.first() else {
                text.push_str("/>\n");
                continue;
            };
            let all: Vec<String> = outcome.problems.iter().map(describe).collect();
            let _written = writeln!(
                text,
                ">\n      <failure message=\"{}\">{}</failure>\n    </testcase>",
                escape(&first.message),
                escape(&all.join("\n"))
            );
        }
        text.push_str("  </testsuite>\n</testsuites>\n");
        text
    }
}

fn tap(outcome: &Outcome, number: usize) -> String {
    let verdict = if outcome.is_passed() { "ok" } else { "not ok" };
    // What stands behind an unescaped `#` is a directive.
    let name = outcome.name.replace('\\', "\\\\").replace('#', "\\#").replace(['\n', '\r'], " ");
    let mut text = format!("{verdict} {number} - {name}\n");
    if outcome.is_passed() {
        return text;
    }
    // JSON strings are YAML, and hold no line breaks.
    let quoted = |text: &str| json::to_string(&Value::from(text));
    text.push_str("  ---\n  problems:\n");
    for problem in &outcome.problems {
        let _written = writeln!(text, "    - message: {}", quoted(&problem.message));
        if let Some(place) = &problem.place {
            let _written = writeln!(text, "      at: {}", quoted(&place.to_string()));
        }
    }
    text.push_str("  ...\n");
    text
}

fn describe(problem: &Problem) -> String {
    match &problem.place {
        Some(place) => format!("{place}: {}", problem.message),
        None => problem.message.clone(),
    }
}

/// Text for XML in which line breaks last, also in attributes.
fn escape(text: &str) -> String {
    xml::escape(text).replace('\n', "&#10;")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whole(format: Format) -> String {
        let outcome = |name: &str, problems| Outcome {
            name: name.to_owned(),
            duration: Duration::from_millis(12),
            problems,
        };
        let outcomes = [
            outcome("price", Vec::new()),
            outcome(
                "a #1",
                vec![Problem::at("t/a.assert", Some(2), "it is \"<1>\"\u{1}"), Problem::new("b")],
            ),
        ];
        let (mut report, mut text) = Report::begin(format, "t", outcomes.iter().map(|o| &*o.name));
        for outcome in &outcomes {
            text.push_str(&report.add(outcome));
        }
        assert!(!report.is_passed());
        text + &report.end(Duration::from_millis(20))
    }

    #[test]
    fn tap_is_version_13_with_diagnostics() {
        assert_eq!(
            whole(Format::Tap),
            "TAP version 13\n1..2\nok 1 - price\nnot ok 2 - a \\#1\n  ---\n  problems:\n    \
             - message: \"it is \\\"<1>\\\"\\u0001\"\n      at: \"t/a.assert:2\"\n    \
             - message: \"b\"\n  ...\n"
        );
    }

    #[test]
    fn people_get_lines() {
        assert_eq!(
            whole(Format::Text),
            "ok    price  12 ms\nFAIL  a #1   12 ms\n      t/a.assert:2: it is \"<1>\"\u{1}\n      b\n\n\
             2 tests, 1 failed (0.02 s)\n"
        );
    }

    #[test]
    fn junit_is_xml_whatever_the_messages_hold() {
        assert_eq!(
            whole(Format::Junit),
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
             <testsuites tests=\"2\" failures=\"1\" time=\"0.020\">\n  \
             <testsuite name=\"t\" tests=\"2\" failures=\"1\" time=\"0.020\">\n    \
             <testcase name=\"price\" classname=\"t\" time=\"0.012\"/>\n    \
             <testcase name=\"a #1\" classname=\"t\" time=\"0.012\">\n      \
             <failure message=\"it is &quot;&lt;1&gt;&quot;\u{fffd}\">t/a.assert:2: it is &quot;&lt;1&gt;&quot;\u{fffd}&#10;b</failure>\n    \
             </testcase>\n  </testsuite>\n</testsuites>\n"
        );
    }
}
