//! Merging the answers of a statement (`docs/language/reference/uri-templates.md`, URI-10 and on).
//!
//! The shape follows from the text of the statement and from which values are lists, never from how
//! many requests that makes: see [`Merge`].

use qlio_data::{Object, Value};

use super::{
    rows::{Rows, Table},
    shape,
};

/// How the answers of a statement become one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Merge {
    /// There is one request, and its answer is the answer.
    Single,
    /// The statement scatters: one list of the rows of all answers.
    Rows,
    /// A list with one answer for each request.
    Blocks,
}

/// Merges answers in the order of their requests; `shape` gives one answer as a value.
pub(crate) fn gather(
    answers: Vec<Rows>,
    width: usize,
    merge: Merge,
    shape: impl Fn(&Rows) -> Value,
) -> Rows {
    match merge {
        // A hook may leave no request at all.
        Merge::Single => {
            let nothing = || Rows::Whole(Value::object(Object::new()));
            answers.into_iter().next().unwrap_or_else(nothing)
        }
        Merge::Blocks => Rows::Whole(answers.iter().map(shape).collect()),
        Merge::Rows if width == 0 => Rows::Whole(list(&answers, shape)),
        Merge::Rows => list_rows(answers, width),
    }
}

/// The rows of all answers where rows are needed and no blocks: for one half of a join, and for
/// functions. Of a request that does not scatter, an answer without rows stays as it is.
pub(crate) fn gather_rows(answers: Vec<Rows>, width: usize, merge: Merge) -> Rows {
    match merge {
        Merge::Single if !answers.is_empty() => gather(answers, width, merge, shape::lists),
        Merge::Single | Merge::Rows | Merge::Blocks => list_rows(answers, width),
    }
}

/// One table of all rows; none is an empty list.
fn list_rows(answers: Vec<Rows>, width: usize) -> Rows {
    let mut merged = Table::new(width);
    for answer in answers {
        match answer.with_values() {
            Rows::Table(table) => merged.append(table),
            Rows::Whole(value) if value.is_nothing() || value.is_array() => {}
            // An answer such as `0` or `false` is a row like any other, without columns.
            _ => merged.push(std::iter::repeat_n(Value::Absent, width)),
        }
    }
    if merged.len() == 0 { Rows::Whole(Value::array(Vec::new())) } else { Rows::Table(merged) }
}

/// The elements of all arrays; what is no array is one element, and nothing is none.
fn list(answers: &[Rows], shape: impl Fn(&Rows) -> Value) -> Value {
    let mut merged = Vec::new();
    for answer in answers {
        let answer = shape(answer);
        match answer.elements() {
            Some(elements) => merged.extend(elements.iter().cloned()),
            None if answer.is_nothing() => {}
            None => merged.push(answer),
        }
    }
    Value::array(merged)
}

#[cfg(test)]
mod tests {
    use qlio_data::codec::json;

    use super::*;

    fn merged(merge: Merge, width: usize, answers: &[&str]) -> String {
        let answers = answers
            .iter()
            .map(|text| Rows::Whole(json::parse_str(text).expect("valid JSON")))
            .collect();
        json::to_string(&shape::lists(&gather(answers, width, merge, shape::lists)))
    }

    #[test]
    fn a_scatter_is_a_flat_list_of_rows() {
        for (answers, rows) in [
            (&[][..], "[]"),
            (&["[]"], "[]"),
            (&[r#"{"id":1}"#], r#"[{"id":1}]"#),
            (&["[1,2]", r#"{"id":3}"#, "[4]"], r#"[1,2,{"id":3},4]"#),
            (&[r#"{"id":3}"#, "[[1],2]"], r#"[{"id":3},[1],2]"#),
            (&["null", r#"{"a":1}"#, "null"], r#"[{"a":1}]"#),
            (&["5", r#""x""#, "0", "false", r#""""#], r#"[5,"x",0,false,""]"#),
            (&["[null]"], "[null]"),
        ] {
            assert_eq!(merged(Merge::Rows, 0, answers), rows, "{answers:?}");
        }
    }

    #[test]
    fn an_answer_without_columns_is_a_row_of_a_scatter() {
        assert_eq!(merged(Merge::Rows, 2, &["0", "null", "[]"]), "[[null,null]]");
    }

    #[test]
    fn absent_answers_add_no_row() {
        let answers = vec![Rows::Whole(Value::Absent), Rows::Whole(Value::int(7))];
        let rows = gather(answers, 0, Merge::Rows, shape::lists);
        assert_eq!(shape::lists(&rows), Value::array(vec![Value::int(7)]));
    }

    #[test]
    fn blocks_keep_each_answer_apart_also_of_one_request() {
        assert_eq!(merged(Merge::Blocks, 0, &[]), "[]");
        assert_eq!(merged(Merge::Blocks, 0, &[r#"{"id":1}"#]), r#"[{"id":1}]"#);
        assert_eq!(merged(Merge::Blocks, 0, &["[1,2]", "null"]), "[[1,2],null]");
    }

    #[test]
    fn a_single_request_gives_its_answer() {
        assert_eq!(merged(Merge::Single, 0, &[r#"{"id":1}"#]), r#"{"id":1}"#);
        assert_eq!(merged(Merge::Single, 0, &[]), "{}");
    }
}
