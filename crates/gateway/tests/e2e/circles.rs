//! Routes that call each other, or themselves, in a circle (SAF-42).

use qlio_testkit::client::{Request, fetch};
use qlio_testkit::upstream::{Expectation, Upstream};
use serde_json::{Value, json};

use super::{PATIENCE, folder, serve_folder};

/// Asks for a route whose table calls the route itself; how often the route was run, and the answer.
fn run_in_a_circle(settings: &str) -> (usize, Value) {
    let tally = Upstream::with([Expectation::get("/tally").any_calls()]).unwrap();
    let folder = folder(&[
        ("config.json", settings),
        (
            "tables/tally.ql",
            &format!("create table tally on select get from '{}/tally'", tally.base()),
        ),
        (
            "tables/again.ql",
            "create table again on select get from 'http://127.0.0.1:{^port}/again?port={port}'",
        ),
        (
            "routes/again.ql",
            "tick = select * from tally
             return select * from again where port = '{port}' and tick = '{tick}'
             via route '/again?port={port}' using method get",
        ),
    ]);
    let server = serve_folder(folder.path(), &["--workers", "2", "--config", "config.json"]);
    let address = server.address();
    let circle = Request::get(&format!("/again?port={}", address.port()));
    let answer = fetch(address, &circle, PATIENCE).unwrap();
    assert_eq!(answer.status, 508, "{answer}");
    assert_eq!(answer.header("qlio-hops").as_deref(), Some("exceeded"), "{answer}");
    let other = fetch(address, &Request::get("/elsewhere"), PATIENCE).unwrap();
    assert_eq!(other.status, 404, "it goes on serving: {other}");
    (tally.look(|ledger| ledger.requests().len()), answer.json().unwrap())
}

#[test]
fn a_route_that_calls_itself_ends_with_508() {
    let (runs, error) = run_in_a_circle("{}");
    assert_eq!(runs, 6, "asked by the client, and by five of its kind");
    assert_eq!((&error["code"], &error["limit"]), (&json!("Q7020"), &json!(5)), "{error}");
    assert_eq!(error["table"], "again");
}

#[test]
fn the_length_of_a_circle_is_a_setting() {
    let (runs, error) = run_in_a_circle(r#"{"maxHops": 2}"#);
    assert_eq!((runs, &error["limit"]), (3, &json!(2)), "{error}");
}
