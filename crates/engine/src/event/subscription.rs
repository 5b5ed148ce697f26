//! What a watcher wants to know.

use std::collections::HashSet;

/// The events that have names of their own; every other name is that of a variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum EventKind {
    /// A script was received.
    Ack,
    /// A script does not compile.
    CompileError,
    /// A statement starts.
    InFlight,
    /// An upstream is asked.
    Request,
    /// An upstream has answered.
    Response,
    /// A statement has succeeded.
    Success,
    /// A statement has failed.
    Error,
    /// A statement will not run.
    Skipped,
    /// An upstream that was asked will give no answer.
    RequestFailed,
    /// A script is over.
    Done,
    /// Something is odd.
    Warning,
    /// A script that is run step by step waits.
    Debug,
    /// The picture of a script that is run step by step.
    Visualization,
    /// The plan of a script.
    Plan,
}

impl EventKind {
    /// All kinds.
    pub const ALL: [Self; 14] = [
        Self::Ack,
        Self::CompileError,
        Self::InFlight,
        Self::Request,
        Self::Response,
        Self::Success,
        Self::Error,
        Self::Skipped,
        Self::RequestFailed,
        Self::Done,
        Self::Warning,
        Self::Debug,
        Self::Visualization,
        Self::Plan,
    ];

    /// The name on the wire (TRC-6).
    pub fn name(self) -> &'static str {
        match self {
            Self::Ack => "ack",
            Self::CompileError => "compile-error",
            Self::InFlight => "statement-in-flight",
            Self::Request => "statement-request",
            Self::Response => "statement-response",
            Self::Success => "statement-success",
            Self::Error => "statement-error",
            Self::Skipped => "statement-skipped",
            Self::RequestFailed => "statement-request-error",
            Self::Done => "script-done",
            Self::Warning => "warning",
            Self::Debug => "ql.io-debug",
            Self::Visualization => "ql.io-visualization",
            Self::Plan => "plan",
        }
    }

    fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    fn bit(self) -> u16 {
        1 << (self as u8)
    }
}

/// Kinds of events, and variables whose assignments are told.
///
/// The two have separate name spaces: a variable with the name of an event is not told (TRC-3).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Subscription {
    kinds: u16,
    variables: HashSet<Box<str>>,
}

impl Subscription {
    /// Everything but assignments.
    pub fn all() -> Self {
        let kinds = EventKind::ALL.into_iter().fold(0, |kinds, kind| kinds | kind.bit());
        Self { kinds, variables: HashSet::new() }
    }

    /// The names of events and variables as a client lists them.
    pub fn of_names<'n>(names: impl IntoIterator<Item = &'n str>) -> Self {
        let mut subscription = Self::default();
        for name in names {
            match EventKind::of_name(name) {
                Some(kind) => subscription.kinds |= kind.bit(),
                None => {
                    subscription.variables.insert(name.into());
                }
            }
        }
        subscription
    }

    /// The same without this kind.
    #[must_use]
    pub fn without(mut self, kind: EventKind) -> Self {
        self.kinds &= !kind.bit();
        self
    }

    /// The same without assignments.
    #[must_use]
    pub fn without_variables(mut self) -> Self {
        self.variables.clear();
        self
    }

    /// What either of the two wants.
    #[must_use]
    pub fn joined(mut self, other: &Self) -> Self {
        self.kinds |= other.kinds;
        self.variables.extend(other.variables.iter().cloned());
        self
    }

    /// Whether events of this kind are told.
    pub fn has(&self, kind: EventKind) -> bool {
        self.kinds & kind.bit() != 0
    }

    /// Whether assignments to this variable are told.
    pub fn has_variable(&self, name: &str) -> bool {
        !self.variables.is_empty() && self.variables.contains(name)
    }

    /// Nothing is told.
    pub fn is_empty(&self) -> bool {
        self.kinds == 0 && self.variables.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_events_are_not_names_of_variables() {
        let subscription = Subscription::of_names(["ack", "w", "script-done"]);
        assert!(subscription.has(EventKind::Ack) && subscription.has(EventKind::Done));
        assert!(!subscription.has(EventKind::Warning));
        assert!(subscription.has_variable("w") && !subscription.has_variable("ack"));
    }

    #[test]
    fn kinds_can_be_taken_out() {
        let subscription = Subscription::all().without(EventKind::Request);
        assert!(!subscription.has(EventKind::Request) && subscription.has(EventKind::Response));
        assert!(!subscription.has_variable("x"));
        let variables = Subscription::of_names(["x"]);
        assert!(!variables.is_empty() && variables.without_variables().is_empty());
    }
}
