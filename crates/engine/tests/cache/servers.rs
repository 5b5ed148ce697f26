//! Starts memcached and Redis for one test each, on ports of their own.

use std::{
    io::{Read, Write},
    net::{TcpListener, TcpStream},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

/// How long a server may take to start on a busy machine.
const START_TIME_MAX: Duration = Duration::from_secs(20);

/// Ports that somebody else may take between our look and the server's start.
const START_ATTEMPTS: usize = 5;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Memcached,
    Redis,
    RedisCluster,
}

/// A running server; stopped when dropped.
pub(crate) struct Server {
    kind: Kind,
    port: u16,
    process: Option<Child>,
    folder: tempfile::TempDir,
}

/// A port on which nobody listens.
pub(crate) fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    listener.local_addr().expect("an address").port()
}

impl Server {
    /// Starts a server, or says why the test is skipped. Under `CI=true` nothing may be skipped.
    #[expect(clippy::print_stderr, reason = "a skipped test must say so")]
    pub(crate) fn start(kind: Kind) -> Option<Self> {
        let program = kind.program();
        if let Err(error) = Command::new(program).arg("--version").stdout(Stdio::null()).status() {
            assert!(std::env::var("CI").as_deref() != Ok("true"), "{program} is missing: {error}");
            eprintln!("skipped: {program} is missing: {error}");
            return None;
        }
        for _ in 0..START_ATTEMPTS {
            let folder = tempfile::tempdir().expect("a folder");
            let mut server = Self { kind, port: free_port(), process: None, folder };
            if server.run() {
                return Some(server);
            }
        }
        panic!("{program} does not start");
    }

    pub(crate) fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    pub(crate) fn kill(&mut self) {
        if let Some(mut process) = self.process.take() {
            process.kill().expect("the server is ours");
            process.wait().expect("it has ended");
        }
    }

    /// Starts it again on the same port.
    pub(crate) fn restart(&mut self) {
        self.kill();
        let deadline = Instant::now() + START_TIME_MAX;
        while !self.run() {
            assert!(Instant::now() < deadline, "the server does not start again");
        }
    }

    /// Whether the server runs and answers.
    fn run(&mut self) -> bool {
        let mut command = self.kind.command(self.port, self.folder.path());
        let command = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let process = self.process.insert(command.spawn().expect("the program is there"));
        let deadline = Instant::now() + START_TIME_MAX;
        while Instant::now() < deadline {
            if process.try_wait().expect("our process").is_some() {
                return false;
            }
            if let Ok(mut stream) = TcpStream::connect(("127.0.0.1", self.port)) {
                return self.kind.prepare(&mut stream);
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        false
    }

    /// Sends bytes on a connection of its own and reads up to `end`.
    pub(crate) fn raw(&self, request: &[u8], end: &[u8]) -> Vec<u8> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).expect("it listens");
        exchange(&mut stream, request, end)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill();
    }
}

impl Kind {
    fn program(self) -> &'static str {
        match self {
            Self::Memcached => "memcached",
            Self::Redis | Self::RedisCluster => "redis-server",
        }
    }

    fn command(self, port: u16, folder: &std::path::Path) -> Command {
        let mut command = Command::new(self.program());
        let port = port.to_string();
        match self {
            // It refuses to run as root without being told to; for others the option is ignored.
            Self::Memcached => {
                command.args(["-l", "127.0.0.1", "-U", "0", "-u", "root", "-p", &port])
            }
            Self::Redis | Self::RedisCluster => command
                .args(["--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--port", &port])
                .arg("--dir")
                .arg(folder),
        };
        if self == Self::RedisCluster {
            // The second port of a cluster node is by default ten thousand higher, maybe too high.
            let bus_port = free_port().to_string();
            command.args(["--cluster-enabled", "yes", "--cluster-port", &bus_port]);
        }
        command
    }

    /// Waits until the server does its work.
    fn prepare(self, stream: &mut TcpStream) -> bool {
        match self {
            Self::Memcached => exchange(stream, b"version\r\n", b"\r\n").starts_with(b"VERSION"),
            Self::Redis => exchange(stream, b"PING\r\n", b"\r\n") == b"+PONG\r\n",
            Self::RedisCluster => {
                exchange(stream, b"CLUSTER ADDSLOTSRANGE 0 16383\r\n", b"\r\n");
                let deadline = Instant::now() + START_TIME_MAX;
                while Instant::now() < deadline {
                    let set = exchange(stream, b"SET probe x\r\n", b"\r\n");
                    if set == b"+OK\r\n" {
                        return true;
                    }
                    std::thread::sleep(Duration::from_millis(5));
                }
                false
            }
        }
    }
}

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
