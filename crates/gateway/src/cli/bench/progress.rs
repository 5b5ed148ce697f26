//! What a measurement says while it runs: one line that changes on a terminal, elsewhere a line once in
//! a while.

use std::{
    io::{self, IsTerminal, Write},
    sync::Mutex,
    time::Duration,
};

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
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Characters of the line that is there, to be written over.
    width: usize,
    last: Duration,
}

impl Told {
    pub(super) fn new(is_quiet: bool) -> Self {
        let is_terminal = io::stderr().is_terminal();
        Self { is_quiet, is_terminal, state: Mutex::default() }
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
            self.replace(&line);
            return;
        }
        let Ok(mut state) = self.state.lock() else { return };
        // A new run begins its time anew.
        if now.elapsed < state.last {
            state.last = Duration::ZERO;
        }
        if now.elapsed >= state.last + PAUSE {
            state.last = now.elapsed;
            report::note(&line);
        }
    }

    /// What is measured now.
    pub(super) fn step(&self, what: &str) {
        if !self.is_quiet && self.is_terminal {
            self.replace(&format!("measuring {what}"));
        }
    }

    /// Takes the line away.
    pub(super) fn finish(&self) {
        if self.is_terminal {
            self.replace("");
        }
    }

    fn replace(&self, line: &str) {
        let Ok(mut state) = self.state.lock() else { return };
        let before = std::mem::replace(&mut state.width, line.chars().count());
        let mut stderr = io::stderr().lock();
        // A closed stderr is the reader's choice.
        let _ = write!(stderr, "\r{:before$}\r{line}", "");
        let _ = stderr.flush();
    }
}
