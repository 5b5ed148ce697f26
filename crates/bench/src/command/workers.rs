//! `qlio bench workers`: the same load on gateways with more and more worker threads.

use qlio_data::Value;

use super::{load::PERCENTILES, subject::prepare_scenario};
use crate::{
    chart::{Chart, LineChart, Mark, Series, Spacing},
    data::{number, object, scenario::Scenario, text},
    error::{BenchError, failed},
    load::{self, LoadPlan, LoadResult, ProgressSink},
    process::{
        Gateway, GatewayOptions,
        usage::{CpuShares, MachineTicks, peak_memory_bytes, process_seconds},
    },
    report::{Cell, Report, Table},
    stop::Stop,
};

/// A step that gains less than this is the knee (`docs/reference/bench.md`).
const KNEE_GAIN: f64 = 1.02;

/// What to do.
#[derive(Debug, Clone)]
pub struct WorkersOptions {
    /// Numbers of worker threads, each measured with a gateway of its own.
    pub list: Vec<usize>,
    /// What is asked.
    pub scenario: Scenario,
    /// How: users are the concurrency.
    pub plan: LoadPlan,
    /// Time before counting begins.
    pub warm_up: std::time::Duration,
    /// The executable and the upstream's delay; its `workers` is not used.
    pub gateway: GatewayOptions,
}

/// One gateway under load.
pub(super) struct Measured {
    pub(super) result: LoadResult,
    pub(super) cpu: Option<CpuShares>,
    /// Processor milliseconds of the gateway for one request.
    pub(super) cpu_ms: Option<f64>,
    pub(super) peak_bytes: Option<u64>,
}

/// Starts a gateway with so many workers, loads one scenario, stops it.
pub(super) fn measure(
    workers: usize,
    scenario: Scenario,
    plan: &LoadPlan,
    warm_up: std::time::Duration,
    gateway: &GatewayOptions,
    stop: &Stop,
    progress: ProgressSink<'_>,
) -> Result<Measured, BenchError> {
    let options = GatewayOptions { workers: Some(workers), ..gateway.clone() };
    let prepared = prepare_scenario(scenario, Gateway::start(&options)?)?;
    let (target, address) = (&prepared.target, prepared.address);
    load::warm_up(target, address, plan, warm_up, stop)?;
    let id = prepared.gateway.as_ref().map(Gateway::id);
    let (machine, seconds) = (MachineTicks::now(), id.and_then(process_seconds));
    let result = load::run(target, address, plan, stop, progress)?;
    let cpu = machine.zip(MachineTicks::now()).and_then(|(before, after)| before.until(after));
    let used = seconds.zip(id.and_then(process_seconds)).map(|(before, after)| after - before);
    #[expect(clippy::cast_precision_loss, reason = "no run has 2^53 samples")]
    let cpu_ms = used.map(|used| used * 1000.0 / result.samples().max(1) as f64);
    Ok(Measured { result, cpu, cpu_ms, peak_bytes: id.and_then(peak_memory_bytes) })
}

/// Measures.
///
/// # Errors
/// A gateway does not start or answers wrongly, or a number goes over a limit.
pub fn workers(
    options: &WorkersOptions,
    stop: &Stop,
    progress: ProgressSink<'_>,
) -> Result<Report, BenchError> {
    let mut rows: Vec<(usize, Measured)> = Vec::new();
    for count in &options.list {
        if stop.is_requested() {
            break;
        }
        let (scenario, plan) = (options.scenario, &options.plan);
        let gateway = &options.gateway;
        let row = measure(*count, scenario, plan, options.warm_up, gateway, stop, progress)?;
        rows.push((*count, row));
    }
    if rows.is_empty() {
        return Err(failed("stopped before anything was measured"));
    }
    Ok(report(options, &rows, stop.is_requested()))
}

/// The first step that gains little, as a position in `rates`.
fn knee(rates: &[f64]) -> Option<usize> {
    rates.windows(2).position(|pair| pair[1] < pair[0] * KNEE_GAIN).map(|at| at + 1)
}

fn report(options: &WorkersOptions, rows: &[(usize, Measured)], is_stopped: bool) -> Report {
    let users = options.plan.users;
    let scenario = options.scenario.name();
    let mut report =
        Report::new("workers", format!("Worker threads: scenario {scenario}, {users} users"));
    let rates: Vec<f64> = rows.iter().map(|(_, row)| row.result.rate()).collect();
    let knee = knee(&rates);
    let mut table = Table::new(
        "scaling",
        "Scaling over worker threads",
        &[
            "workers",
            "req/s",
            "mean ms",
            "p80 ms",
            "p99 ms",
            "user %",
            "system %",
            "idle %",
            "CPU ms/req",
            "peak MB",
            "speed-up",
            "",
        ],
    );
    let mut results = Vec::new();
    for (at, (count, row)) in rows.iter().enumerate() {
        let speed_up = if rates[0] > 0.0 { rates[at] / rates[0] } else { 0.0 };
        #[expect(clippy::cast_precision_loss, reason = "thread counts and bytes are small")]
        let (threads, peak) =
            (*count as f64, row.peak_bytes.map(|bytes| bytes as f64 / f64::from(1 << 20)));
        let cpu = |part: fn(&CpuShares) -> f64| Cell::maybe(row.cpu.as_ref().map(part), 0);
        table.rows.push(vec![
            Cell::Number(threads, 0),
            Cell::Number(rates[at], 2),
            Cell::Number(row.result.moments.mean(), 3),
            Cell::Number(row.result.times.quantile_ms(0.8), 1),
            Cell::Number(row.result.times.quantile_ms(0.99), 1),
            cpu(|shares| shares.user),
            cpu(|shares| shares.system),
            cpu(|shares| shares.idle),
            Cell::maybe(row.cpu_ms, 3),
            Cell::maybe(peak, 1),
            Cell::Number(speed_up, 2),
            if knee == Some(at) { "<- knee".into() } else { "".into() },
        ]);
        results.push(row_json(*count, row, speed_up));
        report.metric(format!("rate/{count}"), rates[at], "1/s", true);
        report.metric(format!("p99/{count}"), row.result.times.quantile_ms(0.99), "ms", false);
    }
    report.text = table.to_text();
    report.tables.push(table);
    report.charts.push(chart(rows, &rates, knee));
    report.options = object([
        ("scenario", text(scenario)),
        (
            "list",
            Value::array(options.list.iter().map(|count| Value::from(*count as u64)).collect()),
        ),
        ("concurrency", Value::from(users as u64)),
        ("requests", options.plan.requests.map_or(Value::Null, Value::from)),
        (
            "durationSeconds",
            options.plan.duration.map_or(Value::Null, |time| number(time.as_secs_f64())),
        ),
        ("seed", Value::from(options.plan.seed)),
    ]);
    report.result = object([
        ("rows", Value::array(results)),
        ("knee", knee.map_or(Value::Null, |at| Value::from(rows[at].0 as u64))),
    ]);
    report.notes.push(
        "the machine's shares include upstream and load generator, which run beside the gateway; \
         CPU ms/req is the gateway's alone"
            .to_owned(),
    );
    if is_stopped {
        report.notes.push("stopped early".to_owned());
    }
    report.failure = first_failure(rows.iter().map(|(_, row)| &row.result));
    report
}

/// The verdict over several runs.
#[expect(clippy::needless_pass_by_value, reason = "callers make the iterator in place")]
pub(super) fn first_failure<'a>(
    results: impl Iterator<Item = &'a LoadResult> + Clone,
) -> Option<String> {
    let errors: u64 = results.clone().map(|result| result.errors.sent()).sum();
    let first = results.clone().find_map(|result| result.first_failure.as_deref());
    if errors > 0 {
        let first = first.unwrap_or("unknown");
        return Some(format!("{errors} requests failed, the first with: {first}"));
    }
    results
        .clone()
        .any(|result| result.samples() == 0)
        .then(|| "a run finished no request".to_owned())
}

fn row_json(workers: usize, row: &Measured, speed_up: f64) -> Value {
    let cpu = row.cpu.map_or(Value::Null, |shares| {
        object([
            ("userPercent", number(shares.user)),
            ("systemPercent", number(shares.system)),
            ("idlePercent", number(shares.idle)),
        ])
    });
    object([
        ("workers", Value::from(workers as u64)),
        ("run", run_json(&row.result)),
        ("cpu", cpu),
        ("cpuMsPerRequest", row.cpu_ms.map_or(Value::Null, number)),
        ("peakBytes", row.peak_bytes.map_or(Value::Null, Value::from)),
        ("speedUp", number(speed_up)),
    ])
}

/// The figures of one of many runs.
pub(super) fn run_json(result: &LoadResult) -> Value {
    let percentiles = PERCENTILES
        .iter()
        .map(|(name, quantile)| (*name, number(result.times.quantile_ms(*quantile))))
        .collect();
    object([
        ("samples", Value::from(result.samples())),
        ("errors", Value::from(result.errors.sent())),
        ("elapsedSeconds", number(result.elapsed.as_secs_f64())),
        ("ratePerSecond", number(result.rate())),
        ("averageMs", number(result.moments.mean())),
        ("percentilesMs", Value::object(percentiles)),
        ("keepAliveRequests", Value::from(result.reused)),
    ])
}

fn chart(rows: &[(usize, Measured)], rates: &[f64], knee: Option<usize>) -> Chart {
    #[expect(clippy::cast_precision_loss, reason = "thread counts are small")]
    let counts: Vec<f64> = rows.iter().map(|(count, _)| *count as f64).collect();
    let first = rates[0] / counts[0].max(1.0);
    let highest = rates.iter().copied().fold(0.0, f64::max);
    // The ideal is cut off above the chart, or it would press everything measured to the ground.
    let ideal = counts.iter().map(|count| (*count, (first * count).min(highest * 1.25))).collect();
    let marks = knee.map(|at| Mark { at: counts[at], label: format!("knee at {}", rows[at].0) });
    Chart::Lines(LineChart {
        name: "scaling".to_owned(),
        title: "Requests per second over worker threads".to_owned(),
        x_label: "worker threads".to_owned(),
        x_spacing: Spacing::Whole,
        y_label: "requests/s".to_owned(),
        series: vec![
            Series {
                name: "measured".to_owned(),
                points: counts.iter().copied().zip(rates.iter().copied()).collect(),
                is_reference: false,
            },
            Series {
                name: "ideal (in proportion to the first)".to_owned(),
                points: ideal,
                is_reference: true,
            },
        ],
        marks: marks.into_iter().collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_knee_of_the_published_series_is_where_gains_end() {
        let rates = [192.53, 304.75, 340.81, 360.71, 371.30, 376.99, 382.00, 384.50];
        // 371.30 to 376.99 is the first gain below two percent: 72 workers.
        assert_eq!(knee(&rates), Some(5));
        assert_eq!(knee(&[100.0, 200.0, 400.0]), None);
        assert_eq!(knee(&[100.0, 90.0]), Some(1));
        assert_eq!(knee(&[100.0]), None);
    }
}
