"""Open-loop load on the cheap route: `python3 -m harness.attacks.cheap HOST:PORT TARGET COUNT RATE`.

Requests are due at fixed times, whatever became of those before, and times count from when a request was due:
a server that stands still is not asked less often for it. A request takes the connection that has rested longest;
where none is free, it opens one. The process prints its figures as one line of JSON.
"""

import asyncio
import json
import math
import sys
import time
from collections import Counter, deque

PATIENCE_SECONDS = 5.0
CONNECTIONS_FIRST = 16
CONNECTIONS_MAX = 2000
RIGHT = b'[{"name":"lantern"}]'


def percentile(latencies, lost, share):
    """Of all that were sent; those that were lost took longer than any. None: it was one of them."""
    ordered = sorted(latencies)
    position = math.ceil((len(ordered) + lost) * share) - 1
    return ordered[position] if 0 <= position < len(ordered) else None


def figures(latencies, lost):
    """`latencies` in seconds, `lost` by reason."""
    unanswered = sum(lost.values())
    in_ms = [latency * 1000 for latency in latencies]
    return {
        "sent": len(latencies) + unanswered,
        "answered": len(latencies),
        "lost": dict(lost),
        "p50_ms": percentile(in_ms, unanswered, 0.5),
        "p99_ms": percentile(in_ms, unanswered, 0.99),
        "max_ms": max(in_ms, default=None),
    }


class Connection(asyncio.Protocol):
    """One connection, one request at a time."""

    def __init__(self, load):
        self.load = load
        self.due = None
        self.received = b""
        self.deadline = None

    def connection_made(self, transport):
        self.transport = transport

    def send(self, due):
        self.due, self.received = due, b""
        self.deadline = self.load.loop.call_at(due + PATIENCE_SECONDS, self.give_up)
        self.transport.write(self.load.request)

    def data_received(self, data):
        self.received += data
        head, ended, body = self.received.partition(b"\r\n\r\n")
        if not ended:
            return
        lengths = [line.partition(b":")[2] for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
        if lengths and len(body) < int(lengths[0]):
            return
        status = head.split(b" ", 2)[1].decode("latin-1")
        if status != "200":
            self.end(f"status {status}")
        elif body != RIGHT:
            self.end("wrong")
        else:
            self.end(None)

    def give_up(self):
        self.end("time")
        self.transport.abort()

    def connection_lost(self, _):
        if self in self.load.idle:
            self.load.idle.remove(self)
        if self.due is not None:
            self.end("closed")

    def end(self, reason):
        if self.due is None:
            return
        self.deadline.cancel()
        due, self.due = self.due, None
        self.load.ended(due, reason)
        if reason is None:
            self.load.idle.append(self)
        else:
            self.transport.abort()


class Load:
    def __init__(self, host, port, target):
        self.host, self.port = host, port
        self.request = f"GET {target} HTTP/1.1\r\nhost: {host}:{port}\r\n\r\n".encode()
        self.idle = deque()
        self.latencies, self.lost = [], Counter()
        self.loop = asyncio.get_running_loop()
        self.opened = 0

    def ended(self, due, reason):
        if reason is None:
            self.latencies.append(self.loop.time() - due)
        else:
            self.lost[reason] += 1

    async def open(self, until):
        """A new connection; a server that accepts none is not waited for."""
        self.opened += 1
        opening = self.loop.create_connection(lambda: Connection(self), self.host, self.port)
        _, connection = await asyncio.wait_for(opening, max(0.0, until - self.loop.time()))
        return connection

    async def send(self, due):
        """Send on a connection that rests, or on a new one."""
        if self.idle:
            self.idle.popleft().send(due)
        elif self.opened >= CONNECTIONS_MAX:
            self.lost["no connection"] += 1
        else:
            try:
                connection = await self.open(due + PATIENCE_SECONDS)
            except asyncio.TimeoutError:
                self.lost["time"] += 1
            except OSError:
                self.lost["refused"] += 1
            else:
                connection.send(due)

    async def run(self, count, rate):
        until = self.loop.time() + PATIENCE_SECONDS
        first = await asyncio.gather(*(self.open(until) for _ in range(CONNECTIONS_FIRST)), return_exceptions=True)
        self.idle.extend(one for one in first if isinstance(one, Connection))
        begin, sending = self.loop.time(), set()
        for number in range(count):
            due = begin + number / rate
            await asyncio.sleep(max(0.0, due - self.loop.time()))
            task = asyncio.create_task(self.send(due))
            sending.add(task)
            task.add_done_callback(sending.discard)
        end = time.monotonic() + 2 * PATIENCE_SECONDS
        while len(self.latencies) + sum(self.lost.values()) < count and time.monotonic() < end:
            await asyncio.sleep(0.01)
        return figures(self.latencies, self.lost)


async def main(address, target, count, rate):
    host, _, port = address.rpartition(":")
    print(json.dumps(await Load(host, int(port), target).run(int(count), float(rate))), flush=True)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
