//! What a select does with its rows beyond reading and showing columns: test, group, order, drop what is
//! repeated, cut, compute columns.
//!
//! In: the rows that were read. Out: the value of the select. Rows are moved and dropped by their numbers,
//! so that rows which are text stay text.

use std::{cell::Cell, collections::HashSet, ops::Range, sync::Arc};

use foldhash::quality::RandomState;
use qlio_data::{Value, compute::order::Key};
use qlio_plan::operator::{
    self, Bound, Joins, Operation, OutputValue, Program, Select, SourceKind, Stage, Steps,
};
use qlio_syntax::diagnostic::codes;

use super::{conditions, grouping, joins, nested, statement};
use crate::{
    budget::{Budget, VALUE_BYTES},
    error::{Origin, RunError},
    evaluate::operand,
    function,
    operator::{
        filter::Expectation,
        pieces,
        program::{GivenValue, Machine, key_of},
        rows::{Relation, Rows, bounds},
        shape, sort,
        sort_keys::SortKeys,
        tuples::{Numbered, Tuples},
    },
    request::Caller,
    run::Run,
};

/// Bytes of the number of a row.
const NUMBER_BYTES: usize = 4;

/// The value of a select with steps. A source that is nothing, or no row, is the value itself. `known` are the
/// values that are the same for all rows, if they have been needed before.
pub(super) async fn finish(
    run: &Run<'_>,
    select: &Select,
    steps: &Steps,
    relation: Relation<Tuples>,
    known: Option<&[GivenValue]>,
) -> Result<Value, RunError> {
    let rows = match rows_of(steps, relation) {
        Ok(rows) => rows,
        Err(value) => return Ok(value),
    };
    let computed;
    let givens: &[GivenValue] = if let Some(givens) = known {
        givens
    } else {
        computed = givens(run, steps).await?;
        &computed
    };
    let mut machine = machine(run, select, givens);
    let (rows, computed) = run_steps(run, select, steps, &mut machine, rows, None).await?;
    show(run, select, rows, computed).await
}

/// The value of a select from several sources, or with sub-selects.
pub(super) async fn finish_sources(
    run: &Run<'_>,
    select: &Select,
    joins: &Joins,
    steps: &Steps,
) -> Result<Value, RunError> {
    let givens = givens(run, steps).await?;
    let mut machine = machine(run, select, &givens);
    let rows = match rows_of(steps, joins::read(run, select, joins, &machine, None).await?) {
        Ok(rows) => rows,
        Err(value) => return Ok(value),
    };
    let (rows, computed) = run_steps(run, select, steps, &mut machine, rows, None).await?;
    show(run, select, rows, computed).await
}

/// The rows that there are steps for, or the value that a source without rows makes of the select.
fn rows_of(steps: &Steps, relation: Relation<Tuples>) -> Result<Tuples, Value> {
    match relation {
        Relation::Rows(rows) => Ok(rows),
        // Nothing has no rows, and these have groups.
        Relation::Value(_) if steps.grouping.is_some() => Ok(Rows::new(0).into()),
        Relation::Value(value) => Err(value),
    }
}

/// The rows of a select that is run for each of the rows around it, by these.
pub(super) async fn finish_groups(
    run: &Run<'_>,
    select: &Select,
    joins: &Joins,
    steps: &Steps,
    around: Rows,
) -> Result<Vec<Vec<Value>>, RunError> {
    let givens = givens(run, steps).await?;
    let mut machine = machine(run, select, &givens);
    let count = around.len();
    let mut groups = vec![Vec::new(); count];
    let rows = match joins::read(run, select, joins, &machine, Some(around)).await? {
        Relation::Rows(rows) => rows,
        Relation::Value(_) => return Ok(groups),
    };
    let around = Around { side: joins.around_side().number(), count };
    let (rows, computed) = run_steps(run, select, steps, &mut machine, rows, Some(&around)).await?;
    let owners = around.owners(&rows).to_vec();
    let shown = shape::shape_values(&run.budget, &select.output, rows, &computed).await?;
    for (owner, row) in owners.into_iter().zip(shown.elements().iter().flat_map(|rows| rows.iter()))
    {
        groups[owner as usize].push(row.clone());
        if run.budget.spend(1) {
            run.budget.pause().await?;
        }
    }
    Ok(groups)
}

/// The rows around a select: for each of its own rows there is the number of the one that it is for, in their
/// order.
struct Around {
    /// The source that holds them.
    side: usize,
    count: usize,
}

impl Around {
    /// For each row the number of the one around it.
    fn owners<'r>(&self, rows: &'r Tuples) -> &'r [u32] {
        rows.sources().get(self.side).map_or(&[], |source| &source.numbers)
    }

    /// Groups, of which each belongs to one of them.
    fn own(&self, groups: Rows, owners: Vec<u32>) -> Tuples {
        let count = owners.len();
        let mut sources: Vec<Numbered> = (0..self.side).map(|_| Numbered::unread()).collect();
        sources[0] = Numbered { rows: groups, numbers: (0..count as u32).collect() };
        sources.push(Numbered { rows: Rows::new(0), numbers: owners });
        Tuples::of_sources(sources, count)
    }

    /// The rows of each that has some.
    fn ranges(&self, rows: &Tuples) -> Vec<Range<usize>> {
        let owners = self.owners(rows);
        let mut ranges = Vec::with_capacity(self.count.min(owners.len()));
        let mut start = 0;
        for end in 1..=owners.len() {
            if end == owners.len() || owners[end] != owners[start] {
                ranges.push(start..end);
                start = end;
            }
        }
        ranges
    }
}

/// Tests, orders, cuts and computes rows; of those that are run for others, the rows of each by themselves.
async fn run_steps(
    run: &Run<'_>,
    select: &Select,
    steps: &Steps,
    machine: &mut Machine<'_>,
    mut rows: Tuples,
    around: Option<&Around>,
) -> Result<(Tuples, Vec<Vec<Value>>), RunError> {
    let joins = select.joins.as_deref();
    let limit = bound(run, steps.limit.as_ref(), "limit")?;
    let offset = bound(run, steps.offset.as_ref(), "offset")?;
    if let Some(filter) = &steps.filter {
        rows = attach(run, joins, Stage::Filter, rows).await?;
        rows = keep(machine, filter, rows).await?;
    }
    if let Some(grouping) = &steps.grouping {
        rows = match around {
            None => grouping::group(run, machine, grouping, &rows, None).await?.0.into(),
            Some(around) => {
                let owners = Some((around.owners(&rows), around.count));
                let (groups, owners) =
                    grouping::group(run, machine, grouping, &rows, owners).await?;
                around.own(groups, owners)
            }
        };
        machine.has_groups = true;
        if let Some(having) = &grouping.having {
            rows = keep(machine, having, rows).await?;
        }
    }
    let machine = &*machine;
    let (skip, take) = bounds(limit, offset);
    // What is dropped as repeated is known only behind the sort.
    let wanted = if steps.is_distinct { usize::MAX } else { skip.saturating_add(take) };
    if !steps.order.is_empty() {
        rows = attach(run, joins, Stage::Order, rows).await?;
        let ranges = around.map(|around| around.ranges(&rows));
        rows = order(machine, steps, rows, wanted, ranges).await?;
    }
    if steps.is_distinct {
        rows = attach(run, joins, Stage::Output, rows).await?;
        rows = drop_repeated(machine, select, rows, around).await?;
    }
    rows = match around {
        None => cut(machine.budget, rows, skip, take).await?,
        Some(around) => cut_each(machine, around, rows, skip, take).await?,
    };
    if !steps.is_distinct {
        rows = attach(run, joins, Stage::Output, rows).await?;
    }
    let computed = compute(machine, select, &rows).await?;
    match machine.zero_divisions.get() {
        0 => {}
        1 => run.warn("a division by zero gave null"),
        count => run.warn(format!("{count} divisions by zero gave null")),
    }
    Ok((rows, computed))
}

async fn attach(
    run: &Run<'_>,
    joins: Option<&Joins>,
    stage: Stage,
    rows: Tuples,
) -> Result<Tuples, RunError> {
    match joins.filter(|joins| !joins.nested.is_empty()) {
        None => Ok(rows),
        Some(joins) => nested::attach(run, joins, stage, rows).await,
    }
}

/// The rows that are left of those for each row around.
async fn cut_each(
    machine: &Machine<'_>,
    around: &Around,
    rows: Tuples,
    skip: usize,
    take: usize,
) -> Result<Tuples, RunError> {
    if skip == 0 && take >= rows.len() {
        return Ok(rows);
    }
    let mut kept = Vec::new();
    for range in around.ranges(&rows) {
        let start = range.start.saturating_add(skip).min(range.end);
        let end = start.saturating_add(take).min(range.end);
        kept.extend(start as u32..end as u32);
        if machine.budget.spend(1 + end - start) {
            machine.budget.pause().await?;
        }
    }
    rows.select(machine.budget, kept).await
}

/// What runs the programs of a select.
pub(super) fn machine<'a>(
    run: &'a Run<'_>,
    select: &'a Select,
    givens: &'a [GivenValue],
) -> Machine<'a> {
    Machine {
        budget: &run.budget,
        heavy: run.engine.heavy(),
        givens,
        source: &select.scan.source.name,
        has_groups: false,
        fault: fault_of(run, select),
        context: run.function_context().in_haste(),
        zero_divisions: Cell::new(0),
    }
}

/// The values that are the same for all rows.
pub(super) async fn givens(run: &Run<'_>, steps: &Steps) -> Result<Vec<GivenValue>, RunError> {
    let mut values = Vec::with_capacity(steps.givens.len());
    for given in &steps.givens {
        values.push(match given {
            operator::Given::Value(value) => GivenValue::Value(operand(run, value)?),
            operator::Given::Select(select, manner) => {
                let value = Box::pin(statement::select(run, select)).await?;
                GivenValue::Value(nested::of_rows(value, *manner, select.line)?)
            }
            operator::Given::Condition(expected) => {
                let expected = conditions::expected_value(run, expected).await?;
                let expected = Expectation::new(&run.budget, &expected).await?;
                GivenValue::Expectation(Arc::new(expected))
            }
        });
    }
    Ok(values)
}

/// Rows that cannot be computed with are the fault of the API that sent them, else of the script.
fn fault_of(run: &Run<'_>, select: &Select) -> Origin {
    match run.caller {
        _ if !is_local(&select.scan.source.kind) => Origin::Upstream,
        Caller::AdHoc { .. } => Origin::Client,
        Caller::Route | Caller::Operator => Origin::Gateway,
    }
}

/// Whether rows come from variables alone.
fn is_local(source: &SourceKind) -> bool {
    match source {
        SourceKind::Slot(_) => true,
        SourceKind::Union(parts) => {
            parts.iter().all(|part| is_local(&part.select.scan.source.kind))
        }
        _ => false,
    }
}

/// The number that `limit` or `offset` has.
fn bound(run: &Run<'_>, bound: Option<&Bound>, clause: &str) -> Result<Option<u64>, RunError> {
    let (name, value) = match bound {
        None => return Ok(None),
        Some(Bound::Count(count)) => return Ok(Some(*count)),
        Some(Bound::Given { name, value }) => (name, operand(run, value)?),
    };
    let text = value.scalar_text();
    let count = text.as_deref().and_then(|text| text.parse().ok());
    count.map(Some).ok_or_else(|| {
        let found = match (&text, value.is_nothing()) {
            (Some(text), _) => {
                format!("`{}`", text.chars().take(SHOWN_CHARS_MAX).collect::<String>())
            }
            (None, true) => "nothing".to_owned(),
            (None, false) => "a structure".to_owned(),
        };
        let message =
            format!("`{clause} {name}` needs a whole number from 0 on, and there is {found}");
        RunError::client(codes::BAD_COUNT, message)
    })
}

/// Characters of a value that a message repeats.
const SHOWN_CHARS_MAX: usize = 40;

/// The rows for which a program is truthy.
async fn keep(machine: &Machine<'_>, filter: &Program, rows: Tuples) -> Result<Tuples, RunError> {
    let mut kept = Vec::new();
    let mut stack = Vec::new();
    for number in 0..rows.len() {
        if machine.run(filter, &mut stack, rows.tuple(number), number).await?.is_truthy() {
            kept.push(number as u32);
        }
        if machine.budget.spend(filter.operations.len()) {
            machine.budget.pause().await?;
        }
    }
    machine.budget.charge_memory(kept.len() * NUMBER_BYTES)?;
    rows.select(machine.budget, kept).await
}

/// The rows in order, in that of each range if there are some; of them the first `wanted`.
async fn order(
    machine: &Machine<'_>,
    steps: &Steps,
    rows: Tuples,
    wanted: usize,
    ranges: Option<Vec<Range<usize>>>,
) -> Result<Tuples, RunError> {
    let count = rows.len();
    let mut keys = SortKeys::new(machine.budget, steps.order.len(), count)?;
    let mut stack = Vec::new();
    for number in 0..count {
        for (place, key) in steps.order.iter().enumerate() {
            let tuple = rows.tuple(number);
            if let [Operation::Column(side, column)] = key.program.operations.as_slice()
                && let Some(whole) = tuple.cell(*side, *column).whole()
            {
                keys.push_whole(machine.budget, place, whole)?;
                continue;
            }
            let value = machine.run(&key.program, &mut stack, tuple, number).await?;
            let key = key_of(machine.budget, machine.heavy, &value).await?;
            keys.push(machine.budget, place, key)?;
        }
        if machine.budget.spend(steps.order.len()) {
            machine.budget.pause().await?;
        }
    }
    let Some(ranges) = ranges else {
        let order = sort::sort(machine.budget, 0..count, &keys, &steps.order, wanted).await?;
        machine.budget.charge_memory(order.len() * NUMBER_BYTES)?;
        return rows.select(machine.budget, order).await;
    };
    let mut order = Vec::with_capacity(count);
    for range in ranges {
        order.extend(sort::sort(machine.budget, range, &keys, &steps.order, wanted).await?);
    }
    machine.budget.charge_memory(order.len() * NUMBER_BYTES)?;
    rows.select(machine.budget, order).await
}

/// The first of all rows that show the same.
async fn drop_repeated(
    machine: &Machine<'_>,
    select: &Select,
    rows: Tuples,
    around: Option<&Around>,
) -> Result<Tuples, RunError> {
    let mut seen: HashSet<Vec<Key>, RandomState> = HashSet::default();
    let owners = around.map_or(&[][..], |around| around.owners(&rows));
    let mut owner = None;
    let mut kept = Vec::new();
    let mut stack = Vec::new();
    for number in 0..rows.len() {
        let tuple = rows.tuple(number);
        if owner != owners.get(number) {
            owner = owners.get(number);
            seen.clear();
        }
        let mut shown = Vec::with_capacity(select.output.columns.len());
        for column in &select.output.columns {
            let value = match &column.value {
                OutputValue::Column { side, column } => tuple.cell(*side, *column).value(),
                OutputValue::Computed(program) => {
                    machine.run(program, &mut stack, tuple, number).await?
                }
                // Such columns are refused beside `distinct`.
                OutputValue::Call(_) => Value::Absent,
            };
            shown.push(key_of(machine.budget, machine.heavy, &value).await?);
        }
        if seen.insert(shown) {
            let width = select.output.columns.len();
            machine.budget.charge_memory(NUMBER_BYTES + width * size_of::<Key>())?;
            kept.push(number as u32);
        }
        if machine.budget.spend(1 + select.output.columns.len()) {
            machine.budget.pause().await?;
        }
    }
    rows.select(machine.budget, kept).await
}

async fn cut(budget: &Budget, rows: Tuples, skip: usize, take: usize) -> Result<Tuples, RunError> {
    if skip == 0 && take >= rows.len() {
        return Ok(rows);
    }
    let count = rows.len();
    let end = skip.saturating_add(take).min(count);
    let kept = pieces::collect(budget, skip.min(count) as u32..end as u32).await?;
    rows.select(budget, kept).await
}

/// The values of the computed columns, one list for each.
async fn compute(
    machine: &Machine<'_>,
    select: &Select,
    rows: &Tuples,
) -> Result<Vec<Vec<Value>>, RunError> {
    let mut columns = Vec::new();
    let mut stack = Vec::new();
    for column in &select.output.columns {
        let OutputValue::Computed(program) = &column.value else { continue };
        machine.budget.charge_memory(rows.len() * VALUE_BYTES)?;
        let mut values = Vec::with_capacity(rows.len());
        for number in 0..rows.len() {
            values.push(machine.run(program, &mut stack, rows.tuple(number), number).await?);
            if machine.budget.spend(program.operations.len()) {
                machine.budget.pause().await?;
            }
        }
        columns.push(values);
    }
    Ok(columns)
}

/// The rows as values, functions of modules called for them.
async fn show(
    run: &Run<'_>,
    select: &Select,
    rows: Tuples,
    computed: Vec<Vec<Value>>,
) -> Result<Value, RunError> {
    if !select.calls_functions() {
        return shape::shape(&run.budget, &select.output, rows, &computed).await;
    }
    let mut called = function::output_calls(run, select, &rows).await?.into_iter();
    let mut computed = computed.into_iter();
    let mut columns = Vec::new();
    for column in &select.output.columns {
        columns.extend(match column.value {
            OutputValue::Column { .. } => None,
            OutputValue::Call(_) => called.next(),
            OutputValue::Computed(_) => computed.next(),
        });
    }
    if select.row_calls.is_empty() {
        return shape::shape(&run.budget, &select.output, rows, &columns).await;
    }
    let value = shape::shape_values(&run.budget, &select.output, rows.clone(), &columns).await?;
    function::apply_row_calls(run, select, Some(&rows), value).await
}
