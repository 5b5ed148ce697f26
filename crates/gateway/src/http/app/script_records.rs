//! Who is told of a script that came over WebSocket, beside its client: the log files, lines on stdout, spans, and
//! what operators see and count.
//!
//! In: a script as it begins, the events of its run, its status. Out: for all of them what a request to `/q` would
//! give. A script that is run step by step waits for a person, so its time is not counted.

use std::sync::Arc;

use qlio_data::{Text, Value};
use qlio_engine::{
    RunError,
    event::{Event, Subscription},
    trace::TraceContext,
};
use qlio_plan::Plan;

use super::{HttpApp, console::Client, followers::Followers, script};
use crate::http::{
    logs::{RequestLog, RunLog},
    meter::{Asked, Endpoint, Visit},
    request_id,
    websocket::Carrier,
};

/// The records of a script under way; dropped without an end, it was given up.
pub(super) struct ScriptRecords<'r> {
    pub(super) request_id: Text,
    client: &'r Client<'r>,
    log: Option<RequestLog>,
    /// The trace that it is part of.
    pub(super) trace: Option<Arc<TraceContext>>,
    followers: Option<Box<Followers<'r>>>,
    pub(super) visit: Option<Visit<'r>>,
}

impl<'r> ScriptRecords<'r> {
    /// A script begins.
    pub(super) fn begin(app: &'r HttpApp, client: &'r Client<'r>, is_stepped: bool) -> Self {
        let Client { head, ends, peer, .. } = *client;
        let request_id = request_id::of_request(&head.headers, app.request_id_header.as_ref());
        let log = app.shared.logs.as_ref();
        let log = log.map(|logs| RequestLog::begin(logs, head, peer));
        let asked = (head, Carrier::Message);
        let (trace, followers) = Followers::begin(&app.shared, asked, (ends, peer), &request_id);
        let visit = app.meter.as_ref().filter(|_| !is_stepped).map(|meter| meter.begin(head));
        if let Some(visit) = &visit {
            visit.at(Endpoint::Socket, &head.method);
        }
        Self { request_id, client, log, trace, followers, visit }
    }

    /// Who asks, for the list of what is under way.
    pub(super) fn asked(&self) -> Asked<'_> {
        let Client { head, peer, .. } = *self.client;
        Asked { head, client: peer, request_id: &self.request_id }
    }

    /// It cannot be run.
    pub(super) fn failed(&self, error: &Value) {
        if let Some(log) = &self.log {
            log.failed(error.clone());
        }
    }

    /// Its run begins.
    pub(super) fn begin_run(&self, plan: &Plan) -> RunRecords<'_> {
        let log = self.log.as_ref().map(|log| RunLog::begin(log, script::log_name(plan)));
        RunRecords { log, followers: self.followers.as_deref() }
    }

    /// It is over, with the status that an answer of `/q` would have.
    pub(super) fn end(self, status: u16) {
        if let Some(log) = self.log {
            log.end(status);
        }
        if let Some(followers) = self.followers {
            followers.end(status);
        }
        if let Some(visit) = self.visit {
            visit.end(status);
        }
    }
}

/// The records of a run under way.
pub(super) struct RunRecords<'r> {
    log: Option<RunLog<'r>>,
    followers: Option<&'r Followers<'r>>,
}

impl RunRecords<'_> {
    /// What the run must tell beside what its client wants to know.
    pub(super) fn subscription(&self, client: &Subscription) -> Subscription {
        let logged = self.log.as_ref().map(|_| RunLog::subscription());
        let followed = self.followers.and_then(Followers::subscription);
        [logged, followed].iter().flatten().fold(client.clone(), Subscription::joined)
    }

    /// Takes an event of the run.
    pub(super) fn take(&self, event: &Event<'_>) {
        if let Some(log) = &self.log {
            log.take(event);
        }
        if let Some(followers) = self.followers {
            followers.take(event);
        }
    }

    /// The run is over.
    pub(super) fn end(self, outcome: Result<(), &RunError>) {
        if let Some(log) = self.log {
            log.end(outcome);
        }
    }
}
