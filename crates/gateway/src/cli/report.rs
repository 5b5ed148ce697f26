//! Printing: values to stdout, problems to stderr.

use std::{
    io::{self, IsTerminal, Write},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use qlio_engine::cache::{Cache, CacheConfigError, CacheEvent, CacheEventSink, CacheSettings};
use qlio_plan::catalog::FileDiagnostics;
use qlio_syntax::diagnostic::{Diagnostic, Severity};

use super::output;
use crate::config::ConfigProblem;

/// Whether data could not be written; a script must not take half a result for a whole one.
static IS_DATA_LOST: AtomicBool = AtomicBool::new(false);

/// Prints one line of data.
pub(super) fn data(text: &str) {
    clear_status();
    let mut stdout = io::stdout().lock();
    let line = stdout.write_all(text.as_bytes()).and_then(|()| stdout.write_all(b"\n"));
    note_loss(line.and_then(|()| stdout.flush()));
}

/// Prints text as it is.
pub(super) fn raw(text: &str) {
    write_out(text);
}

/// Writes to stdout; answers whether somebody takes more.
fn write_out(text: &str) -> bool {
    clear_status();
    let mut stdout = io::stdout().lock();
    let written = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush());
    let is_open = written.is_ok();
    note_loss(written);
    is_open
}

/// Prints pieces of data, a few at a time; a terminal gets nothing that it would obey.
pub(super) fn pieces(pieces: impl Iterator<Item = String>) {
    let mut chunks = Chunks::new(pieces);
    while chunks.print_one() {}
}

/// Columns of the terminal that stdout is; nothing where it is none.
pub(super) fn terminal_width() -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(io::stdout()).ok()?;
    // Some terminals do not know.
    (size.ws_col > 0).then_some(usize::from(size.ws_col))
}

/// Bytes that are written at once, if there are as many.
const CHUNK_BYTES: usize = 64 << 10;

/// Data that is printed chunk by chunk, so that somebody may stop it.
pub(super) struct Chunks<I> {
    pieces: I,
    is_terminal: bool,
}

impl<I: Iterator<Item = String>> Chunks<I> {
    pub(super) fn new(pieces: I) -> Self {
        Self { pieces, is_terminal: io::stdout().is_terminal() }
    }

    /// Prints the next chunk; answers whether another may follow.
    pub(super) fn print_one(&mut self) -> bool {
        let mut chunk = String::new();
        while chunk.len() < CHUNK_BYTES {
            let Some(piece) = self.pieces.next() else { break };
            if self.is_terminal {
                chunk.push_str(&output::escaped(&piece));
            } else {
                chunk.push_str(&piece);
            }
        }
        !chunk.is_empty() && write_out(&chunk)
    }
}

/// Remembers that data was lost, and says so once. A closed pipe is the reader's choice and no loss.
fn note_loss(written: io::Result<()>) {
    if let Err(lost) = written
        && lost.kind() != io::ErrorKind::BrokenPipe
        && !IS_DATA_LOST.swap(true, Ordering::Relaxed)
    {
        error(&format!("cannot write to standard output: {lost}"));
    }
}

/// Whether some of the data could not be written.
pub(super) fn is_data_lost() -> bool {
    IS_DATA_LOST.load(Ordering::Relaxed)
}

/// Whether a line of [`status`] stands on the terminal.
static HAS_STATUS: AtomicBool = AtomicBool::new(false);

/// To the beginning of the line, and all of it away.
const CLEAR_LINE: &str = "\r\x1b[K";

/// Whether somebody sees how work comes along.
pub(super) fn has_audience() -> bool {
    io::stderr().is_terminal()
}

/// Tells how work comes along, in one line over the last one; it goes away before anything else is printed.
/// Nothing where stderr is no terminal.
pub(super) fn status(line: &str) {
    if has_audience() {
        HAS_STATUS.store(true, Ordering::Relaxed);
        let mut stderr = io::stderr().lock();
        // Whoever cannot be told has lost nothing.
        let _ = write!(stderr, "{CLEAR_LINE}{line}").and_then(|()| stderr.flush());
    }
}

/// Takes the line of [`status`] away.
pub(super) fn clear_status() {
    if HAS_STATUS.swap(false, Ordering::Relaxed) {
        let _ = write!(io::stderr().lock(), "{CLEAR_LINE}");
    }
}

/// Prints a message for people.
pub(super) fn note(text: &str) {
    clear_status();
    let _ = writeln!(io::stderr().lock(), "{text}");
}

/// Prints an error for people.
pub(super) fn error(text: &str) {
    note(&format!("error: {text}"));
}

/// Prints the problems of one text with their source lines.
pub(super) fn diagnostics(problems: &[Diagnostic], file: &str, text: &str) {
    clear_status();
    let rendered = qlio_syntax::render::render(problems, file, text, has_colour());
    let _ = io::stderr().lock().write_all(rendered.as_bytes());
}

/// Prints the problems of a catalog; answers the numbers of errors and warnings.
pub(super) fn catalog(files: &[FileDiagnostics]) -> (usize, usize) {
    let mut counts = (0, 0);
    for file in files {
        diagnostics(&file.diagnostics, &file.file, &file.text);
        for problem in &file.diagnostics {
            match problem.severity {
                Severity::Error => counts.0 += 1,
                Severity::Warning => counts.1 += 1,
            }
        }
    }
    counts
}

/// Prints the problems of the settings; answers the numbers of errors and warnings.
pub(super) fn config(problems: &[ConfigProblem]) -> (usize, usize) {
    for problem in problems {
        let severity = match problem.severity() {
            Severity::Error => "error",
            Severity::Warning => "warning",
        };
        note(&format!("{severity}[{}]: {problem}", problem.code()));
    }
    let is_error = |problem: &&ConfigProblem| problem.severity() == Severity::Error;
    let errors = problems.iter().filter(is_error).count();
    (errors, problems.len() - errors)
}

/// `1 error`, `2 errors`.
pub(super) fn count(count: usize, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

/// Errors of the cache are told at most this often.
const CACHE_ERROR_PAUSE: Duration = Duration::from_secs(10);

/// Starts the response cache; what goes wrong in it is told, and never fails a statement.
pub(super) fn start_cache(
    settings: Option<CacheSettings>,
) -> Result<Option<Arc<Cache>>, CacheConfigError> {
    let Some(settings) = settings else { return Ok(None) };
    let last_told = Mutex::new(None::<Instant>);
    let sink: CacheEventSink = Arc::new(move |event: &CacheEvent| {
        match event {
            CacheEvent::Error { .. } => {}
            // Few, and worth knowing.
            CacheEvent::Info { .. } | CacheEvent::Heartbeat { .. } | CacheEvent::End => {
                return note(&event.message());
            }
            _ => return,
        }
        // A server that is down fails every request in the same way.
        let mut last_told = last_told.lock().unwrap_or_else(PoisonError::into_inner);
        if last_told.is_none_or(|at| at.elapsed() >= CACHE_ERROR_PAUSE) {
            *last_told = Some(Instant::now());
            error(&event.message());
        }
    });
    let cache = Cache::new(settings, sink)?;
    cache.start();
    Ok(Some(cache))
}

/// Colour only for people: stderr is a terminal and nobody asked for none.
pub(super) fn has_colour() -> bool {
    io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}
