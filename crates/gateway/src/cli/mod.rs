//! The command line: the only place that prints and decides exit codes.
//!
//! Data goes to stdout, everything else to stderr. Exit codes: 0 success, 1 a script, route or
//! catalog has errors or the result could not be printed, 2 wrong usage or settings that cannot be
//! used.

mod bench;
mod check;
mod format;
mod mock;
mod plan;
mod report;
mod run;
mod script;
mod serve;
mod test;

use std::{path::PathBuf, process::ExitCode};

use clap::{Args, Parser, Subcommand};

/// Turn many HTTP APIs into one call.
#[derive(Debug, Parser)]
#[command(name = "qlio", version, about, long_about = None)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Serve routes and ad-hoc scripts over HTTP.
    Serve(serve::ServeArgs),
    /// Run one script and print its value as JSON.
    Run(run::RunArgs),
    /// Load tables and routes and report every problem.
    Check(check::CheckArgs),
    /// Show how a script will be executed.
    Plan(plan::PlanArgs),
    /// Print scripts the canonical way.
    Fmt(format::FormatArgs),
    /// Be the upstream APIs: canned answers, a misbehaving proxy, a recording.
    Mock(mock::MockArgs),
    /// Run tests of scripts and routes against mocks.
    Test(test::TestArgs),
    /// Measure: load on servers, scaling, formats.
    Bench(bench::BenchArgs),
}

/// Where tables, routes and settings come from.
#[derive(Debug, Clone, Default, Args)]
struct CatalogArgs {
    /// Folder of table files; `serve` takes `tables` if there is one here.
    #[arg(long, short = 't', value_name = "DIR")]
    tables: Option<PathBuf>,
    /// Folder of route files; `serve` takes `routes` if there is one here.
    #[arg(long, short = 'r', value_name = "DIR")]
    routes: Option<PathBuf>,
    /// Settings file (JSON); `serve` takes `config/dev.json` if there is one here.
    #[arg(long, short = 'c', value_name = "FILE")]
    config: Option<PathBuf>,
}

impl CatalogArgs {
    /// With what an app has in its folder under the usual names, where nothing was given
    /// (`server.md` 3.1).
    fn or_here(self) -> Self {
        let here = |usual: &str| Some(PathBuf::from(usual)).filter(|path| path.exists());
        Self {
            tables: self.tables.or_else(|| here("tables")),
            routes: self.routes.or_else(|| here("routes")),
            config: self.config.or_else(|| here("config/dev.json")),
        }
    }
}

/// How a command ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Exit {
    Success,
    /// A script, route or catalog has errors, or the result could not be printed.
    Failed,
    /// Wrong usage, or settings that cannot be used.
    Usage,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(match exit {
            Exit::Success => 0,
            Exit::Failed => 1,
            Exit::Usage => 2,
        })
    }
}

/// Runs the command line of this process.
pub fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            // Help and version are asked for and go to stdout; mistakes go to stderr.
            let is_mistake = error.use_stderr();
            let _ = error.print();
            return if is_mistake { Exit::Usage.into() } else { Exit::Success.into() };
        }
    };
    let exit = match cli.command {
        Command::Serve(args) => serve::serve(&args),
        Command::Run(args) => run::run(&args),
        Command::Check(args) => check::check(&args),
        Command::Plan(args) => plan::plan(&args),
        Command::Fmt(args) => format::format(&args),
        Command::Mock(args) => mock::mock(&args),
        Command::Test(args) => test::test(&args),
        Command::Bench(args) => bench::bench(&args),
    };
    if exit == Exit::Success && report::is_data_lost() {
        return Exit::Failed.into();
    }
    exit.into()
}
