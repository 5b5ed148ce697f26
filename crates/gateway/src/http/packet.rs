//! Events as packets: the JSON that traces and WebSocket messages hold (TRC-6).
//!
//! In: an [`Event`] of the engine, or what only the gateway knows. Out: a name and a value, made at
//! once, so that it cannot change afterwards. Promised: secrets of the settings do not appear
//! (credential headers and parameters are gone already), and no body is longer than asked for. What
//! is too long is cut and marked.

use std::{cell::RefCell, time::Duration};

use qlio_data::{
    Number, Object, Text, Value,
    redact::{redact, replaced},
};
use qlio_engine::{
    event::{AnswerEvent, Event, EventKind, RequestEvent},
    transport::Timings,
};

use super::disclosure::ErrorDetail;

/// An event as it is told.
#[derive(Debug, Clone, PartialEq)]
pub struct Packet {
    /// The name of the event, or of the variable.
    pub name: Text,
    /// What happened.
    pub data: Value,
}

/// Most warnings that the last packet of a script repeats; the engine keeps no more either.
const WARNINGS_MAX: usize = 100;

/// The warnings of a run so far.
#[derive(Debug, Default)]
pub struct Warnings(RefCell<Vec<Text>>);

impl Warnings {
    /// Keeps a warning, unless there are too many.
    pub fn keep(&self, warning: Text) {
        let mut kept = self.0.borrow_mut();
        if kept.len() < WARNINGS_MAX {
            kept.push(warning);
        }
    }
}

/// How packets are made.
#[derive(Debug, Clone, Copy)]
pub struct PacketRules<'s> {
    /// Texts that must not appear.
    pub secrets: &'s [String],
    /// Whether warnings name the failures that they come from.
    pub errors: ErrorDetail,
    /// Bytes of a request or answer body that are shown.
    pub body_bytes_max: usize,
}

impl PacketRules<'_> {
    /// The packet of an event.
    pub fn packet(self, event: &Event<'_>) -> Packet {
        match event {
            Event::Started { line, .. } => packet(EventKind::InFlight, *line, None),
            Event::Ended { line, is_success, elapsed, .. } => {
                let kind = if *is_success { EventKind::Success } else { EventKind::Error };
                packet(kind, *line, Some(("elapsed", milliseconds(*elapsed))))
            }
            Event::Request(request) => self.request(request),
            Event::Answer(answer) => self.answer(answer),
            Event::Assigned { name, value } => {
                Packet { name: Text::from(*name), data: redact((*value).clone(), self.secrets) }
            }
            Event::Warned { line, message, cause } => {
                let warning = Value::from(self.warning(message, *cause));
                packet(EventKind::Warning, *line, Some(("data", warning)))
            }
            Event::Paused { variables } => {
                let context = redact(Value::object(variables.clone()), self.secrets);
                let data = [("context", context)].into_iter().collect::<Object>();
                Packet { name: EventKind::Debug.name().into(), data: Value::object(data) }
            }
        }
    }

    /// A script was received.
    pub fn ack() -> Packet {
        packet(EventKind::Ack, None, Some(("data", Value::from("Got it"))))
    }

    /// A script does not compile; `error` is fit for showing.
    pub fn compile_error(error: Value) -> Packet {
        packet(EventKind::CompileError, None, Some(("data", error)))
    }

    /// A script is over.
    pub fn done(
        self,
        script: &str,
        elapsed: Duration,
        line: Option<u32>,
        warnings: &Warnings,
    ) -> Packet {
        let kind = EventKind::Done;
        let mut data = Object::with_capacity(6);
        data.insert("script", self.text(script));
        data.insert("type", Value::from(kind.name()));
        data.insert("elapsed", milliseconds(elapsed));
        data.insert("data", Value::from("Done"));
        if let Some(line) = line {
            data.insert("line", Value::from(line));
        }
        let warnings = warnings.0.borrow();
        if !warnings.is_empty() {
            data.insert("warnings", warnings.iter().cloned().map(Value::from).collect());
        }
        Packet { name: kind.name().into(), data: Value::object(data) }
    }

    fn request(self, request: &RequestEvent<'_>) -> Packet {
        let kind = EventKind::Request;
        let mut data = with_line(request.line);
        data.insert("uuid", Value::from(request.run_id));
        data.insert("method", Value::from(request.method.to_ascii_lowercase()));
        data.insert("uri", self.text(request.uri));
        data.insert("headers", self.headers(request.headers));
        data.insert("start", Value::from(request.started_ms));
        data.insert("type", Value::from(kind.name()));
        data.insert("id", Value::from(request.id));
        if let Some(body) = request.body {
            self.add_body(&mut data, body);
        }
        Packet { name: kind.name().into(), data: Value::object(data) }
    }

    fn answer(self, answer: &AnswerEvent<'_>) -> Packet {
        let kind = EventKind::Response;
        let mut data = with_line(answer.line);
        data.insert("uuid", Value::from(answer.run_id));
        data.insert("id", Value::from(answer.id));
        data.insert("status", Value::from(answer.status));
        data.insert("statusText", Value::from(answer.reason));
        data.insert("headers", self.headers(answer.headers));
        data.insert("time", milliseconds(answer.elapsed));
        if let Some(body) = answer.body {
            self.add_body(&mut data, body);
        }
        data.insert("bodySize", Value::from(answer.wire_bytes as u64));
        data.insert("type", Value::from(kind.name()));
        data.insert("timings", timings(answer.timings));
        Packet { name: kind.name().into(), data: Value::object(data) }
    }

    fn headers(self, headers: &[(String, String)]) -> Value {
        let header = |(name, value): &(String, String)| {
            let object: Object =
                [("name", Value::from(name.as_str())), ("value", self.text(value))]
                    .into_iter()
                    .collect();
            Value::object(object)
        };
        headers.iter().map(header).collect()
    }

    /// Adds a body, cut after secrets are gone: half a secret would not be found.
    fn add_body(self, data: &mut Object, body: &str) {
        let clean = replaced(&Text::from(body), self.secrets);
        let end = clean.floor_char_boundary(self.body_bytes_max);
        data.insert("body", Value::from(&clean[..end]));
        if end < clean.len() {
            data.insert("bodyTruncated", Value::Bool(true));
        }
    }

    /// A warning as it is told: the failure that it comes from only where errors tell all.
    pub fn warning(self, message: &str, cause: Option<&str>) -> Text {
        let text = match cause.filter(|_| self.errors == ErrorDetail::Full) {
            Some(cause) => Text::from(format!("{message}: {cause}")),
            None => Text::from(message),
        };
        replaced(&text, self.secrets)
    }

    /// A text without secrets.
    pub fn text(self, text: &str) -> Value {
        Value::from(replaced(&Text::from(text), self.secrets))
    }
}

/// An object that begins with the line, if there is one.
fn with_line(line: Option<u32>) -> Object {
    let mut data = Object::with_capacity(12);
    if let Some(line) = line {
        data.insert("line", Value::from(line));
    }
    data
}

fn packet(kind: EventKind, line: Option<u32>, member: Option<(&str, Value)>) -> Packet {
    let mut data = with_line(line);
    data.insert("type", Value::from(kind.name()));
    if let Some((name, value)) = member {
        data.insert(name, value);
    }
    Packet { name: kind.name().into(), data: Value::object(data) }
}

fn timings(timings: Timings) -> Value {
    // Phases are often shorter than a millisecond; their sum should still be right.
    let phase = |duration: Option<Duration>| match duration {
        Some(duration) => {
            Value::Number(Number::Float((duration.as_secs_f64() * 1e6).round() / 1e3))
        }
        None => Value::int(-1),
    };
    let Timings { blocked, dns, connect, send, wait, receive } = timings;
    let object: Object = [
        ("blocked", phase(blocked)),
        ("dns", phase(dns)),
        ("connect", phase(connect)),
        ("send", phase(send)),
        ("wait", phase(wait)),
        ("receive", phase(receive)),
    ]
    .into_iter()
    .collect();
    Value::object(object)
}

fn milliseconds(duration: Duration) -> Value {
    Value::from(u64::try_from(duration.as_millis()).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use qlio_data::codec::json;

    use super::*;

    fn rules(secrets: &[String]) -> PacketRules<'_> {
        PacketRules { secrets, errors: ErrorDetail::Full, body_bytes_max: 10 }
    }

    fn request<'e>(headers: &'e [(String, String)], body: &'e str) -> Event<'e> {
        Event::Request(RequestEvent {
            line: Some(3),
            statement: Some(0),
            table: "t",
            run_id: "r",
            id: "i",
            method: "POST",
            uri: "http://h.test/s3cret",
            headers,
            body: Some(body),
            started_ms: 5,
        })
    }

    #[test]
    fn secrets_of_the_settings_are_replaced_before_a_body_is_cut() {
        let secrets = ["s3cret".to_owned()];
        let headers = [("x-a".to_owned(), "is s3cret".to_owned())];
        let packet = rules(&secrets).packet(&request(&headers, "12345678s3cret"));
        assert_eq!(
            json::to_string(&packet.data),
            r#"{"line":3,"uuid":"r","method":"post","uri":"http://h.test/[redacted]","headers":[{"name":"x-a","value":"is [redacted]"}],"start":5,"type":"statement-request","id":"i","body":"12345678[r","bodyTruncated":true}"#
        );
    }

    #[test]
    fn a_body_up_to_the_limit_is_whole_and_a_longer_one_is_cut_between_characters() {
        let body = |text| rules(&[]).packet(&request(&[], text)).data.member("body");
        assert_eq!(body("0123456789").as_str(), Some("0123456789"));
        assert_eq!(body("012345678é").as_str(), Some("012345678"));
    }

    #[test]
    fn warnings_are_kept_up_to_the_limit() {
        let warnings = Warnings::default();
        for _ in 0..=WARNINGS_MAX {
            warnings.keep("odd".into());
        }
        assert_eq!(warnings.0.borrow().len(), WARNINGS_MAX);
    }

    #[test]
    fn the_other_packets_have_the_specified_members() {
        let shown = |packet: Packet| format!("{} {}", packet.name, json::to_string(&packet.data));
        let elapsed = Duration::from_micros(7900);
        let ended = Event::Ended { line: None, statement: 0, is_success: false, elapsed };
        let warned = Event::Warned { line: Some(2), message: "odd", cause: Some("inside") };
        let assigned = Event::Assigned { name: "w", value: &Value::Null };
        let warnings = Warnings::default();
        warnings.keep(rules(&["s3cret".to_owned()]).warning("odd s3cret", None));
        let brief = PacketRules { errors: ErrorDetail::Brief, ..rules(&[]) };
        for (packet, expected) in [
            (PacketRules::ack(), r#"ack {"type":"ack","data":"Got it"}"#),
            (
                rules(&[]).packet(&Event::Started { line: Some(1), statement: 0, verb: "select" }),
                r#"statement-in-flight {"line":1,"type":"statement-in-flight"}"#,
            ),
            (
                rules(&[]).packet(&ended),
                r#"statement-error {"type":"statement-error","elapsed":7}"#,
            ),
            (
                rules(&[]).packet(&warned),
                r#"warning {"line":2,"type":"warning","data":"odd: inside"}"#,
            ),
            (brief.packet(&warned), r#"warning {"line":2,"type":"warning","data":"odd"}"#),
            (rules(&[]).packet(&assigned), "w null"),
            (
                rules(&[]).done("s", elapsed, Some(4), &warnings),
                r#"script-done {"script":"s","type":"script-done","elapsed":7,"data":"Done","line":4,"warnings":["odd [redacted]"]}"#,
            ),
        ] {
            assert_eq!(shown(packet), expected);
        }
    }
}
