//! Log files: what a server does, as JSON lines in four files (LOG-1 to LOG-7).
//!
//! ```text
//! request ─▶ RequestLog ─ run ─▶ RunLog ─┐
//! server events, notes ──────────────────┴─▶ Logs ─ bounded queue ─▶ a thread ─▶ rotated files
//! ```
//!
//! In: requests as they begin and end, the events of their runs, what the server has to say. Out: one line
//! for each, as an envelope that says what it is part of. Promises: no request waits for the disk, lines
//! that find the queue full are counted and the count is written; credentials and secrets of the settings
//! do not appear; files have a bounded size and number.
//!
//! Read on in `request` and `run` (what is written), `writer` (by whom), `file` (where to). Lines on stdout are
//! another thing: `stdout`, `request_line` and `level`.

mod file;
mod level;
mod request;
mod request_line;
mod run;
mod stdout;
mod writer;

use std::{
    io,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU16, AtomicU64, Ordering},
    },
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use arc_swap::ArcSwap;
use qlio_data::{Object, Value, codec::json, redact::redact};
use time::{OffsetDateTime, format_description::well_known::Rfc3339};

pub(crate) use level::LogLevel;
pub(super) use request::RequestLog;
pub(super) use request_line::RequestLine;
use request_line::line_of_text;
pub(super) use run::RunLog;
pub(crate) use stdout::{LogFormat, StdoutLog};
use writer::Writer;

use super::server::Event;

/// The files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LogFile {
    /// Requests of clients.
    Access,
    /// Requests to upstreams.
    Proxy,
    /// Errors and warnings.
    Error,
    /// Everything else.
    Main,
}

impl LogFile {
    const ALL: [Self; 4] = [Self::Access, Self::Proxy, Self::Error, Self::Main];

    /// The name without its ending.
    fn stem(self) -> &'static str {
        match self {
            Self::Access => "access",
            Self::Proxy => "proxy",
            Self::Error => "error",
            Self::Main => "ql.io",
        }
    }
}

/// What a line is about: its envelope without what the clock and the process add.
struct Line<'l> {
    file: LogFile,
    /// `begin`, `end`, `info`, `warn` or `error`.
    class: &'static str,
    kind: &'static str,
    name: &'l str,
    event_id: u16,
    parent_id: u16,
    /// Shared by all lines of a request.
    request: Option<(&'l str, u64)>,
    started_ms: u64,
    duration_ms: Option<u64>,
    message: Value,
}

/// The log files of a server.
pub struct Logs {
    writer: Writer,
    secrets: ArcSwap<Vec<String>>,
    events: AtomicU16,
    requests: AtomicU64,
    began: Instant,
}

impl std::fmt::Debug for Logs {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Logs").finish_non_exhaustive()
    }
}

impl Logs {
    /// Opens the files in a folder, which is made if need be. `secrets` are replaced wherever they would
    /// appear; `complain` is told when writing begins to fail.
    ///
    /// # Errors
    /// The folder or a file cannot be made or written.
    pub fn open(folder: &Path, secrets: Vec<String>, complain: Complaints) -> io::Result<Self> {
        Ok(Self {
            writer: Writer::start(folder, complain)?,
            secrets: ArcSwap::from_pointee(secrets),
            events: AtomicU16::new(0),
            requests: AtomicU64::new(0),
            began: Instant::now(),
        })
    }

    /// Replaces these texts from here on, and those before for as long as runs that know them may go on: until this is
    /// called the next time.
    pub fn hide(&self, secrets: &[String], before: &[String]) {
        self.secrets.store(Arc::new([secrets, before].concat()));
    }

    /// Something that the server has to say.
    pub fn event(&self, event: &Event) {
        let class = match event {
            Event::Reloaded { message } => return self.info(message),
            Event::Panicked { .. }
            | Event::Noted { .. }
            | Event::ReloadRefused { .. }
            | Event::AcceptFailed { .. } => "error",
            Event::ConnectionFailed { .. } | Event::TimedOut { .. } | Event::Commanded { .. } => {
                "warn"
            }
        };
        self.say(LogFile::Error, class, &event.to_string());
    }

    /// Something about the server that is no fault.
    pub fn info(&self, text: &str) {
        self.say(LogFile::Main, "info", text);
    }

    /// Tells every [`BEAT_EVERY`] that the process lives; never ends.
    pub async fn keep_beating(&self) {
        let mut beats = tokio::time::interval(BEAT_EVERY);
        beats.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            beats.tick().await;
            self.beat();
        }
    }

    /// The process lives: its id, how many seconds it has done so, and free memory in bytes.
    fn beat(&self) {
        let system = rustix::system::sysinfo();
        let free = (system.freeram as u64).saturating_mul(u64::from(system.mem_unit));
        self.write(Line {
            file: LogFile::Main,
            class: "info",
            kind: TYPE,
            name: "heart-beat",
            event_id: self.next_event_id(),
            parent_id: ROOT,
            request: None,
            started_ms: now_ms(),
            duration_ms: None,
            message: object([
                ("pid", Value::int(std::process::id().into())),
                ("uptime", Value::from(self.began.elapsed().as_secs())),
                ("freemem", Value::from(free)),
            ]),
        });
    }

    /// Writes what is queued and closes the files. Later lines are dropped.
    pub fn finish(&self) {
        self.writer.finish();
    }

    fn say(&self, file: LogFile, class: &'static str, text: &str) {
        self.write(Line {
            file,
            class,
            kind: TYPE,
            name: TYPE,
            event_id: self.next_event_id(),
            parent_id: ROOT,
            request: None,
            started_ms: now_ms(),
            duration_ms: None,
            message: object([("message", Value::from(text))]),
        });
    }

    /// From 1 to 65535, then 1 again (LOG-3).
    fn next_event_id(&self) -> u16 {
        let next = |id: u16| Some(id.checked_add(1).unwrap_or(1));
        match self.events.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next) {
            Ok(before) | Err(before) => before.checked_add(1).unwrap_or(1),
        }
    }

    fn write(&self, line: Line<'_>) {
        let mut envelope = Object::with_capacity(12);
        let timestamp = OffsetDateTime::now_utc().format(&Rfc3339).unwrap_or_default();
        envelope.insert("timestamp", Value::from(timestamp));
        envelope.insert("clazz", Value::from(line.class));
        envelope.insert("type", Value::from(line.kind));
        envelope.insert("name", Value::from(line.name));
        envelope.insert("eventId", Value::int(line.event_id.into()));
        envelope.insert("parentEventId", Value::int(line.parent_id.into()));
        if let Some((uuid, number)) = line.request {
            envelope.insert("uuid", Value::from(uuid));
            envelope.insert("tid", Value::from(number));
        }
        envelope.insert("startTime", Value::from(line.started_ms));
        if let Some(duration) = line.duration_ms {
            envelope.insert("duration", Value::from(duration));
        }
        envelope.insert("pid", Value::int(std::process::id().into()));
        envelope.insert("message", line.message);
        let mut text = Vec::with_capacity(256);
        json::encode(&redact(Value::object(envelope), &self.secrets.load()), &mut text);
        text.push(b'\n');
        self.writer.write(line.file, text);
    }
}

/// Takes what there is to say about the log files themselves.
pub(crate) type Complaints = Box<dyn Fn(&str) + Send>;

/// How often the log says that the process lives (LOG-1).
const BEAT_EVERY: Duration = Duration::from_mins(1);

/// The type of most events.
const TYPE: &str = "ql.io";

/// The parent of events that have none.
const ROOT: u16 = 0;

fn now_ms() -> u64 {
    let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since_epoch.as_millis()).unwrap_or(u64::MAX)
}

fn object<const N: usize>(members: [(&'static str, Value); N]) -> Value {
    Value::object(members.into_iter().collect())
}

/// The outcome of something that had no more to say at its end.
fn status(is_success: bool) -> Value {
    object([("status", Value::from(if is_success { "Success" } else { "Failure" }))])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn quiet() -> Complaints {
        Box::new(|complaint| panic!("{complaint}"))
    }

    #[test]
    fn event_ids_begin_at_one_and_never_reach_the_root() {
        let folder = tempfile::tempdir().expect("a folder");
        let logs = Logs::open(folder.path(), Vec::new(), quiet()).expect("opened");
        assert_eq!([logs.next_event_id(), logs.next_event_id()], [1, 2]);
        logs.events.store(u16::MAX - 1, Ordering::Relaxed);
        assert_eq!([logs.next_event_id(), logs.next_event_id()], [u16::MAX, 1]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_process_that_lives_says_so_every_minute() {
        let folder = tempfile::tempdir().expect("a folder");
        let logs = Logs::open(folder.path(), Vec::new(), quiet()).expect("opened");
        let two_minutes = Duration::from_secs(125);
        assert!(tokio::time::timeout(two_minutes, logs.keep_beating()).await.is_err());
        logs.finish();
        let text = std::fs::read_to_string(folder.path().join("ql.io.log")).expect("written");
        let beats: Vec<Value> =
            text.lines().map(|line| json::parse_str(line).expect("JSON")).collect();
        assert_eq!(beats.len(), 3, "at once and then every minute: {text}");
        for beat in beats {
            assert_eq!(beat.member("name").as_str(), Some("heart-beat"));
            let message = beat.member("message");
            for name in ["pid", "uptime", "freemem"] {
                assert!(!message.member(name).is_absent(), "{text}");
            }
        }
    }

    #[test]
    fn secrets_of_the_settings_are_replaced() {
        let folder = tempfile::tempdir().expect("a folder");
        let logs = Logs::open(folder.path(), vec!["s3cret".to_owned()], quiet()).expect("opened");
        logs.info("the key is s3cret");
        logs.finish();
        let text = std::fs::read_to_string(folder.path().join("ql.io.log")).expect("written");
        assert!(text.contains("the key is [redacted]") && text.ends_with("}}\n"), "{text}");
    }
}
