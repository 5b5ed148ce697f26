//! Compiling a script: from text to plan, as `/q` does for a script that it has not seen before.
//!
//! `cargo bench -p qlio-plan --bench compile`. The scripts are the routes of `bench/qlio`, on the
//! tables of the same folder; `bench/run` reads the median of `eleven_calls` for its report.

use divan::{Bencher, black_box};
use qlio_data::codec::json;
use qlio_plan::{
    Catalog, CompileOptions, Origin,
    catalog::{CatalogBuilder, NoResources},
    compile,
};

const TABLES: &str = include_str!("../../../bench/qlio/tables/bench.ql");
const PASS_THROUGH: &str = include_str!("../../../bench/qlio/routes/a.ql");
const ELEVEN_CALLS: &str = include_str!("../../../bench/qlio/routes/d.ql");

fn main() {
    divan::main();
}

fn catalog() -> Catalog {
    let config = json::parse_str(r#"{"upstream": "127.0.0.1:80"}"#).expect("valid settings");
    let mut builder = CatalogBuilder::new(config, &NoResources);
    builder.add_table_file("bench.ql", TABLES);
    let (catalog, problems) = builder.finish();
    assert!(problems.is_empty(), "{problems:?}");
    catalog
}

fn measure(bencher: Bencher, script: &str) {
    let catalog = catalog();
    let options = CompileOptions { origin: Origin::AdHoc, file: "script", resources: &NoResources };
    bencher.bench_local(|| compile(black_box(script), &catalog, &options).expect("compiles").plan);
}

#[divan::bench]
fn eleven_calls(bencher: Bencher) {
    measure(bencher, ELEVEN_CALLS);
}

#[divan::bench]
fn pass_through(bencher: Bencher) {
    measure(bencher, PASS_THROUGH);
}
