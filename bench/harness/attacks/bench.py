"""One run of the suite against one executable: upstreams, servers, windows of load on the cheap route."""

import contextlib
import json
import socket
import sys
import time
from pathlib import Path

from ..processes import Processes, StartError
from . import target, texts

HARNESS = Path(__file__).resolve().parent.parent.parent
CHEAP_TARGET = "/cheap?id=7"
CHEAP_COUNT = 800
CHEAP_RATE = 200
QUIET_COUNT = 600
WINDOW_SECONDS_MAX = 60
# Large answers are made when they are asked for first.
UPSTREAM_SECONDS = 60
# Like the attackers, the upstreams that serve them give way to who is measured.
UPSTREAM_NICENESS = 10


class Bench:
    """What all attacks of a run use."""

    def __init__(self, binary, processes: Processes, folder: Path, say):
        self.binary, self.processes, self.folder, self.say = binary, processes, folder, say
        self.number = 0
        self.findings = []
        # The cheap route has an upstream of its own, so that what attackers cost is what they cost the server.
        self.cheap_upstream = self.start_upstream("cheap")
        self.elsewhere = self.start_upstream("elsewhere")
        self.upstream = self.start_upstream("upstream", f"http://{self.elsewhere.replace('127.0.0.1', 'localhost')}")

    def python(self, name, module, *arguments, nice=0):
        """Start a module of the harness as a process of its own."""
        command = ["env", f"PYTHONPATH={HARNESS}", "nice", "-n", nice, sys.executable, "-B", "-m", f"harness.attacks.{module}", *arguments]
        return self.processes.start(name, command)

    def start_upstream(self, name, *arguments):
        process = self.python(name, "upstream", *arguments, nice=0 if name == "cheap" else UPSTREAM_NICENESS)
        return self.processes.wait_for_line(name, process).removeprefix("http://")

    @contextlib.contextmanager
    def target(self, *flags, **more):
        """A server for one attack."""
        self.number += 1
        server = target.start(self, f"server-{self.number}", flags, **more)
        try:
            yield server
        finally:
            self.processes.stop(server.process)

    def cheap(self, server, count=CHEAP_COUNT, rate=CHEAP_RATE):
        """A window of load on the cheap route."""
        self.number += 1
        name = f"load-{self.number}"
        process = self.python(name, "cheap", server.host, CHEAP_TARGET, count, rate)
        try:
            return json.loads(self.processes.wait_for_line(name, process, WINDOW_SECONDS_MAX))
        finally:
            self.processes.stop(process)

    def quiet(self, server):
        return self.cheap(server, QUIET_COUNT)

    def fetch(self, path, address=None):
        """What an upstream answers, asked directly."""
        host, _, port = (address or self.upstream).rpartition(":")
        with socket.create_connection((host, int(port)), timeout=UPSTREAM_SECONDS) as client:
            client.sendall(texts.request("GET", path, host))
            status, body, _ = target.read_answer(client, time.monotonic() + UPSTREAM_SECONDS)
        if status != 200:
            raise StartError(f"an upstream answers {path} with {status}")
        return body

    def counts(self, address=None):
        """What an upstream has counted."""
        return json.loads(self.fetch("/counts", address))

    def found(self, finding):
        self.findings.append(finding.as_dict())
        self.say(f"{'met   ' if finding.met else 'MISSED'} {finding.group}: {finding.attack}: {finding.figure}")
