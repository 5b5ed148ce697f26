//! The execution trace of a request: the parameter `events` in, the header `Link` out
//! (TRC-4).
//!
//! A client names the events that it wants; what happened is answered as a list of packets in a data
//! URI. The list has a fixed size, see [`kept`]. A request without the parameter has no [`Trace`].
//!
//! Packets of exchanges show what upstreams are called with and what they answer, which is nothing
//! for everybody: [`TraceLevel`] says how much is told (ADR 0009).

mod kept;

use std::{cell::RefCell, time::Instant};

use kept::Kept;
use qlio_data::{Value, codec::json};
use qlio_engine::event::{Event, EventKind, Subscription};

use super::{
    disclosure::ErrorDetail,
    packet::{Packet, PacketRules, Warnings},
};

/// How much clients may learn of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TraceLevel {
    /// Nothing.
    None,
    /// How statements come along, and warnings; neither exchanges nor, on routes, values.
    #[default]
    Progress,
    /// Everything.
    Full,
}

impl TraceLevel {
    /// The events that a client gets of those it asks for. Who has written the script may see its
    /// variables.
    pub(super) fn allowed(self, asked: Subscription, is_own_script: bool) -> Subscription {
        let asked = match self {
            Self::None => return Subscription::default(),
            Self::Progress => asked
                .without(EventKind::Request)
                .without(EventKind::Response)
                .without(EventKind::RequestFailed),
            Self::Full => return asked,
        };
        if is_own_script { asked } else { asked.without_variables() }
    }
}

/// Names in one subscription.
const NAMES_MAX: usize = 1000;

/// The names in a list of events: a JSON list, or the text of one.
///
/// # Errors
/// It is no such list, or it has more than `NAMES_MAX` names.
pub(super) fn subscription(list: &Value) -> Option<Subscription> {
    let list = names(list)?;
    Some(Subscription::of_names(list.elements()?.iter().filter_map(Value::as_str)))
}

/// Whether a list of events has this name.
pub(super) fn has_name(list: &Value, name: &str) -> bool {
    let has = |list: Value| {
        list.elements().is_some_and(|names| names.iter().any(|one| one.as_str() == Some(name)))
    };
    names(list).is_some_and(has)
}

fn names(list: &Value) -> Option<Value> {
    let list = match list.as_str() {
        Some(text) => json::parse_str(text).ok()?,
        None => list.clone(),
    };
    if !list.is_array() || list.len() > NAMES_MAX {
        return None;
    }
    Some(list)
}

/// What the parameter `events` asks for. `true` and `1` ask for every standard event; what cannot be
/// understood asks for nothing.
pub(super) fn requested(parameter: &Value) -> Subscription {
    let is_all = match parameter.as_str() {
        Some(text) => matches!(text.trim(), "true" | "1"),
        None => return Subscription::default(),
    };
    if is_all {
        return standard();
    }
    let packet = parameter.as_str().and_then(|text| json::parse_str(text).ok());
    let list = packet.map(|packet| packet.member("data"));
    list.and_then(|list| subscription(&list)).unwrap_or_default()
}

/// All that a trace tells: neither pictures nor what belongs to steps.
pub(super) fn standard() -> Subscription {
    let not_standard = [EventKind::Debug, EventKind::Visualization, EventKind::Plan];
    not_standard.into_iter().fold(Subscription::all(), Subscription::without)
}

/// The trace of one run.
#[derive(Debug)]
pub(super) struct Trace<'s> {
    subscription: Subscription,
    rules: PacketRules<'s>,
    began: Instant,
    warnings: Warnings,
    kept: RefCell<Kept>,
}

impl<'s> Trace<'s> {
    /// A trace that begins now, if there is anything to trace.
    pub(super) fn begin(
        subscription: Subscription,
        errors: ErrorDetail,
        secrets: &'s [String],
    ) -> Option<Self> {
        if subscription.is_empty() {
            return None;
        }
        // A body that is longer than the header could never stay in it.
        let rules = PacketRules {
            secrets,
            errors,
            body_bytes_max: kept::BYTES_MAX,
            value_bytes_max: Some(kept::BYTES_MAX),
            is_roomy: false,
        };
        let trace = Self {
            subscription,
            rules,
            began: Instant::now(),
            warnings: Warnings::default(),
            kept: RefCell::default(),
        };
        trace.push(EventKind::Ack, PacketRules::ack);
        Some(trace)
    }

    /// What the engine should tell.
    pub(super) fn subscription(&self) -> &Subscription {
        &self.subscription
    }

    /// Takes an event of the engine.
    pub(super) fn take(&self, event: &Event<'_>) {
        if let Event::Warned { message, cause, .. } = event {
            self.warnings.keep(self.rules.warning(message, *cause));
            if !self.subscription.has(EventKind::Warning) {
                return;
            }
        }
        self.kept.borrow_mut().push(self.rules.packet(event));
    }

    /// The script does not compile.
    pub(super) fn compile_failed(&self, error: &Value) {
        self.push(EventKind::CompileError, || PacketRules::compile_error(error.clone()));
    }

    /// The script is over.
    pub(super) fn done(&self, script: &str, line: Option<u32>) {
        self.push(EventKind::Done, || {
            self.rules.done(script, self.began.elapsed(), line, &self.warnings)
        });
    }

    fn push(&self, kind: EventKind, packet: impl FnOnce() -> Packet) {
        if self.subscription.has(kind) {
            self.kept.borrow_mut().push(packet());
        }
    }

    /// The value of the `Link` header; `None` if there is no packet.
    pub(super) fn into_link(self) -> Option<String> {
        self.kept.into_inner().into_link()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(parameter: &str) -> Subscription {
        requested(&Value::from(parameter))
    }

    #[test]
    fn a_packet_lists_the_events_and_nonsense_lists_none() {
        let two = Subscription::of_names(["ack", "script-done"]);
        assert_eq!(names(r#"{"type":"events","data":"[\"ack\",\"script-done\"]"}"#), two);
        assert_eq!(names(r#"{"data":["ack","script-done"]}"#), two);
        for nonsense in ["", "false", "yes", "[", r#"{"data":"ack"}"#, r#"{"data":5}"#, "{}"] {
            assert!(names(nonsense).is_empty(), "{nonsense}");
        }
        let many: Vec<String> = (0..=NAMES_MAX).map(|name| format!("\"v{name}\"")).collect();
        assert!(!names(&format!("{{\"data\":[{}]}}", many[1..].join(","))).is_empty());
        assert!(names(&format!("{{\"data\":[{}]}}", many.join(","))).is_empty());
    }

    #[test]
    fn true_lists_the_standard_events() {
        for text in ["true", "1", " true "] {
            assert!(names(text).has(EventKind::Response) && names(text).has(EventKind::Warning));
            assert!(!names(text).has(EventKind::Debug) && !names(text).has(EventKind::Plan));
        }
    }

    #[test]
    fn a_level_hides_what_is_not_for_everybody() {
        let asked = || Subscription::of_names(["ack", "statement-request", "v"]);
        assert!(TraceLevel::None.allowed(asked(), true).is_empty());
        let progress = TraceLevel::Progress.allowed(asked(), true);
        assert!(progress.has(EventKind::Ack) && progress.has_variable("v"));
        assert!(!progress.has(EventKind::Request));
        assert!(!TraceLevel::Progress.allowed(asked(), false).has_variable("v"));
        assert_eq!(TraceLevel::Full.allowed(asked(), false), asked());
    }
}
