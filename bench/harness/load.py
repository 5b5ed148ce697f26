"""One measured window: wrk against one contender, with CPU and memory accounted for.

wrk is a closed loop: each of its connections sends the next request when it has the last answer.
Its percentiles therefore say how long requests took at full load, not how a given rate would feel.
"""

import json
import os
import subprocess
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from . import tools
from .processes import cpu_seconds, machine_busy_seconds, peak_memory, reset_peak_memory, user_seconds

SCRIPT = Path(__file__).resolve().parent / "load.lua"
GRACE_SECONDS = 20
# How long a contender may take to finish what wrk has left unanswered.
SETTLE_SECONDS = 15
SETTLE_POLL_SECONDS = 0.1
# A window in which nobody got an answer is repeated once, this much longer.
SECOND_TRY = 3


class LoadFailed(Exception):
    """wrk did not give a result."""


@dataclass
class Window:
    """What one window showed. Times in the unit their name says."""

    requests: int
    failed: int
    seconds: float
    requests_per_second: float
    p50_ms: float
    p80_ms: float
    p99_ms: float
    max_ms: float
    received_bytes: int
    cpu_us_per_request: float
    # What of it was spent in the contender's own code and libraries, not in the kernel.
    user_us_per_request: float
    upstream_cpu_us_per_request: float
    # Requests that reached the upstream, for each one that was answered; those that were under way
    # when the window ended count too.
    upstream_calls: float
    # Connections that the upstream accepted in the window; kept-alive ones are none.
    upstream_connections: int
    peak_bytes: int
    # CPU spent by programs outside this run, as a share of all cores.
    foreign_cpu: float
    load_average: float

    def as_dict(self):
        return asdict(self)


def run_wrk(url, request, connections, seconds):
    """Run wrk; return its own figures and the CPU seconds that it took."""
    command = [tools.program("wrk"), "-t1", f"-c{connections}", f"-d{seconds}s", "--timeout", "10s", "--latency"]
    command += ["-s", str(SCRIPT), url, "--", request.method, request.path]
    command += [request.body] if request.body else []
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True)
    before = os.times()
    try:
        output, _ = process.communicate(timeout=seconds + GRACE_SECONDS)
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
    after = os.times()
    # wrk is the only child reaped meanwhile, so what our reaped children took is what it took.
    spent = after.children_user + after.children_system - before.children_user - before.children_system
    marked = [line for line in output.splitlines() if line.startswith("result ")]
    if process.returncode != 0 or not marked:
        raise LoadFailed(f"wrk ended with status {process.returncode}:\n{output[-1000:]}")
    return json.loads(marked[0].removeprefix("result ")), spent


def settle(pid):
    """Wait until a contender does nothing, so that what is left of one window is not in the next."""
    deadline = time.monotonic() + SETTLE_SECONDS
    before = cpu_seconds(pid)
    while time.monotonic() < deadline:
        time.sleep(SETTLE_POLL_SECONDS)
        after = cpu_seconds(pid)
        if after - before <= SETTLE_POLL_SECONDS / 10:
            return
        before = after


def measure(contender, scenario, upstream, connections, seconds, warm_up):
    """Warm up, then measure one window. `upstream` is the run's `Upstream`."""
    request = contender.request(scenario)
    run_wrk(contender.url, request, connections, warm_up)
    settle(contender.pid)
    window = measure_window(contender, request, upstream, connections, seconds)
    settle(contender.pid)
    if window.requests == 0:
        window = measure_window(contender, request, upstream, connections, seconds * SECOND_TRY)
        settle(contender.pid)
        # No answer at all is a failure, even if nothing was refused.
        window.failed += window.requests == 0
    return window


def measure_window(contender, request, upstream, connections, seconds):
    reset_peak_memory(contender.pid)
    connections_before, calls_before = upstream.counters()
    own, user = cpu_seconds(contender.pid), user_seconds(contender.pid)
    upstream_cpu = cpu_seconds(upstream.pid)
    busy = machine_busy_seconds()
    result, load_cpu = run_wrk(contender.url, request, connections, seconds)
    own, user = cpu_seconds(contender.pid) - own, user_seconds(contender.pid) - user
    upstream_cpu = cpu_seconds(upstream.pid) - upstream_cpu
    busy = machine_busy_seconds() - busy
    connections_after, calls_after = upstream.counters()
    elapsed = result["duration_us"] / 1e6
    requests = result["requests"]
    served = max(requests, 1)
    foreign = (busy - own - upstream_cpu - load_cpu) / (elapsed * os.cpu_count())
    return Window(
        requests=requests,
        failed=result["failed"],
        seconds=elapsed,
        requests_per_second=requests / elapsed,
        p50_ms=result["p50_us"] / 1e3,
        p80_ms=result["p80_us"] / 1e3,
        p99_ms=result["p99_us"] / 1e3,
        max_ms=result["max_us"] / 1e3,
        received_bytes=result["bytes"],
        cpu_us_per_request=own * 1e6 / served,
        user_us_per_request=user * 1e6 / served,
        upstream_cpu_us_per_request=upstream_cpu * 1e6 / served,
        # The second look itself is a request on a connection of its own.
        upstream_calls=(calls_after - calls_before - 1) / served,
        upstream_connections=connections_after - connections_before - 1,
        peak_bytes=peak_memory(contender.pid),
        foreign_cpu=max(foreign, 0.0),
        load_average=os.getloadavg()[0],
    )
