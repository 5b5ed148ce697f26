//! One log file and its older siblings: appended to, renamed when it is full, the oldest removed.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, BufWriter, Write},
    os::unix::fs::OpenOptionsExt,
    path::PathBuf,
};

/// A file that would become larger than this gives way to a new one, in bytes (LOG-2).
const FILE_BYTES_MAX: u64 = 5_120_000;

/// Older files that are kept; the newest one has the number 1.
const OLDER_FILES_MAX: u32 = 10;

/// Who may read a log file: its owner and group, as requests of clients stand in it (LOG-8).
const FILE_MODE: u32 = 0o640;

pub(super) struct RotatedFile {
    folder: PathBuf,
    stem: &'static str,
    out: BufWriter<File>,
    bytes: u64,
    bytes_max: u64,
}

impl RotatedFile {
    /// Goes on with `<stem>.log` in the folder.
    pub(super) fn open(folder: PathBuf, stem: &'static str) -> io::Result<Self> {
        Self::open_with(folder, stem, FILE_BYTES_MAX)
    }

    fn open_with(folder: PathBuf, stem: &'static str, bytes_max: u64) -> io::Result<Self> {
        let file = OpenOptions::new()
            .create(true)
            .append(true)
            .mode(FILE_MODE)
            .open(folder.join(format!("{stem}.log")))?;
        let bytes = file.metadata()?.len();
        Ok(Self { folder, stem, out: BufWriter::new(file), bytes, bytes_max })
    }

    /// Appends a line, in a new file if it has no room in this one.
    pub(super) fn write(&mut self, line: &[u8]) -> io::Result<()> {
        let length = line.len() as u64;
        if self.bytes > 0 && self.bytes + length > self.bytes_max {
            self.rotate()?;
        }
        self.out.write_all(line)?;
        self.bytes += length;
        Ok(())
    }

    pub(super) fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }

    fn rotate(&mut self) -> io::Result<()> {
        self.out.flush()?;
        let older = |number: u32| self.folder.join(format!("{}{number}.log", self.stem));
        for number in (1..OLDER_FILES_MAX).rev() {
            match fs::rename(older(number), older(number + 1)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        fs::rename(self.folder.join(format!("{}.log", self.stem)), older(1))?;
        *self = Self::open_with(self.folder.clone(), self.stem, self.bytes_max)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_file_gives_way_and_the_oldest_goes() {
        let folder = tempfile::tempdir().expect("a folder");
        let read = |name: &str| fs::read_to_string(folder.path().join(name)).ok();
        let open =
            || RotatedFile::open_with(folder.path().to_owned(), "ql.io", 20).expect("opened");
        let mut file = open();
        for number in 0..30 {
            file.write(format!("line {number:02}\n").as_bytes()).expect("written");
            if number == 4 {
                // A restart goes on where the file ends.
                file.flush().expect("flushed");
                file = open();
            }
        }
        file.flush().expect("flushed");
        assert_eq!(read("ql.io.log").as_deref(), Some("line 28\nline 29\n"));
        assert_eq!(read("ql.io1.log").as_deref(), Some("line 26\nline 27\n"));
        assert_eq!(read("ql.io10.log").as_deref(), Some("line 08\nline 09\n"));
        assert_eq!(read("ql.io11.log"), None);
    }

    #[test]
    fn others_may_not_read_it() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().expect("a folder");
        let mut file =
            RotatedFile::open_with(folder.path().to_owned(), "access", 10).expect("opened");
        file.write(b"a long line of text\n").expect("written");
        file.write(b"another one\n").expect("written");
        file.flush().expect("flushed");
        for name in ["access.log", "access1.log"] {
            let mode = fs::metadata(folder.path().join(name)).expect("there").permissions().mode();
            // The mask of the process may take more away.
            assert_eq!(mode & 0o777 & !FILE_MODE, 0, "{name}: {mode:o}");
            assert_eq!(mode & 0o600, 0o600, "{name}: {mode:o}");
        }
    }

    #[test]
    fn a_line_longer_than_a_file_has_one_of_its_own() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut file =
            RotatedFile::open_with(folder.path().to_owned(), "access", 10).expect("opened");
        for line in ["short\n", "much longer than ten bytes\n", "short\n"] {
            file.write(line.as_bytes()).expect("written");
        }
        file.flush().expect("flushed");
        let older = fs::read_to_string(folder.path().join("access1.log")).expect("rotated");
        assert_eq!(older, "much longer than ten bytes\n");
    }
}
