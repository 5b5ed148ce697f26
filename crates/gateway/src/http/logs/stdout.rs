//! Lines on stdout: one for each request that is over, and what the server has to say (LOG-9 to LOG-13).
//!
//! In: requests as they end, events of the server and, at the level `debug`, of runs. Out: lines of JSON for programs
//! that collect them, or of text for people. As with the files no request waits: a thread writes, and lines that find
//! the queue full are counted.

use std::{
    io::{self, Write},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
        mpsc::{Receiver, SyncSender, sync_channel},
    },
    thread,
    time::Duration,
};

use arc_swap::{ArcSwap, Guard};
use qlio_data::{Value, codec::json, redact::redact};
use time::{OffsetDateTime, format_description::well_known::Rfc3339};

use super::{
    level::{CurrentLevel, LogLevel},
    line_of_text,
};
use crate::http::server::Event;

/// Lines that wait to be written; further ones are lost and counted.
const QUEUE_LINES_MAX: usize = 10_000;
/// How long the end of the process waits for the last lines to be taken.
const FINISH_TIME_MAX: Duration = Duration::from_secs(2);
/// Room for a line, in bytes: that of a request with its ids.
const LINE_BYTES_USUAL: usize = 512;
/// Bytes that are written at a time.
const WRITTEN_BYTES_MAX: usize = 64 << 10;

/// What stands on stdout behind the addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LogFormat {
    /// Text on a terminal, JSON in a container, else nothing.
    #[default]
    Auto,
    /// Nothing.
    None,
    /// JSON, an object in each line.
    Json,
    /// Text.
    Text,
}

/// Writes lines to stdout.
#[derive(Debug)]
pub struct StdoutLog {
    pub(super) is_json: bool,
    level: CurrentLevel,
    secrets: ArcSwap<Vec<String>>,
    lines: Mutex<Option<SyncSender<Vec<u8>>>>,
    lost: Arc<AtomicU64>,
    /// Disconnected when the thread has written all.
    done: Mutex<Receiver<()>>,
}

impl StdoutLog {
    /// Starts the thread. `secrets` are replaced wherever they would appear.
    ///
    /// # Errors
    /// There can be no thread.
    pub fn start(is_json: bool, level: LogLevel, secrets: Vec<String>) -> io::Result<Self> {
        Self::start_to(is_json, level, secrets, io::stdout())
    }

    pub(super) fn start_to(
        is_json: bool,
        level: LogLevel,
        secrets: Vec<String>,
        out: impl Write + Send + 'static,
    ) -> io::Result<Self> {
        let (sender, inbox) = sync_channel(QUEUE_LINES_MAX);
        let lost = Arc::<AtomicU64>::default();
        let counted = Arc::clone(&lost);
        let (ending, done) = sync_channel(0);
        let work = move || {
            write_lines(&inbox, &counted, out, is_json);
            drop(ending);
        };
        thread::Builder::new().name("stdout".to_owned()).spawn(work)?;
        Ok(Self {
            is_json,
            level: CurrentLevel::new(level),
            secrets: ArcSwap::from_pointee(secrets),
            lines: Mutex::new(Some(sender)),
            lost,
            done: Mutex::new(done),
        })
    }

    /// The level that holds.
    pub fn level(&self) -> LogLevel {
        self.level.get()
    }

    /// Another level holds from here on.
    pub fn set_level(&self, level: LogLevel) {
        self.level.set(level);
    }

    /// The settings were read anew: if they say another level than before, it holds.
    pub fn follow_settings(&self, level: LogLevel) {
        self.level.follow(level);
    }

    /// Replaces these texts from here on, and those before, as [`Logs::hide`](super::Logs::hide) does.
    pub fn hide(&self, secrets: &[String], before: &[String]) {
        self.secrets.store(Arc::new([secrets, before].concat()));
    }

    /// Something that the server has to say; people read it on stderr already.
    pub fn event(&self, event: &Event) {
        let level = match event {
            Event::Panicked { .. }
            | Event::Noted { .. }
            | Event::ReloadRefused { .. }
            | Event::AcceptFailed { .. } => LogLevel::Error,
            Event::ConnectionFailed { .. } | Event::TimedOut { .. } | Event::Commanded { .. } => {
                LogLevel::Warn
            }
            Event::Reloaded { .. } => LogLevel::Info,
        };
        if self.is_json && level <= self.level() {
            let mut line = self.begin_json(level);
            line.put("message", Value::from(event.to_string()));
            self.write(line.end());
        }
    }

    /// Writes what waits, and ends; whoever does not read stdout does not hold the process up.
    pub fn finish(&self) {
        drop(lock(&self.lines).take());
        // Nothing is ever sent: the other end goes.
        let _ = lock(&self.done).recv_timeout(FINISH_TIME_MAX);
    }

    /// A line of JSON begins, to be written when it has all its members.
    pub(super) fn begin_json(&self, level: LogLevel) -> JsonLine {
        let text = Vec::with_capacity(LINE_BYTES_USUAL);
        let mut line = JsonLine { text, secrets: self.secrets.load() };
        line.put("time", Value::from(now()));
        line.put("level", Value::from(level.name()));
        line
    }

    /// A line for people, behind the time of day.
    pub(super) fn write_text(&self, method: &str, target: &str, rest: &str) {
        let clock = now();
        let clock = clock.get(11..19).unwrap_or_default();
        let line = line_of_text(clock, method, target, rest, &self.secrets.load());
        self.write(line.into_bytes());
    }

    pub(super) fn write(&self, line: Vec<u8>) {
        let lines = lock(&self.lines);
        if lines.as_ref().is_none_or(|lines| lines.try_send(line).is_err()) {
            self.lost.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// An object in a line: what is named goes into the text at once, as a line is written for each request.
pub(super) struct JsonLine {
    text: Vec<u8>,
    secrets: Guard<Arc<Vec<String>>>,
}

impl JsonLine {
    /// A further member.
    pub(super) fn put(&mut self, name: &'static str, value: Value) {
        self.put_name(name);
        json::encode(&redact(value, &self.secrets), &mut self.text);
    }

    /// A further member that is text without a character to escape.
    pub(super) fn put_digits(&mut self, name: &'static str, digits: &[u8]) {
        if !self.secrets.is_empty() {
            return self.put(name, Value::from(&*String::from_utf8_lossy(digits)));
        }
        self.put_name(name);
        self.text.push(b'"');
        self.text.extend_from_slice(digits);
        self.text.push(b'"');
    }

    fn put_name(&mut self, name: &'static str) {
        self.text.push(if self.text.is_empty() { b'{' } else { b',' });
        self.text.push(b'"');
        self.text.extend_from_slice(name.as_bytes());
        self.text.extend_from_slice(b"\":");
    }

    /// The whole line.
    pub(super) fn end(mut self) -> Vec<u8> {
        self.text.extend_from_slice(b"}\n");
        self.text
    }
}

fn write_lines(inbox: &Receiver<Vec<u8>>, lost: &AtomicU64, mut out: impl Write, is_json: bool) {
    while let Ok(line) = inbox.recv() {
        let mut lines = line;
        // What is there goes out with one call of the system.
        while lines.len() < WRITTEN_BYTES_MAX
            && let Ok(more) = inbox.try_recv()
        {
            lines.extend_from_slice(&more);
        }
        let missing = lost.swap(0, Ordering::Relaxed);
        if missing > 0 {
            let now = now();
            let told = if is_json {
                format!(
                    "{{\"time\":\"{now}\",\"level\":\"warn\",\"message\":\"lines were lost\",\"count\":{missing}}}\n"
                )
            } else {
                format!("{missing} lines were lost\n")
            };
            lines.extend_from_slice(told.as_bytes());
        }
        // Whoever has closed stdout does not read it.
        let _ = out.write_all(&lines).and_then(|()| out.flush());
    }
}

fn now() -> String {
    OffsetDateTime::now_utc().format(&Rfc3339).unwrap_or_default()
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
