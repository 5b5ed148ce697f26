//! The crate knows the script and the catalog, and its modules are layers.

use std::path::Path;

#[test]
fn modules_use_only_what_lies_below_them() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let circle = qlio_testkit::layers::circle(&source).expect("the sources can be read");
    assert!(circle.is_none(), "a circle: {}", circle.unwrap_or_default());
}

#[test]
fn the_crate_does_not_wait_and_opens_nothing() {
    let manifest = include_str!("../Cargo.toml");
    let (_, own) = manifest.split_once("[dependencies]").expect("there are dependencies");
    let own = own.split("\n[").next().unwrap_or_default();
    let names: Vec<_> = own.lines().filter_map(|line| line.split(['.', ' ']).next()).collect();
    let names: Vec<_> = names.into_iter().filter(|name| !name.is_empty()).collect();
    assert_eq!(names, ["qlio-data", "qlio-plan", "qlio-syntax"]);
}
