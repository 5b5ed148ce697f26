//! What `qlio serve` does for operators: it binds the admin listener before anything serves, counts while the server
//! works, and answers once there is a server to look at.

use std::{io, sync::Arc, time::SystemTime};

use qlio_engine::{Engine, EngineOptions};

use super::report;
use crate::{
    admin::{AdminListener, AdminServer, AdminSettings, EventCounts, Observed},
    config::Effective,
    heavy::HeavyPool,
    http::{
        app::{HttpApp, Shared},
        gate::Gate,
        logs::Logs,
        meter::{RequestSeries, WorkerMeter},
        server::{Event, EventSink, FactoryError, Server, WorkerContext},
    },
    load::Loaded,
};

/// What there is for operators, if they are listened to.
pub(super) struct Operators {
    listener: Option<AdminListener>,
    settings: Vec<Effective>,
    meters: Vec<Arc<WorkerMeter>>,
    events: Arc<EventCounts>,
}

impl Operators {
    /// Binds the listener; `settings` are told there.
    ///
    /// # Errors
    /// It cannot be listened on, or needs a token.
    pub(super) fn listen(
        admin: &AdminSettings,
        settings: Vec<Effective>,
        gate: Gate,
    ) -> io::Result<Self> {
        let listener = AdminListener::bind(admin, gate)?;
        Ok(Self { listener, settings, meters: Vec::new(), events: Arc::default() })
    }

    /// Counts from here on what so many workers do with this catalog, if there is somebody to ask.
    pub(super) fn count(&mut self, workers: usize, loaded: &Loaded) {
        if self.listener.is_none() {
            return;
        }
        let series = Arc::new(RequestSeries::of(&loaded.catalog));
        let names = Arc::default();
        let meter = |index| WorkerMeter::new(index, Arc::clone(&series), Arc::clone(&names));
        self.meters = (0..workers.max(1)).map(|index| Arc::new(meter(index))).collect();
    }

    /// What each of the workers counts.
    pub(super) fn meters(&self) -> Vec<Arc<WorkerMeter>> {
        self.meters.clone()
    }

    /// Tells events, in the log if there is one, and counts them.
    pub(super) fn events(&self, logs: Option<Arc<Logs>>) -> EventSink {
        let counts = Arc::clone(&self.events);
        Arc::new(move |event: Event| {
            counts.count(&event);
            report::note(&event.to_string());
            if let Some(logs) = &logs {
                logs.event(&event);
            }
        })
    }

    /// Answers operators from here on.
    ///
    /// # Errors
    /// There can be no thread for it.
    pub(super) fn answer(
        self,
        server: &Server,
        app: Arc<Shared>,
        heavy: Arc<HeavyPool>,
        events: EventSink,
    ) -> io::Result<Option<AdminServer>> {
        let Some(listener) = self.listener else { return Ok(None) };
        report::note(&format!("admin listener on {}", listener.address()));
        let observed = Observed {
            app,
            server: server.view(),
            stopper: server.stopper(),
            meters: self.meters,
            heavy,
            events: self.events,
            settings: self.settings,
            started: SystemTime::now(),
        };
        listener.serve(observed, events).map(Some)
    }
}

/// The endpoints of one worker, and the engine below them, which tell its meter what they do.
///
/// # Errors
/// Settings that the engine cannot use.
pub(super) fn worker_app(
    shared: &Arc<Shared>,
    engine: &EngineOptions,
    meters: &[Arc<WorkerMeter>],
    context: WorkerContext,
) -> Result<HttpApp, FactoryError> {
    let meter = meters.get(context.index).cloned();
    let counts = meter.as_ref().map(|meter| Arc::clone(&meter.engine));
    let engine = Engine::new(EngineOptions { meter: counts, ..engine.clone() })?;
    if let Some(meter) = &meter {
        meter.attach(engine.transport_view());
    }
    Ok(HttpApp::new(Arc::clone(shared), engine, context.pulse).metered(meter))
}
