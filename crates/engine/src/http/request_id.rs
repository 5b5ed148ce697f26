//! The chain of request ids through nested servers (`connectors.md` 2.5).

use std::net::{IpAddr, Ipv4Addr, UdpSocket};

use http::{HeaderMap, HeaderName, HeaderValue};
use uuid::{Uuid, fmt::Hyphenated};

use crate::{
    event,
    run::Run,
    transport::{Headers, as_text},
};

impl Run<'_> {
    /// The id that an upstream call is sent with: `<seed>!ql.io!<address>[`. The open bracket is
    /// closed when the answer is here. None if the client's own id cannot be sent.
    pub(super) fn outgoing_request_id(
        &self,
        headers: &HeaderMap,
        name: &HeaderName,
    ) -> Option<HeaderValue> {
        // Exactly what an id of our own takes, because spare room has to be kept account of.
        let address = self.engine.local_address();
        let bytes = Hyphenated::LENGTH + SEPARATOR.len() + address.len() + 1;
        let mut id = String::with_capacity(bytes);
        match self.client(name.as_str()).scalar_text() {
            Some(text) if !text.is_empty() => id.push_str(&text),
            _ => match headers.get(name).and_then(|value| value.to_str().ok()) {
                Some(text) if !text.is_empty() => id.push_str(text),
                _ => {
                    let own = self.sent_request_id.get().unwrap_or_else(event::new_uuid);
                    self.sent_request_id.set(Some(own));
                    id.push_str(own.hyphenated().encode_lower(&mut Uuid::encode_buffer()));
                }
            },
        }
        id.push_str(SEPARATOR);
        id.push_str(address);
        id.push('[');
        HeaderValue::try_from(id).ok()
    }

    /// Closes the id of an answered call: the upstream's own chain if it sent one.
    pub(super) fn close_request_id(&self, sent: Option<&HeaderValue>, received: &Headers) {
        let name = self.engine.default_headers().request_id();
        let Some(id) = received.get(name).or(sent.map(HeaderValue::as_bytes)) else { return };
        let mut ids = self.request_ids.borrow_mut();
        if ids.len() + id.len() >= REQUEST_ID_BYTES_MAX {
            return;
        }
        ids.reserve(id.len() + 1);
        let last = ids.len().saturating_sub(id.len() + 1);
        if ids.as_bytes()[last..].strip_suffix(b"]") == Some(id) {
            // The requests of a statement mostly share one id, which has been looked at.
            ids.extend_from_within(last..);
        } else if let Some(id) = as_text(id) {
            ids.push_str(id);
            ids.push(']');
        }
    }
}

/// Between the id so far and the address that goes on with it.
const SEPARATOR: &str = "!ql.io!";

/// A chain longer than this is not continued; header limits of common servers start at 8 KiB.
const REQUEST_ID_BYTES_MAX: usize = 4096;

/// The first address of this host that is not a loopback address, else `127.0.0.1`. Connecting a UDP
/// socket picks a route without sending anything.
pub(crate) fn local_address() -> Ipv4Addr {
    let route = || {
        let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).ok()?;
        // An address reserved for documentation (RFC 5737); it is never contacted.
        socket.connect((Ipv4Addr::new(192, 0, 2, 1), 9)).ok()?;
        match socket.local_addr().ok()?.ip() {
            IpAddr::V4(address) if !address.is_unspecified() => Some(address),
            _ => None,
        }
    };
    route().unwrap_or(Ipv4Addr::LOCALHOST)
}
