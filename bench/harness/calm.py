"""Waiting until the machine is as fast as it was: on shared hardware others slow it down for seconds or minutes.

In: nothing but the clock. Out: whether a fixed piece of work, done on every core at once, took about as
long as the fastest one of this run. What runs beside us on the same physical machine shows nowhere
else: neither as load nor as stolen time. A wait has a limit, and so have all of them together; then
measuring goes on, and the report says how often.
"""

import hashlib
import statistics
import threading
import time
import zlib

# A body for the caches and a text for the arithmetic; together some 15 ms.
SCANNED = bytes(24 << 20)
HASHED = bytes(6 << 20)
# How much longer than the fastest the work may take on a calm machine.
SLACK = 1.25
FIRST_TRIES = 20
# Others slow us down for moments, too; one slow piece of work says little.
TRIES = 3
PAUSE_SECONDS = 0.25
WAIT_SECONDS_MAX = 5


def work():
    """Both give up Python's lock, so that threads run side by side."""
    zlib.crc32(SCANNED)
    hashlib.sha256(HASHED)


def seconds_of_work(cores):
    threads = [threading.Thread(target=work) for _ in range(cores)]
    began = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return time.perf_counter() - began


class Calm:
    """What is known of the machine's speed, and how long it has been waited for."""

    def __init__(self, cores, seconds_max, probe=seconds_of_work, clock=time.monotonic, sleep=time.sleep):
        self.cores, self.seconds_left = cores, seconds_max
        self.probe, self.clock, self.sleep = probe, clock, sleep
        self.fastest = min(probe(cores) for _ in range(FIRST_TRIES))
        self.seconds_waited = 0.0
        self.asked = self.uncalm = 0

    def is_calm(self):
        seconds = statistics.median(self.probe(self.cores) for _ in range(TRIES))
        self.fastest = min(self.fastest, seconds)
        return seconds <= self.fastest * SLACK

    def wait(self):
        """Returns when the machine is calm, or when it was waited for long enough."""
        began = self.clock()
        self.asked += 1
        until = began + min(WAIT_SECONDS_MAX, self.seconds_left)
        while not (calm := self.is_calm()) and self.clock() < until:
            self.sleep(PAUSE_SECONDS)
        self.uncalm += not calm
        waited = self.clock() - began
        self.seconds_waited += waited
        self.seconds_left = max(0.0, self.seconds_left - waited)

    def as_dict(self):
        return {"asked": self.asked, "uncalm": self.uncalm, "seconds_waited": round(self.seconds_waited, 1)}
