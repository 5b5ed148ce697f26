//! From an upstream's answer to the value of a request: hooks, status, rows. Bodies are decoded in
//! [`decoding`](super::decoding), those that hooks may look at in [`hooked_body`](super::hooked_body).

use std::rc::Rc;

use bytes::Bytes;
use http::{StatusCode, header};
use qlio_data::{
    Text, Value,
    codec::{
        Stop,
        charset::{self, Sniff},
        json::{self, CellTable, RowReader},
        media_type::MediaType,
    },
};

use super::{
    Call,
    decoding::{Plain, Read, Undecodable, is_blank},
    failure::FailedAnswer,
    hooked_body::HookedBody,
    hooks::{Hooks, content_bytes, received_headers},
};
use crate::{
    error::{Fact, RunError},
    event::Announced,
    operator::project::Decoded,
    sandbox::{Content, Decode, Hook, Lazy, Parsed},
    transport::{Headers, Reply, Timings, as_text, shown_uri},
};

/// An answer after "parse response", before it is judged and decoded: fresh, or out of the cache.
pub(super) struct Answer<'r> {
    /// The URI that answered, for errors.
    pub(super) uri: &'r str,
    /// The URI that was asked for, for hooks: redirects make no difference to them.
    pub(super) asked_uri: &'r str,
    /// The status as it came.
    pub(super) status: StatusCode,
    pub(super) headers: &'r Headers,
    /// The body as it came. Empty if it came out of the cache and a hook had made something else of it.
    pub(super) body: Bytes,
    /// What the hook has made of the body.
    pub(super) parsed: Parsed,
    /// Size of the body as it came over the network.
    pub(super) wire_bytes: usize,
    pub(super) timings: Timings,
}

impl<'r> Answer<'r> {
    /// A reply that no hook has seen.
    pub(super) fn received(reply: &'r Reply, asked_uri: &'r str) -> Self {
        Self {
            uri: &reply.uri,
            asked_uri,
            status: reply.status,
            headers: &reply.headers,
            body: reply.body.clone(),
            parsed: Parsed::Unchanged,
            wire_bytes: reply.wire_bytes,
            timings: reply.timings,
        }
    }

    /// What is to be decoded, or was: after the hook, if it made anything.
    pub(super) fn content(&self) -> Bytes {
        match &self.parsed {
            Parsed::Unchanged => self.body.clone(),
            Parsed::Content { content, .. } => content_bytes(content.clone()),
            Parsed::Value(value) => json::to_string(value).into(),
        }
    }

    /// The media type of the content.
    pub(super) fn media_type(&self) -> MediaType {
        match &self.parsed {
            Parsed::Content { media_type: Some(changed), .. } => MediaType::parse(changed),
            _ => media_type_of(self.headers),
        }
    }

    /// The content as text, if it is text.
    pub(super) fn text(&self) -> Option<Text> {
        let media_type = self.media_type();
        let charset = if self.is_text() { Some("utf-8") } else { media_type.charset() };
        let (text, was_replaced) = charset::to_utf8(self.content(), charset, Sniff::Xml).ok()?;
        (!was_replaced).then_some(text)
    }

    /// What is decoded of an answer that no hook has touched.
    pub(super) fn plain(&self) -> Plain<'_> {
        Plain { status: self.status, headers: self.headers, body: self.body.clone() }
    }

    /// The content is text already, whatever charset the headers or the text itself name.
    fn is_text(&self) -> bool {
        matches!(self.parsed, Parsed::Content { content: Content::Text(_), .. } | Parsed::Value(_))
    }

    fn failed<'a>(&'a self, call: &'a Call<'_>) -> FailedAnswer<'a> {
        FailedAnswer {
            table: &call.table.name,
            uri: self.uri,
            status: self.status.as_u16(),
            patched: None,
            passed: &call.verb.passed_statuses,
        }
    }

    /// The error of a hook, with what it was about.
    fn with_body(&self, error: RunError) -> RunError {
        error.with(Fact::Uri(shown_uri(self.uri))).with(Fact::Body(lossy(&self.content()).into()))
    }
}

/// What the hooks have made of an answer.
pub(super) enum Hooked {
    /// Nothing: it is read as if there were none.
    Untouched,
    /// This, below the resultset.
    Value(Value),
}

impl Call<'_> {
    /// What "parse response" makes of a reply, and the watcher is told. `known` is its body if that has been
    /// decoded already.
    ///
    /// # Errors
    /// The hook throws.
    pub(super) async fn parse<'r>(
        &self,
        reply: &'r Reply,
        asked_uri: &'r str,
        hooks: Option<&Hooks>,
        announced: Option<&Announced>,
        known: Option<HookedBody>,
    ) -> Result<Answer<'r>, RunError> {
        let mut answer = Answer::received(reply, asked_uri);
        let parsed = match hooks {
            Some(hooks) if hooks.has(Hook::ParseResponse) => {
                let declared = self.verb.format.is_some().then(|| {
                    let body = known.unwrap_or_else(|| HookedBody::new(self, &answer));
                    let body = Rc::new(body);
                    let decode = Rc::clone(&body);
                    (body, Rc::new(move || decode.declared_value()) as Decode)
                });
                let (body, decode) = declared.unzip();
                let (run, status) = (self.run, reply.status.as_u16());
                let parsing =
                    hooks.parse(run, asked_uri, status, &reply.headers, &reply.body, decode);
                let parsed = parsing.await;
                if let Some(body) = body {
                    body.pass_warnings_on(self);
                }
                parsed
            }
            _ => Ok(Parsed::Unchanged),
        };
        let parsed = parsed.map(|parsed| {
            answer.parsed = match parsed {
                // So that it is the same when it comes out of the cache.
                Parsed::Value(Value::Absent) => Parsed::Value(Value::Null),
                parsed => parsed,
            }
        });
        self.announce_answer(announced, &answer);
        match parsed {
            Ok(()) => Ok(answer),
            Err(error) => Err(answer.with_body(error)),
        }
    }

    /// The rows of the answer if they can stay text, else its value. `rows` may have read the beginning of
    /// the body.
    ///
    /// # Errors
    /// A status outside 200–299; a body that is not what it says; a hook that throws.
    pub(super) async fn decoded_rows(
        &self,
        answer: &Answer<'_>,
        hooks: Option<&Hooks>,
        rows: Option<Box<RowReader<'_>>>,
    ) -> Result<Decoded, RunError> {
        match hooks.filter(|hooks| hooks.see_answers()) {
            Some(hooks) => self.hooked_rows(answer, hooks, rows).await,
            None => self.plain_rows(answer, rows),
        }
    }

    /// A reply as it came, and the watcher is told.
    pub(super) fn received<'r>(
        &self,
        reply: &'r Reply,
        asked_uri: &'r str,
        announced: Option<&Announced>,
    ) -> Answer<'r> {
        let answer = Answer::received(reply, asked_uri);
        self.announce_answer(announced, &answer);
        answer
    }

    pub(super) fn plain_rows(
        &self,
        answer: &Answer<'_>,
        rows: Option<Box<RowReader<'_>>>,
    ) -> Result<Decoded, RunError> {
        let columns = self.plain_columns.as_deref();
        let read = self.decoding().read(&answer.plain(), columns, rows, self.projection);
        self.settle(answer, read)
    }

    /// What was read of an answer as its rows or its value, or why there is none.
    pub(super) fn settle(&self, answer: &Answer<'_>, read: Read) -> Result<Decoded, RunError> {
        match read {
            Read::Cells(cells) => Ok(Decoded::Cells(cells)),
            Read::Value(Ok(value)) => Ok(Decoded::Value(self.resultset(value))),
            Read::Value(Err(fault)) => Err(self.undecodable(fault, answer, &answer.failed(self))),
            // An error page that does not decode must not hide the status (UPS-23).
            Read::Failure(decoded) => {
                let decoded = decoded.unwrap_or_else(Undecodable::into_text);
                Err(answer.failed(self).status_error(decoded))
            }
        }
    }

    /// Why an answer is of no use: it cannot be decoded, or the run has no memory for all of it.
    fn undecodable(
        &self,
        fault: Undecodable,
        answer: &Answer<'_>,
        failed: &FailedAnswer<'_>,
    ) -> RunError {
        match fault.too_many_at {
            Some(offset) => self.run.budget.refuse_decoded(offset, answer.body.len()),
            None => fault.into_error(failed),
        }
    }

    /// The rows with the response hooks in between. What no hook has looked at is decoded as if there were
    /// none.
    async fn hooked_rows(
        &self,
        answer: &Answer<'_>,
        hooks: &Hooks,
        rows: Option<Box<RowReader<'_>>>,
    ) -> Result<Decoded, RunError> {
        let headers = received_headers(answer.headers);
        let body = self.hooked_body(answer, hooks, &headers).await?;
        match self.ask_hooks(answer, hooks, &headers, &body).await? {
            Hooked::Untouched => self.plain_rows(answer, rows),
            Hooked::Value(value) => Ok(self.rows_of(value)),
        }
    }

    /// What the response hooks make of an answer.
    pub(super) async fn ask_hooks(
        &self,
        answer: &Answer<'_>,
        hooks: &Hooks,
        headers: &Lazy,
        body: &Rc<HookedBody>,
    ) -> Result<Hooked, RunError> {
        let (uri, status) = (answer.asked_uri, answer.status.as_u16());
        let patched = hooks.status(self.run, uri, status, headers, || body.to_lazy()).await;
        body.pass_warnings_on(self);
        let patched = patched.map_err(|error| answer.with_body(error))?;
        let failed = answer.failed(self);
        if !(200..300).contains(&patched) {
            let failed =
                FailedAnswer { patched: Some(patched).filter(|it| *it != status), ..failed };
            let decoded = body.value().clone();
            return Err(failed.status_error(decoded.unwrap_or_else(Undecodable::into_text)));
        }
        let has_response_hook = hooks.has(Hook::PatchResponse);
        if !has_response_hook && body.is_untouched() && answer.status.is_success() {
            return Ok(Hooked::Untouched);
        }
        let decoded = body.value().clone();
        body.pass_warnings_on(self);
        let mut value = decoded.map_err(|fault| self.undecodable(fault, answer, &failed))?;
        if has_response_hook {
            value = hooks
                .response(self.run, uri, patched, headers, value)
                .await
                .map_err(|error| answer.with_body(error))?;
        }
        Ok(Hooked::Value(self.resultset(value)))
    }

    /// Rows that have stayed text are read as such.
    pub(super) fn rows_of(&self, value: Value) -> Decoded {
        if let (Value::Raw(text), Some(columns)) = (&value, &self.plain_columns)
            && let Some(cells) = CellTable::of_raw(text, columns, Stop::default())
        {
            return Decoded::Cells(cells);
        }
        Decoded::Value(value)
    }

    /// The body as hooks may look at it, after "patch mediaType" and the transformer of the table.
    pub(super) async fn hooked_body(
        &self,
        answer: &Answer<'_>,
        hooks: &Hooks,
        headers: &Lazy,
    ) -> Result<Rc<HookedBody>, RunError> {
        let status = answer.status.as_u16();
        let mut body = HookedBody::new(self, answer);
        // What "parse response" has decoded needs no decoder.
        if matches!(answer.parsed, Parsed::Value(_)) {
            return Ok(Rc::new(body));
        }
        let text = || {
            let (content, media_type) = (body.content.clone(), body.media_type.clone());
            let later = body.later.clone();
            Lazy::new(content.len() * 2, move || {
                let text = later.with(|decoding| decoding.lossy_text(&content, &media_type));
                text.map_or(Value::Absent, Value::String)
            })
        };
        let changed = hooks.media_type(self.run, answer.asked_uri, status, headers, text).await?;
        if let Some(changed) = changed {
            body.media_type = in_charset_of(answer, MediaType::parse(&changed));
            body.is_as_it_came = false;
        }
        if hooks.has_transformer() && !is_blank(&body.content, &body.media_type) {
            let text = || self.decoding().lossy_text(&body.content, &body.media_type);
            if let Some(value) = hooks.transform(self.run, text, answer.headers).await? {
                body = body.with_value(value);
            }
        }
        Ok(Rc::new(body))
    }

    /// The rows of an answer; a resultset that leads nowhere is told, because it is easily misspelt.
    fn resultset(&self, value: Value) -> Value {
        let steps = &self.verb.resultset;
        if steps.is_empty() {
            return value;
        }
        resultset(value, steps).unwrap_or_else(|| {
            let steps: Vec<&str> = steps.iter().map(|step| &**step).collect();
            let (table, path) = (&self.table.name, steps.join("."));
            self.run
                .warn(format!("table {table}: resultset `{path}` matches nothing in the answer"));
            Value::array(Vec::new())
        })
    }
}

pub(super) fn lossy(body: &[u8]) -> String {
    String::from_utf8_lossy(body).into_owned()
}

/// The media type as it holds for the content of this answer.
pub(super) fn in_charset_of(answer: &Answer<'_>, mut media_type: MediaType) -> MediaType {
    if answer.is_text() && media_type.decoder().is_some() {
        media_type.params.retain(|(name, _)| !name.eq_ignore_ascii_case("charset"));
        media_type.params.push(("charset".to_owned(), Some("utf-8".to_owned())));
    }
    media_type
}

pub(super) fn media_type_of(headers: &Headers) -> MediaType {
    let content_type = headers.get(header::CONTENT_TYPE).and_then(as_text);
    MediaType::parse(content_type.unwrap_or_default())
}

/// Walks to the rows: own members step by step; on the way an array counts as its first element; not
/// found is `[]` (FMT-37).
pub(super) fn resultset(value: Value, steps: &[Text]) -> Option<Value> {
    let mut value = value;
    for (position, step) in steps.iter().enumerate() {
        let next = match step.parse::<usize>() {
            Ok(index) if value.is_array() => value.element(index),
            _ if value.is_array() && **step == *"length" => Value::from(value.len()),
            _ => value.member(step),
        };
        if next.is_absent() {
            return None;
        }
        let is_last = position + 1 == steps.len();
        value =
            if !is_last && next.is_array() && !next.is_empty() { next.element(0) } else { next };
    }
    Some(value)
}
