//! Tells a watcher what is asked and answered (TRC-6).
//!
//! Nothing here costs more than a look at an `Option` when nobody watches.

use std::{str, time::Duration};

use http::{HeaderMap, header};
use qlio_data::Text;
use qlio_plan::catalog::FORM;
use tokio::time::Instant;

use super::{Call, answer::Answer};
use crate::{
    clock::epoch_ms,
    event::{
        Announced, AnswerEvent, Event, EventKind, Observation, RequestEvent, new_id, shown_form,
        shown_headers,
    },
    transport::{Exchange, shown_uri},
};

impl Call<'_> {
    /// Tells that this request is about to be sent.
    pub(super) fn announce(&self, exchange: &Exchange) -> Option<Box<Announced>> {
        let observation = self.run.observation.as_ref()?;
        let Exchange { method, uri, headers, own_header, body, .. } = exchange;
        let mut shown = shown_headers(headers);
        if let Some(own) = own_header {
            shown.push((own.name().to_string(), own.value()));
        }
        let announced = Announced {
            id: new_id(),
            method: method.to_string(),
            uri: shown_uri(uri),
            headers: shown,
            body: shown_request_body(headers, body),
            started: Instant::now(),
        };
        tell_request(observation, &self.table.name, &announced);
        Some(Box::new(announced))
    }

    /// Tells that the same request is about to be sent once more.
    pub(super) fn announce_again(&self, announced: Option<&mut Announced>) {
        let (Some(observation), Some(announced)) = (&self.run.observation, announced) else {
            return;
        };
        announced.id = new_id();
        announced.started = Instant::now();
        tell_request(observation, &self.table.name, announced);
    }

    /// Tells an answer; one that was never asked for came out of the cache.
    pub(super) fn announce_answer(&self, announced: Option<&Announced>, answer: &Answer<'_>) {
        self.tell_answer(announced, answer, || answer.text());
    }

    /// Tells an answer but for its body, which is a secret.
    pub(super) fn announce_secret(&self, announced: Option<&Announced>, answer: &Answer<'_>) {
        self.tell_answer(announced, answer, || None);
    }

    fn tell_answer(
        &self,
        announced: Option<&Announced>,
        answer: &Answer<'_>,
        body: impl FnOnce() -> Option<Text>,
    ) {
        let Some(observation) = &self.run.observation else { return };
        if !observation.wants(EventKind::Response) {
            return;
        }
        let fresh = || (new_id(), Duration::ZERO);
        let (id, elapsed) =
            announced.map_or_else(fresh, |known| (known.id.clone(), known.started.elapsed()));
        observation.tell(Event::Answer(AnswerEvent {
            line: observation.line(),
            run_id: observation.id(),
            id: &id,
            status: answer.status.as_u16(),
            reason: answer.status.canonical_reason().unwrap_or_default(),
            headers: &shown_headers(answer.headers.map()),
            elapsed,
            body: body().as_deref(),
            wire_bytes: answer.wire_bytes,
            timings: answer.timings,
        }));
    }
}

/// Tells a request that begins now.
fn tell_request(observation: &Observation<'_>, table: &str, announced: &Announced) {
    if !observation.wants(EventKind::Request) {
        return;
    }
    observation.tell(Event::Request(RequestEvent {
        line: observation.line(),
        statement: observation.statement(),
        table,
        run_id: observation.id(),
        id: &announced.id,
        method: &announced.method,
        uri: &announced.uri,
        headers: &announced.headers,
        body: announced.body.as_deref(),
        started_ms: epoch_ms(),
    }));
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
