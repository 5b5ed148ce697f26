//! Inserts into and deletes from variables (INS-10, DEL-2).

use qlio_data::{Object, Value};
use qlio_syntax::ast;

use super::{
    Failure,
    rows::{self, path_text},
    run::Interpreter,
};

/// The name that an alternative writes to.
pub(super) fn written(primary: &ast::Primary) -> Option<String> {
    match primary {
        ast::Primary::Insert(insert) => Some(insert.target.name.text.clone()),
        ast::Primary::Delete(delete) => Some(delete.target.name.text.clone()),
        _ => None,
    }
}

impl Interpreter<'_> {
    pub(super) fn insert(&mut self, insert: &ast::Insert) -> Result<Value, Failure> {
        let name = insert.target.name.text.as_str();
        if !self.is_assigned(name) {
            return Err(Failure::Failed(format!("No such table {name}")));
        }
        let mut members = Object::new();
        match (&insert.object, &insert.columns, &insert.values) {
            (Some(object), ..) => {
                if let Value::Object(given) = self.fill(&object.text)?.into_tree() {
                    for (name, value) in given.iter() {
                        members.insert(name.clone(), value.clone());
                    }
                }
            }
            (None, Some(ast::Columns::List(columns)), Some(values)) => {
                for (column, value) in columns.iter().zip(values) {
                    let ast::ColumnValue::Path(path) = &column.value else {
                        return Err(Failure::Unsupported("a function as a column"));
                    };
                    let value = self.listed(value)?;
                    if !value.is_absent() {
                        members.insert(path_text(path), value);
                    }
                }
            }
            _ => return Err(Failure::Failed("nothing to insert".to_owned())),
        }
        let old = rows::unwrap(&self.variables.0.get(name).cloned().unwrap_or_default());
        let changed = match &old {
            Value::Array(elements) => {
                Value::array([elements.as_slice(), &[Value::object(members)]].concat())
            }
            Value::Object(object) => {
                let mut object = (**object).clone();
                for (name, value) in members.iter() {
                    object.insert(name.clone(), value.clone());
                }
                Value::object(object)
            }
            Value::Absent | Value::Null => Value::object(members),
            _ => return Err(Failure::Failed(format!("`{name}` cannot be inserted into"))),
        };
        self.variables.0.insert(name.to_owned(), changed.clone());
        Ok(changed)
    }

    pub(super) fn delete(&mut self, delete: &ast::Delete) -> Result<Value, Failure> {
        let name = delete.target.name.text.as_str();
        if !self.is_assigned(name) {
            return Err(Failure::Unsupported("a delete from a table"));
        }
        let alias = delete.target.alias.as_ref().map(|alias| alias.text.as_str());
        let conditions = self.conditions(&delete.conditions, alias)?;
        let value = self.variables.0.get(name).cloned().unwrap_or_default().into_tree();
        match &value {
            Value::Array(_) if conditions.is_empty() => Ok(Value::array(Vec::new())),
            Value::Array(elements) => {
                let mut kept = Vec::new();
                for row in elements.iter() {
                    let mut is_match = true;
                    for condition in &conditions {
                        is_match &= rows::holds(condition, row, &self.variables)?;
                    }
                    if !is_match {
                        kept.push(row.clone());
                    }
                }
                Ok(Value::array(kept))
            }
            Value::Object(object) => {
                let mut left = Object::new();
                for (member, value) in object.iter() {
                    let is_listed = conditions.iter().any(|condition| {
                        condition.name == member.as_str() && is_same(value, &condition.expected)
                    });
                    if !is_listed {
                        left.insert(member.clone(), value.clone());
                    }
                }
                let left = Value::object(left);
                self.variables.0.insert(name.to_owned(), left.clone());
                Ok(left)
            }
            other => Ok(other.clone()),
        }
    }
}

/// Strict equality of scalars: type and value.
fn is_same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Null, Value::Null) => true,
        (Value::Bool(a), Value::Bool(b)) => a == b,
        (Value::String(a), Value::String(b)) => a.as_str() == b.as_str(),
        (Value::Number(_), Value::Number(_)) => super::loosely_equal(a, b),
        _ => false,
    }
}
