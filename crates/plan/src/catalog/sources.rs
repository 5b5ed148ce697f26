//! Script and data files as they were when the catalog was loaded.
//!
//! In: the bytes that a loader has read. Out: what `require` and `fs` of a script find. Nothing here
//! reads a disk, so all workers run the same code, whatever becomes of the files meanwhile.

use std::{
    collections::BTreeMap,
    fmt::Write as _,
    path::{Component, Path, PathBuf},
    sync::Arc,
};

use super::Unreadable;

/// A file's bytes, or why they could not be read.
pub type Source = Result<Arc<[u8]>, Unreadable>;

/// The files of one folder, which its scripts see as `/`.
#[derive(Debug, Default)]
pub struct SourceFolder {
    root: PathBuf,
    shown: String,
    files: BTreeMap<String, Source>,
    gap: Option<String>,
}

impl SourceFolder {
    /// The folder `root`, which messages call `shown`; files are named by their path below it, with `/`
    /// before and between the names.
    pub fn new(root: PathBuf, shown: String, files: BTreeMap<String, Source>) -> Self {
        Self { root, shown, files, gap: None }
    }

    /// Says why files may be missing, for the errors of scripts that look for them.
    #[must_use]
    pub fn with_gap(self, gap: Option<String>) -> Self {
        Self { gap, ..self }
    }

    /// Why files may be missing.
    pub fn gap(&self) -> Option<&str> {
        self.gap.as_deref()
    }

    /// All files by their path, those that could not be read with the reason.
    pub fn files(&self) -> impl Iterator<Item = (&str, &Source)> {
        self.files.iter().map(|(path, source)| (path.as_str(), source))
    }

    /// The paths of the scripts that lie in the folder itself, in order.
    pub fn scripts(&self) -> impl Iterator<Item = &str> {
        let is_script = |path: &&str| {
            path.rfind('/') == Some(0)
                && path.rsplit_once('.').is_some_and(|(_, ending)| ending == "js")
        };
        self.files.keys().map(String::as_str).filter(is_script)
    }

    /// The bytes of a file.
    ///
    /// # Errors
    /// There is none of this path, or it could not be read.
    pub fn read(&self, path: &str) -> Source {
        let none = || Unreadable::NoSuchFile(path.trim_start_matches('/').to_owned());
        self.files.get(path).cloned().unwrap_or_else(|| Err(none()))
    }

    /// The path of the module that `request` means in a file of `directory`: as it stands, with `.js` or
    /// `.json` added, or its `index.js`.
    pub fn resolve(&self, directory: &str, request: &str) -> Option<String> {
        let base = normalise(directory, request)?;
        let candidates = module_candidates(&base);
        candidates.into_iter().find(|candidate| self.files.contains_key(candidate))
    }

    /// Says that there is no such module, and where it was looked for.
    pub fn missing_module(&self, directory: &str, request: &str) -> String {
        let folder = format!("{}{}", self.shown, directory.trim_end_matches('/'));
        missing(request, [folder.as_str()], self.gap.as_deref())
    }

    /// The place of a file on disk, for messages to the operator.
    pub fn place(&self, path: &str) -> PathBuf {
        self.root.join(path.trim_start_matches('/'))
    }

    /// The path below the folder of a place on disk.
    pub fn path_of(&self, place: &Path) -> Option<String> {
        let below = place.strip_prefix(&self.root).ok()?;
        normalise("/", below.to_str()?)
    }
}

/// A script beside a table.
#[derive(Debug, Clone)]
pub struct ScriptFile {
    /// What it may require lies here too.
    pub folder: Arc<SourceFolder>,
    /// Its path in the folder.
    pub path: String,
}

impl ScriptFile {
    /// The place on disk.
    pub fn place(&self) -> PathBuf {
        self.folder.place(&self.path)
    }

    /// The text; empty if it could not be read.
    pub fn text(&self) -> String {
        let bytes = self.folder.read(&self.path).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

/// The folders that `require` of a stored script searches, in order.
#[derive(Debug, Clone, Default)]
pub struct ModuleFolders(Arc<[Arc<SourceFolder>]>);

impl ModuleFolders {
    /// These folders.
    pub fn new(folders: Vec<Arc<SourceFolder>>) -> Self {
        Self(folders.into())
    }

    /// The folders in the order in which they are searched.
    pub fn folders(&self) -> impl Iterator<Item = &SourceFolder> {
        self.0.iter().map(AsRef::as_ref)
    }

    /// The first module of this name.
    pub fn find(&self, name: &str) -> Option<ScriptFile> {
        self.0.iter().find_map(|folder| {
            let path = folder.resolve("/", name)?;
            Some(ScriptFile { folder: Arc::clone(folder), path })
        })
    }

    /// Says that there is no such module, and where it was looked for.
    pub fn missing(&self, name: &str) -> String {
        let gap = self.0.iter().find_map(|folder| folder.gap.as_deref());
        missing(name, self.0.iter().map(|folder| folder.shown.as_str()), gap)
    }

    /// Whether both are of the same snapshot.
    pub fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

fn missing<'a>(
    name: &str,
    folders: impl IntoIterator<Item = &'a str>,
    gap: Option<&str>,
) -> String {
    let mut message = format!("can not find module `{name}`");
    let mut between = " in ";
    for folder in folders {
        // Writing into a text cannot fail.
        let _ = write!(message, "{between}`{folder}`");
        between = " or ";
    }
    message.extend(gap.into_iter().flat_map(|gap| ["; ", gap]));
    message
}

/// The paths that a module of this name may have.
pub fn module_candidates(base: &str) -> [String; 4] {
    let trimmed = base.trim_end_matches('/');
    [
        base.to_owned(),
        format!("{trimmed}.js"),
        format!("{trimmed}.json"),
        format!("{trimmed}/index.js"),
    ]
}

/// Joins and cleans a path of a folder; `None` if it leaves the folder.
pub fn normalise(directory: &str, request: &str) -> Option<String> {
    // A request that begins with a slash replaces the directory.
    let joined = Path::new(directory).join(request);
    let mut parts: Vec<&str> = Vec::new();
    for component in joined.components() {
        match component {
            Component::RootDir | Component::CurDir => {}
            Component::ParentDir => {
                parts.pop()?;
            }
            Component::Normal(part) => parts.push(part.to_str()?),
            Component::Prefix(_) => return None,
        }
    }
    Some(format!("/{}", parts.join("/")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(shown: &str, paths: &[&str]) -> Arc<SourceFolder> {
        let file = |path: &&str| ((*path).to_owned(), Ok(Arc::from(path.as_bytes())));
        let files = paths.iter().map(file).collect();
        Arc::new(SourceFolder::new(PathBuf::from("/app/tables"), shown.to_owned(), files))
    }

    #[test]
    fn paths_do_not_leave_the_folder() {
        assert_eq!(normalise("/a", "./b.js").as_deref(), Some("/a/b.js"));
        assert_eq!(normalise("/a", "../b.js").as_deref(), Some("/b.js"));
        assert_eq!(normalise("/a", "../../b.js"), None);
        assert_eq!(normalise("/a", "//c//d").as_deref(), Some("/c/d"));
    }

    #[test]
    fn a_module_is_found_without_its_ending_and_as_a_folder() {
        let folder = folder("tables", &["/p.js", "/lib/index.js", "/data.json", "/x", "/x.js"]);
        let resolve = |directory, name| folder.resolve(directory, name);
        assert_eq!(resolve("/", "./p").as_deref(), Some("/p.js"));
        assert_eq!(resolve("/lib", "../data").as_deref(), Some("/data.json"));
        assert_eq!(resolve("/", "lib/").as_deref(), Some("/lib/index.js"));
        assert_eq!(resolve("/", "x").as_deref(), Some("/x"));
        assert_eq!(resolve("/", "none"), None);
    }

    #[test]
    fn a_missing_module_names_the_folders_and_what_was_left_out() {
        let tables = folder("tables", &[]);
        assert_eq!(
            tables.missing_module("/lib", "./x"),
            "can not find module `./x` in `tables/lib`"
        );
        let folders = ModuleFolders::new(vec![folder(".", &["/y.js"]), tables]);
        assert!(folders.find("y").is_some());
        assert_eq!(folders.missing("x"), "can not find module `x` in `.` or `tables`");
        let cut = SourceFolder::default().with_gap(Some("only 2 files were read".to_owned()));
        assert!(cut.missing_module("/", "x").ends_with("; only 2 files were read"));
    }

    #[test]
    fn a_file_that_could_not_be_read_says_why() {
        let files =
            BTreeMap::from([("/a.js".to_owned(), Err(Unreadable::TooLong { bytes_max: 9 }))]);
        let folder = SourceFolder::new(PathBuf::new(), String::new(), files);
        assert_eq!(folder.read("/a.js"), Err(Unreadable::TooLong { bytes_max: 9 }));
        assert_eq!(folder.read("/b.js"), Err(Unreadable::NoSuchFile("b.js".to_owned())));
    }
}
