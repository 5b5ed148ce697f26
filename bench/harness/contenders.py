"""The upstream and the programs that are measured against each other.

Each contender is started once for each part of the run, on a free loopback port, with as many workers
as there are cores, and stays up for the whole run; an idle contender costs the others nothing
measurable. Parts have instances of their own so that memory that a large answer has left behind does
not show where connections are counted.
"""

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from . import formats, graphql, hooks, tools
from .dataset import Scenario, exchanges_of_d
from .processes import Processes, StartError, free_port
from .verify import upstream_counters

BENCH = Path(__file__).resolve().parent.parent
OPEN_FILES = 65_536
# Loading many modules takes its time on a busy machine.
NODE_START_SECONDS = 120
# What the curves of growth need above the defaults.
QLIO_LIMITS = {"maxNestedRequests": 1_000, "maxResponseLength": 200_000_000}
# In a container it would write a line for each request; the others write none either.
QLIO_LOG = {"log": {"format": "none"}}

AGGREGATION = ("A", "B", "C", "D")
FORMATS = ("J", "E", "F", "J3", "E3", "F3")
SCRIPTED = (*hooks.HOOKS, *(hooks.posted(name) for name in hooks.PUBLISHED))


def unchanged(value):
    return value


@dataclass(frozen=True)
class Request:
    """How a contender is asked. `{key}` in path and body is replaced by a different key each time."""

    path: str
    method: str = "GET"
    body: str | None = None
    # From what is answered to what the scenario expects.
    unwrap: Callable = unchanged


@dataclass(frozen=True)
class Contender:
    """A running program under test."""

    name: str
    title: str
    url: str
    pid: int
    scenarios: tuple
    # Requests that differ from the scenario's own.
    requests: dict = field(default_factory=dict)
    # Scenarios of which it only shows the floor, with what it answers; None: the scenario knows.
    floors: dict = field(default_factory=dict)

    def request(self, scenario: Scenario):
        return self.requests.get(scenario.name) or Request(scenario.path)

    def right_answer(self, scenario: Scenario):
        if scenario.name not in self.floors:
            return scenario.answer
        floor = self.floors[scenario.name]
        return scenario.floor if floor is None else floor


@dataclass(frozen=True)
class Upstream:
    """The program that serves the data to all contenders."""

    url: str
    pid: int

    def counters(self):
        """Connections and requests so far, this look included."""
        return upstream_counters(self.url)


def fill(template, values):
    """Replace every `@NAME@` of a configuration template."""
    text = (BENCH / "nginx" / template).read_text()
    for name, value in values.items():
        text = text.replace(f"@{name}@", str(value))
    return text


class Fleet:
    """Starts the contenders of one part in a folder of their own, all on the same upstream."""

    def __init__(self, processes: Processes, part: str, folder: Path, workers: int, data: Path):
        self.processes = processes
        self.part = part
        self.folder = folder / part
        self.folder.mkdir()
        self.workers = workers
        self.data = data
        self.upstream_port = None

    def process(self, name, command, env=None):
        return self.processes.start(f"{self.part}-{name}", command, env)

    def wait_for_port(self, name, process, port, *seconds):
        self.processes.wait_for_port(f"{self.part}-{name}", process, port, *seconds)

    def nginx(self, name, template, extra):
        port = free_port()
        prefix = self.folder / name
        prefix.mkdir()
        values = {
            # Workers of a root master would otherwise not be allowed to read a private folder.
            "USER": "user root;" if os.geteuid() == 0 else "",
            "WORKERS": self.workers,
            "FILES": OPEN_FILES,
            "PREFIX": prefix,
            "PORT": port,
            **extra,
        }
        (prefix / "nginx.conf").write_text(fill(template, values))
        command = [tools.program("nginx"), "-p", prefix, "-e", prefix / "error.log", "-c", prefix / "nginx.conf"]
        process = self.process(name, command)
        self.wait_for_port(name, process, port)
        return port, process

    def upstream(self):
        """The static upstream of all contenders."""
        self.upstream_port, process = self.nginx("upstream", "upstream.conf", {"DATA": self.data})
        return Upstream(f"http://127.0.0.1:{self.upstream_port}", process.pid)

    def start(self, name, program):
        """Start a contender; `program` is what was built for it, if anything had to be."""
        return getattr(self, f"start_{name.replace('-', '_')}")(program)

    def start_nginx(self, _):
        port, process = self.nginx("nginx", "passthrough.conf", {"UPSTREAM": self.upstream_port})
        floors = {"A": None, "G": None}
        return Contender("nginx", "nginx proxy_pass", f"http://127.0.0.1:{port}", process.pid, ("A", "G"), floors=floors)

    def start_lua(self, _):
        extra = {
            "UPSTREAM": self.upstream_port,
            "MODULES": tools.NGINX_MODULES,
            "SCRIPTS": BENCH / "nginx",
            "CPATH": tools.lua_cpath(),
        }
        port, process = self.nginx("lua", "aggregate.conf", extra)
        return Contender("lua", "nginx + Lua", f"http://127.0.0.1:{port}", process.pid, ("B", "C", "D", "G"))

    def start_node(self, _):
        port = free_port()
        service = tools.NODE_SERVICE / "service.mjs"
        command = [tools.program("node"), service, port, self.upstream_port, self.workers, formats.SCHEMA]
        env = os.environ | {"NODE_ENV": "production"}
        process = self.process("node", command, env=env)
        self.wait_for_port("node", process, port, NODE_START_SECONDS)
        scenarios = (*AGGREGATION, *FORMATS, "G")
        return Contender("node", "Node (Fastify + undici)", f"http://127.0.0.1:{port}", process.pid, scenarios)

    def start_hive(self, _):
        port = free_port()
        env = os.environ | {"NODE_ENV": "production", "UPSTREAM": f"http://127.0.0.1:{self.upstream_port}"}
        schema = self.folder / "supergraph.graphql"
        programs = tools.HIVE_GATEWAY / "node_modules" / ".bin"
        compose = [tools.program("node"), programs / "mesh-compose", "-c", "mesh.config.mjs", "-o", schema]
        done = subprocess.run(
            compose, cwd=tools.HIVE_GATEWAY, env=env, check=False, capture_output=True, text=True, timeout=NODE_START_SECONDS
        )
        if done.returncode != 0 or not schema.exists():
            raise StartError(f"mesh-compose failed:\n{done.stdout[-1000:]}{done.stderr[-1000:]}")
        command = [tools.program("node"), programs / "hive-gateway", "supergraph", schema]
        command += ["-c", tools.HIVE_GATEWAY / "gateway.config.mjs", "-h", "127.0.0.1", "-p", port]
        command += ["--fork", self.workers, "--jit", "--disable-websockets", "--polling", "1h"]
        process = self.process("hive", command, env=env)
        self.wait_for_port("hive", process, port, NODE_START_SECONDS)
        requests = {
            name: Request("/graphql", "POST", json.dumps({"query": query, "variables": {"key": "{key}"}}), unwrap)
            for name, (query, unwrap) in graphql.QUERIES.items()
        }
        scenarios = (*AGGREGATION, "G")
        return Contender("hive", "Hive Gateway (GraphQL)", f"http://127.0.0.1:{port}", process.pid, scenarios, requests)

    def start_qlio(self, binary):
        return self.gateway(binary, "qlio", "qlio", (*AGGREGATION, *FORMATS, "G", *SCRIPTED))

    def start_plain(self, binary):
        return self.gateway(binary, "plain", "qlio, built without a profile", AGGREGATION)

    def gateway(self, binary, name, title, scenarios):
        folder = self.folder / name
        shutil.copytree(BENCH / "qlio", folder)
        shutil.copy(formats.SCHEMA, folder / "tables")
        shutil.copy(formats.REQUEST, folder / "tables")
        settings = folder / "config.json"
        settings.write_text(json.dumps({"upstream": f"127.0.0.1:{self.upstream_port}", **QLIO_LIMITS, **QLIO_LOG}))
        command = [binary, "serve", "--tables", folder / "tables", "--routes", folder / "routes"]
        command += ["--config", settings, "--host", "127.0.0.1", "--port", "0", "--workers", self.workers, "--strict"]
        process = self.process(name, command)
        return Contender(name, title, self.loopback_url(name, process), process.pid, scenarios)

    def start_bare(self, program):
        return self.bare(program, "bare", "plain", "bare exchanges (hyper)")

    def start_bare_own(self, program):
        return self.bare(program, "bare-own", "transport", "bare exchanges (qlio's client)")

    def bare(self, program, name, kind, title):
        paths, bodies = exchanges_of_d(self.data)
        process = self.process(name, [program, kind, f"127.0.0.1:{self.upstream_port}", self.workers, *paths])
        return Contender(name, title, self.loopback_url(name, process), process.pid, ("D",), floors={"D": bodies})

    def loopback_url(self, name, process):
        url = self.processes.wait_for_line(f"{self.part}-{name}", process)
        if not url.startswith("http://127.0.0.1:"):
            raise StartError(f"{name} printed no loopback URL first, but: {url}")
        return url.rstrip("/")
