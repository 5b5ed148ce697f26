//! Who follows a request beside the log files: the record of it as spans, and its lines on stdout.
//!
//! In: a request as it begins, the events of its run, its status. Out: nothing but what they make of it. Where nobody
//! follows, a request holds one empty place and pays for no more, also where it is part of a trace that is not recorded.

use std::{net::IpAddr, sync::Arc};

use hyper::http::request::Parts;
use qlio_data::Text;
use qlio_engine::{
    event::{Event, Subscription},
    trace::TraceContext,
};

use super::{Ends, Snapshot};
use crate::http::{logs::RequestLine, spans::Recording, websocket::Carrier};

/// Who follows one request, or one script that came as a message.
pub(super) struct Followers<'r> {
    carrier: Carrier,
    recording: Option<Box<Recording>>,
    line: Option<RequestLine<'r>>,
    secrets: &'r [String],
}

impl<'r> Followers<'r> {
    /// A request begins, or a script whose connection began with one, which comes over a connection with these ends
    /// and on behalf of this client. Out come the trace that it is part of, and who follows, if anybody does.
    pub(super) fn begin(
        snapshot: &'r Snapshot,
        (head, carrier): (&'r Parts, Carrier),
        (ends, client): (Ends, IpAddr),
        request_id: &Text,
    ) -> (Option<Arc<TraceContext>>, Option<Box<Self>>) {
        let Snapshot { traces, stdout, loaded, .. } = snapshot;
        let connected = ends.peer.ip().to_canonical();
        let begun = traces.as_ref().and_then(|traces| traces.begin(connected, &head.headers));
        let (trace, recording) =
            begun.map_or((None, None), |(trace, record)| (Some(trace), record));
        if recording.is_none() && stdout.is_none() {
            return (trace, None);
        }
        let secrets = loaded.catalog.secrets();
        if let Some(recording) = &recording {
            recording.describe((head, carrier), (client, ends.is_tls), request_id, secrets);
        }
        let begin =
            |log| RequestLine::begin(log, (head, carrier), client, request_id, trace.as_ref());
        let line = stdout.as_deref().map(begin);
        (trace, Some(Box::new(Self { carrier, recording, line, secrets })))
    }

    /// The route that answers.
    pub(super) fn at_route(&self, route: &str) {
        if let Some(recording) = &self.recording {
            recording.at_route(route);
        }
        if let Some(line) = &self.line {
            line.at_route(route);
        }
    }

    /// It asks for the health of the server, as somebody does all the time: that is no trace.
    pub(super) fn at_health(&self) {
        if let Some(recording) = &self.recording {
            recording.forget();
        }
    }

    /// What a run must tell; nothing if nobody wants to know.
    pub(super) fn subscription(&self) -> Option<Subscription> {
        let recorded = self.recording.as_ref().map(|_| Recording::subscription());
        let lines = self.line.as_ref().filter(|line| line.wants_calls());
        let lines = lines.map(|_| RequestLine::subscription());
        match (recorded, lines) {
            (Some(recorded), Some(lines)) => Some(recorded.joined(&lines)),
            (recorded, lines) => recorded.or(lines),
        }
    }

    /// Takes an event of the run.
    pub(super) fn take(&self, event: &Event<'_>) {
        if let Some(recording) = &self.recording {
            recording.take(event, self.secrets);
        }
        if let Some(line) = self.line.as_ref().filter(|line| line.wants_calls()) {
            line.take(event);
        }
    }

    /// The request has been answered.
    pub(super) fn end(self, status: u16) {
        if let Some(line) = self.line {
            line.end(status);
        }
        if let Some(recording) = self.recording {
            recording.end(self.carrier, status);
        }
    }
}
