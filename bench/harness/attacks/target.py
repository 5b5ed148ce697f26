"""The attacked server: one process for each attack, so that none meets what another left."""

import contextlib
import json
import os
import re
import shutil
import signal
import socket
import threading
import time
from dataclasses import dataclass
from pathlib import Path

from ..processes import StartError, cpu_seconds, free_port, peak_memory, reset_peak_memory, resident_memory
from . import texts

APP = Path(__file__).resolve().parent.parent.parent / "attacked"
WORKERS = 2
# So that no attack harms the machine: more addresses than this the server does not get.
ADDRESSES_MAX_KIB = 6 * 1024 * 1024
OPEN_FILES = 4096
PATIENCE_SECONDS = 10
RECEIVED_MAX = 256 << 20
POLL_SECONDS = 0.02


@dataclass
class Answer:
    """What came back; status 0 where nothing did."""

    status: int
    # Its begin; long ones are not kept.
    body: bytes
    seconds: float
    # Whether the server has closed the connection behind it.
    closed: bool = False

    def shown(self):
        return f"status {self.status}" if self.status else "no answer"


@dataclass
class Outcome:
    """What one request did to the process."""

    alive: bool
    answer: Answer
    # Bytes of memory at the peak above those at rest.
    grown: int

    def shown(self):
        return f"{self.answer.shown()} after {self.answer.seconds:.2f} s"


def check_script(answer):
    """An attack whose script does not compile would be met by any server."""
    if re.search(rb'"code":"Q[12]', answer.body):
        raise StartError(f"the attack itself is wrong: {answer.body[:200].decode(errors='replace')}")


class Target:
    """A running server."""

    def __init__(self, bench, process, name, port):
        self.bench, self.process, self.name = bench, process, name
        self.port = port
        self.host = f"127.0.0.1:{port}"
        self.pid = process.pid
        self.rest = resident_memory(self.pid)

    def alive(self):
        return self.process.poll() is None

    def peak(self):
        return peak_memory(self.pid) if self.alive() else 0

    def begin(self):
        """Count the peak of memory from now on."""
        self.rest = resident_memory(self.pid)
        reset_peak_memory(self.pid)

    def grown(self):
        return max(0, self.peak() - self.rest)

    def cpu(self):
        return cpu_seconds(self.pid)

    def signal(self, number):
        os.kill(self.pid, number)

    @contextlib.contextmanager
    def stopped(self):
        """All threads of the server stand still meanwhile."""
        self.signal(signal.SIGSTOP)
        try:
            deadline = time.monotonic() + PATIENCE_SECONDS
            while not is_stopped(self.pid) and time.monotonic() < deadline:
                pass
            yield
        finally:
            self.signal(signal.SIGCONT)

    def connect(self, timeout=PATIENCE_SECONDS, receive_buffer=None):
        client = socket.socket()
        if receive_buffer:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        client.settimeout(timeout)
        try:
            client.connect(("127.0.0.1", self.port))
        except OSError:
            client.close()
            raise
        return client

    def send(self, data, patience=PATIENCE_SECONDS, until_closed=False):
        """Send raw bytes on a connection of its own, and read one answer."""
        began = time.monotonic()
        try:
            with self.connect(patience) as client:
                client.sendall(data)
                status, body, closed = read_answer(client, began + patience, until_closed)
        except OSError:
            status, body, closed = 0, b"", True
        return Answer(status, body, time.monotonic() - began, closed)

    def get(self, target, headers=(), **more):
        return self.send(texts.request("GET", target, self.host, headers), **more)

    def script(self, script, headers=(), **more):
        return self.send(texts.script_request(script, self.host, headers), **more)

    def suffer(self, data, patience=PATIENCE_SECONDS):
        """Send one request and see what it does to the process."""
        self.begin()
        answers = []
        sender = threading.Thread(target=lambda: answers.append(self.send(data, patience)), daemon=True)
        sender.start()
        grown = 0
        while sender.is_alive():
            grown = max(grown, self.grown())
            sender.join(POLL_SECONDS)
        grown = max(grown, self.grown())
        # A process that is ending may take a moment to be gone.
        if answers[0].status == 0:
            with contextlib.suppress(Exception):
                self.process.wait(1)
        return Outcome(self.alive(), answers[0], grown)


def is_stopped(pid):
    """Whether no thread of a process runs."""
    states = (thread.joinpath("stat").read_text().rpartition(")")[2].split()[0] for thread in Path(f"/proc/{pid}/task").iterdir())
    return all(state == "T" for state in states)


def read_answer(client, deadline, until_closed=False):
    """Status, the begin of the body, and whether the connection was closed behind it."""
    received, seen = bytearray(), 0
    status, wanted, chunked, begin = 0, None, False, None
    while seen <= RECEIVED_MAX:
        left = deadline - time.monotonic()
        if left <= 0:
            break
        client.settimeout(left)
        try:
            piece = client.recv(1 << 18)
        except TimeoutError:
            break
        except ConnectionError:
            return status, bytes(received[begin or 0 :]), True
        if not piece:
            return status, bytes(received[begin or 0 :]), True
        seen += len(piece)
        if begin is None:
            received += piece
            end = received.find(b"\r\n\r\n")
            if end < 0:
                continue
            lines = bytes(received[:end]).decode("latin-1").lower().split("\r\n")
            status = int(lines[0].split(" ")[1])
            begin = end + 4
            for line in lines[1:]:
                if line.startswith("content-length:"):
                    wanted = begin + int(line.partition(":")[2])
                chunked = chunked or line.startswith("transfer-encoding:")
            if status == 101:
                return status, b"", False
        elif len(received) < 1 << 16:
            received += piece
        is_whole = seen >= wanted if wanted is not None else chunked and piece.endswith(b"0\r\n\r\n")
        if is_whole and not until_closed:
            return status, bytes(received[begin:]), False
    return status, bytes(received[begin or 0 :]), False


def start(bench, name, flags=(), settings=None, open_files=OPEN_FILES, hard=False):
    """Start a server on the app of the attacks. With `hard`, it cannot raise its number of open files."""
    folder = bench.folder / f"app-{name}"
    shutil.copytree(APP, folder)
    port = free_port()
    config = {"cheap": bench.cheap_upstream, "upstream": bench.upstream, "self": f"127.0.0.1:{port}", **(settings or {})}
    (folder / "config.json").write_text(json.dumps(config))
    command = [bench.binary, "serve", "--tables", folder / "tables", "--routes", folder / "routes", "--config", folder / "config.json"]
    command += ["--host", "127.0.0.1", "--port", port, "--workers", WORKERS, *flags]
    limits = f"ulimit -v {ADDRESSES_MAX_KIB}; ulimit -{'' if hard else 'S'}n {open_files}; exec \"$@\""
    process = bench.processes.start(name, ["sh", "-c", limits, "sh", *command])
    bench.processes.wait_for_line(name, process)
    return Target(bench, process, name, port)
