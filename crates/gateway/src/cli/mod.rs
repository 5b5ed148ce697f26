//! The command line: the only place that prints and decides exit codes.
//!
//! Data goes to stdout, everything else to stderr. Exit codes: 0 success; 1 settings, a script, route
//! or catalog have errors, a server does not start because of them, the result could not be printed,
//! or an option is unknown; 2 other wrong usage; 255 a port that is taken.

mod app;
mod bench;
mod check;
mod config;
mod drafts;
mod explain;
mod findings;
mod format;
mod inherited;
#[expect(clippy::disallowed_methods, reason = "it writes the files of a new app")]
mod init;
mod lsp;
mod manual;
mod measured;
mod mock;
mod open_files;
mod operators;
mod output;
mod pid_files;
mod places;
mod plan;
mod progress;
mod report;
mod request;
mod run;
mod script;
mod serve;
mod served_app;
mod service_manager;
mod shell;
mod signals;
mod stop;
mod supervise;
mod telemetry;
mod test;
mod test_connector;

use std::{ffi::OsString, io, process::ExitCode};

use clap::{Parser, Subcommand, error::ErrorKind};

/// The version, and what exactly was built: the commit, if it is known, and for which system.
const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), " (", env!("QLIO_BUILD"), ")");

/// Turn many HTTP APIs into one call.
#[derive(Debug, Parser)]
#[command(name = "qlio", version = VERSION, about, long_about = None)]
#[command(after_help = "Without a command it serves: `qlio -p 3000` is `qlio serve -p 3000`.")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Serve routes and ad-hoc scripts over HTTP.
    Serve(serve::ServeArgs),
    /// End servers at once, whatever they do.
    Stop(stop::StopArgs),
    /// Have servers answer what they have been asked, and end.
    Shutdown(stop::StopArgs),
    /// Have a server with `--supervise` go on with the executable that is now where its own was.
    Upgrade(stop::StopArgs),
    /// Make a small app to begin with: a table, a route, tests, settings.
    Init(init::InitArgs),
    /// Run one script and print its value.
    Run(run::RunArgs),
    /// Run scripts at a prompt, or those that stdin holds.
    Shell(shell::ShellArgs),
    /// Load tables and routes and report every problem.
    Check(check::CheckArgs),
    /// Show how a script will be executed.
    Plan(plan::PlanArgs),
    /// Print scripts the canonical way.
    Fmt(format::FormatArgs),
    /// Answer an editor, in the messages of the Language Server Protocol on stdin and stdout.
    Lsp(lsp::LspArgs),
    /// Be the upstream APIs: canned answers, a misbehaving proxy, a recording.
    Mock(mock::MockArgs),
    /// Run tests of scripts and routes against mocks.
    Test(test::TestArgs),
    /// Print the page of a diagnostic code.
    Explain(explain::ExplainArgs),
    /// Print settings: those that hold, a JSON schema, the reference.
    Config(config::ConfigArgs),
    /// Print the functions of expressions as Markdown, which is `docs/language/reference/functions.md`.
    Functions,
    /// Measure: load on servers, scaling, formats.
    Bench(bench::BenchArgs),
    /// Print a script with which a shell completes commands and options.
    Completions(manual::CompletionsArgs),
    /// Print a page of the manual, for `man`.
    Man(manual::ManArgs),
}

/// How a command ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Exit {
    Success,
    /// A script, route or catalog has errors, the result could not be printed, or an option is unknown.
    Failed,
    /// Other wrong usage, or files and settings that cannot be used.
    Usage,
    /// A port that somebody else listens on.
    PortTaken,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(match exit {
            Exit::Success => 0,
            Exit::Failed => 1,
            Exit::Usage => 2,
            Exit::PortTaken => 255,
        })
    }
}

/// Why a command does not do what it is for, and how it ends.
struct Failure {
    error: anyhow::Error,
    exit: Exit,
}

impl Failure {
    /// What was given has errors, or what was begun has not succeeded: [`Exit::Failed`].
    fn failed(error: anyhow::Error) -> Self {
        Self { error, exit: Exit::Failed }
    }
}

impl From<anyhow::Error> for Failure {
    /// What most failures are: [`Exit::Usage`].
    fn from(error: anyhow::Error) -> Self {
        Self { error, exit: Exit::Usage }
    }
}

impl From<io::Error> for Failure {
    /// The system refuses what a command begins with, such as a thread or a listener.
    fn from(error: io::Error) -> Self {
        // Start scripts tell a taken port by this code.
        let is_taken = error.kind() == io::ErrorKind::AddrInUse;
        let exit = if is_taken { Exit::PortTaken } else { Exit::Usage };
        Self { error: anyhow::Error::from(error).context("cannot start"), exit }
    }
}

/// The command line with `serve` where it names no command (SRV-56).
fn with_command(mut arguments: Vec<OsString>) -> Vec<OsString> {
    let is_about_us = |first: &OsString| {
        first.to_str().is_some_and(|first| {
            !first.starts_with('-') || matches!(first, "-h" | "--help" | "-V" | "--version")
        })
    };
    if !arguments.is_empty() && !arguments.get(1).is_some_and(is_about_us) {
        arguments.insert(1, "serve".into());
    }
    arguments
}

/// Runs the command line of this process.
pub fn main() -> ExitCode {
    let cli = match Cli::try_parse_from(with_command(std::env::args_os().collect())) {
        Ok(cli) => cli,
        Err(error) => {
            let _ = error.print();
            return match error.kind() {
                ErrorKind::UnknownArgument | ErrorKind::InvalidSubcommand => Exit::Failed,
                _ if error.use_stderr() => Exit::Usage,
                // Help and version, which were asked for.
                _ => Exit::Success,
            }
            .into();
        }
    };
    let ended = match cli.command {
        Command::Serve(args) => serve::serve(&args),
        Command::Stop(args) => stop::stop(&args),
        Command::Shutdown(args) => stop::shutdown(&args),
        Command::Upgrade(args) => stop::upgrade(&args),
        Command::Init(args) => init::init(&args),
        Command::Run(args) => run::run(&args),
        Command::Shell(args) => shell::shell(&args),
        Command::Check(args) => check::check(&args),
        Command::Plan(args) => plan::plan(&args),
        Command::Fmt(args) => format::format(&args),
        Command::Lsp(args) => lsp::lsp(&args),
        Command::Mock(args) => mock::mock(&args),
        Command::Test(args) => test::test(&args),
        Command::Explain(args) => explain::explain(&args),
        Command::Config(args) => config::config(&args),
        Command::Functions => {
            report::raw(&qlio_data::compute::function::reference());
            Ok(Exit::Success)
        }
        Command::Bench(args) => bench::bench(&args),
        Command::Completions(args) => manual::completions(&args),
        Command::Man(args) => manual::man(&args),
    };
    let exit = ended.unwrap_or_else(|Failure { error, exit }| {
        report::error(&format!("{error:#}"));
        exit
    });
    if exit == Exit::Success && report::is_data_lost() {
        return Exit::Failed.into();
    }
    exit.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_line_without_a_command_serves() {
        let completed = |line: &str| {
            let arguments = line.split(' ').map(OsString::from).collect();
            let completed = with_command(arguments).into_iter().map(OsString::into_string);
            completed.collect::<Result<Vec<_>, _>>().expect("UTF-8").join(" ")
        };
        assert_eq!(completed("qlio"), "qlio serve");
        assert_eq!(completed("qlio -p 0 --tables t"), "qlio serve -p 0 --tables t");
        for complete in ["qlio --help", "qlio -V", "qlio run -", "qlio nonsense", "qlio serve -p 0"]
        {
            assert_eq!(completed(complete), complete);
        }
    }

    #[test]
    fn serve_takes_several_ports_and_the_switches_of_start_scripts() {
        let parse = |line: &str| Cli::try_parse_from(line.split(' '));
        let Ok(Cli { command: Command::Serve(_) }) =
            parse("qlio serve -C -n 2 -p 3000,3001 -p 3002 -e -q -t t -r r -c c -a /up")
        else {
            panic!("all of these are known");
        };
        assert!(parse("qlio serve -p 3000,").is_err());
        assert!(parse("qlio serve -p 70000").is_err());
    }
}
