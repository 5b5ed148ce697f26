"""Before anything is measured: does each contender do the work, and no more upstream calls than it needs?

Answers are compared as JSON with the ones computed in `dataset.py`. Upstream calls are counted with
the upstream's own counters; measuring later adds no counting to any contender's path.
"""

import http.client
import json
import re
import urllib.parse

REQUESTS = 20
TIMEOUT_SECONDS = 10


class WrongAnswer(Exception):
    """A contender answered something else than it should have."""


class Client:
    """One kept-alive connection, as the load generator uses them."""

    def __init__(self, url):
        parts = urllib.parse.urlsplit(url)
        self.connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=TIMEOUT_SECONDS)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.connection.close()

    def get(self, path):
        self.connection.request("GET", path)
        answer = self.connection.getresponse()
        return answer.status, answer.read()


def upstream_counters(port):
    """Connections and requests that the upstream has seen so far, this look included."""
    with Client(f"http://127.0.0.1:{port}") as client:
        status, body = client.get("/status")
    if status != 200:
        raise WrongAnswer(f"the upstream's status page answered {status}")
    accepted, _, requests = re.search(rb"(\d+) (\d+) (\d+)", body).groups()
    return int(accepted), int(requests)


def verify(contender, scenario, upstream_port):
    """Check answers and count calls; return what was found, or raise `WrongAnswer`."""
    label = f"{contender.title}, scenario {scenario.name}"
    connections_before, requests_before = upstream_counters(upstream_port)
    size = 0
    with Client(contender.url) as client:
        for number in range(REQUESTS):
            status, body = client.get(scenario.path.format(key=f"check{number}"))
            size = len(body)
            if status != 200:
                raise WrongAnswer(f"{label}: status {status}: {body[:300]!r}")
            try:
                value = json.loads(body)
            except ValueError as error:
                raise WrongAnswer(f"{label}: no JSON ({error}): {body[:300]!r}") from error
            if value != scenario.answer:
                raise WrongAnswer(f"{label}: another answer than expected: {body[:300]!r}")
    connections, requests = upstream_counters(upstream_port)
    # Each look at the counters is a request on a connection of its own.
    calls = (requests - requests_before - 1) / REQUESTS
    if calls != scenario.upstream_calls:
        raise WrongAnswer(f"{label}: {calls} upstream calls per request, expected {scenario.upstream_calls}")
    return {
        "calls_per_request": calls,
        "new_connections": connections - connections_before - 1,
        "requests": REQUESTS,
        "answer_bytes": size,
    }
