//! The endpoints of the admin listener, by path and method.

use bytes::Bytes;
use http_body_util::Full;
use hyper::{
    Method, StatusCode,
    header::{self, HeaderValue},
    http::request::Parts,
};
use qlio_data::{Object, Value, codec::json};

use super::{Observed, exposition::Format, guard::Guard, metrics, page, views};
use crate::{
    http::{
        logs::{LogLevel, StdoutLog},
        negotiate,
        respond::Response,
        server::{Event, EventSink},
    },
    reload::Verdict,
};

/// What an endpoint answers.
type Endpoint = fn(&Answers, &Asked<'_>) -> Response;

/// The endpoints that have a path of their own: method, path, answer.
const ENDPOINTS: &[(Method, &str, Endpoint)] = &[
    (Method::GET, "/", Answers::overview),
    (Method::GET, "/monitor.css", |_, _| page::style()),
    (Method::GET, "/monitor.js", |_, _| page::script()),
    (Method::GET, "/livez", |_, _| text(StatusCode::OK, "ok\n".to_owned())),
    (Method::GET, "/readyz", Answers::ready),
    (Method::GET, "/healthz", Answers::ready),
    (Method::GET, "/metrics", Answers::metrics),
    (Method::GET, "/catalog", |answers, _| value(&views::catalog(&answers.observed))),
    (Method::GET, "/config", |answers, _| value(&views::config(&answers.observed))),
    (Method::GET, "/upstreams", |answers, _| value(&views::upstreams(&answers.observed))),
    (Method::GET, "/in-flight", |answers, _| value(&views::in_flight(&answers.observed))),
    (Method::GET, "/cache", |answers, _| value(&views::cache(&answers.observed))),
    (Method::DELETE, "/cache", Answers::purge),
    (Method::GET, "/log-level", |answers, _| answers.log_level()),
    (Method::PUT, "/log-level", Answers::set_log_level),
    (Method::POST, "/log-level", Answers::set_log_level),
    (Method::POST, "/drain", Answers::drain),
];

/// Those that tell only whether the server lives; probes bring no token.
const PROBES: [&str; 3] = ["/livez", "/readyz", "/healthz"];

/// Reads the app anew, which takes a while: no other endpoint waits for anything.
const RELOAD: &str = "/reload";

/// What stands before the id of a request that is to be stopped.
const STOPPED: &str = "/in-flight/";

/// A request of an operator.
struct Asked<'r> {
    head: &'r Parts,
}

impl Asked<'_> {
    fn header(&self, name: header::HeaderName) -> &str {
        self.head.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
    }

    /// The value that the query has for this name, as it is written.
    fn value(&self, name: &str) -> Option<&str> {
        let query = self.head.uri.query().unwrap_or_default();
        query
            .split('&')
            .filter_map(|pair| pair.split_once('='))
            .find_map(|(known, value)| (known == name).then_some(value))
    }

    /// Whether the query has this name, with any value.
    fn has(&self, name: &str) -> bool {
        let query = self.head.uri.query().unwrap_or_default();
        query.split('&').any(|pair| pair.split('=').next() == Some(name))
    }
}

/// Answers operators.
pub(super) struct Answers {
    observed: Observed,
    guard: Guard,
    events: EventSink,
}

impl Answers {
    pub(super) fn new(observed: Observed, guard: Guard, events: EventSink) -> Self {
        Self { observed, guard, events }
    }

    /// Answers a request; `is_socket` says that it came through a socket of the file system.
    pub(super) async fn answer(&self, head: &Parts, is_socket: bool) -> Response {
        let asked = Asked { head };
        let path = head.uri.path();
        let is_probe = PROBES.contains(&path) && head.uri.query().is_none();
        let mut response = match self.guard.admit(&head.headers, is_socket) {
            Err(refusal) if !is_probe => *refusal,
            _ if path == RELOAD => self.reload(&asked).await,
            _ => self.dispatch(&asked, path),
        };
        let headers = response.headers_mut();
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
        headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
        response
    }

    fn dispatch(&self, asked: &Asked<'_>, path: &str) -> Response {
        if let Some(id) = path.strip_prefix(STOPPED) {
            return match asked.head.method {
                Method::DELETE => self.stop(id),
                _ => not_allowed("DELETE"),
            };
        }
        let here = ENDPOINTS.iter().filter(|(_, known, _)| *known == path);
        let is_asked = |method: &Method| {
            asked.head.method == *method
                || *method == Method::GET && asked.head.method == Method::HEAD
        };
        if let Some((_, _, endpoint)) = here.clone().find(|(method, ..)| is_asked(method)) {
            return endpoint(self, asked);
        }
        let methods: Vec<_> = here.map(|(method, ..)| method.as_str()).collect();
        if !methods.is_empty() {
            return not_allowed(&methods.join(", "));
        }
        let mut known: Vec<_> = ENDPOINTS.iter().map(|(_, path, _)| *path).collect();
        known.push(RELOAD);
        known.dedup();
        let message = format!("there is no `{path}` here, but {}", known.join(", "));
        message_of(StatusCode::NOT_FOUND, &message)
    }

    /// Drops what the response cache keeps in the process.
    fn purge(&self, _asked: &Asked<'_>) -> Response {
        let snapshot = self.observed.app.load();
        let Some(cache) = &snapshot.engine.cache else {
            return message_of(StatusCode::NOT_FOUND, "there is no response cache");
        };
        cache.purge_memory();
        self.note("an operator has dropped what the response cache keeps in the process");
        message_of(StatusCode::OK, "dropped; what cache servers keep stays")
    }

    /// How much stands on stdout.
    fn log_level(&self) -> Response {
        match &self.observed.app.load().stdout {
            Some(stdout) => value(&level_of(stdout)),
            None => message_of(StatusCode::NOT_FOUND, NO_LINES),
        }
    }

    /// Says how much stands there from here on.
    fn set_log_level(&self, asked: &Asked<'_>) -> Response {
        let snapshot = self.observed.app.load();
        let Some(stdout) = &snapshot.stdout else {
            return message_of(StatusCode::NOT_FOUND, NO_LINES);
        };
        let Some(level) = asked.value("level").and_then(LogLevel::of_name) else {
            let names: Vec<_> = LogLevel::WORDS.iter().map(|(name, _)| *name).collect();
            let message = format!(
                "say `?level=` and one of {}, such as `/log-level?level=debug`",
                names.join(", ")
            );
            return message_of(StatusCode::BAD_REQUEST, &message);
        };
        let before = stdout.level();
        stdout.set_level(level);
        self.note(&format!(
            "an operator has changed the log level from {} to {}",
            before.name(),
            level.name()
        ));
        value(&level_of(stdout))
    }

    /// The page for people, or the same for programs.
    fn overview(&self, asked: &Asked<'_>) -> Response {
        if negotiate::wants_json(Some(asked.header(header::ACCEPT)), None) {
            return value(&views::overview(&self.observed));
        }
        page::page()
    }

    fn ready(&self, asked: &Asked<'_>) -> Response {
        let checks = self.observed.checks();
        let is_ready = checks.iter().all(|(_, fault)| fault.is_none());
        let status = if is_ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
        let word = if is_ready { "ok" } else { "not ready" };
        if !asked.has("verbose") {
            return text(status, format!("{word}\n"));
        }
        let lines: String = checks
            .iter()
            .map(|(name, fault)| match fault {
                None => format!("[+]{name} ok\n"),
                Some(fault) => format!("[-]{name} failed: {fault}\n"),
            })
            .collect();
        // Whoever is served is served well; that the files say something else is for people.
        let reload = match self.observed.reloads.refused() {
            None => "[+]reload ok\n".to_owned(),
            Some(reason) => format!("[!]reload {reason}\n"),
        };
        let catalog = self.observed.app.load();
        text(status, format!("{lines}{reload}catalog {}\n{word}\n", catalog.loaded.fingerprint))
    }

    fn metrics(&self, asked: &Asked<'_>) -> Response {
        let format = Format::accepted(asked.header(header::ACCEPT));
        let text = metrics::write(&self.observed, format);
        with_type(StatusCode::OK, format.media_type(), text)
    }

    fn drain(&self, _asked: &Asked<'_>) -> Response {
        self.note("an operator has the server finish and end");
        self.observed.stopper.leave();
        message_of(StatusCode::ACCEPTED, "the server finishes what it has begun, then it ends")
    }

    /// Reads the app anew, or only says what would become of it.
    async fn reload(&self, asked: &Asked<'_>) -> Response {
        if asked.head.method != Method::POST {
            return not_allowed("POST");
        }
        let is_dry = asked.has("dry-run");
        if !is_dry {
            self.note("an operator has the app read anew");
        }
        let outcome = match self.observed.reloads.ask(is_dry) {
            Ok(outcome) => outcome.await,
            Err(busy) => return message_of(StatusCode::SERVICE_UNAVAILABLE, &busy.to_string()),
        };
        let Ok(outcome) = outcome else {
            return message_of(
                StatusCode::INTERNAL_SERVER_ERROR,
                "reading the app anew has failed",
            );
        };
        let status = match outcome.verdict {
            Verdict::Refused => StatusCode::UNPROCESSABLE_ENTITY,
            Verdict::Replaced | Verdict::Unchanged => StatusCode::OK,
        };
        with_type(status, "application/json", json::to_string(&views::reload(outcome)))
    }

    /// Stops the request of this id.
    fn stop(&self, id: &str) -> Response {
        let numbers = id.split_once('-').and_then(|(worker, number)| {
            Some((worker.parse::<usize>().ok()?, number.parse().ok()?))
        });
        let is_stopped = numbers.is_some_and(|(worker, number)| {
            self.observed.meters.get(worker).is_some_and(|meter| meter.stop(number))
        });
        if !is_stopped {
            let message = format!("no request `{id}` is under way; `/in-flight` lists them");
            return message_of(StatusCode::NOT_FOUND, &message);
        }
        self.note(&format!("an operator has stopped the request {id}"));
        message_of(StatusCode::ACCEPTED, "the request is answered with 503 at its next turn")
    }

    /// What an operator does is told in the log.
    fn note(&self, message: &str) {
        (self.events)(Event::Commanded { message: message.to_owned() });
    }
}

/// Why there is no level.
const NO_LINES: &str = "nothing is written to stdout: the setting `log.format` says so";

fn level_of(stdout: &StdoutLog) -> Value {
    let level = Value::from(stdout.level().name());
    Value::object(Object::from_iter([("level", level)]))
}

/// A text of this type.
pub(super) fn with_type(
    status: StatusCode,
    media_type: &'static str,
    text: impl Into<Bytes>,
) -> Response {
    let mut response = Response::new(Full::new(text.into()));
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(media_type));
    response
}

fn text(status: StatusCode, text: String) -> Response {
    with_type(status, "text/plain; charset=utf-8", text)
}

fn value(value: &Value) -> Response {
    with_type(StatusCode::OK, "application/json", json::to_string(value))
}

fn message_of(status: StatusCode, message: &str) -> Response {
    let body = Value::object(Object::from_iter([("message", Value::from(message))]));
    with_type(status, "application/json", json::to_string(&body))
}

fn not_allowed(method: &str) -> Response {
    let message = format!("only {method} is answered here");
    let mut response = message_of(StatusCode::METHOD_NOT_ALLOWED, &message);
    if let Ok(allow) = HeaderValue::from_str(method) {
        response.headers_mut().insert(header::ALLOW, allow);
    }
    response
}
