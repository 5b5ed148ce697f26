"""The attacks in their order, and a run of them against one executable."""

import os
import subprocess
import time

from ..environment import machine
from ..processes import Processes, StartError
from . import cheap, departures, findings, memory, runs, target, trust, wire, work
from .bench import CHEAP_COUNT, CHEAP_RATE, Bench

GROUPS = {
    "doubling": memory.doubling,
    "bombs": memory.bombs,
    "work": work.work,
    "joins": work.joins,
    "decoding": work.decoding,
    "hooks": work.hooks,
    "departures": departures.departures,
    "bodies": memory.bodies,
    "sessions": memory.sessions,
    "drips": memory.drips,
    "trust": trust.trust,
    "paths": trust.paths,
    "framing": wire.framing,
    "recursion": runs.recursion,
    "requests": runs.requests,
    "connections": wire.connections,
}


def about():
    """What a group shows, in a sentence."""
    return {name: attack.__doc__ for name, attack in GROUPS.items()}


def version(binary):
    done = subprocess.run([binary, "--version"], check=True, stdout=subprocess.PIPE, text=True, timeout=10)
    return done.stdout.strip()


def run(binary, names, folder, say):
    """Measure these groups; returns the document of the run."""
    folder.mkdir()
    began = time.monotonic()
    load_before = os.getloadavg()[0]
    with Processes(folder) as processes:
        bench = Bench(binary, processes, folder, say)
        for name in names:
            try:
                GROUPS[name](bench)
            except (OSError, StartError) as error:
                # What a group could not measure is a goal that was missed, not the end of the run.
                bench.found(findings.check(name, "the rest of these attacks", "they are measured", f"not measured: {error}", False))
    return {
        "version": version(binary),
        "environment": machine(),
        "load_average_before": load_before,
        "settings": {"workers": target.WORKERS, "rate": CHEAP_RATE, "count": CHEAP_COUNT, "patience": cheap.PATIENCE_SECONDS},
        "seconds": round(time.monotonic() - began),
        "findings": bench.findings,
    }
