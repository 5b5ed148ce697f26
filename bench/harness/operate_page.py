"""The figures of `bench/operate` as a page. Pure, but for the load of the machine."""

import os

from .operate import KILLED, QUIET_AGAIN
from .reload_soak import WARM_UP_MINUTES, spread, steady_bytes

FLAT_SHARE_MAX = 0.05

HEAD = """# Operating under load

What clients notice while a server is reloaded, upgraded, killed and ended: requests are sent at a steady rate, whatever becomes of those before, and a time counts from when a request should have been sent.
Each calls an upstream and a function, and every answer says the version of three files of the app, so that one of two catalogs would be seen.
How to measure again is in [bench/README.md](../../bench/README.md#operating). How to do all this is in [Reload](../operating/reload.md), [Upgrade](../operating/upgrade.md), [Stop](../operating/stop.md) and [Scale](../operating/scale.md).

Do not edit: `bench/operate --figures docs/benchmarks/operate.json` writes this page.
"""

TITLES = {"one": "One server", "instances": "Several instances", "soak": "An hour with reloads"}


def load_average():
    """Processes that wanted to run in the last minute."""
    return round(os.getloadavg()[0], 1)


def table(phases):
    quiet = min(one["p99_ms"] for one in phases if one["name"] in ("quiet", QUIET_AGAIN))
    lines = ["| What happens | Seconds | Requests | Failed | Sent again | p50, ms | p99, ms | p99 of the worst second, ms | as multiple of the quiet p99 |"]
    lines += ["| --- " * 9 + "|"]
    for one in phases:
        ratio = one["worst_second_p99_ms"] / quiet if quiet else 0.0
        cells = [one["name"], one["seconds"], f"{one['requests']:,}", one["failed"], one["sent_again"], one["p50_ms"], one["p99_ms"], one["worst_second_p99_ms"], f"{ratio:.1f}"]
        lines.append("| " + " | ".join(str(cell) for cell in cells) + " |")
    return lines


def machine_line(document):
    machine = document["machine"]
    note = f"; {machine['note']}" if machine.get("note") else ""
    return (
        f"{document['rate']:,} requests a second over {document['clients']} connections, {machine['qlio']}, on {machine['cpu']}, "
        f"{machine['cores']} cores, {machine['system']}, {machine['time'][:10]}; clients and upstream run on the same cores. "
        f"{machine['load']} processes wanted to run in the minute before{note}."
    )


def one_text(document):
    killed = next(one for one in document["phases"] if one["name"] == KILLED)
    counts = {name: one[name] for one in document["phases"] for name in ("reloads", "certificates", "upgrades") if name in one}
    return [
        f"{counts['reloads']} reloads, {counts['certificates']} certificates, {counts['upgrades']} upgrades; every fourth client speaks TLS and connects anew every 20 requests.",
        "*Sent again* is a request on a kept-alive connection that ended before a byte of its answer had come: the connection was closed while it was idle, or its server was killed.",
        f"When the server was killed, {killed['failed']} requests failed and {killed['sent_again']} were sent again, at most one for each connection; the next server served after {killed['back_after_ms']} ms. {document['catalogs_seen']} catalogs were seen, never two in one answer.",
    ]


def instances_text(document):
    requests = sum(one["requests"] for one in document["phases"][:-1])
    return [
        f"{document['instances']} servers behind nginx, which tries the next one when a connection fails. Answers of the upstream are kept in Redis: until that was ended, {requests:,} answers took {document['upstream_requests']:,} requests to the upstream, of three catalogs.",
        f"After each phase `/readyz?verbose` and `qlio_catalog_info` of all servers told the same hash, {len(document['hashes'])} different ones in all; after a new catalog was everywhere, no answer came from another one.",
    ]


def soak_text(document):
    found = steady_bytes(document)
    requests, failed = (sum(one[name] for one in document["minutes"]) for name in ("requests", "failed"))
    lines = [
        f"{len(document['minutes'])} minutes, a new version of the app in each (every fourth is broken and refused): {requests:,} requests, {failed} failed.",
        f"Resident memory after the first {WARM_UP_MINUTES} minutes: {min(found) / 1e6:.1f} to {max(found) / 1e6:.1f} MB, {100 * spread(document):.1f} % apart.",
        "",
        "| Minute | Requests | p99, ms | Resident, MB |",
        "| --- | --- | --- | --- |",
    ]
    for one in document["minutes"]:
        if one["minute"] % 5 == 0 or one["minute"] == 1:
            lines.append(f"| {one['minute']} | {one['requests']:,} | {one['p99_ms']} | {one['bytes'] / 1e6:.1f} |")
    return lines


TEXTS = {"one": one_text, "instances": instances_text, "soak": soak_text}


def section(part, document):
    """The figures of one part."""
    lines = [f"## {TITLES[part]}", "", machine_line(document), "", *TEXTS[part](document)]
    if "phases" in document:
        lines += ["", *table(document["phases"])]
    return "\n".join(lines) + "\n"


def page(document):
    """The page of all parts that have been measured."""
    return "\n".join([HEAD, *(section(part, document[part]) for part in TITLES if part in document)])


def failed(part, document):
    """Whether something failed that should not have."""
    if document["exit_code"]:
        return True
    if part == "soak":
        return any(one["failed"] for one in document["minutes"]) or spread(document) > FLAT_SHARE_MAX
    # A killed server takes the requests with it that it was answering, and no proxy is there to try another one.
    return any(one["failed"] for one in document["phases"] if one["name"] != KILLED)
