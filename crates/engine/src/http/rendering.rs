//! Bodies whose templates look into large variables, which a heavy thread renders
//! (`docs/adr/0027-heavy-threads.md`).
//!
//! In: a template, and the names of its statement. Out: the text, unless it is not large, or the template asks for
//! more than can be seen before it is rendered; then it is rendered where it is needed.

use std::cell::Cell;

use qlio_data::Value;

use super::view::TemplateNames;
use crate::{
    body::mustache::{Found, Mustache, MustacheError, Names},
    error::RunError,
    heavy::Wanted,
    lookups::is_large,
    scope::StatementParams,
};

/// What a heavy thread renders of a template that looks into something large; nothing if it does not, or if it
/// asks for more than is seen before.
pub(super) async fn rendered_apart(
    template: &Mustache,
    params: &StatementParams<'_>,
    names: &TemplateNames<'_>,
) -> Result<Option<Result<String, MustacheError>>, RunError> {
    let run = params.run;
    let has_large = run.slots.borrow().iter().any(is_large)
        || params.own.iter().any(|(_, value)| is_large(value));
    if !has_large {
        return Ok(None);
    }
    let taken = TakenNames::of(template, names);
    if !taken.has_large() {
        return Ok(None);
    }
    let template = template.clone();
    run.has_large_values.set(true);
    let render = move |_: &Wanted| {
        let rendered = template.render(&Found::Names(&taken));
        taken.was_enough().then_some(rendered)
    };
    Box::pin(run.heavy(render)).await
}

/// What a template is seen to ask for, for a thread that cannot reach the run.
struct TakenNames {
    params: TakenParams,
    statement: Value,
}

struct TakenParams {
    values: Vec<(String, Value)>,
    /// The template has asked for something else.
    has_missed: Cell<bool>,
}

impl TakenNames {
    /// What `template` asks for.
    fn of(template: &Mustache, names: &TemplateNames<'_>) -> Self {
        let asked = template.names_below("params").into_iter();
        let values = asked.map(|name| (name.to_owned(), names.param(name)));
        let params = TakenParams { values: values.collect(), has_missed: Cell::new(false) };
        Self { params, statement: names.statement() }
    }

    /// Whether any of it is so large that to look into it takes long.
    fn has_large(&self) -> bool {
        self.params.values.iter().any(|(_, value)| is_large(value))
    }

    /// Whether nothing else was asked for.
    fn was_enough(&self) -> bool {
        !self.params.has_missed.get()
    }
}

impl Names for TakenNames {
    fn get(&self, name: &str) -> Found<'_> {
        match name {
            "params" => Found::Names(&self.params),
            "statement" => Found::Value(self.statement.clone()),
            _ => Found::Value(Value::Absent),
        }
    }

    fn all(&self) -> Value {
        self.params.all()
    }
}

impl Names for TakenParams {
    fn get(&self, name: &str) -> Found<'_> {
        let found = self.values.iter().find(|(taken, _)| taken == name);
        Found::Value(found.map_or_else(|| self.all(), |(_, value)| value.clone()))
    }

    fn all(&self) -> Value {
        self.has_missed.set(true);
        Value::Absent
    }
}
