//! All settings, one row for each: name, place in the typed settings, bounds, documentation.
//!
//! Reading, unknown names, the reference page, the JSON schema and `qlio config show` come from these
//! rows. A new setting is a field of the typed settings, with its default there, and one row here.

mod admin;
mod connections;
mod listen;
mod stdout;
mod stopping;
mod traces;

use qlio_engine::transport::HostPattern;
use qlio_syntax::limits::ROUTE_DEADLINE_MS_MAX;

use super::{
    front::is_health_path,
    setting::{Setting, TextRule},
};
use crate::http::gate::is_origin_pattern;

/// Settings on one topic.
pub(super) struct Group {
    /// The heading on the reference page.
    pub(super) title: &'static str,
    /// In the order of the page.
    pub(super) settings: &'static [Setting],
}

/// All settings.
pub(super) fn all() -> impl Iterator<Item = &'static Setting> + Clone {
    GROUPS.iter().flat_map(|group| group.settings)
}

/// Whether a path is that of a setting that guards the server, or stands inside of it; or is no setting
/// and stands beside one, or may hold one.
pub(super) fn concerns_guard(path: &str) -> bool {
    let is_inside = |path: &str, outer: &str| {
        let rest = path.strip_prefix(outer);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
    };
    let named = all().flat_map(|setting| setting.spellings().map(move |name| (name, setting)));
    let named = named.filter(|(name, _)| is_inside(path, name));
    // `adhoc` is another name of `adhoc.enabled`, and holds others, too.
    if let Some((_, setting)) = named.max_by_key(|(name, _)| name.len()) {
        return setting.is_guard;
    }
    all().filter(|setting| setting.is_guard).flat_map(Setting::spellings).any(|name| {
        let section = name.rsplit_once('.').map(|(section, _)| section);
        is_inside(&name, path) || section.is_some_and(|section| is_inside(path, section))
    })
}

/// Whether a name can be the name of a header.
fn is_header_name(name: &str) -> bool {
    hyper::header::HeaderName::from_bytes(name.as_bytes()).is_ok()
}

/// Whether a text can be the value of a header.
fn is_header_value(text: &str) -> bool {
    hyper::header::HeaderValue::from_str(text).is_ok()
}

const HEADER_VALUE: TextRule =
    TextRule { accepts: is_header_value, wanted: "text that a header can carry" };

const HEADER_NAME: TextRule = TextRule { accepts: is_header_name, wanted: "the name of a header" };

const HOST_PATTERN: TextRule = TextRule {
    accepts: |text| HostPattern::parse(text).is_some(),
    wanted: "a host pattern such as `host`, `*.domain`, `host:port` or a network",
};

const ORIGIN: TextRule =
    TextRule { accepts: is_origin_pattern, wanted: "an origin such as `https://host`, or `*`" };

const HEALTH_PATH: TextRule = TextRule { accepts: is_health_path, wanted: "a path such as `/ecv`" };

/// Largest value of a cache that may be allowed, in bytes.
const CACHED_VALUE_BYTES_MAX: u64 = 256 << 20;

/// Most operations of a cache in flight that may be allowed.
const CACHE_POOL_MAX: u64 = 10_000;

/// Largest tier of a cache inside the process, in bytes.
const CACHE_BYTES_MAX: u64 = (u32::MAX as u64) << 8;

/// Most servers of this kind in a row that may be allowed.
const HOPS_MAX: u64 = 100;

/// Most heavy threads that may be set.
const HEAVY_THREADS_MAX: u64 = 1024;

/// Most jobs that may be allowed to wait for heavy threads.
const HEAVY_WAITING_MAX: u64 = 1 << 20;

/// Most pages that may be set.
const PAGES_MAX: u64 = 1_000_000;

/// Longest time that may be set, in milliseconds or seconds.
const TIME_MAX: u64 = u32::MAX as u64;

pub(super) static GROUPS: &[Group] = &[
    Group {
        title: "Limits",
        settings: &[
            Setting::new(
                "maxNestedRequests",
                |draft| &mut draft.settings.nested_requests_max,
                "Most upstream requests of one statement. A statement that would make more fails before anything is sent.",
            )
            .limit("a statement", "400, Q7001; nothing is sent")
            .alias(&["maxRequests"]),
            Setting::new(
                "maxPages",
                |draft| &mut draft.settings.pages_max,
                "Most pages that one request of a select goes on to, where its table has `paginate by` without `up to`.",
            )
            .limit("a request of a select", "400, Q7017")
            .closer("`up to` of a table")
            .within(1, PAGES_MAX),
            Setting::new(
                "maxResponseLength",
                |draft| &mut draft.settings.response_bytes_max,
                "Most bytes of one upstream answer as it is sent; a longer one fails its statement.",
            )
            .limit("an upstream answer", "502, Q5007")
            .alias(&["maxResponseSize"]),
            Setting::new(
                "maxDecodedLength",
                |draft| &mut draft.decoded_bytes_max,
                "Most bytes of one upstream answer when it is decompressed.",
            )
            .limit("an upstream answer", "502, Q5007")
            .default_is("ten times `maxResponseLength`"),
            Setting::new(
                "maxRequestLength",
                |draft| &mut draft.request_bytes_max,
                "Most bytes of the body of a client's request; a longer one is answered with 413.",
            )
            .limit("a request", "413, Q7003"),
            Setting::new(
                "maxJoinRows",
                |draft| &mut draft.settings.join_rows_max,
                "Most rows that one join may give.",
            )
            .limit("a join", "400, Q7010"),
            Setting::new(
                "timeout",
                |draft| &mut draft.settings.timeout,
                "How long an upstream may be silent when the statement sets no timeout of its own.",
            )
            .limit("an exchange", "504, Q5003")
            .closer("`timeout` of a statement")
            .within(1, TIME_MAX),
            Setting::new(
                "deadline",
                |draft| &mut draft.settings.deadline,
                "How long the run of a route or script may take in all; going over is answered with 504. `using deadline` of a route says another.",
            )
            .limit("a run", "504, Q7004")
            .closer("`using deadline` of a route, `deadline` of a statement")
            .within(1, ROUTE_DEADLINE_MS_MAX),
            Setting::new(
                "maxHops",
                |draft| &mut draft.settings.hops_max,
                "Most servers of this kind that a request may have passed, so that routes which call each other come to an end; going over is answered with 508.",
            )
            .limit("a request", "508, Q7020")
            .within(0, HOPS_MAX),
        ],
    },
    Group {
        title: "What one run may use",
        settings: &[
            Setting::new(
                "limits.memoryMiB",
                |draft| &mut draft.settings.limits.memory_mib,
                "Most MiB of texts, values and bodies that one run of a route may make, over all its statements.",
            )
            .limit("a run of a route", "400, Q7016")
            .within(1, 1 << 20),
            Setting::new(
                "limits.cpuMs",
                |draft| &mut draft.settings.limits.cpu_ms,
                "Most processor time of one run of a route. Commands such as `qlio run` have no such limit.",
            )
            .limit("a run of a route", "400, Q7016")
            .within(1, TIME_MAX),
            Setting::new(
                "limits.rows",
                |draft| &mut draft.settings.limits.rows,
                "Most rows that the statements of one run of a route may read or make.",
            )
            .limit("a run of a route", "400, Q7016")
            .within(1, u64::MAX),
            Setting::new(
                "limits.pairs",
                |draft| &mut draft.settings.limits.pairs,
                "Most pairs of rows that the joins of one run of a route may compare.",
            )
            .limit("a run of a route", "400, Q7016")
            .within(1, u64::MAX),
            Setting::new(
                "limits.requests",
                |draft| &mut draft.settings.limits.requests,
                "Most upstream requests of one run of a route, over all its statements.",
            )
            .limit("a run of a route", "400, Q7016")
            .within(1, u64::MAX),
            Setting::new(
                "limits.upstreamMiB",
                |draft| &mut draft.settings.limits.upstream_mib,
                "Most MiB that upstreams may send to one run of a route.",
            )
            .limit("a run of a route", "400, Q7016")
            .within(1, 1 << 20),
            Setting::new(
                "adhoc.limits.memoryMiB",
                |draft| &mut draft.settings.adhoc_limits.memory_mib,
                "Most MiB of texts, values and bodies that one run of a client's script may make, over all its statements.",
            )
            .limit("a run of a client's script", "400, Q7016")
            .within(1, 1 << 20),
            Setting::new(
                "adhoc.limits.cpuMs",
                |draft| &mut draft.settings.adhoc_limits.cpu_ms,
                "Most processor time of one run of a client's script. Commands such as `qlio run` have no such limit.",
            )
            .limit("a run of a client's script", "400, Q7016")
            .within(1, TIME_MAX),
            Setting::new(
                "adhoc.limits.rows",
                |draft| &mut draft.settings.adhoc_limits.rows,
                "Most rows that the statements of one run of a client's script may read or make.",
            )
            .limit("a run of a client's script", "400, Q7016")
            .within(1, u64::MAX),
            Setting::new(
                "adhoc.limits.pairs",
                |draft| &mut draft.settings.adhoc_limits.pairs,
                "Most pairs of rows that the joins of one run of a client's script may compare.",
            )
            .limit("a run of a client's script", "400, Q7016")
            .within(1, u64::MAX),
            Setting::new(
                "adhoc.limits.requests",
                |draft| &mut draft.settings.adhoc_limits.requests,
                "Most upstream requests of one run of a client's script, over all its statements.",
            )
            .limit("a run of a client's script", "400, Q7016")
            .within(1, u64::MAX),
            Setting::new(
                "adhoc.limits.upstreamMiB",
                |draft| &mut draft.settings.adhoc_limits.upstream_mib,
                "Most MiB that upstreams may send to one run of a client's script.",
            )
            .limit("a run of a client's script", "400, Q7016")
            .within(1, 1 << 20),
        ],
    },
    Group {
        title: "Heavy threads",
        settings: &[
            Setting::new(
                "heavy.threads",
                |draft| &mut draft.front.heavy.threads,
                "Threads that decode, decompress, write and compress large bodies, and as many again for scripts that take long, so that no other request waits for them.",
            ).fixed()
            .within(1, HEAVY_THREADS_MAX)
            .default_is("half as many as there are cores, at least one"),
            Setting::new(
                "heavy.maxWaiting",
                |draft| &mut draft.front.heavy.waiting_max,
                "Most large bodies that wait for such a thread, and most scripts; what needs one beyond that is answered with 503.",
            ).fixed()
            .limit("the process", "503, Q5017")
            .within(1, HEAVY_WAITING_MAX),
        ],
    },
    Group {
        title: "What clients may do and see",
        settings: &[
            Setting::new(
                "client_params",
                |draft| &mut draft.settings.client_params,
                "What query parameters and headers that a route does not declare may do: nothing (`declared`), fill tokens of tables that nothing else fills (`fill`), or also override defaults and settings (`any`).",
            )
            .guarding(),
            Setting::new(
                "adhoc.enabled",
                |draft| &mut draft.front.adhoc,
                "Answer scripts that clients send, at `/q` and over WebSocket. The address that the server listens on does not matter: behind a proxy, loopback is public.",
            )
            .guarding()
            .alias(&["adhoc"])
            .flags(&["--enable-q", "--adhoc", "--disableQ"]),
            Setting::new(
                "adhoc.config",
                |draft| &mut draft.settings.adhoc_config,
                "Names at the top of this file that scripts of clients may read.",
            )
            .guarding(),
            Setting::new(
                "console",
                |draft| &mut draft.front.console,
                "Serve the [console](console.md) at `/console`, and lead to it from `/`. What it may run and see is up to `adhoc.enabled`, `metadata` and `trace`.",
            )
            .guarding()
            .flags(&["--disableConsole"]),
            Setting::new(
                "trust.hosts",
                |draft| &mut draft.front.trust.hosts,
                "Names of this server, as host patterns: who asks for another one may not run scripts, and with `--dev` nothing at all. Without being listed, `localhost` and addresses count as names, with `--dev` those of loopback. See [Safety](safety.md).",
            )
            .guarding()
            .matching(HOST_PATTERN),
            Setting::new(
                "trust.origins",
                |draft| &mut draft.front.trust.origins,
                "Origins such as `https://console.example` whose pages may run scripts, at `/q` and over WebSocket, or `*` for all; pages of this server always may.",
            )
            .guarding()
            .alias(&["wsOrigins"])
            .flags(&["--wsOrigins"])
            .matching(ORIGIN),
            Setting::new(
                "errors",
                |draft| &mut draft.front.errors,
                "How much the body of an error says. `brief`: message, code, table, the upstream's status and an incident id that the log explains. `full`: also URIs, upstream headers and bodies, files and lines.",
            )
            .guarding(),
            Setting::new(
                "metadata",
                |draft| &mut draft.front.metadata,
                "What the pages of tables and routes, `show` and `describe` tell: everything, only routes, or nothing.",
            )
            .guarding(),
            Setting::new(
                "trace",
                |draft| &mut draft.front.trace,
                "How much clients may learn of a run: nothing, how statements come along, or all exchanges and values. See [Execution trace](trace.md).",
            )
            .guarding(),
            Setting::new(
                "jsonp",
                |draft| &mut draft.front.jsonp,
                "Wrap answers in a call if the query has a `callback`.",
            )
            .guarding(),
        ],
    },
    Group {
        title: "Calling upstreams",
        settings: &[
            Setting::new(
                "proxy",
                |draft| &mut draft.transport.proxies,
                "Forward proxies by `host:port`, host, table name or `*`, looked up in that order.",
            )
            .guarding(),
            Setting::new(
                "tls.caFile",
                |draft| &mut draft.transport.tls.ca_file,
                "PEM file with trusted roots beside the usual ones.",
            )
            .guarding(),
            Setting::new(
                "tls.clientCert",
                |draft| &mut draft.transport.tls.client_cert,
                "PEM file with our certificate chain, for upstreams that ask for one; needs `tls.clientKey`.",
            )
            .guarding(),
            Setting::new(
                "tls.clientKey",
                |draft| &mut draft.transport.tls.client_key,
                "PEM file with the private key of `tls.clientCert`.",
            )
            .guarding(),
            Setting::new(
                "tls.insecureHosts",
                |draft| &mut draft.transport.tls.insecure_hosts,
                "Host patterns whose certificates are not verified; for tests only.",
            )
            .guarding()
            .matching(HOST_PATTERN),
            Setting::new(
                "egress.allow",
                |draft| &mut draft.transport.egress.allow,
                "Hosts that inline tables of ad-hoc scripts may call beside those of loaded tables, even at private addresses, and that redirects may lead to: `*`, `host`, `*.domain`, each with an optional `:port`, or an address or network.",
            )
            .guarding()
            .matching(HOST_PATTERN),
            Setting::new(
                "egress.deny",
                |draft| &mut draft.transport.egress.deny,
                "Hosts that nobody may call; beats everything else.",
            )
            .guarding()
            .matching(HOST_PATTERN),
            Setting::new(
                "egress.viaProxy",
                |draft| &mut draft.transport.egress.via_proxy,
                "Who guards addresses behind a forward proxy. `resolve`: we do, so names whose address matters to the rules must resolve here before the proxy is asked. `trusted`: the proxy has rules of its own.",
            )
            .guarding(),
            Setting::new(
                "backoff.scope",
                |draft| &mut draft.transport.backoff.scope,
                "What is left alone for a while after failures: the URI, or all of its scheme, host and port.",
            ),
            Setting::new(
                "userAgent",
                |draft| &mut draft.settings.user_agent,
                "The header `user-agent` of upstream requests.",
            )
            .matching(HEADER_VALUE)
            .default_is("`qlio/` and the version"),
            Setting::new(
                "connection",
                |draft| &mut draft.settings.connection,
                "The header `connection` of upstream requests.",
            )
            .matching(HEADER_VALUE),
            Setting::new(
                "requestId.header",
                |draft| &mut draft.settings.request_id_header,
                "Name of the header that carries request ids, in answers and in upstream requests.",
            )
            .alias(&["requestId", "request-id"])
            .flags(&["--requestId"])
            .matching(HEADER_NAME),
            Setting::new(
                "requestId.trail",
                |draft| &mut draft.settings.request_id_trail,
                "Answer with the ids of all upstream requests behind our own, as the original did.",
            ),
            Setting::new(
                "xml.coerce",
                |draft| &mut draft.settings.xml_coerce,
                "Which texts of XML become numbers and booleans where a table does not say: those that print as the same text again, all that the original read so, or none.",
            ),
        ],
    },
    Group {
        title: "Hooks and script functions",
        settings: &[
            Setting::new(
                "hooks.timeMs",
                |draft| &mut draft.settings.hooks.time,
                "CPU time of one call.",
            )
            .limit("a call", "500, Q6004; of functions Q6010"),
            Setting::new(
                "hooks.memoryMiB",
                |draft| &mut draft.hook_memory_mib,
                "MiB of memory for the scripts of one thread.",
            )
            .limit("a worker", "500, Q6005; of functions Q6011"),
            Setting::new(
                "hooks.async",
                |draft| &mut draft.settings.hooks.allows_promises,
                "Hooks may return promises.",
            ),
        ],
    },
    Group {
        title: "Response cache",
        settings: &[
            Setting::new(
                "cache.impl",
                |draft| &mut draft.cache.kind,
                "Where answers of tables with `expires` are kept. See [Response cache](cache.md), also for the other places where members of `cache` may stand.",
            ).fixed(),
            Setting::new(
                "cache.servers",
                |draft| &mut draft.cache.servers,
                "Servers of the cache: `host:port`, for Redis also `redis://[user:password@]host[:port][/database]`, `rediss://` for TLS.",
            ).fixed()
            .alias(&["cache.options.config", "cache.options"]),
            Setting::new(
                "cache.cluster",
                |draft| &mut draft.cache.is_cluster,
                "The Redis servers are seeds of one cluster.",
            ).fixed(),
            Setting::new(
                "cache.timeoutMs",
                |draft| &mut draft.cache.common.timeout,
                "How long a server may take for a get before it counts as a miss.",
            ).fixed()
            .limit("an operation of a cache", "a get is a miss")
            .within(1, TIME_MAX),
            Setting::new(
                "cache.maxValue",
                |draft| &mut draft.cache.common.value_bytes_max,
                "Most bytes of one body; larger ones are not kept.",
            ).fixed()
            .limit("a body", "it is not kept")
            .within(1, CACHED_VALUE_BYTES_MAX),
            Setting::new(
                "cache.poolSize",
                |draft| &mut draft.cache.common.pool_size,
                "Most operations in flight, of all threads together.",
            ).fixed()
            .limit("the server", "further ones wait, within their timeout")
            .within(1, CACHE_POOL_MAX),
            Setting::new(
                "cache.maxBytes",
                |draft| &mut draft.cache.memory_bytes,
                "Bytes of a `memory` cache.",
            ).fixed()
            .limit("the server", "what was used longest ago goes")
            .within(1, CACHE_BYTES_MAX),
            Setting::new(
                "cache.localBytes",
                |draft| &mut draft.cache.local_bytes,
                "Bytes of the copies inside the process in front of servers; 0 for none.",
            ).fixed()
            .limit("the server", "what was used longest ago goes")
            .within(0, CACHE_BYTES_MAX),
            Setting::new(
                "cache.localSeconds",
                |draft| &mut draft.cache.local_seconds,
                "Seconds for which such a copy may be used without asking its server again.",
            ).fixed()
            .within(0, TIME_MAX),
            Setting::new(
                "cache.sharedWaitMs",
                |draft| &mut draft.cache.common.shared_wait,
                "How long one request waits for another one's fetch of the same answer.",
            ).fixed()
            .limit("a request", "it fetches the answer itself")
            .within(1, TIME_MAX),
            Setting::new(
                "cache.retryMs",
                |draft| &mut draft.cache.common.retry_pause,
                "The first pause after a server has failed several times; it doubles up to sixteen times as long.",
            ).fixed()
            .within(1, TIME_MAX),
            Setting::new(
                "cache.heartbeatMs",
                |draft| &mut draft.cache.common.heartbeat,
                "How often the servers' statistics are told.",
            ).fixed()
            .within(1, TIME_MAX),
        ],
    },
    Group { title: "Listening, TLS and HTTP/2", settings: listen::SETTINGS },
    Group { title: "Connections of clients", settings: connections::SETTINGS },
    Group { title: "The admin listener", settings: admin::SETTINGS },
    Group { title: "Lines on stdout", settings: stdout::SETTINGS },
    Group { title: "Traces of servers", settings: traces::SETTINGS },
    Group { title: "Stopping", settings: stopping::SETTINGS },
    Group {
        title: "Endpoints and logs",
        settings: &[
            Setting::new(
                "ecvPath",
                |draft| &mut draft.front.ecv_path,
                "Path of the [health check](health.md).",
            ).fixed()
            .flags(&["--ecvPath"])
            .matching(HEALTH_PATH),
            Setting::new(
                "ecvControl",
                |draft| &mut draft.front.ecv_control,
                "`POST <ecvPath>/disable` and `/enable` switch the health check.",
            ).fixed()
            .guarding()
            .flags(&["--ecvControl"]),
            Setting::new(
                "wsMaxFrame",
                |draft| &mut draft.front.sockets.frame_bytes_max,
                "Most bytes of one frame of a client.",
            )
            .limit("a frame", "closed, 1009")
            .within(1, u64::MAX),
            Setting::new(
                "wsMaxMessage",
                |draft| &mut draft.front.sockets.message_bytes_max,
                "Most bytes of one message of a client.",
            )
            .limit("a message", "closed, 1009")
            .within(1, u64::MAX),
            Setting::new(
                "wsPingInterval",
                |draft| &mut draft.front.sockets.ping_interval,
                "Pause between two pings.",
            )
            .within(1, TIME_MAX),
            Setting::new(
                "wsPongTimeout",
                |draft| &mut draft.front.sockets.pong_timeout,
                "How long a ping may go unanswered before the connection is dropped.",
            )
            .limit("a ping", "dropped")
            .within(1, TIME_MAX),
            Setting::new(
                "logs",
                |draft| &mut draft.front.logs,
                "Folder for [log files](logs.md).",
            ).fixed()
            .guarding()
            .flags(&["--logs"]),
        ],
    },
    Group {
        title: "Secrets",
        settings: &[Setting::new(
            "secrets",
            |draft| &mut draft.secrets,
            "Dotted paths of settings that must not be shown in errors, traces, logs and descriptions. Values from the environment are secrets without being listed.",
        )
        .guarding()],
    },
];
