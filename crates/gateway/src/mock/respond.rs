//! One exchange with a folder: look up, wait, answer, log.

use std::{sync::Arc, sync::PoisonError, time::Duration};

use bytes::Bytes;
use hyper::{
    Method, Request, Response, StatusCode,
    body::Incoming,
    header::{ACCEPT, CONTENT_LENGTH, CONTENT_TYPE, HeaderName, HeaderValue},
};
use qlio_data::{Object, Value, codec::json};

use super::{
    Shared,
    body::{self, MockBody},
    find::{Refused, Wanted, content_type},
    folder::Found,
};

/// An answer before it is sent.
struct Answer {
    status: StatusCode,
    content_type: &'static str,
    headers: Vec<(String, String)>,
    body: Bytes,
    latency: Option<Duration>,
    from: Option<String>,
}

pub(super) async fn respond(shared: Arc<Shared>, request: Request<Incoming>) -> Response<MockBody> {
    let (parts, body) = request.into_parts();
    let answer = if body::collect(body).await.is_some() {
        let accept = parts.headers.get(ACCEPT).and_then(|value| value.to_str().ok());
        look_up(&shared, parts.uri.path(), parts.uri.query().unwrap_or_default(), accept)
    } else {
        failure(StatusCode::PAYLOAD_TOO_LARGE, "the request's body is too large", &[])
    };
    let latency = answer.latency.unwrap_or(shared.latency);
    if !latency.is_zero() {
        tokio::time::sleep(latency).await;
    }
    let from = answer.from.as_deref().unwrap_or("-");
    let line = format_args!("{} {} {} {from}", parts.method, parts.uri, answer.status.as_u16());
    super::log(&shared.log, line);
    message(answer, &parts.method)
}

fn look_up(shared: &Shared, path: &str, query: &str, accept: Option<&str>) -> Answer {
    let wanted = match Wanted::parse(path, query) {
        Ok(wanted) => wanted,
        Err(refused) => return failure(status_of(refused), &refused.to_string(), &[]),
    };
    let found = shared.store.lock().unwrap_or_else(PoisonError::into_inner).find(&wanted, accept);
    match found {
        Ok(Found::File { name, content, rule }) => Answer {
            status: rule
                .status
                .and_then(|code| StatusCode::from_u16(code).ok())
                .unwrap_or_default(),
            content_type: content_type(&name),
            headers: rule.headers,
            body: content,
            latency: rule.latency,
            from: Some(name),
        },
        Ok(Found::Nothing { near }) => {
            let target = if query.is_empty() { path.to_owned() } else { format!("{path}?{query}") };
            failure(StatusCode::NOT_FOUND, &format!("no canned answer for `{target}`"), &near)
        }
        Err(error) => failure(StatusCode::INTERNAL_SERVER_ERROR, &error.to_string(), &[]),
    }
}

fn status_of(refused: Refused) -> StatusCode {
    match refused {
        Refused::Escape | Refused::Malformed => StatusCode::BAD_REQUEST,
        Refused::TooMany => StatusCode::URI_TOO_LONG,
    }
}

fn failure(status: StatusCode, message: &str, near: &[String]) -> Answer {
    let mut body = Object::default();
    body.insert("message", Value::string(message));
    if status == StatusCode::NOT_FOUND {
        let near = near.iter().map(|path| Value::string(path.as_str())).collect();
        body.insert("near", Value::array(near));
    }
    Answer {
        status,
        content_type: "application/json",
        headers: Vec::new(),
        body: Bytes::from(json::to_string(&Value::object(body))),
        latency: Some(Duration::ZERO),
        from: None,
    }
}

fn message(answer: Answer, method: &Method) -> Response<MockBody> {
    let length = answer.body.len();
    let body = if method == Method::HEAD { Bytes::new() } else { answer.body };
    let mut response = Response::new(MockBody::full(body));
    *response.status_mut() = answer.status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(answer.content_type));
    if method == Method::HEAD {
        headers.insert(CONTENT_LENGTH, HeaderValue::from(length));
    }
    for (name, value) in answer.headers {
        // A name or value that HTTP can not carry was meant to break the client, not the mock.
        if let (Ok(name), Ok(value)) = (HeaderName::try_from(name), HeaderValue::try_from(value)) {
            headers.insert(name, value);
        }
    }
    response
}
