//! Large bodies hold no worker: while one is decoded, written or compressed, the worker answers others (ADR 0027).

use std::{
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::Instant,
};

use qlio_testkit::{
    client::{Answer, Connection, Request, fetch},
    process::ServerProcess,
    upstream::{Expectation, Respond, Upstream},
};

use super::{PATIENCE, folder, serve_folder};

/// How many cheap requests a worker answers that is held: the one that was asked before, and one that comes in
/// between.
const HELD_TURNS_MAX: usize = 2;

/// How many cheap requests are answered at least while a large body is in work.
pub(super) const TURNS_MIN: usize = 10;

/// Elements of a large body.
const ELEMENTS: usize = 40_000;

fn xml() -> String {
    let element = |number: usize| {
        format!(
            "<row a=\"{number}\"><name>Lamp &amp; {number}</name><price>{number}.5</price></row>"
        )
    };
    format!("<rows>{}</rows>", (0..ELEMENTS).map(element).collect::<String>())
}

fn json() -> String {
    let element = |number: usize| {
        format!(
            r#"{{"name":"Lamp & {number}","price":{number}.5,"more":[[{number}],{{"of":[]}}]}}"#
        )
    };
    format!("[{}]", (0..ELEMENTS).map(element).collect::<Vec<_>>().join(","))
}

/// A server of one worker that answers a cheap route, and routes from a table each.
fn serve(
    upstream: &Upstream,
    routes: &[(&str, &str)],
    settings: &str,
) -> (ServerProcess, tempfile::TempDir) {
    let mut files = vec![
        ("routes/cheap.ql".to_owned(), "return 1 via route '/cheap' using method get".to_owned()),
        ("qlio.json".to_owned(), settings.to_owned()),
    ];
    for (name, route) in routes {
        let table = format!("create table {name} on select get from '{}/{name}'", upstream.base());
        files.push((format!("tables/{name}.ql"), table));
        files.push((format!("routes/{name}.ql"), (*route).to_owned()));
    }
    let files: Vec<_> = files.iter().map(|(name, text)| (&**name, &**text)).collect();
    let folder = folder(&files);
    let server = serve_folder(folder.path(), &["--workers", "1", "--config", "qlio.json"]);
    (server, folder)
}

/// Sends a request, and asks the cheap route until its answer is there, from the moment on that `has_begun` says;
/// the answer, and how many cheap ones came before it.
pub(super) fn turns(
    server: &ServerProcess,
    request: &Request,
    has_begun: impl Fn() -> bool,
) -> (Answer, usize) {
    let mut connection = Connection::open(server.address(), PATIENCE).unwrap();
    connection.send(&request.to_bytes(server.address())).unwrap();
    assert!(has_begun(), "the upstream has sent its answer");
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        let waiting = scope.spawn(|| {
            let answer = connection.answer("GET").unwrap();
            is_over.store(true, Ordering::SeqCst);
            answer
        });
        let mut cheap = 0;
        while !is_over.load(Ordering::SeqCst) {
            let answer = fetch(server.address(), &Request::get("/cheap"), PATIENCE).unwrap();
            assert_eq!(answer.text(), "1");
            cheap += 1;
        }
        (waiting.join().unwrap(), cheap)
    })
}

#[test]
fn a_worker_answers_others_while_a_large_answer_is_decoded() {
    let respond = |content_type: &str, body: String| Respond::text(content_type, &body);
    let coded = respond("application/json", json()).coding("gzip");
    let chunked = Respond { chunked: true, ..respond("application/json", json()) };
    let cases = [
        ("xml", respond("text/xml", xml()), "select row[0].name from xml"),
        ("xmlrows", respond("text/xml", xml()), "select rows.row[*].price from xmlrows"),
        ("tree", respond("application/json", json()), "select more[0][0] from tree limit 1"),
        ("chunked", chunked, "select name from chunked limit 1"),
        ("gzip", coded, "select name from gzip limit 1"),
    ];
    for (name, respond, script) in cases {
        let path = format!("/{name}");
        let upstream = Upstream::with([Expectation::get(&path).respond(respond)]).unwrap();
        let route = format!("return {script} via route '{path}' using method get");
        let (server, _folder) = serve(&upstream, &[(name, &route)], "{}");
        let is_sent = || {
            upstream.wait_until(PATIENCE, |ledger| {
                ledger.requests().len() == 1 && ledger.in_flight() == 0
            })
        };
        let (answer, cheap) = turns(&server, &Request::get(&path), is_sent);
        assert_eq!(answer.status, 200, "{name}: {:.300}", answer.text());
        assert!(cheap >= TURNS_MIN, "{name}: {cheap} cheap answers meanwhile");
    }
}

#[test]
fn a_worker_answers_others_while_a_large_body_of_a_client_is_read_and_a_large_answer_written() {
    let upstream = Upstream::start().unwrap();
    let echo = ("echo", "return \"{req.body}\" via route '/echo' using method post");
    let (server, _folder) = serve(&upstream, &[echo], "{}");
    for (content_type, body, coding) in
        [("text/xml", xml(), None), ("application/json", json(), Some("gzip"))]
    {
        let mut request = Request::new("POST", "/echo").header("content-type", content_type);
        if let Some(coding) = coding {
            // It is compressed unless the machine is busy.
            request = request.header("accept-encoding", coding);
        }
        let (answer, cheap) = turns(&server, &request.body(body), || true);
        assert_eq!(answer.status, 200, "{content_type}: {:.300}", answer.text());
        assert!(cheap >= TURNS_MIN, "{content_type}: {cheap} cheap answers meanwhile");
    }
}

#[test]
fn a_worker_answers_others_while_one_function_takes_long() {
    let upstream = Upstream::start().unwrap();
    let cases = [
        ("distinct", "value length(array_distinct(range(1, n))) from t"),
        ("pattern", "value regexp_matches(repeat('ab', 80 * n), '(a|b)*c$') from t"),
        ("like", "count(*) as c from t where repeat('ab', 80 * n) like '%b_c%'"),
        ("made", "value length(split(repeat('a,', 10 * n), ',')) from t"),
        ("grouped", "count(*) as c from t group by range(1, n)"),
    ];
    let routes: Vec<_> = cases
        .iter()
        .map(|(name, select)| {
            let list = "t = [{\"n\": 100000}]";
            (*name, format!("{list}; return select {select} via route '/{name}' using method get"))
        })
        .collect();
    let routes: Vec<_> = routes.iter().map(|(name, route)| (*name, &**route)).collect();
    let patient = r#"{"limits": {"cpuMs": 600000, "memoryMiB": 2000}}"#;
    let (server, _folder) = serve(&upstream, &routes, patient);
    for (name, expected) in [
        ("distinct", "[100000]"),
        ("pattern", "[false]"),
        ("like", r#"[{"c":0}]"#),
        ("made", "[1000001]"),
        ("grouped", r#"[{"c":1}]"#),
    ] {
        let (answer, cheap) = turns(&server, &Request::get(&format!("/{name}")), || true);
        assert_eq!((answer.status, &*answer.text()), (200, expected), "{name}");
        assert!(cheap > HELD_TURNS_MAX, "{name}: {cheap} cheap answers meanwhile");
    }
}

#[test]
fn more_large_answers_than_may_wait_are_refused_and_said_so() {
    const REQUESTS: usize = 8;
    let respond = Respond::text("text/xml", &xml());
    let upstream = Upstream::with([Expectation::get("/xml").any_calls().respond(respond)]).unwrap();
    let route = "return select row[0].name from xml via route '/xml' using method get";
    let settings = r#"{"heavy": {"threads": 1, "maxWaiting": 1}}"#;
    let (server, _folder) = serve(&upstream, &[("xml", route)], settings);
    let mut connections: Vec<_> =
        (0..REQUESTS).map(|_| Connection::open(server.address(), PATIENCE).unwrap()).collect();
    for connection in &mut connections {
        connection.send(&Request::get("/xml").to_bytes(server.address())).unwrap();
    }
    let answers: Vec<_> =
        connections.iter_mut().map(|connection| connection.answer("GET").unwrap()).collect();
    let (good, refused): (Vec<_>, Vec<_>) = answers.iter().partition(|answer| answer.status == 200);
    assert!(!good.is_empty(), "none was decoded");
    assert!(!refused.is_empty(), "none was refused");
    for answer in refused {
        let error = answer.json().unwrap();
        assert_eq!((answer.status, error["code"].as_str()), (503, Some("Q5017")), "{error}");
        assert_eq!(error["limit"], 1, "{error}");
        assert_eq!(answer.header("retry-after").as_deref(), Some("1"));
    }
    // Nothing is left behind: once the thread has dropped what it had made, it takes the next one.
    let next = || fetch(server.address(), &Request::get("/xml"), PATIENCE).unwrap().status;
    let end = Instant::now() + PATIENCE;
    while next() != 200 {
        assert!(Instant::now() < end, "the thread stays busy");
    }
}
