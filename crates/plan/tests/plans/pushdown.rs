//! What a decoder is told to keep, and which side of the wire cuts the rows.

use qlio_data::projection::Projection;
use qlio_plan::{NodeKind, operator::Select};
use qlio_syntax::ast::VerbKind;

use crate::{catalog, plan};

/// `{a, l[{b}]}`-like text of a projection; `*` is everything.
fn text_of(projection: &Projection) -> String {
    match projection {
        Projection::All => "*".to_owned(),
        Projection::Members(members) => {
            let mut parts: Vec<_> =
                members.iter().map(|(name, inner)| format!("{name}:{}", text_of(inner))).collect();
            parts.sort();
            format!("{{{}}}", parts.join(" "))
        }
        Projection::Each(inner) => format!("each {}", text_of(inner)),
    }
}

fn with_select<T>(text: &str, look: impl Fn(&Select) -> T) -> T {
    let plan = plan(text);
    match &plan.node(plan.value).kind {
        NodeKind::Select(select) => look(select),
        other => panic!("{other:?} is no select"),
    }
}

fn answer(text: &str) -> String {
    with_select(text, |select| text_of(&select.scan.answer))
}

#[test]
fn only_selected_columns_of_an_answer_are_kept() {
    assert_eq!(answer("return select a, b.c from lib.book"), "{a:* b:{c:*}}");
    assert_eq!(answer("return select * from lib.book"), "*");
    assert_eq!(answer("return select b.a from lib.book as b where b.id = 1"), "{a:*}");
}

#[test]
fn columns_are_kept_below_the_resultset() {
    assert_eq!(answer("return select a from lib.find where q = 1"), "{page:{hits:{a:*}}}");
    assert_eq!(answer("return select a from lib.csv"), "{a:*}");
}

#[test]
fn everything_is_kept_where_the_columns_are_not_known() {
    assert_eq!(answer("k = \"a\"\nreturn select '{k}' from lib.book"), "*");
    assert_eq!(answer("return select a, $..b from lib.book"), "*");
    assert_eq!(answer("return select a from lib.hook"), "*");
}

#[test]
fn join_columns_and_arguments_of_functions_are_kept_too() {
    let text = "m = require(\"m.js\")\nreturn select b.a, r.z from lib.book as b, lib.rate as r \
                where b.id = r.id and m.f(b.w)";
    assert_eq!(answer(text), "{a:* id:* w:*}");
    let joined = with_select(text, |select| {
        select.join.as_ref().map(|join| text_of(&join.scan.answer)).unwrap_or_default()
    });
    assert_eq!(joined, "{r:{id:* z:*}}");
}

#[test]
fn filters_of_a_variable_are_kept_but_parameters_of_a_table_are_not() {
    let local = with_select("t = []\nreturn select a from t where b = 1", |select| {
        text_of(&select.scan.projection)
    });
    assert_eq!(local, "{a:* b:*}");
    assert_eq!(answer("return select a from lib.book where id = 1"), "{a:*}");
}

#[test]
fn an_upstream_that_takes_the_limit_is_left_to_cut() {
    let catalog = catalog();
    let verb = |name: &str| {
        let table = catalog.table(name).unwrap_or_else(|| panic!("table {name}"));
        let verb = table.verb(VerbKind::Select).unwrap_or_else(|| panic!("verb of {name}"));
        (verb.takes_limit, verb.takes_offset, verb.limit_name.to_string())
    };
    assert_eq!(verb("lib.page"), (true, false, "rpp".to_owned()));
    assert_eq!(verb("lib.book"), (false, false, "limit".to_owned()));
}

#[test]
fn one_column_is_flat_unless_it_has_an_alias_or_hidden_company() {
    let is_flat = |text: &str| with_select(text, |select| select.output.is_flat);
    assert!(is_flat("return select a from lib.book"));
    assert!(!is_flat("return select a as a from lib.book"));
    assert!(!is_flat("m = require(\"m.js\")\nreturn select a from lib.book where m.f(b)"));
    assert!(is_flat("m = require(\"m.js\")\nreturn select a from lib.book where m.f(a)"));
}
