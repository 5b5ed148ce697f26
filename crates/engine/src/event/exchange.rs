//! Requests and answers as a watcher may see them: without credentials.

use std::time::Duration;

use http::{HeaderMap, header};
use tokio::time::Instant;

use super::Place;
use crate::{
    trace::CallTrace,
    transport::{Timings, is_credential_name, shown_uri},
};

/// What is shown in place of a credential.
const REDACTED: &str = "[redacted]";

/// Why a request is made that its statement has not asked for as such.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Because {
    /// The one before has failed, and may be repeated.
    Retry,
    /// The answer to the one before leads here.
    Redirect,
    /// A token for others is needed.
    Token,
}

impl Because {
    /// `retry`, `redirect` or `token`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Retry => "retry",
            Self::Redirect => "redirect",
            Self::Token => "token",
        }
    }
}

/// A request to an upstream.
#[derive(Debug)]
pub struct RequestEvent<'e> {
    /// The statement.
    pub place: Option<Place>,
    /// The table.
    pub table: &'e str,
    /// Names the run; the same in all its requests.
    pub run_id: &'e str,
    /// Names the request; its answer repeats it.
    pub id: &'e str,
    /// Why it is made, if not because the statement says so.
    pub because: Option<Because>,
    /// The id of the request that it repeats or goes on from.
    pub after: Option<&'e str>,
    /// The method, upper case.
    pub method: &'e str,
    /// The URI, credentials replaced.
    pub uri: &'e str,
    /// Name and value; values of credential headers are replaced.
    pub headers: &'e [(String, String)],
    /// The body, if it is text; credentials of forms are replaced.
    pub body: Option<&'e str>,
    /// Milliseconds since 1970 when it was sent.
    pub started_ms: u64,
    /// Names it in the trace that the run is part of; `None` if the upstream is not told.
    pub span_id: Option<u64>,
    /// How many requests there were before it, if it is made in place of another.
    pub resends: u32,
}

/// What an answer of the cache is an answer to: there is no request that says so.
#[derive(Debug, Clone, Copy)]
pub struct CachedAnswer<'e> {
    /// The table.
    pub table: &'e str,
    /// The URI, credentials replaced.
    pub uri: &'e str,
}

/// An answer, as text after the hook "parse response".
#[derive(Debug)]
pub struct AnswerEvent<'e> {
    /// The statement.
    pub place: Option<Place>,
    /// The id of the request; one of its own if the cache has answered.
    pub id: &'e str,
    /// Present if the cache has answered.
    pub cached: Option<CachedAnswer<'e>>,
    /// The status.
    pub status: u16,
    /// The usual phrase for that status.
    pub reason: &'static str,
    /// Name and value; values of credential headers are replaced.
    pub headers: &'e [(String, String)],
    /// From the request with the same id to the last byte.
    pub elapsed: Duration,
    /// The body, if it is text.
    pub body: Option<&'e str>,
    /// Its size as it came over the network.
    pub wire_bytes: usize,
    /// Where the time went in the last attempt.
    pub timings: Timings,
}

/// A request that gets no answer.
#[derive(Debug)]
pub struct FailedRequestEvent<'e> {
    /// The statement.
    pub place: Option<Place>,
    /// The id of the request.
    pub id: &'e str,
    /// Why, in words.
    pub error: &'e str,
    /// From the request to its failure.
    pub elapsed: Duration,
}

/// A request that was told, kept until its answer.
#[derive(Debug)]
pub(crate) struct Announced {
    pub(crate) id: String,
    /// Its place among the exchanges that are open.
    pub(crate) number: u64,
    pub(crate) method: String,
    pub(crate) uri: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Option<String>,
    pub(crate) started: Instant,
    pub(crate) trace: Option<CallTrace>,
    pub(crate) resends: u32,
}

/// A random UUID (version 4) as text. It names a request and guards nothing, so a fast generator will do
/// instead of a system call per request.
pub fn new_id() -> String {
    let bytes = fastrand::u128(..).to_ne_bytes();
    uuid::Builder::from_random_bytes(bytes).into_uuid().to_string()
}

/// Headers fit for showing.
pub(crate) fn shown_headers(headers: &HeaderMap) -> Vec<(String, String)> {
    headers
        .iter()
        .map(|(name, value)| {
            let shown = if value.is_sensitive() || is_credential_name(name.as_str()) {
                REDACTED.to_owned()
            } else if name == header::LOCATION || name == header::CONTENT_LOCATION {
                shown_uri(&String::from_utf8_lossy(value.as_bytes()))
            } else {
                String::from_utf8_lossy(value.as_bytes()).into_owned()
            };
            (name.to_string(), shown)
        })
        .collect()
}

/// A form body fit for showing: it has the syntax of a query.
pub(crate) fn shown_form(body: &str) -> String {
    let shown = shown_uri(&format!("?{}", body.replace('#', "%23")));
    shown.strip_prefix('?').map_or_else(String::new, str::to_owned)
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    #[test]
    fn credentials_are_not_shown() {
        let mut headers = HeaderMap::new();
        for (name, value) in [
            ("accept", "text/csv"),
            ("authorization", "Basic eA=="),
            ("x-api-key", "k3y"),
            ("set-cookie", "sid=1"),
            ("location", "http://h.test/?token=t0ken&q=1"),
        ] {
            headers.insert(name, HeaderValue::from_static(value));
        }
        let mut marked = HeaderValue::from_static("m4rked");
        marked.set_sensitive(true);
        headers.insert("x-plain", marked);
        let shown: Vec<String> =
            shown_headers(&headers).into_iter().map(|(name, value)| name + ": " + &value).collect();
        assert_eq!(
            shown,
            [
                "accept: text/csv",
                "authorization: [redacted]",
                "x-api-key: [redacted]",
                "set-cookie: [redacted]",
                "location: http://h.test/?token=[redacted]&q=1",
                "x-plain: [redacted]",
            ]
        );
    }

    #[test]
    fn passwords_of_forms_are_not_shown() {
        assert_eq!(shown_form("q=a#b&password=p&x=1"), "q=a%23b&password=[redacted]&x=1");
        assert_eq!(shown_form(""), "");
    }
}
