//! Selects from tables: however an API gives its rows, in pages, in batches, as text or as values, a select shows
//! the same.

use std::fmt::Write as _;

use proptest::{collection::vec, prelude::*, sample::select, test_runner::TestRunner};
use qlio_data::{Value, codec::json};
use qlio_engine::{Caller, ClientRequest, Engine, EngineOptions, Limits};
use qlio_plan::{
    Catalog, CompileOptions, Origin,
    catalog::{CatalogBuilder, NoResources},
};
use tokio::runtime::{Builder, Runtime};

use crate::{PATIENCE, listing::Listing};

const CASES: u32 = 24;

/// Keys that an API tells apart as the language does.
const KEYS: [&str; 7] = ["1", "\"1\"", "2", "\"x\"", "\"x y\"", "null", "3"];

/// Tables of the lists `a` and `b`.
const TABLES: &str = "\
create table ta on select get from 'http://ADDRESS/all/a'
create table tb on select get from 'http://ADDRESS/all/b'
create table single on select get from 'http://ADDRESS/of/b?k={^k}'
create table one on select get from 'http://ADDRESS/of/b?k={1|k}' with columns k = 'k'
create table two on select get from 'http://ADDRESS/of/b?k={2|k}' with columns k = 'k'
create table many on select get from 'http://ADDRESS/of/b?k={20|k}' with columns k = 'k'
create table left on select get from 'http://ADDRESS/both/a?k={20|k}' with columns k = 'k'
create table right on select get from 'http://ADDRESS/both/b?k={20|k}' with columns k = 'k'
create table p1 on select get from 'http://ADDRESS/page/a?page={page}&n={n}' paginate by page 'page' size 'n' 1 up to 100 pages
create table p7 on select get from 'http://ADDRESS/page/a?page={page}&n={n}' paginate by page 'page' size 'n' 7 up to 100 pages
create table p100 on select get from 'http://ADDRESS/page/a?page={page}&n={n}' paginate by page 'page' size 'n' 100 up to 100 pages
";

struct Bench {
    runtime: Runtime,
    listing: Listing,
    engine: Engine,
    catalog: Catalog,
}

impl Bench {
    fn new() -> Self {
        let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime");
        let listing = runtime.block_on(Listing::start());
        let mut options = EngineOptions::default();
        options.settings.limits = Limits { cpu_ms: u64::MAX, ..Limits::ROUTE };
        let engine = Engine::new(options).expect("an engine");
        let mut builder = CatalogBuilder::new(Value::Absent, &NoResources);
        for (number, table) in TABLES.lines().enumerate() {
            let table = table.replace("ADDRESS", &listing.address);
            builder.add_table_file(&format!("{number}.ql"), &table);
        }
        let (catalog, problems) = builder.finish();
        assert!(problems.is_empty(), "{problems:?}");
        Self { runtime, listing, engine, catalog }
    }

    /// The rows of each select, as texts; `a` and `b` are variables, too.
    fn rows(
        &self,
        a: &str,
        b: &str,
        selects: &[String],
    ) -> Result<Vec<Vec<String>>, TestCaseError> {
        self.listing.set("a", a);
        self.listing.set("b", b);
        let mut script = format!("a = {a}\nb = {b}\n");
        let mut results = Vec::new();
        for (number, select) in selects.iter().enumerate() {
            // Writing to a text never fails.
            let _ = writeln!(script, "r{number} = {select}");
            results.push(format!("\"{{r{number}}}\""));
        }
        let _ = write!(script, "return [{}]", results.join(", "));
        let options =
            CompileOptions { origin: Origin::Stored, file: "script", resources: &NoResources };
        let compiled = qlio_plan::compile(&script, &self.catalog, &options)
            .map_err(|problems| TestCaseError::fail(format!("{problems:?}\n{script}")))?;
        let request = ClientRequest::default();
        let run = self.engine.run(&compiled.plan, &self.catalog, &request, Caller::Operator);
        let answer = self.runtime.block_on(async { tokio::time::timeout(PATIENCE, run).await });
        let answer = answer
            .map_err(|_| TestCaseError::fail(format!("no answer\n{script}")))?
            .map_err(|error| TestCaseError::fail(format!("{error}\n{script}")))?;
        let lists = answer.value.elements().expect("a list").into_owned();
        let texts = |list: &Value| {
            list.elements().unwrap_or_default().iter().map(json::to_string).collect()
        };
        Ok(lists.iter().map(texts).collect())
    }
}

/// Makes rows of `a` and `b`, and tests what holds of them.
fn check(
    rows: impl Strategy<Value = (String, String)>,
    test: impl Fn(&str, &str) -> Result<(), TestCaseError>,
) {
    let config =
        ProptestConfig { cases: CASES, failure_persistence: None, ..ProptestConfig::default() };
    if let Err(error) = TestRunner::new(config).run(&rows, |(a, b)| test(&a, &b)) {
        panic!("{error}");
    }
}

/// Rows with a number and perhaps a key, which may be a list.
fn rows(most: usize, are_lists: bool) -> impl Strategy<Value = String> {
    let list = vec(select(&KEYS[..]), 0..3).prop_map(|keys| format!("[{}]", keys.join(",")));
    let single = select(&KEYS[..]).prop_map(str::to_owned);
    let key = prop_oneof![4 => single, u32::from(are_lists) => list];
    vec(proptest::option::weighted(0.9, key), 0..most).prop_map(|keys| {
        let rows = keys.into_iter().enumerate().map(|(number, key)| {
            let key = key.map(|key| format!(",\"k\":{key}")).unwrap_or_default();
            format!("{{\"n\":{number}{key}}}")
        });
        format!("[{}]", rows.collect::<Vec<_>>().join(","))
    })
}

fn sorted(mut rows: Vec<String>) -> Vec<String> {
    rows.sort();
    rows
}

#[test]
fn the_size_of_batches_changes_no_row() {
    let bench = Bench::new();
    check((rows(9, true), rows(9, false)), |a, b| {
        for form in [
            "select value [x.n, y.n] from a as x join B as y on y.k = x.k",
            "select value [x.n, y.n] from a as x left join B as y on y.k = x.k",
            "select value [x.n, [select value y.n from B as y where y.k = x.k order by y.n]] from a as x",
            "select value [x.n, exists (select y.n from B as y where y.k = x.k and y.n > 1)] from ta as x",
            "select value [x.n, y.n, z.n] from ta as x join B as y on y.k = x.k join B as z on z.k = x.k",
            "select value [x.n, y.n, z.n] from ta as x join B as y on y.k = x.k join B as z on z.k = y.k and z.n <= y.n",
        ] {
            let tables = ["b", "single", "one", "two", "many"];
            let selects: Vec<_> = tables.iter().map(|table| form.replace('B', table)).collect();
            let results = bench.rows(a, b, &selects)?;
            let first = sorted(results[0].clone());
            for (table, result) in tables.iter().zip(results) {
                prop_assert_eq!(&sorted(result), &first, "{} {}", form, table);
            }
        }
        Ok(())
    });
}

#[test]
fn the_size_of_pages_changes_no_row() {
    let bench = Bench::new();
    check((rows(17, false), rows(5, false)), |a, b| {
        for form in [
            "select n from A",
            "select n from A limit 4",
            "select n from A limit 5 offset 3",
            // What is dropped or moved is known only here.
            "select n from A where n % 3 == 1 limit 3 offset 1",
            "select n from (select n from A) as t limit 4 offset 2",
            "select value t.n from A as t order by t.n desc limit 4",
            "select distinct value t.k from A as t order by t.k limit 2",
            "select value [t.n, u.n] from A as t join b as u on u.k = t.k limit 3",
        ] {
            let tables = ["a", "p1", "p7", "p100", "ta"];
            let selects: Vec<_> = tables.iter().map(|table| form.replace('A', table)).collect();
            let results = bench.rows(a, b, &selects)?;
            for (table, result) in tables.iter().zip(&results) {
                prop_assert_eq!(result, &results[0], "{} {}", form, table);
            }
        }
        Ok(())
    });
}

#[test]
fn rows_of_text_are_the_rows_of_values() {
    let bench = Bench::new();
    check((rows(9, true), rows(9, true)), |a, b| {
        for form in [
            "select n, k from A",
            "select n as n, k as k from A where k = 1 or n > 3 order by k desc nulls first, n",
            "select k as k, count(*) as c, sum(n) as s, array_agg(n order by n desc) as l from A group by k",
            "select distinct k from A order by k",
            "select value [x.n, y.n] from A as x join B as y on y.k = x.k",
            "select {x.*, y: y.n} from A as x left join B as y on y.k = x.k and y.n < x.n",
            "select value [x.n, k] from A as x, x.k as k",
            "select {x.n, of: [select value y.n from B as y where y.k = x.k order by y.n desc limit 2]} from A as x",
            "select * from A union select * from B",
            "select x.n, y.n from A as x, b as y where x.k = y.k and y.n != 1",
        ] {
            let forms = [("a", "b"), ("ta", "tb"), ("a", "tb"), ("ta", "b")];
            let selects: Vec<_> =
                forms.iter().map(|(a, b)| form.replace('A', a).replace('B', b)).collect();
            let results = bench.rows(a, b, &selects)?;
            for (tables, result) in forms.iter().zip(&results) {
                prop_assert_eq!(result, &results[0], "{} {:?}", form, tables);
            }
        }
        Ok(())
    });
}

#[test]
fn a_list_for_each_row_is_a_group_of_the_join() {
    let bench = Bench::new();
    check((rows(9, true), rows(9, true)), |a, b| {
        let selects = [
            "select value [x.n, [select value y.n from b as y where y.k = x.k order by y.n]] from a as x",
            "select value [n, l] from (select x.n as n, array_agg(y.n order by y.n) as l from a as x left join b as y on y.k = x.k group by x.n) as g",
            "select value [x.n, (select value array_agg(y.n order by y.n) from b as y where y.k = x.k)] from a as x",
        ]
        .map(str::to_owned);
        let results = bench.rows(a, b, &selects)?;
        prop_assert_eq!(&results[1], &results[0]);
        prop_assert_eq!(&results[2], &results[0]);
        Ok(())
    });
}

/// The upstream answers neither of two requests before it has both.
#[test]
fn sources_that_need_the_same_rows_are_asked_at_the_same_time() {
    let bench = Bench::new();
    let orders = r#"[{"n": 1, "k": 1}, {"n": 2, "k": 2}, {"n": 3, "k": 1}, {"n": 4, "k": 3}]"#;
    let people = r#"[{"n": 10, "k": 1}, {"n": 20, "k": 2}]"#;
    for form in [
        "select value [o.n, l.n, r.n] from a as o join left as l on l.k = o.k join right as r on r.k = o.k",
        "select value [o.n, l.n, r.n] from a as o, left as l, right as r where r.k = o.k and l.k = o.k",
        "select value [o.n, l.n, r.n] from a as o left join left as l on l.k = o.k join right as r on r.k = o.k",
        "select value [o.n, (select value min(l.n) from left as l where l.k = o.k), (select value min(r.n) from right as r where r.k = o.k)] from a as o where o.n < 4",
    ] {
        let rows = bench.rows(orders, people, &[form.to_owned()]);
        let rows = rows.unwrap_or_else(|error| panic!("{error}"));
        assert!(!rows[0].is_empty() && rows[0][0].starts_with("[1,1,10]"), "{form}: {rows:?}");
    }
}
