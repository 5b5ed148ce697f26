//! The app that a command works on: the current folder or `--app`, with any part of it replaced.

use std::path::PathBuf;

use clap::Args;

use super::report;
use crate::{
    app_folder::{AppFolder, SETTINGS_FILES},
    config::{self, CommandLine, Config},
};

/// Where the app lies.
#[derive(Debug, Clone, Default, Args)]
pub(super) struct AppArgs {
    /// Folder of the app; default the current one. In it lie `qlio.json` (or `config/dev.json`),
    /// `tables`, `routes` and `tests`.
    #[arg(long, value_name = "DIR")]
    app: Option<PathBuf>,
    /// Folder of table files, instead of the app's `tables`.
    #[arg(long, short = 't', value_name = "DIR")]
    tables: Option<PathBuf>,
    /// Folder of route files, instead of the app's `routes`.
    #[arg(long, short = 'r', value_name = "DIR")]
    routes: Option<PathBuf>,
    /// Settings file (JSON), instead of the app's own.
    #[arg(long, short = 'c', value_name = "FILE")]
    config: Option<PathBuf>,
}

impl AppArgs {
    /// Whether a settings file is named.
    pub(super) fn names_settings(&self) -> bool {
        self.config.is_some()
    }

    /// The app, as [`AppArgs::find`] has it, but a folder that is named must have something of one.
    ///
    /// # Errors
    /// `--app` names no folder, or one in which there is nothing of an app.
    pub(super) fn find_some(&self) -> Result<AppFolder, String> {
        let app = self.find()?;
        if self.app.is_some() && app.is_empty() {
            let names = SETTINGS_FILES.join("`, `");
            return Err(format!(
                "there is no app in {}: none of `{names}`, `tables`, `routes`, `tests`",
                app.describe()
            ));
        }
        Ok(app)
    }

    /// The app.
    ///
    /// # Errors
    /// `--app` names no folder.
    pub(super) fn find(&self) -> Result<AppFolder, String> {
        let mut app = match &self.app {
            Some(root) if !root.is_dir() => {
                return Err(format!("there is no folder `{}`", root.display()));
            }
            Some(root) => AppFolder::at(root),
            None => AppFolder::at(&PathBuf::new()),
        };
        let replace = |part: &mut Option<PathBuf>, given: &Option<PathBuf>| {
            if given.is_some() {
                part.clone_from(given);
            }
        };
        replace(&mut app.config, &self.config);
        replace(&mut app.folders.tables, &self.tables);
        replace(&mut app.folders.routes, &self.routes);
        Ok(app)
    }
}

/// Reads the settings of an app and prints what is wrong with them; answers the numbers of errors
/// and warnings as well.
pub(super) fn read_settings(
    app: &AppFolder,
    command_line: &CommandLine,
) -> (Config, (usize, usize)) {
    let (config, problems) = config::read(app.config.as_deref(), command_line);
    let counts = report::config(&problems);
    (config, counts)
}
