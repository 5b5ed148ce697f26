//! A programmable proxy between an engine and its upstreams (`docs/reference/mock.md`).
//!
//! ```text
//! HTTP ─▶ control ─ /getconfig, /setconfig, editor page
//!     └─▶ tenant ─▶ entry ─▶ behaviour ─▶ upstream
//! TCP  ─▶ tenant ─▶ entry ─▶ tcp
//! ```
//!
//! In goes a configuration in JSON; out come answers of the upstreams, late, cut, replaced or not at
//! all. It can be changed while it runs, and every change is saved. All listeners share one
//! configuration, so a change holds everywhere at once. Bodies are collected before they travel on,
//! bounded as those of the gateway; this is an instrument for tests, no load balancer.

mod config;
mod control;
mod pattern;
mod save;
mod tcp;

use std::{
    io::Write,
    net::SocketAddr,
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock},
};

use hyper::{Request, Response, StatusCode, body::Incoming};
use qlio_data::Value;
use tokio::task::JoinSet;

use super::{
    Handler, Log, MockBody, MockError, MockServer,
    behaviour::text,
    body,
    error::Unusable,
    upstream::{Upstream, bad_gateway, refuse},
};
pub(super) use config::ConfigError;
use config::{Config, Entry};
use save::Saver;

/// The port of the proxy if nobody names one.
pub(crate) const PORT_DEFAULT: u16 = 3201;

/// The configuration of a proxy, and its ports.
pub(crate) struct ProxyOptions {
    /// The configuration.
    pub config: Value,
    /// The address to listen on, also for TCP ports; `127.0.0.1` by default.
    pub host: String,
    /// The port for HTTP, [`PORT_DEFAULT`] by default; 0 takes a free one.
    pub port: u16,
    /// The folder that changes are saved in, `netmorphic-configs` by default.
    pub saves: PathBuf,
    /// Whether other machines may read and change the configuration; they may not by default.
    pub has_remote_control: bool,
    /// Where a line for each exchange is written; nowhere by default.
    pub log: Option<Box<dyn Write + Send>>,
}

impl ProxyOptions {
    /// The defaults for a configuration.
    #[must_use]
    pub(crate) fn new(config: Value) -> Self {
        Self {
            config,
            host: "127.0.0.1".to_owned(),
            port: PORT_DEFAULT,
            saves: PathBuf::from("netmorphic-configs"),
            has_remote_control: false,
            log: None,
        }
    }
}

/// State that all listeners share.
struct Proxy {
    config: RwLock<Config>,
    upstream: Upstream,
    host: String,
    has_remote_control: bool,
    saver: Mutex<Saver>,
    /// The TCP ports that are listened on, with the address that was bound.
    ports: Mutex<Vec<(u16, SocketAddr)>>,
    /// The listeners of those ports.
    listeners: Mutex<JoinSet<()>>,
    log: Log,
}

/// A proxy that is bound and waits to be run.
pub(crate) struct ProxyServer {
    server: MockServer,
    proxy: Arc<Proxy>,
}

/// Binds a proxy and its TCP ports. Run it with [`ProxyServer::run`].
///
/// # Errors
/// The configuration makes no sense, or a port is taken.
pub(crate) async fn serve(options: ProxyOptions) -> Result<ProxyServer, MockError> {
    let config = Config::read(&options.config).map_err(Unusable::from)?;
    let ports: Vec<u16> = config.entries().filter_map(|entry| entry.tcp_port()).collect();
    let upstream = Upstream::new().map_err(Unusable::from)?;
    let proxy = Arc::new(Proxy {
        config: RwLock::new(config),
        upstream,
        host: options.host.clone(),
        has_remote_control: options.has_remote_control,
        saver: Mutex::new(Saver::new(options.saves)),
        ports: Mutex::default(),
        listeners: Mutex::default(),
        log: options.log.map(Mutex::new),
    });
    let shared = Arc::clone(&proxy);
    let handler: Handler = Arc::new(move |request, peer| {
        let proxy = Arc::clone(&shared);
        Box::pin(async move { proxy.exchange(request, peer).await })
    });
    let server = MockServer::bind(&options.host, options.port, handler).await?;
    for port in ports {
        tcp::listen(&proxy, port).await?;
    }
    Ok(ProxyServer { server, proxy })
}

impl ProxyServer {
    /// The bound address as a URL, to be printed before anything else.
    pub(crate) fn url(&self) -> String {
        self.server.url()
    }

    /// The TCP ports of the configuration, with the addresses that were bound.
    pub(crate) fn tcp_addresses(&self) -> Vec<(u16, SocketAddr)> {
        locked(&self.proxy.ports).clone()
    }

    /// Warnings for the operator: types in the configuration that nobody knows.
    pub(crate) fn warnings(&self) -> Vec<String> {
        let config = self.proxy.config();
        let warning = |entry: &Arc<Entry>| {
            let kind = entry.behaviour.unknown_type()?;
            Some(format!("`{}`: no type `{kind}`; requests will be answered with 400", entry.key))
        };
        config.entries().filter_map(warning).collect()
    }

    /// Serves until the future is done.
    ///
    /// # Cancellation
    /// Dropping this future, or the end of the one given, closes every connection at once.
    pub(crate) async fn run(self, until: impl Future<Output = ()>) {
        let Self { server, proxy } = self;
        server.run(until).await;
        // The listeners hold the proxy, which holds the listeners.
        let mut listeners = std::mem::take(&mut *locked(&proxy.listeners));
        listeners.shutdown().await;
    }
}

impl Proxy {
    /// A copy of the configuration as it is now; entries are shared.
    fn config(&self) -> Config {
        self.config.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    async fn exchange(
        self: Arc<Self>,
        request: Request<Incoming>,
        peer: SocketAddr,
    ) -> Response<MockBody> {
        if let Some(endpoint) = control::Endpoint::at(request.uri().path()) {
            return control::answer(&self, endpoint, &request, peer).await;
        }
        let line = format!("{} {}", request.method(), request.uri());
        let client = client_of(&request, peer);
        let found = {
            let config = self.config.read().unwrap_or_else(PoisonError::into_inner);
            let tenant = config.tenant_of(&client).to_owned();
            match config.route(&tenant, request.method(), request.uri().path()) {
                Some(entry) => Ok(entry),
                None => Err(format!("No config for \"{line}\" of tenant \"{tenant}\"")),
            }
        };
        let (response, key) = match found {
            Ok(entry) => {
                let answer = self.ask(&entry, request);
                (entry.behaviour.answer(&entry.key, answer).await, entry.key.clone())
            }
            Err(reason) => (text(StatusCode::BAD_REQUEST, reason), "-".to_owned()),
        };
        super::log(&self.log, format_args!("{line} {} {key}", response.status().as_u16()));
        response
    }

    /// Asks the upstream of an entry.
    async fn ask(&self, entry: &Entry, request: Request<Incoming>) -> Response<MockBody> {
        let Some(target) = &entry.target else {
            return bad_gateway("this entry has no `host`");
        };
        let (head, body) = request.into_parts();
        let Some(body) = body::collect(body).await else {
            return refuse(StatusCode::PAYLOAD_TOO_LARGE, "the request's body is too large");
        };
        let mut uri = target.origin();
        uri.push_str(&entry.upstream_path(head.uri.path()));
        if let Some(query) = head.uri.query() {
            uri.push(if uri.contains('?') { '&' } else { '?' });
            uri.push_str(query);
        }
        match self.upstream.call(head.method, uri, &head.headers, body).await {
            Ok(answer) => answer.into_response(),
            Err(error) => bad_gateway(error),
        }
    }
}

/// The address of the client: the first of `X-Forwarded-For`, else that of the connection.
fn client_of(request: &Request<Incoming>, peer: SocketAddr) -> String {
    let forwarded = request.headers().get("x-forwarded-for").and_then(|value| value.to_str().ok());
    let first = forwarded.and_then(|list| list.split(',').next()).map(str::trim);
    match first {
        Some(first) if !first.is_empty() => first.to_owned(),
        _ => peer.ip().to_canonical().to_string(),
    }
}

/// No code under these locks panics.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
