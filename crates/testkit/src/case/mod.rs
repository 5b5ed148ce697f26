//! The case-file model: one script, or some HTTP requests, with everything they need and what must
//! come out.
//!
//! In goes YAML (or JSON, which is YAML); out come [`Case`]s. Unknown keys are errors, so that a
//! misspelt expectation can not pass silently. The format is described in `spec/README.md`.
//!
//! The address of the scripted upstream is not known when a case is written: every text may hold
//! [`placeholder::PLACEHOLDER`], and results are turned back before they are compared.
//!
//! Not here: running a case ([`crate::runner`]).

pub mod check;
pub mod conversation;
pub mod equality;
pub mod load;
mod naming;
pub mod placeholder;

use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;

use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{DeserializeOwned, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

use crate::upstream::Expectation;
use conversation::Conversation;

/// One case.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    /// Unique in its file.
    pub id: String,
    /// What the case shows, in one sentence.
    pub why: String,
    /// Where qlio differs from ql.io 0.8, for the record.
    #[serde(default)]
    pub fix: Vec<String>,
    /// The settings object.
    #[serde(default)]
    pub config: Map<String, Value>,
    /// File name to text, for the tables directory.
    #[serde(default)]
    pub tables: BTreeMap<String, String>,
    /// File name to text, for the routes directory.
    #[serde(default)]
    pub routes: BTreeMap<String, String>,
    /// Path relative to the working directory to text.
    #[serde(default)]
    pub files: BTreeMap<String, String>,
    /// Variables that the script finds set.
    #[serde(default)]
    pub variables: Map<String, Value>,
    /// The client request in whose name the script runs.
    #[serde(default)]
    pub request: Option<ScriptRequest>,
    /// The response cache to run with; none by default.
    #[serde(default)]
    pub cache: Option<Cache>,
    /// The script to run.
    #[serde(default)]
    pub script: Option<String>,
    /// Instead of a script: requests to a running server, one after another.
    #[serde(default, deserialize_with = "one_or_many")]
    pub http: Vec<HttpRequest>,
    /// Instead of a script: a WebSocket connection to a running server.
    #[serde(default)]
    pub websocket: Option<Conversation>,
    /// The scripted upstream.
    #[serde(default)]
    pub upstream: Vec<Expectation>,
    /// What must come out.
    pub expect: Expect,
    /// What the original answers, for the record only.
    #[serde(default)]
    pub original: Option<Recorded>,
    /// How the outcome is known, for the record only.
    #[serde(default)]
    pub verified: Option<Value>,
}

/// The response cache of a case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cache {
    /// An empty cache in memory.
    Memory,
}

/// The client request that a script sees.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScriptRequest {
    /// Query parameters.
    #[serde(default)]
    pub query: Map<String, Value>,
    /// Request headers.
    #[serde(default)]
    pub headers: Map<String, Value>,
    /// The parsed request body.
    #[serde(default, deserialize_with = "present")]
    pub body: Option<Value>,
    /// Route parameters.
    #[serde(default)]
    pub route: Map<String, Value>,
}

/// One request to the server under test.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HttpRequest {
    /// The method, `GET` by default.
    #[serde(default = "get")]
    pub method: String,
    /// The request target as it is sent.
    pub path: String,
    /// Headers as they are sent.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    /// Sent as JSON, with a content type unless `headers` has one.
    #[serde(default, deserialize_with = "present")]
    pub json: Option<Value>,
    /// Sent as it stands.
    #[serde(default)]
    pub body: Option<String>,
}

/// What must come out of a case.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expect {
    /// The result of the script; `null` also stands for no value.
    #[serde(default, deserialize_with = "present")]
    pub value: Option<Value>,
    /// The script or the request fails like this.
    #[serde(default)]
    pub error: Option<ExpectedError>,
    /// Headers that must be there; `null`: must be absent. Others may exist.
    #[serde(default)]
    pub headers: BTreeMap<String, Option<String>>,
    /// The status of an HTTP answer.
    #[serde(default)]
    pub status: Option<u16>,
    /// The body of an HTTP answer, as JSON.
    #[serde(default, deserialize_with = "present")]
    pub json: Option<Value>,
    /// The exact body of an HTTP answer.
    #[serde(default)]
    pub body: Option<String>,
    /// A regular expression searched in the body of an HTTP answer.
    #[serde(default)]
    pub pattern: Option<String>,
    /// The packets of the execution trace of an HTTP answer; each may have further members.
    #[serde(default)]
    pub trace: Option<Vec<Value>>,
    /// One expectation for each request of a list.
    #[serde(default)]
    pub responses: Vec<Expect>,
}

/// What an error must look like.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExpectedError {
    /// A regular expression searched in the error's text.
    #[serde(default)]
    pub message: Option<String>,
    /// Members that the error must have; others may exist.
    #[serde(default, rename = "match")]
    pub members: Map<String, Value>,
    /// The status that the HTTP front uses for it.
    #[serde(default)]
    pub status: Option<u16>,
}

/// What the original did. Never compared, only kept well-formed.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recorded {
    /// Its value.
    #[serde(default, deserialize_with = "present")]
    pub value: Option<Value>,
    /// Its error.
    #[serde(default)]
    pub error: Option<ExpectedError>,
    /// Its headers.
    #[serde(default)]
    pub headers: BTreeMap<String, Option<String>>,
    /// Its status.
    #[serde(default)]
    pub status: Option<u16>,
    /// Its JSON body.
    #[serde(default, deserialize_with = "present")]
    pub json: Option<Value>,
    /// Its body.
    #[serde(default)]
    pub body: Option<String>,
    /// Its answers to a list of requests.
    #[serde(default)]
    pub responses: Vec<Expect>,
    /// It never completed.
    #[serde(default)]
    pub hang: bool,
    /// The numbers of its requests per upstream entry.
    #[serde(default)]
    pub calls: Vec<u32>,
    /// It made requests outside the list.
    #[serde(default)]
    pub unexpected: bool,
}

impl Case {
    /// What is wrong with the case itself, such as a script and requests at once.
    pub fn problem(&self) -> Option<String> {
        let expect = &self.expect;
        let kinds = [self.script.is_some(), !self.http.is_empty(), self.websocket.is_some()];
        if kinds.into_iter().filter(|is_there| *is_there).count() != 1 {
            return Some("a case has one of `script`, `http` and `websocket`".to_owned());
        }
        if self.script.is_some() {
            if expect.value.is_some() == expect.error.is_some() {
                return Some("a script case expects either `value` or `error`".to_owned());
            }
            let foreign = expect.status.is_some()
                || expect.json.is_some()
                || expect.body.is_some()
                || expect.pattern.is_some()
                || expect.trace.is_some();
            if foreign || !expect.responses.is_empty() {
                return Some(
                    "`status`, `json`, `body`, `pattern`, `trace` and `responses` belong to `http`"
                        .to_owned(),
                );
            }
        } else {
            if expect.value.is_some() {
                return Some("`value` belongs to `script`".to_owned());
            }
            if self.http.len() > 1 && expect.responses.len() != self.http.len() {
                return Some("`responses` needs one entry for each request".to_owned());
            }
        }
        self.upstream.iter().find_map(Expectation::problem)
    }
}

fn get() -> String {
    "GET".to_owned()
}

/// Reads a member that is there, so that `null` differs from "not given".
pub(crate) fn present<'de, D: Deserializer<'de>>(source: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(source).map(Some)
}

/// Reads one mapping, or a list of them.
pub(crate) fn one_or_many<'de, D, T>(source: D) -> Result<Vec<T>, D::Error>
where
    D: Deserializer<'de>,
    T: DeserializeOwned,
{
    struct OneOrMany<T>(PhantomData<T>);

    impl<'de, T: DeserializeOwned> Visitor<'de> for OneOrMany<T> {
        type Value = Vec<T>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a mapping or a list of mappings")
        }

        fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Vec<T>, A::Error> {
            T::deserialize(MapAccessDeserializer::new(map)).map(|one| vec![one])
        }

        fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<Vec<T>, A::Error> {
            Vec::deserialize(SeqAccessDeserializer::new(list))
        }
    }

    source.deserialize_any(OneOrMany(PhantomData))
}
