//! Seeing that the files of an app have changed (OPR-3).
//!
//! In: where the files lie. Out: an order for each change, once it has come to rest. What decides is what the system says
//! of the files: which ones there are, where their links lead, sizes and times. On Linux the system also wakes us when
//! something happens in one of their folders, or in a folder that a link on the way to them lies in, which is how a
//! mounted `ConfigMap` is replaced; elsewhere, and where it tells nothing, as with files on a server, we look from time
//! to time. Names that begin with `.` are no part of an app.

use std::{
    collections::BTreeSet,
    ffi::OsStr,
    hash::{DefaultHasher, Hash as _, Hasher as _},
    io,
    os::unix::{ffi::OsStrExt as _, fs::MetadataExt as _},
    path::{Component, Path, PathBuf},
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use walkdir::WalkDir;

use super::{Cause, Reloads};
use crate::load::{CatalogFolders, is_hidden};

/// How often files are looked at where nobody tells that they change.
const LOOK_EVERY: Duration = Duration::from_secs(if cfg!(target_os = "linux") { 5 } else { 1 });

/// How long nothing may have happened until a change counts as complete.
const REST: Duration = Duration::from_millis(100);

/// How long a change may go on without a rest.
const UNREST_MAX: Duration = Duration::from_secs(2);

/// Files and folders that are looked at; of larger apps the rest is not.
const PLACES_MAX: usize = 50_000;

/// Folders that the system is asked to tell about; changes in others are found by looking.
const FOLDERS_TOLD_MAX: usize = 4_096;

/// Depth to which folders are searched.
const DEPTH_MAX: usize = 64;

/// Links that one path may go through.
const LINKS_MAX: usize = 40;

/// Where the files of an app lie.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Places {
    /// Folders that belong to the app with all that is in them.
    pub trees: Vec<PathBuf>,
    /// Folders of which only the files themselves do.
    pub folders: Vec<PathBuf>,
    /// Files elsewhere.
    pub files: Vec<PathBuf>,
}

impl Places {
    /// The places of a catalog; `files` are those beside: settings, secrets, what scripts name.
    pub(crate) fn of(folders: &CatalogFolders, files: Vec<PathBuf>) -> Self {
        let CatalogFolders { root, tables, routes, connectors, transformers, tests } = folders;
        let root = if root.as_os_str().is_empty() { Path::new(".") } else { root };
        let trees = [tables, routes, connectors, tests].into_iter().flatten().cloned().collect();
        let files = transformers.iter().cloned().chain(files).collect();
        Self { trees, folders: vec![root.to_owned()], files }
    }

    /// All files, the same ones in the same order whenever nothing has changed.
    fn files(&self) -> impl Iterator<Item = PathBuf> {
        let walk = |root: &PathBuf, depth: usize| {
            let walk = WalkDir::new(root).follow_links(true).max_depth(depth).sort_by_file_name();
            let shown = walk.into_iter().filter_entry(|entry| !is_hidden(entry));
            // What cannot be read is told by whoever loads it.
            shown.filter_map(Result::ok).map(walkdir::DirEntry::into_path)
        };
        let trees = self.trees.iter().flat_map(move |root| walk(root, DEPTH_MAX));
        // A folder of an app may be anything, such as one where somebody writes a log.
        let is_read = |path: &PathBuf| {
            let ending = path.extension().and_then(OsStr::to_str).unwrap_or_default();
            matches!(ending, "js" | "json" | "toml" | "yaml") || path.is_dir()
        };
        let folders = self.folders.iter().flat_map(move |root| walk(root, 1)).filter(is_read);
        trees.chain(folders).chain(self.files.iter().cloned()).take(PLACES_MAX)
    }

    /// Tells one state of all files from any other.
    pub(crate) fn state(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        for path in self.files() {
            path.as_os_str().as_bytes().hash(&mut hasher);
            match path.metadata() {
                // Times of a folder change with files that are no part of the app.
                Ok(data) if data.is_dir() => (data.dev(), data.ino()).hash(&mut hasher),
                Ok(data) => {
                    let time = (data.mtime(), data.mtime_nsec(), data.ctime(), data.ctime_nsec());
                    (data.dev(), data.ino(), data.size(), time).hash(&mut hasher);
                }
                Err(error) => error.kind().hash(&mut hasher),
            }
        }
        hasher.finish()
    }

    /// The folders in which something has to happen for the state to change.
    fn folders_told(&self) -> BTreeSet<PathBuf> {
        let mut folders = BTreeSet::new();
        for path in self.files() {
            if folders.len() >= FOLDERS_TOLD_MAX {
                break;
            }
            if path.is_dir() {
                folders.insert(path.clone());
            }
            add_ways(&path, &mut folders);
        }
        folders
    }
}

/// Adds the folder of a path, and those of all links on the way to what it means.
fn add_ways(path: &Path, folders: &mut BTreeSet<PathBuf>) {
    let parent = |path: &Path| match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder.to_owned(),
        _ => PathBuf::from("."),
    };
    folders.insert(parent(path));
    let mut way = PathBuf::new();
    // What is still to be gone, the next part last.
    let mut rest = parts_of(path);
    let mut links = 0;
    while let Some(part) = rest.pop() {
        if part == OsStr::new("..") {
            way.push("..");
            continue;
        }
        way.push(&part);
        let Ok(target) = way.read_link() else { continue };
        links += 1;
        if links > LINKS_MAX {
            return;
        }
        let folder = parent(&way);
        folders.insert(folder);
        way.pop();
        if target.is_absolute() {
            way.clear();
        }
        rest.extend(parts_of(&target));
    }
    folders.insert(parent(&way));
}

/// The parts of a path, the last one first.
fn parts_of(path: &Path) -> Vec<std::ffi::OsString> {
    let parts = path.components().filter(|part| !matches!(part, Component::CurDir));
    let mut parts: Vec<_> = parts.map(|part| part.as_os_str().to_owned()).collect();
    parts.reverse();
    parts
}

/// Orders a reload for each change from here on, until the process ends.
///
/// # Errors
/// There can be no thread for it.
pub(crate) fn start(
    places: impl Fn() -> Arc<Places> + Send + 'static,
    seen: u64,
    reloads: Reloads,
) -> io::Result<()> {
    thread::Builder::new().name("watch".to_owned()).spawn(move || {
        let mut seen = seen;
        let mut waker = Waker::default();
        loop {
            let known = places();
            waker.listen(known.folders_told());
            // Looked at behind the waker's back, so that nothing happens unseen in between.
            let mut state = known.state();
            if state != seen {
                state = settle(&known, &mut waker, state);
                seen = state;
                // One that is refused because many wait is done by those that wait.
                let _ = reloads.order(Cause::Files);
            }
            waker.wait(LOOK_EVERY);
        }
    })?;
    Ok(())
}

/// Waits until nothing changes any more, or has changed for long enough.
fn settle(places: &Places, waker: &mut Waker, mut state: u64) -> u64 {
    let began = Instant::now();
    while began.elapsed() < UNREST_MAX {
        thread::sleep(REST);
        waker.forget();
        let next = places.state();
        if next == state {
            break;
        }
        state = next;
    }
    state
}

#[cfg(target_os = "linux")]
use told::Waker;
#[cfg(not(target_os = "linux"))]
use untold::Waker;

#[cfg(target_os = "linux")]
mod told {
    use std::{
        collections::BTreeSet, mem::MaybeUninit, os::fd::OwnedFd, path::PathBuf, time::Duration,
    };

    use rustix::{
        event::{PollFd, PollFlags, Timespec, poll},
        fs::inotify::{self, CreateFlags, ReadFlags, Reader, WatchFlags},
    };

    /// Bytes of what the system has to say that are taken at once.
    const TOLD_BYTES: usize = 4_096;

    /// Wakes when something happens in a folder.
    #[derive(Default)]
    pub(super) struct Waker {
        folders: BTreeSet<PathBuf>,
        /// Nothing where the system gives no more of them: then files are looked at from time to time.
        told: Option<OwnedFd>,
    }

    impl Waker {
        /// Listens to these folders, and no longer to others.
        pub(super) fn listen(&mut self, folders: BTreeSet<PathBuf>) {
            if self.folders == folders && self.told.is_some() {
                return;
            }
            self.told = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK).ok();
            let events = WatchFlags::CREATE
                | WatchFlags::DELETE
                | WatchFlags::MOVED_FROM
                | WatchFlags::MOVED_TO
                | WatchFlags::CLOSE_WRITE
                | WatchFlags::ATTRIB
                | WatchFlags::DELETE_SELF
                | WatchFlags::MOVE_SELF;
            for folder in &folders {
                if let Some(told) = &self.told {
                    // One that has gone meanwhile is missing in the next state.
                    let _ = inotify::add_watch(told, folder, events | WatchFlags::ONLYDIR);
                }
            }
            self.folders = folders;
        }

        /// Waits until something has happened, at most for this time.
        pub(super) fn wait(&mut self, time: Duration) {
            let Some(told) = &self.told else { return std::thread::sleep(time) };
            let timeout = Timespec {
                tv_sec: i64::try_from(time.as_secs()).unwrap_or(i64::MAX),
                tv_nsec: i64::from(time.subsec_nanos()),
            };
            let mut asked = [PollFd::new(told, PollFlags::IN)];
            if poll(&mut asked, Some(&timeout)).is_err() {
                // Interrupted by a signal, or out of memory; not at once again.
                std::thread::sleep(super::REST);
            }
            self.forget();
        }

        /// Takes what has been told so far for known.
        pub(super) fn forget(&mut self) {
            let Some(told) = &self.told else { return };
            let mut buffer = [MaybeUninit::uninit(); TOLD_BYTES];
            let mut reader = Reader::new(told, &mut buffer);
            while let Ok(event) = reader.next() {
                if event.events().contains(ReadFlags::IGNORED) {
                    // A folder has gone; perhaps there is another one of its name.
                    self.folders.clear();
                }
            }
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod untold {
    use std::{collections::BTreeSet, path::PathBuf, time::Duration};

    /// Wakes from time to time.
    #[derive(Default)]
    pub(super) struct Waker;

    impl Waker {
        pub(super) fn listen(&mut self, _folders: BTreeSet<PathBuf>) {}

        pub(super) fn wait(&mut self, time: Duration) {
            std::thread::sleep(time);
        }

        pub(super) fn forget(&mut self) {}
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::symlink};

    use super::*;

    /// What the kubelet makes of a `ConfigMap`: files are links through `..data` into a folder of their own time.
    fn mount(folder: &Path, version: &str, text: &str) {
        let stamped = folder.join(format!("..{version}"));
        fs::create_dir(&stamped).unwrap();
        fs::write(stamped.join("t.ql"), text).unwrap();
        symlink(format!("..{version}"), folder.join("..data_tmp")).unwrap();
        fs::rename(folder.join("..data_tmp"), folder.join("..data")).unwrap();
        if !folder.join("t.ql").is_symlink() {
            symlink("..data/t.ql", folder.join("t.ql")).unwrap();
        }
    }

    #[test]
    fn a_change_is_a_change_of_what_is_meant() {
        let folder = tempfile::tempdir().unwrap();
        let tables = folder.path().join("tables");
        fs::create_dir(&tables).unwrap();
        mount(&tables, "1", "one");
        let places = Places { trees: vec![tables.clone()], ..Places::default() };
        let mut states = vec![places.state()];
        let mut changed = |what: &str| {
            let state = places.state();
            assert!(!states.contains(&state), "{what}");
            states.push(state);
        };
        mount(&tables, "2", "two");
        changed("the link in the middle leads elsewhere");
        fs::remove_dir_all(tables.join("..1")).unwrap();
        fs::write(tables.join(".t.ql.swp"), "editors write such files").unwrap();
        assert_eq!(places.state(), *states.last().unwrap(), "hidden names are no part of it");
        let mut changed = |what: &str| {
            let state = places.state();
            assert!(!states.contains(&state), "{what}");
            states.push(state);
        };
        fs::write(tables.join("u.ql"), "more").unwrap();
        changed("another file");
        fs::write(tables.join("u.ql"), "more, longer").unwrap();
        changed("another content");
        fs::remove_file(tables.join("t.ql")).unwrap();
        changed("a file is gone");
    }

    #[test]
    fn folders_of_links_on_the_way_are_listened_to() {
        let folder = tempfile::tempdir().unwrap();
        let real = |name: &str| folder.path().join(name);
        for name in ["app/tables", "mnt/cfg"] {
            fs::create_dir_all(real(name)).unwrap();
        }
        mount(&real("mnt/cfg"), "1", "one");
        symlink("../../mnt/cfg/t.ql", real("app/tables/t.ql")).unwrap();
        let places = Places { trees: vec![real("app/tables")], ..Places::default() };
        let told = places.folders_told();
        let is_told = |name: &str| {
            let wanted = real(name).canonicalize().unwrap();
            told.iter().any(|folder| folder.canonicalize().is_ok_and(|folder| folder == wanted))
        };
        for name in ["app", "app/tables", "mnt/cfg", "mnt/cfg/..1"] {
            assert!(is_told(name), "{name}: {told:?}");
        }
        symlink("loop", real("app/tables/loop")).unwrap();
        assert!(places.folders_told().len() < 20, "a circle of links has an end");
    }
}
