//! What can go wrong while a plan runs, in one shape.
//!
//! An error says who is at fault, with what code, and what is known about it. It knows nothing of
//! statuses and bodies: the gateway derives them. It never carries request headers, credentials or
//! internals.

use qlio_data::{Text, Value};
use qlio_syntax::diagnostic::{Code, codes};

use crate::{heavy::Busy, sandbox::ScriptError};

/// What a busy process tells whoever it refuses, in seconds.
const RETRY_AFTER_SECONDS: u64 = 1;

/// Who is at fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// The caller or the script it sent.
    Client,
    /// The called API.
    Upstream,
    /// This program or its operator.
    Gateway,
}

/// Something that is known about a failure besides its message.
#[derive(Debug, Clone, PartialEq)]
pub enum Fact {
    /// The table of the statement.
    Table(Text),
    /// What was called, without credentials.
    Uri(String),
    /// The endpoint that gave no token, without credentials.
    TokenUri(String),
    /// The system's name for why there is no connection.
    ConnectCause(&'static str),
    /// How long an exchange may be silent, in milliseconds.
    TimeoutMs(u64),
    /// How often an upstream has failed in a row, and for how long it is left alone.
    BackOff {
        /// Failures in a row.
        count: u32,
        /// Milliseconds until it is called again.
        delay_ms: u64,
    },
    /// Seconds after which another try makes sense.
    RetryAfterSeconds(u64),
    /// The bound that was exceeded.
    Limit(u64),
    /// The number that was asked for where a bound allows less.
    Asked(u64),
    /// The hook that failed.
    Hook(&'static str),
    /// The script file at fault.
    File(String),
    /// 1-based line in that file.
    FileLine(u32),
    /// 1-based column in that file.
    FileColumn(u32),
    /// The upstream answered with this status.
    UpstreamStatus(u16),
    /// A hook made this status of the upstream's own.
    PatchedStatus(u16),
    /// The table passes this status on to the client (TAB-22).
    PassedStatus(u16),
    /// The answer of the upstream, decoded or as text.
    Body(Value),
    /// `Body` is only the beginning.
    BodyTruncated,
    /// The media type that nothing decodes.
    MediaType {
        /// The part before the slash.
        main: String,
        /// The part behind it.
        sub: String,
    },
}

/// A failed statement.
#[derive(Debug, Clone)]
pub struct RunError {
    /// The diagnostic code.
    pub code: Code,
    /// Who is at fault.
    pub origin: Origin,
    /// What happened.
    pub message: String,
    /// 1-based line of the statement.
    pub line: Option<u32>,
    /// What else is known, in the order it is told; of two that say the same the last holds.
    pub facts: Vec<Fact>,
}

impl RunError {
    /// A mistake of the client.
    pub fn client(code: Code, message: impl Into<String>) -> Self {
        Self::new(code, Origin::Client, message)
    }

    /// A failure of the upstream.
    pub fn upstream(code: Code, message: impl Into<String>) -> Self {
        Self::new(code, Origin::Upstream, message)
    }

    /// A fault of the operator: of a table, a hook or a setting.
    pub fn gateway(code: Code, message: impl Into<String>) -> Self {
        Self::new(code, Origin::Gateway, message)
    }

    /// A setting without a value is needed; `token` names it as texts do, `config.shop.api`.
    pub(crate) fn missing_setting(token: &str) -> Self {
        let setting = token.strip_prefix("config.").unwrap_or(token);
        Self::gateway(codes::UNKNOWN_SETTING, format!("the setting `{setting}` has no value"))
    }

    /// A fault of this program.
    pub fn internal(message: impl Into<String>) -> Self {
        Self::gateway(codes::INTERNAL, message)
    }

    /// An error of whoever is at fault.
    pub fn new(code: Code, origin: Origin, message: impl Into<String>) -> Self {
        Self { code, origin, message: message.into(), line: None, facts: Vec::new() }
    }

    /// Adds a fact.
    #[must_use]
    pub fn with(mut self, fact: Fact) -> Self {
        self.facts.push(fact);
        self
    }

    /// Adds the place in a script's own file.
    #[must_use]
    pub(crate) fn at_script(mut self, error: &ScriptError) -> Self {
        self.facts.extend(error.file.clone().map(Fact::File));
        self.facts.extend(error.line.map(Fact::FileLine));
        self.facts.extend(error.column.map(Fact::FileColumn));
        self
    }

    /// Names the line, unless an inner statement has named its own.
    #[must_use]
    pub fn at_line(mut self, line: u32) -> Self {
        self.line.get_or_insert(line);
        self
    }

    /// Names the table, unless it is named already.
    #[must_use]
    pub fn in_table(self, table: &Text) -> Self {
        if self.facts.iter().any(|fact| matches!(fact, Fact::Table(_))) {
            return self;
        }
        self.with(Fact::Table(table.clone()))
    }
}

impl std::fmt::Display for RunError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for RunError {}

impl From<Busy> for RunError {
    fn from(busy: Busy) -> Self {
        Self::gateway(codes::BUSY, busy.to_string())
            .with(Fact::RetryAfterSeconds(RETRY_AFTER_SECONDS))
            .with(Fact::Limit(busy.waiting_max as u64))
    }
}

impl From<qlio_data::path::PathError> for RunError {
    fn from(error: qlio_data::path::PathError) -> Self {
        Self::client(codes::PATH_EXPRESSION, error.to_string())
    }
}
