//! The executable as a file and what it says of itself: its version, and its debug information apart.

use std::{fs, path::Path, process::Command};

use super::{binary, folder, run};

#[test]
fn the_version_names_commit_and_build_and_no_path() {
    let folder = folder(&[]);
    let finished = run(&["--version"], folder.path(), "");
    assert_eq!(finished.code(), Some(0));
    assert_eq!(run(&["-V"], folder.path(), "").stdout, finished.stdout);
    let version = concat!("qlio ", env!("CARGO_PKG_VERSION"), " (commit ");
    let build = finished.stdout.strip_prefix(version).unwrap_or_default();
    let (commit, build) = build.split_once(", ").unwrap_or_else(|| panic!("{}", finished.stdout));
    let (hash, day) = commit.split_once(" of ").unwrap_or((commit, ""));
    let is_hash = hash.len() >= 7 && hash.bytes().all(|byte| byte.is_ascii_hexdigit());
    assert!(commit == "unknown" || (is_hash && day.starts_with("20")), "{commit}");
    assert!(build.contains(" build for ") && build.ends_with(")\n"), "{build}");
    assert!(!finished.stdout.contains('/'), "{}", finished.stdout);
}

fn has_section(executable: &[u8], name: &[u8]) -> bool {
    executable.windows(name.len()).any(|window| window == name)
}

#[test]
fn debug_information_is_taken_out_and_the_executable_still_runs() {
    let folder = folder(&[]);
    let copy = folder.path().join("qlio");
    fs::copy(binary(), &copy).unwrap();
    let before = fs::read(&copy).unwrap();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/split-debug");
    let split = Command::new(&script).arg("qlio").current_dir(folder.path()).output().unwrap();
    assert!(split.status.success(), "{}", String::from_utf8_lossy(&split.stderr));
    let after = fs::read(&copy).unwrap();
    assert!(!has_section(&after, b".symtab\0") && has_section(&after, b".gnu_debuglink\0"));
    // Some builds leave symbols out from the start.
    if has_section(&before, b".symtab\0") {
        assert!(after.len() < before.len(), "{} of {} bytes", after.len(), before.len());
    }
    assert!(fs::read(folder.path().join("qlio.debug")).unwrap().starts_with(b"\x7fELF"));
    let run = Command::new(&copy).args(["run", "-e", "return 1"]).output().unwrap();
    assert_eq!((run.status.code(), &*run.stdout), (Some(0), &b"1\n"[..]));
    let nothing = Command::new(&script).arg(folder.path().join("none")).output().unwrap();
    assert_eq!(nothing.status.code(), Some(2));
}
