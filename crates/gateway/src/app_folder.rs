//! Where an app lies: its settings, tables, routes and tests, for all commands alike.
//!
//! In: a folder. Out: the paths of what is there under the usual names. Whether the files are any
//! good is for those to say who read them.

use std::path::{Path, PathBuf};

use crate::load::CatalogFolders;

/// The names of a settings file; there may be one of them.
pub(crate) const SETTINGS_FILES: [&str; 3] = ["qlio.json", "qlio.toml", "qlio.yaml"];

/// The settings file of an app that has none of those.
pub(crate) const OLD_SETTINGS_FILE: &str = "config/dev.json";

/// The file that names transformers of tables.
const TRANSFORMERS_FILE: &str = "config/xformers.json";

/// There are two settings files where there may be one.
#[derive(Debug, thiserror::Error)]
#[error("there are two settings files, `{0}` and `{1}`; keep one, or name it with `--config`")]
pub struct TwoSettingsFiles(PathBuf, PathBuf);

/// An app.
#[derive(Debug, Clone, Default)]
pub struct AppFolder {
    /// The settings file, if there is one.
    pub config: Option<PathBuf>,
    /// Tables and routes.
    pub folders: CatalogFolders,
    /// The tests, whether there are any or not.
    pub tests: PathBuf,
}

impl AppFolder {
    /// Finds the parts of an app in a folder, under their usual names, but for the settings.
    pub fn at(root: &Path) -> Self {
        let existing = |name: &str| existing(root, name);
        Self {
            config: None,
            folders: CatalogFolders {
                root: root.to_owned(),
                tables: existing("tables"),
                routes: existing("routes"),
                connectors: existing("connectors"),
                transformers: existing(TRANSFORMERS_FILE),
                tests: None,
            },
            tests: root.join("tests"),
        }
    }

    /// Finds the settings file of the app in a folder.
    ///
    /// # Errors
    /// There are two.
    pub fn find_settings(root: &Path) -> Result<Option<PathBuf>, TwoSettingsFiles> {
        let mut found = SETTINGS_FILES.into_iter().filter_map(|name| existing(root, name));
        match (found.next(), found.next()) {
            (Some(first), Some(second)) => Err(TwoSettingsFiles(first, second)),
            (None, _) => Ok(existing(root, OLD_SETTINGS_FILE)),
            (first, None) => Ok(first),
        }
    }

    /// Whether nothing of an app is there: no settings, tables, routes or tests.
    pub fn is_empty(&self) -> bool {
        let CatalogFolders { tables, routes, .. } = &self.folders;
        self.config.is_none() && tables.is_none() && routes.is_none() && !self.tests.exists()
    }

    /// How messages call the folder.
    pub fn describe(&self) -> String {
        let root = &self.folders.root;
        if root.as_os_str().is_empty() {
            "the current folder".to_owned()
        } else {
            format!("`{}`", root.display())
        }
    }
}

fn existing(root: &Path, name: &str) -> Option<PathBuf> {
    Some(root.join(name)).filter(|path| path.exists())
}
