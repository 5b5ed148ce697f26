//! Everything that can go wrong between a request and its answer, as the front sees it.
//!
//! Each kind knows its status and its body; `respond` writes them. `run_error` derives both for failed
//! scripts; they pass through here unchanged.

use hyper::StatusCode;
use qlio_data::{Object, Value};
use qlio_engine::{RunError, heavy::Busy};
use qlio_syntax::diagnostic::{Code, codes};

use super::{incident::IncidentId, respond::text_object, run_error, sanitize::sanitize};

/// What `retry-after` says when there is too much of something, in seconds.
const OVERLOAD_RETRY_S: u64 = 1;

/// Why a request was not answered with a result.
#[derive(Debug, Clone)]
pub enum Failure {
    /// No route and no endpoint at this path: 404.
    NotFound {
        /// As sent.
        method: String,
        /// Raw path and query.
        target: String,
    },
    /// The path exists with other methods only: 405.
    MethodNotAllowed {
        /// As sent.
        method: String,
        /// Raw path and query.
        target: String,
        /// The methods, upper case, joined by commas.
        allow: String,
    },
    /// A request head that is no HTTP, or can be read in two ways: 400.
    MalformedHead {
        /// What is wrong with it, mostly in the words of the parser.
        reason: String,
    },
    /// A request whose body has a transfer coding that we do not read: 501.
    UnknownTransferCoding {
        /// Its name.
        coding: String,
    },
    /// A request target that is too long to be read: 414.
    TargetTooLong,
    /// A request head over a limit: 431.
    HeadTooLarge {
        /// The limit of the head, in bytes.
        bytes_max: usize,
        /// The limit of its lines.
        headers_max: usize,
    },
    /// Malformed percent-encoding in the path: 400.
    MalformedPath,
    /// Malformed query string: 400.
    MalformedQuery {
        /// The parser's message.
        reason: String,
    },
    /// A body that is not what its type says: 400.
    MalformedBody {
        /// The kind of problem; a body that broke off has none.
        code: Option<Code>,
        /// The parser's message.
        reason: String,
    },
    /// A body in a content coding that we do not read: 415.
    UnknownBodyCoding {
        /// Its name.
        coding: String,
    },
    /// A body over the limit: 413.
    BodyTooLarge {
        /// The limit, in bytes.
        bytes_max: usize,
    },
    /// The body stopped coming: 408.
    BodyTimeout,
    /// The route exists, but none of its variants accepts the query: 400.
    NoMatchingRoute {
        /// The query parameters that would have to be there as well.
        missing: Vec<String>,
    },
    /// `/q` without a script: 400.
    MissingQuery,
    /// `/table` without a name: 400.
    MissingTableName,
    /// `/route` without a path or method: 400.
    MissingRouteName,
    /// `/table` with an unknown name: 400.
    NoSuchTable {
        /// The name asked for.
        name: String,
    },
    /// `/route` with an unknown path or method: 400.
    NoSuchRoute {
        /// The template asked for.
        path: String,
        /// The method asked for.
        method: String,
    },
    /// A JSONP callback name that we do not write: 400.
    InvalidCallback,
    /// A name that is none of this server's: 403.
    ForeignHost {
        /// As sent.
        host: String,
    },
    /// A page of somebody else runs scripts: 403.
    ForeignPage,
    /// A script that writes, by a method that only reads: 405.
    WriteByGet {
        /// As sent.
        method: String,
    },
    /// Too much of something that soon will be less: 503.
    Overloaded {
        /// Of what.
        reason: &'static str,
    },
    /// An operator has ended the request: 503.
    Stopped,
    /// The bodies of all requests would be more than there may be: 503.
    BodiesTooLarge {
        /// The limit of all of them, in bytes.
        bytes_max: usize,
    },
    /// Our own fault: 500.
    Internal {
        /// Also stands in the log, beside what happened.
        incident: IncidentId,
    },
    /// A script failed; `run_error` or `compile_error` made the body.
    Script {
        /// The status; one outside 400 to 599 becomes 500.
        status: u16,
        /// A JSON object with `message`.
        body: Value,
        /// When to try again, in seconds.
        retry_after: Option<u64>,
    },
}

impl From<Busy> for Failure {
    fn from(busy: Busy) -> Self {
        let error = RunError::from(busy);
        let (status, retry_after) = (run_error::status(&error), run_error::retry_after(&error));
        Self::Script { status, body: run_error::body(&error), retry_after }
    }
}

impl Failure {
    /// The status of the answer.
    pub fn status(&self) -> StatusCode {
        match self {
            Self::NotFound { .. } => StatusCode::NOT_FOUND,
            Self::ForeignHost { .. } | Self::ForeignPage => StatusCode::FORBIDDEN,
            Self::MethodNotAllowed { .. } | Self::WriteByGet { .. } => {
                StatusCode::METHOD_NOT_ALLOWED
            }
            Self::UnknownBodyCoding { .. } => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            Self::BodyTooLarge { .. } => StatusCode::PAYLOAD_TOO_LARGE,
            Self::BodyTimeout => StatusCode::REQUEST_TIMEOUT,
            Self::UnknownTransferCoding { .. } => StatusCode::NOT_IMPLEMENTED,
            Self::TargetTooLong => StatusCode::URI_TOO_LONG,
            Self::HeadTooLarge { .. } => StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE,
            Self::MalformedHead { .. }
            | Self::MalformedPath
            | Self::MalformedQuery { .. }
            | Self::MalformedBody { .. }
            | Self::NoMatchingRoute { .. }
            | Self::MissingQuery
            | Self::MissingTableName
            | Self::MissingRouteName
            | Self::NoSuchTable { .. }
            | Self::NoSuchRoute { .. }
            | Self::InvalidCallback => StatusCode::BAD_REQUEST,
            Self::Overloaded { .. } | Self::BodiesTooLarge { .. } | Self::Stopped => {
                StatusCode::SERVICE_UNAVAILABLE
            }
            Self::Internal { .. } => StatusCode::INTERNAL_SERVER_ERROR,
            Self::Script { status, .. } => StatusCode::from_u16(*status)
                .ok()
                .filter(|status| status.is_client_error() || status.is_server_error())
                .unwrap_or(StatusCode::INTERNAL_SERVER_ERROR),
        }
    }

    /// The body of the answer.
    pub fn body(&self) -> Value {
        match self {
            Self::NotFound { method, target } => {
                quoted(&format!("Cannot {method} {}", sanitize(target)))
            }
            Self::MethodNotAllowed { method, target, allow } => {
                let text = format!("Cannot {method} {}", sanitize(target));
                with(quoted(&text), "allow", Value::from(allow.as_str()))
            }
            Self::MalformedHead { reason } => {
                server_error(&format!("malformed request head: {reason}"))
            }
            Self::UnknownTransferCoding { coding } => server_error(&format!(
                "the transfer coding `{}` is not supported; send the body with a `content-length` or \
                 with `transfer-encoding: chunked` alone",
                sanitize(coding)
            )),
            Self::TargetTooLong => {
                coded(server_error("the request target is too long"), codes::REQUEST_TOO_LARGE)
            }
            Self::HeadTooLarge { bytes_max, headers_max } => {
                head_too_large(*bytes_max, *headers_max)
            }
            Self::MalformedPath => server_error("malformed path"),
            Self::MalformedQuery { reason } => {
                server_error(&format!("malformed query: {}", sanitize(reason)))
            }
            Self::MalformedBody { code: None, reason } => server_error(&sanitize(reason)),
            Self::MalformedBody { code: Some(code), reason } => {
                coded(server_error(&sanitize(reason)), *code)
            }
            Self::UnknownBodyCoding { coding } => server_error(&format!(
                "cannot read a body with content coding {}",
                sanitize(coding)
            )),
            Self::BodyTooLarge { bytes_max } => body_too_large(*bytes_max),
            Self::BodyTimeout => {
                text_object([("message", "the request body did not arrive in time")])
            }
            Self::NoMatchingRoute { missing } => {
                let names: Vec<String> = missing.iter().map(|name| format!("`{name}`")).collect();
                let message = format!(
                    "No matching route; missing query parameters: {}",
                    sanitize(&names.join(", "))
                );
                text_object([("message", &message)])
            }
            Self::MissingQuery => text_object([("message", "Missing query")]),
            Self::MissingTableName => {
                text_object([("message", "Missing table name: Usage /table?name=some-tablename")])
            }
            Self::MissingRouteName => text_object([(
                "message",
                "Missing path name or method: Usage /route?path=some-path&method=http-method",
            )]),
            Self::NoSuchTable { name } => {
                text_object([("message", &format!("No such table {name}"))])
            }
            Self::NoSuchRoute { path, method } => text_object([(
                "message",
                &format!("No such route {path} for HTTP method {}", method.to_uppercase()),
            )]),
            Self::InvalidCallback => text_object([("message", "Invalid callback")]),
            Self::ForeignHost { host } => foreign_host(host),
            Self::ForeignPage => foreign_page(),
            Self::WriteByGet { method } => write_by_get(method),
            Self::Overloaded { reason } => text_object([("message", reason)]),
            Self::BodiesTooLarge { bytes_max } => bodies_too_large(*bytes_max),
            Self::Stopped => text_object([("message", "an operator has stopped this request")]),
            Self::Internal { incident } => {
                let incident = incident.to_string();
                text_object([
                    ("message", "Server Error - an error of the server itself"),
                    ("incident", &incident),
                ])
            }
            Self::Script { body, .. } => body.clone(),
        }
    }

    /// The value of `allow`.
    pub fn allow(&self) -> Option<&str> {
        match self {
            Self::MethodNotAllowed { allow, .. } => Some(allow),
            Self::WriteByGet { .. } => Some("POST,PUT,DELETE,PATCH"),
            _ => None,
        }
    }

    /// The value of `retry-after`, in seconds.
    pub fn retry_after(&self) -> Option<u64> {
        match self {
            Self::Overloaded { .. } | Self::BodiesTooLarge { .. } => Some(OVERLOAD_RETRY_S),
            Self::Script { retry_after, .. } => *retry_after,
            _ => None,
        }
    }

    /// Whether the request has passed too many servers like this one.
    pub fn is_too_many_hops(&self) -> bool {
        let code = format!("Q{:04}", codes::TOO_MANY_HOPS.number);
        matches!(self, Self::Script { body, .. } if body.member("code").as_str() == Some(&code))
    }

    /// Whether the rest of the request may still be on its way, or it is unknown where it ends, so
    /// that the connection cannot be used again.
    pub fn closes_connection(&self) -> bool {
        matches!(
            self,
            Self::BodyTooLarge { .. }
                | Self::BodiesTooLarge { .. }
                | Self::BodyTimeout
                | Self::MalformedHead { .. }
                | Self::UnknownTransferCoding { .. }
                | Self::TargetTooLong
                | Self::HeadTooLarge { .. }
        )
    }
}

fn head_too_large(bytes_max: usize, headers_max: usize) -> Value {
    let message = format!(
        "the request head is larger than {bytes_max} bytes or has more than {headers_max} lines"
    );
    coded(server_error(&message), codes::REQUEST_TOO_LARGE)
}

fn body_too_large(bytes_max: usize) -> Value {
    let message = format!("the request body is larger than `maxRequestLength` ({bytes_max} bytes)");
    let body = coded(text_object([("message", &message)]), codes::REQUEST_TOO_LARGE);
    with(body, "limit", Value::from(bytes_max))
}

fn bodies_too_large(bytes_max: usize) -> Value {
    let message = format!(
        "the bodies of all requests together would be larger than `maxBodiesMemory` ({bytes_max} bytes); \
         try again soon"
    );
    with(text_object([("message", &message)]), "limit", Value::from(bytes_max))
}

fn foreign_host(host: &str) -> Value {
    let message = format!(
        "`{}` is not known as a name of this server; if it is one, list it in the setting \
         `trust.hosts`",
        sanitize(host)
    );
    coded(text_object([("message", &message)]), codes::FOREIGN_REQUEST)
}

fn foreign_page() -> Value {
    let message = "pages of other sites may not run scripts here, unless the setting \
                   `trust.origins` lists their origin";
    coded(text_object([("message", message)]), codes::FOREIGN_REQUEST)
}

fn write_by_get(method: &str) -> Value {
    let message = format!(
        "a script that writes must be sent by POST, not {method}; of a server with `--dev` its \
         own pages and programs may"
    );
    coded(text_object([("message", &message)]), codes::WRITE_BY_GET)
}

/// The text under both names that clients may look for: `message` (SRV-30) and `error`
/// (SRV-33).
fn quoted(text: &str) -> Value {
    text_object([("message", text), ("error", text)])
}

fn server_error(message: &str) -> Value {
    quoted(&format!("Server Error - {message}"))
}

/// Adds the diagnostic code (SRV-30).
fn coded(value: Value, code: Code) -> Value {
    with(value, "code", Value::from(format!("Q{:04}", code.number)))
}

fn with(value: Value, name: &str, member: Value) -> Value {
    let Value::Object(object) = value else { return value };
    let mut object = Object::clone(&object);
    object.insert(name, member);
    Value::object(object)
}

#[cfg(test)]
mod tests {
    use qlio_data::codec::json;

    use super::*;

    fn check(failure: &Failure, status: u16, body: &str) {
        assert_eq!(failure.status().as_u16(), status);
        assert_eq!(json::to_string(&failure.body()), body);
    }

    #[test]
    fn unknown_paths_are_quoted_harmlessly() {
        let failure = Failure::NotFound {
            method: "GET".to_owned(),
            target: "/nf.pl?\"><script>alert(73541);</script>".to_owned(),
        };
        let text = r#"Cannot GET /nf.pl?\">[removed]alert&#40;73541&#41;;[removed]"#;
        check(&failure, 404, &format!(r#"{{"message":"{text}","error":"{text}"}}"#));
    }

    #[test]
    fn literal_bodies_stand() {
        let missing = ["a", "b"].map(str::to_owned).into();
        let expected = r#"{"message":"No matching route; missing query parameters: `a`, `b`"}"#;
        check(&Failure::NoMatchingRoute { missing }, 400, expected);
        check(&Failure::MissingQuery, 400, r#"{"message":"Missing query"}"#);
        check(&Failure::InvalidCallback, 400, r#"{"message":"Invalid callback"}"#);
        check(
            &Failure::NoSuchRoute { path: "/nope".to_owned(), method: "get".to_owned() },
            400,
            r#"{"message":"No such route /nope for HTTP method GET"}"#,
        );
        check(
            &Failure::NoSuchTable { name: " lib.err; return \"x\"".to_owned() },
            400,
            r#"{"message":"No such table  lib.err; return \"x\""}"#,
        );
        check(
            &Failure::MalformedPath,
            400,
            r#"{"message":"Server Error - malformed path","error":"Server Error - malformed path"}"#,
        );
    }

    #[test]
    fn who_finds_the_heavy_threads_busy_may_come_again() {
        let failure = Failure::from(Busy { waiting_max: 7 });
        let message = "too much work waits for a heavy thread (`heavy.maxWaiting` is 7)";
        let body = format!(r#"{{"message":"{message}","code":"Q5017","status":503,"limit":7}}"#);
        check(&failure, 503, &body);
        assert_eq!(failure.retry_after(), Some(1));
    }

    #[test]
    fn a_script_failure_passes_through_but_never_as_success() {
        let failure = |status| Failure::Script { status, body: Value::Null, retry_after: Some(3) };
        assert_eq!(failure(502).status().as_u16(), 502);
        assert_eq!(failure(200).status().as_u16(), 500);
        assert_eq!(failure(99).status().as_u16(), 500);
        assert_eq!(failure(503).retry_after(), Some(3));
    }
}
