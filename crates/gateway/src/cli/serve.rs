//! `qlio serve`: routes and ad-hoc scripts over HTTP.

use std::{
    io,
    net::{IpAddr, SocketAddr, ToSocketAddrs},
    path::Path,
    sync::Arc,
    time::Duration,
};

use arc_swap::ArcSwap;
use clap::Args;
use qlio_data::Value;
use qlio_engine::{
    EngineOptions,
    cache::Cache,
    heavy::{Heavy, HeavyThreads},
    transport::{BodyMemory, TransportSettings},
};
use tokio::runtime::Runtime;

use super::{
    Exit,
    app::{AppArgs, require_guards},
    open_files,
    operators::{Operators, worker_app},
    report,
    signals::{Hangups, StopSignals},
};
use crate::{
    admin::AdminServer,
    config::{self, CommandLine, Flag},
    heavy::HeavyPool,
    http::{
        app::Shared,
        ecv::Health,
        logs::Logs,
        quota::Quotas,
        run_error,
        server::{Server, ServerConfig, ServerLimits},
    },
    load,
};

/// The longest that `--timeout` may say, in milliseconds: a day.
const IDLE_MS_MAX: u64 = 24 * 60 * 60 * 1000;

#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of the command line")]
pub(super) struct ServeArgs {
    #[command(flatten)]
    app: AppArgs,
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
    /// Development mode, on loopback only: starts with what loads, answers scripts of clients, which
    /// may call private addresses, and tells clients everything.
    #[arg(long)]
    dev: bool,
    /// Start with what loads when a file or setting has an error.
    #[arg(long, conflicts_with = "strict")]
    lenient: bool,
    /// Refuse to start when a file or setting has an error, which is the default without `--dev`.
    #[arg(long)]
    strict: bool,
    /// Answer scripts of clients, at `/q` and over WebSocket.
    #[arg(long = "enable-q", visible_aliases = ["enableQ", "adhoc"], conflicts_with = "disable_q")]
    enable_q: bool,
    /// Answer no scripts of clients, not even with `--dev`.
    #[arg(long = "disableQ", visible_alias = "disable-q", short = 'q', id = "disable_q")]
    disable_q: bool,
    /// Path of the health check; default `/ecv`.
    #[arg(long = "ecvPath", visible_alias = "ecv-path", short = 'a', value_name = "PATH")]
    ecv_path: Option<String>,
    /// Whether `POST <ecvPath>/disable` and `/enable` switch the health check; default `false`.
    #[arg(long = "ecvControl", visible_alias = "ecv-control", value_name = "BOOL")]
    ecv_control: Option<bool>,
    /// Origin whose pages may run scripts, or `*`; may be repeated. Default: the same host.
    #[arg(long = "wsOrigins", visible_alias = "ws-origins", value_name = "ORIGIN")]
    ws_origins: Vec<String>,
    /// Where operators see what the server does: `host:port`, a port of 127.0.0.1, or `unix:` and a path;
    /// default nowhere.
    #[arg(long, value_name = "ADDRESS", conflicts_with = "mon_port")]
    admin: Option<String>,
    /// The same on a port of 127.0.0.1, as start scripts of the original say it.
    #[arg(
        long = "monPort",
        visible_alias = "mon-port",
        short = 'm',
        value_name = "PORT",
        id = "mon_port"
    )]
    mon_port: Option<u16>,
    /// The address of that port, instead of 127.0.0.1.
    #[arg(
        long = "monHost",
        visible_alias = "mon-host",
        value_name = "HOST",
        requires = "mon_port"
    )]
    mon_host: Option<String>,
    /// Name of the header that carries request ids; default `request-id`.
    #[arg(long = "requestId", visible_alias = "request-id", value_name = "NAME")]
    request_id: Option<String>,
    /// How long a connection may wait for its next request, in milliseconds; default 300000.
    #[arg(long, value_name = "MS", value_parser = clap::value_parser!(u64).range(1..=IDLE_MS_MAX))]
    timeout: Option<u64>,
    /// For start scripts of the original; workers are threads, which nothing wears out.
    #[arg(long = "connThreshold", visible_alias = "conn-threshold", value_name = "N")]
    conn_threshold: Option<u64>,
    /// Folder for log files; default none.
    #[arg(long, value_name = "DIR")]
    logs: Option<String>,
}

impl ServeArgs {
    /// The flags that are settings.
    fn command_line(&self) -> CommandLine {
        let texts =
            |texts: &[String]| texts.iter().map(|text| Value::from(text.as_str())).collect();
        let flags = [
            self.enable_q.then(|| ("--enable-q", "adhoc.enabled", Value::Bool(true))),
            self.disable_q.then(|| ("--disableQ", "adhoc.enabled", Value::Bool(false))),
            self.ecv_path.as_deref().map(|path| ("--ecvPath", "ecvPath", Value::from(path))),
            self.ecv_control.map(|is_on| ("--ecvControl", "ecvControl", Value::Bool(is_on))),
            (!self.ws_origins.is_empty())
                .then(|| ("--wsOrigins", "trust.origins", texts(&self.ws_origins))),
            self.admin.as_deref().map(|at| ("--admin", "admin.listen", Value::from(at))),
            self.mon_port.map(|port| {
                let at = match self.mon_host.as_deref() {
                    Some(host) => format!("{host}:{port}"),
                    None => port.to_string(),
                };
                ("--monPort", "admin.listen", Value::from(at.as_str()))
            }),
            self.request_id
                .as_deref()
                .map(|name| ("--requestId", "requestId.header", Value::from(name))),
            self.logs.as_deref().map(|folder| ("--logs", "logs", Value::from(folder))),
        ];
        let flags = flags.into_iter().flatten();
        let flags = flags.map(|(flag, setting, value)| Flag { flag, setting, value }).collect();
        CommandLine { flags, ..CommandLine::of_process(self.dev) }
    }

    /// Whether an error in a file or setting keeps the server from starting.
    fn is_strict(&self) -> bool {
        self.strict || !(self.dev || self.lenient)
    }
}

pub(super) fn serve(args: &ServeArgs) -> Exit {
    let waiting = match Waiting::begin() {
        Ok(waiting) => waiting,
        Err(error) => {
            report::error(&format!("cannot listen to signals: {error}"));
            return Exit::Usage;
        }
    };
    match start(args) {
        Ok(started) => waiting.wait(started),
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

impl NotStarted {
    /// Files or settings that cannot be used.
    fn because(reason: String) -> Self {
        Self { reason, exit: Exit::Failed }
    }
}

impl From<String> for NotStarted {
    fn from(reason: String) -> Self {
        Self { reason, exit: Exit::Usage }
    }
}

impl From<io::Error> for NotStarted {
    fn from(error: io::Error) -> Self {
        // Start scripts tell a taken port by this code.
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
    admin: Option<AdminServer>,
    summary: String,
}

/// Starts the server.
fn start(args: &ServeArgs) -> Result<Started, NotStarted> {
    let files = open_files::raise_limit();
    let addresses = addresses(&args.host, &args.port)?;
    let is_loopback = addresses.iter().all(|address| address.ip().is_loopback());
    if args.dev && !is_loopback {
        return Err("`--dev` works on loopback only; use `--host 127.0.0.1`".to_owned().into());
    }
    let app = args.app.find().map_err(NotStarted::because)?;
    let (config, effective, problems) =
        config::read_with_origins(app.config.as_deref(), &args.command_line());
    let (config_errors, _) = report::config(&problems);
    let loaded = load::load(&app.folders, &config);
    let (catalog_errors, _) = report::catalog(&loaded.problems);
    let mut errors = config_errors + catalog_errors;
    let settings = config.app_settings(args.dev);
    let cache = report::start_cache(config.cache).unwrap_or_else(|reason| {
        report::error(&reason);
        errors += 1;
        None
    });
    require_guards(&problems).map_err(NotStarted::because)?;
    if args.is_strict() && errors > 0 {
        let errors = report::count(errors, "error");
        let reason = format!("{errors}; not started. `--lenient` starts with what loads");
        return Err(NotStarted::because(reason));
    }
    let (tables, routes) = (loaded.catalog.tables().len(), loaded.matcher.len());
    let logs = config.front.logs.as_deref();
    let logs = logs.map(|folder| open_logs(folder, loaded.catalog.secrets())).transpose();
    let logs = logs.map_err(NotStarted::because)?;
    let workers =
        args.workers.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, Into::into));
    let mut operators = Operators::listen(&config.front.admin, effective, settings.gate.clone())?;
    operators.count(workers, &loaded);
    let shared = Arc::new(Shared {
        logs: logs.clone(),
        loaded: ArcSwap::from_pointee(loaded),
        settings,
        health: Health::new(config.front.ecv_path, config.front.ecv_control),
        quotas: Quotas::new(&config.front.keep),
        sockets: config.front.sockets,
    });
    let heavy = Arc::new(HeavyPool::new(config.front.heavy));
    let body_memory = BodyMemory::new(config.front.keep.upstream_bytes_max);
    let engine = EngineOptions {
        settings: config.settings,
        transport: TransportSettings { body_memory, ..config.transport },
        cache: cache.clone(),
        describe_error: run_error::body,
        heavy: Heavy::on(Arc::clone(&heavy) as Arc<dyn HeavyThreads>),
        meter: None,
    };
    let limits = ServerLimits {
        answer_pace: config.front.answer_pace,
        connections_max: open_files::connections_max(config.front.connections_max, files),
        idle_timeout: args
            .timeout
            .map_or(ServerLimits::default().idle_timeout, Duration::from_millis),
        ..ServerLimits::default()
    };
    let answers = Arc::clone(&shared.quotas.answers);
    let server_config = ServerConfig { addresses, workers, limits, answers };
    let (meters, events) = (operators.meters(), operators.events(logs.clone()));
    let app = Arc::clone(&shared);
    let server = Server::start(&server_config, Arc::clone(&events), move |context| {
        worker_app(&app, &engine, &meters, context)
    })?;
    let admin = operators.answer(&server, shared, heavy, events)?;
    let [routes, tables, workers] = [(routes, "route"), (tables, "table"), (workers, "worker")]
        .map(|(count, noun)| report::count(count, noun));
    let summary = format!("serving {routes} over {tables} with {workers}");
    if let Some(logs) = &logs {
        logs.info(&summary);
    }
    Ok(Started { server, cache, logs, admin, summary })
}

/// The log files; secrets of the settings do not get into them.
fn open_logs(folder: &Path, secrets: &[String]) -> Result<Arc<Logs>, String> {
    Logs::open(folder, secrets.to_vec(), Box::new(report::error))
        .map(Arc::new)
        .map_err(|error| format!("cannot write log files to `{}`: {error}", folder.display()))
}

/// The thread that waits for signals while others serve: one more would have a heap of its own.
struct Waiting {
    runtime: Runtime,
    hangups: Hangups,
}

impl Waiting {
    /// Before anything else is done, so that a SIGHUP never ends the process.
    fn begin() -> io::Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let hangups = runtime.block_on(async { Hangups::listen() })?;
        Ok(Self { runtime, hangups })
    }

    /// Serves until a signal asks to stop, then lets requests in flight finish and the cache end. The
    /// addresses are told once signals are listened to, so whoever reads them can stop the server.
    fn wait(self, Started { server, cache, logs, admin, summary }: Started) -> Exit {
        let Self { runtime, mut hangups } = self;
        let mut signals = match runtime.block_on(async { StopSignals::listen() }) {
            Ok(signals) => signals,
            Err(error) => {
                report::error(&format!("cannot listen to signals: {error}"));
                return Exit::Usage;
            }
        };
        for address in server.addresses() {
            report::data(&format!("http://{address}"));
        }
        report::note(&summary);
        let tell = |text: &str| {
            if let Some(logs) = &logs {
                logs.info(text);
            }
        };
        runtime.block_on(async {
            tokio::select! {
                () = signals.next() => {}
                () = server.ended() => {}
                () = hangups.ignore(tell) => {}
                () = beat(cache.clone(), logs.clone()) => {}
            }
            let stopper = server.stopper();
            stopper.drain();
            // A second signal does not wait for anybody.
            tokio::select! {
                () = signals.next() => stopper.stop(),
                () = hangups.ignore(tell) => {}
                () = server.ended() => {}
            }
        });
        drop(runtime);
        let exit = finish(server, cache, logs);
        if let Some(admin) = admin {
            admin.end();
        }
        exit
    }
}

/// Lets everything come to its end that the server has begun.
fn finish(server: Server, cache: Option<Arc<Cache>>, logs: Option<Arc<Logs>>) -> Exit {
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
