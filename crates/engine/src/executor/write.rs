//! Inserts, updates and deletes: on tables through their connector, on variables here
//! (INS-10, DEL-2).

use qlio_data::Value;
use qlio_plan::operator::{Delete, SourceKind, Write, WriteKind, WriteValues};
use qlio_syntax::{ast::VerbKind, diagnostic::codes};

use super::{
    conditions::own,
    statement::{Resolved, check_depth, resolve_source},
};
use crate::{
    error::RunError,
    evaluate::{self, operand},
    http::{self, Payload, WriteRequest},
    operator::{opening::open_large, write as operator},
    own::Own,
    run::Run,
};

/// Runs an insert or update.
pub(super) async fn write(run: &Run<'_>, write: &Write) -> Result<Value, RunError> {
    match resolve_source(run, &write.target)? {
        Resolved::Local(value) => write_variable(run, write, value).await,
        Resolved::Table(table) => {
            let (own, payload) = values(run, &write.values)?;
            let payload = match payload {
                // An update always has an object; only an insert may send the client's body.
                Payload::Client if write.kind == WriteKind::Update => Payload::Template,
                payload => payload,
            };
            let kind = match write.kind {
                WriteKind::Insert => VerbKind::Insert,
                WriteKind::Update => VerbKind::Update,
            };
            let mut parts = Vec::new();
            for part in &write.parts {
                parts.extend(run.part_index(&evaluate::fill(run, part)?));
            }
            let request = WriteRequest {
                kind,
                own,
                payload,
                parts,
                delays: &write.delays,
                line: write.line,
                assign: write.assign.as_ref(),
            };
            http::write(run, table, request).await
        }
    }
}

/// The parameters of a write, and what becomes the body.
fn values(run: &Run<'_>, values: &WriteValues) -> Result<(Own, Payload), RunError> {
    match values {
        WriteValues::Pairs(pairs) => {
            let mut own = Own::with_capacity(pairs.len());
            for (name, value) in pairs {
                own.push((name.clone(), operand(run, value)?));
            }
            Ok((own, Payload::Template))
        }
        WriteValues::Opaque(value) => Ok((Own::new(), Payload::Opaque(operand(run, value)?))),
        WriteValues::Object(template) => {
            let value = evaluate::fill(run, template)?;
            match &*value.open() {
                Value::Object(object) => {
                    let own =
                        object.iter().map(|(name, value)| (name.clone(), value.clone())).collect();
                    Ok((own, Payload::Object(value.clone())))
                }
                _ => Ok((Own::new(), Payload::Object(value.clone()))),
            }
        }
        WriteValues::None => Ok((Own::new(), Payload::Client)),
    }
}

/// Sets members of an object variable, or appends an object to an array variable.
async fn write_variable(run: &Run<'_>, write: &Write, value: Value) -> Result<Value, RunError> {
    let (own, payload) = values(run, &write.values)?;
    let name = &write.target.name;
    if matches!(payload, Payload::Opaque(_) | Payload::Client) {
        let message =
            format!("insert into variable `{name}` needs columns and values, or an object");
        return Err(RunError::client(codes::MISSING_VALUES, message));
    }
    for (_, member) in &own {
        run.budget.charge_value(member).await?;
    }
    run.budget.work(value.len());
    let changed = check_depth(operator::insert(name, value, own)?)?;
    if let SourceKind::Slot(slot) = write.target.kind {
        run.set_slot(slot, changed.clone());
    }
    Ok(changed)
}

/// Runs a delete. A list variable gives the rows that do not match, and stays; an object loses members;
/// anything else is itself.
pub(super) async fn delete(run: &Run<'_>, delete: &Delete) -> Result<Value, RunError> {
    let target = resolve_source(run, &delete.target)?;
    let own = own(run, &delete.conditions).await?;
    let value = match target {
        Resolved::Local(value) => value,
        Resolved::Table(table) => {
            let request = WriteRequest {
                kind: VerbKind::Delete,
                own,
                payload: Payload::Template,
                parts: Vec::new(),
                delays: &delete.delays,
                line: delete.line,
                assign: delete.assign.as_ref(),
            };
            return http::write(run, table, request).await;
        }
    };
    let value = open_large(run, value).await?;
    match &*value.open() {
        Value::Array(rows) => operator::delete_rows(run, rows, &delete.conditions, &own).await,
        Value::Object(object) => {
            let changed = operator::delete_members(object, &own);
            if let SourceKind::Slot(slot) = delete.target.kind {
                run.set_slot(slot, changed.clone());
            }
            Ok(changed)
        }
        other => Ok(other.clone()),
    }
}
