//! Why a run gave no answer.

use std::fmt;

use qlio_data::{Object, Value, codec::json};

/// What kind of failure it is, for programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailureKind {
    /// The script does not compile.
    Compile,
    /// The run failed.
    Run,
    /// The host gave it up.
    Cancelled,
    /// It took longer than the host wanted to wait.
    TimedOut,
    /// As many runs are under way as may.
    Busy,
    /// The app is closed, or closes.
    Closed,
}

impl FailureKind {
    /// Its name in the bindings.
    pub fn name(self) -> &'static str {
        match self {
            Self::Compile => "compile",
            Self::Run => "run",
            Self::Cancelled => "cancelled",
            Self::TimedOut => "timed-out",
            Self::Busy => "busy",
            Self::Closed => "closed",
        }
    }
}

/// A run without an answer.
#[derive(Debug, Clone)]
pub struct Failure {
    /// What kind of failure it is.
    pub kind: FailureKind,
    /// The status that a client would be answered with over HTTP.
    pub status: u16,
    /// What happened: the body that a client would be answered with, without secrets of the settings. An object with
    /// `message`, and with `code`, `line`, `column`, `table`, `upstream` and more where they are known.
    pub body: Value,
}

impl Failure {
    /// One that needs no more than a message.
    pub(crate) fn plain(kind: FailureKind, message: &str) -> Self {
        let status = match kind {
            FailureKind::Compile => 400,
            FailureKind::Run => 500,
            FailureKind::Cancelled => 499,
            FailureKind::TimedOut => 504,
            FailureKind::Busy | FailureKind::Closed => 503,
        };
        let body: Object = [("message", Value::from(message))].into_iter().collect();
        Self { kind, status, body: Value::object(body) }
    }

    pub(crate) fn closed() -> Self {
        Self::plain(FailureKind::Closed, "the app is closed")
    }

    /// What happened, in words.
    pub fn message(&self) -> String {
        self.body.member("message").as_str().unwrap_or("the run failed").to_owned()
    }

    /// All of it as JSON: `{kind, status, body}`.
    pub fn to_json(&self) -> String {
        let members: Object = [
            ("kind", Value::from(self.kind.name())),
            ("status", Value::from(self.status)),
            ("body", self.body.clone()),
        ]
        .into_iter()
        .collect();
        json::to_string(&Value::object(members))
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message())
    }
}

impl std::error::Error for Failure {}
