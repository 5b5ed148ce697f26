//! Connectors out of process, as a client sees them: how one is asked what it can do, and what an answer to a
//! statement says (PRO-1 and on).
//!
//! In: an address, bytes of answers. Out: descriptions, pages of rows. Which statement becomes which request is said
//! elsewhere.

use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Method, StatusCode, header};
use qlio_data::{
    Text, Value,
    codec::{DecodeLimits, json},
    projection::Projection,
};
use qlio_plan::catalog::{Address, Description, RemoteFile};

use super::fault::{AnswerFault, AskError};
use crate::transport::{self, Exchange, Reply, RequestHeaders, Transport, as_text};

/// How long a connector may take to say what it can do.
pub(super) const DESCRIBE_PATIENCE: Duration = Duration::from_secs(5);

/// The media type of answers that come line by line.
pub(crate) const LINES: &str = "application/x-ndjson";

/// What is accepted as an answer.
pub(crate) const ACCEPT: &str = "application/x-ndjson, application/json";

/// Characters of a message of a connector that are shown.
const MESSAGE_CHARS_MAX: usize = 2000;

/// What is sent to a connector, and where.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RemotePath {
    /// What it can do.
    Describe,
    /// One statement.
    Execute,
}

impl RemotePath {
    /// The URI at an address.
    pub(crate) fn at(self, address: &Address) -> String {
        let path = match self {
            Self::Describe => "/describe",
            Self::Execute => "/execute",
        };
        format!("{}{path}", address.base)
    }
}

/// One page of an answer.
#[derive(Debug, Default)]
pub struct RemotePage {
    /// Its rows.
    pub rows: Vec<Value>,
    /// What it gives instead of rows.
    pub value: Option<Value>,
    /// What asks for the next page; `None` if there is none.
    pub next: Option<Text>,
    /// Why there is nothing more.
    pub error: Option<RemoteError>,
}

/// What a connector says of a statement that it cannot carry out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemoteError {
    /// What is wrong.
    pub message: String,
    /// Where in the text behind `at`, in characters from 1 on.
    pub position: Option<u64>,
    /// The status that it stands for.
    pub status: Option<u16>,
}

impl RemotePage {
    /// Reads an answer by its media type: one object, or one object in each line.
    ///
    /// # Errors
    /// It is no answer: why.
    pub fn read(
        status: StatusCode,
        media_type: &str,
        body: &Bytes,
        limits: &DecodeLimits,
    ) -> Result<Self, AnswerFault> {
        let media_type = media_type.split(';').next().unwrap_or_default().trim();
        if status.is_success() && media_type.eq_ignore_ascii_case(LINES) {
            return Self::of_lines(body, limits);
        }
        let is_json = media_type.is_empty() || media_type.eq_ignore_ascii_case("application/json");
        if !is_json && status.is_success() {
            return Err(AnswerFault::MediaType(media_type.to_owned()));
        }
        let answer = json::decode(body.clone(), &Projection::All, limits);
        let answer = answer.map_err(|error| AnswerFault::NotJson { status, error });
        let error = |answer: &Value| RemoteError::read(&answer.member("error"));
        if !status.is_success() {
            let told = answer.ok().as_ref().and_then(error);
            let told = told.ok_or(AnswerFault::NoError(status))?;
            return Ok(Self { error: Some(told), ..Self::default() });
        }
        let answer = answer?;
        if !answer.is_object() {
            return Err(AnswerFault::NoObject);
        }
        if let Some(error) = error(&answer) {
            return Ok(Self { error: Some(error), ..Self::default() });
        }
        let next = next(&answer)?;
        match (answer.member("rows"), answer.member("value")) {
            (Value::Absent, Value::Absent) => Err(AnswerFault::NothingInIt),
            (Value::Absent, value) => Ok(Self { value: Some(value), next, ..Self::default() }),
            (rows, _) => match rows.elements() {
                Some(rows) => Ok(Self { rows: rows.to_vec(), next, ..Self::default() }),
                None => Err(AnswerFault::RowsNoList),
            },
        }
    }

    fn of_lines(body: &Bytes, limits: &DecodeLimits) -> Result<Self, AnswerFault> {
        let mut page = Self::default();
        let mut from = 0;
        let mut number = 0;
        while from < body.len() {
            let end = memchr::memchr(b'\n', &body[from..]).map_or(body.len(), |at| from + at);
            let line = body.slice(from..end);
            from = end + 1;
            number += 1;
            if line.trim_ascii().is_empty() {
                continue;
            }
            let line = json::decode(line, &Projection::All, limits);
            let line = line.map_err(|error| AnswerFault::LineNotJson { line: number, error })?;
            match line.member("row") {
                Value::Absent => {}
                row => {
                    page.rows.push(row);
                    continue;
                }
            }
            if let Some(error) = RemoteError::read(&line.member("error")) {
                page.error = Some(error);
                return Ok(page);
            }
            if matches!(line.member("end"), Value::Bool(true)) {
                page.next = next(&line)?;
                return Ok(page);
            }
            return Err(AnswerFault::NothingInLine(number));
        }
        Err(AnswerFault::NoEnd)
    }
}

fn next(answer: &Value) -> Result<Option<Text>, AnswerFault> {
    match answer.member("next") {
        Value::Absent | Value::Null => Ok(None),
        Value::String(next) => Ok(Some(next)),
        other => Err(AnswerFault::NextNoText(json::to_string(&other))),
    }
}

impl RemoteError {
    fn read(value: &Value) -> Option<Self> {
        if value.is_nothing() {
            return None;
        }
        let whole = |name: &str| match value.member(name) {
            Value::Number(number) => number.as_i64().and_then(|number| u64::try_from(number).ok()),
            _ => None,
        };
        let message = value.member("message");
        let message = message.as_str().or_else(|| value.as_str()).unwrap_or("no message");
        let mut shown: String = message.chars().take(MESSAGE_CHARS_MAX).collect();
        if shown.len() < message.len() {
            shown.push('…');
        }
        Some(Self {
            message: shown,
            position: whole("position"),
            status: whole("status").and_then(|status| u16::try_from(status).ok()),
        })
    }
}

/// Asks connectors, outside of any run: what they can do, and what authors want to know of theirs.
#[derive(Debug)]
pub struct RemoteClient<'t> {
    transport: &'t Transport,
    file: &'t RemoteFile,
    limits: DecodeLimits,
}

impl<'t> RemoteClient<'t> {
    /// Asks this connector.
    pub fn new(transport: &'t Transport, file: &'t RemoteFile) -> Self {
        Self { transport, file, limits: DecodeLimits::default() }
    }

    /// What the connector can do.
    ///
    /// # Errors
    /// It does not answer, or with something else.
    pub async fn describe(&self) -> Result<Description, AskError> {
        let reply = self.send(Method::GET, RemotePath::Describe, Bytes::new()).await?;
        if !reply.status.is_success() {
            return Err(AskError::Status { uri: reply.uri, status: reply.status });
        }
        let answer = json::decode(reply.body, &Projection::All, &self.limits);
        match answer {
            Ok(answer) => Description::read(&answer)
                .map_err(|fault| AskError::Description { uri: reply.uri, fault }),
            Err(error) => Err(AskError::NotJson { uri: reply.uri, error }),
        }
    }

    /// What the connector says to the body of a statement: its status, and what can be read of it.
    ///
    /// # Errors
    /// It does not answer.
    pub async fn execute(
        &self,
        body: impl Into<Bytes>,
    ) -> Result<(StatusCode, Result<RemotePage, AnswerFault>), AskError> {
        let reply = self.send(Method::POST, RemotePath::Execute, body.into()).await?;
        let media_type =
            reply.headers.get(header::CONTENT_TYPE).and_then(as_text).unwrap_or_default();
        let page = RemotePage::read(reply.status, media_type, &reply.body, &self.limits);
        Ok((reply.status, page))
    }

    async fn send(&self, method: Method, path: RemotePath, body: Bytes) -> Result<Reply, AskError> {
        let uri = path.at(&self.file.address);
        let mut headers = HeaderMap::new();
        headers.insert(header::ACCEPT, header::HeaderValue::from_static(ACCEPT));
        let own = self.file.headers.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        let content = (!body.is_empty()).then_some(("content-type", "application/json"));
        for (name, value) in own.chain(content) {
            let (name, value) = transport::header(name, value).map_err(AskError::Header)?;
            headers.insert(name, value);
        }
        let mut exchange = Exchange::new(method, uri);
        exchange.headers = RequestHeaders::from(headers);
        exchange.body = body;
        exchange.timeout = DESCRIBE_PATIENCE;
        exchange.follows_redirects = false;
        exchange.socket.clone_from(&self.file.address.socket);
        let sent = tokio::time::timeout(DESCRIBE_PATIENCE, self.transport.send(exchange)).await;
        let Ok(reply) = sent else {
            return Err(AskError::Silence { uri: path.at(&self.file.address) });
        };
        reply.map_err(AskError::Transport)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(status: u16, media_type: &str, body: &str) -> Result<RemotePage, AnswerFault> {
        let status = StatusCode::from_u16(status).expect("a status");
        let body = Bytes::copy_from_slice(body.as_bytes());
        RemotePage::read(status, media_type, &body, &DecodeLimits::default())
    }

    #[test]
    fn an_answer_has_rows_or_a_value() {
        let page = read(200, "application/json", r#"{"rows": [{"a": 1}, {"a": 2}], "next": "x"}"#);
        let page = page.expect("an answer");
        assert_eq!((page.rows.len(), page.next.as_deref()), (2, Some("x")));
        let page = read(200, "application/json; charset=utf-8", r#"{"value": 5}"#).expect("one");
        assert_eq!(page.value.map(|value| json::to_string(&value)).as_deref(), Some("5"));
        let page = read(200, LINES, "{\"row\": 1}\n\n{\"row\": 2}\n{\"end\": true}").expect("one");
        assert_eq!((page.rows.len(), page.next), (2, None));
    }

    #[test]
    fn errors_have_a_message_and_may_have_a_place() {
        let body = r#"{"error": {"message": "no such column", "position": 8, "status": 422}}"#;
        for (status, media_type) in
            [(422, "application/json"), (200, "application/json"), (200, LINES)]
        {
            let error = read(status, media_type, body).expect("an answer").error.expect("an error");
            let wanted = ("no such column", Some(8), Some(422));
            assert_eq!((error.message.as_str(), error.position, error.status), wanted);
        }
    }

    #[test]
    fn nonsense_is_named() {
        for (status, media_type, body, told) in [
            (200, "text/html", "<p>", "it answered with `text/html`"),
            (200, "application/json", "{", "no JSON, at byte"),
            (200, "application/json", "[]", "no object"),
            (200, "application/json", "{}", "neither `rows` nor `value`"),
            (200, "application/json", r#"{"rows": 5}"#, "`rows` of its answer is no list"),
            (200, "application/json", r#"{"rows": [], "next": 5}"#, "`next` of its answer is 5"),
            (500, "text/plain", "oops", "500 Internal Server Error and no `error`"),
            (200, LINES, "{\"row\": 1}\n", "stops before the line"),
            (200, LINES, "{\"row\": 1}\n{", "line 2 of its answer is no JSON"),
            (200, LINES, "5", "line 1 of its answer has no `row`"),
        ] {
            let found = read(status, media_type, body).expect_err(body);
            assert!(found.to_string().contains(told), "{body}: {found}");
        }
    }
}
