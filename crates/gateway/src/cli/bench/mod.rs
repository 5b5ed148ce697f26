//! `qlio bench`: measurements (`docs/reference/bench.md`). Here are the options and the printing; what is
//! measured and how is the business of `qlio_bench`.
//!
//! The figures go to stdout, progress and where files were written to stderr. Exit codes: 0 measured, 1
//! something answered wrongly or failed, 2 options that cannot be used or a target that is not there.

mod arguments;
mod options;
mod progress;

use std::{io, path::PathBuf};

use anyhow::Context;
use clap::{Args, Subcommand};
use qlio_bench::{
    BenchError, Stop, command,
    environment::Environment,
    report::{Report, baseline::Baseline},
    seeds,
};
use qlio_data::codec::json;

use super::{Exit, Failure, report, signals::StopSignals};
use progress::Told;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  qlio bench load --url http://localhost:3000/books/sea --users 20 --duration 5s --think 100ms
  qlio bench load --scenario D --users 50 --duration 10s --rate 500
  qlio bench workers --list 1,2,4 --requests 5000
  qlio bench matrix --scenarios A,D --concurrency 50,100 --workers 2 --requests 5000
  qlio bench codecs --sample answer.json --proto shop.proto --message shop.Answer
  qlio bench ops --tests deser-json,deser-protobuf --out report")]
pub(super) struct BenchArgs {
    #[command(subcommand)]
    command: BenchCommand,
}

#[derive(Debug, Subcommand)]
enum BenchCommand {
    /// Many users send one request: response times, rate, throughput, percentiles.
    Load(options::LoadArgs),
    /// The same load on gateways with more and more worker threads.
    Workers(options::WorkersArgs),
    /// Scenarios A to D × concurrent users × worker threads.
    Matrix(options::MatrixArgs),
    /// Formats against each other: time to write and read a message, and its size.
    Codecs(options::CodecsArgs),
    /// Operations per second with their error, as benchmark.js prints them.
    Ops(options::OpsArgs),
    /// The same as `ops --format go`.
    Go(options::GoArgs),
}

/// How a report is handed out.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Report")]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of the command line")]
struct OutputArgs {
    /// Print JSON instead of text.
    #[arg(long, conflicts_with_all = ["csv", "html"])]
    json: bool,
    /// Print the main table as CSV instead of text.
    #[arg(long, conflicts_with = "html")]
    csv: bool,
    /// Print one HTML page with tables and charts instead of text.
    #[arg(long)]
    html: bool,
    /// Also write text, JSON, HTML, CSV tables and SVG charts to this folder.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Compare with an earlier report (its JSON file).
    #[arg(long, value_name = "FILE")]
    baseline: Option<PathBuf>,
    /// Also print the figures that were published about the original.
    #[arg(long)]
    seeds: bool,
    /// No progress on stderr.
    #[arg(long, short)]
    quiet: bool,
}

pub(super) fn bench(args: &BenchArgs) -> Result<Exit, Failure> {
    let output = match &args.command {
        BenchCommand::Load(args) => &args.output,
        BenchCommand::Workers(args) => &args.output,
        BenchCommand::Matrix(args) => &args.output,
        BenchCommand::Codecs(args) => &args.output,
        BenchCommand::Ops(args) => &args.output,
        BenchCommand::Go(args) => &args.output,
    };
    // A baseline that cannot be read should not be found out after an hour.
    let baseline = output.baseline.as_deref().map(Baseline::read).transpose()?;
    let stop = Stop::default();
    stop_on_signals(stop.clone()).context("cannot listen to signals")?;
    let told = Told::new(output.quiet);
    let (load, step) = (|now: &_| told.load(now), |what: &str| told.step(what));
    let measured = match &args.command {
        BenchCommand::Load(args) => {
            args.options().and_then(|options| command::load::load(&options, &stop, &load))
        }
        BenchCommand::Workers(args) => {
            args.options().and_then(|options| command::workers::workers(&options, &stop, &load))
        }
        BenchCommand::Matrix(args) => {
            args.options().and_then(|options| command::matrix::matrix(&options, &stop, &load))
        }
        BenchCommand::Codecs(args) => {
            args.options().and_then(|options| command::codecs::codecs(&options, &stop, &step))
        }
        BenchCommand::Ops(args) if args.is_go() => {
            args.go_options().and_then(|options| command::go::go(&options, &stop, &step))
        }
        BenchCommand::Ops(args) => {
            args.options().and_then(|options| command::ops::ops(&options, &stop, &step))
        }
        BenchCommand::Go(args) => {
            args.options().and_then(|options| command::go::go(&options, &stop, &step))
        }
    };
    report::clear_status();
    let mut measured = measured?;
    if let Some(baseline) = &baseline {
        baseline.compare(&mut measured)?;
    }
    hand_out(measured, output)
}

impl From<BenchError> for Failure {
    fn from(error: BenchError) -> Self {
        let exit = match error {
            BenchError::Usage(_) => Exit::Usage,
            BenchError::Failed(_) => Exit::Failed,
        };
        Self { error: error.into(), exit }
    }
}

/// Prints and writes a report.
fn hand_out(mut measured: Report, output: &OutputArgs) -> Result<Exit, Failure> {
    if output.seeds {
        seeds::add(&mut measured);
    }
    let environment = Environment::here();
    if output.json {
        report::data(&json::to_string(&measured.to_json(&environment)));
    } else if output.csv {
        report::raw(&measured.to_csv());
    } else if output.html {
        report::raw(&measured.to_html(&environment));
    } else {
        report::raw(&measured.text);
        measured.notes.iter().for_each(|note| report::note(&format!("note: {note}")));
    }
    if !output.quiet {
        report::note(&format!("measured on {}", environment.summary()));
        if environment.profile == "debug" {
            report::note("warning: this is a debug build; its figures say nothing about a release");
        }
    }
    if let Some(folder) = &output.out {
        let (folder, files) = (folder.display(), measured.write_to(folder, &environment));
        let files = files.with_context(|| format!("cannot write to `{folder}`"))?;
        report::note(&format!("wrote {} to {folder}", files.join(", ")));
    }
    match measured.failure {
        Some(failure) => Err(Failure::failed(anyhow::Error::msg(failure))),
        None => Ok(Exit::Success),
    }
}

/// The first signal ends the measurement, which reports what it has; the second ends the process.
fn stop_on_signals(stop: Stop) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let mut signals = runtime.block_on(async { StopSignals::listen() })?;
    let wait = move || {
        runtime.block_on(async {
            signals.next().await;
            report::note("stopping; once more to end at once");
            stop.request();
            signals.next().await;
            end_at_once();
        });
    };
    std::thread::Builder::new().name("signals".to_owned()).spawn(wait).map(drop)
}

/// The exit code of a process that an interrupt ended.
const INTERRUPTED: i32 = 130;

#[expect(clippy::exit, reason = "the user does not want to wait for anything any longer")]
fn end_at_once() {
    std::process::exit(INTERRUPTED)
}
