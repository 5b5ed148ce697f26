//! Statements on tables of custom connectors: the script says what to fetch, and what comes of it is the answer
//! (CNC-3 and on).
//!
//! ```text
//! own values ─ params ─▶ URIs, arguments ─▶ [exec in the sandbox] ◀─▶ [fetch] exchanges ─▶ body
//! ```
//!
//! The requests of a script are exchanges like all others: the same guard, back-off, deadline, budget and trace.
//! What the budget of the run refuses ends the statement, whatever the script makes of it.

use std::time::Duration;

use futures_util::{FutureExt, StreamExt, future::join_all, stream::FuturesUnordered};
use http::{HeaderMap, Method, header};
use qlio_data::{Object, Text, Value, params};
use qlio_plan::catalog::{Connector, ConnectorSource};
use qlio_syntax::diagnostic::codes;
use tokio::time::{Instant, timeout_at};

use super::{
    Call,
    answer::Answer,
    body::Payload,
    failure,
    onlooker::Onlooker,
    prepare::{expand_failed, method},
    view::{
        attachments, connector_statement, connector_verb, request_record, to_object, variables,
    },
};
use crate::{
    connectors::Lent,
    error::{Fact, RunError},
    operator::{
        gather::{Merge, gather_rows},
        project::Decoded,
        rows::Relation,
    },
    own::Own,
    request::Caller,
    sandbox::{Outcome, Refusal, Request, Response, ScriptError, ScriptErrorKind, Task, Turn},
    transport::{self, Retry},
};

/// What has come of one request of a script.
struct Fetched {
    id: u32,
    outcome: Result<Response, RunError>,
}

/// An execution under way.
struct Execution<'c, 'a> {
    call: &'c Call<'a>,
    connector: &'c Connector,
    headers: HeaderMap,
    began: Instant,
    /// The failures that the script was told, by their numbers.
    failures: Vec<RunError>,
}

impl Call<'_> {
    /// The rows of one execution of the verb's connector, as the one answer of a statement.
    pub(super) async fn connected(
        &self,
        own: &Own,
        payload: &Payload,
        parts: &[usize],
    ) -> Result<(Vec<Relation>, Merge), RunError> {
        self.count_requests(1)?;
        let value = self.connect(own, payload, parts).await?;
        Ok((vec![self.project(Decoded::Value(value)).await?], Merge::Single))
    }

    /// The rows of one execution for each row of the main half of a join.
    pub(super) async fn connected_each(
        &self,
        owns: &[Own],
        width: usize,
    ) -> Result<Vec<Relation>, RunError> {
        self.count_requests(owns.len())?;
        let rows = owns.iter().map(|own| {
            Box::pin(async move {
                let value = self.connect(own, &Payload::Template, &[]).await?;
                let rows = self.project(Decoded::Value(value)).await?;
                Ok(gather_rows(vec![rows], width, Merge::Single))
            })
        });
        join_all(rows).await.into_iter().collect()
    }

    /// What the connector of the verb answers.
    ///
    /// # Errors
    /// A required argument without a value; whatever the script or one of its requests fails with.
    async fn connect(
        &self,
        own: &Own,
        payload: &Payload,
        parts: &[usize],
    ) -> Result<Value, RunError> {
        let connector = self.verb.connector.as_ref();
        let connector = connector.ok_or_else(|| RunError::internal("a table without connector"))?;
        self.check_connectable(connector)?;
        let file = match &connector.source {
            ConnectorSource::Script(file) => file,
            ConnectorSource::Remote(remote) => {
                return Box::pin(self.ask_remote(&connector.name, remote, own, payload)).await;
            }
        };
        let task = self.task(own, payload, parts)?;
        let headers = self.headers(own, None)?;
        let engine = self.run.engine;
        let lent = engine.connectors().lend(connector, file).await?;
        let mut execution = Execution {
            call: self,
            connector,
            headers,
            began: Instant::now(),
            failures: Vec::new(),
        };
        let carried_out = timeout_at(self.deadline.at, execution.carry_out(&lent, task)).await;
        let value = carried_out.map_err(|_| self.deadline.error())??;
        lent.give_back();
        Ok(value)
    }

    /// Tables that clients make reach no connector: what its verbs do is for the operator's tables to offer.
    fn check_connectable(&self, connector: &Connector) -> Result<(), RunError> {
        let is_strange = matches!(self.run.caller, Caller::AdHoc { may_call_private: false });
        if !(is_strange && self.table.is_inline) {
            return Ok(());
        }
        let message = format!(
            "scripts of clients may not create tables via `{}`; use a table of the server",
            connector.name
        );
        Err(RunError::client(codes::UNKNOWN_CONNECTOR, message))
    }

    fn task(&self, own: &Own, payload: &Payload, parts: &[usize]) -> Result<Task, RunError> {
        let params = self.params(own, None);
        params.require_settings(true)?;
        let uris = self.verb.uri.expand(&params).map_err(|error| expand_failed(&error))?.uris;
        let mut expected = Vec::with_capacity(self.verb.expects.len());
        for argument in &self.verb.expects {
            let value = params::lookup(&params, &argument.name);
            if argument.is_required && value.is_nothing() {
                let name = &argument.name;
                let message = format!(
                    "`expect ^{name}` of table {} has no value; say `where {name} = …`, or give the \
                     table a default for it",
                    self.table.name
                );
                return Err(RunError::client(codes::MISSING_ARGUMENT, message));
            }
            expected.push(if value.is_absent() { Value::Null } else { value });
        }
        let request = self.run.request;
        let values = match payload {
            Payload::Template => Value::Absent,
            Payload::Client => request.body.clone(),
            Payload::Opaque(value) | Payload::Object(value) => value.clone(),
        };
        let config = params.config().clone();
        let uri = uris.first().map_or(Value::Null, |uri| Value::from(uri.as_str()));
        let members = [
            ("name", Value::from(self.table.name.clone())),
            ("uri", uri),
            ("uris", uris.iter().map(|uri| Value::from(uri.as_str())).collect()),
            ("expected", Value::array(expected)),
            ("params", Value::object(own.iter().cloned().collect::<Object>())),
            ("values", values),
            ("parts", attachments(self.run, parts)),
            ("context", variables(self.run)),
            ("config", config.clone()),
            ("settings", config),
            ("request", request_record(self.run)),
            ("statement", connector_statement(self, own)),
            ("limit", self.limit.map_or(Value::Absent, Value::from)),
            ("offset", self.offset.map_or(Value::Absent, Value::from)),
        ];
        Ok(Task {
            args: Value::object(members.into_iter().collect::<Object>()),
            verb: connector_verb(self.table, self.verb),
            kind: self.kind.as_str(),
            key: format!("{} {} {}", self.table.file, self.table.name, self.kind.as_str()),
            requests_max: self.run.engine.settings().nested_requests_max,
        })
    }
}

impl Execution<'_, '_> {
    /// Lets the script have its turns, and makes its requests in between.
    async fn carry_out(&mut self, lent: &Lent<'_>, task: Task) -> Result<Value, RunError> {
        let (call, connector) = (self.call, self.connector);
        let engine = call.run.engine;
        let (heavy, limits) = (engine.heavy(), engine.sandbox().limits());
        let begin =
            lent.take_turn(heavy, limits, move |script, sandbox| script.begin(sandbox, &task));
        let (begun, time) = begin.await?;
        call.run.budget.charge_time(time)?;
        let (serial, mut turn) = begun.map_err(|refusal| self.refused(refusal))?;
        let patience =
            call.delays.timeout_ms.map_or(engine.settings().timeout, Duration::from_millis);
        let mut under_way = FuturesUnordered::new();
        let mut sent = 0;
        loop {
            let (requests, timer_ms) = match turn {
                Turn::Done(value) => return Ok(value),
                Turn::AsksTooMuch(count) => {
                    let further = count.saturating_sub(sent);
                    return Err(call.count_requests(further).err().unwrap_or_else(|| {
                        RunError::internal("a connector was refused what it may have")
                    }));
                }
                Turn::Waits { requests, timer_ms } => (requests, timer_ms),
            };
            if !requests.is_empty() {
                call.count_requests(requests.len())?;
                sent += requests.len();
            }
            for request in requests {
                under_way.push(Box::pin(fetch(call, self.headers.clone(), request)));
            }
            let timer = timer_ms.map(|due| self.began + Duration::from_millis(due));
            if under_way.is_empty() && timer.is_some_and(|due| due > self.began + patience) {
                return Err(Self::late(connector, patience));
            }
            let mut fetched: Vec<Fetched> = Vec::new();
            let first = async {
                match under_way.next().await {
                    Some(first) => first,
                    None => std::future::pending().await,
                }
            };
            match timer {
                Some(due) => fetched.extend(timeout_at(due, first).await.ok()),
                None => fetched.push(first.await),
            }
            // What is there already comes in one turn.
            while let Some(Some(more)) = under_way.next().now_or_never() {
                fetched.push(more);
            }
            // What the budget refuses ends the run, whatever the script would make of it.
            call.run.budget.check()?;
            let outcomes: Vec<_> = fetched
                .into_iter()
                .map(|fetched| self.outcome(fetched))
                .collect::<Result<_, _>>()?;
            let elapsed = u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX);
            let going_on = lent.take_turn(heavy, limits, move |script, sandbox| {
                script.go_on(sandbox, serial, elapsed, outcomes)
            });
            let (gone_on, time) = going_on.await?;
            call.run.budget.charge_time(time)?;
            turn = gone_on.map_err(|refusal| self.refused(refusal))?;
        }
    }

    /// What a script is told of a request; a deadline that has passed it is not told.
    fn outcome(&mut self, fetched: Fetched) -> Result<(u32, Outcome), RunError> {
        let outcome = match fetched.outcome {
            Ok(response) => Outcome::Answered(response),
            Err(error) if error.code == codes::DEADLINE => return Err(error),
            Err(error) => {
                let code = format!("Q{:04}", error.code.number);
                let message = error.message.clone();
                let number = self.failures.len();
                self.failures.push(error);
                Outcome::Failed { number, code, message }
            }
        };
        Ok((fetched.id, outcome))
    }

    fn late(connector: &Connector, patience: Duration) -> RunError {
        let message = format!(
            "connector {} waits for a timer beyond its timeout of {} ms; raise `timeout` of the statement, \
             or wait less",
            connector.name,
            patience.as_millis()
        );
        RunError::gateway(codes::CONNECTOR_TIME, message)
    }

    /// Why the execution has failed. If that is a request, it is the error of the request.
    fn refused(&self, refusal: Refusal) -> RunError {
        let Refusal { error, failure, status } = refusal;
        if let Some(failed) = failure.and_then(|number| self.failures.get(number)) {
            return failed.clone();
        }
        let failed = script_failed(self.connector, &error).at_script(&error);
        match status {
            Some(status) if self.call.verb.passed_statuses.contains(&status) => {
                failed.with(Fact::PassedStatus(status))
            }
            _ => failed,
        }
    }
}

/// An error of the script itself.
fn script_failed(connector: &Connector, error: &ScriptError) -> RunError {
    let name = &connector.name;
    match error.kind {
        ScriptErrorKind::Time => RunError::gateway(
            codes::CONNECTOR_TIME,
            format!("{error}; do less between two requests, or raise `hooks.timeMs`"),
        ),
        ScriptErrorKind::Unanswered => {
            RunError::gateway(codes::CONNECTOR_TIME, format!("connector {name}: {error}"))
        }
        ScriptErrorKind::Memory => RunError::gateway(
            codes::CONNECTOR_MEMORY,
            format!("{error}; keep less at a time, or raise `hooks.memoryMiB`"),
        ),
        ScriptErrorKind::Result => {
            RunError::gateway(codes::CONNECTOR_ANSWER, format!("connector {name}: {error}"))
        }
        ScriptErrorKind::Load | ScriptErrorKind::NotFound => RunError::gateway(
            codes::BAD_CONNECTOR,
            format!("connector {name} failed to load: {error}"),
        ),
        _ => {
            RunError::upstream(codes::CONNECTOR_FAILED, format!("connector {name} failed: {error}"))
        }
    }
}

/// Makes a request of a script.
async fn fetch(call: &Call<'_>, headers: HeaderMap, request: Request) -> Fetched {
    let id = request.id;
    Fetched { id, outcome: fetch_answer(call, headers, request).await }
}

async fn fetch_answer(
    call: &Call<'_>,
    mut headers: HeaderMap,
    request: Request,
) -> Result<Response, RunError> {
    let Request { method: name, uri, headers: own, body, timeout_ms, follows_redirects, .. } =
        request;
    add_headers(&mut headers, &own)?;
    call.seal(&mut headers);
    let method = method(&name)?;
    let mut exchange = call.exchange_of(method, uri.clone(), headers.into(), body);
    exchange.follows_redirects = follows_redirects;
    if let Some(milliseconds) = timeout_ms {
        exchange.timeout = exchange.timeout.min(Duration::from_millis(milliseconds));
    }
    // Only what changes nothing may be sent twice.
    if exchange.method != Method::GET {
        exchange.retry = Retry::Never;
    }
    call.run.number_call(&mut exchange, call.table);
    let announced = call.announce(&exchange);
    let mut onlooker = Onlooker::new(call, announced);
    let reply = call.exchanged(&mut exchange, &mut onlooker).await?;
    call.charge_reply(&reply)?;
    let answer = Answer::received(&reply, &uri);
    call.announce_answer(onlooker.announced.as_deref(), &answer);
    Ok(Response {
        status: reply.status.as_u16(),
        reason: reply.status.canonical_reason().unwrap_or_default(),
        uri: transport::shown_uri(&reply.uri),
        is_redirected: reply.redirects > 0,
        headers: to_object(reply.headers.map()),
        body: reply.body,
    })
}

/// Puts the headers of a script in the place of those of the table.
fn add_headers(headers: &mut HeaderMap, own: &Object) -> Result<(), RunError> {
    let parse = |name: &str, value: &Value| {
        let text = value.scalar_text().unwrap_or_else(|| Text::from(""));
        transport::header(name, &text).map_err(|error| failure::transport_failed(&error))
    };
    for (name, value) in own.iter() {
        let single = std::slice::from_ref(value);
        let values = value.elements();
        let mut is_first = true;
        for value in values.as_deref().unwrap_or(single) {
            let (name, value) = parse(name, value)?;
            if name == header::CONTENT_LENGTH || name == header::TRANSFER_ENCODING {
                continue;
            }
            if is_first {
                headers.insert(name, value);
            } else {
                headers.append(name, value);
            }
            is_first = false;
        }
    }
    Ok(())
}
