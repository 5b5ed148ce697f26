//! What the scripted upstream expects and answers: data only, written in case files or in Rust.

use std::collections::BTreeMap;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

use crate::case::present;

/// One expected request and its answer.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expectation {
    /// The method; any if it is not given.
    #[serde(default)]
    pub method: Option<String>,
    /// The whole request target, raw.
    #[serde(default)]
    pub path: Option<String>,
    /// The start of the request target, raw.
    #[serde(default)]
    pub prefix: Option<String>,
    /// The decoded query, whole: names to texts, or to lists of texts for repeated names.
    #[serde(default)]
    pub query: Option<Map<String, Value>>,
    /// Headers that must have this value; `null`: must be absent.
    #[serde(default)]
    pub headers: BTreeMap<String, Option<String>>,
    /// The exact body.
    #[serde(default)]
    pub body: Option<String>,
    /// The body as JSON.
    #[serde(default, deserialize_with = "present")]
    pub json: Option<Value>,
    /// The exact body, in base64.
    #[serde(default)]
    pub base64: Option<String>,
    /// The one message of a gRPC request, in base64.
    #[serde(default)]
    pub message: Option<String>,
    /// How many such requests must come; one by default.
    #[serde(default)]
    pub calls: Calls,
    /// The answer.
    #[serde(default)]
    pub respond: Respond,
}

/// How many requests an expectation wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Calls {
    /// Exactly so many.
    Exactly(usize),
    /// Not checked.
    Any,
}

impl Default for Calls {
    fn default() -> Self {
        Self::Exactly(1)
    }
}

impl<'de> Deserialize<'de> for Calls {
    fn deserialize<D: Deserializer<'de>>(source: D) -> Result<Self, D::Error> {
        match Value::deserialize(source)? {
            Value::String(word) if word == "any" => Ok(Self::Any),
            other => other
                .as_u64()
                .and_then(|number| usize::try_from(number).ok())
                .map(Self::Exactly)
                .ok_or_else(|| {
                    D::Error::custom(format!("calls is {other}, expected a number or `any`"))
                }),
        }
    }
}

/// An answer of the scripted upstream.
#[expect(clippy::struct_excessive_bools, reason = "each is a key of the case format by itself")]
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Respond {
    /// The status, 200 by default.
    #[serde(default)]
    pub status: Option<u16>,
    /// Further headers.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    /// The content type. JSON has its own by default, a text body has none.
    #[serde(default, rename = "type")]
    pub content_type: Option<String>,
    /// The content coding: `gzip`, `deflate`, `br` and `zstd` are applied, others only named.
    #[serde(default)]
    pub coding: Option<String>,
    /// Milliseconds to wait before the answer begins.
    #[serde(default)]
    pub delay: u64,
    /// A JSON body.
    #[serde(default, deserialize_with = "present")]
    pub json: Option<Value>,
    /// A text body.
    #[serde(default)]
    pub body: Option<String>,
    /// A body of any bytes.
    #[serde(default)]
    pub base64: Option<String>,
    /// The messages of a gRPC answer, in base64; the coding `gzip` compresses each.
    #[serde(default)]
    pub messages: Option<Vec<String>>,
    /// What follows the body, over HTTP/2.
    #[serde(default)]
    pub trailers: BTreeMap<String, String>,
    /// Leaves the answer open after its messages, over HTTP/2.
    #[serde(default)]
    pub endless: bool,
    /// Closes the connection instead of answering.
    #[serde(default)]
    pub drop: bool,
    /// Answers with a JSON object of what was received.
    #[serde(default)]
    pub echo: Option<Vec<String>>,
    /// Sends the body in chunks, without a length.
    #[serde(default)]
    pub chunked: bool,
    /// Closes the connection after the answer.
    #[serde(default)]
    pub close: bool,
    /// What goes wrong with the answer.
    #[serde(default)]
    pub fault: Option<Fault>,
    /// Milliseconds between two pieces of a slow head or body; 20 by default.
    #[serde(default)]
    pub pace: Option<u64>,
    /// The size that a fault speaks of, in bytes; see [`Fault`].
    #[serde(default)]
    pub size: Option<usize>,
}

/// What can go wrong with an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fault {
    /// The connection is reset once the request has come.
    Reset,
    /// Head and half of the body, then a reset.
    ResetBody,
    /// The head comes byte by byte at the pace.
    SlowHead,
    /// The body comes in pieces of `size` bytes (one by default) at the pace.
    SlowBody,
    /// Half of the body, or its first `size` bytes, then the connection ends properly.
    Truncated,
    /// `content-length` is `size`, or one less than the body has.
    WrongLength,
    /// Chunked, with a chunk size that is no number.
    BadChunk,
    /// Nothing comes, ever; the connection stays open until the other side ends it.
    Never,
    /// Bytes that are no HTTP.
    Garbage,
    /// A head with `size` bytes of one header (1 MiB by default).
    HugeHead,
    /// An endless JSON text in chunks; `size` bytes of it (1 GiB by default).
    Huge,
}

impl Expectation {
    /// Expects one request with this method and raw target; answers 200 without a body.
    #[must_use]
    pub fn new(method: &str, path: &str) -> Self {
        Self { method: Some(method.to_owned()), path: Some(path.to_owned()), ..Self::default() }
    }

    /// Expects `GET` of this raw target.
    #[must_use]
    pub fn get(path: &str) -> Self {
        Self::new("GET", path)
    }

    /// Matches every request, any number of times.
    #[must_use]
    pub fn any() -> Self {
        Self { prefix: Some(String::new()), calls: Calls::Any, ..Self::default() }
    }

    /// Expects exactly so many requests.
    #[must_use]
    pub fn calls(mut self, calls: usize) -> Self {
        self.calls = Calls::Exactly(calls);
        self
    }

    /// Any number of requests is right.
    #[must_use]
    pub fn any_calls(mut self) -> Self {
        self.calls = Calls::Any;
        self
    }

    /// Only matches with this header (or, without a value, with its absence).
    #[must_use]
    pub fn with_header(mut self, name: &str, value: Option<&str>) -> Self {
        self.headers.insert(name.to_owned(), value.map(str::to_owned));
        self
    }

    /// Only matches with exactly this body.
    #[must_use]
    pub fn with_body(mut self, body: &str) -> Self {
        self.body = Some(body.to_owned());
        self
    }

    /// Answers with this.
    #[must_use]
    pub fn respond(mut self, respond: Respond) -> Self {
        self.respond = respond;
        self
    }

    /// Answers 200 with a JSON body.
    #[must_use]
    pub fn json(self, json: Value) -> Self {
        self.respond(Respond::json(json))
    }

    /// What is wrong with the expectation itself.
    pub fn problem(&self) -> Option<String> {
        if self.path.is_some() == self.prefix.is_some() {
            return Some("an upstream entry has either `path` or `prefix`".to_owned());
        }
        let respond = &self.respond;
        let bodies = [
            respond.json.is_some(),
            respond.body.is_some(),
            respond.base64.is_some(),
            respond.echo.is_some(),
            respond.messages.is_some(),
        ];
        if bodies.into_iter().filter(|given| *given).count() > 1 {
            return Some(
                "an answer has one of `json`, `body`, `base64`, `echo`, `messages`".to_owned(),
            );
        }
        respond.body_problem()
    }

    pub(super) fn described(&self) -> String {
        let method = self.method.as_deref().unwrap_or("*");
        match (&self.path, &self.prefix) {
            (Some(path), _) => format!("{method} {path}"),
            (None, Some(prefix)) => format!("{method} {prefix}…"),
            (None, None) => method.to_owned(),
        }
    }
}

impl Respond {
    /// 200 with a JSON body.
    #[must_use]
    pub fn json(json: Value) -> Self {
        Self { json: Some(json), ..Self::default() }
    }

    /// 200 with a text of this content type.
    #[must_use]
    pub fn text(content_type: &str, body: &str) -> Self {
        Self {
            content_type: Some(content_type.to_owned()),
            body: Some(body.to_owned()),
            ..Self::default()
        }
    }

    /// A small JSON answer that goes wrong.
    #[must_use]
    pub fn fault(fault: Fault) -> Self {
        Self { fault: Some(fault), ..Self::json(serde_json::json!({"ok": 1})) }
    }

    /// With this status.
    #[must_use]
    pub fn status(mut self, status: u16) -> Self {
        self.status = Some(status);
        self
    }

    /// With this header.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.insert(name.to_owned(), value.to_owned());
        self
    }

    /// After so many milliseconds.
    #[must_use]
    pub fn delay(mut self, milliseconds: u64) -> Self {
        self.delay = milliseconds;
        self
    }

    /// In this content coding.
    #[must_use]
    pub fn coding(mut self, coding: &str) -> Self {
        self.coding = Some(coding.to_owned());
        self
    }

    /// With this pace, in milliseconds, and size, in bytes.
    #[must_use]
    pub fn paced(mut self, pace: u64, size: usize) -> Self {
        self.pace = Some(pace);
        self.size = Some(size);
        self
    }
}
