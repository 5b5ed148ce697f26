//! The response cache over the life of the process: start, heartbeat, end.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use qlio_testkit::client::{Request, fetch};
use qlio_testkit::process::ServerProcess;
use qlio_testkit::program::{CacheServer, Running};
use qlio_testkit::upstream::{Expectation, Respond, Upstream};
use rustix::process::Signal;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::{PATIENCE, SERVE, folder, run, serve_folder};

const OPTIONS: [&str; 5] = ["--dev", "--workers", "2", "--config", "config.json"];

/// A folder with these settings and one cached route, `/t`.
fn cached(cache: &Value, upstream: &Upstream) -> TempDir {
    folder(&[
        ("config.json", &json!({"cache": cache}).to_string()),
        (
            "tables/t.ql",
            &format!("create table t on select get from '{}/t' expires 60", upstream.base()),
        ),
        ("routes/t.ql", "return select * from t via route '/t' using method get"),
    ])
}

fn upstream() -> Upstream {
    Upstream::with([Expectation::get("/t").any_calls().json(json!([{"n": 1}]))]).unwrap()
}

fn ask(server: &ServerProcess) -> Value {
    let answer = fetch(server.address(), &Request::get("/t"), PATIENCE).unwrap();
    assert_eq!(answer.status, 200, "{answer}");
    answer.json().unwrap()
}

/// CAC-15, CAC-14.
#[test]
fn the_servers_statistics_are_told_again_and_again_and_the_end_once() {
    for (program, name, statistic) in [
        (CacheServer::Memcached, "memcached", "curr_items"),
        (CacheServer::Redis, "redis", "keyspace_hits"),
    ] {
        let Some(cache) = Running::start(program) else { return };
        let options = json!({"config": cache.address().to_string()});
        let settings =
            json!({"impl": name, "timeoutMs": 2000, "heartbeatMs": 20, "options": options});
        let folder = cached(&settings, &upstream());
        let server = serve_folder(folder.path(), &OPTIONS);
        let beats = |stderr: &str| {
            let beats =
                stderr.lines().filter(|line| line.starts_with(r#"{"name":"cacheHeartBeat""#));
            beats.filter(|line| line.contains(statistic)).count() >= 3
        };
        assert!(server.wait_for_stderr(PATIENCE, beats), "{}", server.stderr());
        let finished = server.stop(PATIENCE);
        assert_eq!(finished.code(), Some(0), "{}", finished.stderr);
        let ends = finished.stderr.matches(r#"{"name":"cacheEnd","event":{}}"#).count();
        assert_eq!(ends, 1, "{}", finished.stderr);
    }
}

/// A table whose hooks tell what they see of the answer, and how often "parse response" ran here.
const PATCH: &str = "
var runs = 0;
exports['parse response'] = function (args) { runs += 1; return {value: {text: args.bytes.toString()}}; };
exports['patch response'] = function (args) {
    return {text: args.body.text, runs: runs, status: args.status, page: args.headers['x-page']};
};
";

#[test]
fn what_one_process_has_parsed_another_has_from_the_shared_cache() {
    for (program, name) in [(CacheServer::Memcached, "memcached"), (CacheServer::Redis, "redis")] {
        let Some(cache) = Running::start(program) else { return };
        let answer = Respond::text("text/plain", "sid=7").header("x-page", "3");
        let expected = Expectation::get("/t").any_calls().respond(answer);
        let upstream = Upstream::with([expected]).unwrap();
        let settings =
            json!({"impl": name, "timeoutMs": 4000, "options": cache.address().to_string()});
        let table = format!(
            "create table t on select get from '{}/t' using patch 'p.js' expires 60",
            upstream.base()
        );
        let folder = folder(&[
            ("config.json", &json!({"cache": settings}).to_string()),
            ("tables/t.ql", &table),
            ("tables/p.js", PATCH),
            ("routes/t.ql", "return select * from t via route '/t' using method get"),
        ]);
        let seen = |runs: u8| json!({"text": "sid=7", "runs": runs, "status": 200, "page": "3"});
        let first = serve_folder(folder.path(), &OPTIONS);
        assert_eq!(ask(&first), seen(1));
        // Shutting down waits for the store.
        let finished = first.stop(PATIENCE);
        assert_eq!(finished.code(), Some(0), "{}", finished.stderr);
        let second = serve_folder(folder.path(), &OPTIONS);
        assert_eq!(ask(&second), seen(0), "{}", second.stderr());
        assert_eq!(upstream.look(|ledger| ledger.requests().len()), 1, "{name}");
    }
}

/// Speaks as much memcached as one store needs, and takes its time with that: tells when it has begun,
/// and finishes it when it is told to. Answers whether its last word still found a listener.
fn slow_memcached() -> (String, Receiver<()>, Sender<()>, Receiver<bool>) {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let (begun, has_begun) = channel();
    let (go, may_go) = channel();
    let (heard, is_heard) = channel();
    thread::spawn(move || {
        while let Ok((stream, _)) = listener.accept() {
            if store_slowly(stream, &begun, &may_go, &heard).is_some() {
                return;
            }
        }
    });
    (address, has_begun, go, is_heard)
}

/// Serves one connection; none if it ends without a store.
fn store_slowly(
    stream: TcpStream,
    begun: &Sender<()>,
    may_go: &Receiver<()>,
    heard: &Sender<bool>,
) -> Option<()> {
    let mut answers = stream.try_clone().ok()?;
    let mut requests = BufReader::new(stream);
    loop {
        let mut line = String::new();
        if requests.read_line(&mut line).ok()? == 0 {
            return None;
        }
        if !line.starts_with("set ") {
            answers.write_all(b"END\r\n").ok()?;
            continue;
        }
        let length: usize = line.split_whitespace().nth(4)?.parse().ok()?;
        requests.read_exact(&mut vec![0; length + 2]).ok()?;
        begun.send(()).ok()?;
        may_go.recv().ok()?;
        answers.set_nonblocking(true).ok()?;
        // A connection that has been closed meanwhile reads as its end rather than as nothing yet.
        let is_open = answers
            .peek(&mut [0])
            .is_err_and(|error| error.kind() == std::io::ErrorKind::WouldBlock);
        answers.set_nonblocking(false).ok()?;
        heard.send(is_open && answers.write_all(b"STORED\r\n").is_ok()).ok()?;
        return Some(());
    }
}

#[test]
fn what_is_being_stored_is_stored_before_the_end() {
    let (address, has_begun, go, is_heard) = slow_memcached();
    let settings = json!({"impl": "memcached", "timeoutMs": 4000, "options": address});
    let upstream = upstream();
    let folder = cached(&settings, &upstream);
    let mut server = serve_folder(folder.path(), &OPTIONS);
    // The client has its answer; the store goes on behind it.
    assert_eq!(ask(&server), json!([{"n": 1}]));
    has_begun.recv_timeout(PATIENCE).unwrap();
    server.signal(Signal::TERM).unwrap();
    // It accepts nobody any more, and waits for the store.
    let accepts = || TcpStream::connect(server.address()).is_ok();
    assert!(qlio_testkit::process::wait(PATIENCE, || !accepts()));
    assert!(!server.has_ended());
    go.send(()).unwrap();
    assert!(is_heard.recv_timeout(PATIENCE).unwrap(), "the connection was closed");
    let finished = server.finish(PATIENCE);
    assert_eq!(finished.code(), Some(0), "{}", finished.stderr);
    assert!(!finished.stderr.contains("cacheError"), "{}", finished.stderr);
}

#[test]
fn without_a_usable_cache_the_server_runs_uncached_unless_it_is_to_be_strict() {
    let options =
        json!({"config": ["rediss://me:s3cret@localhost:1"], "options": {"cluster": true}});
    let upstream = upstream();
    let folder = cached(&json!({"impl": "redis", "options": options}), &upstream);
    let server = serve_folder(folder.path(), &OPTIONS);
    let problem = r#"Unable to attach to Cache: {"impl":"redis","message":"a cluster cannot"#;
    assert!(server.wait_for_stderr(PATIENCE, |told| told.contains(problem)), "{}", server.stderr());
    for _ in 0..2 {
        assert_eq!(ask(&server), json!([{"n": 1}]));
    }
    assert_eq!(upstream.look(|ledger| ledger.requests().len()), 2);
    let strict = [&SERVE[..], &OPTIONS, &["--strict"]].concat();
    let finished = run(&strict, folder.path(), "");
    assert_eq!(finished.code(), Some(1), "{}", finished.stderr);
    assert!(finished.stderr.contains(problem), "{}", finished.stderr);
    assert!(!finished.stderr.contains("s3cret"), "{}", finished.stderr);
}
