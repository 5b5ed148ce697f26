//! Script functions: `require`, definition calls, row calls and columns (UDF-2, UDF-6, UDF-11).
//!
//! In: a callee of the plan and values. Out: values. The JavaScript itself runs in
//! [`crate::sandbox`]; this module finds the module that a variable holds and turns errors of
//! scripts into errors of statements.

use std::{future::poll_fn, pin::pin, sync::Arc, task::Poll};

use qlio_data::{Object, Value};
use qlio_plan::{
    SlotId,
    operator::{Callee, Delays, OutputValue, RowArgument, RowCall, ScanColumns, Select},
};
use qlio_syntax::diagnostic::codes;

use crate::{
    clock,
    error::{Origin, RunError},
    evaluate::expression,
    heavy::Wanted,
    operator::tuples::Tuples,
    request::Caller,
    run::Run,
    sandbox::{self, FunctionModule, Sandbox, Scope, ScriptError, ScriptErrorKind},
    slice,
};

/// Calls a function of a definition; `target` is the variable that a `require` binds.
pub(crate) async fn call(
    run: &Run<'_>,
    callee: &Callee,
    arguments: Vec<Value>,
    target: Option<SlotId>,
) -> Result<Value, RunError> {
    if callee.is_require() {
        return require(run, &arguments, target).await;
    }
    let module = module_of(run, callee)?;
    let scope = scope(run);
    let deadline_ms = deadline_ms(run, &Delays::default());
    let (function, name) = (callee.function.clone(), callee.name.clone());
    let script = module.script(&function);
    let call = {
        let (module, function, name) = (module.clone(), function.clone(), name.clone());
        move |sandbox: &Sandbox, arguments: &[Value]| {
            module.call(sandbox, &function, &name, arguments, Some(&scope), deadline_ms)
        }
    };
    let here = slice::try_here(run, script, |sandbox| call(sandbox, &arguments))?;
    let outcome = if let Some(outcome) = here {
        outcome
    } else {
        slice::do_apart(run, script, move |sandbox, _| call(sandbox, &arguments)).await?
    };
    outcome.map_err(|error| function_failed(run, &name, &error))
}

async fn require(
    run: &Run<'_>,
    arguments: &[Value],
    target: Option<SlotId>,
) -> Result<Value, RunError> {
    let name = arguments.first().and_then(Value::scalar_text).unwrap_or_default();
    let failed = |error: ScriptError| {
        let code = match (error.kind, run.caller) {
            (ScriptErrorKind::NotFound, Caller::AdHoc { .. }) => {
                let reason = "scripts of clients may use only modules that come with qlio";
                let message = format!("require of `{name}`: {reason}");
                return RunError::client(codes::FORBIDDEN_MODULE, message);
            }
            (ScriptErrorKind::NotFound, _) => codes::MODULE_NOT_FOUND,
            _ => codes::MODULE_FAILED,
        };
        RunError::new(code, fault_of(run), format!("require of `{name}`: {error}"))
            .at_script(&error)
    };
    let module = run.engine.function_module(&name, &run.plan.modules).map_err(failed)?;
    let script = module.script("require");
    let exports =
        if let Some(exports) = slice::try_here(run, script, |sandbox| module.exports(sandbox))? {
            exports
        } else {
            let module = module.clone();
            let load = move |sandbox: &Sandbox, _: &Wanted| {
                module.ensure_loaded(sandbox)?;
                Ok(module.exports(sandbox))
            };
            slice::do_apart(run, script, load).await?.map_err(failed)?
        };
    let exports = exports.map_err(|error| function_failed(run, "require", &error))?;
    if let Some(slot) = target {
        run.modules.borrow_mut().insert(slot, module);
    }
    Ok(exports)
}

/// Row functions of the where clause, in order, each on the rows of the one before. `columns` are the
/// rows that `value` was made of; a value that is no rows has none.
pub(crate) async fn apply_row_calls(
    run: &Run<'_>,
    select: &Select,
    columns: Option<&Tuples>,
    value: Value,
) -> Result<Value, RunError> {
    if matches!(select.scan.columns, ScanColumns::Star) {
        return apply_to_whole(run, select, value).await;
    }
    let Some(rows) = value.elements() else { return Ok(value) };
    let mut rows = rows.into_owned();
    let scope = scope(run);
    // Rows keep the position they had, so that hidden columns are found after others were removed.
    let mut positions: Vec<usize> = (0..rows.len()).collect();
    for call in &select.row_calls {
        let request = sandbox::RowCall {
            rows: sandbox::Rows::Each(rows),
            arguments: arguments(run, call, columns, &positions)?,
            ..row_call(run, select, call, &scope)
        };
        let answers = answers(run, call, request).await?;
        let kept = answers.into_iter().zip(positions).filter(|(row, _)| !row.is_nothing());
        (rows, positions) = kept.unzip();
    }
    Ok(Value::array(rows))
}

/// `select *`: one call for the whole value, which its answer replaces.
async fn apply_to_whole(run: &Run<'_>, select: &Select, value: Value) -> Result<Value, RunError> {
    let scope = scope(run);
    let mut value = value;
    for call in &select.row_calls {
        let request = sandbox::RowCall {
            rows: sandbox::Rows::Whole(value),
            arguments: arguments(run, call, None, &[])?,
            ..row_call(run, select, call, &scope)
        };
        value = answers(run, call, request).await?.into_iter().next().unwrap_or_default();
    }
    Ok(value)
}

/// The values of the output columns that are calls, one list per such column.
pub(crate) async fn output_calls(
    run: &Run<'_>,
    select: &Select,
    rows: &Tuples,
) -> Result<Vec<Vec<Value>>, RunError> {
    let mut columns = Vec::new();
    for column in &select.output.columns {
        let OutputValue::Call(call) = &column.value else { continue };
        let positions: Vec<usize> = (0..rows.len()).collect();
        let scope = scope(run);
        let request = sandbox::RowCall {
            rows: sandbox::Rows::Each(
                positions.iter().map(|row| rows.tuple(*row).values()).collect(),
            ),
            arguments: arguments(run, call, Some(rows), &positions)?,
            is_column: true,
            ..row_call(run, select, call, &scope)
        };
        columns.push(answers(run, call, request).await?);
    }
    Ok(columns)
}

/// What all calls of a function for rows have in common, as yet without rows.
fn row_call(run: &Run<'_>, select: &Select, call: &RowCall, scope: &Scope) -> sandbox::RowCall {
    sandbox::RowCall {
        function: call.callee.function.clone(),
        display_name: call.callee.name.clone(),
        rows: sandbox::Rows::Each(Vec::new()),
        arguments: Vec::new(),
        scope: Some(scope.clone()),
        deadline_ms: deadline_ms(run, &select.scan.delays),
        is_column: false,
    }
}

async fn answers(
    run: &Run<'_>,
    call: &RowCall,
    request: sandbox::RowCall,
) -> Result<Vec<Value>, RunError> {
    let module = module_of(run, &call.callee)?;
    let script = module.script(&call.callee.function);
    let here = if slice::begins_here(run, script) {
        rows_here(run, &module, &request).await?
    } else {
        None
    };
    let outcome = if let Some(outcome) = here {
        outcome
    } else {
        let (module, time_left) = (module.clone(), run.budget.time_left());
        let call = move |sandbox: &Sandbox, wanted: &Wanted| {
            let began = clock::thread_us();
            let may_go_on = || wanted.is_wanted() && clock::thread_us() - began <= time_left;
            module.call_rows_at_once(sandbox, &request, &may_go_on)
        };
        slice::do_apart(run, script, call).await?
    };
    outcome.map_err(|error| function_failed(run, &call.callee.name, &error).at_line(call.line))
}

/// Calls for rows on this thread, in turns; nothing if one row or a few take longer than a slice.
async fn rows_here(
    run: &Run<'_>,
    module: &FunctionModule,
    request: &sandbox::RowCall,
) -> Result<Option<Result<Vec<Value>, ScriptError>>, RunError> {
    let sandbox = run.engine.sandbox();
    let mut calling = pin!(module.call_rows(sandbox, request));
    let outcome = poll_fn(|context| match run.budget.measure(|| calling.as_mut().poll(context)) {
        Ok(outcome) => outcome.map(Ok),
        Err(refused) => Poll::Ready(Err(refused)),
    });
    let outcome = outcome.await?;
    // It is charged already.
    run.budget.note_script(sandbox.take_used_us());
    Ok(slice::unless_unfinished(run, module.script(&request.function), outcome))
}

fn arguments(
    run: &Run<'_>,
    call: &RowCall,
    columns: Option<&Tuples>,
    positions: &[usize],
) -> Result<Vec<sandbox::RowArgument>, RunError> {
    let mut arguments = Vec::with_capacity(call.arguments.len());
    for argument in &call.arguments {
        arguments.push(match argument {
            RowArgument::Expression(literal) => {
                sandbox::RowArgument::Literal(expression(run, literal)?)
            }
            RowArgument::Absent => sandbox::RowArgument::Literal(Value::Absent),
            RowArgument::Column { side, column } => {
                // Rows that were not made of columns have none: the argument is undefined.
                let values = columns.into_iter().flat_map(|columns| {
                    let known = positions.iter().filter(|row| **row < columns.len());
                    known.map(|row| columns.tuple(*row).cell(*side, *column).value())
                });
                sandbox::RowArgument::Column(values.collect())
            }
        });
    }
    Ok(arguments)
}

fn module_of(run: &Run<'_>, callee: &Callee) -> Result<FunctionModule, RunError> {
    let found = callee.module.and_then(|slot| run.modules.borrow().get(&slot).cloned());
    found.ok_or_else(|| {
        let module = callee.name.split('.').next().unwrap_or_default();
        let reason = match callee.module {
            Some(_) => format!("`{module}` is bound, but to no module"),
            None => format!("nothing binds `{module}`; write `{module} = require(\"….js\")`"),
        };
        not_found(&callee.name, &reason)
    })
}

/// What functions read through `this`: the names that tokens can name (SCP-10).
fn scope(run: &Run<'_>) -> Scope {
    let slots = run.slots.borrow();
    let mut variables = Object::new();
    for (symbol, value) in run.plan.symbols.iter().zip(slots.iter()) {
        if !symbol.name.is_empty() && !value.is_absent() {
            variables.insert(symbol.name.clone(), value.clone());
        }
    }
    Scope { variables: Arc::new(variables), outer: run.outer_layers() }
}

/// How long functions of a statement may take: its own bounds, else that of the settings.
fn deadline_ms(run: &Run<'_>, delays: &Delays) -> u64 {
    let timeout = delays.timeout_ms.unwrap_or_else(|| {
        u64::try_from(run.engine.settings().timeout.as_millis()).unwrap_or(u64::MAX)
    });
    delays.deadline_ms.map_or(timeout, |deadline| deadline.min(timeout))
}

fn not_found(name: &str, reason: &str) -> RunError {
    RunError::client(codes::UDF_NOT_FOUND, format!("UDF {name} not found: {reason}"))
}

/// A function failed. The modules of a client's script come with us, so it has misused them.
fn function_failed(run: &Run<'_>, name: &str, error: &ScriptError) -> RunError {
    let origin = fault_of(run);
    let failed = |code, message: String| RunError::new(code, origin, message);
    let failed = match error.kind {
        ScriptErrorKind::NotFound => match name.split_once('.') {
            Some((module, function)) => {
                not_found(name, &format!("the module `{module}` exports no function `{function}`"))
            }
            None => not_found(name, &format!("the module `{name}` is no function itself")),
        },
        ScriptErrorKind::Time => failed(codes::UDF_TIME, error.message.clone()),
        ScriptErrorKind::Memory => failed(codes::UDF_MEMORY, error.message.clone()),
        ScriptErrorKind::Unanswered => {
            failed(codes::UDF_TIME, format!("UDF {name} failed: {error}"))
        }
        _ => failed(codes::UDF_FAILED, format!("UDF {name} failed: {error}")),
    };
    failed.at_script(error)
}

fn fault_of(run: &Run<'_>) -> Origin {
    match run.caller {
        Caller::AdHoc { .. } => Origin::Client,
        Caller::Route | Caller::Operator => Origin::Gateway,
    }
}
