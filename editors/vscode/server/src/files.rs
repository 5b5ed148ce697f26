//! An app in memory: its files, and how they become a catalog.
//!
//! In: files by their URIs. Out: the app as `qlio check` would load it, as far as that needs neither
//! JavaScript nor connections: what hooks, custom connectors and paths of routes have wrong is known to
//! the executable only.

use std::{collections::BTreeMap, path::PathBuf, sync::Arc};

use qlio_data::{Value, codec::json};
use qlio_language::{App, AppFile, Host, path_of};
use qlio_plan::catalog::{
    CatalogBuilder, FileDiagnostics, ModuleFolders, Resources, ScriptFile, SourceFolder, Unreadable,
};
use qlio_syntax::{
    diagnostic::{Diagnostic, codes},
    source::Span,
};

/// Bytes that all files together may have.
const BYTES_MAX: usize = 64 << 20;

/// Settings files, of which there is one.
const SETTINGS: [&str; 2] = ["qlio.json", "config/dev.json"];

/// The files of an app by their paths.
#[derive(Debug, Default)]
pub(crate) struct Files {
    files: BTreeMap<String, Arc<[u8]>>,
    bytes: usize,
}

impl Files {
    /// Keeps a file; not if all files would be too large with it.
    pub(crate) fn put(&mut self, uri: &str, bytes: &[u8]) -> bool {
        let path = path_of(uri);
        let was = self.files.get(&path).map_or(0, |file| file.len());
        let bytes_with_it = self.bytes - was + bytes.len();
        if bytes_with_it > BYTES_MAX {
            return false;
        }
        self.bytes = bytes_with_it;
        self.files.insert(path, bytes.into());
        true
    }

    /// Forgets a file, or all of a folder.
    pub(crate) fn remove(&mut self, uri: &str) {
        let path = path_of(uri);
        let folder = format!("{path}/");
        let gone: Vec<_> = self
            .files
            .keys()
            .filter(|file| **file == path || file.starts_with(&folder))
            .cloned()
            .collect();
        for file in gone {
            self.bytes -= self.files.remove(&file).map_or(0, |bytes| bytes.len());
        }
    }

    fn text(&self, path: &str) -> Option<String> {
        self.files.get(path).map(|bytes| String::from_utf8_lossy(bytes).into_owned())
    }

    /// The files below a folder, by their paths from there, with `/` in front.
    fn below(&self, folder: &str) -> BTreeMap<String, Arc<[u8]>> {
        let start = format!("{folder}/");
        let files =
            self.files.range(start.clone()..).take_while(|(path, _)| path.starts_with(&start));
        files.map(|(path, bytes)| (path[folder.len()..].to_owned(), Arc::clone(bytes))).collect()
    }

    /// The scripts below a folder of the app, in the order of their paths.
    fn scripts(&self, folder: &str, open: &[AppFile]) -> Vec<AppFile> {
        let is_script = |path: &String| path.ends_with(".ql");
        let found = self.below(folder).into_iter().filter(|(path, _)| is_script(path));
        let found = found.map(|(path, bytes)| {
            let path = format!("{folder}{path}");
            let edited = open.iter().find(|open| open.path == path);
            let text = edited.map_or_else(
                || String::from_utf8_lossy(&bytes).into(),
                |edited| Arc::clone(&edited.text),
            );
            AppFile { path, text }
        });
        found.collect()
    }

    /// The settings, and what is wrong with their file.
    fn settings(&self, root: &str) -> (Value, Option<FileDiagnostics>) {
        let paths = SETTINGS.map(|name| format!("{root}/{name}"));
        let found = paths.into_iter().find_map(|path| self.text(&path).map(|text| (path, text)));
        let Some((path, text)) = found else { return (Value::Absent, None) };
        match json::parse_str(&text) {
            Ok(settings) => (settings, None),
            Err(error) => {
                let problem = Diagnostic::error(
                    codes::BAD_CONFIG,
                    Span::default(),
                    format!("the settings are no JSON: {error}"),
                );
                let file = FileDiagnostics {
                    file: path.into(),
                    text: text.into(),
                    diagnostics: vec![problem],
                };
                (Value::Absent, Some(file))
            }
        }
    }
}

impl Host for Files {
    fn load(&mut self, root: &str, open: &[AppFile]) -> App {
        let root = root.trim_end_matches('/');
        let (settings, of_settings) = self.settings(root);
        let tables_folder = format!("{root}/tables");
        let source = |(path, bytes)| (path, Ok(bytes));
        let sources = |folder: &str| {
            let files = self.below(folder).into_iter().map(source).collect();
            Arc::new(SourceFolder::new(PathBuf::from(folder), folder.to_owned(), files))
        };
        let tables_files = sources(&tables_folder);
        let modules =
            ["", "/routes", "/tests", "/tables"].map(|name| sources(&format!("{root}{name}")));
        let resources =
            Beside { root: tables_folder, folder: tables_files, modules: modules.to_vec() };
        let tables = self.scripts(&format!("{root}/tables"), open);
        let routes = self.scripts(&format!("{root}/routes"), open);
        let mut builder = CatalogBuilder::new(settings, &resources);
        for file in &tables {
            builder.add_table_file(&file.path, &file.text);
        }
        for file in &routes {
            builder.add_route_file(&file.path, &file.text);
        }
        let (catalog, mut problems) = builder.finish();
        // Who declares a custom connector has it loaded by the executable.
        if !self.below(&format!("{root}/connectors")).is_empty() {
            for file in &mut problems {
                file.diagnostics.retain(|problem| problem.code != codes::UNKNOWN_CONNECTOR);
            }
            problems.retain(|file| !file.diagnostics.is_empty());
        }
        problems.extend(of_settings);
        App { catalog, files: tables.into_iter().chain(routes).collect(), problems }
    }
}

/// The files that tables refer to.
struct Beside {
    /// The folder of the tables, which no name leads out of.
    root: String,
    folder: Arc<SourceFolder>,
    modules: Vec<Arc<SourceFolder>>,
}

impl Beside {
    /// The path of a file from the root on; a leading slash counts from the table's folder, too.
    fn find(&self, table_file: &str, name: &str) -> Result<String, Unreadable> {
        let directory = table_file.rfind('/').map_or("", |end| &table_file[..end]);
        let from_root = directory.strip_prefix(&self.root).unwrap_or_default();
        let mut parts: Vec<&str> = from_root.split('/').filter(|part| !part.is_empty()).collect();
        for part in name.split('/') {
            match part {
                "" | "." => {}
                ".." => {
                    parts.pop().ok_or(Unreadable::Outside)?;
                }
                part => parts.push(part),
            }
        }
        let path = format!("/{}", parts.join("/"));
        self.folder.read(&path).map(|_| path)
    }

    fn bytes(&self, table_file: &str, name: &str) -> Result<Arc<[u8]>, Unreadable> {
        self.folder.read(&self.find(table_file, name)?)
    }
}

impl Resources for Beside {
    fn template(&self, table_file: &str, name: &str) -> Result<String, Unreadable> {
        let bytes = self.bytes(table_file, name)?;
        Ok(str::from_utf8(&bytes)?.to_owned())
    }

    fn module(&self, table_file: &str, name: &str) -> Result<ScriptFile, Unreadable> {
        let found = self.find(table_file, name);
        let path = match found {
            Ok(path) => path,
            Err(reason) => self.find(table_file, &format!("{name}.js")).map_err(|_| reason)?,
        };
        Ok(ScriptFile { folder: Arc::clone(&self.folder), path })
    }

    fn schema(&self, table_file: &str, name: &str) -> Result<Vec<u8>, Unreadable> {
        self.bytes(table_file, name).map(|bytes| bytes.to_vec())
    }

    fn module_folders(&self) -> ModuleFolders {
        ModuleFolders::new(self.modules.clone())
    }
}
