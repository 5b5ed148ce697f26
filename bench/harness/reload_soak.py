"""A server under a modest steady load that is given a new version of its app every minute: does its memory stay where
it is? What the functions below `soak` make of its document is pure."""

import statistics
import time

from .operated import Server, start_upstream, write_app
from .processes import resident_memory
from .steady import Load, percentile

# What comes first fills pools, buffers and caches.
WARM_UP_MINUTES = 10
MINUTE_SECONDS = 60
LOOK_SECONDS = 5


def soak(processes, folder, binary, chosen, say):
    """What each minute showed."""
    upstream = start_upstream(processes, folder)
    write_app(folder / "app", 0, upstream, expires=1)
    server = Server(processes, "qlio", folder / "app", binary, '{"cache": {"impl": "memory"}}')
    server.start()
    minutes = []
    with Load(server.port, chosen.rate, chosen.clients) as load:
        began = time.monotonic()
        for minute in range(1, chosen.minutes + 1):
            samples, failures = len(load.samples), len(load.failures)
            # Every fourth set is broken and refused.
            broken = minute % 4 == 0
            write_app(server.app, minute, upstream, broken, expires=1)
            server.reload("not reloaded (SIGHUP)" if broken else "\nreloaded (SIGHUP)")
            looks = []
            while not looks or time.monotonic() < began + minute * MINUTE_SECONDS:
                time.sleep(LOOK_SECONDS)
                looks.append(resident_memory(server.process.pid))
            times = [took for _, took, _ in load.samples[samples:]]
            minutes.append(
                {
                    "minute": minute,
                    "requests": len(times),
                    "failed": len(load.failures) - failures,
                    "p99_ms": round(percentile(times, 0.99), 2),
                    "bytes": round(statistics.median(looks)),
                }
            )
            say(f"minute {minute:3}  {minutes[-1]['bytes'] / 1e6:6.1f} MB  {minutes[-1]}")
        failures = [text for _, text in load.failures[:5]]
    return {"rate": chosen.rate, "minutes": minutes, "failures": failures, "exit_code": server.end()}


def steady_bytes(document):
    """Resident memory of each minute after the warm-up; of all of them if there are no others."""
    minutes = document["minutes"]
    return [one["bytes"] for one in minutes if one["minute"] > WARM_UP_MINUTES] or [one["bytes"] for one in minutes]


def spread(document):
    """By which part of its median memory differs at most after the warm-up."""
    found = steady_bytes(document)
    return (max(found) - min(found)) / statistics.median(found)
