//! Scripts have a slice of the worker's time; what needs more is done again, from its start, by a heavy thread
//! (`docs/adr/0030-slices-of-scripts.md`).
//!
//! In: a call of a script, as it is here and as it goes elsewhere. Out: what it gives, with its time charged to the
//! run. Promises: a script that is known to be slow is not begun here (SAF-43, HOK-17).

use crate::{
    error::RunError,
    heavy::Wanted,
    run::Run,
    sandbox::{Sandbox, Script, ScriptError, ScriptErrorKind, with_own_sandbox},
};

/// Whether a call of the script is to begin on this thread.
#[inline]
pub(crate) fn begins_here(run: &Run<'_>, script: Script<'_>) -> bool {
    !run.engine.sandbox().is_slow(script)
}

/// What a call gives on this thread; nothing if it was not done within its slice.
pub(crate) fn unless_unfinished<T>(
    run: &Run<'_>,
    script: Script<'_>,
    outcome: Result<T, ScriptError>,
) -> Option<Result<T, ScriptError>> {
    match outcome {
        Err(error) if error.kind == ScriptErrorKind::Unfinished => {
            run.engine.sandbox().note_unfinished(script);
            None
        }
        outcome => Some(outcome),
    }
}

/// Calls a script on this thread; nothing if it is to be done elsewhere.
///
/// # Errors
/// The run has used its processor time.
pub(crate) fn try_here<T>(
    run: &Run<'_>,
    script: Script<'_>,
    call: impl FnOnce(&Sandbox) -> Result<T, ScriptError>,
) -> Result<Option<Result<T, ScriptError>>, RunError> {
    if !begins_here(run, script) {
        return Ok(None);
    }
    let sandbox = run.engine.sandbox();
    let outcome = call(sandbox);
    run.budget.charge_script(sandbox.take_used_us())?;
    Ok(unless_unfinished(run, script, outcome))
}

/// Calls a script on a heavy thread.
///
/// # Errors
/// As many jobs wait for one as may; the run has used its processor time.
pub(crate) async fn do_apart<T: Send + 'static>(
    run: &Run<'_>,
    script: Script<'_>,
    call: impl FnOnce(&Sandbox, &Wanted) -> T + Send + 'static,
) -> Result<T, RunError> {
    let sandbox = run.engine.sandbox();
    let limits = sandbox.limits().clone();
    let work = move |wanted: &Wanted| {
        with_own_sandbox(&limits, wanted.stop(), |sandbox| call(sandbox, wanted))
    };
    let done = run.engine.heavy().run_script(work).await?;
    sandbox.note_apart(script, done.time);
    run.budget.note_script(u64::try_from(done.time.as_micros()).unwrap_or(u64::MAX));
    run.budget.charge_time(done.time)?;
    Ok(done.value)
}
