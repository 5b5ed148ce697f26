//! The work that a request is made of, one piece at a time, for counting instructions.
//!
//! `bench/instructions` runs each piece under callgrind and compares the counts with those that are
//! committed: times on a shared machine are noise, counts are not. In: the name of a piece, or none
//! to list them. A piece runs once to warm up and once inside [`counted`], which is all that
//! callgrind is told to count.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a program for a script")]

mod scripted;

use std::{hint::black_box, process::ExitCode};

use bytes::Bytes;
use qlio_data::{
    Object, Text, Value,
    codec::{
        DecodeLimits, cbor, csv,
        json::{self, CellTable, RowForm, RowWriter},
        msgpack,
        protobuf::{self, Message, ProtobufOptions, Schema},
        xml::{self, XmlOptions},
    },
    projection::Projection,
    scope::{Scope, SlotId},
    template::Template,
    uri_template::UriTemplate,
};
use qlio_engine::{Caller, ClientRequest, Engine, EngineOptions};
use qlio_plan::{
    Catalog, CompileOptions, Origin,
    catalog::{CatalogBuilder, NoResources},
    compile,
};
use qlio_testkit::finding;
use tokio::runtime::Builder;

const TABLES: &str = include_str!("../../../../bench/qlio/tables/bench.ql");
const ELEVEN_CALLS: &str = include_str!("../../../../bench/qlio/routes/d.ql");
const SCHEMA: &str = include_str!("../../../../examples/finding/tables/finding/search.proto");
const MESSAGE: &str = "market.search.FindResponse";

/// Where the rows lie in an answer, and what is kept of each.
const ROWS: [&str; 2] = ["searchResult", "item"];
const COLUMNS: [&str; 3] = ["title", "location", "viewItemUrl"];

/// A piece of work. What it needs is made before it is counted.
type Piece = Box<dyn FnMut()>;

/// A name and how to prepare the piece.
type Named = (&'static str, fn() -> Piece);

const PIECES: [Named; 35] = [
    ("compile", compile_script),
    ("json_check", json_check),
    ("json_project", json_project),
    ("json_rows", json_rows),
    ("json_tree", json_tree),
    ("json_encode", json_encode),
    ("xml_project", xml_project),
    ("xml_rows", xml_rows),
    ("xml_text", xml_text),
    ("xml_tree", xml_tree),
    ("csv_project", csv_project),
    ("protobuf_project", protobuf_project),
    ("protobuf_rows", protobuf_rows),
    ("protobuf_text", protobuf_text),
    ("protobuf_tree", protobuf_tree),
    ("msgpack_project", msgpack_project),
    ("cbor_project", cbor_project),
    ("expand_uri", expand_uri),
    ("fill_template", fill_template),
    ("join", join),
    ("join_text", join_text),
    ("join_two_keys", join_two_keys),
    ("rows_text", rows_text),
    ("few_rows", few_rows),
    ("few_queried", few_queried),
    ("few_matched", few_matched),
    ("hook_none", || scripted::route("hook_none")),
    ("hook_uri", || scripted::route("hook_uri")),
    ("hook_headers", || scripted::route("hook_headers")),
    ("hook_status", || scripted::route("hook_status")),
    ("hook_response", || scripted::route("hook_response")),
    ("body_mustache", || scripted::route("body_mustache")),
    ("body_ejs", || scripted::route("body_ejs")),
    ("xml_none", || scripted::route("xml_none")),
    ("xml_ejs", || scripted::route("xml_ejs")),
];

#[expect(clippy::disallowed_methods, reason = "callgrind starts it with the name of a piece")]
fn main() -> ExitCode {
    let mut names = std::env::args().skip(1).filter(|name| !name.starts_with("--"));
    let Some(name) = names.next() else {
        for (name, _) in PIECES {
            println!("{name}");
        }
        return ExitCode::SUCCESS;
    };
    let Some((_, make)) = PIECES.iter().find(|(known, _)| *known == name) else {
        eprintln!("no piece `{name}`");
        return ExitCode::from(2);
    };
    let mut piece = make();
    piece();
    counted(&mut *piece);
    ExitCode::SUCCESS
}

/// What callgrind counts.
#[inline(never)]
fn counted(piece: &mut dyn FnMut()) {
    piece();
}

fn answers() -> finding::Answers {
    finding::answers(SCHEMA).expect("the schema fits the rows")
}

/// The answer as a tree.
fn tree() -> Value {
    json::parse_str(&answers().json).expect("generated").into_tree()
}

fn columns(envelope: &[&str]) -> Projection {
    let mut projection = Projection::none();
    for column in COLUMNS {
        projection.add_members(&[envelope, &ROWS, &[column]].concat());
    }
    projection
}

fn compile_script() -> Piece {
    let catalog = catalog();
    Box::new(move || {
        let options =
            CompileOptions { origin: Origin::AdHoc, file: "script", resources: &NoResources };
        black_box(compile(black_box(ELEVEN_CALLS), &catalog, &options).expect("compiles"));
    })
}

fn catalog() -> Catalog {
    let config = json::parse_str(r#"{"upstream": "127.0.0.1:80"}"#).expect("valid settings");
    let mut builder = CatalogBuilder::new(config, &NoResources);
    builder.add_table_file("bench.ql", TABLES);
    builder.finish().0
}

fn json_piece(projection: Projection) -> Piece {
    let (body, limits) = (Bytes::from(answers().json), DecodeLimits::default());
    Box::new(move || {
        black_box(json::decode(black_box(body.clone()), &projection, &limits).expect("valid"));
    })
}

fn json_check() -> Piece {
    json_piece(Projection::All)
}

fn json_project() -> Piece {
    json_piece(columns(&[]))
}

fn json_rows() -> Piece {
    let (body, steps) = (Bytes::from(answers().json), ROWS.map(Text::from));
    let limits = DecodeLimits::default();
    Box::new(move || {
        let rows = CellTable::decode(black_box(body.clone()), &steps, &COLUMNS, &limits);
        black_box(written(&rows.expect("rows")));
    })
}

/// Rows as they are answered.
fn written(rows: &CellTable) -> Value {
    let mut writer = RowWriter::new(RowForm::Object(&COLUMNS), COLUMNS.len());
    for row in 0..rows.len() {
        writer.push(|column| (rows, row, column));
    }
    writer.finish()
}

fn json_tree() -> Piece {
    let text = answers().json;
    Box::new(move || {
        black_box(json::parse_str(black_box(&text)).expect("valid").into_tree());
    })
}

fn json_encode() -> Piece {
    let (tree, mut buffer) = (tree(), Vec::new());
    Box::new(move || {
        buffer.clear();
        json::encode(black_box(&tree), &mut buffer);
        black_box(&buffer);
    })
}

fn xml_piece(projection: Projection) -> Piece {
    let (body, limits) = (Bytes::from(answers().xml), DecodeLimits::default());
    let options = XmlOptions::default();
    Box::new(move || {
        let body = black_box(body.clone());
        black_box(xml::decode(body, &projection, &options, &limits).expect("valid"));
    })
}

fn xml_project() -> Piece {
    xml_piece(columns(&["soap:Envelope", "soap:Body", "findResponse"]))
}

fn xml_rows() -> Piece {
    let text = Text::from(answers().xml);
    let steps = ["soap:Envelope", "soap:Body", "findResponse", ROWS[0], ROWS[1]].map(Text::from);
    let (options, limits) = (XmlOptions::default(), DecodeLimits::default());
    Box::new(move || {
        let rows = xml::decode_rows(black_box(&text), &steps, &COLUMNS, &options, &limits);
        black_box(written(&rows.expect("rows")));
    })
}

fn xml_text() -> Piece {
    xml_piece(Projection::All)
}

fn xml_tree() -> Piece {
    let (body, limits) = (Bytes::from(answers().xml), DecodeLimits::default());
    let options = XmlOptions::default();
    Box::new(move || {
        let body = black_box(body.clone());
        let value = xml::decode(body, &Projection::All, &options, &limits).expect("valid");
        black_box(value.into_tree());
    })
}

fn csv_project() -> Piece {
    const NAMES: [&str; 5] = ["itemId", "title", "location", "viewItemUrl", "country"];
    let mut text = NAMES.join(",");
    for row in tree().member(ROWS[0]).member(ROWS[1]).elements().expect("rows").iter() {
        let cells = NAMES.map(|name| {
            let cell = row.member(name);
            cell.as_str().unwrap_or_default().replace('"', "\"\"")
        });
        text.push_str("\n\"");
        text.push_str(&cells.join("\",\""));
        text.push('"');
    }
    let mut projection = Projection::none();
    for column in COLUMNS {
        projection.add_members(&[column]);
    }
    let (body, limits) = (Bytes::from(text), DecodeLimits::default());
    Box::new(move || {
        black_box(csv::decode(black_box(body.clone()), true, &projection, &limits).expect("valid"));
    })
}

fn message() -> Message {
    let schema = Schema::from_proto("search.proto", SCHEMA, &mut |_| None).expect("a schema");
    schema.message(MESSAGE).expect("a message")
}

fn protobuf_piece(projection: Projection) -> Piece {
    let message = message();
    let (body, limits) = (Bytes::from(answers().protobuf), DecodeLimits::default());
    let options = ProtobufOptions::default();
    Box::new(move || {
        let body = black_box(body.clone());
        black_box(protobuf::decode(body, &projection, &message, &options, &limits).expect("valid"));
    })
}

fn protobuf_project() -> Piece {
    protobuf_piece(columns(&[]))
}

fn protobuf_rows() -> Piece {
    let (message, steps) = (message(), ROWS.map(Text::from));
    let (body, limits) = (Bytes::from(answers().protobuf), DecodeLimits::default());
    let options = ProtobufOptions::default();
    Box::new(move || {
        let body = black_box(body.clone());
        let rows = protobuf::decode_rows(body, &steps, &COLUMNS, &message, &options, &limits);
        black_box(written(&rows.expect("rows")));
    })
}

fn protobuf_text() -> Piece {
    protobuf_piece(Projection::All)
}

fn protobuf_tree() -> Piece {
    let message = message();
    let (body, limits) = (Bytes::from(answers().protobuf), DecodeLimits::default());
    let options = ProtobufOptions::default();
    Box::new(move || {
        let body = black_box(body.clone());
        black_box(protobuf::decode_tree(body, &message, &options, &limits).expect("valid"));
    })
}

fn msgpack_project() -> Piece {
    let mut body = Vec::new();
    msgpack::encode(&tree(), &mut body).expect("a tree");
    let (body, projection, limits) = (Bytes::from(body), columns(&[]), DecodeLimits::default());
    Box::new(move || {
        black_box(msgpack::decode(black_box(body.clone()), &projection, &limits).expect("valid"));
    })
}

fn cbor_project() -> Piece {
    let mut body = Vec::new();
    cbor::encode(&tree(), &mut body).expect("a tree");
    let (body, projection, limits) = (Bytes::from(body), columns(&[]), DecodeLimits::default());
    Box::new(move || {
        black_box(cbor::decode(black_box(body.clone()), &projection, &limits).expect("valid"));
    })
}

fn parameters() -> Object {
    let parameters = r#"{"id": [101, 102, 103, 104, 105], "kind": "Ref", "q": "brass lamp & oil",
        "who": {"name": "Åse", "place": {"country": "NO"}}}"#;
    match json::parse_str(parameters).expect("valid").into_tree() {
        Value::Object(object) => (*object).clone(),
        _ => Object::new(),
    }
}

fn expand_uri() -> Piece {
    let text = "http://api.example:8080/v1/{who.place.country}/details\
                ?id={#^id}&kind={kind}&q={^q}&page={page}";
    let (template, parameters) = (UriTemplate::parse(text).expect("valid"), parameters());
    Box::new(move || {
        black_box(template.expand(black_box(&parameters)).expect("five requests"));
    })
}

fn fill_template() -> Piece {
    let text = "from {who.name} in {who.place.country}: {id[0]} and {id[4]}, {kind}";
    let (template, names) = (Template::parse(text), Names(parameters()));
    Box::new(move || {
        black_box(template.fill(black_box(&names)).expect("filled"));
    })
}

/// Names of a template, taken from an object.
struct Names(Object);

impl Scope for Names {
    fn slot(&self, _: SlotId) -> Value {
        Value::Absent
    }

    fn name(&self, name: &str) -> Value {
        self.0.get(name).cloned().unwrap_or_default()
    }
}

/// How many rows the joined lists have.
const ROWS_JOINED: i64 = 1000;

/// A list of objects with an `id`, in an order of its own, a `kind` and a cell.
fn numbered_rows(name: &str, step: i64) -> Value {
    numbered(ROWS_JOINED, name, step)
}

fn numbered(count: i64, name: &str, step: i64) -> Value {
    let row = |row: i64| {
        let cells = [
            ("id", Value::int(row * step % count)),
            ("kind", Value::int(row % 2)),
            (name, Value::from("a cell")),
        ];
        Value::object(cells.into_iter().collect())
    };
    (0..count).map(row).collect()
}

/// The list as the text of one answer.
fn one_text(rows: &Value) -> Value {
    json::parse_str(&json::to_string(rows)).expect("valid")
}

/// The list as answers that were gathered: each row is a text of its own.
fn gathered_text(rows: &Value) -> Value {
    Value::array(one_text(rows).elements().expect("rows").into_owned())
}

/// A script over the lists `left` and `right`, both at hand: the run only lets others go first, of whom
/// there are none.
fn over_rows(script: &str, left: Value, right: Value, count: usize) -> Piece {
    let variables = [("left", left), ("right", right)].into_iter().collect();
    let request = ClientRequest { variables, ..ClientRequest::default() };
    let catalog = Catalog::empty(Value::object(Object::new()));
    let options = CompileOptions { origin: Origin::Stored, file: "rows", resources: &NoResources };
    let plan = compile(script, &catalog, &options).expect("compiles").plan;
    let engine = Engine::new(EngineOptions::default()).expect("an engine");
    let runtime = Builder::new_current_thread().enable_time().build().expect("a runtime");
    Box::new(move || {
        let run = engine.run(&plan, &catalog, &request, Caller::Operator);
        let answer = runtime.block_on(run).expect("rows");
        assert_eq!(answer.value.len(), count);
        black_box(answer);
    })
}

const JOIN: &str = "return select l.id as id, l.name as name, r.price as price \
                    from left as l, right as r where l.id = r.id";

fn join() -> Piece {
    over_rows(JOIN, numbered_rows("name", 7), numbered_rows("price", 3), 1000)
}

fn join_text() -> Piece {
    let (left, right) = (numbered_rows("name", 7), numbered_rows("price", 3));
    over_rows(JOIN, one_text(&left), gathered_text(&right), 1000)
}

fn join_two_keys() -> Piece {
    let script = "return select l.id as id, r.price as price \
                  from left as l, right as r where l.kind = r.kind and l.id = r.id";
    let (left, right) = (numbered_rows("name", 1), numbered_rows("price", 1));
    over_rows(script, one_text(&left), gathered_text(&right), 1000)
}

fn rows_text() -> Piece {
    let rows = one_text(&numbered_rows("name", 7));
    over_rows("return select id as id, name as n from left", rows, Value::Null, 1000)
}

/// What a small route answers; the next two are the same route with a query.
fn few_rows() -> Piece {
    over_few_rows("", 30)
}

fn few_queried() -> Piece {
    over_few_rows("where id >= 5 order by id desc limit 10", 10)
}

/// The same with a condition as they were before there were expressions.
fn few_matched() -> Piece {
    over_few_rows("where kind = 1 order by id desc limit 10", 10)
}

fn over_few_rows(query: &str, count: usize) -> Piece {
    let rows = one_text(&numbered(30, "name", 7));
    let script = format!("return select id as id, kind as kind, name as name from left {query}");
    over_rows(&script, rows, Value::Null, count)
}
