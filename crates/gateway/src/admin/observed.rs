//! What there is to see of a server: the handles that the admin listener reads, and sums over workers.

use std::{collections::BTreeMap, sync::Arc, time::SystemTime};

use arc_swap::ArcSwap;
use qlio_engine::meter::HistogramSum;

use super::EventCounts;
use crate::{
    heavy::HeavyPool,
    http::{
        app::Snapshot,
        meter::{CLASSES, RequestSeries, WorkerMeter},
        server::{Phase, ServerView, Stopper},
    },
    reload::Reloads,
    tls::TlsFront,
};

/// A server to look at.
pub(crate) struct Observed {
    /// Catalog, settings and health check.
    pub app: Arc<ArcSwap<Snapshot>>,
    /// Workers and connections.
    pub server: ServerView,
    /// Ends the server.
    pub stopper: Stopper,
    /// What each worker counts.
    pub meters: Vec<Arc<WorkerMeter>>,
    /// The heavy threads.
    pub heavy: Arc<HeavyPool>,
    /// What the server has reported.
    pub events: Arc<EventCounts>,
    /// Reads the app anew.
    pub reloads: Reloads,
    /// The certificates, if there are any.
    pub tls: Option<Arc<TlsFront>>,
    /// When the process began to serve.
    pub started: SystemTime,
}

/// Requests of one method, path and class of statuses, of all workers.
pub(super) struct Requests {
    pub(super) method: String,
    pub(super) route: String,
    /// Its place in [`CLASSES`].
    pub(super) class: usize,
    pub(super) times: HistogramSum,
}

impl Observed {
    /// Whether traffic may come.
    pub(super) fn is_ready(&self) -> bool {
        self.checks().iter().all(|(_, fault)| fault.is_none())
    }

    /// What has to be so for traffic to come, and what is not.
    pub(super) fn checks(&self) -> [(&'static str, Option<&'static str>); 2] {
        let phase = match self.server.phase() {
            Phase::Serving => None,
            Phase::Leaving => Some("the server is about to stop"),
            Phase::Draining => Some("the server finishes what it has begun"),
            Phase::Stopped => Some("the server stops"),
        };
        let is_disabled = self.app.load().health.is_disabled();
        let health = is_disabled.then_some("an operator has switched traffic off");
        [("serving", phase), ("health", health)]
    }

    /// The requests that there were, without what there was none of, each label once.
    pub(super) fn requests(&self) -> Vec<Requests> {
        let mut all = BTreeMap::new();
        let series = self.meters.first().map(|meter| meter.series());
        for place in 0..series.map_or(0, RequestSeries::count) {
            let Some((method, route)) = series.map(|series| series.label(place)) else { break };
            for class in 0..CLASSES.len() {
                let mut times = HistogramSum::default();
                for meter in &self.meters {
                    meter.add_times(place, class, &mut times);
                }
                if times.count() > 0 {
                    all.insert((route.clone(), method.clone(), class), times);
                }
            }
        }
        let requests = all.into_iter().map(|((route, method, class), times)| Requests {
            method,
            route,
            class,
            times,
        });
        requests.collect()
    }
}
