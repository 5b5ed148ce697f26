//! Files that say which processes serve, for `qlio stop`, `shutdown` and `upgrade` (SUP-8).
//!
//! A process holds a lock on its file for as long as it lives. So a number that the system has given to another process
//! meanwhile is never taken for one of ours.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Write as _},
    path::{Path, PathBuf},
};

use anyhow::Context;
use rustix::{
    fs::{FlockOperation, flock},
    io::Errno,
    process::{Pid, Signal, kill_process},
};

/// What a process is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// It takes commands: it serves, or has others serve.
    Master,
    /// It serves for a master.
    Worker,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Self::Master => "master",
            Self::Worker => "worker",
        }
    }
}

/// The file of this process; it goes with it.
#[derive(Debug)]
pub(super) struct PidFile {
    path: PathBuf,
    /// Locked while it is open.
    _file: File,
}

impl PidFile {
    /// Writes the file of this process.
    ///
    /// # Errors
    /// The folder cannot be made, or the file not be written.
    pub(super) fn create(folder: &Path, kind: Kind) -> anyhow::Result<Self> {
        Self::write(folder, kind).with_context(|| format!("cannot write to `{}`", folder.display()))
    }

    fn write(folder: &Path, kind: Kind) -> io::Result<Self> {
        fs::create_dir_all(folder)?;
        let id = std::process::id();
        let path = folder.join(format!("{}.{id}.pid", kind.name()));
        // What is there is from a process that had this number before.
        let mut file = OpenOptions::new().write(true).create(true).truncate(true).open(&path)?;
        flock(&file, FlockOperation::NonBlockingLockExclusive)?;
        writeln!(file, "{id}")?;
        Ok(Self { path, _file: file })
    }
}

impl Drop for PidFile {
    fn drop(&mut self) {
        // Somebody else may have removed it.
        let _ = fs::remove_file(&self.path);
    }
}

/// A process that serves.
#[derive(Debug)]
pub(super) struct Process {
    pub(super) kind: Kind,
    pub(super) id: Pid,
    path: PathBuf,
}

impl Process {
    /// Whether it lives. The file of one that does not is removed.
    pub(super) fn lives(&self) -> bool {
        let Ok(file) = File::open(&self.path) else { return false };
        let lives = flock(&file, FlockOperation::NonBlockingLockShared) == Err(Errno::WOULDBLOCK);
        if !lives {
            // Somebody else may have removed it.
            let _ = fs::remove_file(&self.path);
        }
        lives
    }

    /// Sends it a signal; nothing if it has gone.
    ///
    /// # Errors
    /// It is somebody else's.
    pub(super) fn signal(&self, signal: Signal) -> io::Result<()> {
        match kill_process(self.id, signal) {
            Ok(()) | Err(Errno::SRCH) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

/// The processes that live, masters first; files of others are removed.
///
/// # Errors
/// The folder cannot be read.
pub(super) fn find(folder: &Path) -> io::Result<Vec<Process>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let parts: Vec<_> = name.split('.').collect();
        let (kind, id) = match parts[..] {
            ["master", id, "pid"] => (Kind::Master, id),
            ["worker", id, "pid"] => (Kind::Worker, id),
            _ => continue,
        };
        let Some(id) = id.parse().ok().and_then(Pid::from_raw) else { continue };
        let process = Process { kind, id, path };
        if process.lives() {
            found.push(process);
        }
    }
    found.sort_by_key(|process| (process.kind != Kind::Master, process.id.as_raw_nonzero()));
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_found_while_it_lives_and_its_file_is_no_proof() {
        let folder = tempfile::tempdir().unwrap();
        let own = PidFile::create(folder.path(), Kind::Master).unwrap();
        // A process of this number lives, but it is not the one that has written the file.
        fs::write(folder.path().join("worker.1.pid"), "1\n").unwrap();
        fs::write(folder.path().join("notes.txt"), "").unwrap();
        let found = find(folder.path()).unwrap();
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(
            (found[0].kind, found[0].id.as_raw_nonzero().get().unsigned_abs()),
            (Kind::Master, std::process::id())
        );
        assert!(!folder.path().join("worker.1.pid").exists());
        drop(own);
        assert!(find(folder.path()).unwrap().is_empty());
        assert!(folder.path().join("notes.txt").exists());
    }
}
