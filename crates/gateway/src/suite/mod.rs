//! `qlio test`: scripts and routes against mocks, told by the files of a directory (`docs/guide/testing.md`).
//!
//! ```text
//! directory ─ collect ─▶ TestCase ─ run: mocks, hooks, script or route ─▶ Outcome ─ report ─▶ text
//! ```
//!
//! In goes a directory (or tests given in code) and the app they are about; out comes one
//! [`Outcome`] per test, in order, although several run at the same time. A test has mocks, a
//! catalog snapshot and an engine of its own, so tests do not see each other; scripts and routes run
//! in this process, by the same engine and the same endpoints as in a gateway. A file that makes no
//! sense fails the test it belongs to, with its name and line; it never keeps others from running.
//!
//! Not here: answers kept in a cache; tests would see each other's.

mod app;
mod assertion;
mod collect;
mod connector;
mod difference;
mod file_name;
mod hooks;
mod ports;
mod report;
mod route_table;
mod run;
mod schedule;
mod serve;
mod transaction;

use std::{collections::BTreeMap, path::PathBuf, time::Duration};

use crate::mock::{Behaviour, canned::CannedAnswer};

pub(crate) use app::App;
pub(crate) use collect::{Collected, collect};
pub(crate) use connector::check_connector;
pub(crate) use report::{Format, Report};
pub(crate) use route_table::RouteRequest;
pub(crate) use schedule::{Limits, run_all};

/// One test, from files or in code.
#[derive(Debug, Clone, Default)]
pub(crate) struct TestCase {
    /// Its name, unique among the tests.
    pub name: String,
    /// The script or route that is run.
    pub action: Action,
    /// The mocks, by the number that texts call them: a port, or for texts with `{mock.<n>}` a name
    /// for a free port.
    pub mocks: BTreeMap<u16, Mock>,
    /// The result that must come out: JSON text.
    pub expectation: Option<Text>,
    /// Assertions about the result, one on each line.
    pub assertions: Option<Text>,
    /// A module with hooks.
    pub hooks: Option<PathBuf>,
    /// Problems of the test's files; a test that has any is not run.
    pub problems: Vec<Problem>,
}

/// The script or route of a test.
#[derive(Debug, Clone, Default)]
pub(crate) enum Action {
    /// Nothing; there is only something wrong.
    #[default]
    Nothing,
    /// A script.
    Script(Text),
    /// A route, with the place of its row.
    Route(RouteRequest, Place),
}

/// The text of a file of a test.
#[derive(Debug, Clone, Default)]
pub(crate) struct Text {
    /// The file, as messages call it.
    pub file: String,
    /// Its text.
    pub text: String,
}

/// A mock of a test.
#[derive(Debug, Clone, Default)]
pub(crate) struct Mock {
    /// Its answers.
    pub answers: Vec<CannedAnswer>,
    /// How late or broken they come.
    pub behaviour: Behaviour,
}

/// Where something stands.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Place {
    /// The file.
    pub file: String,
    /// The line, counted from 1.
    pub line: Option<u32>,
}

/// Why a test fails.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Problem {
    /// Where the cause stands.
    pub place: Option<Place>,
    /// The message for the author of the test.
    pub message: String,
}

/// How a test ended.
#[derive(Debug, Clone)]
pub(crate) struct Outcome {
    /// The name of the test.
    pub name: String,
    /// How long it took.
    pub duration: Duration,
    /// Why it failed; nothing if it passed.
    pub problems: Vec<Problem>,
}

impl Problem {
    /// A problem without a place.
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self { place: None, message: message.into() }
    }

    /// A problem of a file.
    pub(crate) fn at(file: &str, line: Option<u32>, message: impl std::fmt::Display) -> Self {
        let place = Place { file: file.to_owned(), line };
        Self { place: Some(place), message: message.to_string() }
    }
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.file)?;
        self.line.map_or(Ok(()), |line| write!(f, ":{line}"))
    }
}

impl Outcome {
    /// Whether all was well.
    pub(crate) fn is_passed(&self) -> bool {
        self.problems.is_empty()
    }
}

#[cfg(test)]
mod server_tests;
#[cfg(test)]
mod tests;
