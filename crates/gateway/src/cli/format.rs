//! `qlio fmt`: scripts printed the canonical way.

use std::{
    ffi::OsStr,
    io::Read,
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::{Context, ensure};
use clap::Args;
use qlio_syntax::format::format_text;
use similar::TextDiff;
use walkdir::WalkDir;

use super::{Exit, Failure, app::AppArgs, report};

/// After this time a diff is made coarser, not shorter.
const DIFF_PATIENCE: Duration = Duration::from_secs(1);

#[derive(Debug, Args)]
pub(super) struct FormatArgs {
    /// Files, and folders that are searched for `.ql` files; `-` reads standard input and prints.
    /// Default: tables, routes and tests of the app.
    #[arg(value_name = "PATH")]
    paths: Vec<PathBuf>,
    #[command(flatten)]
    app: AppArgs,
    /// Change nothing; print what would change as a diff, and fail if that is anything.
    #[arg(long)]
    check: bool,
}

pub(super) fn format(args: &FormatArgs) -> Result<Exit, Failure> {
    if args.paths == [Path::new("-")] {
        return format_stdin(args.check);
    }
    let mut exit = Exit::Success;
    for path in scripts(args).map_err(Failure::failed)? {
        for entry in WalkDir::new(path).follow_links(true).sort_by_file_name() {
            match entry {
                Ok(entry)
                    if entry.file_type().is_file() && is_script(entry.path(), entry.depth()) =>
                {
                    if !format_file(entry.path(), args.check) {
                        exit = Exit::Failed;
                    }
                }
                Ok(_) => {}
                Err(error) => {
                    report::error(&error.to_string());
                    exit = Exit::Failed;
                }
            }
        }
    }
    Ok(exit)
}

/// The files and folders that are formatted.
fn scripts(args: &FormatArgs) -> anyhow::Result<Vec<PathBuf>> {
    if !args.paths.is_empty() {
        return Ok(args.paths.clone());
    }
    let app = args.app.find()?;
    let tests = Some(app.tests).filter(|tests| tests.exists());
    let paths: Vec<_> =
        [app.folders.tables, app.folders.routes, tests].into_iter().flatten().collect();
    ensure!(
        !paths.is_empty(),
        "nothing to format: no `tables`, `routes` or `tests` in the app's folder"
    );
    Ok(paths)
}

/// A file that was named outright is formatted whatever its ending.
fn is_script(path: &Path, depth: usize) -> bool {
    depth == 0 || path.extension() == Some(OsStr::new("ql"))
}

/// Formats one file; answers whether all is well.
fn format_file(path: &Path, is_check: bool) -> bool {
    let shown = path.display().to_string();
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) => {
            report::error(&format!("cannot read `{shown}`: {error}"));
            return false;
        }
    };
    let formatted = match format_text(&text) {
        Ok(formatted) => formatted,
        Err(problems) => {
            report::diagnostics(&problems, &shown, &text);
            return false;
        }
    };
    if formatted == text {
        return true;
    }
    if is_check {
        report_unformatted(&shown, &text, &formatted);
        return false;
    }
    match std::fs::write(path, formatted) {
        Ok(()) => {
            report::note(&format!("formatted {shown}"));
            true
        }
        Err(error) => {
            report::error(&format!("cannot write `{shown}`: {error}"));
            false
        }
    }
}

/// Says that a text is not formatted: on stdout a diff, which `patch -p0` takes.
fn report_unformatted(shown: &str, text: &str, formatted: &str) {
    let diff = TextDiff::configure().timeout(DIFF_PATIENCE).diff_lines(text, formatted);
    report::raw(&diff.unified_diff().header(shown, shown).to_string());
    report::error(&format!("`{shown}` is not formatted"));
}

fn format_stdin(is_check: bool) -> Result<Exit, Failure> {
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text).context("cannot read standard input")?;
    Ok(match format_text(&text) {
        Ok(formatted) if is_check && formatted != text => {
            report_unformatted("stdin", &text, &formatted);
            Exit::Failed
        }
        Ok(formatted) => {
            if !is_check {
                report::raw(&formatted);
            }
            Exit::Success
        }
        Err(problems) => {
            report::diagnostics(&problems, "stdin", &text);
            Exit::Failed
        }
    })
}
