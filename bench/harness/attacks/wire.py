"""Connections: more than there are files for, a terminal that goes away, heads that mean two things."""

import signal
import time

from . import attackers, findings, texts

CONNECTIONS = 3_200
FILES = 1024


def connections(bench):
    """More connections than the process may have files, and a terminal that goes away."""
    for hard, able in ((False, "may raise"), (True, "may not raise")):
        with bench.target(open_files=FILES, hard=hard) as server:
            quiet = bench.quiet(server)
            with attackers.Idle(server, CONNECTIONS):
                attacked = bench.cheap(server)
            attack = f"{CONNECTIONS:,} idle connections to a server that {able} its {FILES:,} files"
            bench.found(findings.harm("connections", attack, quiet, attacked, alive=server.alive()))
    with bench.target() as server:
        server.signal(signal.SIGHUP)
        end = time.monotonic() + 1
        while server.alive() and time.monotonic() < end:
            time.sleep(0.02)
        answer = server.get("/cheap?id=7")
        figure = answer.shown() if server.alive() else "the process ended"
        bench.found(findings.check("connections", "SIGHUP", "the process goes on", figure, server.alive() and answer.status == 200))


def framing(bench):
    """Requests that can be understood in two ways: all of them get an error, and the connection is closed."""
    with bench.target() as server:
        for name, raw in texts.FRAMINGS.items():
            answer = server.send(raw.replace(b"HOST", server.host.encode()), patience=3, until_closed=True)
            met = answer.status in (400, 501) and answer.closed
            figure = f"{answer.shown()}, {'closed' if answer.closed else 'left open'}"
            bench.found(findings.check("framing", f"a request with {name}", "400 or 501, then closed", figure, met))
