//! The warnings of a script against a catalog, and all problems of a text for editors.

use qlio_plan::{CompileOptions, Origin, catalog::NoResources, compile, diagnose};

use crate::{catalog, line_of};

fn problems(text: &str) -> Vec<String> {
    diagnose(text, &catalog()).iter().map(|problem| line_of(problem, text)).collect()
}

fn hints(text: &str) -> Vec<String> {
    diagnose(text, &catalog()).into_iter().flat_map(|problem| problem.hints).collect()
}

#[test]
fn an_unknown_table_is_a_warning_with_the_nearest_name() {
    let text = "return select * from lib.bok where id = 1 || 2";
    assert_eq!(problems(text), ["Warning Q2003 unknown-table 1:22 no table named `lib.bok`"]);
    assert_eq!(hints(text), ["did you mean `lib.book`?"]);
    let options = CompileOptions { origin: Origin::AdHoc, file: "script", resources: &NoResources };
    let warnings = compile(text, &catalog(), &options).map(|compiled| compiled.warnings.len());
    assert_eq!(warnings.ok(), Some(1));
}

#[test]
fn every_kind_of_statement_names_its_unknown_table() {
    for text in [
        "insert into nope (a) values (1)",
        "update nope with '{x}'",
        "delete from nope where a = 1",
        "describe nope",
        "a = 1 return select x from a where x in (select y from nope)",
        "select a.x from lib.book as a, nope as n where a.id = n.id",
    ] {
        let found = problems(text);
        assert!(
            found.iter().any(|line| line.contains("no table named `nope`")),
            "{text}: {found:?}"
        );
    }
    assert_eq!(hints("item = []\nreturn select x from itm"), ["did you mean `item`?"]);
}

#[test]
fn a_part_of_a_variable_is_no_source() {
    for text in ["select x from shelf.books", "insert into shelf.books (x) values (1)"] {
        let text = format!("shelf = {{}}\nreturn {text}");
        let found = hints(&text);
        assert!(found[0].contains("bind its part first, `part = \"{shelf.books}\"`"), "{found:?}");
    }
}

#[test]
fn a_parameter_that_is_computed_asks_for_nothing() {
    for (test, hint) in [
        ("q = {wanted}", "a token stands in quotes: `\"{wanted}\"`"),
        ("q in (1, {wanted})", "a token stands in quotes: `\"{wanted}\"`"),
        ("q = upper('x')", "write `==`, which never asks"),
    ] {
        let text = format!("wanted = 1\nreturn select * from lib.find where {test}");
        let message =
            "Warning Q2141 tested-parameter 2:37 `q` is tested here, and asks for nothing";
        assert_eq!(problems(&text), [message], "{text}");
        assert_eq!(hints(&text), [hint], "{text}");
    }
    let columns = "create table t on select get from 'http://h.test/{a}' with columns a = 'a'\n";
    for text in [
        "wanted = 1\nreturn select * from lib.find where q = {=wanted}",
        "return select * from lib.find where q == upper('x')",
        "return select * from lib.find where q = 'a' and title = upper('x')",
        &format!("{columns}return select * from t where a = upper('x')"),
        "rows = []\nreturn select * from rows where q = upper('x')",
    ] {
        let found = problems(text);
        assert!(!found.iter().any(|line| line.contains("Q2141")), "{text}: {found:?}");
    }
}

#[test]
fn a_word_that_is_no_variable_is_a_warning() {
    let rows = "rows = []\nwish = 1\n";
    for test in ["a = sent", "a = 1 or b = sent", "not (a = sent)"] {
        let text = format!("{rows}return select x from rows where {test}");
        let found = problems(&text);
        assert_eq!(found.len(), 1, "{test}: {found:?}");
        assert!(found[0].contains("Q2143"), "{test}: {found:?}");
        assert!(
            found[0].ends_with("`sent` is no variable, so it is the text \"sent\" here"),
            "{found:?}"
        );
        assert!(hints(&text)[0].contains("write `'sent'`; if a column, `== sent`"), "{test}");
    }
    for (test, end) in [
        ("a = wish", ""),
        ("a = 'sent'", ""),
        ("a == sent", ""),
        ("a = rows.sent", ""),
        ("a = q", " via route '/r?q={q}' using method get"),
    ] {
        let text = format!("{rows}return select x from rows where {test}{end}");
        assert_eq!(problems(&text), Vec::<String>::new(), "{test}");
    }
    let selected =
        "rows = []\nreturn select a.x from rows as a join rows as b on a.x = b.x and b.y = a.z";
    assert_eq!(problems(selected), Vec::<String>::new());
}

#[test]
fn variables_and_tables_of_the_script_are_known() {
    assert_eq!(
        problems(
            "create table t on select get from 'http://h.test/'\na = select * from t\nreturn select x from a"
        ),
        Vec::<String>::new()
    );
}

#[test]
fn a_condition_without_effect_is_a_warning() {
    let text = "return select * from lib.find where q = 'x' and nn = 2";
    assert_eq!(
        problems(text),
        ["Warning Q2025 unused-parameter 1:49 `lib.find` does not use the parameter `nn`"]
    );
    assert_eq!(
        problems("select a.x from lib.rate as a, lib.book as b where a.id = b.id and b.x = 1"),
        ["Warning Q2025 unused-parameter 1:68 `lib.book` does not use the parameter `b.x`"
            .replace("b.x", "x")]
    );
    let text = "return select * from lib.rate where idd = 2";
    assert_eq!(hints(text), ["did you mean `id`?"]);
}

#[test]
fn conditions_that_may_have_an_effect_are_left_alone() {
    for text in [
        "select * from lib.hook where anything = 1",
        "delete from lib.book where other = 1",
        "a = [] select x from a where y = 1",
        "select * from lib.find where q.a = 1 and n in (1, 2)",
        "create table t on select get from 'http://h.test/' using headers 'k' = '{key}'\nselect * from t where key = 1",
        "create table t on select get from 'http://h.test/{a{b}}'\nselect * from t where c = 1",
    ] {
        assert_eq!(problems(text), Vec::<String>::new(), "{text}");
    }
}

#[test]
fn errors_and_warnings_come_in_text_order() {
    assert_eq!(
        problems("a = select * from nope\nreturn b"),
        ["Error Q2002 unresolved-return 2:8 Line 2: Unresolved symbol 'b'"]
    );
    let found = problems(
        "a = select * from nope\nb = select x['y'] from nada where q[?(\"@.a >\")] = 1\nreturn a",
    );
    assert_eq!(found.len(), 3, "{found:?}");
    assert!(found[0].contains("nope") && found[1].contains("nada") && found[2].contains("Error"));
}

#[test]
fn files_out_of_reach_are_no_problem() {
    let text = "create table t on insert post to 'http://h.test/' using patch 'p.js' \
        using bodyTemplate 'b.mu' type 'text/plain'\nreturn 1";
    assert_eq!(problems(text), Vec::<String>::new());
}

#[test]
fn warnings_are_bounded() {
    let text = "select * from nope\n".repeat(500);
    assert_eq!(problems(&text).len(), 50);
}

#[test]
fn many_parameters_and_conditions_are_looked_at_in_linear_time() {
    let tokens = (0..20_000).map(|number| format!("{{t{number}}}")).collect::<Vec<_>>().concat();
    let conditions = vec!["t1 = 1"; 20_000].join(" and ");
    let text = format!(
        "create table t on select get from 'http://h.test/{tokens}'\nselect * from t where {conditions}"
    );
    assert_eq!(problems(&text), Vec::<String>::new());
}

#[test]
fn a_token_that_is_almost_a_variable_is_a_warning() {
    let text = "harbour = 'Oban'\nreturn {'a': 'in {harbuor}', 'b': ['{harbuor.name}']}";
    assert_eq!(
        problems(text),
        ["Warning Q2024 unknown-reference 2:14 `harbuor` is no variable of the script"]
    );
    assert_eq!(hints(text), ["did you mean `harbour`?"]);
    let text = "wanted = []\nreturn select * from lib.book where id in ('{wantd}')";
    assert_eq!(problems(text).len(), 1, "{:?}", problems(text));
}

#[test]
fn tokens_that_others_may_fill_are_no_warnings() {
    for text in [
        "harbour = 1\nreturn '{boat} {harbour}'",
        "ids = 1\nreturn '{id}'",
        "items = 1\nreturn '{item}'",
        "confih = 1\nreturn '{config.host}'",
        "harbour = 1\nreturn '{harbuor}' via route '/h/{^harbuor}' using method get",
        "harbour = 1\nreturn '{harbuor}' via route '/h' using defaults harbuor = 2 using method get",
    ] {
        assert_eq!(problems(text), Vec::<String>::new(), "{text}");
    }
}

#[test]
fn settings_without_a_value_are_warned_of_and_taken_for_no_variables() {
    let missing = |line: &str, name: &str| {
        vec![format!("Warning Q3021 unknown-setting {line} the setting `{name}` has no value")]
    };
    let found = problems("harbour = 1\nreturn '{boat} {harbour} {config.harbours}'");
    assert_eq!(found, missing("2:8", "harbours"));
    assert_eq!(problems("confih = 1\nreturn '{config.a}'"), missing("2:8", "a"));
    assert_eq!(problems("config = {\"a\": 1}\nreturn '{config.b}'"), Vec::<String>::new());
    assert_eq!(hints("return '{config.hots}'"), ["did you mean `host`?"]);
}

#[test]
fn a_wait_through_blocks_that_never_ends_is_a_cycle() {
    for text in [
        "if (a) { try { a = 1 throw (e) } catch (e) { b = 2 } }",
        "try { if (a) { x = '{y}' } throw (e) } catch (e) { y = 1 }",
        "try { throw (e) } catch (e) { y = '{z}' } finally { z = 1 }",
    ] {
        let found = problems(text);
        assert!(found.iter().any(|line| line.contains("Circular reference")), "{text}: {found:?}");
    }
}

#[test]
fn no_more_problems_are_reported_than_the_limit() {
    let text = "create table t on select get from 'http://h.test/' resultset 'a..b'\n";
    let many: String = (0..80).map(|n| text.replace(" t ", &format!(" t{n} "))).collect();
    let found = problems(&many);
    assert_eq!(found.len(), 50);
    assert!(found[49].starts_with("Warning Q7008 too-many-diagnostics "), "{}", found[49]);
    let found = problems(&many.replace("h.test/", "h.test/{"));
    assert!(found[49].starts_with("Error Q7008 too-many-diagnostics "), "{}", found[49]);
}

#[test]
fn a_table_of_the_same_last_word_is_meant() {
    assert_eq!(hints("return select * from eBay.find"), ["did you mean `lib.find`?"]);
    assert_eq!(hints("return select * from FIND"), ["did you mean `lib.find`?"]);
    assert_eq!(
        hints(
            "create table items on select get from 'http://h.test/' return select * from shop.items"
        ),
        ["did you mean `items`?"]
    );
}

#[test]
fn conditions_without_effect_are_one_warning_per_statement() {
    let text = "d = []\nr = select * from lib.rate where a = 1 and id = 2 and b in (3) \
                and c in (select x from d)";
    assert_eq!(
        problems(text),
        [
            "Warning Q2025 unused-parameter 2:34 `lib.rate` does not use the parameters `a`, `b`, `c`"
        ]
    );
}

#[test]
fn a_token_of_a_route_that_nothing_declares_is_a_warning() {
    let route = |text: &str| {
        let clause = "via route '/a/{id}?q={^query}' with optional params";
        format!("{text} {clause} using defaults n = 1, '^m' = 2 using method get")
    };
    let path = "/a/{id}?q={^query}";
    for (text, message, hint) in [
        (
            "return \"{ghost}\"",
            "`ghost` is neither",
            format!("declare it: `{path}&ghost={{ghost}}`"),
        ),
        ("return {\"a\": [\"{qery}\"]}", "`qery` is neither", "did you mean `query`?".to_owned()),
        ("book = 1 return \"{bok}\"", "`bok` is neither", "did you mean `book`?".to_owned()),
        ("return \"{now()}\"", "`now()` is neither", "computes nothing".to_owned()),
        (
            "return select * from lib.book where id = \"{it}\"",
            "`it` is neither",
            format!("{path}&it={{it}}"),
        ),
    ] {
        let text = route(text);
        let found = problems(&text);
        assert!(found.len() == 1 && found[0].contains(message), "{text}: {found:?}");
        assert!(hints(&text)[0].contains(&hint), "{text}: {:?}", hints(&text));
    }
    for text in [
        "return \"{id} {query} {n} {m} {config.host} {remoteAddress} {x-shelf} {referer}\"",
        "a = 1 return \"{a}\"",
    ] {
        assert_eq!(problems(&route(text)), Vec::<String>::new(), "{text}");
    }
    let posted = "return \"{ghost}\" via route '/a' using method post";
    assert_eq!(problems(posted), Vec::<String>::new());
}

#[test]
fn a_token_of_a_table_that_a_route_leaves_open_is_a_warning() {
    let open = "return select * from lib.find via route '/a?query={query}' using method get";
    assert_eq!(
        problems(open),
        ["Warning Q2024 unknown-reference 1:22 nothing fills the token `q` of table `lib.find`"]
    );
    assert_eq!(hints(open), ["say `where q = …`, or let the route declare `q`"]);
    let misspelt = "create table t on select get from 'http://h.test/{keyword}'\n\
        return select * from t via route '/a?k={keywrod}' using method get";
    assert_eq!(hints(misspelt), ["did you mean `keywrod`? say `where keyword = \"{keywrod}\"`"]);
    for text in [
        "return select * from lib.find where q = 1 via route '/a' using method get",
        "return select * from lib.find via route '/a?x={q}' using method get",
        "q = 1 return select * from lib.find via route '/a' using method get",
        "return select * from lib.find via route '/a' using defaults q = 1 using method get",
        "return select * from lib.find via route '/a' using method post",
        "return select * from lib.book via route '/a' using method get",
        "return select * from lib.hook via route '/a' using method get",
        "return select f.a as a from lib.book as b, lib.find as f where b.id = 1 and f.q = b.id \
         via route '/a' using method get",
    ] {
        assert_eq!(problems(text), Vec::<String>::new(), "{text}");
    }
}
