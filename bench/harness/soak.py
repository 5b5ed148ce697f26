"""An hour under load: does memory stay where it is?

Each minute brings a burst of A and one of D over many connections, then rest. Resident memory is read in
each burst (the peak) and after the rest. What `soak` returns is in the document of `bench/soak`; the
functions below it make figures of that document and are pure.
"""

import statistics
import time

from .figures import slope_linear
from .load import run_wrk, settle
from .processes import peak_memory, reset_peak_memory, resident_memory

SCENARIOS = ("A", "D")
REST = "rest"
# What comes first fills pools, buffers and caches.
WARM_UP_MINUTES = 10
MINUTE_SECONDS = 60


def burst(contender, request, connections, seconds):
    """Load of one kind, and the peak of memory in it."""
    reset_peak_memory(contender.pid)
    result, _ = run_wrk(contender.url, request, connections, seconds)
    return {"requests": result["requests"], "failed": result["failed"], "bytes": peak_memory(contender.pid)}


def soak(contender, scenarios, connections, minutes, seconds, say):
    """What each minute showed, by scenario, and how much memory was left after it."""
    seen = []
    began = time.monotonic()
    for minute in range(minutes):
        bursts = {one.name: burst(contender, contender.request(one), connections, seconds) for one in scenarios}
        settle(contender.pid)
        next_minute = began + (minute + 1) * MINUTE_SECONDS
        time.sleep(max(0.0, next_minute - time.monotonic()))
        rest = {"requests": 0, "failed": 0, "bytes": resident_memory(contender.pid)}
        seen.append({"minute": minute + 1, **bursts, REST: rest})
        say(f"minute {minute + 1:3}  " + "  ".join(f"{name} {one['bytes'] / 1e6:5.1f} MB" for name, one in seen[-1].items() if name != "minute"))
    return seen


def points(document, phase):
    """Memory of one phase over time, as (minute, bytes)."""
    return [(one["minute"], one[phase]["bytes"]) for one in document["minutes"]]


def steady(document, phase):
    """The same, without the warm-up; all of it if there is nothing else."""
    found = points(document, phase)
    return [one for one in found if one[0] > WARM_UP_MINUTES] or found


def growth_per_hour(document, phase):
    """Bytes by which memory of this phase grows in an hour, by the line through all minutes after the warm-up."""
    return (slope_linear(steady(document, phase)) or 0.0) * 60


def phases(document):
    return [name for name in document["minutes"][0] if name != "minute"]


def summary(document, phase):
    """Median, lowest and highest after the warm-up, and growth in an hour, in bytes."""
    values = [value for _, value in steady(document, phase)]
    return statistics.median(values), min(values), max(values), growth_per_hour(document, phase)


def totals(document):
    """Requests answered and failed."""
    bursts = [one[phase] for one in document["minutes"] for phase in phases(document)]
    return sum(one["requests"] for one in bursts), sum(one["failed"] for one in bursts)
