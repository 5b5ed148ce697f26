//! Connections of clients: what an idle one costs, and what becomes of a request whose client has closed one
//! half of its connection, or both.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpStream};

use qlio_testkit::client::{Connection, Request};
use qlio_testkit::process::{ServerProcess, wait};
use qlio_testkit::upstream::{Expectation, Fault, Respond, Upstream};
use serde_json::json;
use tempfile::TempDir;

use super::{PATIENCE, folder, serve_folder};

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
    client.write_all(b"GET /slow HTTP/1.1\r\nhost: h\r\n\r\n").unwrap();
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

/// The memory of a process that is in use.
fn resident_bytes(server: &ServerProcess) -> usize {
    let status = fs::read_to_string(format!("/proc/{}/status", server.id())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<usize>().unwrap() * 1024
}
