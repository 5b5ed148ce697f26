//! Tells a watcher what is asked and answered (`connectors.md` 8.4).
//!
//! Nothing here costs more than a look at an `Option` when nobody watches.

use std::{
    str,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use http::{HeaderMap, header};
use tokio::time::Instant;

use super::{Call, answer::Answer, body::FORM, prepare::Prepared};
use crate::{
    event::{
        Announced, AnswerEvent, Event, EventKind, Observation, RequestEvent, new_id, shown_form,
        shown_headers,
    },
    transport::{Timings, shown_uri},
};

impl Call<'_> {
    /// Tells that this request is about to be sent.
    pub(super) fn announce(&self, request: &Prepared) -> Option<Box<Announced>> {
        let observation = self.run.observation.as_ref()?;
        let announced = Announced {
            id: new_id(),
            method: request.method.to_string(),
            uri: shown_uri(&request.uri),
            headers: shown_headers(&request.headers),
            body: shown_request_body(&request.headers, &request.body),
            started: Instant::now(),
        };
        tell_request(observation, &announced, Duration::ZERO);
        Some(Box::new(announced))
    }

    /// Tells the attempts after the first. The transport makes them by itself, so they are told when
    /// they are over.
    pub(super) fn announce_again(
        &self,
        announced: Option<&mut Announced>,
        attempts: u32,
        last: Timings,
    ) {
        let (Some(observation), Some(announced)) = (&self.run.observation, announced) else {
            return;
        };
        for _ in 1..attempts {
            announced.id = new_id();
            tell_request(observation, announced, total(last));
        }
    }

    /// Tells an answer; one that was never asked for came out of the cache.
    pub(super) fn announce_answer(&self, announced: Option<Box<Announced>>, answer: &Answer<'_>) {
        let Some(observation) = &self.run.observation else { return };
        if !observation.wants(EventKind::Response) {
            return;
        }
        let (id, elapsed) = match announced {
            Some(announced) => (announced.id, announced.started.elapsed()),
            None => (new_id(), Duration::ZERO),
        };
        observation.tell(Event::Answer(AnswerEvent {
            line: observation.line(),
            run_id: observation.id(),
            id: &id,
            status: answer.status.as_u16(),
            reason: answer.status.canonical_reason().unwrap_or_default(),
            headers: &shown_headers(answer.headers),
            elapsed,
            body: answer.text().as_deref(),
            wire_bytes: answer.wire_bytes,
            timings: answer.timings,
        }));
    }
}

/// Tells a request that began so long ago.
fn tell_request(observation: &Observation<'_>, announced: &Announced, began_ago: Duration) {
    if !observation.wants(EventKind::Request) {
        return;
    }
    let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let started_ms = since_epoch.saturating_sub(began_ago).as_millis();
    observation.tell(Event::Request(RequestEvent {
        line: observation.line(),
        run_id: observation.id(),
        id: &announced.id,
        method: &announced.method,
        uri: &announced.uri,
        headers: &announced.headers,
        body: announced.body.as_deref(),
        started_ms: u64::try_from(started_ms).unwrap_or(u64::MAX),
    }));
}

fn total(timings: Timings) -> Duration {
    let Timings { blocked, dns, connect, send, wait, receive } = timings;
    [blocked, dns, connect, send, wait, receive].into_iter().flatten().sum()
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
