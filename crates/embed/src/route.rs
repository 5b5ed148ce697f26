//! A request to a route, without a connection around it.

use bytes::Bytes;
use http::{HeaderMap, Method, Request, Uri, request::Parts};
use std::time::Duration;

use crate::{
    description::{Description, DescriptionError},
    script::headers,
};

/// The longest that a host may wait: a day.
const TIMEOUT_MS_MAX: u64 = 24 * 60 * 60 * 1000;

/// A request to a route of the app.
#[derive(Debug, Clone)]
pub struct RouteCall {
    pub(crate) head: Parts,
    pub(crate) body: Bytes,
    pub(crate) timeout: Option<Duration>,
}

impl RouteCall {
    /// A request.
    pub fn new(method: Method, target: Uri, headers: HeaderMap, body: Bytes) -> Self {
        let (mut head, ()) = Request::new(()).into_parts();
        (head.method, head.uri, head.headers) = (method, target, headers);
        Self { head, body, timeout: None }
    }

    /// Reads what a binding says: `path` (with the query), and `method`, `headers` and `timeoutMs`, which may be
    /// absent. The body comes apart from it, as bytes.
    ///
    /// # Errors
    /// It is something else, or has another member.
    pub fn parse(text: &str, body: Bytes) -> Result<Self, DescriptionError> {
        let mut said = Description::parse("call", text)?;
        let target = said.text("path")?.filter(|path| path.starts_with('/'));
        let target = target.and_then(|path| path.parse::<Uri>().ok());
        let target = target.ok_or_else(|| {
            said.wrong("path", "text that begins with `/` and holds only what a URI may")
        })?;
        let method = said.text("method")?.unwrap_or_else(|| "get".to_owned()).to_ascii_uppercase();
        let method = method.parse().map_err(|_| said.wrong("method", "a method of HTTP"))?;
        let headers = headers("call", &said.object("headers")?)?;
        let timeout = said.number("timeoutMs", TIMEOUT_MS_MAX)?.map(Duration::from_millis);
        said.finish()?;
        Ok(Self { timeout, ..Self::new(method, target, headers, body) })
    }
}

/// What a route has answered, as a client would see it.
#[derive(Debug, Clone)]
pub struct RouteAnswer {
    /// The status; errors are answers as well.
    pub status: u16,
    /// The headers, names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Bytes,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_has_a_path_and_may_have_more() {
        let text = r#"{"path":"/a?b=c","method":"post","headers":{"x":"y"},"timeoutMs":9}"#;
        let call = RouteCall::parse(text, Bytes::from_static(b"{}")).expect("it is right");
        assert_eq!(
            (call.head.method.as_str(), call.head.uri.to_string()),
            ("POST", "/a?b=c".into())
        );
        assert_eq!(call.timeout, Some(Duration::from_millis(9)));
        for (text, reason) in [
            (
                "{}",
                "`path` of call must be text that begins with `/` and holds only what a URI may",
            ),
            (r#"{"path":"/","method":"a b"}"#, "`method` of call must be a method of HTTP"),
            (r#"{"path":"/","body":1}"#, "call has no member `body`"),
        ] {
            let error = RouteCall::parse(text, Bytes::new()).expect_err("wrong");
            assert_eq!(error.to_string(), reason);
        }
    }
}
