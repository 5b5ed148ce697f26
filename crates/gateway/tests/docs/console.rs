//! The console's files in the executable are those that its sources give. Nothing is built here: the build writes
//! down what it was made of.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use super::docs;

/// Whether a file beside `src` is one that the build reads.
fn is_source(name: &str) -> bool {
    [".json", ".mjs", ".html"].iter().any(|ending| name.ends_with(ending))
}

fn files_of(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { files.extend(files_of(&path)) } else { files.push(path) }
    }
    files
}

#[test]
fn the_console_is_built_of_its_sources() {
    let root = docs().join("../web/console");
    let beside = fs::read_dir(&root).unwrap().map(|entry| entry.unwrap().path());
    let beside = beside
        .filter(|path| path.file_name().and_then(|name| name.to_str()).is_some_and(is_source));
    let mut files: Vec<(String, PathBuf)> = beside
        .chain(files_of(&root.join("src")))
        .map(|path| (path.strip_prefix(&root).unwrap().to_str().unwrap().to_owned(), path))
        .collect();
    files.sort();
    assert!(files.len() > 10, "only {files:?}");
    let mut lines = String::new();
    for (name, path) in files {
        let digest = Sha256::digest(fs::read(path).unwrap());
        for byte in digest {
            write!(lines, "{byte:02x}").unwrap();
        }
        writeln!(lines, "  {name}").unwrap();
    }
    let written = fs::read_to_string(root.join("dist/SOURCES.sha256")).unwrap();
    assert!(
        lines == written,
        "web/console/dist is not what its sources give: run `npm ci && npm run build` in web/console"
    );
}
