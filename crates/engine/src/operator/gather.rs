//! Merging the answers of a statement (`docs/language/reference/uri-templates.md`, URI-10 and on).
//!
//! The shape follows from the text of the statement and from which values are lists, never from how
//! many requests that makes: see [`Merge`].

use qlio_data::{Object, Value};

use super::rows::{Relation, Rows, ValueRows};
use crate::{
    budget::{Budget, VALUE_BYTES},
    error::RunError,
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
///
/// # Errors
/// Those of `shape`, and of the run's budget.
pub(crate) async fn gather(
    budget: &Budget,
    answers: Vec<Relation>,
    width: usize,
    merge: Merge,
    shape: impl AsyncFn(Relation) -> Result<Value, RunError>,
) -> Result<Relation, RunError> {
    Ok(match merge {
        // A hook may leave no request at all.
        Merge::Single => {
            let nothing = || Relation::Value(Value::object(Object::new()));
            answers.into_iter().next().unwrap_or_else(nothing)
        }
        Merge::Blocks => {
            let mut blocks = Vec::with_capacity(answers.len());
            for answer in answers {
                blocks.push(shape(answer).await?);
            }
            Relation::Value(Value::array(blocks))
        }
        Merge::Rows if width == 0 => Relation::Value(list(budget, answers, shape).await?),
        Merge::Rows => list_rows(answers, width),
    })
}

/// The rows of all answers where rows are needed and no blocks: for one half of a join. Of a request
/// that does not scatter, an answer without rows stays as it is.
pub(crate) fn gather_rows(mut answers: Vec<Relation>, width: usize, merge: Merge) -> Relation {
    if merge == Merge::Single && answers.len() == 1 {
        return answers.remove(0);
    }
    list_rows(answers, width)
}

/// The rows of all answers, one after the other; none is an empty list.
fn list_rows(answers: Vec<Relation>, width: usize) -> Relation {
    let mut merged = Rows::new(width);
    for answer in answers {
        match answer {
            Relation::Rows(rows) => merged.append(rows),
            Relation::Value(value) if value.is_nothing() || value.is_array() => {}
            // An answer such as `0` or `false` is a row like any other, without columns.
            Relation::Value(_) => {
                let mut row = ValueRows::with_capacity(width, 1);
                row.push(std::iter::repeat_n(Value::Absent, width));
                merged.append(row.into());
            }
        }
    }
    if merged.len() == 0 {
        Relation::Value(Value::array(Vec::new()))
    } else {
        Relation::Rows(merged)
    }
}

/// The elements of all arrays; what is no array is one element, and nothing is none.
async fn list(
    budget: &Budget,
    answers: Vec<Relation>,
    shape: impl AsyncFn(Relation) -> Result<Value, RunError>,
) -> Result<Value, RunError> {
    let mut merged = Vec::new();
    for answer in answers {
        let answer = shape(answer).await?;
        match answer.elements() {
            Some(elements) => {
                budget.charge_memory(elements.len() * VALUE_BYTES)?;
                merged.extend(elements.iter().cloned());
                if budget.spend(elements.len()) {
                    budget.pause().await?;
                }
            }
            None if answer.is_nothing() => {}
            None => merged.push(answer),
        }
    }
    Ok(Value::array(merged))
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;
    use qlio_data::codec::json;

    use super::*;

    fn merged(merge: Merge, width: usize, answers: &[&str]) -> String {
        let answers = answers
            .iter()
            .map(|text| Relation::Value(json::parse_str(text).expect("valid JSON")))
            .collect();
        json::to_string(&gather_all(answers, width, merge))
    }

    fn gather_all(answers: Vec<Relation>, width: usize, merge: Merge) -> Value {
        let budget = Budget::unlimited();
        let shape = async |answer: Relation| Ok(answer.into_lists());
        let gathered = gather(&budget, answers, width, merge, shape);
        gathered.now_or_never().expect("short").expect("no limit").into_lists()
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
        let answers = vec![Relation::Value(Value::Absent), Relation::Value(Value::int(7))];
        assert_eq!(gather_all(answers, 0, Merge::Rows), Value::array(vec![Value::int(7)]));
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
