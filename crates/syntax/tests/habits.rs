//! Hints for habits of SQL and JavaScript: each says what to write instead.

use qlio_syntax::{analyse, diagnostic::Diagnostic};

fn problems(text: &str) -> Vec<Diagnostic> {
    analyse(text).diagnostics
}

const COMMENTS: &str = "comments begin with `--`";
const KEYWORD: &str = "a variable needs no keyword";
const MODULES: &str = "functions live in modules";

/// What people write, and a part of the hint that they get.
const HABITS: &[(&str, &str)] = &[
    ("// all of them\na = 1", COMMENTS),
    ("a = 1 // all of them\nb = 2", COMMENTS),
    ("a = 1\n# all of them\nb = 2", COMMENTS),
    ("a = 1\nreturn a // all of them", COMMENTS),
    ("select COUNT(*) from t", "it is written in lower case"),
    ("select a from t GROUP BY a", "in lower case"),
    ("select count(*) from t having count(*) > 1", "rows are tested by `where`"),
    ("select a from t where b = 1 having a > 1", "it stands behind `group by`"),
    ("select a from t order by a union select a from u", "which are those of the whole"),
    ("select a from t except select a from u", "where x in (select …)"),
    ("select lag(a) over (order by b) from t", "there are no windows"),
    ("select a from t where a is not distinct from b", "write `a == b`"),
    ("select a from t where a is distinct from b", "or `a != b`"),
    ("with x as (select a from t) return x", "`x = select …`"),
    ("select a, b, from t", "no comma stands behind the last column"),
    ("return select a from t where a like 'x%' escape '!'", "no escape character"),
    ("select top 10 a from t", "`limit 10 offset 20`"),
    ("select a from t limit 10, 20", "`limit 10 offset 20`"),
    ("return select a from t limit 10, 20", "`limit 10 offset 20`"),
    ("select a from t fetch first 10 rows only", "`limit 10 offset 20`"),
    ("return select a from t fetch first 10 rows only", "`limit 10 offset 20`"),
    ("return select a from t offset 5 rows", "`limit 10 offset 20`"),
    ("select cast(a as int) from t", "`number(x)`"),
    ("select extract(year from a) from t", "`year(x)`"),
    ("select substring(a from 1 for 2) from t", "`substring(x, 1, 2)`"),
    ("select a from t where a not null", "`is not null`"),
    ("return select a from t where exists select b from u", "a select in parentheses"),
    ("select a from t where a in ()", "has at least one"),
    ("select a from t where a like %x%", "stand in quotes"),
    ("select distinct on (a) b from t", "the first row of each group"),
    ("select * except (a) from t", "`* exclude (a, b)`"),
    ("select a from t minus select a from u", "where x in (select …)"),
    ("select a b from t", "`a as b`"),
    ("select a from t where a between 1, 2", "`between 1 and 2`"),
    ("select a from t where a <=> b", "null with null"),
    ("select !a from t", "turned around by `not`"),
    ("select a->b from t", "reached by a dot"),
    ("return select a ? 1 : 2 from t", "`case when a then b else c end`"),
    ("select a from t where a = any (select b from u)", "`x in (select …)`"),
    ("create view v as select a from t", "bound to a variable"),
    ("drop table t", "dropped with its file"),
    ("select date '2020-01-01' from t", "dates are texts"),
    ("select interval 1 day from t", "`date_add(x, 'P1D')`"),
    ("select 'it''s' from t", "the other kind of quotes"),
    ("return select a from t where b = 1 AND c = 2", "in lower case"),
    ("return select a from t where b = 1 ORDER BY a", "in lower case"),
    ("x := 1", "bound by `=`"),
    ("return select a from lateral t", "`from orders as o, o.items as i`"),
    ("return select a from unnest(x) as y", "`from orders as o, o.items as i`"),
    ("select row_number() from t", "there are no windows"),
    ("return select a from t where a || 'x' = 'bx'", "texts are put together with `&`"),
    ("return select a from t where a || b == 'bx'", "texts are put together with `&`"),
    ("return select a from t minus select a from u", "`where x in (select …)`"),
    ("return select a from t intersect select a from u", "`where x in (select …)`"),
    ("return select a from t except select a from u", "`where x in (select …)`"),
    ("select nvl(a, b) from t", "write `coalesce(a, b)`"),
    ("select a from t right join u as u on u.a = t.a", "the other way round"),
    ("select a from t as t natural join u as u", "say which columns are equal"),
    ("select a from t as t join u as u using (id)", "write `on"),
    ("select sum(a) over (partition by b) from t", "array_agg(x order by y limit 3)"),
    ("select a from t where sum(a) > 1", "tested by `having`"),
    ("select a from t group by 1", "columns have no numbers here"),
    ("select lenght(a) from t", "did you mean `length`?"),
    ("select totals(a) from t", "no built-in function of this name"),
    ("select a from t where b = 1 ORDER BY a", "in lower case"),
    ("select a from t order by 1", "columns have no numbers here"),
    ("select a, 'x' || b from t", "put together with `&`"),
    ("select a from t where 'b' < 1", "for the column write"),
    ("select a from t where a < b < c", "join them"),
    ("select a from t where a is true", "write `== true`"),
    ("select a from t where a contains 'x'", "like '%x%'"),
    ("select a from t where a ~ 'x'", "tested with `matches`"),
    ("select a from t where a && b", "joined with `and`"),
    ("select a from t join u on t.id = u.id", "write `u as u`"),
    ("select a from t left join u", "an alias and a condition"),
    ("a == 1", "one `=`"),
    ("if (a == 1) { b = 1 }", "a condition of `if` is a variable"),
    ("if (a and b) { c = 1 }", "joined by `&&` and `||`"),
    ("insert into t set a = 1", "write `insert into t (a, b) values (1, 2)`"),
    ("update t set a = 1", "write `update t with"),
    ("select a from \"t\"", "names of tables have no quotes"),
    ("select a from `t`", "names of tables have no quotes"),
    ("select a from t x where x.b = 1", "an alias stands behind `as`"),
    ("return select a from t x", "an alias stands behind `as`"),
    ("n = 2\nreturn select a from t limit n", "`limit {=n}`"),
    ("n = 2\nreturn select a from t limit {n}", "`limit {=n}`"),
    ("n = 2\nreturn select a from t where b = 1 limit 5 offset \"{n}\"", "`limit {=n}`"),
    ("return select a from t limit 1.5", "whole numbers"),
    ("return select a from t limit 1 offset 2.5", "whole numbers"),
    ("return select a from t as x join u y on y.b = x.b", "an alias and a condition"),
    ("; a = 1", "a `;` stands behind a statement"),
    ("select a from t; limit 2", "its clauses stand before it"),
    ("a = 1\nreturn a; via route '/a' using method get", "`via route` stands before the `;`"),
    ("let a = 1", KEYWORD),
    ("var a = 1", KEYWORD),
    ("const a = 1", KEYWORD),
    ("function f(a) { return a }", MODULES),
    ("f = x => x", MODULES),
    ("a = \"x\" + \"y\"", "texts are put together with tokens"),
    ("for (a in b) { c = 1 }", "there are no loops"),
];

#[test]
fn habits_of_other_languages_are_told_what_to_write_instead() {
    let mut missed = Vec::new();
    for (text, hint) in HABITS {
        let hints: Vec<String> =
            problems(text).into_iter().flat_map(|problem| problem.hints).collect();
        if !hints.iter().any(|given| given.contains(hint)) {
            missed.push((text, hints.join("; ")));
        }
    }
    assert!(missed.is_empty(), "{missed:#?}");
}

#[test]
fn words_of_habits_stay_names() {
    for text in [
        "let = 1 var = let const = 2 function = 3",
        "order = [1] by = order group = by",
        "set = {} insert into set (a) values (1)",
        "distinct = select distinct from t",
        "select join, left, union, having from order",
        "select a.x from join as a, left as b where a.id = b.id",
        "like = select a from t where is = 1 and not = 2",
        "for = 1 while = for import = require('m.js')",
        "a = b.count('*') b = require('b.js')",
        "return pass via route '/set#order' using method get",
    ] {
        let text = text.replace("return pass", "pass = 1 return pass");
        assert!(problems(&text).is_empty(), "{text}: {:#?}", problems(&text));
    }
}

#[test]
fn a_circle_names_what_else_is_called_so() {
    for (text, hint) in [
        (
            "q = \"{q}\" return q via route '/a?q={q}' using method get",
            Some("`q` is also a parameter of the route"),
        ),
        (
            "id = select * from t where id = \"{^id}\" return id via route '/a/{id}' using method get",
            Some("`id` is also a parameter of the route"),
        ),
        (
            "n = \"{n}\" return n via route '/a' using defaults n = 1 using method get",
            Some("`n` is also a parameter of the route"),
        ),
        ("tides = select * from tides", Some("a variable hides the table of its name")),
        ("a = \"{b}\" b = \"{a}\"", None),
    ] {
        let found = problems(text);
        let circle = found.iter().find(|problem| problem.message.starts_with("Circular reference"));
        let hints = circle.map(|problem| problem.hints.concat()).unwrap_or_default();
        match hint {
            Some(hint) => assert!(hints.contains(hint), "{text}: {found:#?}"),
            None => assert!(circle.is_some() && hints.is_empty(), "{text}: {found:#?}"),
        }
    }
}
