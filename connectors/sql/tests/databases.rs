//! The executable in front of real databases: a file of `SQLite`, and a server of PostgreSQL that the test starts.

#![allow(clippy::unwrap_used, clippy::print_stderr)]

use std::{
    env, fs,
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::TcpStream,
    os::unix::fs::PermissionsExt as _,
    os::unix::net::UnixStream,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread::yield_now,
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use tempfile::TempDir;

const PATIENCE: Duration = Duration::from_secs(60);

const TABLES: &[&str] = &[
    "create table items (id integer primary key, name text not null, price numeric(10, 2), gone boolean)",
    "insert into items values (1, 'lantern', 12.5, false), (2, 'rope', 3.2, false), (3, 'anchor', 250, true)",
    "create table crews (ship text, member text)",
    "insert into crews values ('Hermine', 'Ann'), ('Hermine', 'Bob')",
    "create view cheap as select id, name from items where price < 20",
];

/// A process that ends with the test.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The connector in front of a database.
struct Connector {
    _process: Running,
    address: String,
}

impl Connector {
    fn start(database: &str, more: &[&str]) -> Self {
        let mut process = Command::new(env!("CARGO_BIN_EXE_qlio-sql"))
            .args(["--listen", "127.0.0.1:0"])
            .args(more)
            .env("DATABASE_URL", database)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut told = BufReader::new(process.stdout.take().unwrap());
        let process = Running(process);
        let mut address = String::new();
        told.read_line(&mut address).unwrap();
        let address = address.trim().to_owned();
        assert!(!address.is_empty(), "the connector has not started");
        Self { _process: process, address }
    }

    fn ask(&self, method: &str, path: &str, head: &str, body: &str) -> (u16, String) {
        let request = format!(
            "{method} {path} HTTP/1.0\r\nhost: x\r\n{head}content-length: {}\r\n\r\n{body}",
            body.len()
        );
        let mut answer = Vec::new();
        if let Some(path) = self.address.strip_prefix("unix:") {
            let mut stream = UnixStream::connect(path).unwrap();
            stream.write_all(request.as_bytes()).unwrap();
            stream.read_to_end(&mut answer).unwrap();
        } else {
            let mut stream =
                TcpStream::connect(self.address.trim_start_matches("http://")).unwrap();
            stream.write_all(request.as_bytes()).unwrap();
            stream.read_to_end(&mut answer).unwrap();
        }
        let answer = String::from_utf8(answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        (status, body.to_owned())
    }

    fn describe(&self) -> Value {
        let (status, body) = self.ask("GET", "/describe", "", "");
        assert_eq!(status, 200, "{body}");
        serde_json::from_str(&body).unwrap()
    }

    /// The rows of a statement, or its error.
    fn execute(&self, statement: &Value) -> Result<Vec<Value>, Value> {
        let (status, body) = self.ask("POST", "/execute", "", &statement.to_string());
        let mut lines: Vec<Value> =
            body.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let last = lines.pop().unwrap();
        if status != 200 || !last["error"].is_null() {
            return Err(last["error"].clone());
        }
        assert_eq!(last, json!({"end": true}));
        Ok(lines.into_iter().map(|line| line["row"].clone()).collect())
    }
}

/// Carries out what must hold of any database.
fn check(connector: &Connector) {
    let described = connector.describe();
    let sources = described["verbs"]["rows"]["sources"].as_object().unwrap();
    assert_eq!(sources.keys().collect::<Vec<_>>(), ["cheap", "crews", "items"]);
    assert_eq!(sources["items"]["columns"]["price"]["type"], "number");
    let rows = |more: Value| {
        let mut statement = json!({"protocol": 1, "verb": "rows", "at": "items"});
        statement.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        connector.execute(&statement)
    };
    let names = |more: Value| -> Vec<String> {
        let found = rows(more).unwrap();
        found.iter().map(|row| row["name"].as_str().unwrap().to_owned()).collect()
    };
    let test = |column: &str, test: &str, value: Value| json!({"tests": [{"column": column, "test": test, "value": value}]});
    assert_eq!(
        rows(json!({"columns": ["id"], "limit": 1, "offset": 1})),
        Ok(vec![json!({"id": 2})])
    );
    assert_eq!(rows(json!({"columns": [], "limit": 1})), Ok(vec![json!({})]));
    assert_eq!(names(test("price", ">=", json!(12.5))), ["lantern", "anchor"]);
    assert_eq!(names(test("price", "<", json!(3.21))), ["rope"]);
    assert_eq!(names(test("id", "in", json!([3, 1]))), ["lantern", "anchor"]);
    assert_eq!(names(test("name", "like", json!("%o%"))), ["rope", "anchor"]);
    assert_eq!(names(test("name", ">", json!("lantern"))), ["rope"]);
    let evil = "x'; drop table items; --";
    assert!(names(test("name", "=", json!(evil))).is_empty());
    assert_eq!(names(json!({})).len(), 3);
    let cheap = connector
        .execute(&json!({"verb": "rows", "at": "cheap", "columns": ["name"], "tests": []}));
    assert_eq!(cheap.unwrap().len(), 2);
    let error = connector.execute(&json!({"verb": "rows", "at": "items\"; --"})).unwrap_err();
    assert_eq!((&error["status"], &error["position"]), (&json!(404), &json!(1)));
    // Writes: bound, counted, refused without a key or a condition.
    let write = |verb: &str, more: Value| {
        let mut statement = json!({"verb": verb, "at": "items"});
        statement.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        connector.execute(&statement)
    };
    let one = Ok(vec![json!({"rows": 1})]);
    assert_eq!(write("insert", json!({"values": {"id": 4, "name": evil, "price": 1}})), one);
    assert_eq!(names(test("name", "=", json!(evil))), [evil]);
    assert_eq!(write("update", json!({"values": {"id": 4, "name": "sail", "price": null}})), one);
    assert_eq!(names(test("id", "=", json!(4))), ["sail"]);
    let twice = write("insert", json!({"values": {"id": 4, "name": "x"}})).unwrap_err();
    assert_eq!(twice["status"], 422, "{twice}");
    assert_eq!(write("delete", test("id", "=", json!(4))), one);
    assert_eq!(write("delete", json!({})).unwrap_err()["status"], 422);
    let (status, _) = connector.ask("POST", "/execute", "", "{");
    assert_eq!(status, 400);
    assert_eq!(connector.ask("GET", "/nowhere", "", "").0, 404);
    check_with_qlio(connector);
}

/// The executable of qlio, if it is there.
fn qlio() -> Option<PathBuf> {
    let built = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/debug/qlio");
    let qlio = env::var_os("QLIO_EXECUTABLE").map_or(built, PathBuf::from);
    if !qlio.exists() {
        eprintln!("skipped: there is no executable of qlio");
        return None;
    }
    Some(qlio)
}

/// Ten thousand rows of the database joined with a table over HTTP; the plan says what each side is asked for.
fn join_with_http(connector: &Connector) {
    let Some(qlio) = qlio() else { return };
    let app = TempDir::new().unwrap();
    for part in ["apis", "connectors", "tables"] {
        fs::create_dir(app.path().join(part)).unwrap();
    }
    let kinds = json!([{"kind": 0, "label": "even"}, {"kind": 1, "label": "odd"}]);
    fs::write(app.path().join("apis/kinds.json"), kinds.to_string()).unwrap();
    let mut mock = Command::new(&qlio)
        .args(["mock", "apis", "--port", "0"])
        .current_dir(app.path())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut api = String::new();
    BufReader::new(mock.stdout.take().unwrap()).read_line(&mut api).unwrap();
    let _mock = Running(mock);
    let file = json!({"connector": connector.address}).to_string();
    fs::write(app.path().join("connectors/shop.json"), file).unwrap();
    let tables = format!(
        "create table many via shop on select do rows at 'many'\n\
         create table kinds on select get from '{}/kinds'",
        api.trim()
    );
    fs::write(app.path().join("tables/all.ql"), tables).unwrap();
    let script = "return select m.n as n, k.label as label from kinds as k join many as m on m.kind = k.kind";
    let run = |command: &str| {
        let done =
            Command::new(&qlio).args([command, "-e", script]).current_dir(app.path()).output();
        let done = done.unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        String::from_utf8(done.stdout).unwrap()
    };
    assert!(run("plan").contains("many as m: asks kind"), "{}", run("plan"));
    let begun = Instant::now();
    let joined: Value = serde_json::from_str(&run("run")).unwrap();
    eprintln!("10000 rows joined in {:?}", begun.elapsed());
    assert_eq!(joined.as_array().unwrap().len(), 10_000);
}

/// The same connector behind qlio, if its executable is there.
fn check_with_qlio(connector: &Connector) {
    let Some(qlio) = qlio() else { return };
    let run = |arguments: &[&str], folder: &Path| {
        let done = Command::new(&qlio).args(arguments).current_dir(folder).output().unwrap();
        let told = String::from_utf8_lossy(&done.stdout).into_owned();
        assert!(done.status.success(), "{told}{}", String::from_utf8_lossy(&done.stderr));
        told
    };
    let app = TempDir::new().unwrap();
    run(&["test", "connector", &connector.address], app.path());
    fs::create_dir_all(app.path().join("connectors")).unwrap();
    fs::create_dir_all(app.path().join("tables")).unwrap();
    let file = json!({"connector": connector.address}).to_string();
    fs::write(app.path().join("connectors/shop.json"), file).unwrap();
    let tables = "create table items via shop on select do rows at 'items' on delete do delete at 'items'\n\
                  create table crews via shop on select do rows at 'crews'";
    fs::write(app.path().join("tables/shop.ql"), tables).unwrap();
    let script = "return select name as name, price as price from items where price > 3 and name <> 'rope' order by price desc";
    let told = run(&["run", "-e", script], app.path());
    let value: Value = serde_json::from_str(&told).unwrap();
    assert_eq!(value.as_array().unwrap().len(), 2, "{told}");
    assert_eq!(value[0]["name"], "anchor");
    let planned = run(&["plan", "-e", script], app.path());
    assert!(planned.contains("price >"), "{planned}");
}

#[test]
fn a_file_of_sqlite() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("shop.db");
    let database = rusqlite::Connection::open(&file).unwrap();
    for statement in TABLES {
        database.execute(statement, []).unwrap();
    }
    check(&Connector::start(&format!("sqlite:{}", file.display()), &["--writable"]));
}

/// A server that listens on a Unix socket alone.
fn postgres(folder: &Path) -> Option<Running> {
    let bin = fs::read_dir("/usr/lib/postgresql").ok()?.filter_map(Result::ok);
    let bin =
        bin.map(|version| version.path().join("bin")).find(|bin| bin.join("initdb").exists())?;
    // It refuses to run as root.
    fs::set_permissions(folder, fs::Permissions::from_mode(0o777)).unwrap();
    let is_root = Command::new("id").arg("-u").output().unwrap().stdout == b"0\n";
    let command = |program: &str| {
        let program = bin.join(program);
        if is_root {
            let mut command = Command::new("setpriv");
            command
                .args(["--reuid=postgres", "--regid=postgres", "--clear-groups", "--"])
                .arg(program);
            command
        } else {
            Command::new(program)
        }
    };
    let data = folder.join("data");
    let made = command("initdb")
        .args(["-D", data.to_str().unwrap(), "-U", "qlio", "-A", "trust", "--no-sync"])
        .args(["-E", "UTF8", "--locale=C.UTF-8"])
        .stdout(Stdio::null())
        .status()
        .unwrap();
    assert!(made.success());
    let server = command("postgres")
        .args(["-D", data.to_str().unwrap(), "-k", folder.to_str().unwrap()])
        .args(["-c", "listen_addresses=", "-c", "fsync=off"])
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    Some(Running(server))
}

#[test]
fn a_server_of_postgresql() {
    let folder = TempDir::new().unwrap();
    let Some(_server) = postgres(folder.path()) else {
        assert!(env::var("CI").as_deref() != Ok("true"), "PostgreSQL is not installed");
        eprintln!("skipped: PostgreSQL is not installed");
        return;
    };
    let psql = |statement: &str| {
        Command::new("psql")
            .args([
                "-h",
                folder.path().to_str().unwrap(),
                "-U",
                "qlio",
                "-d",
                "postgres",
                "-q",
                "-c",
                statement,
            ])
            .stderr(Stdio::null())
            .status()
            .unwrap()
            .success()
    };
    let begun = Instant::now();
    while !psql("select 1") {
        assert!(begun.elapsed() < PATIENCE, "the server does not start");
        yield_now();
    }
    for statement in TABLES {
        assert!(psql(statement), "{statement}");
    }
    let address = format!(
        "postgresql:///postgres?host={}&user=qlio",
        folder.path().to_str().unwrap().replace('/', "%2F")
    );
    let connector = Connector::start(&address, &["--writable"]);
    check(&connector);
    // Ten thousand rows, line by line, and what a statement that lasts too long gets.
    assert!(psql(
        "create table many as select n, 'row ' || n as text, n % 2 as kind from generate_series(1, 10000) as n"
    ));
    assert!(psql("create view slow as select 1 as one, pg_sleep(30)::text as slept"));
    let connector = Connector::start(&address, &[]);
    let begun = Instant::now();
    let many = connector.execute(&json!({"verb": "rows", "at": "many"})).unwrap();
    assert_eq!(many.len(), 10_000);
    eprintln!("10000 rows in {:?}", begun.elapsed());
    join_with_http(&connector);
    let slow = json!({"verb": "rows", "at": "slow", "deadlineMs": 100});
    assert_eq!(connector.execute(&slow).unwrap_err()["status"], 504);
    let insert = json!({"verb": "insert", "at": "items", "values": {"id": 9}});
    assert_eq!(connector.execute(&insert).unwrap_err()["status"], 404);
}

#[test]
fn tables_tokens_and_sockets_are_as_they_are_told() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("shop.db");
    let database = rusqlite::Connection::open(&file).unwrap();
    for statement in TABLES {
        database.execute(statement, []).unwrap();
    }
    let socket = format!("unix:{}", folder.path().join("shop.sock").display());
    let mut process = Command::new(env!("CARGO_BIN_EXE_qlio-sql"))
        .args(["--listen", &socket, "--tables", "items", "--token", "s3cret"])
        .env("DATABASE_URL", format!("sqlite:{}", file.display()))
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut told = String::new();
    BufReader::new(process.stdout.take().unwrap()).read_line(&mut told).unwrap();
    let connector = Connector { _process: Running(process), address: told.trim().to_owned() };
    assert_eq!(connector.ask("GET", "/describe", "", "").0, 401);
    assert_eq!(connector.ask("GET", "/describe", "authorization: Bearer s3cres\r\n", "").0, 401);
    let (status, body) = connector.ask("GET", "/describe", "authorization: Bearer s3cret\r\n", "");
    assert_eq!(status, 200);
    assert!(
        body.contains("items") && !body.contains("crews") && !body.contains("insert"),
        "{body}"
    );
    for (database, told) in [
        ("mysql://x", "must be `postgres://…` or `sqlite:FILE`"),
        ("sqlite:/nowhere/x.db", "cannot read the tables"),
    ] {
        let ended =
            Command::new(env!("CARGO_BIN_EXE_qlio-sql")).env("DATABASE_URL", database).output();
        let ended = ended.unwrap();
        assert!(!ended.status.success());
        let stderr = String::from_utf8_lossy(&ended.stderr).into_owned();
        assert!(stderr.contains(told), "{stderr}");
    }
}
