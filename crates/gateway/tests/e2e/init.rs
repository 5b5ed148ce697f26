//! `qlio init`, and what describes the command line to shells and manuals.

use std::fs;

use qlio_testkit::client::{Request, fetch};
use serde_json::json;
use tempfile::TempDir;

use super::{PATIENCE, binary, run, start};

#[test]
fn a_new_app_is_checked_tested_and_served() {
    let folder = TempDir::new().unwrap();
    let made = run(&["init", "tides"], folder.path(), "");
    assert_eq!(made.code(), Some(0), "{}", made.stderr);
    let app = folder.path().join("tides");
    for path in made.stdout.lines() {
        assert!(folder.path().join(path).is_file(), "{path}");
    }
    for name in ["tides/README.md", "tides/qlio.toml"] {
        assert!(made.stdout.lines().any(|line| line == name), "{}", made.stdout);
    }
    let with = |arguments: &[&str]| {
        let finished = run(arguments, &app, "");
        assert_eq!(
            finished.code(),
            Some(0),
            "{arguments:?}: {}{}",
            finished.stdout,
            finished.stderr
        );
        finished
    };
    with(&["check", "--strict"]);
    with(&["fmt", "--check"]);
    with(&["plan", "routes/high-tides.ql"]);
    let tested = with(&["test"]).stdout;
    assert!(
        tested.contains("ok 1 - north") && tested.contains("ok 2 - no-such-harbour"),
        "{tested}"
    );
    let api = start(&["mock", "apis", "--port", "0"], &app);
    let address = format!("http://{}", api.address());
    let server = qlio_testkit::process::ServerProcess::start(
        binary(),
        &["serve", "--port", "0", "--strict"],
        &app,
        &[("TIDES_API", &address)],
        PATIENCE,
    );
    let server = server.unwrap_or_else(|error| panic!("{error}"));
    let answer = fetch(server.address(), &Request::get("/high-tides/north"), PATIENCE).unwrap();
    let expected = json!([{"time": "04:12", "metres": 3.1}, {"time": "16:40", "metres": 3.4}]);
    assert_eq!((answer.status, answer.json().unwrap()), (200, expected));
}

#[test]
fn what_is_there_already_is_not_changed() {
    for name in ["README.md", "tests/config.json", "qlio.json", "config/dev.json"] {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, "mine").unwrap();
        let refused = run(&["init"], folder.path(), "");
        assert_eq!((refused.code(), &*refused.stdout), (Some(1), ""), "{}", refused.stderr);
        assert!(refused.stderr.contains(&format!("has `{name}` already")), "{}", refused.stderr);
        assert_eq!(fs::read_to_string(&path).unwrap(), "mine");
        assert!(!folder.path().join("routes").exists(), "nothing is written");
    }
}

#[test]
fn shells_and_manuals_know_every_command() {
    let folder = TempDir::new().unwrap();
    let print = |arguments: &[&str]| {
        let finished = run(arguments, folder.path(), "");
        assert_eq!(finished.code(), Some(0), "{arguments:?}: {}", finished.stderr);
        finished.stdout
    };
    let (bash, page) = (print(&["completions", "bash"]), print(&["man"]));
    for command in ["serve", "init", "check", "completions"] {
        assert!(bash.contains(command), "{command}");
        assert!(page.contains(&format!("qlio\\-{command}")), "{command}: {page}");
        let page = print(&["man", command]);
        assert!(page.contains(&format!(".TH qlio-{command} 1")), "{page}");
    }
    for shell in ["zsh", "fish"] {
        assert!(print(&["completions", shell]).contains("ecvPath"), "{shell}");
    }
    let unknown = run(&["man", "serv"], folder.path(), "");
    assert_eq!(unknown.code(), Some(2));
    assert!(unknown.stderr.contains("no command is called `serv`; there are `serve`"));
}
