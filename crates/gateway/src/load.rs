//! Reading catalog files into a catalog. The only module that reads tables, routes and what lies
//! beside them; scripts and data files are read by [`sources`].

mod fingerprint;
mod remote;
mod sources;
mod transformers;

use std::{
    collections::HashSet,
    ffi::OsStr,
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use qlio_engine::{ConnectorProblem, ScriptProblem};
use qlio_plan::{
    Catalog,
    catalog::{
        CatalogBuilder, Connectors, FileDiagnostics, Route, SourceFolder, Table, Unreadable,
    },
};
use qlio_syntax::{
    ast,
    diagnostic::{Diagnostic, Severity, codes},
    source::Span,
};
use walkdir::{DirEntry, WalkDir};

pub use fingerprint::FileDigest;
pub use sources::{FilesBeside, read_tree};
use transformers::NamedTransformers;

use crate::{
    config::Config,
    routes::{Matcher, Method, RouteFault, RouteFaultKind, RouteSpec},
};

/// Largest script, template or module file, in bytes.
const FILE_BYTES_MAX: u64 = 16 << 20;

/// Folders nested deeper than this are not searched.
const FOLDER_DEPTH_MAX: usize = 64;

/// Where the files of a catalog lie.
#[derive(Debug, Clone, Default)]
pub struct CatalogFolders {
    /// The app's own folder; empty for the current one. Modules of scripts are searched in it first.
    pub root: PathBuf,
    /// Table files.
    pub tables: Option<PathBuf>,
    /// Route files.
    pub routes: Option<PathBuf>,
    /// Custom connectors.
    pub connectors: Option<PathBuf>,
    /// The file that names transformers of tables.
    pub transformers: Option<PathBuf>,
    /// Tests, whose modules scripts may use as well.
    pub tests: Option<PathBuf>,
}

/// A loaded catalog: what serves requests, and what was wrong with its files.
pub struct Loaded {
    /// Tables and routes.
    pub catalog: Catalog,
    /// The routes by path; ids are positions in [`Catalog::routes`].
    pub matcher: Matcher<usize>,
    /// Everything found, by file.
    pub problems: Vec<FileDiagnostics>,
    /// Tells this catalog from any other: made of all texts that it was made of, and of nothing else.
    pub fingerprint: String,
    /// The files that it was made of, for telling which of them have changed.
    pub files: Vec<FileDigest>,
    /// Where those lie that are no scripts of ours.
    pub beside: Vec<PathBuf>,
    /// The number of script files that were asked for and found.
    pub scripts: usize,
    /// Tables that are only at hand for the files that were asked for.
    at_hand: usize,
}

impl Loaded {
    /// The number of tables that were asked for.
    pub fn own_tables(&self) -> usize {
        self.catalog.tables().len() - self.at_hand
    }
}

/// The texts of the table and route files of an app.
pub struct AppTexts {
    tables: Vec<ScriptText>,
    routes: Vec<ScriptText>,
}

impl AppTexts {
    /// Reads all files.
    pub fn read(folders: &CatalogFolders) -> Self {
        let read = |folder: &Option<PathBuf>| -> Vec<ScriptText> {
            folder.iter().flat_map(|folder| scripts_below(folder)).collect()
        };
        Self { tables: read(&folders.tables), routes: read(&folders.routes) }
    }

    /// Puts a text in the place of what a file holds, if it is one of these.
    pub fn replace(&mut self, file: &str, text: &str) {
        let files = self.tables.iter_mut().chain(&mut self.routes);
        for (_, held) in files.filter(|(path, _)| path == file) {
            *held = Ok(text.to_owned());
        }
    }

    /// Has a route file hold a text, whether it is there or not.
    pub fn put_route(&mut self, file: &str, text: &str) {
        if let Some((_, held)) = self.routes.iter_mut().find(|(path, _)| path == file) {
            *held = Ok(text.to_owned());
            return;
        }
        let at = self.routes.partition_point(|(path, _)| Path::new(path) < Path::new(file));
        self.routes.insert(at, (file.to_owned(), Ok(text.to_owned())));
    }

    /// The files that can be read, with their texts.
    pub fn files(&self) -> impl Iterator<Item = (&str, &str)> {
        let files = self.tables.iter().chain(&self.routes);
        files.filter_map(|(file, text)| Some((file.as_str(), text.as_deref().ok()?)))
    }
}

/// Loads all tables, then all routes. A bad file never keeps the rest from loading.
pub fn load(folders: &CatalogFolders, config: &Config) -> Loaded {
    load_texts(folders, config, &AppTexts::read(folders))
}

/// Loads the tables and routes of these texts; other files are read from the folders.
pub fn load_texts(folders: &CatalogFolders, config: &Config, app: &AppTexts) -> Loaded {
    let AppTexts { tables, routes } = app;
    let texts: Vec<_> = routes.iter().filter_map(|(_, text)| text.as_deref().ok()).collect();
    let resources = FilesBeside::of_app(folders, &texts);
    let (connectors, connector_files, connector_problems) = connectors(folders, config);
    let transformers = NamedTransformers::read(folders);
    let mut builder = CatalogBuilder::new(config.values.clone(), &resources)
        .with_secrets(config.secrets.clone())
        .with_connectors(connectors)
        .with_transformers(transformers.modules.clone());
    let scripts = routes.len() + tables.len();
    if let Some(folder) = &folders.tables {
        if let Some(gap) = resources.gap() {
            let gap = Diagnostic::warning(codes::UNREADABLE_FILE, Span::default(), gap);
            builder.add_problem(&folder.display().to_string(), gap);
        }
        each_script(tables, &mut builder, CatalogBuilder::add_table_file);
    }
    each_script(routes, &mut builder, CatalogBuilder::add_route_file);
    let beside = resources.files().chain(connector_files.files()).chain(transformers.files());
    let (fingerprint, files) = fingerprint::of(folders, tables.iter().chain(routes), beside);
    let beside = resources.places();
    let mut loaded = finish(builder, config);
    let named = transformers.problems(&loaded.catalog);
    loaded.problems.splice(0..0, connector_problems.into_iter().chain(named));
    Loaded { fingerprint, files, beside, scripts, ..loaded }
}

fn finish(builder: CatalogBuilder<'_>, config: &Config) -> Loaded {
    let (catalog, mut problems) = builder.finish();
    let scripts = qlio_engine::check_scripts(&catalog, config.settings.hooks);
    problems.extend(scripts.into_iter().map(script_problem));
    let specs = catalog.routes().iter().enumerate().filter_map(|(id, route)| {
        let spec = route.plan.route.as_ref()?;
        Some(RouteSpec {
            id,
            path: spec.path.clone(),
            // The grammar knows no other methods.
            method: Method::from_name(&spec.method)?,
            has_optional_params: spec.has_optional_params,
            defaults: spec
                .defaults
                .iter()
                .map(|(name, value)| (name.to_string(), value.clone()))
                .collect(),
        })
    });
    let (matcher, faults) = Matcher::compile(specs);
    for fault in &faults {
        let route = &catalog.routes()[fault.index];
        problems.push(FileDiagnostics {
            file: Arc::clone(&route.file),
            text: Arc::clone(&route.plan.text),
            diagnostics: vec![route_fault(route, fault)],
        });
    }
    Loaded {
        catalog,
        matcher,
        problems,
        fingerprint: String::new(),
        files: Vec::new(),
        beside: Vec::new(),
        scripts: 0,
        at_hand: 0,
    }
}

/// The text of a script, and a place in it. Without the text the place is not shown; the message says enough.
fn place_in(file: &Path, line: Option<u32>, column: Option<u32>) -> (String, Span) {
    let text = read_text(file).unwrap_or_default();
    let column = column.map(|column| column as usize);
    let span = line.map_or(Span::default(), |line| span_at(&text, line as usize, column));
    (text, span)
}

/// The custom connectors of an app, the files that they are made of, and what is wrong with them, each in its
/// own file.
fn connectors(
    folders: &CatalogFolders,
    config: &Config,
) -> (Connectors, Arc<SourceFolder>, Vec<FileDiagnostics>) {
    let Some(folder) = &folders.connectors else { return Default::default() };
    let files = read_tree(folder);
    let (mut connectors, found) = qlio_engine::load_connectors(&files, config.settings.hooks);
    let mut problems = Vec::new();
    let of_folder = |problem| FileDiagnostics {
        file: folder.display().to_string().into(),
        text: Arc::from(""),
        diagnostics: vec![problem],
    };
    if let Err(error) = fs::read_dir(folder) {
        problems.push(of_folder(unreadable(&Unreadable::System(error.to_string()))));
    }
    if let Some(gap) = files.gap() {
        problems.push(of_folder(Diagnostic::warning(codes::UNREADABLE_FILE, Span::default(), gap)));
    }
    problems.extend(found.into_iter().map(connector_problem));
    let (remote, found) = remote::remote_connectors(&files, config);
    for connector in remote {
        if connectors.iter().any(|known| known.name == connector.name) {
            let message = format!(
                "connector `{}` is both a script and a server of its own; the second is used",
                connector.name
            );
            problems.push(of_folder(Diagnostic::warning(
                codes::BAD_CONNECTOR,
                Span::default(),
                message,
            )));
        }
        connectors.push(connector);
    }
    problems.extend(found);
    (Connectors::new(connectors), files, problems)
}

fn connector_problem(problem: ConnectorProblem) -> FileDiagnostics {
    let ConnectorProblem { severity, message, file, line, column } = problem;
    let (text, span) = place_in(&file, line, column);
    let diagnostic = match severity {
        Severity::Error => {
            let message = format!("the connector failed to load: {message}");
            Diagnostic::error(codes::BAD_CONNECTOR, span, message)
        }
        Severity::Warning => Diagnostic::warning(codes::BAD_CONNECTOR, span, message),
    };
    FileDiagnostics {
        file: file.display().to_string().into(),
        text: text.into(),
        diagnostics: vec![diagnostic],
    }
}

/// A problem of a patch or body template, shown in its own file.
fn script_problem(problem: ScriptProblem) -> FileDiagnostics {
    let (text, span) = place_in(&problem.file, problem.line, problem.column);
    let ScriptProblem { table, message, .. } = problem;
    let diagnostic = match problem.severity {
        Severity::Error => {
            let message = format!("table `{table}` failed to load: {message}");
            Diagnostic::error(problem.code, span, message)
        }
        Severity::Warning => {
            Diagnostic::warning(problem.code, span, format!("table `{table}`: {message}"))
        }
    };
    FileDiagnostics {
        file: problem.file.display().to_string().into(),
        text: text.into(),
        diagnostics: vec![diagnostic],
    }
}

/// The rest of a line from a column on, both counted from 1; without a column the whole line.
pub(crate) fn span_at(text: &str, line: usize, column: Option<usize>) -> Span {
    let mut start = 0;
    for (index, content) in text.split_inclusive('\n').enumerate() {
        if index + 1 == line {
            let content = content.trim_end();
            let skipped = content.char_indices().nth(column.unwrap_or(1).saturating_sub(1));
            let from = skipped.map_or(content.len(), |(offset, _)| offset);
            return Span::new((start + from) as u32, (start + content.len()) as u32);
        }
        start += content.len();
    }
    Span::default()
}

/// A fault of a route template as a diagnostic at its place in the file.
fn route_fault(route: &Route, fault: &RouteFault) -> Diagnostic {
    let quoted = route.plan.route.as_ref().map(|spec| spec.path_span).unwrap_or_default();
    // The template begins behind the opening quote.
    let start = (quoted.start + 1 + fault.offset as u32).min(quoted.end);
    let span = Span::new(start, quoted.end.saturating_sub(1).max(start));
    let message = fault.message.clone();
    match fault.kind {
        RouteFaultKind::Suspicious => Diagnostic::warning(codes::BAD_ROUTE_TEMPLATE, span, message),
        RouteFaultKind::Malformed => Diagnostic::error(codes::BAD_ROUTE_TEMPLATE, span, message),
        RouteFaultKind::Duplicate => Diagnostic::error(codes::DUPLICATE_ROUTE, span, message),
    }
}

/// Loads loose files and folders, each file as what it is: with a `return` a route, else tables. The
/// tables of the app are at hand for them; what is wrong with those is not told here.
pub fn load_paths(paths: &[PathBuf], app: &CatalogFolders, config: &Config) -> Loaded {
    let root = paths
        .first()
        .map(|path| if path.is_dir() { path.clone() } else { parent(path) })
        .unwrap_or_default();
    let found: Vec<_> = paths.iter().flat_map(|path| scripts_below(path)).collect();
    let texts = || found.iter().filter_map(|(file, text)| Some((&**file, text.as_deref().ok()?)));
    let is_below = |folder: &&PathBuf| match (root.canonicalize(), folder.canonicalize()) {
        (Ok(root), Ok(folder)) => root.starts_with(folder),
        _ => false,
    };
    let resources = match (app.tables.as_ref().filter(is_below), paths.first()) {
        // Files of the app's tables lie anywhere in their folder.
        (Some(tables), _) => FilesBeside::of_folder(tables),
        (None, Some(folder)) if folder.is_dir() => FilesBeside::of_folder(&root),
        _ => FilesBeside::of_files(&root, texts()),
    };
    let (connectors, _, _) = connectors(app, config);
    let mut builder = CatalogBuilder::new(config.values.clone(), &resources)
        .with_secrets(config.secrets.clone())
        .with_connectors(connectors)
        .with_transformers(NamedTransformers::read(app).modules);
    let mut scripts = Vec::new();
    each_script(&found, &mut builder, |_, file, text| {
        scripts.push((file.to_owned(), text.to_owned()));
    });
    let is_route = |text: &str| qlio_syntax::parse(text).script.result.is_some();
    let (routes, tables): (Vec<_>, Vec<_>) =
        scripts.into_iter().partition(|(_, text)| is_route(text));
    for (file, text) in &tables {
        builder.add_table_file(file, text);
    }
    // One file may be named in two ways.
    let own: HashSet<PathBuf> =
        tables.iter().filter_map(|(file, _)| fs::canonicalize(file).ok()).collect();
    let names: HashSet<String> = tables.iter().flat_map(|(_, text)| created_names(text)).collect();
    let is_own = |(file, text): &ScriptText| {
        let is_same_file = fs::canonicalize(file).is_ok_and(|file| own.contains(&file));
        let text = text.as_deref().unwrap_or_default();
        is_same_file || created_names(text).iter().any(|name| names.contains(name))
    };
    let at_hand: Vec<_> = app.tables.iter().flat_map(|tables| scripts_below(tables)).collect();
    let at_hand: Vec<_> = at_hand.into_iter().filter(|script| !is_own(script)).collect();
    each_script(&at_hand, &mut builder, CatalogBuilder::add_table_file);
    for (file, text) in routes {
        builder.add_route_file(&file, &text);
    }
    let mut loaded = finish(builder, config);
    loaded.problems.retain(|problem| !at_hand.iter().any(|(file, _)| **file == *problem.file));
    let is_at_hand = |table: &Table| at_hand.iter().any(|(file, _)| **file == *table.file);
    loaded.scripts = found.len();
    loaded.at_hand = loaded.catalog.tables().iter().filter(|table| is_at_hand(table)).count();
    loaded
}

/// The names of the tables that a file declares.
fn created_names(text: &str) -> Vec<String> {
    let script = qlio_syntax::parse(text).script;
    let creates = script.items.iter().filter_map(|item| match item {
        ast::Item::Statement(statement) => match statement.alternatives.first() {
            Some(ast::Primary::Create(create)) => Some(create.name.text.clone()),
            _ => None,
        },
        _ => None,
    });
    creates.collect()
}

/// A script's file, and its text or why it cannot be read.
type ScriptText = (String, Result<String, Unreadable>);

/// Whether a name below a folder begins with a dot: what version control, editors and mounted volumes keep there is no
/// part of an app.
pub(crate) fn is_hidden(entry: &DirEntry) -> bool {
    entry.depth() > 0 && entry.file_name().as_encoded_bytes().starts_with(b".")
}

/// Every `.ql` file below a folder, or the file itself, names in byte order. Links are followed, hidden names are not.
fn scripts_below(path: &Path) -> Vec<ScriptText> {
    let walk = WalkDir::new(path)
        .follow_links(true)
        .max_depth(FOLDER_DEPTH_MAX)
        .sort_by(|a, b| a.file_name().cmp(b.file_name()));
    let walk = walk.into_iter().filter_entry(|entry| !is_hidden(entry));
    let scripts = walk.filter_map(|entry| match entry {
        Ok(entry) => {
            let is_script = entry.path().extension() == Some(OsStr::new("ql"));
            (entry.file_type().is_file() && is_script)
                .then(|| (entry.path().display().to_string(), read_text(entry.path())))
        }
        Err(error) => {
            let file = error.path().unwrap_or(path).display().to_string();
            let reason = error.io_error().map_or_else(|| error.to_string(), ToString::to_string);
            Some((file, Err(Unreadable::System(reason))))
        }
    });
    scripts.collect()
}

/// Hands scripts to the catalog; what cannot be read is reported and skipped.
fn each_script<'a>(
    scripts: &[ScriptText],
    builder: &mut CatalogBuilder<'a>,
    mut visit: impl FnMut(&mut CatalogBuilder<'a>, &str, &str),
) {
    for (file, text) in scripts {
        match text {
            Ok(text) => visit(builder, file, text),
            Err(reason) => builder.add_problem(file, unreadable(reason)),
        }
    }
}

fn unreadable(reason: &Unreadable) -> Diagnostic {
    Diagnostic::error(codes::UNREADABLE_FILE, Span::default(), format!("cannot read: {reason}"))
}

fn read_text(path: &Path) -> Result<String, Unreadable> {
    Ok(String::from_utf8(read_bytes(path)?).map_err(|error| error.utf8_error())?)
}

fn read_bytes(path: &Path) -> Result<Vec<u8>, Unreadable> {
    if fs::metadata(path)?.len() > FILE_BYTES_MAX {
        return Err(Unreadable::TooLong { bytes_max: FILE_BYTES_MAX });
    }
    Ok(fs::read(path)?)
}

fn parent(path: &Path) -> PathBuf {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder.to_owned(),
        _ => PathBuf::from("."),
    }
}

#[cfg(test)]
mod tests {
    use qlio_syntax::source::LineIndex;

    use super::*;

    #[test]
    fn only_script_files_are_loaded_in_byte_order() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["b.ql", "a.ql", "c.ql.bak", "d.js"] {
            let table = name.split('.').next().unwrap();
            let text = format!("create table {table} on select get from 'http://h.test/'");
            fs::write(folder.path().join(name), text).unwrap();
        }
        let folders =
            CatalogFolders { tables: Some(folder.path().to_owned()), ..CatalogFolders::default() };
        let Loaded { catalog, problems, .. } = load(&folders, &Config::default());
        assert!(problems.is_empty(), "{problems:?}");
        let names: Vec<_> = catalog.tables().iter().map(|table| table.name.to_string()).collect();
        assert_eq!(names, ["a", "b"]);
    }

    /// A folder as the kubelet mounts a `ConfigMap`: each file a link through `..data`, and all of it a second time behind
    /// names that begin with dots.
    #[test]
    fn a_mounted_config_map_has_each_file_once() {
        use std::os::unix::fs::symlink;
        let folder = tempfile::tempdir().unwrap();
        let stamped = folder.path().join("..2026_11_25");
        fs::create_dir(&stamped).unwrap();
        symlink("..2026_11_25", folder.path().join("..data")).unwrap();
        for (name, text) in [
            ("a.ql", "create table a on select get from 'http://h.test/' using patch 'p.js'"),
            ("p.js", "exports['patch uri'] = require('./lib.js').uri;"),
            ("lib.js", "exports.uri = function (args) { return args.uri; };"),
        ] {
            fs::write(stamped.join(name), text).unwrap();
            symlink(format!("..data/{name}"), folder.path().join(name)).unwrap();
        }
        let folders =
            CatalogFolders { tables: Some(folder.path().to_owned()), ..CatalogFolders::default() };
        let Loaded { catalog, problems, files, .. } = load(&folders, &Config::default());
        assert!(problems.is_empty(), "{problems:?}");
        let names: HashSet<_> = files.into_iter().map(|file| file.file).collect();
        assert_eq!((catalog.tables().len(), names.len()), (1, 3), "{names:?}");
    }

    #[test]
    fn a_bad_file_and_a_missing_folder_are_reported_and_the_rest_loads() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("a.ql"), "create tabel a").unwrap();
        fs::write(folder.path().join("b.ql"), "create table b on select get from 'http://h.test/'")
            .unwrap();
        let routes = Some(folder.path().join("nowhere"));
        let folders = CatalogFolders {
            tables: Some(folder.path().to_owned()),
            routes,
            ..CatalogFolders::default()
        };
        let Loaded { catalog, problems, .. } = load(&folders, &Config::default());
        assert!(catalog.table("b").is_some());
        let found: Vec<_> = problems.iter().flat_map(|file| &file.diagnostics).collect();
        let found: Vec<_> = found.iter().map(|problem| problem.code).collect();
        assert_eq!(found, [codes::UNEXPECTED_TOKEN, codes::UNREADABLE_FILE], "{problems:?}");
    }

    #[test]
    fn broken_scripts_and_templates_are_reported_in_their_own_file() {
        let folder = tempfile::tempdir().unwrap();
        let files = [
            ("a.ql", "create table a on select get from 'http://h.test/' using patch 'a.js'"),
            (
                "a.js",
                "exports['patch uri'] = function (args) {\n  return args.uri;\n};\nfunction (",
            ),
            ("b.ql", "create table b on select get from 'http://h.test/' using patch 'b.js'"),
            ("b.js", "var lib = require('./lib');\nexports['patch url'] = lib.hook;"),
            ("lib.js", "exports.hook = function () {};\n"),
            (
                "c.ql",
                "create table c on insert post to 'http://h.test/'\n\
                 using bodyTemplate 'c.mu' type 'text/plain'",
            ),
            ("c.mu", "one\n{{#params.x}}"),
            (
                "d.ql",
                "create table d on insert post to 'http://h.test/' using bodyTemplate 'd.ejs' type 'text/plain'",
            ),
            ("d.ejs", "<% if ( %>"),
            ("e.ql", "create table e on select get from 'http://h.test/' using patch 'e.js'"),
            ("e.js", "require('./deep');"),
            ("deep.js", "\n\nthrow new Error('no luck');"),
            (
                "f.ql",
                "create table f on insert post to 'http://h.test/'\n\
                 using bodyTemplate 'f.txt' type 'application/x-www-form-urlencoded'",
            ),
            ("f.txt", "a={a}&b={b"),
        ];
        for (name, text) in files {
            fs::write(folder.path().join(name), text).unwrap();
        }
        let folders =
            CatalogFolders { tables: Some(folder.path().to_owned()), ..CatalogFolders::default() };
        let Loaded { catalog, problems, .. } = load(&folders, &Config::default());
        assert_eq!(catalog.tables().len(), 6);
        let shown: Vec<String> = problems
            .iter()
            .flat_map(|file| file.diagnostics.iter().map(move |problem| (file, problem)))
            .map(|(file, problem)| {
                let line = LineIndex::new(&file.text).line(problem.primary.span.start);
                let name = Path::new(&*file.file).file_name().unwrap().to_string_lossy();
                format!("{name}:{line} {} {}", problem.code.slug, problem.message)
            })
            .collect();
        let begins = [
            "a.js:4 bad-patch table `a` failed to load: ",
            "b.js:1 bad-patch table `b`: the export `patch url`",
            "c.mu:2 bad-body-template table `c`: section `params.x` is not closed",
            "deep.js:3 bad-patch table `e` failed to load: no luck",
            "f.txt:1 bad-body-template table `f` failed to load: ",
        ];
        assert_eq!(shown.len(), begins.len(), "{shown:#?}");
        for (shown, begin) in shown.iter().zip(begins) {
            assert!(shown.starts_with(begin), "{shown}");
        }
    }
}
