"""The upstreams behind the attacked server: `python3 -m harness.attacks.upstream`.

Serves on a free loopback port, prints its address, and counts requests by the first part of their path.
What it answers follows from the path alone; `/counts` tells the counters, and each path that `/items` was asked for.
"""

import asyncio
import functools
import json
import sys
from collections import Counter
from urllib.parse import parse_qsl, urlsplit

from . import texts

LINE_MAX = 64 * 1024
DRIP_SECONDS = 0.2
DRIPS_MAX = 300
TARGETS_MAX = 1000


@functools.cache
def body_of(name, query):
    """The bytes, media type and coding of an answer."""
    asked = dict(query)
    if name == "rows":
        return texts.rows(int(asked["n"]), asked.get("kind") or "different"), "application/json", None
    if name == "large":
        what = asked["what"]
        kind = "application/xml" if "xml" in what else "application/json"
        coding = "gzip" if what == "bomb" else None
        make = {"xml": texts.large_xml, "json": texts.large_json, "deep": texts.deep_json, "laughs-xml": texts.laughing_xml, "bomb": texts.bomb}
        return make[what](), kind, coding
    return b'{"name":"lantern"}', "application/json", None


def head(status, fields):
    lines = [f"HTTP/1.1 {status}", *(f"{name}: {value}" for name, value in fields)]
    return "\r\n".join([*lines, "", ""]).encode()


class Upstream:
    def __init__(self, moved_to):
        self.moved_to = moved_to
        self.counts = Counter()
        self.targets = []

    async def connected(self, reader, writer):
        try:
            while True:
                request = await reader.readuntil(b"\r\n\r\n")
                line, _, fields = request.decode("latin-1").partition("\r\n")
                for field in fields.split("\r\n"):
                    name, _, value = field.partition(":")
                    if name.lower() == "content-length":
                        await reader.readexactly(int(value))
                await self.answer(line.split(" ")[1], writer)
        except (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass
        finally:
            writer.close()

    async def answer(self, target, writer):
        parts = urlsplit(target)
        name = parts.path.split("/")[1]
        self.counts[name] += 1
        if name == "counts":
            body = json.dumps({"counts": self.counts, "targets": self.targets}).encode()
            writer.write(head("200 OK", [("content-type", "application/json"), ("content-length", len(body))]) + body)
        elif name == "drip-head":
            await drip(writer, b"HTTP/1.1 200 OK\r\nx-drip: ")
        elif name == "drip-body":
            await drip(writer, head("200 OK", [("content-type", "application/json"), ("content-length", 1_000_000)]) + b'"')
        elif name == "moved":
            writer.write(head("302 Found", [("location", f"{self.moved_to}/elsewhere"), ("content-length", 0)]))
        else:
            if name in ("items", "..", "."):
                self.targets = [*self.targets, target][-TARGETS_MAX:]
            body, kind, coding = body_of(name, tuple(parse_qsl(parts.query)))
            fields = [("content-type", kind), ("content-length", len(body))]
            fields += [("content-encoding", coding)] if coding else []
            writer.write(head("200 OK", fields))
            writer.write(body)
        await writer.drain()


async def drip(writer, begin):
    """A byte now and then, for a minute."""
    writer.write(begin)
    for _ in range(DRIPS_MAX):
        await writer.drain()
        await asyncio.sleep(DRIP_SECONDS)
        writer.write(b"a")


async def serve(moved_to):
    upstream = Upstream(moved_to)
    server = await asyncio.start_server(upstream.connected, "127.0.0.1", 0, limit=LINE_MAX, backlog=1024)
    print(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(serve(sys.argv[1] if len(sys.argv) > 1 else ""))
