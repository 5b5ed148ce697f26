//! Tells a watcher what is asked and answered (TRC-6).
//!
//! Nothing here costs more than a look at an `Option` when nobody watches.

use std::{fmt::Display, str, time::Duration};

use http::{HeaderMap, Method, header};
use qlio_data::Text;
use qlio_plan::catalog::FORM;
use tokio::time::Instant;

use super::{Call, answer::Answer};
use crate::{
    clock::epoch_ms,
    event::{
        Announced, AnswerEvent, Because, CachedAnswer, Event, EventKind, Observation, OpenExchange,
        RequestEvent, new_id, shown_form, shown_headers,
    },
    trace::CallTrace,
    transport::{Exchange, Turn, shown_uri},
};

impl Call<'_> {
    /// Tells that this request is about to be sent.
    pub(super) fn announce(&self, exchange: &Exchange) -> Option<Box<Announced>> {
        self.announce_because(exchange, None)
    }

    /// The same of a request that the statement has not asked for as such.
    pub(super) fn announce_because(
        &self,
        exchange: &Exchange,
        because: Option<Because>,
    ) -> Option<Box<Announced>> {
        let observation = self.run.observation.as_ref()?;
        let Exchange { method, uri, headers, own_header, body, trace, .. } = exchange;
        let mut shown = shown_headers(headers);
        if let Some(own) = own_header {
            shown.push((own.name().to_string(), own.value()));
        }
        // The transport adds it; of a gRPC call it is that of frames which are not there yet.
        let has_length = headers.contains_key(header::CONTENT_LENGTH);
        if self.verb.grpc.is_none() && !has_length && (!body.is_empty() || is_with_body(method)) {
            shown.push((header::CONTENT_LENGTH.to_string(), body.len().to_string()));
        }
        let mut announced = Announced {
            id: new_id(),
            number: 0,
            method: method.to_string(),
            uri: shown_uri(uri),
            headers: shown,
            body: shown_request_body(headers, body),
            started: Instant::now(),
            trace: trace.clone(),
            resends: 0,
        };
        let Announced { uri, headers, .. } = &announced;
        let told = Told { because, after: None, uri, headers, body: announced.body.as_deref() };
        announced.number = self.tell_request(observation, &announced, &told);
        Some(Box::new(announced))
    }

    /// Tells that the same request is about to be sent once more, because the one before has failed.
    pub(super) fn announce_again(&self, announced: Option<&mut Announced>, failure: &str) {
        let (Some(observation), Some(announced)) = (&self.run.observation, announced) else {
            return;
        };
        observation.fail_exchange(announced.number, failure);
        let before = renew(announced);
        let Announced { uri, headers, .. } = &*announced;
        let told = Told {
            because: Some(Because::Retry),
            after: Some(&before),
            uri,
            headers,
            body: announced.body.as_deref(),
        };
        announced.number = self.tell_request(observation, announced, &told);
    }

    /// Tells that a request was answered with a redirect, and the request that this leads to.
    pub(super) fn announce_redirect(&self, announced: Option<&mut Announced>, turn: &Turn<'_>) {
        let (Some(observation), Some(announced)) = (&self.run.observation, announced) else {
            return;
        };
        observation.close_exchange(announced.number);
        if observation.wants(EventKind::Response) {
            observation.tell(Event::Answer(AnswerEvent {
                place: observation.place(),
                id: &announced.id,
                cached: None,
                status: turn.status.as_u16(),
                reason: turn.status.canonical_reason().unwrap_or_default(),
                headers: &shown_headers(turn.answer_headers.map()),
                elapsed: announced.started.elapsed(),
                body: None,
                wire_bytes: 0,
                timings: turn.timings,
            }));
        }
        let before = renew(announced);
        let told = Told {
            because: Some(Because::Redirect),
            after: Some(&before),
            uri: &shown_uri(turn.uri),
            headers: &shown_headers(turn.headers),
            body: None,
        };
        announced.number = self.tell_request(observation, announced, &told);
    }

    /// Tells that a request will not be answered.
    pub(super) fn announce_failure(&self, announced: Option<&Announced>, error: &dyn Display) {
        let (Some(observation), Some(announced)) = (&self.run.observation, announced) else {
            return;
        };
        if observation.wants(EventKind::RequestFailed) {
            observation.fail_exchange(announced.number, &error.to_string());
        }
    }

    /// Tells an answer to a request.
    pub(super) fn announce_answer(&self, announced: Option<&Announced>, answer: &Answer<'_>) {
        if let Some(announced) = announced {
            self.tell_answer(Some(announced), answer, || answer.text());
        }
    }

    /// Tells an answer of the cache, which nobody was asked for.
    pub(super) fn announce_cached(&self, answer: &Answer<'_>) {
        self.tell_answer(None, answer, || answer.text());
    }

    /// Tells an answer but for its body, which is a secret.
    pub(super) fn announce_secret(&self, announced: Option<&Announced>, answer: &Answer<'_>) {
        if let Some(announced) = announced {
            self.tell_answer(Some(announced), answer, || None);
        }
    }

    fn tell_answer(
        &self,
        announced: Option<&Announced>,
        answer: &Answer<'_>,
        body: impl FnOnce() -> Option<Text>,
    ) {
        let Some(observation) = &self.run.observation else { return };
        if let Some(announced) = announced {
            observation.close_exchange(announced.number);
        }
        if !observation.wants(EventKind::Response) {
            return;
        }
        let fresh = || (new_id(), Duration::ZERO);
        let (id, elapsed) =
            announced.map_or_else(fresh, |known| (known.id.clone(), known.started.elapsed()));
        let cached_uri = announced.is_none().then(|| shown_uri(answer.uri));
        let cached = cached_uri.as_deref().map(|uri| CachedAnswer { table: &self.table.name, uri });
        observation.tell(Event::Answer(AnswerEvent {
            place: observation.place(),
            id: &id,
            cached,
            status: answer.status.as_u16(),
            reason: answer.status.canonical_reason().unwrap_or_default(),
            headers: &shown_headers(answer.headers.map()),
            elapsed,
            body: body().as_deref(),
            wire_bytes: answer.wire_bytes,
            timings: answer.timings,
        }));
    }

    /// Tells a request that begins now; answers its number.
    fn tell_request(
        &self,
        observation: &Observation<'_>,
        announced: &Announced,
        told: &Told<'_>,
    ) -> u64 {
        let (id, place) = (&announced.id, observation.place());
        let span_id = announced.trace.as_ref().map(CallTrace::begin_request);
        if observation.wants(EventKind::Request) {
            observation.tell(Event::Request(RequestEvent {
                place,
                table: &self.table.name,
                run_id: observation.id(),
                id,
                because: told.because,
                after: told.after,
                method: &announced.method,
                uri: told.uri,
                headers: told.headers,
                body: told.body,
                started_ms: epoch_ms(),
                span_id,
                resends: announced.resends,
            }));
        }
        let started = announced.started;
        observation.open_exchange(OpenExchange { id: id.clone(), place, started })
    }
}

/// A new name for a request that goes on; answers the one before.
fn renew(announced: &mut Announced) -> String {
    announced.started = Instant::now();
    announced.resends += 1;
    std::mem::replace(&mut announced.id, new_id())
}

/// What is different in each request of an exchange.
struct Told<'t> {
    because: Option<Because>,
    after: Option<&'t str>,
    uri: &'t str,
    headers: &'t [(String, String)],
    body: Option<&'t str>,
}

/// Whether a request says how long its body is, even if it has none.
fn is_with_body(method: &Method) -> bool {
    matches!(*method, Method::POST | Method::PUT | Method::PATCH)
}

/// The body of a request as text.
fn shown_request_body(headers: &HeaderMap, body: &[u8]) -> Option<String> {
    if body.is_empty() {
        return None;
    }
    let text = str::from_utf8(body).ok()?;
    let is_form = headers
        .get(header::CONTENT_TYPE)
        .is_some_and(|value| value.as_bytes().starts_with(FORM.as_bytes()));
    Some(if is_form { shown_form(text) } else { text.to_owned() })
}
