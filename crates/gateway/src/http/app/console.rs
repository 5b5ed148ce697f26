//! Scripts over WebSocket: one run, from the message to its result (WSK-6).
//!
//! In: a script, what the client wants to know of it, and for debug mode a [`Session`]. Out: messages.
//! The last one is the result, whatever happens. Rights and errors are those of `/q`.

use std::{
    cell::Cell,
    net::IpAddr,
    rc::Rc,
    sync::Arc,
    time::{Duration, Instant},
};

use hyper::http::request::Parts;
use qlio_data::{Object, Value, redact::redact};
use qlio_engine::{
    Answer, Caller, ClientRequest, RunError,
    event::{Event, EventKind, Stepper, Subscription, Watch},
    heavy::Heavy,
};
use qlio_plan::{Plan, explain};
use tokio::sync::Notify;

use super::{HttpApp, inputs, script};
use crate::http::{
    disclosure::ErrorDetail,
    logs::{RequestLog, RunLog},
    packet::{Packet, PacketRules, Warnings},
    respond::WRITTEN_AT_ONCE_BYTES_MAX,
    run_error,
    server::{self, EventSink},
    websocket::{SocketLimits, message, outbox::Outbox},
};

/// Bytes of a request or answer body that an event shows (WSK-8).
const BODY_BYTES_MAX: usize = 64 << 10;

/// Bytes of one event; a larger one is replaced by a mark.
const EVENT_BYTES_MAX: usize = 1 << 20;

/// Who is at the other end of a connection.
pub(super) struct Client<'c> {
    /// The head of the request that the connection began with.
    pub(super) head: &'c Parts,
    pub(super) peer: IpAddr,
    pub(super) events: &'c EventSink,
}

/// A script to run.
pub(super) struct Job {
    pub(super) text: String,
    /// The client's name for it.
    pub(super) id: Option<Value>,
    pub(super) subscription: Rc<Subscription>,
    /// Present in debug mode.
    pub(super) session: Option<Rc<Session>>,
}

/// A script that is run step by step.
pub(super) struct Session {
    number: u64,
    stepper: Stepper,
    is_killed: Cell<bool>,
    /// The end of what may pass until the next step.
    pause_end: Cell<tokio::time::Instant>,
    pause_max: Duration,
    end: tokio::time::Instant,
    changed: Notify,
}

impl Session {
    pub(super) fn new(number: u64, limits: &SocketLimits) -> Self {
        let now = tokio::time::Instant::now();
        Self {
            number,
            stepper: Stepper::default(),
            is_killed: Cell::new(false),
            pause_end: Cell::new(now + limits.session_pause_max),
            pause_max: limits.session_pause_max,
            end: now + limits.session_time_max,
            changed: Notify::new(),
        }
    }

    pub(super) fn number(&self) -> u64 {
        self.number
    }

    /// Runs the statement that has waited longest; without one, nothing happens.
    pub(super) fn step(&self) {
        self.pause_end.set(tokio::time::Instant::now() + self.pause_max);
        self.changed.notify_one();
        self.stepper.step();
    }

    /// Gives the script up.
    pub(super) fn kill(&self) {
        self.is_killed.set(true);
        self.changed.notify_one();
    }

    /// Completes when the script is to be given up.
    async fn given_up(&self) {
        while !self.is_killed.get() {
            let deadline = self.end.min(self.pause_end.get());
            tokio::select! {
                () = self.changed.notified() => {}
                () = tokio::time::sleep_until(deadline) => return,
            }
        }
    }
}

impl HttpApp {
    /// Runs a script to its result; answers the number of the session that is over.
    pub(super) async fn run_job(
        self: Rc<Self>,
        client: &Client<'_>,
        job: Job,
        outbox: &Outbox,
    ) -> Option<u64> {
        let loaded = Arc::clone(&self.shared.loaded);
        let secrets = loaded.catalog.secrets();
        let report = Report::begin(&job, self.shared.settings.errors, secrets, outbox);
        let log = self.shared.logs.as_ref();
        let log = log.map(|logs| RequestLog::begin(logs, client.head, client.peer));
        let plan = self.plan(&job.text, &loaded).await;
        let plan = plan.unwrap_or_else(|busy| Err(run_error::body(&busy.into())));
        let plan = match plan {
            Ok(plan) => plan,
            Err(error) => {
                let error = redact(error, secrets);
                if let Some(log) = &log {
                    log.failed(error.clone());
                }
                report.push(EventKind::CompileError, || PacketRules::compile_error(error.clone()));
                report.done(None);
                report.result(Some(result(&[], error)), self.engine.heavy()).await;
                return job.session.map(|session| session.number);
            }
        };
        report.picture(&plan);
        let request = ClientRequest {
            headers: inputs::visible_headers(&client.head.headers),
            remote_address: Some(client.peer),
            ..ClientRequest::default()
        };
        let caller = Caller::AdHoc { may_call_private: self.shared.settings.gate.is_dev() };
        let run_log = log.as_ref().map(|log| RunLog::begin(log, script::log_name(&plan)));
        let logged;
        let subscription = if run_log.is_some() {
            logged = RunLog::subscription().joined(&job.subscription);
            &logged
        } else {
            &*job.subscription
        };
        let tell = |event: Event<'_>| {
            if let Some(log) = &run_log {
                log.take(&event);
            }
            if event.is_wanted(&job.subscription) {
                report.take(&event);
            }
        };
        let stepper = job.session.as_deref().map(|session| &session.stepper);
        let watch = Watch { subscription, tell: &tell, stepper };
        let run = self.engine.run_watched(&plan, &loaded.catalog, &request, caller, Some(&watch));
        let outcome = match &job.session {
            None => Some(run.await),
            Some(session) => tokio::select! {
                outcome = run => Some(outcome),
                () = session.given_up() => None,
            },
        };
        if let (Some(log), Some(outcome)) = (run_log, &outcome) {
            log.end(outcome.as_ref().map(|_| ()));
        }
        if let Some(log) = log {
            log.end(if matches!(outcome, Some(Ok(_))) { 200 } else { 500 });
        }
        report.done(Some(plan.node(plan.value).line));
        let data = outcome.map(|outcome| self.script_result(client, outcome, secrets));
        report.result(data, self.engine.heavy()).await;
        job.session.map(|session| session.number)
    }

    fn script_result(
        &self,
        client: &Client<'_>,
        outcome: Result<Answer, RunError>,
        secrets: &[String],
    ) -> Value {
        match outcome {
            Ok(answer) => {
                let (value, headers) = self.outcome(answer);
                result(&headers, value)
            }
            Err(error) => {
                let (body, note) = self.run_error("script over WebSocket", &error, secrets);
                if let Some(message) = note {
                    (client.events)(server::Event::Noted { message });
                }
                result(&[], body)
            }
        }
    }
}

/// The data of `script-result`.
fn result(headers: &[(String, String)], body: Value) -> Value {
    let mut all = Object::with_capacity(headers.len() + 1);
    all.insert("content-type", Value::from("application/json"));
    for (name, value) in headers {
        if !name.eq_ignore_ascii_case("content-type") {
            all.insert(name.as_str(), Value::from(value.as_str()));
        }
    }
    let body = if body.is_absent() { Value::Null } else { body };
    let data: Object = [("headers", Value::object(all)), ("body", body)].into_iter().collect();
    Value::object(data)
}

/// Tells a client about one script.
struct Report<'r> {
    job: &'r Job,
    rules: PacketRules<'r>,
    outbox: &'r Outbox,
    began: Instant,
    warnings: Warnings,
}

impl<'r> Report<'r> {
    fn begin(job: &'r Job, errors: ErrorDetail, secrets: &'r [String], outbox: &'r Outbox) -> Self {
        let rules = PacketRules { secrets, errors, body_bytes_max: BODY_BYTES_MAX };
        let report =
            Self { job, rules, outbox, began: Instant::now(), warnings: Warnings::default() };
        report.push(EventKind::Ack, PacketRules::ack);
        report
    }

    /// Takes an event of the engine.
    fn take(&self, event: &Event<'_>) {
        if let Event::Warned { message, cause, .. } = event {
            self.warnings.keep(self.rules.warning(message, *cause));
            if !self.job.subscription.has(EventKind::Warning) {
                return;
            }
        }
        let Packet { name, mut data } = self.rules.packet(event);
        if let (Event::Paused { .. }, Some(session), Value::Object(object)) =
            (event, &self.job.session, &data)
        {
            let mut object = Object::clone(object);
            object.insert("emitterID", Value::from(session.number));
            data = Value::object(object);
        }
        self.send(Packet { name, data });
    }

    fn push(&self, kind: EventKind, packet: impl FnOnce() -> Packet) {
        if self.job.subscription.has(kind) {
            self.send(packet());
        }
    }

    /// The plan as a picture to draw, in debug mode; nobody else is asked to draw it (WSK-10).
    fn picture(&self, plan: &Plan) {
        if self.job.session.is_some() {
            self.push(EventKind::Visualization, || Packet {
                name: EventKind::Visualization.name().into(),
                data: Value::from(explain::to_dot(&explain::explain(plan), None)),
            });
        }
    }

    fn done(&self, line: Option<u32>) {
        self.push(EventKind::Done, || {
            self.rules.done(&self.job.text, self.began.elapsed(), line, &self.warnings)
        });
    }

    /// The last message. A large one is written by a heavy thread, and its value is dropped there.
    async fn result(&self, data: Option<Value>, heavy: &Heavy) {
        const NAME: &str = "script-result";
        let (data, id) = (data.unwrap_or(Value::Null), self.job.id.clone());
        let text = message::write_within(NAME, &data, id.as_ref(), WRITTEN_AT_ONCE_BYTES_MAX);
        let text = match text {
            Some(text) => text,
            None => match heavy.run(move |_| message::write(NAME, &data, id.as_ref())).await {
                Ok(done) => done.value,
                Err(busy) => {
                    let refused = result(&[], run_error::body(&busy.into()));
                    message::write(NAME, &refused, self.job.id.as_ref())
                }
            },
        };
        self.outbox.push(text);
    }

    fn send(&self, Packet { name, data }: Packet) {
        let id = self.job.id.as_ref();
        let mut text = message::write(&name, &data, id);
        if text.len() > EVENT_BYTES_MAX {
            let mut mark = Object::new();
            mark.insert("type", Value::from("truncated"));
            mark.insert("bytes", Value::from(text.len() as u64));
            if let Some(session) = &self.job.session {
                mark.insert("emitterID", Value::from(session.number));
            }
            text = message::write(&name, &Value::object(mark), id);
        }
        self.outbox.push(text);
    }
}
