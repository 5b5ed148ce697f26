//! Settings of what clients see beside the answers of routes.

use std::{path::PathBuf, time::Duration};

use crate::{
    admin::AdminSettings,
    heavy::HeavySettings,
    http::{
        body::BodyLimits,
        disclosure::{ErrorDetail, MetadataScope},
        gate::TrustSettings,
        logs::{LogFormat, LogLevel},
        pace::Pace,
        quota::KeepLimits,
        server::ServerLimits,
        spans::TraceSettings,
        trace::TraceLevel,
        websocket::SocketLimits,
    },
    tls::TlsSettings,
};

/// Settings of the endpoints, of what answers tell, and of the log files.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a setting of its own")]
pub struct FrontSettings {
    /// Scripts of clients are answered, at `/q` and over WebSocket.
    pub adhoc: bool,
    /// There is a console.
    pub console: bool,
    /// How much the body of an error says.
    pub errors: ErrorDetail,
    /// How much of the catalog is told.
    pub metadata: MetadataScope,
    /// How much clients may learn of runs.
    pub trace: TraceLevel,
    /// Answers are wrapped in a call if the query names a `callback`.
    pub jsonp: bool,
    /// The path of the health check.
    pub ecv_path: String,
    /// The health check can be switched by `POST`.
    pub ecv_control: bool,
    /// Whose requests may run scripts.
    pub trust: TrustSettings,
    /// Bounds of WebSocket connections.
    pub sockets: SocketLimits,
    /// Open connections of clients.
    pub connections_max: usize,
    /// How slowly the body of a request may come.
    pub body_pace: Pace,
    /// How slowly a client may take an answer.
    pub answer_pace: Pace,
    /// How much clients may make us keep.
    pub keep: KeepLimits,
    /// The heavy threads.
    pub heavy: HeavySettings,
    /// The folder for log files.
    pub logs: Option<PathBuf>,
    /// What stands on stdout.
    pub stdout: LogFormat,
    /// How much of it.
    pub log_level: LogLevel,
    /// Traces.
    pub traces: TraceSettings,
    /// The listener for operators.
    pub admin: AdminSettings,
    /// How long connections are still taken once the server is to stop.
    pub drain_delay: Duration,
    /// How long requests under way may take to end once the server stops.
    pub grace: Duration,
    /// Where clients are listened to.
    pub listen: ListenSettings,
    /// Certificates.
    pub tls: TlsSettings,
}

/// Settings of where clients are listened to, and of what is spoken there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListenSettings {
    /// Places, as [`ListenText`](crate::http::server::ListenText) reads them.
    pub places: Vec<String>,
    /// HTTP/2 without TLS.
    pub plain_http2: bool,
    /// Requests of one connection of HTTP/2 at a time.
    pub streams_max: u32,
}

impl Default for ListenSettings {
    fn default() -> Self {
        let streams_max = ServerLimits::default().streams_max;
        Self { places: Vec::new(), plain_http2: false, streams_max }
    }
}

impl Default for FrontSettings {
    fn default() -> Self {
        Self {
            adhoc: false,
            console: false,
            errors: ErrorDetail::default(),
            metadata: MetadataScope::default(),
            trace: TraceLevel::default(),
            jsonp: false,
            ecv_path: "/ecv".to_owned(),
            ecv_control: false,
            trust: TrustSettings::default(),
            sockets: SocketLimits::default(),
            connections_max: ServerLimits::default().connections_max,
            body_pace: BodyLimits::default().pace,
            answer_pace: ServerLimits::default().answer_pace,
            keep: KeepLimits::default(),
            heavy: HeavySettings::default(),
            logs: None,
            stdout: LogFormat::default(),
            log_level: LogLevel::default(),
            traces: TraceSettings::default(),
            admin: AdminSettings::default(),
            drain_delay: Duration::ZERO,
            grace: ServerLimits::default().drain_timeout,
            listen: ListenSettings::default(),
            tls: TlsSettings::default(),
        }
    }
}

impl FrontSettings {
    /// What `--dev` gives: who develops an app may know everything.
    pub(super) fn development() -> Self {
        Self {
            adhoc: true,
            console: true,
            errors: ErrorDetail::Full,
            metadata: MetadataScope::All,
            trace: TraceLevel::Full,
            ..Self::default()
        }
    }
}

/// Whether the health check can stand at this path.
pub(super) fn is_health_path(path: &str) -> bool {
    path.len() > 1
        && path.starts_with('/')
        && !path.ends_with('/')
        && path.bytes().all(|byte| byte.is_ascii_graphic() && !matches!(byte, b'?' | b'#'))
}
