"""What wrk can't show: growth with size, time to the first answer, time to compile.

Everything here is one request, one start or one compilation at a time, so that a figure is the cost
of the thing itself; rounds are taken by the caller.
"""

import contextlib
import http.client
import json
import re
import subprocess
import time
import urllib.parse
from pathlib import Path

from .processes import StartError, cpu_seconds, free_port
from .verify import WrongAnswer

# One answer of the largest size may take this long.
TIMEOUT_SECONDS = 300
START_SECONDS = 15
START_POLL_SECONDS = 0.001
COMPILE_SECONDS = 120
TABLES, ROUTES = 500, 200
SMALL_CATALOG = "1 table, 1 route"
LARGE_CATALOG = f"{TABLES} tables, {ROUTES} routes"


class Connection:
    """One kept-alive connection to a contender."""

    def __init__(self, url):
        self.connection = http.client.HTTPConnection(urllib.parse.urlsplit(url).netloc, timeout=TIMEOUT_SECONDS)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.connection.close()

    def get(self, path):
        try:
            self.connection.request("GET", path)
            answer = self.connection.getresponse()
            body = answer.read()
        except TimeoutError as error:
            raise WrongAnswer(f"{path}: no answer within {TIMEOUT_SECONDS} s") from error
        if answer.status != 200:
            raise WrongAnswer(f"{path}: status {answer.status}: {body[:300]!r}")
        return body


def check_curve(contender, curve, size):
    """One request, and whether its answer is right."""
    with Connection(contender.url) as connection:
        body = connection.get(curve.path.format(size=size, key="check"))
    try:
        right = curve.right(size, json.loads(body))
    except (ValueError, LookupError, TypeError) as error:
        raise WrongAnswer(f"{contender.title}, {curve.name} of {size}: {error!r}: {body[:200]!r}") from error
    if not right:
        raise WrongAnswer(f"{contender.title}, {curve.name} of {size}: another answer than expected: {body[:200]!r}")


def measure_curve(contender, curve, size, seconds):
    """Requests one after the other for about `seconds`, at least one; time and CPU of each."""
    with Connection(contender.url) as connection:
        requests = 0
        own, began = cpu_seconds(contender.pid), time.monotonic()
        while requests == 0 or time.monotonic() - began < seconds:
            connection.get(curve.path.format(size=size, key=f"k{requests}"))
            requests += 1
        elapsed, own = time.monotonic() - began, cpu_seconds(contender.pid) - own
    return {"requests": requests, "wall_ms": elapsed * 1e3 / requests, "cpu_ms": own * 1e3 / requests}


def write_catalog(folder: Path, tables, routes):
    """Generated tables and routes; the route `/first` is the one that is asked for."""
    (folder / "tables").mkdir(parents=True)
    (folder / "routes").mkdir()
    for number in range(tables):
        name = "first" if number == 0 else f"table{number}"
        path = "prods" if number == 0 else f"api/{number}"
        (folder / "tables" / f"{name}.ql").write_text(
            f"-- Rows of API {number}, found by a text.\n"
            f"create table made.{name}\n"
            f"  on select get from 'http://{{config.upstream}}/{path}?k={{^k}}&limit={{limit}}&kind={{kind}}'\n"
            "    using defaults limit = 10, kind = 'Ref'\n"
            "    resultset 'products'\n"
        )
    for number in range(routes):
        name = "first" if number == 0 else f"route{number}"
        table = "first" if number == 0 else f"table{number % max(tables, 1)}"
        (folder / "routes" / f"{name}.ql").write_text(
            f"-- Two columns of the rows of table {number}.\n"
            f'found = select pid, name from made.{table} where k = "{{k}}";\n'
            "return found\n"
            f"  via route '/{name}?k={{k}}' using method get;\n"
        )


def measure_start(processes, binary, folder, upstream_port):
    """Milliseconds from starting the process to the first answer of a route."""
    settings = folder / "config.json"
    settings.write_text(json.dumps({"upstream": f"127.0.0.1:{upstream_port}"}))
    port = free_port()
    command = [binary, "serve", "--tables", folder / "tables", "--routes", folder / "routes"]
    command += ["--config", settings, "--host", "127.0.0.1", "--port", port, "--strict"]
    began = time.monotonic()
    process = processes.start("start", command)
    try:
        while time.monotonic() - began < START_SECONDS:
            with contextlib.suppress(ConnectionError), Connection(f"http://127.0.0.1:{port}") as connection:
                connection.get("/first?k=mac")
                return (time.monotonic() - began) * 1e3
            if process.poll() is not None:
                raise StartError(f"qlio ended with status {process.returncode}:\n{processes.tail('start')}")
            time.sleep(START_POLL_SECONDS)
        raise StartError(f"qlio gave no answer within {START_SECONDS} s:\n{processes.tail('start')}")
    finally:
        processes.stop(process)


UNITS = {"ns": 1e-3, "µs": 1.0, "us": 1.0, "ms": 1e3, "s": 1e6}
# A line of divan's table: name, then fastest │ slowest │ median │ mean │ samples │ iterations.
DIVAN_LINE = re.compile(r"^[├╰]─ (\w+)\s+(.*)$")


def medians_of_divan(text):
    """The median of each benchmark in microseconds."""
    found = {}
    for line in text.splitlines():
        matched = DIVAN_LINE.match(line)
        if not matched:
            continue
        cells = [cell.strip() for cell in matched[2].split("│")]
        value, unit = cells[2].split()
        found[matched[1]] = float(value) * UNITS[unit]
    return found


def measure_compile(program):
    """Microseconds that compiling each script takes, from its text, with nothing kept."""
    command = [program, "--bench"]
    done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=COMPILE_SECONDS)
    return medians_of_divan(done.stdout)
