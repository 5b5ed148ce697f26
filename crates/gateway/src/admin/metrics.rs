//! All numbers that there are, by name, and where each comes from.
//!
//! In: the counters of the workers. Out: the text of `/metrics`. The names are those of OpenTelemetry where it has one,
//! in the form that Prometheus gives them, else they begin with `qlio_`. `docs/operating/observe.md` lists them; a test
//! compares (OBS-3).

use std::collections::BTreeMap;

use qlio_engine::{
    meter::{HistogramSum, Meter, Outcome},
    transport::TransportView,
};
use qlio_syntax::{ast::RunLimit, diagnostic::Severity};

use super::{
    Observed,
    exposition::{Exposition, Family, Format, Kind, in_seconds},
    process,
};
use crate::{
    http::{
        meter::{CLASSES, WorkerMeter},
        server::ServerView,
    },
    reload::Verdict,
};

const fn family(
    name: &'static str,
    kind: Kind,
    labels: &'static [&'static str],
    help: &'static str,
) -> Family {
    Family { name, kind, labels, help }
}

const REQUESTS: Family = family(
    "http_server_request_duration_seconds",
    Kind::Histogram,
    &["http_request_method", "http_route", "status_class"],
    "Time from the head of a request to its answer.",
);
const ACTIVE: Family =
    family("http_server_active_requests", Kind::Gauge, &[], "Requests under way.");
const ABANDONED: Family = family(
    "qlio_requests_abandoned",
    Kind::Counter,
    &[],
    "Requests whose client left before the answer.",
);
const STOPPED: Family =
    family("qlio_requests_stopped", Kind::Counter, &[], "Requests that an operator has stopped.");
const CONNECTIONS: Family =
    family("qlio_connections", Kind::Gauge, &["worker"], "Open connections of clients.");
const LAG: Family = family(
    "qlio_worker_lag_seconds",
    Kind::Gauge,
    &["worker"],
    "How long something new waits for the next turn of a worker.",
);
const EVENTS: Family = family(
    "qlio_server_events",
    Kind::Counter,
    &["event"],
    "Panics, faults, failed connections, timeouts of clients.",
);
const EXCHANGES: Family = family(
    "http_client_request_duration_seconds",
    Kind::Histogram,
    &["qlio_table", "url_scheme", "server_address", "server_port"],
    "Time of a request to an upstream, waiting and retries included.",
);
const OUTCOMES: Family = family(
    "qlio_upstream_requests",
    Kind::Counter,
    &["qlio_table", "url_scheme", "server_address", "server_port", "outcome"],
    "Requests to upstreams by their end.",
);
const RETRIES: Family = family(
    "qlio_upstream_retries",
    Kind::Counter,
    &["qlio_table", "url_scheme", "server_address", "server_port"],
    "Attempts after the first.",
);
const POOL: Family = family(
    "qlio_pool_connections",
    Kind::Gauge,
    &["state"],
    "Connections to upstreams that wait for a request, and those that requests share.",
);
const POOL_QUEUE: Family = family(
    "qlio_pool_requests",
    Kind::Gauge,
    &["state"],
    "Requests to upstreams under way, and those that wait for their turn.",
);
const CLOSED: Family = family(
    "qlio_upstreams_closed",
    Kind::Gauge,
    &[],
    "Targets that workers leave alone because they have failed.",
);
const CACHE: Family = family(
    "qlio_cache_requests",
    Kind::Counter,
    &["result"],
    "Requests that the response cache was asked for.",
);
const LIMITS: Family = family(
    "qlio_limit_hits",
    Kind::Counter,
    &["limit"],
    "Runs that were refused more of something.",
);
const SCRIPTS: Family =
    family("qlio_script_seconds", Kind::Counter, &[], "Processor time of hooks and functions.");
const HEAVY: Family =
    family("qlio_heavy_threads", Kind::Gauge, &["state"], "Threads for large work.");
const HEAVY_WAITING: Family =
    family("qlio_heavy_jobs_waiting", Kind::Gauge, &[], "Jobs that wait for such a thread.");
const SPANS: Family = family(
    "qlio_spans",
    Kind::Counter,
    &["outcome"],
    "Spans that a collector has taken (`sent`), and those that were dropped.",
);
const READY: Family =
    family("qlio_ready", Kind::Gauge, &[], "1 if traffic may come, as `/readyz` says.");
const CATALOG: Family = family(
    "qlio_catalog_entries",
    Kind::Gauge,
    &["kind"],
    "Tables and routes that are loaded, and errors and warnings found.",
);
const CATALOG_INFO: Family =
    family("qlio_catalog_info", Kind::Gauge, &["hash"], "1; the label names the catalog.");
const RELOADS: Family = family(
    "qlio_reloads",
    Kind::Counter,
    &["result"],
    "How often the app was read anew, by how that ended.",
);
const RELOADED: Family = family(
    "qlio_config_last_reload_successful",
    Kind::Gauge,
    &[],
    "0 if the last reload was refused, so that what is served is not what the files say.",
);
const RELOADED_AT: Family = family(
    "qlio_config_last_reload_success_timestamp_seconds",
    Kind::Gauge,
    &[],
    "When what is served was last what the files say, in seconds since 1970.",
);
const BUILD: Family =
    family("qlio_build_info", Kind::Gauge, &["version"], "1; the label names the program.");
const CERTIFICATES: Family = family(
    "qlio_tls_certificate_expiry_timestamp_seconds",
    Kind::Gauge,
    &[],
    "When the first of the certificates in use expires, in seconds since 1970.",
);
const CPU: Family =
    family("process_cpu_seconds", Kind::Counter, &[], "Processor time of the process.");
const MEMORY: Family =
    family("process_resident_memory_bytes", Kind::Gauge, &[], "Memory that is resident.");
const FILES: Family = family("process_open_fds", Kind::Gauge, &[], "Open files and sockets.");
const START: Family = family(
    "process_start_time_seconds",
    Kind::Gauge,
    &[],
    "Start of the process, in seconds since 1970.",
);

/// All families, in the order in which they are told.
pub const FAMILIES: &[Family] = &[
    REQUESTS,
    ACTIVE,
    ABANDONED,
    STOPPED,
    CONNECTIONS,
    LAG,
    EVENTS,
    EXCHANGES,
    OUTCOMES,
    RETRIES,
    POOL,
    POOL_QUEUE,
    CLOSED,
    CACHE,
    LIMITS,
    SCRIPTS,
    HEAVY,
    HEAVY_WAITING,
    SPANS,
    READY,
    CATALOG,
    CATALOG_INFO,
    RELOADS,
    RELOADED,
    RELOADED_AT,
    BUILD,
    CERTIFICATES,
    CPU,
    MEMORY,
    FILES,
    START,
];

/// The text of `/metrics`.
pub(super) fn write(observed: &Observed, format: Format) -> String {
    let mut exposition = Exposition::new(format);
    write_requests(observed, &mut exposition);
    write_workers(observed, &observed.server, &mut exposition);
    write_upstreams(observed, &mut exposition);
    write_runs(observed, &mut exposition);
    write_catalog(observed, &mut exposition);
    write_process(observed, &mut exposition);
    exposition.finish()
}

fn write_requests(observed: &Observed, exposition: &mut Exposition) {
    let mut family = exposition.family(REQUESTS);
    for request in observed.requests() {
        let labels = [&*request.method, &*request.route, CLASSES[request.class]];
        family.times(&labels, &request.times);
    }
    let sum = |of: fn(&WorkerMeter) -> u64| -> u64 {
        observed.meters.iter().map(|meter| of(meter)).sum()
    };
    exposition.family(ACTIVE).number(&[], sum(WorkerMeter::active));
    exposition.family(ABANDONED).number(&[], sum(WorkerMeter::abandoned));
    exposition.family(STOPPED).number(&[], sum(WorkerMeter::stopped));
}

fn write_workers(observed: &Observed, server: &ServerView, exposition: &mut Exposition) {
    let mut family = exposition.family(CONNECTIONS);
    for (index, worker) in server.workers().enumerate() {
        family.number(&[&index.to_string()], worker.connections);
    }
    let mut family = exposition.family(LAG);
    for (index, worker) in server.workers().enumerate() {
        let us = u64::try_from(worker.lag.as_micros()).unwrap_or(u64::MAX);
        family.number(&[&index.to_string()], in_seconds(us));
    }
    let mut family = exposition.family(EVENTS);
    for (event, count) in observed.events.all() {
        family.number(&[event], count);
    }
}

/// Exchanges of one table with one upstream, of all workers.
#[derive(Default)]
struct Exchanges {
    times: HistogramSum,
    outcomes: [u64; Outcome::ALL.len()],
    retries: u64,
}

fn write_upstreams(observed: &Observed, exposition: &mut Exposition) {
    let mut all: BTreeMap<(String, String), Exchanges> = BTreeMap::new();
    for series in observed.meters.iter().flat_map(|meter| meter.engine.upstreams()) {
        let sum = all.entry((series.table.to_string(), series.origin.to_string())).or_default();
        series.time.add_to(&mut sum.times);
        for (sum, outcome) in sum.outcomes.iter_mut().zip(Outcome::ALL) {
            *sum += series.count(outcome);
        }
        sum.retries += series.retries.get();
    }
    all.retain(|_, exchanges| exchanges.outcomes.iter().any(|count| *count > 0));
    let mut family = exposition.family(EXCHANGES);
    for ((table, origin), exchanges) in &all {
        let [scheme, host, port] = split_origin(origin);
        family.times(&[table, scheme, host, port], &exchanges.times);
    }
    let mut family = exposition.family(OUTCOMES);
    for ((table, origin), exchanges) in &all {
        let [scheme, host, port] = split_origin(origin);
        for (count, outcome) in exchanges.outcomes.iter().zip(Outcome::ALL) {
            if *count > 0 {
                family.number(&[table, scheme, host, port, outcome.name()], count);
            }
        }
    }
    let mut family = exposition.family(RETRIES);
    for ((table, origin), exchanges) in &all {
        let [scheme, host, port] = split_origin(origin);
        family.number(&[table, scheme, host, port], exchanges.retries);
    }
    let pools = observed.meters.iter().filter_map(|meter| meter.transport());
    let pools: Vec<_> = pools.collect();
    let mut counts = [0; 4];
    for pool in pools.iter().flat_map(|view| view.connections().into_values()) {
        let of_pool = [pool.idle, pool.shared, pool.in_flight, pool.waiting];
        counts = std::array::from_fn(|index| counts[index] + of_pool[index]);
    }
    let [idle, shared, in_flight, waiting] = counts;
    let mut family = exposition.family(POOL);
    family.number(&["idle"], idle);
    family.number(&["shared"], shared);
    let mut family = exposition.family(POOL_QUEUE);
    family.number(&["in_flight"], in_flight);
    family.number(&["waiting"], waiting);
    let failing = pools.iter().flat_map(TransportView::failing);
    let closed = failing.filter(|failing| !failing.closed_for.is_zero()).count();
    exposition.family(CLOSED).number(&[], closed);
}

fn write_runs(observed: &Observed, exposition: &mut Exposition) {
    let sum = |of: fn(&Meter) -> u64| -> u64 {
        observed.meters.iter().map(|meter| of(&meter.engine)).sum()
    };
    let mut family = exposition.family(CACHE);
    family.number(&["hit"], sum(|meter| meter.cache_hits.get()));
    family.number(&["miss"], sum(|meter| meter.cache_misses.get()));
    let mut family = exposition.family(LIMITS);
    for limit in RunLimit::ALL {
        let refusals: u64 = observed.meters.iter().map(|meter| meter.engine.refusals(limit)).sum();
        family.number(&[limit.name()], refusals);
    }
    exposition.family(SCRIPTS).number(&[], in_seconds(sum(|meter| meter.script_us.get())));
    let load = observed.heavy.load();
    let mut family = exposition.family(HEAVY);
    family.number(&["busy"], load.busy);
    family.number(&["free"], load.free);
    exposition.family(HEAVY_WAITING).number(&[], load.waiting);
    let mut family = exposition.family(SPANS);
    if let Some(counts) = observed.app.load().traces.as_ref().and_then(|traces| traces.counts()) {
        family.number(&["sent"], counts.sent);
        family.number(&["dropped"], counts.dropped);
    }
}

fn write_catalog(observed: &Observed, exposition: &mut Exposition) {
    exposition.family(READY).number(&[], u8::from(observed.is_ready()));
    let snapshot = observed.app.load();
    let loaded = &snapshot.loaded;
    let problems = |severity: Severity| {
        let problems = loaded.problems.iter().flat_map(|file| &file.diagnostics);
        problems.filter(|problem| problem.severity == severity).count()
    };
    let mut family = exposition.family(CATALOG);
    family.number(&["table"], loaded.catalog.tables().len());
    family.number(&["route"], loaded.matcher.len());
    family.number(&["error"], problems(Severity::Error));
    family.number(&["warning"], problems(Severity::Warning));
    exposition.family(CATALOG_INFO).number(&[&loaded.fingerprint], 1);
    let mut family = exposition.family(RELOADS);
    for verdict in Verdict::ALL {
        family.number(&[verdict.name()], observed.reloads.count(verdict));
    }
    let is_refused = observed.reloads.refused().is_some();
    exposition.family(RELOADED).number(&[], u8::from(!is_refused));
    let at = observed.reloads.succeeded().unwrap_or(observed.started);
    let at_us = process::unix_ms(at).saturating_mul(1_000);
    exposition.family(RELOADED_AT).number(&[], in_seconds(at_us));
    exposition.family(BUILD).number(&[env!("CARGO_PKG_VERSION")], 1);
    let mut family = exposition.family(CERTIFICATES);
    if let Some(tls) = &observed.tls {
        family.number(&[], tls.expires_at());
    }
}

fn write_process(observed: &Observed, exposition: &mut Exposition) {
    let usage = process::usage();
    let cpu = u64::try_from(usage.cpu.as_micros()).unwrap_or(u64::MAX);
    exposition.family(CPU).number(&[], in_seconds(cpu));
    exposition.family(MEMORY).number(&[], usage.memory_bytes);
    exposition.family(FILES).number(&[], usage.open_files);
    let started = process::unix_ms(observed.started);
    exposition.family(START).number(&[], in_seconds(started.saturating_mul(1_000)));
}

/// Scheme, host and port; what is no origin stands in the place of the host.
fn split_origin(origin: &str) -> [&str; 3] {
    let Some((scheme, authority)) = origin.split_once("://") else { return ["", origin, ""] };
    let (host, port) = authority.rsplit_once(':').unwrap_or((authority, ""));
    [scheme, host.trim_matches(['[', ']']), port]
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn every_family_has_a_name_of_its_own() {
        let names: HashSet<_> = FAMILIES.iter().map(|family| family.name).collect();
        assert_eq!(names.len(), FAMILIES.len());
    }

    #[test]
    fn an_origin_has_three_parts() {
        assert_eq!(split_origin("https://a.test:443"), ["https", "a.test", "443"]);
        assert_eq!(split_origin("http://[::1]:80"), ["http", "::1", "80"]);
        assert_eq!(split_origin("other"), ["", "other", ""]);
    }
}
