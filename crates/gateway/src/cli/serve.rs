//! `qlio serve`: routes and ad-hoc scripts over HTTP.

use std::{
    io,
    net::{IpAddr, SocketAddr, ToSocketAddrs},
    path::{Path, PathBuf},
    sync::Arc,
};

use arc_swap::ArcSwap;
use clap::Args;
use qlio_engine::{Engine, EngineOptions, cache::Cache};
use tokio::signal::unix::{Signal, SignalKind, signal};

use super::{CatalogArgs, Exit, report};
use crate::{
    config::{
        self, FrontSettings,
        front::{HEALTH_PATH_WANTED, is_health_path},
    },
    http::{
        app::{AppSettings, HttpApp, Shared},
        ecv::Health,
        logs::Logs,
        run_error,
        server::{Event, EventSink, Server, ServerConfig, ServerLimits},
        trace::TraceLevel,
        websocket::SocketSettings,
    },
    load::{self, CatalogFolders},
};

#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of the command line")]
pub(super) struct ServeArgs {
    #[command(flatten)]
    catalog: CatalogArgs,
    /// Address to listen on.
    #[arg(long, default_value = "127.0.0.1")]
    host: String,
    /// Ports to listen on, joined by commas; 0 picks a free one. The first lines on stdout name the
    /// addresses.
    #[arg(long, short = 'p', value_name = "PORT", value_delimiter = ',', default_value = "3000")]
    port: Vec<u16>,
    /// Worker threads; default one per core.
    #[arg(long, short = 'n', visible_alias = "noWorkers", value_name = "N")]
    workers: Option<usize>,
    /// For start scripts of the original; there are always workers.
    #[arg(long, short = 'C')]
    cluster: bool,
    /// For start scripts of the original; there is no console.
    #[arg(long = "disableConsole", visible_alias = "disable-console", short = 'e')]
    disable_console: bool,
    /// Development mode, on loopback only: scripts of clients may call private addresses.
    #[arg(long)]
    dev: bool,
    /// Refuse to start when a file or setting has an error.
    #[arg(long)]
    strict: bool,
    /// Answer `/q` also when the server can be reached from outside.
    #[arg(long, conflicts_with = "disable_q")]
    enable_q: bool,
    /// Do not answer `/q`.
    #[arg(long = "disableQ", visible_alias = "disable-q", short = 'q', id = "disable_q")]
    disable_q: bool,
    /// Path of the health check; default `/ecv`.
    #[arg(long = "ecvPath", visible_alias = "ecv-path", short = 'a', value_name = "PATH")]
    ecv_path: Option<String>,
    /// Whether `POST <ecvPath>/disable` and `/enable` switch the health check; default `false`.
    #[arg(long = "ecvControl", visible_alias = "ecv-control", value_name = "BOOL")]
    ecv_control: Option<bool>,
    /// Origin whose pages may open WebSocket connections, or `*`; may be repeated. Default: the
    /// same host.
    #[arg(long = "wsOrigins", visible_alias = "ws-origins", value_name = "ORIGIN")]
    ws_origins: Vec<String>,
    /// Folder for log files; default none.
    #[arg(long, value_name = "DIR")]
    logs: Option<PathBuf>,
}

pub(super) fn serve(args: &ServeArgs) -> Exit {
    match start(args) {
        Ok(started) => wait(started),
        Err(NotStarted { reason, exit }) => {
            report::error(&reason);
            exit
        }
    }
}

/// Why there is no server.
struct NotStarted {
    reason: String,
    exit: Exit,
}

impl From<String> for NotStarted {
    fn from(reason: String) -> Self {
        Self { reason, exit: Exit::Usage }
    }
}

impl From<io::Error> for NotStarted {
    fn from(error: io::Error) -> Self {
        // Start scripts tell a taken port by this code (`server.md` 3.3).
        let is_taken = error.kind() == io::ErrorKind::AddrInUse;
        let exit = if is_taken { Exit::PortTaken } else { Exit::Usage };
        Self { reason: format!("cannot start: {error}"), exit }
    }
}

/// A running server, the cache that its workers share, and what there is to say about it.
struct Started {
    server: Server,
    cache: Option<Arc<Cache>>,
    logs: Option<Arc<Logs>>,
    summary: String,
}

/// Starts the server.
fn start(args: &ServeArgs) -> Result<Started, NotStarted> {
    let addresses = addresses(&args.host, &args.port)?;
    let is_loopback = addresses.iter().all(|address| address.ip().is_loopback());
    if args.dev && !is_loopback {
        return Err("`--dev` works on loopback only; use `--host 127.0.0.1`".to_owned().into());
    }
    let catalog = args.catalog.clone().or_here();
    let (config, problems) = config::read(catalog.config.as_deref());
    let (config_errors, _) = report::config(&problems);
    let folders = CatalogFolders {
        tables: catalog.tables,
        routes: catalog.routes,
        ..CatalogFolders::default()
    };
    let loaded = load::load(&folders, &config);
    let (errors, _) = report::catalog(&loaded.problems);
    let errors = errors + config_errors;
    if args.strict && errors > 0 {
        let errors = report::counted(errors, "error");
        return Err(format!("{errors}; not started because of `--strict`").into());
    }
    let (tables, routes) = (loaded.catalog.tables().len(), loaded.matcher.len());
    let logs = match args.logs.as_ref().or(config.front.logs.as_ref()) {
        Some(folder) => Some(open_logs(folder, &config.secrets)?),
        None => None,
    };
    let shared = Arc::new(Shared {
        logs: logs.clone(),
        loaded: ArcSwap::from_pointee(loaded),
        settings: AppSettings {
            allows_adhoc: !args.disable_q && (is_loopback || args.enable_q),
            may_call_private: args.dev,
            request_bytes_max: config.request_bytes_max,
            request_id_header: config.settings.request_id_header.clone(),
            // What upstreams are called with is not for everybody who can reach the server.
            trace: config.front.trace.unwrap_or(if is_loopback {
                TraceLevel::Full
            } else {
                TraceLevel::Progress
            }),
        },
        secrets: config.secrets.clone(),
        health: health(args, &config.front)?,
        sockets: sockets(args, &config.front),
    });
    let cache = match report::start_cache(config.cache) {
        Ok(cache) => cache,
        Err(reason) if args.strict => return Err(reason.into()),
        // A cache makes answers cheaper, not possible (`connectors.md` 6.1).
        Err(reason) => {
            report::error(&reason);
            None
        }
    };
    let engine = EngineOptions {
        settings: config.settings,
        transport: config.transport,
        cache: cache.clone(),
        describe_error: run_error::body,
    };
    let workers =
        args.workers.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, Into::into));
    let server_config = ServerConfig { addresses, workers, limits: ServerLimits::default() };
    let noted = logs.clone();
    let events: EventSink = Arc::new(move |event: Event| {
        report::note(&event.to_string());
        if let Some(logs) = &noted {
            logs.event(&event);
        }
    });
    let server = Server::start(&server_config, events, move |_| {
        let engine = Engine::new(engine.clone())?;
        Ok(HttpApp::new(Arc::clone(&shared), engine))
    })?;
    let [routes, tables, workers] = [(routes, "route"), (tables, "table"), (workers, "worker")]
        .map(|(count, noun)| report::counted(count, noun));
    let summary = format!("serving {routes} over {tables} with {workers}");
    if let Some(logs) = &logs {
        logs.info(&summary);
    }
    Ok(Started { server, cache, logs, summary })
}

/// The log files; secrets of the settings do not get into them.
fn open_logs(folder: &Path, secrets: &[String]) -> Result<Arc<Logs>, String> {
    Logs::open(folder, secrets.to_vec(), Box::new(report::error))
        .map(Arc::new)
        .map_err(|error| format!("cannot write log files to `{}`: {error}", folder.display()))
}

/// The health check; the command line beats the settings file.
fn health(args: &ServeArgs, front: &FrontSettings) -> Result<Health, String> {
    let path = args.ecv_path.as_ref().unwrap_or(&front.ecv_path);
    if !is_health_path(path) {
        return Err(format!("`--ecvPath {path}` must be {HEALTH_PATH_WANTED}"));
    }
    Ok(Health::new(path.as_str(), args.ecv_control.unwrap_or(front.ecv_control)))
}

/// WebSocket connections; origins of the command line replace those of the settings file.
fn sockets(args: &ServeArgs, front: &FrontSettings) -> SocketSettings {
    let mut settings = front.sockets.clone();
    if !args.ws_origins.is_empty() {
        settings.origins.clone_from(&args.ws_origins);
    }
    settings
}

/// Serves until a signal asks to stop, then lets requests in flight finish and the cache end. The
/// addresses are told once signals are listened to, so whoever reads them can stop the server.
///
/// Signals are waited for by this thread: one more would have a heap of its own.
fn wait(Started { server, cache, logs, summary }: Started) -> Exit {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let listening = runtime.and_then(|runtime| {
        let signals = runtime.block_on(async { StopSignals::listen() })?;
        Ok((runtime, signals))
    });
    let (runtime, mut signals) = match listening {
        Ok(listening) => listening,
        Err(error) => {
            report::error(&format!("cannot listen to signals: {error}"));
            return Exit::Usage;
        }
    };
    for address in server.addresses() {
        report::data(&format!("http://{address}"));
    }
    report::note(&summary);
    runtime.block_on(async {
        tokio::select! {
            () = signals.next() => {}
            () = server.ended() => {}
            () = beat(cache.clone(), logs.clone()) => {}
        }
        let stopper = server.stopper();
        stopper.drain();
        // A second signal does not wait for anybody.
        tokio::select! {
            () = signals.next() => stopper.stop(),
            () = server.ended() => {}
        }
    });
    drop(runtime);
    let joined = server.join();
    if let Some(cache) = cache {
        cache.end();
    }
    if let Some(logs) = logs {
        logs.finish();
    }
    match joined {
        Ok(0) => Exit::Success,
        Ok(aborted) => {
            report::note(&format!("{aborted} connections were cut off"));
            Exit::Success
        }
        Err(error) => {
            report::error(&error.to_string());
            Exit::Failed
        }
    }
}

/// Tells the statistics of the cache's servers, and the log that the process lives, from time to time;
/// never ends.
async fn beat(cache: Option<Arc<Cache>>, logs: Option<Arc<Logs>>) {
    let cache = async {
        if let Some(cache) = cache {
            cache.client().keep_beating().await;
        }
        std::future::pending::<()>().await;
    };
    let logs = async {
        if let Some(logs) = logs {
            logs.keep_beating().await;
        }
        std::future::pending::<()>().await;
    };
    tokio::join!(cache, logs);
}

/// SIGINT and SIGTERM.
pub(super) struct StopSignals {
    interrupt: Signal,
    terminate: Signal,
}

impl StopSignals {
    /// Begins to listen; from here on the signals no longer end the process by themselves.
    ///
    /// # Errors
    /// The system refuses a handler.
    pub(super) fn listen() -> io::Result<Self> {
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
        })
    }

    /// Waits for either.
    pub(super) async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}

/// The addresses of a host with each of the ports.
fn addresses(host: &str, ports: &[u16]) -> Result<Vec<SocketAddr>, String> {
    let ip = match host.parse::<IpAddr>() {
        Ok(ip) => ip,
        // One family is enough for a name such as localhost, and a free port must be one port.
        Err(_) => match (host, 0).to_socket_addrs().map(|mut found| found.next()) {
            Ok(Some(address)) => address.ip(),
            Ok(None) => return Err(format!("`{host}` has no address")),
            Err(error) => return Err(format!("cannot resolve `{host}`: {error}")),
        },
    };
    Ok(ports.iter().map(|port| SocketAddr::new(ip, *port)).collect())
}
