//! Functions of scripts (UDFs): called for a definition, for every row, or for a column
//! (UDF-3, SEL-7, UDF-6).

use std::sync::Arc;

use qlio_data::{Object, Value};
use qlio_plan::catalog::ModuleFolders;
use rquickjs::{Array as JsArray, Object as JsObject, Value as JsValue};

use super::{
    bundled, convert,
    error::{Activity, Fault, ScriptError, ScriptErrorKind},
    instance::Entry,
    machine::{Entered, Sandbox},
    realm::Realm,
};

/// Rows per part of a row call; every part has the time of one call.
const ROWS_PER_PART: usize = 256;

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
pub struct RowCall<'a> {
    /// The function within the module's exports, `f` or `a.b.f`; empty if they are the function.
    pub function: &'a str,
    /// How messages call the function, such as `u.heavy`.
    pub display_name: &'a str,
    /// The rows.
    pub rows: Rows,
    /// The arguments in order.
    pub arguments: Vec<RowArgument>,
    /// The names readable through `this`.
    pub scope: Option<&'a Scope>,
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

    fn find(name: &str, folders: &ModuleFolders) -> Result<Self, ScriptError> {
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
    /// order: the value given to `next`; null and absent mean that the row is removed.
    pub fn call_rows(
        &self,
        sandbox: &Sandbox,
        call: &RowCall<'_>,
    ) -> Result<Vec<Value>, ScriptError> {
        self.ensure_loaded(sandbox)?;
        sandbox.set_scope(call.scope);
        let weight = call.weight();
        let outcome = sandbox.enter(&self.realm, activity(call.display_name), weight, |entered| {
            self.run_rows(entered, call)
        });
        outcome.map_err(|error| sandbox.placed(&self.realm, &self.entry, call.function, error))
    }

    fn run_rows<'js>(
        &self,
        entered: &Entered<'_, 'js>,
        call: &RowCall<'_>,
    ) -> Result<Vec<Value>, Fault> {
        let kernel = &entered.kernel;
        let exports = entered.instance.load(entered.ctx, &self.entry)?;
        let (rows, whole) = match &call.rows {
            Rows::Each(rows) => (js_list(entered, rows)?, None),
            Rows::Whole(whole) => {
                let rows = js_list(entered, std::slice::from_ref(whole))?;
                let whole: JsValue<'js> = rows.get(0)?;
                (rows, Some(whole))
            }
        };
        let count = rows.len();
        let sources = JsArray::new(entered.ctx.clone())?;
        for (index, argument) in call.arguments.iter().enumerate() {
            let source = JsObject::new(entered.ctx.clone())?;
            match argument {
                RowArgument::Literal(value) => source.set("value", entered.to_js(value)?)?,
                RowArgument::Column(values) => source.set("column", js_list(entered, values)?)?,
            }
            sources.set(index, source)?;
        }
        let is_found: bool =
            kernel.call("startRows", (exports, call.function, rows, sources, call.is_column))?;
        if !is_found {
            return Err(not_found(call.display_name));
        }
        if let Some(whole) = whole {
            kernel.call::<_, ()>("wholeRow", (whole,))?;
        }
        let mut answer = kernel.call::<_, JsValue<'js>>("poll", ())?;
        let mut from = 0;
        while from < count && answer.is_symbol() {
            entered.rearm();
            let to = (from + ROWS_PER_PART).min(count);
            answer = kernel.call("callRows", (from, to))?;
            from = to;
        }
        let answer = match entered.drive(answer, call.deadline_ms, "it never called next") {
            Err(Fault::Own(ScriptErrorKind::Unanswered, reason)) => {
                let settled: JsValue<'js> = kernel.call("settleColumns", ())?;
                if settled.is_symbol() {
                    return Err(Fault::Own(ScriptErrorKind::Unanswered, reason));
                }
                settled
            }
            other => other?,
        };
        let Some(results) = answer.as_array() else { return Ok(Vec::new()) };
        let mut values = Vec::with_capacity(count);
        for at in 0..count {
            if at % ROWS_PER_PART == 0 {
                entered.rearm();
            }
            let result: JsValue<'js> = results.get(at)?;
            values.push(entered.to_value(&result)?);
        }
        Ok(values)
    }

    /// Loads the module on this thread if it is not, with the time that loading has.
    fn ensure_loaded(&self, sandbox: &Sandbox) -> Result<(), ScriptError> {
        if sandbox.is_loaded(&self.realm, &self.entry) {
            return Ok(());
        }
        sandbox.load(&self.realm, &self.entry, &self.name, |_, _| Ok(()))
    }
}

impl RowCall<'_> {
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
