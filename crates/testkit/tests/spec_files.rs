//! The case files of the workspace can all be read, and every folder says what belongs there.

use std::collections::BTreeSet;
use std::path::Path;

use qlio_testkit::case::load::load_folder;

const FOLDERS: [&str; 12] = [
    "syntax",
    "plan",
    "exec",
    "expression",
    "join",
    "codec",
    "patch",
    "route",
    "select",
    "limit",
    "issue",
    "gap",
];

#[test]
fn every_case_file_can_be_read() {
    let spec = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../spec");
    let (files, errors) = load_folder(&spec);
    let errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
    assert!(errors.is_empty(), "{}", errors.join("\n"));
    assert!(!files.is_empty());
    for file in files {
        assert!(!file.cases.is_empty(), "{} has no cases", file.path.display());
        let folder = file.path.strip_prefix(&spec).ok().and_then(|path| path.iter().next());
        let folder = folder.and_then(|name| name.to_str());
        assert!(folder.is_some_and(|name| FOLDERS.contains(&name)), "{}", file.path.display());
    }
}

#[test]
fn every_folder_says_what_belongs_there() {
    let spec = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../spec");
    let without: BTreeSet<&str> =
        FOLDERS.into_iter().filter(|name| !spec.join(name).join("README.md").is_file()).collect();
    assert!(without.is_empty(), "no README.md in {without:?}");
}
