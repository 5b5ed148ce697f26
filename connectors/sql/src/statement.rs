//! A request as the text of a statement and the values that are bound to it.
//!
//! In: what is asked for. Out: text with placeholders. Pure: no value of a request is ever part of the text.

use std::time::Duration;

use qlio_serving::Refused;
use serde_json::Value;

use crate::{
    request::{Action, Asked, Test},
    source::quote,
};

/// What a database is told.
#[derive(Debug)]
pub(crate) struct Statement {
    pub(crate) text: String,
    /// In the order of the placeholders.
    pub(crate) values: Vec<Value>,
    /// The columns of its rows; of a write none.
    pub(crate) columns: Vec<String>,
    /// It gives the number of rows that were written, and no rows.
    pub(crate) is_write: bool,
    pub(crate) patience: Duration,
}

/// A text under way.
struct Writing {
    text: String,
    values: Vec<Value>,
    is_postgres: bool,
}

impl Writing {
    fn push(&mut self, text: &str) {
        self.text.push_str(text);
    }

    /// Puts a placeholder in the place of a value.
    fn bind(&mut self, value: Value) {
        self.values.push(value);
        let number = self.values.len();
        self.text.push_str(&if self.is_postgres {
            format!("${number}")
        } else {
            format!("?{number}")
        });
    }

    fn tests(&mut self, tests: Vec<Test>) {
        for (place, test) in tests.into_iter().enumerate() {
            self.push(if place == 0 { " where " } else { " and " });
            self.push(&quote(&test.column));
            // Texts are compared by their characters, as qlio compares them, and not by a language.
            if test.is_text && !matches!(test.operator, "=" | "in" | "like") {
                self.push(if self.is_postgres { " collate \"C\"" } else { " collate binary" });
            }
            match test.operator {
                "in" => {
                    self.push(" in (");
                    for (place, value) in test.values.into_iter().enumerate() {
                        self.push(if place == 0 { "" } else { ", " });
                        self.bind(value);
                    }
                    self.push(")");
                }
                operator => {
                    self.push(&format!(" {operator} "));
                    for value in test.values {
                        self.bind(value);
                    }
                    // A pattern of qlio has nothing that takes the meaning from `%` and `_`.
                    if operator == "like" && self.is_postgres {
                        self.push(" escape ''");
                    }
                }
            }
        }
    }
}

/// The statement for a request.
pub(crate) fn write(asked: Asked<'_>, is_postgres: bool) -> Result<Statement, Refused> {
    let Asked { action, source, tests, columns, limit, offset, values, patience } = asked;
    let mut writing = Writing { text: String::new(), values: Vec::new(), is_postgres };
    let all = || source.columns.iter().map(|column| column.name.clone()).collect();
    let mut shown: Vec<String> = Vec::new();
    match action {
        Action::Select => {
            shown = columns.unwrap_or_else(all);
            let list: Vec<String> = shown.iter().map(|name| quote(name)).collect();
            writing.push("select ");
            // A row without columns is a row.
            writing.push(&if list.is_empty() { "1".to_owned() } else { list.join(", ") });
            writing.push(" from ");
            writing.push(&source.quoted);
            writing.tests(tests);
            if (limit.is_some() || offset.is_some()) && !source.key.is_empty() {
                let key: Vec<String> = source.key.iter().map(|name| quote(name)).collect();
                writing.push(" order by ");
                writing.push(&key.join(", "));
            }
            if limit.is_some() || (offset.is_some() && !is_postgres) {
                writing.push(" limit ");
                writing.bind(Value::from(limit.unwrap_or(i64::MAX as u64)));
            }
            if let Some(offset) = offset {
                writing.push(" offset ");
                writing.bind(Value::from(offset));
            }
        }
        Action::Insert => {
            let names: Vec<String> = values.keys().map(|name| quote(name)).collect();
            writing.push(&format!("insert into {} ", source.quoted));
            if names.is_empty() {
                writing.push("default values");
            } else {
                writing.push(&format!("({}) values (", names.join(", ")));
                for (place, (_, value)) in values.into_iter().enumerate() {
                    writing.push(if place == 0 { "" } else { ", " });
                    writing.bind(value);
                }
                writing.push(")");
            }
        }
        Action::Update => {
            if source.key.is_empty() {
                return Err(Refused::new(422, "a table without primary key cannot be updated"));
            }
            let (key, set): (Vec<_>, Vec<_>) =
                values.into_iter().partition(|(name, _)| source.key.contains(name));
            if key.len() < source.key.len() || set.is_empty() {
                let key = source.key.join("`, `");
                let message = format!("an update needs the key `{key}` and another column");
                return Err(Refused::new(422, message));
            }
            writing.push(&format!("update {} set ", source.quoted));
            for (place, (name, value)) in set.into_iter().enumerate() {
                writing.push(if place == 0 { "" } else { ", " });
                writing.push(&format!("{} = ", quote(&name)));
                writing.bind(value);
            }
            for (place, (name, value)) in key.into_iter().enumerate() {
                writing.push(if place == 0 { " where " } else { " and " });
                writing.push(&format!("{} = ", quote(&name)));
                writing.bind(value);
            }
        }
        Action::Delete => {
            if tests.is_empty() {
                return Err(Refused::new(
                    422,
                    "a delete without a condition would empty the table",
                ));
            }
            writing.push(&format!("delete from {}", source.quoted));
            writing.tests(tests);
        }
    }
    let Writing { text, values, .. } = writing;
    let is_write = action != Action::Select;
    Ok(Statement { text, values, columns: shown, is_write, patience })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::source::{Column, Kind, Source, Sources};

    fn sources() -> Sources {
        let column = |name: &str, kind| Column { name: name.to_owned(), kind };
        let columns = vec![
            column("id", Kind::Number),
            column("na\"me", Kind::Text),
            column("at", Kind::Other),
        ];
        let source = Source { quoted: quote("items"), columns, key: vec!["id".to_owned()] };
        Sources::from([("items".to_owned(), source)])
    }

    fn written(body: &Value, is_postgres: bool) -> Result<(String, Vec<Value>), String> {
        let sources = sources();
        let asked = Asked::read(body.to_string().as_bytes(), &sources, true);
        let statement = asked.and_then(|asked| write(asked, is_postgres));
        statement.map(|it| (it.text, it.values)).map_err(|refused| refused.message)
    }

    #[test]
    fn values_are_bound_and_names_are_quoted() {
        let evil = "x'; drop table items; --";
        let body = json!({
            "verb": "rows", "at": "items", "columns": ["id", "stranger"], "limit": 5, "offset": 2,
            "tests": [
                {"column": "na\"me", "test": ">=", "value": evil},
                {"column": "id", "test": "in", "value": [1, 2]},
            ],
        });
        let (text, values) = written(&body, true).expect("a statement");
        assert_eq!(
            text,
            "select \"id\" from \"items\" where \"na\"\"me\" collate \"C\" >= $1 and \"id\" in ($2, $3) \
             order by \"id\" limit $4 offset $5"
        );
        assert_eq!(values, [json!(evil), json!(1), json!(2), json!(5), json!(2)]);
        let (text, _) =
            written(&json!({"verb": "rows", "at": "items", "offset": 2}), false).expect("one");
        let wanted =
            "select \"id\", \"na\"\"me\", \"at\" from \"items\" order by \"id\" limit ?1 offset ?2";
        assert_eq!(text, wanted);
    }

    #[test]
    fn writes_name_their_rows() {
        let update = json!({"verb": "update", "at": "items", "values": {"id": 1, "na\"me": "n"}});
        let (text, values) = written(&update, true).expect("a statement");
        assert_eq!(text, "update \"items\" set \"na\"\"me\" = $1 where \"id\" = $2");
        assert_eq!(values, [json!("n"), json!(1)]);
        let insert = json!({"verb": "insert", "at": "items", "values": {"id": 1}});
        assert_eq!(
            written(&insert, false).expect("one").0,
            "insert into \"items\" (\"id\") values (?1)"
        );
        let delete = json!({"verb": "delete", "at": "items",
                            "tests": [{"column": "id", "test": "=", "value": 1}]});
        assert_eq!(
            written(&delete, true).expect("one").0,
            "delete from \"items\" where \"id\" = $1"
        );
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        for (body, told) in [
            (json!({"verb": "drop", "at": "items"}), "there is no verb `drop`"),
            (json!({"verb": "rows", "at": "stocks"}), "there is no table `stocks`"),
            (
                json!({"verb": "rows", "at": "items", "tests": [{"column": "at", "test": "=", "value": 1}]}),
                "no test is made of `at`",
            ),
            (
                json!({"verb": "rows", "at": "items", "tests": [{"column": "id", "test": "or 1", "value": 1}]}),
                "there is no test `or 1`",
            ),
            (
                json!({"verb": "rows", "at": "items", "tests": [{"column": "id", "test": "=", "value": []}]}),
                "the value for `id =` is none",
            ),
            (json!({"verb": "delete", "at": "items"}), "would empty the table"),
            (
                json!({"verb": "update", "at": "items", "values": {"na\"me": "x"}}),
                "needs the key `id`",
            ),
            (json!({"verb": "insert", "at": "items", "values": {"x": 1}}), "has no column `x`"),
        ] {
            let message = written(&body, true).expect_err(&body.to_string());
            assert!(message.contains(told), "{body}: {message}");
        }
    }
}
