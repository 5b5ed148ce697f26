//! The example apps, served as their README files say, on free ports.

use std::fs;
use std::path::{Path, PathBuf};

use qlio_testkit::client::{Request, fetch};
use qlio_testkit::finding::answers;
use qlio_testkit::process::ServerProcess;
use qlio_testkit::upstream::{Expectation, Respond, Upstream};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::{PATIENCE, folder, run, start};

/// The folder of an example app.
pub(crate) fn example(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples").join(name)
}

/// Serves an example; `api` takes the place of the address in its settings. The folder holds the
/// changed settings.
pub(crate) fn serve(name: &str, api: &str) -> (ServerProcess, TempDir) {
    let app = example(name);
    let settings = fs::read_to_string(app.join("qlio.json")).unwrap();
    let folder = TempDir::new().unwrap();
    let config = folder.path().join("config.json");
    fs::write(&config, settings.replace("http://127.0.0.1:7070", api)).unwrap();
    let text = |path: &Path| path.to_str().unwrap().to_owned();
    let (app, config) = (text(&app), text(&config));
    let arguments = [
        "serve",
        "--strict",
        "--dev",
        "--workers",
        "1",
        "--port",
        "0",
        "--app",
        &app,
        "--config",
        &config,
    ];
    (start(&arguments, folder.path()), folder)
}

pub(crate) fn get(server: &ServerProcess, target: &str) -> Value {
    let answer = fetch(server.address(), &Request::get(target), PATIENCE).unwrap();
    assert_eq!(answer.status, 200, "{target}: {}", answer.text());
    answer.json().unwrap()
}

#[test]
fn the_oauth_example_signs_and_gets_tokens() {
    let canned = |file: &str| {
        let text = fs::read_to_string(example("oauth").join("apis").join(file)).unwrap();
        Respond::json(serde_json::from_str(&text).unwrap())
    };
    let upstream = Upstream::with([
        Expectation::get("/photos?owner=member-7&size=small").respond(canned("photos.json")),
        Expectation::get("/tides?port=oban").respond(canned("tides.json")),
        Expectation::get("/tides?port=leith").respond(canned("tides.json")),
        Expectation::new("POST", "/token").respond(canned("token.json")),
    ])
    .unwrap();
    let (server, _folder) = serve("oauth", upstream.base());
    let photos = get(&server, "/photos/member-7");
    assert_eq!(photos[1]["title"], json!("Three gulls"));
    assert_eq!(get(&server, "/tides/oban")[0], json!({"at": "04:12", "metres": 3.9}));
    get(&server, "/tides/leith");
    let requests = upstream.requests();
    let of = |target: &str| {
        requests.iter().filter(|request| request.target.starts_with(target)).collect::<Vec<_>>()
    };
    let signed = of("/photos")[0].header("authorization").unwrap();
    assert!(signed.starts_with("OAuth oauth_consumer_key=\"harbour-app\","), "{signed}");
    for part in ["oauth_token=\"member-7\"", "oauth_version=\"1.0\"", "oauth_signature=\""] {
        assert!(signed.contains(part), "{signed}");
    }
    assert_eq!(of("/token").len(), 1);
    for request in of("/tides") {
        assert_eq!(request.header("authorization").as_deref(), Some("Bearer sample-token"));
    }
}

#[test]
fn the_hooks_example_mends_what_its_api_does() {
    let apis = example("hooks").join("apis");
    let canned = |file: &str| {
        Respond::json(serde_json::from_str(&fs::read_to_string(apis.join(file)).unwrap()).unwrap())
    };
    let upstream = Upstream::with([
        Expectation::get("/parcels?customer=member-7&units=metric").respond(canned("parcels.json")),
        Expectation::get("/parcels?customer=nobody&units=metric")
            .respond(canned("parcels@customer=nobody.json")),
    ])
    .unwrap();
    let (server, _folder) = serve("hooks", upstream.base());
    let parcels = get(&server, "/parcels/member-7");
    assert_eq!(parcels[0], json!({"no": "P-100", "place": "Oban", "kg": 0.65}));
    assert_eq!(upstream.requests()[0].header("x-api-version").as_deref(), Some("2"));
    let lost = fetch(server.address(), &Request::get("/parcels/nobody"), PATIENCE).unwrap();
    assert_eq!(lost.status, 404, "{}", lost.text());
}

/// The rows of the XML answer as the messages say them: no attributes, scalars by their text.
fn without_attributes(value: &Value) -> Value {
    match value {
        Value::Array(elements) => elements.iter().map(without_attributes).collect(),
        Value::Object(members) => match members.get("$t") {
            Some(text) => without_attributes(text),
            None => members
                .iter()
                .map(|(name, member)| (name.clone(), without_attributes(member)))
                .collect(),
        },
        Value::String(text) => json!(text),
        scalar => json!(scalar.to_string()),
    }
}

#[test]
fn the_finding_example_gives_the_same_rows_in_every_format() {
    let apis = example("finding").join("apis");
    let mock = start(&["mock", apis.to_str().unwrap(), "--port", "0"], &apis);
    let (server, _folder) = serve("finding", mock.url());
    let rows = |format: &str| {
        let answer = get(&server, &format!("/finding/keywords/{format}/ipad"));
        let rows = without_attributes(&answer[0]["items"]);
        assert_eq!(rows.as_array().map(Vec::len), Some(50), "{format}");
        rows
    };
    let json = rows("json");
    assert_eq!(rows("protobuf"), json);
    assert_eq!(rows("xml"), json);
}

#[test]
fn the_finding_example_posts_the_search() {
    let canned = fs::read_to_string(example("finding").join("apis/find.xml")).unwrap();
    let upstream = Upstream::with([Expectation::new("POST", "/find.xml")
        .respond(Respond::text("text/xml;charset=UTF-8", &canned))])
    .unwrap();
    let (server, _folder) = serve("finding", upstream.base());
    get(&server, "/finding/keywords/xml/lamp%20%26%20oil");
    let request = &upstream.requests()[0];
    assert_eq!(request.header("content-type").as_deref(), Some("text/xml;charset=utf-8"));
    let body = request.text();
    for part in [
        "<keywords>lamp &amp; oil</keywords>",
        "<pageNumber>1</pageNumber>",
        "<entriesPerPage>50</entriesPerPage>",
    ] {
        assert!(body.contains(part), "{body}");
    }
    assert!(body.starts_with("<?xml"), "{body}");
}

#[test]
fn the_answers_of_the_finding_example_are_those_of_its_generator() {
    let app = example("finding");
    let schema = fs::read_to_string(app.join("tables/finding/search.proto")).unwrap();
    let made = answers(&schema).unwrap();
    let canned = |name: &str| fs::read(app.join("apis").join(name)).unwrap();
    assert_eq!(canned("find.xml"), made.xml.as_bytes());
    assert_eq!(canned("find.protobuf"), made.protobuf);
    assert_eq!(canned("find.json"), made.json.as_bytes());
    // As large as the published ones: 84,387 and 27,497 bytes.
}

/// The captured answers of the published experiment, for those who have them: a folder with
/// `mock.xml`, `mock.protobuf` and `FindItemsByKeywords.proto`.
#[test]
fn the_captured_answers_give_the_same_rows() {
    let Some(data) = std::env::var_os("QLIO_FINDING_DATA").map(PathBuf::from) else {
        eprintln!("skipped: QLIO_FINDING_DATA does not name the folder of the captured answers");
        return;
    };
    let package = "com.ebay.marketplace.search.v1.services.finditemservice";
    let table = |name: &str, clauses: &str| {
        format!("create table {name} on select post to '{{config.api}}/mock.{name}' {clauses}\n")
    };
    let folder = folder(&[
        (
            "tables/xml.ql",
            &table("xml", "resultset 'soapenv:Envelope.soapenv:Body.findItemsByKeywordsResponse'"),
        ),
        (
            "tables/protobuf.ql",
            &table(
                "protobuf",
                &format!(
                    "using format 'protobuf' message '{package}.FindItemsByKeywordsResponse' \
                     from 'schema.proto' root 'r' resultset 'r'"
                ),
            ),
        ),
    ]);
    let path = folder.path();
    fs::copy(data.join("FindItemsByKeywords.proto"), path.join("tables/schema.proto")).unwrap();
    fs::create_dir(path.join("apis")).unwrap();
    for name in ["mock.xml", "mock.protobuf"] {
        fs::copy(data.join(name), path.join("apis").join(name)).unwrap();
    }
    let mock = start(&["mock", "apis", "--port", "0"], path);
    fs::write(path.join("config.json"), json!({"api": mock.url()}).to_string()).unwrap();
    let rows = |table: &str| {
        let script = format!("return select searchResult.item from {table}");
        let arguments = ["run", "--tables", "tables", "--config", "config.json", "-"];
        let finished = run(&arguments, path, &script);
        assert_eq!(finished.code(), Some(0), "{}", finished.stderr);
        let rows: Value = serde_json::from_str(&finished.stdout).unwrap();
        let rows = captured(&without_attributes(&rows));
        assert!(finished.stdout.len() > 40_000, "{}", finished.stdout.len());
        rows
    };
    assert_eq!(rows("xml"), rows("protobuf"));
}

/// Members that the captured messages do not have as the captured XML has them: quotes and doubled
/// blanks are gone, and of repeated values only the last is there.
const CHANGED: &[&str] = &["title", "subtitle", "paymentMethod", "shipToLocations"];

/// Numbers by value; texts without the XML entities that the captured messages hold.
fn captured(value: &Value) -> Value {
    match value {
        Value::Array(elements) => elements.iter().map(captured).collect(),
        Value::Object(members) => {
            let kept = members.iter().filter(|(name, _)| !CHANGED.contains(&name.as_str()));
            kept.map(|(name, member)| (name.clone(), captured(member))).collect()
        }
        Value::String(text) => match text.parse::<f64>() {
            Ok(number) => json!(number),
            Err(_) => json!(text.trim().replace("&amp;", "&")),
        },
        other => other.clone(),
    }
}

#[test]
fn odd_apis_have_clean_routes() {
    let apis = example("odd").join("apis");
    let mock = start(&["mock", apis.to_str().unwrap(), "--port", "0"], &example("odd"));
    let (server, _folder) = serve("odd", mock.url());
    assert_eq!(
        get(&server, "/ports/brest/weather"),
        json!([
            {"what": "wind", "value": 17, "unit": "kn", "at": "06:00"},
            {"what": "air", "value": 9.5, "unit": "C", "at": "06:00"},
        ])
    );
    let booking =
        Request::new("POST", "/pilots").json(&json!({"vessel": "Hermine", "when": "05:40"}));
    let booked = fetch(server.address(), &booking, PATIENCE).unwrap();
    assert_eq!(
        booked.json().unwrap(),
        json!([{"reference": "P-1093", "vessel": "Hermine", "boards": "05:40"}])
    );
    let dues = get(&server, "/dues");
    assert_eq!(dues[0], json!({"class": "liner", "fee": 61000, "metres": 330}));
    assert_eq!(dues.as_array().unwrap().len(), 3);
    assert_eq!(get(&server, "/berths?depth=8"), json!([{"id": "N1", "depth": 12.5}]));
    assert_eq!(server.stop(PATIENCE).code(), Some(0));
}
