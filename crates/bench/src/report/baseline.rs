//! Comparing with an earlier report (`--baseline`): the ratio of every figure that both have.

use std::{fs, path::Path};

use qlio_data::{
    Value,
    codec::{DecodeError, json},
};

use super::{Cell, Report, Table};
use crate::{
    error::{BenchError, usage},
    limits::BASELINE_BYTES_MAX,
};

/// Changes below this share are left without a verdict: noise of most machines.
const NOISE: f64 = 0.05;

/// The metrics of an earlier report.
#[derive(Debug, Clone)]
pub struct Baseline {
    command: String,
    metrics: Vec<(String, f64)>,
}

/// Why a text is no earlier report.
#[derive(Debug, thiserror::Error)]
enum NoReport {
    #[error("is not JSON: {} at byte {}", .0.reason, .0.offset)]
    Json(DecodeError),
    #[error("is no report of `qlio bench --json`")]
    Other,
}

impl Baseline {
    /// Reads the JSON form of a report.
    ///
    /// # Errors
    /// The file cannot be read or is no such report.
    pub fn read(file: &Path) -> Result<Self, BenchError> {
        let name = file.display();
        let unreadable = |reason: String| usage(format!("cannot read `{name}`: {reason}"));
        let size = fs::metadata(file).map_err(|error| unreadable(error.to_string()))?.len();
        if size > BASELINE_BYTES_MAX {
            return Err(unreadable(format!("it has more than {BASELINE_BYTES_MAX} bytes")));
        }
        let content = fs::read_to_string(file).map_err(|error| unreadable(error.to_string()))?;
        Self::parse(&content).map_err(|reason| usage(format!("`{name}` {reason}")))
    }

    fn parse(content: &str) -> Result<Self, NoReport> {
        let value = json::parse_str(content).map_err(NoReport::Json)?;
        let command = value.member("command");
        let (Some(command), Some(metrics)) = (
            command.as_str(),
            value.member("metrics").elements().map(std::borrow::Cow::into_owned),
        ) else {
            return Err(NoReport::Other);
        };
        let metrics = metrics.iter().filter_map(|metric| {
            let Value::Number(value) = metric.member("value") else { return None };
            Some((metric.member("name").as_str()?.to_owned(), value.as_f64()))
        });
        Ok(Self { command: command.to_owned(), metrics: metrics.collect() })
    }

    /// Adds the comparison to a report.
    ///
    /// # Errors
    /// The earlier report is of another command.
    pub fn compare(&self, report: &mut Report) -> Result<(), BenchError> {
        if self.command != report.command {
            return Err(usage(format!(
                "the baseline is of `qlio bench {}`, not of `{}`",
                self.command, report.command
            )));
        }
        let mut table = Table::new(
            "baseline",
            "Compared with the baseline",
            &["figure", "unit", "before", "now", "ratio", "verdict"],
        );
        for metric in &report.metrics {
            let before = self.metrics.iter().find(|(name, _)| *name == metric.name);
            let Some((_, before)) = before else { continue };
            let ratio = (*before != 0.0).then(|| metric.value / before);
            let verdict = match ratio {
                Some(ratio) if (ratio - 1.0).abs() <= NOISE => "same",
                Some(ratio) if (ratio > 1.0) == metric.more_is_better => "better",
                Some(_) => "worse",
                None => "",
            };
            table.rows.push(vec![
                metric.name.as_str().into(),
                metric.unit.into(),
                Cell::Number(*before, 3),
                Cell::Number(metric.value, 3),
                Cell::maybe(ratio, 3),
                verdict.into(),
            ]);
        }
        report.text.push_str("\nCompared with the baseline:\n");
        report.text.push_str(&table.to_text());
        report.tables.push(table);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EARLIER: &str = r#"{"qlioBench":1,"command":"load","metrics":[
        {"name":"rate","value":100},{"name":"average","value":10},{"name":"gone","value":1}]}"#;

    fn report() -> Report {
        let mut report = Report::new("load", "t");
        report.metric("rate", 150.0, "1/s", true);
        report.metric("average", 10.2, "ms", false);
        report.metric("new", 1.0, "ms", false);
        report
    }

    #[test]
    fn figures_that_both_have_are_compared() {
        let mut report = report();
        Baseline::parse(EARLIER).unwrap().compare(&mut report).unwrap();
        let rows = &report.tables[0].rows;
        assert_eq!(rows.len(), 2);
        assert_eq!(rows[0][4].shown(), "1.500");
        assert_eq!((rows[0][5].shown(), rows[1][5].shown()), ("better".into(), "same".into()));
    }

    #[test]
    fn other_commands_and_other_files_are_refused() {
        let mut report = Report::new("ops", "t");
        let error = Baseline::parse(EARLIER).unwrap().compare(&mut report).unwrap_err();
        assert!(error.to_string().contains("bench load"), "{error}");
        for bad in ["", "[]", "{\"command\":\"load\"}"] {
            assert!(Baseline::parse(bad).is_err(), "{bad}");
        }
    }
}
