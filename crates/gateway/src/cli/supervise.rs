//! `qlio serve --supervise`: a process that owns the listeners and never changes, and has another one serve (SUP-1).
//!
//! ```text
//! supervisor ── listeners, NOTIFY_SOCKET ─▶ server        dies ─▶ another one, later each time
//!     │  SIGUSR2                              ▲
//!     └────────────────────────────────────▶ new server, from the executable as it is now; ready ─▶ SIGTERM to the old
//! ```
//!
//! In: the command line, signals, what servers tell. Out: servers. It reads no tables and answers nobody, so there is
//! little in it that can fail. It talks with servers as systemd does: sockets by number, states as datagrams.

use std::{
    collections::VecDeque,
    ffi::OsString,
    fs, io,
    os::{
        fd::{AsRawFd as _, OwnedFd},
        unix::{fs::DirBuilderExt as _, process::ExitStatusExt as _},
    },
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus},
    thread,
    time::Duration,
};

use anyhow::{Context, ensure};
use rustix::{
    io::{FdFlags, fcntl_dupfd_cloexec, fcntl_setfd},
    process::{Pid, Signal, kill_process},
};
use tokio::{
    net::UnixDatagram,
    runtime::Runtime,
    signal::unix::{SignalKind, signal},
    sync::mpsc,
    task::AbortHandle,
    time::{Instant, sleep_until},
};

use super::{
    Exit, Failure,
    inherited::ADMIN,
    pid_files::{Kind, PidFile},
    report,
};
use crate::http::server::{Listen, OpenedListener};

/// The flag that a server gets instead of `--supervise`.
pub(super) const SUPERVISED: &str = "--supervised";

/// The file in which the end of the last upgrade stands, beside the numbers of the processes.
pub(super) const UPGRADE_RESULT: &str = "upgrade.result";

/// The number of the first listener that servers get; smaller ones may be taken.
const FIRST_LISTENER: i32 = 100;

/// How long a new server may take until it is ready.
const READY_TIME_MAX: Duration = Duration::from_mins(2);

/// So many servers that die within [`DEATHS_WITHIN`] are too many: whoever runs us should know.
const DEATHS_MAX: usize = 5;
const DEATHS_WITHIN: Duration = Duration::from_secs(10);

/// The pause before the second server in a row is put in the place of one that has died; the first gets none. It
/// doubles.
const PAUSE: Duration = Duration::from_millis(100);
const PAUSE_MAX: Duration = Duration::from_secs(30);

/// A server that has lived so long has not died because of how it was started.
const LONG_LIFE: Duration = Duration::from_mins(1);

/// Bytes of one datagram of a server.
const TOLD_BYTES_MAX: usize = 4_096;

/// Things that servers have told and that nobody has heard yet.
const TOLD_MAX: usize = 64;

/// What there is to supervise.
pub(super) struct Supervised {
    /// For clients.
    pub(super) listeners: Vec<(Listen, OpenedListener)>,
    /// For operators.
    pub(super) admin: Option<OpenedListener>,
    /// Where the numbers of the processes are written.
    pub(super) pids: Option<PathBuf>,
}

/// What has happened to a server.
enum News {
    Told(String),
    Ended(io::Result<ExitStatus>),
}

/// A server.
struct Server {
    number: u64,
    id: Pid,
    /// Hears what it tells; ends with it.
    listening: AbortHandle,
    began: Instant,
    is_ready: bool,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.listening.abort();
    }
}

/// Supervises until a signal ends it, or servers die too often.
pub(super) fn supervise(supervised: &Supervised) -> Result<Exit, Failure> {
    let outcome = Supervisor::new(supervised).and_then(|supervisor| {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        Ok(supervisor.run(&runtime)?)
    });
    outcome.context("cannot supervise").map_err(Failure::failed)
}

/// Has this process finish what it does if its supervisor dies: nobody would replace it or tell it to end.
pub(super) fn end_with_supervisor() {
    #[cfg(target_os = "linux")]
    if let Err(error) = rustix::process::set_parent_process_death_signal(Some(Signal::TERM)) {
        report::note(&format!(
            "this process will not notice that its supervisor has died: {error}"
        ));
    }
}

/// A folder that only we can reach, for the sockets on which servers tell how they are.
struct PrivateFolder(PathBuf);

impl PrivateFolder {
    fn create() -> io::Result<Self> {
        let name = format!("qlio-{}-{:x}", std::process::id(), fastrand::u64(..));
        let path = std::env::temp_dir().join(name);
        let made = fs::DirBuilder::new().mode(0o700).create(&path);
        let named = |error: io::Error| {
            let text = format!("cannot make the folder `{}`: {error}", path.display());
            io::Error::new(error.kind(), text)
        };
        made.map_err(named)?;
        Ok(Self(path))
    }
}

impl Drop for PrivateFolder {
    fn drop(&mut self) {
        // What is left in a folder for passing things is removed by the system.
        let _ = fs::remove_dir_all(&self.0);
    }
}

struct Supervisor<'s> {
    supervised: &'s Supervised,
    executable: PathBuf,
    arguments: Vec<OsString>,
    /// The listeners under the numbers by which servers know them.
    handed: Vec<OwnedFd>,
    folder: PrivateFolder,
    numbers: u64,
    news: mpsc::Receiver<(u64, News)>,
    teller: mpsc::Sender<(u64, News)>,
    /// The one that serves, or is to.
    current: Option<Server>,
    /// One that is to take its place.
    next: Option<Server>,
    /// Those that finish what they have begun.
    leaving: Vec<Server>,
    deaths: VecDeque<Instant>,
    /// How many have died in a row.
    in_a_row: u32,
    restart_at: Option<Instant>,
    was_ready: bool,
    is_stopping: bool,
    upgrades: u64,
    _pid_file: Option<PidFile>,
}

impl<'s> Supervisor<'s> {
    fn new(supervised: &'s Supervised) -> anyhow::Result<Self> {
        let mut arguments: Vec<_> = std::env::args_os().skip(1).collect();
        arguments.retain(|argument| argument != "--supervise");
        arguments.push(SUPERVISED.into());
        let mut handed = Vec::new();
        let clients = supervised.listeners.iter().map(|(_, opened)| opened);
        for opened in clients.chain(&supervised.admin) {
            let wanted = FIRST_LISTENER + i32::try_from(handed.len()).unwrap_or(i32::MAX);
            let fd = fcntl_dupfd_cloexec(&opened.listener, wanted)?;
            ensure!(fd.as_raw_fd() == wanted, "the file number {wanted} is taken");
            fcntl_setfd(&fd, FdFlags::empty())?;
            handed.push(fd);
        }
        let (teller, news) = mpsc::channel(TOLD_MAX);
        let pids = supervised.pids.as_deref();
        let pid_file = pids.map(|pids| PidFile::create(pids, Kind::Master)).transpose()?;
        Ok(Self {
            supervised,
            executable: own_executable()?,
            arguments,
            handed,
            folder: PrivateFolder::create()?,
            numbers: 0,
            news,
            teller,
            current: None,
            next: None,
            leaving: Vec::new(),
            deaths: VecDeque::new(),
            in_a_row: 0,
            restart_at: None,
            was_ready: false,
            is_stopping: false,
            upgrades: 0,
            _pid_file: pid_file,
        })
    }

    fn run(mut self, runtime: &Runtime) -> io::Result<Exit> {
        let exit = runtime.block_on(self.serve())?;
        if let Some(pids) = &self.supervised.pids {
            // There may have been no upgrade.
            let _ = fs::remove_file(pids.join(UPGRADE_RESULT));
        }
        Ok(exit)
    }

    async fn serve(&mut self) -> io::Result<Exit> {
        let mut terminate = signal(SignalKind::terminate())?;
        let mut interrupt = signal(SignalKind::interrupt())?;
        let mut hangup = signal(SignalKind::hangup())?;
        let mut upgrade = signal(SignalKind::user_defined2())?;
        self.current = Some(self.start()?);
        loop {
            let far = Instant::now() + READY_TIME_MAX;
            let patience = self.next.as_ref().map_or(far, |next| next.began + READY_TIME_MAX);
            let restart_at = self.restart_at;
            tokio::select! {
                _ = terminate.recv() => self.stop(),
                _ = interrupt.recv() => self.stop(),
                _ = hangup.recv() => self.signal_current(Signal::HUP),
                _ = upgrade.recv() => self.upgrade(),
                Some((number, news)) = self.news.recv() => {
                    if let Some(exit) = self.hear(number, news) {
                        return Ok(exit);
                    }
                }
                () = sleep_until(restart_at.unwrap_or(far)), if restart_at.is_some() => {
                    self.restart_at = None;
                    match self.start() {
                        Ok(server) => self.current = Some(server),
                        // Perhaps the executable is being replaced.
                        Err(error) => if let Some(exit) = self.replace(&error.to_string()) {
                            return Ok(exit);
                        },
                    }
                }
                () = sleep_until(patience), if self.next.is_some() => {
                    if let Some(next) = self.next.take() {
                        send(&next, Signal::KILL);
                        let seconds = READY_TIME_MAX.as_secs();
                        let reason = format!("process {} was not ready within {seconds} s", next.id);
                        self.leaving.push(next);
                        self.end_upgrade(&format!("not upgraded: {reason}"));
                    }
                }
            }
            if self.is_stopping && self.has_ended() {
                return Ok(Exit::Success);
            }
        }
    }

    fn has_ended(&self) -> bool {
        self.current.is_none() && self.next.is_none() && self.leaving.is_empty()
    }

    /// Starts a server from the executable as it is now.
    fn start(&mut self) -> io::Result<Server> {
        self.numbers += 1;
        let number = self.numbers;
        let path = self.folder.0.join(number.to_string());
        let socket = UnixDatagram::bind(&path)?;
        let names = self.supervised.listeners.iter().map(|_| "clients");
        let names: Vec<_> = names.chain(self.supervised.admin.iter().map(|_| ADMIN)).collect();
        let mut command = Command::new(&self.executable);
        command
            .args(&self.arguments)
            .env("LISTEN_FDS", self.handed.len().to_string())
            .env("LISTEN_FDS_FIRST_FD", FIRST_LISTENER.to_string())
            .env("LISTEN_FDNAMES", names.join(":"))
            .env_remove("LISTEN_PID")
            .env("NOTIFY_SOCKET", &path)
            .env_remove("WATCHDOG_PID");
        let child = command.spawn().map_err(|error| {
            let text = format!("cannot start `{}`: {error}", self.executable.display());
            io::Error::new(error.kind(), text)
        })?;
        let id = Pid::from_child(&child);
        let teller = self.teller.clone();
        let waiting = move || wait_for(number, child, &teller);
        thread::Builder::new().name(format!("server {number}")).spawn(waiting)?;
        let listening = tokio::spawn(listen(number, socket, self.teller.clone())).abort_handle();
        Ok(Server { number, id, listening, began: Instant::now(), is_ready: false })
    }

    /// Takes what a server has told, or its end; an exit ends us.
    fn hear(&mut self, number: u64, news: News) -> Option<Exit> {
        match news {
            News::Told(text) => {
                if text.lines().any(|line| line == "READY=1") {
                    self.take_ready(number);
                }
                // Whoever has started us wants to know how we are, and hears it of the one that serves.
                if self.current.as_ref().is_some_and(|current| current.number == number) {
                    forward(&text);
                }
                None
            }
            News::Ended(status) => self.take_end(number, status),
        }
    }

    fn take_ready(&mut self, number: u64) {
        if let Some(current) = self.current.as_mut().filter(|current| current.number == number) {
            if !current.is_ready {
                current.is_ready = true;
                report::note(&format!("process {} serves", current.id));
            }
            if !self.was_ready {
                self.was_ready = true;
                for (listen, _) in &self.supervised.listeners {
                    report::data(&listen.to_string());
                }
            }
        } else if let Some(mut next) = self.next.take_if(|next| next.number == number) {
            next.is_ready = true;
            let mut outcome = format!("upgraded: process {} serves", next.id);
            if let Some(old) = self.current.replace(next) {
                outcome = format!("{outcome}, process {} finishes what it has begun", old.id);
                send(&old, Signal::TERM);
                self.leaving.push(old);
            }
            // Whatever was to be put in its place is there.
            self.restart_at = None;
            self.in_a_row = 0;
            self.end_upgrade(&outcome);
        }
    }

    fn take_end(&mut self, number: u64, status: io::Result<ExitStatus>) -> Option<Exit> {
        let told = match &status {
            Ok(status) => status.to_string(),
            Err(error) => error.to_string(),
        };
        if let Some(next) = self.next.take_if(|next| next.number == number) {
            self.end_upgrade(&format!("not upgraded: process {} ended with {told}", next.id));
            return None;
        }
        if let Some(at) = self.leaving.iter().position(|server| server.number == number) {
            let ended = self.leaving.swap_remove(at);
            self.forget(&ended);
            return None;
        }
        let ended = self.current.take_if(|current| current.number == number)?;
        self.forget(&ended);
        let code = status.as_ref().ok().and_then(ExitStatus::code);
        if self.is_stopping {
            return None;
        }
        if !self.was_ready {
            // It has said why.
            return Some(match code {
                Some(255) => Exit::PortTaken,
                Some(2) => Exit::Usage,
                _ => Exit::Failed,
            });
        }
        if code == Some(0) {
            report::note(&format!("process {} has ended as it was asked to", ended.id));
            self.stop();
            return None;
        }
        let signal = status.ok().and_then(|status| status.signal());
        let cause = signal.map_or(told, |signal| format!("signal {signal}"));
        if ended.began.elapsed() > LONG_LIFE {
            self.in_a_row = 0;
        }
        self.replace(&format!("process {} has died ({cause})", ended.id))
    }

    /// Has another server put in the place of one that has died, or gives up.
    fn replace(&mut self, cause: &str) -> Option<Exit> {
        let now = Instant::now();
        self.deaths.push_back(now);
        self.deaths.retain(|death| now.duration_since(*death) < DEATHS_WITHIN);
        if self.deaths.len() >= DEATHS_MAX {
            let seconds = DEATHS_WITHIN.as_secs();
            let often = format!("{DEATHS_MAX} within {seconds} s, which is too often");
            report::error(&format!("{cause}: {often}"));
            self.stop();
            return Some(Exit::Failed);
        }
        let pause = match self.in_a_row {
            0 => Duration::ZERO,
            more => (PAUSE * 2_u32.saturating_pow((more - 1).min(16))).min(PAUSE_MAX),
        };
        self.in_a_row += 1;
        self.restart_at = Some(now + pause);
        report::error(&format!("{cause}; another one in {} ms", pause.as_millis()));
        None
    }

    fn upgrade(&mut self) {
        if self.is_stopping || self.next.is_some() {
            report::note("an upgrade is under way, or the server stops");
            return;
        }
        report::note(&format!("upgrading to what `{}` is now", self.executable.display()));
        match self.start() {
            Ok(next) => self.next = Some(next),
            Err(error) => self.end_upgrade(&format!("not upgraded: {error}")),
        }
    }

    /// Says how an upgrade has ended.
    fn end_upgrade(&mut self, outcome: &str) {
        self.upgrades += 1;
        report::note(outcome);
        let Some(pids) = &self.supervised.pids else { return };
        let path = pids.join(UPGRADE_RESULT);
        if let Err(error) = write_whole(&path, &format!("{} {outcome}\n", self.upgrades)) {
            report::error(&format!("cannot write `{}`: {error}", path.display()));
        }
    }

    /// Has all servers end.
    fn stop(&mut self) {
        self.is_stopping = true;
        self.restart_at = None;
        for server in self.current.iter().chain(&self.next).chain(&self.leaving) {
            send(server, Signal::TERM);
        }
    }

    /// Removes the number of a server that could not do so itself.
    fn forget(&self, ended: &Server) {
        if let Some(pids) = &self.supervised.pids {
            // Most have done so.
            let _ = fs::remove_file(pids.join(format!("worker.{}.pid", ended.id)));
        }
    }

    fn signal_current(&self, signal: Signal) {
        if let Some(current) = &self.current {
            send(current, signal);
        }
    }
}

/// Sends a server a signal; one that has gone needs none.
fn send(server: &Server, signal: Signal) {
    let _ = kill_process(server.id, signal);
}

/// Writes a file so that nobody reads half of it.
fn write_whole(path: &Path, text: &str) -> io::Result<()> {
    let new = path.with_extension("new");
    fs::write(&new, text)?;
    fs::rename(new, path)
}

/// Tells the end of a server.
fn wait_for(number: u64, mut child: Child, teller: &mpsc::Sender<(u64, News)>) {
    let status = child.wait();
    // Nobody hears it any more if we are at our end.
    let _ = teller.blocking_send((number, News::Ended(status)));
}

/// Tells what a server tells, for as long as somebody hears it.
async fn listen(number: u64, socket: UnixDatagram, teller: mpsc::Sender<(u64, News)>) {
    let mut buffer = vec![0; TOLD_BYTES_MAX];
    while let Ok(length) = socket.recv(&mut buffer).await {
        let text = String::from_utf8_lossy(&buffer[..length]).into_owned();
        if teller.send((number, News::Told(text))).await.is_err() {
            return;
        }
    }
}

/// Passes on to whoever has started us what a server has told.
fn forward(text: &str) {
    let states: Vec<_> = text.lines().map(sd_notify::NotifyState::Custom).collect();
    if let Err(error) = sd_notify::notify(&states) {
        report::note(&format!("cannot tell the service manager: {error}"));
    }
}

/// Where the executable lies: as it was called, so that what is put in its place is found.
fn own_executable() -> io::Result<PathBuf> {
    let called = std::env::args_os().next().map(PathBuf::from).unwrap_or_default();
    if called.components().count() > 1 {
        return std::path::absolute(called);
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut found = std::env::split_paths(&path).map(|folder| folder.join(&called));
    match found.find(|file| !called.as_os_str().is_empty() && file.is_file()) {
        Some(file) => Ok(file),
        None => std::env::current_exe(),
    }
}
