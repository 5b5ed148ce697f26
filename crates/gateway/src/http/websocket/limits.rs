//! The bounds of WebSocket connections.

use std::time::Duration;

/// The bounds that operators may set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SocketLimits {
    /// Bytes of one frame of a client; default 64 KiB. A larger one closes the connection (1009).
    pub frame_bytes_max: usize,
    /// Bytes of one message of a client; default 1 MiB. A larger one closes the connection (1009).
    pub message_bytes_max: usize,
    /// Bytes that may wait for the client to read them; default 16 MiB. One more message is taken as long as there are
    /// no more than that, so the result of a script may be larger; then the connection is closed (1008).
    pub queue_bytes_max: usize,
    /// How long a connection may be without a script and without a message of its client; default 30 min. Then it is
    /// closed (1008).
    pub idle_timeout: Duration,
    /// How long a script that is run step by step waits for the next step until it is given up; default 5 min.
    pub session_pause_max: Duration,
    /// How long it may be run so in all; default 30 min.
    pub session_time_max: Duration,
    /// Pause between two pings; default 20 s.
    pub ping_interval: Duration,
    /// How long a ping may go unanswered before the connection is dropped; default 10 s.
    pub pong_timeout: Duration,
}

impl Default for SocketLimits {
    fn default() -> Self {
        Self {
            frame_bytes_max: 64 << 10,
            message_bytes_max: 1 << 20,
            queue_bytes_max: 16 << 20,
            idle_timeout: Duration::from_mins(30),
            session_pause_max: Duration::from_mins(5),
            session_time_max: Duration::from_mins(30),
            ping_interval: Duration::from_secs(20),
            pong_timeout: Duration::from_secs(10),
        }
    }
}
