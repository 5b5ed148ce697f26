//! `qlio bench load`: many users, one request.

use std::time::Duration;

use qlio_data::Value;

use super::{
    subject::Subject,
    wording::{ab, additions, closed_loop_ms, jmeter, siege},
};
use crate::{
    chart::{Chart, LineChart, Series, Spacing},
    data::{number, object, text},
    error::{BenchError, usage},
    limits,
    load::{self, LoadPlan, LoadResult, ProgressSink},
    process::GatewayOptions,
    report::{
        Cell, Report, Table,
        number::{grouped, short},
    },
    stop::Stop,
};

/// Which program's words the text uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Style {
    /// As `JMeter` says it.
    #[default]
    Jmeter,
    /// As `ab` says it.
    Ab,
    /// As `siege` says it.
    Siege,
}

/// What to do.
#[derive(Debug, Clone)]
pub struct LoadOptions {
    /// What is loaded.
    pub subject: Subject,
    /// How.
    pub plan: LoadPlan,
    /// How long requests are sent before counting begins.
    pub warm_up: Duration,
    /// How long users send without thinking afterwards, to find the capacity. Only when they think or
    /// follow a rate; else the measured rate is the capacity.
    pub capacity: Duration,
    /// The gateway, if one has to be started.
    pub gateway: GatewayOptions,
    /// The words of the text.
    pub style: Style,
}

/// Percentiles that are reported.
pub(super) const PERCENTILES: [(&str, f64); 6] =
    [("p50", 0.5), ("p80", 0.8), ("p90", 0.9), ("p95", 0.95), ("p99", 0.99), ("p99_9", 0.999)];

/// Measures.
///
/// # Errors
/// The target cannot be reached or gives a wrong first answer, or a number goes over a limit.
pub fn load(
    options: &LoadOptions,
    stop: &Stop,
    progress: ProgressSink<'_>,
) -> Result<Report, BenchError> {
    let plan = &options.plan;
    // Before anything is started, so that a bad number costs nothing.
    if let Subject::Url { target, .. } = &options.subject {
        let target = load::Target::new(target)?;
        plan.check(target.is_loopback)?;
        let extra = options.warm_up + options.capacity;
        let all = plan.ramp + plan.duration.unwrap_or_default() + extra;
        if !target.is_loopback && all > limits::REMOTE_DURATION_MAX {
            let seconds = limits::REMOTE_DURATION_MAX.as_secs();
            return Err(usage(format!(
                "warm-up, ramp, duration and capacity phase must be at most {seconds} s together \
                 for another machine"
            )));
        }
    }
    plan.check(true)?;
    let prepared = options.subject.prepare(&options.gateway)?;
    let (target, address) = (&prepared.target, prepared.address);
    load::warm_up(target, address, plan, options.warm_up, stop)?;
    let result = load::run(target, address, plan, stop, progress)?;
    let needs_phase = !plan.think.is_zero() || plan.rate.is_some();
    let capacity = if !needs_phase {
        Some(result.rate())
    } else if options.capacity.is_zero() || stop.is_requested() {
        None
    } else {
        let plan = LoadPlan {
            duration: Some(options.capacity),
            threads: plan.threads,
            timeout: plan.timeout,
            keep_alive: plan.keep_alive,
            ..LoadPlan::closed(plan.users)
        };
        Some(load::run(target, address, &plan, stop, &|_| {})?.rate())
    };
    Ok(report(options, &result, capacity, stop.is_requested()))
}

fn report(
    options: &LoadOptions,
    result: &LoadResult,
    capacity: Option<f64>,
    is_stopped: bool,
) -> Report {
    let plan = &options.plan;
    let title = format!("Load: {} users, {}", plan.users, options.subject.describe());
    let mut report = Report::new("load", title);
    report.text = match options.style {
        Style::Jmeter => jmeter(result),
        Style::Ab => ab(plan, result),
        Style::Siege => siege(result),
    };
    report.text.push_str(&additions(plan, result, capacity));
    report.tables.push(figures(result, capacity));
    report.charts = charts(result);
    report.options = object([
        ("subject", text(options.subject.describe())),
        ("users", Value::from(plan.users as u64)),
        ("durationSeconds", plan.duration.map_or(Value::Null, |time| number(time.as_secs_f64()))),
        ("requests", plan.requests.map_or(Value::Null, Value::from)),
        ("rampSeconds", number(plan.ramp.as_secs_f64())),
        ("thinkMs", number(millis(plan.think))),
        ("thinkDeviationMs", number(millis(plan.think_deviation))),
        ("keepAlive", Value::Bool(plan.keep_alive)),
        ("ratePerSecond", plan.rate.map_or(Value::Null, number)),
        ("timeoutSeconds", number(plan.timeout.as_secs_f64())),
        ("warmUpSeconds", number(options.warm_up.as_secs_f64())),
        ("workers", options.gateway.workers.map_or(Value::Null, |count| Value::from(count as u64))),
        ("seed", Value::from(plan.seed)),
    ]);
    report.result = to_json(plan, result, capacity);
    report.metric("rate", result.rate(), "1/s", true);
    report.metric("average", result.moments.mean(), "ms", false);
    for (name, quantile) in PERCENTILES {
        report.metric(name, result.times.quantile_ms(quantile), "ms", false);
    }
    report.metric("throughput", result.throughput_kb(), "KB/s", true);
    if let Some(capacity) = capacity {
        report.metric("capacity", capacity, "1/s", true);
    }
    report.notes = notes(plan, result, is_stopped);
    report.failure = failure(result);
    report
}

fn failure(result: &LoadResult) -> Option<String> {
    if result.samples() == 0 {
        return Some("no request was finished".to_owned());
    }
    let failed = result.errors.sent();
    (failed > 0).then(|| {
        let first = result.first_failure.as_deref().unwrap_or("unknown");
        format!(
            "{} of {} requests failed, the first with: {first}",
            grouped(failed),
            grouped(result.samples())
        )
    })
}

fn notes(plan: &LoadPlan, result: &LoadResult, is_stopped: bool) -> Vec<String> {
    let mut notes = Vec::new();
    if is_stopped {
        notes.push("stopped early; requests in flight are not counted".to_owned());
    }
    if let Some(rate) = plan.rate {
        if result.errors.unsent > 0 {
            notes.push(format!(
                "the target cannot keep up with {} requests/s: {} requests were due and never \
                 sent",
                short(rate),
                grouped(result.errors.unsent)
            ));
        } else if result.delay.quantile_ms(0.99) > 10.0 {
            notes.push(
                "requests waited for a free user; the wait is part of their response time, more \
                 `--users` would shorten it"
                    .to_owned(),
            );
        }
    }
    notes
}

fn figures(result: &LoadResult, capacity: Option<f64>) -> Table {
    let mut table = Table::new("figures", "Figures", &["figure", "value", "unit"]);
    let mut row = |name: &str, value: f64, places: usize, unit: &str| {
        table.rows.push(vec![name.into(), Cell::Number(value, places), unit.into()]);
    };
    #[expect(clippy::cast_precision_loss, reason = "no run has 2^53 samples")]
    let counts = [result.samples(), result.errors.sent(), result.connections, result.reused]
        .map(|count| count as f64);
    row("samples", counts[0], 0, "");
    row("errors", counts[1], 0, "");
    row("average", result.moments.mean(), 3, "ms");
    row("minimum", result.moments.least(), 3, "ms");
    row("maximum", result.moments.greatest(), 3, "ms");
    row("deviation", result.moments.deviation(), 3, "ms");
    for (name, quantile) in PERCENTILES {
        row(&name.replace('_', "."), result.times.quantile_ms(quantile), 3, "ms");
    }
    row("rate", result.rate(), 2, "1/s");
    row("throughput", result.throughput_kb(), 1, "KB/s");
    row("elapsed", result.elapsed.as_secs_f64(), 3, "s");
    row("connections", counts[2], 0, "");
    row("keep-alive requests", counts[3], 0, "");
    if let Some(capacity) = capacity {
        row("zero-think capacity", capacity, 2, "1/s");
    }
    table
}

fn charts(result: &LoadResult) -> Vec<Chart> {
    let percents = (0..=20).map(|step| f64::from(step) * 5.0).chain([97.5, 99.0, 99.5, 99.9]);
    let percents: Vec<f64> = percents.filter(|percent| *percent < 100.0).collect();
    let line = |name: &str, points: Vec<(f64, f64)>| Series {
        name: name.to_owned(),
        points,
        is_reference: false,
    };
    let distribution =
        percents.iter().map(|percent| (*percent, result.times.quantile_ms(percent / 100.0)));
    let middle = |point: &load::Point| f64::midpoint(point.from, point.to);
    // A part of a few milliseconds at the end says nothing about a rate.
    let longest = result.points.iter().map(|point| point.to - point.from).fold(0.0, f64::max);
    let points = || result.points.iter().filter(|point| point.to - point.from > longest / 2.0);
    #[expect(clippy::cast_precision_loss, reason = "samples of one part")]
    let rates =
        points().map(|point| (middle(point), point.samples as f64 / (point.to - point.from)));
    let over_time = |name: &str, title: &str, unit: &str, series| {
        Chart::Lines(LineChart {
            name: name.to_owned(),
            title: title.to_owned(),
            x_label: "time (s)".to_owned(),
            x_spacing: Spacing::Linear,
            y_label: unit.to_owned(),
            series,
            marks: Vec::new(),
        })
    };
    vec![
        Chart::Lines(LineChart {
            name: "percentiles".to_owned(),
            title: "Response times by percentile".to_owned(),
            x_label: "percentile (%)".to_owned(),
            x_spacing: Spacing::Percentile,
            y_label: "response time (ms)".to_owned(),
            series: vec![line("response time", distribution.collect())],
            marks: Vec::new(),
        }),
        over_time(
            "rate",
            "Requests per second",
            "requests/s",
            vec![line("finished requests", rates.collect())],
        ),
        over_time(
            "times",
            "Response times over the run",
            "response time (ms)",
            vec![
                line("median", points().map(|point| (middle(point), point.p50_ms)).collect()),
                line(
                    "99th percentile",
                    points().map(|point| (middle(point), point.p99_ms)).collect(),
                ),
            ],
        ),
    ]
}

fn to_json(plan: &LoadPlan, result: &LoadResult, capacity: Option<f64>) -> Value {
    let percentiles = |times: &crate::stats::Latency| {
        Value::object(
            PERCENTILES
                .iter()
                .map(|(name, quantile)| (*name, number(times.quantile_ms(*quantile))))
                .collect(),
        )
    };
    let errors = &result.errors;
    let points = result.points.iter().map(|point| {
        object([
            ("fromSeconds", number(point.from)),
            ("toSeconds", number(point.to)),
            ("samples", Value::from(point.samples)),
            ("errors", Value::from(point.errors)),
            ("p50Ms", number(point.p50_ms)),
            ("p99Ms", number(point.p99_ms)),
        ])
    });
    object([
        ("loop", text(if plan.rate.is_some() { "open" } else { "closed" })),
        ("samples", Value::from(result.samples())),
        ("elapsedSeconds", number(result.elapsed.as_secs_f64())),
        ("averageMs", number(result.moments.mean())),
        ("minimumMs", number(result.moments.least())),
        ("maximumMs", number(result.moments.greatest())),
        ("deviationMs", number(result.moments.deviation())),
        ("percentilesMs", percentiles(&result.times)),
        ("serviceMs", percentiles(&result.service)),
        ("startDelayMs", percentiles(&result.delay)),
        ("errorPercent", number(result.error_percent())),
        (
            "errors",
            object([
                ("connect", Value::from(errors.connect)),
                ("transport", Value::from(errors.transport)),
                ("timeout", Value::from(errors.timeout)),
                ("status", Value::from(errors.status)),
                ("body", Value::from(errors.body)),
                ("unsent", Value::from(errors.unsent)),
            ]),
        ),
        (
            "statuses",
            Value::object(
                result
                    .statuses
                    .iter()
                    .map(|(status, count)| (status.to_string(), Value::from(*count)))
                    .collect(),
            ),
        ),
        ("ratePerSecond", number(result.rate())),
        ("bytes", Value::from(result.bytes)),
        ("throughputKbPerSecond", number(result.throughput_kb())),
        ("connections", Value::from(result.connections)),
        ("keepAliveRequests", Value::from(result.reused)),
        ("usersMean", number(result.users_mean)),
        ("closedLoopMs", number(closed_loop_ms(plan, result))),
        ("capacityPerSecond", capacity.map_or(Value::Null, number)),
        ("points", Value::array(points.collect())),
    ])
}

pub(super) fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}
