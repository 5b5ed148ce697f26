//! Connections of clients: what an idle one costs, and what becomes of a request whose client has closed one
//! half of its connection, or both.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpStream};
use std::path::Path;
use std::time::{Duration, Instant};

use qlio_testkit::client::{Connection, Request, fetch};
use qlio_testkit::process::{ServerProcess, wait};
use qlio_testkit::upstream::{Expectation, Fault, Respond, Upstream};
use rustix::process::{Pid, Resource, Rlimit, prlimit};
use serde_json::json;
use tempfile::TempDir;

use super::{PATIENCE, SERVE, binary, folder, resident_bytes, serve_folder};

/// Idle connections that are measured.
const CONNECTIONS: usize = 4_000;

/// What an idle connection may cost of the server's memory, in bytes. It is a socket for the runtime, a task and a
/// timer: some 2 KB.
const IDLE_BYTES_MAX: usize = 4 * 1024;

/// Milliseconds that the upstream takes.
const DELAY_MS: u64 = 300;

fn serve(upstream: &Upstream) -> (ServerProcess, TempDir) {
    let table =
        |name: &str| format!("create table {name} on select get from '{}/{name}'", upstream.base());
    let route =
        |name: &str| format!("return select * from {name} via route '/{name}' using method get");
    let folder = folder(&[
        ("tables/slow.ql", &table("slow")),
        ("tables/silent.ql", &table("silent")),
        ("routes/slow.ql", &route("slow")),
        ("routes/silent.ql", &route("silent")),
        ("routes/one.ql", "return 1 via route '/one' using method get"),
    ]);
    (serve_folder(folder.path(), &["--dev", "--workers", "1"]), folder)
}

/// With a soft limit of 64 open files, and this hard one.
fn serve_with_files(hard: u32, folder: &Path) -> ServerProcess {
    let limited = format!("ulimit -Sn 64; ulimit -Hn {hard}; exec \"$0\" \"$@\"");
    let more = ["--workers", "1"];
    let arguments = [&["-c", &limited, binary().to_str().unwrap()], &SERVE[..], &more].concat();
    ServerProcess::start(Path::new("/bin/sh"), &arguments, folder, &[], PATIENCE).unwrap()
}

fn upstream() -> Upstream {
    let slow = Respond::json(json!([1])).delay(DELAY_MS);
    let silent = Respond::fault(Fault::Never);
    Upstream::with([
        Expectation::get("/slow").any_calls().respond(slow),
        Expectation::get("/silent").any_calls().respond(silent),
    ])
    .unwrap()
}

#[test]
fn a_client_that_closes_its_half_gets_its_answer() {
    let upstream = upstream();
    let (server, _folder) = serve(&upstream);
    let mut client = TcpStream::connect(server.address()).unwrap();
    client.set_read_timeout(Some(PATIENCE)).unwrap();
    client.write_all(b"GET /slow HTTP/1.1\r\nhost: localhost\r\n\r\n").unwrap();
    client.shutdown(Shutdown::Write).unwrap();
    let mut answer = String::new();
    client.read_to_string(&mut answer).unwrap();
    assert!(answer.contains("HTTP/1.1 200 OK\r\n"), "{answer}");
    assert!(answer.ends_with("\r\n\r\n[1]"), "{answer}");
}

#[test]
fn a_client_that_leaves_ends_what_its_request_has_started() {
    let upstream = upstream();
    let (server, _folder) = serve(&upstream);
    let mut client = Connection::open(server.address(), PATIENCE).unwrap();
    client.send(&Request::get("/silent").to_bytes(server.address())).unwrap();
    assert!(upstream.wait_until(PATIENCE, |ledger| ledger.in_flight() == 1));
    drop(client);
    assert!(upstream.wait_until(PATIENCE, |ledger| ledger.in_flight() == 0));
}

#[test]
fn the_work_for_a_client_that_leaves_ends_at_once() {
    let upstream = upstream();
    let (server, _folder) = serve(&upstream);
    let leave = || {
        let mut client = Connection::open(server.address(), PATIENCE).unwrap();
        client.send(&Request::get("/silent").to_bytes(server.address())).unwrap();
        assert!(upstream.wait_until(PATIENCE, |ledger| ledger.in_flight() == 1));
        drop(client);
        let left = Instant::now();
        assert!(upstream.wait_until(PATIENCE, |ledger| ledger.in_flight() == 0));
        left.elapsed()
    };
    // Other programs may hold the machine for a while, but hardly every time.
    let soonest = (0..20).map(|_| leave()).min().unwrap();
    assert!(soonest < Duration::from_millis(10), "{soonest:?}");
}

#[test]
fn as_many_files_may_be_open_as_the_system_allows() {
    let folder = folder(&[("routes/one.ql", "return 1 via route '/one' using method get")]);
    let server = serve_with_files(1024, folder.path());
    assert_eq!(file_limits(&server), ["1024", "1024"]);
}

/// Whoever comes while no file may be opened hears so, and the server goes on.
#[test]
fn want_of_files_is_told_in_words_and_ends() {
    let upstream = upstream();
    let (server, _folder) = serve(&upstream);
    let mut busy = Connection::open(server.address(), PATIENCE).unwrap();
    busy.send(&Request::get("/silent").to_bytes(server.address())).unwrap();
    assert!(upstream.wait_until(PATIENCE, |ledger| ledger.in_flight() == 1));
    let id = Pid::from_raw(server.id().try_into().unwrap());
    let files: Vec<u64> = fs::read_dir(format!("/proc/{}/fd", server.id()))
        .unwrap()
        .map(|file| file.unwrap().file_name().to_str().unwrap().parse().unwrap())
        .collect();
    // The next one would have the first number that is free.
    let free = (0..=files.len() as u64).find(|number| !files.contains(number));
    let [_, hard] = file_limits(&server);
    let full = Rlimit { current: free, maximum: hard.parse().ok() };
    let before = prlimit(id, Resource::Nofile, full).unwrap();
    for _ in 0..3 {
        let answer = fetch(server.address(), &Request::get("/one"), PATIENCE).unwrap();
        assert_eq!(answer.status, 503);
        assert_eq!(answer.header("retry-after").as_deref(), Some("1"));
    }
    let told = |text: &str| text.contains("too many open files");
    assert!(server.wait_for_stderr(PATIENCE, told), "{}", server.stderr());
    prlimit(id, Resource::Nofile, before).unwrap();
    let is_back = wait(PATIENCE, || {
        fetch(server.address(), &Request::get("/one"), PATIENCE).unwrap().status == 200
    });
    assert!(is_back);
}

/// The soft and the hard limit of open files.
fn file_limits(server: &ServerProcess) -> [String; 2] {
    let limits = fs::read_to_string(format!("/proc/{}/limits", server.id())).unwrap();
    let line = limits.lines().find(|line| line.starts_with("Max open files")).unwrap();
    [3, 4].map(|word| line.split_whitespace().nth(word).unwrap().to_owned())
}

#[test]
fn few_files_are_few_connections_and_the_oldest_makes_room() {
    let folder = folder(&[("routes/one.ql", "return 1 via route '/one' using method get")]);
    let server = serve_with_files(128, folder.path());
    let connect = || {
        let mut client = Connection::open(server.address(), PATIENCE).unwrap();
        client.send(&Request::get("/one").to_bytes(server.address())).unwrap();
        assert_eq!(client.answer("GET").unwrap().text(), "1");
        client
    };
    let told = |text: &str| text.contains("at most 64 connections");
    assert!(server.wait_for_stderr(PATIENCE, told), "{}", server.stderr());
    let mut clients: Vec<_> = (0..100).map(|_| connect()).collect();
    for (place, client) in clients.iter_mut().enumerate() {
        if place < 36 {
            assert!(client.rest().unwrap().is_empty(), "{place}");
        } else {
            client.send(&Request::get("/one").to_bytes(server.address())).unwrap();
            assert_eq!(client.answer("GET").unwrap().text(), "1", "{place}");
        }
    }
}

#[test]
fn an_idle_connection_costs_little_memory() {
    let upstream = upstream();
    let (server, _folder) = serve(&upstream);
    let connect = || {
        let mut client = Connection::open(server.address(), PATIENCE).unwrap();
        client.send(&Request::get("/one").to_bytes(server.address())).unwrap();
        assert_eq!(client.answer("GET").unwrap().text(), "1");
        client
    };
    // What the first ones cost is there once.
    let _first: Vec<_> = (0..200).map(|_| connect()).collect();
    let before = resident_bytes(&server);
    let _idle: Vec<_> = (0..CONNECTIONS).map(|_| connect()).collect();
    let mut each = 0;
    let is_little = wait(PATIENCE, || {
        each = resident_bytes(&server).saturating_sub(before) / CONNECTIONS;
        each <= IDLE_BYTES_MAX
    });
    assert!(is_little, "{each} bytes for each idle connection");
}
