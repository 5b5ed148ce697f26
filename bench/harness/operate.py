"""Operating qlio under a steady load: reloads, upgrades, a killed server, an end behind nginx.

Requests are sent at a fixed rate, whatever becomes of those before (an open loop), over kept-alive
connections; a time counts from when a request should have been sent. Two files of the app say the
same number: an answer in which the two differ would come from two catalogs.
"""

import contextlib
import json
import os
import shutil
import signal
import socket
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

ROUTE = 'd = describe t; return {{"route": {n}, "table": "{{d.select.uri}}"}} via route \'/v\' using method get'
TABLE = "create table t on select get from 'http://127.0.0.1:1/{n}'"
REQUEST = b"GET /v HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n"
SOCKET_SECONDS = 30
# A connection that ends before a byte of an answer has come was closed while it was idle: a client sends again.
ATTEMPTS = 2


class OperateFailed(Exception):
    """Something did not happen in time."""


def write_app(folder: Path, number: int, broken=False):
    """The app in its version of this number; each file is replaced at once."""
    table = f"create table {number}" if broken else TABLE.format(n=number)
    for name, text in (("tables/t.ql", table), ("routes/v.ql", ROUTE.format(n=number))):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        new = path.with_name("." + path.name)
        new.write_text(text, encoding="utf-8")
        new.replace(path)


@dataclass
class Load:
    """Clients that send so many requests a second together, until told to end."""

    port: int
    rate: int
    clients: int
    samples: list = field(default_factory=list)
    failures: list = field(default_factory=list)
    retried: int = 0
    _threads: list = field(default_factory=list)
    _end: threading.Event = field(default_factory=threading.Event)

    def __enter__(self):
        begin = time.monotonic() + 0.1
        for index in range(self.clients):
            thread = threading.Thread(target=self._send, args=(begin + index / self.rate,), daemon=True)
            self._threads.append(thread)
            thread.start()
        return self

    def __exit__(self, *_):
        self._end.set()
        for thread in self._threads:
            thread.join(SOCKET_SECONDS)

    def _send(self, due):
        step, connection = self.clients / self.rate, None
        while not self._end.is_set():
            time.sleep(max(0.0, due - time.monotonic()))
            connection = self._ask(due, connection)
            due += step

    def _ask(self, due, connection):
        for attempt in range(ATTEMPTS):
            try:
                fresh = connection is None
                connection = connection or Connection(self.port)
                status, close, body = connection.ask()
            except NothingCame as error:
                connection.close()
                connection = None
                if not fresh and attempt == 0:
                    self.retried += 1
                    continue
                self.failures.append((time.monotonic(), str(error)))
                return None
            except OSError as error:
                if connection:
                    connection.close()
                self.failures.append((time.monotonic(), repr(error)))
                return None
            self._take(due, status, body)
            if close:
                connection.close()
                return None
            return connection
        return None

    def _take(self, due, status, body):
        now = time.monotonic()
        if status != 200:
            self.failures.append((now, f"status {status}: {body[:200]!r}"))
            return
        answer = json.loads(body)
        if answer["table"] != f"http://127.0.0.1:1/{answer['route']}":
            self.failures.append((now, f"of two catalogs: {answer}"))
        self.samples.append((due, now - due, answer["route"]))


class NothingCame(Exception):
    """The connection has ended before an answer began."""


class Connection:
    """One connection, for requests one after the other."""

    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port), SOCKET_SECONDS)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def close(self):
        self.socket.close()

    def ask(self):
        """Status, whether the connection ends, body."""
        arrived = b""
        try:
            self.socket.sendall(REQUEST)
            while b"\r\n\r\n" not in arrived:
                more = self.socket.recv(65536)
                if not more:
                    raise OSError("the answer was cut off") if arrived else NothingCame("no answer")
                arrived += more
        except (BrokenPipeError, ConnectionResetError) as error:
            raise (OSError("the answer was cut off") if arrived else NothingCame(repr(error))) from error
        head, _, body = arrived.partition(b"\r\n\r\n")
        lines = head.decode("latin-1").lower().split("\r\n")
        fields = dict(line.split(": ", 1) for line in lines[1:])
        length = int(fields.get("content-length", 0))
        while len(body) < length:
            more = self.socket.recv(65536)
            if not more:
                raise OSError("the answer was cut off")
            body += more
        return int(lines[0].split(" ")[1]), fields.get("connection") == "close", body


def percentile(times, share):
    """The time below which this share of them lies, in milliseconds."""
    ordered = sorted(times)
    return 1000 * ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else 0.0


def worst_second(samples, begin, end):
    """The 99th percentile of the worst second between two instants, in milliseconds."""
    seconds = {}
    for due, took, _ in samples:
        if begin <= due < end:
            seconds.setdefault(int(due - begin), []).append(took)
    return max((percentile(times, 0.99) for times in seconds.values()), default=0.0)


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


def phase(load, name, act):
    """Do something under load; what became of the requests meanwhile."""
    begin, failures = time.monotonic(), len(load.failures)
    known = act()
    time.sleep(1)
    end = time.monotonic()
    samples = [sample for sample in list(load.samples) if begin <= sample[0] < end]
    return {
        "name": name,
        "seconds": round(end - begin, 1),
        "requests": len(samples),
        "failed": len(load.failures) - failures,
        "failures": [text for _, text in load.failures[failures:][:5]],
        "p50_ms": round(percentile([took for _, took, _ in samples], 0.5), 2),
        "p99_ms": round(percentile([took for _, took, _ in samples], 0.99), 2),
        "worst_second_p99_ms": round(worst_second(samples, begin, end), 2),
        **(known or {}),
    }


class Operated:
    """A supervised qlio, its app and its log."""

    def __init__(self, processes, folder: Path, binary: Path, workers: int):
        self.folder, self.processes = folder, processes
        self.executable = folder / "bin" / "qlio"
        self.executable.parent.mkdir()
        shutil.copy2(binary, self.executable)
        self.binary = binary
        self.number = 0
        write_app(folder / "app", 0)
        command = [self.executable, "serve", "--supervise", "--port", "0", "--workers", workers]
        command += ["--app", folder / "app", "--pids", folder / "pids", "--dev", "--no-watch"]
        self.process = processes.start("qlio", command)
        self.port = int(processes.wait_for_line("qlio", self.process, 60).rsplit(":", 1)[1])
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
        write_app(self.folder / "app", self.number, broken)
        word = "not reloaded (SIGHUP)" if broken else "\nreloaded (SIGHUP)"
        before = self.told(word)
        self.process.send_signal(signal.SIGHUP)
        wait_until(lambda: self.told(word) > before, 30, word)

    def replace_executable(self, crashing):
        """Put another executable in the place of ours."""
        new = self.executable.with_suffix(".new")
        if crashing:
            new.write_text("#!/bin/sh\nexit 3\n", encoding="utf-8")
            new.chmod(0o755)
        else:
            shutil.copy2(self.binary, new)
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


NGINX = """
daemon off; pid {folder}/nginx.pid; error_log {folder}/nginx.log; worker_processes 1;
events {{ worker_connections 512; }}
http {{
  access_log off; client_body_temp_path {folder}/a; proxy_temp_path {folder}/b; fastcgi_temp_path {folder}/c;
  uwsgi_temp_path {folder}/d; scgi_temp_path {folder}/e;
  upstream qlio {{ server 127.0.0.1:{first}; server 127.0.0.1:{second}; keepalive 32; }}
  server {{
    listen 127.0.0.1:{port};
    location / {{ proxy_pass http://qlio; proxy_http_version 1.1; proxy_set_header Connection ""; proxy_set_header Host $host; }}
  }}
}}
"""


def behind_nginx(processes, folder: Path, binary: Path, port, rate, clients, seconds):
    """Two servers behind nginx with kept-alive connections; one of them is told to end under load."""
    app = folder / "behind"
    write_app(app, 0)
    servers = []
    for name in ("one", "two"):
        command = [binary, "serve", "--port", "0", "--workers", "1", "--app", app, "--dev", "--no-watch"]
        process = processes.start(name, [*command, "--drainDelay", "1000"])
        servers.append((process, int(processes.wait_for_line(name, process, 60).rsplit(":", 1)[1])))
    config = folder / "nginx.conf"
    ports = {"first": servers[0][1], "second": servers[1][1]}
    config.write_text(NGINX.format(folder=folder, port=port, **ports), encoding="utf-8")
    proxy = processes.start("nginx", ["nginx", "-c", config, "-p", folder, "-e", folder / "nginx.log"])
    processes.wait_for_port("nginx", proxy, port)
    with Load(port, rate, clients) as load:
        time.sleep(seconds)

        def end():
            servers[0][0].send_signal(signal.SIGTERM)
            return {"exit_code": servers[0][0].wait(60)}

        return phase(load, "SIGTERM behind nginx", end)


def operate(processes, folder, binary, chosen, say):
    """All phases; the document with what was seen."""
    served = Operated(processes, folder, binary, chosen.workers)
    phases = []

    def seen(load, name, act):
        phases.append(phase(load, name, act))
        say(json.dumps(phases[-1]))

    with Load(served.port, chosen.rate, chosen.clients) as load:
        time.sleep(2)
        seen(load, "quiet", lambda: time.sleep(chosen.quiet))

        def reloads():
            for turn in range(chosen.reloads):
                served.reload(broken=turn % 2 == 1)
                time.sleep(chosen.pause / 1000)
            # A server that starts with a broken app would serve what loads of it.
            served.reload(broken=False)
            return {"reloads": chosen.reloads + 1}

        def upgrades():
            for turn in range(chosen.upgrades):
                served.upgrade(crashing=turn == 1)
                time.sleep(1)
            return {"upgrades": chosen.upgrades}

        seen(load, "reloads, half of them broken", reloads)
        seen(load, "upgrades, one of them crashes", upgrades)
        seen(load, "a server is killed", served.kill_worker)
        catalogs = len({number for _, _, number in load.samples})
        retried = load.retried
    with contextlib.suppress(ProcessLookupError):
        served.process.send_signal(signal.SIGTERM)
    code = served.process.wait(60)
    phases.append(behind_nginx(processes, folder, binary, chosen.port, chosen.rate, chosen.clients, 2))
    say(json.dumps(phases[-1]))
    return {"phases": phases, "catalogs_seen": catalogs, "sent_again": retried, "exit_code": code}
