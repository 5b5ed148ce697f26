//! Which decoder reads a body, and what is told if none can (FMT-1 to FMT-30).
//!
//! In: a body, its media type, what the verb declares, the projection. Out: its value, or why not. Status,
//! hooks and resultset are the business of [`answer`](super::answer).

use std::cell::RefCell;

use bytes::Bytes;
use http::{StatusCode, header};
use qlio_data::{
    Object, Text, Value,
    codec::{
        DecodeError, DecodeLimits, Stop, cbor,
        charset::{self, Sniff},
        csv,
        json::{self, CellTable, RowReader},
        media_type::{Decoder, MediaType},
        msgpack,
        protobuf::{self, Message, ProtobufOptions},
        xml::{self, ArrayPaths, Coerce, XmlOptions},
    },
    projection::Projection,
};
use qlio_plan::catalog::{Format, FormatKind, Verb};
use qlio_syntax::diagnostic::{Code, codes};

use super::{Call, answer::media_type_of, failure::FailedAnswer};
use crate::{
    budget::{CELL_BYTES, elements_in},
    error::{Fact, RunError},
    run::Run,
    transport::Headers,
};

/// Why an answer could not be decoded.
#[derive(Clone)]
pub(super) struct Undecodable {
    code: Code,
    pub(super) message: String,
    /// The answer as text, if it is text.
    pub(super) text: Option<Text>,
    /// The media type, if there is no decoder for it.
    undecided: Option<Box<MediaType>>,
    /// The bytes that had been read when there was no memory for further elements.
    pub(super) too_many_at: Option<usize>,
}

impl Undecodable {
    /// What is shown of the answer where its status is the error: an error page that does not decode must
    /// not hide the status.
    pub(super) fn into_text(self) -> Value {
        self.text.map_or(Value::Null, Value::String)
    }

    /// As the failure of this answer.
    pub(super) fn into_error(self, answer: &FailedAnswer<'_>) -> RunError {
        let error = answer.decode_error(self.code, self.message, self.text.as_deref());
        match self.undecided {
            None => error,
            Some(media_type) => {
                let MediaType { main, sub, .. } = *media_type;
                error.with(Fact::MediaType { main, sub })
            }
        }
    }
}

/// What decoding depends on besides the body: the verb, some settings, and who is told of what was replaced.
pub(super) struct Decoding<'a> {
    pub(super) verb: &'a Verb,
    pub(super) table: &'a Text,
    pub(super) xml_coerce: Coerce,
    pub(super) decoded_bytes_max: usize,
    /// What the run has left, in bytes.
    pub(super) memory: usize,
    pub(super) stop: Stop,
    pub(super) warnings: Warnings<'a>,
}

/// Who is told of bytes that were replaced.
#[derive(Clone, Copy)]
pub(super) enum Warnings<'a> {
    Run(&'a Run<'a>),
    /// Kept, because the run cannot be reached from a hook.
    Kept(&'a RefCell<Vec<String>>),
}

impl Call<'_> {
    pub(super) fn decoding(&self) -> Decoding<'_> {
        let settings = self.run.engine.settings();
        Decoding {
            verb: self.verb,
            table: &self.table.name,
            xml_coerce: settings.xml_coerce,
            decoded_bytes_max: settings.decoded_bytes_max,
            memory: self.run.budget.memory_left(),
            stop: Stop::default(),
            warnings: Warnings::Run(self.run),
        }
    }

    pub(super) fn limits(&self) -> DecodeLimits {
        self.decoding().limits()
    }

    /// The limits of rows that stay text.
    pub(super) fn row_limits(&self) -> DecodeLimits {
        self.decoding().row_limits()
    }
}

/// An answer that no hook has touched.
pub(super) struct Plain<'r> {
    pub(super) status: StatusCode,
    pub(super) headers: &'r Headers,
    pub(super) body: Bytes,
}

/// What was read of an answer that no hook has touched.
pub(super) enum Read {
    /// Its rows.
    Cells(CellTable),
    /// Its value, above the resultset.
    Value(Result<Value, Undecodable>),
    /// What it says besides a status that is a failure.
    Failure(Result<Value, Undecodable>),
}

impl Decoding<'_> {
    /// Reads an answer: its rows if they are of `columns` and can stay text, else its value. `rows` may have read
    /// the beginning of the body.
    pub(super) fn read(
        &self,
        plain: &Plain<'_>,
        columns: Option<&[&str]>,
        rows: Option<Box<RowReader<'_>>>,
        projection: &Projection,
    ) -> Read {
        if let Some(columns) = columns
            && let Some(cells) = self.cells(plain, columns, rows)
        {
            return Read::Cells(cells);
        }
        if self.is_plain_json(plain)
            && let Ok(value) = json::decode(plain.body.clone(), projection, &self.limits())
        {
            return Read::Value(Ok(value));
        }
        let (body, media_type) = (plain.body.clone(), media_type_of(plain.headers));
        if plain.status.is_success() {
            Read::Value(self.decode(body, &media_type, projection, true))
        } else {
            Read::Failure(self.decode(body, &media_type, &Projection::All, false))
        }
    }

    /// The rows of JSON as it came, of XML, or of declared Protocol Buffers.
    fn cells(
        &self,
        plain: &Plain<'_>,
        columns: &[&str],
        rows: Option<Box<RowReader<'_>>>,
    ) -> Option<CellTable> {
        let (steps, limits, body) = (&self.verb.resultset, self.row_limits(), plain.body.clone());
        if self.is_plain_json(plain) {
            return match rows {
                Some(rows) => rows.finish(body),
                None => CellTable::decode(body, steps, columns, &limits),
            };
        }
        if !plain.status.is_success() {
            return None;
        }
        let (format, media_type) = (self.verb.format.as_ref(), media_type_of(plain.headers));
        let Some(format) = format.filter(|format| !is_other_text_format(&media_type, format.kind))
        else {
            let is_xml = media_type.decoder() == Some(Decoder::Xml);
            return if is_xml { self.xml_rows(body, &media_type, columns) } else { None };
        };
        match (format.kind, &format.protobuf) {
            _ if format.root.is_some() => None,
            (FormatKind::Xml, _) => self.xml_rows(body, &media_type, columns),
            (FormatKind::Protobuf, Some(schema)) if self.verb.grpc.is_none() => {
                let (message, options) = (&schema.message, &schema.options);
                protobuf::decode_rows(body, steps, columns, message, options, &limits)
            }
            _ => None,
        }
    }

    /// Nearly every answer is plain JSON; it needs no media type to be taken apart.
    pub(super) fn is_plain_json(&self, plain: &Plain<'_>) -> bool {
        plain.status.is_success() && self.is_named_json(plain.headers)
    }

    /// JSON in UTF-8, as most servers name it, and nothing else is declared.
    pub(super) fn is_named_json(&self, headers: &Headers) -> bool {
        if self.verb.format.is_some() {
            return false;
        }
        let Some(value) = headers.get(header::CONTENT_TYPE) else { return true };
        value.eq_ignore_ascii_case(b"application/json")
            || value.eq_ignore_ascii_case(b"application/json; charset=utf-8")
            || value.eq_ignore_ascii_case(b"application/json;charset=utf-8")
    }

    pub(super) fn lossy_text(&self, body: &Bytes, media_type: &MediaType) -> Text {
        match self.to_text(body.clone(), media_type, Sniff::None) {
            Ok(text) => text,
            Err(_) => String::from_utf8_lossy(body).into_owned().into(),
        }
    }

    pub(super) fn decode(
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

    pub(super) fn decode_by_type(
        &self,
        body: Bytes,
        media_type: &MediaType,
        projection: &Projection,
    ) -> Result<Value, Undecodable> {
        if is_blank(&body, media_type) {
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
                self.call_value(&body, schema, projection).map_err(|fault| Undecodable {
                    code: codes::BAD_PROTOBUF,
                    message: fault.to_string(),
                    text: None,
                    undecided: None,
                    too_many_at: None,
                })?
            }
            (FormatKind::Protobuf, Some(schema)) => {
                protobuf::decode(body, projection, &schema.message, &schema.options, &self.limits())
                    .map_err(|error| undecodable(codes::BAD_PROTOBUF, &error, None))?
            }
            // White space is data in a binary format.
            (FormatKind::MessagePack | FormatKind::Cbor, _) if body.is_empty() => {
                Value::object(Object::new())
            }
            (FormatKind::MessagePack, _) => msgpack::decode(body, projection, &self.limits())
                .map_err(|error| undecodable(codes::BAD_MSGPACK, &error, None))?,
            (FormatKind::Cbor, _) => cbor::decode(body, projection, &self.limits())
                .map_err(|error| undecodable(codes::BAD_CBOR, &error, None))?,
            _ if charset::is_blank(&body, media_type.charset()) => Value::object(Object::new()),
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
        if is_utf8 {
            match json::decode(body.clone(), projection, &self.limits()) {
                Ok(value) => return Ok(value),
                Err(error) if error.has_too_many => {
                    return Err(undecodable(codes::BAD_JSON, &error, None));
                }
                Err(_) => {}
            }
        }
        let text = self.to_text(body, media_type, Sniff::None)?;
        json::decode(text.clone().into_bytes(), projection, &self.limits())
            .map_err(|error| bad_json(&error, text))
    }

    fn xml(
        &self,
        body: Bytes,
        media_type: &MediaType,
        projection: &Projection,
    ) -> Result<Value, Undecodable> {
        let text = self.to_text(body, media_type, Sniff::Xml)?;
        xml::decode_text(&text, projection, &self.xml_options(), &self.limits())
            .map_err(|error| undecodable(codes::BAD_XML, &error, Some(text)))
    }

    /// The rows of XML if they can stay text. Text in which something has to be replaced is left to [`Self::xml`],
    /// which tells of it.
    fn xml_rows(&self, body: Bytes, media_type: &MediaType, columns: &[&str]) -> Option<CellTable> {
        let (text, was_replaced) = charset::to_utf8(body, media_type.charset(), Sniff::Xml).ok()?;
        if was_replaced {
            return None;
        }
        let (steps, options) = (&self.verb.resultset, self.xml_options());
        xml::decode_rows(&text, steps, columns, &options, &self.row_limits())
    }

    fn xml_options(&self) -> XmlOptions {
        XmlOptions {
            coerce: self.verb.xml_coerce.unwrap_or(self.xml_coerce),
            arrays: ArrayPaths::new(&self.verb.xml_arrays),
        }
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
            (Err(error), Some(b'{' | b'[')) => Err(bad_json(&error, text)),
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
                    let table = self.table;
                    let message = format!("table {table}: bytes that are not text became U+FFFD");
                    match self.warnings {
                        Warnings::Run(run) => run.warn(message),
                        Warnings::Kept(kept) => kept.borrow_mut().push(message),
                    }
                }
                Ok(text)
            }
            Err(error) => Err(Undecodable {
                code: codes::UNKNOWN_CHARSET,
                message: error.to_string(),
                text: None,
                undecided: None,
                too_many_at: None,
            }),
        }
    }

    pub(super) fn limits(&self) -> DecodeLimits {
        DecodeLimits {
            decoded_bytes_max: self.decoded_bytes_max,
            elements_max: elements_in(self.memory),
            stop: self.stop.clone(),
            ..DecodeLimits::default()
        }
    }

    /// The limits of rows that stay text, of which a cell is no more than its place.
    fn row_limits(&self) -> DecodeLimits {
        DecodeLimits { elements_max: self.memory / CELL_BYTES, ..self.limits() }
    }
}

/// No decoder for this type: the error repeats it, and the body if it is text.
fn without_decoder(body: Bytes, media_type: &MediaType) -> Result<Value, Undecodable> {
    let text = charset::to_utf8(body, media_type.charset(), Sniff::None).ok();
    let text = text.filter(|(_, was_replaced)| !was_replaced).map(|(text, _)| text);
    let message = format!("No transformer available for {media_type}");
    let undecided = Some(Box::new(media_type.clone()));
    Err(Undecodable { code: codes::NO_DECODER, message, text, undecided, too_many_at: None })
}

fn undecodable(code: Code, error: &DecodeError, text: Option<Text>) -> Undecodable {
    let too_many_at = error.has_too_many.then_some(error.offset);
    Undecodable { code, message: error.reason.clone(), text, undecided: None, too_many_at }
}

/// The reasons of the JSON decoder name no place, so the message does.
fn bad_json(error: &DecodeError, text: Text) -> Undecodable {
    let message = format!("invalid JSON at byte {}: {}", error.offset, error.reason);
    let too_many_at = error.has_too_many.then_some(error.offset);
    Undecodable { code: codes::BAD_JSON, message, text: Some(text), undecided: None, too_many_at }
}

/// A content type of a different text format wins over the declared one (FMT-23); a page
/// in HTML is no different from text.
fn is_other_text_format(media_type: &MediaType, declared: FormatKind) -> bool {
    let is_html = media_type.main == "text" && media_type.sub == "html";
    media_type.is_json() && !media_type.is_assumed && declared != FormatKind::Json
        || media_type.is_xml() && declared != FormatKind::Xml
        || media_type.is_csv() && declared != FormatKind::Csv
        || is_html && declared != FormatKind::Text
}

/// Whether there is nothing to decode: no bytes, or only white space where they are text.
pub(super) fn is_blank(body: &Bytes, media_type: &MediaType) -> bool {
    match media_type.decoder() {
        Some(Decoder::MessagePack | Decoder::Cbor) => body.is_empty(),
        _ => charset::is_blank(body, media_type.charset()),
    }
}
