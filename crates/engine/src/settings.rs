//! Settings that change how scripts run, with their defaults. Where they come from is the caller's
//! matter; their names and bounds stand in `docs/reference/settings.md`.

use std::time::Duration;

use qlio_data::{Object, Text, Value, codec::xml::Coerce};
use qlio_syntax::ast::RunLimit;

/// How much undeclared query parameters and headers of a client may fill in requests of tables
/// (SCP-6).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ClientParams {
    /// Query parameters fill nothing, headers only tokens inside of `using headers`.
    #[default]
    Declared,
    /// They fill what nothing else sets, and never replace a default, a setting or a script's value.
    Fill,
    /// They also override defaults and settings, as in the original.
    Any,
}

/// Everything that bounds or steers a run.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Most upstream requests of one statement (`maxNestedRequests`, default 50).
    pub nested_requests_max: usize,
    /// Most pages of one request of a select, if its table does not say (`maxPages`, default 20).
    pub pages_max: u64,
    /// What a script says of its requests by `assert calls` must hold: in tests (RET-15).
    pub asserts_calls: bool,
    /// Most bytes of one upstream answer on the wire (`maxResponseLength`, default 10,000,000).
    pub response_bytes_max: usize,
    /// Most bytes of one upstream answer after decompression (`maxDecodedLength`, default ten times
    /// the wire limit).
    pub decoded_bytes_max: usize,
    /// Most rows that one join may give (`maxJoinRows`, default 1,000,000).
    pub join_rows_max: usize,
    /// Idle time of an exchange when a statement names none (`timeout`, default 10 s).
    pub timeout: Duration,
    /// How long a run may take in all (`deadline`, default 30 s), if its route does not say.
    pub deadline: Duration,
    /// Most servers of this kind that a request may have passed (`maxHops`, default 5).
    pub hops_max: u64,
    /// What undeclared client parameters may do on routes (`client_params`).
    pub client_params: ClientParams,
    /// XML coercion of tables that name none (`xml.coerce`).
    pub xml_coerce: Coerce,
    /// The `user-agent` of upstream requests (`userAgent`).
    pub user_agent: String,
    /// The `connection` header of upstream requests (`connection`).
    pub connection: String,
    /// Name of the header that carries request ids, in lower case (`requestId.header`).
    pub request_id_header: String,
    /// Answers carry the ids of all upstream requests (`requestId.trail`, default false).
    pub request_id_trail: bool,
    /// Settings that scripts of clients may read (`adhoc.config`).
    pub adhoc_config: Vec<String>,
    /// Script functions and hooks.
    pub hooks: HookSettings,
    /// What one run of a route may use (`limits`).
    pub limits: Limits,
    /// What one run of a client's script may use (`adhoc.limits`).
    pub adhoc_limits: Limits,
}

/// What one run may use, over all its statements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// MiB of texts, values and bodies that the run makes (`memoryMiB`; 256, for scripts of clients 64).
    pub memory_mib: u64,
    /// Milliseconds of processor time (`cpuMs`; 1,000, for scripts of clients 200). Commands have no
    /// such limit.
    pub cpu_ms: u64,
    /// Rows that statements read or make (`rows`; 10 million, for scripts of clients 2 million).
    pub rows: u64,
    /// Pairs of rows that joins compare or put together (`pairs`; 10 million, for scripts of clients
    /// 2 million).
    pub pairs: u64,
    /// Upstream requests (`requests`; 1,000, for scripts of clients 200).
    pub requests: u64,
    /// MiB that upstreams send (`upstreamMiB`; 256, for scripts of clients 64).
    pub upstream_mib: u64,
}

impl Limits {
    /// One of them, by its name in routes.
    pub(crate) fn limit_mut(&mut self, limit: RunLimit) -> &mut u64 {
        match limit {
            RunLimit::Memory => &mut self.memory_mib,
            RunLimit::Cpu => &mut self.cpu_ms,
            RunLimit::Rows => &mut self.rows,
            RunLimit::Pairs => &mut self.pairs,
            RunLimit::Requests => &mut self.requests,
            RunLimit::Upstream => &mut self.upstream_mib,
        }
    }

    /// Of routes.
    pub const ROUTE: Self = Self {
        memory_mib: 256,
        cpu_ms: 1_000,
        rows: 10_000_000,
        pairs: 10_000_000,
        requests: 1_000,
        upstream_mib: 256,
    };

    /// Of scripts that clients send.
    pub const ADHOC: Self = Self {
        memory_mib: 64,
        cpu_ms: 200,
        rows: 2_000_000,
        pairs: 2_000_000,
        requests: 200,
        upstream_mib: 64,
    };
}

/// Bounds of script functions and hooks.
#[derive(Debug, Clone, Copy)]
pub struct HookSettings {
    /// CPU time per call (`hooks.timeMs`, default 50 ms).
    pub time: Duration,
    /// Heap per thread (`hooks.memoryMiB`, default 32 MiB).
    pub memory_bytes: usize,
    /// Hooks may return promises (`hooks.async`, default false).
    pub allows_promises: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            nested_requests_max: 50,
            pages_max: 20,
            asserts_calls: false,
            response_bytes_max: 10_000_000,
            decoded_bytes_max: 100_000_000,
            join_rows_max: 1_000_000,
            timeout: Duration::from_secs(10),
            deadline: Duration::from_secs(30),
            hops_max: 5,
            client_params: ClientParams::default(),
            xml_coerce: Coerce::Safe,
            user_agent: concat!("qlio/", env!("CARGO_PKG_VERSION")).to_owned(),
            connection: "keep-alive".to_owned(),
            request_id_header: "request-id".to_owned(),
            request_id_trail: false,
            adhoc_config: Vec::new(),
            hooks: HookSettings {
                time: Duration::from_millis(50),
                memory_bytes: 32 << 20,
                allows_promises: false,
            },
            limits: Limits::ROUTE,
            adhoc_limits: Limits::ADHOC,
        }
    }
}

impl Settings {
    /// The part of the configuration that scripts of clients may read.
    pub fn adhoc_view(&self, config: &Value) -> Value {
        let members =
            self.adhoc_config.iter().map(|name| (Text::from(name.as_str()), config.member(name)));
        let allowed: Object = members.filter(|(_, value)| !value.is_absent()).collect();
        Value::object(allowed)
    }
}
