//! `@qlio/engine` below its JavaScript: an app of `qlio_embed` as classes of Node.js.
//!
//! In: JSON texts and bytes, made by `index.js`. Out: promises of JSON texts and bytes, settled by Node's own queue of
//! calls from other threads; the thread of JavaScript is never waited on and never waits. Shapes, errors, signals and
//! iterators are made in `index.js`.

// `unsafe` is not forbidden as elsewhere: the macros of napi expand to it. Nothing here is written with it.

use std::time::Duration;

use bytes::Bytes;
use napi::{
    Env, Error, Result, Status,
    bindgen_prelude::{Buffer, Object},
};
use napi_derive::napi;
use qlio_embed::{
    App, EventText, Failure, Options, RouteAnswer, RouteCall, RouteRun, Script, ScriptRun,
};

/// How a run has ended: either `failure`, or the others.
#[napi(object)]
pub struct Outcome {
    /// `{kind, status, body}` as JSON.
    pub failure: Option<String>,
    /// The value of a script, as JSON.
    pub text: Option<String>,
    /// The body of a route's answer.
    pub bytes: Option<Buffer>,
    /// The status of a route's answer.
    pub status: Option<u16>,
    /// Names and values, one after the other.
    pub headers: Vec<String>,
    /// What the caller should know.
    pub warnings: Vec<String>,
}

impl Outcome {
    fn failed(failure: &Failure) -> Self {
        Self {
            failure: Some(failure.to_json()),
            text: None,
            bytes: None,
            status: None,
            headers: Vec::new(),
            warnings: Vec::new(),
        }
    }
}

/// An event, or a note.
#[napi(object)]
pub struct Event {
    /// Its name.
    pub name: String,
    /// What happened, as JSON.
    pub data: String,
}

impl From<EventText> for Event {
    fn from(event: EventText) -> Self {
        Self { name: event.name, data: event.data }
    }
}

type Later<T> = Box<dyn FnOnce(Env) -> Result<T> + Send>;

fn wrong(error: &impl ToString) -> Error {
    Error::new(Status::InvalidArg, error.to_string())
}

fn flat(headers: Vec<(String, String)>) -> Vec<String> {
    headers.into_iter().flat_map(|(name, value)| [name, value]).collect()
}

/// An app that is open.
#[napi]
pub struct NativeApp(App);

#[napi]
impl NativeApp {
    /// Loads an app; reads files, and waits for it.
    ///
    /// # Errors
    /// Something of it is wrong.
    #[napi(constructor)]
    #[expect(clippy::needless_pass_by_value, reason = "texts come from JavaScript by value")]
    pub fn new(options: String) -> Result<Self> {
        let options = Options::parse(&options).map_err(|error| wrong(&error))?;
        App::open(&options).map(Self).map_err(|error| wrong(&error))
    }

    /// What is odd about its files.
    #[napi(getter)]
    pub fn warnings(&self) -> Vec<String> {
        self.0.warnings().to_vec()
    }

    /// The number of tables and of routes.
    #[napi(getter)]
    #[expect(clippy::cast_possible_truncation, reason = "nobody has four thousand million tables")]
    pub fn size(&self) -> Vec<u32> {
        let (tables, routes) = self.0.size();
        vec![tables as u32, routes as u32]
    }

    /// Tells this catalog from any other.
    #[napi(getter)]
    pub fn fingerprint(&self) -> String {
        self.0.fingerprint()
    }

    /// Begins to run a script.
    ///
    /// # Errors
    /// What is said cannot be understood.
    #[napi]
    #[expect(clippy::needless_pass_by_value, reason = "texts come from JavaScript by value")]
    pub fn exec(&self, said: String) -> Result<NativeScriptRun> {
        let script = Script::parse(&said).map_err(|error| wrong(&error))?;
        Ok(NativeScriptRun(self.0.exec(script)))
    }

    /// Begins to ask a route.
    ///
    /// # Errors
    /// What is said cannot be understood.
    #[napi]
    #[expect(clippy::needless_pass_by_value, reason = "both come from JavaScript by value")]
    pub fn call(&self, said: String, body: Buffer) -> Result<NativeRouteRun> {
        // Copied: JavaScript may change it any time.
        let body = Bytes::copy_from_slice(&body);
        let call = RouteCall::parse(&said, body).map_err(|error| wrong(&error))?;
        Ok(NativeRouteRun(self.0.call(call)))
    }

    /// The next note, or nothing when the app is closed.
    ///
    /// # Errors
    /// Somebody else waits for it.
    #[napi(ts_return_type = "Promise<Event | null>")]
    pub fn next_note<'e>(&self, env: &'e Env) -> Result<Object<'e>> {
        next(env, |then| self.0.next_note(then))
    }

    /// Takes no more runs; settles when those under way have ended or have been given up.
    ///
    /// # Errors
    /// The promise cannot be made.
    #[napi(ts_return_type = "Promise<void>")]
    pub fn close<'e>(&self, env: &'e Env, grace_ms: u32) -> Result<Object<'e>> {
        let (deferred, promise) = env.create_deferred::<(), Later<()>>()?;
        let grace = Duration::from_millis(u64::from(grace_ms));
        self.0.close(grace, move || deferred.resolve(Box::new(|_| Ok(()))));
        Ok(promise)
    }
}

/// Makes a promise of what `ask` has handed over.
fn next<'e>(
    env: &'e Env,
    ask: impl FnOnce(Box<dyn FnOnce(Option<EventText>) + Send>) -> bool,
) -> Result<Object<'e>> {
    let (deferred, promise) = env.create_deferred::<Option<Event>, Later<Option<Event>>>()?;
    let is_first = ask(Box::new(move |event| {
        deferred.resolve(Box::new(move |_| Ok(event.map(Event::from))));
    }));
    if is_first { Ok(promise) } else { Err(wrong(&"the next event is waited for already")) }
}

/// A script under way, or why it is not.
#[napi]
pub struct NativeScriptRun(std::result::Result<ScriptRun, Failure>);

#[napi]
impl NativeScriptRun {
    /// How it ends; can be asked once.
    ///
    /// # Errors
    /// It was asked before.
    #[napi(ts_return_type = "Promise<Outcome>")]
    pub fn outcome<'e>(&self, env: &'e Env) -> Result<Object<'e>> {
        let (deferred, promise) = env.create_deferred::<Outcome, Later<Outcome>>()?;
        let told = |answer: qlio_embed::Answer| Outcome {
            failure: None,
            text: Some(answer.body),
            bytes: None,
            status: None,
            headers: flat(answer.headers),
            warnings: answer.warnings,
        };
        settle(&self.0, move |outcome| {
            let outcome = outcome.map_or_else(|failure| Outcome::failed(&failure), told);
            deferred.resolve(Box::new(move |_| Ok(outcome)));
        })?;
        Ok(promise)
    }

    /// The next event, or nothing behind the last.
    ///
    /// # Errors
    /// Somebody else waits for it.
    #[napi(ts_return_type = "Promise<Event | null>")]
    pub fn next_event<'e>(&self, env: &'e Env) -> Result<Object<'e>> {
        next(env, |then| match &self.0 {
            Ok(run) => run.next_event(then),
            Err(_) => {
                then(None);
                true
            }
        })
    }

    /// Gives it up.
    #[napi]
    pub fn cancel(&self) {
        if let Ok(run) = &self.0 {
            run.cancel();
        }
    }
}

/// A request to a route under way, or why it is not.
#[napi]
pub struct NativeRouteRun(std::result::Result<RouteRun, Failure>);

#[napi]
impl NativeRouteRun {
    /// How it ends; can be asked once.
    ///
    /// # Errors
    /// It was asked before.
    #[napi(ts_return_type = "Promise<Outcome>")]
    pub fn outcome<'e>(&self, env: &'e Env) -> Result<Object<'e>> {
        let (deferred, promise) = env.create_deferred::<Outcome, Later<Outcome>>()?;
        settle(&self.0, move |outcome| {
            deferred.resolve(Box::new(move |_| {
                Ok(match outcome {
                    Err(failure) => Outcome::failed(&failure),
                    Ok(RouteAnswer { status, headers, body }) => Outcome {
                        failure: None,
                        text: None,
                        bytes: Some(Buffer::from(Vec::from(body))),
                        status: Some(status),
                        headers: flat(headers),
                        warnings: Vec::new(),
                    },
                })
            }));
        })?;
        Ok(promise)
    }

    /// Gives it up.
    #[napi]
    pub fn cancel(&self) {
        if let Ok(run) = &self.0 {
            run.cancel();
        }
    }
}

/// Has the outcome of a run handed over, or the reason why there is none.
fn settle<T: Send + 'static>(
    run: &std::result::Result<qlio_embed::Run<T>, Failure>,
    then: impl FnOnce(std::result::Result<T, Failure>) + Send + 'static,
) -> Result<()> {
    match run {
        Ok(run) => {
            if run.when_done(then) {
                return Ok(());
            }
            Err(wrong(&"the outcome was asked for before"))
        }
        Err(failure) => {
            then(Err(failure.clone()));
            Ok(())
        }
    }
}
