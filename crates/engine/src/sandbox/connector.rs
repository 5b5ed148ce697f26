//! Custom connectors: scripts that answer a statement, with requests of their own in between (CNC-3, CNC-9).
//!
//! In: what a statement asks for, then what came of each request and how much time has passed. Out: the
//! requests that the script waits for, or its answer. Nothing waits here: whoever has the script run makes its
//! requests, and comes back.
//!
//! Promises: a realm is used by one execution at a time, so no execution sees another's; one that fails by a
//! limit takes its own realm with it; a script that waits for nothing fails at once. All turns of an execution
//! are of the same thread.

mod request;

use std::{cell::Cell, rc::Rc};

use qlio_data::{Object, Value};
use qlio_plan::catalog::ScriptFile;
use rquickjs::Value as JsValue;

pub use self::request::{Request, Response};
use self::request::{read_requests, response};
use super::{
    arguments::Inputs,
    convert,
    error::{Activity, Fault, ScriptError, ScriptErrorKind},
    instance::Entry,
    lazy::Lazy,
    machine::{Entered, Sandbox},
    realm::Realm,
};

/// A connector in a realm of its own. Cheap to clone; clones are of the same realm.
#[derive(Debug, Clone)]
pub struct ConnectorScript {
    realm: Realm,
    entry: Entry,
    name: String,
}

/// What an execution is given when it begins.
#[derive(Debug, Clone)]
pub struct Task {
    /// The members of `args`.
    pub args: Value,
    /// The record of the verb.
    pub verb: Value,
    /// The kind of the statement: `select`, `insert`, `update`, `delete`.
    pub kind: &'static str,
    /// Tells verbs of the connector from each other: each has an instance of its own.
    pub key: String,
    /// Most requests of the execution.
    pub requests_max: usize,
}

/// What came of a request.
#[derive(Debug, Clone)]
pub enum Outcome {
    /// The upstream has answered, whatever its status.
    Answered(Response),
    /// There is no answer.
    Failed {
        /// The number of the failure, which [`Refusal::failure`] gives back if the execution fails with it.
        number: usize,
        /// The code of the error.
        code: String,
        /// What happened.
        message: String,
    },
}

/// How an execution goes on.
#[derive(Debug)]
pub enum Turn {
    /// The value of `body`.
    Done(Value),
    /// It waits for these new requests and for those before, or for time to pass.
    Waits {
        /// The requests that it has asked for since.
        requests: Vec<Request>,
        /// When its next timer is due, in milliseconds since it began.
        timer_ms: Option<u64>,
    },
    /// It has asked for more requests than it may.
    AsksTooMuch(usize),
}

/// Why an execution has failed.
#[derive(Debug, Clone)]
pub struct Refusal {
    /// The error of the script.
    pub error: Box<ScriptError>,
    /// The failed request whose error it is.
    pub failure: Option<usize>,
    /// The `status` of the error.
    pub status: Option<u16>,
}

impl From<ScriptError> for Refusal {
    fn from(error: ScriptError) -> Self {
        Self { error: Box::new(error), failure: None, status: None }
    }
}

/// What a connector says of itself.
#[derive(Debug, Clone)]
pub struct Described {
    /// Its `connectorName`.
    pub name: Option<String>,
}

impl ConnectorScript {
    /// A connector in a new realm; `name` is what errors call it.
    pub fn new(file: &ScriptFile, name: &str) -> Self {
        let entry = Entry::File(file.path.clone());
        Self { realm: Realm::new(&file.folder), entry, name: name.to_owned() }
    }

    /// Loads it, makes one instance, and looks at what it is.
    ///
    /// # Errors
    /// It cannot be loaded, or is no connector.
    pub fn describe(&self, sandbox: &Sandbox) -> Result<Described, ScriptError> {
        self.ensure_loaded(sandbox)?;
        let described = sandbox.enter(&self.realm, self.activity(true), 0, |entered| {
            let exports = entered.instance.load(entered.ctx, &self.entry)?;
            let name: Option<String> = entered.kernel.call("describeConnector", (exports,))?;
            Ok(Described { name })
        });
        described.map_err(|error| sandbox.placed(&self.realm, &self.entry, "exec", error))
    }

    /// Begins an execution; with the number of the interpreter that it is in from now on.
    ///
    /// # Errors
    /// The script fails, runs over a limit, or waits for nothing.
    pub fn begin(&self, sandbox: &Sandbox, task: &Task) -> Result<(u64, Turn), Refusal> {
        sandbox.release_dead();
        self.ensure_loaded(sandbox)?;
        let given = ["params", "values", "expected"].map(|name| task.args.member(name));
        sandbox.hold_for(&self.realm, given.iter().map(convert::weight).sum());
        let serial = Cell::new(0);
        let turn = self.enter(sandbox, |entered, failed| {
            serial.set(entered.instance.serial());
            let exports = entered.instance.load(entered.ctx, &self.entry)?;
            let inputs = Inputs {
                body: Some(shown(&task.args)),
                headers: Some(shown(&task.verb)),
                ..Inputs::new(
                    sandbox.next_call(),
                    Value::Absent,
                    Lazy::from(Value::Absent),
                    Object::new(),
                )
            };
            let call = inputs.call;
            sandbox.set_inputs(&Rc::new(inputs));
            let arguments = (call, exports, task.kind, task.key.as_str(), task.requests_max);
            entered.kernel.call::<_, ()>("beginConnector", arguments)?;
            read_turn(entered, 0, failed)
        })?;
        Ok((serial.get(), self.after(sandbox, turn)))
    }

    /// Goes on with what has come of requests, so many milliseconds after the beginning.
    ///
    /// # Errors
    /// As [`ConnectorScript::begin`]; the interpreter is another one by now.
    pub fn go_on(
        &self,
        sandbox: &Sandbox,
        serial: u64,
        elapsed_ms: u64,
        outcomes: Vec<(u32, Outcome)>,
    ) -> Result<Turn, Refusal> {
        sandbox.release_dead();
        sandbox.hold_for(&self.realm, outcomes.iter().map(|(_, outcome)| outcome.weight()).sum());
        let turn = self.enter(sandbox, |entered, failed| {
            if entered.instance.serial() != serial {
                let message =
                    "the interpreter of the connector had to be made anew while it waited";
                return Err(Fault::Own(ScriptErrorKind::Lost, message.to_owned()));
            }
            entered.kernel.call::<_, ()>("setClock", (milliseconds(elapsed_ms),))?;
            for (id, outcome) in outcomes {
                match outcome {
                    Outcome::Answered(answer) => {
                        let response = response(entered, answer)?;
                        entered.kernel.call::<_, ()>("answerRequest", (id, response))?;
                    }
                    Outcome::Failed { number, code, message } => {
                        let failure = (id, number, code, message);
                        entered.kernel.call::<_, ()>("failRequest", failure)?;
                    }
                }
            }
            read_turn(entered, elapsed_ms, failed)
        })?;
        Ok(self.after(sandbox, turn))
    }

    /// An execution that is done holds nothing.
    fn after(&self, sandbox: &Sandbox, turn: Turn) -> Turn {
        if let Turn::Done(_) = turn {
            sandbox.hold_nothing_for(&self.realm);
        }
        turn
    }

    fn enter(
        &self,
        sandbox: &Sandbox,
        work: impl FnOnce(&Entered<'_, '_>, &Cell<Failed>) -> Result<Turn, Fault>,
    ) -> Result<Turn, Refusal> {
        let failed = Cell::new(Failed::default());
        let entered =
            sandbox.enter(&self.realm, self.activity(false), 0, |entered| work(entered, &failed));
        entered.map_err(|error| {
            let Failed { failure, status } = failed.get();
            let is_lost = error.kind == ScriptErrorKind::Lost;
            let error = match failure {
                None if !is_lost => sandbox.placed(&self.realm, &self.entry, "exec", error),
                _ => error,
            };
            Refusal { error: Box::new(error), failure, status }
        })
    }

    fn activity(&self, is_load: bool) -> Activity<'_> {
        Activity { subject: "Connector", name: &self.name, is_load }
    }

    /// Loads the module on this thread if it is not, with the time that loading has.
    fn ensure_loaded(&self, sandbox: &Sandbox) -> Result<(), ScriptError> {
        if sandbox.is_loaded(&self.realm, &self.entry) {
            return Ok(());
        }
        // `fetch` is there before the module runs, which may keep it.
        sandbox.enter(&self.realm, self.activity(true), 0, |entered| {
            Ok(entered.kernel.call::<_, ()>("allowFetch", ())?)
        })?;
        sandbox.load(&self.realm, &self.entry, &self.name, |_, _| Ok(()))
    }
}

/// A value that costs what the script looks at of it.
fn shown(value: &Value) -> Lazy {
    let value = value.clone();
    Lazy::new(0, move || value.clone())
}

impl Outcome {
    /// About how many bytes it may take in the interpreter: text has two bytes for a character, and is copied
    /// on the way to an object.
    fn weight(&self) -> usize {
        match self {
            Self::Answered(response) => response.body.len().saturating_mul(4),
            Self::Failed { message, .. } => message.len(),
        }
    }
}

/// What is known of the error that an execution has failed with.
#[derive(Debug, Clone, Copy, Default)]
struct Failed {
    failure: Option<usize>,
    status: Option<u16>,
}

/// Has the script run as far as it gets, and sees where that is.
fn read_turn(
    entered: &Entered<'_, '_>,
    elapsed_ms: u64,
    failed: &Cell<Failed>,
) -> Result<Turn, Fault> {
    let kernel = &entered.kernel;
    loop {
        entered.run_jobs()?;
        let has_run: bool = kernel.call("runTimer", (milliseconds(elapsed_ms),))?;
        if !has_run {
            break;
        }
    }
    let state: Vec<f64> = kernel.call("stateOfConnector", ())?;
    let [asked, asked_max, open, timer] = state[..] else {
        return Err(Fault::result("the kernel does not know its state"));
    };
    if asked > asked_max {
        #[expect(clippy::cast_possible_truncation, reason = "a count of requests")]
        #[expect(clippy::cast_sign_loss, reason = "a count of requests")]
        return Ok(Turn::AsksTooMuch(asked as usize));
    }
    let (failure, status): (i32, i32) = {
        let facts: Vec<i32> = kernel.call("failureOfConnector", ())?;
        (facts.first().copied().unwrap_or(-1), facts.get(1).copied().unwrap_or(0))
    };
    failed.set(Failed {
        failure: usize::try_from(failure).ok(),
        status: u16::try_from(status).ok().filter(|status| *status > 0),
    });
    let answer: JsValue<'_> = kernel.call("poll", ())?;
    if !answer.is_symbol() {
        let Some(wrapped) = answer.as_array() else {
            let given = answer.as_string().map(rquickjs::String::to_string).transpose()?;
            let given = given.unwrap_or_default();
            let message = format!("`exec` must answer with an object with a `body`, not {given}");
            return Err(Fault::result(message));
        };
        let body: JsValue<'_> = wrapped.get(0)?;
        let body = entered.to_value(&body)?;
        return Ok(Turn::Done(if body.is_absent() { Value::Null } else { body }));
    }
    if open == 0.0 && timer < 0.0 {
        let message = "`exec` waits for nothing: it has neither answered nor called its callback, \
                       and no request or timer of it is open";
        return Err(Fault::Own(ScriptErrorKind::Unanswered, message.to_owned()));
    }
    #[expect(clippy::cast_possible_truncation, reason = "milliseconds")]
    #[expect(clippy::cast_sign_loss, reason = "only what is not negative")]
    let timer_ms = (timer >= 0.0).then_some(timer as u64);
    Ok(Turn::Waits { requests: read_requests(entered)?, timer_ms })
}

/// Milliseconds as the interpreter counts them.
#[expect(clippy::cast_precision_loss, reason = "milliseconds of a deadline")]
fn milliseconds(elapsed_ms: u64) -> f64 {
    elapsed_ms as f64
}
