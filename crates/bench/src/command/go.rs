//! `qlio bench go`: the tests of [`ops`](super::ops) as Go's benchmarks print them.

use std::{fmt::Write as _, time::Duration};

use super::{
    ops::{Servers, chosen},
    timing::{Bench, Part, Prepared, Test},
};
use crate::{
    data::{number, object, text},
    error::{BenchError, failed},
    report::{Cell, Report, Table, number::decimals},
    stop::Stop,
};
use qlio_data::Value;

/// Operations of one run, at most.
const ITERATIONS_MAX: u64 = 1_000_000_000;

/// What to do.
#[derive(Debug, Clone)]
pub struct GoOptions {
    /// Names of tests, as for `ops`; without, all but those that write.
    pub tests: Option<Vec<String>>,
    /// How long the counted run of each takes, at least.
    pub time_min: Duration,
    /// The servers.
    pub servers: Servers,
}

/// Measures; `told` hears what is measured next.
///
/// # Errors
/// As for [`ops`](super::ops::ops).
pub fn go(options: &GoOptions, stop: &Stop, told: &dyn Fn(&str)) -> Result<Report, BenchError> {
    let mut tests = chosen(options.tests.as_deref(), options.servers.second.as_ref())?;
    if options.tests.is_none() {
        tests.retain(|test| test.part != Part::Serialize);
    }
    let bench = Bench::new(&options.servers, &tests)?;
    let mut results: Vec<(Test, u64, f64)> = Vec::new();
    for test in tests {
        if stop.is_requested() {
            break;
        }
        told(&test.name());
        let mut prepared = bench.prepare(test)?;
        let (times, nanoseconds) = run(&bench, &mut prepared, options.time_min)?;
        results.push((test, times, nanoseconds));
    }
    if results.is_empty() {
        return Err(failed("stopped before anything was measured"));
    }
    Ok(report(options, &results))
}

/// Runs more and more often until a run is long enough; answers its operations and the nanoseconds of
/// each.
fn run(bench: &Bench, test: &mut Prepared, time_min: Duration) -> Result<(u64, f64), BenchError> {
    let mut times = 1;
    loop {
        let took = bench.time(test, times)?;
        #[expect(clippy::cast_precision_loss, reason = "at most a billion")]
        let each = took.as_secs_f64() * 1e9 / times as f64;
        if took >= time_min || times >= ITERATIONS_MAX {
            return Ok((times, each));
        }
        times = next(times, each, time_min);
    }
}

/// The next number to try: a fifth more than needed, at most a hundredfold, rounded up to 1, 2 or 5
/// and zeros.
fn next(times: u64, each: f64, time_min: Duration) -> u64 {
    #[expect(clippy::cast_sign_loss, reason = "a quotient of times")]
    let needed = (time_min.as_secs_f64() * 1e9 / each.max(0.1) * 1.2) as u64;
    let bounded = needed.clamp(times + 1, times.saturating_mul(100)).min(ITERATIONS_MAX);
    let mut magnitude = 1;
    while magnitude * 10 <= bounded {
        magnitude *= 10;
    }
    let factor = [1, 2, 5, 10].into_iter().find(|factor| factor * magnitude >= bounded);
    factor.unwrap_or(10) * magnitude
}

fn report(options: &GoOptions, results: &[(Test, u64, f64)]) -> Report {
    let mut report = Report::new("go", "Operations, 50 hotels of 5 rooms");
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let mut table = Table::new("tests", "Tests", &["benchmark", "N", "ns/op"]);
    let name = |test: &Test| format!("Benchmark{}-{threads}", test.go_name());
    let width = results.iter().map(|(test, ..)| name(test).len()).max().unwrap_or(0);
    let mut json = Vec::new();
    for (test, times, nanoseconds) in results {
        let name = name(test);
        let each = decimals(*nanoseconds, 0).replace(',', "");
        // Writing to a string cannot fail.
        let _ = writeln!(report.text, "{name:<width$}  {times:>10}  {each:>12} ns/op");
        #[expect(clippy::cast_precision_loss, reason = "at most a billion")]
        table.rows.push(vec![
            name.as_str().into(),
            Cell::Number(*times as f64, 0),
            Cell::Number(*nanoseconds, 0),
        ]);
        json.push(object([
            ("benchmark", text(&name)),
            ("test", text(test.name())),
            ("iterations", Value::from(*times)),
            ("nanosecondsPerOp", number(*nanoseconds)),
        ]));
        report.metric(test.name(), *nanoseconds, "ns/op", false);
    }
    report.tables.push(table);
    report.options = object([("timeMinSeconds", number(options.time_min.as_secs_f64()))]);
    report.result = object([("tests", Value::array(json))]);
    report
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_operations_are_round_and_enough() {
        let second = Duration::from_secs(1);
        let cases = [
            (1, 12_000_000.0, 100),
            (100, 6_000_000.0, 200),
            (1, 100.0, 100),
            (100, 100.0, 10_000),
        ];
        for (times, each, expected) in cases {
            assert_eq!(next(times, each, second), expected, "{times} {each}");
        }
        assert_eq!(next(1_000_000, 0.0, second), 100_000_000);
        assert!(next(ITERATIONS_MAX, 0.0, second) <= ITERATIONS_MAX * 10);
    }
}
