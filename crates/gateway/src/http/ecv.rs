//! The health check for load balancers ("extended content verification", ECV-1).
//!
//! In: the path that is asked. Out: what is asked of the health check, and its answer. Whether the
//! server works is found out in `app`, by answering `GET /tables` the way a client would be answered.
//! One [`Health`] is shared by all workers, so switching it off holds for all of them at once.

use std::{
    net::SocketAddr,
    sync::atomic::{AtomicBool, Ordering},
    time::SystemTime,
};

use bytes::Bytes;
use hyper::{
    StatusCode,
    header::{self, HeaderValue},
};

use super::respond::{self, Note, Response};

/// The health check of a server.
#[derive(Debug)]
pub struct Health {
    path: String,
    has_control: bool,
    is_disabled: AtomicBool,
    hostname: String,
    since: SystemTime,
}

/// What is asked of the health check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Asked {
    /// Whether traffic may come.
    State,
    /// That none should come.
    Disable,
    /// That it may come again.
    Enable,
}

/// Whether traffic may come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// It may.
    Available,
    /// The server does not answer as it should.
    Warning,
    /// An operator has switched it off.
    Disabled,
}

impl State {
    fn name(self) -> &'static str {
        match self {
            Self::Available => "AVAILABLE",
            Self::Warning => "WARNING",
            Self::Disabled => "DISABLED",
        }
    }

    fn status(self) -> StatusCode {
        match self {
            Self::Available => StatusCode::OK,
            Self::Warning => StatusCode::INTERNAL_SERVER_ERROR,
            Self::Disabled => StatusCode::BAD_REQUEST,
        }
    }
}

impl Health {
    /// A health check at `path`, which has no slash at its end; with `has_control`, clients may
    /// switch it.
    pub fn new(path: impl Into<String>, has_control: bool) -> Self {
        Self {
            path: path.into(),
            has_control,
            is_disabled: AtomicBool::new(false),
            hostname: rustix::system::uname().nodename().to_string_lossy().into_owned(),
            since: SystemTime::now(),
        }
    }

    /// What a request for this path asks of the health check, if anything.
    pub(super) fn asked(&self, path: &str) -> Option<Asked> {
        match path.strip_prefix(self.path.as_str())? {
            "" | "/" => Some(Asked::State),
            "/disable" if self.has_control => Some(Asked::Disable),
            "/enable" if self.has_control => Some(Asked::Enable),
            _ => None,
        }
    }

    /// Whether an operator has switched traffic off.
    pub fn is_disabled(&self) -> bool {
        self.is_disabled.load(Ordering::Relaxed)
    }

    /// Switches traffic off, for good: the server is to stop.
    pub fn disable(&self) {
        self.is_disabled.store(true, Ordering::Relaxed);
    }

    /// Switches traffic off or on, and answers that it was done.
    pub(super) fn switch(&self, is_disabled: bool) -> Response {
        self.is_disabled.store(is_disabled, Ordering::Relaxed);
        let mut response = respond::plain(StatusCode::NO_CONTENT, "text/plain", Bytes::new());
        self.add_headers(&mut response);
        let word = if is_disabled { "disabled" } else { "enabled" };
        let note = format!("warning: traffic was {word} through {}", self.path);
        response.extensions_mut().insert(Note(note));
        response
    }

    /// The answer for this state; `local` is our end of the connection.
    pub(super) fn answer(&self, state: State, local: SocketAddr) -> Response {
        let text = format!(
            "status={}&ServeTraffic={}&ip={}&hostname={}&port={}&time={}",
            state.name(),
            state == State::Available,
            local.ip().to_canonical(),
            self.hostname,
            local.port(),
            httpdate::fmt_http_date(SystemTime::now()),
        );
        let mut response = respond::plain(state.status(), "text/plain", text.into());
        self.add_headers(&mut response);
        response
    }

    fn add_headers(&self, response: &mut Response) {
        let headers = response.headers_mut();
        headers.insert("since", respond::header_value(&httpdate::fmt_http_date(self.since)));
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
        // Probes of load balancers look for it.
        headers.insert("x-powered-by", HeaderValue::from_static("Cluster2"));
        headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_server_with_control_can_be_switched() {
        let health = Health::new("/up", true);
        assert_eq!(health.asked("/up"), Some(Asked::State));
        assert_eq!(health.asked("/up/"), Some(Asked::State));
        assert_eq!(health.asked("/up/disable"), Some(Asked::Disable));
        assert_eq!(health.asked("/up/enable"), Some(Asked::Enable));
        for path in ["/upper", "/ecv", "/", "", "/up/other", "/up//"] {
            assert_eq!(health.asked(path), None, "{path}");
        }
        let fixed = Health::new("/up", false);
        assert_eq!((fixed.asked("/up"), fixed.asked("/up/disable")), (Some(Asked::State), None));
    }

    #[test]
    fn a_state_has_its_status_and_headers() {
        let health = Health::new("/ecv", true);
        let local = "[::ffff:127.0.0.1]:3000".parse().expect("an address");
        for (state, status) in
            [(State::Available, 200), (State::Warning, 500), (State::Disabled, 400)]
        {
            let response = health.answer(state, local);
            assert_eq!(response.status(), status);
            let header = |name: &str| response.headers()[name].to_str().expect("text").to_owned();
            assert_eq!(header("content-type"), "text/plain");
            assert_eq!(header("cache-control"), "no-cache");
            assert_eq!(header("x-powered-by"), "Cluster2");
            assert!(header("since").ends_with(" GMT"));
        }
    }
}
