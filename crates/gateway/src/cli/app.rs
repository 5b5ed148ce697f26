//! The app that a command works on: the current folder or `--app`, with any part of it replaced.

use std::path::PathBuf;

use anyhow::ensure;
use clap::Args;

use super::report;
use crate::{
    app_folder::{AppFolder, OLD_SETTINGS_FILE, SETTINGS_FILES},
    config::{self, CommandLine, Config, ConfigProblem},
};

/// Where the app lies.
#[derive(Debug, Clone, Default, Args)]
pub(super) struct AppArgs {
    /// Folder of the app; default the current one. In it lie `qlio.json`, `qlio.toml` or `qlio.yaml`
    /// (or `config/dev.json`), `tables`, `routes`, `connectors` and `tests`.
    #[arg(long, value_name = "DIR")]
    app: Option<PathBuf>,
    /// Folder of table files, instead of the app's `tables`.
    #[arg(long, short = 't', value_name = "DIR")]
    tables: Option<PathBuf>,
    /// Folder of route files, instead of the app's `routes`.
    #[arg(long, short = 'r', value_name = "DIR")]
    routes: Option<PathBuf>,
    /// Folder of custom connectors, instead of the app's `connectors`.
    #[arg(long, value_name = "DIR")]
    connectors: Option<PathBuf>,
    /// File that names transformers of tables, instead of the app's `config/xformers.json`.
    #[arg(long, short = 'x', value_name = "FILE")]
    xformers: Option<PathBuf>,
    /// Settings file (JSON, TOML or YAML, by its ending), instead of the app's own.
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
    pub(super) fn find_some(&self) -> anyhow::Result<AppFolder> {
        let app = self.find()?;
        ensure!(
            self.app.is_none() || !app.is_empty(),
            "there is no app in {}: none of `{}`, `{OLD_SETTINGS_FILE}`, `tables`, `routes`, `tests`",
            app.describe(),
            SETTINGS_FILES.join("`, `")
        );
        Ok(app)
    }

    /// The app.
    ///
    /// # Errors
    /// `--app` names no folder, or the app has two settings files.
    pub(super) fn find(&self) -> anyhow::Result<AppFolder> {
        let root = self.app.clone().unwrap_or_default();
        let is_there = self.app.is_none() || root.is_dir();
        ensure!(is_there, "there is no folder `{}`", root.display());
        let mut app = AppFolder::at(&root);
        app.config = match &self.config {
            Some(file) => Some(file.clone()),
            None => AppFolder::find_settings(&root)?,
        };
        let replace = |part: &mut Option<PathBuf>, given: &Option<PathBuf>| {
            if given.is_some() {
                part.clone_from(given);
            }
        };
        replace(&mut app.folders.tables, &self.tables);
        replace(&mut app.folders.routes, &self.routes);
        replace(&mut app.folders.connectors, &self.connectors);
        replace(&mut app.folders.transformers, &self.xformers);
        Ok(app)
    }
}

/// Reads the settings of an app and prints what is wrong with them.
///
/// # Errors
/// A setting that guards the server cannot be understood, so that nothing may start.
pub(super) fn read_settings(app: &AppFolder, command_line: &CommandLine) -> anyhow::Result<Config> {
    let (config, problems) = config::read(app.config.as_deref(), command_line);
    report::config(&problems);
    require_guards(&problems)?;
    Ok(config)
}

/// Makes sure that all settings which guard the server are understood.
///
/// # Errors
/// One is not.
pub(super) fn require_guards(problems: &[ConfigProblem]) -> anyhow::Result<()> {
    let count = problems.iter().filter(|problem| problem.ends_start()).count();
    ensure!(
        count == 0,
        "{} in settings that guard the server; nothing starts with them, in no mode",
        report::count(count, "error")
    );
    Ok(())
}
