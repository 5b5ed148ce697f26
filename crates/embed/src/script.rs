//! A script to run, and the request that it sees.

use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue};
use qlio_data::{Object, Value, codec::json};
use qlio_engine::{Caller, ClientRequest, event::Subscription};
use qlio_gateway::http::app::visible_headers;

use crate::description::{Description, DescriptionError};

/// The longest that a host may wait: a day.
const TIMEOUT_MS_MAX: u64 = 24 * 60 * 60 * 1000;

/// Whose text a script is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Trust {
    /// The host's own: it may do what a route of the app may, within the budget of routes.
    #[default]
    App,
    /// That of somebody else: it may do what a script sent to `/q` may, within the budget of those.
    Client,
}

impl Trust {
    pub(crate) fn caller(self) -> Caller {
        match self {
            Self::App => Caller::Route,
            Self::Client => Caller::AdHoc { may_call_private: false },
        }
    }
}

/// A script to run.
#[derive(Debug, Clone)]
pub struct Script {
    /// Its text.
    pub text: String,
    /// How errors call it; files that it names are looked for beside it, in the app's folder.
    pub name: String,
    /// Whose it is.
    pub trust: Trust,
    /// Variables that it may use, and the request that it sees.
    pub request: ClientRequest,
    /// The events that are told; `None` for a run that nobody watches.
    pub events: Option<Subscription>,
    /// How long the host waits at most; the deadline of the settings holds beside it.
    pub timeout: Option<Duration>,
}

impl Script {
    /// A script of the host without anything around it.
    pub fn new(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            name: "script".to_owned(),
            trust: Trust::App,
            request: ClientRequest::default(),
            events: None,
            timeout: None,
        }
    }

    /// Reads what a binding says: `script`, and `name`, `context` (variables), `request` (`params`, `headers`, `body`,
    /// `routeParams`), `trust` (`app` or `client`), `events` (`true` for all but assignments, or a list of names of
    /// events and variables) and `timeoutMs`, which may be absent.
    ///
    /// # Errors
    /// It is something else, or has another member.
    pub fn parse(text: &str) -> Result<Self, DescriptionError> {
        let mut said = Description::parse("exec", text)?;
        let script = said.text("script")?.ok_or_else(|| said.wrong("script", "text"))?;
        let trust = match said.text("trust")?.as_deref() {
            None | Some("app") => Trust::App,
            Some("client") => Trust::Client,
            Some(_) => return Err(said.wrong("trust", "`app` or `client`")),
        };
        let events = match said.take("events") {
            None | Some(Value::Bool(false)) => None,
            Some(Value::Bool(true)) => Some(Subscription::all()),
            Some(names) => Some(
                subscription(&names)
                    .ok_or_else(|| said.wrong("events", "`true` or a list of names"))?,
            ),
        };
        let variables = said.object("context")?;
        let request = match said.take("request") {
            Some(request) => client_request(&request)?,
            None => ClientRequest::default(),
        };
        let script = Self {
            text: script,
            name: said.text("name")?.unwrap_or_else(|| "script".to_owned()),
            trust,
            request: ClientRequest { variables, ..request },
            events,
            timeout: said.number("timeoutMs", TIMEOUT_MS_MAX)?.map(Duration::from_millis),
        };
        said.finish()?;
        Ok(script)
    }
}

fn subscription(names: &Value) -> Option<Subscription> {
    let names = names.elements()?;
    let names: Option<Vec<&str>> = names.iter().map(Value::as_str).collect();
    Some(Subscription::of_names(names?))
}

/// The request that a script sees.
fn client_request(value: &Value) -> Result<ClientRequest, DescriptionError> {
    let mut said = Description::of("request", value)?;
    let body = said.take("body").unwrap_or_default();
    let has_body = !body.is_absent();
    let request = ClientRequest {
        query: said.object("params")?,
        headers: visible_headers(&headers("request", &said.object("headers")?)?),
        route: said.object("routeParams")?,
        raw_body: if has_body { Bytes::from(json::to_string(&body)) } else { Bytes::new() },
        content_type: has_body.then(|| "application/json".to_owned()),
        body,
        ..ClientRequest::default()
    };
    said.finish()?;
    Ok(request)
}

/// Headers as a host writes them: a text, or a list of texts, for each name.
pub(crate) fn headers(of: &str, written: &Object) -> Result<HeaderMap, DescriptionError> {
    let mut headers = HeaderMap::new();
    for (name, value) in written.iter() {
        let wrong = || DescriptionError(format!("header `{name}` of {of} cannot be sent"));
        let key = HeaderName::from_bytes(name.as_bytes()).map_err(|_| wrong())?;
        let one = [value.clone()];
        let elements = value.elements();
        let texts = elements.as_deref().unwrap_or(&one);
        for text in texts {
            let text = text.scalar_text().ok_or_else(wrong)?;
            let text = HeaderValue::from_str(&text).map_err(|_| wrong())?;
            headers.append(key.clone(), text);
        }
    }
    Ok(headers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_has_variables_and_a_request() {
        let script = Script::parse(
            r#"{"script":"return 1","context":{"a":[1]},"timeoutMs":5,"events":["ack","rows"],
                "request":{"params":{"q":"x"},"headers":{"X-A":["1","2"],"host":"h"},"body":{"b":1}}}"#,
        )
        .expect("it is right");
        assert_eq!(script.timeout, Some(Duration::from_millis(5)));
        let ClientRequest { variables, query, headers, raw_body, .. } = script.request;
        let shown =
            [variables, query, headers].map(|object| json::to_string(&Value::object(object)));
        assert_eq!(shown, [r#"{"a":[1]}"#, r#"{"q":"x"}"#, r#"{"x-a":"1, 2"}"#]);
        assert_eq!(raw_body, r#"{"b":1}"#);
        assert!(script.events.is_some_and(|events| events.has_variable("rows")));
    }

    #[test]
    fn what_has_no_meaning_is_an_error() {
        for (text, reason) in [
            ("{}", "`script` of exec must be text"),
            (r#"{"script":"","scripts":1}"#, "exec has no member `scripts`"),
            (r#"{"script":"","trust":"root"}"#, "`trust` of exec must be `app` or `client`"),
            (r#"{"script":"","events":1}"#, "`events` of exec must be `true` or a list of names"),
            (r#"{"script":"","request":{"query":{}}}"#, "request has no member `query`"),
            (
                r#"{"script":"","request":{"headers":{"a b":1}}}"#,
                "header `a b` of request cannot be sent",
            ),
        ] {
            assert_eq!(Script::parse(text).expect_err("wrong").to_string(), reason);
        }
    }
}
