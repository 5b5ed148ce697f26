//! Rows of large answers are read while they arrive: however a body comes, the answer is that of the body
//! as a whole.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use qlio_testkit::{
    client::{Answer, Request, fetch},
    upstream::{Expectation, Fault, Respond, Upstream},
};

use super::{PATIENCE, folder, peak_bytes, serve_folder};

/// Pieces that end anywhere in a row, and are large enough to be read one by one.
const PIECE_BYTES: usize = 40_009;

/// Rows with everything that a row may have, 400 KB of them.
fn rows(name: &str) -> String {
    let row = |number: usize| {
        format!(
            r#"{{"id":{number},"{name}":"名 \"{number}\"\n\u00e9","x":{{"id":["]}}",{{}}]}},"tags":["a","b"],"note":"{}"}}"#,
            "z".repeat(number % 97)
        )
    };
    (0..3000).map(row).collect::<Vec<_>>().join(" ,\r\n")
}

/// What upstreams send, as the name of a table with the place of its rows, and a body.
fn bodies() -> Vec<(&'static str, &'static str, String)> {
    let all = rows("name");
    let cut = all.len() - 3;
    vec![
        ("rows", "", format!("[{all}]")),
        ("enveloped", "r.s", format!("{{\"n\":1,\"r\":{{\"s\":[{all}],\"t\":[]}},\"m\":{{}}}}")),
        ("repeated", "r", format!("{{\"r\":[{all}],\"r\":[{{\"id\":7}}]}}")),
        ("elsewhere", "r", format!("{{\"s\":[{all}]}}")),
        ("mixed", "", format!("[{all},1,null,{{\"id\":2}}]")),
        ("single", "", format!("{{\"id\":[{all}]}}")),
        ("unlike", "", format!("[{}]", rows("title"))),
        ("unended", "", format!("[{all}")),
        ("trailing", "", format!("[{all}] ]")),
        ("broken", "", format!("[{},{}]", &all[..cut], &all)),
    ]
}

fn respond(body: &str) -> Respond {
    Respond {
        body: Some(body.to_owned()),
        content_type: Some("application/json".to_owned()),
        ..Respond::default()
    }
}

fn in_pieces(body: &str) -> Respond {
    let fault = Some(Fault::SlowBody);
    Respond { fault, size: Some(PIECE_BYTES), pace: Some(1), ..respond(body) }
}

fn text(answer: &Answer) -> (u16, String) {
    (answer.status, answer.text())
}

#[test]
fn an_answer_in_pieces_is_the_answer_as_a_whole() {
    let bodies = bodies();
    let upstream = Upstream::start().unwrap();
    let mut files = Vec::new();
    for (name, path, body) in &bodies {
        // A body without a length is read when it is complete.
        let whole = Respond { chunked: true, ..respond(body) };
        let path = if path.is_empty() { String::new() } else { format!("resultset '{path}'") };
        upstream.expect([
            Expectation::get(&format!("/{name}")).respond(in_pieces(body)),
            Expectation::get(&format!("/{name}")).respond(whole),
        ]);
        let table =
            format!("create table {name} on select get from '{}/{name}' {path}", upstream.base());
        let route = format!(
            "return select name as title, id as id, id as again from {name} via route '/{name}' using method get"
        );
        files.push((format!("tables/{name}.ql"), table));
        files.push((format!("routes/{name}.ql"), route));
    }
    let files: Vec<_> = files.iter().map(|(name, text)| (&**name, &**text)).collect();
    let folder = folder(&files);
    let server = serve_folder(folder.path(), &["--dev", "--strict", "--workers", "1"]);
    for (name, ..) in &bodies {
        let request = Request::get(&format!("/{name}"));
        let [pieces, whole] = [0; 2].map(|_| fetch(server.address(), &request, PATIENCE).unwrap());
        let is_right = matches!(*name, "unended" | "trailing" | "broken") == (whole.status == 502);
        assert!(is_right, "{name}: {} {:.300}", whole.status, whole.text());
        assert_eq!(text(&pieces), text(&whole), "{name}");
    }
    upstream.verify().unwrap();
}

#[test]
fn of_a_body_that_broke_off_nothing_is_left() {
    // The same but for a name, so that its rows stand in the same places.
    let (first, second) = (format!("[{}]", rows("game")), format!("[{}]", rows("name")));
    let broken = Respond { fault: Some(Fault::ResetBody), ..respond(&first) };
    let coded = Respond { coding: Some("gzip".to_owned()), ..respond(&second) };
    let upstream = Upstream::with([
        Expectation::get("/t").respond(broken.clone()),
        Expectation::get("/t").respond(in_pieces(&second)),
        Expectation::get("/t").respond(broken),
        Expectation::get("/t").respond(coded),
        Expectation::get("/t").respond(respond(&second)),
    ])
    .unwrap();
    let table = format!("create table t on select get from '{}/t'", upstream.base());
    let route = "return select name, id from t via route '/t' using method get";
    let folder = folder(&[("tables/t.ql", &table), ("routes/t.ql", route)]);
    let server = serve_folder(folder.path(), &["--dev", "--strict", "--workers", "1"]);
    let request = Request::get("/t");
    let answers = [0; 3].map(|_| fetch(server.address(), &request, PATIENCE).unwrap());
    assert_eq!(answers[2].json().unwrap().as_array().map(Vec::len), Some(3000));
    assert_eq!(text(&answers[0]), text(&answers[2]), "a body in pieces after one that broke off");
    assert_eq!(text(&answers[1]), text(&answers[2]), "a coded one");
    upstream.verify().unwrap();
}

/// SAF-25: elements are built only as far as there is memory for them, and rows that stay text need less.
#[test]
fn more_elements_than_there_is_memory_for_go_over_the_limit_that_says_so() {
    let body = format!("[{}]", vec![r#"{"a":[1,2]}"#; 40_000].join(","));
    let upstream =
        Upstream::with([Expectation::get("/many").any_calls().respond(respond(&body))]).unwrap();
    let table = format!("create table many on select get from '{}/many'", upstream.base());
    let route = |select: &str, path: &str, memory: u32| {
        format!(
            "return select {select} from many limit 1 via route '{path}' using method get using limits memoryMiB = {memory}"
        )
    };
    let (few, enough) = (route("a[0]", "/few", 4), route("a[0]", "/enough", 64));
    let text = route("a", "/text", 4);
    let folder = folder(&[
        ("tables/many.ql", &table),
        ("routes/few.ql", &few),
        ("routes/enough.ql", &enough),
        ("routes/text.ql", &text),
    ]);
    let server = serve_folder(folder.path(), &["--workers", "1"]);
    let answer = |path: &str| fetch(server.address(), &Request::get(path), PATIENCE).unwrap();
    let refused = answer("/few");
    assert_eq!(refused.status, 400, "{}", refused.text());
    let error = refused.json().unwrap();
    let (message, asked) = (error["message"].as_str().unwrap(), error["asked"].as_u64().unwrap());
    let expected = format!(
        "the run asks for {asked} MiB of memory, more than limits.memoryMiB = 4; ask for less, or raise the setting, or say `using limits memoryMiB = {asked}` in the route"
    );
    assert!(message.contains(&expected), "{message}");
    assert!((6..64).contains(&asked), "{message}");
    assert_eq!((answer("/enough").status, answer("/text").status), (200, 200));
    upstream.verify().unwrap();
}

#[test]
fn large_answers_of_upstreams_share_a_memory_that_they_give_back() {
    const LENGTH: usize = 200_000;
    let body = |length: usize| format!("\"{}\"", "x".repeat(length));
    let answers = [("fits", LENGTH), ("large", 2 * LENGTH), ("pieces", 2 * LENGTH), ("small", 7)];
    let expectations = answers.map(|(name, length)| {
        let respond = if name == "pieces" {
            Respond { chunked: true, ..in_pieces(&body(length)) }
        } else {
            respond(&body(length))
        };
        Expectation::get(&format!("/{name}")).any_calls().respond(respond)
    });
    let upstream = Upstream::with(expectations).unwrap();
    let base = upstream.base();
    let mut files = vec![("qlio.json".to_owned(), r#"{"maxUpstreamMemory": 300000}"#.to_owned())];
    for (name, _) in answers {
        let table = format!("create table {name} on select get from '{base}/{name}'");
        files.push((format!("tables/{name}.ql"), table));
        let route = format!("return select * from {name} via route '/{name}' using method get");
        files.push((format!("routes/{name}.ql"), route));
    }
    let files: Vec<_> = files.iter().map(|(name, text)| (&**name, &**text)).collect();
    let folder = folder(&files);
    let server = serve_folder(folder.path(), &["--workers", "2", "--config", "qlio.json"]);
    let get = |path: &str| fetch(server.address(), &Request::get(path), PATIENCE).unwrap();
    for _ in 0..3 {
        // What one has taken is free for the next, whether it was an answer or not.
        assert_eq!(text(&get("/fits")), (200, body(LENGTH)));
        for path in ["/large", "/pieces"] {
            let refused = get(path);
            let error = refused.json().unwrap();
            assert_eq!((refused.status, error["code"].as_str()), (503, Some("Q7021")), "{error}");
            assert_eq!(error["limit"], 300_000, "{error}");
            assert_eq!(refused.header("retry-after").as_deref(), Some("1"));
        }
        assert_eq!(text(&get("/small")), (200, body(7)));
    }
}

/// SAF-25: what is decoded for a hook is held against the run from the decoder on until it is charged.
#[test]
fn large_answers_for_hooks_keep_to_the_memory_of_their_run_together() {
    // In MessagePack, rows of four bytes that take a hundred and fifty each.
    const ROWS: u32 = 100_000;
    const ANSWERS: usize = 6;
    const MEMORY: usize = 32 << 20;
    let mut body = vec![0xdd];
    body.extend(ROWS.to_be_bytes());
    body.extend([0x81, 0xa1, b'a', 0x07].repeat(ROWS as usize));
    let respond = Respond {
        base64: Some(STANDARD.encode(body)),
        content_type: Some("application/msgpack".to_owned()),
        ..Respond::default()
    };
    let paths = (0..ANSWERS).map(|number| format!("/t/{number}"));
    let answers = paths.map(|path| Expectation::get(&path).respond(respond.clone()));
    let upstream = Upstream::with(answers).unwrap();
    // Each takes longer than the next answer takes to be decoded.
    let patch = "exports['patch response'] = function (args) {
        for (var end = Date.now() + 700; Date.now() < end;) {}
        return 1;
    };";
    let table = format!(
        "create table t on select get from '{}/t/{{n}}' using patch 't.js'",
        upstream.base()
    );
    let numbers: Vec<_> = (0..ANSWERS).map(|number| format!("'{number}'")).collect();
    let route = format!(
        "return select * from t where n in ({}) via route '/t' using method get using limits memoryMiB = {}",
        numbers.join(", "),
        MEMORY >> 20
    );
    let settings = r#"{"hooks": {"timeMs": 20000}, "limits": {"cpuMs": 60000}}"#;
    let folder = folder(&[
        ("tables/t.ql", &table),
        ("tables/t.js", patch),
        ("routes/t.ql", &route),
        ("qlio.json", settings),
    ]);
    let server = serve_folder(folder.path(), &["--workers", "1", "--config", "qlio.json"]);
    let before = peak_bytes(&server);
    let answer = fetch(server.address(), &Request::get("/t"), PATIENCE).unwrap();
    assert_eq!(text(&answer), (200, format!("[{}]", ["1"; ANSWERS].join(","))));
    let grown = peak_bytes(&server) - before;
    // The allocator takes more for a value than is counted of it, and the interpreter has its own.
    assert!(grown < 3 * MEMORY, "{grown} bytes of a run that may have {MEMORY}");
    upstream.verify().unwrap();
}

/// What a heavy thread drops of a worker's memory is there for the worker's next run (`allocator.c`).
#[test]
#[cfg(target_os = "linux")]
fn runs_behind_each_other_take_the_memory_of_one() {
    const RUNS: usize = 30;
    const GROWN_BYTES_MAX: usize = 24 << 20;
    let rows: Vec<_> =
        (0..150_000).map(|number| format!(r#"{{"k":{number},"v":{number}}}"#)).collect();
    let body = format!("[{}]", rows.join(","));
    let upstream =
        Upstream::with([Expectation::get("/t").any_calls().respond(respond(&body))]).unwrap();
    let table = format!("create table t on select get from '{}/t'", upstream.base());
    let route = "all = select * from t\nreturn select v from all where v = 'none' via route '/t' using method get";
    let folder = folder(&[
        ("tables/t.ql", &table),
        ("routes/t.ql", route),
        ("qlio.json", r#"{"limits": {"cpuMs": 60000}}"#),
    ]);
    let server = serve_folder(folder.path(), &["--workers", "1", "--config", "qlio.json"]);
    let answer = || fetch(server.address(), &Request::get("/t"), PATIENCE).unwrap();
    let first = answer();
    assert_eq!((first.status, first.text().as_str()), (200, "[]"), "{}", first.text());
    let before = peak_bytes(&server);
    for _ in 0..RUNS {
        assert_eq!(answer().status, 200);
    }
    let grown = peak_bytes(&server) - before;
    assert!(
        grown < GROWN_BYTES_MAX,
        "{RUNS} runs, one after the other, took {grown} bytes more than one"
    );
    upstream.verify().unwrap();
}
