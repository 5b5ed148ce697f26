//! Selects from two sources (`docs/language/reference/join.md`).
//!
//! A local joined side is read once, and the [`operator`] finds the rows that meet. A remote joined side
//! is asked once for each row of the main side, with the joining values as parameters.

use std::sync::Arc;

use qlio_data::{Text, Value};
use qlio_plan::{
    catalog::Table,
    operator::{Join, Select},
};

use super::{
    conditions::own,
    statement::{Resolved, local_rows, resolve_source},
};
use crate::{
    deadline::Deadline,
    error::RunError,
    http,
    operator::{
        join::{self as operator, too_many_rows},
        join_keys::opener_of,
        rows::{Relation, Rows, bounds},
        tuples::Tuples,
    },
    own::Own,
    run::Run,
};

/// Runs both sides and combines their rows.
pub(super) async fn join(
    run: &Run<'_>,
    select: &Select,
    join: &Join,
) -> Result<Relation<Tuples>, RunError> {
    // Both halves are one statement.
    let deadline = run.deadline.of_statement(select.scan.delays.deadline_ms);
    let main = match resolve_source(run, &select.scan.source)? {
        Resolved::Local(value) => local_rows(run, &select.scan, value).await?,
        Resolved::Table(table) => {
            let own = own(run, &select.scan.conditions).await?;
            http::scan_source(run, select, &select.scan, deadline, table, own).await?
        }
    };
    let main = match main {
        Relation::Rows(main) => main,
        // Nothing to project: an absent main side gives an absent result, an empty one an empty list.
        Relation::Value(value) => return Ok(Relation::Value(value)),
    };
    let (joined, mut pairs) = match resolve_source(run, &join.scan.source)? {
        Resolved::Local(value) => {
            let joined = local_rows(run, &join.scan, value).await?.into_rows();
            let joined = joined.unwrap_or_else(|| Rows::new(join.scan.width()));
            let pairs_max = run.engine.settings().join_rows_max;
            let pairs =
                operator::pairs(opener_of(run), &main, &joined, &join.keys, pairs_max).await?;
            (joined, pairs)
        }
        Resolved::Table(table) => {
            let own = own(run, &join.scan.conditions).await?;
            ask_for_each(run, select, deadline, &main, join, table, &own).await?
        }
    };
    run.budget.charge_rows(pairs.len())?;
    if select.limit.is_some() || select.offset.is_some() {
        let (skip, take) = bounds(select.limit, select.offset);
        pairs = pairs.into_iter().skip(skip).take(take).collect();
    }
    Ok(Relation::Rows(Tuples::of_pairs(main, joined, pairs)))
}

/// One request for each main row, all prepared before the first is sent; equal ones are sent once.
async fn ask_for_each(
    run: &Run<'_>,
    select: &Select,
    deadline: Deadline,
    main: &Rows,
    join: &Join,
    table: &Arc<Table>,
    own: &Own,
) -> Result<(Rows, Vec<(u32, u32)>), RunError> {
    let per_row = main.iter().map(|row| {
        let keys = join
            .keys
            .iter()
            .map(|key| (key.joined_name.clone(), row.cell(key.main_column).value()));
        own.iter().cloned().chain(keys).collect::<Vec<(Text, Value)>>()
    });
    let rows_max = run.engine.settings().join_rows_max;
    let owns = per_row.collect();
    let answers = http::scan_each(run, select, &join.scan, deadline, table, owns, false).await?;
    let mut joined = Rows::new(join.scan.width());
    let mut pairs = Vec::new();
    for (main_row, answer) in (0..).zip(answers) {
        // A value is an empty list or nothing at all: the main row has no partner.
        let Relation::Rows(rows) = answer else { continue };
        let before = joined.len();
        joined.append(rows);
        if joined.len() > rows_max {
            return Err(too_many_rows(rows_max));
        }
        let number = |row| u32::try_from(row).map_err(|_| too_many_rows(rows_max));
        for row in before..joined.len() {
            pairs.push((main_row, number(row)?));
        }
    }
    Ok((joined, pairs))
}
