//! What is offered at a place of a script with the names of a catalog. The place is written as `‸`.

use qlio_plan::complete::{CompletionKind, at};

use crate::{TABLES, catalog, load};

const ROUTES: &[(&str, &str)] = &[
    (
        "r1.ql",
        "return select title, b.author.name from lib.book as b where id = '{id}' via route '/book/{id}' using method get",
    ),
    (
        "r2.ql",
        "b = select f.hits, k.pages from lib.find as f, lib.book as k where f.id = k.id and f.q = '{q}'\n\
         return b via route '/find?q={q}' using method get",
    ),
];

/// `kind label`, keywords left out.
fn names(marked: &str) -> Vec<String> {
    let Some((before, after)) = marked.split_once('‸') else { panic!("no place in {marked}") };
    let (catalog, problems) = load(&[("tables.ql", TABLES)], ROUTES);
    assert!(problems.is_empty(), "{problems:?}");
    at(&format!("{before}{after}"), before.len(), &catalog)
        .iter()
        .filter(|found| found.kind != CompletionKind::Keyword)
        .map(|found| format!("{} {}", found.kind.as_str(), found.label))
        .collect()
}

#[test]
fn tables_and_variables_are_sources() {
    assert_eq!(
        names(
            "libs = 1\ncreate table lib.mine on select get from 'http://h.test/'\nselect * from lib‸"
        ),
        [
            "table lib.mine",
            "table lib.find",
            "table lib.book",
            "table lib.rate",
            "table lib.page",
            "table lib.hook",
            "table lib.csv",
            "variable libs"
        ]
    );
    assert_eq!(names("select * from LIB.B‸"), ["table lib.book"]);
    assert_eq!(names("select * from nothing.‸"), Vec::<String>::new());
}

#[test]
fn columns_of_new_clauses_are_offered() {
    let tables = "create table orders on select get from 'http://h.test/o'\n\
        create table users on select get from 'http://h.test/u?ids={20|ids}' with columns id = 'ids'\n\
        seen = select {o.eur, who: upper(o.name)} from orders as o where o.paid > 1 order by o.at\n";
    let named = |statement: &str| names(&format!("{tables}{statement}"));
    let both = ["column o.eur", "column o.name", "column o.paid", "column o.at", "column u.id"];
    let columns = |found: Vec<String>| -> Vec<String> {
        found.into_iter().filter(|name| name.starts_with("column")).collect()
    };
    assert_eq!(
        columns(named("select o.eur from orders as o join users as u on ‸")),
        both,
        "what is joined"
    );
    assert_eq!(
        named("select u.id from orders as o join users as u on u.‸ = o.eur"),
        ["column u.id"]
    );
    let found = named("select u.id from orders as o join users as u on ‸");
    assert!(found.contains(&"variable o".to_owned()), "{found:?}");
    assert_eq!(columns(named("select o.‸ from orders as o")), both[..4]);
    let keys = columns(named("select eur as price, count(*) as n from orders group by ‸"));
    assert_eq!(
        keys,
        ["column eur", "column name", "column paid", "column at", "column price", "column n"]
    );
    let order = columns(named("select {total: sum(eur)} from orders group by name order by to‸"));
    assert_eq!(order, ["column total"]);
    let columns_of_rows = columns(named("select eur as price from orders where pri‸"));
    assert_eq!(columns_of_rows, Vec::<String>::new());
}

#[test]
fn parameters_come_from_the_request_of_the_table() {
    assert_eq!(
        names("select * from lib.find where ‸"),
        ["parameter q", "parameter n", "column hits"]
    );
    assert_eq!(names("delete from lib.book where i‸"), ["parameter id"]);
    let inline = "create table t on select get from 'http://h.test/{^a}?b={b}' using defaults c = '1' \
        using headers 'x' = '{d}'\nselect * from t where ‸";
    assert_eq!(names(inline), ["parameter a", "parameter b", "parameter c", "parameter d"]);
}

#[test]
fn columns_are_those_that_other_scripts_read() {
    assert_eq!(
        names("select ‸ from lib.book"),
        ["column title", "column author.name", "column pages"]
    );
    assert_eq!(
        names("select f.hits, k.‸ from lib.find as f, lib.book as k where f.a = k.a"),
        ["column k.title", "column k.author.name", "column k.pages"]
    );
    assert_eq!(names("select b.au‸ from lib.book as b"), ["column b.author.name"]);
    assert_eq!(names("x = select sum from lib.rate\ny = select su‸ from lib.rate"), ["column sum"]);
}

#[test]
fn tokens_name_variables_the_route_and_settings() {
    assert_eq!(
        names("a = 1\nb = '{‸}'\nreturn b via route '/b/{key}' using method get"),
        [
            "variable a",
            "variable b",
            "token key",
            "token req.parts",
            "token remoteAddress",
            "token config.host"
        ]
    );
    let header =
        "create table t on select get from 'http://h.test/{id}' using headers 'a' = '{i‸}'";
    assert_eq!(names(header), ["parameter id"]);
    assert_eq!(names("create table t on select get from 'http://{con‸}/'"), ["token config.host"]);
}

#[test]
fn routes_and_connectors_are_offered_where_they_stand() {
    assert_eq!(names("describe route '/b‸'"), ["route /book/{id}"]);
    assert_eq!(names("create table t via ‸"), ["connector http"]);
}

#[test]
fn a_completion_replaces_what_is_typed() {
    let text = "select * from lib.bo where id = 1";
    let found = at(text, "select * from lib.bo".len(), &catalog());
    let span = found[0].replace;
    assert_eq!(&text[span.start as usize..span.end as usize], "lib.bo");
    assert_eq!(found[0].label, "lib.book");
}

#[test]
fn no_offset_of_a_damaged_script_panics() {
    let catalog = catalog();
    let whole = "-- é\na = select f.x, k['y'] from lib.find as f, lib.book as k where f.q = \"{a.b}\"\n\
        if (a) { throw (b) } return a || {\"k\": '{a}'} via route '/a/{q}' using method get";
    let cuts = whole.char_indices().map(|(cut, _)| cut);
    for cut in cuts {
        let rest = whole[cut..].chars().next().map_or("", |c| &whole[cut + c.len_utf8()..]);
        for text in [&whole[..cut], &whole[cut..], &format!("{}{rest}", &whole[..cut])] {
            at(text, cut, &catalog);
            at(text, text.len(), &catalog);
            qlio_plan::diagnose(text, &catalog);
        }
    }
    for offset in 0..=whole.len() + 1 {
        at(whole, offset, &catalog);
    }
}
