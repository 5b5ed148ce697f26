//! A server that another process watches, and how servers end (SUP-1 to SUP-9, SRV-55).

use std::{
    fs,
    io::{Read as _, Write as _},
    net::{SocketAddr, TcpListener},
    os::{
        fd::AsRawFd as _,
        unix::{
            fs::{PermissionsExt as _, symlink},
            net::{UnixDatagram, UnixListener, UnixStream},
        },
    },
    path::Path,
    time::Duration,
};

use qlio_testkit::{
    client::{Connection, Request, fetch},
    process::{ServerProcess, wait},
};
use rustix::{
    io::{FdFlags, fcntl_dupfd_cloexec, fcntl_setfd},
    process::{Pid, Signal, kill_process},
};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::{
    PATIENCE, SERVE,
    admin::{BUSY_ROUTE, Flood, admin_of, ask, sample},
    binary, folder, run,
};

const ROUTE: (&str, &str) = ("routes/a.ql", "return 1 via route '/a' using method get");

/// An executable that ends at once.
const CRASHING: &str = "#!/bin/sh\nexit 3\n";

/// A server with a supervisor, whose executable is a link that can be replaced.
fn supervised(more: &[&str]) -> (ServerProcess, TempDir) {
    let folder = folder(&[ROUTE]);
    symlink(binary(), folder.path().join("qlio")).unwrap();
    let arguments =
        [&SERVE[..], &["--supervise", "--workers", "1", "--pids", "pids"], more].concat();
    let executable = folder.path().join("qlio");
    let server = ServerProcess::start(&executable, &arguments, folder.path(), &[], PATIENCE);
    (server.unwrap_or_else(|error| panic!("{error}")), folder)
}

/// Puts another executable in the place of the one that a supervisor starts.
fn replace(folder: &Path, crashing: bool) {
    let new = folder.join("new");
    if crashing {
        fs::write(&new, CRASHING).unwrap();
        let mode = fs::Permissions::from_mode(0o755);
        fs::set_permissions(&new, mode).unwrap();
    } else {
        symlink(binary(), &new).unwrap();
    }
    fs::rename(new, folder.join("qlio")).unwrap();
}

/// The processes that serve.
fn workers(folder: &Path) -> Vec<i32> {
    let Ok(entries) = fs::read_dir(folder.join("pids")) else { return Vec::new() };
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let workers = names.filter(|name| name.starts_with("worker."));
    workers.filter_map(|name| name.split('.').nth(1)?.parse().ok()).collect()
}

fn status(server: SocketAddr) -> Option<u16> {
    fetch(server, &Request::get("/a"), PATIENCE).ok().map(|answer| answer.status)
}

#[test]
fn a_server_that_is_killed_is_replaced_and_too_many_deaths_end_it_all() {
    let (mut server, folder) = supervised(&[]);
    let address = server.address();
    assert_eq!(status(address), Some(200));
    let first = workers(folder.path());
    assert_eq!(first.len(), 1);
    kill_process(Pid::from_raw(first[0]).unwrap(), Signal::KILL).unwrap();
    // Whoever connects meanwhile is answered by the next one.
    assert_eq!(status(address), Some(200));
    let is_told = |text: &str| text.contains("has died (signal 9)");
    assert!(server.wait_for_stderr(PATIENCE, is_told), "{}", server.stderr());
    assert!(wait(PATIENCE, || workers(folder.path()).iter().any(|id| !first.contains(id))));
    assert!(!server.has_ended());
    replace(folder.path(), true);
    for id in workers(folder.path()) {
        // The file of the one that was killed is still there.
        let _ = kill_process(Pid::from_raw(id).unwrap(), Signal::KILL);
    }
    let finished = server.finish(PATIENCE);
    assert_eq!(finished.code(), Some(1), "{}", finished.stderr);
    assert!(finished.stderr.contains("5 within 10 s, which is too often"), "{}", finished.stderr);
}

#[test]
fn an_upgrade_loses_no_request_and_one_that_fails_changes_nothing() {
    let (mut server, folder) = supervised(&["--admin", "0"]);
    let (address, admin) = (server.address(), admin_of(&server));
    let upgrade = || run(&["upgrade"], folder.path(), "");
    let old = workers(folder.path());
    let held = {
        let mut connection = Connection::open(address, PATIENCE).unwrap();
        connection.send(&Request::get("/a").to_bytes(address)).unwrap();
        assert_eq!(connection.answer("GET").unwrap().status, 200);
        connection
    };
    replace(folder.path(), true);
    let failed = upgrade();
    assert_eq!(failed.code(), Some(1), "{}", failed.stderr);
    assert!(failed.stderr.contains("not upgraded: process"), "{}", failed.stderr);
    assert_eq!((status(address), workers(folder.path())), (Some(200), old.clone()));
    replace(folder.path(), false);
    let asked = std::thread::scope(|scope| {
        let asking = scope.spawn(|| {
            let mut asked = 0;
            while !workers(folder.path()).iter().all(|id| !old.contains(id)) {
                assert_eq!(status(address), Some(200));
                asked += 1;
            }
            asked
        });
        let done = upgrade();
        assert_eq!(done.code(), Some(0), "{}", done.stderr);
        assert!(done.stderr.contains("upgraded: process"), "{}", done.stderr);
        asking.join().unwrap()
    });
    assert!(asked > 0);
    drop(held);
    // Operators are at the same address as before.
    assert!(wait(PATIENCE, || ask(admin, "GET", "/readyz").status == 200));
    assert_eq!(status(address), Some(200));
    let done = run(&["shutdown"], folder.path(), "");
    assert_eq!(done.code(), Some(0), "{}", done.stderr);
    assert_eq!(server.finish(PATIENCE).code(), Some(0));
    assert_eq!(fs::read_dir(folder.path().join("pids")).unwrap().count(), 0);
}

#[test]
fn a_server_that_cannot_start_is_not_started_again() {
    let folder = folder(&[("routes/a.ql", "return via")]);
    let arguments = [&SERVE[..], &["--supervise"]].concat();
    let finished = run(&arguments, folder.path(), "");
    assert_eq!(finished.code(), Some(1), "{}", finished.stderr);
    assert_eq!(finished.stderr.matches("not started").count(), 1, "{}", finished.stderr);
}

#[test]
fn servers_are_ended_by_command() {
    let folder = folder(&[ROUTE]);
    let arguments = [&SERVE[..], &["--pids", "pids"]].concat();
    for command in ["shutdown", "stop"] {
        let mut server = super::start(&arguments, folder.path());
        assert!(wait(PATIENCE, || status(server.address()) == Some(200)));
        let done = run(&[command], folder.path(), "");
        assert_eq!(done.code(), Some(0), "{}", done.stderr);
        let code = server.finish(PATIENCE).code();
        assert_eq!(code, (command == "shutdown").then_some(0));
        assert_eq!(fs::read_dir(folder.path().join("pids")).unwrap().count(), 0);
        let nothing = run(&[command], folder.path(), "");
        assert!(
            nothing.code() == Some(1) && nothing.stderr.contains("no server"),
            "{}",
            nothing.stderr
        );
    }
    let upgrade = run(&["upgrade", "--pids", "none"], folder.path(), "");
    assert!(upgrade.code() == Some(1) && upgrade.stderr.contains("--pids"), "{}", upgrade.stderr);
}

#[test]
fn the_service_manager_is_told_how_the_server_is() {
    let folder = folder(&[ROUTE]);
    let path = folder.path().join("notify");
    let socket = UnixDatagram::bind(&path).unwrap();
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    let environment = [("NOTIFY_SOCKET", path.to_str().unwrap()), ("WATCHDOG_USEC", "100000")];
    let server = ServerProcess::start(binary(), &SERVE, folder.path(), &environment, PATIENCE);
    let mut server = server.unwrap_or_else(|error| panic!("{error}"));
    let wait_for = |wanted: &str| wait_until_told(&socket, wanted);
    wait_for("READY=1");
    wait_for("WATCHDOG=1");
    server.signal(Signal::HUP).unwrap();
    assert!(wait_for("RELOADING=1").contains("MONOTONIC_USEC="));
    wait_for("READY=1");
    server.signal(Signal::TERM).unwrap();
    wait_for("STOPPING=1");
    assert_eq!(server.finish(PATIENCE).code(), Some(0));
}

/// What the service manager is told, once this is in it.
fn wait_until_told(socket: &UnixDatagram, wanted: &str) -> String {
    let mut buffer = [0; 1024];
    loop {
        let length = socket.recv(&mut buffer).unwrap();
        let text = String::from_utf8_lossy(&buffer[..length]).into_owned();
        if text.contains(wanted) {
            return text;
        }
    }
}

/// SUP-6: a server whose worker answers nobody is restarted, because it does not say that it works.
#[test]
fn the_watchdog_hears_nothing_while_a_worker_is_late() {
    let folder = folder(&[BUSY_ROUTE]);
    let path = folder.path().join("notify");
    let socket = UnixDatagram::bind(&path).unwrap();
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    // Told every 20 ms, unless a worker is late by as much.
    let environment = [("NOTIFY_SOCKET", path.to_str().unwrap()), ("WATCHDOG_USEC", "40000")];
    let arguments = [&SERVE[..], &["--admin", "0", "--workers", "1"]].concat();
    let server = ServerProcess::start(binary(), &arguments, folder.path(), &environment, PATIENCE);
    let server = server.unwrap_or_else(|error| panic!("{error}"));
    let admin = admin_of(&server);
    wait_until_told(&socket, "WATCHDOG=1");
    let flood = Flood::begin(&server);
    // In half a second it would be told some twenty times.
    socket.set_read_timeout(Some(Duration::from_millis(500))).unwrap();
    assert!(wait(PATIENCE, || socket.recv(&mut [0; 1024]).is_err()), "it is told all the time");
    let lag = || sample(admin, "qlio_worker_lag_seconds{worker=\"0\"}").parse::<f64>().unwrap();
    assert!(wait(PATIENCE, || lag() > 0.02), "the worker is never late, at last by {} s", lag());
    drop(flood);
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    wait_until_told(&socket, "WATCHDOG=1");
}

/// The answer at a socket, whole.
fn ask_socket(path: &Path) -> String {
    let mut stream = UnixStream::connect(path).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.write_all(b"GET /a HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn a_folder_for_numbers_that_cannot_be_made_is_named() {
    let folder = folder(&[ROUTE]);
    let arguments = [&SERVE[..], &["--supervise", "--pids", "/dev/null/pids"]].concat();
    let refused = run(&arguments, folder.path(), "");
    let named = "cannot supervise: cannot write to `/dev/null/pids`: ";
    assert!(refused.stderr.contains(named), "{}", refused.stderr);
}

#[test]
fn a_unix_socket_of_a_supervisor_stays_through_deaths_and_upgrades_and_goes_with_it() {
    let settings = r#"{"listen": ["127.0.0.1:0", "unix:http.sock mode=600"]}"#;
    let folder = folder(&[ROUTE, ("qlio.json", settings)]);
    let arguments = ["serve", "--supervise", "--workers", "1", "--pids", "pids"];
    let mut server = super::start(&arguments, folder.path());
    let socket = folder.path().join("http.sock");
    let is_answered = || ask_socket(&socket).starts_with("HTTP/1.1 200 ");
    assert!(is_answered());
    assert_eq!(fs::metadata(&socket).unwrap().permissions().mode() & 0o777, 0o600);
    assert!(server.stdout().lines().any(|line| line == "unix:http.sock"), "{}", server.stdout());
    let first = workers(folder.path());
    kill_process(Pid::from_raw(first[0]).unwrap(), Signal::KILL).unwrap();
    // Whoever connects meanwhile is answered by the next one.
    assert!(is_answered());
    let done = run(&["upgrade"], folder.path(), "");
    assert_eq!(done.code(), Some(0), "{}", done.stderr);
    assert!(is_answered());
    assert_eq!(status(server.address()), Some(200));
    server.signal(Signal::TERM).unwrap();
    assert_eq!(server.finish(PATIENCE).code(), Some(0));
    assert!(!socket.exists());
}

/// As systemd starts a service that has sockets: one of TCP for the address, one of unix for the path.
#[test]
fn unix_sockets_that_are_handed_over_are_found_by_their_path() {
    let directory = folder(&[ROUTE]);
    let path = directory.path().join("own.sock");
    let place = format!("unix:{}", path.display());
    let serve = |places: Value, listener: &UnixListener| {
        let settings = json!({ "listen": places }).to_string();
        fs::write(directory.path().join("qlio.json"), settings).unwrap();
        fcntl_setfd(listener, FdFlags::empty()).unwrap();
        let first = listener.as_raw_fd().to_string();
        let environment = [("LISTEN_FDS", "1"), ("LISTEN_FDS_FIRST_FD", &*first)];
        let arguments = ["serve", "--workers", "1"];
        ServerProcess::start(binary(), &arguments, directory.path(), &environment, PATIENCE)
    };
    let listener = UnixListener::bind(&path).unwrap();
    // What is not handed over the server binds itself.
    let server = serve(json!(["127.0.0.1:0", place]), &listener);
    let server = server.unwrap_or_else(|error| panic!("{error}"));
    assert!(ask_socket(&path).starts_with("HTTP/1.1 200 "));
    assert_eq!(status(server.address()), Some(200));
    assert_eq!(server.stop(PATIENCE).code(), Some(0));
    assert!(path.exists(), "its file belongs to whoever has opened it");
    let refused = serve(json!(["127.0.0.1:0", "unix:other.sock"]), &listener);
    let told = refused.expect_err("there is no place for it").to_string();
    assert!(told.contains("was handed over and is not among the places"), "{told}");
}

/// As systemd starts a service that has sockets.
#[test]
fn sockets_that_are_handed_over_are_listened_on() {
    let folder = folder(&[ROUTE]);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    // Whoever connects before there is a server waits.
    let mut early = Connection::open(address, PATIENCE).unwrap();
    early.send(&Request::get("/a").to_bytes(address)).unwrap();
    fcntl_setfd(&listener, FdFlags::empty()).unwrap();
    let first = listener.as_raw_fd().to_string();
    let environment = [("LISTEN_FDS", "1"), ("LISTEN_FDS_FIRST_FD", &*first)];
    let server = ServerProcess::start(binary(), &SERVE, folder.path(), &environment, PATIENCE);
    let server = server.unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(server.address(), address);
    assert_eq!(early.answer("GET").unwrap().status, 200);
}

/// As systemd starts a service with a socket for clients and one that is called `admin`, whatever the settings say.
#[test]
fn sockets_that_are_handed_over_are_told_apart_by_their_names() {
    let folder = folder(&[ROUTE]);
    let [admin, clients] = [(); 2].map(|()| TcpListener::bind("127.0.0.1:0").unwrap());
    let serve = |admin: &TcpListener| {
        // Systemd hands them over one behind the other, here at numbers that no other test of this process has.
        let first = fcntl_dupfd_cloexec(admin, 300).unwrap();
        let second = fcntl_dupfd_cloexec(&clients, first.as_raw_fd() + 1).unwrap();
        assert_eq!(second.as_raw_fd(), first.as_raw_fd() + 1);
        for socket in [&first, &second] {
            fcntl_setfd(socket, FdFlags::empty()).unwrap();
        }
        let number = first.as_raw_fd().to_string();
        let environment = [
            ("LISTEN_FDS", "2"),
            ("LISTEN_FDS_FIRST_FD", &*number),
            ("LISTEN_FDNAMES", "admin:qlio.socket"),
        ];
        ServerProcess::start(binary(), &SERVE, folder.path(), &environment, PATIENCE)
    };
    let open = TcpListener::bind("0.0.0.0:0").unwrap();
    let refused = serve(&open).expect_err("others reach it, and there is no token").to_string();
    assert!(refused.contains("set `admin.token`"), "{refused}");
    let server = serve(&admin).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(server.address(), clients.local_addr().unwrap());
    assert_eq!(status(server.address()), Some(200));
    let admin = admin.local_addr().unwrap();
    assert_eq!(admin_of(&server), admin);
    assert_eq!((ask(admin, "GET", "/livez").status, ask(admin, "GET", "/a").status), (200, 404));
}

#[test]
fn a_server_that_leaves_says_so_and_goes_on_answering_for_a_while() {
    let folder = folder(&[ROUTE]);
    let mut server = super::serve_folder(folder.path(), &["--admin", "0", "--drainDelay", "2000"]);
    let (address, admin) = (server.address(), admin_of(&server));
    let mut connection = Connection::open(address, PATIENCE).unwrap();
    connection.send(&Request::get("/a").to_bytes(address)).unwrap();
    assert_ne!(connection.answer("GET").unwrap().header("connection").as_deref(), Some("close"));
    server.signal(Signal::TERM).unwrap();
    assert!(wait(Duration::from_secs(30), || ask(admin, "GET", "/readyz").status == 503));
    let health = fetch(address, &Request::get("/ecv"), PATIENCE).unwrap();
    assert!(health.status == 400 && health.text().contains("DISABLED"), "{}", health.text());
    connection.send(&Request::get("/a").to_bytes(address)).unwrap();
    let answer = connection.answer("GET").unwrap();
    assert_eq!((answer.status, answer.header("connection").as_deref()), (200, Some("close")));
    assert_eq!(server.finish(PATIENCE).code(), Some(0));
}
