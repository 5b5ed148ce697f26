//! The executable in front of a real server: FerretDB on `SQLite`, which the test starts.

#![allow(clippy::unwrap_used, clippy::print_stderr)]

use std::{
    env, fs,
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{TcpListener, TcpStream},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread::yield_now,
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use tempfile::TempDir;

const PATIENCE: Duration = Duration::from_secs(60);

/// A process that ends with the test.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Where `scripts/ferretdb` puts it, or where the environment says.
fn ferretdb() -> Option<PathBuf> {
    let built = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/ferretdb");
    let found = env::var_os("FERRETDB").map_or(built, PathBuf::from);
    found.exists().then_some(found)
}

/// A server on a free port.
fn database(folder: &Path) -> Option<(Running, u16)> {
    let program = ferretdb()?;
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let data = folder.join("data");
    fs::create_dir(&data).unwrap();
    let child = Command::new(program)
        .args(["--handler=sqlite", "--telemetry=disable", "--debug-addr=-", "--log-level=error"])
        .arg(format!("--sqlite-url=file:{}/", data.display()))
        .arg(format!("--state-dir={}", folder.display()))
        .arg(format!("--listen-addr=127.0.0.1:{port}"))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let running = Running(child);
    let begun = Instant::now();
    while TcpStream::connect(("127.0.0.1", port)).is_err() {
        assert!(begun.elapsed() < PATIENCE, "the database does not start");
        yield_now();
    }
    Some((running, port))
}

struct Connector {
    _process: Running,
    address: String,
}

impl Connector {
    fn start(database: &str, more: &[&str]) -> Self {
        let mut process = Command::new(env!("CARGO_BIN_EXE_qlio-mongodb"))
            .args(["--listen", "127.0.0.1:0"])
            .args(more)
            .env("MONGODB_URL", database)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut told = BufReader::new(process.stdout.take().unwrap());
        let process = Running(process);
        let mut address = String::new();
        told.read_line(&mut address).unwrap();
        assert!(!address.is_empty(), "the connector has not started");
        Self { _process: process, address: address.trim().to_owned() }
    }

    /// The rows of a statement, or its error.
    fn execute(&self, verb: &str, at: &str, more: &Value) -> Result<Vec<Value>, Value> {
        let mut statement = json!({"protocol": 1, "verb": verb, "at": at});
        statement.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let body = statement.to_string();
        let mut stream = TcpStream::connect(self.address.trim_start_matches("http://")).unwrap();
        let head =
            format!("POST /execute HTTP/1.0\r\nhost: x\r\ncontent-length: {}\r\n\r\n", body.len());
        stream.write_all((head + &body).as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        let mut lines: Vec<Value> =
            body.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let last = lines.pop().unwrap();
        if !head.contains(" 200 ") || !last["error"].is_null() {
            return Err(last["error"].clone());
        }
        assert_eq!(last, json!({"end": true}));
        Ok(lines.into_iter().map(|line| line["row"].clone()).collect())
    }
}

#[test]
fn a_server_with_documents() {
    let folder = TempDir::new().unwrap();
    let Some((_server, port)) = database(folder.path()) else {
        assert!(env::var("CI").as_deref() != Ok("true"), "FerretDB is not built");
        eprintln!("skipped: FerretDB is not built; `scripts/ferretdb` builds it");
        return;
    };
    let address = format!("mongodb://127.0.0.1:{port}/shop");
    fill(&address);
    let columns = ["--column", "items.price=number", "--column", "many.kind=number"];
    let connector = Connector::start(&address, &[&["--writable"], &columns[..]].concat());
    let names = |verb: &str, more: Value| -> Vec<String> {
        let rows = connector.execute(verb, "items", &more).unwrap();
        rows.iter().map(|row| row["name"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(names("find", json!({})).len(), 3);
    assert_eq!(names("find", json!({"parameters": {"name": ["rope", "anchor"]}})).len(), 2);
    let dear =
        json!({"tests": [{"column": "price", "test": ">=", "value": 12.5}], "columns": ["name"]});
    let rows = connector.execute("find", "items", &dear).unwrap();
    assert_eq!(rows.len(), 2);
    assert!(rows.iter().all(|row| row.as_object().unwrap().len() == 1), "{rows:?}");
    assert_eq!(names("find", json!({"limit": 1, "offset": 1})), ["rope"]);
    assert_eq!(names("findOne", json!({"parameters": {"name": "rope"}})), ["rope"]);
    let counted = connector.execute("count", "items", &json!({}));
    assert_eq!(counted, Ok(vec![json!({"count": 3})]));
    let pipeline = json!([{"$group": {"_id": null, "all": {"$sum": "$stock"}}}]);
    let grouped =
        connector.execute("aggregate", "items", &json!({"parameters": {"pipeline": pipeline}}));
    assert_eq!(grouped.unwrap()[0]["all"], 9);
    let inserted =
        connector.execute("insert", "items", &json!({"values": {"name": "sail", "price": 7}}));
    let id = inserted.unwrap()[0]["insertedId"].clone();
    assert!(id["$oid"].is_string(), "{id}");
    let update = json!({"values": {"_id": id, "name": "jib"}});
    assert_eq!(connector.execute("update", "items", &update), Ok(vec![json!({"rows": 1})]));
    assert_eq!(names("find", json!({"parameters": {"_id": id}})), ["jib"]);
    let remove = json!({"parameters": {"_id": id}});
    assert_eq!(connector.execute("remove", "items", &remove), Ok(vec![json!({"rows": 1})]));
    assert_eq!(
        connector.execute("update", "items", &json!({"values": {"a": 1}})).unwrap_err()["status"],
        422
    );
    let evil = json!({"parameters": {"name": {"$gt": ""}}});
    assert_eq!(connector.execute("find", "items", &evil).unwrap_err()["status"], 422);
    let nowhere = connector.execute("find", "nowhere", &json!({})).unwrap_err();
    assert_eq!((&nowhere["status"], &nowhere["position"]), (&json!(404), &json!(1)));
    let begun = Instant::now();
    assert_eq!(connector.execute("find", "many", &json!({})).unwrap().len(), 10_000);
    eprintln!("10000 documents in {:?}", begun.elapsed());
    check_with_qlio(&connector);
    join_with_http(&connector);
}

/// Where the executable of qlio is, if it is there.
fn qlio() -> Option<PathBuf> {
    let built = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/debug/qlio");
    let qlio = env::var_os("QLIO_EXECUTABLE").map_or(built, PathBuf::from);
    if !qlio.exists() {
        eprintln!("skipped: there is no executable of qlio");
        return None;
    }
    Some(qlio)
}

/// A process of qlio in a folder, and the address that it says first.
fn served(qlio: &Path, arguments: &[&str], folder: &Path) -> (Running, String) {
    let mut process = Command::new(qlio)
        .args(arguments)
        .args(["--port", "0"])
        .current_dir(folder)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut address = String::new();
    BufReader::new(process.stdout.take().unwrap()).read_line(&mut address).unwrap();
    (Running(process), address.trim().to_owned())
}

/// Ten thousand documents joined with a table over HTTP, in a route; the plan says what each side is asked for.
fn join_with_http(connector: &Connector) {
    let Some(qlio) = qlio() else { return };
    let app = TempDir::new().unwrap();
    for part in ["apis", "connectors", "tables", "routes"] {
        fs::create_dir(app.path().join(part)).unwrap();
    }
    let kinds = json!([{"kind": 0, "label": "even"}, {"kind": 1, "label": "odd"}]);
    fs::write(app.path().join("apis/kinds.json"), kinds.to_string()).unwrap();
    let (_mock, api) = served(&qlio, &["mock", "apis"], app.path());
    let file = json!({"connector": connector.address}).to_string();
    fs::write(app.path().join("connectors/shop.json"), file).unwrap();
    let tables = format!(
        "create table many via shop on select do find at 'many';\n\
         create table kinds on select get from '{api}/kinds'"
    );
    fs::write(app.path().join("tables/all.ql"), tables).unwrap();
    let script = "return select m.text as text, k.label as label from kinds as k join many as m on m.kind = k.kind";
    let route = format!("{script} via route '/joined' using method get");
    fs::write(app.path().join("routes/joined.ql"), route).unwrap();
    let planned = Command::new(&qlio).args(["plan", "-e", script]).current_dir(app.path()).output();
    let planned = String::from_utf8(planned.unwrap().stdout).unwrap();
    assert!(planned.contains("many as m: asks kind"), "{planned}");
    let (_server, address) = served(&qlio, &["serve"], app.path());
    let begun = Instant::now();
    let mut stream = TcpStream::connect(address.trim_start_matches("http://")).unwrap();
    stream.write_all(b"GET /joined HTTP/1.0\r\nhost: x\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    assert!(head.contains(" 200 "), "{head}\n{body}");
    let joined: Vec<Value> = serde_json::from_str(body).unwrap();
    eprintln!("10000 documents joined in {:?}", begun.elapsed());
    assert_eq!(joined.len(), 10_000);
    let odd = json!({"text": "row 9999", "label": "odd"});
    assert!(joined.contains(&odd), "{:?}", joined.first());
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
    let table = "create table items via shop on select do find at 'items'";
    fs::write(app.path().join("tables/shop.ql"), table).unwrap();
    let script = "return select name as name from items where price > 3 and name <> 'rope' order by price desc";
    let value: Value = serde_json::from_str(&run(&["run", "-e", script], app.path())).unwrap();
    assert_eq!(value, json!([{"name": "anchor"}, {"name": "lantern"}]));
    assert!(run(&["plan", "-e", script], app.path()).contains("price >"));
}

/// Puts documents into the database, with the driver.
fn fill(address: &str) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let client = mongodb::Client::with_uri_str(address).await.unwrap();
        let database = client.default_database().unwrap();
        let items = [
            mongodb::bson::doc! {"_id": 1, "name": "lantern", "price": 12.5, "stock": 2},
            mongodb::bson::doc! {"_id": 2, "name": "rope", "price": 3.2, "stock": 3},
            mongodb::bson::doc! {"_id": 3, "name": "anchor", "price": 250, "stock": 4},
        ];
        database.collection("items").insert_many(items).await.unwrap();
        let many = (0..10_000)
            .map(|n| mongodb::bson::doc! {"_id": n, "text": format!("row {n}"), "kind": n % 2});
        database.collection("many").insert_many(many.collect::<Vec<_>>()).await.unwrap();
    });
}
