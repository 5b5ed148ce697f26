//! Why a file of an app is not there to be read.

use std::{fmt, io};

/// Why a file is not there to be read. Shown, it is what stands behind "cannot read the file: ".
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unreadable {
    /// Scripts sent by clients reach no files.
    Refused,
    /// It lies outside of the folder in which such files lie (CON-8).
    Outside,
    /// There is none of this name.
    NoSuchFile(String),
    /// It has more bytes than are read of a file.
    TooLong {
        /// How many are.
        bytes_max: u64,
    },
    /// It is no UTF-8.
    NotText {
        /// The first byte that is part of no character.
        at: usize,
    },
    /// The system says why.
    System(String),
}

impl fmt::Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused => f.write_str("files are not available to scripts sent by clients"),
            Self::Outside => f.write_str("it lies outside of the tables' folder"),
            Self::NoSuchFile(name) => write!(f, "no such file `{name}`"),
            Self::TooLong { bytes_max } => write!(f, "it has more than {bytes_max} bytes"),
            Self::NotText { at } => write!(f, "it is not UTF-8 at byte {at}"),
            Self::System(reason) => f.write_str(reason),
        }
    }
}

impl std::error::Error for Unreadable {}

impl From<io::Error> for Unreadable {
    fn from(error: io::Error) -> Self {
        Self::System(error.to_string())
    }
}

impl From<std::str::Utf8Error> for Unreadable {
    fn from(error: std::str::Utf8Error) -> Self {
        Self::NotText { at: error.valid_up_to() }
    }
}
