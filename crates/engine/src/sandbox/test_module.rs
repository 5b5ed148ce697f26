//! Modules with the hooks of a test: `setup`, `test`, `tearDown` (`docs/guide/testing.md`).
//!
//! In: a module's file and the result of a run. Out: which assertions of the `test` object failed, and
//! where. What `setup` returns stays inside the interpreter, so it may hold anything. The rest of a
//! test (mocks, running, reporting) is the caller's.

use std::{path::Path, sync::Arc};

use qlio_data::Value;
use qlio_plan::catalog::SourceFolder;
use rquickjs::{Array as JsArray, Value as JsValue};

use super::{
    convert,
    error::{Activity, ScriptError},
    instance::Entry,
    machine::Sandbox,
    realm::Realm,
    session::file_entry,
};

/// The module of the sandbox that calls the hooks.
const RUNNER: &str = "qlio-nodeunit";

/// A loaded module with hooks of a test.
#[derive(Debug, Clone)]
pub struct TestModule {
    realm: Realm,
    entry: Entry,
    has_test: bool,
}

/// An assertion that failed: its line in the module, if it is known, and why.
pub type FailedAssertion = (Option<u32>, String);

impl TestModule {
    /// Loads a module; `file` lies below the folder, whose files it may require.
    pub fn load(
        sandbox: &Sandbox,
        folder: &Arc<SourceFolder>,
        file: &Path,
    ) -> Result<Self, ScriptError> {
        let realm = Realm::new(folder);
        let (entry, name) = file_entry(&realm, file)?;
        // The runner comes first: it decides what becomes of modules that are not there.
        let has_test = sandbox.load(&realm, &runner(), &name, |entered, runner| {
            let exports = entered.instance.load(entered.ctx, &entry)?;
            let list = JsArray::new(entered.ctx.clone())?;
            list.set(0, exports)?;
            list.set(1, "test")?;
            let answer: JsValue<'_> = entered.kernel.call("callFunction", (runner, "has", list))?;
            let has_test = answer.as_array().map(|wrapped| wrapped.get::<bool>(0)).transpose()?;
            Ok(has_test.unwrap_or(false))
        })?;
        Ok(Self { realm, entry, has_test })
    }

    /// Whether there is a hook `test`, which then judges the run, failed or not.
    pub fn has_test(&self) -> bool {
        self.has_test
    }

    /// Calls `setup` and keeps what it returns. Timers may reach `deadline_ms` far.
    pub fn set_up(&self, sandbox: &Sandbox, deadline_ms: u64) -> Result<(), ScriptError> {
        self.call(sandbox, "setup", &[], deadline_ms).map(|_| ())
    }

    /// Calls `test` with the error (`is_failed`) or the result of a run.
    pub fn test(
        &self,
        sandbox: &Sandbox,
        is_failed: bool,
        root: &Value,
        deadline_ms: u64,
    ) -> Result<Vec<FailedAssertion>, ScriptError> {
        let arguments = [Value::Bool(is_failed), root.clone()];
        let answer = self.call(sandbox, "test", &arguments, deadline_ms)?;
        let failures = answer.member("failures");
        let failures = failures.elements().unwrap_or_default();
        let failed = |failure: &Value| {
            let line = match failure.member("line") {
                Value::Number(line) => line.as_i64().and_then(|line| u32::try_from(line).ok()),
                _ => None,
            };
            (line, failure.member("message").as_str().unwrap_or_default().to_owned())
        };
        Ok(failures.iter().map(failed).collect())
    }

    /// Calls `tearDown` with what `setup` has returned.
    pub fn tear_down(&self, sandbox: &Sandbox, deadline_ms: u64) -> Result<(), ScriptError> {
        self.call(sandbox, "tearDown", &[], deadline_ms).map(|_| ())
    }

    pub(super) fn call(
        &self,
        sandbox: &Sandbox,
        hook: &str,
        arguments: &[Value],
        deadline_ms: u64,
    ) -> Result<Value, ScriptError> {
        let activity = Activity { subject: "Test hook", name: hook, is_load: false };
        let weight = arguments.iter().map(convert::weight).sum();
        sandbox.enter(&self.realm, activity, weight, |entered| {
            let runner = entered.instance.load(entered.ctx, &runner())?;
            let list = JsArray::new(entered.ctx.clone())?;
            list.set(0, entered.instance.load(entered.ctx, &self.entry)?)?;
            for (at, argument) in arguments.iter().enumerate() {
                list.set(at + 1, entered.to_js(argument)?)?;
            }
            let first: JsValue<'_> = entered.kernel.call("callFunction", (runner, hook, list))?;
            let silence = match hook {
                "test" => "the hook never called `test.done`".to_owned(),
                "request" => "the handler of the server never ended its answer".to_owned(),
                other => format!("the hook `{other}` never called its callback"),
            };
            let answer = entered.drive(first, deadline_ms, &silence)?;
            let Some(wrapped) = answer.as_array() else { return Ok(Value::Absent) };
            let value: JsValue<'_> = wrapped.get(0)?;
            entered.to_value(&value)
        })
    }
}

fn runner() -> Entry {
    Entry::Bundled(RUNNER.to_owned())
}
