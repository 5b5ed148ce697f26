//! Every form of explanation of a dozen scripts, and that it is always the same bytes.

use std::time::Duration;

use insta::assert_snapshot;
use qlio_plan::{
    CompileOptions, Origin,
    catalog::NoResources,
    compile,
    explain::{Latency, Measured, explain, to_dot, to_json, to_svg, to_text, to_yuml},
};

use crate::plan;

/// All forms of a script's plan; compiled twice, because the same script must give the same bytes.
fn all_forms(text: &str) -> String {
    let forms = |text: &str| {
        let explanation = explain(&plan(text));
        [
            text.to_owned(),
            to_text(&explanation, None),
            to_json(&explanation, None),
            to_dot(&explanation, None),
            to_yuml(&explanation),
        ]
        .join("\n----\n")
    };
    let (first, second) = (forms(text), forms(text));
    assert_eq!(first, second, "compiling twice gives two plans");
    first
}

#[test]
fn one_request_feeds_two_and_a_join() {
    assert_snapshot!(all_forms(
        "ids = select ids[0].v from lib.find where q = 'tide'\n\
         book = select * from lib.book where id in ('{ids}') and kind = 'paper'\n\
         rate = select * from lib.rate where id in ('{ids}') and kind = 'paper'\n\
         return select b.id as id, b.title as title, r.stars as stars from book as b, rate as r\n\
         \x20 where b.id = r.id via route '/books' using method get"
    ));
}

#[test]
fn everything_at_once() {
    assert_snapshot!(all_forms(
        "cfg = {\"lim\": 3}\n\
         a = select id from lib.find where q = \"{cfg.lim}\" || [7, 8]\n\
         note = insert into lib.book (x) values (\"{cfg.lim}\")\n\
         if (a) { b = select * from lib.rate where id in (\"{a}\") } else { b0 = \"none\" }\n\
         return {\"b\": \"{b}\"} || {\"b\": \"{b0}\"}"
    ));
}

#[test]
fn a_chain_of_three_shares_one_target() {
    assert_snapshot!(all_forms(
        "one = 1\na = select * from lib.book where id = one || lib.none(1) || [\"{one}\"]\nreturn a || one"
    ));
}

#[test]
fn a_try_with_catches_and_finally() {
    assert_snapshot!(all_forms(
        "bad = 1\n\
         try {\n\
         \x20 x = \"{bad}\"\n\
         \x20 if (bad) { throw (oops) }\n\
         } catch (oops) {\n\
         \x20 y = \"{x}\"\n\
         } catch (!oops) {\n\
         \x20 z = 2\n\
         } finally {\n\
         \x20 w = \"{y}\"\n\
         }\n\
         return {\"y\": \"{y}\", \"w\": \"{w}\"}"
    ));
}

#[test]
fn a_try_that_catches_errors() {
    assert_snapshot!(all_forms(
        "try { x = select * from lib.book } catch (error) { y = \"{error.message}\" }\n\
         return {\"y\": \"{y}\", \"status\": \"{error.status}\"}"
    ));
}

#[test]
fn unused_statements_are_awaited_all_the_same() {
    assert_snapshot!(all_forms("a = 1\nb = 2\nc = \"{b}\"\nreturn 5"));
}

#[test]
fn what_only_a_branch_needs_is_no_orphan() {
    assert_snapshot!(all_forms(
        "spare = select * from lib.book\nif (none) { a = \"{spare}\" }\nreturn \"{none}\" || \"{a}\""
    ));
}

#[test]
fn writes_to_one_variable_keep_the_order_of_text() {
    assert_snapshot!(all_forms(
        "o = {}\ninsert into o (a) values (1)\nn = delete from o where a = 1\nreturn o"
    ));
}

#[test]
fn inline_tables_come_first() {
    assert_snapshot!(all_forms(
        "a = select * from t where k = 'v'\n\
         create table t on select get from 'http://api.test/t?k={k}'\n\
         create table unused on select get from 'http://api.test/u'\n\
         return a"
    ));
}

#[test]
fn sub_selects_name_their_tables() {
    assert_snapshot!(all_forms(
        "k = 7\n\
         return select * from lib.book where id in \
         (select id from lib.find where q in (select v from k) and n = 2) timeout 50"
    ));
}

#[test]
fn prerequisites_are_listed() {
    assert_snapshot!(all_forms(
        "return select * from lib.book where id = \"{^id}\" and k in (\"{^a.b}\", 1) || \"none\""
    ));
}

#[test]
fn only_creates_give_a_message() {
    assert_snapshot!(all_forms("create table t on select get from 'http://api.test/t'"));
}

#[test]
fn the_last_statement_stands_for_a_missing_return() {
    assert_snapshot!(all_forms("a = 1\nb = \"{a}\""));
    assert_snapshot!(all_forms("a = 1\nselect * from lib.book where id = a"));
    assert_snapshot!(all_forms("a = 1\nif (a) { b = 2 }"));
}

#[test]
fn shows_describes_and_calls() {
    assert_snapshot!(all_forms(
        "m = require(\"calc.js\")\nx = 1\ny = m.add(x, \"{z}\")\nz = 2\n\
         s = show tables\nd = describe lib.book\nr = describe route '/a' using method get\n\
         show routes\nreturn [\"{y}\", \"{s}\", \"{d}\", \"{r}\"]"
    ));
}

/// A script with two branches, and a route with a fallback.
#[test]
fn the_published_pictures_come_out() {
    let tables = "create table lib.find on select get from 'http://api.test/f'\n\
                  create table lib.det on select get from 'http://api.test/d?i={i}'\n\
                  create table lib.rev on select get from 'http://api.test/r?i={i}'\n\
                  create table lib.books on select get from 'http://api.test/b?subject={subject}'\n\
                  create table lib.down on select get from 'http://api.test/none'";
    let (catalog, problems) = crate::load(&[("t.ql", tables)], &[]);
    assert!(problems.is_empty(), "{problems:?}");
    let options = CompileOptions { origin: Origin::Stored, file: "r.ql", resources: &NoResources };
    let explained = |text: &str| {
        let compiled =
            compile(text, &catalog, &options).unwrap_or_else(|found| panic!("{found:?}"));
        explain(&compiled.plan)
    };
    let branches = explained(
        "ids = select id from lib.find\n\
         det = select * from lib.det where i in ('{ids}')\n\
         rev = select * from lib.rev where i in ('{ids}')\n\
         return {'det': '{det}', 'rev': '{rev}'}",
    );
    let dot = to_dot(&branches, None);
    let words: Vec<&str> = dot.split_whitespace().collect();
    assert_eq!(
        words.join(" "),
        "digraph plan { rankdir=TB; node [shape=box]; n5 [label=\"[4] return\"]; \
         n4 [label=\"[4] [Object]\"]; n2 [label=\"[2] det = select from lib.det\"]; \
         n3 [label=\"[3] rev = select from lib.rev\"]; \
         n1 [label=\"[1] ids = select from lib.find\"]; \
         n5 -> n4; n4 -> n2; n4 -> n3; n2 -> n1; n3 -> n1; }"
    );
    assert_eq!(to_yuml(&branches), "[4]->[2],[2]->[1],[4]->[3],[3]->[1],");
    assert!(to_text(&branches, None).ends_with("total = slowest of lines 2, 3, after line 1\n"));
    let fallback = explained(
        "ok = select title as t from lib.books where subject = 'sea'; \
         bad = select * from lib.down || {\"fallback\":true};\n\
         return {\"ok\":\"{ok}\",\"bad\":\"{bad}\"} via route '/fb' using method get;",
    );
    assert_snapshot!(to_text(&fallback, None), @r"
    level 1, in parallel
      n1 [1] ok = select from lib.books
      n2 [1] bad = select from lib.down  -- else n3
      n3 [1] bad = [Object] (fallback)
    level 2
      n4 [2] [Object]  -- after n1, n2
    then
      n5 [2] return  -- after n4
    total = slowest of ok, bad
    ");
}

#[test]
fn a_try_waits_for_blocks_in_its_body() {
    assert_snapshot!(all_forms(
        "a = 1\ntry { if (a) { if (a) { throw (e) } } } catch (e) { b = 2 } finally { c = '{b}' }\nreturn c"
    ));
}

fn took(milliseconds: u64) -> Measured {
    Measured { elapsed: Duration::from_millis(milliseconds), ..Measured::default() }
}

/// The text example of `docs/reference/plan.md`.
#[test]
fn a_measured_run_has_a_critical_path_and_slack() {
    let plan = plan(
        "ids = select * from lib.find where q = 'x'\n\
         det = select * from lib.book where id in ('{ids}')\n\
         rev = select * from lib.rate where id in ('{ids}')\n\
         return {'det': '{det}', 'rev': '{rev}'}",
    );
    let explanation = explain(&plan);
    let slowest = Some(("http://api.test/r?<i>".to_owned(), Duration::from_millis(70)));
    let rev =
        Measured { elapsed: Duration::from_millis(120), requests: 3, rows: Some(15), slowest };
    let measured = vec![Some(took(80)), Some(took(95)), Some(rev), Some(took(12))];
    let latency = Latency::of(&explanation, measured);
    let text = to_text(&explanation, Some(&latency));
    assert!(text.ends_with(
        "total 212 ms; critical path [1] 80 ms -> [3] 120 ms -> [4] 12 ms; [2] 95 ms has 25 ms slack\n"
    ), "{text}");
    assert!(
        text.contains("120 ms, 56 %; 3 requests; 15 rows; slowest http://api.test/r?<i> 70 ms"),
        "{text}"
    );
    let json = to_json(&explanation, Some(&latency));
    assert!(json.contains(r#""elapsed":95,"start":80,"slack":25,"share":44"#), "{json}");
    assert!(json.contains(r#""requests":3,"rows":15,"slowest""#), "{json}");
    assert!(json.contains(r#""latency":{"total":212,"criticalPath":["n1","n3","n4"]}"#), "{json}");
    let dot = to_dot(&explanation, Some(&latency));
    assert!(dot.contains("lib.rate 120 ms\", color=red, penwidth=3]"), "{dot}");
    assert!(dot.contains("n3 -> n1 [color=red, penwidth=3]") && dot.contains("n2 -> n1;"), "{dot}");
    let svg = to_svg(&explanation, Some(&latency));
    assert_eq!(svg.matches("#d00").count(), 4 + 3, "{svg}");
}

#[test]
fn alternatives_that_ran_count_behind_the_first_one() {
    let plan = plan(
        "a = select * from lib.find where q = 1 || select * from lib.rate where id = 2 || 3\nreturn \"{a}\"",
    );
    let explanation = explain(&plan);
    let latency =
        Latency::of(&explanation, vec![Some(took(30)), Some(took(40)), None, Some(took(1))]);
    let text = to_text(&explanation, Some(&latency));
    assert!(
        text.ends_with("total 71 ms; critical path [1] 30 ms -> [1] 40 ms -> [2] 1 ms\n"),
        "{text}"
    );
}

#[test]
fn pictures_are_well_formed() {
    let plan = plan(
        "a = {\"k\": 1}\nif (a) { b = select * from lib.book || 1 } else { c = 2 }\nd = 3\nreturn \"{c}\"",
    );
    let svg = to_svg(&explain(&plan), None);
    let mut depth = 0_i32;
    for tag in svg.split('<').skip(1) {
        let (tag, text) = tag.split_once('>').expect("a tag ends");
        depth += if tag.starts_with('/') { -1 } else { i32::from(!tag.ends_with('/')) };
        assert!(!text.replace("&lt;", "").replace("&amp;", "").contains(['<', '&']), "{text}");
    }
    assert_eq!(depth, 0, "{svg}");
    for class in
        ["class=\"scope-if\"", "class=\"scope-else\"", "class=\"fallback\"", "class=\"orphan\""]
    {
        assert!(svg.contains(class), "{class}: {svg}");
    }
}

#[test]
fn statements_of_one_line_are_told_apart_in_yuml() {
    let yuml = |text: &str| to_yuml(&explain(&plan(text)));
    assert_eq!(
        yuml("a = 1; b = \"{a}\"\nreturn [\"{a}\", \"{b}\"]"),
        "[2]->[1],[2]->[1.2],[1.2]->[1],"
    );
    assert_eq!(yuml("return 1"), "[1],");
    assert_eq!(yuml("a = 1\nb = \"{a}\""), "[return]->[2],[2]->[1],");
}

#[test]
fn a_route_shows_its_status() {
    let text = "code = 201 return code via route '/a' using method post using status '{code}'";
    let explanation = explain(&plan(text));
    assert!(to_text(&explanation, None).contains("return with status {code}"));
    assert!(to_json(&explanation, None).contains(r#""kind":"return","status":"{code}""#));
    assert!(to_dot(&explanation, None).contains("return with status {code}"));
    let fixed = "return 1 via route '/a' using method post using status 201";
    assert!(to_text(&explain(&plan(fixed)), None).contains("return with status 201"));
    let plain = "return 1 via route '/a' using method post";
    assert!(!to_json(&explain(&plan(plain)), None).contains("status"));
}

/// What is said of the only source of a select from a table of these clauses.
fn source_line(clauses: &str, select: &str) -> String {
    let uri = "http://api.test/t?id={id}&since={since}&page={page}&n={n}&limit={limit}";
    let text = format!("create table t on select get from '{uri}' {clauses}\nreturn {select}");
    let explanation = explain(&plan(&text));
    let sources: Vec<_> = explanation.nodes.iter().flat_map(|node| &node.sources).collect();
    let lines: Vec<_> = sources.iter().map(|source| source.line()).collect();
    let text = to_text(&explanation, None);
    assert!(lines.iter().all(|line| text.contains(line)), "{text}");
    lines.join("\n")
}

#[test]
fn selects_say_what_they_ask_for_and_what_they_do_themselves() {
    let columns = "with columns at >= 'since', id = 'id'";
    let pages = "paginate by page 'page' size 'n' 100";
    for (clauses, select, line) in [
        ("", "select a from t where id = 1 limit 3", ""),
        (
            "",
            "select a from t where id = 1 and b > 2 order by a limit 3",
            "t: asks: id; tests: b > 2; requests: ≤ 1 (one value for each token); limit: here (order by)",
        ),
        (
            columns,
            "select a from t where at >= 5 and b > 2 limit 3",
            "t: asks: since; tests: at >= 5, b > 2; requests: ≤ 1 (one value for each token); limit: here (tests)",
        ),
        (
            columns,
            "select a from t where id in (1, 2)",
            "t: asks: id; tests: id in (1, 2); requests: ≤ maxNestedRequests (as many as the values of `id`)",
        ),
        (
            columns,
            "select a from t limit 3",
            "t: requests: ≤ 1 (one value for each token); limit: asked for",
        ),
        (
            pages,
            "select a from t limit 250",
            "t: requests: ≤ 3 (250 rows / 100); limit: ends the pages",
        ),
        (pages, "select a from t", "t: requests: ≤ maxPages (pages of one request)"),
        (
            "paginate by page 'page' size 'n' 100 up to 4 pages",
            "select distinct a from t limit 250",
            "t: requests: ≤ 4 (up to 4 pages); limit: here (distinct)",
        ),
        (
            pages,
            "select a from t where page = 7",
            "t: asks: page; requests: ≤ 1 (one value for each token)",
        ),
        (
            pages,
            "select a from t limit {=k}",
            "t: requests: ≤ maxPages (pages of one request); limit: here (known when it runs)",
        ),
    ] {
        assert_eq!(source_line(clauses, select), line, "{clauses} {select}");
    }
}
