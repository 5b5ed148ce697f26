//! Access tokens: what several statements wait for at the same time, and what traces tell of them.

use std::thread;

use qlio_testkit::case::check::trace_of;
use qlio_testkit::client::{Answer, Request, fetch};
use qlio_testkit::upstream::{Expectation, Respond, Upstream};
use serde_json::json;

use super::{PATIENCE, folder, serve_folder};

/// Asks for the rows of the table, and for the trace of it.
const TRACED: &str = "/q?s=select%20*%20from%20tides&events=true";

/// A table whose upstream wants a token.
fn tides(base: &str, secret: &str) -> String {
    format!(
        "create table tides on select get from '{base}/tides'
         using oauth2 client 'a' secret '{secret}' token '{base}/token'"
    )
}

/// How long the token endpoint takes.
const TOKEN_DELAY_MS: u64 = 1500;

/// How long the hasty statement waits; far less.
const HASTE_MS: u64 = 100;

#[test]
fn a_hasty_statement_fails_alone_while_the_token_it_waits_for_is_fetched() {
    let token = json!({"access_token": "tok", "token_type": "Bearer", "expires_in": 3600});
    let upstream = Upstream::with([
        Expectation::new("POST", "/token").respond(Respond::json(token).delay(TOKEN_DELAY_MS)),
        Expectation::get("/tides").any_calls().with_header("authorization", Some("Bearer tok")),
    ])
    .unwrap();
    let table = tides(upstream.base(), "b");
    let hasty = format!(
        "return select * from tides timeout {HASTE_MS} via route '/hasty' using method get"
    );
    let folder = folder(&[
        ("tables/tides.ql", &table),
        ("routes/patient.ql", "return select * from tides via route '/patient' using method get"),
        ("routes/hasty.ql", &hasty),
    ]);
    // One worker: tokens are kept per thread.
    let server = serve_folder(folder.path(), &["--dev", "--strict", "--workers", "1"]);
    let address = server.address();
    let ask = move |path: &str| fetch(address, &Request::get(path), PATIENCE).unwrap();
    let patient = thread::spawn(move || ask("/patient"));
    assert!(upstream.wait_until(PATIENCE, |ledger| ledger.in_flight() == 1));
    let second = thread::spawn(move || ask("/patient"));
    let late: Answer = ask("/hasty");
    // Its time was up, and the token was still to come.
    assert_eq!(late.status, 504, "{late}");
    let error = late.json().unwrap();
    assert_eq!((&error["code"], &error["timeout"]), (&json!("Q5003"), &json!(HASTE_MS)), "{error}");
    assert!(error["message"].as_str().unwrap().starts_with("no token for table tides"), "{error}");
    assert_eq!(upstream.look(|ledger| (ledger.requests().len(), ledger.in_flight())), (1, 1));
    for waiting in [patient, second] {
        let answer = waiting.join().unwrap();
        assert_eq!(answer.status, 200, "{answer}");
    }
    assert_eq!(ask("/hasty").status, 200);
    // One token for all.
    upstream.verify().unwrap();
}

#[test]
fn a_trace_tells_requests_for_tokens_but_no_token() {
    let token = json!({"access_token": "t0k3n-value", "expires_in": 3600});
    let upstream = Upstream::with([
        Expectation::new("POST", "/token").json(token),
        Expectation::get("/tides").with_header("authorization", Some("Bearer t0k3n-value")),
    ])
    .unwrap();
    let table = tides(upstream.base(), "s3-cr3t");
    let folder = folder(&[("tables/tides.ql", &table)]);
    let server = serve_folder(folder.path(), &["--dev"]);
    let query = Request::get(TRACED);
    let answer = fetch(server.address(), &query, PATIENCE).unwrap();
    assert_eq!(answer.status, 200, "{answer}");
    upstream.verify().unwrap();
    let trace = answer.header("link").unwrap();
    assert!(trace.contains("%2Ftoken%22"), "{trace}");
    for secret in ["t0k3n", "s3-cr3t"] {
        assert!(!trace.contains(secret), "{trace}");
    }
}

/// A call that had to wait for its token is shown as waiting, for as long as it did, and its phases add up.
#[test]
fn a_trace_tells_how_long_a_token_was_waited_for() {
    const DELAY_MS: i64 = 150;
    let token = json!({"access_token": "tok", "expires_in": 3600});
    let upstream = Upstream::with([
        Expectation::new("POST", "/token")
            .respond(Respond::json(token).delay(DELAY_MS.unsigned_abs())),
        Expectation::get("/tides").any_calls(),
    ])
    .unwrap();
    let table = tides(upstream.base(), "b");
    let folder = folder(&[("tables/tides.ql", &table)]);
    // One worker: tokens are kept per thread.
    let server = serve_folder(folder.path(), &["--dev", "--workers", "1"]);
    let query = Request::get(TRACED);
    let response = || {
        let answer = fetch(server.address(), &query, PATIENCE).unwrap();
        let packets = trace_of(&answer.headers).unwrap();
        let is_response = |packet: &&serde_json::Value| packet["type"] == "statement-response";
        let last = packets.as_array().unwrap().iter().rfind(is_response);
        let time = last.unwrap()["time"].as_i64().unwrap();
        // Whole milliseconds; what did not take place is -1.
        let phase = |name: &str| last.unwrap()["timings"][name].as_i64().unwrap().max(0);
        let phases = ["blocked", "dns", "connect", "send", "wait", "receive"].map(phase);
        (time, phases[0], phases.iter().sum::<i64>())
    };
    let (time, blocked, phases) = response();
    assert!(blocked >= DELAY_MS, "{blocked} of {time} ms");
    assert!((time - phases).abs() < DELAY_MS, "{phases} of {time} ms");
    let (time, blocked, _) = response();
    assert!(blocked < DELAY_MS, "the token was at hand: {blocked} of {time} ms");
}
