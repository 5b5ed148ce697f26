//! The app around the open texts, as a host loads it.

use std::sync::Arc;

use qlio_plan::{Catalog, catalog::FileDiagnostics};

/// A loaded app.
#[derive(Debug, Default)]
pub struct App {
    /// Its tables, routes and settings.
    pub catalog: Catalog,
    /// The texts of all table and route files, those that cannot be used included.
    pub files: Vec<AppFile>,
    /// Everything that is wrong with its files.
    pub problems: Vec<FileDiagnostics>,
}

/// A table or route file.
#[derive(Debug, Clone)]
pub struct AppFile {
    /// Where it lies.
    pub path: String,
    /// What it holds.
    pub text: Arc<str>,
}

/// Who has the files.
pub trait Host {
    /// Loads the app in the folder `root`, with the texts of `open` instead of what the files of these
    /// paths hold. Whatever is wrong with it is a problem of the app, not a failure.
    fn load(&mut self, root: &str, open: &[AppFile]) -> App;
}
