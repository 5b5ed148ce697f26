//! The lines of one request on stdout, or of a script that came as a message: one at its end and, at the level `debug`,
//! one for each request to an upstream.
//!
//! In: the head of the request, the events of its run, its status. Out: lines, whatever becomes of the request.

use std::{
    cell::{Cell, RefCell},
    collections::HashMap,
    net::IpAddr,
    sync::Arc,
    time::{Duration, Instant},
};

use hyper::http::request::Parts;
use qlio_data::{Text, Value, redact::replaced};
use qlio_engine::{
    event::{Event, EventKind, Subscription},
    trace::{TraceContext, digits_of},
    transport::shown_uri,
};

use super::{LogLevel, StdoutLog};
use crate::http::websocket::Carrier;

/// Characters of a URI in a line for people.
const TARGET_CHARS_MAX: usize = 100;
/// Requests to upstreams that are remembered until they are answered; further ones have no lines.
const CALLS_MAX: usize = 10_000;

/// A request on its way; its line is written when it is dropped.
pub(in crate::http) struct RequestLine<'r> {
    log: &'r StdoutLog,
    head: &'r Parts,
    carrier: Carrier,
    client: IpAddr,
    request_id: Text,
    trace: Option<Arc<TraceContext>>,
    route: RefCell<Option<Text>>,
    status: Cell<Option<u16>>,
    began: Instant,
    calls: RefCell<HashMap<String, Call>>,
}

/// A request to an upstream without an answer.
struct Call {
    table: Text,
    method: Text,
    uri: Text,
    span_id: Option<u64>,
}

impl<'r> RequestLine<'r> {
    /// A request begins.
    pub(in crate::http) fn begin(
        log: &'r StdoutLog,
        (head, carrier): (&'r Parts, Carrier),
        client: IpAddr,
        request_id: &Text,
        trace: Option<&Arc<TraceContext>>,
    ) -> Self {
        Self {
            log,
            head,
            carrier,
            client,
            request_id: request_id.clone(),
            trace: trace.cloned(),
            route: RefCell::default(),
            status: Cell::new(None),
            began: Instant::now(),
            calls: RefCell::default(),
        }
    }

    /// The route that answers.
    pub(in crate::http) fn at_route(&self, route: &str) {
        self.route.replace(Some(Text::from(route)));
    }

    /// Whether requests to upstreams have lines.
    pub(in crate::http) fn wants_calls(&self) -> bool {
        self.log.level() >= LogLevel::Debug
    }

    /// What a run must tell for that.
    pub(in crate::http) fn subscription() -> Subscription {
        let kinds = [EventKind::Request, EventKind::Response, EventKind::RequestFailed];
        Subscription::of_names(kinds.map(EventKind::name))
    }

    /// Takes an event of the run.
    pub(in crate::http) fn take(&self, event: &Event<'_>) {
        match event {
            Event::Request(request) => {
                let mut calls = self.calls.borrow_mut();
                if calls.len() < CALLS_MAX {
                    let [table, method, uri] =
                        [request.table, request.method, request.uri].map(Text::from);
                    let span_id = request.span_id;
                    calls.insert(request.id.to_owned(), Call { table, method, uri, span_id });
                }
            }
            Event::Answer(answer) => {
                let status = ("status", Value::from(answer.status));
                self.end_call(answer.id, &answer.status.to_string(), status, answer.elapsed);
            }
            Event::RequestFailed(failed) => {
                let error = ("error", Value::from(failed.error));
                self.end_call(failed.id, "failed", error, failed.elapsed);
            }
            _ => {}
        }
    }

    /// The request has been answered.
    pub(in crate::http) fn end(self, status: u16) {
        self.status.set(Some(status));
    }

    fn end_call(&self, id: &str, outcome: &str, member: (&'static str, Value), elapsed: Duration) {
        let Some(call) = self.calls.borrow_mut().remove(id) else { return };
        if !self.log.is_json {
            let rest = format!("{outcome:>6} {}  <- {}", milliseconds(elapsed), call.table);
            return self.log.write_text(&format!("  {}", call.method), &call.uri, &rest);
        }
        let span_id = call.span_id.or(self.trace.as_ref().map(|trace| trace.span_id));
        let members = [
            ("message", Value::from("upstream request")),
            ("table", Value::from(call.table)),
            ("method", Value::from(call.method)),
            ("uri", Value::from(call.uri)),
            member,
            ("duration_us", microseconds(elapsed)),
        ];
        self.write_json(LogLevel::Debug, span_id, members);
    }

    /// A line with what ties lines together, and these members.
    fn write_json(
        &self,
        level: LogLevel,
        span_id: Option<u64>,
        members: impl IntoIterator<Item = (&'static str, Value)>,
    ) {
        let mut line = self.log.begin_json(level);
        line.put("request_id", Value::from(self.request_id.clone()));
        if let Some(trace) = &self.trace {
            line.put_digits("trace_id", &trace.trace_id_digits());
        }
        if let Some(span_id) = span_id {
            line.put_digits("span_id", &digits_of(span_id));
        }
        for (name, value) in members {
            line.put(name, value);
        }
        self.log.write(line.end());
    }

    fn write_end(&self, level: LogLevel, took: Duration) {
        let status = self.status.get();
        let (done, given_up) = match self.carrier {
            Carrier::Request => ("request", "client gone"),
            Carrier::Message => ("script", "script given up"),
        };
        let message = if status.is_some() { done } else { given_up };
        let protocol = ("protocol", Value::from("websocket"));
        let members = [
            Some(("message", Value::from(message))),
            (self.carrier == Carrier::Message).then_some(protocol),
            Some(("method", Value::from(self.head.method.as_str()))),
            Some(("path", Value::from(self.target()))),
            self.route.take().map(|route| ("route", Value::from(route))),
            status.map(|status| ("status", Value::from(status))),
            Some(("duration_us", microseconds(took))),
            Some(("client", Value::from(self.client.to_string()))),
        ];
        let span_id = self.trace.as_ref().map(|trace| trace.span_id);
        self.write_json(level, span_id, members.into_iter().flatten());
    }

    /// Path and query without credentials.
    fn target(&self) -> String {
        let target = self.head.uri.path_and_query().map_or("", |target| target.as_str());
        shown_uri(target)
    }
}

/// Whoever has gone before the answer has a line without a status; who has met a fault of ours is answered with 500.
impl Drop for RequestLine<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.status.set(Some(500));
        }
        let status = self.status.get();
        let level = match status {
            Some(status) if status >= 500 => LogLevel::Error,
            Some(_) => LogLevel::Info,
            None => LogLevel::Warn,
        };
        if level > self.log.level() {
            return;
        }
        let took = self.began.elapsed();
        if self.log.is_json {
            return self.write_end(level, took);
        }
        let status = status.map_or_else(|| "gone".to_owned(), |code| code.to_string());
        let rest = format!("{status:>6} {}", milliseconds(took));
        let method = match self.carrier {
            Carrier::Request => self.head.method.as_str(),
            Carrier::Message => "SCRIPT",
        };
        self.log.write_text(method, &self.target(), &rest);
    }
}

/// `12:00:00 GET    /products?keyword=a             200     12.3 ms`
pub(super) fn line_of_text(
    clock: &str,
    method: &str,
    target: &str,
    rest: &str,
    secrets: &[String],
) -> String {
    let shown = replaced(&Text::from(target), secrets);
    // Nothing that a client sends moves the cursor of a terminal.
    let mut target: String =
        shown.chars().filter(|character| !character.is_control()).take(TARGET_CHARS_MAX).collect();
    if shown.chars().count() > TARGET_CHARS_MAX {
        target.push('…');
    }
    let method: String = method.chars().filter(|character| !character.is_control()).collect();
    format!("{clock} {method:<7} {target:<40} {rest}\n")
}

fn milliseconds(took: Duration) -> String {
    format!("{:>8.1} ms", took.as_secs_f64() * 1000.0)
}

fn microseconds(took: Duration) -> Value {
    Value::from(u64::try_from(took.as_micros()).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use std::{
        io::{self, Write},
        sync::{Mutex, PoisonError},
    };

    use qlio_data::codec::json;
    use qlio_engine::event::{FailedRequestEvent, RequestEvent};

    use super::*;

    /// What was written.
    #[derive(Clone, Default)]
    struct Written(Arc<Mutex<Vec<u8>>>);

    impl Write for Written {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// The lines of a request with one call that fails.
    fn lines(is_json: bool, level: LogLevel, status: Option<u16>) -> String {
        let written = Written::default();
        let secrets = vec!["s3cret".to_owned()];
        let log = StdoutLog::start_to(is_json, level, secrets, written.clone());
        let log = log.expect("a thread");
        let request = hyper::Request::get("/a/s3cret?token=t0ken").body(()).expect("a request");
        let (head, ()) = request.into_parts();
        let trace = TraceContext { trace_id: 10, span_id: 11, is_sampled: true, state: None };
        let (client, trace) = (IpAddr::from([192, 0, 2, 7]), Arc::new(trace));
        let asked = (&head, Carrier::Request);
        let line = RequestLine::begin(&log, asked, client, &Text::from("r1"), Some(&trace));
        line.at_route("/a/{b}");
        if line.wants_calls() {
            line.take(&Event::Request(RequestEvent {
                place: None,
                table: "t",
                run_id: "",
                id: "1",
                because: None,
                after: None,
                method: "GET",
                uri: "http://up/s3cret",
                headers: &[],
                body: None,
                started_ms: 0,
                span_id: Some(12),
                resends: 0,
            }));
            let elapsed = Duration::from_millis(2);
            let failed = FailedRequestEvent { place: None, id: "1", error: "no", elapsed };
            line.take(&Event::RequestFailed(failed));
        }
        match status {
            Some(status) => line.end(status),
            None => drop(line),
        }
        log.finish();
        let written = written.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        String::from_utf8(written).expect("text")
    }

    #[test]
    fn a_request_is_an_object_with_its_ids() {
        let text = lines(true, LogLevel::Info, Some(200));
        let line = json::parse_str(text.trim_end()).expect("JSON");
        for (name, expected) in [
            ("level", "info"),
            ("request_id", "r1"),
            ("trace_id", "0000000000000000000000000000000a"),
            ("span_id", "000000000000000b"),
            ("method", "GET"),
            ("route", "/a/{b}"),
            ("client", "192.0.2.7"),
        ] {
            assert_eq!(line.member(name).as_str(), Some(expected), "{name}: {text}");
        }
        assert!(!text.contains("s3cret") && !text.contains("t0ken"), "{text}");
        let gone = lines(true, LogLevel::Warn, None);
        let gone = json::parse_str(gone.trim_end()).expect("JSON");
        assert_eq!(gone.member("message").as_str(), Some("client gone"));
        assert!(gone.member("status").is_absent());
    }

    #[test]
    fn what_is_written_depends_on_the_level() {
        for (level, status, expected) in [
            (LogLevel::Error, Some(200), 0),
            (LogLevel::Error, None, 0),
            (LogLevel::Error, Some(500), 1),
            (LogLevel::Warn, Some(404), 0),
            (LogLevel::Warn, None, 1),
            (LogLevel::Info, Some(404), 1),
            (LogLevel::Debug, Some(200), 2),
        ] {
            for is_json in [true, false] {
                let text = lines(is_json, level, status);
                assert_eq!(text.lines().count(), expected, "{level:?} {status:?}: {text}");
            }
        }
    }

    #[test]
    fn a_call_has_a_line_of_its_own_at_the_level_debug() {
        let text = lines(true, LogLevel::Debug, Some(200));
        let line = json::parse_str(text.lines().next().expect("a line")).expect("JSON");
        for (name, expected) in [
            ("level", "debug"),
            ("request_id", "r1"),
            ("span_id", "000000000000000c"),
            ("table", "t"),
            ("uri", "http://up/[redacted]"),
            ("error", "no"),
        ] {
            assert_eq!(line.member(name).as_str(), Some(expected), "{name}: {text}");
        }
        let text = lines(false, LogLevel::Debug, Some(200));
        let line = text.lines().next().expect("a line");
        assert!(line.contains("   GET") && line.contains("failed"), "{text}");
    }

    #[test]
    fn on_a_terminal_it_is_a_line_for_people() {
        let text = lines(false, LogLevel::Info, Some(404));
        assert!(text.contains(" GET     /a/[redacted]?token="), "{text}");
        assert!(text.contains("   404 ") && text.ends_with(" ms\n"), "{text}");
        assert!(!text.contains("t0ken"), "{text}");
        assert!(lines(false, LogLevel::Info, None).contains("  gone "));
        let odd = line_of_text("c", "GET", "/\u{1b}[2J\u{9b}a", "200", &[]);
        assert_eq!(odd.trim_end().matches(char::is_control).count(), 0, "{odd:?}");
        let long = line_of_text("c", "GET", &"/é".repeat(80), "200", &[]);
        assert!(long.contains("é…") && long.chars().count() < 130, "{long}");
    }
}
