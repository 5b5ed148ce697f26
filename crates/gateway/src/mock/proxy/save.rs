//! Saved configurations: one file per change, so that every state can be gone back to.

use std::{
    collections::VecDeque,
    fs::{self, File},
    io::{self, Write as _},
    path::PathBuf,
    time::{SystemTime, UNIX_EPOCH},
};

use qlio_data::{Value, codec::json};

/// How many files one process leaves behind; the oldest go first.
const FILES_MAX: usize = 1000;

/// Writes `<milliseconds>.json` files.
#[derive(Debug)]
pub(super) struct Saver {
    folder: PathBuf,
    written: VecDeque<PathBuf>,
}

/// A configuration that is not saved; in words for the client.
#[derive(Debug, thiserror::Error)]
#[error("the change can not be saved in `{folder}`: {error}")]
pub(super) struct SaveError {
    folder: PathBuf,
    error: io::Error,
}

impl Saver {
    pub(super) fn new(folder: PathBuf) -> Self {
        Self { folder, written: VecDeque::new() }
    }

    /// Saves a configuration.
    ///
    /// # Errors
    /// The file can not be written.
    pub(super) fn save(&mut self, config: &Value) -> Result<(), SaveError> {
        self.write(config).map_err(|error| SaveError { folder: self.folder.clone(), error })
    }

    fn write(&mut self, config: &Value) -> io::Result<()> {
        fs::create_dir_all(&self.folder)?;
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let mut milliseconds = now.as_millis();
        let (path, mut file) = loop {
            let path = self.folder.join(format!("{milliseconds}.json"));
            match File::create_new(&path) {
                Ok(file) => break (path, file),
                // Two changes within a millisecond.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => milliseconds += 1,
                Err(error) => return Err(error),
            }
        };
        file.write_all(json::to_string(config).as_bytes())?;
        self.written.push_back(path);
        if self.written.len() > FILES_MAX
            && let Some(oldest) = self.written.pop_front()
        {
            // Somebody else may have tidied up.
            let _gone = fs::remove_file(oldest);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_at_the_same_time_have_files_of_their_own_and_the_oldest_go() {
        let folder = tempfile::tempdir().unwrap();
        let mut saver = Saver::new(folder.path().join("saves"));
        for count in 0..FILES_MAX + 5 {
            saver.save(&Value::int(i64::try_from(count).unwrap())).unwrap();
        }
        let mut kept: Vec<_> =
            fs::read_dir(folder.path().join("saves")).unwrap().map(|e| e.unwrap().path()).collect();
        kept.sort();
        assert_eq!(kept.len(), FILES_MAX);
        assert_eq!(fs::read_to_string(&kept[0]).unwrap(), "5");
    }
}
