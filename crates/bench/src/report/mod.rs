//! What a measurement says, apart from how it looks.
//!
//! A command fills a [`Report`]: the text for a terminal, tables, charts, a JSON result and flat
//! metrics. The same report becomes text, JSON, CSV, SVG or one HTML page; nothing is measured or
//! computed anew on the way. Files are written by [`Report::write_to`] only.

pub mod baseline;
pub mod number;
mod page;
mod table;

use std::{fs, io, path::Path};

use qlio_data::{Value, codec::json};

pub use self::table::{Cell, Table};
use crate::{
    chart::Chart,
    data::{number as json_number, object, text},
    environment::Environment,
};

/// The version of the JSON form; it changes when members change their meaning or go away.
pub const JSON_VERSION: u64 = 1;

/// One figure to compare with that of another run.
#[derive(Debug, Clone, PartialEq)]
pub struct Metric {
    /// A name that stays the same between runs.
    pub name: String,
    /// The figure.
    pub value: f64,
    /// Its unit.
    pub unit: &'static str,
    /// Whether more of it is better.
    pub more_is_better: bool,
}

/// Everything that one command has to say.
#[derive(Debug, Clone)]
pub struct Report {
    /// The command: `load`, `workers`…
    pub command: &'static str,
    /// One line.
    pub title: String,
    /// For a terminal, with a line end at the end.
    pub text: String,
    /// Remarks that stand under the figures.
    pub notes: Vec<String>,
    /// The figures as tables; the first is what CSV prints.
    pub tables: Vec<Table>,
    /// The figures as pictures.
    pub charts: Vec<Chart>,
    /// What was asked for, as JSON.
    pub options: Value,
    /// What came out, as JSON.
    pub result: Value,
    /// The figures that can be compared.
    pub metrics: Vec<Metric>,
    /// Why the figures do not count, if they do not: exit code 1.
    pub failure: Option<String>,
}

impl Report {
    /// An empty report.
    pub fn new(command: &'static str, title: impl Into<String>) -> Self {
        Self {
            command,
            title: title.into(),
            text: String::new(),
            notes: Vec::new(),
            tables: Vec::new(),
            charts: Vec::new(),
            options: object([]),
            result: object([]),
            metrics: Vec::new(),
            failure: None,
        }
    }

    /// Adds a metric.
    pub fn metric(&mut self, name: impl Into<String>, value: f64, unit: &'static str, more: bool) {
        self.metrics.push(Metric { name: name.into(), value, unit, more_is_better: more });
    }

    /// For a terminal: the text and the notes.
    pub fn to_text(&self) -> String {
        let mut out = self.text.clone();
        for note in &self.notes {
            out.push_str("note: ");
            out.push_str(note);
            out.push('\n');
        }
        out
    }

    /// As JSON, one object.
    pub fn to_json(&self, environment: &Environment) -> Value {
        let metrics = self.metrics.iter().map(|metric| {
            object([
                ("name", text(&metric.name)),
                ("value", json_number(metric.value)),
                ("unit", text(metric.unit)),
                ("moreIsBetter", Value::Bool(metric.more_is_better)),
            ])
        });
        object([
            ("qlioBench", Value::from(JSON_VERSION)),
            ("command", text(self.command)),
            ("environment", environment.to_json()),
            ("options", self.options.clone()),
            ("result", self.result.clone()),
            ("metrics", Value::array(metrics.collect())),
            ("notes", Value::array(self.notes.iter().map(text).collect())),
            ("failure", self.failure.as_ref().map_or(Value::Null, text)),
        ])
    }

    /// The first table as CSV.
    pub fn to_csv(&self) -> String {
        self.tables.first().map(Table::to_csv).unwrap_or_default()
    }

    /// One page with tables and charts, without anything outside of it.
    pub fn to_html(&self, environment: &Environment) -> String {
        page::page(self, environment)
    }

    /// Writes `COMMAND.txt`, `.json`, `.html`, a CSV file for each table and an SVG file for each
    /// chart; answers the names.
    ///
    /// # Errors
    /// The folder or a file cannot be written.
    pub fn write_to(&self, folder: &Path, environment: &Environment) -> io::Result<Vec<String>> {
        fs::create_dir_all(folder)?;
        let command = self.command;
        let mut files = vec![
            (format!("{command}.txt"), self.to_text()),
            (format!("{command}.json"), json::to_string(&self.to_json(environment))),
            (format!("{command}.html"), self.to_html(environment)),
        ];
        for table in &self.tables {
            files.push((format!("{command}-{}.csv", table.name), table.to_csv()));
        }
        for chart in &self.charts {
            files.push((format!("{command}-{}.svg", chart.name()), chart.to_svg()));
        }
        for (name, content) in &files {
            fs::write(folder.join(name), content)?;
        }
        Ok(files.into_iter().map(|(name, _)| name).collect())
    }
}
