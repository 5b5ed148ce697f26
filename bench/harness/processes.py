"""Start, watch, account for and stop the processes of a run.

Every process is started through `Processes`, which stops exactly these, by their ids, in reverse
order, when the run ends in whatever way. CPU time and memory are read from `/proc` for a process
and all its descendants, so that workers are counted with their master.
"""

import contextlib
import ctypes
import os
import signal
import socket
import subprocess
import time
from pathlib import Path

CLOCK_TICKS = os.sysconf("SC_CLK_TCK")
STOP_SECONDS = 5
PR_SET_PDEATHSIG = 1


class StartError(Exception):
    """A process did not come up; the message names its log."""


def free_port():
    """A loopback port that was free a moment ago."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def _die_with_parent():
    # Covers the one end that no handler sees: the harness itself being killed outright.
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)


class Processes:
    """All processes of one run; a context manager."""

    def __init__(self, logs: Path):
        self.logs = logs
        self.running = []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop_all()

    def start(self, name, command, env=None):
        """Start `command`; its output goes to files named after it. Returns the process."""
        with (self.logs / f"{name}.out").open("wb") as out, (self.logs / f"{name}.err").open("wb") as err:
            process = subprocess.Popen(
                [str(part) for part in command],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                # Lines for each request, which qlio writes in a container, would be measured, too.
                env={**(os.environ if env is None else env), "QLIO_LOG_FORMAT": "none"},
                # Ctrl-C must reach the harness only, which then stops everything in order.
                start_new_session=True,
                preexec_fn=_die_with_parent,
            )
        self.running.append((name, process))
        return process

    def wait_for_port(self, name, process, port, seconds=15):
        """Block until `port` accepts connections."""

        def accepts():
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
                return True
            return None

        self._wait(name, process, accepts, seconds, f"port {port}")

    def wait_for_line(self, name, process, seconds=15):
        """Block until the process has printed its first line on stdout; return it."""
        output = self.logs / f"{name}.out"

        def first_line():
            head, newline, _ = output.read_bytes().partition(b"\n")
            return head.decode().strip() if newline else None

        return self._wait(name, process, first_line, seconds, "its first line of output")

    def _wait(self, name, process, poll, seconds, what):
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            result = poll()
            if result is not None:
                return result
            if process.poll() is not None:
                raise StartError(f"{name} ended with status {process.returncode}:\n{self.tail(name)}")
            time.sleep(0.02)
        raise StartError(f"{name} did not offer {what} within {seconds} s:\n{self.tail(name)}")

    def tail(self, name, lines=15):
        """The last lines that a process wrote to stderr."""
        text = (self.logs / f"{name}.err").read_text(errors="replace")
        return "\n".join(text.splitlines()[-lines:])

    def stop(self, process):
        """End one process before the others."""
        self.running = [(name, other) for name, other in self.running if other is not process]
        stop(process)

    def stop_all(self):
        # A second Ctrl-C must not leave half of them running; stopping is bounded in time anyway.
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        for _, process in reversed(self.running):
            stop(process)
        self.running.clear()


def stop(process):
    """End a process and what it started: ask, wait, then insist."""
    members = family(process.pid) if process.poll() is None else []
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
    # Children that outlived their master; the session id tells them from a recycled process id.
    for pid in members:
        with contextlib.suppress(OSError):
            if pid != process.pid and os.getsid(pid) == process.pid:
                os.kill(pid, signal.SIGKILL)


def family(pid):
    """The process and its living descendants."""
    found, queue = [], [pid]
    while queue:
        current = queue.pop()
        found.append(current)
        for children in Path(f"/proc/{current}/task").glob("*/children"):
            with contextlib.suppress(OSError):
                queue.extend(int(child) for child in children.read_text().split())
    return found


def cpu_seconds(pid):
    """User and system time of a process and its living descendants."""
    return sum(_member_cpu_seconds(member) for member in family(pid))


def user_seconds(pid):
    """Time of a process and its living descendants in their own code, without the kernel's, in clock ticks."""
    return sum(_clock_ticks(member)[0] for member in family(pid)) / CLOCK_TICKS


def _clock_ticks(pid):
    """User and system time of one process."""
    with contextlib.suppress(OSError):
        # The command name may hold blanks; the fields are counted from its closing bracket.
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return [int(field) for field in fields[11:13]]
    return [0, 0]


def _member_cpu_seconds(pid):
    # The scheduler's own account is in nanoseconds, where the kernel keeps it; else clock ticks.
    accounts = list(Path(f"/proc/{pid}/task").glob("*/schedstat"))
    if accounts:
        spent = 0
        for account in accounts:
            with contextlib.suppress(OSError):
                spent += int(account.read_text().split()[0])
        return spent / 1e9
    return sum(_clock_ticks(pid)) / CLOCK_TICKS


def reset_peak_memory(pid):
    """Let the peak be counted from now on."""
    for member in family(pid):
        with contextlib.suppress(OSError):
            Path(f"/proc/{member}/clear_refs").write_text("5")


def peak_memory(pid):
    """Bytes: the sum of the peak resident sizes of a process and its descendants.

    Pages shared between a master and its workers count once for each of them.
    """
    return _memory(pid, "VmHWM:")


def resident_memory(pid):
    """Bytes: the same of what is resident now."""
    return _memory(pid, "VmRSS:")


def _memory(pid, kind):
    kilobytes = 0
    for member in family(pid):
        with contextlib.suppress(OSError):
            for line in Path(f"/proc/{member}/status").read_text().splitlines():
                if line.startswith(kind):
                    kilobytes += int(line.split()[1])
    return kilobytes * 1024


def machine_busy_seconds():
    """CPU time that the whole machine has spent on anything but waiting."""
    # user nice system idle iowait irq softirq steal
    fields = [int(field) for field in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]]
    return (sum(fields) - fields[3] - fields[4]) / CLOCK_TICKS
