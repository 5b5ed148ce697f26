//! Lenses above the text: run it, show its plan, and how many routes use a table.

use qlio_data::Value;
use qlio_plan::{Catalog, explain};
use qlio_syntax::source::Span;

use crate::{
    document::Document,
    inlay::plan_of,
    json::{list, object},
    message::Refusal,
    names::{Meaning, Names},
};

/// The command that the server itself executes: the plan of a document, as text or as a picture.
pub(crate) const PLAN: &str = "qlio.plan";

/// The command that clients execute that can run scripts, named in `initializationOptions.commands`.
pub(crate) const RUN: &str = "qlio.run";

/// The lenses of a document.
pub(crate) fn lenses(
    document: &Document,
    uri: &str,
    names: &Names,
    catalog: &Catalog,
    can_run: bool,
) -> Value {
    let mut found = Vec::new();
    let command = |title: &str, name: &str| {
        object([
            ("title", Value::from(title)),
            ("command", Value::from(name)),
            ("arguments", list([Value::from(uri)])),
        ])
    };
    let mut add = |span, command| {
        found.push(object([("range", document.range(span)), ("command", command)]));
    };
    let script = &names.read.script;
    let tables: Vec<_> = names
        .occurrences
        .iter()
        .filter(|one| one.meaning == Meaning::Table && one.is_definition)
        .collect();
    let is_script = script.result.is_some() || script.items.len() > tables.len();
    if is_script {
        let start = Span::new(0, 0);
        if can_run {
            add(start, command("Run", RUN));
        }
        add(start, command("Plan", PLAN));
    }
    for table in tables.into_iter().filter(|table| catalog.table(&table.name).is_some()) {
        let uses = |used: &[String]| used.contains(&table.name);
        let routes =
            catalog.routes().iter().filter(|route| uses(&route.plan.loaded_tables)).count();
        let title = match routes {
            1 => "1 route uses this".to_owned(),
            routes => format!("{routes} routes use this"),
        };
        add(table.span, object([("title", Value::from(title)), ("command", Value::from(""))]));
    }
    list(found)
}

/// The plan of a text, as `qlio plan` prints it in this format; without one, as text.
pub(crate) fn plan(
    document: &Document,
    format: Option<&str>,
    catalog: &Catalog,
) -> Result<Value, Refusal> {
    let (_, explanation) = plan_of(&document.text, catalog)
        .ok_or_else(|| Refusal::failed("the script has errors, so it has no plan"))?;
    match format {
        None | Some("text") => Ok(Value::from(explain::to_text(&explanation, None))),
        Some("svg") => Ok(Value::from(explain::to_svg(&explanation, None))),
        Some(other) => {
            Err(Refusal::params(format!("plans are `text` or `svg`, there is no `{other}`")))
        }
    }
}
