//! Reading the app that a server serves, at its start and each time that it is read anew, and making of it what
//! workers answer from.

use std::{
    fmt::{Display, Write as _},
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
};

use anyhow::bail;
use arc_swap::ArcSwap;
use qlio_data::{Object, Value, redact::redact};
use qlio_engine::{
    Engine, EngineOptions,
    cache::Cache,
    heavy::Heavy,
    transport::{BodyMemory, TransportSettings},
};
use qlio_plan::catalog::FileDiagnostics;
use qlio_syntax::diagnostic::Severity;

use super::{
    app::{AppArgs, require_guards},
    drafts::{self, routes_folder},
    report, service_manager,
};
use crate::{
    admin::{AdminSettings, problem_of},
    app_folder::AppFolder,
    config::{self, CommandLine, Config, ConfigProblem, Effective},
    http::{
        app::{Drafts, ReloadTeller, Snapshot},
        ecv::Health,
        logs::{LogLevel, Logs, StdoutLog},
        meter::RequestSeries,
        quota::Quotas,
        run_error,
        spans::{Exporter, Traces},
    },
    load::{self, FileDigest, Loaded},
    reload::{
        Cause, Outcome, Verdict, Work,
        draft::{Draft, Drafted, Refusal},
        watch::Places,
    },
    tls::{Fresh, TlsFront},
};

/// How often an app is read again because its files have changed meanwhile.
const READS_MAX: usize = 5;

/// Changed files that a message names.
const NAMED_MAX: usize = 5;

/// Where the app is, and what the command line says about it.
pub(super) struct AppReader {
    pub(super) args: AppArgs,
    pub(super) command_line: CommandLine,
    pub(super) is_dev: bool,
    /// A set with errors is used.
    pub(super) is_lenient: bool,
}

/// An app as its files are.
pub(super) struct ReadApp {
    pub(super) config: Config,
    pub(super) effective: Vec<Effective>,
    pub(super) problems: Vec<ConfigProblem>,
    pub(super) loaded: Loaded,
    /// The files as they were before the first of them was read.
    pub(super) state: u64,
    pub(super) places: Arc<Places>,
    folder: AppFolder,
}

impl AppReader {
    /// Reads settings and catalog. What was part of the app before still is: that it has gone is an error, not an app
    /// without it.
    ///
    /// # Errors
    /// There is no app folder, or it has two settings files.
    pub(super) fn read(&self, before: Option<&AppFolder>) -> anyhow::Result<ReadApp> {
        let mut folder = self.args.find()?;
        if let Some(before) = before {
            let keep = |part: &mut Option<PathBuf>, known: &Option<PathBuf>| {
                if part.is_none() {
                    part.clone_from(known);
                }
            };
            keep(&mut folder.config, &before.config);
            keep(&mut folder.folders.tables, &before.folders.tables);
            keep(&mut folder.folders.routes, &before.folders.routes);
            keep(&mut folder.folders.connectors, &before.folders.connectors);
            keep(&mut folder.folders.transformers, &before.folders.transformers);
        }
        let known = Places::of(&folder.folders, folder.config.iter().cloned().collect());
        let state = known.state();
        let (config, effective, problems) =
            config::read_with_origins(folder.config.as_deref(), &self.command_line);
        let loaded = load::load(&folder.folders, &config);
        let files = folder.config.iter().chain(&config.files).chain(&loaded.beside).cloned();
        let files = files.chain(config.front.tls.files());
        let places = Arc::new(Places::of(&folder.folders, files.collect()));
        // The files beside are known only now; the rest has to be what it was before it was read.
        let state = if known.state() == state { places.state() } else { state.wrapping_add(1) };
        Ok(ReadApp { config, effective, problems, loaded, state, places, folder })
    }

    /// The same, with nothing changed while it was read: no answer comes from half of one set and half of another.
    ///
    /// # Errors
    /// As above; or the files do not come to rest.
    fn read_at_rest(&self, before: &AppFolder) -> anyhow::Result<ReadApp> {
        for _ in 0..READS_MAX {
            let read = self.read(Some(before))?;
            if read.places.state() == read.state {
                return Ok(read);
            }
        }
        bail!("the files have changed while they were read, {READS_MAX} times in a row")
    }
}

impl ReadApp {
    /// The number of errors.
    pub(super) fn errors(&self) -> usize {
        let is_error = |problem: &&ConfigProblem| problem.severity() == Severity::Error;
        let settings = self.problems.iter().filter(is_error).count();
        let files = self.loaded.problems.iter().flat_map(|file| &file.diagnostics);
        settings + files.filter(|problem| problem.severity == Severity::Error).count()
    }
}

/// What lives as long as the process, whatever is read anew.
#[derive(Clone)]
pub(super) struct Lasting {
    pub(super) health: Arc<Health>,
    pub(super) quotas: Arc<Quotas>,
    pub(super) logs: Option<Arc<Logs>>,
    pub(super) stdout: Option<Arc<StdoutLog>>,
    /// Sends spans, if somebody gets them.
    pub(super) exporter: Option<Exporter>,
    pub(super) teller: ReloadTeller,
    pub(super) cache: Option<Arc<Cache>>,
    pub(super) heavy: Heavy,
    pub(super) body_memory: BodyMemory,
    /// None where nobody counts.
    pub(super) series: Option<Arc<RequestSeries>>,
    /// The certificates, if there are any; they are read anew with everything else.
    pub(super) tls: Option<Arc<TlsFront>>,
    /// Who writes routes for the console in development mode.
    pub(super) drafts: Drafts,
}

impl Lasting {
    /// What workers answer from.
    fn snapshot(&self, read: ReadApp, is_dev: bool) -> Snapshot {
        let Self { health, quotas, logs, stdout, exporter, .. } = self.clone();
        let Self { cache, heavy, body_memory, series, .. } = self.clone();
        let ReadApp { config, effective, loaded, folder, .. } = read;
        let drafts = is_dev.then(|| self.drafts.to(routes_folder(&folder)));
        let settings = config.app_settings(is_dev);
        let engine = EngineOptions {
            settings: config.settings,
            transport: TransportSettings { body_memory, ..config.transport },
            cache,
            describe_error: run_error::body,
            heavy,
            meter: None,
        };
        let places = series.map(|series| series.places(&loaded.catalog)).unwrap_or_default();
        let (loaded, sockets) = (Arc::new(loaded), config.front.sockets);
        let proxies = Arc::clone(&settings.forwarded.proxies);
        let traces = Traces::new(&config.front.traces, proxies, exporter).map(Arc::new);
        Snapshot {
            loaded,
            settings,
            effective,
            engine,
            places,
            health,
            sockets,
            quotas,
            logs,
            drafts,
            stdout,
            traces,
            reloads: self.teller.news(),
        }
    }
}

/// The app that is served.
pub(super) struct ServedApp {
    reader: AppReader,
    lasting: Lasting,
    published: Arc<ArcSwap<Snapshot>>,
    folder: AppFolder,
    /// Settings that say where operators are listened to, which the effective ones hide.
    admin: AdminSettings,
    /// How many errors what is served has.
    errors: usize,
    /// Tells settings and files from others.
    config_text: String,
    places: Arc<Mutex<Arc<Places>>>,
    /// What was served before and may still be in use: it is dropped here, not on a worker.
    retired: Vec<Arc<Snapshot>>,
}

impl ServedApp {
    /// The app that a server begins with.
    pub(super) fn new(reader: AppReader, lasting: Lasting, read: ReadApp) -> Self {
        let (folder, errors) = (read.folder.clone(), read.errors());
        let (admin, config_text) = (read.config.front.admin.clone(), text_of(&read.config));
        let places = Arc::new(Mutex::new(Arc::clone(&read.places)));
        let snapshot = lasting.snapshot(read, reader.is_dev);
        let published = Arc::new(ArcSwap::from_pointee(snapshot));
        let retired = Vec::new();
        Self { reader, lasting, published, folder, admin, errors, config_text, places, retired }
    }

    /// What is served now, and after each reload.
    pub(super) fn published(&self) -> Arc<ArcSwap<Snapshot>> {
        Arc::clone(&self.published)
    }

    /// Where its files lie, now and after each reload.
    pub(super) fn places(&self) -> impl Fn() -> Arc<Places> + Send + use<> {
        let places = Arc::clone(&self.places);
        move || Arc::clone(&places.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Reads the app anew, and serves it from here on unless there is something wrong with it; with `is_dry` it is only
    /// said what would become of it.
    fn read_anew(&mut self, cause: Cause, is_dry: bool) -> Outcome {
        self.retired.retain(|snapshot| Arc::strong_count(snapshot) > 1);
        let refuse = |reason: &dyn Display, hash: &str, problems: Value| Outcome {
            verdict: Verdict::Refused,
            message: format!(
                "not reloaded ({cause}): {reason:#}; what was served before is served on"
            ),
            hash: hash.to_owned(),
            problems,
            restart: Vec::new(),
        };
        let read = match self.reader.read_at_rest(&self.folder) {
            Ok(read) => read,
            Err(error) => return refuse(&error, "", Value::array(Vec::new())),
        };
        let certificates = match self.lasting.tls.as_deref().map(TlsFront::read_anew).transpose() {
            Ok(certificates) => certificates,
            Err(problem) => return refuse(&problem, "", Value::array(Vec::new())),
        };
        let served = self.published.load_full();
        let hash = read.loaded.fingerprint.clone();
        let text = text_of(&read.config);
        let is_same = text == self.config_text && hash == served.loaded.fingerprint;
        let problems = problems(&read);
        if is_same && cause == Cause::Files {
            self.use_certificates(certificates, is_dry);
            return Outcome {
                verdict: Verdict::Unchanged,
                message: "the files say what they have said before".to_owned(),
                hash,
                problems,
                restart: Vec::new(),
            };
        }
        if !is_dry {
            report::config(&read.problems);
            report::catalog(&read.loaded.problems);
            // Of a set that is refused as well: what is wrong may be mended in its files.
            *self.places.lock().unwrap_or_else(PoisonError::into_inner) = Arc::clone(&read.places);
        }
        let errors = read.errors();
        if let Err(error) = require_guards(&read.problems) {
            return refuse(&error, &hash, problems);
        }
        if errors > 0 && !(self.reader.is_lenient && errors <= self.errors) {
            let first = first_error(&read);
            let reason = format!("{}{first}", report::count(errors, "error"));
            return refuse(&reason, &hash, problems);
        }
        let restart = self.fixed_changes(&served.effective, &read);
        let changes = changes(&served, &read, &restart);
        let (folder, admin) = (read.folder.clone(), self.admin.clone());
        let secrets = read.config.secrets.clone();
        let log_level = read.config.front.log_level;
        let snapshot = self.lasting.snapshot(read, self.reader.is_dev);
        // What workers will do, so that none of them finds that it cannot.
        if let Err(error) = try_engine(&snapshot.engine) {
            return refuse(&error, &hash, problems);
        }
        let (routes, tables) =
            (snapshot.loaded.matcher.len(), snapshot.loaded.catalog.tables().len());
        if !is_dry {
            self.prepare_logs((&secrets, served.loaded.catalog.secrets()), log_level);
            self.use_certificates(certificates, is_dry);
            self.published.store(Arc::new(snapshot));
            self.retired.push(served);
            (self.folder, self.admin, self.errors, self.config_text) =
                (folder, admin, errors, text);
        }
        let counts =
            format!("{} over {}", report::count(routes, "route"), report::count(tables, "table"));
        let message = if is_dry {
            format!("would be reloaded: {counts}{changes}")
        } else {
            format!("reloaded ({cause}): {counts}{changes}")
        };
        let verdict = if is_same { Verdict::Unchanged } else { Verdict::Replaced };
        Outcome { verdict, message, hash, problems, restart }
    }

    /// Has secrets hidden in logs, those of the app as it is now and as it was before, and takes the level over.
    fn prepare_logs(&self, (secrets, before): (&[String], &[String]), level: LogLevel) {
        if let Some(logs) = &self.lasting.logs {
            logs.hide(secrets, before);
        }
        if let Some(stdout) = &self.lasting.stdout {
            stdout.hide(secrets, before);
            stdout.follow_settings(level);
        }
    }

    fn use_certificates(&self, certificates: Option<Fresh>, is_dry: bool) {
        if let (Some(tls), Some(fresh), false) = (&self.lasting.tls, certificates, is_dry) {
            tls.replace(fresh);
        }
    }

    /// The settings that have changed and cannot before the next start.
    fn fixed_changes(&self, served: &[Effective], read: &ReadApp) -> Vec<String> {
        let is_changed = |setting: &&Effective| {
            let before = served.iter().find(|before| before.name == setting.name);
            before.is_some_and(|before| before.value != setting.value)
        };
        let fixed = read.effective.iter().filter(|setting| config::is_fixed(&setting.name));
        let mut changed: Vec<_> =
            fixed.filter(is_changed).map(|setting| setting.name.clone()).collect();
        // It is shown as a secret, whatever it is.
        if read.config.front.admin.token != self.admin.token {
            changed.push("admin.token".to_owned());
        }
        changed
    }
}

impl Work for ServedApp {
    fn reload(&mut self, cause: Cause, is_dry: bool) -> Outcome {
        // Whoever has sent the signal for systemd waits until it is done.
        if cause == Cause::Signal {
            service_manager::reloading();
        }
        let outcome = self.read_anew(cause, is_dry);
        if cause == Cause::Signal {
            service_manager::ready();
        }
        outcome
    }

    fn draft(&mut self, draft: &Draft) -> Result<Drafted, Refusal> {
        drafts::draft(&self.reader, &self.folder, self.errors, draft)
    }
}

/// Makes an engine as workers do, but for what they share.
///
/// # Errors
/// Settings that it cannot use.
fn try_engine(options: &EngineOptions) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let _entered = runtime.enter();
    Engine::new(EngineOptions { cache: None, ..options.clone() })?;
    Ok(())
}

/// All that settings say, for comparing. It holds secrets.
fn text_of(config: &Config) -> String {
    format!("{config:?}")
}

/// Names the first error, for messages of one line.
fn first_error(read: &ReadApp) -> String {
    let is_error = |problem: &&ConfigProblem| problem.severity() == Severity::Error;
    let secrets = &read.config.secrets;
    let in_settings = read.problems.iter().find(is_error).map(ToString::to_string);
    let of_file = |file: &FileDiagnostics| {
        let mut errors = file.diagnostics.iter();
        let error = errors.find(|problem| problem.severity == Severity::Error)?;
        Some(format!("{}: {}", file.file, error.message))
    };
    let in_files = || read.loaded.problems.iter().find_map(of_file);
    let text = in_settings.or_else(in_files).unwrap_or_default();
    let text = redact(Value::from(text), secrets).scalar_text();
    text.map(|text| format!(", the first one: {text}")).unwrap_or_default()
}

/// What is wrong or odd, for programs.
fn problems(read: &ReadApp) -> Value {
    let settings = read.problems.iter().map(|problem| {
        let severity = match problem.severity() {
            Severity::Error => "error",
            Severity::Warning => "warning",
        };
        let members = [
            ("place", Value::from(problem.place.to_string())),
            ("severity", Value::from(severity)),
            ("code", Value::from(problem.code().to_string())),
            ("message", Value::from(problem.message())),
        ];
        Value::object(members.into_iter().collect::<Object>())
    });
    let files = read.loaded.problems.iter().flat_map(|file| {
        file.diagnostics.iter().map(|problem| problem_of(&file.file, &file.text, problem))
    });
    redact(settings.chain(files).collect(), &read.config.secrets)
}

/// What has changed, in words.
fn changes(served: &Snapshot, read: &ReadApp, restart: &[String]) -> String {
    let mut text = String::new();
    let mut tell = |what: &str, mut names: Vec<&str>| {
        // Modules lie in folders that are searched for more than one reason.
        names.sort_unstable();
        names.dedup();
        let more = names.len().saturating_sub(NAMED_MAX);
        names.truncate(NAMED_MAX);
        if !names.is_empty() {
            // Writing to a string cannot fail.
            let _ = write!(text, "; {what} {}", names.join(", "));
            if more > 0 {
                let _ = write!(text, " and {more} more");
            }
        }
    };
    let (before, after) = (&served.loaded.files, &read.loaded.files);
    let known = |files: &[FileDigest], file: &str| {
        files.iter().find(|known| known.file == file).map(|known| known.digest)
    };
    let names =
        |files: &'_ [FileDigest], other: &[FileDigest], is_wanted: fn(bool, bool) -> bool| {
            let wanted = files.iter().filter(|file| {
                let there = known(other, &file.file);
                is_wanted(there.is_some(), there == Some(file.digest))
            });
            wanted.map(|file| file.file.clone()).collect::<Vec<_>>()
        };
    let changed = names(after, before, |is_there, is_same| is_there && !is_same);
    let new = names(after, before, |is_there, _| !is_there);
    let gone = names(before, after, |is_there, _| !is_there);
    for (what, files) in [("changed", &changed), ("new", &new), ("gone", &gone)] {
        tell(what, files.iter().map(String::as_str).collect());
    }
    let settings = read.effective.iter().filter(|setting| {
        let before = served.effective.iter().find(|before| before.name == setting.name);
        before.is_none_or(|before| before.value != setting.value)
    });
    tell("settings", settings.map(|setting| setting.name.as_str()).collect());
    tell("a restart is needed for", restart.iter().map(String::as_str).collect());
    text
}
