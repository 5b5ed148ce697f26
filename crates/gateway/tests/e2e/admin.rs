//! The admin listener of a running server (OBS-1 to OBS-10).

use std::{
    fs,
    io::{Read as _, Write as _},
    net::SocketAddr,
    os::unix::{fs::PermissionsExt as _, net::UnixStream},
    process::{Command, Stdio},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use qlio_gateway::FAMILIES;
use qlio_testkit::{
    case::conversation::Received,
    client::{Answer, Connection, Request, fetch},
    process::{ServerProcess, wait},
    program::{Prometheus, Running, installed},
    upstream::{Expectation, Fault, Respond, Upstream},
    websocket::connect,
};
use rustix::process::Signal;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::{PATIENCE, folder, run, serve_folder};

const TOKEN: &str = "0123456789abcdef0123";

const ROUTE: (&str, &str) = (
    "routes/r.ql",
    "return {\"ok\": 1} via route '/r/{id}?a={a}' with optional params using method get",
);

/// A route whose runs end before they would let others go first.
pub(crate) const BUSY_ROUTE: (&str, &str) = (
    "routes/busy.ql",
    "t = [{\"n\": 40}];
  lists = select range(1, n) as ids from t;
  return select count(*) as pairs from lists as a, a.ids as x, lists as b, b.ids as y
  via route '/busy' using method get",
);

/// Clients that ask for it together, each again when all of a group have their answers, and how many groups there are.
const FLOOD: (usize, usize) = (50, 4);

/// So many clients that a worker is late with all else in each of its turns, until this is dropped.
pub(crate) struct Flood {
    is_over: Arc<AtomicBool>,
    groups: Vec<JoinHandle<()>>,
}

impl Flood {
    pub(crate) fn begin(server: &ServerProcess) -> Self {
        let is_over = Arc::new(AtomicBool::new(false));
        let address = server.address();
        let groups = (0..FLOOD.1).map(|_| {
            let is_over = Arc::clone(&is_over);
            thread::spawn(move || {
                let request = Request::get("/busy").to_bytes(address);
                let open = |_| Connection::open(address, PATIENCE).unwrap();
                let mut connections: Vec<Connection> = (0..FLOOD.0).map(open).collect();
                while !is_over.load(Ordering::Relaxed) {
                    for connection in &mut connections {
                        connection.send(&request).unwrap();
                    }
                    for connection in &mut connections {
                        assert_eq!(connection.answer("GET").unwrap().status, 200);
                    }
                }
            })
        });
        Self { groups: groups.collect(), is_over }
    }
}

impl Drop for Flood {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        for group in self.groups.drain(..) {
            // A client that fails fails the test, unless that has failed already.
            assert!(group.join().is_ok() || thread::panicking(), "a client of the flood failed");
        }
    }
}

/// The address that the server has told of its admin listener.
pub(crate) fn admin_of(server: &ServerProcess) -> SocketAddr {
    let told = "admin listener on http://";
    assert!(server.wait_for_stderr(PATIENCE, |text| text.contains(told)), "{}", server.stderr());
    let stderr = server.stderr();
    let rest = stderr.split(told).nth(1).unwrap();
    rest.split_whitespace().next().unwrap().parse().unwrap()
}

fn serve(folder: &TempDir, more: &[&str]) -> (ServerProcess, SocketAddr) {
    let server = serve_folder(folder.path(), &[&["--dev", "--admin", "0"], more].concat());
    let admin = admin_of(&server);
    (server, admin)
}

pub(crate) fn ask(admin: SocketAddr, method: &str, target: &str) -> Answer {
    fetch(admin, &Request::new(method, target), PATIENCE).unwrap()
}

pub(crate) fn json_of(admin: SocketAddr, target: &str) -> Value {
    let request = Request::get(target).header("accept", "application/json");
    fetch(admin, &request, PATIENCE).unwrap().json().unwrap()
}

/// The number of a sample of `/metrics`, as it is written.
pub(crate) fn sample(admin: SocketAddr, name: &str) -> String {
    let text = ask(admin, "GET", "/metrics").text();
    let is_it = |line: &&str| line.strip_prefix(name).is_some_and(|rest| rest.starts_with(' '));
    let number = text.lines().find(is_it).and_then(|line| line.rsplit(' ').next());
    number.unwrap_or("0").to_owned()
}

/// What is under way, once it is noted that it waits, which may be after the upstream has heard of it.
fn waiting(admin: SocketAddr) -> Value {
    let listed = || json_of(admin, "/in-flight");
    assert!(wait(PATIENCE, || listed()["count"] == 1), "{}", listed());
    listed()["requests"][0].clone()
}

/// A server with a route over an upstream that answers, one that never does, and one that fails.
fn watched() -> (Upstream, TempDir) {
    let upstream = Upstream::with([
        Expectation::get("/good").respond(Respond::json(json!([1]))),
        Expectation::get("/silent").respond(Respond::fault(Fault::Never)),
        Expectation::get("/bad").respond(Respond::json(json!({})).status(503)),
    ])
    .unwrap();
    let base = upstream.base();
    let files = ["good", "silent", "bad"].map(|name| {
        let table = format!("create table {name} on select get from '{base}/{name}'");
        let route = format!("return select * from {name} via route '/{name}' using method get");
        [(format!("tables/{name}.ql"), table), (format!("routes/{name}.ql"), route)]
    });
    let files: Vec<_> =
        files.as_flattened().iter().map(|(name, text)| (&**name, &**text)).collect();
    let folder = folder(
        &[&files[..], &[ROUTE, ("qlio.json", "{\"secretKey\": \"hidden-value\"}")]].concat(),
    );
    (upstream, folder)
}

#[test]
fn requests_upstreams_and_limits_are_counted() {
    let (_upstream, folder) = watched();
    let (server, admin) = serve(&folder, &[]);
    for (target, status) in [
        ("/r/1", 200),
        ("/r/2?a=1", 200),
        ("/good", 200),
        ("/bad", 502),
        ("/none", 404),
        ("/tables", 200),
    ] {
        let answer = fetch(server.address(), &Request::get(target), PATIENCE).unwrap();
        assert_eq!(answer.status, status, "{target}: {}", answer.text());
    }
    let served = |route: &str, class: &str| {
        let labels =
            format!("http_request_method=\"GET\",http_route=\"{route}\",status_class=\"{class}\"");
        sample(admin, &format!("http_server_request_duration_seconds_count{{{labels}}}"))
    };
    // The end of a request is counted when its answer is handed on, which may be after it was read.
    assert!(wait(PATIENCE, || served("metadata", "2xx") == "1"));
    for (route, class, count) in [
        ("/r/{id}", "2xx", "2"),
        ("/good", "2xx", "1"),
        ("/bad", "5xx", "1"),
        ("other", "4xx", "1"),
    ] {
        assert_eq!(served(route, class), count, "{route}");
    }
    let text = ask(admin, "GET", "/metrics").text();
    for part in [
        "http_client_request_duration_seconds_count{qlio_table=\"good\",url_scheme=\"http\",server_address=\"127.0.0.1\",",
        "qlio_build_info{version=\"",
        "qlio_catalog_entries{kind=\"route\"} 4",
        "qlio_ready 1",
        "qlio_pool_connections{state=\"idle\"}",
    ] {
        assert!(text.contains(part), "{part} in {text}");
    }
    let bad = text
        .lines()
        .find(|line| line.starts_with("qlio_upstream_requests_total{qlio_table=\"bad\""));
    assert!(bad.is_some_and(|line| line.contains("outcome=\"5xx\"")), "{text}");
    for family in FAMILIES {
        assert!(text.contains(&format!("# TYPE {}", family.name)), "{}", family.name);
    }
}

/// Whatever clients ask for, there are no more series than the catalog gives.
#[test]
fn clients_make_no_new_series() {
    let folder = folder(&[ROUTE]);
    let (server, admin) = serve(&folder, &[]);
    let series = || {
        let text = ask(admin, "GET", "/metrics").text();
        text.lines()
            .filter(|line| line.starts_with("http_server_request_duration_seconds_count"))
            .count()
    };
    let mut connection = Connection::open(server.address(), PATIENCE).unwrap();
    for number in 0..50 {
        for request in
            [Request::get(&format!("/x{number}")), Request::new(&format!("M{number}"), "/r/1")]
        {
            connection.send(&request.to_bytes(server.address())).unwrap();
            connection.answer("GET").unwrap();
        }
    }
    assert!(wait(PATIENCE, || series() == 2), "{}", ask(admin, "GET", "/metrics").text());
}

#[test]
fn requests_under_way_are_listed_and_one_can_be_stopped() {
    let (upstream, folder) = watched();
    let (server, admin) = serve(&folder, &[]);
    let mut connection = Connection::open(server.address(), PATIENCE).unwrap();
    let request = Request::get("/silent?password=hidden").header("request-id", "mine");
    connection.send(&request.to_bytes(server.address())).unwrap();
    assert!(upstream.wait_until(PATIENCE, |ledger| ledger.in_flight() == 1));
    let first = waiting(admin);
    assert_eq!(
        ["path", "route", "requestId"].map(|name| first[name].as_str().unwrap()),
        ["/silent", "/silent", "mine"],
        "{first}"
    );
    assert_eq!(json_of(admin, "/upstreams")["upstreams"][0]["inFlight"], 1);
    assert_eq!(sample(admin, "http_server_active_requests"), "1");
    let id = first["id"].as_str().unwrap();
    for (target, status) in
        [("/in-flight/9-9", 404), ("/in-flight/x", 404), (&*format!("/in-flight/{id}"), 202)]
    {
        assert_eq!(ask(admin, "DELETE", target).status, status, "{target}");
    }
    let answer = connection.answer("GET").unwrap();
    assert_eq!(
        (answer.status, answer.json().unwrap()["message"].clone()),
        (503, json!("an operator has stopped this request"))
    );
    assert!(upstream.wait_until(PATIENCE, |ledger| ledger.hang_ups() == 1));
    assert!(wait(PATIENCE, || json_of(admin, "/in-flight")["count"] == 0));
    assert_eq!(sample(admin, "qlio_requests_stopped_total"), "1");
    assert!(server.stderr().contains("an operator has stopped the request"));
}

#[test]
fn scripts_over_websocket_are_counted_and_listed_and_can_be_stopped() {
    let (upstream, folder) = watched();
    let (server, admin) = serve(&folder, &[]);
    let headers = [("request-id", "mine")];
    let mut socket =
        connect(server.address(), "/console", Some("ql.io-console"), &headers, PATIENCE).unwrap();
    let mut run = |text: &str, meanwhile: &dyn Fn()| {
        socket.send_text(&json!({"type": "script", "data": text}).to_string()).unwrap();
        meanwhile();
        match socket.receive() {
            Received::Message(message) => message["data"]["body"].clone(),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(run("select * from good", &|| {}), json!([1]));
    // Whoever steps takes a person's time, which is not the server's.
    assert_eq!(run("__debug__return 1", &|| {}), json!(1));
    let stopped = run("select * from silent", &|| {
        assert!(upstream.wait_until(PATIENCE, |ledger| ledger.in_flight() == 1));
        let first = waiting(admin);
        assert_eq!(
            ["path", "route", "requestId"].map(|name| first[name].as_str().unwrap()),
            ["/console", "websocket", "mine"],
            "{first}"
        );
        let id = first["id"].as_str().unwrap();
        assert_eq!(ask(admin, "DELETE", &format!("/in-flight/{id}")).status, 202);
    });
    assert_eq!(stopped["message"], "an operator has stopped this request");
    assert!(upstream.wait_until(PATIENCE, |ledger| ledger.hang_ups() == 1));
    let served = |class: &str| {
        let route = "http_request_method=\"GET\",http_route=\"websocket\"";
        let labels = format!("{route},status_class=\"{class}\"");
        sample(admin, &format!("http_server_request_duration_seconds_count{{{labels}}}"))
    };
    assert!(wait(PATIENCE, || served("5xx") == "1"), "{}", server.stderr());
    assert_eq!([served("2xx"), served("4xx")], ["1", "0"]);
    assert_eq!(sample(admin, "http_server_active_requests"), "0");
    assert_eq!(sample(admin, "qlio_requests_stopped_total"), "1");
}

/// The only worker has many turns to give, and is late for everything else.
#[test]
fn operators_are_answered_while_all_workers_are_busy() {
    let folder = folder(&[BUSY_ROUTE]);
    let (server, admin) = serve(&folder, &["--workers", "1"]);
    let flood = Flood::begin(&server);
    let mut lag = 0.0_f64;
    let mut slowest = Duration::ZERO;
    let began = Instant::now();
    while lag <= 0.1 && began.elapsed() < PATIENCE {
        for target in ["/livez", "/readyz?verbose", "/in-flight", "/upstreams", "/"] {
            let asked = Instant::now();
            assert_eq!(ask(admin, "GET", target).status, 200);
            slowest = slowest.max(asked.elapsed());
        }
        let late = sample(admin, "qlio_worker_lag_seconds{worker=\"0\"}");
        lag = lag.max(late.parse().unwrap());
    }
    assert!(lag > 0.1, "the worker was late by {lag} s only");
    assert!(slowest < Duration::from_millis(500), "{slowest:?}");
    drop(flood);
}

#[test]
fn draining_is_told_to_probes_and_ends_the_server() {
    let (upstream, folder) = watched();
    let (mut server, admin) = serve(&folder, &[]);
    for target in ["/livez", "/readyz", "/healthz"] {
        assert_eq!(ask(admin, "GET", target).status, 200, "{target}");
    }
    let verbose = ask(admin, "GET", "/readyz?verbose").text();
    assert!(
        verbose.starts_with("[+]serving ok\n[+]health ok\n[+]reload ok\ncatalog "),
        "{verbose}"
    );
    let mut connection = Connection::open(server.address(), PATIENCE).unwrap();
    connection.send(&Request::get("/silent").to_bytes(server.address())).unwrap();
    assert!(upstream.wait_until(PATIENCE, |ledger| ledger.in_flight() == 1));
    assert_eq!(ask(admin, "GET", "/drain").status, 405);
    assert_eq!(ask(admin, "POST", "/drain").status, 202);
    assert_eq!(
        (ask(admin, "GET", "/livez").status, ask(admin, "GET", "/readyz").status),
        (200, 503)
    );
    let verbose = ask(admin, "GET", "/readyz?verbose").text();
    assert!(verbose.starts_with("[-]serving failed: "), "{verbose}");
    let id = json_of(admin, "/in-flight")["requests"][0]["id"].as_str().unwrap().to_owned();
    assert_eq!(ask(admin, "DELETE", &format!("/in-flight/{id}")).status, 202);
    assert_eq!(connection.answer("GET").unwrap().status, 503);
    assert_eq!(server.finish(PATIENCE).code(), Some(0));
}

#[test]
fn catalog_and_settings_are_told_without_secrets() {
    let (_upstream, folder) = watched();
    let token = format!("{{\"admin\": {{\"token\": \"{TOKEN}\"}}, \"apiKey\": \"hidden-value\"}}");
    fs::write(folder.path().join("qlio.json"), token).unwrap();
    let (server, admin) = serve(&folder, &[]);
    let ask = |target: &str| {
        let request = Request::get(target).header("authorization", &format!("Bearer {TOKEN}"));
        fetch(admin, &request, PATIENCE).unwrap()
    };
    let settings = ask("/config").json().unwrap();
    let setting = |name: &str| {
        let settings = settings["settings"].as_array().unwrap();
        settings.iter().find(|setting| setting["name"] == name).unwrap().clone()
    };
    assert_eq!(setting("admin.token")["value"], "[redacted]");
    assert_eq!(setting("apiKey")["value"], "[redacted]");
    assert_eq!(setting("admin.listen")["origin"], "--admin");
    assert!(setting("admin.token")["origin"].as_str().unwrap().contains("qlio.json:1:"));
    let catalog = ask("/catalog").json().unwrap();
    assert_eq!(
        (catalog["tables"].as_array().unwrap().len(), catalog["routes"].as_array().unwrap().len()),
        (3, 4)
    );
    let hash = catalog["hash"].as_str().unwrap().to_owned();
    assert_eq!(hash.len(), 32);
    for target in ["/", "/config", "/catalog", "/metrics", "/upstreams", "/in-flight"] {
        let text = ask(target).text();
        assert!(!text.contains(TOKEN) && !text.contains("hidden-value"), "{target}: {text}");
    }
    drop(server);
    fs::write(folder.path().join("routes/good.ql"), "return 2 via route '/good' using method get")
        .unwrap();
    let (_server, admin) = serve(&folder, &[]);
    let request = Request::get("/catalog").header("authorization", &format!("Bearer {TOKEN}"));
    let other = fetch(admin, &request, PATIENCE).unwrap().json().unwrap();
    assert_ne!(other["hash"], hash);
}

#[test]
fn the_cache_is_shown_and_can_be_emptied() {
    let upstream =
        Upstream::with([Expectation::get("/a").respond(Respond::json(json!([1])))]).unwrap();
    let table = format!("create table a on select get from '{}/a' expires 60", upstream.base());
    let route = "return select * from a via route '/a' using method get";
    let settings = "{\"cache\": {\"impl\": \"memory\"}}";
    let folder =
        folder(&[("tables/a.ql", &table), ("routes/a.ql", route), ("qlio.json", settings)]);
    let (server, admin) = serve(&folder, &[]);
    let get = || fetch(server.address(), &Request::get("/a"), PATIENCE).unwrap().status;
    let entries = || json_of(admin, "/cache")["memory"]["entries"].clone();
    assert_eq!((get(), get()), (200, 200));
    assert!(wait(PATIENCE, || entries() == 1), "{}", json_of(admin, "/cache"));
    assert_eq!(json_of(admin, "/cache")["settings"]["impl"], "memory");
    assert_eq!(ask(admin, "POST", "/cache").status, 405);
    assert_eq!(ask(admin, "DELETE", "/cache").status, 200);
    assert_eq!(entries(), 0);
    assert_eq!(get(), 200);
    assert!(upstream.wait_until(PATIENCE, |ledger| ledger.requests().len() == 2));
}

#[test]
fn who_has_no_token_hears_only_whether_the_server_lives() {
    let folder =
        folder(&[ROUTE, ("qlio.json", &format!("{{\"admin\": {{\"token\": \"{TOKEN}\"}}}}"))]);
    let (_server, admin) = serve(&folder, &[]);
    for (method, target, status) in [
        ("GET", "/livez", 200),
        ("GET", "/readyz", 200),
        ("GET", "/readyz?verbose", 401),
        ("GET", "/metrics", 401),
        ("GET", "/", 401),
        ("POST", "/drain", 401),
        ("DELETE", "/in-flight/0-1", 401),
        ("GET", "/nothing", 401),
    ] {
        assert_eq!(ask(admin, method, target).status, status, "{method} {target}");
    }
    let page = Request::get("/metrics")
        .header("authorization", &format!("Bearer {TOKEN}"))
        .header("origin", "http://evil.test");
    assert_eq!(fetch(admin, &page, PATIENCE).unwrap().status, 403);
}

#[test]
fn a_listener_that_others_reach_needs_a_token() {
    let folder = folder(&[ROUTE]);
    let arguments = [
        "serve",
        "--port",
        "0",
        "--admin",
        "0.0.0.0:0",
        "--tables",
        "tables",
        "--routes",
        "routes",
    ];
    let finished = run(&arguments, folder.path(), "");
    assert_eq!(finished.code(), Some(2), "{}", finished.stderr);
    assert!(finished.stderr.contains("set `admin.token`"), "{}", finished.stderr);
    let wrong = run(&["serve", "--port", "0", "--admin", "somewhere"], folder.path(), "");
    assert!(
        wrong.code() != Some(0) && wrong.stderr.contains("an address such as"),
        "{}",
        wrong.stderr
    );
    let server = serve_folder(folder.path(), &["--dev", "--admin", "0"]);
    let taken = admin_of(&server).port().to_string();
    let second = run(&["serve", "--port", "0", "--dev", "--monPort", &taken], folder.path(), "");
    assert!(second.code() == Some(255) && second.stderr.contains("operators"), "{}", second.stderr);
}

#[test]
fn a_socket_is_for_its_owner_and_goes_with_the_server() {
    let folder = folder(&[ROUTE]);
    let path = folder.path().join("admin.sock");
    let start = || serve_folder(folder.path(), &["--dev", "--admin", "unix:admin.sock"]);
    let asked = || {
        let mut stream = UnixStream::connect(&path).unwrap();
        stream.write_all(b"GET /livez HTTP/1.0\r\nhost: any\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.0 200") && answer.ends_with("ok\n"), "{answer}");
    };
    let mut server = start();
    assert!(wait(PATIENCE, || path.exists()));
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    asked();
    // What a killed server leaves behind keeps nobody from starting.
    server.signal(Signal::KILL).unwrap();
    assert!(wait(PATIENCE, || server.has_ended()));
    assert!(path.exists());
    let mut server = start();
    asked();
    server.signal(Signal::TERM).unwrap();
    assert_eq!(server.finish(PATIENCE).code(), Some(0));
    assert!(!path.exists());
}

#[test]
fn the_page_loads_nothing_from_elsewhere() {
    let folder = folder(&[ROUTE]);
    let (_server, admin) = serve(&folder, &[]);
    let page = fetch(admin, &Request::get("/").header("accept", "text/html"), PATIENCE).unwrap();
    assert!(page.text().contains("<title>qlio monitor</title>"));
    let policy = page.header("content-security-policy").unwrap();
    assert!(policy.starts_with("default-src 'none';") && !policy.contains("unsafe"), "{policy}");
    for (target, media_type) in [("/monitor.js", "text/javascript"), ("/monitor.css", "text/css")] {
        assert!(page.text().contains(target));
        let part = ask(admin, "GET", target);
        assert!(part.header("content-type").unwrap().starts_with(media_type));
        assert!(!part.text().contains("://") && !part.text().contains("innerHTML"), "{target}");
    }
    let overview = json_of(admin, "/");
    for member in ["ready", "workers", "routes", "events", "memoryBytes", "upstreams", "heavy"] {
        assert!(!overview[member].is_null(), "{member} in {overview}");
    }
}

/// A head that never ends is given up, and takes nobody's place for long.
#[test]
fn many_silent_operators_keep_nobody_out_for_ever() {
    let folder = folder(&[ROUTE]);
    let (_server, admin) = serve(&folder, &[]);
    let silent: Vec<_> = (0..60).map(|_| Connection::open(admin, PATIENCE).unwrap()).collect();
    assert_eq!(ask(admin, "GET", "/livez").status, 200);
    drop(silent);
    let mut long = Connection::open(admin, PATIENCE).unwrap();
    let head = format!("GET /livez HTTP/1.1\r\nx: {}\r\n", "x".repeat(40_000));
    // The server may close before it has taken all.
    let _ = long.send(head.as_bytes());
    assert!(long.answer("GET").map_or(true, |answer| answer.status == 431));
}

#[test]
fn promtool_and_prometheus_read_the_metrics() {
    let Some(promtool) = installed("promtool") else { return };
    let (_upstream, folder) = watched();
    let (server, admin) = serve(&folder, &[]);
    for target in ["/good", "/bad", "/r/1", "/r/2"] {
        fetch(server.address(), &Request::get(target), PATIENCE).unwrap();
    }
    let text = ask(admin, "GET", "/metrics").text();
    let mut check = Command::new(promtool)
        .args(["check", "metrics"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    check.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    let checked = check.wait_with_output().unwrap();
    let told = String::from_utf8_lossy(&checked.stderr).into_owned();
    assert!(checked.status.success() && told.is_empty(), "{told}\n{text}");

    let open =
        Request::get("/metrics").header("accept", "application/openmetrics-text; version=1.0.0");
    let open = fetch(admin, &open, PATIENCE).unwrap();
    assert!(open.header("content-type").unwrap().starts_with("application/openmetrics-text"));
    assert!(open.text().ends_with("# EOF\n"));

    // It asks for OpenMetrics first.
    let Some(prometheus) = Running::start(Prometheus::of(admin, None)) else { return };
    let number = |query: &str| -> String {
        let target = format!("/api/v1/query?query={query}");
        let answer = fetch(prometheus.address(), &Request::get(&target), PATIENCE).unwrap();
        let answer = answer.json().unwrap();
        answer["data"]["result"][0]["value"][1].as_str().unwrap_or("0").to_owned()
    };
    let is_scraped = wait(PATIENCE, || {
        thread::sleep(Duration::from_millis(50));
        number("sum(http_server_request_duration_seconds_count)") == "4"
    });
    assert!(is_scraped, "up = {}", number("up"));
    for (query, value) in [
        ("up", "1"),
        (
            "sum(http_server_request_duration_seconds_bucket%7Bhttp_route=%22/r/%7Bid%7D%22,le=%22%2BInf%22%7D)",
            "2",
        ),
        ("sum(qlio_upstream_requests_total%7Bqlio_table=%22bad%22%7D)", "1"),
        ("count(http_client_request_duration_seconds_sum)", "2"),
        ("qlio_ready", "1"),
    ] {
        assert_eq!(number(query), value, "{query}");
    }
}
