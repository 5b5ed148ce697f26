//! What is recorded of one request: a span for it, one for each statement that asks an API, one for each request to an
//! upstream.
//!
//! In: the head of a request, the events of its run, its status. Out: spans for the exporter, when it is over,
//! however it ends. Names and attributes are those of OpenTelemetry's conventions; what is called a credential is gone
//! from events already, secrets of the settings are replaced here.

use std::{
    cell::RefCell,
    collections::{BTreeMap, HashMap},
    net::IpAddr,
    sync::Arc,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use hyper::{Method, Uri, http::request::Parts};
use qlio_data::{Text, redact::replaced};
use qlio_engine::{
    event::{AnswerEvent, Event, EventKind, FailedRequestEvent, RequestEvent, Subscription},
    trace::{TraceContext, new_span_id},
};

use super::Exporter;
use crate::http::websocket::Carrier;

/// Spans of one request; further ones are counted.
const SPANS_MAX: usize = 512;
/// Characters of a text in an attribute.
const TEXT_CHARS_MAX: usize = 1024;
/// What OpenTelemetry calls what it has no name for.
const OTHER: &str = "_OTHER";

/// What a span stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Kind {
    Server,
    #[default]
    Internal,
    Client,
}

/// The value of an attribute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Value {
    Text(String),
    Number(i64),
}

/// One step of a trace, which is over.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Span {
    pub(super) trace_id: u128,
    pub(super) id: u64,
    pub(super) parent_id: Option<u64>,
    pub(super) state: String,
    pub(super) name: String,
    pub(super) kind: Kind,
    pub(super) began_ns: u64,
    pub(super) ended_ns: u64,
    pub(super) attributes: Vec<(&'static str, Value)>,
    /// It has failed, and why; the text may be empty.
    pub(super) failure: Option<String>,
}

/// The record of a request under way.
#[derive(Debug)]
pub struct Recording {
    context: Arc<TraceContext>,
    exporter: Exporter,
    began: Instant,
    began_ns: u64,
    steps: RefCell<Steps>,
}

#[derive(Debug, Default)]
struct Steps {
    /// The request itself, unless nobody wants to know of it.
    server: Option<Span>,
    statements: BTreeMap<u32, Span>,
    /// Requests to upstreams without an answer, by their ids in events.
    asked: HashMap<String, Span>,
    done: Vec<Span>,
    dropped: usize,
}

impl Recording {
    /// A request begins.
    pub(super) fn begin(
        context: &Arc<TraceContext>,
        parent_id: Option<u64>,
        exporter: Exporter,
    ) -> Self {
        let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let this = Self {
            context: Arc::clone(context),
            exporter,
            began: Instant::now(),
            began_ns: in_ns(since_epoch),
            steps: RefCell::default(),
        };
        let id = context.span_id;
        let server = Span { id, parent_id, ..this.span(Kind::Server, 0, String::new()) };
        this.steps.borrow_mut().server = Some(server);
        this
    }

    /// What a run must tell to be recorded.
    pub(in crate::http) fn subscription() -> Subscription {
        let kinds = [
            EventKind::InFlight,
            EventKind::Success,
            EventKind::Error,
            EventKind::Request,
            EventKind::Response,
            EventKind::RequestFailed,
        ];
        Subscription::of_names(kinds.map(EventKind::name))
    }

    /// What is known of a request, or of a script that came as a message, before it is answered, and of its client;
    /// these secrets must not be recorded.
    pub(in crate::http) fn describe(
        &self,
        (head, carrier): (&Parts, Carrier),
        (client, is_tls): (IpAddr, bool),
        request_id: &str,
        secrets: &[String],
    ) {
        let mut steps = self.steps.borrow_mut();
        let Some(server) = &mut steps.server else { return };
        let scheme = match (carrier, is_tls) {
            (Carrier::Request, false) => "http",
            (Carrier::Request, true) => "https",
            (Carrier::Message, false) => "ws",
            (Carrier::Message, true) => "wss",
        };
        server.attributes.extend([
            ("url.path", text(&without(secrets, head.uri.path()))),
            ("url.scheme", text(scheme)),
            ("client.address", Value::Text(client.to_string())),
            ("qlio.request_id", text(request_id)),
        ]);
        if carrier == Carrier::Message {
            "script".clone_into(&mut server.name);
            server.attributes.push(("network.protocol.name", text("websocket")));
            return;
        }
        let method = known_method(&head.method);
        // A path may have any value in it, so it is no name.
        let name = if method == OTHER { "HTTP" } else { method };
        name.clone_into(&mut server.name);
        let version = match head.version {
            hyper::Version::HTTP_10 => "1.0",
            hyper::Version::HTTP_2 => "2",
            _ => "1.1",
        };
        server.attributes.extend([
            ("http.request.method", text(method)),
            ("network.protocol.version", text(version)),
        ]);
        if method == OTHER {
            let original = without(secrets, head.method.as_str());
            server.attributes.push(("http.request.method_original", text(&original)));
        }
    }

    /// The route that answers.
    pub(in crate::http) fn at_route(&self, route: &str) {
        if let Some(server) = &mut self.steps.borrow_mut().server {
            server.name = format!("{} {route}", server.name);
            server.attributes.push(("http.route", text(route)));
        }
    }

    /// Nobody wants to know of this request.
    pub(in crate::http) fn forget(&self) {
        self.steps.borrow_mut().server = None;
    }

    /// Takes an event of the run; these secrets must not be recorded.
    pub(in crate::http) fn take(&self, event: &Event<'_>, secrets: &[String]) {
        match event {
            Event::Started { place, verb } if !verb.is_empty() => {
                let mut span = self.span(Kind::Internal, self.context.span_id, (*verb).to_owned());
                let line = place.line.map(|line| ("code.line.number", Value::Number(line.into())));
                span.attributes.extend(line);
                self.steps.borrow_mut().statements.insert(place.statement, span);
            }
            Event::Ended { place, is_success, is_cancelled, .. } => {
                let mut steps = self.steps.borrow_mut();
                if let Some(mut span) = steps.statements.remove(&place.statement) {
                    let has_failed = !is_success && !is_cancelled;
                    span.failure = has_failed.then(String::new);
                    steps.keep(span, self.now_ns());
                }
            }
            Event::Request(request) => self.ask(request, secrets),
            Event::Answer(answer) => self.answer(answer),
            Event::RequestFailed(failed) => self.fail(failed, secrets),
            _ => {}
        }
    }

    /// It has been answered; with this status, which a message does not tell.
    pub(in crate::http) fn end(self, carrier: Carrier, status: u16) {
        if let Some(server) = &mut self.steps.borrow_mut().server {
            let name = match carrier {
                Carrier::Request => "http.response.status_code",
                Carrier::Message => "qlio.status",
            };
            server.attributes.push((name, Value::Number(status.into())));
            if status >= 500 {
                server.fail_with(status.to_string(), String::new());
            }
        }
    }

    fn ask(&self, request: &RequestEvent<'_>, secrets: &[String]) {
        let mut steps = self.steps.borrow_mut();
        let statement = request.place.and_then(|place| steps.statements.get(&place.statement));
        let parent_id = statement.map_or(self.context.span_id, |span| span.id);
        let mut span = self.span(Kind::Client, parent_id, request.method.to_owned());
        // What the upstream was told.
        span.id = request.span_id.unwrap_or(span.id);
        let uri = without(secrets, request.uri);
        span.attributes.extend([
            ("http.request.method", text(request.method)),
            ("url.full", text(&uri)),
            ("qlio.table", text(request.table)),
        ]);
        if let Some((host, port)) = uri.parse::<Uri>().ok().as_ref().and_then(address_of) {
            span.attributes.extend([
                ("server.address", text(&host)),
                ("server.port", Value::Number(port.into())),
            ]);
        }
        if request.resends > 0 {
            let resends = Value::Number(request.resends.into());
            span.attributes.push(("http.request.resend_count", resends));
        }
        steps.asked.insert(request.id.to_owned(), span);
    }

    fn answer(&self, answer: &AnswerEvent<'_>) {
        let mut steps = self.steps.borrow_mut();
        // What the cache has answered was not asked for.
        let Some(mut span) = steps.asked.remove(answer.id) else { return };
        let status = Value::Number(answer.status.into());
        span.attributes.push(("http.response.status_code", status));
        if answer.status >= 400 {
            span.fail_with(answer.status.to_string(), String::new());
        }
        let ended_ns = span.began_ns.saturating_add(in_ns(answer.elapsed));
        steps.keep(span, ended_ns);
    }

    fn fail(&self, failed: &FailedRequestEvent<'_>, secrets: &[String]) {
        let mut steps = self.steps.borrow_mut();
        let Some(mut span) = steps.asked.remove(failed.id) else { return };
        let reason = without(secrets, failed.error).chars().take(TEXT_CHARS_MAX).collect();
        span.fail_with(OTHER.to_owned(), reason);
        let ended_ns = span.began_ns.saturating_add(in_ns(failed.elapsed));
        steps.keep(span, ended_ns);
    }

    fn span(&self, kind: Kind, parent_id: u64, name: String) -> Span {
        let TraceContext { trace_id, state, .. } = &*self.context;
        let state = state.as_ref().and_then(|state| state.to_str().ok()).unwrap_or_default();
        let began_ns = self.now_ns();
        Span {
            trace_id: *trace_id,
            id: new_span_id(),
            parent_id: Some(parent_id),
            state: state.to_owned(),
            name,
            kind,
            began_ns,
            ended_ns: began_ns,
            attributes: Vec::new(),
            failure: None,
        }
    }

    /// Now, by a clock that nobody sets in the middle of a request.
    fn now_ns(&self) -> u64 {
        self.began_ns.saturating_add(in_ns(self.began.elapsed()))
    }
}

impl Span {
    fn fail_with(&mut self, kind: String, reason: String) {
        self.attributes.push(("error.type", Value::Text(kind)));
        self.failure = Some(reason);
    }
}

impl Steps {
    fn keep(&mut self, span: Span, ended_ns: u64) {
        // One is the request itself.
        if self.done.len() + 1 < SPANS_MAX {
            self.done.push(Span { ended_ns, ..span });
        } else {
            self.dropped += 1;
        }
    }
}

/// Whatever becomes of a request, its end is recorded; without a status its client has gone. A run tells the ends of
/// all that it has begun, however it ends.
impl Drop for Recording {
    fn drop(&mut self) {
        let ended_ns = self.now_ns();
        let steps = self.steps.get_mut();
        let Some(mut server) = steps.server.take() else { return };
        if std::thread::panicking() {
            server.fail_with("500".to_owned(), String::new());
        }
        steps.done.push(Span { ended_ns, ..server });
        self.exporter.send(std::mem::take(&mut steps.done), steps.dropped);
    }
}

/// The name of a method that everybody knows: others could be anything.
fn known_method(method: &Method) -> &str {
    let known = [
        Method::GET,
        Method::HEAD,
        Method::POST,
        Method::PUT,
        Method::DELETE,
        Method::OPTIONS,
        Method::PATCH,
        Method::TRACE,
        Method::CONNECT,
    ];
    if known.contains(method) { method.as_str() } else { OTHER }
}

/// Host and port that a URI leads to.
fn address_of(uri: &Uri) -> Option<(String, u16)> {
    let usual = if uri.scheme_str() == Some("https") { 443 } else { 80 };
    let host = uri.host()?.trim_matches(['[', ']']).to_owned();
    Some((host, uri.port_u16().unwrap_or(usual)))
}

fn without(secrets: &[String], shown: &str) -> Text {
    replaced(&Text::from(shown), secrets)
}

fn text(value: &str) -> Value {
    Value::Text(value.chars().take(TEXT_CHARS_MAX).collect())
}

fn in_ns(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
