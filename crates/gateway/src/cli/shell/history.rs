//! Where the inputs of earlier shells are kept: a file for its owner only, or nowhere.

use std::{
    env, fs, io,
    os::unix::fs::DirBuilderExt,
    path::{Path, PathBuf},
};

use anyhow::Context;

/// Names the file; the empty text means none.
const VARIABLE: &str = "QLIO_HISTORY";

/// The file of the history, if one is to be kept; its folder is there afterwards.
///
/// # Errors
/// Why it cannot be kept.
pub(super) fn file() -> anyhow::Result<Option<PathBuf>> {
    let Some(file) = named(&|name| env::var_os(name).map(PathBuf::from)) else { return Ok(None) };
    usable(&file).with_context(|| format!("`{}`", file.display()))?;
    Ok(Some(file))
}

/// What the environment says: the file itself, or where the system keeps the state of programs.
fn named(variable: &dyn Fn(&str) -> Option<PathBuf>) -> Option<PathBuf> {
    if let Some(file) = variable(VARIABLE) {
        return (!file.as_os_str().is_empty()).then_some(file);
    }
    let absolute = |name: &str| variable(name).filter(|path| path.is_absolute());
    let state = absolute("XDG_STATE_HOME")
        .or_else(|| Some(absolute("HOME")?.join(".local").join("state")))?;
    Some(state.join("qlio").join("history"))
}

/// Makes the folder, and refuses what is no file: its mode will be changed.
fn usable(file: &Path) -> io::Result<()> {
    if let Some(folder) = file.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    }
    match fs::metadata(file) {
        Ok(found) if !found.is_file() => Err(io::Error::other("this is no file")),
        Err(reason) if reason.kind() != io::ErrorKind::NotFound => Err(reason),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_environment_says_where() {
        let found = |variables: &[(&str, &str)]| {
            let variable = |name: &str| {
                variables.iter().find(|(known, _)| *known == name).map(|(_, value)| value.into())
            };
            named(&variable).map(|path| path.display().to_string())
        };
        assert_eq!(found(&[("HOME", "/h")]).as_deref(), Some("/h/.local/state/qlio/history"));
        let state = [("HOME", "/h"), ("XDG_STATE_HOME", "/s")];
        assert_eq!(found(&state).as_deref(), Some("/s/qlio/history"));
        assert_eq!(found(&[("QLIO_HISTORY", "h.txt"), ("HOME", "/h")]).as_deref(), Some("h.txt"));
        assert_eq!(found(&[("QLIO_HISTORY", ""), ("HOME", "/h")]), None);
        assert_eq!(found(&[("XDG_STATE_HOME", "relative")]), None);
    }

    #[test]
    fn what_is_no_file_is_left_alone() {
        let folder = tempfile::tempdir().expect("a folder");
        assert!(usable(&folder.path().join("a/b/history")).is_ok());
        assert!(usable(Path::new("/dev/null")).is_err());
        assert!(usable(folder.path()).is_err());
    }
}
