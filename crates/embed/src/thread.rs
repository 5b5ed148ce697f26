//! One thread of an app: an engine with what it needs, and the runs that it has been given.

use std::{
    cell::RefCell,
    collections::HashMap,
    net::{IpAddr, Ipv4Addr},
    panic::AssertUnwindSafe,
    path::PathBuf,
    pin::pin,
    rc::Rc,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use futures_util::FutureExt as _;
use http_body_util::{BodyExt as _, Full};
use qlio_data::{
    Text, Value,
    codec::json,
    redact::{redact, replaced},
};
use qlio_engine::{
    RunError,
    event::{Event, EventKind, Subscription, Watch},
    heavy::Busy,
};
use qlio_gateway::{
    http::{
        app::{HttpApp, Snapshot},
        compile_error,
        disclosure::ErrorDetail,
        packet::{Packet, PacketRules, Warnings},
        respond::Note,
        run_error,
    },
    load::{CatalogFolders, FilesBeside, Loaded},
};
use qlio_plan::{CompileOptions, Origin, Plan, compile};
use tokio::{
    sync::{Mutex, mpsc},
    task::{JoinSet, LocalSet},
};

use crate::{
    events::{EventQueue, EventText},
    failure::{Failure, FailureKind},
    route::{RouteAnswer, RouteCall},
    run::{Answer, Ticket},
    script::{Script, Trust},
};

/// The most plans of the host's scripts that a thread keeps; when there are more it starts anew.
const PLANS_MAX: usize = 256;

/// The longest script whose plan is kept, in bytes.
const KEPT_SCRIPT_BYTES_MAX: usize = 64 << 10;

/// Bytes of a request or answer body that an event shows.
const EVENT_BODY_BYTES_MAX: usize = 64 << 10;

/// Bytes of one event; of a larger one only its size is told.
const EVENT_BYTES_MAX: usize = 1 << 20;

/// The longest answer that is written where it was made, in bytes; a longer one is written by a heavy thread.
const WRITTEN_AT_ONCE_BYTES_MAX: usize = 128 << 10;

/// Something to do.
pub(crate) enum Job {
    Script(Box<Script>, Ticket<Answer>),
    Route(Box<RouteCall>, Ticket<RouteAnswer>),
}

/// What all threads of an app share.
pub(crate) struct Common {
    pub(crate) snapshot: Arc<Snapshot>,
    pub(crate) folders: CatalogFolders,
    pub(crate) notes: Arc<EventQueue>,
    /// How long runs may go on once the app closes, in milliseconds.
    pub(crate) grace_ms: AtomicU64,
}

/// What the runs of one thread share.
struct Thread {
    app: HttpApp,
    common: Arc<Common>,
    plans: RefCell<HashMap<(String, String), Arc<Plan>>>,
    /// Held while a script is compiled: runs of the same script wait for the one plan, and no more jobs wait for the
    /// heavy threads than there are threads.
    compiling: Mutex<()>,
}

/// Serves jobs until nobody can give any more and those that were given have ended, or the grace is over.
pub(crate) fn serve(
    runtime: &tokio::runtime::Runtime,
    app: HttpApp,
    common: Arc<Common>,
    mut jobs: mpsc::Receiver<Job>,
) {
    let thread =
        Rc::new(Thread { app, common, plans: RefCell::default(), compiling: Mutex::default() });
    LocalSet::new().block_on(runtime, async {
        let mut runs = JoinSet::new();
        loop {
            tokio::select! {
                job = jobs.recv() => match job {
                    Some(job) => drop(runs.spawn_local(Rc::clone(&thread).run(job))),
                    None => break,
                },
                Some(_) = runs.join_next(), if !runs.is_empty() => {}
            }
        }
        let grace = Duration::from_millis(thread.common.grace_ms.load(Ordering::Acquire));
        let ending = async { while runs.join_next().await.is_some() {} };
        // Those that are not ready by then are given up with the set.
        let _ = tokio::time::timeout(grace, ending).await;
        runs.shutdown().await;
        thread.app.engine().end().await;
    });
}

impl Thread {
    async fn run(self: Rc<Self>, job: Job) {
        match job {
            Job::Script(script, mut ticket) => {
                let events = ticket.events();
                let running = self.script(&script, events.as_deref());
                let outcome = until_given_up(&mut ticket, script.timeout, running).await;
                ticket.finish(outcome);
            }
            Job::Route(call, mut ticket) => {
                let RouteCall { head, body, timeout } = *call;
                let running = async { Ok(self.route(&head, body).await) };
                let outcome = until_given_up(&mut ticket, timeout, running).await;
                ticket.finish(outcome);
            }
        }
    }

    /// Runs a script to its answer.
    async fn script(
        &self,
        script: &Script,
        events: Option<&EventQueue>,
    ) -> Result<Answer, Failure> {
        let loaded = &self.common.snapshot.loaded;
        let secrets = loaded.catalog.secrets();
        let report = Report::begin(script, secrets, events);
        let plan = match self.plan(script, loaded).await {
            Ok(plan) => plan,
            Err(failure) => {
                if failure.kind == FailureKind::Compile {
                    report.push(EventKind::CompileError, || {
                        PacketRules::compile_error(failure.body.clone())
                    });
                }
                report.done(None);
                return Err(failure);
            }
        };
        let tell = |event: Event<'_>| report.take(&event);
        let watch = report.watched().map(|(subscription, _)| Watch {
            subscription,
            tell: &tell,
            stepper: None,
        });
        let caller = script.trust.caller();
        let engine = self.app.engine();
        let run =
            engine.run_watched(&plan, &loaded.catalog, &script.request, caller, watch.as_ref());
        let outcome = run.await;
        report.done(Some(plan.node(plan.value).line));
        let mut answer = outcome.map_err(|error| run_failure(&error, secrets))?;
        let warnings = std::mem::take(&mut answer.warnings);
        let warnings =
            warnings.into_iter().map(|text| replaced(&Text::from(text), secrets).to_string());
        let (value, headers) = self.app.outcome(answer);
        let body = self.write(value).await.map_err(|busy| run_failure(&busy.into(), secrets))?;
        Ok(Answer { body, headers, warnings: warnings.collect() })
    }

    /// The plan of a script, kept if it is the host's own: those that others send are nobody's to keep here.
    async fn plan(&self, script: &Script, loaded: &Arc<Loaded>) -> Result<Arc<Plan>, Failure> {
        let secrets = loaded.catalog.secrets();
        let wrong = |body: Value| Failure {
            kind: FailureKind::Compile,
            status: 400,
            body: redact(body, secrets),
        };
        let busy = |busy: Busy| run_failure(&busy.into(), secrets);
        if script.trust == Trust::Client {
            return self.app.plan(&script.text, loaded).await.map_err(busy)?.map_err(wrong);
        }
        let key = (script.name.clone(), script.text.clone());
        if let Some(plan) = self.kept(&key) {
            return Ok(plan);
        }
        let _turn = self.compiling.lock().await;
        if let Some(plan) = self.kept(&key) {
            return Ok(plan);
        }
        let (name, text) = key.clone();
        let (loaded, folders) = (Arc::clone(loaded), self.common.folders.clone());
        let compiling = move || compile_stored(&name, &text, &loaded, &folders);
        // It may read files, and takes its time.
        let plan = self.app.engine().heavy().run(move |_| compiling()).await.map_err(busy)?.value;
        let plan = plan.map_err(wrong)?;
        if script.text.len() <= KEPT_SCRIPT_BYTES_MAX {
            let mut plans = self.plans.borrow_mut();
            if plans.len() == PLANS_MAX {
                plans.clear();
            }
            plans.insert(key, Arc::clone(&plan));
        }
        Ok(plan)
    }

    fn kept(&self, key: &(String, String)) -> Option<Arc<Plan>> {
        self.plans.borrow().get(key).map(Arc::clone)
    }

    /// A value as JSON.
    async fn write(&self, value: Value) -> Result<String, Busy> {
        let value = if value.is_absent() { Value::Null } else { value };
        let mut written = Vec::new();
        if json::encode_within(&value, &mut written, WRITTEN_AT_ONCE_BYTES_MAX).is_ok()
            && let Ok(text) = String::from_utf8(written)
        {
            return Ok(text);
        }
        let writing = self.app.engine().heavy().run(move |_| json::to_string(&value));
        Ok(writing.await?.value)
    }

    /// Asks a route.
    async fn route(&self, head: &http::request::Parts, body: bytes::Bytes) -> RouteAnswer {
        let peer = IpAddr::V4(Ipv4Addr::LOCALHOST);
        let mut response = self.app.respond(head, Full::new(body), peer).await;
        if let Some(Note(message)) = response.extensions_mut().remove() {
            self.common.notes.push(note("request", &message));
        }
        let (head, body) = response.into_parts();
        let body = match body.collect().await {
            Ok(body) => body.to_bytes(),
            Err(never) => match never {},
        };
        let headers = head.headers.iter().map(|(name, value)| {
            (name.to_string(), String::from_utf8_lossy(value.as_bytes()).into_owned())
        });
        RouteAnswer { status: head.status.as_u16(), headers: headers.collect(), body }
    }
}

/// Something that the operator of the host should know.
pub(crate) fn note(name: &str, message: &str) -> EventText {
    EventText { name: name.to_owned(), data: json::to_string(&Value::from(message)) }
}

fn compile_stored(
    name: &str,
    text: &str,
    loaded: &Loaded,
    folders: &CatalogFolders,
) -> Result<Arc<Plan>, Value> {
    let root =
        if folders.root.as_os_str().is_empty() { PathBuf::from(".") } else { folders.root.clone() };
    let resources = FilesBeside::of_script(&root, name, text, folders);
    let options = CompileOptions { origin: Origin::Stored, file: name, resources: &resources };
    match compile(text, &loaded.catalog, &options) {
        Ok(compiled) => Ok(Arc::new(compiled.plan)),
        Err(problems) => Err(compile_error::body(&problems, text)),
    }
}

fn run_failure(error: &RunError, secrets: &[String]) -> Failure {
    Failure {
        kind: FailureKind::Run,
        status: run_error::status(error),
        body: redact(run_error::body(error), secrets),
    }
}

/// Waits for a run until the host gives it up or does not want to wait any more. A panic is the run's alone.
async fn until_given_up<T>(
    ticket: &mut Ticket<T>,
    timeout: Option<Duration>,
    running: impl Future<Output = Result<T, Failure>>,
) -> Result<T, Failure> {
    let mut running = pin!(AssertUnwindSafe(running).catch_unwind());
    let waited = async {
        match timeout {
            Some(timeout) => tokio::time::sleep(timeout).await,
            None => std::future::pending().await,
        }
    };
    tokio::select! {
        biased;
        () = ticket.cancelled() => Err(Failure::plain(FailureKind::Cancelled, "the run was cancelled")),
        outcome = &mut running => outcome.unwrap_or_else(|_| {
            Err(Failure::plain(FailureKind::Run, "the run failed inside of qlio; this is a defect of it"))
        }),
        () = waited => Err(Failure::plain(
            FailureKind::TimedOut,
            "the run took longer than the `timeoutMs` that it was given",
        )),
    }
}

/// Tells the host about one script.
struct Report<'r> {
    rules: PacketRules<'r>,
    text: &'r str,
    watched: Option<(&'r Subscription, &'r EventQueue)>,
    began: Instant,
    warnings: Warnings,
}

impl<'r> Report<'r> {
    fn begin(script: &'r Script, secrets: &'r [String], events: Option<&'r EventQueue>) -> Self {
        let rules = PacketRules {
            secrets,
            errors: ErrorDetail::Full,
            body_bytes_max: EVENT_BODY_BYTES_MAX,
            value_bytes_max: None,
            is_roomy: true,
        };
        let watched = script.events.as_ref().zip(events);
        let (began, warnings) = (Instant::now(), Warnings::default());
        let report = Self { rules, text: &script.text, watched, began, warnings };
        report.push(EventKind::Ack, PacketRules::ack);
        report
    }

    fn watched(&self) -> Option<(&'r Subscription, &'r EventQueue)> {
        self.watched
    }

    /// Takes an event of the engine.
    fn take(&self, event: &Event<'_>) {
        let Some((subscription, _)) = self.watched else { return };
        if let Event::Warned { message, cause, .. } = event {
            self.warnings.keep(self.rules.warning(message, *cause));
            if !subscription.has(EventKind::Warning) {
                return;
            }
        }
        if event.is_wanted(subscription) {
            self.send(self.rules.packet(event));
        }
    }

    fn push(&self, kind: EventKind, packet: impl FnOnce() -> Packet) {
        if self.watched.is_some_and(|(subscription, _)| subscription.has(kind)) {
            self.send(packet());
        }
    }

    fn done(&self, line: Option<u32>) {
        self.push(EventKind::Done, || {
            self.rules.done(self.text, self.began.elapsed(), line, &self.warnings)
        });
    }

    fn send(&self, Packet { name, data }: Packet) {
        let Some((_, events)) = self.watched else { return };
        let mut text = Vec::new();
        let data = match json::encode_within(&data, &mut text, EVENT_BYTES_MAX) {
            Ok(()) => String::from_utf8(text).unwrap_or_default(),
            Err(_) => format!(r#"{{"type":"truncated","bytesMax":{EVENT_BYTES_MAX}}}"#),
        };
        events.push(EventText { name: name.to_string(), data });
    }
}
