//! The example app in front of its sample APIs: what a new user sees first.

use std::path::Path;

use qlio_testkit::client::{Request, fetch};
use serde_json::{Value, json};

use super::{PATIENCE, folder, start};

/// A running example: the sample APIs, and the gateway with their address in its settings.
struct Shop {
    apis: qlio_testkit::process::ServerProcess,
    gateway: qlio_testkit::process::ServerProcess,
    _folder: tempfile::TempDir,
}

impl Shop {
    fn open() -> Self {
        let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/shop");
        let example = example.canonicalize().unwrap();
        let at = |name: &str| example.join(name).display().to_string();
        let apis = start(&["mock", &at("apis"), "--port", "0", "--log"], &example);
        let config = json!({"shop": {"api": format!("http://{}", apis.address())}}).to_string();
        let folder = folder(&[("config.json", &config)]);
        let app = example.display().to_string();
        let gateway = start(
            &[
                "serve",
                "--dev",
                "--strict",
                "--port",
                "0",
                "--config",
                "config.json",
                "--app",
                &app,
            ],
            folder.path(),
        );
        Self { apis, gateway, _folder: folder }
    }

    fn get(&self, path: &str) -> (u16, Value) {
        let answer = fetch(self.gateway.address(), &Request::get(path), PATIENCE).unwrap();
        (answer.status, answer.json().unwrap())
    }

    /// Lines that the sample APIs have logged, one per request.
    fn calls(self) -> usize {
        self.gateway.stop(PATIENCE);
        let log = self.apis.stop(PATIENCE).stderr;
        log.lines().filter(|line| line.contains("GET /")).count()
    }
}

#[test]
fn eleven_calls_become_five_joined_rows() {
    let shop = Shop::open();
    let (status, rows) = shop.get("/products?keyword=lantern");
    assert_eq!(status, 200, "{rows}");
    let rows = rows.as_array().cloned().unwrap_or_default();
    assert_eq!(rows.len(), 5, "{rows:?}");
    for row in &rows {
        for column in ["id", "title", "reviewCount", "rating"] {
            assert!(row.get(column).is_some(), "{row} lacks {column}");
        }
    }
    assert_eq!(shop.calls(), 11);
}

#[test]
fn eleven_calls_are_nested_rows() {
    let shop = Shop::open();
    let (status, rows) = shop.get("/pages/lantern");
    assert_eq!(status, 200, "{rows}");
    assert_eq!(rows.as_array().map(Vec::len), Some(5), "{rows}");
    let latest = json!([{"stars": 5, "title": "Survived the equinox gales"}]);
    assert_eq!(rows[0]["reviews"], json!({"count": 412, "rating": 4.6, "latest": latest}));
    for row in rows.as_array().into_iter().flatten() {
        assert!(row["about"]["description"].is_string(), "{row}");
    }
    assert_eq!(shop.calls(), 11);
}

#[test]
fn the_first_of_each_group_need_one_call() {
    let shop = Shop::open();
    let (status, rows) = shop.get("/makers/lantern");
    assert_eq!(status, 200, "{rows}");
    let makers: Vec<_> = rows.as_array().into_iter().flatten().map(|row| &row["maker"]).collect();
    assert_eq!(makers, ["Atelier Kiri", "Brennhaug Works", "Sundvik Outdoor"]);
    let dearest = json!([
        {"title": "Signal hand lantern", "price": 112.0},
        {"title": "Halden storm lantern", "price": 64.9}
    ]);
    assert_eq!(
        rows[1],
        json!({"maker": "Brennhaug Works", "n": 2, "eur": 176.9, "dearest": dearest})
    );
    assert_eq!(shop.calls(), 1);
}

#[test]
fn three_pages_are_one_list_in_order() {
    let shop = Shop::open();
    let (status, rows) = shop.get("/catalogue");
    assert_eq!(status, 200, "{rows}");
    let prices: Vec<_> = rows.as_array().into_iter().flatten().map(|row| &row["price"]).collect();
    assert_eq!(prices, [24.5, 32.0, 39.0, 58.0, 64.9]);
    assert_eq!(shop.calls(), 3);
}

#[test]
fn the_other_routes_answer_lean_rows() {
    let shop = Shop::open();
    for path in ["/prices?keyword=lantern", "/offers", "/ratings/lantern"] {
        let (status, rows) = shop.get(path);
        assert_eq!(status, 200, "{path}: {rows}");
        assert!(rows.as_array().is_some_and(|rows| !rows.is_empty()), "{path}: {rows}");
    }
}
