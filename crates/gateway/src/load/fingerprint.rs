//! What tells one catalog from another: a digest of all texts that it is made of.
//!
//! In: scripts and the files beside them. Out: a text that is the same wherever the same files are loaded, whatever
//! their folder is called, and another one as soon as a byte of them or a name differs (OBS-9).

use std::{borrow::Cow, fmt::Write as _};

use qlio_plan::catalog::{Unreadable, sources::Source};
use sha2::{Digest as _, Sha256};

use super::{CatalogFolders, ScriptText};

/// Bytes of the digest that are told.
const TOLD_BYTES: usize = 16;

/// A file of a catalog, and what tells its content from any other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileDigest {
    /// How messages call it.
    pub file: String,
    /// The digest of its content, or of why it cannot be read.
    pub digest: [u8; TOLD_BYTES],
}

/// The fingerprint of these scripts, in the order in which they are loaded, and of the files beside them; with the
/// digests of all of them.
pub(super) fn of<'s>(
    folders: &CatalogFolders,
    scripts: impl Iterator<Item = &'s ScriptText>,
    beside: impl Iterator<Item = (&'s str, &'s Source)>,
) -> (String, Vec<FileDigest>) {
    let mut digest = Sha256::new();
    let mut files = Vec::new();
    let mut add = |shown: &str, name: &str, content: Result<&[u8], &Unreadable>| {
        let content = content
            .map_or_else(|reason| Cow::Owned(reason.to_string().into_bytes()), Cow::Borrowed);
        let mut own = [0; TOLD_BYTES];
        own.copy_from_slice(&Sha256::digest(&content)[..TOLD_BYTES]);
        files.push(FileDigest { file: shown.to_owned(), digest: own });
        // With their lengths, so that no text can stand for two.
        for part in [name.as_bytes(), &content] {
            digest.update((part.len() as u64).to_le_bytes());
            digest.update(part);
        }
    };
    for (file, text) in scripts {
        add(file, below(folders, file), text.as_ref().map(String::as_bytes));
    }
    for (path, source) in beside {
        add(path.trim_start_matches('/'), path, source.as_deref());
    }
    let told = digest.finalize().iter().take(TOLD_BYTES).fold(String::new(), |mut text, byte| {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    });
    (told, files)
}

/// The name of a file below the folder that it was found in.
fn below<'f>(folders: &CatalogFolders, file: &'f str) -> &'f str {
    let folders = [&folders.tables, &folders.routes].into_iter().flatten();
    let names = folders.filter_map(|folder| file.strip_prefix(&folder.display().to_string()));
    names.min_by_key(|name| name.len()).unwrap_or(file)
}
