//! Scripts and templates of tables over the life of the process: they are what they were at the start.

use std::fs;

use qlio_testkit::client::{Connection, Request, fetch};
use qlio_testkit::upstream::{Expectation, Upstream};
use serde_json::json;

use super::{PATIENCE, folder, serve_folder};

#[test]
fn what_could_not_be_loaded_at_the_start_is_not_tried_again() {
    let upstream = Upstream::with([
        Expectation::get("/plain").any_calls().json(json!([1])),
        Expectation::new("POST", "/").calls(0),
    ])
    .unwrap();
    let base = upstream.base();
    let table = |name: &str, clauses: &str| {
        format!(
            "create table {name} on insert post to '{base}/' {clauses} \
             on select get from '{base}/plain'"
        )
    };
    let route = |name: &str| {
        format!("return insert into {name} (id) values (1) via route '/{name}' using method get")
    };
    let names = ["patched", "mustached", "formed"];
    let folder = folder(&[
        ("tables/patched.ql", &table("patched", "using patch 'p.js'")),
        ("tables/p.js", "throw new Error('low tide');"),
        ("tables/mustached.ql", &table("mustached", "using bodyTemplate 'm.mu' type 'text/plain'")),
        ("tables/m.mu", &"{{#open}}".repeat(1000)),
        (
            "tables/formed.ql",
            &table("formed", "using bodyTemplate 'f.txt' type 'application/x-www-form-urlencoded'"),
        ),
        ("tables/f.txt", "id={id"),
        ("routes/patched.ql", &route("patched")),
        ("routes/mustached.ql", &route("mustached")),
        ("routes/formed.ql", &route("formed")),
        ("routes/plain.ql", "return select * from formed via route '/plain' using method get"),
    ]);
    let server = serve_folder(folder.path(), &["--dev", "--workers", "1"]);
    let failure = |name: &str| {
        let answer = fetch(server.address(), &Request::get(&format!("/{name}")), PATIENCE).unwrap();
        assert_eq!(answer.status, 500, "{answer}");
        let error = answer.json().unwrap();
        let message = error["message"].as_str().unwrap().to_owned();
        assert!(message.starts_with(&format!("Table {name} failed to load: ")), "{message}");
        message
    };
    let before = names.map(failure);
    for (file, text) in [("p.js", ""), ("m.mu", "{{params.id}}"), ("f.txt", "id={id}")] {
        fs::write(folder.path().join("tables").join(file), text).unwrap();
    }
    assert_eq!(names.map(failure), before);
    // What does not need the broken part works.
    let plain = fetch(server.address(), &Request::get("/plain"), PATIENCE).unwrap();
    assert_eq!(plain.json().unwrap(), json!([1]), "{plain}");
    upstream.verify().unwrap();
}

/// The folder of an app in which a patch, a module that it requires late, and a function have a word.
fn with_words(base: &str, word: &str) -> tempfile::TempDir {
    folder(&[
        (
            "tables/t.ql",
            &format!("create table t on select get from '{base}/t' using patch 'p.js'"),
        ),
        (
            "tables/p.js",
            &format!(
                "exports['patch response'] = function (args) {{ return '{word} ' + require('./' + 'late').word; }};"
            ),
        ),
        ("tables/late.js", &format!("exports.word = '{word}';")),
        ("lib/f.js", &format!("exports.f = function () {{ return '{word}'; }};")),
        (
            "routes/r.ql",
            "f = require('lib/f.js')\na = select * from t\nb = f.f()\n\
             return ['{a}', '{b}'] via route '/r' using method get",
        ),
    ])
}

#[test]
fn scripts_that_change_or_go_after_the_start_change_nothing_for_any_worker() {
    const WORKERS: usize = 3;
    let upstream =
        Upstream::with([Expectation::get("/t").any_calls().json(json!("from upstream"))]).unwrap();
    let folder = with_words(upstream.base(), "first");
    let workers = WORKERS.to_string();
    let server = serve_folder(folder.path(), &["--dev", "--workers", &workers]);
    let files = ["tables/p.js", "tables/late.js", "lib/f.js"];
    // Before any worker has run a script: one file changes, the others go.
    fs::write(
        folder.path().join(files[0]),
        "exports['patch response'] = function () { return 'second'; };",
    )
    .unwrap();
    for file in &files[1..] {
        fs::remove_file(folder.path().join(file)).unwrap();
    }
    // Connections go to the worker with the fewest, so those that stay open reach them all.
    let mut clients: Vec<_> =
        (0..2 * WORKERS).map(|_| Connection::open(server.address(), PATIENCE).unwrap()).collect();
    for client in &mut clients {
        client.send(&Request::get("/r").to_bytes(server.address())).unwrap();
        let answer = client.answer("GET").unwrap();
        assert_eq!(answer.json().unwrap(), json!(["first first", "first"]), "{answer}");
    }
}
