//! From an upstream's answer to the value of a request (`connectors.md` 5).

use bytes::Bytes;
use http::{StatusCode, header};
use qlio_data::{
    Object, Text, Value,
    codec::{
        DecodeError, DecodeLimits, cbor,
        charset::{self, Sniff},
        csv,
        json::{self, CellTable, RowReader},
        media_type::{Decoder, MediaType},
        msgpack,
        protobuf::{self, Message, ProtobufOptions},
        xml::{self, ArrayPaths, XmlOptions},
    },
    projection::Projection,
};
use qlio_plan::catalog::{Format, FormatKind};
use qlio_syntax::diagnostic::{Code, codes};

use super::{
    Call,
    failure::FailedAnswer,
    hooks::{Hooks, content_bytes},
};
use crate::{
    error::RunError,
    event::Announced,
    operator::project::Decoded,
    sandbox::{Content, Hook, Parsed},
    transport::{Headers, Reply, Timings, as_text, shown_uri},
};

/// Why an answer could not be decoded.
struct Undecodable {
    code: Code,
    message: String,
    /// The answer as text, if it is text.
    text: Option<Text>,
    /// The media type, if there is no decoder for it.
    undecided: Option<Box<MediaType>>,
}

impl Undecodable {
    fn into_error(self, answer: &FailedAnswer<'_>) -> RunError {
        let error = answer.decode_error(self.code, self.message, self.text.as_deref());
        match self.undecided {
            None => error,
            Some(media_type) => error
                .with("type", media_type.main.as_str())
                .with("subType", media_type.sub.as_str()),
        }
    }
}

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

    /// The content is text already, whatever charset the headers or the text itself name.
    fn is_text(&self) -> bool {
        matches!(self.parsed, Parsed::Content { content: Content::Text(_), .. } | Parsed::Value(_))
    }

    fn failed<'a>(&'a self, table: &'a Text) -> FailedAnswer<'a> {
        FailedAnswer { table, uri: self.uri, status: self.status.as_u16() }
    }

    /// The error of a hook, with what it was about.
    fn with_body(&self, error: RunError) -> RunError {
        error.with("uri", shown_uri(self.uri)).with("body", lossy(&self.content()))
    }
}

impl Call<'_> {
    /// What "parse response" makes of a reply, and the watcher is told.
    ///
    /// # Errors
    /// The hook throws.
    pub(super) fn parse<'r>(
        &self,
        reply: &'r Reply,
        asked_uri: &'r str,
        hooks: Option<&Hooks>,
        announced: Option<&Announced>,
    ) -> Result<Answer<'r>, RunError> {
        let mut answer = Answer::received(reply, asked_uri);
        let parsed = match hooks {
            Some(hooks) => {
                let status = reply.status.as_u16();
                let sandbox = self.run.engine.sandbox();
                if self.verb.format.is_some() && hooks.has(Hook::ParseResponse) {
                    sandbox.set_decoded(Some(self.declared(&answer)));
                }
                let parsed = hooks.parse(asked_uri, status, reply.headers.map(), &reply.body);
                sandbox.set_decoded(None);
                parsed
            }
            None => Ok(Parsed::Unchanged),
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

    /// The body by the declared format, or why it cannot be decoded (`connectors.md` 9.3).
    fn declared(&self, answer: &Answer<'_>) -> Result<Value, String> {
        let is_success = answer.status.is_success();
        self.decode(answer.body.clone(), &answer.media_type(), &Projection::All, is_success)
            .map_err(|fault| fault.message)
    }

    /// The rows of the answer if they can stay text, else its value. `rows` may have read the beginning of
    /// the body.
    ///
    /// # Errors
    /// See [`Self::value`].
    pub(super) fn decoded_rows(
        &self,
        answer: &Answer<'_>,
        hooks: Option<&Hooks>,
        rows: Option<Box<RowReader<'_>>>,
    ) -> Result<Decoded, RunError> {
        if let Some(columns) = &self.plain_columns
            && hooks.is_none()
            && let Some(cells) = self.cells(answer, columns, rows)
        {
            return Ok(Decoded::Cells(cells));
        }
        self.value(answer, hooks).map(Decoded::Value)
    }

    /// The rows of JSON as it came, or of declared Protocol Buffers.
    fn cells(
        &self,
        answer: &Answer<'_>,
        columns: &[&str],
        rows: Option<Box<RowReader<'_>>>,
    ) -> Option<CellTable> {
        let (steps, limits, body) = (&self.verb.resultset, self.limits(), answer.body.clone());
        if self.is_plain(answer) {
            return match rows {
                Some(rows) => rows.finish(body),
                None => CellTable::decode(body, steps, columns, &limits),
            };
        }
        let format = self.verb.format.as_ref().filter(|_| answer.status.is_success())?;
        let schema = format.protobuf.as_ref().filter(|_| self.verb.grpc.is_none())?;
        let is_declared = format.kind == FormatKind::Protobuf
            && format.root.is_none()
            && !is_other_text_format(&answer.media_type(), format.kind);
        if !is_declared {
            return None;
        }
        protobuf::decode_rows(body, steps, columns, &schema.message, &schema.options, &limits)
    }

    /// Nearly every answer is plain JSON; it needs no media type to be taken apart.
    fn is_plain(&self, answer: &Answer<'_>) -> bool {
        answer.status.is_success() && self.verb.format.is_none() && is_plain_json(answer.headers)
    }

    /// The decoded answer after hooks and resultset.
    ///
    /// # Errors
    /// A status outside 200–299; a body that is not what it says; a hook that throws.
    pub(super) fn value(
        &self,
        answer: &Answer<'_>,
        hooks: Option<&Hooks>,
    ) -> Result<Value, RunError> {
        match hooks {
            None => self.plain_value(answer),
            Some(hooks) => self.hooked_value(answer, hooks),
        }
    }

    fn plain_value(&self, answer: &Answer<'_>) -> Result<Value, RunError> {
        let is_success = answer.status.is_success();
        if self.is_plain(answer)
            && let Ok(value) = json::decode(answer.body.clone(), self.projection, &self.limits())
        {
            return Ok(self.resultset(value));
        }
        let media_type = answer.media_type();
        let failed = answer.failed(&self.table.name);
        if !is_success {
            // An error page that does not decode must not hide the status (C-Q43).
            let body = match self.decode(answer.body.clone(), &media_type, &Projection::All, false)
            {
                Ok(value) => value,
                Err(fault) => fault.text.map_or(Value::Null, Value::String),
            };
            return Err(failed.status_error(body));
        }
        match self.decode(answer.body.clone(), &media_type, self.projection, true) {
            Ok(value) => Ok(self.resultset(value)),
            Err(fault) => Err(fault.into_error(&failed)),
        }
    }

    /// The same with the response hooks in between (`connectors.md` 5.1).
    fn hooked_value(&self, answer: &Answer<'_>, hooks: &Hooks) -> Result<Value, RunError> {
        let (uri, status) = (answer.asked_uri, answer.status.as_u16());
        let headers = answer.headers.map();
        let failed = answer.failed(&self.table.name);
        let decoded = match &answer.parsed {
            Parsed::Value(value) => Ok(value.clone()),
            Parsed::Unchanged | Parsed::Content { .. } => self.decoded(answer, hooks)?,
        };
        let shown = match &decoded {
            Ok(value) if value.is_truthy() => value.clone(),
            _ => Value::from(lossy(&answer.content())),
        };
        let patched =
            hooks.status(uri, status, headers, &shown).map_err(|error| answer.with_body(error))?;
        if !(200..300).contains(&patched) {
            return Err(failed.status_error(match decoded {
                Ok(value) => value,
                Err(fault) => fault.text.map_or(Value::Null, Value::String),
            }));
        }
        let value = decoded.map_err(|fault| fault.into_error(&failed))?;
        let value = hooks
            .response(uri, patched, headers, value)
            .map_err(|error| answer.with_body(error))?;
        Ok(self.resultset(value))
    }

    /// "patch mediaType" and the decoder that it, or the transformer of the table, chooses.
    fn decoded(
        &self,
        answer: &Answer<'_>,
        hooks: &Hooks,
    ) -> Result<Result<Value, Undecodable>, RunError> {
        let (body, headers) = (answer.content(), answer.headers.map());
        let media_type = in_charset_of(answer, answer.media_type());
        let changed =
            hooks.media_type(answer.asked_uri, answer.status.as_u16(), headers, || {
                self.lossy_text(&body, &media_type)
            })?;
        let media_type = match changed {
            Some(changed) => in_charset_of(answer, MediaType::parse(&changed)),
            None => media_type,
        };
        if !is_blank(&body)
            && let Some(value) =
                hooks.transform(self, || self.lossy_text(&body, &media_type), headers)
        {
            return Ok(Ok(value?));
        }
        // Content with a type of its own has been decoded before; the declared format is not its.
        if let Parsed::Content { media_type: Some(_), .. } = &answer.parsed {
            return Ok(self.decode_by_type(body, &media_type, &Projection::All));
        }
        Ok(self.decode(body, &media_type, &Projection::All, answer.status.is_success()))
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

    fn lossy_text(&self, body: &Bytes, media_type: &MediaType) -> Text {
        match self.to_text(body.clone(), media_type, Sniff::None) {
            Ok(text) => text,
            Err(_) => String::from_utf8_lossy(body).into_owned().into(),
        }
    }

    fn decode(
        &self,
        body: Bytes,
        media_type: &MediaType,
        projection: &Projection,
        is_success: bool,
    ) -> Result<Value, Undecodable> {
        if let Some(format) = &self.verb.format
            && is_success
            && !is_other_text_format(media_type, format.kind)
        {
            return self.decode_declared(body, media_type, format, projection);
        }
        if let Some(error) = self.declared_error(media_type, is_success) {
            let (message, options) = error;
            return protobuf::decode(body, projection, message, options, &self.limits())
                .map_err(|error| undecodable(codes::BAD_PROTOBUF, &error, None));
        }
        self.decode_by_type(body, media_type, projection)
    }

    fn decode_by_type(
        &self,
        body: Bytes,
        media_type: &MediaType,
        projection: &Projection,
    ) -> Result<Value, Undecodable> {
        if is_blank(&body) {
            return Ok(Value::object(Object::new()));
        }
        match media_type.decoder() {
            Some(Decoder::Json) => self.json(body, media_type, projection),
            Some(Decoder::Xml) => self.xml(body, media_type, projection),
            Some(Decoder::Csv { header }) => self.csv(body, media_type, header, projection),
            Some(Decoder::MessagePack) => msgpack::decode(body, projection, &self.limits())
                .map_err(|error| undecodable(codes::BAD_MSGPACK, &error, None)),
            Some(Decoder::Cbor) => cbor::decode(body, projection, &self.limits())
                .map_err(|error| undecodable(codes::BAD_CBOR, &error, None)),
            Some(Decoder::Text) => self.text(body, media_type, projection),
            None => without_decoder(body, media_type),
        }
    }

    /// What a failure is decoded as: the declared message, unless it comes as text or ready for use.
    fn declared_error(
        &self,
        media_type: &MediaType,
        is_success: bool,
    ) -> Option<(&Message, &ProtobufOptions)> {
        let format = self.verb.format.as_ref().filter(|_| !is_success)?;
        let schema = format.protobuf.as_ref()?;
        let is_other = media_type.main == "text" || media_type.decoder().is_some();
        schema.error.as_ref().filter(|_| !is_other).map(|message| (message, &schema.options))
    }

    fn decode_declared(
        &self,
        body: Bytes,
        media_type: &MediaType,
        format: &Format,
        projection: &Projection,
    ) -> Result<Value, Undecodable> {
        let value = match (format.kind, &format.protobuf) {
            (FormatKind::Protobuf, Some(schema)) if self.verb.grpc.is_some() => {
                self.call_value(&body, schema, projection).map_err(|message| Undecodable {
                    code: codes::BAD_PROTOBUF,
                    message,
                    text: None,
                    undecided: None,
                })?
            }
            (FormatKind::Protobuf, Some(schema)) => {
                protobuf::decode(body, projection, &schema.message, &schema.options, &self.limits())
                    .map_err(|error| undecodable(codes::BAD_PROTOBUF, &error, None))?
            }
            _ if is_blank(&body) => Value::object(Object::new()),
            (FormatKind::MessagePack, _) => msgpack::decode(body, projection, &self.limits())
                .map_err(|error| undecodable(codes::BAD_MSGPACK, &error, None))?,
            (FormatKind::Cbor, _) => cbor::decode(body, projection, &self.limits())
                .map_err(|error| undecodable(codes::BAD_CBOR, &error, None))?,
            (FormatKind::Xml, _) => self.xml(body, media_type, projection)?,
            (FormatKind::Csv, _) => {
                self.csv(body, media_type, media_type.has_csv_header(), projection)?
            }
            (FormatKind::Text, _) => Value::String(self.to_text(body, media_type, Sniff::None)?),
            (FormatKind::Json | FormatKind::Protobuf, _) => {
                self.json(body, media_type, projection)?
            }
        };
        Ok(match &format.root {
            Some(root) => Value::object([(root.clone(), value)].into_iter().collect()),
            None => value,
        })
    }

    fn json(
        &self,
        body: Bytes,
        media_type: &MediaType,
        projection: &Projection,
    ) -> Result<Value, Undecodable> {
        let is_utf8 =
            media_type.charset().is_none_or(|charset| charset.eq_ignore_ascii_case("utf-8"));
        // The decoder checks UTF-8 itself; only bytes that are not get the detour with replacement.
        if is_utf8 && let Ok(value) = json::decode(body.clone(), projection, &self.limits()) {
            return Ok(value);
        }
        let text = self.to_text(body, media_type, Sniff::None)?;
        json::decode(text.clone().into_bytes(), projection, &self.limits())
            .map_err(|error| undecodable(codes::BAD_JSON, &error, Some(text)))
    }

    fn xml(
        &self,
        body: Bytes,
        media_type: &MediaType,
        projection: &Projection,
    ) -> Result<Value, Undecodable> {
        let text = self.to_text(body, media_type, Sniff::Xml)?;
        let options = XmlOptions {
            coerce: self.verb.xml_coerce.unwrap_or(self.run.engine.settings().xml_coerce),
            arrays: ArrayPaths::new(&self.verb.xml_arrays),
        };
        xml::decode_text(&text, projection, &options, &self.limits())
            .map_err(|error| undecodable(codes::BAD_XML, &error, Some(text)))
    }

    fn csv(
        &self,
        body: Bytes,
        media_type: &MediaType,
        header: bool,
        projection: &Projection,
    ) -> Result<Value, Undecodable> {
        let text = self.to_text(body, media_type, Sniff::None)?;
        csv::decode_text(&text, header, projection, &self.limits())
            .map_err(|error| undecodable(codes::BAD_CSV, &error, Some(text)))
    }

    /// JSON, else XML, else the text itself unless it was clearly meant to be one of them.
    fn text(
        &self,
        body: Bytes,
        media_type: &MediaType,
        projection: &Projection,
    ) -> Result<Value, Undecodable> {
        let text = self.to_text(body.clone(), media_type, Sniff::Xml)?;
        let first = text.trim_start().as_bytes().first().copied();
        let as_json = json::decode(text.clone().into_bytes(), projection, &self.limits());
        match (as_json, first) {
            (Ok(value), _) => Ok(value),
            (Err(_), Some(b'<')) => self.xml(body, media_type, projection),
            (Err(error), Some(b'{' | b'[')) => {
                Err(undecodable(codes::BAD_JSON, &error, Some(text)))
            }
            (Err(_), _) => Ok(Value::String(text)),
        }
    }

    fn to_text(
        &self,
        body: Bytes,
        media_type: &MediaType,
        sniff: Sniff,
    ) -> Result<Text, Undecodable> {
        match charset::to_utf8(body, media_type.charset(), sniff) {
            Ok((text, was_replaced)) => {
                if was_replaced {
                    self.run.warn(format!(
                        "table {}: bytes that are not text became U+FFFD",
                        self.table.name
                    ));
                }
                Ok(text)
            }
            Err(error) => Err(Undecodable {
                code: codes::UNKNOWN_CHARSET,
                message: error.to_string(),
                text: None,
                undecided: None,
            }),
        }
    }

    pub(super) fn limits(&self) -> DecodeLimits {
        DecodeLimits {
            decoded_bytes_max: self.run.engine.settings().decoded_bytes_max,
            ..DecodeLimits::default()
        }
    }
}

fn lossy(body: &[u8]) -> String {
    String::from_utf8_lossy(body).into_owned()
}

/// The media type as it holds for the content of this answer.
fn in_charset_of(answer: &Answer<'_>, mut media_type: MediaType) -> MediaType {
    if answer.is_text() && media_type.decoder().is_some() {
        media_type.params.retain(|(name, _)| !name.eq_ignore_ascii_case("charset"));
        media_type.params.push(("charset".to_owned(), Some("utf-8".to_owned())));
    }
    media_type
}

/// No decoder for this type: the error repeats it, and the body if it is text.
fn without_decoder(body: Bytes, media_type: &MediaType) -> Result<Value, Undecodable> {
    let text = charset::to_utf8(body, media_type.charset(), Sniff::None).ok();
    let text = text.filter(|(_, was_replaced)| !was_replaced).map(|(text, _)| text);
    let message = format!("No transformer available for {media_type}");
    let undecided = Some(Box::new(media_type.clone()));
    Err(Undecodable { code: codes::NO_DECODER, message, text, undecided })
}

/// JSON in UTF-8, as most servers name it.
fn is_plain_json(headers: &Headers) -> bool {
    let Some(value) = headers.get(header::CONTENT_TYPE) else { return true };
    value.eq_ignore_ascii_case(b"application/json")
        || value.eq_ignore_ascii_case(b"application/json; charset=utf-8")
        || value.eq_ignore_ascii_case(b"application/json;charset=utf-8")
}

fn media_type_of(headers: &Headers) -> MediaType {
    let content_type = headers.get(header::CONTENT_TYPE).and_then(as_text);
    MediaType::parse(content_type.unwrap_or_default())
}

fn undecodable(code: Code, error: &DecodeError, text: Option<Text>) -> Undecodable {
    let message = match code {
        codes::BAD_JSON => format!("invalid JSON at byte {}: {}", error.offset, error.reason),
        _ => error.reason.clone(),
    };
    Undecodable { code, message, text, undecided: None }
}

/// A content type of a different text format wins over the declared one (`connectors.md` 9.3); a page
/// in HTML is no different from text.
fn is_other_text_format(media_type: &MediaType, declared: FormatKind) -> bool {
    let is_html = media_type.main == "text" && media_type.sub == "html";
    media_type.is_json() && !media_type.is_assumed && declared != FormatKind::Json
        || media_type.is_xml() && declared != FormatKind::Xml
        || media_type.is_csv() && declared != FormatKind::Csv
        || is_html && declared != FormatKind::Text
}

fn count(value: usize) -> Value {
    Value::int(i64::try_from(value).unwrap_or(i64::MAX))
}

fn is_blank(body: &[u8]) -> bool {
    body.iter().all(u8::is_ascii_whitespace)
}

/// Walks to the rows: own members step by step; on the way an array counts as its first element; not
/// found is `[]` (`language.md` 5.12).
fn resultset(value: Value, steps: &[Text]) -> Option<Value> {
    let mut value = value;
    for (position, step) in steps.iter().enumerate() {
        let next = match step.parse::<usize>() {
            Ok(index) if value.is_array() => value.element(index),
            _ if value.is_array() && **step == *"length" => count(value.len()),
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
