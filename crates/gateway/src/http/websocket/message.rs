//! The messages of the console protocol (WSK-3).
//!
//! One JSON object each. In: the text of a client's message. Out: what it asks, or what is wrong with
//! it in words for the client; and the text of messages to the client.

use qlio_data::{
    Object, Value,
    codec::{DecodeError, json},
};
use qlio_engine::event::Step;

/// The longest `id` of a script, in bytes.
const ID_BYTES_MAX: usize = 256;

/// What scripts begin with that are run step by step.
const DEBUG_PREFIX: &str = "__debug__";

/// What a client asks.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Asked {
    /// To be told these events from the next script on.
    Events(Value),
    /// To run a script.
    Script {
        /// The script, without the mark of debug mode.
        text: String,
        /// Whether to run it step by step.
        is_debug: bool,
        /// Whether a large result may be fetched over HTTP.
        takes_address: bool,
    },
    /// To tell the plan of a script, without running it.
    Plan(String),
    /// To run waiting statements of a session.
    Step {
        /// The session.
        session: u64,
        /// Which statements.
        steps: Steps,
    },
    /// To give a session up.
    Kill(u64),
    /// To give up the run that has this name.
    KillRun(Value),
    /// Something that is not known here, or nothing.
    Other,
}

/// Which waiting statements to run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Steps {
    /// One.
    One(Step),
    /// All, and those to come.
    All,
}

/// Why a message asks nothing that can be told.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum MessageError {
    #[error("invalid JSON at byte {}: {}", .0.offset, .0.reason)]
    NotJson(#[from] DecodeError),
    #[error("`id` must be a number, or text of at most {ID_BYTES_MAX} bytes")]
    Id,
    #[error("`{0}` must be the number of a session")]
    Session(&'static str),
    #[error("{what} must be {wanted}")]
    Kind { what: &'static str, wanted: &'static str },
}

/// A message of a client.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct FromClient {
    /// What is asked, or why that cannot be told.
    pub(crate) asked: Result<Asked, MessageError>,
    /// The client's name for it, repeated in what it causes.
    pub(crate) id: Option<Value>,
}

/// Reads a message.
pub(crate) fn read(text: &str) -> FromClient {
    let wrong = |error: MessageError| FromClient { asked: Err(error), id: None };
    let message = match json::parse_str(text) {
        Ok(message) => message.into_tree(),
        Err(error) => return wrong(error.into()),
    };
    if !message.is_object() {
        return wrong(kind("a message", "a JSON object"));
    }
    let asked = asked(&message);
    // Of the other messages, `id` is the session.
    let id = match (message.member("id"), &asked) {
        (id, Ok(Asked::Script { .. } | Asked::Plan(_))) => id,
        _ => Value::Absent,
    };
    let is_name = match &id {
        Value::Absent | Value::Number(_) => true,
        Value::String(text) => text.len() <= ID_BYTES_MAX,
        _ => false,
    };
    if !is_name {
        return wrong(MessageError::Id);
    }
    FromClient { asked, id: Some(id).filter(|id| !id.is_absent()) }
}

fn kind(what: &'static str, wanted: &'static str) -> MessageError {
    MessageError::Kind { what, wanted }
}

fn asked(message: &Value) -> Result<Asked, MessageError> {
    let data = message.member("data");
    Ok(match message.member("type").as_str() {
        Some("events") => Asked::Events(data),
        Some("script") => {
            let text = data.as_str().ok_or(kind("`data` of a script", "text"))?;
            let stepped = text.strip_prefix(DEBUG_PREFIX);
            let takes_address = match message.member("result") {
                Value::Absent => false,
                result if result.as_str() == Some("url") => true,
                _ => return Err(kind("`result` of a script", "`url`, or be left out")),
            };
            Asked::Script {
                text: stepped.unwrap_or(text).to_owned(),
                is_debug: stepped.is_some(),
                takes_address,
            }
        }
        Some("plan") => {
            let text = data.as_str().ok_or(kind("`data` of a plan", "the text of a script"))?;
            Asked::Plan(text.strip_prefix(DEBUG_PREFIX).unwrap_or(text).to_owned())
        }
        Some("debug") => {
            Asked::Step { session: session(message, "emitterID")?, steps: steps(message)? }
        }
        Some("kill") => match message.member("run") {
            Value::Absent => Asked::Kill(session(message, "id")?),
            run @ (Value::Number(_) | Value::String(_)) => Asked::KillRun(run),
            _ => return Err(kind("`run`", "the `id` of a script")),
        },
        _ => Asked::Other,
    })
}

/// Which statements a `debug` message lets through.
fn steps(message: &Value) -> Result<Steps, MessageError> {
    match message.member("steps") {
        Value::Absent => {}
        steps if steps.as_str() == Some("all") => return Ok(Steps::All),
        _ => return Err(kind("`steps`", "`all`, or be left out")),
    }
    let node = message.member("node");
    if node.is_absent() {
        return Ok(Steps::One(Step::Next));
    }
    let number = node.as_str().and_then(|name| name.strip_prefix('n')?.parse::<u32>().ok());
    let statement = number.and_then(|number| number.checked_sub(1));
    let statement = statement.ok_or(kind("`node`", "the name of a statement, such as `n4`"))?;
    Ok(Steps::One(Step::Statement(statement)))
}

/// The number of a session; both names are understood for both messages.
fn session(message: &Value, name: &'static str) -> Result<u64, MessageError> {
    [name, "emitterID", "id"]
        .into_iter()
        .find_map(|name| match message.member(name) {
            Value::Number(number) => number.as_i64(),
            Value::String(text) => text.parse().ok(),
            _ => None,
        })
        .and_then(|number| u64::try_from(number).ok())
        .ok_or(MessageError::Session(name))
}

/// The text of a message to the client.
pub(crate) fn write(name: &str, data: &Value, id: Option<&Value>) -> String {
    json::to_string(&packed(name, data, id))
}

/// The same, if it takes no more than so many bytes.
pub(crate) fn write_within(
    name: &str,
    data: &Value,
    id: Option<&Value>,
    bytes_max: usize,
) -> Option<String> {
    let mut text = Vec::new();
    json::encode_within(&packed(name, data, id), &mut text, bytes_max).ok()?;
    String::from_utf8(text).ok()
}

fn packed(name: &str, data: &Value, id: Option<&Value>) -> Value {
    let mut message = Object::with_capacity(3);
    message.insert("type", Value::from(name));
    // An absent value is none; the member must be there all the same.
    message.insert("data", if data.is_absent() { Value::Null } else { data.clone() });
    if let Some(id) = id {
        message.insert("id", id.clone());
    }
    Value::object(message)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn every_message_is_understood() {
        let script = |is_debug, takes_address| Asked::Script {
            text: "return 1".to_owned(),
            is_debug,
            takes_address,
        };
        let step = |steps| Asked::Step { session: 3, steps };
        for (text, asked) in [
            (r#"{"type":"events","data":"[\"ack\"]"}"#, Asked::Events(Value::from("[\"ack\"]"))),
            (r#"{"type":"script","data":"return 1"}"#, script(false, false)),
            (r#"{"type":"script","data":"__debug__return 1"}"#, script(true, false)),
            (r#"{"type":"script","data":"return 1","result":"url"}"#, script(false, true)),
            (r#"{"type":"plan","data":"return 1"}"#, Asked::Plan("return 1".to_owned())),
            (r#"{"type":"debug","emitterID":3}"#, step(Steps::One(Step::Next))),
            (r#"{"type":"debug","emitterID":3,"node":"n4"}"#, step(Steps::One(Step::Statement(3)))),
            (r#"{"type":"debug","emitterID":3,"steps":"all"}"#, step(Steps::All)),
            (r#"{"type":"kill","id":"4"}"#, Asked::Kill(4)),
            (r#"{"type":"kill","run":"a"}"#, Asked::KillRun(Value::from("a"))),
            (r#"{"type":"dance"}"#, Asked::Other),
            ("{}", Asked::Other),
        ] {
            assert_eq!(read(text), FromClient { asked: Ok(asked), id: None }, "{text}");
        }
        let named = read(r#"{"type":"script","data":"x","id":"a"}"#);
        assert_eq!(named.id, Some(Value::from("a")));
    }

    #[test]
    fn what_is_wrong_is_said() {
        let long = format!(r#"{{"type":"script","data":"","id":"{}"}}"#, "x".repeat(257));
        for (text, reason) in [
            ("{bad", "invalid JSON at byte 1"),
            ("[]", "must be a JSON object"),
            (r#"{"type":"script"}"#, "`data` of a script"),
            (r#"{"type":"script","data":"","id":{}}"#, "`id` must be a number"),
            (long.as_str(), "`id` must be a number"),
            (r#"{"type":"debug"}"#, "`emitterID` must be the number"),
            (r#"{"type":"kill","id":-1}"#, "`id` must be the number"),
            (r#"{"type":"kill","run":{}}"#, "`run` must be"),
            (r#"{"type":"debug","emitterID":1,"node":"x4"}"#, "`node` must be"),
            (r#"{"type":"debug","emitterID":1,"node":"n0"}"#, "`node` must be"),
            (r#"{"type":"debug","emitterID":1,"steps":2}"#, "`steps` must be"),
            (r#"{"type":"script","data":"x","result":"file"}"#, "`result` of a script"),
            (r#"{"type":"plan"}"#, "`data` of a plan"),
        ] {
            let error = read(text).asked.expect_err(text).to_string();
            assert!(error.contains(reason), "{text}: {error}");
        }
        assert!(read(&long.replace("xx", "x")).asked.is_ok());
    }

    #[test]
    fn messages_have_a_type_data_and_the_name_of_their_cause() {
        assert_eq!(write("w", &Value::Absent, None), r#"{"type":"w","data":null}"#);
        let id = Value::int(7);
        let text = r#"{"type":"w","data":1,"id":7}"#;
        assert_eq!(write("w", &Value::int(1), Some(&id)), text);
        let within = |bytes_max| write_within("w", &Value::int(1), Some(&id), bytes_max);
        assert_eq!(within(text.len()).as_deref(), Some(text));
        assert_eq!(within(text.len() - 1), None);
    }

    proptest! {
        #[test]
        fn any_text_is_read(text in ".{0,60}") {
            let _ = read(&text);
        }
    }
}
