//! What a measurement says while it runs: one line that changes on a terminal, elsewhere a line once in
//! a while.

use std::{sync::Mutex, time::Duration};

use qlio_bench::{
    load::Progress,
    report::number::{grouped, short},
};

use crate::cli::report;

/// Without a terminal, progress is told this often.
const PAUSE: Duration = Duration::from_secs(10);

/// Tells progress on stderr.
pub(super) struct Told {
    is_quiet: bool,
    is_terminal: bool,
    /// When something was told last, in the time of the run.
    last: Mutex<Duration>,
}

impl Told {
    pub(super) fn new(is_quiet: bool) -> Self {
        Self { is_quiet, is_terminal: report::has_audience(), last: Mutex::default() }
    }

    /// How far a load is.
    pub(super) fn load(&self, now: &Progress) {
        if self.is_quiet {
            return;
        }
        let all = now.duration.map_or(String::new(), |all| format!(" of {} s", all.as_secs()));
        let requests = now.requests.map_or(String::new(), |all| format!(" of {}", grouped(all)));
        let line = format!(
            "{} s{all}  {}{requests} samples  {}/s  p99 {} ms  {} users  {} errors",
            now.elapsed.as_secs(),
            grouped(now.samples),
            short(now.rate),
            short(now.p99_ms),
            now.users,
            grouped(now.errors)
        );
        if self.is_terminal {
            report::status(&line);
            return;
        }
        let Ok(mut last) = self.last.lock() else { return };
        // A new run begins its time anew.
        if now.elapsed < *last {
            *last = Duration::ZERO;
        }
        if now.elapsed >= *last + PAUSE {
            *last = now.elapsed;
            report::note(&line);
        }
    }

    /// What is measured now.
    pub(super) fn step(&self, what: &str) {
        if !self.is_quiet {
            report::status(&format!("measuring {what}"));
        }
    }
}
