//! Where an app lies: its settings, tables, routes and tests, for all commands alike.
//!
//! In: a folder. Out: the paths of what is there under the usual names. Whether the files are any
//! good is for those to say who read them.

use std::path::{Path, PathBuf};

use crate::load::CatalogFolders;

/// The names of a settings file, the strongest first.
pub const SETTINGS_FILES: [&str; 2] = ["qlio.json", "config/dev.json"];

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
    /// Finds the parts of an app in a folder, under their usual names.
    pub fn at(root: &Path) -> Self {
        let existing = |name: &str| Some(root.join(name)).filter(|path| path.exists());
        Self {
            config: SETTINGS_FILES.into_iter().find_map(existing),
            folders: CatalogFolders {
                root: root.to_owned(),
                tables: existing("tables"),
                routes: existing("routes"),
                tests: None,
            },
            tests: root.join("tests"),
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
