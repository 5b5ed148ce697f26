//! Scripts over WebSocket: one run, from the message to its result (WSK-6).
//!
//! In: a script, what the client wants to know of it, and for debug mode a [`Session`]. Out: messages.
//! The last one is the result, whatever happens. Rights and errors are those of `/q`.

use std::{
    cell::Cell,
    net::IpAddr,
    pin::pin,
    rc::Rc,
    sync::Arc,
    time::{Duration, Instant},
};

use hyper::http::request::Parts;
use qlio_data::{Object, Value, redact::redact};
use qlio_engine::{
    Answer, Caller, ClientRequest, RunError,
    event::{Event, EventKind, Stepper, Subscription, Watch},
    heavy::Busy,
};
use qlio_plan::Plan;
use tokio::sync::Notify;

use super::{
    Ends, HttpApp,
    drawing::{Drawing, PlanLimits},
    inputs,
    plans::COMPILED_AT_ONCE_BYTES_MAX,
    script_records::ScriptRecords,
};
use crate::{
    http::{
        disclosure::{ErrorDetail, MetadataScope},
        failure::Failure,
        packet::{Packet, PacketRules, Warnings, truncated},
        respond::WRITTEN_AT_ONCE_BYTES_MAX,
        run_error,
        server::{self, EventSink},
        websocket::{
            SocketLimits,
            message::{self, Steps},
            outbox::Outbox,
        },
    },
    load::Loaded,
};

/// Bytes of a request or answer body that an event shows (WSK-8).
const BODY_BYTES_MAX: usize = 64 << 10;

/// Bytes of one event; a larger one is replaced by a mark.
const EVENT_BYTES_MAX: usize = 1 << 20;

/// Who is at the other end of a connection.
pub(super) struct Client<'c> {
    /// The head of the request that the connection began with.
    pub(super) head: &'c Parts,
    /// The ends of the connection.
    pub(super) ends: Ends,
    /// On whose behalf it is.
    pub(super) peer: IpAddr,
    pub(super) events: &'c EventSink,
}

/// What a client has asked for and waits for.
pub(super) enum Task {
    /// A script to run.
    Run(Job),
    /// A plan to tell.
    Plan {
        /// The script.
        text: String,
        /// The client's name for it.
        id: Option<Value>,
    },
}

/// A script to run.
pub(super) struct Job {
    /// Tells it from the others of the connection.
    pub(super) number: u64,
    pub(super) text: String,
    /// The client's name for it.
    pub(super) id: Option<Value>,
    pub(super) subscription: Rc<Subscription>,
    /// Whether a large result may be fetched over HTTP.
    pub(super) takes_address: bool,
    pub(super) control: Rc<Control>,
    /// Present in debug mode.
    pub(super) session: Option<Rc<Session>>,
}

/// With this a run is given up.
#[derive(Default)]
pub(super) struct Control {
    is_killed: Cell<bool>,
    changed: Notify,
}

impl Control {
    /// Gives the run up.
    pub(super) fn kill(&self) {
        self.is_killed.set(true);
        self.changed.notify_one();
    }

    /// Completes when the run is to be given up, by its client or because nobody steps it on.
    async fn given_up(&self, session: Option<&Session>) {
        while !self.is_killed.get() {
            let Some(session) = session else {
                self.changed.notified().await;
                continue;
            };
            let deadline = session.end.min(session.pause_end.get());
            tokio::select! {
                () = self.changed.notified() => {}
                () = tokio::time::sleep_until(deadline) => return,
            }
        }
    }
}

/// A script that is run step by step.
pub(super) struct Session {
    number: u64,
    stepper: Stepper,
    control: Rc<Control>,
    /// The end of what may pass until the next step.
    pause_end: Cell<tokio::time::Instant>,
    pause_max: Duration,
    end: tokio::time::Instant,
}

impl Session {
    pub(super) fn new(number: u64, control: Rc<Control>, limits: &SocketLimits) -> Self {
        let now = tokio::time::Instant::now();
        Self {
            number,
            stepper: Stepper::default(),
            control,
            pause_end: Cell::new(now + limits.session_pause_max),
            pause_max: limits.session_pause_max,
            end: now + limits.session_time_max,
        }
    }

    /// Runs waiting statements; without one, nothing happens.
    pub(super) fn step(&self, steps: Steps) {
        self.pause_end.set(tokio::time::Instant::now() + self.pause_max);
        self.control.changed.notify_one();
        match steps {
            Steps::One(step) => {
                self.stepper.step(step);
            }
            Steps::All => self.stepper.release(),
        }
    }
}

impl HttpApp {
    /// Does what a client waits for, to its end; answers the number of the run that is over.
    pub(super) async fn serve(
        self: Rc<Self>,
        client: &Client<'_>,
        task: Task,
        outbox: &Outbox,
    ) -> Option<u64> {
        match task {
            Task::Run(job) => {
                let number = job.number;
                self.run_job(client, job, outbox).await;
                Some(number)
            }
            Task::Plan { text, id } => {
                self.tell_plan(&text, id.as_ref(), outbox).await;
                None
            }
        }
    }

    /// Tells the plan of a script that is not run, or why it has none.
    async fn tell_plan(&self, text: &str, id: Option<&Value>, outbox: &Outbox) {
        let loaded = Arc::clone(&self.shared.loaded);
        let plan = self.plan(text, &loaded).await;
        let plan = plan.unwrap_or_else(|busy| Err(run_error::body(&busy.into())));
        let packet = match plan {
            Ok(plan) => {
                let drawn = self.drawn(&plan, Drawing::Plan).await;
                drawn.unwrap_or_else(|busy| {
                    PacketRules::compile_error(run_error::body(&busy.into()))
                })
            }
            Err(error) => PacketRules::compile_error(redact(error, loaded.catalog.secrets())),
        };
        outbox.push(bounded(packet, id, None));
    }

    /// A plan as an event shows it. A large one is drawn by a heavy thread.
    async fn drawn(&self, plan: &Arc<Plan>, drawing: Drawing) -> Result<Packet, Busy> {
        let settings = self.engine.settings();
        let limits = PlanLimits {
            per_statement: settings.nested_requests_max as u64,
            tells_tables: self.shared.settings.metadata == MetadataScope::All,
        };
        if plan.text.len() <= COMPILED_AT_ONCE_BYTES_MAX {
            return Ok(drawing.draw(plan, limits));
        }
        let plan = Arc::clone(plan);
        let done = self.engine.heavy().run(move |_| drawing.draw(&plan, limits)).await?;
        Ok(done.value)
    }

    /// Runs a script to its result.
    async fn run_job(&self, client: &Client<'_>, job: Job, outbox: &Outbox) {
        let loaded = Arc::clone(&self.shared.loaded);
        let secrets = loaded.catalog.secrets();
        let report = Report::begin(&job, self.shared.settings.errors, secrets, outbox);
        let records = ScriptRecords::begin(self, client, job.session.is_some());
        let finished = {
            let mut running = pin!(self.run_script(client, &job, &loaded, (&report, &records)));
            match &records.visit {
                None => running.await,
                Some(visit) => {
                    let finished = visit.unless_stopped(records.asked(), running.as_mut()).await;
                    finished.unwrap_or_else(|| {
                        visit.note_stop();
                        report.done(None);
                        Some(Finished::refused(&Failure::Stopped))
                    })
                }
            }
        };
        let data = finished.map(|Finished { data, status }| {
            records.end(status);
            data
        });
        report.result(data, self).await;
    }

    /// Runs a script; nothing comes out if it is given up.
    async fn run_script(
        &self,
        client: &Client<'_>,
        job: &Job,
        loaded: &Arc<Loaded>,
        (report, records): (&Report<'_>, &ScriptRecords<'_>),
    ) -> Option<Finished> {
        let secrets = loaded.catalog.secrets();
        let plan = match self.plan(&job.text, loaded).await {
            Ok(Ok(plan)) => plan,
            Ok(Err(error)) => {
                return Some(report.not_compiled(redact(error, secrets), 400, records));
            }
            Err(busy) => {
                let busy = RunError::from(busy);
                let (error, status) = (run_error::body(&busy), run_error::status(&busy));
                return Some(report.not_compiled(error, status, records));
            }
        };
        for drawing in report.drawings() {
            if let Ok(packet) = self.drawn(&plan, drawing).await {
                report.send(packet);
            }
        }
        let request = ClientRequest {
            headers: inputs::visible_headers(&client.head.headers),
            remote_address: Some(client.peer),
            request_id: Some(records.request_id.clone()),
            trace: records.trace.clone(),
            ..ClientRequest::default()
        };
        let caller = Caller::AdHoc { may_call_private: self.shared.settings.gate.is_dev() };
        let run_records = records.begin_run(&plan);
        let subscription = run_records.subscription(&job.subscription);
        let tell = |event: Event<'_>| {
            run_records.take(&event);
            if event.is_wanted(&job.subscription) {
                report.take(&event);
            }
        };
        let stepper = job.session.as_deref().map(|session| &session.stepper);
        let watch = Watch { subscription: &subscription, tell: &tell, stepper };
        let run = self.engine.run_watched(&plan, &loaded.catalog, &request, caller, Some(&watch));
        let outcome = tokio::select! {
            outcome = run => Some(outcome),
            () = job.control.given_up(job.session.as_deref()) => None,
        };
        if let Some(outcome) = &outcome {
            run_records.end(outcome.as_ref().map(|_| ()));
        }
        report.done(Some(plan.node(plan.value).line));
        outcome.map(|outcome| self.finished(client, outcome, secrets))
    }

    fn finished(
        &self,
        client: &Client<'_>,
        outcome: Result<Answer, RunError>,
        secrets: &[String],
    ) -> Finished {
        match outcome {
            Ok(answer) => {
                let status = answer.status;
                let (value, headers) = self.outcome(answer);
                Finished { data: result(&headers, value), status }
            }
            Err(error) => {
                let (body, note) = self.run_error("script over WebSocket", &error, secrets);
                if let Some(message) = note {
                    (client.events)(server::Event::Noted { message });
                }
                Finished { data: result(&[], body), status: run_error::status(&error) }
            }
        }
    }
}

/// A script that is over.
struct Finished {
    /// The data of `script-result`.
    data: Value,
    /// The status that an answer of `/q` would have.
    status: u16,
}

impl Finished {
    fn refused(failure: &Failure) -> Self {
        Self { data: result(&[], failure.body()), status: failure.status().as_u16() }
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
        let rules = PacketRules {
            secrets,
            errors,
            body_bytes_max: BODY_BYTES_MAX,
            value_bytes_max: Some(EVENT_BYTES_MAX),
            is_roomy: true,
        };
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

    /// How the plan is to be told before the first statement: as data to whoever asks for it, as a picture in
    /// debug mode (WSK-10).
    fn drawings(&self) -> impl Iterator<Item = Drawing> {
        let wants = |kind| self.job.subscription.has(kind);
        let plan = wants(EventKind::Plan).then_some(Drawing::Plan);
        let is_stepped = self.job.session.is_some();
        let picture = (is_stepped && wants(EventKind::Visualization)).then_some(Drawing::Picture);
        [plan, picture].into_iter().flatten()
    }

    /// Tells that the script cannot be run.
    fn not_compiled(&self, error: Value, status: u16, records: &ScriptRecords<'_>) -> Finished {
        records.failed(&error);
        self.push(EventKind::CompileError, || PacketRules::compile_error(error.clone()));
        self.done(None);
        Finished { data: result(&[], error), status }
    }

    fn done(&self, line: Option<u32>) {
        self.push(EventKind::Done, || {
            self.rules.done(&self.job.text, self.began.elapsed(), line, &self.warnings)
        });
    }

    /// The last message. A large one is written by a heavy thread, and its value is dropped there; the client
    /// may have asked to fetch it.
    async fn result(&self, data: Option<Value>, app: &HttpApp) {
        const NAME: &str = "script-result";
        let (data, id) = (data.unwrap_or(Value::Null), self.job.id.clone());
        let text = message::write_within(NAME, &data, id.as_ref(), WRITTEN_AT_ONCE_BYTES_MAX);
        if let Some(text) = text {
            return self.outbox.push(text);
        }
        let shared = self.job.takes_address.then(|| Arc::clone(&app.shared));
        let written = app.engine.heavy().run(move |_| {
            let fetched = shared.and_then(|shared| shared.quotas.results.keep(&data));
            message::write(NAME, fetched.as_ref().unwrap_or(&data), id.as_ref())
        });
        let text = match written.await {
            Ok(done) => done.value,
            Err(busy) => {
                let refused = result(&[], run_error::body(&busy.into()));
                message::write(NAME, &refused, self.job.id.as_ref())
            }
        };
        self.outbox.push(text);
    }

    fn send(&self, packet: Packet) {
        let session = self.job.session.as_ref().map(|session| session.number);
        self.outbox.push(bounded(packet, self.job.id.as_ref(), session));
    }
}

/// The message of a packet, or if that is too long a mark in its place.
fn bounded(Packet { name, data }: Packet, id: Option<&Value>, session: Option<u64>) -> String {
    if let Some(text) = message::write_within(&name, &data, id, EVENT_BYTES_MAX) {
        return text;
    }
    let mut mark = truncated(EVENT_BYTES_MAX);
    if let (Some(session), Value::Object(members)) = (session, &mut mark) {
        Arc::make_mut(members).insert("emitterID", Value::from(session));
    }
    message::write(&name, &mark, id)
}
