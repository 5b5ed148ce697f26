//! The folder behind the mock: listings, rules and contents, read once and again when they change.
//!
//! In goes a [`Wanted`], out comes a [`Found`]. Every look-up asks the disk only whether something
//! changed (one `stat` per folder on the way and one for the file).
//!
//! # Limits
//! 10 000 names per folder; files of 64 MiB; 256 MiB of contents kept, larger sets are read each
//! time.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use bytes::Bytes;

use super::find::Wanted;
use super::rules::{FILE_NAME, Rule, RuleError, Rules};

const NAMES_PER_FOLDER_MAX: usize = 10_000;
const FILE_BYTES_MAX: u64 = 64 * 1024 * 1024;
const KEPT_BYTES_MAX: usize = 256 * 1024 * 1024;
const KEPT_FOLDERS_MAX: usize = 10_000;
const NEAR_MAX: usize = 20;

/// The folder with what was read of it.
pub(super) struct Store {
    root: PathBuf,
    listings: HashMap<PathBuf, (Stamp, Vec<String>)>,
    rules: HashMap<PathBuf, (Stamp, Rules)>,
    contents: HashMap<PathBuf, (Stamp, Bytes)>,
    kept_bytes: usize,
}

/// Changes when the file does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stamp {
    modified: Option<SystemTime>,
    length: u64,
}

/// The answer that the folder has for a request.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// A file and the rule for it.
    File { name: String, content: Bytes, rule: Rule },
    /// No file; these paths are near.
    Nothing { near: Vec<String> },
}

/// Why a file or a folder can not be read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FileError {
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error("the link leads out of the folder")]
    Escape,
    #[error("{bytes} bytes are more than {bytes_max}")]
    TooLarge { bytes: u64, bytes_max: u64 },
    #[error("more than {NAMES_PER_FOLDER_MAX} names in one folder")]
    TooMany,
}

/// Why the folder can not answer a request.
#[derive(Debug, thiserror::Error)]
pub(super) enum FolderError {
    #[error(transparent)]
    Listing(#[from] FileError),
    #[error("`{0}`: {1}")]
    File(PathBuf, FileError),
    #[error("`{0}`: {1}")]
    Rules(PathBuf, RuleError),
}

impl Store {
    pub(super) fn open(folder: &Path) -> io::Result<Self> {
        let root = folder.canonicalize()?;
        fs::read_dir(&root)?;
        Ok(Self {
            root,
            listings: HashMap::new(),
            rules: HashMap::new(),
            contents: HashMap::new(),
            kept_bytes: 0,
        })
    }

    pub(super) fn find(
        &mut self,
        wanted: &Wanted,
        accept: Option<&str>,
    ) -> Result<Found, FolderError> {
        let mut folders = vec![self.root.clone()];
        for segment in &wanted.folders {
            let below = folders[folders.len() - 1].join(segment);
            if !below.is_dir() {
                return self.nothing(wanted, &folders);
            }
            folders.push(below);
        }
        let folder = folders[folders.len() - 1].clone();
        let names = self.listing(&folder)?.iter().map(String::as_str);
        let Some(name) = wanted.choose(names, accept).map(str::to_owned) else {
            return self.nothing(wanted, &folders);
        };
        let rule = self.rule(&folders, &name)?;
        match self.content(&folder.join(&name)) {
            Ok(content) => Ok(Found::File { name, content, rule }),
            Err(error) => Err(FolderError::File(name.into(), error)),
        }
    }

    fn listing(&mut self, folder: &Path) -> Result<&[String], FileError> {
        let stamp = stamp(folder)?;
        let known = self.listings.get(folder).is_some_and(|(known, _)| *known == stamp);
        if !known {
            if !folder.canonicalize()?.starts_with(&self.root) {
                return Err(FileError::Escape);
            }
            let names = read_names(folder)?;
            if self.listings.len() >= KEPT_FOLDERS_MAX {
                self.listings.clear();
            }
            self.listings.insert(folder.to_owned(), (stamp, names));
        }
        Ok(self.listings.get(folder).map_or(&[], |(_, names)| names))
    }

    fn rule(&mut self, folders: &[PathBuf], name: &str) -> Result<Rule, FolderError> {
        let paths: Vec<PathBuf> = folders.iter().map(|folder| folder.join(FILE_NAME)).collect();
        for path in &paths {
            let Ok(stamp) = stamp(path) else {
                self.rules.remove(path);
                continue;
            };
            if self.rules.get(path).is_some_and(|(known, _)| *known == stamp) {
                continue;
            }
            let shown = || path.strip_prefix(&self.root).unwrap_or(path).to_owned();
            let bytes = self.read(path, &stamp);
            let bytes = bytes.map_err(|error| FolderError::File(shown(), error))?;
            let text = io::read_to_string(bytes.as_slice())
                .map_err(|error| FolderError::File(shown(), error.into()))?;
            let rules = Rules::parse(&text).map_err(|error| FolderError::Rules(shown(), error))?;
            if self.rules.len() >= KEPT_FOLDERS_MAX {
                self.rules.clear();
            }
            self.rules.insert(path.clone(), (stamp, rules));
        }
        let none = Rules::default();
        let rules: Vec<&Rules> = paths
            .iter()
            .map(|path| self.rules.get(path).map_or(&none, |(_, rules)| rules))
            .collect();
        Ok(Rules::resolve(&rules, name))
    }

    /// Reads a file, unless it lies elsewhere or is too large.
    fn read(&self, path: &Path, stamp: &Stamp) -> Result<Vec<u8>, FileError> {
        let real = path.canonicalize()?;
        if !real.starts_with(&self.root) {
            return Err(FileError::Escape);
        }
        if stamp.length > FILE_BYTES_MAX {
            let (bytes, bytes_max) = (stamp.length, FILE_BYTES_MAX);
            return Err(FileError::TooLarge { bytes, bytes_max });
        }
        Ok(fs::read(&real)?)
    }

    fn content(&mut self, path: &Path) -> Result<Bytes, FileError> {
        let stamp = stamp(path)?;
        if let Some((known, content)) = self.contents.get(path)
            && *known == stamp
        {
            return Ok(content.clone());
        }
        let content = Bytes::from(self.read(path, &stamp)?);
        if let Some((_, old)) = self.contents.remove(path) {
            self.kept_bytes -= old.len();
        }
        if self.kept_bytes + content.len() <= KEPT_BYTES_MAX {
            self.kept_bytes += content.len();
            self.contents.insert(path.to_owned(), (stamp, content.clone()));
        }
        Ok(content)
    }

    /// The names in the innermost folder that exists, those that begin like the wanted one first.
    fn nothing(&mut self, wanted: &Wanted, folders: &[PathBuf]) -> Result<Found, FolderError> {
        let depth = folders.len() - 1;
        let before: String = wanted.folders[..depth].iter().flat_map(|one| ["/", one]).collect();
        let next = wanted.folders.get(depth).unwrap_or(&wanted.name).clone();
        let names = self.listing(&folders[depth])?;
        let shared =
            |name: &str| name.bytes().zip(next.bytes()).take_while(|(a, b)| a == b).count();
        let mut near: Vec<&String> =
            names.iter().filter(|name| !name.starts_with(['_', '.'])).collect();
        near.sort_by(|a, b| shared(b).cmp(&shared(a)).then(a.cmp(b)));
        near.truncate(NEAR_MAX);
        let near = near.into_iter().map(|name| format!("{before}/{name}")).collect();
        Ok(Found::Nothing { near })
    }
}

fn stamp(path: &Path) -> io::Result<Stamp> {
    let metadata = fs::metadata(path)?;
    Ok(Stamp { modified: metadata.modified().ok(), length: metadata.len() })
}

/// The names in a folder, sub-folders with a slash at the end; names that are no UTF-8 can not be
/// asked for and are left out.
fn read_names(folder: &Path) -> Result<Vec<String>, FileError> {
    let mut names = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if names.len() == NAMES_PER_FOLDER_MAX {
            return Err(FileError::TooMany);
        }
        if let Ok(mut name) = entry.file_name().into_string() {
            if entry.path().is_dir() {
                name.push('/');
            }
            names.push(name);
        }
    }
    names.sort();
    Ok(names)
}
