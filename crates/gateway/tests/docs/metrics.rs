//! The page for operators lists all metrics as the code has them.

use std::fs;

use qlio_gateway::{FAMILIES, Family, Kind};

use super::docs;

/// The head of the table.
const HEAD: &str = "| Name | Kind | Labels | What |";

fn row(family: &Family) -> String {
    let suffix = if family.kind == Kind::Counter { "_total" } else { "" };
    let labels: Vec<String> = family.labels.iter().map(|label| format!("`{label}`")).collect();
    let Family { name, kind, help, .. } = family;
    format!("| `{name}{suffix}` | {} | {} | {help} |", kind.name(), labels.join(", "))
}

#[test]
fn the_page_for_operators_lists_all_metrics_as_they_are() {
    let page = fs::read_to_string(docs().join("operating/observe.md")).unwrap();
    let table = page.lines().skip_while(|line| *line != HEAD).skip(2);
    let told: Vec<&str> = table.take_while(|line| line.starts_with('|')).collect();
    let wanted: Vec<String> = FAMILIES.iter().map(row).collect();
    assert_eq!(told, wanted, "the table should be:\n{}", wanted.join("\n"));
}
