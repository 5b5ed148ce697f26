//! The execution trace of a request: the parameter `events` in, the header `Link` out
//! (TRC-4).
//!
//! A client names the events that it wants; what happened is answered as a list of packets in a data
//! URI. The list has a fixed size: beyond it the bodies of answers go first, then the oldest
//! packets, and a last packet says so. A request without the parameter has no [`Trace`].
//!
//! Packets of exchanges show what upstreams are called with and what they answer, which is nothing
//! for everybody: [`TraceLevel`] says how much is told (ADR 0009).

use std::{cell::RefCell, collections::VecDeque, time::Instant};

use qlio_data::{Object, Value, codec::json, percent};
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
            Self::Progress => asked.without(EventKind::Request).without(EventKind::Response),
            Self::Full => return asked,
        };
        if is_own_script { asked } else { asked.without_variables() }
    }
}

/// Bytes of a `Link` header; with it, most proxies and clients still take the head of the answer.
const LINK_BYTES_MAX: usize = 8 * 1024;

/// Names in one subscription.
const NAMES_MAX: usize = 1000;

const LINK_BEGIN: &str = "<data:application/json,%5B";
const LINK_END: &str = "%5D>;rel=execstate";
const COMMA: &str = "%2C";
/// `{"type":"truncated"}`, encoded.
const TRUNCATED: &str = "%7B%22type%22%3A%22truncated%22%7D";

/// The names in a list of events: a JSON list, or the text of one.
///
/// # Errors
/// It is no such list, or it has more than `NAMES_MAX` names.
pub(super) fn subscription(list: &Value) -> Option<Subscription> {
    let list = match list.as_str() {
        Some(text) => json::parse_str(text).ok()?,
        None => list.clone(),
    };
    if !list.is_array() || list.len() > NAMES_MAX {
        return None;
    }
    let names = list.elements()?;
    Some(Subscription::of_names(names.iter().filter_map(Value::as_str)))
}

/// What the parameter `events` asks for. `true` and `1` ask for every standard event; what cannot be
/// understood asks for nothing.
pub(super) fn requested(parameter: &Value) -> Subscription {
    let is_all = match parameter.as_str() {
        Some(text) => matches!(text.trim(), "true" | "1"),
        None => return Subscription::default(),
    };
    if is_all {
        let not_standard = [EventKind::Debug, EventKind::Visualization];
        return not_standard.into_iter().fold(Subscription::all(), Subscription::without);
    }
    let packet = parameter.as_str().and_then(|text| json::parse_str(text).ok());
    let list = packet.map(|packet| packet.member("data"));
    list.and_then(|list| subscription(&list)).unwrap_or_default()
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
        let rules = PacketRules { secrets, errors, body_bytes_max: LINK_BYTES_MAX };
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

/// The packets that still fit. What is dropped while collecting is what would be dropped in the
/// end, since packets only become more; so no more than one packet beyond the limit is ever held.
#[derive(Debug, Default)]
struct Kept {
    packets: VecDeque<KeptPacket>,
    /// Numbers of packets that hold the body of an answer, oldest first.
    with_body: VecDeque<usize>,
    /// How many packets were dropped at the front.
    dropped: usize,
    bytes: usize,
    is_truncated: bool,
}

#[derive(Debug)]
struct KeptPacket {
    encoded: String,
    without_body: Option<String>,
}

impl Kept {
    fn push(&mut self, Packet { name, data }: Packet) {
        let is_answer = *name == *EventKind::Response.name();
        let data = if data.member("type").as_str() == Some(&*name) {
            data
        } else {
            // The value of a variable, which does not say what it is.
            let packet: Object =
                [("type", Value::from(name)), ("data", data)].into_iter().collect();
            Value::object(packet)
        };
        let mut without_body = None;
        if is_answer && let Value::Object(object) = &data {
            let mut bare = Object::clone(object);
            if bare.remove("body").is_some() {
                without_body = Some(encode(&Value::object(bare)));
                self.with_body.push_back(self.dropped + self.packets.len());
            }
        }
        let encoded = encode(&data);
        self.bytes += encoded.len() + COMMA.len();
        self.packets.push_back(KeptPacket { encoded, without_body });
        self.shrink();
    }

    fn shrink(&mut self) {
        let fixed = LINK_BEGIN.len() + LINK_END.len() + TRUNCATED.len();
        while fixed + self.bytes > LINK_BYTES_MAX {
            self.is_truncated = true;
            if let Some(number) = self.with_body.pop_front() {
                let packet = number.checked_sub(self.dropped);
                let packet = packet.and_then(|position| self.packets.get_mut(position));
                let Some(packet) = packet else { continue };
                let Some(bare) = packet.without_body.take() else { continue };
                self.bytes -= packet.encoded.len() - bare.len();
                packet.encoded = bare;
            } else {
                let Some(oldest) = self.packets.pop_front() else { return };
                self.dropped += 1;
                self.bytes -= oldest.encoded.len() + COMMA.len();
            }
        }
    }

    fn into_link(self) -> Option<String> {
        let is_truncated = self.is_truncated;
        if self.packets.is_empty() && !is_truncated {
            return None;
        }
        let mut link = String::with_capacity(self.bytes + 128);
        link.push_str(LINK_BEGIN);
        let packets = self.packets.iter().map(|packet| packet.encoded.as_str());
        for (position, packet) in packets.chain(is_truncated.then_some(TRUNCATED)).enumerate() {
            if position > 0 {
                link.push_str(COMMA);
            }
            link.push_str(packet);
        }
        link.push_str(LINK_END);
        Some(link)
    }
}

fn encode(value: &Value) -> String {
    percent::encode(&json::to_string(value))
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
            assert!(!names(text).has(EventKind::Debug));
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

    fn packets(link: &str) -> Vec<String> {
        let encoded = link.strip_prefix("<data:application/json,").expect("a data URI");
        let encoded = encoded.strip_suffix(">;rel=execstate").expect("a relation");
        let text = percent::decode(encoded).expect("well encoded");
        let list = json::parse_str(&text).expect("a list");
        let elements = list.elements().expect("a list");
        elements.iter().map(json::to_string).collect()
    }

    fn variable(name: &str, bytes: usize) -> Packet {
        Packet { name: name.into(), data: Value::from("x".repeat(bytes)) }
    }

    fn answer(id: &str, bytes: usize) -> Packet {
        let name = EventKind::Response.name();
        let data: Object = [
            ("id", Value::from(id)),
            ("type", Value::from(name)),
            ("body", Value::from("y".repeat(bytes))),
        ]
        .into_iter()
        .collect();
        Packet { name: name.into(), data: Value::object(data) }
    }

    #[test]
    fn bodies_go_first_then_the_oldest_packets() {
        let mut kept = Kept::default();
        kept.push(variable("a", 3000));
        kept.push(answer("1", 3000));
        kept.push(answer("2", 3000));
        kept.push(variable("b", 100));
        let link = kept.into_link().expect("packets");
        assert!(link.len() <= LINK_BYTES_MAX);
        let list = packets(&link);
        assert!(list[0].starts_with(r#"{"type":"a""#));
        assert_eq!(list[1], r#"{"id":"1","type":"statement-response"}"#);
        assert!(list[2].contains("yyy"), "the newer body still fits");
        assert_eq!(list.last().map(String::as_str), Some(r#"{"type":"truncated"}"#));

        let mut kept = Kept::default();
        kept.push(variable("a", 5000));
        kept.push(answer("1", 100));
        kept.push(variable("b", 5000));
        let list = packets(&kept.into_link().expect("packets"));
        assert_eq!(list.len(), 3);
        assert_eq!(list[0], r#"{"id":"1","type":"statement-response"}"#);
        assert!(list[1].starts_with(r#"{"type":"b""#));
    }

    #[test]
    fn a_header_of_exactly_the_limit_is_whole() {
        let link_of = |bytes| {
            let mut kept = Kept::default();
            kept.push(variable("a", bytes));
            kept.into_link().expect("a packet")
        };
        let room = TRUNCATED.len() + COMMA.len();
        let most = LINK_BYTES_MAX - room - link_of(0).len();
        assert_eq!(link_of(most).len(), LINK_BYTES_MAX - room);
        assert_eq!(packets(&link_of(most + 1)), [r#"{"type":"truncated"}"#]);
        assert_eq!(Kept::default().into_link(), None);
    }
}
