//! A started process that names its address on the first line, and is ended when it is dropped.

use std::{
    ffi::OsStr,
    fs::File,
    io::{self, BufRead, BufReader, Read},
    net::SocketAddr,
    os::unix::process::CommandExt,
    path::Path,
    process::{Command, Stdio},
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, kill_process};

use crate::error::{BenchError, usage};

/// How long a process may take until it names its address.
const START_PATIENCE: Duration = Duration::from_secs(30);
/// How long a process may take to end in good order, before it is killed.
const END_PATIENCE: Duration = Duration::from_secs(5);
/// How often is looked whether it has ended.
const END_INTERVAL: Duration = Duration::from_millis(5);
/// Bytes of an address line.
const LINE_BYTES_MAX: u64 = 4096;
/// Bytes that are quoted of what a process printed before it failed.
const STDERR_BYTES_MAX: u64 = 2048;

/// A running process of this measurement.
#[derive(Debug)]
pub struct Child {
    process: std::process::Child,
    address: SocketAddr,
}

impl Child {
    /// Starts `executable` and waits until it prints `http://ADDRESS`. What it writes to stderr goes to
    /// `log`, for the error message.
    ///
    /// # Errors
    /// It cannot be started, ends early, or names no address.
    pub fn start<S: AsRef<OsStr>>(
        what: &str,
        executable: &Path,
        arguments: &[S],
        log: &Path,
    ) -> Result<Self, BenchError> {
        let broken = |error: io::Error| usage(format!("cannot start the {what}: {error}"));
        let stderr = File::create(log).map_err(broken)?;
        let process = Command::new(executable)
            .args(arguments)
            // Lines for each request, which there are in a container, would be measured, too.
            .env("QLIO_LOG_FORMAT", "none")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(stderr)
            // An interrupt from the keyboard is for this process, which then ends the others.
            .process_group(0)
            .spawn()
            .map_err(broken)?;
        // From here on dropping ends the process, whatever happens.
        let mut child = Self { process, address: SocketAddr::from(([127, 0, 0, 1], 0)) };
        let Some(stdout) = child.process.stdout.take() else {
            return Err(usage(format!("cannot read from the {what}")));
        };
        let (sender, line) = mpsc::channel();
        let reader = move || {
            let mut text = String::new();
            let mut stdout = BufReader::new(stdout.take(LINE_BYTES_MAX));
            let read = stdout.read_line(&mut text).map(|_| text);
            // Nobody waits any longer if the start took too long.
            let _ = sender.send(read);
        };
        thread::Builder::new().name("address".to_owned()).spawn(reader).map_err(broken)?;
        let text = line.recv_timeout(START_PATIENCE).map(Result::unwrap_or_default);
        let text = text.unwrap_or_default();
        let address = text.trim().strip_prefix("http://").and_then(|text| text.parse().ok());
        match address {
            Some(address) => {
                child.address = address;
                Ok(child)
            }
            None => Err(usage(format!("the {what} did not start: {}", reason(log)))),
        }
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Its process id.
    pub fn id(&self) -> u32 {
        self.process.id()
    }
}

/// The beginning of what it said on stderr.
fn reason(log: &Path) -> String {
    let mut text = String::new();
    let read = File::open(log).map(|file| file.take(STDERR_BYTES_MAX).read_to_string(&mut text));
    match read {
        Ok(_) if !text.trim().is_empty() => text.trim().to_owned(),
        _ => "it named no address".to_owned(),
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        // In good order, so that it can write what belongs at its end, such as a profile of itself. It may
        // have ended by itself, and is not reaped yet, so the id is its own.
        if let Some(id) = i32::try_from(self.id()).ok().and_then(Pid::from_raw) {
            let _ = kill_process(id, Signal::TERM);
        }
        let asked = Instant::now();
        while asked.elapsed() < END_PATIENCE {
            if !matches!(self.process.try_wait(), Ok(None)) {
                return;
            }
            thread::sleep(END_INTERVAL);
        }
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
