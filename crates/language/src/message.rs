//! Messages: JSON-RPC 2.0 in and out.
//!
//! In: the text of one message. Out: a [`Message`], or the [`Refusal`] that says why it is none; and the
//! texts of answers and notifications.

use qlio_data::{Value, codec::json};

use crate::json::object;

/// A message of the client.
#[derive(Debug)]
pub(crate) enum Message {
    /// It wants an answer.
    Request {
        /// The name under which it wants it: a number or a text.
        id: Value,
        /// What it asks for.
        method: String,
        /// About what.
        params: Value,
    },
    /// It wants no answer.
    Notification {
        /// What happened.
        method: String,
        /// To what.
        params: Value,
    },
    /// An answer to a request of ours; none of ours needs one.
    Answer,
}

/// Why a request cannot be answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) code: i32,
    pub(crate) message: String,
}

impl Refusal {
    /// The message is no JSON.
    pub(crate) const PARSE_ERROR: i32 = -32700;
    /// It is no request.
    pub(crate) const INVALID_REQUEST: i32 = -32600;
    /// Nobody knows the method.
    pub(crate) const METHOD_NOT_FOUND: i32 = -32601;
    /// The parameters are not those of the method.
    pub(crate) const INVALID_PARAMS: i32 = -32602;
    /// A fault of ours.
    pub(crate) const INTERNAL_ERROR: i32 = -32603;
    /// `initialize` comes first.
    pub(crate) const NOT_INITIALIZED: i32 = -32002;
    /// What is asked for cannot be done.
    pub(crate) const REQUEST_FAILED: i32 = -32803;

    pub(crate) fn new(code: i32, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }

    /// The parameters are not those of the method.
    pub(crate) fn params(message: impl Into<String>) -> Self {
        Self::new(Self::INVALID_PARAMS, message)
    }

    /// What is asked for cannot be done.
    pub(crate) fn failed(message: impl Into<String>) -> Self {
        Self::new(Self::REQUEST_FAILED, message)
    }
}

/// Reads a message.
///
/// # Errors
/// It is none, and is refused without the name of a request.
pub(crate) fn read(text: &str) -> Result<Message, Refusal> {
    let message = json::parse_str(text).map_err(|error| {
        let message = format!("the message is no JSON: {error} at byte {}", error.offset);
        Refusal::new(Refusal::PARSE_ERROR, message)
    })?;
    let invalid = |reason: &str| Err(Refusal::new(Refusal::INVALID_REQUEST, reason));
    if !message.is_object() {
        return invalid("a message is an object; lists of messages are not read");
    }
    let (id, method) = (message.member("id"), message.member("method"));
    let params = message.member("params");
    match (id, method.as_str()) {
        (Value::Absent, Some(method)) => {
            Ok(Message::Notification { method: method.to_owned(), params })
        }
        (id @ (Value::Number(_) | Value::String(_)), Some(method)) => {
            Ok(Message::Request { id, method: method.to_owned(), params })
        }
        (_, Some(_)) => invalid("`id` is neither a number nor a text"),
        (id, None) if !id.is_absent() && method.is_absent() => Ok(Message::Answer),
        (_, None) => invalid("`method` is no text"),
    }
}

/// The answer to a request.
pub(crate) fn answer(id: Value, outcome: Result<Value, Refusal>) -> String {
    let version = ("jsonrpc", Value::from("2.0"));
    json::to_string(&match outcome {
        Ok(result) => {
            let result = if result.is_absent() { Value::Null } else { result };
            object([version, ("id", id), ("result", result)])
        }
        Err(Refusal { code, message }) => {
            let error = object([("code", Value::from(code)), ("message", Value::from(message))]);
            object([version, ("id", id), ("error", error)])
        }
    })
}

/// A notification.
pub(crate) fn notification(method: &str, params: Value) -> String {
    let version = ("jsonrpc", Value::from("2.0"));
    json::to_string(&object([version, ("method", Value::from(method)), ("params", params)]))
}

/// A request of ours.
pub(crate) fn request(id: u64, method: &str, params: Value) -> String {
    json::to_string(&object([
        ("jsonrpc", Value::from("2.0")),
        ("id", Value::from(id)),
        ("method", Value::from(method)),
        ("params", params),
    ]))
}
