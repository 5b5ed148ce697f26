//! Running each kind of statement.

use qlio_data::{Object, Text, Value, scope::Scope};
use qlio_plan::{
    Node, NodeKind,
    catalog::{Table, describe, nearest_table},
    operator::{Call, Expression, Scan, Select, Source, SourceKind},
};
use qlio_syntax::diagnostic::codes;

use super::{
    conditions, join,
    pushdown::{self, Bound},
    steps, union, write,
};
use crate::{
    error::RunError,
    evaluate, function, http,
    operator::{
        filter, limit, program::GivenValue, project, rows::Relation, shape, tuples::Tuples,
    },
    request::Caller,
    run::Run,
};

/// Statements that need nothing from outside.
pub(super) fn run_now(run: &Run<'_>, node: &Node) -> Result<Value, RunError> {
    match &node.kind {
        NodeKind::Define(expression) => {
            let value = evaluate::expression(run, expression)?;
            match expression {
                Expression::Array(_) | Expression::Object(_) => {
                    run.budget.charge_literal(&value)?;
                    check_depth(value)
                }
                Expression::Constant(_) | Expression::Template(_) => Ok(value),
            }
        }
        NodeKind::Reference { slot, name, is_return } => {
            let value = match slot {
                Some(slot) => run.slot(*slot),
                None => run.name(name),
            };
            if *is_return && matches!(value, Value::Null) {
                return Err(RunError::client(
                    codes::UNRESOLVED_RETURN,
                    "Unresolved reference in return",
                ));
            }
            Ok(value)
        }
        NodeKind::Create(place) => create(run, node, *place),
        NodeKind::ShowTables => {
            let created = run.created.borrow();
            let inline = run.plan.nodes.iter().filter_map(|node| match node.kind {
                NodeKind::Create(table) if node.block.is_none() || created.contains(&table) => {
                    Some(&*run.plan.inline_tables[table])
                }
                _ => None,
            });
            Ok(describe::show_tables(run.catalog, inline))
        }
        NodeKind::ShowRoutes => Ok(describe::show_routes(run.catalog)),
        NodeKind::Describe { name, inline } => {
            let inline = inline.as_ref().and_then(|kind| inline_table(run, kind));
            match inline.or_else(|| run.catalog.table(name)) {
                Some(table) => Ok(describe::describe_table(run.catalog, table)),
                None => Err(no_such_table(run, name)),
            }
        }
        NodeKind::DescribeRoute { path, method } => {
            describe::describe_route(run.catalog, path, method).ok_or_else(|| {
                let message =
                    format!("No such route {path} for HTTP method {}", method.to_uppercase());
                RunError::client(codes::UNKNOWN_ROUTE, message)
            })
        }
        NodeKind::Throw { slot, name, is_assigned } => {
            if !is_assigned && run.given(name).is_absent() {
                run.set_slot(*slot, Value::String(name.clone()));
            }
            Ok(Value::Absent)
        }
        NodeKind::ThrowAgain(slot) => match run.caught.borrow().get(slot) {
            Some(error) => Err(error.clone()),
            None => Ok(Value::Absent),
        },
        _ => Err(RunError::internal("a statement was started in the wrong way")),
    }
}

/// Creates an inline table; one in a block exists from now on.
fn create(run: &Run<'_>, node: &Node, place: usize) -> Result<Value, RunError> {
    let table = &run.plan.inline_tables[place];
    if let Some(reason) = &table.broken {
        return Err(broken_table(&table.name, reason));
    }
    if node.block.is_some() {
        run.created.borrow_mut().push(place);
    }
    Ok(Value::object([("message", Value::from("ok"))].into_iter().collect::<Object>()))
}

/// Values that statements build from each other nest at most this deep, like decoded ones.
const VALUE_DEPTH_MAX: usize = 512;

/// Refuses a value that nests too deep: a chain of statements could build one without end.
pub(super) fn check_depth(value: Value) -> Result<Value, RunError> {
    if value.is_deeper_than(VALUE_DEPTH_MAX) {
        let message = format!("the value nests deeper than {VALUE_DEPTH_MAX} levels");
        return Err(RunError::client(codes::NESTING_TOO_DEEP, message));
    }
    Ok(value)
}

/// Statements that may have to wait. Only the way of a select of one table is part of this future: a script has one for
/// each statement, and each is made on the stack and moved to the heap whole.
pub(super) async fn run(run: &Run<'_>, node: &Node) -> Result<Value, RunError> {
    let outcome = match &node.kind {
        NodeKind::Select(statement) => select(run, statement).await,
        NodeKind::Write(statement) => Box::pin(write::write(run, statement)).await,
        NodeKind::Delete(statement) => Box::pin(write::delete(run, statement)).await,
        NodeKind::Call(statement) => Box::pin(call(run, statement, node.target)).await,
        _ => run_now(run, node),
    };
    outcome.map_err(|error| error.at_line(node.line))
}

async fn call(
    run: &Run<'_>,
    call: &Call,
    target: Option<qlio_plan::SlotId>,
) -> Result<Value, RunError> {
    let mut arguments = Vec::with_capacity(call.arguments.len());
    for argument in &call.arguments {
        arguments.push(evaluate::expression(run, argument)?);
    }
    function::call(run, &call.callee, arguments, target).await
}

/// A select, its own steps in the order of SEL-27.
pub(super) async fn select(run: &Run<'_>, select: &Select) -> Result<Value, RunError> {
    if let SourceKind::Union(parts) = &select.scan.source.kind {
        let value = Box::pin(union::union(run, parts)).await?;
        let value = limit::cut(run, value, select.limit, select.offset).await?;
        let relation = project::project(run, &select.scan, value).await?;
        return finish(run, select, relation.into(), None).await;
    }
    if let (Some(joins), Some(steps)) = (&select.joins, &select.steps) {
        return Box::pin(steps::finish_sources(run, select, joins, steps)).await;
    }
    let relation = match (&select.join, resolve_source(run, &select.scan.source)?) {
        (Some(join), _) => {
            let joined = Box::pin(join::join(run, select, join)).await?;
            return finish(run, select, joined, None).await;
        }
        (None, Resolved::Local(value)) => Box::pin(local(run, select, value)).await?,
        (None, Resolved::Table(table)) => {
            let mut own = conditions::own(run, &select.scan.conditions).await?;
            let givens = match &select.steps {
                Some(steps) if !steps.pushed.is_empty() => {
                    match Box::pin(pushdown::bind(run, select, steps, &mut own)).await? {
                        Bound::Asks(givens) => Some(givens),
                        Bound::NeedsNothing => {
                            let none = Relation::Value(Value::array(Vec::new()));
                            return finish(run, select, none, None).await;
                        }
                    }
                }
                _ => None,
            };
            let givens = givens.as_deref();
            match http::select(run, select, table, own).await? {
                http::Selected::Rows(rows) => {
                    return finish(run, select, rows.into(), givens).await;
                }
                http::Selected::Blocks(blocks) => {
                    let mut finished = Vec::with_capacity(blocks.len());
                    for block in blocks {
                        finished.push(finish(run, select, block.into(), givens).await?);
                    }
                    return Ok(Value::array(finished));
                }
            }
        }
    };
    finish(run, select, relation.into(), None).await
}

/// Rows as the value of a select, its functions applied.
async fn finish(
    run: &Run<'_>,
    select: &Select,
    relation: Relation<Tuples>,
    givens: Option<&[GivenValue]>,
) -> Result<Value, RunError> {
    if let Some(steps) = &select.steps {
        return Box::pin(steps::finish(run, select, steps, relation, givens)).await;
    }
    match relation {
        Relation::Value(value) if select.row_calls.is_empty() => Ok(value),
        Relation::Rows(rows) if !select.calls_functions() => {
            shape::shape(&run.budget, &select.output, rows, &[]).await
        }
        relation => Box::pin(finish_by_functions(run, select, relation)).await,
    }
}

async fn finish_by_functions(
    run: &Run<'_>,
    select: &Select,
    relation: Relation<Tuples>,
) -> Result<Value, RunError> {
    let rows = match relation {
        Relation::Rows(rows) => rows,
        Relation::Value(value) => {
            return function::apply_row_calls(run, select, None, value).await;
        }
    };
    let computed = function::output_calls(run, select, &rows).await?;
    if select.row_calls.is_empty() {
        return shape::shape(&run.budget, &select.output, rows, &computed).await;
    }
    let value = shape::shape_values(&run.budget, &select.output, rows.clone(), &computed).await?;
    function::apply_row_calls(run, select, Some(&rows), value).await
}

/// Filters, cuts and projects a variable.
async fn local(run: &Run<'_>, select: &Select, value: Value) -> Result<Relation, RunError> {
    let scan = &select.scan;
    let own = conditions::own(run, &scan.conditions).await?;
    if let Some(mut rows) = project::read_text_rows(run, scan, &value, &own).await? {
        rows.cut(select.limit, select.offset);
        if rows.len() == 0 {
            return Ok(Relation::Value(Value::array(Vec::new())));
        }
        project::warn_of_unmatched(run, scan, &rows);
        return Ok(Relation::Rows(rows));
    }
    let value = filter::filter(run, scan, value, &own).await?;
    let is_one_row = !value.is_array();
    let value = limit::cut(run, value, select.limit, select.offset).await?;
    let mut relation = project::project(run, scan, value).await?;
    // A value that is no list is a list of one row as soon as columns are named.
    if let Relation::Rows(rows) = &mut relation
        && is_one_row
    {
        rows.cut(select.limit, select.offset);
    }
    Ok(relation)
}

/// The rows of one half of a local join.
pub(super) async fn local_rows(
    run: &Run<'_>,
    scan: &Scan,
    value: Value,
) -> Result<Relation, RunError> {
    let own = conditions::own(run, &scan.conditions).await?;
    if let Some(rows) = project::read_text_rows(run, scan, &value, &own).await? {
        if rows.len() == 0 {
            return Ok(Relation::Value(Value::array(Vec::new())));
        }
        project::warn_of_unmatched(run, scan, &rows);
        return Ok(Relation::Rows(rows));
    }
    let value = filter::filter(run, scan, value, &own).await?;
    project::project(run, scan, value).await
}

/// The variable or table that a source names at run time.
pub(super) enum Resolved<'r> {
    /// A variable's value.
    Local(Value),
    /// A table.
    Table(&'r std::sync::Arc<qlio_plan::catalog::Table>),
}

/// Looks a source up; the rows of a select are made.
pub(super) async fn resolve<'r>(
    run: &Run<'_>,
    source: &'r Source,
) -> Result<Resolved<'r>, RunError> {
    match &source.kind {
        SourceKind::Select(inner) => select(run, inner).await.map(Resolved::Local),
        _ => resolve_source(run, source),
    }
}

/// Looks a source up that has a name.
///
/// # Errors
/// `No such table <name>`; a table that could not be loaded.
pub(super) fn resolve_source<'r>(
    run: &Run<'_>,
    source: &'r Source,
) -> Result<Resolved<'r>, RunError> {
    let table = match &source.kind {
        SourceKind::Slot(slot) => {
            return Ok(Resolved::Local(run.slots.borrow()[slot.index()].clone()));
        }
        SourceKind::Inline(table) => table,
        SourceKind::Select(_) | SourceKind::Elements | SourceKind::Union(_) => {
            return Err(RunError::internal("a source without a name was looked up"));
        }
        SourceKind::Conditional { otherwise: table, .. } | SourceKind::Loaded(table) => {
            if let Some(table) = inline_table(run, &source.kind) {
                table
            } else if let Some(value) = run.request.variables.get(&source.name) {
                return Ok(Resolved::Local(value.clone()));
            } else {
                table.as_ref().ok_or_else(|| no_such_table(run, &source.name))?
            }
        }
    };
    match &table.broken {
        Some(reason) => Err(broken_table(&table.name, reason)),
        None => Ok(Resolved::Table(table)),
    }
}

/// The inline table that a name means, if it stands in no block or in one that has run.
fn inline_table<'r>(run: &Run<'_>, kind: &'r SourceKind) -> Option<&'r std::sync::Arc<Table>> {
    match kind {
        SourceKind::Inline(table) => Some(table),
        SourceKind::Conditional { place, table, .. } => {
            run.created.borrow().contains(place).then_some(table)
        }
        SourceKind::Slot(_)
        | SourceKind::Loaded(_)
        | SourceKind::Select(_)
        | SourceKind::Elements
        | SourceKind::Union(_) => None,
    }
}

fn no_such_table(run: &Run<'_>, name: &str) -> RunError {
    let known = run.catalog.tables().iter().map(|table| &*table.name);
    // Who calls a route is told nothing of other tables.
    let meant = if run.caller == Caller::Route { None } else { nearest_table(name, known) };
    let hint = meant.map(|meant| format!("; did you mean `{meant}`?")).unwrap_or_default();
    RunError::client(codes::UNKNOWN_TABLE, format!("No such table {name}{hint}"))
}

fn broken_table(name: &Text, reason: &str) -> RunError {
    RunError::gateway(codes::BROKEN_TABLE, format!("Table {name} failed to load: {reason}"))
        .in_table(name)
}
