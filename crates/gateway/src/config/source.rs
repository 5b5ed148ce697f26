//! A settings file as it is read: bytes from the disk, to values and their places.

use std::{
    fs::File,
    io::{self, Read},
    path::{Path, PathBuf},
};

use qlio_data::{Object, Value};
use qlio_syntax::source::Position;

use super::{
    format::{Format, Malformed},
    place::Places,
    problem::{ConfigProblem, Fault, Place},
};

/// Most bytes of a settings file.
const FILE_BYTES_MAX: u64 = 4 << 20;

/// The text of a settings file, understood as far as its format goes.
pub(super) struct Source {
    pub(super) file: PathBuf,
    /// As it stands in the file.
    pub(super) values: Value,
    pub(super) places: Places,
}

impl Source {
    fn empty(file: &Path) -> Self {
        let values = Value::object(Object::new());
        Self { file: file.to_owned(), values, places: Places::default() }
    }

    /// Reads a file; of one that cannot be used nothing is set, and the problem says why.
    pub(super) fn read(file: Option<&Path>) -> (Self, Option<ConfigProblem>) {
        let Some(file) = file else { return (Self::empty(Path::new("")), None) };
        match read_text(file, FILE_BYTES_MAX) {
            Ok(text) => Self::parse(&text, file),
            Err(error) => Self::unusable(file, None, Fault::Unreadable(error.to_string())),
        }
    }

    /// Reads a text, in the format that the name of the file says.
    pub(super) fn parse(text: &str, file: &Path) -> (Self, Option<ConfigProblem>) {
        let format = Format::of(file);
        match format.parse(text) {
            Ok((values, places)) if values.is_object() => {
                (Self { file: file.to_owned(), values, places }, None)
            }
            Ok(_) => Self::unusable(file, None, Fault::NoObject),
            Err(Malformed { position, reason }) => {
                Self::unusable(file, position, Fault::Malformed { format: format.name(), reason })
            }
        }
    }

    fn unusable(
        file: &Path,
        position: Option<Position>,
        fault: Fault,
    ) -> (Self, Option<ConfigProblem>) {
        let place = Place::File(file.to_owned(), position);
        // Whatever guards the server may stand in it.
        let problem = ConfigProblem { place, setting: None, is_guard: true, fault };
        (Self::empty(file), Some(problem))
    }

    /// Where a setting stands.
    pub(super) fn place(&self, path: &str) -> Place {
        Place::File(self.file.clone(), self.places.position(path))
    }
}

/// Reads a file of at most so many bytes.
///
/// # Errors
/// It cannot be read, is no UTF-8, or has more.
pub(super) fn read_text(file: &Path, bytes_max: u64) -> io::Result<String> {
    let mut text = String::new();
    File::open(file)?.take(bytes_max + 1).read_to_string(&mut text)?;
    if text.len() as u64 > bytes_max {
        return Err(io::Error::other(format!("it has more than {bytes_max} bytes")));
    }
    Ok(text)
}
