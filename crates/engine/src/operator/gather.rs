//! Merging the answers of a fan-out (`language.md` 5.12, `connectors.md` 4.10).

use qlio_data::{Object, Value};

use super::{
    rows::{Rows, Table},
    shape,
};

/// Merges answers in the order of their requests. One answer is itself.
pub(crate) fn gather(
    mut answers: Vec<Rows>,
    width: usize,
    is_block: bool,
    shape: impl Fn(&Rows) -> Value,
) -> Rows {
    if answers.len() == 1 {
        return answers.remove(0);
    }
    if is_block {
        return Rows::Whole(answers.iter().map(shape).collect());
    }
    // The answers have a text each.
    let answers: Vec<Rows> = answers.into_iter().map(Rows::with_values).collect();
    let is_table = |rows: &Rows| match rows {
        Rows::Table(_) | Rows::Cells(_) => true,
        Rows::Whole(value) => value.is_array() && value.is_empty(),
    };
    if width > 0 && answers.iter().all(is_table) {
        let mut merged = Table::new(width);
        for answer in answers {
            if let Rows::Table(table) = answer {
                merged.append(table);
            }
        }
        return if merged.len() == 0 {
            Rows::Whole(Value::array(Vec::new()))
        } else {
            Rows::Table(merged)
        };
    }
    let answers: Vec<Value> = answers.iter().map(shape).collect();
    Rows::Whole(merge(&answers))
}

/// The rows of all answers where rows are needed and no blocks: for one half of a join, and for
/// functions. An answer without rows adds none; if no answer has any, the first stands for all, and
/// nothing asked is no rows.
pub(crate) fn gather_rows(mut answers: Vec<Rows>, width: usize) -> Rows {
    let has_rows = |answer: &Rows| !matches!(answer, Rows::Whole(_));
    if answers.iter().any(has_rows) {
        answers.retain(has_rows);
        return gather(answers, width, false, shape::lists);
    }
    let nothing = || Rows::Whole(Value::array(Vec::new()));
    answers.into_iter().next().unwrap_or_else(nothing)
}

/// Field mode: members of objects are collected; null has none. As soon as one answer is an array or a scalar,
/// all are listed, arrays by their elements, so that no answer is lost. An absent answer adds nothing.
fn merge(answers: &[Value]) -> Value {
    let has_only_members =
        |answer: &Value| matches!(&*answer.open(), Value::Object(_) | Value::Null);
    let present = || answers.iter().filter(|answer| !answer.is_absent());
    if present().all(has_only_members) { collected(present()) } else { listed(present()) }
}

/// The elements of all arrays; what is no array is one element.
fn listed<'a>(answers: impl Iterator<Item = &'a Value>) -> Value {
    let mut merged = Vec::new();
    for answer in answers {
        match answer.elements() {
            Some(elements) => merged.extend(elements.iter().cloned()),
            None => merged.push(answer.clone()),
        }
    }
    Value::array(merged)
}

/// The members of all objects, those of one name together.
fn collected<'a>(answers: impl Iterator<Item = &'a Value>) -> Value {
    let mut merged = Object::new();
    for answer in answers {
        if let Value::Object(object) = &*answer.open() {
            for (name, value) in object.iter() {
                let joined = match merged.get(name) {
                    None => value.clone(),
                    Some(earlier) => join_values(earlier, value),
                };
                merged.insert(name.clone(), joined);
            }
        }
    }
    Value::object(merged)
}

/// Two values of one field as a list; lists are concatenated, equal scalars are both kept.
fn join_values(earlier: &Value, value: &Value) -> Value {
    let mut list = match earlier.elements() {
        Some(elements) => elements.into_owned(),
        None => vec![earlier.clone()],
    };
    match value.elements() {
        Some(elements) => list.extend(elements.iter().cloned()),
        None => list.push(value.clone()),
    }
    Value::array(list)
}

#[cfg(test)]
mod tests {
    use qlio_data::codec::json;

    use super::*;

    fn merged(answers: &[&str]) -> String {
        let answers: Vec<Value> =
            answers.iter().map(|text| json::parse_str(text).expect("valid JSON")).collect();
        json::to_string(&merge(&answers))
    }

    #[test]
    fn members_are_collected_and_falsy_ones_are_kept() {
        let first = r#"{"ship":{"n":"Ida"},"st":"ok","crew":0,"p":["A"]}"#;
        let second = r#"{"ship":{"n":"Olu"},"st":"ok","crew":5,"p":["B","C"]}"#;
        let expected =
            r#"{"ship":[{"n":"Ida"},{"n":"Olu"}],"st":["ok","ok"],"crew":[0,5],"p":["A","B","C"]}"#;
        assert_eq!(merged(&[first, second]), expected);
    }

    #[test]
    fn an_object_after_arrays_is_one_element() {
        assert_eq!(merged(&["[1,2]", r#"{"id":3}"#, "[4]"]), r#"[1,2,{"id":3},4]"#);
    }

    #[test]
    fn answers_of_several_kinds_are_listed_in_their_order() {
        assert_eq!(merged(&[r#"{"id":3}"#, "[1,2]"]), r#"[{"id":3},1,2]"#);
        assert_eq!(merged(&["null", "[1]"]), "[null,1]");
        assert_eq!(merged(&["null", r#"{"a":1}"#]), r#"{"a":1}"#);
        assert_eq!(merged(&["5", r#""x""#]), r#"[5,"x"]"#);
        assert_eq!(merge(&[Value::Absent, Value::int(7)]), Value::array(vec![Value::int(7)]));
    }

    #[test]
    fn an_array_meeting_a_scalar_is_concatenated() {
        assert_eq!(merged(&[r#"{"a":1}"#, r#"{"a":[2,3]}"#]), r#"{"a":[1,2,3]}"#);
    }
}
