//! `qlio check`: load everything, report every problem.

use std::path::PathBuf;

use anyhow::anyhow;
use clap::{Args, ValueEnum};

use super::{Exit, Failure, app::AppArgs, findings, report};
use crate::{
    config::{self, CommandLine},
    load,
};

#[derive(Debug, Args)]
pub(super) struct CheckArgs {
    /// Files and folders of scripts, with the tables and settings of the app at hand; default all
    /// tables and routes of the app.
    #[arg(value_name = "PATH")]
    paths: Vec<PathBuf>,
    #[command(flatten)]
    app: AppArgs,
    /// Warnings count as errors.
    #[arg(long)]
    strict: bool,
    /// How to report.
    #[arg(long, value_enum, default_value_t = CheckFormat::Text)]
    format: CheckFormat,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum CheckFormat {
    /// Messages with their source lines, on stderr.
    Text,
    /// One JSON object, on stdout.
    Json,
    /// A log of SARIF 2.1.0, on stdout.
    Sarif,
}

pub(super) fn check(args: &CheckArgs) -> Result<Exit, Failure> {
    let app = args.app.find()?;
    let (config, problems) = config::read(app.config.as_deref(), &CommandLine::of_process(false));
    let checked = if args.paths.is_empty() {
        load::load(&app.folders, &config)
    } else {
        load::load_paths(&args.paths, &app.folders, &config)
    };
    let findings = findings::all(&problems, &checked.problems);
    let errors = findings.iter().filter(|finding| finding.is_error()).count();
    let warnings = findings.len() - errors;
    let (tables, routes) = (checked.own_tables(), checked.matcher.len());
    let counts = [(tables, "table"), (routes, "route"), (errors, "error"), (warnings, "warning")];
    match args.format {
        CheckFormat::Text => {
            report::config(&problems);
            report::catalog(&checked.problems);
        }
        CheckFormat::Json => report::data(&findings::to_json(&findings, &counts)),
        CheckFormat::Sarif => report::data(&findings::to_sarif(&findings)),
    }
    if checked.scripts == 0 && errors == 0 {
        let places = match args.paths.as_slice() {
            [] => "no scripts in `tables` and `routes` of the app".to_owned(),
            paths => {
                let paths = paths.iter().map(|path| format!("`{}`", path.display()));
                format!("no scripts in {}", paths.collect::<Vec<_>>().join(", "))
            }
        };
        return Err(Failure::failed(anyhow!("nothing to check: {places}")));
    }
    report::note(&counts.map(|(count, noun)| report::count(count, noun)).join(", "));
    let is_failed = errors > 0 || (args.strict && warnings > 0);
    Ok(if is_failed { Exit::Failed } else { Exit::Success })
}
