//! `qlio test`: the tests of a directory.

use std::{
    path::PathBuf,
    sync::Arc,
    time::{Duration, Instant},
};

use anyhow::{Context, anyhow};
use clap::{Args, ValueEnum};
use qlio_engine::transport::OldPort;
use regex_lite::Regex;

use super::{
    Exit, Failure,
    app::{AppArgs, require_guards},
    report,
    test_connector::{TestCommand, test_connector},
};
use crate::suite::{self, App, Collected, Format, Limits, Report};

/// Settings that stand beside the tests and are for them alone.
const SETTINGS_FILE: &str = "config.json";

/// So many files of no test are named; of more only their number is told.
const NAMED_FILES_MAX: usize = 5;

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
#[command(after_help = "\
A test is a set of files with one name:
  price.ql                          the script to run
  price.3026.200.application.json   what a mock on port 3026 answers
  price.expect.json                 the result that must come out
  price.assert                      what must hold, such as `$.body.amount == 12`
  all.routes.csv                    tests of routes: name,request,type,header1
See docs/guide/testing.md for the others.")]
pub(super) struct TestArgs {
    #[command(subcommand)]
    other: Option<TestCommand>,
    /// Folder of the tests, instead of the app's `tests`. A `config.json` in it takes the place of
    /// the app's settings.
    #[arg(long, value_name = "DIR")]
    tests: Option<PathBuf>,
    #[command(flatten)]
    app: AppArgs,
    /// Run only tests whose name matches this regular expression.
    #[arg(long, value_name = "RE")]
    filter: Option<Regex>,
    /// How to report.
    #[arg(long, value_enum, default_value_t = Reporter::Tap)]
    reporter: Reporter,
    /// While the tests run, answer the routes on this port, too, for scripts that call the app
    /// itself; 0 answers nowhere. Mocks named `{mock.<n>}` do not exist there.
    #[arg(long, short = 'p', value_name = "PORT", default_value_t = 0)]
    port: u16,
    /// How many tests run at the same time.
    #[arg(long, value_name = "N", default_value_t = Limits::default().at_once)]
    jobs: usize,
    /// Seconds that a test may take.
    #[arg(long, value_name = "SECONDS", default_value_t = Limits::default().patience.as_secs())]
    timeout: u64,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Reporter {
    /// Test Anything Protocol.
    Tap,
    /// XML as `JUnit` writes it.
    Junit,
    /// Text for people.
    Text,
}

impl Reporter {
    fn format(self) -> Format {
        match self {
            Self::Tap => Format::Tap,
            Self::Junit => Format::Junit,
            Self::Text => Format::Text,
        }
    }
}

pub(super) fn test(args: &TestArgs) -> Result<Exit, Failure> {
    if let Some(TestCommand::Connector(args)) = &args.other {
        return test_connector(args);
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let mut app = args.app.find()?;
    if let Some(tests) = &args.tests {
        app.tests.clone_from(tests);
    }
    let settings = app.tests.join(SETTINGS_FILE);
    if !args.app.names_settings() && settings.exists() {
        app.config = Some(settings);
    }
    let Collected { mut cases, files, mut ignored } = suite::collect(&app.tests);
    ignored.retain(|name| name != SETTINGS_FILE);
    let all = report::count(cases.len(), "test");
    if let Some(filter) = &args.filter {
        // Without the directory there is nothing to choose from.
        cases.retain(|case| filter.is_match(&case.name) || case.name == "initFailed");
    }
    let (suite, place) = (app.tests.display().to_string(), app.describe());
    let files = format!("{} in `{suite}`{}", report::count(files, "file"), list_ignored(&ignored));
    if cases.is_empty() {
        let error = match &args.filter {
            Some(filter) => {
                anyhow!("nothing to run: none of {all} from {files} matches `{filter}`")
            }
            None => anyhow!("nothing to run: no test among {files}; the app is in {place}"),
        };
        return Err(error.into());
    }
    let app = App::load(app);
    report::config(&app.config_problems);
    require_guards(&app.config_problems).map_err(Failure::failed)?;
    let loaded = app.loaded();
    report::catalog(&loaded.problems);
    let chosen = args.filter.as_ref().map_or_else(String::new, |_| format!("{} of ", cases.len()));
    report::note(&format!(
        "{chosen}{all} from {files}, with {} and {} of the app in {place}",
        report::count(loaded.own_tables(), "table"),
        report::count(loaded.catalog.routes().len(), "route"),
    ));
    let format = args.reporter.format();
    let names: Vec<String> = cases.iter().map(|case| case.name.clone()).collect();
    let (mut told, head) = Report::begin(format, &suite, names.iter().map(String::as_str));
    report::raw(&head);
    let limits = Limits { at_once: args.jobs, patience: Duration::from_secs(args.timeout) };
    let begun = Instant::now();
    let port = (args.port != 0).then_some(args.port);
    let old_ports = Arc::clone(app.old_ports());
    let mut done = 0;
    let served = runtime.block_on(suite::run_all(cases, app, limits, port, |outcome| {
        report::raw(&told.add(outcome));
        done += 1;
        report::status(&format!("{done} of {}", report::count(names.len(), "test")));
    }));
    report::clear_status();
    served.with_context(|| format!("cannot listen on port {}", args.port))?;
    tell_old_ports(&old_ports.met());
    report::raw(&told.end(begun.elapsed()));
    Ok(if told.is_passed() { Exit::Success } else { Exit::Failed })
}

/// Tells once of each port that is none which one was taken for it.
fn tell_old_ports(met: &[OldPort]) {
    for OldPort { written, port, place } in met {
        report::note(&format!(
            "warning: {place}: there is no port {written}, the last is {}; {port} was taken for it, as old versions \
             of Node did",
            u16::MAX
        ));
    }
}

/// Names the files that are of no test.
fn list_ignored(ignored: &[String]) -> String {
    let mut names: Vec<String> =
        ignored.iter().take(NAMED_FILES_MAX).map(|name| format!("`{name}`")).collect();
    if ignored.len() > NAMED_FILES_MAX {
        names.push(format!("{} more", ignored.len() - NAMED_FILES_MAX));
    }
    if names.is_empty() { String::new() } else { format!(" (of no test: {})", names.join(", ")) }
}
