//! Answers that are kept for a while (CAC-5).
//!
//! ```text
//! request ─▶ entry? ─ yes ─▶ answer as "parse response" left it ─▶ the other hooks, decode
//!              └─ no ─▶ exchange, "parse response", hooks, decode ─▶ entry, if all went well
//! ```
//!
//! In: a request with a cache key. Out: the value of its answer. What is kept is the head of the answer
//! and the body before decoding, so that one entry serves statements that want different members of it,
//! and the hooks judge it anew each time. Only an answer that became a value is kept: neither a failure
//! nor a body that does not decode (CAC-5). Where entries are kept is the cache's business.

use std::{cell::RefCell, sync::Arc, time::Duration};

use bytes::Bytes;
use qlio_data::{
    Text, Value,
    codec::{DecodeLimits, json},
    projection::Projection,
};
use tokio::time::timeout_at;

use super::{Call, answer::Answer, prepare::Prepared};
use crate::{
    cache::{CacheClient, CacheKey, Entry, Form},
    error::RunError,
    operator::rows::Relation,
    sandbox::{Content, Parsed},
    transport::{Headers, Timings},
};

impl Call<'_> {
    /// The rows of a request whose answer may be known already, and what `keep` takes of that.
    pub(super) async fn send_cached<T>(
        &self,
        request: &mut Prepared,
        key: CacheKey,
        cache: &CacheClient,
        keep: impl Fn(&Answer<'_>) -> T,
    ) -> Result<(Relation, T), RunError> {
        let hooks = request.hooks.clone();
        let uri = request.exchange.uri.clone();
        let id =
            request.exchange.headers.get(self.run.engine.default_headers().request_id()).cloned();
        let ttl = Duration::from_secs(self.verb.expires_seconds.unwrap_or_default());
        let unsent = RefCell::new(Some(request));
        let take = || {
            let request = unsent.borrow_mut().take();
            request.ok_or_else(|| RunError::internal("a request was to be sent twice"))
        };
        let fetched = RefCell::new(None);
        let fetch = async || {
            let keep = |answer: &Answer<'_>| (entry_of(answer), keep(answer));
            let (decoded, (entry, kept)) = self.send_uncached(take()?, keep).await?;
            fetched.replace(Some((decoded, kept)));
            Ok::<_, RunError>(entry)
        };
        let finding = cache.get_or_fetch(&key, ttl, fetch);
        let found = if self.deadline.is_of_statement() {
            let found = timeout_at(self.deadline.at, finding).await;
            found.map_err(|_| self.deadline.error())??
        } else {
            // The run as a whole has its own timer.
            finding.await?
        };
        let fetched = fetched.into_inner();
        if let Some(meter) = self.run.engine.meter() {
            if fetched.is_some() { &meter.cache_misses } else { &meter.cache_hits }.add(1);
        }
        if let Some((decoded, kept)) = fetched {
            return Ok((self.project(decoded).await?, kept));
        }
        let headers = Headers::from(Arc::clone(&found.entry.headers));
        let Some(answer) = answer_of(&found.entry, &headers, &uri) else {
            // Whoever wrote that entry, it was not this program.
            let (decoded, kept) = Box::pin(self.send_uncached(take()?, keep)).await?;
            return Ok((self.project(decoded).await?, kept));
        };
        self.announce_cached(&answer);
        self.run.close_request_id(id.as_ref(), answer.headers);
        let decoded = if self.is_large(found.entry.body.len(), answer.headers) {
            Box::pin(self.large_rows(&answer, hooks.as_deref(), None)).await?
        } else {
            self.run.budget.work_of_decoding(answer.body.len());
            self.decoded_rows(&answer, hooks.as_deref(), None).await?
        };
        Ok((self.project(decoded).await?, keep(&answer)))
    }
}

/// What is kept of an answer.
fn entry_of(answer: &Answer<'_>) -> Entry {
    let media_type = |media_type: &Option<Text>| media_type.as_deref().map(Box::from);
    let form = match &answer.parsed {
        Parsed::Unchanged => Form::Received,
        Parsed::Content { content: Content::Text(_), media_type: changed } => {
            Form::Text { media_type: media_type(changed) }
        }
        Parsed::Content { content: Content::Bytes(_), media_type: changed } => {
            Form::Bytes { media_type: media_type(changed) }
        }
        Parsed::Value(_) => Form::Value,
    };
    Entry {
        status: answer.status,
        headers: answer.headers.shared_map(),
        form,
        body: answer.content(),
    }
}

/// A kept answer as if it had just arrived and "parse response" had run; `None` if it is no such
/// answer.
fn answer_of<'e>(entry: &'e Entry, headers: &'e Headers, uri: &'e str) -> Option<Answer<'e>> {
    let media_type = || entry.form.media_type().map(Text::from);
    let parsed = match &entry.form {
        Form::Received => Parsed::Unchanged,
        Form::Text { .. } => {
            let text = Text::from_utf8(entry.body.clone()).ok()?;
            Parsed::Content { content: Content::Text(text), media_type: media_type() }
        }
        Form::Bytes { .. } => {
            let content = Content::Bytes(entry.body.clone());
            Parsed::Content { content, media_type: media_type() }
        }
        Form::Value => Parsed::Value(value_of(&entry.body)?),
    };
    Some(Answer {
        uri,
        asked_uri: uri,
        status: entry.status,
        headers,
        body: match entry.form {
            Form::Received => entry.body.clone(),
            _ => Bytes::new(),
        },
        parsed,
        wire_bytes: entry.body.len(),
        timings: Timings::default(),
    })
}

fn value_of(text: &Bytes) -> Option<Value> {
    json::decode(text.clone(), &Projection::All, &DecodeLimits::default()).ok()
}
