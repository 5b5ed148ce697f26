//! Compile errors as an answer: the first one's fields at the top, all of them in `errors`
//! (SRV-41).

use qlio_data::{Object, Value};
use qlio_syntax::{
    diagnostic::Diagnostic,
    render::{WireError, wire},
};

/// The body for the problems of a script.
pub fn body(problems: &[Diagnostic], text: &str) -> Value {
    let errors: Vec<_> =
        problems.iter().map(|problem| object(wire(problem, text), problem)).collect();
    let mut body = errors.first().cloned().unwrap_or_default();
    if errors.len() > 1 {
        let errors = errors.into_iter().map(Value::object).collect();
        body.insert("errors", errors);
    }
    Value::object(body)
}

fn object(error: WireError, problem: &Diagnostic) -> Object {
    let mut object = Object::with_capacity(8);
    object.insert("name", Value::from(error.name));
    object.insert("message", Value::from(error.message));
    object.insert("line", Value::from(error.line));
    object.insert("column", Value::from(error.column));
    object.insert("offset", Value::from(error.offset));
    object.insert("found", error.found.map_or(Value::Null, Value::from));
    object.insert("expected", error.expected.into_iter().map(Value::from).collect());
    object.insert("code", Value::from(format!("Q{:04}", problem.code.number)));
    if !problem.hints.is_empty() {
        object
            .insert("hints", problem.hints.iter().map(|hint| Value::from(hint.as_str())).collect());
    }
    object
}
