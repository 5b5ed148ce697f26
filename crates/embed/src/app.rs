//! An app that is open: loaded, with threads that wait for something to do.

use std::{
    fmt, io, mem,
    sync::{
        Arc, PoisonError, RwLock,
        atomic::{AtomicU64, AtomicUsize, Ordering},
        mpsc as std_mpsc,
    },
    thread,
    time::Duration,
};

use qlio_engine::{
    Engine, EngineOptions,
    cache::{Cache, CacheConfigError, CacheEvent, CacheEventSink},
    heavy::Heavy,
    transport::{BodyMemory, TransportSettings},
};
use qlio_gateway::{
    AppFolder,
    config::{self, CommandLine, Config, ConfigProblem},
    heavy::HeavyPool,
    http::{
        app::{HttpApp, Snapshot},
        ecv::Health,
        quota::Quotas,
        run_error,
    },
    load,
};
use qlio_plan::catalog::FileDiagnostics;
use qlio_syntax::{diagnostic::Severity, render};
use tokio::{runtime, sync::mpsc};

use crate::{
    events::{EventQueue, EventText},
    failure::{Failure, FailureKind},
    options::{AppSettings, Options, THREADS_MAX},
    route::RouteCall,
    run::{self, RouteRun, ScriptRun, Ticket},
    script::Script,
    slot::Slot,
    thread::{Common, Job, note, serve},
};

/// An app that cannot be opened, in words for its operator: everything that is wrong with its files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenError(String);

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for OpenError {}

impl From<io::Error> for OpenError {
    fn from(error: io::Error) -> Self {
        Self(format!("cannot start a thread: {error}"))
    }
}

/// An app that is open.
pub struct App {
    /// Those who have something to do; none once the app is closed.
    seats: RwLock<Vec<Seat>>,
    /// Runs that have been given and have not ended.
    under_way: Arc<AtomicUsize>,
    runs_max: usize,
    common: Arc<Common>,
    warnings: Vec<String>,
    closed: Arc<Slot<()>>,
}

/// A thread, as those see it who have work for it.
struct Seat {
    jobs: mpsc::Sender<Job>,
    /// What it has been given; the channel does not say.
    under_way: Arc<AtomicUsize>,
}

/// What the last thread that ends has to do.
struct Ending {
    left: AtomicUsize,
    cache: Option<Arc<Cache>>,
    notes: Arc<EventQueue>,
    closed: Arc<Slot<()>>,
}

impl Ending {
    fn one_less(&self) {
        if self.left.fetch_sub(1, Ordering::AcqRel) == 1 {
            if let Some(cache) = &self.cache {
                cache.end();
            }
            self.notes.end();
            self.closed.fill(());
        }
    }
}

impl App {
    /// Loads an app and starts its threads. It reads files, and waits for it.
    ///
    /// # Errors
    /// A file or setting has an error; all of them are told.
    pub fn open(options: &Options) -> Result<Self, OpenError> {
        let (files, config, problems) = read_settings(options)?;
        let mut told = Told::default();
        for problem in &problems {
            told.config(problem);
        }
        let loaded = load::load(&files.folders, &config);
        for file in &loaded.problems {
            told.file(file);
        }
        let notes = Arc::new(EventQueue::default());
        let cache = start_cache(&config, &notes).unwrap_or_else(|reason| {
            told.errors.push(format!("error: {reason}"));
            None
        });
        let warnings = told.into_warnings()?;
        let app_settings = config.app_settings(false);
        let body_memory = BodyMemory::new(config.front.keep.upstream_bytes_max);
        let engine = EngineOptions {
            settings: config.settings,
            transport: TransportSettings { body_memory, ..config.transport },
            cache: cache.clone(),
            describe_error: run_error::body,
            heavy: Heavy::on(Arc::new(HeavyPool::new(config.front.heavy))),
            meter: None,
        };
        let snapshot = Arc::new(Snapshot {
            health: Arc::new(Health::new(config.front.ecv_path, config.front.ecv_control)),
            sockets: config.front.sockets,
            quotas: Arc::new(Quotas::new(&config.front.keep)),
            engine: engine.clone(),
            ..Snapshot::new(Arc::new(loaded), app_settings)
        });
        let (folders, grace_ms) = (files.folders, AtomicU64::new(0));
        let common = Arc::new(Common { snapshot, folders, notes: Arc::clone(&notes), grace_ms });
        let threads = options
            .threads
            .unwrap_or_else(|| thread::available_parallelism().map_or(1, Into::into))
            .clamp(1, THREADS_MAX);
        let closed = Arc::default();
        let left = AtomicUsize::new(threads);
        let ending = Arc::new(Ending { left, cache, notes, closed: Arc::clone(&closed) });
        let seats = (0..threads)
            .map(|index| start_thread(index, options.runs_max, &engine, &common, &ending))
            .collect::<Result<Vec<_>, _>>()?;
        Ok(Self {
            seats: RwLock::new(seats),
            under_way: Arc::default(),
            runs_max: options.runs_max,
            common,
            warnings,
            closed,
        })
    }

    /// What is odd about the files and settings.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// The number of tables and of routes.
    pub fn size(&self) -> (usize, usize) {
        let loaded = &self.common.snapshot.loaded;
        (loaded.catalog.tables().len(), loaded.matcher.len())
    }

    /// Tells this catalog from any other.
    pub fn fingerprint(&self) -> String {
        self.common.snapshot.loaded.fingerprint.clone()
    }

    /// Runs a script.
    ///
    /// # Errors
    /// The app is closed, or as many runs are under way as may.
    pub fn exec(&self, script: Script) -> Result<ScriptRun, Failure> {
        let is_watched = script.events.is_some();
        self.begin(is_watched, |ticket| Job::Script(Box::new(script), ticket))
    }

    /// Asks a route, as a client would over HTTP.
    ///
    /// # Errors
    /// The app is closed, or as many runs are under way as may.
    pub fn call(&self, call: RouteCall) -> Result<RouteRun, Failure> {
        self.begin(false, |ticket| Job::Route(Box::new(call), ticket))
    }

    /// Has the next note handed to a function of the host, as JSON text: what a server would write to its log, such
    /// as incidents and failures of the cache. `None` when the app is closed. Answers whether nobody else waits.
    pub fn next_note(&self, then: impl FnOnce(Option<EventText>) + Send + 'static) -> bool {
        self.common.notes.next(then)
    }

    /// Takes no more runs, lets those under way go on for a while, and then gives them up. Does not wait; `then` is
    /// called when the threads have ended, on one of them.
    pub fn close(&self, grace: Duration, then: impl FnOnce() + Send + 'static) {
        let grace_ms = u64::try_from(grace.as_millis()).unwrap_or(u64::MAX);
        self.common.grace_ms.store(grace_ms, Ordering::Release);
        let seats = mem::take(&mut *self.seats.write().unwrap_or_else(PoisonError::into_inner));
        drop(seats);
        self.closed.when_filled(|()| then());
    }

    fn begin<T: Send + 'static>(
        &self,
        is_watched: bool,
        job: impl FnOnce(Ticket<T>) -> Job,
    ) -> Result<run::Run<T>, Failure> {
        let seats = self.seats.read().unwrap_or_else(PoisonError::into_inner);
        // The one that has least to do.
        let seat = seats.iter().min_by_key(|seat| seat.under_way.load(Ordering::Relaxed));
        let seat = seat.ok_or_else(Failure::closed)?;
        let counted = run::Counted::begin(&self.under_way, &seat.under_way, self.runs_max);
        let counted = counted.ok_or_else(|| {
            let Self { runs_max, .. } = self;
            let message = format!("{runs_max} runs are under way, as many as may (`maxRuns`)");
            Failure::plain(FailureKind::Busy, &message)
        })?;
        let (run, ticket) = run::new(is_watched, counted);
        // There is room for as many as may be under way; if the thread has gone, the ticket says so.
        drop(seat.jobs.try_send(job(ticket)));
        Ok(run)
    }
}

/// The files and the settings of an app.
fn read_settings(options: &Options) -> Result<(AppFolder, Config, Vec<ConfigProblem>), OpenError> {
    let Options { app: root, tables, routes, connectors, transformers, settings, .. } = options;
    if !root.is_dir() {
        return Err(OpenError(format!("there is no folder `{}`", root.display())));
    }
    let mut files = AppFolder::at(root);
    let command_line = CommandLine::of_process(false);
    let (config, problems) = match settings {
        AppSettings::OfApp => {
            let found = AppFolder::find_settings(root);
            files.config = found.map_err(|error| OpenError(error.to_string()))?;
            config::read(files.config.as_deref(), &command_line)
        }
        AppSettings::File(file) => {
            files.config = Some(file.clone());
            config::read(Some(file), &command_line)
        }
        AppSettings::Text(text) => config::parse(text, &root.join("options.json"), &command_line),
    };
    let parts = [
        (&mut files.folders.tables, tables),
        (&mut files.folders.routes, routes),
        (&mut files.folders.connectors, connectors),
        (&mut files.folders.transformers, transformers),
    ];
    for (part, given) in parts {
        if given.is_some() {
            part.clone_from(given);
        }
    }
    Ok((files, config, problems))
}

/// What there is to say about the files and settings of an app.
#[derive(Default)]
struct Told {
    errors: Vec<String>,
    warnings: Vec<String>,
}

impl Told {
    fn take(&mut self, severity: Severity, text: String) {
        match severity {
            Severity::Error => self.errors.push(text),
            Severity::Warning => self.warnings.push(text),
        }
    }

    fn config(&mut self, problem: &ConfigProblem) {
        let severity = problem.severity();
        let word = if severity == Severity::Error { "error" } else { "warning" };
        self.take(severity, format!("{word}[{}]: {problem}", problem.code()));
    }

    fn file(&mut self, file: &FileDiagnostics) {
        for problem in &file.diagnostics {
            let one = std::slice::from_ref(problem);
            let text = render::render(one, &file.file, &file.text, false);
            self.take(problem.severity, text.trim_end().to_owned());
        }
    }

    /// The warnings, if there is nothing worse.
    fn into_warnings(self) -> Result<Vec<String>, OpenError> {
        if self.errors.is_empty() {
            return Ok(self.warnings);
        }
        Err(OpenError(self.errors.join("\n")))
    }
}

/// Starts the response cache; what goes wrong in it becomes a note, and never fails a statement.
fn start_cache(
    config: &Config,
    notes: &Arc<EventQueue>,
) -> Result<Option<Arc<Cache>>, CacheConfigError> {
    let Some(settings) = config.cache.clone() else { return Ok(None) };
    let notes = Arc::clone(notes);
    let sink: CacheEventSink = Arc::new(move |event: &CacheEvent| {
        if matches!(event, CacheEvent::Error { .. } | CacheEvent::Info { .. }) {
            notes.push(note("cache", &event.message()));
        }
    });
    let cache = Cache::new(settings, sink)?;
    cache.start();
    Ok(Some(cache))
}

fn start_thread(
    index: usize,
    runs_max: usize,
    engine: &EngineOptions,
    common: &Arc<Common>,
    ending: &Arc<Ending>,
) -> Result<Seat, OpenError> {
    let (jobs, inbox) = mpsc::channel(runs_max);
    let (ready, is_ready) = std_mpsc::channel();
    let runtime = runtime::Builder::new_current_thread().enable_all().build()?;
    let (engine, common, ending) = (engine.clone(), Arc::clone(common), Arc::clone(ending));
    let name = format!("qlio {index}");
    thread::Builder::new().name(name).spawn(move || {
        // Parts of an engine cannot leave the thread on which they were made.
        let engine = {
            let _context = runtime.enter();
            Engine::new(engine)
        };
        match engine {
            Ok(engine) => {
                let shared = Arc::clone(&common.snapshot);
                let app = HttpApp::new(shared, engine, Arc::default());
                // If nobody waits any more, opening has failed already, and there will be no jobs.
                let _ = ready.send(Ok(()));
                serve(&runtime, app, common, inbox);
            }
            Err(error) => drop(ready.send(Err(error.to_string()))),
        }
        ending.one_less();
    })?;
    match is_ready.recv() {
        Ok(Ok(())) => Ok(Seat { jobs, under_way: Arc::default() }),
        Ok(Err(reason)) => Err(OpenError(format!("error: {reason}"))),
        Err(_) => Err(OpenError("error: a thread ended while it was starting".to_owned())),
    }
}
