//! `qlio bench matrix`: scenarios × concurrency × worker threads.

use std::fmt::Write as _;

use qlio_data::Value;

use super::workers::{Measured, first_failure, measure, run_json};
use crate::{
    chart::{Chart, LineChart, Series, Spacing},
    data::{number, object, scenario::Scenario, text},
    error::{BenchError, failed},
    load::{LoadPlan, ProgressSink},
    process::GatewayOptions,
    report::{Cell, Report, Table, number::decimals},
    stop::Stop,
};

/// What to do.
#[derive(Debug, Clone)]
pub struct MatrixOptions {
    /// The columns.
    pub scenarios: Vec<Scenario>,
    /// The rows.
    pub concurrency: Vec<usize>,
    /// One table each.
    pub workers: Vec<usize>,
    /// How; the users are those of the row.
    pub plan: LoadPlan,
    /// Time before counting begins, in each cell.
    pub warm_up: std::time::Duration,
    /// The executable and the upstream's delay.
    pub gateway: GatewayOptions,
}

/// One cell.
struct Entry {
    workers: usize,
    concurrency: usize,
    scenario: Scenario,
    measured: Measured,
}

/// Measures.
///
/// # Errors
/// A gateway does not start or answers wrongly, or a number goes over a limit.
pub fn matrix(
    options: &MatrixOptions,
    stop: &Stop,
    progress: ProgressSink<'_>,
) -> Result<Report, BenchError> {
    let mut entries = Vec::new();
    for &workers in &options.workers {
        for &concurrency in &options.concurrency {
            for &scenario in &options.scenarios {
                if stop.is_requested() {
                    break;
                }
                let plan = LoadPlan { users: concurrency, ..options.plan.clone() };
                let (warm_up, gateway) = (options.warm_up, &options.gateway);
                let measured = measure(workers, scenario, &plan, warm_up, gateway, stop, progress)?;
                entries.push(Entry { workers, concurrency, scenario, measured });
            }
        }
    }
    if entries.is_empty() {
        return Err(failed("stopped before anything was measured"));
    }
    Ok(report(options, &entries, stop.is_requested()))
}

fn report(options: &MatrixOptions, entries: &[Entry], is_stopped: bool) -> Report {
    let mut report = Report::new("matrix", "Scenarios and concurrency");
    report.text.push_str("requests/s | mean ms | 80 % within ms\n");
    let mut flat = Table::new(
        "cells",
        "All cells",
        &["workers", "concurrency", "scenario", "req/s", "mean ms", "p80 ms", "p99 ms", "errors"],
    );
    #[expect(clippy::cast_precision_loss, reason = "small counts")]
    for entry in entries {
        let result = &entry.measured.result;
        flat.rows.push(vec![
            Cell::Number(entry.workers as f64, 0),
            Cell::Number(entry.concurrency as f64, 0),
            entry.scenario.name().into(),
            Cell::Number(result.rate(), 2),
            Cell::Number(result.moments.mean(), 3),
            Cell::Number(result.times.quantile_ms(0.8), 1),
            Cell::Number(result.times.quantile_ms(0.99), 1),
            Cell::Number(result.errors.sent() as f64, 0),
        ]);
        let name = format!("{}/{}/{}", entry.scenario.name(), entry.concurrency, entry.workers);
        report.metric(format!("rate/{name}"), result.rate(), "1/s", true);
        report.metric(format!("average/{name}"), result.moments.mean(), "ms", false);
    }
    report.tables.push(flat);
    for &workers in &options.workers {
        let table = by_concurrency(options, entries, workers);
        // Writing to a string cannot fail.
        let _ = write!(report.text, "\n{}:\n{}", table.title, table.to_text());
        report.tables.push(table);
        let (rates, means) = charts(options, entries, workers);
        report.charts.extend([rates, means]);
    }
    report.options = object([
        ("scenarios", Value::array(options.scenarios.iter().map(|one| text(one.name())).collect())),
        ("concurrency", counts(&options.concurrency)),
        ("workers", counts(&options.workers)),
        ("requests", options.plan.requests.map_or(Value::Null, Value::from)),
        (
            "durationSeconds",
            options.plan.duration.map_or(Value::Null, |time| number(time.as_secs_f64())),
        ),
    ]);
    let cells = entries.iter().map(|entry| {
        object([
            ("workers", Value::from(entry.workers as u64)),
            ("concurrency", Value::from(entry.concurrency as u64)),
            ("scenario", text(entry.scenario.name())),
            ("run", run_json(&entry.measured.result)),
        ])
    });
    report.result = object([("cells", Value::array(cells.collect()))]);
    if is_stopped {
        report.notes.push("stopped early; some cells are missing".to_owned());
    }
    report.failure = first_failure(entries.iter().map(|entry| &entry.measured.result));
    report
}

fn counts(list: &[usize]) -> Value {
    Value::array(list.iter().map(|count| Value::from(*count as u64)).collect())
}

/// The published form: one row for each concurrency, one column for each scenario.
fn by_concurrency(options: &MatrixOptions, entries: &[Entry], workers: usize) -> Table {
    let mut columns = vec!["c"];
    columns.extend(options.scenarios.iter().map(|scenario| scenario.name()));
    let mut table = Table::new(&format!("workers-{workers}"), &counted(workers), &columns);
    for &concurrency in &options.concurrency {
        #[expect(clippy::cast_precision_loss, reason = "small counts")]
        let mut row = vec![Cell::Number(concurrency as f64, 0)];
        for scenario in &options.scenarios {
            let found = find(entries, workers, concurrency, *scenario);
            row.push(found.map_or(Cell::Nothing, |entry| {
                let result = &entry.measured.result;
                let rate = decimals(result.rate(), 2);
                let mean = decimals(result.moments.mean(), 3);
                let within = decimals(result.times.quantile_ms(0.8), 0);
                Cell::Text(format!("{rate} | {mean} | {within}"))
            }));
        }
        table.rows.push(row);
    }
    table
}

fn counted(workers: usize) -> String {
    format!("{workers} worker{}", if workers == 1 { "" } else { "s" })
}

fn find(
    entries: &[Entry],
    workers: usize,
    concurrency: usize,
    scenario: Scenario,
) -> Option<&Entry> {
    entries.iter().find(|entry| {
        entry.workers == workers && entry.concurrency == concurrency && entry.scenario == scenario
    })
}

fn charts(options: &MatrixOptions, entries: &[Entry], workers: usize) -> (Chart, Chart) {
    let chart = |name: &str, title: &str, unit: &str, figure: fn(&Entry) -> f64| {
        let series = options.scenarios.iter().map(|scenario| {
            #[expect(clippy::cast_precision_loss, reason = "small counts")]
            let points = options.concurrency.iter().filter_map(|&concurrency| {
                let entry = find(entries, workers, concurrency, *scenario)?;
                Some((concurrency as f64, figure(entry)))
            });
            Series {
                name: format!("scenario {}", scenario.name()),
                points: points.collect(),
                is_reference: false,
            }
        });
        Chart::Lines(LineChart {
            name: format!("{name}-{workers}"),
            title: format!("{title}, {}", counted(workers)),
            x_label: "concurrent users".to_owned(),
            x_spacing: Spacing::Whole,
            y_label: unit.to_owned(),
            series: series.collect(),
            marks: Vec::new(),
        })
    };
    (
        chart("rate", "Requests per second", "requests/s", |entry| entry.measured.result.rate()),
        chart("mean", "Mean response time", "milliseconds", |entry| {
            entry.measured.result.moments.mean()
        }),
    )
}
