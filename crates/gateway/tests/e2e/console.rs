//! What the console asks for that case files cannot say: large results and files that browsers keep.

use qlio_testkit::case::conversation::Received;
use qlio_testkit::client::{Answer, Request, fetch};
use qlio_testkit::process::ServerProcess;
use qlio_testkit::websocket::connect;
use serde_json::{Value, json};

use super::{PATIENCE, folder, serve_folder};

fn ask(server: &ServerProcess, request: &Request) -> Answer {
    fetch(server.address(), request, PATIENCE).unwrap()
}

/// A script whose result takes more than 256 KiB of JSON.
fn large_script() -> String {
    format!("return {}", json!(vec!["x".repeat(1000); 300]))
}

#[test]
fn a_large_result_is_fetched_once_by_whoever_may_run_scripts() {
    let config = json!({"wsMaxFrame": 1_000_000}).to_string();
    let folder = folder(&[("qlio.json", &config)]);
    let server = serve_folder(folder.path(), &["--dev", "--config", "qlio.json", "--workers", "2"]);
    let mut socket =
        connect(server.address(), "/console", Some("ql.io-console"), &[], PATIENCE).unwrap();
    let mut result = |more: Value| {
        let mut message = json!({"type": "script", "data": large_script(), "id": 1});
        message.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        socket.send_text(&message.to_string()).unwrap();
        match socket.receive() {
            Received::Message(message) => message["data"].clone(),
            other => panic!("{other:?}"),
        }
    };
    let whole = result(json!({}));
    assert_eq!(whole["body"].as_array().unwrap().len(), 300, "nobody asked for an address");
    let data = result(json!({"result": "url"}));
    assert!(data.get("body").is_none() && data["headers"]["content-type"] == "application/json");
    let path = format!("/{}", data["url"].as_str().unwrap());
    let foreign = Request::get(&path).header("origin", "https://evil.example");
    assert_eq!(ask(&server, &foreign).status, 403);
    let fetched = ask(&server, &Request::get(&path));
    assert_eq!(
        (fetched.status, fetched.header("cache-control").as_deref()),
        (200, Some("no-store"))
    );
    assert_eq!(fetched.body.len() as u64, data["bytes"].as_u64().unwrap());
    assert_eq!(fetched.json().unwrap(), whole["body"]);
    assert_eq!(ask(&server, &Request::get(&path)).status, 404, "it is given out once");
    let data = result(json!({"result": "url"}));
    let path = format!("/{}", data["url"].as_str().unwrap());
    let packed = ask(&server, &Request::get(&path).header("accept-encoding", "gzip"));
    assert_eq!(packed.header("content-encoding").as_deref(), Some("gzip"));
    assert!(packed.body.len() < 10_000, "{} bytes", packed.body.len());
}

#[test]
fn what_a_browser_has_is_not_sent_again() {
    let folder = folder(&[("tables/t.ql", "create table t on select get from 'http://h.test/'")]);
    let server = serve_folder(folder.path(), &["--dev"]);
    let paths = [
        "/console",
        "/console/console.js",
        "/console/console.css",
        "/console/NOTICE",
        "/console/catalog",
    ];
    for path in paths {
        let plain = ask(&server, &Request::get(path));
        assert_eq!(plain.status, 200, "{path}");
        let tag = plain.header("etag").unwrap();
        let again = ask(&server, &Request::get(path).header("if-none-match", &tag));
        assert_eq!((again.status, again.body.len()), (304, 0), "{path}");
        let packed = ask(&server, &Request::get(path).header("accept-encoding", "gzip"));
        assert!(packed.body.len() <= plain.body.len(), "{path}");
    }
    let mut wire = 0;
    for path in &paths[..3] {
        wire += ask(&server, &Request::get(path).header("accept-encoding", "gzip")).body.len();
    }
    assert!(wire <= 260 << 10, "the console takes {wire} bytes on the wire");
    let kept = ask(&server, &Request::get("/console/console.js?v=1"));
    assert!(kept.header("cache-control").unwrap().contains("immutable"));
}
