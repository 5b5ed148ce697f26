//! Real servers around the engine under test: caches, web servers, forward proxies.
//!
//! In goes a [`Program`], out comes a [`Running`] one: on a free port of loopback, with a folder and
//! a process group of its own, waited for until it answers, and killed with all its children when the
//! handle is dropped. It can be killed and started again on the same port in the middle of a test.
//!
//! A program that is not installed skips the test with a note; under `CI=true`, where nothing may be
//! skipped, it fails the test. The programs are Debian packages that `scripts/test` installs.

mod authority;
mod cache_server;
mod nginx;
mod prometheus;
mod tinyproxy;

use std::{
    env, fs,
    io::{self, Read as _, Write as _},
    net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream},
    os::unix::process::CommandExt as _,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use tempfile::TempDir;

pub use self::{
    authority::{Authority, Identity},
    cache_server::CacheServer,
    nginx::Nginx,
    prometheus::Prometheus,
    tinyproxy::Tinyproxy,
};
use crate::process::wait;

/// How long a program may take to start on a busy machine.
const START_TIME_MAX: Duration = Duration::from_secs(20);

/// Ports that somebody else may take between our look and the program's start.
const START_ATTEMPTS: usize = 5;

/// Where programs for administrators are, which is not always on the path.
const MORE_FOLDERS: [&str; 2] = ["/usr/sbin", "/usr/local/sbin"];

/// How to run one program.
pub trait Program {
    /// The name of the executable.
    fn executable(&self) -> &'static str;

    /// Arguments, after having written into the folder whatever the program reads. It must stay in
    /// the foreground and listen to this port of 127.0.0.1.
    ///
    /// # Errors
    /// A file cannot be written.
    fn configure(&self, command: &mut Command, port: u16, folder: &Path) -> io::Result<()>;

    /// Whether the program does its work, asked on a connection that was accepted.
    fn is_at_work(&self, _stream: &mut TcpStream) -> bool {
        true
    }
}

/// A running program.
#[derive(Debug)]
pub struct Running<P> {
    program: P,
    executable: PathBuf,
    port: u16,
    process: Option<Child>,
    folder: TempDir,
}

impl<P: Program> Running<P> {
    /// Starts a program; `None` if it is not installed and the test is to be skipped.
    ///
    /// # Panics
    /// If the program is there but does not start, or is missing where nothing may be skipped.
    pub fn start(program: P) -> Option<Self> {
        let executable = installed(program.executable())?;
        let folder = TempDir::new().expect("a folder");
        let mut running = Self { program, executable, port: 0, process: None, folder };
        for _ in 0..START_ATTEMPTS {
            running.port = free_port();
            if running.run() {
                return Some(running);
            }
        }
        panic!("`{}` does not start: {}", running.program.executable(), running.messages());
    }

    /// The port it listens to.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        (Ipv4Addr::LOCALHOST, self.port).into()
    }

    /// The folder it was started in.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Ends it and its children at once.
    ///
    /// # Panics
    /// If the system refuses to end what we have started.
    pub fn kill(&mut self) {
        let Some(mut process) = self.process.take() else { return };
        // Fails only if the whole group has ended already.
        let _killed = kill_process_group(id_of(&process), Signal::KILL);
        process.wait().expect("it is ours and has been killed");
    }

    /// Kills it if it runs, and starts it again on the same port.
    ///
    /// # Panics
    /// If it does not start.
    pub fn restart(&mut self) {
        self.kill();
        let deadline = Instant::now() + START_TIME_MAX;
        while !self.run() {
            assert!(Instant::now() < deadline, "it does not start again: {}", self.messages());
        }
    }

    /// Sends a signal to the program itself, not to its children.
    ///
    /// # Panics
    /// If it does not run.
    pub fn signal(&self, signal: Signal) {
        let process = self.process.as_ref().expect("it runs");
        kill_process(id_of(process), signal).expect("it is ours and runs");
    }

    /// Sends bytes on a connection of its own and reads up to `end`.
    ///
    /// # Panics
    /// If it does not accept the connection.
    pub fn raw(&self, request: &[u8], end: &[u8]) -> Vec<u8> {
        let mut stream = TcpStream::connect(self.address()).expect("it listens");
        exchange(&mut stream, request, end)
    }

    /// Whether the program runs and answers.
    fn run(&mut self) -> bool {
        self.kill();
        let mut command = Command::new(&self.executable);
        self.program
            .configure(&mut command, self.port, self.folder.path())
            .expect("the folder is ours");
        let messages = fs::File::create(self.messages_file()).expect("the folder is ours");
        command.current_dir(self.folder.path()).process_group(0);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(messages);
        let process = self.process.insert(command.spawn().expect("the program is there"));
        let mut connected = None;
        wait(START_TIME_MAX, || {
            let has_ended = !matches!(process.try_wait(), Ok(None));
            connected = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port)).ok();
            has_ended || connected.is_some()
        });
        // Somebody else may listen to the port, and ours have ended because of that.
        let is_running = matches!(process.try_wait(), Ok(None));
        connected.is_some_and(|mut stream| is_running && self.program.is_at_work(&mut stream))
    }

    fn messages_file(&self) -> PathBuf {
        self.folder.path().join("messages.log")
    }

    fn messages(&self) -> String {
        fs::read_to_string(self.messages_file()).unwrap_or_default()
    }
}

impl<P> Drop for Running<P> {
    fn drop(&mut self) {
        if let Some(process) = &mut self.process {
            // Both fail only if it has ended already.
            let _killed = kill_process_group(id_of(process), Signal::KILL);
            let _reaped = process.wait();
        }
    }
}

/// A port on which nobody listens.
///
/// # Panics
/// If the system has none.
pub fn free_port() -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
    listener.local_addr().expect("an address").port()
}

/// Where a program is; `None`, with a note, if the test is to be skipped.
///
/// # Panics
/// If it is missing where nothing may be skipped.
#[expect(clippy::print_stderr, reason = "a skipped test must say so")]
pub fn installed(executable: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    let found = env::split_paths(&path)
        .chain(MORE_FOLDERS.map(PathBuf::from))
        .map(|folder| folder.join(executable))
        .find(|file| file.is_file());
    if found.is_none() {
        assert!(env::var("CI").as_deref() != Ok("true"), "`{executable}` is not installed");
        eprintln!("skipped: `{executable}` is not installed");
    }
    found
}

fn id_of(process: &Child) -> Pid {
    let id = i32::try_from(process.id()).ok().and_then(Pid::from_raw);
    id.expect("process ids are positive and small")
}

/// Sends bytes and reads until they end with `end`, or nothing more comes.
fn exchange(stream: &mut TcpStream, request: &[u8], end: &[u8]) -> Vec<u8> {
    stream.set_read_timeout(Some(START_TIME_MAX)).expect("a timeout");
    let mut answer = Vec::new();
    let mut buffer = vec![0; 1 << 16];
    if stream.write_all(request).is_err() {
        return answer;
    }
    while !answer.ends_with(end) {
        match stream.read(&mut buffer) {
            Ok(0) | Err(_) => break,
            Ok(count) => answer.extend_from_slice(&buffer[..count]),
        }
    }
    answer
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A shell that leaves a child behind.
    struct Parent;

    impl Program for Parent {
        fn executable(&self) -> &'static str {
            "sh"
        }

        fn configure(&self, command: &mut Command, _port: u16, _folder: &Path) -> io::Result<()> {
            command.args(["-c", "sleep 600 & echo $! > child; echo gone >&2; exit 1"]);
            Ok(())
        }
    }

    #[test]
    #[should_panic(expected = "`sh` does not start: gone")]
    fn a_program_that_ends_by_itself_does_not_start() {
        let _running = Running::start(Parent);
    }

    #[test]
    fn a_program_that_is_missing_is_none() {
        if env::var("CI").as_deref() != Ok("true") {
            assert_eq!(installed("no-such-program"), None);
        }
    }
}
