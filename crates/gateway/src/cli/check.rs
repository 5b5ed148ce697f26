//! `qlio check`: load everything, report every problem.

use std::path::PathBuf;

use clap::Args;

use super::{Exit, report};
use crate::{
    config,
    load::{self, CatalogFolders},
};

#[derive(Debug, Args)]
pub(super) struct CheckArgs {
    /// Folders with `tables` and `routes` in them, or any files and folders of scripts.
    #[arg(value_name = "PATH", required = true)]
    paths: Vec<PathBuf>,
    /// Settings file (JSON).
    #[arg(long, short = 'c', value_name = "FILE")]
    config: Option<PathBuf>,
    /// Warnings count as errors.
    #[arg(long)]
    strict: bool,
}

pub(super) fn check(args: &CheckArgs) -> Exit {
    let (config, problems) = config::read(args.config.as_deref());
    let (mut errors, mut warnings) = report::config(&problems);
    let (mut tables, mut routes) = (0, 0);
    let mut loose = Vec::new();
    let mut loaded = Vec::new();
    for path in &args.paths {
        let folders = app_folders(path);
        match folders {
            Some(folders) => loaded.push(load::load(&folders, &config)),
            None => loose.push(path.clone()),
        }
    }
    if !loose.is_empty() {
        loaded.push(load::load_paths(&loose, &config));
    }
    for loaded in &loaded {
        let counts = report::catalog(&loaded.problems);
        errors += counts.0;
        warnings += counts.1;
        tables += loaded.catalog.tables().len();
        routes += loaded.matcher.len();
    }
    let counts = [(tables, "table"), (routes, "route"), (errors, "error"), (warnings, "warning")];
    report::note(&counts.map(|(count, noun)| report::counted(count, noun)).join(", "));
    if errors > 0 || (args.strict && warnings > 0) { Exit::Failed } else { Exit::Success }
}

/// A folder laid out as an app: `tables` and `routes` side by side.
fn app_folders(path: &std::path::Path) -> Option<CatalogFolders> {
    let existing = |name: &str| Some(path.join(name)).filter(|folder| folder.is_dir());
    let folders = CatalogFolders {
        root: path.to_owned(),
        tables: existing("tables"),
        routes: existing("routes"),
        tests: None,
    };
    (folders.tables.is_some() || folders.routes.is_some()).then_some(folders)
}
