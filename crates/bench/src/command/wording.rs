//! What a load says in the words of other programs, and what is added to all of them.

use std::fmt::Write as _;

use super::load::{PERCENTILES, millis};
use crate::{
    load::{LoadPlan, LoadResult},
    report::number::{decimals, grouped, short},
};

/// One line of the figures: name, number and unit end at the same columns as in the published report.
fn line(label: &str, figure: &str, unit: &str) -> String {
    format!("{:<22}{figure:>14} {unit}", format!("{label}:")).trim_end().to_owned() + "\n"
}

pub(super) fn jmeter(result: &LoadResult) -> String {
    let ms = |number: f64| decimals(number, 0);
    let moments = &result.moments;
    [
        line("Number of Samples", &grouped(result.samples()), ""),
        line("Average Response Time", &ms(moments.mean()), "ms"),
        line("Minimum Response Time", &ms(moments.least()), "ms"),
        line("Maximum Response Time", &ms(moments.greatest()), "ms"),
        line("Standard Deviation", &ms(moments.deviation()), "ms"),
        line("Error Percentage", &decimals(result.error_percent(), 2), "%"),
        line("Transaction rate", &decimals(result.rate(), 2), "trans/sec"),
        line("Throughput", &decimals(result.throughput_kb(), 0), "KB/sec"),
    ]
    .concat()
}

/// A line of `ab`, figures in one column.
fn ab_line(label: &str, figure: &str) -> String {
    format!("{:<24}{figure}\n", format!("{label}:"))
}

pub(super) fn ab(plan: &LoadPlan, result: &LoadResult) -> String {
    let seconds = result.elapsed.as_secs_f64();
    #[expect(clippy::cast_precision_loss, reason = "no run has 2^53 samples")]
    let (users, complete) = (plan.users as f64, result.samples().max(1) as f64);
    let mut out = [
        ab_line("Concurrency Level", &plan.users.to_string()),
        ab_line("Time taken for tests", &format!("{seconds:.3} seconds")),
        ab_line("Complete requests", &result.samples().to_string()),
        ab_line("Failed requests", &result.errors.sent().to_string()),
        ab_line("Keep-Alive requests", &result.reused.to_string()),
        ab_line("Total transferred", &format!("{} bytes", result.bytes)),
        ab_line("Requests per second", &format!("{:.2} [#/sec] (mean)", result.rate())),
        ab_line(
            "Time per request",
            &format!("{:.3} [ms] (mean)", users * seconds * 1000.0 / complete),
        ),
        ab_line(
            "Time per request",
            &format!(
                "{:.3} [ms] (mean, across all concurrent requests)",
                seconds * 1000.0 / complete
            ),
        ),
        ab_line("Transfer rate", &format!("{:.2} [Kbytes/sec] received", result.throughput_kb())),
    ]
    .concat();
    out.push_str("\nPercentage of the requests served within a certain time (ms)\n");
    for percent in [50_u32, 66, 75, 80, 90, 95, 98, 99, 100] {
        let time = result.times.quantile_ms(f64::from(percent) / 100.0);
        let remark = if percent == 100 { " (longest request)" } else { "" };
        // Writing to a string cannot fail.
        let _ = writeln!(out, "{percent:>4}% {time:>8.0}{remark}");
    }
    out
}

pub(super) fn siege(result: &LoadResult) -> String {
    let seconds = |ms: f64| format!("{:.2}", ms / 1000.0);
    let good = result.samples() - result.errors.sent();
    let concurrency = result.rate() * result.moments.mean() / 1000.0;
    #[expect(clippy::cast_precision_loss, reason = "shown with two decimals")]
    let megabytes = result.bytes as f64 / f64::from(1 << 20);
    let line = |label: &str, figure: &str, unit: &str| {
        format!("{:<26}{figure:>12} {unit}", format!("{label}:")).trim_end().to_owned() + "\n"
    };
    [
        line("Transactions", &good.to_string(), "hits"),
        line("Availability", &format!("{:.2}", 100.0 - result.error_percent()), "%"),
        line("Elapsed time", &format!("{:.2}", result.elapsed.as_secs_f64()), "secs"),
        line("Data transferred", &format!("{megabytes:.2}"), "MB"),
        line("Response time", &seconds(result.moments.mean()), "secs"),
        line("Transaction rate", &format!("{:.2}", result.rate()), "trans/sec"),
        line("Throughput", &format!("{:.2}", result.throughput_kb() / 1024.0), "MB/sec"),
        line("Concurrency", &format!("{concurrency:.2}"), ""),
        line("Successful transactions", &good.to_string(), ""),
        line("Failed transactions", &result.errors.sent().to_string(), ""),
        line("Longest transaction", &seconds(result.moments.greatest()), ""),
        line("Shortest transaction", &seconds(result.moments.least()), ""),
    ]
    .concat()
}

/// What every style says below its own lines.
pub(super) fn additions(plan: &LoadPlan, result: &LoadResult, capacity: Option<f64>) -> String {
    let mut out = String::from("\n");
    let percentiles: Vec<String> = PERCENTILES
        .iter()
        .map(|(name, quantile)| {
            format!("{} {}", name.replace('_', "."), short(result.times.quantile_ms(*quantile)))
        })
        .collect();
    // Writing to a string cannot fail.
    let _ = writeln!(out, "{:<22} {} ms", "Percentiles:", percentiles.join(", "));
    if let Some(rate) = plan.rate {
        let service = result.service.quantile_ms(0.99);
        let _ = writeln!(
            out,
            "{:<22} open: {}/s scheduled, times from the scheduled start; p99 from sending {} ms",
            "Loop:",
            short(rate),
            short(service)
        );
    } else {
        let law = closed_loop_ms(plan, result);
        let _ = writeln!(
            out,
            "{:<22} closed: a slow answer delays the next request, so few see a pause of the target;\n\
             {:<22} `--rate` shows it to all that were due (coordinated omission)\n\
             {:<22} users / rate - average = {} ms, think time {} ms",
            "Loop:",
            "",
            "Closed-loop check:",
            short(law),
            short(millis(plan.think))
        );
    }
    let shown = capacity.map_or("not measured".to_owned(), |capacity| {
        format!("{} trans/sec", decimals(capacity, 2))
    });
    let _ = writeln!(out, "{:<22} {shown}", "Zero-think capacity:");
    let _ = writeln!(
        out,
        "{:<22} {} of {} requests on {} connections",
        "Keep-alive:",
        grouped(result.reused),
        grouped(result.samples()),
        grouped(result.connections)
    );
    out
}

/// `users / rate - average`: the pause between requests that a closed loop shows
/// (`docs/reference/bench.md`). Users that had not started yet during the ramp do not count.
pub(super) fn closed_loop_ms(plan: &LoadPlan, result: &LoadResult) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "users are few")]
    let users = if plan.ramp.is_zero() { plan.users as f64 } else { result.users_mean };
    if result.rate() > 0.0 { users / result.rate() * 1000.0 - result.moments.mean() } else { 0.0 }
}
