//! The knobs of the transport, with their defaults.

use std::{path::PathBuf, sync::Arc, time::Duration};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use http::HeaderValue;

use super::{allowance::BodyMemory, old_ports::OldPorts};
use crate::{heavy::Heavy, meter::Meter};

/// Settings of one transport. `Default` gives the values named at each member.
#[derive(Debug, Clone)]
pub struct TransportSettings {
    /// Certificates and keys.
    pub tls: TlsSettings,
    /// Proxy per `host:port`, host, table name or `*`, looked up in that order; `None` means direct.
    pub proxies: Vec<(String, Option<ProxyTarget>)>,
    /// How long an unused connection is kept. Default 30 s.
    pub idle_connection: Duration,
    /// How many exchanges with one origin may be under way at once in this transport, each on a connection of
    /// its own (or a stream of an HTTP/2 connection). Default 1000; more of them queue.
    pub connections_per_host_max: usize,
    /// How many exchanges may queue per origin before further ones fail. Default 10,000.
    pub queue_per_host_max: usize,
    /// Largest response body on the wire, in bytes. Default 10,000,000.
    pub body_bytes_max: usize,
    /// Largest response body after content decoding, in bytes. Default 10 times the wire limit.
    pub decoded_bytes_max: usize,
    /// How many redirects are followed. Default 10.
    pub redirects_max: u32,
    /// Back-off from failing targets.
    pub backoff: BackoffSettings,
    /// Which hosts may be called.
    pub egress: EgressSettings,
    /// Sent as `user-agent` if the exchange has none. Default `qlio/<version>`.
    pub user_agent: String,
    /// Where large bodies are decompressed. Default: where they arrive.
    pub heavy: Heavy,
    /// What the large bodies of all threads may take. Default: any.
    pub body_memory: BodyMemory,
    /// Where exchanges are counted. Default: nowhere.
    pub meter: Option<Arc<Meter>>,
    /// Takes ports above 65535 for what they were once. Default: they are refused.
    pub old_ports: Option<Arc<OldPorts>>,
}

impl Default for TransportSettings {
    fn default() -> Self {
        Self {
            tls: TlsSettings::default(),
            proxies: Vec::new(),
            idle_connection: Duration::from_secs(30),
            connections_per_host_max: 1000,
            queue_per_host_max: 10_000,
            body_bytes_max: 10_000_000,
            decoded_bytes_max: 100_000_000,
            redirects_max: 10,
            backoff: BackoffSettings::default(),
            egress: EgressSettings::default(),
            user_agent: concat!("qlio/", env!("CARGO_PKG_VERSION")).to_owned(),
            heavy: Heavy::default(),
            body_memory: BodyMemory::default(),
            meter: None,
            old_ports: None,
        }
    }
}

impl TransportSettings {
    /// Whether a transport made of these settings is like one made of the others. What files hold is not compared:
    /// settings that name some are never like others.
    pub fn is_like(&self, other: &Self) -> bool {
        let Self {
            tls,
            proxies,
            idle_connection,
            connections_per_host_max,
            queue_per_host_max,
            body_bytes_max,
            decoded_bytes_max,
            redirects_max,
            backoff,
            egress,
            user_agent,
            // Where work is done and counted belongs to the process.
            heavy: _,
            body_memory: _,
            meter: _,
            // Tests read no settings anew.
            old_ports: _,
        } = self;
        tls.files().next().is_none()
            && *tls == other.tls
            && *proxies == other.proxies
            && *idle_connection == other.idle_connection
            && *connections_per_host_max == other.connections_per_host_max
            && *queue_per_host_max == other.queue_per_host_max
            && *body_bytes_max == other.body_bytes_max
            && *decoded_bytes_max == other.decoded_bytes_max
            && *redirects_max == other.redirects_max
            && *backoff == other.backoff
            && *egress == other.egress
            && *user_agent == other.user_agent
    }
}

/// TLS towards upstreams (UPS-29). Certificates are verified against the Mozilla roots.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TlsSettings {
    /// PEM file with further trusted roots.
    pub ca_file: Option<PathBuf>,
    /// PEM file with our certificate chain, for upstreams that ask for one; needs `client_key`.
    pub client_cert: Option<PathBuf>,
    /// PEM file with the private key of `client_cert`.
    pub client_key: Option<PathBuf>,
    /// Host patterns whose certificates are not verified. For test set-ups only.
    pub insecure_hosts: Vec<String>,
}

impl TlsSettings {
    /// The files that are named.
    pub fn files(&self) -> impl Iterator<Item = &PathBuf> {
        [&self.ca_file, &self.client_cert, &self.client_key].into_iter().flatten()
    }
}

/// A forward proxy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProxyTarget {
    /// Host name or address.
    pub host: String,
    /// Port.
    pub port: u16,
    /// What the proxy wants to know of us, if anything.
    pub login: Option<ProxyLogin>,
}

/// User and password for a forward proxy, which are sent to no one else (RFC 7617).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProxyLogin {
    /// Marked as sensitive, so that it is not printed.
    pub(super) authorization: HeaderValue,
}

impl ProxyLogin {
    /// A login in the `Basic` scheme; `None` if the user has a colon, which the scheme cannot carry.
    pub fn new(user: &str, password: &str) -> Option<Self> {
        if user.contains(':') {
            return None;
        }
        let pair = STANDARD.encode(format!("{user}:{password}"));
        let mut authorization = HeaderValue::try_from(format!("Basic {pair}")).ok()?;
        authorization.set_sensitive(true);
        Some(Self { authorization })
    }
}

/// Back-off from failing targets (UPS-10 to UPS-13).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BackoffSettings {
    /// What counts as one target. Default: the URI.
    pub scope: BackoffScope,
    /// How many targets are remembered; the least recently used goes first. Default 10,000.
    pub keys_max: usize,
}

impl Default for BackoffSettings {
    fn default() -> Self {
        Self { scope: BackoffScope::Uri, keys_max: 10_000 }
    }
}

/// What counts as one target for back-off; the table's name is always part of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum BackoffScope {
    /// The complete URI.
    #[default]
    Uri,
    /// Scheme, host and port.
    Origin,
}

/// Which hosts may be called (SAF-8 to SAF-12).
///
/// Patterns: `*`, `host`, `*.domain` (not the domain itself), each with an optional `:port`; an address, or a
/// network such as `10.0.0.0/8`, which is compared with resolved addresses too (behind a proxy as
/// `via_proxy` says).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EgressSettings {
    /// What restricted exchanges may call besides their own list, even at private addresses.
    pub allow: Vec<String>,
    /// What nobody may call; beats everything else.
    pub deny: Vec<String>,
    /// Who judges addresses behind a proxy.
    pub via_proxy: ViaProxy,
}

/// Who judges the addresses of a target that is called through a proxy, which resolves its name itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ViaProxy {
    /// We do: where addresses matter, the name is resolved here first, and must be.
    #[default]
    Resolve,
    /// The proxy does, by rules of its own.
    Trusted,
}

/// Settings that make no sense, found when the transport is built.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettingsError {
    /// The setting, such as `tls.caFile`.
    pub setting: &'static str,
    /// What is wrong with it.
    pub reason: String,
}

impl std::fmt::Display for SettingsError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "setting `{}`: {}", self.setting, self.reason)
    }
}

impl std::error::Error for SettingsError {}
