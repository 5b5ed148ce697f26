//! A blocking WebSocket client for tests, on a library of its own, so that server and client can not
//! share a mistake of ours. Every wait ends after the patience given.

use std::fmt;
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use tungstenite::client::IntoClientRequest as _;
use tungstenite::http::{HeaderName, HeaderValue};
use tungstenite::protocol::WebSocketConfig;
use tungstenite::{HandshakeError, Message, WebSocket};

use crate::case::conversation::Received;

/// A connection to the server under test.
#[derive(Debug)]
pub struct Socket {
    socket: WebSocket<TcpStream>,
}

/// A handshake that gave no connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refused {
    /// The server answered with this status.
    Status(u16),
    /// It did not answer, or not as it should.
    Broken(String),
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Status(status) => write!(f, "refused with status {status}"),
            Self::Broken(why) => f.write_str(why),
        }
    }
}

/// Makes a connection.
///
/// # Errors
/// The server refuses it, or does not answer within the patience.
pub fn connect(
    address: SocketAddr,
    path: &str,
    protocol: Option<&str>,
    headers: &[(&str, &str)],
    patience: Duration,
) -> Result<Socket, Refused> {
    let broken = |error: &dyn fmt::Display| Refused::Broken(format!("no handshake: {error}"));
    let stream = TcpStream::connect_timeout(&address, patience).map_err(|error| broken(&error))?;
    stream
        .set_read_timeout(Some(patience))
        .and_then(|()| stream.set_write_timeout(Some(patience)))
        .and_then(|()| stream.set_nodelay(true))
        .map_err(|error| broken(&error))?;
    let mut request =
        format!("ws://{address}{path}").into_client_request().map_err(|error| broken(&error))?;
    let protocol = protocol.map(|protocol| ("sec-websocket-protocol", protocol));
    for (name, value) in headers.iter().copied().chain(protocol) {
        let name = HeaderName::from_bytes(name.as_bytes()).map_err(|error| broken(&error))?;
        let value = HeaderValue::from_str(value).map_err(|error| broken(&error))?;
        request.headers_mut().insert(name, value);
    }
    // The server's limits are tested, not the client's.
    let config = WebSocketConfig::default().max_frame_size(None).max_message_size(None);
    match tungstenite::client::client_with_config(request, stream, Some(config)) {
        Ok((socket, _)) => Ok(Socket { socket }),
        Err(HandshakeError::Failure(tungstenite::Error::Http(response))) => {
            Err(Refused::Status(response.status().as_u16()))
        }
        Err(error) => Err(broken(&error)),
    }
}

impl Socket {
    /// Sends a text message in one frame.
    ///
    /// # Errors
    /// The connection is gone.
    pub fn send_text(&mut self, text: &str) -> Result<(), String> {
        self.send(Message::text(text))
    }

    /// Sends a binary message in one frame.
    ///
    /// # Errors
    /// The connection is gone.
    pub fn send_binary(&mut self, bytes: &[u8]) -> Result<(), String> {
        self.send(Message::binary(bytes.to_vec()))
    }

    fn send(&mut self, message: Message) -> Result<(), String> {
        self.socket.send(message).map_err(|error| format!("can not send: {error}"))
    }

    /// Waits for the next message, or for the end.
    pub fn receive(&mut self) -> Received {
        loop {
            return match self.socket.read() {
                Ok(Message::Text(text)) => match serde_json::from_str(&text) {
                    Ok(message) => Received::Message(message),
                    Err(_) => Received::Other(text.to_string()),
                },
                Ok(Message::Close(frame)) => {
                    Received::Closed(frame.map(|frame| u16::from(frame.code)))
                }
                Ok(Message::Ping(_) | Message::Pong(_)) => continue,
                Ok(other) => Received::Other(format!("{other:?}")),
                Err(error) => Received::Nothing(error.to_string()),
            };
        }
    }

    /// The socket below, for tests that need its bytes.
    pub fn stream(&mut self) -> &mut TcpStream {
        self.socket.get_mut()
    }
}
