//! Sending prepared requests, equal ones once, all of them at the same time.

use std::{collections::HashMap, rc::Rc, sync::Arc, time::Duration};

use bytes::Bytes;
use futures_util::future::{Either, join_all, ready};
use http::{Method, StatusCode, header};
use qlio_plan::operator::Delays;
use qlio_syntax::ast::VerbKind;

use super::{
    Call,
    answer::Answer,
    failure, given,
    grpc::call_uri,
    hooks::Hooks,
    onlooker::Onlooker,
    prepare::{Prepared, Task},
};
use crate::{
    error::{Fact, RunError},
    hops::{self, HOPS},
    operator::{
        project::{Decoded, project_cells},
        rows::Relation,
    },
    request::Caller,
    transport::{
        BACKOFF_MAX_DEFAULT, BACKOFF_MIN_DEFAULT, ErrorKind, Exchange, Guard, PatienceOf, Reply,
        RequestHeaders, Retry, TransportError,
    },
};

impl Call<'_> {
    /// The answers in the order of the requests. Identical safe requests of a statement are sent
    /// once and the answer is used for each.
    pub(super) async fn send_all(&self, mut tasks: Vec<Task>) -> Vec<Result<Relation, RunError>> {
        if let [task] = &mut tasks[..] {
            return vec![match task {
                // Boxed like those of a fan-out, which has no use for the room of this one.
                Ok(request) => Box::pin(self.send(request)).await,
                Err(error) => Err(error.clone()),
            }];
        }
        let places = places(&tasks);
        let mut sent = 0;
        let mut sending = Vec::with_capacity(tasks.len());
        sending.extend(tasks.iter_mut().zip(&places).filter_map(|(task, place)| {
            let is_new = matches!(place, Ok(place) if *place == sent);
            let request = task.as_mut().ok().filter(|_| is_new)?;
            sent += 1;
            Some(Box::pin(self.send(request)))
        }));
        let answers = join_all(sending).await;
        if answers.len() == places.len() {
            return answers;
        }
        places.into_iter().map(|place| answers[place?].clone()).collect()
    }

    /// The request is lent, here and below, because a future keeps each argument for as long as it lasts,
    /// and a fan-out holds as many of these futures as it has requests.
    pub(super) async fn send(&self, request: &mut Prepared) -> Result<Relation, RunError> {
        if let Some(key) = request.cache_key.take()
            && let Some(cache) = self.run.engine.cache()
        {
            return Ok(Box::pin(self.send_cached(request, key, cache, |_| ())).await?.0);
        }
        let (decoded, ()) = self.send_uncached(request, |_| ()).await?;
        match decoded {
            Decoded::Cells(cells) => project_cells(self.run, self.scan, cells),
            decoded => self.project(decoded).await,
        }
    }

    /// What is decoded of a request that is made in any case, and what `keep` takes of its answer.
    #[expect(clippy::manual_async_fn, reason = "an `async fn` would hold each argument twice")]
    pub(super) fn send_uncached<T>(
        &self,
        request: &mut Prepared,
        keep: impl FnOnce(&Answer<'_>) -> T,
    ) -> impl Future<Output = Result<(Decoded, T), RunError>> {
        async move {
            let Prepared { exchange, hooks, .. } = request;
            self.run.number_call(exchange, self.table);
            let hooks = hooks.clone();
            let asked_uri = hooks.is_some().then(|| exchange.uri.clone());
            let announced = self.announce(exchange);
            let mut onlooker = Onlooker::of_statement(self, announced, hooks.as_deref());
            let taking = {
                let reply = self.exchange_with(exchange, &mut onlooker).await?;
                self.charge_reply(&reply)?;
                let is_large = self.is_large(reply.body.len(), &reply.headers);
                // What no hook sees costs no future, and no room in that of every request.
                if is_large || hooks.is_some() {
                    let taken =
                        self.take_in_turns(reply, is_large, asked_uri, hooks, onlooker, keep);
                    Either::Left(Box::pin(taken))
                } else {
                    Either::Right(ready(self.take_at_once(&reply, onlooker, keep)))
                }
            };
            let taken = taking.await?;
            if self.run.budget.is_due() {
                self.run.budget.pause().await?;
            }
            Ok(taken)
        }
    }

    /// What is decoded of a reply that is neither large nor seen by a hook, and what `keep` takes of its answer.
    fn take_at_once<T>(
        &self,
        reply: &Reply,
        onlooker: Onlooker<'_, '_>,
        keep: impl FnOnce(&Answer<'_>) -> T,
    ) -> Result<(Decoded, T), RunError> {
        self.run.budget.work_of_decoding(reply.body.len());
        let answer = self.received(reply, &reply.uri, onlooker.announced.as_deref());
        let kept = keep(&answer);
        Ok((self.plain_rows(&answer, onlooker.into_rows())?, kept))
    }

    /// The same of any reply.
    async fn take_in_turns<T>(
        &self,
        reply: Reply,
        is_large: bool,
        asked_uri: Option<String>,
        hooks: Option<Rc<Hooks>>,
        onlooker: Onlooker<'_, '_>,
        keep: impl FnOnce(&Answer<'_>) -> T,
    ) -> Result<(Decoded, T), RunError> {
        let (asked_uri, hooks) = (asked_uri.as_ref().unwrap_or(&reply.uri), hooks.as_deref());
        if is_large {
            return self.take_large(&reply, asked_uri, hooks, onlooker, keep).await;
        }
        self.run.budget.work_of_decoding(reply.body.len());
        let announced = onlooker.announced.as_deref();
        let answer = self.parse(&reply, asked_uri, hooks, announced, None).await?;
        let kept = keep(&answer);
        let decoded = self.decoded_rows(&answer, hooks, onlooker.into_rows()).await?;
        Ok((decoded, kept))
    }

    /// What has come counts against the budget of the run.
    pub(super) fn charge_reply(&self, reply: &Reply) -> Result<(), RunError> {
        let budget = &self.run.budget;
        budget.charge_upstream(reply.wire_bytes)?;
        budget.charge_memory(reply.body.len())
    }

    #[expect(clippy::manual_async_fn, reason = "an `async fn` would hold each argument twice")]
    fn exchange_with(
        &self,
        exchange: &mut Exchange,
        onlooker: &mut Onlooker<'_, '_>,
    ) -> impl Future<Output = Result<Reply, RunError>> {
        async move {
            if self.verb.grpc.is_none() {
                return self.exchanged(exchange, onlooker).await;
            }
            Box::pin(async {
                self.make_call(exchange);
                let reply = self.exchanged(exchange, onlooker).await?;
                self.settled(reply).await
            })
            .await
        }
    }

    #[expect(clippy::manual_async_fn, reason = "an `async fn` would hold each argument twice")]
    pub(super) fn exchanged(
        &self,
        exchange: &mut Exchange,
        onlooker: &mut Onlooker<'_, '_>,
    ) -> impl Future<Output = Result<Reply, RunError>> {
        async move {
            if let Some(given) = &self.run.request.given {
                return given::reply(self.run, given, exchange).inspect_err(|error| {
                    self.announce_failure(onlooker.announced.as_deref(), error);
                });
            }
            let received = match &self.verb.oauth2 {
                // What the table or its patch puts into the header stays.
                Some(clause) if !exchange.headers.contains_key(header::AUTHORIZATION) => {
                    Box::pin(self.exchange_with_token(exchange, clause, onlooker)).await
                }
                _ => {
                    let sent = self.run.engine.transport().send_watched(exchange, onlooker).await;
                    sent.map_err(|error| self.exchange_failed(&error))
                }
            };
            let reply = received.inspect_err(|error| {
                self.announce_failure(onlooker.announced.as_deref(), error);
            })?;
            if reply.status == StatusCode::LOOP_DETECTED {
                let limit = self.run.engine.settings().hops_max;
                if let Some(error) = hops::refused(reply.status, reply.headers.get(HOPS), limit) {
                    return Err(error);
                }
            }
            if self.run.engine.settings().request_id_trail {
                let sent_id = exchange.headers.get(self.run.engine.default_headers().request_id());
                self.run.close_request_id(sent_id, &reply.headers);
            }
            Ok(reply)
        }
    }

    /// The error of an exchange, which names the URI as the table has it.
    pub(super) fn exchange_failed(&self, error: &TransportError) -> RunError {
        let has_no_room = match error.kind {
            ErrorKind::NoRoom => true,
            ErrorKind::DecodedTooLarge { limit } => {
                limit < self.run.engine.settings().decoded_bytes_max
            }
            _ => false,
        };
        if has_no_room {
            return self.run.budget.refuse_memory();
        }
        let mut failed = failure::transport_failed(error);
        if error.kind == ErrorKind::Deadline {
            failed = self.deadline.explain(failed);
        }
        match self.verb.grpc {
            Some(_) if !error.uri.is_empty() => failed.with(Fact::Uri(call_uri(&error.uri))),
            _ => failed,
        }
    }

    /// The reply as an answer like any other, also if it is to a gRPC call.
    pub(super) async fn settled(&self, reply: Reply) -> Result<Reply, RunError> {
        if self.verb.grpc.is_none() {
            return Ok(reply);
        }
        Box::pin(self.settle_call(reply)).await
    }

    /// What is sent for a request, but for what is known only then.
    pub(super) fn exchange_of(
        &self,
        method: Method,
        uri: String,
        headers: RequestHeaders,
        body: Bytes,
    ) -> Exchange {
        let settings = self.run.engine.settings();
        let milliseconds =
            |value: Option<u64>, default| value.map_or(default, Duration::from_millis);
        let is_retried = self.kind == VerbKind::Select && !self.verb.is_retry_off;
        Exchange {
            method,
            uri,
            socket: None,
            headers,
            own_header: None,
            trace: None,
            body,
            timeout: milliseconds(self.delays.timeout_ms, settings.timeout),
            deadline: Some(self.deadline.at),
            retry: if is_retried { Retry::Once } else { Retry::Never },
            follows_redirects: true,
            table: self.table.name.clone(),
            guard: self.guard(),
            run: self.run.number,
            patience_of: self.patience_of(),
            backoff_min: milliseconds(self.delays.delay_ms_min, BACKOFF_MIN_DEFAULT),
            backoff_max: milliseconds(self.delays.delay_ms_max, BACKOFF_MAX_DEFAULT),
            room: Some(self.run.budget.room().clone()),
            grpc: None,
        }
    }

    /// What a script of a client says of times, others need not bear (UPS-39).
    fn patience_of(&self) -> PatienceOf {
        let Delays { timeout_ms, delay_ms_min, delay_ms_max, .. } = self.delays;
        let says_any = [timeout_ms, delay_ms_min, delay_ms_max].into_iter().any(Option::is_some);
        match self.run.caller {
            Caller::AdHoc { .. } if says_any => PatienceOf::Client,
            _ => PatienceOf::Operator,
        }
    }

    /// Tables that a client has sent may call only what loaded tables call (SAF-8).
    pub(super) fn guard(&self) -> Guard {
        match self.run.caller {
            Caller::AdHoc { may_call_private: false } if self.table.is_inline => {
                Guard::Restricted { allowed_hosts: Arc::clone(self.run.catalog.hosts()) }
            }
            _ => Guard::Off,
        }
    }
}

/// Up to this many requests are compared one by one; more are found by their URI.
const COMPARED_MAX: usize = 16;

/// For each task the place of its answer among all answers, or why there is none. Equal safe requests
/// share one: that of the first of them, the only one that is sent.
pub(super) fn places<'t>(tasks: &'t [Task]) -> Vec<Result<usize, RunError>> {
    let is_few = tasks.len() <= COMPARED_MAX;
    let mut sent: Vec<&Prepared> = Vec::with_capacity(tasks.len());
    let mut by_uri: HashMap<&str, Vec<usize>> = HashMap::new();
    let mut place = |request: &'t Prepared| {
        let is_same = |place: &usize| request.is_same_safe_request(sent[*place]);
        let known = if is_few {
            (0..sent.len()).find(is_same)
        } else {
            let alike = by_uri.entry(&request.exchange.uri).or_default();
            let known = alike.iter().copied().find(is_same);
            if known.is_none() {
                alike.push(sent.len());
            }
            known
        };
        known.unwrap_or_else(|| {
            sent.push(request);
            sent.len() - 1
        })
    };
    tasks.iter().map(|task| task.as_ref().map(&mut place).map_err(Clone::clone)).collect()
}
