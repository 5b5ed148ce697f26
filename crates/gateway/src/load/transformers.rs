//! The file that names transformers of tables: an object of table names and modules (FMT-38).
//!
//! In: the file of an app. Out: the modules by table, the files they are made of, and what is wrong with it. Modules
//! count from the app's own folder; whether they can be run is found with the tables that they are for.

use std::{path::Path, sync::Arc};

use qlio_data::{
    Value,
    codec::json::{self, to_string},
};
use qlio_plan::{
    Catalog,
    catalog::{
        FileDiagnostics, ModuleFolders, ScriptFile, SourceFolder, Transformers, nearest_table,
        sources::Source,
    },
};
use qlio_syntax::{
    diagnostic::{Diagnostic, codes},
    source::Span,
};

use super::{CatalogFolders, read_text, sources::read_named, unreadable};

/// Names that stand for the decoders that come with qlio.
const OWN_DECODERS: [&str; 3] = ["xml", "json", "csv"];

/// How the fingerprint calls the file, wherever it lies.
const NAMED_AS: &str = "xformers";

/// The transformers that a file names, and what is wrong with it.
#[derive(Default)]
pub(super) struct NamedTransformers {
    /// The modules that were found.
    pub(super) modules: Transformers,
    folder: Arc<SourceFolder>,
    file: String,
    text: String,
    /// The same as bytes, for the fingerprint.
    source: Option<Source>,
    problems: Vec<Diagnostic>,
}

impl NamedTransformers {
    /// Reads the file of an app, if it has one.
    pub(super) fn read(folders: &CatalogFolders) -> Self {
        let Some(file) = &folders.transformers else { return Self::default() };
        let mut named = Self { file: file.display().to_string(), ..Self::default() };
        match read_text(file) {
            Ok(text) => named.take(&folders.root, text),
            Err(reason) => named.problems.push(unreadable(&reason)),
        }
        named
    }

    fn take(&mut self, root: &Path, text: String) {
        self.source = Some(Ok(text.as_bytes().into()));
        self.text = text;
        let value = match json::parse_str(&self.text) {
            Ok(value) => value.into_tree(),
            Err(error) => {
                let at = error.offset.min(self.text.len()) as u32;
                self.blame(Span::new(at, at), format!("invalid JSON: {}", error.reason));
                return;
            }
        };
        let Value::Object(members) = &value else {
            self.blame(Span::default(), "it must be an object of table names and modules".into());
            return;
        };
        self.folder = read_named(root, &self.text);
        let folders = ModuleFolders::new(vec![Arc::clone(&self.folder)]);
        let mut modules: Vec<(String, ScriptFile)> = Vec::new();
        for (table, module) in members.iter() {
            let span = self.place_of(table);
            let Some(module) = module.as_str() else {
                let found = to_string(module);
                self.blame(span, format!("the module of `{table}` must be text, not `{found}`"));
                continue;
            };
            if OWN_DECODERS.contains(&table.as_str()) {
                let message = format!("`{table}` is a decoder that comes with qlio, and no table");
                self.blame(span, message);
                continue;
            }
            let found = folders.find(module).ok_or_else(|| folders.missing(module));
            let is_there = |file: ScriptFile| match file.folder.read(&file.path) {
                Ok(_) => Ok(file),
                Err(reason) => Err(reason.to_string()),
            };
            match found.and_then(is_there) {
                Ok(file) => modules.push((table.to_string(), file)),
                Err(reason) => {
                    let message = format!("cannot load the transformer of `{table}`: {reason}");
                    let problem = Diagnostic::error(codes::MISSING_TRANSFORMER, span, message);
                    self.problems.push(problem.hint("modules count from the folder of the app"));
                }
            }
        }
        self.modules = Transformers::new(modules);
    }

    fn blame(&mut self, span: Span, message: String) {
        self.problems.push(Diagnostic::error(codes::BAD_TRANSFORMERS, span, message));
    }

    /// Where a table is named.
    fn place_of(&self, table: &str) -> Span {
        let quoted = to_string(&Value::from(table));
        let found = self.text.find(&quoted);
        found.map_or(Span::default(), |at| Span::new(at as u32, (at + quoted.len()) as u32))
    }

    /// Everything that was read.
    pub(super) fn files(&self) -> impl Iterator<Item = (&str, &Source)> {
        let own = self.source.iter().map(|source| (NAMED_AS, source));
        own.chain(self.folder.files())
    }

    /// What is wrong with the file, tables that are not in the catalog among it.
    pub(super) fn problems(&self, catalog: &Catalog) -> Option<FileDiagnostics> {
        let known = || catalog.tables().iter().map(|table| &*table.name);
        let strangers = self.modules.tables().filter(|name| catalog.table(name).is_none());
        let strangers = strangers.map(|name| {
            let message = format!("there is no table `{name}`");
            let place = self.place_of(name);
            let problem = Diagnostic::warning(codes::BAD_TRANSFORMERS, place, message);
            match nearest_table(name, known()) {
                Some(meant) => problem.hint(format!("did you mean `{meant}`?")),
                None => problem,
            }
        });
        let mut diagnostics: Vec<_> = self.problems.iter().cloned().chain(strangers).collect();
        diagnostics.sort_by_key(|problem| problem.primary.span.start);
        (!diagnostics.is_empty()).then(|| FileDiagnostics {
            file: self.file.as_str().into(),
            text: self.text.as_str().into(),
            diagnostics,
        })
    }
}
