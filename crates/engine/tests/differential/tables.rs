//! Tables made by chance, the same for both sides: few values, many nulls, and lists in the rows.

use super::random::Random;

/// The most rows of a table.
const ROWS_MAX: u32 = 6;

/// The same tables for both.
pub(crate) struct Tables {
    pub(crate) ql: String,
    pub(crate) sql: String,
}

/// A table of both, and what its columns hold.
pub(crate) struct Layout {
    pub(crate) name: &'static str,
    pub(crate) numbers: &'static [&'static str],
    pub(crate) texts: &'static [&'static str],
    /// The column of lists of numbers.
    pub(crate) scalars: &'static str,
    /// The column of lists of objects, whose members are `n`, a number, and `s`, a text.
    pub(crate) objects: &'static str,
}

/// The number `id` is in each row, and is different in each.
pub(crate) const LAYOUTS: [Layout; 2] = [
    Layout { name: "t", numbers: &["id", "a", "c"], texts: &["b"], scalars: "l", objects: "o" },
    Layout { name: "u", numbers: &["id", "k", "v"], texts: &["w"], scalars: "m", objects: "p" },
];

pub(crate) fn tables(random: &mut Random) -> Tables {
    let mut tables =
        Tables { ql: String::new(), sql: "pragma case_sensitive_like = on;".to_owned() };
    for layout in &LAYOUTS {
        let Layout { name, numbers, texts, scalars, objects } = layout;
        let columns = [numbers, *texts, &[*scalars, *objects]].concat();
        tables.sql.push_str(&format!("create table {name} ({});", columns.join(", ")));
        let mut rows = Vec::new();
        let count = random.below(ROWS_MAX + 1);
        for number in 0..count {
            let mut members = Vec::new();
            let mut values = Vec::new();
            for column in &columns {
                let cell = cell(random, layout, column, number);
                members.push(format!("\"{column}\": {cell}"));
                values.push(match cell.as_str() {
                    list if list.starts_with(['[', '{']) => format!("'{list}'"),
                    _ => cell.replace('"', "'"),
                });
            }
            rows.push(format!("{{{}}}", members.join(", ")));
            tables.sql.push_str(&format!("insert into {name} values ({});", values.join(", ")));
        }
        tables.ql.push_str(&format!("{name} = [{}]\n", rows.join(", ")));
    }
    tables
}

fn cell(random: &mut Random, layout: &Layout, column: &str, number: u32) -> String {
    if column == "id" {
        return number.to_string();
    }
    if random.one_in(4) {
        return "null".to_owned();
    }
    if layout.texts.contains(&column) {
        return text(random);
    }
    if column == layout.scalars {
        return scalars(random);
    }
    if column == layout.objects {
        return objects(random);
    }
    match column {
        "c" | "v" => random.of(&["0", "1", "1.0", "-2.5", "0.5", "3", "10"]).to_string(),
        _ => random.below(4).to_string(),
    }
}

fn text(random: &mut Random) -> String {
    format!("\"{}\"", random.of(&["a", "b", "ab", "B", "", "a b"]))
}

fn scalars(random: &mut Random) -> String {
    // What is no list is one element.
    if random.one_in(8) {
        return random.below(4).to_string();
    }
    let items: Vec<_> = (0..random.below(4))
        .map(|_| random.of(&["0", "1", "2", "null", "1", "2.5"]).to_string())
        .collect();
    format!("[{}]", items.join(", "))
}

fn objects(random: &mut Random) -> String {
    let items: Vec<_> = (0..random.below(4)).map(|_| object(random)).collect();
    format!("[{}]", items.join(", "))
}

fn object(random: &mut Random) -> String {
    if random.one_in(8) {
        return "null".to_owned();
    }
    let mut members = Vec::new();
    if !random.one_in(5) {
        let number = *random.of(&["0", "1", "null", "2", "0.5"]);
        members.push(format!("\"n\": {number}"));
    }
    if !random.one_in(5) {
        let text = if random.one_in(4) { "null".to_owned() } else { text(random) };
        members.push(format!("\"s\": {text}"));
    }
    format!("{{{}}}", members.join(", "))
}
