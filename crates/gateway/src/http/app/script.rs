//! `/q`, and running plans: from a client's script to its answer.

use std::sync::Arc;

use bytes::Bytes;
use hyper::{
    StatusCode,
    body::Body,
    header::{self, HeaderValue},
};
use qlio_data::{Object, Value, codec::json, redact::redact};
use qlio_engine::{
    Answer, Caller, ClientRequest, Origin, RunError,
    event::{Event, Subscription, Watch},
    heavy::Busy,
};
use qlio_plan::{
    Plan,
    catalog::Table,
    node::{Node, NodeKind},
    operator::{Source, SourceKind},
};
use qlio_syntax::{
    ast::VerbKind,
    diagnostic::{Diagnostic, codes},
};

use super::{
    AppSettings, Exchange, HttpApp, inputs, metadata,
    plans::{self, COMPILED_AT_ONCE_BYTES_MAX},
};
use crate::{
    http::{
        body::ParsedBody,
        compile_error,
        disclosure::{ErrorDetail, MetadataScope},
        failure::Failure,
        gate::Visitor,
        incident::IncidentId,
        jsonp::Callback,
        logs::RunLog,
        query,
        respond::{self, Note, Rendition, Response},
        results, run_error,
        trace::{self, Trace},
    },
    load::Loaded,
};

impl HttpApp {
    /// Runs the script of a client (SRV-39). Of the body, the members `s`, `callback` and `events`
    /// are read.
    pub(super) async fn script<B>(
        &self,
        exchange: &Exchange<'_>,
        mut query: Object,
        body: B,
        rendition: Rendition<'_>,
    ) -> Result<Response, Failure>
    where
        B: Body<Data = Bytes> + Unpin,
        B::Error: std::fmt::Display,
    {
        let gate = &self.shared.settings.gate;
        let visitor = gate.admit(&exchange.head.headers)?;
        let in_query = query::text(&query, "s").filter(|text| !text.is_empty()).map(str::to_owned);
        // The share is kept as long as the run is, which has the text.
        let (text, fields, _share) = if let Some(text) = in_query {
            (text, Value::Absent, None)
        } else {
            let (ParsedBody { value: fields, .. }, share) = self.body(exchange, body).await?;
            let in_body = fields.member("s");
            let text = in_body.as_str().filter(|text| !text.is_empty());
            let text = text.ok_or(Failure::MissingQuery)?.to_owned();
            (text, fields, share)
        };
        let callback = fields.member("callback");
        let callback = callback.as_str().filter(|_| self.shared.settings.allows_jsonp);
        let callback = callback.map(Callback::parse).transpose();
        let callback = callback.map_err(|_| Failure::InvalidCallback)?;
        let rendition = Rendition { callback: rendition.callback.or(callback), ..rendition };
        query.remove("s");
        let request = ClientRequest {
            query,
            headers: inputs::visible_headers(&exchange.head.headers),
            remote_address: Some(exchange.peer),
            request_id: Some(exchange.request_id.clone()),
            trace: exchange.trace.clone(),
            ..ClientRequest::default()
        };
        let caller = Caller::AdHoc { may_call_private: self.shared.settings.gate.is_dev() };
        let trace = self.trace(exchange, &request, &fields, caller);
        match self.plan(&text, &exchange.loaded).await? {
            Ok(plan)
                if !(exchange.reads_body() || gate.is_dev() && visitor == Visitor::Own)
                    && is_writing(&plan) =>
            {
                Err(Failure::WriteByGet { method: exchange.head.method.to_string() })
            }
            Ok(plan) => Ok(self.run(exchange, &plan, &request, caller, trace, rendition).await),
            Err(body) => {
                let body = redact(body, exchange.loaded.catalog.secrets());
                if let Some(log) = &exchange.log {
                    log.failed(body.clone());
                }
                if let Some(trace) = &trace {
                    trace.compile_failed(&body);
                    trace.done(&text, None);
                }
                let failure = Failure::Script { status: 400, body, retry_after: None };
                Ok(with_trace(respond::failure(&failure, rendition), trace))
            }
        }
    }

    /// A large result of a script over WebSocket, for who knows its address (WSK-15).
    pub(super) async fn kept_result(
        &self,
        exchange: &Exchange<'_>,
        rendition: Rendition<'_>,
    ) -> Result<Response, Failure> {
        self.shared.settings.gate.admit(&exchange.head.headers)?;
        let token = exchange.path().get(1 + results::PREFIX.len()..).unwrap_or_default();
        let text = self.shared.quotas.results.take(token).ok_or_else(|| Failure::NotFound {
            method: exchange.head.method.to_string(),
            target: exchange.target(),
        })?;
        let mut response = respond::json_text(text, rendition, self.engine.heavy()).await?;
        response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        Ok(response)
    }

    /// The trace that a request asks for with `events`, in its query or its body.
    pub(super) fn trace<'e>(
        &self,
        exchange: &'e Exchange<'_>,
        request: &ClientRequest,
        fields: &Value,
        caller: Caller,
    ) -> Option<Box<Trace<'e>>> {
        let asked = match request.query.get("events") {
            Some(parameter) => trace::requested(parameter),
            None => match fields.member("events") {
                Value::Absent => return None,
                field => trace::requested(&field),
            },
        };
        let is_own_script = caller != Caller::Route;
        let allowed = self.shared.settings.trace.allowed(asked, is_own_script);
        // Boxed, so that a request which is not traced does not carry the room for one.
        let errors = self.shared.settings.errors;
        Trace::begin(allowed, errors, exchange.loaded.catalog.secrets()).map(Box::new)
    }

    /// Runs a plan and answers with its result or its error.
    pub(super) async fn run(
        &self,
        exchange: &Exchange<'_>,
        plan: &Arc<Plan>,
        request: &ClientRequest,
        caller: Caller,
        trace: Option<Box<Trace<'_>>>,
        rendition: Rendition<'_>,
    ) -> Response {
        let catalog = &exchange.loaded.catalog;
        let followed = exchange.followers.as_ref().and_then(|followers| followers.subscription());
        let answer = if trace.is_none() && exchange.log.is_none() && followed.is_none() {
            self.engine.run(plan, catalog, request, caller).await
        } else {
            let followed = followed.unwrap_or_default();
            let watching = (trace.as_deref(), followed);
            // Boxed, so that a request which nobody watches does not carry the room for it.
            Box::pin(self.run_watched(exchange, plan, request, caller, watching)).await
        };
        let response = match answer {
            Ok(answer) => match self.run_success(answer, rendition).await {
                Ok(response) => response,
                Err(busy) => self.run_failure(exchange, &busy.into(), rendition),
            },
            Err(error) => self.run_failure(exchange, &error, rendition),
        };
        with_trace(response, trace)
    }

    /// Runs a plan for a trace, for the log files, for those who follow the request, or for all of them.
    async fn run_watched(
        &self,
        exchange: &Exchange<'_>,
        plan: &Arc<Plan>,
        request: &ClientRequest,
        caller: Caller,
        (trace, mut subscription): (Option<&Trace<'_>>, Subscription),
    ) -> Result<Answer, RunError> {
        let log = exchange.log.as_ref().map(|log| RunLog::begin(log, log_name(plan)));
        if log.is_some() {
            subscription = subscription.joined(&RunLog::subscription());
        }
        if let Some(trace) = trace {
            subscription = subscription.joined(trace.subscription());
        }
        let tell = |event: Event<'_>| {
            if let Some(log) = &log {
                log.take(&event);
            }
            if let Some(followers) = &exchange.followers {
                followers.take(&event);
            }
            if let Some(trace) = trace.filter(|trace| event.is_wanted(trace.subscription())) {
                trace.take(&event);
            }
        };
        let watch = Watch { subscription: &subscription, tell: &tell, stepper: None };
        let catalog = &exchange.loaded.catalog;
        let run = self.engine.run_watched(plan, catalog, request, caller, Some(&watch));
        let answer = run.await;
        if let Some(trace) = trace {
            trace.done(script_name(plan), Some(plan.node(plan.value).line));
        }
        if let Some(log) = log {
            log.end(answer.as_ref().map(|_| ()));
        }
        answer
    }

    /// The answer for a run that gave a value.
    async fn run_success(
        &self,
        mut answer: Answer,
        rendition: Rendition<'_>,
    ) -> Result<Response, Busy> {
        let request_id = answer.request_id.take();
        // The engine gives no other statuses than those of RET-11.
        let status = StatusCode::from_u16(answer.status).unwrap_or_default();
        let (value, headers) = self.outcome(answer);
        let heavy = self.engine.heavy();
        let mut response = respond::result(status, value, &headers, rendition, heavy).await?;
        if let (Some(id), Some(name)) = (request_id, &self.request_id_header) {
            respond::add_header(&mut response, name.clone(), id);
        }
        Ok(response)
    }

    /// The value of an answer, and all headers that go with it.
    pub fn outcome(&self, answer: Answer) -> (Value, Vec<(String, String)>) {
        let mut headers = answer.headers;
        if let Some(id) = answer.request_id {
            headers.push((self.shared.settings.request_id_header.clone(), id));
        }
        if let Some((answered, attempted)) = answer.partial {
            headers.push(("Qlio-Partial".to_owned(), format!("{answered}/{attempted}")));
        }
        (answer.value, headers)
    }

    /// The plan of a client's script, unless it asks for metadata that is not told; else what its problems are.
    /// A long one is compiled by a heavy thread.
    ///
    /// # Errors
    /// Too much waits for a heavy thread.
    pub async fn plan(
        &self,
        text: &str,
        loaded: &Arc<Loaded>,
    ) -> Result<Result<Arc<Plan>, Value>, Busy> {
        let AppSettings { errors, metadata, .. } = self.shared.settings;
        if text.len() <= COMPILED_AT_ONCE_BYTES_MAX {
            let plan = self.plans.get(text, loaded);
            return Ok(told_plan(plan, text, errors, metadata));
        }
        let (text, loaded) = (text.to_owned(), Arc::clone(loaded));
        let compiling = self
            .engine
            .heavy()
            .run(move |_| told_plan(plans::compiled(&text, &loaded), &text, errors, metadata));
        Ok(Box::pin(compiling).await?.value)
    }

    /// The answer for a run that failed.
    fn run_failure(
        &self,
        exchange: &Exchange<'_>,
        error: &RunError,
        rendition: Rendition<'_>,
    ) -> Response {
        let asked = format!("{} {}", exchange.head.method, exchange.path());
        let (body, note) = self.run_error(&asked, error, exchange.loaded.catalog.secrets());
        let (status, retry_after) = (run_error::status(error), run_error::retry_after(error));
        let failure = Failure::Script { status, body, retry_after };
        let mut response = respond::failure(&failure, rendition);
        if let Some(note) = note {
            response.extensions_mut().insert(Note(note));
        }
        response
    }

    /// The error body for a run that failed. Faults of our own, and failures of which the client is not
    /// told all, get an incident id and a note for the log that tells all and names what was asked.
    pub(super) fn run_error(
        &self,
        asked: &str,
        error: &RunError,
        secrets: &[String],
    ) -> (Value, Option<String>) {
        let is_brief = self.shared.settings.errors == ErrorDetail::Brief;
        // A table may pass an upstream's own 500 on.
        let is_ours = run_error::status(error) == 500 && error.origin != Origin::Upstream;
        let body = if is_brief { run_error::brief_body(error) } else { run_error::body(error) };
        let body = redact(body, secrets);
        let is_told_less = is_brief && run_error::tells_inside(error);
        if !(is_ours || is_told_less) {
            return (body, None);
        }
        let incident = IncidentId::new();
        let all = json::to_string(&redact(run_error::body(error), secrets));
        let text = format!("incident {incident}: `{asked}` failed: {error}: {all}");
        let note = redact(Value::from(text), secrets).scalar_text();
        let body = with_member(body, "incident", Value::from(incident.to_string()));
        (body, note.map(|note| note.to_string()))
    }
}

/// Whether a client's script may change something at an upstream. What a loaded table does for a select
/// is the operator's word that it reads; a table of the client's own is nobody's.
fn is_writing(plan: &Plan) -> bool {
    let is_remote = |source: &Source| !matches!(source.kind, SourceKind::Slot(_));
    let writes = |node: &Node| match &node.kind {
        NodeKind::Write(write) => is_remote(&write.target),
        NodeKind::Delete(delete) => is_remote(&delete.target),
        _ => false,
    };
    let sends = |table: &Arc<Table>| {
        table.verb(VerbKind::Select).is_some_and(|verb| !matches!(&*verb.method, "get" | "head"))
    };
    plan.nodes.iter().any(writes) || plan.inline_tables.iter().any(sends)
}

/// A plan as far as clients are told, or its problems.
fn told_plan(
    plan: Result<Arc<Plan>, Vec<Diagnostic>>,
    text: &str,
    errors: ErrorDetail,
    metadata: MetadataScope,
) -> Result<Arc<Plan>, Value> {
    let problems = match plan {
        Ok(plan) => {
            let hidden = metadata::find_hidden(&plan, metadata);
            if hidden.is_empty() {
                return Ok(plan);
            }
            hidden
        }
        Err(problems) => hide_inside(problems, errors, metadata),
    };
    Err(compile_error::body(&problems, text))
}

/// The problems of a client's script without names of tables that it has not written itself, and
/// without the insides of loaded tables.
fn hide_inside(
    mut problems: Vec<Diagnostic>,
    errors: ErrorDetail,
    metadata: MetadataScope,
) -> Vec<Diagnostic> {
    for problem in &mut problems {
        if metadata < MetadataScope::All && problem.code == codes::UNKNOWN_TABLE {
            problem.hints.clear();
        }
        if errors == ErrorDetail::Brief && DECLARATIONS.contains(&problem.code.number) {
            problem.message = problem.code.title.to_owned();
            problem.wire = None;
            problem.hints.clear();
            problem.notes.clear();
        }
    }
    problems
}

/// The numbers of problems that loaded tables and their files have.
const DECLARATIONS: std::ops::Range<u16> = 3000..4000;

/// What traces call a script: the path of its route, or its text.
pub(super) fn script_name(plan: &Plan) -> &str {
    match &plan.route {
        Some(route) => route.path.split('?').next().unwrap_or_default(),
        None => &plan.text,
    }
}

/// What the log calls a script: its route, or its text.
pub(super) fn log_name(plan: &Plan) -> (&'static str, &str) {
    match &plan.route {
        Some(_) => ("route", script_name(plan)),
        None => ("script", script_name(plan)),
    }
}

fn with_trace(mut response: Response, trace: Option<Box<Trace<'_>>>) -> Response {
    if let Some(link) = trace.and_then(|trace| trace.into_link()) {
        respond::add_trace(&mut response, &link);
    }
    response
}

fn with_member(body: Value, name: &str, value: Value) -> Value {
    match body {
        Value::Object(object) => {
            let mut object = Object::clone(&object);
            object.insert(name, value);
            Value::object(object)
        }
        other => other,
    }
}
