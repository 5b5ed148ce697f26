//! A realm: the files of one table (or one UDF module) under an identity of its own.
//!
//! The handle holds no interpreter. Its files are those of the catalog, so all threads, and a realm
//! that is built anew after an error, run the same code.

use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use qlio_plan::catalog::SourceFolder;

/// The files of one realm. Cheap to clone; equal ids mean the same realm.
#[derive(Debug, Clone)]
pub struct Realm(Arc<State>);

#[derive(Debug)]
struct State {
    id: u64,
    files: Arc<SourceFolder>,
}

/// A realm that is known but not kept alive.
#[derive(Debug, Clone)]
pub(super) struct WeakRealm(std::sync::Weak<State>);

impl WeakRealm {
    pub(super) fn is_dead(&self) -> bool {
        self.0.strong_count() == 0
    }
}

static NEXT_ID: AtomicU64 = AtomicU64::new(1);

impl Realm {
    /// A realm whose scripts may require these files.
    pub fn new(files: &Arc<SourceFolder>) -> Self {
        let id = NEXT_ID.fetch_add(1, Ordering::Relaxed);
        Self(Arc::new(State { id, files: Arc::clone(files) }))
    }

    /// A realm without files: templates, and modules that come with the sandbox.
    pub fn without_files() -> Self {
        Self::new(&Arc::default())
    }

    pub(super) fn id(&self) -> u64 {
        self.0.id
    }

    pub(super) fn downgrade(&self) -> WeakRealm {
        WeakRealm(Arc::downgrade(&self.0))
    }

    pub(super) fn files(&self) -> &Arc<SourceFolder> {
        &self.0.files
    }

    /// The path of a script that is given below the folder.
    pub(super) fn entry(&self, file: &Path) -> Option<String> {
        self.0.files.resolve("/", file.to_str()?)
    }
}
