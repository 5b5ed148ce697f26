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

    def send(self, request, key):
        """Send a `Request` with this key; return status and body."""
        headers = {"Content-Type": "application/json"} if request.body else {}
        body = request.body.replace("{key}", key).encode() if request.body else None
        self.connection.request(request.method, request.path.replace("{key}", key), body=body, headers=headers)
        answer = self.connection.getresponse()
        return answer.status, answer.read()


def upstream_counters(url):
    """Connections and requests that the upstream has seen so far, this look included."""
    connection = http.client.HTTPConnection(urllib.parse.urlsplit(url).netloc, timeout=TIMEOUT_SECONDS)
    try:
        connection.request("GET", "/status")
        answer = connection.getresponse()
        status, body = answer.status, answer.read()
    finally:
        connection.close()
    if status != 200:
        raise WrongAnswer(f"the upstream's status page answered {status}")
    accepted, _, requests = re.search(rb"(\d+) (\d+) (\d+)", body).groups()
    return int(accepted), int(requests)


def difference(value, right, place="$"):
    """Where two JSON values differ first."""
    if isinstance(value, dict) and isinstance(right, dict):
        for name in [*right, *value]:
            if name not in value or name not in right:
                return f"member {name!r} of {place} is {'missing' if name in right else 'too much'}"
            if value[name] != right[name]:
                return difference(value[name], right[name], f"{place}.{name}")
    if isinstance(value, list) and isinstance(right, list):
        if len(value) != len(right):
            return f"{len(value)} elements in {place}, expected {len(right)}"
        for position, (mine, expected) in enumerate(zip(value, right, strict=True)):
            if mine != expected:
                return difference(mine, expected, f"{place}[{position}]")
    return f"{place} is {str(value)[:100]}, expected {str(right)[:100]}"


def verify(contender, scenario, upstream):
    """Check answers and count calls; return what was found, or raise `WrongAnswer`."""
    label = f"{contender.title}, scenario {scenario.name}"
    connections_before, requests_before = upstream.counters()
    request, right = contender.request(scenario), contender.right_answer(scenario)
    size = 0
    with Client(contender.url) as client:
        for number in range(REQUESTS):
            status, body = client.send(request, f"check{number}")
            size = len(body)
            if status != 200:
                raise WrongAnswer(f"{label}: status {status}: {body[:300]!r}")
            try:
                value = request.unwrap(json.loads(body))
            except (ValueError, LookupError, TypeError) as error:
                raise WrongAnswer(f"{label}: not the expected JSON ({error!r}): {body[:300]!r}") from error
            if value != right:
                raise WrongAnswer(f"{label}: another answer than expected: {difference(value, right)}")
    connections, requests = upstream.counters()
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
