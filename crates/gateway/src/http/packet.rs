//! Events as packets: the JSON that traces and WebSocket messages hold (TRC-6).
//!
//! In: an [`Event`] of the engine, or what only the gateway knows. Out: a name and a value, made at
//! once, so that it cannot change afterwards. Promised: secrets of the settings do not appear
//! (credential headers and parameters are gone already), and no body is longer than asked for. What
//! is too long is cut and marked.

use std::{cell::RefCell, time::Duration};

use qlio_data::{
    Number, Object, Text, Value,
    codec::json,
    redact::{redact, replaced},
};
use qlio_engine::{
    event::{AnswerEvent, CachedAnswer, Event, EventKind, Place, RequestEvent},
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
    /// Bytes of a value of the script, as JSON, up to which it is shown; any value is without it.
    pub value_bytes_max: Option<usize>,
    /// Whether there is room for fractions of milliseconds and for names of tables.
    pub is_roomy: bool,
}

impl PacketRules<'_> {
    /// The packet of an event.
    pub fn packet(self, event: &Event<'_>) -> Packet {
        match event {
            Event::Started { place, .. } => of_kind(EventKind::InFlight, at(Some(*place))),
            Event::Skipped { place } => of_kind(EventKind::Skipped, at(Some(*place))),
            Event::Ended { place, is_success, is_cancelled, elapsed, .. } => {
                let kind = if *is_success { EventKind::Success } else { EventKind::Error };
                let mut data = at(Some(*place));
                data.insert("elapsed", milliseconds(*elapsed));
                if *is_cancelled {
                    data.insert("cancelled", Value::Bool(true));
                }
                self.add_exact(&mut data, [("elapsed", Some(*elapsed))]);
                if self.is_roomy
                    && let Some(rows) = event.rows()
                {
                    data.insert("rows", Value::from(rows));
                }
                of_kind(kind, data)
            }
            Event::Request(request) => self.request(request),
            Event::Answer(answer) => self.answer(answer),
            Event::RequestFailed(failed) => {
                let mut data = at(failed.place);
                data.insert("id", Value::from(failed.id));
                data.insert("error", self.text(failed.error));
                data.insert("time", milliseconds(failed.elapsed));
                self.add_exact(&mut data, [("time", Some(failed.elapsed))]);
                of_kind(EventKind::RequestFailed, data)
            }
            Event::Assigned { name, value } => {
                Packet { name: Text::from(*name), data: self.value(value) }
            }
            Event::Warned { place, message, cause } => {
                let mut data = at(*place);
                data.insert("data", Value::from(self.warning(message, *cause)));
                of_kind(EventKind::Warning, data)
            }
            Event::Paused { variables, waiting } => {
                let context = self.value(&Value::object(variables.clone()));
                let waiting = waiting.iter().map(|place| Value::object(at(Some(*place))));
                let data = [("context", context), ("waiting", waiting.collect())];
                let data = data.into_iter().collect::<Object>();
                Packet { name: EventKind::Debug.name().into(), data: Value::object(data) }
            }
        }
    }

    /// A script was received.
    pub fn ack() -> Packet {
        of_kind(EventKind::Ack, [("data", Value::from("Got it"))].into_iter().collect())
    }

    /// A script does not compile; `error` is fit for showing.
    pub fn compile_error(error: Value) -> Packet {
        of_kind(EventKind::CompileError, [("data", error)].into_iter().collect())
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
        let mut data = Object::with_capacity(7);
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
        self.add_exact(&mut data, [("elapsed", Some(elapsed))]);
        Packet { name: kind.name().into(), data: Value::object(data) }
    }

    fn request(self, request: &RequestEvent<'_>) -> Packet {
        let mut data = at(request.place);
        data.insert("uuid", Value::from(request.run_id));
        data.insert("method", Value::from(request.method.to_ascii_lowercase()));
        data.insert("uri", self.text(request.uri));
        data.insert("headers", self.headers(request.headers));
        data.insert("start", Value::from(request.started_ms));
        data.insert("id", Value::from(request.id));
        if let Some(because) = request.because {
            data.insert("cause", Value::from(because.as_str()));
        }
        if let Some(after) = request.after {
            data.insert("after", Value::from(after));
        }
        if self.is_roomy {
            data.insert("table", Value::from(request.table));
        }
        if let Some(body) = request.body {
            self.add_body(&mut data, body);
        }
        of_kind(EventKind::Request, data)
    }

    fn answer(self, answer: &AnswerEvent<'_>) -> Packet {
        let mut data = at(answer.place);
        data.insert("uuid", Value::from(answer.id));
        data.insert("id", Value::from(answer.id));
        if let Some(CachedAnswer { table, uri }) = answer.cached {
            data.insert("cached", Value::Bool(true));
            data.insert("uri", self.text(uri));
            if self.is_roomy {
                data.insert("table", Value::from(table));
            }
        }
        data.insert("status", Value::from(answer.status));
        data.insert("statusText", Value::from(answer.reason));
        data.insert("headers", self.headers(answer.headers));
        data.insert("time", milliseconds(answer.elapsed));
        self.add_body(&mut data, answer.body.unwrap_or_default());
        data.insert("bodySize", Value::from(answer.wire_bytes as u64));
        let phases = phases(answer.timings);
        let whole = phases.map(|(name, phase)| (name, phase.map_or(Value::int(-1), rounded)));
        data.insert("timings", Value::object(whole.into_iter().collect()));
        self.add_exact(&mut data, [("time", Some(answer.elapsed))].into_iter().chain(phases));
        of_kind(EventKind::Response, data)
    }

    /// Adds the times that are whole milliseconds elsewhere, where there is room for it.
    fn add_exact(
        self,
        data: &mut Object,
        times: impl IntoIterator<Item = (&'static str, Option<Duration>)>,
    ) {
        if self.is_roomy {
            let times = times.into_iter().filter_map(|(name, time)| Some((name, exact(time?))));
            data.insert("exact", Value::object(times.collect()));
        }
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

    /// A value of the script without secrets, or a mark in its place: one that is too long is written no further
    /// than that, and not searched at all.
    fn value(self, value: &Value) -> Value {
        if let Some(bytes_max) = self.value_bytes_max
            && json::encode_within(value, &mut Vec::new(), bytes_max).is_err()
        {
            return truncated(bytes_max);
        }
        redact(value.clone(), self.secrets)
    }

    /// Adds a body, cut after secrets are gone: half a secret would not be found.
    fn add_body(self, data: &mut Object, body: &str) {
        // Of a long body no more is searched than is shown; a secret that ends behind that is half there, and
        // no part of it is shown either.
        let secret_bytes_max = self.secrets.iter().map(String::len).max().unwrap_or_default();
        let sought = body.floor_char_boundary(self.body_bytes_max.saturating_add(secret_bytes_max));
        let clean = replaced(&Text::from(&body[..sought]), self.secrets);
        let whole = if sought < body.len() {
            clean.len().saturating_sub(secret_bytes_max)
        } else {
            clean.len()
        };
        let end = clean.floor_char_boundary(self.body_bytes_max.min(whole));
        data.insert("body", Value::from(&clean[..end]));
        if end < clean.len() || sought < body.len() {
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

/// What stands for data that takes more than so many bytes.
pub(super) fn truncated(bytes: usize) -> Value {
    let members = [("type", Value::from("truncated")), ("limit", Value::from(bytes as u64))];
    Value::object(members.into_iter().collect())
}

/// An object that begins with the statement, if there is one.
fn at(place: Option<Place>) -> Object {
    let mut data = Object::with_capacity(16);
    let Some(place) = place else { return data };
    if let Some(line) = place.line {
        data.insert("line", Value::from(line));
    }
    data.insert("node", Value::from(place.node()));
    if let Some(catch) = place.catch {
        data.insert("branch", Value::from(format!("catch {}", catch + 1)));
    }
    data
}

fn of_kind(kind: EventKind, mut data: Object) -> Packet {
    data.insert("type", Value::from(kind.name()));
    Packet { name: kind.name().into(), data: Value::object(data) }
}

fn phases(timings: Timings) -> [(&'static str, Option<Duration>); 6] {
    let Timings { blocked, dns, connect, send, wait, receive } = timings;
    [
        ("blocked", blocked),
        ("dns", dns),
        ("connect", connect),
        ("send", send),
        ("wait", wait),
        ("receive", receive),
    ]
}

/// Milliseconds to the microsecond: phases are often shorter than a millisecond, and their sum should be
/// right.
fn exact(duration: Duration) -> Value {
    Value::Number(Number::Float((duration.as_secs_f64() * 1e6).round() / 1e3))
}

/// The nearest whole number of milliseconds.
fn rounded(duration: Duration) -> Value {
    milliseconds(duration + Duration::from_micros(500))
}

fn milliseconds(duration: Duration) -> Value {
    Value::from(u64::try_from(duration.as_millis()).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use qlio_engine::event::FailedRequestEvent;

    use super::*;

    fn rules(secrets: &[String]) -> PacketRules<'_> {
        PacketRules {
            secrets,
            errors: ErrorDetail::Full,
            body_bytes_max: 10,
            value_bytes_max: Some(20),
            is_roomy: false,
        }
    }

    fn place(line: Option<u32>) -> Place {
        Place { line, statement: 0, catch: None }
    }

    fn request<'e>(headers: &'e [(String, String)], body: &'e str) -> Event<'e> {
        Event::Request(RequestEvent {
            place: Some(place(Some(3))),
            table: "t",
            run_id: "r",
            id: "i",
            because: None,
            after: None,
            method: "POST",
            uri: "http://h.test/s3cret",
            headers,
            body: Some(body),
            started_ms: 5,
            span_id: None,
            resends: 0,
        })
    }

    #[test]
    fn secrets_of_the_settings_are_replaced_before_a_body_is_cut() {
        let secrets = ["s3cret".to_owned()];
        let headers = [("x-a".to_owned(), "is s3cret".to_owned())];
        let packet = rules(&secrets).packet(&request(&headers, "12345678s3cret"));
        assert_eq!(
            json::to_string(&packet.data),
            r#"{"line":3,"node":"n1","uuid":"r","method":"post","uri":"http://h.test/[redacted]","headers":[{"name":"x-a","value":"is [redacted]"}],"start":5,"id":"i","body":"12345678[r","bodyTruncated":true,"type":"statement-request"}"#
        );
    }

    #[test]
    fn half_a_secret_behind_the_end_of_a_body_is_not_shown() {
        let secrets = ["s3cret".to_owned()];
        let body = |text: &str| rules(&secrets).packet(&request(&[], text)).data.member("body");
        // Of the last one only `s3c` is looked at, and it would be moved to where the body is shown.
        let text = format!("{}{}", "s3cret-s3c", "ret-".repeat(99));
        assert_eq!(body(&text).as_str(), Some("[redacted]"));
        for at in 0..20 {
            let text = format!("{}s3cret{}", "x".repeat(at), "y".repeat(100));
            let shown = body(&text);
            let shown = shown.as_str().expect("text");
            assert!(!shown.contains("s3c") && shown.len() <= 10, "{at}: {shown}");
        }
    }

    #[test]
    fn a_value_that_is_too_long_is_a_mark() {
        let secrets = ["s3cret".to_owned()];
        let told =
            |value: &Value| rules(&secrets).packet(&Event::Assigned { name: "v", value }).data;
        assert_eq!(told(&Value::from("x s3cret")).as_str(), Some("x [redacted]"));
        assert_eq!(told(&Value::from("x".repeat(18))).as_str(), Some("x".repeat(18).as_str()));
        let mark = told(&Value::from("x".repeat(19)));
        assert_eq!(json::to_string(&mark), r#"{"type":"truncated","limit":20}"#);
    }

    #[test]
    fn a_body_up_to_the_limit_is_whole_and_a_longer_one_is_cut_between_characters() {
        let body = |text| rules(&[]).packet(&request(&[], text)).data.member("body");
        assert_eq!(body("0123456789").as_str(), Some("0123456789"));
        assert_eq!(body("012345678é").as_str(), Some("012345678"));
    }

    #[test]
    fn an_answer_has_a_body_and_whole_milliseconds_and_exact_ones_where_there_is_room() {
        let answer = Event::Answer(AnswerEvent {
            place: Some(place(Some(1))),
            id: "i",
            cached: None,
            status: 204,
            reason: "No Content",
            headers: &[],
            elapsed: Duration::from_micros(2345),
            body: None,
            wire_bytes: 0,
            timings: Timings { wait: Some(Duration::from_micros(1600)), ..Timings::default() },
        });
        let roomy = PacketRules { is_roomy: true, ..rules(&[]) };
        assert_eq!(
            json::to_string(&roomy.packet(&answer).data),
            r#"{"line":1,"node":"n1","uuid":"i","id":"i","status":204,"statusText":"No Content","headers":[],"time":2,"body":"","bodySize":0,"timings":{"blocked":-1,"dns":-1,"connect":-1,"send":-1,"wait":2,"receive":-1},"exact":{"time":2.345,"wait":1.6},"type":"statement-response"}"#
        );
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
    fn a_statement_that_gave_a_list_says_how_many_rows() {
        let long = format!("[{}]", " ".repeat(1 << 20));
        let texts = [r#"[1,{"a":[2,3]}]"#.to_owned(), "{}".to_owned(), long];
        let values = texts.map(|text| Value::Raw(text.into()));
        let gave = |value| Event::Ended {
            place: place(None),
            is_success: true,
            is_cancelled: false,
            elapsed: Duration::from_millis(7),
            value: Some(value),
        };
        assert_eq!(values.each_ref().map(|value| gave(value).rows()), [Some(2), None, None]);
        let roomy = PacketRules { is_roomy: true, ..rules(&[]) };
        let rows_in = |rules: PacketRules<'_>| rules.packet(&gave(&values[0])).data.member("rows");
        assert_eq!((rows_in(roomy), rows_in(rules(&[]))), (Value::from(2_u64), Value::Absent));
    }

    #[test]
    fn the_other_packets_have_the_specified_members() {
        let shown = |packet: Packet| format!("{} {}", packet.name, json::to_string(&packet.data));
        let elapsed = Duration::from_micros(7900);
        let ended = |is_cancelled| Event::Ended {
            place: place(None),
            is_success: false,
            is_cancelled,
            elapsed,
            value: None,
        };
        let warned =
            Event::Warned { place: Some(place(Some(2))), message: "odd", cause: Some("inside") };
        let assigned = Event::Assigned { name: "w", value: &Value::Null };
        let warnings = Warnings::default();
        warnings.keep(rules(&["s3cret".to_owned()]).warning("odd s3cret", None));
        let brief = PacketRules { errors: ErrorDetail::Brief, ..rules(&[]) };
        let roomy = PacketRules { is_roomy: true, ..rules(&[]) };
        let started = Event::Started { place: place(Some(1)), verb: "select" };
        let catch = Place { catch: Some(1), ..place(Some(6)) };
        let paused = Event::Paused { variables: Object::new(), waiting: vec![place(Some(2))] };
        let failed = Event::RequestFailed(FailedRequestEvent {
            place: Some(place(Some(1))),
            id: "i",
            error: "gone",
            elapsed,
        });
        for (packet, expected) in [
            (PacketRules::ack(), r#"ack {"data":"Got it","type":"ack"}"#),
            (
                rules(&[]).packet(&started),
                r#"statement-in-flight {"line":1,"node":"n1","type":"statement-in-flight"}"#,
            ),
            (
                rules(&[]).packet(&Event::Skipped { place: catch }),
                r#"statement-skipped {"line":6,"node":"n1","branch":"catch 2","type":"statement-skipped"}"#,
            ),
            (
                rules(&[]).packet(&ended(false)),
                r#"statement-error {"node":"n1","elapsed":7,"type":"statement-error"}"#,
            ),
            (
                roomy.packet(&ended(true)),
                r#"statement-error {"node":"n1","elapsed":7,"cancelled":true,"exact":{"elapsed":7.9},"type":"statement-error"}"#,
            ),
            (
                rules(&[]).packet(&failed),
                r#"statement-request-error {"line":1,"node":"n1","id":"i","error":"gone","time":7,"type":"statement-request-error"}"#,
            ),
            (
                rules(&[]).packet(&warned),
                r#"warning {"line":2,"node":"n1","data":"odd: inside","type":"warning"}"#,
            ),
            (
                brief.packet(&warned),
                r#"warning {"line":2,"node":"n1","data":"odd","type":"warning"}"#,
            ),
            (
                rules(&[]).packet(&paused),
                r#"ql.io-debug {"context":{},"waiting":[{"line":2,"node":"n1"}]}"#,
            ),
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
