//! The example apps, served as their README files say, on free ports.

use std::fs;
use std::path::{Path, PathBuf};

use qlio_testkit::client::{Request, fetch};
use qlio_testkit::process::ServerProcess;
use qlio_testkit::upstream::{Expectation, Respond, Upstream};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::{PATIENCE, start};

/// The folder of an example app.
pub(crate) fn example(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples").join(name)
}

/// Serves an example; `api` takes the place of the address in its settings. The folder holds the
/// changed settings.
pub(crate) fn serve(name: &str, api: &str) -> (ServerProcess, TempDir) {
    let app = example(name);
    let settings = fs::read_to_string(app.join("config.json")).unwrap();
    let folder = TempDir::new().unwrap();
    let config = folder.path().join("config.json");
    fs::write(&config, settings.replace("http://127.0.0.1:7070", api)).unwrap();
    let (tables, routes) = (app.join("tables"), app.join("routes"));
    let text = |path: &Path| path.to_str().unwrap().to_owned();
    let (tables, routes, config) = (text(&tables), text(&routes), text(&config));
    let arguments = [
        "serve",
        "--strict",
        "--dev",
        "--workers",
        "1",
        "--port",
        "0",
        "--tables",
        &tables,
        "--routes",
        &routes,
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
