//! What `qlio serve` does for operators: it binds the admin listener before anything serves, counts while the server
//! works, and answers once there is a server to look at.

use std::{io, sync::Arc, time::SystemTime};

use arc_swap::ArcSwap;
use qlio_engine::{Engine, EngineOptions};

use super::report;
use crate::{
    admin::{AdminListener, AdminServer, AdminSettings, EventCounts, Observed},
    heavy::HeavyPool,
    http::{
        app::{Front, HttpApp, ReloadTeller, Snapshot},
        gate::Gate,
        logs::{Logs, StdoutLog},
        meter::{RequestSeries, WorkerMeter},
        server::{Event, EventSink, FactoryError, InheritedListener, Server, WorkerContext},
    },
    reload::Reloads,
    tls::TlsFront,
};

/// What there is for operators, if they are listened to.
pub(super) struct Operators {
    listener: Option<AdminListener>,
    series: Option<Arc<RequestSeries>>,
    meters: Vec<Arc<WorkerMeter>>,
    events: Arc<EventCounts>,
    teller: ReloadTeller,
}

impl Operators {
    /// Binds the listener, and counts from here on what so many workers do, if there is somebody to ask.
    ///
    /// # Errors
    /// It cannot be listened on, or needs a token.
    pub(super) fn listen(
        admin: &AdminSettings,
        gate: Gate,
        workers: usize,
        inherited: Option<InheritedListener>,
    ) -> io::Result<Self> {
        let listener = AdminListener::bind(admin, gate, inherited)?;
        let series = listener.as_ref().map(|_| Arc::<RequestSeries>::default());
        let names = Arc::default();
        let meters = series.iter().flat_map(|series| {
            let meter = |index| WorkerMeter::new(index, Arc::clone(series), Arc::clone(&names));
            (0..workers.max(1)).map(move |index| Arc::new(meter(index)))
        });
        let meters = meters.collect();
        Ok(Self {
            listener,
            series,
            meters,
            events: Arc::default(),
            teller: ReloadTeller::default(),
        })
    }

    /// What requests are counted as.
    pub(super) fn series(&self) -> Option<Arc<RequestSeries>> {
        self.series.clone()
    }

    /// Tells pages of reloads.
    pub(super) fn teller(&self) -> ReloadTeller {
        self.teller.clone()
    }

    /// What each of the workers counts.
    pub(super) fn meters(&self) -> Vec<Arc<WorkerMeter>> {
        self.meters.clone()
    }

    /// Tells events, also in the log files and on stdout if somebody wants them there, and counts them.
    pub(super) fn events(
        &self,
        logs: Option<Arc<Logs>>,
        stdout: Option<Arc<StdoutLog>>,
    ) -> EventSink {
        let (counts, teller) = (Arc::clone(&self.events), self.teller());
        Arc::new(move |event: Event| {
            counts.count(&event);
            teller.take(&event);
            report::note(&event.to_string());
            if let Some(logs) = &logs {
                logs.event(&event);
            }
            if let Some(stdout) = &stdout {
                stdout.event(&event);
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
        app: Arc<ArcSwap<Snapshot>>,
        heavy: Arc<HeavyPool>,
        reloads: Reloads,
        events: EventSink,
        tls: Option<Arc<TlsFront>>,
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
            reloads,
            tls,
            started: SystemTime::now(),
        };
        listener.serve(observed, events).map(Some)
    }
}

/// The endpoints of one worker, and the engine below them, which tell its meter what they do.
///
/// # Errors
/// Settings that the engine cannot use.
pub(super) fn worker_front(
    published: &Arc<ArcSwap<Snapshot>>,
    meters: &[Arc<WorkerMeter>],
    events: EventSink,
    context: WorkerContext,
) -> Result<Front, FactoryError> {
    let meter = meters.get(context.index).cloned();
    let counts = meter.as_ref().map(|meter| Arc::clone(&meter.engine));
    let snapshot = published.load_full();
    let engine = Engine::new(EngineOptions { meter: counts, ..snapshot.engine.clone() })?;
    if let Some(meter) = &meter {
        meter.attach(engine.transport_view());
    }
    let app = HttpApp::new(snapshot, engine, context.pulse).metered(meter);
    Ok(Front::new(Arc::clone(published), app, events))
}
