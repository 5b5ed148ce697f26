//! Runs one case: lays out its folder, starts its upstream, lets an engine do the work, compares.
//!
//! In go a [`Case`] and a [`CaseEngine`]; out comes nothing, or why the case failed, as a text for a
//! person. Cases share nothing, so any number may run at the same time.
//!
//! The engine under test is behind a trait, because the same cases judge the real executable
//! ([`binary::BinaryEngine`]) and an engine inside the test's own process.

pub mod binary;
mod conversation;
mod folder;

use std::time::Duration;

use crate::case::Case;
use crate::case::check::{Outcome, check};
use crate::case::conversation::Conversation;
use crate::upstream::Upstream;

pub use folder::CaseFolder;

/// How long a case may take before it counts as hanging.
pub const CASE_PATIENCE: Duration = Duration::from_secs(20);

/// How long the upstream waits for the engine's connections to close before the counts are taken.
const SETTLE_PATIENCE: Duration = Duration::from_millis(500);

/// Something that can run cases. The case comes with the upstream's address filled in, and with its
/// files laid out in the folder.
pub trait CaseEngine {
    /// Runs the script of a case.
    fn run_script(&self, case: &Case, folder: &CaseFolder) -> Outcome;

    /// Sends the requests of a case to a server with its catalog.
    fn run_http(&self, case: &Case, folder: &CaseFolder) -> Outcome;

    /// Makes the WebSocket connection of a case; an engine without sockets can not.
    fn run_websocket(&self, _talk: &Conversation, _folder: &CaseFolder) -> Outcome {
        Outcome::Broken("this engine has no sockets".to_owned())
    }
}

/// Runs a case against an engine.
///
/// # Errors
/// Says in which ways the outcome and the upstream's requests differ from what the case expects.
pub fn run_case(engine: &dyn CaseEngine, case: &Case) -> Result<(), String> {
    let upstream = Upstream::start().map_err(|error| format!("no upstream: {error}"))?;
    let case = case.addressed(upstream.base());
    upstream.expect(case.upstream.iter().cloned());
    let folder = CaseFolder::lay_out(&case).map_err(|error| format!("no case folder: {error}"))?;
    let outcome = if let Some(talk) = &case.websocket {
        engine.run_websocket(talk, &folder)
    } else if case.script.is_some() {
        engine.run_script(&case, &folder)
    } else {
        engine.run_http(&case, &folder)
    };
    let outcome = outcome.without_address(upstream.base());
    // An engine in this process may keep its connections: the counts are taken all the same.
    upstream.settle(SETTLE_PATIENCE);
    let checked = match (&case.websocket, &outcome) {
        (Some(talk), Outcome::Conversation { status, received }) => {
            talk.check(case.expect.status.unwrap_or(101), *status, received)
        }
        _ => check(&case.expect, &outcome),
    };
    let problems: Vec<String> =
        [checked.err(), upstream.verify().err()].into_iter().flatten().collect();
    if problems.is_empty() { Ok(()) } else { Err(problems.join("\n")) }
}
