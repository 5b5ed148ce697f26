//! The engine's modules are layers: none of them uses another that uses it, however indirectly.
//! `ARCHITECTURE.md` shows them.

use std::path::Path;

#[test]
fn modules_use_only_what_lies_below_them() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let circle = qlio_testkit::layers::circle(&source).expect("the sources can be read");
    assert!(circle.is_none(), "a circle: {}", circle.unwrap_or_default());
}
