//! All settings, one row for each: name, place in the typed settings, bounds, documentation.
//!
//! Reading, unknown names, the reference page, the JSON schema and `qlio config show` come from these
//! rows. A new setting is a field of the typed settings, with its default there, and one row here.

mod connections;

use qlio_engine::{
    Settings,
    cache::{Backend, CacheSettings},
    transport::TransportSettings,
};
use qlio_syntax::limits::ROUTE_DEADLINE_MS_MAX;

use super::{
    front::{FrontSettings, is_health_path},
    limits::Limit,
    slot::{CacheKind, Slot},
};

/// What the text of a setting must be.
#[derive(Clone, Copy)]
pub(super) struct TextRule {
    pub(super) accepts: fn(&str) -> bool,
    /// The rule in words.
    pub(super) wanted: &'static str,
}

/// One setting.
pub(super) struct Setting {
    /// Its dotted path in the settings file.
    pub(super) name: &'static str,
    /// Other paths that mean the same; `name` beats them, the first of them beats the others.
    pub(super) aliases: &'static [&'static str],
    /// The flags of `qlio serve` that set it.
    pub(super) flags: &'static [&'static str],
    /// Bounds of a number.
    pub(super) least: u64,
    pub(super) most: u64,
    /// A rule for its text.
    pub(super) rule: Option<TextRule>,
    /// Its default in words, where it is no value of its own.
    pub(super) default: Option<&'static str>,
    /// What makes it a limit, if it is one.
    pub(super) limit: Option<Limit>,
    /// Why one sets it, in Markdown.
    pub(super) about: &'static str,
    slot: fn(&mut Draft) -> &mut dyn Slot,
}

impl Setting {
    const fn new(
        name: &'static str,
        slot: fn(&mut Draft) -> &mut dyn Slot,
        about: &'static str,
    ) -> Self {
        Self {
            name,
            aliases: &[],
            flags: &[],
            least: 0,
            most: u64::MAX,
            rule: None,
            default: None,
            limit: None,
            about,
            slot,
        }
    }

    const fn alias(self, aliases: &'static [&'static str]) -> Self {
        Self { aliases, ..self }
    }

    const fn flags(self, flags: &'static [&'static str]) -> Self {
        Self { flags, ..self }
    }

    const fn within(self, least: u64, most: u64) -> Self {
        Self { least, most, ..self }
    }

    const fn matching(self, rule: TextRule) -> Self {
        Self { rule: Some(rule), ..self }
    }

    const fn default_is(self, words: &'static str) -> Self {
        Self { default: Some(words), ..self }
    }

    /// A limit: of what, and what happens beyond it. It then stands on the page of limits, too.
    const fn limit(self, of: &'static str, beyond: &'static str) -> Self {
        Self { limit: Some(Limit { of, beyond, closer: None }), ..self }
    }

    /// What says another limit for one route, table or statement.
    const fn closer(self, closer: &'static str) -> Self {
        match self.limit {
            Some(limit) => Self { limit: Some(Limit { closer: Some(closer), ..limit }), ..self },
            None => panic!("only a limit can be said closer"),
        }
    }

    /// Its place in the settings that are being read.
    pub(super) fn slot<'d>(&self, draft: &'d mut Draft) -> &'d mut dyn Slot {
        (self.slot)(draft)
    }

    /// All paths at which it may stand, the strongest first.
    pub(super) fn spellings(&self) -> impl Iterator<Item = String> {
        let names = std::iter::once(self.name).chain(self.aliases.iter().copied());
        // Where the members of `cache` may stand, too, as caches of the original had them.
        let inner = self.name.strip_prefix("cache.").into_iter().flat_map(|member| {
            ["cache.options.options.", "cache.options."].map(|outer| format!("{outer}{member}"))
        });
        inner.chain(names.map(str::to_owned))
    }
}

/// Settings while they are read: typed, with some that depend on others still apart.
pub(super) struct Draft {
    pub(super) settings: Settings,
    pub(super) transport: TransportSettings,
    pub(super) front: FrontSettings,
    pub(super) request_bytes_max: usize,
    pub(super) decoded_bytes_max: Option<usize>,
    pub(super) hook_memory_mib: usize,
    pub(super) secrets: Vec<String>,
    pub(super) cache: CacheDraft,
}

/// The settings of a cache, for all kinds of caches.
pub(super) struct CacheDraft {
    pub(super) kind: CacheKind,
    pub(super) servers: Vec<String>,
    pub(super) is_cluster: bool,
    /// What the kinds have in common.
    pub(super) common: CacheSettings,
    pub(super) memory_bytes: u64,
    pub(super) local_bytes: u64,
    pub(super) local_seconds: u64,
}

impl Draft {
    /// The defaults; in development mode clients may know and do more.
    pub(super) fn new(is_dev: bool) -> Self {
        let common = CacheSettings::new(Backend::Memory);
        let near = CacheSettings::new(Backend::Memcached { servers: Vec::new() });
        let settings = Settings::default();
        Self {
            hook_memory_mib: settings.hooks.memory_bytes >> 20,
            settings,
            transport: TransportSettings::default(),
            front: if is_dev { FrontSettings::development() } else { FrontSettings::default() },
            request_bytes_max: 10_000_000,
            decoded_bytes_max: None,
            secrets: Vec::new(),
            cache: CacheDraft {
                kind: CacheKind::None,
                servers: Vec::new(),
                is_cluster: false,
                memory_bytes: common.memory_bytes,
                local_bytes: near.memory_bytes,
                local_seconds: near.local_time.as_secs(),
                common,
            },
        }
    }
}

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

const HEALTH_PATH: TextRule = TextRule { accepts: is_health_path, wanted: "a path such as `/ecv`" };

/// Largest value of a cache that may be allowed, in bytes.
const CACHED_VALUE_BYTES_MAX: u64 = 256 << 20;

/// Most operations of a cache in flight that may be allowed.
const CACHE_POOL_MAX: u64 = 10_000;

/// Largest tier of a cache inside the process, in bytes.
const CACHE_BYTES_MAX: u64 = (u32::MAX as u64) << 8;

/// Most servers of this kind in a row that may be allowed.
const HOPS_MAX: u64 = 100;

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
        title: "What clients may do and see",
        settings: &[
            Setting::new(
                "client_params",
                |draft| &mut draft.settings.client_params,
                "What query parameters and headers that a route does not declare may do: nothing (`declared`), fill tokens of tables that nothing else fills (`fill`), or also override defaults and settings (`any`).",
            ),
            Setting::new(
                "adhoc.enabled",
                |draft| &mut draft.front.adhoc,
                "Answer scripts that clients send, at `/q` and over WebSocket. The address that the server listens on does not matter: behind a proxy, loopback is public.",
            )
            .alias(&["adhoc"])
            .flags(&["--enable-q", "--adhoc", "--disableQ"]),
            Setting::new(
                "adhoc.config",
                |draft| &mut draft.settings.adhoc_config,
                "Names at the top of this file that scripts of clients may read.",
            ),
            Setting::new(
                "errors",
                |draft| &mut draft.front.errors,
                "How much the body of an error says. `brief`: message, code, table, the upstream's status and an incident id that the log explains. `full`: also URIs, upstream headers and bodies, files and lines.",
            ),
            Setting::new(
                "metadata",
                |draft| &mut draft.front.metadata,
                "What the pages of tables and routes, `show` and `describe` tell: everything, only routes, or nothing.",
            ),
            Setting::new(
                "trace",
                |draft| &mut draft.front.trace,
                "How much clients may learn of a run: nothing, how statements come along, or all exchanges and values. See [Execution trace](trace.md).",
            ),
            Setting::new(
                "jsonp",
                |draft| &mut draft.front.jsonp,
                "Wrap answers in a call if the query has a `callback`.",
            ),
        ],
    },
    Group {
        title: "Calling upstreams",
        settings: &[
            Setting::new(
                "proxy",
                |draft| &mut draft.transport.proxies,
                "Forward proxies by `host:port`, host, table name or `*`, looked up in that order.",
            ),
            Setting::new(
                "tls.caFile",
                |draft| &mut draft.transport.tls.ca_file,
                "PEM file with trusted roots beside the usual ones.",
            ),
            Setting::new(
                "tls.clientCert",
                |draft| &mut draft.transport.tls.client_cert,
                "PEM file with our certificate chain, for upstreams that ask for one; needs `tls.clientKey`.",
            ),
            Setting::new(
                "tls.clientKey",
                |draft| &mut draft.transport.tls.client_key,
                "PEM file with the private key of `tls.clientCert`.",
            ),
            Setting::new(
                "tls.insecureHosts",
                |draft| &mut draft.transport.tls.insecure_hosts,
                "Host patterns whose certificates are not verified; for tests only.",
            ),
            Setting::new(
                "egress.allow",
                |draft| &mut draft.transport.egress.allow,
                "Hosts that inline tables of ad-hoc scripts may call beside those of loaded tables, even at private addresses, and that redirects may lead to: `*`, `host`, `*.domain`, each with an optional `:port`, or an address or network.",
            ),
            Setting::new(
                "egress.deny",
                |draft| &mut draft.transport.egress.deny,
                "Hosts that nobody may call; beats everything else.",
            ),
            Setting::new(
                "egress.viaProxy",
                |draft| &mut draft.transport.egress.via_proxy,
                "Who guards addresses behind a forward proxy. `resolve`: we do, so names whose address matters to the rules must resolve here before the proxy is asked. `trusted`: the proxy has rules of its own.",
            ),
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
            ),
            Setting::new(
                "cache.servers",
                |draft| &mut draft.cache.servers,
                "Servers of the cache: `host:port`, for Redis also `redis://[user:password@]host[:port][/database]`, `rediss://` for TLS.",
            )
            .alias(&["cache.options.config", "cache.options"]),
            Setting::new(
                "cache.cluster",
                |draft| &mut draft.cache.is_cluster,
                "The Redis servers are seeds of one cluster.",
            ),
            Setting::new(
                "cache.timeoutMs",
                |draft| &mut draft.cache.common.timeout,
                "How long a server may take for a get before it counts as a miss.",
            )
            .limit("an operation of a cache", "a get is a miss")
            .within(1, TIME_MAX),
            Setting::new(
                "cache.maxValue",
                |draft| &mut draft.cache.common.value_bytes_max,
                "Most bytes of one body; larger ones are not kept.",
            )
            .limit("a body", "it is not kept")
            .within(1, CACHED_VALUE_BYTES_MAX),
            Setting::new(
                "cache.poolSize",
                |draft| &mut draft.cache.common.pool_size,
                "Most operations in flight, of all threads together.",
            )
            .limit("the server", "further ones wait, within their timeout")
            .within(1, CACHE_POOL_MAX),
            Setting::new(
                "cache.maxBytes",
                |draft| &mut draft.cache.memory_bytes,
                "Bytes of a `memory` cache.",
            )
            .limit("the server", "what was used longest ago goes")
            .within(1, CACHE_BYTES_MAX),
            Setting::new(
                "cache.localBytes",
                |draft| &mut draft.cache.local_bytes,
                "Bytes of the copies inside the process in front of servers; 0 for none.",
            )
            .limit("the server", "what was used longest ago goes")
            .within(0, CACHE_BYTES_MAX),
            Setting::new(
                "cache.localSeconds",
                |draft| &mut draft.cache.local_seconds,
                "Seconds for which such a copy may be used without asking its server again.",
            )
            .within(0, TIME_MAX),
            Setting::new(
                "cache.sharedWaitMs",
                |draft| &mut draft.cache.common.shared_wait,
                "How long one request waits for another one's fetch of the same answer.",
            )
            .limit("a request", "it fetches the answer itself")
            .within(1, TIME_MAX),
            Setting::new(
                "cache.retryMs",
                |draft| &mut draft.cache.common.retry_pause,
                "The first pause after a server has failed several times; it doubles up to sixteen times as long.",
            )
            .within(1, TIME_MAX),
            Setting::new(
                "cache.heartbeatMs",
                |draft| &mut draft.cache.common.heartbeat,
                "How often the servers' statistics are told.",
            )
            .within(1, TIME_MAX),
        ],
    },
    Group { title: "Connections of clients", settings: connections::SETTINGS },
    Group {
        title: "Endpoints and logs",
        settings: &[
            Setting::new(
                "ecvPath",
                |draft| &mut draft.front.ecv_path,
                "Path of the [health check](health.md).",
            )
            .flags(&["--ecvPath"])
            .matching(HEALTH_PATH),
            Setting::new(
                "ecvControl",
                |draft| &mut draft.front.ecv_control,
                "`POST <ecvPath>/disable` and `/enable` switch the health check.",
            )
            .flags(&["--ecvControl"]),
            Setting::new(
                "wsOrigins",
                |draft| &mut draft.front.sockets.origins,
                "Origins whose pages may open WebSocket connections, or `*`; the server's own host always may.",
            )
            .flags(&["--wsOrigins"]),
            Setting::new(
                "wsMaxFrame",
                |draft| &mut draft.front.sockets.limits.frame_bytes_max,
                "Most bytes of one frame of a client.",
            )
            .limit("a frame", "closed, 1009")
            .within(1, u64::MAX),
            Setting::new(
                "wsMaxMessage",
                |draft| &mut draft.front.sockets.limits.message_bytes_max,
                "Most bytes of one message of a client.",
            )
            .limit("a message", "closed, 1009")
            .within(1, u64::MAX),
            Setting::new(
                "wsPingInterval",
                |draft| &mut draft.front.sockets.limits.ping_interval,
                "Pause between two pings.",
            )
            .within(1, TIME_MAX),
            Setting::new(
                "wsPongTimeout",
                |draft| &mut draft.front.sockets.limits.pong_timeout,
                "How long a ping may go unanswered before the connection is dropped.",
            )
            .limit("a ping", "dropped")
            .within(1, TIME_MAX),
            Setting::new(
                "logs",
                |draft| &mut draft.front.logs,
                "Folder for [log files](logs.md).",
            )
            .flags(&["--logs"]),
        ],
    },
    Group {
        title: "Secrets",
        settings: &[Setting::new(
            "secrets",
            |draft| &mut draft.secrets,
            "Dotted paths of settings that must not be shown in errors, traces, logs and descriptions. Values from the environment are secrets without being listed.",
        )],
    },
];
