//! Script functions: `require`, definition calls, row calls and columns (`language.md` 5.5, 5.9, 5.20).
//!
//! In: a callee of the plan and values. Out: values. The JavaScript itself runs in
//! [`crate::sandbox`]; this module finds the module that a variable holds and turns errors of
//! scripts into errors of statements.

use std::sync::Arc;

use qlio_data::{Object, Value};
use qlio_plan::{
    SlotId,
    operator::{Callee, Output, OutputValue, RowArgument, RowCall},
};
use qlio_syntax::diagnostic::codes;

use crate::{
    error::{Origin, RunError},
    executor::expression,
    operator::{
        rows::{Rows, Table},
        shape::{Layout, Shaped},
    },
    request::Caller,
    run::Run,
    sandbox::{self, FunctionModule, ScriptError, ScriptErrorKind},
};

/// Calls a function of a definition; `target` is the variable that a `require` binds.
pub(crate) fn call(
    run: &Run<'_>,
    callee: &Callee,
    arguments: &[Value],
    target: Option<SlotId>,
) -> Result<Value, RunError> {
    if callee.is_require() {
        return require(run, arguments, target);
    }
    let module = module_of(run, callee)?;
    let scope = scope_object(run);
    let outcome = module.call(
        run.engine.sandbox(),
        &callee.function,
        &callee.name,
        arguments,
        Some(&scope),
        deadline_ms(run),
    );
    outcome.map_err(|error| function_failed(&callee.name, &error))
}

fn require(run: &Run<'_>, arguments: &[Value], target: Option<SlotId>) -> Result<Value, RunError> {
    let name = arguments.first().and_then(Value::scalar_text).unwrap_or_default();
    let module = run.engine.function_module(&name, run.caller).map_err(|error| {
        let code = match (error.kind, run.caller) {
            (ScriptErrorKind::NotFound, Caller::AdHoc { .. }) => {
                let reason = "scripts of clients may use only modules that come with qlio";
                let message = format!("require of `{name}`: {reason}");
                return RunError::client(codes::FORBIDDEN_MODULE, message);
            }
            (ScriptErrorKind::NotFound, _) => codes::MODULE_NOT_FOUND,
            _ => codes::MODULE_FAILED,
        };
        with_position(
            RunError::new(code, fault_of(run), 400, format!("require of `{name}`: {error}")),
            &error,
        )
    })?;
    let exports =
        module.exports(run.engine.sandbox()).map_err(|error| function_failed("require", &error))?;
    if let Some(slot) = target {
        run.modules.borrow_mut().insert(slot, module);
    }
    Ok(exports)
}

/// Row functions of the where clause, in order, each on the rows of the one before.
pub(crate) fn apply_row_calls(
    run: &Run<'_>,
    calls: &[RowCall],
    shaped: &Shaped,
    value: Value,
) -> Result<Value, RunError> {
    let Rows::Table(table) = &shaped.rows else {
        return apply_to_whole(run, calls, value);
    };
    let scope = scope_object(run);
    let mut rows: Vec<Value> =
        value.elements().map(std::borrow::Cow::into_owned).unwrap_or_default();
    // Rows keep the position they had, so that hidden columns are found after others were removed.
    let mut positions: Vec<usize> = (0..rows.len()).collect();
    for call in calls {
        let arguments = arguments(run, call, table, shaped.layout, &positions)?;
        let answers = row_call(run, call, sandbox::Rows::Each(rows), arguments, &scope, false)?;
        let kept = answers.into_iter().zip(positions).filter(|(row, _)| !row.is_nothing());
        (rows, positions) = kept.unzip();
    }
    Ok(Value::array(rows))
}

/// `select *`: one call for the whole value, which its answer replaces.
fn apply_to_whole(run: &Run<'_>, calls: &[RowCall], value: Value) -> Result<Value, RunError> {
    let scope = scope_object(run);
    let mut value = value;
    for call in calls {
        let arguments = arguments(run, call, &Table::new(0), Layout { main_width: 0 }, &[])?;
        let answers = row_call(run, call, sandbox::Rows::Whole(value), arguments, &scope, false)?;
        value = answers.into_iter().next().unwrap_or_default();
    }
    Ok(value)
}

/// The values of the output columns that are calls, one list per such column.
pub(crate) fn output_calls(
    run: &Run<'_>,
    output: &Output,
    table: &Table,
    layout: Layout,
) -> Result<Vec<Vec<Value>>, RunError> {
    let mut columns = Vec::new();
    for column in &output.columns {
        let OutputValue::Call(call) = &column.value else { continue };
        let positions: Vec<usize> = (0..table.len()).collect();
        let arguments = arguments(run, call, table, layout, &positions)?;
        let rows = table.rows().map(|row| row.iter().cloned().collect()).collect();
        let scope = scope_object(run);
        columns.push(row_call(run, call, sandbox::Rows::Each(rows), arguments, &scope, true)?);
    }
    Ok(columns)
}

fn row_call(
    run: &Run<'_>,
    call: &RowCall,
    rows: sandbox::Rows,
    arguments: Vec<sandbox::RowArgument>,
    scope: &Arc<Object>,
    is_column: bool,
) -> Result<Vec<Value>, RunError> {
    let module = module_of(run, &call.callee)?;
    let request = sandbox::RowCall {
        function: &call.callee.function,
        display_name: &call.callee.name,
        rows,
        arguments,
        scope: Some(scope),
        deadline_ms: deadline_ms(run),
        is_column,
    };
    module
        .call_rows(run.engine.sandbox(), &request)
        .map_err(|error| function_failed(&call.callee.name, &error).at_line(call.line))
}

fn arguments(
    run: &Run<'_>,
    call: &RowCall,
    table: &Table,
    layout: Layout,
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
                let position = layout.position(*side, *column);
                let values = positions.iter().map(|row| table.row(*row)[position].clone());
                sandbox::RowArgument::Column(values.collect())
            }
        });
    }
    Ok(arguments)
}

fn module_of(run: &Run<'_>, callee: &Callee) -> Result<FunctionModule, RunError> {
    let found = callee.module.and_then(|slot| run.modules.borrow().get(&slot).cloned());
    found.ok_or_else(|| not_found(&callee.name))
}

/// What functions read through `this`: the script's variables and what the caller gave by name.
fn scope_object(run: &Run<'_>) -> Arc<Object> {
    let slots = run.slots.borrow();
    let mut scope = Object::new();
    for given in [&run.request.route, &run.request.variables] {
        for (name, value) in given.iter() {
            scope.insert(name.clone(), value.clone());
        }
    }
    for (symbol, value) in run.plan.symbols.iter().zip(slots.iter()) {
        if !value.is_absent() {
            scope.insert(symbol.name.clone(), value.clone());
        }
    }
    Arc::new(scope)
}

fn deadline_ms(run: &Run<'_>) -> u64 {
    u64::try_from(run.engine.settings().timeout.as_millis()).unwrap_or(u64::MAX)
}

fn not_found(name: &str) -> RunError {
    RunError::client(codes::UDF_NOT_FOUND, format!("UDF {name} not found"))
}

fn function_failed(name: &str, error: &ScriptError) -> RunError {
    let failed = match error.kind {
        ScriptErrorKind::NotFound => not_found(name),
        ScriptErrorKind::Time => {
            RunError::new(codes::UDF_TIME, Origin::Gateway, 500, error.message.clone())
        }
        ScriptErrorKind::Memory => {
            RunError::new(codes::UDF_MEMORY, Origin::Gateway, 500, error.message.clone())
        }
        kind => {
            let code = match kind {
                ScriptErrorKind::Unanswered => codes::UDF_TIME,
                _ => codes::UDF_FAILED,
            };
            RunError::new(code, Origin::Gateway, 500, format!("UDF {name} failed: {error}"))
        }
    };
    with_position(failed, error)
}

/// Adds the script's own file, line and column.
pub(crate) fn with_position(failed: RunError, error: &ScriptError) -> RunError {
    let mut failed = failed;
    if let Some(file) = &error.file {
        failed = failed.with("file", file.as_str());
    }
    if let Some(line) = error.line {
        failed = failed.with("fileLine", Value::int(i64::from(line)));
    }
    if let Some(column) = error.column {
        failed = failed.with("fileColumn", Value::int(i64::from(column)));
    }
    failed
}

fn fault_of(run: &Run<'_>) -> Origin {
    match run.caller {
        Caller::AdHoc { .. } => Origin::Client,
        Caller::Route | Caller::Operator => Origin::Gateway,
    }
}
