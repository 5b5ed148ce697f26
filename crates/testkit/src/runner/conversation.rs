//! Holds the WebSocket connection of a case, with a client that is a library of its own.

use std::net::SocketAddr;
use std::time::Duration;

use crate::case::check::Outcome;
use crate::case::conversation::{Conversation, Received, Step};
use crate::websocket::{self, Refused};

/// Makes the connection and goes through the steps; after one that brings nothing, the others are
/// not tried.
pub(super) fn hold(
    talk: &Conversation,
    address: SocketAddr,
    patience: Duration,
) -> Result<Outcome, String> {
    let headers: Vec<(&str, &str)> =
        talk.headers.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    let mut socket =
        match websocket::connect(address, &talk.path, talk.protocol.as_deref(), &headers, patience)
        {
            Ok(socket) => socket,
            Err(Refused::Status(status)) => {
                return Ok(Outcome::Conversation { status, received: Vec::new() });
            }
            Err(Refused::Broken(why)) => return Err(why),
        };
    let mut received = Vec::new();
    for step in &talk.steps {
        match step {
            Step::Send(message) => socket.send_text(&message.to_string())?,
            Step::SendText(text) => socket.send_text(text)?,
            Step::Receive(_) | Step::Closed(_) => received.push(socket.receive()),
        }
        if let Some(Received::Nothing(_)) = received.last() {
            break;
        }
    }
    Ok(Outcome::Conversation { status: 101, received })
}
