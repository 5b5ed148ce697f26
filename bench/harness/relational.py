"""Select beside databases: the same JSON, the same question, one thread.

In: an executable of qlio. Out: for each work and contender the processor time and the time on the clock, from the
bytes of the answers to the bytes of the result, parsing and writing included. qlio is asked over HTTP, once at a
time; SQLite (in memory) and DuckDB (one thread) run in a process of their own for each round. All results are
compared before anything is timed.
"""

import json
import math
import platform
import sqlite3
import subprocess
import sys
import threading
import time
import urllib.request
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from random import Random

from .figures import slope
from .processes import Processes, cpu_seconds, free_port

SEED = 20
ROUNDS = 5
MOST_ROWS = 1_000_000
# The sizes that tell how the time grows, as multiples of the one that is compared, and how often each is asked: the
# median of a few short answers says more about the machine than about the growth.
SIZES = (0.125, 0.25, 0.5, 1)
GROWTH_ROUNDS = 11
ANSWER_SECONDS_MAX = 120
SETTINGS = {
    "maxResponseLength": 500_000_000,
    "maxJoinRows": 10_000_000,
    "maxUpstreamMemory": 2_000_000_000,
    "timeout": 120_000,
    "deadline": 120_000,
    "limits": {"memoryMiB": 8192, "cpuMs": 120_000, "rows": 50_000_000, "pairs": 50_000_000, "upstreamMiB": 4096},
}


@dataclass(frozen=True)
class Work:
    """One question of two or fewer lists of rows."""

    name: str
    title: str
    size: int
    # From a size and a source of chance to lists of rows, by name.
    rows: object
    # The script behind the tables, which are called as the lists.
    script: str
    # For SQLite: the columns of each list, what to prepare, and the question, which gives one JSON text.
    columns: dict
    prepare: tuple
    sqlite: str
    # For DuckDB: the question, whose rows are written as JSON.
    duckdb: str


def _join_rows(size, chance):
    keys = list(range(size))
    chance.shuffle(keys)
    return {
        "left": [{"id": number, "name": f"name {number % 1000}"} for number in range(size)],
        "right": [{"key": key, "price": chance.randrange(10_000)} for key in keys],
    }


def _group_rows(size, chance):
    return {"sales": [{"shop": chance.randrange(1000), "amount": chance.randrange(1000)} for _ in range(size)]}


def _nested_rows(size, chance):
    lines = [{"parent": number % size, "sku": chance.randrange(5000), "count": number % 7} for number in range(size * 10)]
    return {"parents": [{"id": number, "city": f"city {number % 50}"} for number in range(size)], "lines": lines}


WORKS = (
    Work(
        "join",
        "join 100,000 rows with 100,000 on a key",
        100_000,
        _join_rows,
        "return select l.id as id, l.name as name, r.price as price from left as l join right as r on r.key = l.id",
        {"left": ("id", "name"), "right": ("key", "price")},
        ("create index right_key on right (key)",),
        "select json_group_array(json_object('id', l.id, 'name', l.name, 'price', r.price)) from \"left\" l join \"right\" r on r.key = l.id",
        'select l.id, l.name, r.price from "left" l join "right" r on r.key = l.id',
    ),
    Work(
        "group",
        "group 1,000,000 rows and sort the groups",
        MOST_ROWS,
        _group_rows,
        "return select shop as shop, count(*) as n, sum(amount) as total from sales group by shop order by total desc, shop",
        {"sales": ("shop", "amount")},
        (),
        "select json_group_array(json_object('shop', shop, 'n', n, 'total', total)) from (select shop, count(*) as n, sum(amount) as total from sales group by shop order by total desc, shop)",
        "select shop, count(*) as n, sum(amount) as total from sales group by shop order by total desc, shop",
    ),
    Work(
        "sort",
        "sort 1,000,000 rows, all of them shown",
        MOST_ROWS,
        _group_rows,
        "return select amount as amount, shop as shop from sales order by amount desc, shop",
        {"sales": ("shop", "amount")},
        (),
        "select json_group_array(json_object('amount', amount, 'shop', shop)) from (select amount, shop from sales order by amount desc, shop)",
        "select amount, shop from sales order by amount desc, shop",
    ),
    Work(
        "nested",
        "10,000 parents with ten rows nested in each",
        10_000,
        _nested_rows,
        "return select {p.id, p.city, lines: [select {i.sku, i.count} from lines as i where i.parent = p.id]} from parents as p",
        {"parents": ("id", "city"), "lines": ("parent", "sku", "count")},
        ("create index lines_parent on lines (parent)",),
        "select json_group_array(json_object('id', p.id, 'city', p.city, 'lines', (select json_group_array(json_object('sku', i.sku, 'count', i.count)) from lines i where i.parent = p.id))) from parents p",
        "select p.id, any_value(p.city) as city, list({'sku': i.sku, 'count': i.\"count\"}) as lines from parents p join lines i on i.parent = p.id group by p.id",
    ),
)


def write_rows(folder, work, size):
    """The lists as files of JSON; their paths by name."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = {}
    for name, rows in work.rows(size, Random(SEED)).items():
        paths[name] = folder / f"{name}.json"
        paths[name].write_text(json.dumps(rows, separators=(",", ":")))
    return paths


def canonical(work, text):
    """A result in an order of its own, unless order is a part of the question."""
    rows = json.loads(text)
    if work.name in ("group", "sort"):
        return rows
    for row in rows:
        if "lines" in row:
            row["lines"].sort(key=lambda line: (line["sku"], line["count"]))
    return sorted(rows, key=lambda row: row["id"])


# The databases: each function answers with the text of the result.


def _answer_of(database, work):
    for statement in work.prepare:
        database.execute(statement.replace(" on right ", ' on "right" '))
    return database.execute(work.sqlite).fetchone()[0].encode()


def sqlite_by_json(work, paths):
    """SQLite parses the JSON itself."""
    database = sqlite3.connect(":memory:")
    for name, columns in work.columns.items():
        taken = ", ".join(f"value ->> '{column}' as \"{column}\"" for column in columns)
        database.execute(f'create table "{name}" as select {taken} from json_each(?)', (paths[name].read_text(),))
    return _answer_of(database, work)


def sqlite_by_rows(work, paths):
    """Python parses the JSON, SQLite gets rows."""
    database = sqlite3.connect(":memory:")
    for name, columns in work.columns.items():
        listed = ", ".join(f'"{column}"' for column in columns)
        database.execute(f'create table "{name}" ({listed})')
        marks = ", ".join("?" for _ in columns)
        rows = json.loads(paths[name].read_bytes())
        database.executemany(f'insert into "{name}" values ({marks})', ([row[column] for column in columns] for row in rows))
    return _answer_of(database, work)


def duckdb(work, paths):
    """DuckDB reads and writes the files."""
    import duckdb as library

    database = library.connect()
    database.execute("set threads = 1")
    for name, path in paths.items():
        database.execute(f"create view \"{name}\" as select * from read_json('{path}', format = 'array', maximum_object_size = 500000000)")
    target = next(iter(paths.values())).parent / "duckdb.out"
    database.execute(f"copy ({work.duckdb}) to '{target}' (format json, array true)")
    return target.read_bytes()


DATABASES = {"SQLite, its own JSON": sqlite_by_json, "SQLite, rows of Python": sqlite_by_rows, "DuckDB": duckdb}


def answer_here(database, name, folder):
    """One round of a database in this process: prints its times, or its answer for the comparison."""
    work = next(work for work in WORKS if work.name == name)
    paths = {path.stem: path for path in Path(folder).glob("*.json")}
    if database == "DuckDB":
        import duckdb as _  # noqa: F401  loading the library is no part of the question
    cpu, clock = time.process_time(), time.perf_counter()
    answer = DATABASES[database](work, {name: paths[name] for name in work.columns})
    print(json.dumps({"cpu": time.process_time() - cpu, "clock": time.perf_counter() - clock}), file=sys.stderr)
    sys.stdout.buffer.write(answer)


def _run_database(command, database, work, folder):
    done = subprocess.run([*command, "--answer", database, work.name, str(folder)], capture_output=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{database}: {done.stderr.decode()[-400:]}")
    return json.loads(done.stderr), done.stdout


class _Files(BaseHTTPRequestHandler):
    """Answers with the bytes of files that are in memory."""

    protocol_version = "HTTP/1.1"
    bodies = {}

    def do_GET(self):
        body = self.bodies[self.path]
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class Qlio:
    """A server with the routes of one work, asked over HTTP."""

    def __init__(self, processes, binary, folder, work, port):
        app = folder / "app"
        for part in ("tables", "routes"):
            (app / part).mkdir(parents=True, exist_ok=True)
        for name in work.columns:
            table = f'create table {name} on select get from "http://127.0.0.1:{port}/{name}.json"'
            (app / "tables" / f"{name}.ql").write_text(table + "\n")
        (app / "routes" / "work.ql").write_text(f"{work.script}\n  via route '/work' using method get\n")
        (app / "qlio.json").write_text(json.dumps(SETTINGS))
        own = free_port()
        self.process = processes.start("qlio", [binary, "serve", "--app", app, "--port", own, "--workers", 1])
        processes.wait_for_port("qlio", self.process, own)
        self.address = f"http://127.0.0.1:{own}/work"

    def answer(self):
        """Times and answer of one request."""
        cpu, clock = cpu_seconds(self.process.pid), time.perf_counter()
        with urllib.request.urlopen(self.address, timeout=ANSWER_SECONDS_MAX) as response:
            text = response.read()
        return {"cpu": cpu_seconds(self.process.pid) - cpu, "clock": time.perf_counter() - clock}, text


def _serve_files():
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Files)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


def _duckdb_version():
    try:
        import duckdb as library
    except ImportError:
        return None
    return library.__version__


def measure(binary, works, rounds, folder, command, databases, say):
    """The document: for each work the rounds of each contender, and how qlio's time grows."""
    server = _serve_files()
    versions = {"python": platform.python_version(), "sqlite": sqlite3.sqlite_version, "duckdb": _duckdb_version()}
    document = {"rounds": rounds, **versions, "works": []}
    try:
        for work in works:
            say(work.title)
            points = {}
            for multiple in SIZES:
                size = int(work.size * multiple)
                place = folder / work.name / str(size)
                paths = write_rows(place, work, size)
                _Files.bodies = {f"/{path.name}": path.read_bytes() for path in paths.values()}
                with Processes(folder) as processes:
                    qlio = Qlio(processes, binary, place, work, server.server_port)
                    _, text = qlio.answer()
                    result = canonical(work, text)
                    own = []
                    taken = {"qlio": own}
                    size_bytes = sum(len(body) for body in _Files.bodies.values())
                    for name in databases:
                        _, answer = _run_database(command, name, work, place)
                        if canonical(work, answer) != result:
                            raise RuntimeError(f"{work.name}: {name} and qlio disagree")
                    for _ in range(rounds):
                        own.append(qlio.answer()[0])
                        for name in databases:
                            taken.setdefault(name, []).append(_run_database(command, name, work, place)[0])
                    grown = {**taken, "qlio": own + [qlio.answer()[0] for _ in range(GROWTH_ROUNDS - len(own))]}
                for name, rounds_of_it in grown.items():
                    points.setdefault(name, []).append((size, median(rounds_of_it, "cpu")))
            exponents = {name: slope(of_name) for name, of_name in points.items()}
            document["works"].append({"name": work.name, "title": work.title, "bytes": size_bytes, "taken": taken, "exponents": exponents})
    finally:
        server.shutdown()
    return document


def median(rounds, kind):
    """The middle one of the rounds, in seconds."""
    return sorted(times[kind] for times in rounds)[len(rounds) // 2]


def page(document):
    """The page of a run."""
    machine = document["environment"]
    databases = f"SQLite {document['sqlite']}" + (f" and DuckDB {document['duckdb']}" if document["duckdb"] else "")
    lines = [
        "# Select beside databases",
        "",
        "The same questions of the same JSON, parsing and writing included: qlio over HTTP, one request at a time on one worker, SQLite in memory, and DuckDB on one thread, both from Python and from files.",
        "On a machine that does other things too, figures within a fifth of each other are the same. Times are medians; what counts is the processor time of the process. How to measure again is in [bench/README.md](../../bench/README.md#select-beside-databases).",
        "",
        f"Do not edit: `bench/relational --report docs/benchmarks/relational.md` writes this page. {document['rounds']} rounds of {document['qlio']}, {databases} from Python {document['python']}, on {machine['cpu']}, {machine['cores']} cores, {machine['system']}, {machine['time'][:10]}.",
        "",
        f"An exponent is that of the processor time over {', '.join(f'{size:g}' for size in SIZES[:-1])} and all of the rows. "
        f"With 1, twice the rows take twice the time; n log n has {exponent_of_sorting():.2f} up to a million rows.",
        "",
    ]
    return "\n".join(lines) + "\n" + markdown(document)


def exponent_of_sorting():
    """What n log n looks like over the sizes of the works that have a million rows."""
    sizes = [MOST_ROWS * size for size in SIZES]
    return slope([(size, size * math.log(size)) for size in sizes])


def markdown(document):
    """The figures as a table."""
    lines = ["| Work | Contender | CPU, ms | Clock, ms | CPU as multiple of qlio's | CPU grows with the exponent |", "| --- | --- | --- | --- | --- | --- |"]
    for work in document["works"]:
        own = median(work["taken"]["qlio"], "cpu")
        for name, rounds in work["taken"].items():
            cpu, clock = median(rounds, "cpu"), median(rounds, "clock")
            lines.append(f"| {work['title']} | {name} | {cpu * 1e3:,.0f} | {clock * 1e3:,.0f} | {cpu / own:.2f} | {work['exponents'][name]:.2f} |")
    return "\n".join(lines) + "\n"
