//! The mock over real sockets.

use std::fs;
use std::io::Write;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use qlio_testkit::client::{Answer, Request, fetch};
use serde_json::json;
use tempfile::TempDir;
use tokio::sync::oneshot;

use super::{MockOptions, MockServer, serve};

pub(super) const PATIENCE: Duration = Duration::from_secs(10);

/// What can be run on a thread.
pub(super) trait Serves: Sized + Send + 'static {
    fn address(&self) -> SocketAddr;
    fn run(self, until: impl Future<Output = ()>) -> impl Future<Output = ()>;
}

impl Serves for MockServer {
    fn address(&self) -> SocketAddr {
        self.url().trim_start_matches("http://").parse().unwrap()
    }

    fn run(self, until: impl Future<Output = ()>) -> impl Future<Output = ()> {
        Self::run(self, until)
    }
}

/// A mock on a thread of its own, ended with its handle.
pub(super) struct Running {
    pub(super) address: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Running {
    fn start(options: MockOptions) -> Self {
        Self::begin(async { serve(options).await.unwrap() })
    }

    pub(super) fn begin<S: Serves>(binding: impl Future<Output = S>) -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let server = runtime.block_on(binding);
        let address = server.address();
        let (stop, stopped) = oneshot::channel();
        let thread = std::thread::spawn(move || {
            runtime.block_on(server.run(async {
                let _handle_gone = stopped.await;
            }));
        });
        Self { address, stop: Some(stop), thread: Some(thread) }
    }

    pub(super) fn get(&self, target: &str) -> Answer {
        self.fetch(&Request::get(target))
    }

    pub(super) fn fetch(&self, request: &Request) -> Answer {
        fetch(self.address, request, PATIENCE).unwrap()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop = None;
        if let Some(thread) = self.thread.take() {
            thread.join().unwrap();
        }
    }
}

fn folder(files: &[(&str, &str)]) -> TempDir {
    let folder = TempDir::new().unwrap();
    for (name, text) in files {
        put(folder.path(), name, text);
    }
    folder
}

fn put(root: &Path, name: &str, text: &str) {
    let path = root.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

#[test]
fn files_answer_by_path_and_query_with_the_type_of_their_ending() {
    let files = [("a/s.json", "{}"), ("a/s@q=x y.xml", "<x/>"), ("index.html", "<p>")];
    let folder = folder(&files);
    let mock = Running::start(MockOptions::new(folder.path()));
    let plain = mock.get("/a/s?q=z");
    assert_eq!((plain.status, plain.text().as_str()), (200, "{}"));
    assert_eq!(plain.header("content-type").unwrap(), "application/json");
    let chosen = mock.get("/a/s?n=1&q=x+y");
    assert_eq!(
        (chosen.text().as_str(), chosen.header("content-type").unwrap().as_str()),
        ("<x/>", "application/xml")
    );
    assert_eq!(mock.get("/").text(), "<p>");
}

#[test]
fn post_is_answered_by_path_and_head_without_a_body() {
    let folder = folder(&[("s.json", "[1]")]);
    let mock = Running::start(MockOptions::new(folder.path()));
    assert_eq!(mock.fetch(&Request::new("POST", "/s").body("x=1")).text(), "[1]");
    let head = mock.fetch(&Request::new("HEAD", "/s"));
    assert_eq!((head.header("content-length").unwrap().as_str(), head.body.len()), ("3", 0));
}

#[test]
fn unknown_paths_name_what_is_near() {
    let folder = folder(&[("a/search.json", "1"), ("a/other.json", "1"), ("a/_mock.json", "{}")]);
    let mock = Running::start(MockOptions::new(folder.path()));
    let missing = mock.get("/a/serach?q=1");
    assert_eq!(missing.status, 404);
    let body = json!({"message": "no canned answer for `/a/serach?q=1`", "near": ["/a/search.json", "/a/other.json"]});
    assert_eq!(missing.json().unwrap(), body);
    assert_eq!(mock.get("/b/c/d").json().unwrap()["near"], json!(["/a/"]));
}

#[test]
fn rules_set_status_headers_and_latency() {
    let rules =
        r#"{"headers": {"x-from": "rules"}, "files": {"s.json": {"status": 503, "latency": 60}}}"#;
    let folder = folder(&[("s.json", "1"), ("t.json", "2"), ("_mock.json", rules)]);
    let mock = Running::start(MockOptions::new(folder.path()));
    let begun = Instant::now();
    let slow = mock.get("/s");
    assert!(begun.elapsed() >= Duration::from_millis(60));
    assert_eq!((slow.status, slow.header("x-from").unwrap().as_str()), (503, "rules"));
    assert_eq!(mock.get("/t").status, 200);
    let broken = mock.get("/_mock.json");
    assert_eq!(broken.status, 400);
}

#[test]
fn the_latency_of_the_options_holds_where_no_rule_does() {
    let folder = folder(&[("s.json", "1")]);
    let latency = Duration::from_millis(60);
    let mock = Running::start(MockOptions { latency, ..MockOptions::new(folder.path()) });
    let begun = Instant::now();
    assert_eq!(mock.get("/s").text(), "1");
    assert!(begun.elapsed() >= latency);
}

#[test]
fn changed_files_and_rules_are_read_again() {
    let folder = folder(&[("s.json", "1")]);
    let mock = Running::start(MockOptions::new(folder.path()));
    assert_eq!(mock.get("/s").text(), "1");
    put(folder.path(), "s.json", "\"longer\"");
    assert_eq!(mock.get("/s").text(), "\"longer\"");
    put(folder.path(), "_mock.json", r#"{"status": 404}"#);
    assert_eq!(mock.get("/s").status, 404);
    put(folder.path(), "_mock.json", r#"{"stats": 404}"#);
    assert!(mock.get("/s").text().contains("`stats` is not known"));
    fs::remove_file(folder.path().join("_mock.json")).unwrap();
    assert_eq!(mock.get("/s").status, 200);
}

#[test]
fn nothing_outside_the_folder_is_served() {
    let outside = folder(&[("secret.json", "1")]);
    let inside = folder(&[("s.json", "1")]);
    std::os::unix::fs::symlink(outside.path().join("secret.json"), inside.path().join("link.json"))
        .unwrap();
    std::os::unix::fs::symlink(outside.path(), inside.path().join("far")).unwrap();
    let mock = Running::start(MockOptions::new(inside.path()));
    for target in ["/link", "/far/secret", "/far/unknown"] {
        let linked = mock.get(target);
        assert_eq!(linked.status, 500);
        assert!(linked.text().contains("leads out of the folder"), "{linked}");
    }
    std::os::unix::fs::symlink(
        outside.path().join("secret.json"),
        inside.path().join("_mock.json"),
    )
    .unwrap();
    let ruled = mock.get("/s");
    assert_eq!(ruled.status, 500);
    assert!(ruled.text().contains("leads out of the folder"), "{ruled}");
    fs::remove_file(inside.path().join("_mock.json")).unwrap();
    let name = outside.path().file_name().unwrap().to_str().unwrap();
    for target in [
        format!("/../{name}/secret"),
        format!("/%2e%2e/{name}/secret"),
        format!("/..%2f{name}%2fsecret"),
    ] {
        assert_eq!(mock.get(&target).status, 400, "{target}");
    }
}

#[test]
fn requests_are_logged_where_asked_for() {
    #[derive(Clone, Default)]
    struct Sink(Arc<Mutex<Vec<u8>>>);
    impl Write for Sink {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let folder = folder(&[("s.json", "1")]);
    let sink = Sink::default();
    let log: Option<Box<dyn Write + Send>> = Some(Box::new(sink.clone()));
    let mock = Running::start(MockOptions { log, ..MockOptions::new(folder.path()) });
    mock.get("/s?q=1");
    mock.get("/t");
    let logged = String::from_utf8(sink.0.lock().unwrap().clone()).unwrap();
    assert_eq!(logged, "GET /s?q=1 200 s.json\nGET /t 404 -\n");
}

#[test]
fn a_folder_that_is_none_is_an_error() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let error = runtime.block_on(serve(MockOptions::new("/nonexistent/folder"))).unwrap_err();
    assert!(error.to_string().starts_with("folder `/nonexistent/folder`"));
}
