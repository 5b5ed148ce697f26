//! Every answer of the upstream, made once.
//!
//! | path | answer |
//! | --- | --- |
//! | `/search`, `/find`, `/items`, `/prods` | what the APIs of the scenarios A to D say, JSON |
//! | `/details?id=…`, `/reviews?id=…` | one row of scenario D, JSON |
//! | `/mock.F` | the fifty marketplace items |
//! | `/hotels.F` | the hotels |
//! | `/header.F` | one header message |
//! | `/bench.proto` | the schema |
//! | `/` | this list |
//!
//! `F` is `xml`, `json`, `protobuf` or `msgpack`. Parameters that are not named here change nothing.

use std::collections::HashMap;

use bytes::Bytes;
use hyper::StatusCode;
use qlio_data::{Value, codec::json};

use crate::{
    codec::{Codec, Format},
    data::{Shape, object, scenario, schema, text},
};

/// One answer.
pub(super) struct Answer {
    pub(super) status: StatusCode,
    pub(super) content_type: &'static str,
    pub(super) body: Bytes,
}

/// All answers by path; rows by path and id.
pub(super) struct Answers {
    by_path: HashMap<String, Answer>,
    missing: Answer,
}

/// What an ending means (`docs/reference/bench.md` fixes the content types).
const FORMATS: [(&str, Format, &str); 4] = [
    ("xml", Format::Xml, "text/xml;charset=UTF-8"),
    ("json", Format::Json, "application/json;charset=UTF-8"),
    ("protobuf", Format::Protobuf, "application/octet-stream;charset=UTF-8"),
    ("msgpack", Format::MsgpackMap, "application/msgpack"),
];

const SHAPES: [(&str, Shape); 3] =
    [("mock", Shape::Items), ("hotels", Shape::Hotel), ("header", Shape::Header)];

impl Answers {
    pub(super) fn new() -> Self {
        let mut by_path = HashMap::new();
        let scenarios = [
            ("/search", scenario::search_answer()),
            ("/find", scenario::find_answer()),
            ("/items", scenario::items_answer()),
            ("/prods", scenario::products_answer()),
        ];
        for (path, value) in scenarios {
            by_path.insert(path.to_owned(), as_json(StatusCode::OK, &value));
        }
        let products = scenario::products_answer().member("products");
        for product in products.elements().unwrap_or_default().iter() {
            let id = product.member("pid");
            let id = id.as_str().unwrap_or_default();
            let rows = [("/details", scenario::detail(id)), ("/reviews", scenario::review(id))];
            for (path, row) in rows {
                let row = as_json(StatusCode::OK, &row.unwrap_or_default());
                by_path.insert(format!("{path}?{id}"), row);
            }
        }
        for (name, shape) in SHAPES {
            for (ending, format, content_type) in FORMATS {
                let body = body_of(shape, format).into();
                let answer = Answer { status: StatusCode::OK, content_type, body };
                by_path.insert(format!("/{name}.{ending}"), answer);
            }
        }
        let schema = Answer {
            status: StatusCode::OK,
            content_type: "text/plain;charset=UTF-8",
            body: Bytes::from_static(schema::TEXT.as_bytes()),
        };
        by_path.insert(format!("/{}", schema::FILE), schema);
        let mut paths: Vec<&String> = by_path.keys().collect();
        paths.sort();
        let list =
            Value::array(paths.into_iter().map(|path| text(path.replace('?', "?id="))).collect());
        let missing = object([("error", text("no such data set")), ("paths", list.clone())]);
        let missing = as_json(StatusCode::NOT_FOUND, &missing);
        by_path.insert("/".to_owned(), as_json(StatusCode::OK, &object([("paths", list)])));
        Self { by_path, missing }
    }

    /// The answer to a path and query.
    pub(super) fn find(&self, path: &str, query: &str) -> &Answer {
        if let Some(found) = self.by_path.get(path) {
            return found;
        }
        let id = query.split('&').find_map(|pair| pair.strip_prefix("id=")).unwrap_or_default();
        self.by_path.get(&format!("{path}?{id}")).unwrap_or(&self.missing)
    }
}

/// One message of a shape.
pub(crate) fn body_of(shape: Shape, format: Format) -> Vec<u8> {
    let message = Some(schema::message(shape));
    let codec = Codec { format, message, root: shape.root().to_owned() };
    let mut body = Vec::new();
    codec
        .encode(&shape.value(), &mut body)
        .expect("every format that is served holds every shape; a test encodes all of them");
    body
}

fn as_json(status: StatusCode, value: &Value) -> Answer {
    let body = json::to_string(value).into();
    Answer { status, content_type: "application/json;charset=UTF-8", body }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_data_set_is_served_in_every_format() {
        let answers = Answers::new();
        for (name, _) in SHAPES {
            for (ending, _, content_type) in FORMATS {
                let answer = answers.find(&format!("/{name}.{ending}"), "");
                assert_eq!(answer.status, StatusCode::OK);
                assert_eq!(answer.content_type, content_type);
                assert!(!answer.body.is_empty());
            }
        }
        assert_eq!(answers.find("/bench.proto", "").body, schema::TEXT);
    }

    #[test]
    fn rows_are_found_by_id_and_other_parameters_are_ignored() {
        let answers = Answers::new();
        let found = answers.find("/details", "kind=Ref&id=1012345");
        assert!(found.body.starts_with(b"{\"id\":\"1012345\""));
        assert_eq!(answers.find("/details", "id=none").status, StatusCode::NOT_FOUND);
        assert_eq!(answers.find("/search", "q=ql").status, StatusCode::OK);
        assert!(answers.find("/nowhere", "").body.starts_with(b"{\"error\""));
    }
}
