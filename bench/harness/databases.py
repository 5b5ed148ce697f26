"""Ten thousand rows through the connectors of PostgreSQL and MongoDB into routes of qlio, alone and joined with a table over HTTP.

Everything is a real server on loopback: PostgreSQL, FerretDB (MongoDB's protocol on SQLite), nginx, the connectors, and
qlio with one worker. Requests come one after the other.
"""

import http.client
import json
import os
import socket
import statistics
import struct
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

from . import small_nginx, tools
from .processes import cpu_seconds, free_port

NAMES = ["PostgreSQL", "MongoDB"]
ROWS = 10_000
ROUNDS = 5
SECONDS = 3
START_SECONDS = 60
COMMAND_SECONDS = 120

# How connectors are built, and what the page says of it.
PROFILES = {
    "release": "All are release builds.",
    "debug": "qlio is a release build, the connectors are development builds without optimisation: their part, and rows a second, are worse than what is shipped.",
}
KINDS = [{"kind": 0, "label": "even"}, {"kind": 1, "label": "odd"}]


@dataclass(frozen=True)
class Work:
    """A route, and how many rows it answers with."""

    name: str
    title: str
    script: str
    rows: int
    pushed: list[str]


def works(table):
    """The scripts on a table whose rows have a number `n`, a text and a `kind`."""
    return [
        Work("all", "all rows, two columns", f"return select n as n, text as text from {table}", ROWS, []),
        Work(
            "tested",
            "a hundredth of them, by a test that the database makes",
            f"return select n as n, text as text from {table} where n >= {ROWS - ROWS // 100}",
            ROWS // 100,
            ["n >="],
        ),
        Work(
            "joined",
            "all rows, joined with a table over HTTP, asked for by the keys of the other side",
            f"return select m.n as n, k.label as label from kinds as k join {table} as m on m.kind = k.kind",
            ROWS,
            [f"{table} as m: asks kind"],
        ),
    ]


class Databases:
    """The servers and their connectors."""

    def __init__(self, processes, folder: Path, connectors: Path, profile: str, say):
        self.processes, self.folder, self.say = processes, folder, say
        self.connectors, self.profile = connectors, profile
        self.found = {}

    def postgres(self):
        """PostgreSQL with the table `many`, on a Unix socket."""
        binaries = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
        if not binaries:
            raise tools.MissingTool("PostgreSQL is not installed (Debian: postgresql)")
        place = self.folder / "postgres"
        place.mkdir()
        place.chmod(0o777)
        self.folder.chmod(0o755)
        # It refuses to run as root.
        as_user = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups", "--"] if os.geteuid() == 0 else []
        initdb = [binaries[-1], "-D", place / "data", "-U", "qlio", "-A", "trust", "--no-sync", "-E", "UTF8", "--locale=C.UTF-8"]
        finished([*as_user, *initdb])
        serve = [binaries[-1].with_name("postgres"), "-D", place / "data", "-k", place, "-c", "listen_addresses="]
        server = self.processes.start("postgres", [*as_user, *serve])
        psql = ["psql", "-h", place, "-U", "qlio", "-d", "postgres", "-q", "-c"]
        wait_until(lambda: succeeds([*psql, "select 1"]), "PostgreSQL")
        finished([*psql, f"create table many as select n, 'row ' || n as text, n % 2 as kind from generate_series(0, {ROWS - 1}) as n"])
        escaped = str(place).replace("/", "%2F")
        address = f"postgresql:///postgres?host={escaped}&user=qlio"
        connector = self.connector("sql", {"DATABASE_URL": address}, [])
        self.found["PostgreSQL"] = ("rows", server, connector)
        return tools.version([str(binaries[-1].with_name("postgres")), "--version"])

    def mongodb(self, ferretdb: Path):
        """FerretDB with the collection `many`."""
        if not ferretdb.exists():
            raise tools.MissingTool(f"there is no `{ferretdb}`; connectors/mongodb/scripts/ferretdb builds it")
        place = self.folder / "ferretdb"
        (place / "data").mkdir(parents=True)
        port = free_port()
        server = self.processes.start(
            "ferretdb",
            [ferretdb, "--handler=sqlite", "--telemetry=disable", "--debug-addr=-", "--log-level=error"]
            + [f"--sqlite-url=file:{place}/data/", f"--state-dir={place}", f"--listen-addr=127.0.0.1:{port}"],
        )
        self.processes.wait_for_port("ferretdb", server, port, START_SECONDS)
        address = {"MONGODB_URL": f"mongodb://127.0.0.1:{port}/shop"}
        columns = ["--column", "many.n=number", "--column", "many.kind=number"]
        fill(port, [{"n": number, "text": f"row {number}", "kind": number % 2} for number in range(ROWS)])
        connector = self.connector("mongodb", address, columns)
        self.found["MongoDB"] = ("find", server, connector)
        return "FerretDB " + tools.version([str(ferretdb), "--version"]).split(" ")[-1]

    def connector(self, name, env, more):
        """A connector: its process and its address."""
        program = self.connectors / name / "target" / self.profile / f"qlio-{name}"
        if not program.exists():
            raise tools.MissingTool(f"there is no `{program}`; `cargo build` in connectors/{name} makes it")
        label = f"connector-{name}-{len(self.processes.running)}"
        process = self.processes.start(label, [program, "--listen", "127.0.0.1:0", *more], os.environ | env)
        address = self.processes.wait_for_line(label, process, START_SECONDS)
        return process, address.removeprefix("http://")


def bson(document):
    """A document of whole numbers, texts, lists and documents, as MongoDB's protocol writes it."""
    members = b""
    for key, value in document.items():
        name = key.encode() + b"\0"
        if isinstance(value, int):
            members += b"\x10" + name + struct.pack("<i", value)
        elif isinstance(value, str):
            text = value.encode() + b"\0"
            members += b"\x02" + name + struct.pack("<i", len(text)) + text
        elif isinstance(value, list):
            members += b"\x04" + name + bson({str(at): item for at, item in enumerate(value)})
        else:
            members += b"\x03" + name + bson(value)
    return struct.pack("<i", len(members) + 5) + members + b"\0"


def fill(port, documents, at_once=1000):
    """Puts documents into the collection `many`; the connector refuses one that is not there yet."""
    with socket.create_connection(("127.0.0.1", port), timeout=COMMAND_SECONDS) as connection:
        for begin in range(0, len(documents), at_once):
            said = bson({"insert": "many", "documents": documents[begin : begin + at_once], "$db": "shop"})
            # A message (2013) without flags, with one section.
            connection.sendall(struct.pack("<iiiii", len(said) + 21, 1, 0, 2013, 0) + b"\0" + said)
            length = struct.unpack("<i", connection.recv(4, socket.MSG_WAITALL))[0]
            answer = connection.recv(length - 4, socket.MSG_WAITALL)
            if b"\x01ok\0" + struct.pack("<d", 1) not in answer:
                raise RuntimeError(f"documents are not inserted: {answer!r}")


def finished(command):
    """Runs a command that has to succeed; gives what it printed."""
    command = [str(part) for part in command]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=COMMAND_SECONDS)
    if done.returncode:
        raise RuntimeError(f"{command[0]}: {done.stderr.strip()}")
    return done.stdout


def succeeds(command):
    command = [str(part) for part in command]
    return subprocess.run(command, capture_output=True, check=False, timeout=COMMAND_SECONDS).returncode == 0


def wait_until(condition, what):
    end = time.monotonic() + START_SECONDS
    while not condition():
        if time.monotonic() > end:
            raise RuntimeError(f"{what} does not start")
        time.sleep(0.05)


def write_app(folder: Path, databases: Databases, upstream: str):
    """An app with a table for each database and one over HTTP, and a route for each work."""
    for part in ("connectors", "tables", "routes"):
        (folder / part).mkdir(parents=True)
    tables = [f"create table kinds on select get from '{upstream}/kinds'"]
    for name, (verb, _, (_, address)) in databases.found.items():
        table = name.lower()
        (folder / "connectors" / f"{table}.json").write_text(json.dumps({"connector": f"http://{address}"}), encoding="utf-8")
        tables.append(f"create table {table} via {table} on select do {verb} at 'many'")
        for work in works(table):
            route = f"{work.script} via route '/{table}/{work.name}' using method get"
            (folder / "routes" / f"{table}-{work.name}.ql").write_text(route, encoding="utf-8")
    (folder / "tables/all.ql").write_text(";\n".join(tables), encoding="utf-8")


def checked_plan(binary, app, work):
    """What `qlio plan` says of a script; it has to tell what is pushed."""
    text = finished([binary, "plan", "--app", app, "-e", work.script])
    for part in work.pushed:
        if part not in text:
            raise RuntimeError(f"the plan does not say `{part}`:\n{text}")
    return text


def measure(processes, folder: Path, binary: Path, databases: Databases, rounds, seconds, say):
    """Every work on every database, in turns."""
    location = small_nginx.json_at("= /kinds", json.dumps(KINDS))
    port = small_nginx.start(processes, "nginx", folder, location)
    app = folder / "app"
    write_app(app, databases, f"http://127.0.0.1:{port}")
    serve = [binary, "serve", "--app", app, "--port", "0", "--workers", "1"]
    server = processes.start("qlio", serve)
    address = processes.wait_for_line("qlio", server, START_SECONDS)
    connection = http.client.HTTPConnection(*address.removeprefix("http://").split(":"))
    taken = []
    for name, (_, database, (connector, _)) in databases.found.items():
        for work in works(name.lower()):
            plan = checked_plan(binary, app, work)
            members = {"qlio": server.pid, "connector": connector.pid, "database": database.pid}
            taken.append((name, work, plan, members, []))
    for number in range(rounds):
        for name, work, _, members, windows in taken:
            windows.append(window(connection, f"/{name.lower()}/{work.name}", work.rows, members, seconds))
            say(f"round {number + 1}: {name}: {work.title}: {windows[-1]['rows'] / windows[-1]['seconds']:,.0f} rows/s")
    return [
        {"database": name, "work": work.title, "script": work.script, "rows": work.rows, "plan": plan, "windows": windows}
        for name, work, plan, _, windows in taken
    ]


def window(connection, path, rows, members, seconds):
    """Asks one route for so long; counts rows, and the processor time of everybody who takes part."""
    before = {name: cpu_seconds(pid) for name, pid in members.items()}
    began, asked = time.monotonic(), 0
    while time.monotonic() < began + seconds or asked == 0:
        connection.request("GET", path)
        answer = connection.getresponse()
        body = answer.read()
        if answer.status != 200 or len(json.loads(body)) != rows:
            raise RuntimeError(f"{path} answers {answer.status} with {len(body)} bytes: {body[:200]!r}")
        asked += 1
    taken = time.monotonic() - began
    spent = {name: cpu_seconds(pid) - before[name] for name, pid in members.items()}
    return {"requests": asked, "rows": asked * rows, "seconds": taken, "cpu": spent}


def page(document):
    """The page of a run."""
    machine = document["environment"]
    versions = ", ".join(document["versions"].values())
    lines = [
        "# Rows of databases",
        "",
        f"{ROWS:,} rows of PostgreSQL and {ROWS:,} documents of MongoDB in routes of qlio, through the [connectors](../adr/0044-databases-outside.md) [sql](../../connectors/sql/README.md) and [mongodb](../../connectors/mongodb/README.md). The collection is in FerretDB, which speaks MongoDB's protocol on SQLite; its part is not MongoDB's.",
        "One request after the other, one worker, everything on one machine, answers written as JSON and read. How to measure again is in [bench/README.md](../../bench/README.md#rows-of-databases).",
        "",
        f"Do not edit: `bench/databases --report docs/benchmarks/databases.md` writes this page. Medians of {document['rounds']} rounds of {document['seconds']} s with {versions}, on {machine['cpu']}, {machine['cores']} cores, {machine['system']}, {machine['time'][:10]}; the load of the machine was {document['load']:.1f} when it began. {PROFILES[document['profile']]}",
        "",
        "| Database | Work | Rows | Rows/s | ms | CPU of qlio, µs a row | of the connector | of the database |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    median = statistics.median
    for measured in document["measured"]:
        windows = measured["windows"]
        cpu = [median(1e6 * window["cpu"][who] / window["rows"] for window in windows) for who in ("qlio", "connector", "database")]
        lines.append(
            f"| {measured['database']} | {measured['work']} | {measured['rows']:,} "
            f"| {median(window['rows'] / window['seconds'] for window in windows):,.0f} "
            f"| {median(1e3 * window['seconds'] / window['requests'] for window in windows):,.1f} "
            f"| {cpu[0]:.2f} | {cpu[1]:.2f} | {cpu[2]:.2f} |"
        )
    lines += ["", "## What is pushed down", "", "`qlio plan` on these scripts:", ""]
    for measured in document["measured"]:
        lines += ["```text", measured["script"].replace(" from ", "\n  from ", 1), "", measured["plan"].rstrip(), "```", ""]
    return "\n".join(lines)

