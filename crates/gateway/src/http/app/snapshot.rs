//! What workers answer from: the catalog, the settings of its endpoints, and what lasts from one to the next.

use std::sync::Arc;

use qlio_engine::EngineOptions;

use super::{Drafts, ReloadNews, ReloadTeller};
use crate::{
    config::Effective,
    http::{
        body::BodyLimits,
        disclosure::{ErrorDetail, MetadataScope},
        ecv::Health,
        forwarded::Forwarded,
        gate::Gate,
        logs::{Logs, StdoutLog},
        pace::Pace,
        quota::{KeepLimits, Quotas},
        spans::Traces,
        trace::TraceLevel,
        websocket::SocketLimits,
    },
    load::Loaded,
};

/// What workers answer from: a catalog and the settings that belong to it. It never changes; a reload publishes
/// another one in its place.
pub struct Snapshot {
    /// The catalog and its routes.
    pub loaded: Arc<Loaded>,
    /// What the endpoints allow.
    pub settings: AppSettings,
    /// The settings that hold, for operators.
    pub effective: Vec<Effective>,
    /// What the engines of the workers are made of, but for their meters.
    pub engine: EngineOptions,
    /// What the requests to each route of the catalog are counted as; empty where nobody counts.
    pub places: Vec<usize>,
    /// The health check, the same in all snapshots of a process.
    pub health: Arc<Health>,
    /// Bounds of WebSocket connections.
    pub sockets: SocketLimits,
    /// What clients make us keep, the same in all snapshots of a process.
    pub quotas: Arc<Quotas>,
    /// Log files, if there are any, the same in all snapshots of a process.
    pub logs: Option<Arc<Logs>>,
    /// Who writes routes for the console; only in development mode.
    pub drafts: Option<Drafts>,
    /// Lines on stdout, if somebody wants them, the same in all snapshots of a process.
    pub stdout: Option<Arc<StdoutLog>>,
    /// Traces, if requests can be part of any.
    pub traces: Option<Arc<Traces>>,
    /// What is told of reloads to those who develop the app.
    pub reloads: ReloadNews,
}

impl Snapshot {
    /// A catalog with the defaults of everything that is not said.
    pub fn new(loaded: Arc<Loaded>, settings: AppSettings) -> Self {
        Self {
            loaded,
            settings,
            effective: Vec::new(),
            engine: EngineOptions::default(),
            places: Vec::new(),
            health: Arc::new(Health::new("/ecv", false)),
            sockets: SocketLimits::default(),
            quotas: Arc::new(Quotas::new(&KeepLimits::default())),
            logs: None,
            drafts: None,
            stdout: None,
            traces: None,
            reloads: ReloadTeller::default().news(),
        }
    }
}

/// What the endpoints do and what they allow.
#[derive(Debug, Clone)]
pub struct AppSettings {
    /// `/q` exists (SAF-5).
    pub allows_adhoc: bool,
    /// There is a console (CSL-1).
    pub has_console: bool,
    /// Whose requests may run scripts, and whether this is development mode (SAF-28, SAF-29).
    pub gate: Gate,
    /// What one request body may cost.
    pub body: BodyLimits,
    /// How slowly a client may take what it is told over WebSocket.
    pub answer_pace: Pace,
    /// Name of the header that carries request ids.
    pub request_id_header: String,
    /// How much the bodies of errors say.
    pub errors: ErrorDetail,
    /// How much of the catalog is told.
    pub metadata: MetadataScope,
    /// How much clients may learn of runs.
    pub trace: TraceLevel,
    /// A `callback` wraps the answer in a call.
    pub allows_jsonp: bool,
    /// What is believed of proxies.
    pub forwarded: Forwarded,
    /// Name of the header that tells scripts who a client with a certificate is.
    pub identity_header: Option<String>,
}
