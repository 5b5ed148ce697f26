//! A settings file as it is read: bytes from the disk, to values and their places.

use std::{
    fs::File,
    io::Read,
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
        match read_text(file) {
            Ok(text) => Self::parse(&text, file),
            Err(reason) => Self::unusable(file, None, Fault::Unreadable(reason)),
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

fn read_text(file: &Path) -> Result<String, String> {
    let mut text = String::new();
    let opened = File::open(file).map_err(|error| error.to_string())?;
    let read = opened.take(FILE_BYTES_MAX + 1).read_to_string(&mut text);
    read.map_err(|error| error.to_string())?;
    if text.len() as u64 > FILE_BYTES_MAX {
        return Err(format!("it has more than {FILE_BYTES_MAX} bytes"));
    }
    Ok(text)
}
