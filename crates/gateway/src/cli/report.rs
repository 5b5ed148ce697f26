//! Printing: values to stdout, problems to stderr.

use std::{
    io::{self, IsTerminal, Write},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use qlio_engine::cache::{Cache, CacheEvent, CacheEventSink, CacheSettings};
use qlio_plan::catalog::FileDiagnostics;
use qlio_syntax::diagnostic::{Diagnostic, Severity};

use crate::config::ConfigProblem;

/// Whether data could not be written; a script must not take half a result for a whole one.
static IS_DATA_LOST: AtomicBool = AtomicBool::new(false);

/// Prints one line of data.
pub(super) fn data(text: &str) {
    let mut stdout = io::stdout().lock();
    let line = stdout.write_all(text.as_bytes()).and_then(|()| stdout.write_all(b"\n"));
    note_loss(line.and_then(|()| stdout.flush()));
}

/// Prints text as it is.
pub(super) fn raw(text: &str) {
    let mut stdout = io::stdout().lock();
    let text = stdout.write_all(text.as_bytes());
    note_loss(text.and_then(|()| stdout.flush()));
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

/// Prints a message for people.
pub(super) fn note(text: &str) {
    let _ = writeln!(io::stderr().lock(), "{text}");
}

/// Prints an error for people.
pub(super) fn error(text: &str) {
    note(&format!("error: {text}"));
}

/// Prints the problems of one text with their source lines.
pub(super) fn diagnostics(problems: &[Diagnostic], file: &str, text: &str) {
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
pub(super) fn start_cache(settings: Option<CacheSettings>) -> Result<Option<Arc<Cache>>, String> {
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
    let cache = Cache::new(settings, sink).map_err(|error| error.to_string())?;
    cache.start();
    Ok(Some(cache))
}

/// Colour only for people: stderr is a terminal and nobody asked for none.
fn has_colour() -> bool {
    io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}
