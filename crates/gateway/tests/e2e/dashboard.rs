//! The dashboard of `packaging/grafana`: a real Prometheus understands all it asks, and a server has what it asks for.

use std::{collections::BTreeSet, fs, path::Path, thread, time::Duration};

use qlio_testkit::{
    client::{Request, fetch},
    process::wait,
    program::{Prometheus, Running},
};
use regex_lite::Regex;
use serde_json::Value;

use super::{
    PATIENCE,
    admin::{admin_of, ask},
    folder, serve_folder,
};

/// All queries of a dashboard, with the variables of Grafana filled.
fn queries(dashboard: &Value, found: &mut BTreeSet<String>) {
    match dashboard {
        Value::Object(members) => {
            if let Some(text) = members.get("expr").and_then(Value::as_str) {
                let text = text.replace("job=\"$job\"", "job=~\".*\"").replace("$instance", ".*");
                found.insert(text.replace("$__rate_interval", "1m"));
            }
            members.values().for_each(|member| queries(member, found));
        }
        Value::Array(members) => members.iter().for_each(|member| queries(member, found)),
        _ => {}
    }
}

/// A text as a part of a URI.
fn encoded(text: &str) -> String {
    text.bytes().fold(String::new(), |text, byte| text + &format!("%{byte:02X}"))
}

#[test]
fn every_query_of_the_dashboard_is_understood_and_asks_for_metrics_that_there_are() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging/grafana/qlio.json");
    let dashboard: Value = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
    let mut asked = BTreeSet::new();
    queries(&dashboard, &mut asked);
    assert!(asked.len() > 30, "{asked:?}");
    assert!(asked.iter().all(|query| !query.contains('$')), "{asked:?}");

    let folder = folder(&[("routes/a.ql", "return 1 via route '/a' using method get")]);
    let server = serve_folder(folder.path(), &["--admin", "0"]);
    let admin = admin_of(&server);
    assert_eq!(fetch(server.address(), &Request::get("/a"), PATIENCE).unwrap().status, 200);
    let scrape = ask(admin, "GET", "/metrics").text();
    let families: BTreeSet<_> =
        scrape.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split(' ').next()).collect();
    // Parts of a histogram have names of their own.
    let name = Regex::new(r"\b(?:http_(?:server|client)|qlio|process)_[a-z_]+").unwrap();
    let mut wanted = BTreeSet::new();
    for query in &asked {
        for found in name.find_iter(query).map(|found| found.as_str()) {
            let family = ["_bucket", "_count"].iter().find_map(|end| found.strip_suffix(end));
            let family = family.unwrap_or(found);
            assert!(families.contains(family), "`{family}` of `{query}` is not in {families:?}");
            wanted.insert(family);
        }
    }
    let unseen: Vec<_> = families.iter().filter(|family| !wanted.contains(**family)).collect();
    assert!(unseen.is_empty(), "the dashboard does not show {unseen:?}");

    let Some(prometheus) = Running::start(Prometheus::of(admin, None)) else { return };
    let answer = |query: &str| -> Value {
        let target = format!("/api/v1/query?query={}", encoded(query));
        let answer = fetch(prometheus.address(), &Request::get(&target), PATIENCE).unwrap();
        answer.json().unwrap_or_else(|_| panic!("{query}: {}", answer.text()))
    };
    for query in &asked {
        let answer = answer(query);
        assert_eq!(answer["status"], "success", "{query}: {answer}");
    }
    let ready = asked.iter().find(|query| query.starts_with("sum(qlio_ready{")).unwrap();
    let is_shown = wait(PATIENCE, || {
        thread::sleep(Duration::from_millis(50));
        answer(ready)["data"]["result"][0]["value"][1] == "1"
    });
    assert!(is_shown, "{}", answer(ready));
}
