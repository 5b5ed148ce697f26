//! Hints in the text: in which round of requests a statement runs, and how many it makes at least.

use qlio_data::Value;
use qlio_plan::{
    Catalog, CompileOptions, Origin, Plan,
    catalog::NoResources,
    compile,
    explain::{Explanation, explain},
};
use qlio_syntax::source::Span;

use crate::{
    document::Document,
    json::{list, object},
};

/// The plan of a text that has no errors.
pub(crate) fn plan_of(text: &str, catalog: &Catalog) -> Option<(Plan, Explanation)> {
    let options = CompileOptions { origin: Origin::Stored, file: "", resources: &NoResources };
    let plan = compile(text, catalog, &options).ok()?.plan;
    let explanation = explain(&plan);
    Some((plan, explanation))
}

/// The hints of the statements that begin in `wanted`; none while the text has errors.
pub(crate) fn hints(document: &Document, catalog: &Catalog, wanted: Span) -> Value {
    let Some((plan, explanation)) = plan_of(&document.text, catalog) else {
        return list([]);
    };
    let mut found = Vec::new();
    for (round, nodes) in explanation.rounds.iter().enumerate() {
        for position in nodes {
            let (Some(node), Some(shown)) =
                (plan.nodes.get(*position), explanation.nodes.get(*position))
            else {
                continue;
            };
            let is_wanted = wanted.start <= node.span.start && node.span.start <= wanted.end;
            if !is_wanted {
                continue;
            }
            let calls = shown.tables.iter().filter(|table| !table.starts_with('{')).count();
            let waits = match round {
                0 => "It waits for no other requests.".to_owned(),
                _ => format!("It waits for requests of round {round}."),
            };
            found.push((node.span, round + 1, calls, waits));
        }
    }
    found.sort_by_key(|(span, ..)| *span);
    list(found.into_iter().map(|(span, round, calls, waits)| {
        let end = document.positions.position(&document.text, span.end as usize);
        let plural = if calls == 1 { "" } else { "s" };
        let tooltip = format!(
            "{waits} A statement makes more calls where a value is a list, or a column of another \
             statement; equal calls are made once."
        );
        object([
            ("position", end.to_value()),
            ("label", Value::from(format!("round {round}, from {calls} call{plural}"))),
            ("tooltip", Value::from(tooltip)),
            ("paddingLeft", Value::from(true)),
        ])
    }))
}
