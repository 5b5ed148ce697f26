//! When a run or a statement has to be done (UPS-8, UPS-36).
//!
//! Made when the run begins, from its route or the settings; a statement with a `deadline` of its own has the
//! earlier of the two. It travels with every exchange, and ends the run as a whole.

use std::time::Duration;

use qlio_plan::Plan;
use qlio_syntax::{diagnostic::codes, limits::ROUTE_DEADLINE_MS_MAX};
use tokio::time::Instant;

use crate::{
    error::{Fact, RunError},
    request::Caller,
};

/// An instant, and who has said it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Deadline {
    pub(crate) at: Instant,
    milliseconds: u64,
    said_by: SaidBy,
}

#[derive(Debug, Clone, Copy)]
enum SaidBy {
    Statement,
    Route,
    Setting,
    /// Nobody: somebody steps through the run.
    Stepping,
}

impl Deadline {
    /// That of a run which begins now. What a script of a client says of itself does not count.
    pub(crate) fn of_run(plan: &Plan, caller: Caller, setting: Duration, is_stepped: bool) -> Self {
        let of_route = match caller {
            Caller::AdHoc { .. } => None,
            Caller::Route | Caller::Operator => {
                plan.route.as_ref().and_then(|route| route.deadline_ms)
            }
        };
        let setting = u64::try_from(setting.as_millis()).unwrap_or(u64::MAX);
        let (milliseconds, said_by) = match of_route {
            _ if is_stepped => (ROUTE_DEADLINE_MS_MAX, SaidBy::Stepping),
            Some(milliseconds) => (milliseconds, SaidBy::Route),
            None => (setting, SaidBy::Setting),
        };
        Self::after(milliseconds.min(ROUTE_DEADLINE_MS_MAX), said_by)
    }

    /// That of a statement which begins now, within this one.
    pub(crate) fn of_statement(self, milliseconds: Option<u64>) -> Self {
        let own = milliseconds.map(|milliseconds| {
            Self::after(milliseconds.min(ROUTE_DEADLINE_MS_MAX), SaidBy::Statement)
        });
        own.filter(|own| own.at < self.at).unwrap_or(self)
    }

    fn after(milliseconds: u64, said_by: SaidBy) -> Self {
        Self { at: Instant::now() + Duration::from_millis(milliseconds), milliseconds, said_by }
    }

    /// Whether it is that of a statement alone.
    pub(crate) fn is_of_statement(self) -> bool {
        matches!(self.said_by, SaidBy::Statement)
    }

    /// What happened, and where the deadline can be raised.
    pub(crate) fn message(self) -> String {
        let milliseconds = self.milliseconds;
        match self.said_by {
            SaidBy::Statement => format!(
                "the statement has not ended within its `deadline {milliseconds}`; raise it there"
            ),
            SaidBy::Route => format!(
                "the route has not answered within its `using deadline {milliseconds}`; raise it there"
            ),
            SaidBy::Setting => format!(
                "the run has not ended within the setting `deadline` = {milliseconds} ms; raise it, or \
                 give the route `using deadline`"
            ),
            SaidBy::Stepping => {
                format!("nobody has stepped through the run to its end within {milliseconds} ms")
            }
        }
    }

    /// The error of what has not ended in time.
    pub(crate) fn error(self) -> RunError {
        RunError::gateway(codes::DEADLINE, self.message()).with(Fact::Limit(self.milliseconds))
    }

    /// Adds what the deadline is to the failure of an exchange that it has ended.
    pub(crate) fn explain(self, mut failed: RunError) -> RunError {
        failed.message = self.message();
        failed.with(Fact::Limit(self.milliseconds))
    }
}
