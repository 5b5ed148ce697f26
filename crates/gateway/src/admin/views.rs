//! What the endpoints tell as JSON: catalog, settings, upstreams, requests under way, and all at a glance.

use std::{collections::BTreeMap, time::Duration};

use qlio_data::{Object, Value, redact::redact};
use qlio_engine::{
    meter::{HistogramSum, Outcome},
    transport::shown_uri,
};
use qlio_syntax::diagnostic::{Diagnostic, Severity};

use super::{Observed, process};
use crate::{
    http::{
        meter::{CLASSES, InFlight, WorkerMeter},
        server::WorkerView,
    },
    reload::Outcome as Reloaded,
};

/// Requests and upstreams that one answer lists; the oldest and the busiest come first.
const LISTED_MAX: usize = 1_000;

fn object<const N: usize>(members: [(&str, Value); N]) -> Value {
    Value::object(members.into_iter().collect::<Object>())
}

fn number(number: impl TryInto<i64>) -> Value {
    Value::int(number.try_into().unwrap_or(i64::MAX))
}

fn milliseconds(time: Duration) -> Value {
    number(time.as_millis())
}

/// The mean of some times in microseconds; null of none.
fn mean(times: &HistogramSum) -> Value {
    times.sum_us.checked_div(times.count()).map_or(Value::Null, number)
}

/// Tables, routes, problems, and what tells this catalog from others.
pub(super) fn catalog(observed: &Observed) -> Value {
    let snapshot = observed.app.load();
    let loaded = &snapshot.loaded;
    let tables = loaded.catalog.tables().iter().map(|table| {
        let verbs = table.verbs().map(|verb| {
            object([
                ("verb", Value::from(verb.kind.as_str())),
                ("uri", Value::from(shown_uri(verb.uri.text()))),
            ])
        });
        object([
            ("name", Value::from(table.name.clone())),
            ("file", Value::from(&*table.file)),
            ("line", number(table.line)),
            ("broken", table.broken.as_deref().map_or(Value::Null, Value::from)),
            ("verbs", verbs.collect()),
        ])
    });
    let routes = loaded.catalog.routes().iter().map(|route| {
        object([
            ("method", Value::from(route.method.to_ascii_uppercase())),
            ("path", Value::from(route.path.as_str())),
            ("file", Value::from(&*route.file)),
        ])
    });
    let problems = loaded.problems.iter().flat_map(|file| {
        file.diagnostics.iter().map(|problem| problem_of(&file.file, &file.text, problem))
    });
    let told = object([
        ("hash", Value::from(loaded.fingerprint.as_str())),
        ("tables", tables.collect()),
        ("routes", routes.collect()),
        ("problems", problems.collect()),
    ]);
    redact(told, loaded.catalog.secrets())
}

/// A problem of a file, for programs.
pub(crate) fn problem_of(file: &str, text: &str, problem: &Diagnostic) -> Value {
    let before = text.get(..problem.primary.span.start as usize).unwrap_or_default();
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    let severity = match problem.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
    };
    object([
        ("file", Value::from(file)),
        ("line", number(line)),
        ("column", number(column)),
        ("severity", Value::from(severity)),
        ("code", Value::from(problem.code.to_string())),
        ("message", Value::from(problem.message.as_str())),
    ])
}

/// The settings that hold; secrets are redacted.
pub(super) fn config(observed: &Observed) -> Value {
    let snapshot = observed.app.load();
    let settings = snapshot.effective.iter().map(|setting| {
        object([
            ("name", Value::from(setting.name.as_str())),
            ("value", setting.value.clone()),
            ("origin", Value::from(setting.origin.to_string())),
        ])
    });
    object([("settings", settings.collect())])
}

/// What is known of one upstream, of all workers.
#[derive(Default)]
struct Upstream {
    in_flight: usize,
    waiting: usize,
    idle: usize,
    shared: usize,
    times: HistogramSum,
    outcomes: BTreeMap<&'static str, u64>,
}

/// What the response cache is made of, and how much of its memory is used.
pub(super) fn cache(observed: &Observed) -> Value {
    let snapshot = observed.app.load();
    let Some(cache) = &snapshot.engine.cache else {
        return object([("settings", Value::Null), ("memory", Value::Null)]);
    };
    let memory = cache.used().map_or(Value::Null, |used| {
        object([
            ("entries", number(used.entries)),
            ("bytes", number(used.bytes)),
            ("maxBytes", number(used.bytes_max)),
        ])
    });
    object([("settings", cache.settings().shown()), ("memory", memory)])
}

/// How reading the app anew ended.
pub(super) fn reload(outcome: Reloaded) -> Value {
    let Reloaded { verdict, message, hash, problems, restart } = outcome;
    object([
        ("result", Value::from(verdict.name())),
        ("message", Value::from(message)),
        ("hash", Value::from(hash)),
        ("problems", problems),
        ("restart", restart.into_iter().map(Value::from).collect()),
    ])
}

/// Connections, requests and failures by upstream.
pub(super) fn upstreams(observed: &Observed) -> Value {
    let mut upstreams: BTreeMap<String, Upstream> = BTreeMap::new();
    let mut failing = BTreeMap::new();
    for meter in &observed.meters {
        for series in meter.engine.upstreams() {
            let counts = Outcome::ALL.map(|outcome| (outcome.name(), series.count(outcome)));
            if counts.iter().all(|(_, count)| *count == 0) {
                continue;
            }
            let upstream = upstreams.entry(series.origin.to_string()).or_default();
            series.time.add_to(&mut upstream.times);
            for (name, count) in counts.into_iter().filter(|(_, count)| *count > 0) {
                *upstream.outcomes.entry(name).or_default() += count;
            }
        }
        let Some(view) = meter.transport() else { continue };
        for (origin, connections) in BTreeMap::from_iter(view.connections()) {
            let upstream = upstreams.entry(origin.into()).or_default();
            upstream.in_flight += connections.in_flight;
            upstream.waiting += connections.waiting;
            upstream.idle += connections.idle;
            upstream.shared += connections.shared;
        }
        for target in view.failing() {
            let known = failing.entry(target.target).or_insert((0, Duration::ZERO, 0));
            known.0 = target.failures.max(known.0);
            known.1 = target.closed_for.max(known.1);
            known.2 += usize::from(!target.closed_for.is_zero());
        }
    }
    let mut upstreams: Vec<_> = upstreams.into_iter().collect();
    upstreams.sort_by_key(|(_, upstream)| std::cmp::Reverse(upstream.times.count()));
    let count = upstreams.len();
    let upstreams = upstreams.into_iter().take(LISTED_MAX).map(|(origin, upstream)| {
        let outcomes = upstream.outcomes.into_iter();
        let outcomes: Object = outcomes.map(|(name, count)| (name, number(count))).collect();
        object([
            ("upstream", Value::from(origin)),
            ("inFlight", number(upstream.in_flight)),
            ("waiting", number(upstream.waiting)),
            ("idle", number(upstream.idle)),
            ("shared", number(upstream.shared)),
            ("requests", number(upstream.times.count())),
            ("meanUs", mean(&upstream.times)),
            ("outcomes", Value::object(outcomes)),
        ])
    });
    let failing =
        failing.into_iter().take(LISTED_MAX).map(|(target, (failures, left, workers))| {
            object([
                ("target", Value::from(target)),
                ("failures", number(failures)),
                ("closedForMs", milliseconds(left)),
                ("closedByWorkers", number(workers)),
            ])
        });
    let told = object([
        ("count", number(count)),
        ("upstreams", upstreams.collect()),
        ("failing", failing.collect()),
    ]);
    redact(told, observed.app.load().loaded.catalog.secrets())
}

/// The requests that wait for something, the oldest first.
pub(super) fn in_flight(observed: &Observed) -> Value {
    let requests = observed.meters.iter().flat_map(|meter| meter.in_flight());
    let mut requests: Vec<InFlight> = requests.collect();
    requests.sort_by_key(|request| std::cmp::Reverse(request.age));
    let count = requests.len();
    let requests = requests.into_iter().take(LISTED_MAX).map(|request| {
        object([
            ("id", Value::from(request.id)),
            ("ageMs", milliseconds(request.age)),
            ("method", Value::from(request.method.as_str())),
            ("path", Value::from(request.path)),
            ("route", Value::from(request.route)),
            ("client", Value::from(request.client.to_string())),
            ("requestId", Value::from(request.request_id)),
        ])
    });
    let told = object([("count", number(count)), ("requests", requests.collect())]);
    redact(told, observed.app.load().loaded.catalog.secrets())
}

/// Everything at a glance, for the page and for programs.
pub(super) fn overview(observed: &Observed) -> Value {
    let workers = observed.server.workers().zip(&observed.meters).map(worker);
    let usage = process::usage();
    let load = observed.heavy.load();
    let events = observed.events.all().map(|(name, count)| (name, number(count)));
    object([
        ("version", Value::from(env!("CARGO_PKG_VERSION"))),
        ("catalog", Value::from(observed.app.load().loaded.fingerprint.as_str())),
        ("ready", Value::Bool(observed.is_ready())),
        ("startedMs", number(process::unix_ms(observed.started))),
        ("memoryBytes", number(usage.memory_bytes)),
        ("cpuMs", milliseconds(usage.cpu)),
        ("openFiles", number(usage.open_files)),
        ("workers", workers.collect()),
        ("routes", routes(observed)),
        ("abandoned", number(observed.meters.iter().map(|meter| meter.abandoned()).sum::<u64>())),
        ("events", Value::object(events.collect::<Object>())),
        (
            "heavy",
            object([
                ("busy", number(load.busy)),
                ("free", number(load.free)),
                ("waiting", number(load.waiting)),
            ]),
        ),
        ("upstreams", upstreams(observed)),
    ])
}

fn worker((view, meter): (WorkerView, &std::sync::Arc<WorkerMeter>)) -> Value {
    object([
        ("worker", number(meter.index)),
        ("connections", number(view.connections)),
        ("inFlight", number(meter.active())),
        ("lagMs", milliseconds(view.lag)),
    ])
}

/// Requests by route, with a count for each class of statuses.
fn routes(observed: &Observed) -> Value {
    let mut routes: BTreeMap<(String, String), ([u64; CLASSES.len()], HistogramSum)> =
        BTreeMap::new();
    for request in observed.requests() {
        let (classes, times) = routes.entry((request.route, request.method)).or_default();
        classes[request.class] += request.times.count();
        times.sum_us += request.times.sum_us;
        for (sum, count) in times.buckets.iter_mut().zip(request.times.buckets) {
            *sum += count;
        }
    }
    let route = |((route, method), (classes, times)): (_, ([u64; CLASSES.len()], HistogramSum))| {
        let (route, method): (String, String) = (route, method);
        let classes: Object =
            CLASSES.into_iter().zip(classes).map(|(class, count)| (class, number(count))).collect();
        object([
            ("method", Value::from(method)),
            ("route", Value::from(route)),
            ("requests", number(times.count())),
            ("classes", Value::object(classes)),
            ("meanUs", mean(&times)),
        ])
    };
    routes.into_iter().map(route).collect()
}
