"""Clients that ask at a steady rate, whatever becomes of their earlier requests (an open loop).

A time counts from when a request should have been sent. Connections are kept alive. The app of the bench says the
number of its version in several of its files; an answer in which two differ would come from two catalogs.
"""

import functools
import json
import multiprocessing
import os
import shutil
import socket
import ssl
import struct
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path

REQUEST = b"GET /v HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n"
SOCKET_SECONDS = 30
# A connection that ends before a byte of an answer has come was closed while it was idle: a client sends again.
ATTEMPTS = 2
# Of so many clients one speaks TLS, if there is a port for it, and connects anew after so many requests.
TLS_ONE_OF = 4
TLS_REQUESTS = 20
CLIENT_PROCESSES = 2
# Load before anything is counted.
WARM_UP_SECONDS = 5
# When a request was due, how long it took, and which version answered.
SAMPLE = struct.Struct("<ddq")
AGAIN = "sent again"


class NothingCame(Exception):
    """The connection has ended before an answer began."""


@dataclass
class Load:
    """Clients that send so many requests a second together, until told to end.

    They are processes of their own, so that what else the bench does costs them nothing; each writes down what becomes
    of its requests, and `samples`, `failures` and `retried` are read from there.
    """

    port: int
    rate: int
    clients: int
    tls_port: int | None = None

    def __post_init__(self):
        self._context = multiprocessing.get_context("fork")
        self._end = self._context.Event()
        self._processes, self._seen = [], []

    def __enter__(self):
        self._folder = Path(tempfile.mkdtemp(prefix="qlio-load-"))
        begin = time.monotonic() + 0.1
        for process in range(min(CLIENT_PROCESSES, self.clients)):
            numbers = range(process, self.clients, CLIENT_PROCESSES)
            started = self._context.Process(target=self._run, args=(process, numbers, begin), daemon=True)
            started.start()
            self._processes.append(started)
            self._seen.append([self._folder / f"samples-{process}", self._folder / f"events-{process}", 0, 0])
        self._samples, self._failures, self._retried = [], [], 0
        return self

    def __exit__(self, *_):
        self._end.set()
        for process in self._processes:
            process.join(SOCKET_SECONDS)
        self._read()
        shutil.rmtree(self._folder, ignore_errors=True)

    @property
    def samples(self):
        """Of each answer: when it was due, how long it took from then, and the version that it says."""
        self._read()
        return self._samples

    @property
    def failures(self):
        """Of each failure: when it was seen, and what it was."""
        self._read()
        return self._failures

    @property
    def retried(self):
        """How many requests were sent again."""
        self._read()
        return self._retried

    def _read(self):
        for seen in self._seen:
            samples, events, samples_at, events_at = seen
            data = bytes_from(samples, samples_at)
            data = data[: len(data) - len(data) % SAMPLE.size]
            self._samples += SAMPLE.iter_unpack(data)
            lines = bytes_from(events, events_at)
            lines = lines[: lines.rfind(b"\n") + 1]
            for when, text in map(json.loads, lines.splitlines()):
                if text == AGAIN:
                    self._retried += 1
                else:
                    self._failures.append((when, text))
            seen[2:] = [samples_at + len(data), events_at + len(lines)]

    def _run(self, process, numbers, begin):
        clients = Clients(self, self._folder, process)
        parent = os.getppid()
        threads = []
        for index in numbers:
            tls = self.tls_port is not None and index % TLS_ONE_OF == TLS_ONE_OF - 1
            arguments = (begin + index / self.rate, tls, lambda: self._end.is_set() or os.getppid() != parent)
            threads.append(threading.Thread(target=clients.send, args=arguments))
            threads[-1].start()
        for thread in threads:
            thread.join()


def bytes_from(path, begin):
    """What a file has from this place on; nothing if it is not there yet."""
    try:
        with path.open("rb") as file:
            file.seek(begin)
            return file.read()
    except FileNotFoundError:
        return b""


class Clients:
    """The clients of one process."""

    def __init__(self, load, folder, process):
        self.load = load
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
        self.samples, self.events = (os.open(folder / f"{kind}-{process}", flags, 0o600) for kind in ("samples", "events"))

    def tell(self, text):
        os.write(self.events, json.dumps([time.monotonic(), text]).encode() + b"\n")

    def send(self, due, tls, is_over):
        step, connection = self.load.clients / self.load.rate, None
        while not is_over():
            time.sleep(max(0.0, due - time.monotonic()))
            connection = self._ask(due, connection, tls)
            due += step

    def _ask(self, due, connection, tls):
        for attempt in range(ATTEMPTS):
            try:
                fresh = connection is None
                connection = connection or Connection(self.load.tls_port if tls else self.load.port, tls)
                status, close, body = connection.ask()
            except NothingCame as error:
                connection.close()
                connection = None
                if not fresh and attempt == 0:
                    self.tell(AGAIN)
                    continue
                self.tell(str(error))
                return None
            except OSError as error:
                if connection:
                    connection.close()
                self.tell(repr(error))
                return None
            self._take(due, status, body)
            if close or tls and connection.asked >= TLS_REQUESTS:
                connection.close()
                return None
            return connection
        return None

    def _take(self, due, status, body):
        now = time.monotonic()
        if status != 200:
            self.tell(f"status {status}: {body[:200]!r}")
            return
        numbers = {int(number) for number in json.loads(body).values()}
        if len(numbers) != 1:
            self.tell(f"of two catalogs: {body!r}")
        os.write(self.samples, SAMPLE.pack(due, now - due, min(numbers)))


class Connection:
    """One connection, for requests one after the other."""

    def __init__(self, port, tls=False):
        self.asked = 0
        self.socket = socket.create_connection(("127.0.0.1", port), SOCKET_SECONDS)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if tls:
            try:
                self.socket = trusting().wrap_socket(self.socket)
            except OSError:
                self.socket.close()
                raise

    def close(self):
        self.socket.close()

    def ask(self):
        """Status, whether the connection ends, body."""
        self.asked += 1
        arrived = b""
        try:
            self.socket.sendall(REQUEST)
            while b"\r\n\r\n" not in arrived:
                more = self.socket.recv(65536)
                if not more:
                    raise OSError("the answer was cut off") if arrived else NothingCame("no answer")
                arrived += more
        except (BrokenPipeError, ConnectionResetError, ssl.SSLEOFError) as error:
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


@functools.cache
def trusting():
    """TLS with whatever certificate: ours vouch for themselves."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


def certificate_at(port):
    """The certificate that a new connection is shown."""
    with socket.create_connection(("127.0.0.1", port), SOCKET_SECONDS) as plain, trusting().wrap_socket(plain) as wrapped:
        return wrapped.getpeercert(binary_form=True)


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


def phase(load, name, act):
    """Do something under load; what became of the requests meanwhile, and in the second after it."""
    begin, failures, retried = time.monotonic(), len(load.failures), load.retried
    known = act()
    time.sleep(1)
    end = time.monotonic()
    samples = [sample for sample in list(load.samples) if begin <= sample[0] < end]
    times = [took for _, took, _ in samples]
    return {
        "name": name,
        "seconds": round(end - begin, 1),
        "requests": len(samples),
        "failed": len(load.failures) - failures,
        "failures": [text for _, text in load.failures[failures:][:5]],
        "sent_again": load.retried - retried,
        "p50_ms": round(percentile(times, 0.5), 2),
        "p99_ms": round(percentile(times, 0.99), 2),
        "worst_second_p99_ms": round(worst_second(samples, begin, end), 2),
        **(known or {}),
    }
