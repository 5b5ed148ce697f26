//! `qlio init`: a small app that works, to begin with.
//!
//! The files lie in the folder `init` beside this one, as they are written. What is there already is never changed.

use std::{
    fs::{self, OpenOptions},
    io::{self, Write},
    path::{Path, PathBuf},
};

use anyhow::{Context, anyhow};
use clap::Args;

use super::{Exit, Failure, report};
use crate::app_folder::{OLD_SETTINGS_FILE, SETTINGS_FILES};

/// The files of the app and what is in them.
const FILES: [(&str, &str); 11] = [
    ("README.md", include_str!("init/README.md")),
    ("qlio.toml", include_str!("init/qlio.toml")),
    ("tables/tides.ql", include_str!("init/tables/tides.ql")),
    ("routes/high-tides.ql", include_str!("init/routes/high-tides.ql")),
    ("apis/tides/north.json", include_str!("init/apis/tides/north.json")),
    ("tests/config.json", include_str!("init/tests/config.json")),
    ("tests/all.routes.csv", include_str!("init/tests/all.routes.csv")),
    (
        "tests/north.1.200.application.json@GET_tides_north",
        include_str!("init/tests/north.1.200.application.json@GET_tides_north"),
    ),
    ("tests/north.expect.json", include_str!("init/tests/north.expect.json")),
    (
        "tests/no-such-harbour.1.404.application.json",
        include_str!("init/tests/no-such-harbour.1.404.application.json"),
    ),
    ("tests/no-such-harbour.assert", include_str!("init/tests/no-such-harbour.assert")),
];

#[derive(Debug, Args)]
pub(super) struct InitArgs {
    /// Folder of the new app, which is made if need be.
    #[arg(value_name = "DIR", default_value = ".")]
    folder: PathBuf,
}

pub(super) fn init(args: &InitArgs) -> Result<Exit, Failure> {
    let taken = taken_names(&args.folder);
    if !taken.is_empty() {
        let (folder, taken) = (args.folder.display(), taken.join("`, `"));
        return Err(Failure::failed(anyhow!(
            "`{folder}` has `{taken}` already; nothing is written. `qlio init DIR` makes an app in another folder"
        )));
    }
    for (name, text) in FILES {
        let path = args.folder.join(name);
        let (shown, written) = (path.display(), write(&path, text));
        written.with_context(|| format!("cannot write `{shown}`")).map_err(Failure::failed)?;
        report::data(&shown.to_string());
    }
    report::note("an app with a table, a route and tests; its README.md says how to try it");
    Ok(Exit::Success)
}

/// What is there and would be in the way: a file of the app, or settings under another name.
fn taken_names(folder: &Path) -> Vec<&'static str> {
    let settings = SETTINGS_FILES.into_iter().chain([OLD_SETTINGS_FILE]);
    let ours = FILES.iter().map(|(name, _)| *name);
    let settings = settings.filter(|name| FILES.iter().all(|(ours, _)| ours != name));
    ours.chain(settings).filter(|name| folder.join(name).symlink_metadata().is_ok()).collect()
}

/// Writes a new file; one that has come into being meanwhile is left alone.
fn write(path: &Path, text: &str) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    OpenOptions::new().write(true).create_new(true).open(path)?.write_all(text.as_bytes())
}
