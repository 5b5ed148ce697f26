//! A message that the user brings: a JSON file, and perhaps a schema.

use std::{
    fs,
    path::{Path, PathBuf},
};

use qlio_data::{
    Value,
    codec::{
        json,
        protobuf::{Message, Schema},
    },
};

use crate::{
    error::{BenchError, usage},
    limits::SAMPLE_BYTES_MAX,
};

/// The files and names that a user gives.
#[derive(Debug, Clone)]
pub struct SampleFiles {
    /// The message as JSON.
    pub sample: PathBuf,
    /// A `.proto` source or a descriptor set.
    pub schema: Option<PathBuf>,
    /// The message type; the only one of the schema without.
    pub message: Option<String>,
}

/// A message with its schema.
pub(super) struct Sample {
    pub(super) name: String,
    pub(super) value: Value,
    pub(super) message: Option<Message>,
}

impl SampleFiles {
    /// Reads the files.
    pub(super) fn read(&self) -> Result<Sample, BenchError> {
        let name = self.sample.display().to_string();
        let bytes = read(&self.sample)?;
        let text = std::str::from_utf8(&bytes).map_err(|error| {
            usage(format!("`{name}` is not UTF-8 at byte {}", error.valid_up_to()))
        })?;
        let value = json::parse_str(text).map_err(|error| {
            usage(format!("`{name}` is not JSON: {} at byte {}", error.reason, error.offset))
        })?;
        let value = value.into_tree();
        let message = match &self.schema {
            None if self.message.is_some() => {
                return Err(usage("`--message` needs `--proto`, the schema it is in"));
            }
            None => None,
            Some(schema) => Some(self.message(schema)?),
        };
        Ok(Sample { name, value, message })
    }

    fn message(&self, file: &Path) -> Result<Message, BenchError> {
        let shown = file.display();
        let bytes = read(file)?;
        let folder = file.parent().unwrap_or(Path::new("")).to_owned();
        let mut find = |name: &str| {
            let bytes = read(&folder.join(name)).ok()?;
            String::from_utf8(bytes).ok()
        };
        let name = file.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
        let schema = Schema::load(&name, &bytes, &mut find)
            .map_err(|error| usage(format!("cannot use `{shown}`: {error}")))?;
        let names: Vec<&str> = schema
            .message_names()
            .into_iter()
            .filter(|name| !name.starts_with("google.protobuf."))
            .collect();
        let wanted = match (&self.message, names.as_slice()) {
            (Some(wanted), _) => wanted.as_str(),
            (None, [only]) => only,
            (None, _) => {
                return Err(usage(format!(
                    "say which message the sample is with `--message`: {}",
                    names.join(", ")
                )));
            }
        };
        // Without its package a name will do if only one message has it.
        let suffix = format!(".{wanted}");
        let matching: Vec<&&str> = names.iter().filter(|name| name.ends_with(&suffix)).collect();
        let found = schema.message(wanted).or_else(|| match matching.as_slice() {
            [only] => schema.message(only),
            _ => None,
        });
        found.ok_or_else(|| {
            usage(format!("`{shown}` has no message `{wanted}`; it has {}", names.join(", ")))
        })
    }
}

fn read(file: &Path) -> Result<Vec<u8>, BenchError> {
    let failed = |reason: String| usage(format!("cannot read `{}`: {reason}", file.display()));
    let size = fs::metadata(file).map_err(|error| failed(error.to_string()))?.len();
    if size > SAMPLE_BYTES_MAX {
        return Err(failed(format!("it has more than {SAMPLE_BYTES_MAX} bytes")));
    }
    fs::read(file).map_err(|error| failed(error.to_string()))
}
