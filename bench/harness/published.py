"""The figures that were published in 2012, and what follows from them by arithmetic.

Source: the benchmark pages of the original gateway (`docs/reference/bench.md`). They were taken on other
machines, with another load generator and other data; they stand beside ours to show the shape of the
work, not to be divided by.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class LoadRun:
    """A run of the XML or the Protocol Buffers route: 200 users for one hour."""

    format: str
    samples: int
    average_ms: float
    per_second: float
    kilobytes_per_second: float
    upstream_bytes: int


USERS = 200
THINK_MS = 900
LOAD_RUNS = (
    LoadRun("XML", 734_339, 72, 203.43, 12_248, 84_387),
    LoadRun("Protocol Buffers", 772_200, 24, 213.91, 12_388, 27_497),
)

# Requests/s and mean milliseconds over 100 connections, by number of workers.
BASELINE = {
    "A": {12: (2032.98, 49.189), 96: (2419.28, 41.335)},
    "B": {12: (2110.30, 47.387), 96: (2386.20, 41.908)},
    "C": {12: (863.70, 115.781), 96: (982.55, 101.776)},
    "D": {12: (192.53, 519.390), 96: (382.01, 261.773)},
}
# The same over 500 connections.
BASELINE_500 = {
    "A": {12: (2003.66, 249.543), 96: (2522.16, 198.243)},
    "D": {12: (192.17, 2601.874), 96: (282.14, 1772.200)},
}
ANSWER_BYTES = {"A": 5_924, "B": 952, "C": 1_377, "D": 600}
MEMORY_GB_12_WORKERS = (1.3, 1.8)
MEMORY_GB_96_WORKERS = (7.0, 7.4)


def closed_loop_ms(users, per_second):
    """Milliseconds of a whole turn of each user: answer time plus thinking."""
    return users / per_second * 1e3


def think_ms(run):
    """The thinking time that a closed loop must have had to give the published rate."""
    return closed_loop_ms(USERS, run.per_second) - run.average_ms


def seconds(run):
    """How long the run took, by its own figures."""
    return run.samples / run.per_second


def kilobytes_per_answer(run):
    return run.kilobytes_per_second / run.per_second
