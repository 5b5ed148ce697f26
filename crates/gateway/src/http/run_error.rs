//! Failed runs as answers: the only place that knows which status and body an error of the engine
//! gets. The server, `qlio run --envelope`, the test suite and `catch (error)` all ask here.

use qlio_data::{Object, Value};
use qlio_engine::{Fact, Origin, RunError};
use qlio_syntax::diagnostic::codes;

/// The status of the answer: it says who has to act, unless the table passes that of its upstream on.
pub fn status(error: &RunError) -> u16 {
    let passed = error.facts.iter().find_map(|fact| match fact {
        Fact::PassedStatus(status) => Some(*status),
        _ => None,
    });
    if let Some(passed) = passed {
        return passed;
    }
    match (error.code, error.origin) {
        (codes::AUTH_DENIED, _) => 403,
        (codes::BACK_OFF | codes::OVERLOAD | codes::BUSY | codes::UPSTREAM_MEMORY, _) => 503,
        (codes::TOO_MANY_HOPS, _) => 508,
        (codes::UPSTREAM_TIMEOUT | codes::DEADLINE, _) => 504,
        (_, Origin::Client) => 400,
        (_, Origin::Upstream) => 502,
        (_, Origin::Gateway) => 500,
    }
}

/// The body of the answer: an object with `message` and all that is known.
pub fn body(error: &RunError) -> Value {
    let mut body = Object::with_capacity(error.facts.len() + 6);
    let message = Value::from(error.message.as_str());
    body.insert("message", message.clone());
    body.insert("code", Value::from(format!("Q{:04}", error.code.number)));
    body.insert("status", Value::from(status(error)));
    if let Some(line) = error.line {
        body.insert("line", Value::from(line));
    }
    if matches!(error.code, codes::MISSING_TOKEN | codes::MULTIPLE_FORKS) {
        body.insert("error", message);
    }
    for fact in &error.facts {
        add_fact(&mut body, fact, error);
    }
    Value::object(body)
}

/// The body for clients that are not told about the inside: what happened, in which table, with which
/// status of the upstream, and the limit that was exceeded.
pub fn brief_body(error: &RunError) -> Value {
    let mut body = Object::with_capacity(6);
    body.insert("message", Value::from(open_message(error)));
    body.insert("code", Value::from(format!("Q{:04}", error.code.number)));
    body.insert("status", Value::int(i64::from(status(error))));
    for fact in &error.facts {
        match fact {
            Fact::Table(_) | Fact::Limit(_) | Fact::Asked(_) => add_fact(&mut body, fact, error),
            Fact::UpstreamStatus(status) => {
                let status = [("status", Value::int(i64::from(*status)))];
                body.insert("upstream", Value::object(status.into_iter().collect()));
            }
            _ => {}
        }
    }
    Value::object(body)
}

/// Whether [`body`] tells more about the inside than [`brief_body`].
pub fn tells_inside(error: &RunError) -> bool {
    let is_open = |fact: &Fact| {
        matches!(
            fact,
            Fact::Table(_)
                | Fact::Limit(_)
                | Fact::Asked(_)
                | Fact::RetryAfterSeconds(_)
                | Fact::PassedStatus(_)
        )
    };
    !has_open_message(error) || !error.facts.iter().all(is_open)
}

/// The message as far as it is open to clients, else the title of its code.
fn open_message(error: &RunError) -> &str {
    let message = error.message.as_str();
    let end = match error.code {
        // Behind it stands the URI.
        codes::MISSING_TOKEN => message.find(". Processed "),
        // Behind it stands the name of another table.
        codes::UNKNOWN_TABLE => message.find("; did you mean "),
        _ if has_open_message(error) => None,
        _ => return error.code.title,
    };
    &message[..end.unwrap_or(message.len())]
}

/// Whether the message names nothing but what the client knows or the operator wants to tell: no file,
/// no address, no text of an upstream.
fn has_open_message(error: &RunError) -> bool {
    match error.code {
        codes::EGRESS_DENIED => false,
        codes::UPSTREAM_STATUS
        | codes::UPSTREAM_TIMEOUT
        | codes::DEADLINE
        | codes::CONNECT_FAILED
        | codes::CONNECTION_LOST
        | codes::NAME_RESOLUTION
        | codes::TOO_MANY_REDIRECTS
        | codes::UPSTREAM_TOO_LARGE
        | codes::BACK_OFF
        | codes::OVERLOAD
        | codes::BUSY
        | codes::UPSTREAM_MEMORY
        | codes::AUTH_DENIED
        | codes::PARAM_REJECTED
        | codes::UNKNOWN_SETTING => true,
        _ => error.origin == Origin::Client,
    }
}

/// The value of `retry-after`, in seconds.
pub fn retry_after(error: &RunError) -> Option<u64> {
    error.facts.iter().find_map(|fact| match fact {
        Fact::RetryAfterSeconds(seconds) => Some(*seconds),
        _ => None,
    })
}

fn add_fact(body: &mut Object, fact: &Fact, error: &RunError) {
    match fact {
        Fact::Table(name) => body.insert("table", Value::from(name.clone())),
        Fact::Uri(uri) => body.insert("uri", Value::from(uri.as_str())),
        Fact::TokenUri(uri) => body.insert("tokenUri", Value::from(uri.as_str())),
        Fact::ConnectCause(cause) => body.insert("cause", Value::from(*cause)),
        Fact::TimeoutMs(ms) => body.insert("timeout", Value::from(*ms)),
        Fact::BackOff { count, delay_ms } => {
            body.insert("count", Value::from(*count));
            body.insert("delay", Value::from(*delay_ms))
        }
        Fact::RetryAfterSeconds(_) | Fact::PassedStatus(_) => None,
        Fact::Limit(limit) => body.insert("limit", Value::from(*limit)),
        Fact::Asked(asked) => body.insert("asked", Value::from(*asked)),
        Fact::Hook(name) => body.insert("hook", Value::from(*name)),
        Fact::File(file) => body.insert("file", Value::from(file.as_str())),
        Fact::FileLine(line) => body.insert("fileLine", Value::from(*line)),
        Fact::FileColumn(column) => body.insert("fileColumn", Value::from(*column)),
        Fact::UpstreamStatus(status) => {
            let status = Value::from(*status);
            body.insert("upstreamStatus", status.clone());
            let upstream = Value::object(upstream(status, error));
            body.insert("upstream", upstream);
            if error.code != codes::UPSTREAM_STATUS {
                return;
            }
            // The answer below is decoded, whatever it came as.
            let content_type = [("content-type", Value::from("application/json"))];
            body.insert("headers", Value::object(content_type.into_iter().collect()))
        }
        Fact::PatchedStatus(status) => body.insert("patchedStatus", Value::int(i64::from(*status))),
        Fact::Body(value) => body.insert("body", value.clone()),
        Fact::BodyTruncated => body.insert("bodyTruncated", Value::Bool(true)),
        Fact::MediaType { main, sub } => {
            body.insert("type", Value::from(main.as_str()));
            body.insert("subType", Value::from(sub.as_str()))
        }
    };
}

/// The upstream that answered: its status, the table and the URI.
fn upstream(status: Value, error: &RunError) -> Object {
    let mut upstream: Object = [("status", status)].into_iter().collect();
    for fact in &error.facts {
        match fact {
            Fact::Table(_) | Fact::Uri(_) => add_fact(&mut upstream, fact, error),
            _ => {}
        }
    }
    upstream
}

#[cfg(test)]
mod tests {
    use qlio_data::codec::json;

    use super::*;

    #[test]
    fn the_status_says_who_has_to_act() {
        let statuses = [
            (RunError::client(codes::BAD_URI, ""), 400),
            (RunError::upstream(codes::BAD_RESPONSE, ""), 502),
            (RunError::upstream(codes::DEADLINE, ""), 504),
            (RunError::upstream(codes::UPSTREAM_TIMEOUT, ""), 504),
            (RunError::upstream(codes::BACK_OFF, ""), 503),
            (RunError::gateway(codes::OVERLOAD, ""), 503),
            (RunError::gateway(codes::BUSY, ""), 503),
            (RunError::gateway(codes::UPSTREAM_MEMORY, ""), 503),
            (RunError::gateway(codes::AUTH_DENIED, ""), 403),
            (RunError::internal(""), 500),
            (RunError::upstream(codes::UPSTREAM_STATUS, "").with(Fact::PassedStatus(404)), 404),
        ];
        for (error, expected) in statuses {
            assert_eq!(status(&error), expected, "{error:?}");
        }
    }

    #[test]
    fn an_upstream_is_told_with_its_table_and_uri_wherever_they_were_added() {
        let error = RunError::upstream(codes::UPSTREAM_STATUS, "no")
            .with(Fact::Uri("http://h.test/".to_owned()))
            .with(Fact::UpstreamStatus(404))
            .with(Fact::Body(Value::Null))
            .in_table(&"prices".into())
            .at_line(3);
        assert_eq!(
            json::to_string(&body(&error)),
            r#"{"message":"no","code":"Q5001","status":502,"line":3,"uri":"http://h.test/","#
                .to_owned()
                + r#""upstreamStatus":404,"upstream":{"status":404,"uri":"http://h.test/","table":"prices"},"#
                + r#""headers":{"content-type":"application/json"},"body":null,"table":"prices"}"#
        );
    }

    #[test]
    fn when_to_try_again_is_a_header_and_no_member() {
        let error = RunError::gateway(codes::OVERLOAD, "busy")
            .with(Fact::RetryAfterSeconds(1))
            .with(Fact::Limit(9));
        assert_eq!(retry_after(&error), Some(1));
        let expected = r#"{"message":"busy","code":"Q5015","status":503,"limit":9}"#;
        assert_eq!(json::to_string(&body(&error)), expected);
    }
}
