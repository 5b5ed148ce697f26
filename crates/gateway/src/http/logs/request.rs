//! The lines of one request of a client: its begin and its end, and the envelope that all events below it
//! share.

use std::{
    net::IpAddr,
    sync::Arc,
    time::{Duration, Instant},
};

use hyper::{HeaderMap, http::request::Parts};
use qlio_data::{Object, Value};
use qlio_engine::transport::{is_credential_name, shown_uri};

use super::{Line, LogFile, Logs, ROOT, now_ms, object, status};

/// What stands in the place of a credential.
const REDACTED: &str = "[redacted]";

/// An event that has begun.
pub(super) struct Open {
    pub(super) id: u16,
    parent_id: u16,
    file: LogFile,
    kind: &'static str,
    pub(super) name: String,
    started_ms: u64,
    began: Instant,
}

/// A request under way. If nobody ends it, it has ended when it is dropped: the client has gone.
pub(in crate::http) struct RequestLog {
    logs: Arc<Logs>,
    uuid: String,
    number: u64,
    root: Option<Open>,
}

impl RequestLog {
    /// A request begins.
    pub(in crate::http) fn begin(logs: &Arc<Logs>, head: &Parts, peer: IpAddr) -> Self {
        let number = logs.requests.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let uuid = fastrand::u128(..);
        let mut log =
            Self { logs: Arc::clone(logs), uuid: format!("{uuid:032x}"), number, root: None };
        let target = head.uri.path_and_query().map_or("", |target| target.as_str());
        let name = format!("{} {}", head.method, head.uri.path());
        let message = object([
            ("ip", Value::from(peer.to_string())),
            ("method", Value::from(head.method.as_str())),
            ("path", Value::from(shown_uri(target))),
            ("headers", shown_headers(&head.headers)),
        ]);
        log.root = Some(log.open(LogFile::Access, ROOT, "route", name, message));
        log
    }

    /// The request has been answered.
    pub(in crate::http) fn end(mut self, status: u16) {
        let outcome = if status < 400 { "Success" } else { "Failure" };
        let message =
            object([("status", Value::from(outcome)), ("statusCode", Value::from(status))]);
        if let Some(root) = self.root.take() {
            self.close(root, message);
        }
    }

    /// A script that does not compile, or another failure before there is a run.
    pub(in crate::http) fn failed(&self, error: Value) {
        self.tell(LogFile::Error, "error", self.root_id(), error);
    }

    /// The event that everything of the request is below.
    pub(super) fn root_id(&self) -> u16 {
        self.root.as_ref().map_or(ROOT, |root| root.id)
    }

    /// An event begins.
    pub(super) fn open(
        &self,
        file: LogFile,
        parent_id: u16,
        kind: &'static str,
        name: String,
        message: Value,
    ) -> Open {
        let id = self.logs.next_event_id();
        let open =
            Open { id, parent_id, file, kind, name, started_ms: now_ms(), began: Instant::now() };
        self.write(&open, file, "begin", None, message);
        open
    }

    /// An event ends.
    #[expect(clippy::needless_pass_by_value, reason = "an event ends once")]
    pub(super) fn close(&self, open: Open, message: Value) {
        let Open { file, began, .. } = open;
        self.write(&open, file, "end", Some(began.elapsed()), message);
    }

    /// Something without a length, below an event.
    pub(super) fn tell(&self, file: LogFile, class: &'static str, below: u16, message: Value) {
        let open = Open {
            id: self.logs.next_event_id(),
            parent_id: below,
            file,
            kind: super::TYPE,
            name: super::TYPE.to_owned(),
            started_ms: now_ms(),
            began: Instant::now(),
        };
        self.write(&open, file, class, None, message);
    }

    fn write(
        &self,
        open: &Open,
        file: LogFile,
        class: &'static str,
        duration: Option<Duration>,
        message: Value,
    ) {
        self.logs.write(Line {
            file,
            class,
            kind: open.kind,
            name: &open.name,
            event_id: open.id,
            parent_id: open.parent_id,
            request: Some((&self.uuid, self.number)),
            started_ms: open.started_ms,
            duration_ms: duration
                .map(|duration| u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)),
            message,
        });
    }
}

impl Drop for RequestLog {
    fn drop(&mut self) {
        if let Some(root) = self.root.take() {
            self.close(root, status(false));
        }
    }
}

fn shown_headers(headers: &HeaderMap) -> Value {
    let mut shown = Object::with_capacity(headers.keys_len());
    for name in headers.keys() {
        let values: Vec<_> = headers
            .get_all(name)
            .iter()
            .map(|value| String::from_utf8_lossy(value.as_bytes()))
            .collect();
        let value = if is_credential_name(name.as_str()) {
            REDACTED.to_owned()
        } else if *name == hyper::header::REFERER {
            shown_uri(&values.join(", "))
        } else {
            values.join(", ")
        };
        shown.insert(name.as_str(), Value::from(value));
    }
    Value::object(shown)
}
