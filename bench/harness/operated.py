"""What `bench/operate` operates: an app in numbered versions, an upstream, servers, and nginx before them.

A version of the app is three files that say its number: a route, a function, and a table, whose upstream answers with
the number in its address.
"""

import contextlib
import os
import re
import shutil
import signal
import subprocess
import time
import urllib.request
from pathlib import Path

from . import small_nginx
from .processes import free_port

TABLE = "create table t on select get from 'http://127.0.0.1:{upstream}/{n}'{expires}"
FUNCTION = "exports.number = function () {{ return {n}; }};"
ROUTE = """own = require("version.js")
said = own.number()
row = select * from t
return {{"route": {n}, "function": "{{=said}}", "table": "{{=row.n}}"}} via route '/v' using method get"""

# Without `max_fails=0`, nginx would leave a server alone for ten seconds that has refused a connection once, and all of
# them if they are restarted one after the other within that time.
SERVER = "server 127.0.0.1:{port} max_fails=0;"
BALANCED = """/ {
  proxy_pass http://qlio; proxy_http_version 1.1; proxy_set_header Connection ""; proxy_set_header Host $host; proxy_connect_timeout 1s;
}"""


class OperateFailed(Exception):
    """Something did not happen in time."""


def write_app(folder: Path, number: int, upstream: int, broken=False, expires=None):
    """The app in its version of this number; each file is replaced at once."""
    kept = f" expires {expires}" if expires else ""
    table = f"create table {number}" if broken else TABLE.format(n=number, upstream=upstream, expires=kept)
    texts = {"tables/t.ql": table, "routes/version.js": FUNCTION.format(n=number), "routes/v.ql": ROUTE.format(n=number)}
    for name, text in texts.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        new = path.with_name("." + path.name)
        new.write_text(text, encoding="utf-8")
        new.replace(path)


def make_certificate(folder: Path, number: int):
    """A certificate that vouches for itself, and its key, to be taken later: to make one takes longer than to load it."""
    new = [folder / f"{number}-{name}.pem" for name in ("certificate", "key")]
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "30"]
    command += ["-subj", f"/CN=localhost {number}", "-out", new[0], "-keyout", new[1]]
    subprocess.run(command, check=True, stderr=subprocess.DEVNULL)


def take_certificate(folder: Path, number: int):
    """Put a certificate that was made before in the place of ours."""
    for name in ("certificate", "key"):
        (folder / f"{number}-{name}.pem").replace(folder / f"{name}.pem")


def wait_until(condition, seconds, what):
    """Wait for a condition; give up after so many seconds."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise OperateFailed(f"not within {seconds} s: {what}")
        time.sleep(0.01)


def text_of(path: Path):
    """What a file says; nothing if there is none."""
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        return ""


def start_upstream(processes, folder: Path):
    """The port of an upstream that answers with the number in its address."""
    location = small_nginx.json_at("~ ^/(?<number>[0-9]+)$", '{"n": $number}')
    log = f"{folder}/upstream.access combined buffer=4k flush=1s"
    return small_nginx.start(processes, "upstream", folder, location, access_log=log)


def upstream_requests(folder: Path):
    """How many requests the upstream has answered; it writes them down a second later at the latest."""
    return text_of(folder / "upstream.access").count("\n")


def start_balancer(processes, folder: Path, ports):
    """The port of an nginx that spreads requests over servers at these ports, over kept-alive connections."""
    servers = " ".join(SERVER.format(port=port) for port in ports)
    return small_nginx.start(processes, "balancer", folder, BALANCED, upstream=f"upstream qlio {{ {servers} keepalive 32; }}")


# What the log tells of a set that has been taken up.
RELOADED = "\nreloaded (SIGHUP)"


class Supervised:
    """A supervised qlio with a plain and a TLS port, its app and its log."""

    def __init__(self, processes, folder: Path, binary: Path, workers: int, upstream: int, certificates: int, upgrades: int):
        self.folder, self.processes, self.upstream = folder, processes, upstream
        self.executable = folder / "bin" / "qlio"
        self.executable.parent.mkdir()
        shutil.copy2(binary, self.executable)
        # Writing an executable takes longer than taking it up, so the new ones are there before.
        self.shipped = [self.executable.with_suffix(f".{number}") for number in range(upgrades)]
        for new in self.shipped:
            shutil.copy2(binary, new)
        self.number = self.certificates = 0
        write_app(folder / "app", 0, upstream)
        for number in range(certificates + 1):
            make_certificate(folder, number)
        take_certificate(folder, 0)
        certificate = f'"certificate": "{folder}/certificate.pem", "key": "{folder}/key.pem"'
        settings = f'{{"listen": ["127.0.0.1:0", "127.0.0.1:0 tls"], "tls": {{{certificate}}}}}'
        (folder / "app" / "qlio.json").write_text(settings, encoding="utf-8")
        command = [self.executable, "serve", "--supervise", "--workers", workers]
        command += ["--app", folder / "app", "--pids", folder / "pids"]
        self.process = processes.start("qlio", command)
        processes.wait_for_line("qlio", self.process, 60)
        wait_until(lambda: text_of(processes.logs / "qlio.out").count("\n") == 2, 10, "the second address")
        lines = text_of(processes.logs / "qlio.out").splitlines()
        self.port, self.tls_port = (int(line.rsplit(":", 1)[1]) for line in lines)
        self.log = processes.logs / "qlio.err"

    def worker(self):
        """The id of the process that serves."""
        return max(int(path.name.split(".")[1]) for path in (self.folder / "pids").glob("worker.*.pid"))

    def told(self, text):
        """How often the log has this text."""
        return text_of(self.log).count(text)

    def reload(self, broken):
        """Have it read another version, or a broken one."""
        self.number += not broken
        write_app(self.folder / "app", self.number, self.upstream, broken)
        self.look_anew("not reloaded (SIGHUP)" if broken else RELOADED)

    def look_anew(self, word):
        """Have it look at its files, until the log tells once more how that ended."""
        before = self.told(word)
        self.process.send_signal(signal.SIGHUP)
        wait_until(lambda: self.told(word) > before, 30, word)

    def reload_certificate(self, shown):
        """Have it take another certificate, until new connections are shown it; `shown` tells which one they are."""
        before = shown(self.tls_port)
        self.certificates += 1
        take_certificate(self.folder, self.certificates)
        # To see the certificate takes a connection, so the log is asked first.
        self.look_anew(RELOADED)
        wait_until(lambda: shown(self.tls_port) != before, 30, "another certificate")

    def replace_executable(self, crashing):
        """Put another executable in the place of ours."""
        new = self.executable.with_suffix(".new")
        if crashing:
            new.write_text("#!/bin/sh\nexit 3\n", encoding="utf-8")
            new.chmod(0o755)
        else:
            new = self.shipped.pop()
        new.replace(self.executable)

    def upgrade(self, crashing):
        """Have it go on with another executable."""
        self.replace_executable(crashing)
        word = "not upgraded:" if crashing else "\nupgraded:"
        before = self.told(word)
        self.process.send_signal(signal.SIGUSR2)
        wait_until(lambda: self.told(word) > before, 120, word)

    def kill_worker(self):
        """Kill the process that serves; how long until another one does, in milliseconds."""
        victim, before = self.worker(), self.told(" serves\n")
        began = time.monotonic()
        os.kill(victim, signal.SIGKILL)
        wait_until(lambda: self.told(" serves\n") > before, 30, "another server")
        return {"back_after_ms": round(1000 * (time.monotonic() - began))}

    def end(self):
        """Tell it to end; the exit code."""
        with contextlib.suppress(ProcessLookupError):
            self.process.send_signal(signal.SIGTERM)
        return self.process.wait(60)


class Server:
    """One of several servers, with an app of its own, at ports that stay."""

    def __init__(self, processes, name, folder: Path, binary: Path, settings="{}", arguments=()):
        self.processes, self.name, self.app, self.binary = processes, name, folder, binary
        self.port, self.admin = free_port(), free_port()
        self.arguments = arguments
        self.starts = 0
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "qlio.json").write_text(settings, encoding="utf-8")

    def start(self):
        """Start it, and wait until it answers."""
        command = [self.binary, "serve", "--port", self.port, "--admin", self.admin, "--workers", 1, "--app", self.app]
        self.starts += 1
        log = f"{self.name}-{self.starts}"
        self.process = self.processes.start(log, [*command, *self.arguments])
        self.processes.wait_for_line(log, self.process, 60)
        self.log = self.processes.logs / f"{log}.err"

    def end(self):
        """Tell it to end; the exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(60)

    def kill(self):
        """Kill it."""
        self.process.kill()
        self.process.wait(10)

    def reload(self, word="\nreloaded (SIGHUP)"):
        """Have it read its app again, until it says how that ended."""
        before = text_of(self.log).count(word)
        self.process.send_signal(signal.SIGHUP)
        wait_until(lambda: text_of(self.log).count(word) > before, 30, word)

    def hashes(self):
        """The hashes of its catalog, as readiness and as a metric tell it."""
        found = []
        for path, pattern in (("/readyz?verbose", r"catalog ([0-9a-f]+)"), ("/metrics", r'qlio_catalog_info\{hash="([0-9a-f]+)"\}')):
            with urllib.request.urlopen(f"http://127.0.0.1:{self.admin}{path}", timeout=10) as answer:
                found += re.findall(pattern, answer.read().decode())
        return found
