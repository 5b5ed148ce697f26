//! A route file that the console may read and write, in development mode (CSL-7).
//!
//! In: the folder of routes, and the name that a page gives. Out: what the file holds, and the same with another text.
//! Promises: nothing outside of the folder is read or written, whatever the name and whatever links lie in it; a file
//! is replaced as a whole or not at all; what has changed since it was read is not replaced. Whether a text is a good
//! route is for others to say.

use std::{
    ffi::OsStr,
    fmt::Write as _,
    fs,
    io::{self, Write as _},
    path::{Path, PathBuf},
};

use qlio_data::Value;
use sha2::{Digest as _, Sha256};

use crate::reload::draft::{Refusal, TEXT_BYTES_MAX};

/// The longest name of a file, with its folders.
const NAME_BYTES_MAX: usize = 200;

/// Folders inside of each other that a name may have.
const FOLDERS_MAX: usize = 8;

/// Bytes of the digest that tell versions apart.
const VERSION_BYTES: usize = 16;

/// The name of a route file below the folder of routes, such as `shop/products.ql`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RouteFileName(String);

/// Why a name is none of a route file.
#[derive(Debug, thiserror::Error)]
pub enum RouteFileNameError {
    /// It is too long.
    #[error("the name of a file may have {NAME_BYTES_MAX} bytes")]
    TooLong,
    /// It has too many folders.
    #[error("a file may lie in {FOLDERS_MAX} folders inside of each other")]
    TooDeep,
    /// It is none on some system, leads out of the folder or is passed over.
    #[error(
        "the name of a file below the folder of routes is of letters, digits, `.`, `_` and `-`, \
         with `/` between folders, and no part of it begins with a dot"
    )]
    Part,
    /// It is that of another file.
    #[error("the name of a route file ends with `.ql`")]
    Ending,
}

impl RouteFileName {
    /// Takes a name that stays in its folder on every system, and that loading does not pass over.
    ///
    /// # Errors
    /// Any other, with the reason.
    pub fn parse(text: &str) -> Result<Self, RouteFileNameError> {
        if text.len() > NAME_BYTES_MAX {
            return Err(RouteFileNameError::TooLong);
        }
        let parts: Vec<&str> = text.split('/').collect();
        if parts.len() > FOLDERS_MAX + 1 {
            return Err(RouteFileNameError::TooDeep);
        }
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
        let is_part = |part: &&str| {
            !part.is_empty() && !part.starts_with(['.', '-']) && part.bytes().all(is_plain)
        };
        if !parts.iter().all(is_part) {
            return Err(RouteFileNameError::Part);
        }
        if Path::new(text).extension() != Some(OsStr::new("ql")) {
            return Err(RouteFileNameError::Ending);
        }
        Ok(Self(text.to_owned()))
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A route file, whether it is there or not.
#[derive(Debug)]
pub(crate) struct RouteFile {
    /// Where it is, as loading calls it.
    pub path: PathBuf,
    name: String,
}

impl RouteFile {
    /// The file of this name, in a folder that need not be there yet.
    ///
    /// # Errors
    /// A link leads it out of the folder, or it is no file.
    pub(crate) fn find(folder: &Path, name: &RouteFileName) -> Result<Self, Refusal> {
        let mut path = folder.to_owned();
        let mut parts = name.as_str().split('/').peekable();
        while let Some(part) = parts.next() {
            path.push(part);
            // The folder of routes may itself be a link of the operator's; what lies in it may not.
            let kind = match fs::symlink_metadata(&path) {
                Ok(metadata) => metadata.file_type(),
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(error) => return Err(failed(name.as_str(), &error)),
            };
            let is_right = if parts.peek().is_some() { kind.is_dir() } else { kind.is_file() };
            if !is_right {
                let wanted = if parts.peek().is_some() { "folder" } else { "file" };
                let message = format!(
                    "`{part}` of `{}` is there and is no plain {wanted}; links are not followed",
                    name.as_str()
                );
                return Err(Refusal::new(400, message));
            }
        }
        Ok(Self { path, name: name.as_str().to_owned() })
    }

    /// Its text; `None` if it is not there.
    ///
    /// # Errors
    /// It cannot be read, or is no text that a page could show.
    pub(crate) fn read(&self) -> Result<Option<String>, Refusal> {
        let metadata = match fs::metadata(&self.path) {
            Ok(metadata) => metadata,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(failed(&self.name, &error)),
        };
        if metadata.len() > TEXT_BYTES_MAX as u64 {
            let message = format!("`{}` has more than {TEXT_BYTES_MAX} bytes", self.name);
            return Err(Refusal::new(413, message));
        }
        let bytes = fs::read(&self.path).map_err(|error| failed(&self.name, &error))?;
        let text = String::from_utf8(bytes);
        text.map(Some).map_err(|_| Refusal::new(400, format!("`{}` is not UTF-8", self.name)))
    }

    /// Puts a text into the place of the version that was read.
    ///
    /// # Errors
    /// It is another version by now; it cannot be written.
    pub(crate) fn write(&self, text: &str, version: Option<&str>) -> Result<(), Refusal> {
        self.expect(version)?;
        let failed = |error: io::Error| failed(&self.name, &error);
        let folder = self.path.parent().unwrap_or(Path::new(""));
        fs::create_dir_all(folder).map_err(failed)?;
        // Loading passes over names that begin with a dot.
        let beside = folder.join(format!(".draft-{}-{:x}", std::process::id(), fastrand::u64(..)));
        let written = (|| {
            let mut file = fs::OpenOptions::new().write(true).create_new(true).open(&beside)?;
            file.write_all(text.as_bytes())?;
            file.sync_all()?;
            if version.is_none() {
                // Unlike renaming, this does not replace what somebody else has put there meanwhile.
                fs::hard_link(&beside, &self.path)?;
                return fs::remove_file(&beside);
            }
            fs::set_permissions(&beside, fs::metadata(&self.path)?.permissions())?;
            fs::rename(&beside, &self.path)
        })();
        written.map_err(|error| {
            // What went wrong is told; that this goes wrong as well would add nothing.
            let _ = fs::remove_file(&beside);
            match error.kind() {
                io::ErrorKind::AlreadyExists => self.is_another(),
                _ => failed(error),
            }
        })
    }

    /// Removes the version that was read.
    ///
    /// # Errors
    /// It is another version by now, or was not there; it cannot be removed.
    pub(crate) fn remove(&self, version: Option<&str>) -> Result<(), Refusal> {
        if version.is_none() {
            return Err(Refusal::new(400, "to remove a file, say which `version` of it was read"));
        }
        self.expect(version)?;
        fs::remove_file(&self.path).map_err(|error| failed(&self.name, &error))
    }

    fn expect(&self, version: Option<&str>) -> Result<(), Refusal> {
        let now = self.read()?.map(|text| version_of(&text));
        if now.as_deref() == version { Ok(()) } else { Err(self.is_another()) }
    }

    /// Somebody else has written the file, or there is one already. What it holds now is told, so that nobody has to
    /// ask again.
    fn is_another(&self) -> Refusal {
        let now = self.read().ok().flatten();
        let words = if now.is_some() { "holds something else by now" } else { "has gone" };
        let version = now.as_deref().map_or(Value::Null, |text| Value::from(version_of(text)));
        Refusal::new(409, format!("`{}` {words}; look at it before it is replaced", self.name))
            .with("before", now.map_or(Value::Null, Value::from))
            .with("version", version)
    }
}

/// What tells a text from any other.
pub(crate) fn version_of(text: &str) -> String {
    let digest = Sha256::digest(text.as_bytes());
    digest.iter().take(VERSION_BYTES).fold(String::new(), |mut version, byte| {
        // Writing to a string cannot fail.
        let _ = write!(version, "{byte:02x}");
        version
    })
}

fn failed(name: &str, error: &io::Error) -> Refusal {
    Refusal::new(500, format!("`{name}` cannot be read or written: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(folder: &Path, name: &str) -> RouteFile {
        RouteFile::find(folder, &RouteFileName::parse(name).unwrap()).unwrap()
    }

    #[test]
    fn names_stay_in_their_folder() {
        for name in ["a.ql", "shop/a.ql", "a-b_c.d.ql", "A/B/c.ql", "1.ql"] {
            assert!(RouteFileName::parse(name).is_ok(), "{name}");
        }
        for name in [
            "",
            ".ql",
            "a",
            "a.js",
            "a.ql/",
            "/a.ql",
            "../a.ql",
            "a/../b.ql",
            "a//b.ql",
            "./a.ql",
            ".a.ql",
            "a/.b/c.ql",
            "a\\b.ql",
            "c:a.ql",
            "a b.ql",
            "a\0.ql",
            "ä.ql",
            "-a.ql",
            "~/a.ql",
            "a/b/c/d/e/f/g/h/i/j.ql",
            "a.ql\n",
            "%2e%2e/a.ql",
        ] {
            assert!(RouteFileName::parse(name).is_err(), "{name}");
        }
        assert!(RouteFileName::parse(&format!("{}.ql", "a".repeat(200))).is_err());
    }

    #[test]
    fn a_file_is_made_replaced_and_removed_only_as_it_was_read() {
        let folder = tempfile::tempdir().unwrap();
        let routes = folder.path().join("routes");
        let new = file(&routes, "shop/a.ql");
        assert_eq!(new.read().unwrap(), None);
        new.write("one", None).unwrap();
        assert_eq!(new.read().unwrap().as_deref(), Some("one"));
        let taken = new.write("two", None).unwrap_err();
        assert_eq!(
            (taken.status, taken.facts.get("before").cloned()),
            (409, Some(Value::from("one")))
        );
        assert_eq!(new.write("two", Some(&version_of("other"))).unwrap_err().status, 409);
        new.write("two", Some(&version_of("one"))).unwrap();
        assert_eq!(new.remove(None).unwrap_err().status, 400);
        assert_eq!(new.remove(Some(&version_of("one"))).unwrap_err().status, 409);
        assert_eq!(new.read().unwrap().as_deref(), Some("two"));
        new.remove(Some(&version_of("two"))).unwrap();
        assert_eq!(new.write("three", Some(&version_of("two"))).unwrap_err().status, 409);
        assert_eq!(fs::read_dir(routes.join("shop")).unwrap().count(), 0, "nothing is left over");
    }

    #[test]
    fn links_and_folders_are_no_route_files() {
        let folder = tempfile::tempdir().unwrap();
        let (routes, outside) = (folder.path().join("routes"), folder.path().join("outside"));
        fs::create_dir_all(routes.join("folder.ql")).unwrap();
        fs::create_dir_all(&outside).unwrap();
        fs::write(outside.join("secret.ql"), "secret").unwrap();
        std::os::unix::fs::symlink(&outside, routes.join("out")).unwrap();
        std::os::unix::fs::symlink(outside.join("secret.ql"), routes.join("link.ql")).unwrap();
        std::os::unix::fs::symlink(outside.join("new.ql"), routes.join("dangling.ql")).unwrap();
        fs::write(routes.join("plain.ql"), "plain").unwrap();
        for name in
            ["folder.ql", "out/secret.ql", "out/new.ql", "link.ql", "dangling.ql", "plain.ql/a.ql"]
        {
            let name = RouteFileName::parse(name).unwrap();
            assert_eq!(
                RouteFile::find(&routes, &name).unwrap_err().status,
                400,
                "{}",
                name.as_str()
            );
        }
    }
}
