//! `qlio serve`: routes and ad-hoc scripts over HTTP.

use std::{
    io,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use anyhow::{Context, anyhow};
use clap::Args;
use qlio_data::Value;
use qlio_engine::{
    cache::Cache,
    heavy::{Heavy, HeavyThreads},
    transport::BodyMemory,
};
use tokio::runtime::Runtime;

use super::{
    Exit, Failure,
    app::{AppArgs, require_guards},
    inherited::Inherited,
    open_files,
    operators::{Operators, worker_front},
    pid_files::{Kind, PidFile},
    places, report,
    served_app::{AppReader, Lasting, ReadApp, ServedApp},
    service_manager,
    signals::{Hangups, StopSignals},
    supervise::{self, Supervised},
    telemetry::{start_exporter, start_stdout},
};
use crate::{
    admin::{AdminListener, AdminServer},
    config::{self, CommandLine, Flag, FrontSettings},
    heavy::HeavyPool,
    http::{
        app::Drafts,
        ecv::Health,
        logs::{Logs, StdoutLog},
        quota::Quotas,
        server::{self, Server, ServerConfig, ServerLimits},
        spans::Exporter,
    },
    reload::{Cause, Reloads, watch},
};

/// The longest that `--timeout` may say, in milliseconds: a day.
const IDLE_MS_MAX: u64 = 24 * 60 * 60 * 1000;

#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of the command line")]
pub(super) struct ServeArgs {
    #[command(flatten)]
    app: AppArgs,
    /// Address to listen on; default 127.0.0.1.
    #[arg(long)]
    host: Option<String>,
    /// Ports to listen on, joined by commas; 0 picks a free one; default 3000. The first lines on stdout
    /// name the addresses.
    #[arg(long, short = 'p', value_name = "PORT", value_delimiter = ',')]
    port: Vec<u16>,
    /// Where to listen instead, such as `0.0.0.0:3443 tls` or `unix:/run/qlio/http.sock mode=660`; may be
    /// repeated.
    #[arg(long, value_name = "PLACE", conflicts_with_all = ["host", "port"])]
    listen: Vec<String>,
    /// Worker threads; default one per core.
    #[arg(long, short = 'n', visible_alias = "noWorkers", value_name = "N")]
    workers: Option<usize>,
    /// For start scripts of the original; there are always workers.
    #[arg(long, short = 'C')]
    cluster: bool,
    /// Serve no console, not even with `--dev`.
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
    /// Read settings, tables and routes anew when their files change, which `--dev` does anyway.
    #[arg(long, conflicts_with = "no_watch")]
    watch: bool,
    /// Read nothing anew because files change, not even with `--dev`.
    #[arg(long = "no-watch", id = "no_watch")]
    no_watch: bool,
    /// How long connections are still taken once the server is to stop, in milliseconds; default 0.
    #[arg(long = "drainDelay", visible_alias = "drain-delay", value_name = "MS")]
    drain_delay: Option<u64>,
    /// Own the listeners, and have another process serve: one that dies is replaced, `qlio upgrade` or SIGUSR2 replaces
    /// the executable, and this process stays.
    #[arg(long)]
    supervise: bool,
    /// Serve for a supervisor.
    #[arg(long, hide = true, conflicts_with = "supervise")]
    supervised: bool,
    /// Folder for the numbers of the processes, which `qlio stop`, `shutdown` and `upgrade` read; default `pids` with
    /// `--supervise` and `--cluster`, else none.
    #[arg(long, value_name = "DIR")]
    pids: Option<PathBuf>,
    /// How long requests under way may take to end once the server stops, in milliseconds; default 30000.
    #[arg(long, value_name = "MS")]
    grace: Option<u64>,
}

impl ServeArgs {
    /// The flags that are settings.
    fn command_line(&self) -> CommandLine {
        let texts =
            |texts: &[String]| texts.iter().map(|text| Value::from(text.as_str())).collect();
        let flags = [
            self.enable_q.then(|| ("--enable-q", "adhoc.enabled", Value::Bool(true))),
            self.disable_q.then(|| ("--disableQ", "adhoc.enabled", Value::Bool(false))),
            self.disable_console.then(|| ("--disableConsole", "console", Value::Bool(false))),
            self.ecv_path.as_deref().map(|path| ("--ecvPath", "ecvPath", Value::from(path))),
            self.ecv_control.map(|is_on| ("--ecvControl", "ecvControl", Value::Bool(is_on))),
            (!self.listen.is_empty()).then(|| ("--listen", "listen", texts(&self.listen))),
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
            self.drain_delay.map(|ms| ("--drainDelay", "drainDelay", Value::from(ms))),
            self.grace.map(|ms| ("--grace", "grace", Value::from(ms))),
        ];
        let flags = flags.into_iter().flatten();
        let flags = flags.map(|(flag, setting, value)| Flag { flag, setting, value }).collect();
        CommandLine { flags, ..CommandLine::of_process(self.dev) }
    }

    /// Bounds of the server, where so many files may be open.
    fn limits(&self, front: &FrontSettings, files: Option<u64>) -> ServerLimits {
        let defaults = ServerLimits::default();
        ServerLimits {
            answer_pace: front.answer_pace,
            streams_max: front.listen.streams_max,
            connections_max: open_files::connections_max(front.connections_max, files),
            idle_timeout: self.timeout.map_or(defaults.idle_timeout, Duration::from_millis),
            drain_timeout: front.grace,
            ..defaults
        }
    }

    /// The folder for the numbers of the processes.
    fn pids(&self) -> Option<PathBuf> {
        let is_usual = self.supervise || self.supervised || self.cluster;
        self.pids.clone().or_else(|| is_usual.then(|| PathBuf::from("pids")))
    }

    /// Whether files are watched.
    fn watches(&self) -> bool {
        !self.no_watch && (self.watch || self.dev)
    }

    /// Whether an error in a file or setting keeps the server from starting.
    fn is_strict(&self) -> bool {
        self.strict || !(self.dev || self.lenient)
    }
}

pub(super) fn serve(args: &ServeArgs) -> Result<Exit, Failure> {
    // Before there is a thread.
    let inherited = Inherited::take().map_err(anyhow::Error::from)?;
    if args.supervise {
        return supervise::supervise(&supervised(args, inherited)?);
    }
    if args.supervised {
        supervise::end_with_supervisor();
    }
    let waiting = Waiting::begin().context("cannot listen to signals")?;
    waiting.wait(start(args, inherited)?)
}

/// A running server, the cache that its workers share, and what there is to say about it.
struct Started {
    server: Server,
    cache: Option<Arc<Cache>>,
    logs: Option<Arc<Logs>>,
    stdout: Option<Arc<StdoutLog>>,
    exporter: Option<Exporter>,
    admin: Option<AdminServer>,
    health: Arc<Health>,
    reloads: Reloads,
    drain_delay: Duration,
    summary: String,
    /// Whether somebody else says where this server is.
    is_supervised: bool,
    pid_file: Option<PidFile>,
}

/// What a supervisor has to know: the listeners, and where operators are listened to. Settings that it cannot use are
/// told by the server that it starts.
fn supervised(args: &ServeArgs, inherited: Inherited) -> Result<Supervised, Failure> {
    let named = places::named(args.host.as_deref(), &args.port)?;
    let app = args.app.find().map_err(Failure::failed)?;
    let (config, _) = config::read(app.config.as_deref(), &args.command_line());
    let (listens, _) = places::places(named, &config.front).map_err(Failure::failed)?;
    let listens = places::inherit(listens, inherited.clients).map_err(Failure::failed)?;
    let listeners = server::open(&listens)?;
    let gate = config.app_settings(args.dev).gate;
    let admin = AdminListener::bind(&config.front.admin, gate, inherited.admin)?;
    let admin = admin.map(AdminListener::into_opened).transpose()?;
    Ok(Supervised { listeners, admin, pids: args.pids() })
}

/// Starts the server.
fn start(args: &ServeArgs, inherited: Inherited) -> Result<Started, Failure> {
    let files = open_files::raise_limit();
    let named = places::named(args.host.as_deref(), &args.port)?;
    let (reader, read, cache) = read_app(args)?;
    let front = read.config.front.clone();
    let (listens, tls) = places::places(named, &front).map_err(Failure::failed)?;
    if args.dev && !listens.iter().all(places::is_local) {
        return Err(anyhow!("`--dev` works on loopback only; use `--host 127.0.0.1`").into());
    }
    let listens = places::inherit(listens, inherited.clients).map_err(Failure::failed)?;
    let (tables, routes) = (read.loaded.catalog.tables().len(), read.loaded.matcher.len());
    let logs = front.logs.as_deref();
    let logs = logs.map(|folder| open_logs(folder, read.loaded.catalog.secrets())).transpose();
    let logs = logs.map_err(Failure::failed)?;
    let stdout = start_stdout(front.stdout, front.log_level, read.loaded.catalog.secrets())?;
    let workers =
        args.workers.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, Into::into));
    let gate = read.config.app_settings(args.dev).gate;
    let operators = Operators::listen(&front.admin, gate, workers, inherited.admin)?;
    let (meters, events) = (operators.meters(), operators.events(logs.clone(), stdout.clone()));
    let tls_upstream = read.config.transport.tls.clone();
    let exporter = start_exporter(&front.traces, tls_upstream, Arc::clone(&events))?;
    let heavy = Arc::new(HeavyPool::new(front.heavy));
    let drafts = Drafts::default();
    let lasting = Lasting {
        health: Arc::new(Health::new(front.ecv_path.clone(), front.ecv_control)),
        quotas: Arc::new(Quotas::new(&front.keep)),
        logs: logs.clone(),
        stdout: stdout.clone(),
        exporter: exporter.clone(),
        teller: operators.teller(),
        cache: cache.clone(),
        heavy: Heavy::on(Arc::clone(&heavy) as Arc<dyn HeavyThreads>),
        body_memory: BodyMemory::new(front.keep.upstream_bytes_max),
        series: operators.series(),
        tls: tls.clone(),
        drafts: drafts.clone(),
    };
    let limits = args.limits(&front, files);
    let answers = Arc::clone(&lasting.quotas.answers);
    let health = Arc::clone(&lasting.health);
    let server_config = ServerConfig { listens, workers, limits, answers };
    let state = read.state;
    let app = ServedApp::new(reader, lasting, read);
    let (published, places) = (app.published(), app.places());
    let (served, told) = (Arc::clone(&published), Arc::clone(&events));
    let server = Server::start(&server_config, Arc::clone(&events), move |context| {
        worker_front(&served, &meters, Arc::clone(&told), context)
    })?;
    let reloads = Reloads::start(app, Arc::clone(&events))?;
    // Only now is there a thread that drafts of the console may wait for.
    drafts.start(&reloads);
    if args.watches() {
        watch::start(places, state, reloads.clone())?;
    }
    let admin = operators.answer(&server, published, heavy, reloads.clone(), events, tls)?;
    let summary = summarise([routes, tables, workers], args.watches());
    if let Some(logs) = &logs {
        logs.info(&summary);
    }
    let kind = if args.supervised { Kind::Worker } else { Kind::Master };
    let pid_file = args.pids().map(|folder| PidFile::create(&folder, kind));
    Ok(Started {
        server,
        cache,
        logs,
        stdout,
        exporter,
        admin,
        health,
        reloads,
        drain_delay: front.drain_delay,
        summary,
        is_supervised: args.supervised,
        pid_file: pid_file.transpose().map_err(Failure::failed)?,
    })
}

/// What a server of so many routes, tables and workers says of itself.
fn summarise([routes, tables, workers]: [usize; 3], is_watching: bool) -> String {
    let [routes, tables, workers] = [(routes, "route"), (tables, "table"), (workers, "worker")]
        .map(|(count, noun)| report::count(count, noun));
    let watching = if is_watching { ", reloading what changes" } else { "" };
    format!("serving {routes} over {tables} with {workers}{watching}")
}

/// Reads the app for the start, and tells what is wrong with it; starts the cache.
///
/// # Errors
/// There is none, or too much is wrong with it.
fn read_app(args: &ServeArgs) -> Result<(AppReader, ReadApp, Option<Arc<Cache>>), Failure> {
    let reader = AppReader {
        args: args.app.clone(),
        command_line: args.command_line(),
        is_dev: args.dev,
        is_lenient: !args.is_strict(),
    };
    let read = reader.read(None).map_err(Failure::failed)?;
    report::config(&read.problems);
    report::catalog(&read.loaded.problems);
    let mut errors = read.errors();
    let cache = report::start_cache(read.config.cache.clone()).unwrap_or_else(|error| {
        report::error(&error.to_string());
        errors += 1;
        None
    });
    require_guards(&read.problems).map_err(Failure::failed)?;
    if args.is_strict() && errors > 0 {
        let errors = report::count(errors, "error");
        let error = anyhow!("{errors}; not started. `--lenient` starts with what loads");
        return Err(Failure::failed(error));
    }
    Ok((reader, read, cache))
}

/// The log files; secrets of the settings do not get into them.
fn open_logs(folder: &Path, secrets: &[String]) -> anyhow::Result<Arc<Logs>> {
    Logs::open(folder, secrets.to_vec(), Box::new(report::error))
        .map(Arc::new)
        .with_context(|| format!("cannot write log files to `{}`", folder.display()))
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

    /// Serves until somebody asks it to stop, then lets requests in flight finish and the cache end. The
    /// addresses are told once signals are listened to, so whoever reads them can stop the server.
    fn wait(self, started: Started) -> Result<Exit, Failure> {
        let Self { runtime, mut hangups } = self;
        let Started { server, cache, logs, stdout, exporter, .. } = started;
        let Started { admin, health, reloads, drain_delay, .. } = started;
        let signals = runtime.block_on(async { StopSignals::listen() });
        let mut signals = signals.context("cannot listen to signals")?;
        // A supervisor says it once for all its servers.
        for listen in server.listens().iter().filter(|_| !started.is_supervised) {
            report::data(&listen.to_string());
        }
        report::note(&started.summary);
        service_manager::ready();
        let reload = || {
            if let Err(busy) = reloads.order(Cause::Signal) {
                report::note(&busy.to_string());
            }
        };
        runtime.block_on(async {
            let stopper = server.stopper();
            tokio::select! {
                () = signals.next() => stopper.leave(),
                () = server.left() => {}
                () = server.ended() => {}
                () = hangups.each(reload) => {}
                () = beat(cache.clone(), logs.clone()) => {}
                () = service_manager::keep_alive(|most| server.lateness().all(|late| late < most / 2)) => {}
            }
            service_manager::stopping();
            // Load balancers see it, and have time to send their requests elsewhere.
            health.disable();
            // A second signal does not wait for anybody.
            tokio::select! {
                () = signals.next() => stopper.stop(),
                () = hangups.each(|| {}) => {}
                () = async {
                    tokio::time::sleep(drain_delay).await;
                    stopper.drain();
                    server.ended().await;
                } => {}
                () = server.ended() => {}
            }
        });
        drop(runtime);
        let exit = finish(server, cache, logs);
        // No request is under way any more, so these have all that there will be.
        if let Some(exporter) = exporter {
            exporter.finish();
        }
        if let Some(stdout) = stdout {
            stdout.finish();
        }
        if let Some(admin) = admin {
            admin.end();
        }
        drop(started.pid_file);
        Ok(exit)
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
