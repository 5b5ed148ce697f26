//! Answers that would hold the worker too long while they are decoded (`docs/adr/0027-heavy-threads.md`).
//!
//! In: an answer, and what of its rows was read while it came. Out: the same as of any other, decoded by a heavy
//! thread. What hooks may look at is decoded before they run, because they cannot wait.

use std::{cell::RefCell, rc::Rc, sync::Arc};

use qlio_data::{
    Value,
    codec::{
        Stop,
        json::{CellTable, RowReader},
        media_type::MediaType,
        xml::Coerce,
    },
};
use qlio_plan::catalog::{FormatKind, Table};
use qlio_syntax::ast::VerbKind;

use super::{
    Call,
    answer::{Answer, Hooked, media_type_of},
    decoding::{Decoding, Plain, Warnings},
    hooked_body::HookedBody,
    hooks::{Hooks, received_headers},
    onlooker::Onlooker,
};
use crate::{
    budget::{Reserved, most_built_of},
    error::RunError,
    heavy::{JSON_TEXT_AT_ONCE_BYTES_MAX, JSON_TREE_AT_ONCE_BYTES_MAX, Wanted},
    operator::project::Decoded,
    sandbox::{Hook, Parsed},
    transport::{Headers, Reply},
};

/// Bodies up to this size are decoded on the worker whatever they are, in bytes: none takes more than about a
/// millisecond of its time.
const AT_ONCE_BYTES_MAX: usize = 32 * 1024;

/// The same for XML.
const XML_AT_ONCE_BYTES_MAX: usize = 256 * 1024;

/// What decoding needs besides the body, without ties to a run.
#[derive(Clone)]
pub(super) struct Apart {
    table: Arc<Table>,
    kind: VerbKind,
    xml_coerce: Coerce,
    decoded_bytes_max: usize,
    memory: usize,
}

impl Apart {
    /// For a decoder that may fill so many bytes of memory.
    pub(super) fn within(call: &Call<'_>, memory: usize) -> Self {
        let settings = call.run.engine.settings();
        Self {
            table: Arc::clone(call.table),
            kind: call.kind,
            xml_coerce: settings.xml_coerce,
            decoded_bytes_max: settings.decoded_bytes_max,
            memory,
        }
    }

    /// For a decoder that nothing else of the run can meet at work.
    pub(super) fn of(call: &Call<'_>) -> Self {
        Self::within(call, call.run.budget.memory_left())
    }

    /// Decodes now; `None` only if the table had no such verb.
    pub(super) fn decode<R>(
        &self,
        warnings: &RefCell<Vec<String>>,
        stop: Stop,
        decode: impl FnOnce(&Decoding<'_>) -> R,
    ) -> Option<R> {
        let verb = self.table.verb(self.kind)?;
        Some(decode(&Decoding {
            verb,
            table: &self.table.name,
            xml_coerce: self.xml_coerce,
            decoded_bytes_max: self.decoded_bytes_max,
            memory: self.memory,
            stop,
            warnings: Warnings::Kept(warnings),
        }))
    }
}

impl Decoding<'_> {
    /// How many bytes of this type are decoded whole on the worker.
    pub(super) fn at_once_bytes_max(&self, media_type: &MediaType) -> usize {
        let declared = self.verb.format.as_ref().map(|format| format.kind);
        match declared {
            Some(FormatKind::Xml) => XML_AT_ONCE_BYTES_MAX,
            None if media_type.is_xml() => XML_AT_ONCE_BYTES_MAX,
            None if media_type.is_json() => JSON_TEXT_AT_ONCE_BYTES_MAX,
            _ => AT_ONCE_BYTES_MAX,
        }
    }
}

impl Call<'_> {
    /// Whether a body of so many bytes, under these headers, would hold the worker too long.
    pub(super) fn is_large(&self, bytes: usize, headers: &Headers) -> bool {
        bytes > AT_ONCE_BYTES_MAX && bytes > self.at_once_bytes_max(headers)
    }

    fn at_once_bytes_max(&self, headers: &Headers) -> usize {
        if !self.decoding().is_named_json(headers) {
            return self.decoding().at_once_bytes_max(&media_type_of(headers));
        }
        if self.plain_columns.is_some() || self.projection.is_all() {
            JSON_TEXT_AT_ONCE_BYTES_MAX
        } else {
            JSON_TREE_AT_ONCE_BYTES_MAX
        }
    }

    /// Decodes a body of so many bytes on a heavy thread; with what there is to warn of, and the memory that is
    /// reserved for what was made of it until that is charged.
    pub(super) async fn decode_apart<R: Send + 'static>(
        &self,
        bytes: usize,
        decode: impl FnOnce(&Decoding<'_>) -> R + Send + 'static,
    ) -> Result<(R, Vec<String>, Reserved), RunError> {
        // What a message leaves out may be built of no bytes at all.
        let is_protobuf =
            self.verb.format.as_ref().is_some_and(|format| format.kind == FormatKind::Protobuf);
        let most = if is_protobuf { usize::MAX } else { most_built_of(bytes) };
        let reserved = self.run.budget.reserve(most).await;
        let apart = Apart::within(self, reserved.bytes());
        let work = move |wanted: &Wanted| {
            let warnings = RefCell::default();
            let decoded = apart.decode(&warnings, wanted.stop(), decode)?;
            Some((decoded, warnings.into_inner()))
        };
        let done = self.run.heavy(work).await?;
        self.run.has_large_values.set(true);
        let (decoded, warnings) =
            done.ok_or_else(|| RunError::internal("an answer to a verb that is not there"))?;
        Ok((decoded, warnings, reserved))
    }

    /// What is decoded of a large reply, and what `keep` takes of its answer.
    pub(super) async fn take_large<T>(
        &self,
        reply: &Reply,
        asked_uri: &str,
        hooks: Option<&Hooks>,
        onlooker: Onlooker<'_, '_>,
        keep: impl FnOnce(&Answer<'_>) -> T,
    ) -> Result<(Decoded, T), RunError> {
        let is_declared = self.verb.format.is_some();
        let (mut known, mut held) = (None, None);
        if is_declared && hooks.is_some_and(|hooks| hooks.has(Hook::ParseResponse)) {
            let body = HookedBody::new(self, &Answer::received(reply, asked_uri));
            held = body.decode_ahead(self).await?;
            known = Some(body);
        }
        let announced = onlooker.announced.as_deref();
        let answer = self.parse(reply, asked_uri, hooks, announced, known).await?;
        // Of what was decoded for the hook nothing is left unless it has made a value.
        let held = held.filter(|_| matches!(answer.parsed, Parsed::Value(_)));
        let kept = keep(&answer);
        let decoded = self.large_rows(&answer, hooks, onlooker.into_rows()).await?;
        Ok((decoded.holding(held), kept))
    }

    /// The rows of a large answer if they can stay text, else its value.
    pub(super) async fn large_rows(
        &self,
        answer: &Answer<'_>,
        hooks: Option<&Hooks>,
        rows: Option<Box<RowReader<'_>>>,
    ) -> Result<Decoded, RunError> {
        let Some(hooks) = hooks.filter(|hooks| hooks.see_answers()) else {
            return self.large_plain_rows(answer, rows).await;
        };
        let headers = received_headers(answer.headers);
        let body: Rc<HookedBody> = self.hooked_body(answer, hooks, &headers).await?;
        let held = body.decode_ahead(self).await?;
        match self.ask_hooks(answer, hooks, &headers, &body).await? {
            Hooked::Untouched => {
                drop((body, held));
                self.large_plain_rows(answer, rows).await
            }
            Hooked::Value(value) => Ok(self.large_rows_of(value).await?.holding(held)),
        }
    }

    async fn large_plain_rows(
        &self,
        answer: &Answer<'_>,
        rows: Option<Box<RowReader<'_>>>,
    ) -> Result<Decoded, RunError> {
        let body = answer.body.clone();
        let mut columns = self.plain_columns.as_deref();
        if let Some(rows) = rows
            && self.decoding().is_plain_json(&answer.plain())
            && body.len().saturating_sub(rows.bytes_settled()) <= JSON_TEXT_AT_ONCE_BYTES_MAX
        {
            if let Some(cells) = rows.finish(body.clone()) {
                return Ok(Decoded::Cells(cells));
            }
            // They are not to be had.
            columns = None;
        }
        let (status, headers) = (answer.status, answer.headers.clone());
        let columns: Option<Vec<String>> =
            columns.map(|columns| columns.iter().map(|column| (*column).to_owned()).collect());
        let projection = self.projection.clone();
        let bytes = body.len();
        let read = self.decode_apart(bytes, move |decoding| {
            let columns: Option<Vec<&str>> =
                columns.as_ref().map(|columns| columns.iter().map(String::as_str).collect());
            let plain = Plain { status, headers: &headers, body };
            decoding.read(&plain, columns.as_deref(), None, &projection)
        });
        let (read, warnings, reserved) = read.await?;
        for warning in warnings {
            self.run.warn(warning);
        }
        Ok(match self.settle(answer, read)? {
            Decoded::Value(value) => Decoded::Large(value, reserved),
            other => other,
        })
    }

    /// The rows of a value that hooks have seen.
    async fn large_rows_of(&self, value: Value) -> Result<Decoded, RunError> {
        let (Value::Raw(text), Some(columns)) = (&value, &self.plain_columns) else {
            return Ok(self.rows_of(value));
        };
        if text.len() <= JSON_TEXT_AT_ONCE_BYTES_MAX {
            return Ok(self.rows_of(value));
        }
        let text = text.clone();
        let columns: Vec<String> = columns.iter().map(|column| (*column).to_owned()).collect();
        let cells = self.run.heavy(move |wanted| {
            let columns: Vec<&str> = columns.iter().map(String::as_str).collect();
            CellTable::of_raw(&text, &columns, wanted.stop())
        });
        Ok(cells.await?.map_or(Decoded::Value(value), Decoded::Cells))
    }
}
