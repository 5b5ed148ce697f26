//! What a run tells those who watch it: statements, exchanges, assignments, warnings.
//!
//! ```text
//! executor, http ─▶ Observation (of one run) ─▶ the watcher's function, one Event at a time
//! ```
//!
//! In: a [`Watch`], which says who wants to know what. Out: [`Event`]s, in the order in which things
//! happen, on the task of the run. An event lends what it shows; whoever keeps it copies it, so no
//! event changes after it was told. Credentials are gone from headers and URIs before an event is
//! made; secrets of the settings are the watcher's to remove, the engine does not know them.
//!
//! A run that nobody watches allocates nothing for events and reads no clock: each place that could
//! tell something looks at one `Option` first. What events look like on the wire, and how many of
//! them are kept, is not decided here.
//!
//! Source: TRC-6, WSK-6.

mod exchange;
mod observation;
mod step;
mod subscription;

use std::time::Duration;

use qlio_data::{Object, Value};

pub(crate) use exchange::{Announced, shown_form, shown_headers};
pub use exchange::{AnswerEvent, Because, CachedAnswer, FailedRequestEvent, RequestEvent, new_id};
pub(crate) use observation::{End, Observation, OpenExchange, place_of};
pub use step::{Step, Stepper};
pub use subscription::{EventKind, Subscription};

/// The statement that an event is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// Its 1-based line; `None` for a bare `return name`.
    pub line: Option<u32>,
    /// Tells it from the other statements of the script: the position of its node in the plan.
    pub statement: u32,
    /// Of a `try`, which of its catches, from 0.
    pub catch: Option<u32>,
}

impl Place {
    /// The name of the node in explanations of the plan: `n1`, `n2`, …
    pub fn node(&self) -> String {
        node_name(self.statement)
    }
}

/// What explanations of the plan call the node at a position.
pub fn node_name(statement: u32) -> String {
    format!("n{}", u64::from(statement) + 1)
}

/// One thing that happened in a run.
#[derive(Debug)]
pub enum Event<'e> {
    /// A statement starts.
    Started {
        /// The statement.
        place: Place,
        /// `select`, `insert`, `update` or `delete`; empty for what asks no API.
        verb: &'static str,
    },
    /// A statement is over.
    Ended {
        /// The statement.
        place: Place,
        /// Whether it did not fail.
        is_success: bool,
        /// It has neither failed nor succeeded: the run has ended before it.
        is_cancelled: bool,
        /// How long it took.
        elapsed: Duration,
        /// What it gave, if it has succeeded and gives anything.
        value: Option<&'e Value>,
    },
    /// A statement will not run: its branch was not taken, it is an alternative that was not needed, or the run
    /// has ended before it.
    Skipped {
        /// The statement.
        place: Place,
    },
    /// An upstream is asked; a repeated attempt, and what a redirect leads to, is told again under an id of
    /// its own.
    Request(RequestEvent<'e>),
    /// An upstream, or the cache in its place, has answered.
    Answer(AnswerEvent<'e>),
    /// There will be no answer to a request.
    RequestFailed(FailedRequestEvent<'e>),
    /// A statement has bound a variable.
    Assigned {
        /// The variable.
        name: &'e str,
        /// Its value.
        value: &'e Value,
    },
    /// Something is odd: a path that matches nothing, a part of a scatter that failed. Told whether
    /// or not it was subscribed to.
    Warned {
        /// The statement, where it is known.
        place: Option<Place>,
        /// What is odd.
        message: &'e str,
        /// The failure that it comes from, in words that may tell of the inside.
        cause: Option<&'e str>,
    },
    /// Statements wait to be let through by the [`Stepper`].
    Paused {
        /// The variables that are set, by name.
        variables: Object,
        /// The statements that wait; the first is the next.
        waiting: Vec<Place>,
    },
}

/// Text of a value that is looked through to count its rows, in bytes: what takes about a millisecond.
const COUNTED_BYTES_MAX: usize = 1 << 20;

impl Event<'_> {
    /// How many rows the statement gave that is over. `None` for any other event, for what is no list, and for a list
    /// that is still text and longer than [1 MiB](COUNTED_BYTES_MAX).
    pub fn rows(&self) -> Option<u64> {
        let Self::Ended { value: Some(value), .. } = self else { return None };
        let is_short = match value {
            Value::Raw(text) => text.len() <= COUNTED_BYTES_MAX,
            _ => true,
        };
        let rows = (is_short && value.is_array()).then(|| value.len())?;
        u64::try_from(rows).ok()
    }

    /// Whether it is among what was subscribed to.
    pub fn is_wanted(&self, subscription: &Subscription) -> bool {
        match self {
            Self::Started { .. } => subscription.has(EventKind::InFlight),
            Self::Ended { is_success: true, .. } => subscription.has(EventKind::Success),
            Self::Ended { .. } => subscription.has(EventKind::Error),
            Self::Skipped { .. } => subscription.has(EventKind::Skipped),
            Self::Request(_) => subscription.has(EventKind::Request),
            Self::Answer(_) => subscription.has(EventKind::Response),
            Self::RequestFailed(_) => subscription.has(EventKind::RequestFailed),
            Self::Assigned { name, .. } => subscription.has_variable(name),
            Self::Warned { .. } => true,
            Self::Paused { .. } => subscription.has(EventKind::Debug),
        }
    }
}

/// Who watches a run, and what for.
#[derive(Clone, Copy)]
pub struct Watch<'w> {
    /// What is told.
    pub subscription: &'w Subscription,
    /// To whom. Called while the run is being polled: it must neither block nor panic.
    pub tell: &'w dyn Fn(Event<'_>),
    /// Lets one statement through at a time; `None` runs without stopping.
    pub stepper: Option<&'w Stepper>,
}
