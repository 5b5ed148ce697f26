"""Clients that go away while the server works for them: how much longer it does."""

import socket
import struct
import time

from . import findings, memory, target, texts
from .work import EQUAL, EQUAL_ROUTE

# Processor time that may go on being used after the client has gone, in milliseconds.
LONGER_MAX = 10
# How far the work has come when the client goes, as parts of all of it; each so many times.
PARTS = (0.2, 0.5, 0.8)
TURNS = 3
# The server has come to rest when it used next to nothing for so long.
REST_SECONDS, REST_CPU_SECONDS = 0.05, 0.0002
SETTLE_SECONDS_MAX = 5

ATTACKS = (
    ("10 MB of JSON are decoded", "/large?what=json", "json"),
    ("10 MB of XML are decoded", "/large?what=xml", "xml"),
    (f"{EQUAL:,} × {EQUAL:,} equal rows are joined", EQUAL_ROUTE, None),
    ("a function does not end", "/turn", None),
)


def departures(bench):
    """Clients that go away while the server works for them."""
    for attack, address, what in ATTACKS:
        if what:
            memory.warm(bench, what)
        with bench.target() as server:
            request = texts.request("GET", address, server.host)
            server.send(request)
            whole = all_of_it(server, request)
            longer = [longer_by(server, request, whole * part) for part in PARTS for _ in range(TURNS)]
        longest = max(longer) * 1000
        figure = f"at most {findings.milliseconds(longest)} of {findings.milliseconds(whole * 1000)}"
        bench.found(findings.check("departures", f"the client resets its connection while {attack}", f"at most {LONGER_MAX} ms of processor time more", figure, longest <= LONGER_MAX))


def all_of_it(server, request):
    """The processor time of the whole request, in seconds."""
    before = at_rest(server)
    server.send(request)
    return at_rest(server) - before


def longer_by(server, request, worked):
    """Goes away when the server has worked so long, in seconds; returns how much longer it works."""
    before = at_rest(server)
    client = server.connect()
    # Closing resets the connection: of a client that only ends its side the answer may still be wanted.
    client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    client.sendall(request)
    deadline = time.monotonic() + target.PATIENCE_SECONDS
    while server.cpu() - before < worked and time.monotonic() < deadline:
        pass
    # What the server does until this process has its turn on a busy machine is no work for a client that is gone.
    with server.stopped():
        gone = server.cpu()
        client.close()
    return at_rest(server) - gone


def at_rest(server):
    """The processor time of the server once it does nothing any more, in seconds."""
    deadline = time.monotonic() + SETTLE_SECONDS_MAX
    used = server.cpu()
    while time.monotonic() < deadline:
        time.sleep(REST_SECONDS)
        now = server.cpu()
        if now - used < REST_CPU_SECONDS:
            break
        used = now
    return used
