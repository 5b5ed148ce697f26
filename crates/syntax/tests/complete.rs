//! What is offered at a place of a text. The place is written as `‸`.

use proptest::prelude::*;
use qlio_syntax::{
    ast::{Source, VerbKind},
    complete::{Completions, TokenPlace, Wanted, at},
};

fn complete(marked: &str) -> Completions {
    let Some((before, after)) = marked.split_once('‸') else { panic!("no place in {marked}") };
    at(&format!("{before}{after}"), before.len())
}

fn keywords(marked: &str) -> Vec<&'static str> {
    complete(marked).keywords
}

/// `Column of t as a, u`, for short.
fn wants(marked: &str) -> Vec<String> {
    let names = |sources: &[Source]| {
        let name = |source: &Source| match &source.alias {
            Some(alias) => format!("{} as {}", source.name.text, alias.text),
            None => source.name.text.clone(),
        };
        sources.iter().map(name).collect::<Vec<_>>().join(", ")
    };
    let wants = complete(marked).wants;
    let text = |wanted: &Wanted| match wanted {
        Wanted::Column { sources } => format!("column of {}", names(sources)),
        Wanted::Parameter { sources, verb } => {
            format!("{} parameter of {}", verb.as_str(), names(sources))
        }
        other => format!("{other:?}"),
    };
    wants.iter().map(text).collect()
}

const AT_TOP: &[&str] = &[
    "select", "insert", "update", "delete", "create", "show", "describe", "desc", "return", "if",
    "try",
];

#[test]
fn a_statement_starts_where_none_is_open() {
    for text in ["‸", "sel‸", "a = 1;‸", "a = 1\n ‸", "if (a) {} else {} ‸", "a = 1\n‸\nb = 2"]
    {
        assert_eq!(keywords(text), AT_TOP, "{text}");
    }
    let in_block = keywords("a = 1 if (a) { ‸");
    assert!(in_block.contains(&"throw") && !in_block.contains(&"return"), "{in_block:?}");
    assert!(!keywords("try { a = 1 } catch (b) {} finally { ‸").contains(&"throw"));
}

#[test]
fn the_clauses_of_a_select_follow_in_order() {
    assert_eq!(keywords("a = select name ‸"), ["as", "from"]);
    assert_eq!(
        keywords("select * from boats wh‸"),
        [
            "as", "join", "left", "where", "group", "union", "order", "limit", "offset", "timeout",
            "minDelay", "maxDelay", "deadline"
        ]
    );
    assert_eq!(keywords("select * from boats where id ‸"), ["in"]);
    assert_eq!(keywords("select a from boats group by a ‸")[..2], ["having", "union"]);
    assert_eq!(
        keywords("select * from boats limit 2 ‸"),
        ["offset", "timeout", "minDelay", "maxDelay", "deadline"]
    );
    assert!(keywords("select * from boats where id = 1 ‸").starts_with(&["and"]));
    assert_eq!(keywords("a = select ‸"), Vec::<&str>::new());
    assert_eq!(
        keywords("x = ‸"),
        [
            "select", "insert", "update", "delete", "create", "show", "describe", "desc", "true",
            "false", "null"
        ]
    );
    assert_eq!(keywords("return a ‸"), ["via", "assert"]);
    assert_eq!(keywords("return a via route '/a' using ‸"), ["defaults", "method"]);
    assert_eq!(keywords("show ‸"), ["tables", "routes"]);
    assert_eq!(keywords("create table t on ‸"), ["select", "insert", "update", "delete"]);
    assert!(
        keywords("create table t on select get from 'http://h.test/' using ‸")
            .starts_with(&["headers", "defaults", "patch"])
    );
    assert_eq!(keywords("if (a) { b = 1 } el‸"), {
        let mut words = vec!["else"];
        words.extend(AT_TOP);
        words
    });
}

#[test]
fn sources_are_tables_and_variables() {
    for text in ["select * from ‸", "select * from bo‸ where a = 1", "insert into lib.bo‸"] {
        assert_eq!(wants(text), ["Table", "Variable"], "{text}");
    }
    assert_eq!(wants("a = 1 return ‸"), ["Variable"]);
    assert_eq!(wants("if (a && ‸"), ["Variable"]);
}

#[test]
fn columns_know_their_sources() {
    assert_eq!(wants("select ‸"), ["column of "]);
    assert_eq!(wants("select ‸ from lib.boats where id = 1"), ["column of lib.boats"]);
    assert_eq!(
        wants("a = 1\nselect x, na‸me from lib.boats as b\nc = 2"),
        ["column of lib.boats as b"]
    );
    assert_eq!(
        wants("select a.‸ from boats as a, docks as d where a.i = d.i"),
        ["column of boats as a, docks as d"]
    );
    assert_eq!(wants("select * from boats where x in (select ‸ from docks)"), ["column of docks"]);
}

#[test]
fn conditions_set_parameters_and_filter_columns() {
    assert_eq!(
        wants("select * from boats where ‸"),
        ["select parameter of boats", "column of boats"]
    );
    assert_eq!(
        wants("delete from boats where a = 1 and ‸"),
        ["delete parameter of boats", "column of boats"]
    );
    assert_eq!(wants("insert into boats (a, ‸"), ["insert parameter of boats"]);
    assert_eq!(
        wants("select * from boats where x in (select y from docks) and ‸"),
        ["select parameter of boats", "column of boats"]
    );
    assert_eq!(wants("select * from boats where id = ‸"), ["Variable"]);
    assert_eq!(
        wants("select a.i from boats as a, docks as d where a.i = ‸"),
        ["Variable", "column of boats as a, docks as d"]
    );
}

#[test]
fn operands_are_columns_of_the_rows_in_scope() {
    for text in [
        "select {a: ‸} from t as t",
        "select {a: 1, t.‸} from t as t",
        "select {‸} from t as t",
        "select {a: [1, {b: ‸}]} from t as t",
        "select [‸] from t as t",
        "select lower(‸) from t as t",
        "select {a: round(t.x, ‸)} from t as t",
        "select case ‸ end from t as t",
        "select case when ‸ then 1 end as k from t as t",
        "select case when a then ‸ end as k from t as t",
        "select case when a then 1 else ‸ end as k from t as t",
        "select case when a > 1 and ‸ then 1 end as k from t as t",
        "select not ‸ from t as t",
        "select a + ‸ from t as t",
        "select a between 1 and ‸ from t as t",
        "select count(‸) from t as t",
        "select sum(a) filter (where ‸) from t as t",
        "select array_agg(a order by ‸) from t as t",
        "select a from t as t group by ‸",
        "select a from t as t group by lower(‸",
        "select a from t as t group by a having ‸",
        "select a from t as t group by a having a > 1 and ‸",
        "select a from t as t where a < 1 and b like ‸",
        "select a from t as t where lower(‸",
        "select a from t as t order by ‸",
        "select a from t as t order by a, lower(‸",
        // Brackets that nobody has closed yet.
        "select {a: ‸ from t as t",
        "select {a: lower(‸ from t as t",
        "x = [1]\nselect {a: [‸ from t as t",
    ] {
        assert_eq!(wants(text), ["column of t as t"], "{text}");
    }
    for text in [
        "select x from t as t join u as u on ‸",
        "select x from t as t join u as u on t.a = u.b and ‸",
        "select x from t as t join u as u on lower(‸",
        "select {a: u.‸} from t as t join u as u on t.a = u.b",
        "select x from t as t, u as u where lower(‸",
    ] {
        assert_eq!(wants(text), ["column of t as t, u as u"], "{text}");
    }
}

#[test]
fn selects_inside_of_others_see_the_rows_around_them() {
    for text in [
        "select {a: [select ‸ from u as u]} from t as t",
        "select {a: [select {b: ‸} from u as u where u.x = 1]} from t as t",
        "select {a: [select x from u as u order by ‸]} from t as t",
        "select {a: (select x from u as u where u.x == lower(‸))} from t as t",
        "select a from t as t where exists (select x from u as u group by ‸",
    ] {
        assert_eq!(wants(text), ["column of u as u, t as t"], "{text}");
    }
    assert_eq!(
        wants("select a from t as t order by (select ‸ from u as u)"),
        ["column of t as t, u as u"]
    );
    assert_eq!(
        wants("select {a: (select x from u as u where ‸)} from t as t"),
        ["select parameter of u as u", "column of u as u, t as t"]
    );
    assert_eq!(
        wants("select a from t as t where exists (select x from u as u where u.i = ‸"),
        ["Variable", "column of u as u, t as t"]
    );
    assert_eq!(wants("select {a: (select x from u as u)}, ‸ from t as t"), ["column of t as t"]);
}

#[test]
fn tokens_stand_between_the_braces_of_texts() {
    let token = |marked: &str| {
        let found = complete(marked);
        let place = match found.wants.as_slice() {
            [Wanted::Token { place }] => Some(*place),
            _ => None,
        };
        (place, found.typed)
    };
    let script = Some(TokenPlace::Script);
    assert_eq!(token("a = \"x {‸\""), (script, String::new()));
    assert_eq!(token("select * from t where i = '{^req.q‸}' limit 1"), (script, "req.q".into()));
    assert_eq!(token("a = {\"k\": \"{b}-{=c.‸\"}"), (script, "c.".into()));
    let uri = "create table t on select get from 'http://{config.h‸}/'";
    assert_eq!(token(uri), (Some(TokenPlace::Uri), "config.h".into()));
    let header = "create table t on select get from 'http://h.test/' using headers 'a' = '{‸}'";
    assert_eq!(token(header), (Some(TokenPlace::Table), String::new()));
    assert_eq!(token("return 1 via route '/a/{‸").0, Some(TokenPlace::Route));
    for text in ["a = \"x‸\"", "a = \"{b}‸\"", "a = 'x' ‸", "a = \"{b c‸"] {
        assert_eq!(token(text).0, None, "{text}");
    }
}

#[test]
fn statuses_are_offered_where_they_can_stand() {
    assert_eq!(
        keywords("return 1 via route '/a' using method get using ‸"),
        ["status", "headers", "deadline", "limits"]
    );
    assert_eq!(
        wants("a = 1 return a via route '/a' using method get using status '{‸"),
        ["Token { place: Script }"]
    );
    assert!(keywords("create table t on select get from 'u' ‸").contains(&"pass"));
    assert_eq!(keywords("create table t on select get from 'u' pass ‸"), ["status"]);
}

#[test]
fn routes_and_connectors_are_wanted_where_they_stand() {
    assert_eq!(complete("describe route '/bo‸'").wants, [Wanted::RoutePath]);
    let method = complete("describe route '/boats' using method ‸");
    assert_eq!(method.keywords, ["get", "post", "put", "delete", "patch"]);
    assert_eq!(method.wants, [Wanted::RouteMethod]);
    assert_eq!(complete("create table t via ‸").wants, [Wanted::Connector]);
}

#[test]
fn comments_numbers_and_plain_texts_offer_nothing() {
    for text in [
        "-- sel‸",
        "/* sel‸ */",
        "/*‸",
        "a = 1 -- ‸\nb = 2",
        "select * from t limit 1‸2",
        "a = 'sel‸'",
    ] {
        assert_eq!(complete(text).keywords, Vec::<&str>::new(), "{text}");
        assert_eq!(complete(text).wants, [], "{text}");
    }
}

#[test]
fn the_dotted_word_before_the_place_is_replaced() {
    let found = complete("select * from lib.bo‸ats");
    assert_eq!((found.typed.as_str(), found.replace.start, found.replace.end), ("lib.bo", 14, 20));
    assert_eq!(complete("select $a.b‸").typed, "$a.b");
    assert_eq!(complete("select a[0].b‸").typed, "b");
}

#[test]
fn an_earlier_problem_does_not_hide_later_places() {
    assert_eq!(wants("a = select from\nb = select * from ‸"), ["Table", "Variable"]);
    assert_eq!(wants("a = [1,\nb = select * from ‸"), ["Table", "Variable"]);
}

#[test]
fn a_long_text_is_completed_in_linear_time() {
    let text = "x = select a, b from t where c = 1 and d in (select e from u)\n".repeat(9000);
    let found = at(&text, text.len());
    assert!(found.keywords.ends_with(AT_TOP), "{:?}", found.keywords);
    for open in ["{", "[", "(", "a = ", "select x from y where z in (select ", "'{"] {
        at(&open.repeat(500_000 / open.len()), usize::MAX);
    }
}

fn piece() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "select ",
        "* ",
        "from ",
        "where ",
        "a",
        "b.c ",
        "= ",
        "in ",
        "(",
        ")",
        "{",
        "}",
        "'",
        "\"",
        "[",
        "]",
        ",",
        ";",
        "||",
        "-- ",
        "/* ",
        " */",
        "\n",
        "é",
        "😀",
        "\u{2028}",
        "1",
        "return ",
        "create table t ",
        "on select get from ",
        "using ",
        "if ",
        "try ",
        "insert into ",
        "$",
        ".",
    ])
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_text_and_no_offset_panics(text in ".{0,60}", pieces in prop::collection::vec(piece(), 0..20)) {
        for text in [text, pieces.concat()] {
            for offset in 0..text.len() + 2 {
                let found = at(&text, offset);
                let (start, end) = (found.replace.start as usize, found.replace.end as usize);
                prop_assert_eq!(text.get(start..end), Some(found.typed.as_str()));
            }
        }
    }
}

#[test]
fn the_verbs_of_parameters_are_told_apart() {
    let verbs: Vec<_> = ["select * from t where ‸", "delete from t where ‸", "insert into t (‸"]
        .iter()
        .map(|text| match complete(text).wants.first() {
            Some(Wanted::Parameter { verb, .. }) => *verb,
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(verbs, [VerbKind::Select, VerbKind::Delete, VerbKind::Insert]);
}
