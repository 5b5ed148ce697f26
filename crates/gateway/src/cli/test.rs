//! `qlio test`: the tests of a directory.

use std::{
    path::PathBuf,
    time::{Duration, Instant},
};

use clap::{Args, ValueEnum};
use regex_lite::Regex;

use super::{Exit, app::AppArgs, report};
use crate::suite::{self, App, Format, Limits, Report};

#[derive(Debug, Args)]
#[command(after_help = "\
A test is a set of files with one name:
  price.ql                          the script to run
  price.3026.200.application.json   what a mock on port 3026 answers
  price.expect.json                 the result that must come out
  price.assert                      what must hold, such as `$.body.amount == 12`
  all.routes.csv                    tests of routes: name,request,type,header1
See docs/guide/testing.md for the others.")]
pub(super) struct TestArgs {
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

pub(super) fn test(args: &TestArgs) -> Exit {
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            report::error(&format!("cannot start: {error}"));
            return Exit::Usage;
        }
    };
    let mut app = match args.app.find() {
        Ok(app) => app,
        Err(reason) => {
            report::error(&reason);
            return Exit::Usage;
        }
    };
    if let Some(tests) = &args.tests {
        app.tests.clone_from(tests);
    }
    let settings = app.tests.join("config.json");
    if !args.app.names_settings() && settings.exists() {
        app.config = Some(settings);
    }
    let mut cases = suite::collect(&app.tests).cases;
    if let Some(filter) = &args.filter {
        // Without the directory there is nothing to choose from.
        cases.retain(|case| filter.is_match(&case.name) || case.name == "initFailed");
    }
    if cases.is_empty() {
        let which = if args.filter.is_some() { "no test matches in" } else { "no tests in" };
        report::error(&format!("{which} `{}`", app.tests.display()));
        return Exit::Usage;
    }
    let suite = app.tests.display().to_string();
    let app = App::load(app);
    report::config(&app.config_problems);
    report::catalog(&app.loaded().problems);
    let format = match args.reporter {
        Reporter::Tap => Format::Tap,
        Reporter::Junit => Format::Junit,
        Reporter::Text => Format::Text,
    };
    let names: Vec<String> = cases.iter().map(|case| case.name.clone()).collect();
    let (mut told, head) = Report::begin(format, &suite, names.iter().map(String::as_str));
    report::raw(&head);
    let limits = Limits { at_once: args.jobs, patience: Duration::from_secs(args.timeout) };
    let begun = Instant::now();
    let port = (args.port != 0).then_some(args.port);
    let served = runtime.block_on(suite::run_all(cases, app, limits, port, |outcome| {
        report::raw(&told.add(outcome));
    }));
    if let Err(error) = served {
        report::error(&format!("cannot listen on port {}: {error}", args.port));
        return Exit::Usage;
    }
    report::raw(&told.end(begun.elapsed()));
    if told.is_passed() { Exit::Success } else { Exit::Failed }
}
