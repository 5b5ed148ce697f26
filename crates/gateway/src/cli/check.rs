//! `qlio check`: load everything, report every problem.

use std::path::PathBuf;

use clap::Args;

use super::{
    Exit,
    app::{AppArgs, read_settings},
    report,
};
use crate::{config::CommandLine, load};

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
}

pub(super) fn check(args: &CheckArgs) -> Exit {
    let app = match args.app.find() {
        Ok(app) => app,
        Err(reason) => {
            report::error(&reason);
            return Exit::Usage;
        }
    };
    let (config, (config_errors, config_warnings)) = read_settings(&app, &CommandLine::default());
    let checked = if args.paths.is_empty() {
        load::load(&app.folders, &config)
    } else {
        load::load_paths(&args.paths, &app.folders, &config)
    };
    let (errors, warnings) = report::catalog(&checked.problems);
    let (errors, warnings) = (errors + config_errors, warnings + config_warnings);
    let (tables, routes) = (checked.own_tables(), checked.matcher.len());
    if checked.scripts == 0 && errors == 0 {
        let places = match args.paths.as_slice() {
            [] => "no scripts in `tables` and `routes` of the app".to_owned(),
            paths => {
                let paths = paths.iter().map(|path| format!("`{}`", path.display()));
                format!("no scripts in {}", paths.collect::<Vec<_>>().join(", "))
            }
        };
        report::error(&format!("nothing to check: {places}"));
        return Exit::Failed;
    }
    let counts = [(tables, "table"), (routes, "route"), (errors, "error"), (warnings, "warning")];
    report::note(&counts.map(|(count, noun)| report::counted(count, noun)).join(", "));
    if errors > 0 || (args.strict && warnings > 0) { Exit::Failed } else { Exit::Success }
}
