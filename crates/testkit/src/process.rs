//! Starts real executables, and makes sure that none outlives its test.
//!
//! A server names the address it is bound to, as a URL, in its first line on stdout; a command runs
//! to its end. Both are read completely, so that a full pipe stops nobody. Every wait has a
//! patience; who exceeds it is asked to stop (SIGTERM) and then made to (SIGKILL), by handle, never
//! by name.

use std::env;
use std::ffi::OsStr;
use std::fmt;
use std::io::{self, BufRead as _, BufReader, Read, Write as _};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

/// How much of one output stream is kept.
const OUTPUT_BYTES_MAX: usize = 16 * 1024 * 1024;
/// The longest pause between two looks at a process that is to end.
const LOOK_MS_MAX: u64 = 16;

/// Whether a server of ours writes lines for requests to stdout.
const LOG_FORMAT: &str = "QLIO_LOG_FORMAT";

/// The executable under test: the one that the environment variable `QLIO_EXECUTABLE` names, else the one that
/// was built with the tests.
pub fn executable(built: &'static str) -> PathBuf {
    env::var_os("QLIO_EXECUTABLE").map_or_else(|| built.into(), PathBuf::from)
}

/// How a process came to its end.
#[derive(Debug, Clone)]
pub struct Finished {
    /// Its exit status; none if it was killed for exceeding the patience.
    pub status: Option<ExitStatus>,
    /// Everything it wrote to stdout.
    pub stdout: String,
    /// Everything it wrote to stderr.
    pub stderr: String,
}

impl Finished {
    /// The exit code; none if a signal ended it.
    pub fn code(&self) -> Option<i32> {
        self.status.and_then(|status| status.code())
    }
}

/// A server that is running.
#[derive(Debug)]
pub struct ServerProcess {
    child: Child,
    url: String,
    address: SocketAddr,
    stdout: Output,
    stderr: Output,
}

/// A server that did not come up.
#[derive(Debug)]
pub struct StartError {
    /// What was waited for in vain.
    pub reason: String,
    /// What it wrote to stdout.
    pub stdout: String,
    /// What it wrote to stderr.
    pub stderr: String,
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}; stdout: `{}`; stderr: `{}`",
            self.reason,
            self.stdout.trim(),
            self.stderr.trim()
        )
    }
}

impl std::error::Error for StartError {}

impl ServerProcess {
    /// Starts a server in a folder and waits for its first line on stdout, which must hold a URL
    /// with the bound address.
    ///
    /// # Errors
    /// If it can not be started, ends, or stays silent for longer than the patience.
    pub fn start<S: AsRef<OsStr>>(
        binary: &Path,
        arguments: &[S],
        folder: &Path,
        environment: &[(&str, &str)],
        patience: Duration,
    ) -> Result<Self, StartError> {
        let failed =
            |reason: String| StartError { reason, stdout: String::new(), stderr: String::new() };
        let mut command = command(binary, arguments, folder, environment);
        if !environment.iter().any(|(name, _)| *name == LOG_FORMAT) {
            // Whether the tests run in a container makes no difference.
            command.env(LOG_FORMAT, "none");
        }
        let mut child = command.stdin(Stdio::null()).spawn().map_err(|error| {
            failed(format!("`{}` can not be started: {error}", binary.display()))
        })?;
        let (line, first_line) = channel();
        let stdout = Output::collect(child.stdout.take(), Some(line));
        let stderr = Output::collect(child.stderr.take(), None);
        let found = match first_line.recv_timeout(patience) {
            Ok(line) => {
                bound_address(&line).ok_or_else(|| format!("no address in `{}`", line.trim()))
            }
            Err(RecvTimeoutError::Timeout) => Err("it named no address in time".to_owned()),
            Err(RecvTimeoutError::Disconnected) => {
                Err("it ended without naming an address".to_owned())
            }
        };
        match found {
            Ok((url, address)) => Ok(Self { child, url, address, stdout, stderr }),
            Err(reason) => {
                end(&mut child, Duration::ZERO);
                Err(StartError { reason, stdout: stdout.complete(), stderr: stderr.complete() })
            }
        }
    }

    /// The URL as the server printed it, without a trailing slash.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The bound address.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The process id.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// What it has written to stdout so far.
    pub fn stdout(&self) -> String {
        self.stdout.so_far()
    }

    /// What it has written to stderr so far.
    pub fn stderr(&self) -> String {
        self.stderr.so_far()
    }

    /// Waits until the condition holds for what it wrote to stdout; false if the patience ends.
    pub fn wait_for_stdout(&self, patience: Duration, condition: impl Fn(&str) -> bool) -> bool {
        wait(patience, || condition(&self.stdout()))
    }

    /// Waits until the condition holds for what it wrote to stderr; false if the patience ends.
    pub fn wait_for_stderr(&self, patience: Duration, condition: impl Fn(&str) -> bool) -> bool {
        wait(patience, || condition(&self.stderr()))
    }

    /// Sends a signal.
    ///
    /// # Errors
    /// If the process has ended.
    pub fn signal(&self, signal: Signal) -> io::Result<()> {
        signal_child(&self.child, signal)
    }

    /// Whether it has ended by itself.
    pub fn has_ended(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(Some(_)) | Err(_))
    }

    /// Asks it to stop, and kills it if it has not within the patience.
    pub fn stop(mut self, patience: Duration) -> Finished {
        // If the signal does not arrive, the process has ended already.
        let _delivered = self.signal(Signal::TERM);
        self.finish(patience)
    }

    /// Waits for its own end, and kills it if that does not come within the patience.
    pub fn finish(&mut self, patience: Duration) -> Finished {
        let status = end(&mut self.child, patience);
        Finished { status, stdout: self.stdout.complete(), stderr: self.stderr.complete() }
    }
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        end(&mut self.child, Duration::ZERO);
    }
}

/// Runs a command in a folder to its end, with a text on stdin; kills it after the patience.
///
/// # Errors
/// If it can not be started.
pub fn run_to_end<S: AsRef<OsStr>>(
    binary: &Path,
    arguments: &[S],
    folder: &Path,
    stdin: &str,
    patience: Duration,
) -> io::Result<Finished> {
    run_in(binary, arguments, folder, &[], stdin, patience)
}

/// The same with variables of the environment.
///
/// # Errors
/// If it can not be started.
pub fn run_in<S: AsRef<OsStr>>(
    binary: &Path,
    arguments: &[S],
    folder: &Path,
    environment: &[(&str, &str)],
    stdin: &str,
    patience: Duration,
) -> io::Result<Finished> {
    let mut child =
        command(binary, arguments, folder, environment).stdin(Stdio::piped()).spawn()?;
    let stdout = Output::collect(child.stdout.take(), None);
    let stderr = Output::collect(child.stderr.take(), None);
    let feeder = child.stdin.take().map(|mut pipe| {
        let text = stdin.to_owned();
        // Who does not read its stdin to the end has its reasons; the outcome shows them.
        thread::spawn(move || pipe.write_all(text.as_bytes()).is_ok())
    });
    let status = end(&mut child, patience);
    if let Some(feeder) = feeder {
        let _fed = feeder.join();
    }
    Ok(Finished { status, stdout: stdout.complete(), stderr: stderr.complete() })
}

fn command<S: AsRef<OsStr>>(
    binary: &Path,
    arguments: &[S],
    folder: &Path,
    environment: &[(&str, &str)],
) -> Command {
    let mut command = Command::new(binary);
    command.args(arguments).current_dir(folder).env("NO_COLOR", "1");
    command.envs(environment.iter().copied()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Finds the first `http://host:port` in a line.
fn bound_address(line: &str) -> Option<(String, SocketAddr)> {
    let url = line.split_whitespace().find(|word| word.starts_with("http://"))?;
    let url = url.trim_end_matches(['/', '.', ',']);
    let address = url.strip_prefix("http://")?.parse().ok()?;
    Some((url.to_owned(), address))
}

fn signal_child(child: &Child, signal: Signal) -> io::Result<()> {
    let id = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let id = id.ok_or_else(|| io::Error::other("the process id is out of range"))?;
    Ok(kill_process(id, signal)?)
}

/// Waits for the end; after the patience makes it. None if it had to.
fn end(child: &mut Child, patience: Duration) -> Option<ExitStatus> {
    let mut status = None;
    wait(patience, || {
        status = child.try_wait().ok().flatten();
        status.is_some()
    });
    if status.is_none() {
        // Both fail only if it has ended in the meantime.
        let _killed = child.kill();
        let _reaped = child.wait();
    }
    status
}

/// Waits until the condition holds; false if the patience ends.
pub fn wait(patience: Duration, mut condition: impl FnMut() -> bool) -> bool {
    let deadline = Instant::now() + patience;
    let mut pause = 1;
    while !condition() {
        if Instant::now() >= deadline {
            return false;
        }
        thread::sleep(Duration::from_millis(pause));
        pause = (pause * 2).min(LOOK_MS_MAX);
    }
    true
}

/// An output stream that is read on a thread of its own.
#[derive(Debug)]
struct Output {
    text: Arc<Mutex<Vec<u8>>>,
    ended: Receiver<()>,
    _reader: JoinHandle<()>,
}

impl Output {
    fn collect<R: Read + Send + 'static>(
        source: Option<R>,
        first_line: Option<std::sync::mpsc::Sender<String>>,
    ) -> Self {
        let text = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&text);
        let (end, ended) = channel();
        let reader = thread::spawn(move || {
            if let Some(source) = source {
                read_lines(source, &kept, first_line);
            }
            let _listener = end.send(());
        });
        Self { text, ended, _reader: reader }
    }

    fn so_far(&self) -> String {
        let text = self.text.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&text).into_owned()
    }

    /// All of it, once the process has ended. A grandchild may keep the stream open: not waited for
    /// longer than a moment.
    fn complete(&self) -> String {
        let _ended = self.ended.recv_timeout(Duration::from_secs(5));
        self.so_far()
    }
}

fn read_lines<R: Read>(
    source: R,
    kept: &Mutex<Vec<u8>>,
    mut first_line: Option<std::sync::mpsc::Sender<String>>,
) {
    let mut source = BufReader::new(source);
    let mut line = Vec::new();
    loop {
        line.clear();
        match source.by_ref().take(OUTPUT_BYTES_MAX as u64).read_until(b'\n', &mut line) {
            Ok(0) | Err(_) => return,
            Ok(_) => {}
        }
        let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() + line.len() <= OUTPUT_BYTES_MAX {
            kept.extend_from_slice(&line);
        }
        drop(kept);
        if let Some(first) = first_line.take() {
            let _listener = first.send(String::from_utf8_lossy(&line).into_owned());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATIENCE: Duration = Duration::from_secs(10);

    fn shell(script: &str, stdin: &str, patience: Duration) -> Finished {
        run_to_end(Path::new("/bin/sh"), &["-c", script], Path::new("/"), stdin, patience).unwrap()
    }

    #[test]
    fn a_command_gets_its_stdin_and_gives_both_outputs_and_its_code() {
        let finished = shell("cat; echo oops >&2; exit 3", "a\nb", PATIENCE);
        assert_eq!((finished.code(), finished.stdout.as_str()), (Some(3), "a\nb"));
        assert_eq!(finished.stderr, "oops\n");
    }

    #[test]
    fn a_command_that_does_not_read_its_stdin_is_no_problem() {
        let finished = shell("exit 0", &"x".repeat(1_000_000), PATIENCE);
        assert_eq!(finished.code(), Some(0));
    }

    #[test]
    fn much_output_fits_through_the_pipe() {
        let finished = shell("head -c 3000000 /dev/zero | tr '\\0' 'x'", "", PATIENCE);
        assert_eq!(finished.stdout.len(), 3_000_000);
    }

    #[test]
    fn a_command_that_hangs_is_killed_after_the_patience() {
        let finished = shell("exec sleep 60", "", Duration::from_millis(50));
        assert!(finished.status.is_none());
    }

    #[test]
    fn the_first_line_names_the_address() {
        let script = "echo 'ready at http://127.0.0.1:4711/'; echo more; exec sleep 60";
        let arguments = ["-c", script];
        let server =
            ServerProcess::start(Path::new("/bin/sh"), &arguments, Path::new("/"), &[], PATIENCE);
        let server = server.unwrap();
        assert_eq!(server.url(), "http://127.0.0.1:4711");
        assert_eq!(server.address().port(), 4711);
        let finished = server.stop(PATIENCE);
        assert!(finished.status.is_some_and(|status| !status.success()));
    }

    #[test]
    fn a_server_that_ends_or_names_nothing_is_an_error_with_its_output() {
        let start = |script: &str, patience| {
            let arguments = ["-c", script];
            ServerProcess::start(Path::new("/bin/sh"), &arguments, Path::new("/"), &[], patience)
        };
        let error = start("echo why >&2; exit 2", PATIENCE).unwrap_err();
        assert_eq!(
            (error.reason.as_str(), error.stderr.as_str()),
            ("it ended without naming an address", "why\n")
        );
        let error = start("echo hello; exec sleep 60", PATIENCE).unwrap_err();
        assert_eq!(error.reason, "no address in `hello`");
        let error = start("exec sleep 60", Duration::from_millis(50)).unwrap_err();
        assert_eq!(error.reason, "it named no address in time");
    }

    #[test]
    fn a_server_that_ignores_the_request_to_stop_is_killed() {
        let script = "trap '' TERM; echo http://127.0.0.1:1; while :; do sleep 1; done";
        let arguments = ["-c", script];
        let server =
            ServerProcess::start(Path::new("/bin/sh"), &arguments, Path::new("/"), &[], PATIENCE);
        assert!(server.unwrap().stop(Duration::from_millis(50)).status.is_none());
    }
}
