//! Reads the scripts and data files that a catalog holds, all at load: nothing is read while requests
//! are answered.
//!
//! In: folders, and texts that name files in them. Out: [`SourceFolder`]s. Which files `require` asks for
//! may be known only when it runs, so everything below the folders of tables, routes and tests is read.
//! Other folders may be anything, such as a home directory: of those their own scripts are read, and
//! what a text names in quotes, and what that names, however deep.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use qlio_plan::catalog::{
    ModuleFolders, Resources, ScriptFile, SourceFolder, Unreadable,
    sources::{Source, module_candidates, normalise},
};
use walkdir::{DirEntry, WalkDir};

use super::{CatalogFolders, FOLDER_DEPTH_MAX, is_hidden, parent, read_bytes, read_text};

/// Most files of one folder.
const FILES_MAX: usize = 10_000;

/// Most bytes of all files of one folder.
const FOLDER_BYTES_MAX: u64 = 64 << 20;

/// Length of one script or data file in bytes.
const SOURCE_BYTES_MAX: u64 = 4 << 20;

/// The longest name of a file that is looked for because a text has it in quotes, in bytes.
const NAME_BYTES_MAX: usize = 256;

/// A text that names files, and the folder that the names count from, as a path below the root.
struct Mentions<'a> {
    directory: String,
    text: &'a str,
}

impl<'a> Mentions<'a> {
    /// The text of a file; one that lies elsewhere counts as if it lay in the root.
    fn of_file(root: &Path, file: &str, text: &'a str) -> Self {
        let below = canonical(root).and_then(|root| {
            let directory = parent(Path::new(file)).canonicalize().ok()?;
            normalise("/", directory.strip_prefix(&root).ok()?.to_str()?)
        });
        Self { directory: below.unwrap_or_else(|| "/".to_owned()), text }
    }
}

/// Files of one folder, as far as they have been read.
struct Reader {
    root: PathBuf,
    files: BTreeMap<String, Source>,
    bytes: u64,
    gap: Option<String>,
}

impl Reader {
    fn new(root: &Path) -> Self {
        let root = if root.as_os_str().is_empty() { Path::new(".") } else { root };
        // A folder that is not there has no files; that it is missing is told where it is named.
        let root = root.canonicalize().unwrap_or_default();
        Self { root, files: BTreeMap::new(), bytes: 0, gap: None }
    }

    /// Adds everything below the root. Scripts come first, so that data does not take their place.
    fn add_tree(&mut self, depth_max: usize, is_wanted: impl Fn(&Path) -> bool) {
        if self.root.as_os_str().is_empty() {
            return;
        }
        let root = self.root.clone();
        let walk = WalkDir::new(&root)
            .follow_links(true)
            .max_depth(depth_max)
            .sort_by_file_name()
            .into_iter()
            .filter_entry(|entry| stays_below(entry, &root));
        // What cannot be walked is told by those who look for tables and routes.
        let places = walk.filter_map(Result::ok).filter(|entry| entry.file_type().is_file());
        let places = places.map(DirEntry::into_path).filter(|place| is_wanted(place));
        let (scripts, others): (Vec<_>, Vec<_>) = places.partition(|place| is_script(place));
        for place in scripts.iter().chain(&others) {
            let below = place.strip_prefix(&root).ok().and_then(Path::to_str);
            if let Some(path) = below.and_then(|below| normalise("/", below)) {
                self.add(path, place);
            }
        }
    }

    /// Adds the files that texts name, and those that these name.
    fn add_mentioned(&mut self, texts: &[Mentions<'_>]) {
        let known: Vec<String> = self.files.keys().cloned().collect();
        let mut found: Vec<String> = texts.iter().flat_map(|text| self.mentioned(text)).collect();
        found.extend(known);
        while let Some(path) = found.pop() {
            if !is_script(Path::new(&path)) {
                continue;
            }
            let Some(Ok(bytes)) = self.files.get(&path).cloned() else { continue };
            let text = String::from_utf8_lossy(&bytes);
            let directory = path.rsplit_once('/').map_or("", |(directory, _)| directory);
            let mentions = Mentions { directory: format!("{directory}/"), text: &text };
            found.extend(self.mentioned(&mentions));
        }
    }

    /// Adds the files that a text names; answers those that are new.
    fn mentioned(&mut self, mentions: &Mentions<'_>) -> Vec<String> {
        let mut found = Vec::new();
        for name in quoted(mentions.text) {
            let Some(base) = normalise(&mentions.directory, name) else { continue };
            for path in module_candidates(&base) {
                if self.files.contains_key(&path) {
                    break;
                }
                let place = self.root.join(path.trim_start_matches('/'));
                let is_below = |real: PathBuf| real.starts_with(&self.root) && real.is_file();
                if place.canonicalize().is_ok_and(is_below) {
                    self.add(path.clone(), &place);
                    found.push(path);
                    break;
                }
            }
        }
        found
    }

    fn add(&mut self, path: String, place: &Path) {
        let size = fs::metadata(place).map_or(0, |data| data.len());
        if self.files.len() >= FILES_MAX || self.bytes + size > FOLDER_BYTES_MAX {
            self.gap.get_or_insert_with(|| {
                let mebibytes = FOLDER_BYTES_MAX >> 20;
                format!("no more than {FILES_MAX} files and {mebibytes} MiB of a folder are read")
            });
            return;
        }
        let source: Source = if size > SOURCE_BYTES_MAX {
            Err(Unreadable::TooLong { bytes_max: SOURCE_BYTES_MAX })
        } else {
            fs::read(place).map(Arc::from).map_err(Unreadable::from)
        };
        self.bytes += source.as_ref().map_or(0, |bytes| bytes.len() as u64);
        self.files.insert(path, source);
    }

    fn finish(self, shown: &Path) -> Arc<SourceFolder> {
        let shown = match shown.file_name() {
            // Where the app lies on this machine is nobody's business.
            Some(name) if shown.is_absolute() => name.to_string_lossy().into_owned(),
            _ if shown.as_os_str().is_empty() => ".".to_owned(),
            _ => shown.display().to_string(),
        };
        Arc::new(SourceFolder::new(self.root, shown, self.files).with_gap(self.gap))
    }
}

/// Reads everything below a folder but the scripts in the query language.
pub fn read_tree(root: &Path) -> Arc<SourceFolder> {
    let mut reader = Reader::new(root);
    reader.add_tree(FOLDER_DEPTH_MAX, |place| place.extension().is_none_or(|kind| kind != "ql"));
    reader.finish(root)
}

/// Reads the scripts of a folder itself, and what texts name in it.
fn read_mentioned(root: &Path, texts: &[Mentions<'_>]) -> Arc<SourceFolder> {
    let mut reader = Reader::new(root);
    reader.add_tree(1, is_script);
    reader.add_mentioned(texts);
    reader.finish(root)
}

/// Reads the scripts of a folder itself, and what a text of it names.
pub(super) fn read_named(root: &Path, text: &str) -> Arc<SourceFolder> {
    read_mentioned(root, &from_root(&[text]))
}

fn is_script(place: &Path) -> bool {
    place.extension().is_some_and(|kind| kind == "js" || kind == "json")
}

/// Links must not lead out of the folder, and hidden names are no part of an app.
fn stays_below(entry: &DirEntry, root: &Path) -> bool {
    entry.depth() == 0
        || !is_hidden(entry)
            && (!entry.path_is_symlink()
                || entry.path().canonicalize().is_ok_and(|real| real.starts_with(root)))
}

/// What stands between two equal quotation marks of a line and may be the name of a file. Also what
/// stands between two texts: no file is called so.
fn quoted(text: &str) -> impl Iterator<Item = &str> {
    let parts = text.lines().flat_map(|line| {
        ['\'', '"', '`'].into_iter().flat_map(move |mark| {
            let mut parts = line.split(mark);
            parts.next();
            let count = line.matches(mark).count().saturating_sub(1);
            parts.take(count)
        })
    });
    parts.filter(|part| {
        (1..=NAME_BYTES_MAX).contains(&part.len())
            && !part.contains("://")
            && !part.contains(['{', '<', '(', '\0'])
    })
}

/// The files that tables and scripts of one place refer to.
pub struct FilesBeside {
    root: Option<PathBuf>,
    folder: Arc<SourceFolder>,
    modules: ModuleFolders,
}

impl FilesBeside {
    /// All files that scripts may find, folder by folder.
    pub(super) fn files(&self) -> impl Iterator<Item = (&str, &Source)> {
        let folders = std::iter::once(&*self.folder).chain(self.modules.folders());
        folders.flat_map(SourceFolder::files)
    }

    /// Where they lie.
    pub(super) fn places(&self) -> Vec<PathBuf> {
        let folders = std::iter::once(&*self.folder).chain(self.modules.folders());
        let places = folders.flat_map(|folder| folder.files().map(|(path, _)| folder.place(path)));
        places.collect()
    }

    /// The files of an app; `texts` are those of its routes.
    pub fn of_app(folders: &CatalogFolders, texts: &[&str]) -> Self {
        let (root, folder) = match &folders.tables {
            Some(tables) => (tables.as_path(), read_tree(tables)),
            None => (folders.root.as_path(), read_mentioned(&folders.root, &from_root(texts))),
        };
        let modules = module_folders(folders, &folder, texts);
        Self { root: canonical(root), folder, modules }
    }

    /// The files of a folder with loose tables and routes.
    pub(super) fn of_folder(root: &Path) -> Self {
        let folder = read_tree(root);
        let modules = ModuleFolders::new(vec![Arc::clone(&folder)]);
        Self { root: canonical(root), folder, modules }
    }

    /// The files that loose tables and routes name; each is given with its file.
    pub(super) fn of_files<'a>(
        root: &Path,
        texts: impl Iterator<Item = (&'a str, &'a str)>,
    ) -> Self {
        let texts: Vec<_> = texts.map(|(file, text)| Mentions::of_file(root, file, text)).collect();
        let folder = read_mentioned(root, &texts);
        let modules = ModuleFolders::new(vec![Arc::clone(&folder)]);
        Self { root: canonical(root), folder, modules }
    }

    /// The files that a script of the app, which stands in `file` below `root`, may use.
    pub fn of_script(root: &Path, file: &str, text: &str, folders: &CatalogFolders) -> Self {
        let folder = read_mentioned(root, &[Mentions::of_file(root, file, text)]);
        let tables = folders.tables.as_ref().map_or_else(Arc::default, |tables| read_tree(tables));
        let modules = module_folders(folders, &tables, &[text]);
        Self { root: canonical(root), folder, modules }
    }

    /// Why files may be missing, with the folder in which they lie.
    pub(super) fn gap(&self) -> Option<&str> {
        self.folder.gap()
    }

    fn find(&self, table_file: &str, name: &str) -> Result<PathBuf, Unreadable> {
        // A leading slash counts from the table's folder, as it always has.
        let told = |error: std::io::Error| {
            let hint = "; a leading `/` counts from the folder of the table";
            let hint = if name.starts_with('/') { hint } else { "" };
            Unreadable::System(format!("{error}{hint}"))
        };
        let folder = parent(Path::new(table_file)).canonicalize().map_err(told)?;
        let path = folder.join(name.trim_start_matches('/'));
        let real = path.canonicalize().map_err(told)?;
        let Some(root) = self.root.as_ref().filter(|root| real.starts_with(root)) else {
            return Err(Unreadable::Outside);
        };
        // Under the name that it was asked for: what a link means may have a name that is not read.
        let named = path.strip_prefix(root).ok().and_then(Path::to_str);
        let named = named.and_then(|named| normalise("/", named));
        Ok(named.map_or(real, |named| root.join(named.trim_start_matches('/'))))
    }
}

/// Where stored scripts find modules: the app's own folder, routes, tests, tables.
fn module_folders(
    folders: &CatalogFolders,
    tables: &Arc<SourceFolder>,
    texts: &[&str],
) -> ModuleFolders {
    let mut found = vec![read_mentioned(&folders.root, &from_root(texts))];
    found.extend(
        [&folders.routes, &folders.tests].into_iter().flatten().map(|root| read_tree(root)),
    );
    found.extend(folders.tables.is_some().then(|| Arc::clone(tables)));
    ModuleFolders::new(found)
}

fn from_root<'a>(texts: &[&'a str]) -> Vec<Mentions<'a>> {
    texts.iter().map(|text| Mentions { directory: "/".to_owned(), text }).collect()
}

fn canonical(root: &Path) -> Option<PathBuf> {
    let root = if root.as_os_str().is_empty() { Path::new(".") } else { root };
    root.canonicalize().ok()
}

impl Resources for FilesBeside {
    fn template(&self, table_file: &str, name: &str) -> Result<String, Unreadable> {
        read_text(&self.find(table_file, name)?)
    }

    fn module(&self, table_file: &str, name: &str) -> Result<ScriptFile, Unreadable> {
        let place = match self.find(table_file, name) {
            Ok(place) => place,
            // CommonJS lets the ending away.
            Err(reason) => self.find(table_file, &format!("{name}.js")).map_err(|_| reason)?,
        };
        let folder = Arc::clone(&self.folder);
        let path = folder.path_of(&place).ok_or(Unreadable::Outside)?;
        let bytes = folder.read(&path)?;
        str::from_utf8(&bytes)?;
        Ok(ScriptFile { folder, path })
    }

    fn schema(&self, table_file: &str, name: &str) -> Result<Vec<u8>, Unreadable> {
        read_bytes(&self.find(table_file, name)?)
    }

    fn module_folders(&self) -> ModuleFolders {
        self.modules.clone()
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let place = folder.path().join(name);
            fs::create_dir_all(place.parent().unwrap()).unwrap();
            fs::write(place, text).unwrap();
        }
        folder
    }

    #[test]
    fn files_outside_of_the_root_are_refused() {
        let folder = folder(&[("secret.txt", "x"), ("tables/body.mu", "hi"), ("tables/p.js", "1")]);
        let tables = folder.path().join("tables");
        let folders = CatalogFolders { tables: Some(tables.clone()), ..CatalogFolders::default() };
        let files = FilesBeside::of_app(&folders, &[]);
        let table = tables.join("t.ql").display().to_string();
        assert_eq!(files.template(&table, "body.mu").as_deref(), Ok("hi"));
        assert_eq!(files.template(&table, "/body.mu").as_deref(), Ok("hi"));
        assert!(files.template(&table, "../secret.txt").unwrap_err() == Unreadable::Outside);
        assert!(files.template(&table, "none.mu").is_err());
        let absolute = tables.join("p.js").display().to_string();
        assert_eq!(files.module(&table, "/p").unwrap().path, "/p.js");
        let refused = files.module(&table, &absolute).unwrap_err();
        assert!(refused.to_string().contains("counts from the folder of the table"), "{refused}");
    }

    #[test]
    fn links_do_not_lead_out_of_a_folder() {
        let outside = folder(&[("secret.js", "exports.x = 1;"), ("more/a.js", "")]);
        let inside = folder(&[("p.js", "require('./link'); require('./lib/a')"), ("lib/a.js", "")]);
        symlink(outside.path().join("secret.js"), inside.path().join("link.js")).unwrap();
        symlink(outside.path().join("more"), inside.path().join("more")).unwrap();
        symlink(inside.path().join("lib"), inside.path().join("same")).unwrap();
        let tree = read_tree(inside.path());
        let named = "'link.js' 'more/a.js' 'same/a.js'";
        let mentioned = read_mentioned(inside.path(), &from_root(&[named]));
        for files in [tree, mentioned] {
            for there in ["/p.js", "/lib/a.js", "/same/a.js"] {
                assert!(files.read(there).is_ok(), "{there}");
            }
            for hidden in ["/link.js", "/more/a.js"] {
                assert!(files.read(hidden).is_err(), "{hidden}");
            }
        }
    }

    #[test]
    fn of_a_folder_that_may_be_anything_only_what_is_named_is_read() {
        let folder = folder(&[
            ("own.js", "don't(); require('./lib/one')"),
            ("lib/one.js", "require(\"../deep/er/two.js\"); fs.readFileSync('data.txt')"),
            ("lib/data.txt", "d"),
            ("deep/er/two.js", ""),
            ("deep/er/other.js", ""),
            ("udf/three.js", ""),
            ("notes.txt", ""),
        ]);
        let files = read_mentioned(folder.path(), &from_root(&["t = require(\"udf/three\")"]));
        for there in ["/own.js", "/lib/one.js", "/lib/data.txt", "/deep/er/two.js", "/udf/three.js"]
        {
            assert!(files.read(there).is_ok(), "{there}");
        }
        for unread in ["/deep/er/other.js", "/notes.txt"] {
            assert!(files.read(unread).is_err(), "{unread}");
        }
    }

    #[test]
    fn a_file_over_the_limit_says_so_and_the_rest_is_read() {
        let long = "x".repeat(SOURCE_BYTES_MAX as usize + 1);
        let folder = folder(&[("long.js", &long), ("a.js", "1")]);
        let files = read_tree(folder.path());
        assert!(matches!(files.read("/long.js"), Err(Unreadable::TooLong { .. })));
        assert!(files.read("/a.js").is_ok());
    }

    #[test]
    fn what_goes_over_the_bounds_of_a_folder_is_told() {
        let folder = folder(&[("a.js", "12"), ("b.js", "34")]);
        let mut reader = Reader::new(folder.path());
        reader.bytes = FOLDER_BYTES_MAX - 2;
        reader.add_tree(1, is_script);
        let files = reader.finish(folder.path());
        assert!(files.read("/a.js").is_ok());
        assert!(files.gap().unwrap().contains("64 MiB"));
        assert!(files.missing_module("/", "./b").contains("64 MiB"));
        assert_eq!(read_tree(folder.path()).gap(), None);
    }
}
