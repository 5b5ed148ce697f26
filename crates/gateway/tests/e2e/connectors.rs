//! Connectors out of process, as real ones: the examples in Python and Node.js, on ports and Unix sockets
//! (PRO-1 and on).

use std::{
    env, fs,
    io::{BufRead as _, BufReader},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use qlio_testkit::{
    client::{Request, fetch},
    upstream::{Expectation, Respond, Upstream},
};
use serde_json::json;
use tempfile::TempDir;

use super::{PATIENCE, folder, run, start};

/// A connector that runs until it is dropped.
struct Served {
    process: Child,
    /// As it tells it.
    address: String,
}

impl Served {
    /// Starts one of the example, if what runs it is installed.
    #[expect(clippy::print_stderr, reason = "a skipped test must say so")]
    fn start(program: &str, arguments: &[&str]) -> Option<Self> {
        let apis = examples().join("apis");
        let spawned =
            Command::new(program).args(arguments).current_dir(apis).stdout(Stdio::piped()).spawn();
        let Ok(mut process) = spawned else {
            assert!(env::var("CI").as_deref() != Ok("true"), "`{program}` is not installed");
            eprintln!("skipped: `{program}` is not installed");
            return None;
        };
        let mut told = BufReader::new(process.stdout.take().unwrap());
        let mut address = String::new();
        told.read_line(&mut address).unwrap();
        Some(Self { process, address: address.trim().to_owned() })
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/connectors")
}

fn ships(listen: &str) -> Option<Served> {
    Served::start("python3", &["ships.py", "--listen", listen])
}

fn harbours(listen: &str) -> Option<Served> {
    Served::start("node", &["harbours.mjs", listen])
}

/// The example with other addresses.
fn app(ships: &str, harbours: &str) -> TempDir {
    let app = TempDir::new().unwrap();
    for part in ["connectors", "tables", "routes"] {
        fs::create_dir(app.path().join(part)).unwrap();
        for file in fs::read_dir(examples().join(part)).unwrap() {
            let file = file.unwrap();
            fs::copy(file.path(), app.path().join(part).join(file.file_name())).unwrap();
        }
    }
    let settings = json!({"sources": {"ships": ships, "harbours": harbours}});
    fs::write(app.path().join("qlio.json"), settings.to_string()).unwrap();
    app
}

fn value(app: &Path, script: &str) -> Result<serde_json::Value, String> {
    let finished = run(&["run", "-e", script], app, "");
    if finished.code() == Some(0) {
        Ok(serde_json::from_str(&finished.stdout).unwrap())
    } else {
        Err(finished.stderr)
    }
}

#[test]
fn two_languages_answer_one_route_over_ports_and_over_sockets() {
    let sockets = TempDir::new().unwrap();
    let at = |name: &str| format!("unix:{}", sockets.path().join(name).display());
    for (first, second) in
        [("127.0.0.1:0".to_owned(), "127.0.0.1:0".to_owned()), (at("s.sock"), at("h.sock"))]
    {
        let (Some(ships), Some(harbours)) = (ships(&first), harbours(&second)) else { return };
        let app = app(&ships.address, &harbours.address);
        let server = start(&["serve", "--port", "0"], app.path());
        for _ in 0..3 {
            let fleet = Request::get("/fleet?masts=2");
            let answer = fetch(server.address(), &fleet, PATIENCE).unwrap();
            assert_eq!(
                answer.json().unwrap(),
                json!([
                    {"ship": "Belem", "masts": 3, "depth": 9.3},
                    {"ship": "Etoile", "masts": 2, "depth": 12.5},
                    {"ship": "Hermine", "masts": 3, "depth": 6},
                    {"ship": "Recouvrance", "masts": 2, "depth": 12.5},
                ]),
                "{first}"
            );
        }
        assert_eq!(server.stop(PATIENCE).code(), Some(0));
    }
}

#[test]
fn conditions_limits_and_writes_reach_the_connector() {
    let (Some(ships), Some(harbours)) = (ships("127.0.0.1:0"), harbours("127.0.0.1:0")) else {
        return;
    };
    let app = app(&ships.address, &harbours.address);
    let value = |script: &str| value(app.path(), script);
    assert_eq!(
        value(
            "return select name from ships where home in ('Brest', 'Nantes') and masts < 3 limit 1"
        ),
        Ok(json!(["Recouvrance"]))
    );
    assert_eq!(value("return select name from ships limit 1 offset 3"), Ok(json!(["Belem"])));
    assert_eq!(
        value("return select harbour from harbours where country = 'Scotland'"),
        Ok(json!(["Oban"]))
    );
    let added = "a = insert into ships (name, home, masts) values ('Sedov', 'Oban', 4)\n\
                 return select s.name as name, s.masts as masts from ships as s where s.home = 'Oban'";
    assert_eq!(value(added), Ok(json!([{"name": "Sedov", "masts": 4}])));
    let refused = value("return insert into ships (name, home, masts) values ('x', 'y', 'z')");
    let told = "connector ships failed: `masts` must be a whole number";
    assert!(refused.as_ref().unwrap_err().contains(told), "{refused:?}");
    let unknown = value("return select * from ships where captain = 'Ahab'");
    assert!(unknown.as_ref().unwrap_err().contains("Q4021"), "{unknown:?}");
}

/// The statements that a connector has got, without the time that is left, which there must be.
fn statements_said(upstream: &Upstream) -> Vec<serde_json::Value> {
    let requests = upstream.requests();
    let executed = requests.iter().filter(|request| request.target == "/execute");
    executed
        .map(|request| {
            let mut said = request.json().unwrap();
            let left = said.as_object_mut().unwrap().remove("deadlineMs").unwrap();
            assert!(left.as_u64().is_some_and(|left| left > 0), "{left}");
            said
        })
        .collect()
}

/// A statement as it is said, with members beside those that are always there.
fn statement(kind: &str, verb: &str, at: &str, more: &serde_json::Value) -> serde_json::Value {
    let table = if verb == "find" { "sea.found" } else { "sea.ships" };
    let mut said = json!({
        "protocol": 1, "table": table, "kind": kind, "verb": verb, "at": at,
        "parameters": {}, "arguments": [], "tests": [],
    });
    let more = more.as_object().unwrap().clone();
    said.as_object_mut().unwrap().extend(more);
    said
}

/// Each verb, and each member of a statement that PRO-6 and the table before it name.
#[test]
fn all_that_a_statement_says_reaches_the_connector() {
    let columns = json!({
        "home": {"type": "text", "tests": ["="]}, "masts": {"type": "number", "tests": [">="]}, "name": {},
    });
    let described = json!({"protocol": 1, "verbs": {
        "list": {"kinds": ["select"], "parameters": {"flag": {}}, "columns": columns, "pushes": ["columns", "limit", "offset"]},
        "find": {"kinds": ["select"], "open": true},
        "add": {"kinds": ["insert"]}, "change": {"kinds": ["update"]}, "drop": {"kinds": ["delete"], "open": true},
    }});
    let row = json!({"name": "Belem", "home": "Nantes", "masts": 3});
    let first = json!({"rows": [row], "next": "two"});
    let answer = |json| Expectation::new("POST", "/execute").json(json);
    let upstream = Upstream::with([
        Expectation::get("/describe").any_calls().json(described),
        answer(first),
        answer(json!({"rows": [row]})).any_calls(),
    ])
    .unwrap();
    let file = json!({"connector": upstream.base()}).to_string();
    let folder = folder(&[
        ("connectors/sea.json", &file),
        (
            "tables/sea.ql",
            "create table sea.ships via sea\n\
             on select do list at 'ships/all' expect ^who, gone\n\
             on insert do add at 'ships' on update do change at 'ships' on delete do drop at 'ships';\n\
             create table sea.found via sea on select do find at 'x'",
        ),
    ]);
    for script in [
        "who = 'me'\n\
         return select name, masts from sea.ships where home in ('Nantes', 'Brest') and masts >= 2.50 and flag = true",
        "return select name from sea.found where depth = 7 limit 2 offset 1",
        "who = 'me'\nreturn select * from sea.ships limit 2 offset 1",
        "return insert into sea.ships (name) values ('Sedov')",
        "o = {\"name\": \"Etoile\"}\nreturn update sea.ships with \"{o}\"",
        "return delete from sea.ships where name = 'Belem'",
    ] {
        let finished = run(&["run", "-e", script], folder.path(), "");
        assert_eq!(finished.code(), Some(0), "{script}: {}", finished.stderr);
    }
    let said = statements_said(&upstream);
    let tested = json!({
        "arguments": ["me", null], "parameters": {"flag": true}, "columns": ["name", "masts", "home"],
        "tests": [
            {"column": "home", "test": "in", "value": ["Nantes", "Brest"]},
            {"column": "masts", "test": ">=", "value": 2.5},
        ],
    });
    let mut page = tested.clone();
    page.as_object_mut().unwrap().insert("page".to_owned(), json!("two"));
    let cut = json!({"arguments": ["me", null], "limit": 2, "offset": 1});
    let expected = [
        statement("select", "list", "ships/all", &tested),
        statement("select", "list", "ships/all", &page),
        statement("select", "find", "x", &json!({"parameters": {"depth": 7}})),
        statement("select", "list", "ships/all", &cut),
        statement("insert", "add", "ships", &json!({"values": {"name": "Sedov"}})),
        statement("update", "change", "ships", &json!({"values": {"name": "Etoile"}})),
        statement("delete", "drop", "ships", &json!({"parameters": {"name": "Belem"}})),
    ];
    for (said, expected) in said.iter().zip(&expected) {
        assert_eq!(said, expected);
    }
    assert_eq!(said.len(), expected.len(), "{said:#?}");
}

/// A worker has 64 executions of scripts under way at a time (CNC-12).
#[test]
fn executions_that_are_too_many_wait_for_their_turn() {
    let script = "exports.exec = async (args) => {\n\
                  await new Promise((done) => setTimeout(done, 20));\n\
                  return {body: args.params.n};\n};";
    let table = "create table slow via slow on select do wait at 'x'";
    let folder = folder(&[("connectors/slow.js", script), ("tables/slow.ql", table)]);
    let statements = |text: fn(usize) -> String| (0..70).map(text).collect::<Vec<_>>();
    let selects = statements(|n| format!("a{n} = select * from slow where n = {n}")).join("\n");
    let values = statements(|n| format!("\"{{a{n}}}\"")).join(", ");
    let expected: Vec<_> = (0..70).map(|n| n.to_string()).collect();
    assert_eq!(value(folder.path(), &format!("{selects}\nreturn [{values}]")), Ok(json!(expected)));
}

#[test]
fn the_plan_shows_what_is_pushed() {
    let (Some(ships), Some(harbours)) = (ships("127.0.0.1:0"), harbours("127.0.0.1:0")) else {
        return;
    };
    let app = app(&ships.address, &harbours.address);
    let script = "return select name from ships where masts >= 2 and name <> home";
    let planned = run(&["plan", "-e", script, "--format", "text"], app.path(), "");
    assert_eq!(planned.code(), Some(0), "{}", planned.stderr);
    assert!(planned.stdout.contains("masts >="), "{}", planned.stdout);
}

#[test]
fn a_connector_that_is_killed_is_named_and_comes_back() {
    let (Some(first), Some(harbours)) = (ships("127.0.0.1:0"), harbours("127.0.0.1:0")) else {
        return;
    };
    let listen = first.address.trim_start_matches("http://").to_owned();
    let app = app(&first.address, &harbours.address);
    fs::write(
        app.path().join("routes/ships.ql"),
        "return select name from ships limit 1 via route '/ships' using method get",
    )
    .unwrap();
    let mut settings: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(app.path().join("qlio.json")).unwrap()).unwrap();
    settings["errors"] = json!("full");
    fs::write(app.path().join("qlio.json"), settings.to_string()).unwrap();
    let server = start(&["serve", "--port", "0", "-n", "1"], app.path());
    let get = || fetch(server.address(), &Request::get("/ships"), PATIENCE).unwrap();
    assert_eq!(get().status, 200);
    drop(first);
    let gone = get();
    assert_eq!(gone.status, 502, "{gone}");
    let told = gone.json().unwrap()["message"].as_str().unwrap().to_owned();
    assert!(told.starts_with("connector ships: "), "{told}");
    // Where the first one was.
    let Some(_second) = ships(&listen) else { return };
    let begun = std::time::Instant::now();
    while get().status != 200 {
        assert!(begun.elapsed() < PATIENCE, "it has come back, and nobody asks it");
        std::thread::yield_now();
    }
}

#[test]
fn nothing_starts_without_the_connectors_unless_it_is_told_to() {
    let nobody = folder(&[
        ("connectors/sea.json", r#"{"connector": "http://127.0.0.1:1"}"#),
        ("tables/t.ql", "create table t via sea on select do list at 'x'"),
        ("routes/r.ql", "return 1 via route '/r' using method get"),
    ]);
    let refused = run(&["serve", "--port", "0"], nobody.path(), "");
    assert_eq!(refused.code(), Some(1), "{}", refused.stderr);
    assert!(refused.stderr.contains("[Q3034 undescribed-connector]"), "{}", refused.stderr);
    assert!(refused.stderr.contains("connectors/sea.json"), "{}", refused.stderr);
    let server = start(&["serve", "--port", "0", "--lenient"], nobody.path());
    assert_eq!(fetch(server.address(), &Request::get("/r"), PATIENCE).unwrap().status, 200);
}

#[test]
fn files_and_tables_that_do_not_fit_are_told_with_their_places() {
    let description = json!({"protocol": 1, "verbs": {
        "list": {"kinds": ["select"], "sources": {"ships": {}, "crews": {}}},
    }});
    let describe = Expectation::get("/describe").respond(Respond::json(description)).any_calls();
    let upstream = Upstream::with([describe]).unwrap();
    let connector = format!(r#"{{"connector": "{}"}}"#, upstream.base());
    let table = |text: &str| format!("create table t via sea {text}");
    for (file, table, code, told) in [
        (&*connector, table("on select do lst at 'ships'"), "Q3035", "did you mean `list`?"),
        (&connector, table("on select do list at 'ship'"), "Q3035", "did you mean `ships`?"),
        (&connector, table("on insert do list at 'ships'"), "Q3035", "does not serve `insert`"),
        (&connector, table("on select do list at 'ships{x}'"), "Q3035", "has a token, `{x}`"),
        (
            r#"{"connector": "ftp://x"}"#,
            table("on select do list at 'x'"),
            "Q3031",
            "must be an address",
        ),
        (
            r#"{"connector": "unix:x.sock"}"#,
            table("on select do list at 'x'"),
            "Q3031",
            "must be an address",
        ),
        (r#"{"connector": 5}"#, table("on select do list at 'x'"), "Q3031", "must be text"),
        (
            r#"{"connector": "{config.no.such}"}"#,
            table("on select do list at 'x'"),
            "Q3031",
            "has no value",
        ),
        (
            r#"{"connector": "http://h", "hedaers": {}}"#,
            table("on select do list at 'x'"),
            "Q3031",
            "`hedaers`",
        ),
    ] {
        let app = folder(&[("connectors/sea.json", file), ("tables/t.ql", &table)]);
        let checked = run(&["check"], app.path(), "");
        assert_eq!(checked.code(), Some(1), "{}", checked.stderr);
        assert!(
            checked.stderr.contains(&format!("[{code} ")),
            "{file} {table}: {}",
            checked.stderr
        );
        assert!(checked.stderr.contains(told), "{told}: {}", checked.stderr);
    }
}

#[test]
fn authors_learn_what_their_connectors_get_wrong() {
    let (Some(ships), Some(harbours)) = (ships("127.0.0.1:0"), harbours("127.0.0.1:0")) else {
        return;
    };
    let nowhere = folder(&[]);
    for address in [&ships.address, &harbours.address] {
        let checked = run(&["test", "connector", address], nowhere.path(), "");
        assert_eq!(checked.code(), Some(0), "{}{}", checked.stdout, checked.stderr);
        assert!(checked.stdout.contains("ok 1 - it describes itself"), "{}", checked.stdout);
    }
    let description = json!({"protocol": 1, "verbs": {"list": {
        "kinds": ["select"],
        "columns": {"name": {"type": "text", "tests": ["="]}, "masts": {"type": "number"}},
        "pushes": ["columns", "limit"],
    }}});
    let rows = json!({"rows": [{"name": "a", "masts": 1}, {"name": "b", "masts": 2}], "next": "x"});
    let careless = Upstream::with([
        Expectation::get("/describe").respond(Respond::json(description)).any_calls(),
        Expectation::new("POST", "/execute").respond(Respond::json(rows)).any_calls(),
    ])
    .unwrap();
    let checked = run(&["test", "connector", careless.base()], nowhere.path(), "");
    assert_eq!(checked.code(), Some(1), "{}", checked.stdout);
    for told in [
        "an unknown verb is answered with 200 OK",
        "`next` of a page leads to the same page",
        "asked for `masts`, it sends `name` as well",
        "asked for 1 row, it sends 2",
        "a row does not pass it",
    ] {
        assert!(checked.stdout.contains(told), "{told}: {}", checked.stdout);
    }
    let silent = run(&["test", "connector", "http://127.0.0.1:1"], nowhere.path(), "");
    assert_eq!(silent.code(), Some(1), "{}", silent.stdout);
    let wrong = run(&["test", "connector", "127.0.0.1:1"], nowhere.path(), "");
    assert_eq!(wrong.code(), Some(2), "{}", wrong.stderr);
}
