//! `qlio bench ops`: operations per second with their error, as benchmark.js reports them.

use std::{
    fmt::Write as _,
    time::{Duration, Instant},
};

use qlio_data::Value;

pub use super::timing::Servers;
use super::timing::{Bench, Prepared, Test};
use crate::{
    chart::{BarChart, BarSeries, Chart},
    data::{number, object, text},
    error::{BenchError, failed, usage},
    limits,
    report::{
        Cell, Report, Table,
        number::{decimals, rate},
    },
    stats::{Estimate, groups},
    stop::Stop,
};

/// A sample takes at least this long, so that reading the clock (about 50 ns) is far below a percent.
const CYCLE_MIN: Duration = Duration::from_millis(50);
/// Samples at least, however long they take.
const SAMPLES_MIN: usize = 5;
/// Samples at most.
const SAMPLES_MAX: usize = 100;
/// Operations of one sample, at most.
const ITERATIONS_MAX: u64 = 1 << 40;

/// What to do.
#[derive(Debug, Clone)]
pub struct OpsOptions {
    /// Names of tests; without, all of them.
    pub tests: Option<Vec<String>>,
    /// How long one test may take samples.
    pub time_max: Duration,
    /// The servers.
    pub servers: Servers,
}

/// The tests that were asked for; all of them without a list.
pub(super) fn chosen(
    names: Option<&[String]>,
    second: Option<&String>,
) -> Result<Vec<Test>, BenchError> {
    let tests = match names {
        Some(names) if names.len() > limits::LIST_MAX => {
            return Err(usage(format!("more than {} tests", limits::LIST_MAX)));
        }
        Some(names) => {
            names.iter().map(|name| Test::from_name(name)).collect::<Result<Vec<_>, _>>()?
        }
        None => {
            let mut tests = Test::all();
            if second.is_some() {
                let again: Vec<Test> =
                    tests.iter().map(|test| Test { is_second: true, ..*test }).collect();
                tests.extend(again);
            }
            tests
        }
    };
    if tests.is_empty() { Err(usage("no tests were named")) } else { Ok(tests) }
}

/// Measures; `told` hears what is measured next.
///
/// # Errors
/// A test does not exist, a server cannot be reached or answers something wrong.
pub fn ops(options: &OpsOptions, stop: &Stop, told: &dyn Fn(&str)) -> Result<Report, BenchError> {
    let second = options.servers.second.as_ref();
    let tests = chosen(options.tests.as_deref(), second)?;
    let bench = Bench::new(&options.servers, &tests)?;
    let mut results: Vec<(String, Estimate)> = Vec::new();
    for test in tests {
        if stop.is_requested() {
            break;
        }
        told(&test.name());
        let mut prepared = bench.prepare(test)?;
        let estimate = sample(&bench, &mut prepared, options.time_max, stop)?;
        results.push((test.name(), estimate));
    }
    if results.is_empty() {
        return Err(failed("stopped before anything was measured"));
    }
    Ok(report(options, &results, stop.is_requested()))
}

fn sample(
    bench: &Bench,
    test: &mut Prepared,
    time_max: Duration,
    stop: &Stop,
) -> Result<Estimate, BenchError> {
    let iterations = calibrate(bench, test)?;
    let began = Instant::now();
    let mut periods = Vec::new();
    while periods.len() < SAMPLES_MIN || periods.len() < SAMPLES_MAX && began.elapsed() < time_max {
        if stop.is_requested() {
            break;
        }
        #[expect(clippy::cast_precision_loss, reason = "iterations of a sample of 50 ms")]
        let period = bench.time(test, iterations)?.as_secs_f64() / iterations as f64;
        periods.push(period);
    }
    Ok(Estimate::of(&periods))
}

/// How many operations fill a sample. Doing this is also the warm-up.
fn calibrate(bench: &Bench, test: &mut Prepared) -> Result<u64, BenchError> {
    let mut iterations = 1;
    loop {
        let took = bench.time(test, iterations)?;
        if took >= CYCLE_MIN || iterations >= ITERATIONS_MAX {
            return Ok(iterations);
        }
        let wanted = CYCLE_MIN.as_secs_f64() * 1.2 / took.as_secs_f64().max(1e-7);
        // At most a hundredfold at once: the first operations are slower than those that follow.
        #[expect(clippy::cast_sign_loss, reason = "a quotient of times")]
        let factor = wanted.clamp(2.0, 100.0).ceil() as u64;
        iterations *= factor;
    }
}

fn report(options: &OpsOptions, results: &[(String, Estimate)], is_stopped: bool) -> Report {
    let mut report = Report::new("ops", "Operations per second, 50 hotels of 5 rooms");
    let mut table =
        Table::new("tests", "Tests", &["test", "ops/sec", "±%", "ns/op", "runs sampled"]);
    let mut out = String::new();
    let mut json = Vec::new();
    for (name, estimate) in results {
        let runs = estimate.samples;
        // Writing to a string cannot fail.
        let _ = writeln!(
            out,
            "{name} x {} ops/sec ±{}% ({runs} run{} sampled)",
            rate(estimate.rate()),
            decimals(estimate.error_percent(), 2),
            if runs == 1 { "" } else { "s" }
        );
        #[expect(clippy::cast_precision_loss, reason = "at most a hundred samples")]
        table.rows.push(vec![
            name.as_str().into(),
            Cell::Number(estimate.rate(), 2),
            Cell::Number(estimate.error_percent(), 2),
            Cell::Number(estimate.period * 1e9, 1),
            Cell::Number(runs as f64, 0),
        ]);
        json.push(object([
            ("test", text(name)),
            ("opsPerSecond", number(estimate.rate())),
            ("errorPercent", number(estimate.error_percent())),
            ("nanosecondsPerOp", number(estimate.period * 1e9)),
            ("runs", Value::from(runs as u64)),
        ]));
        report.metric(name.clone(), estimate.rate(), "ops/s", true);
    }
    let (verdict, groups) = verdict(results);
    out.push_str(&verdict);
    report.text = out;
    report.tables.push(table);
    report.charts.push(chart(results));
    report.options = object([
        ("timeMaxSeconds", number(options.time_max.as_secs_f64())),
        ("second", options.servers.second.as_ref().map_or(Value::Null, text)),
    ]);
    let names =
        |group: &[usize]| Value::array(group.iter().map(|at| text(&results[*at].0)).collect());
    report.result = object([
        ("tests", Value::array(json)),
        ("fastest", text(&results[fastest(results)].0)),
        ("indistinguishable", Value::array(groups.iter().map(|group| names(group)).collect())),
    ]);
    if is_stopped {
        report.notes.push("stopped early; some tests are missing or short".to_owned());
    }
    report
}

fn fastest(results: &[(String, Estimate)]) -> usize {
    let rates = results.iter().map(|(_, estimate)| estimate.rate());
    rates.enumerate().max_by(|a, b| a.1.total_cmp(&b.1)).map_or(0, |(at, _)| at)
}

/// Who is fastest, and who cannot be told apart.
fn verdict(results: &[(String, Estimate)]) -> (String, Vec<Vec<usize>>) {
    let intervals: Vec<(f64, f64)> =
        results.iter().map(|(_, estimate)| estimate.interval()).collect();
    let groups = groups::indistinguishable(&intervals);
    if results.len() < 2 {
        return (String::new(), groups);
    }
    let mut out = format!("Fastest is {}\n", results[fastest(results)].0);
    for group in &groups {
        let names: Vec<&str> = group.iter().map(|at| results[*at].0.as_str()).collect();
        // Writing to a string cannot fail.
        let _ = writeln!(out, "indistinguishable (intervals overlap): {}", names.join(", "));
    }
    (out, groups)
}

fn chart(results: &[(String, Estimate)]) -> Chart {
    let rates = results.iter().map(|(_, estimate)| estimate.rate());
    let margins =
        results.iter().map(|(_, estimate)| estimate.rate() * estimate.error_percent() / 100.0);
    Chart::Bars(BarChart {
        name: "tests".to_owned(),
        title: "Operations per second".to_owned(),
        label: "operations per second with the 95 % interval, more is better".to_owned(),
        groups: results.iter().map(|(name, _)| name.clone()).collect(),
        series: vec![BarSeries {
            name: "operations".to_owned(),
            values: rates.collect(),
            margins: margins.collect(),
        }],
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An estimate of a rate with a relative error in percent.
    fn estimate(rate: f64, percent: f64) -> Estimate {
        Estimate { samples: 40, period: 1.0 / rate, margin: percent / 100.0 / rate }
    }

    #[test]
    fn the_published_results_are_reported_as_published() {
        let options = OpsOptions {
            tests: None,
            time_max: Duration::from_secs(5),
            servers: Servers {
                executable: std::path::PathBuf::new(),
                second: None,
                allows_remote: false,
            },
        };
        let results = [
            ("deser-json".to_owned(), Estimate { samples: 37, ..estimate(1771.0, 8.68) }),
            ("deser-protobuf".to_owned(), Estimate { samples: 41, ..estimate(1824.0, 2.75) }),
            ("slow".to_owned(), estimate(4.52, 5.44)),
        ];
        let report = report(&options, &results, false);
        assert_eq!(
            report.text,
            "deser-json x 1,771 ops/sec ±8.68% (37 runs sampled)\n\
             deser-protobuf x 1,824 ops/sec ±2.75% (41 runs sampled)\n\
             slow x 4.52 ops/sec ±5.44% (40 runs sampled)\n\
             Fastest is deser-protobuf\n\
             indistinguishable (intervals overlap): deser-json, deser-protobuf\n"
        );
    }
}
