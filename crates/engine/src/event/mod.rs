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
pub use exchange::{AnswerEvent, RequestEvent, new_id};
pub(crate) use observation::Observation;
pub use step::Stepper;
pub use subscription::{EventKind, Subscription};

/// One thing that happened in a run.
#[derive(Debug)]
pub enum Event<'e> {
    /// A statement starts.
    Started {
        /// Its 1-based line; `None` for a bare `return name`.
        line: Option<u32>,
        /// Tells it from the other statements of the script.
        statement: u32,
        /// `select`, `insert`, `update` or `delete`; empty for what asks no API.
        verb: &'static str,
    },
    /// A statement is over.
    Ended {
        /// Its 1-based line; `None` for a bare `return name`.
        line: Option<u32>,
        /// Tells it from the other statements of the script.
        statement: u32,
        /// Whether it did not fail.
        is_success: bool,
        /// How long it took.
        elapsed: Duration,
    },
    /// An upstream is asked; a repeated attempt is told again under an id of its own.
    Request(RequestEvent<'e>),
    /// An upstream, or the cache in its place, has answered.
    Answer(AnswerEvent<'e>),
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
        /// 1-based line of the statement, where it is known.
        line: Option<u32>,
        /// What is odd.
        message: &'e str,
        /// The failure that it comes from, in words that may tell of the inside.
        cause: Option<&'e str>,
    },
    /// Statements wait to be let through by the [`Stepper`].
    Paused {
        /// The variables that are set, by name.
        variables: Object,
    },
}

impl Event<'_> {
    /// Whether it is among what was subscribed to.
    pub fn is_wanted(&self, subscription: &Subscription) -> bool {
        match self {
            Self::Started { .. } => subscription.has(EventKind::InFlight),
            Self::Ended { is_success: true, .. } => subscription.has(EventKind::Success),
            Self::Ended { .. } => subscription.has(EventKind::Error),
            Self::Request(_) => subscription.has(EventKind::Request),
            Self::Answer(_) => subscription.has(EventKind::Response),
            Self::Assigned { name, .. } => subscription.has_variable(name),
            Self::Warned { .. } | Self::Paused { .. } => true,
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
