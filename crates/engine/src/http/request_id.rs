//! The ids of upstream calls: the request's own id with a number, or the trail of ids through nested
//! servers (setting `requestId.trail`).

use http::{HeaderMap, HeaderName, HeaderValue};
use qlio_data::Text;
use qlio_plan::catalog::Table;

use crate::{
    event::new_id,
    run::Run,
    trace::{CallTrace, TRACEPARENT},
    transport::{Exchange, Headers, OwnHeader, as_text},
};

impl Run<'_> {
    /// The id of this run: that of the client's request, or a new one.
    pub(crate) fn request_id(&self) -> &Text {
        self.request_id
            .get_or_init(|| self.request.request_id.clone().unwrap_or_else(|| Text::from(new_id())))
    }

    /// Gives a request its id, `<id of the run>.<number of the call>`, unless its table, a hook or the
    /// trail of ids has set the header.
    ///
    /// It is also given its place in the trace of the run, but for what a client has brought along: its hosts
    /// learn nothing of ours.
    pub(super) fn number_call(&self, exchange: &mut Exchange, table: &Table) {
        self.sent.set(self.sent.get() + 1);
        if let Some(context) = &self.request.trace
            && !table.is_inline
            && !exchange.headers.contains_key(TRACEPARENT)
        {
            exchange.trace = Some(CallTrace::new(context));
        }
        let name = self.engine.default_headers().request_id();
        if exchange.headers.contains_key(name) {
            return;
        }
        let number = self.calls.get() + 1;
        self.calls.set(number);
        let own = self.own_header.get_or_init(|| {
            OwnHeader::new(name.clone(), Text::from([self.request_id(), "."].concat()))
        });
        exchange.own_header = own.as_ref().map(|own| own.numbered(number));
    }

    /// The id that an upstream call of a trail is sent with: `<seed>!ql.io!<address>[`. The open bracket
    /// is closed when the answer is here. None if the seed cannot be sent.
    pub(super) fn open_trail(&self, headers: &HeaderMap, name: &HeaderName) -> Option<HeaderValue> {
        let of_table = headers.get(name).and_then(|value| value.to_str().ok());
        let seed = match of_table {
            Some(text) if !text.is_empty() => text,
            _ => self.request_id(),
        };
        HeaderValue::try_from(format!("{seed}{SEPARATOR}{}[", self.engine.local_address())).ok()
    }

    /// Closes the id of an answered call: the upstream's own chain if it sent one.
    pub(super) fn close_request_id(&self, sent: Option<&HeaderValue>, received: &Headers) {
        if !self.engine.settings().request_id_trail {
            return;
        }
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
