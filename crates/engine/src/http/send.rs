//! Sending prepared requests, equal ones once, all of them at the same time.

use std::{collections::HashMap, sync::Arc, time::Duration};

use bytes::Bytes;
use futures_util::future::join_all;
use http::{HeaderMap, Method, header};
use qlio_syntax::{ast::VerbKind, diagnostic::codes};
use tokio::time::Instant;

use super::{
    Call,
    answer::Answer,
    failure,
    grpc::call_uri,
    onlooker::Onlooker,
    prepare::{Prepared, Task},
};
use crate::{
    error::RunError,
    operator::{project::Decoded, rows::Rows},
    request::Caller,
    transport::{Exchange, Guard, Reply, Retry, TransportError, shown_uri},
};

/// Turns what was decoded of one answer into rows.
pub(super) type Project<'a> = dyn Fn(Decoded) -> Result<Rows, RunError> + 'a;

impl Call<'_> {
    /// The answers in the order of the requests. Identical safe requests of a statement are sent
    /// once and the answer is used for each.
    pub(super) async fn send_all(
        &self,
        mut tasks: Vec<Task>,
        project: &Project<'_>,
    ) -> Vec<Result<Rows, RunError>> {
        if let [task] = &mut tasks[..] {
            return vec![match task {
                // Boxed like those of a fan-out, which has no use for the room of this one.
                Ok(request) => Box::pin(self.send(request, project)).await,
                Err(error) => Err(error.clone()),
            }];
        }
        let (mut unique, position) = without_repetition(tasks);
        let sending = unique.iter_mut().map(|request| Box::pin(self.send(request, project)));
        let answers = join_all(sending).await;
        if answers.len() == position.len() {
            return answers;
        }
        position.into_iter().map(|unique| answers[unique?].clone()).collect()
    }

    /// The request is lent, here and below, because a future keeps each argument for as long as it lasts,
    /// and a fan-out holds as many of these futures as it has requests.
    async fn send(&self, request: &mut Prepared, project: &Project<'_>) -> Result<Rows, RunError> {
        if let Some(key) = request.cache_key.take()
            && let Some(cache) = self.run.engine.cache()
        {
            return Box::pin(self.send_cached(request, key, cache, project)).await;
        }
        project(self.send_uncached(request, |_| ()).await?.0)
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
            let hooks = hooks.clone();
            let asked_uri = hooks.is_some().then(|| exchange.uri.clone());
            let announced = self.announce(exchange);
            let mut onlooker = Onlooker::of_statement(self, announced, hooks.as_deref());
            let reply = self.exchange_with(exchange, &mut onlooker).await?;
            let asked_uri = asked_uri.as_ref().unwrap_or(&reply.uri);
            let announced = onlooker.announced.as_deref();
            let answer = self.parse(&reply, asked_uri, hooks.as_deref(), announced)?;
            let kept = keep(&answer);
            Ok((self.decoded_rows(&answer, hooks.as_deref(), onlooker.into_rows())?, kept))
        }
    }

    #[expect(clippy::manual_async_fn, reason = "an `async fn` would hold each argument twice")]
    fn exchange_with(
        &self,
        exchange: &mut Exchange,
        onlooker: &mut Onlooker<'_, '_>,
    ) -> impl Future<Output = Result<Reply, RunError>> {
        async move {
            let deadline = self.delays.deadline_ms.map(Duration::from_millis);
            exchange.deadline = deadline.map(|patience| Instant::now() + patience);
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
    fn exchanged(
        &self,
        exchange: &mut Exchange,
        onlooker: &mut Onlooker<'_, '_>,
    ) -> impl Future<Output = Result<Reply, RunError>> {
        async move {
            let reply = match &self.verb.oauth2 {
                // What the table or its patch puts into the header stays.
                Some(clause) if !exchange.headers.contains_key(header::AUTHORIZATION) => {
                    Box::pin(self.exchange_with_token(exchange, clause, onlooker)).await?
                }
                _ => {
                    let sent = self.run.engine.transport().send_watched(exchange, onlooker).await;
                    sent.map_err(|error| self.exchange_failed(&error))?
                }
            };
            let sent_id = exchange.headers.get(self.run.engine.default_headers().request_id());
            self.run.close_request_id(sent_id, &reply.headers);
            Ok(reply)
        }
    }

    /// The error of an exchange, which names the URI as the table has it.
    pub(super) fn exchange_failed(&self, error: &TransportError) -> RunError {
        let failed = failure::transport_failed(error);
        match self.verb.grpc {
            Some(_) if !error.uri.is_empty() => failed.with("uri", call_uri(&error.uri)),
            _ => failed,
        }
    }

    /// The reply as an answer like any other, also if it is to a gRPC call.
    pub(super) async fn settled(&self, reply: Reply) -> Result<Reply, RunError> {
        if self.verb.grpc.is_none() {
            return Ok(reply);
        }
        let uri = call_uri(&reply.uri);
        Box::pin(self.settle_call(reply)).await.map_err(|reason| {
            RunError::upstream(codes::BAD_PROTOBUF, reason).with("uri", shown_uri(&uri))
        })
    }

    /// What is sent for a request, but for what is known only then.
    pub(super) fn exchange_of(
        &self,
        method: Method,
        uri: String,
        headers: Arc<HeaderMap>,
        body: Bytes,
    ) -> Exchange {
        let settings = self.run.engine.settings();
        let milliseconds =
            |value: Option<u64>, default| value.map_or(default, Duration::from_millis);
        let is_retried = self.kind == VerbKind::Select && !self.verb.is_retry_off;
        Exchange {
            method,
            uri,
            headers,
            body,
            timeout: milliseconds(self.delays.timeout_ms, settings.timeout),
            deadline: None,
            retry: if is_retried { Retry::Once } else { Retry::Never },
            follows_redirects: true,
            table: self.table.name.clone(),
            guard: self.guard(),
            backoff_min: milliseconds(self.delays.delay_ms_min, Duration::from_millis(500)),
            backoff_max: milliseconds(self.delays.delay_ms_max, Duration::from_secs(30)),
            grpc: None,
        }
    }

    /// Tables that a client has sent may call only what loaded tables call (`decisions.md` 4).
    fn guard(&self) -> Guard {
        match self.run.caller {
            Caller::AdHoc { may_call_private: false } if self.table.is_inline => {
                Guard::Restricted { allowed_hosts: self.run.catalog_hosts() }
            }
            _ => Guard::Off,
        }
    }
}

/// Up to this many requests are compared one by one; more are found by their URI.
const COMPARED_MAX: usize = 16;

/// The requests without repetition, and for each of the given tasks its position among them or why
/// it is not.
fn without_repetition(tasks: Vec<Task>) -> (Vec<Prepared>, Vec<Result<usize, RunError>>) {
    let is_few = tasks.len() <= COMPARED_MAX;
    let mut unique: Vec<Prepared> = Vec::with_capacity(tasks.len());
    let mut by_uri: HashMap<String, Vec<usize>> = HashMap::new();
    let mut positions = Vec::with_capacity(tasks.len());
    for task in tasks {
        let request = match task {
            Ok(request) => request,
            Err(error) => {
                positions.push(Err(error));
                continue;
            }
        };
        let same = if is_few {
            unique.iter().position(|known| known.is_same_safe_request(&request))
        } else {
            let known = by_uri.entry(request.exchange.uri.clone()).or_default();
            let same = known
                .iter()
                .copied()
                .find(|position| unique[*position].is_same_safe_request(&request));
            if same.is_none() {
                known.push(unique.len());
            }
            same
        };
        positions.push(Ok(same.unwrap_or_else(|| {
            unique.push(request);
            unique.len() - 1
        })));
    }
    (unique, positions)
}
