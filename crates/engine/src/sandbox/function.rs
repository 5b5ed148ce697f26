//! Functions of scripts (UDFs): called for a definition, for every row, or for a column
//! (UDF-3, SEL-7, UDF-6).

use std::{
    ops::Range,
    sync::Arc,
    time::{Duration, Instant},
};

use qlio_data::{Object, Text, Value};
use qlio_plan::catalog::ModuleFolders;
use rquickjs::{Array as JsArray, Object as JsObject, Value as JsValue};

use super::{
    bundled, convert,
    error::{Activity, Fault, ScriptError, ScriptErrorKind},
    instance::Entry,
    machine::{Entered, Parking, Sandbox},
    realm::Realm,
    slow::Script,
};
use crate::{clock, turnstile::give_way};

/// Rows per part of a row call; every part has the time of one call. A multiple of [`ROWS_AT_ONCE`].
const ROWS_PER_PART: usize = 256;

/// Rows between two looks at the clock.
const ROWS_AT_ONCE: usize = 16;

/// After so long others of the thread get their turn.
const TURN: Duration = Duration::from_millis(1);

/// A loaded UDF module: what `require("…")` in a script binds. Cheap to clone, shared by threads.
#[derive(Debug, Clone)]
pub struct FunctionModule {
    realm: Realm,
    entry: Entry,
    name: String,
}

/// Where an argument of a row function comes from.
#[derive(Debug, Clone)]
pub enum RowArgument {
    /// The same value for every row.
    Literal(Value),
    /// One value per row, in row order; missing ones are undefined.
    Column(Vec<Value>),
}

/// The rows that a row function is called for.
#[derive(Debug, Clone)]
pub enum Rows {
    /// One call per row.
    Each(Vec<Value>),
    /// One call for a whole value (`select *`): `this.rows` and `this.row` are the value itself.
    Whole(Value),
}

/// What a function reads through `this`: a name is looked up only when the function asks for it.
#[derive(Debug, Clone)]
pub struct Scope {
    /// The script's variables, which are asked first.
    pub variables: Arc<Object>,
    /// Objects that are asked after them, in order.
    pub outer: Arc<[Value]>,
}

impl Scope {
    /// The first value of this name that is not absent.
    pub(super) fn get(&self, name: &str) -> Value {
        if let Some(value) = self.variables.get(name) {
            return value.clone();
        }
        let mut values = self.outer.iter().map(|layer| layer.member(name));
        values.find(|value| !value.is_absent()).unwrap_or(Value::Absent)
    }
}

/// A call of one function for many rows.
#[derive(Debug, Clone)]
pub struct RowCall {
    /// The function within the module's exports, `f` or `a.b.f`; empty if they are the function.
    pub function: Text,
    /// How messages call the function, such as `u.heavy`.
    pub display_name: Text,
    /// The rows.
    pub rows: Rows,
    /// The arguments in order.
    pub arguments: Vec<RowArgument>,
    /// The names readable through `this`.
    pub scope: Option<Scope>,
    /// How far timers of the function may reach: what is left of the statement's timeout.
    pub deadline_ms: u64,
    /// Whether the function computes a column: its return value counts too, and nothing at all is
    /// an absent value. Otherwise only what it gives to `next` counts.
    pub is_column: bool,
}

impl FunctionModule {
    /// Finds and loads a module: in the folders in order, then among the modules that come with the
    /// sandbox. `NotFound` names it, and where it was looked for.
    pub fn load(
        sandbox: &Sandbox,
        name: &str,
        folders: &ModuleFolders,
    ) -> Result<Self, ScriptError> {
        let module = Self::find(name, folders)?;
        sandbox.load(&module.realm, &module.entry, name, |_, _| Ok(()))?;
        Ok(module)
    }

    /// Finds a module by name, without loading it.
    ///
    /// # Errors
    /// There is none.
    pub fn find(name: &str, folders: &ModuleFolders) -> Result<Self, ScriptError> {
        let (realm, entry) = match folders.find(name) {
            Some(file) => (Realm::new(&file.folder), Entry::File(file.path)),
            None if bundled::is_bundled(name) => {
                (Realm::without_files(), Entry::Bundled(name.to_owned()))
            }
            None => {
                let message = folders.missing(name);
                return Err(ScriptError::new(ScriptErrorKind::NotFound, name, message));
            }
        };
        Ok(Self { realm, entry, name: name.to_owned() })
    }

    /// A function of it, as what is called.
    pub fn script<'s>(&'s self, function: &'s str) -> Script<'s> {
        Script { realm: &self.realm, name: function }
    }

    /// The name it was loaded by.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its exports as data; functions are left out, and of a module that is one nothing is left. So are
    /// exports that are no data, such as one that refers to itself: the functions beside it work.
    pub fn exports(&self, sandbox: &Sandbox) -> Result<Value, ScriptError> {
        sandbox.enter(&self.realm, activity(&self.name), 0, |entered| {
            let exports = entered.instance.load(entered.ctx, &self.entry)?;
            if exports.is_function() {
                return Ok(Value::object(Object::new()));
            }
            let whole = match entered.to_value(&exports) {
                Err(Fault::Own(ScriptErrorKind::Result, _)) => exports.as_object(),
                whole => return whole,
            };
            let mut members = Object::new();
            for member in whole.into_iter().flat_map(JsObject::props::<String, JsValue<'_>>) {
                let (name, member) = member?;
                match entered.to_value(&member) {
                    Ok(value) if !value.is_absent() => {
                        members.insert(name, value);
                    }
                    Ok(_) | Err(Fault::Own(ScriptErrorKind::Result, _)) => {}
                    Err(fault) => return Err(fault),
                }
            }
            Ok(Value::object(members))
        })
    }

    /// Calls a function of the module with `this` giving read access to `scope`. A returned promise
    /// is waited for; `deadline_ms` bounds its timers. `NotFound` if there is no such function.
    pub fn call(
        &self,
        sandbox: &Sandbox,
        function: &str,
        display_name: &str,
        arguments: &[Value],
        scope: Option<&Scope>,
        deadline_ms: u64,
    ) -> Result<Value, ScriptError> {
        let weight = arguments.iter().map(convert::weight).sum();
        self.ensure_loaded(sandbox)?;
        sandbox.set_scope(scope);
        let outcome = sandbox.enter(&self.realm, activity(display_name), weight, |entered| {
            let exports = entered.instance.load(entered.ctx, &self.entry)?;
            let list = js_list(entered, arguments)?;
            let first: JsValue<'_> =
                entered.kernel.call("callFunction", (exports, function, list))?;
            if first.is_null() {
                return Err(not_found(display_name));
            }
            let answer = entered.drive(first, deadline_ms, "it did not answer in time")?;
            let Some(wrapped) = answer.as_array() else { return Ok(Value::Absent) };
            let value: JsValue<'_> = wrapped.get(0)?;
            entered.to_value(&value)
        });
        outcome.map_err(|error| sandbox.placed(&self.realm, &self.entry, function, error))
    }

    /// Calls a function for rows, all started before any is waited for. One result per row in row
    /// order: the value given to `next`; null and absent mean that the row is removed. Between rows
    /// others of this thread get their turn, as long as the function answers at once.
    ///
    /// # Cancellation
    /// Dropping the future calls the function no more.
    pub async fn call_rows(
        &self,
        sandbox: &Sandbox,
        call: &RowCall,
    ) -> Result<Vec<Value>, ScriptError> {
        self.ensure_loaded(sandbox)?;
        let weight = call.weight();
        let mut progress = Progress::default();
        while !self.take_turn(sandbox, call, weight, &mut progress, &|| true)? {
            give_way().await;
        }
        Ok(progress.values)
    }

    /// The same on a thread where nobody else waits, as long as it may go on.
    pub fn call_rows_at_once(
        &self,
        sandbox: &Sandbox,
        call: &RowCall,
        may_go_on: &dyn Fn() -> bool,
    ) -> Result<Vec<Value>, ScriptError> {
        self.ensure_loaded(sandbox)?;
        let mut progress = Progress { is_hurried: true, ..Progress::default() };
        if self.take_turn(sandbox, call, call.weight(), &mut progress, may_go_on)? {
            return Ok(progress.values);
        }
        let message = format!("{} was stopped between two rows", call.display_name);
        Err(ScriptError::new(ScriptErrorKind::Time, &call.display_name, message))
    }

    /// Goes on with a call for rows; whether that reaches its end.
    fn take_turn(
        &self,
        sandbox: &Sandbox,
        call: &RowCall,
        weight: usize,
        progress: &mut Progress,
        may_go_on: &dyn Fn() -> bool,
    ) -> Result<bool, ScriptError> {
        sandbox.set_scope(call.scope.as_ref());
        let activity = activity(&call.display_name);
        let outcome = sandbox.enter(&self.realm, activity, weight, |entered| {
            let began = clock::instant();
            let turn = Turn { sandbox, module: self, call, weight, began, may_go_on };
            turn.go_on(entered, progress)
        });
        outcome.map_err(|error| sandbox.placed(&self.realm, &self.entry, &call.function, error))
    }

    /// The realm of its files.
    pub fn realm(&self) -> &Realm {
        &self.realm
    }

    /// Loads the module on this thread if it is not, with the time that loading has.
    pub fn ensure_loaded(&self, sandbox: &Sandbox) -> Result<(), ScriptError> {
        if sandbox.is_loaded(&self.realm, &self.entry) {
            return Ok(());
        }
        sandbox.load(&self.realm, &self.entry, &self.name, |_, _| Ok(()))
    }
}

/// How far a call for rows has come.
#[derive(Default)]
struct Progress {
    stage: Stage,
    values: Vec<Value>,
    parking: Option<Parking>,
    /// The realm was made anew meanwhile; the call begins again, and lets nobody go first.
    is_hurried: bool,
}

/// What is done to the rows, and from which on.
#[derive(Default, Clone, Copy)]
enum Stage {
    #[default]
    Start,
    Fill(usize),
    Call(usize),
    Read(usize),
}

/// The part of a call for rows between two turns of others.
struct Turn<'t> {
    sandbox: &'t Sandbox,
    module: &'t FunctionModule,
    call: &'t RowCall,
    weight: usize,
    began: Instant,
    may_go_on: &'t dyn Fn() -> bool,
}

impl Turn<'_> {
    /// Goes on until others should go first, or to the end; whether that is reached.
    fn go_on<'js>(
        &self,
        entered: &Entered<'_, 'js>,
        progress: &mut Progress,
    ) -> Result<bool, Fault> {
        let kernel = &entered.kernel;
        if let Some(parking) = &progress.parking {
            if parking.serial == entered.instance.serial() {
                kernel.call::<_, ()>("resumeRows", (parking.number(),))?;
            } else {
                *progress = Progress { is_hurried: true, ..Progress::default() };
            }
        }
        let count = self.call.count();
        loop {
            match progress.stage {
                Stage::Start => {
                    self.start(entered, count)?;
                    progress.stage = Stage::Fill(0);
                }
                Stage::Fill(from) if from < count => {
                    let to = (from + ROWS_AT_ONCE).min(count);
                    self.fill(entered, from..to)?;
                    progress.stage = Stage::Fill(to);
                }
                Stage::Fill(_) => {
                    if let Rows::Whole(_) = self.call.rows {
                        kernel.call::<_, ()>("wholeRow", ())?;
                    }
                    progress.stage = Stage::Call(0);
                }
                Stage::Call(from) => {
                    let is_open = kernel.call::<_, JsValue<'js>>("poll", ())?.is_symbol();
                    progress.stage = if is_open && from < count {
                        if from % ROWS_PER_PART == 0 {
                            entered.rearm();
                        }
                        let to = (from + ROWS_AT_ONCE).min(count);
                        kernel.call::<_, JsValue<'js>>("callRows", (from, to))?;
                        Stage::Call(to)
                    } else {
                        self.settle(entered)?;
                        Stage::Read(0)
                    };
                }
                Stage::Read(from) => {
                    let results: JsValue<'js> = kernel.call("poll", ())?;
                    let Some(results) = results.as_array().filter(|_| from < count) else {
                        return Ok(true);
                    };
                    if from % ROWS_PER_PART == 0 {
                        entered.rearm();
                    }
                    let to = (from + ROWS_AT_ONCE).min(count);
                    for at in from..to {
                        let result: JsValue<'js> = results.get(at)?;
                        progress.values.push(entered.to_value(&result)?);
                    }
                    progress.stage = Stage::Read(to);
                }
            }
            if self.gives_way(entered, progress)? {
                return Ok(false);
            }
        }
    }

    /// Begins a call for so many rows, whose lists are still empty.
    fn start(&self, entered: &Entered<'_, '_>, count: usize) -> Result<(), Fault> {
        let exports = entered.instance.load(entered.ctx, &self.module.entry)?;
        let rows = JsArray::new(entered.ctx.clone())?;
        let sources = JsArray::new(entered.ctx.clone())?;
        for (index, argument) in self.call.arguments.iter().enumerate() {
            let source = JsObject::new(entered.ctx.clone())?;
            match argument {
                RowArgument::Literal(value) => source.set("value", entered.to_js(value)?)?,
                RowArgument::Column(_) => {
                    source.set("column", JsArray::new(entered.ctx.clone())?)?;
                }
            }
            sources.set(index, source)?;
        }
        let RowCall { function, is_column, .. } = self.call;
        let arguments = (exports, &**function, count, rows, sources, *is_column);
        let is_found: bool = entered.kernel.call("startRows", arguments)?;
        if is_found { Ok(()) } else { Err(not_found(&self.call.display_name)) }
    }

    /// Gives the interpreter some of the rows and of the arguments.
    fn fill<'js>(&self, entered: &Entered<'_, 'js>, range: Range<usize>) -> Result<(), Fault> {
        let lists: JsArray<'js> = entered.kernel.call("listsOfRows", ())?;
        let (rows, sources): (JsArray<'js>, JsArray<'js>) = (lists.get(0)?, lists.get(1)?);
        let fill = |list: &JsArray<'js>, values: &[Value]| {
            for at in range.clone() {
                if let Some(value) = values.get(at) {
                    list.set(at, entered.to_js(value)?)?;
                }
            }
            Ok::<_, Fault>(())
        };
        match &self.call.rows {
            Rows::Each(values) => fill(&rows, values)?,
            Rows::Whole(value) => fill(&rows, std::slice::from_ref(value))?,
        }
        for (index, argument) in self.call.arguments.iter().enumerate() {
            if let RowArgument::Column(values) = argument {
                let source: JsObject<'js> = sources.get(index)?;
                fill(&source.get("column")?, values)?;
            }
        }
        Ok(())
    }

    /// Waits until all rows have their results.
    fn settle<'js>(&self, entered: &Entered<'_, 'js>) -> Result<(), Fault> {
        let answer: JsValue<'js> = entered.kernel.call("poll", ())?;
        match entered.drive(answer, self.call.deadline_ms, "it never called next") {
            Err(Fault::Own(ScriptErrorKind::Unanswered, reason)) => {
                let settled: JsValue<'js> = entered.kernel.call("settleColumns", ())?;
                if settled.is_symbol() {
                    return Err(Fault::Own(ScriptErrorKind::Unanswered, reason));
                }
                Ok(())
            }
            answer => answer.map(drop),
        }
    }

    /// Whether others go first now: it is time, and nothing of the call is under way.
    fn gives_way(&self, entered: &Entered<'_, '_>, progress: &mut Progress) -> Result<bool, Fault> {
        if progress.is_hurried {
            return Ok(!(self.may_go_on)());
        }
        if self.began.elapsed() < TURN {
            return Ok(false);
        }
        let called = match progress.stage {
            Stage::Start | Stage::Fill(_) => 0,
            Stage::Call(called) | Stage::Read(called) => called,
        };
        let serial = entered.instance.serial();
        let parking = match &mut progress.parking {
            Some(parking) => parking,
            none => match self.sandbox.park(&self.module.realm, serial, self.weight) {
                Some(parking) => none.insert(parking),
                None => return Ok(false),
            },
        };
        Ok(entered.kernel.call("parkRows", (parking.number(), called))?)
    }
}

impl RowCall {
    fn count(&self) -> usize {
        match &self.rows {
            Rows::Each(rows) => rows.len(),
            Rows::Whole(_) => 1,
        }
    }

    fn weight(&self) -> usize {
        let rows = match &self.rows {
            Rows::Each(rows) => rows.iter().map(convert::weight).sum(),
            Rows::Whole(whole) => convert::weight(whole),
        };
        self.arguments.iter().fold(rows, |total, argument| {
            total.saturating_add(match argument {
                RowArgument::Literal(value) => convert::weight(value),
                RowArgument::Column(values) => values.iter().map(convert::weight).sum(),
            })
        })
    }
}

fn activity(name: &str) -> Activity<'_> {
    Activity { subject: "UDF", name, is_load: false }
}

fn not_found(name: &str) -> Fault {
    Fault::Own(ScriptErrorKind::NotFound, format!("UDF {name} not found"))
}

fn js_list<'js>(entered: &Entered<'_, 'js>, values: &[Value]) -> Result<JsArray<'js>, Fault> {
    let list = JsArray::new(entered.ctx.clone())?;
    for (index, value) in values.iter().enumerate() {
        list.set(index, entered.to_js(value)?)?;
    }
    Ok(list)
}
