//! A WebSocket connection as a list of steps: what is sent, what must come back.
//!
//! Messages are compared in part: an expected message names the members that matter, since times and
//! ids differ from run to run. Order and number of messages matter.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use super::check::shown;
use super::equality::partial_difference;
use super::placeholder::{take_out, take_out_of};

/// One connection.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Conversation {
    /// The request target of the handshake.
    #[serde(default = "root")]
    pub path: String,
    /// The subprotocols offered; `null` for none.
    #[serde(default = "console")]
    pub protocol: Option<String>,
    /// Further headers of the handshake.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    /// What happens, in order. Without a connection nothing of it is tried.
    #[serde(default)]
    pub steps: Vec<Step>,
}

/// One step of a conversation.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    /// Send this as JSON.
    Send(Value),
    /// Send this text as it stands.
    SendText(String),
    /// The next message has these members.
    Receive(Value),
    /// The server closes the connection with this code.
    Closed(u16),
}

/// What came in a step that expects something.
#[derive(Debug, Clone, PartialEq)]
pub enum Received {
    /// A message in JSON.
    Message(Value),
    /// A message that is no JSON, or no text.
    Other(String),
    /// The server has closed the connection, with a code if it gave one.
    Closed(Option<u16>),
    /// Nothing in time, or the connection broke.
    Nothing(String),
}

impl Received {
    pub(super) fn without_address(self, base: &str) -> Self {
        match self {
            Self::Message(message) => Self::Message(take_out_of(message, base)),
            Self::Other(text) => Self::Other(take_out(&text, base)),
            other => other,
        }
    }
}

impl Conversation {
    /// Compares what was received with what the steps expect.
    ///
    /// # Errors
    /// The first difference; what came after it means little.
    pub fn check(
        &self,
        expected_status: u16,
        status: u16,
        received: &[Received],
    ) -> Result<(), String> {
        if status != expected_status {
            return Err(format!("the handshake ended with {status}, expected {expected_status}"));
        }
        if status != 101 {
            return Ok(());
        }
        let expecting = self
            .steps
            .iter()
            .enumerate()
            .filter(|(_, step)| matches!(step, Step::Receive(_) | Step::Closed(_)));
        let mut received = received.iter();
        for (number, step) in expecting {
            let step_failed = |why: String| format!("step {}: {why}", number + 1);
            match (step, received.next()) {
                (Step::Receive(expected), Some(Received::Message(message))) => {
                    if let Some(found) = partial_difference(expected, message) {
                        let message = shown(&message.to_string());
                        return Err(step_failed(format!("{found}; the message was {message}")));
                    }
                }
                (Step::Closed(expected), Some(Received::Closed(Some(code))))
                    if code == expected => {}
                (_, other) => return Err(step_failed(format!("expected {step:?}, got {other:?}"))),
            }
        }
        Ok(())
    }
}

fn root() -> String {
    "/".to_owned()
}

#[expect(clippy::unnecessary_wraps, reason = "the default of an optional member")]
fn console() -> Option<String> {
    Some("ql.io-console".to_owned())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn conversation() -> Conversation {
        let steps = json!({"steps": [
            {"send": {"type": "script"}}, {"receive": {"type": "ack"}}, {"closed": 1008},
        ]});
        serde_json::from_value(steps).unwrap()
    }

    #[test]
    fn steps_have_one_key_each() {
        let talk = conversation();
        assert_eq!(talk.protocol.as_deref(), Some("ql.io-console"));
        assert_eq!(talk.steps[2], Step::Closed(1008));
        let both = json!({"steps": [{"send": 1, "receive": 2}]});
        assert!(serde_json::from_value::<Conversation>(both).is_err());
        let none: Conversation = serde_json::from_value(json!({"protocol": null})).unwrap();
        assert_eq!(none.protocol, None);
    }

    #[test]
    fn the_first_difference_is_told_with_its_step() {
        let ack = || Received::Message(json!({"type": "ack", "data": 1}));
        let good = [ack(), Received::Closed(Some(1008))];
        assert_eq!(conversation().check(101, 101, &good), Ok(()));
        for (received, step) in [
            (vec![Received::Message(json!({"type": "x"}))], "step 2"),
            (vec![ack(), Received::Closed(Some(1000))], "step 3"),
            (vec![ack(), ack()], "step 3"),
            (vec![ack()], "step 3"),
        ] {
            let why = conversation().check(101, 101, &received).unwrap_err();
            assert!(why.contains(step), "{why}");
        }
        assert!(conversation().check(101, 400, &[]).is_err());
        assert_eq!(conversation().check(400, 400, &[]), Ok(()));
    }
}
