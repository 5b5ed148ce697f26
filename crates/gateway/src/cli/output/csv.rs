//! Comma-separated values as RFC 4180 has them, with one line of names, and lines that end with a line feed as
//! programs on Unix write them. No value is an empty cell, the empty text `""`.

use qlio_data::Value;

use super::{
    Pieces,
    grid::{Grid, text_of},
};

/// The names, then one piece for each row; nothing where there is no column.
pub(super) fn pieces(grid: Grid<'_>) -> Pieces<'_> {
    if grid.columns().is_empty() {
        return Box::new(std::iter::empty());
    }
    let head = line(grid.columns().iter().map(|name| quoted(name)));
    let count = grid.len();
    let row = move |number| line(grid.cells(number).iter().map(cell));
    Box::new(std::iter::once(head).chain((0..count).map(row)))
}

fn line(cells: impl Iterator<Item = String>) -> String {
    let cells: Vec<String> = cells.collect();
    cells.join(",") + "\n"
}

fn cell(value: &Value) -> String {
    if value.is_nothing() { String::new() } else { quoted(&text_of(value)) }
}

/// A text in quotes where it needs them: it is empty, begins or ends with a blank, or holds what CSV is made of.
fn quoted(text: &str) -> String {
    let has_blanks = text.trim() != text;
    if text.is_empty() || has_blanks || text.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use qlio_data::{
        Object, Text,
        codec::{DecodeLimits, csv, json},
        projection::Projection,
    };

    use super::*;

    fn print(value: &Value) -> String {
        pieces(Grid::of(value, usize::MAX, None).expect("few columns")).collect()
    }

    fn print_json(text: &str) -> String {
        print(&json::parse_str(text).expect("JSON"))
    }

    #[test]
    fn all_columns_are_there_and_quoted_where_they_must() {
        assert_eq!(
            print_json(r#"[{"a":"x,y","b":1.50},{"b":null,"c":{"d":[1]}},{"a":"\"q\"\n","b":""}]"#),
            "a,b,c\n\"x,y\",1.50,\n,,\"{\"\"d\"\":[1]}\"\n\"\"\"q\"\"\n\",\"\",\n"
        );
        assert_eq!(print_json("[1,2]"), "value\n1\n2\n");
        assert_eq!(print_json(r#"[[1,"x"],[2]]"#), "1,2\n1,x\n2,\n");
        assert_eq!(print_json(r#"{"a":true}"#), "a\ntrue\n");
        assert_eq!(print_json("[]"), "");
    }

    proptest! {
        /// What is written is read as the same texts by the reader of CSV answers.
        #[test]
        fn texts_come_back(rows in prop::collection::vec((".*", "[ ,\"\r\n\ta]*"), 1..6)) {
            let row = |(a, b): &(String, String)| {
                let members = [("a", Value::from(a.as_str())), ("b", Value::from(b.as_str()))];
                Value::object(members.into_iter().collect::<Object>())
            };
            let value = Value::array(rows.iter().map(row).collect());
            let text = Text::from(print(&value));
            let limits = DecodeLimits::default();
            let read = csv::decode_text(&text, true, &Projection::All, &limits).expect("CSV");
            let texts: Vec<(String, String)> = (0..rows.len())
                .map(|at| read.element(at))
                .map(|row| (text_of(&row.member("a")), text_of(&row.member("b"))))
                .collect();
            prop_assert_eq!(texts, rows);
        }
    }
}
