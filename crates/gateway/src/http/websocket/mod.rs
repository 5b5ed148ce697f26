//! The console protocol over WebSocket, as far as it needs no engine (WSK-1).
//!
//! ```text
//! request ─▶ [handshake] ─ 101 ─▶ frames ─▶ [message] in ─▶ app: scripts, sessions ─▶ [outbox] ─▶ frames
//! ```
//!
//! [`handshake`] judges requests, [`message`] reads and writes the JSON of messages, [`outbox`] holds
//! what a client has not taken yet. What messages do is decided in `app`; frames, masks and pings
//! are the library's.

pub(super) mod handshake;
mod limits;
pub(super) mod message;
pub(super) mod outbox;

pub(crate) use limits::SocketLimits;

/// What a run of a client came with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Carrier {
    /// A request of its own.
    Request,
    /// A message, one of many of a connection.
    Message,
}
