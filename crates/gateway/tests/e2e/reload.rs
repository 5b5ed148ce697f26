//! An app that is read anew while it is served (OPR-1 to OPR-6).

use std::{
    collections::BTreeSet,
    fs,
    net::SocketAddr,
    os::unix::fs::symlink,
    path::Path,
    time::{Duration, Instant},
};

use qlio_testkit::{
    case::conversation::Received,
    client::{Request, fetch},
    process::{ServerProcess, wait},
    websocket::{Socket, connect},
};
use rustix::process::Signal;
use serde_json::{Value, json};

use super::{
    PATIENCE,
    admin::{admin_of, ask, json_of, sample},
    folder,
    load::Load,
    serve_folder,
};

/// Two files that say the same number: an answer in which they differ comes from two catalogs.
fn versioned(number: usize) -> [(&'static str, String); 2] {
    let table =
        format!("-- {number}\ncreate table t on select get from 'http://127.0.0.1:1/{number}'");
    let route = format!(
        "d = describe t; return {{\"route\": {number}, \"table\": \"{{d.select.uri}}\"}} via route '/v' using method get"
    );
    [("tables/t.ql", table), ("routes/v.ql", route)]
}

fn write(folder: &Path, files: &[(&str, String)]) {
    for (name, text) in files {
        fs::write(folder.join(name), text).unwrap();
    }
}

fn value(server: SocketAddr, target: &str) -> Value {
    fetch(server, &Request::get(target), PATIENCE).unwrap().json().unwrap()
}

fn hangup(server: &ServerProcess, told: &str, count: usize) {
    server.signal(Signal::HUP).unwrap();
    let is_told = |text: &str| text.matches(told).count() >= count;
    assert!(server.wait_for_stderr(PATIENCE, is_told), "{}", server.stderr());
}

#[test]
fn a_hangup_reads_everything_anew() {
    let folder = folder(&[
        ("routes/a.ql", "return \"{config.word}\" via route '/a' using method get"),
        ("qlio.json", "{\"word\": \"one\", \"admin\": {\"token\": \"0123456789abcdef\"}}"),
    ]);
    let server = serve_folder(folder.path(), &["--logs", "logs"]);
    assert_eq!(value(server.address(), "/a"), json!("one"));
    let settings =
        "{\"word\": \"two\", \"ecvPath\": \"/up\", \"admin\": {\"token\": \"fedcba9876543210\"}}";
    fs::write(folder.path().join("qlio.json"), settings).unwrap();
    fs::write(folder.path().join("routes/b.ql"), "return 2 via route '/b' using method get")
        .unwrap();
    hangup(&server, "reloaded (SIGHUP): 2 routes over 0 tables", 1);
    assert_eq!(value(server.address(), "/a"), json!("two"));
    assert_eq!(value(server.address(), "/b"), json!(2));
    let stderr = server.stderr();
    let told = stderr.lines().find(|line| line.starts_with("reloaded")).unwrap();
    for part in ["new routes/b.ql", "settings ", "a restart is needed for admin.token, ecvPath"] {
        assert!(told.contains(part), "{part} in {told}");
    }
    // What needs a restart has not changed.
    assert_eq!(fetch(server.address(), &Request::get("/ecv"), PATIENCE).unwrap().status, 200);
    fs::remove_file(folder.path().join("routes/b.ql")).unwrap();
    hangup(&server, "gone routes/b.ql", 1);
    assert_eq!(fetch(server.address(), &Request::get("/b"), PATIENCE).unwrap().status, 404);
    assert_eq!(server.stop(PATIENCE).code(), Some(0));
    let log = fs::read_to_string(folder.path().join("logs/ql.io.log")).unwrap();
    assert!(log.contains("gone routes/b.ql"), "{log}");
}

#[test]
fn a_broken_set_changes_nothing_and_is_told() {
    let folder = folder(&[("routes/a.ql", "return 1 via route '/a' using method get")]);
    let server = serve_folder(folder.path(), &["--admin", "0"]);
    let admin = admin_of(&server);
    let hash = json_of(admin, "/catalog")["hash"].clone();
    let success = "qlio_config_last_reload_successful";
    assert_eq!(sample(admin, success), "1");
    for (name, text) in [
        ("routes/a.ql", "return via route"),
        ("tables/t.ql", "create tabel t"),
        ("qlio.json", "{\"deadline\": \"soon\"}"),
        ("qlio.json", "{\"adhoc\": 7}"),
        ("qlio.json", "{"),
        ("qlio.json", "{\"tls\": {\"caFile\": \"missing.pem\"}}"),
    ] {
        let path = folder.path().join(name);
        let before = fs::read_to_string(&path).ok();
        fs::write(&path, text).unwrap();
        let dry = ask(admin, "POST", "/reload?dry-run");
        assert_eq!((dry.status, sample(admin, success)), (422, "1".to_owned()), "{}", dry.text());
        let refused = ask(admin, "POST", "/reload");
        let body = refused.json().unwrap();
        assert_eq!((refused.status, &body["result"]), (422, &json!("refused")), "{body}");
        assert_eq!(sample(admin, success), "0");
        let ready = ask(admin, "GET", "/readyz?verbose");
        let text = ready.text();
        assert!(ready.status == 200 && text.contains("[!]reload not reloaded"), "{text}");
        assert_eq!(value(server.address(), "/a"), json!(1), "{name}: {text}");
        assert_eq!(json_of(admin, "/catalog")["hash"], hash);
        match before {
            Some(before) => fs::write(&path, before).unwrap(),
            None => fs::remove_file(&path).unwrap(),
        }
        let mended = ask(admin, "POST", "/reload");
        assert_eq!((mended.status, sample(admin, success)), (200, "1".to_owned()), "{name}");
    }
    fs::remove_dir_all(folder.path().join("routes")).unwrap();
    assert_eq!(ask(admin, "POST", "/reload").status, 422, "a folder that has gone is no empty one");
    assert_eq!(ask(admin, "GET", "/reload").status, 405);
    assert_eq!(sample(admin, "qlio_reloads_total{result=\"refused\"}"), "7");
}

#[test]
fn what_is_only_tried_is_not_served() {
    let folder = folder(&[("routes/a.ql", "return 1 via route '/a' using method get")]);
    let server = serve_folder(folder.path(), &["--admin", "0"]);
    let admin = admin_of(&server);
    let text = "return 2 via route '/a' using method get";
    fs::write(folder.path().join("routes/a.ql"), text).unwrap();
    let tried = ask(admin, "POST", "/reload?dry-run").json().unwrap();
    assert_eq!(tried["result"], "replaced", "{tried}");
    assert!(tried["message"].as_str().unwrap().contains("changed routes/a.ql"), "{tried}");
    assert_eq!(value(server.address(), "/a"), json!(1));
    assert_eq!(ask(admin, "POST", "/reload").json().unwrap()["hash"], tried["hash"]);
    assert_eq!(value(server.address(), "/a"), json!(2));
    let again = ask(admin, "POST", "/reload").json().unwrap();
    assert_eq!(again["result"], "unchanged");
    // What was counted before goes on being counted.
    let counted = "http_server_request_duration_seconds_count{http_request_method=\"GET\",http_route=\"/a\",status_class=\"2xx\"}";
    assert!(wait(PATIENCE, || sample(admin, counted) == "2"));
}

/// Nobody notices that the catalog is replaced again and again, every other time by a broken one, and no answer is of
/// two catalogs.
#[test]
fn a_reload_under_load_fails_no_request() {
    let folder = folder(&[]);
    write(folder.path(), &versioned(0));
    let server =
        serve_folder(folder.path(), &["--admin", "0", "--workers", "2", "--dev", "--no-watch"]);
    let admin = admin_of(&server);
    let load = Load::start(server.address(), "/v", 4);
    for number in 1..=10 {
        write(folder.path(), &versioned(number));
        assert_eq!(ask(admin, "POST", "/reload").status, 200);
        let broken = [("tables/t.ql", format!("create table {number}"))];
        write(folder.path(), &broken);
        assert_eq!(ask(admin, "POST", "/reload").status, 422);
        load.wait_for(|answers| {
            answers.last().is_some_and(|last| last.body["route"] == json!(number))
        });
    }
    assert!(load.assert_unharmed() > 10);
    let mut seen = BTreeSet::new();
    for answered in load.since(0) {
        let number = answered.body["route"].as_u64().unwrap();
        let table = format!("http://127.0.0.1:1/{number}");
        assert_eq!(answered.body["table"], json!(table), "of two catalogs");
        seen.insert(number);
    }
    assert_eq!(seen.len(), 11, "{seen:?}");
}

/// Files as the kubelet keeps them: links through `..data` into a folder that is replaced as a whole.
fn mount(folder: &Path, number: usize) {
    for (name, text) in versioned(number) {
        let (place, file) = name.split_once('/').unwrap();
        let place = folder.join(place);
        let stamped = place.join(format!("..{number}"));
        fs::create_dir(&stamped).unwrap();
        fs::write(stamped.join(file), text).unwrap();
        symlink(format!("..{number}"), place.join("..data_tmp")).unwrap();
        fs::rename(place.join("..data_tmp"), place.join("..data")).unwrap();
        let link = place.join(file);
        if !link.is_symlink() {
            symlink(format!("..data/{file}"), link).unwrap();
        }
        if number > 1 {
            fs::remove_dir_all(place.join(format!("..{}", number - 1))).unwrap();
        }
    }
}

#[test]
fn a_mounted_config_map_that_is_replaced_is_seen() {
    let folder = folder(&[]);
    mount(folder.path(), 1);
    let server = serve_folder(folder.path(), &["--watch", "--strict"]);
    assert_eq!(value(server.address(), "/v")["route"], json!(1));
    for number in 2..=4 {
        let began = Instant::now();
        mount(folder.path(), number);
        let is_served = || value(server.address(), "/v")["route"] == json!(number);
        assert!(wait(PATIENCE, is_served), "{}", server.stderr());
        assert!(began.elapsed() < Duration::from_secs(30));
    }
    assert!(!server.stderr().contains("duplicate"), "{}", server.stderr());
}

#[test]
fn whoever_develops_sees_changes_at_once_and_mistakes_do_no_harm() {
    let folder = folder(&[
        ("routes/a.ql", "return 1 via route '/a' using method get"),
        ("routes/b.ql", "return via"),
    ]);
    let server = serve_folder(folder.path(), &["--dev"]);
    let file = folder.path().join("routes/a.ql");
    fs::write(&file, "return 2 via route '/a' using method get").unwrap();
    assert!(wait(PATIENCE, || value(server.address(), "/a") == json!(2)), "{}", server.stderr());
    // It is told once it is served.
    let is_told = |text: &str| text.contains("; changed routes/a.ql");
    assert!(server.wait_for_stderr(PATIENCE, is_told), "{}", server.stderr());
    // One mistake was there from the start; another one is not taken over.
    fs::write(&file, "return 3 via rout").unwrap();
    let is_told = |text: &str| text.contains("not reloaded (changed files): 2 errors");
    assert!(server.wait_for_stderr(PATIENCE, is_told), "{}", server.stderr());
    assert_eq!(value(server.address(), "/a"), json!(2));
    fs::write(&file, "return 4 via route '/a' using method get").unwrap();
    assert!(wait(PATIENCE, || value(server.address(), "/a") == json!(4)), "{}", server.stderr());
    let is_told = |text: &str| text.matches("; changed routes/a.ql").count() == 2;
    assert!(server.wait_for_stderr(PATIENCE, is_told), "{}", server.stderr());
    // Files that are no part of the app, and one that is written again as it was, change nothing.
    let told = server.stderr().matches("reloaded (").count();
    fs::write(folder.path().join("routes/.a.ql.swp"), "x").unwrap();
    fs::write(folder.path().join("out.log"), "x").unwrap();
    fs::write(&file, "return 4 via route '/a' using method get").unwrap();
    fs::write(folder.path().join("routes/c.ql"), "return 5 via route '/c' using method get")
        .unwrap();
    let is_told = |text: &str| text.contains("new routes/c.ql");
    assert!(server.wait_for_stderr(PATIENCE, is_told), "{}", server.stderr());
    assert_eq!(fetch(server.address(), &Request::get("/c"), PATIENCE).unwrap().status, 200);
    assert_eq!(server.stderr().matches("reloaded (").count(), told + 1, "{}", server.stderr());
}

/// Reads messages until one is of this type.
fn told(socket: &mut Socket, name: &str) -> Value {
    loop {
        match socket.receive() {
            Received::Message(message) if message["type"] == name => {
                return message["data"].clone();
            }
            Received::Message(_) => {}
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn pages_are_told_of_reloads_in_development_mode_if_they_ask() {
    let files = [("routes/a.ql", "return 1 via route '/a' using method get")];
    let subscribe = json!({"type": "events", "data": ["ack", "app-reloaded"]}).to_string();
    let watched = |options: &[&str]| {
        let folder = folder(&files);
        let server = serve_folder(folder.path(), options);
        let mut socket =
            connect(server.address(), "/", Some("ql.io-console"), &[], PATIENCE).unwrap();
        socket.send_text(&subscribe).unwrap();
        assert_eq!(told(&mut socket, "events"), json!("{}"));
        (folder, server, socket)
    };
    let (folder, server, mut socket) = watched(&["--dev", "--no-watch"]);
    let file = folder.path().join("routes/a.ql");
    fs::write(&file, "return 2 via route '/a' using method get").unwrap();
    hangup(&server, "reloaded (SIGHUP)", 1);
    let news = told(&mut socket, "app-reloaded");
    assert_eq!(news["refused"], json!(false));
    assert!(news["message"].as_str().unwrap().contains("changed routes/a.ql"), "{news}");
    fs::write(&file, "return via").unwrap();
    hangup(&server, "not reloaded (SIGHUP)", 1);
    assert_eq!(told(&mut socket, "app-reloaded")["refused"], json!(true));

    // Names of files are nothing for strangers.
    let (folder, server, mut socket) = watched(&["--enable-q"]);
    let file = folder.path().join("routes/a.ql");
    fs::write(&file, "return 2 via route '/a' using method get").unwrap();
    hangup(&server, "reloaded (SIGHUP)", 1);
    socket.send_text(&json!({"type": "script", "data": "return 7"}).to_string()).unwrap();
    let Received::Message(first) = socket.receive() else { panic!("{}", server.stderr()) };
    assert_eq!(first["type"], "ack", "{first}");
}
