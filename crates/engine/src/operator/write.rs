//! Inserts, updates and deletes: on tables through their connector, on variables here
//! (`language.md` 5.13).

use std::sync::Arc;

use qlio_data::{Object, Value, value::strict::strictly_equals};
use qlio_plan::operator::{Delete, SourceKind, Write, WriteKind, WriteValues};
use qlio_syntax::{ast::VerbKind, diagnostic::codes};

use super::filter::{Matcher, unwrap};
use crate::{
    error::RunError,
    executor::{Own, Resolved, bounded, operand, own, resolve_source},
    http::{self, Payload, WriteRequest},
    run::Run,
};

/// Runs an insert or update.
pub(crate) async fn write(run: &Run<'_>, write: &Write) -> Result<Value, RunError> {
    match resolve_source(run, &write.target)? {
        Resolved::Local(value) => write_variable(run, write, value),
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
                parts.extend(run.part_index(&part.fill(run)?));
            }
            {
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
            let value = template.fill(run)?;
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
fn write_variable(run: &Run<'_>, write: &Write, value: Value) -> Result<Value, RunError> {
    let (own, payload) = values(run, &write.values)?;
    if matches!(payload, Payload::Opaque(_) | Payload::Client) {
        let message = format!(
            "insert into variable `{}` needs columns and values, or an object",
            write.target.name
        );
        return Err(RunError::client(codes::MISSING_VALUES, message));
    }
    let value = unwrap(value);
    let members = own.into_iter().filter(|(_, value)| !value.is_absent());
    let changed = match &*value.open() {
        Value::Array(elements) => {
            let mut elements = Vec::clone(elements);
            elements.push(Value::object(members.collect()));
            Value::array(elements)
        }
        Value::Object(object) => {
            let mut object = Object::clone(object);
            for (name, value) in members {
                object.insert(name, value);
            }
            Value::object(object)
        }
        Value::Absent | Value::Null => Value::object(members.collect()),
        _ => {
            let message =
                format!("variable `{}` is neither an object nor an array", write.target.name);
            return Err(RunError::client(codes::NOT_INSERTABLE, message));
        }
    };
    let changed = bounded(changed)?;
    if let SourceKind::Slot(slot) = write.target.kind {
        run.set_slot(slot, changed.clone());
    }
    Ok(changed)
}

/// Runs a delete.
pub(crate) async fn delete(run: &Run<'_>, delete: &Delete) -> Result<Value, RunError> {
    match resolve_source(run, &delete.target)? {
        Resolved::Table(table) => {
            let own = own(run, &delete.conditions).await?;
            {
                let request = WriteRequest {
                    kind: VerbKind::Delete,
                    own,
                    payload: Payload::Template,
                    parts: Vec::new(),
                    delays: &delete.delays,
                    line: delete.line,
                    assign: delete.assign.as_ref(),
                };
                http::write(run, table, request).await
            }
        }
        Resolved::Local(value) => {
            let own = own(run, &delete.conditions).await?;
            delete_from_variable(run, delete, &value, &own)
        }
    }
}

/// An array gives the rows that do not match, and stays; an object loses the members that are
/// strictly equal to the given values, each condition for itself; a scalar is itself.
fn delete_from_variable(
    run: &Run<'_>,
    delete: &Delete,
    value: &Value,
    own: &Own,
) -> Result<Value, RunError> {
    match &*value.open() {
        Value::Array(rows) => {
            if delete.conditions.is_empty() {
                return Ok(Value::array(Vec::new()));
            }
            let matchers: Vec<_> = delete
                .conditions
                .iter()
                .zip(own)
                .map(|(condition, (_, expected))| Matcher::new(&condition.path, expected))
                .collect();
            let mut kept = Vec::new();
            for row in rows.iter() {
                let mut is_match = true;
                for matcher in &matchers {
                    is_match = is_match && matcher.holds(run, row)?;
                }
                if !is_match {
                    kept.push(row.clone());
                }
            }
            Ok(Value::array(kept))
        }
        Value::Object(object) => {
            let mut object = Object::clone(object);
            for (name, expected) in own {
                let is_equal = |value: &Value| match expected.elements() {
                    Some(elements) => {
                        elements.iter().any(|element| strictly_equals(value, element))
                    }
                    None => strictly_equals(value, expected),
                };
                if object.get(name).is_some_and(is_equal) {
                    object.remove(name);
                }
            }
            let changed = Value::Object(Arc::new(object));
            if let SourceKind::Slot(slot) = delete.target.kind {
                run.set_slot(slot, changed.clone());
            }
            Ok(changed)
        }
        other => Ok(other.clone()),
    }
}
