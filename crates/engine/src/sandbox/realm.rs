//! A realm: the script files of one table (or one UDF module), as every thread sees them.
//!
//! The handle is shared between threads and holds no interpreter. It confines file access to its
//! root and remembers the text of every file it has read, so that all threads, and a realm that is
//! built anew after an error, run the same code even while files change on disk.

use std::{
    collections::HashMap,
    path::{Component, Path, PathBuf},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use bytes::Bytes;

use super::error::{ScriptError, ScriptErrorKind};

/// Length of one script or data file in bytes.
const SOURCE_BYTES_MAX: u64 = 4 << 20;

/// The files of one realm. Cheap to clone; equal ids mean the same realm.
#[derive(Debug, Clone)]
pub struct Realm(Arc<RealmState>);

#[derive(Debug)]
struct RealmState {
    id: u64,
    root: Option<PathBuf>,
    /// By virtual path: absolute, with `/` for the root directory.
    files: Mutex<HashMap<String, Bytes>>,
}

/// A realm that is known but not kept alive.
#[derive(Debug, Clone)]
pub(super) struct WeakRealm(std::sync::Weak<RealmState>);

impl WeakRealm {
    pub(super) fn is_dead(&self) -> bool {
        self.0.strong_count() == 0
    }
}

static NEXT_ID: AtomicU64 = AtomicU64::new(1);

impl Realm {
    /// A realm whose scripts may require files below `root`.
    pub fn new(root: &Path) -> Result<Self, ScriptError> {
        let root = root.canonicalize().map_err(|error| {
            ScriptError::new(
                ScriptErrorKind::Load,
                "",
                format!("the script root can't be read: {}", error.kind()),
            )
        })?;
        Ok(Self::with_root(Some(root)))
    }

    /// A realm without files: templates, and modules that come with the sandbox.
    pub fn without_files() -> Self {
        Self::with_root(None)
    }

    fn with_root(root: Option<PathBuf>) -> Self {
        Self(Arc::new(RealmState {
            id: NEXT_ID.fetch_add(1, Ordering::Relaxed),
            root,
            files: Mutex::new(HashMap::new()),
        }))
    }

    pub(super) fn id(&self) -> u64 {
        self.0.id
    }

    pub(super) fn downgrade(&self) -> WeakRealm {
        WeakRealm(Arc::downgrade(&self.0))
    }

    /// The virtual path of the file that `request`, written in a file of `directory`, means:
    /// as it stands, with `.js` or `.json` added, or its `index.js`.
    pub(super) fn resolve(&self, directory: &str, request: &str) -> Option<String> {
        let base = normalise(directory, request)?;
        let trimmed = base.trim_end_matches('/');
        [
            base.clone(),
            format!("{trimmed}.js"),
            format!("{trimmed}.json"),
            format!("{trimmed}/index.js"),
        ]
        .into_iter()
        .find(|candidate| self.read(candidate).is_ok())
    }

    /// The virtual path of a file given by its place on disk or relative to the root.
    pub(super) fn entry(&self, file: &Path) -> Option<String> {
        if file.is_absolute() {
            let root = self.0.root.as_ref()?;
            let below = match file.strip_prefix(root) {
                Ok(below) => below.to_owned(),
                Err(_) => file.canonicalize().ok()?.strip_prefix(root).ok()?.to_owned(),
            };
            return self.resolve("/", below.to_str()?);
        }
        self.resolve("/", file.to_str()?)
    }

    /// The bytes of a file by virtual path; from memory after the first time.
    pub(super) fn read(&self, path: &str) -> Result<Bytes, String> {
        let mut files = self.0.files.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(bytes) = files.get(path) {
            return Ok(bytes.clone());
        }
        let missing = || format!("no such file `{}`", path.trim_start_matches('/'));
        let root = self.0.root.as_ref().ok_or_else(missing)?;
        let real = root.join(path.trim_start_matches('/')).canonicalize().map_err(|_| missing())?;
        // After links are resolved the file must still lie below the root.
        if !real.starts_with(root) || !real.is_file() {
            return Err(missing());
        }
        let length = real.metadata().map_err(|_| missing())?.len();
        if length > SOURCE_BYTES_MAX {
            return Err(format!(
                "`{}` is longer than {} bytes",
                path.trim_start_matches('/'),
                SOURCE_BYTES_MAX
            ));
        }
        let bytes = Bytes::from(std::fs::read(&real).map_err(|_| missing())?);
        files.insert(path.to_owned(), bytes.clone());
        Ok(bytes)
    }
}

/// Joins and cleans a virtual path; `None` if it leaves the root.
pub(super) fn normalise(directory: &str, request: &str) -> Option<String> {
    let joined = if request.starts_with('/') {
        PathBuf::from(request)
    } else {
        Path::new(directory).join(request)
    };
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

    #[test]
    fn paths_do_not_leave_the_root() {
        assert_eq!(normalise("/a", "./b.js").as_deref(), Some("/a/b.js"));
        assert_eq!(normalise("/a", "../b.js").as_deref(), Some("/b.js"));
        assert_eq!(normalise("/a", "../../b.js"), None);
        assert_eq!(normalise("/a", "//c//d").as_deref(), Some("/c/d"));
    }
}
