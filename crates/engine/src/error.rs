//! What can go wrong while a plan runs, in one shape.
//!
//! An error carries what is needed to answer for it: the diagnostic code, who is at fault, the
//! status of the HTTP answer, and the members of the error body (`decisions.md` 7–8). It never
//! carries request headers, credentials or internals.

use qlio_data::{Object, Text, Value};
use qlio_syntax::diagnostic::{Code, codes};

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

/// A failed statement.
#[derive(Debug, Clone)]
pub struct RunError {
    /// The diagnostic code.
    pub code: Code,
    /// Who is at fault.
    pub origin: Origin,
    /// The status of the HTTP answer.
    pub status: u16,
    /// What happened.
    pub message: String,
    /// 1-based line of the statement.
    pub line: Option<u32>,
    /// Seconds after which another try makes sense.
    pub retry_after_seconds: Option<u64>,
    /// Further members of the error body, in order.
    members: Box<Object>,
}

impl RunError {
    /// A mistake of the client: status 400.
    pub fn client(code: Code, message: impl Into<String>) -> Self {
        Self::new(code, Origin::Client, 400, message)
    }

    /// A failure of the upstream: status 502.
    pub fn upstream(code: Code, message: impl Into<String>) -> Self {
        Self::new(code, Origin::Upstream, 502, message)
    }

    /// A fault of ours: status 500.
    pub fn internal(message: impl Into<String>) -> Self {
        Self::new(codes::INTERNAL, Origin::Gateway, 500, message)
    }

    /// An error with a status of its own.
    pub fn new(code: Code, origin: Origin, status: u16, message: impl Into<String>) -> Self {
        Self {
            code,
            origin,
            status,
            message: message.into(),
            line: None,
            retry_after_seconds: None,
            members: Box::default(),
        }
    }

    /// Adds a member to the body.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.members.insert(name, value.into());
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
    pub fn in_table(mut self, table: &Text) -> Self {
        if self.members.get("table").is_none() {
            self.members.insert("table", Value::from(table.clone()));
        }
        self
    }

    /// The body of the answer: always an object with `message`.
    pub fn body(&self) -> Value {
        let mut body = Object::with_capacity(self.members.len() + 4);
        body.insert("message", Value::from(self.message.as_str()));
        body.insert("code", Value::from(format!("Q{:04}", self.code.number)));
        body.insert("status", Value::int(i64::from(self.status)));
        if let Some(line) = self.line {
            body.insert("line", Value::int(i64::from(line)));
        }
        for (name, value) in self.members.iter() {
            body.insert(name.clone(), value.clone());
        }
        Value::object(body)
    }
}

impl std::fmt::Display for RunError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for RunError {}

impl From<qlio_data::path::PathError> for RunError {
    fn from(error: qlio_data::path::PathError) -> Self {
        Self::client(codes::PATH_EXPRESSION, error.to_string())
    }
}
