//! Recording a scripted upstream and replaying it without.

use std::{fs, path::Path, time::Duration};

use qlio_testkit::{
    client::Request,
    upstream::{Expectation, Respond, Upstream},
};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::{
    record::{self, RecordOptions},
    replay::{self, Latency, ReplayOptions},
    tests::Running,
};

fn recorder(folder: &Path, upstream: &str) -> Running {
    let options = RecordOptions {
        folder: folder.to_owned(),
        upstream: upstream.to_owned(),
        host: "127.0.0.1".to_owned(),
        port: 0,
        log: None,
    };
    Running::begin(async { record::serve(options).await.unwrap() })
}

fn player(folder: &Path, latency: Latency) -> Running {
    let options = ReplayOptions {
        folder: folder.to_owned(),
        latency,
        host: "127.0.0.1".to_owned(),
        port: 0,
        log: None,
    };
    Running::begin(async { replay::serve(options).await.unwrap() })
}

#[test]
fn what_was_recorded_is_replayed_without_the_upstream() {
    let folder = TempDir::new().unwrap();
    let pressed = Respond::text("text/csv", "a,b\n1,2\n").coding("gzip").header("x-page", "2");
    let upstream = Upstream::with([
        Expectation::get("/books?q=sea&api_key=s3cret").json(json!([1])),
        Expectation::get("/books?q=sea&api_key=s3cret").json(json!([2])),
        Expectation::new("POST", "/orders")
            .with_body("one")
            .respond(Respond::json(json!({"n": 1})).status(201)),
        Expectation::new("POST", "/orders")
            .with_body("two")
            .respond(Respond::json(json!({"n": 2})).status(409)),
        Expectation::get("/sheet").respond(pressed.delay(120)),
    ])
    .unwrap();
    let books =
        Request::get("/books?q=sea&api_key=s3cret").header("authorization", "Bearer s3cret");
    let orders = |body: &str| Request::new("POST", "/orders").body(body);
    let sheet = Request::get("/sheet").header("accept-encoding", "gzip");
    let recorded = {
        let recorder = recorder(folder.path(), upstream.base());
        [&books, &books, &orders("one"), &orders("two"), &sheet]
            .map(|request| recorder.fetch(request))
    };
    upstream.verify().unwrap();
    drop(upstream);
    assert_eq!(
        (recorded[4].text().as_str(), recorded[4].header("content-encoding")),
        ("a,b\n1,2\n", None)
    );

    let index = fs::read_to_string(folder.path().join("index.json")).unwrap();
    assert!(!index.contains("s3cret"), "{index}");
    let index: Value = serde_json::from_str(&index).unwrap();
    let files: Vec<_> = index["exchanges"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["file"].as_str().unwrap())
        .collect();
    let expected = [
        "1.200.application.json",
        "2.200.application.json",
        "3.201.application.json",
        "4.409.application.json",
        "5.200.text.csv",
    ];
    assert_eq!(files, expected);

    let player = player(folder.path(), Latency::Recorded);
    let begun = std::time::Instant::now();
    // Another order than recorded, and another key.
    let again = [
        &sheet,
        &orders("two"),
        &orders("one"),
        &Request::get("/books?api_key=other&q=sea"),
        &books,
        &books,
    ]
    .map(|request| player.fetch(request));
    assert!(begun.elapsed() >= Duration::from_millis(120));
    let shown = |answer: &qlio_testkit::client::Answer| {
        (answer.status, answer.text(), answer.header("content-type"), answer.header("x-page"))
    };
    for (played, at) in again.iter().zip([4, 3, 2, 0, 1, 1]) {
        assert_eq!(shown(played), shown(&recorded[at]));
    }
    let unknown = player.get("/books?q=land");
    assert_eq!(
        (unknown.status, unknown.json().unwrap()),
        (404, json!({"message": "nothing recorded for `GET /books?q=land`"}))
    );
}

#[test]
fn a_recording_is_replayed_at_once_if_asked_for() {
    let folder = TempDir::new().unwrap();
    let upstream =
        Upstream::with([Expectation::get("/a").respond(Respond::json(json!(1)).delay(400))])
            .unwrap();
    assert_eq!(recorder(folder.path(), upstream.base()).get("/a").text(), "1");
    let player = player(folder.path(), Latency::Fixed(Duration::ZERO));
    let begun = std::time::Instant::now();
    assert_eq!(player.get("/a").text(), "1");
    assert!(begun.elapsed() < Duration::from_millis(400));
}

#[test]
fn an_upstream_that_fails_is_not_recorded() {
    let folder = TempDir::new().unwrap();
    let gone = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let recorder = recorder(folder.path(), &format!("http://{gone}/base/"));
    assert_eq!(recorder.get("/a").status, 502);
    let index: Value =
        serde_json::from_str(&fs::read_to_string(folder.path().join("index.json")).unwrap())
            .unwrap();
    assert_eq!(index, json!({"exchanges": []}));
}

#[test]
fn a_recorded_body_that_is_gone_is_an_error_of_the_mock() {
    let folder = TempDir::new().unwrap();
    let upstream = Upstream::with([Expectation::get("/a").json(json!(1))]).unwrap();
    recorder(folder.path(), upstream.base()).get("/a");
    fs::remove_file(folder.path().join("1.200.application.json")).unwrap();
    let answer = player(folder.path(), Latency::Recorded).get("/a");
    assert_eq!(answer.status, 500, "{answer}");
    assert!(answer.text().contains("1.200.application.json"), "{answer}");
}
