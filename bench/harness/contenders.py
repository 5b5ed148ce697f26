"""The upstream and the programs that are measured against each other.

Each contender is started once, on a free loopback port, with as many workers as there are cores,
and stays up for the whole run; an idle contender costs the others nothing measurable.
"""

import json
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

from . import tools
from .processes import Processes, StartError, free_port

BENCH = Path(__file__).resolve().parent.parent
OPEN_FILES = 65_536


@dataclass(frozen=True)
class Contender:
    """A running program under test."""

    name: str
    title: str
    url: str
    pid: int
    scenarios: str


def fill(template, values):
    """Replace every `@NAME@` of a configuration template."""
    text = (BENCH / "nginx" / template).read_text()
    for name, value in values.items():
        text = text.replace(f"@{name}@", str(value))
    return text


class Fleet:
    """Starts the upstream and the contenders of one run in a folder of its own."""

    def __init__(self, processes: Processes, folder: Path, workers: int):
        self.processes = processes
        self.folder = folder
        self.workers = workers
        self.upstream_port = None

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
        process = self.processes.start(name, command)
        self.processes.wait_for_port(name, process, port)
        return port, process

    def upstream(self, data: Path):
        """The static upstream; returns its process."""
        self.upstream_port, process = self.nginx("upstream", "upstream.conf", {"DATA": data})
        return process

    def start(self, name, qlio_binary):
        return getattr(self, f"start_{name}")(qlio_binary)

    def start_nginx(self, _):
        port, process = self.nginx("nginx", "passthrough.conf", {"UPSTREAM": self.upstream_port})
        return Contender("nginx", "nginx proxy_pass", f"http://127.0.0.1:{port}", process.pid, "A")

    def start_lua(self, _):
        extra = {
            "UPSTREAM": self.upstream_port,
            "MODULES": tools.NGINX_MODULES,
            "SCRIPTS": BENCH / "nginx",
            "CPATH": tools.lua_cpath(),
        }
        port, process = self.nginx("lua", "aggregate.conf", extra)
        return Contender("lua", "nginx + Lua", f"http://127.0.0.1:{port}", process.pid, "BCD")

    def start_node(self, _):
        port = free_port()
        service = tools.NODE_SERVICE / "service.mjs"
        command = [tools.program("node"), service, port, self.upstream_port, self.workers]
        env = os.environ | {"NODE_ENV": "production"}
        process = self.processes.start("node", command, env=env)
        self.processes.wait_for_port("node", process, port)
        return Contender("node", "Node (Fastify + undici)", f"http://127.0.0.1:{port}", process.pid, "ABCD")

    def start_qlio(self, binary):
        settings = self.folder / "qlio.json"
        settings.write_text(json.dumps({"upstream": f"127.0.0.1:{self.upstream_port}"}))
        command = [binary, "serve", "--tables", BENCH / "qlio" / "tables", "--routes", BENCH / "qlio" / "routes"]
        command += ["--config", settings, "--host", "127.0.0.1", "--port", "0"]
        if "--workers" in serve_help(binary):
            command += ["--workers", self.workers]
        process = self.processes.start("qlio", command)
        url = self.processes.wait_for_line("qlio", process)
        if not url.startswith("http://127.0.0.1:"):
            raise StartError(f"qlio printed no loopback URL first, but: {url}")
        return Contender("qlio", "qlio", url.rstrip("/"), process.pid, "ABCD")


def serve_help(binary):
    done = subprocess.run([binary, "serve", "--help"], check=False, capture_output=True, text=True, timeout=10)
    return done.stdout
