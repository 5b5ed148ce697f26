"""What the design asks of qlio, and whether a run shows it.

A budget is missed by the share of its bound that is missing. What was tried is written here by hand,
beside the budget, from the records of decisions and the history; the report shows it only when the
budget is missed.
"""

from dataclasses import dataclass

from .figures import CPU, P50, REQUESTS
from .probes import LARGE_CATALOG

# Above these sizes the fixed cost of a request no longer hides how the work grows.
FAN_OUT_FROM = 30
ROWS_FROM = 10_000
# Over 500 connections.
RESIDENT_MEGABYTES_MAX = 60
# Caches grow too small on the way from a thousand rows to a million; n log n would show as 1.07.
LINEAR = 1.15


def no_ceiling(_):
    return None


@dataclass(frozen=True)
class Budget:
    """One figure, its bound, and how to find it in the results."""

    what: str
    bound: float
    at_least: bool
    value: object
    unit: str = "×"
    # What it has in common with others, one of `TOPICS`; and what is its own: where the cost lies, what was tried.
    topic: str = ""
    tried: str = ""
    # For requests/s: what the value would be if qlio's own code took no time at all.
    ceiling: object = no_ceiling

    def met(self, value):
        return value >= self.bound if self.at_least else value <= self.bound

    def missing(self, value):
        """By which share of the bound the value falls short; 0 when it is met."""
        if self.met(value):
            return 0.0
        return abs(value - self.bound) / self.bound


def ceiling(point, contender):
    return lambda results: results.ceiling(point, "qlio", contender)


def against(point, contender, measure, other_point=None):
    return lambda results: results.ratio(point, "qlio", contender, measure, other_point)


def over_bare(results):
    """Built in the same way, which for the bare exchanges is without a profile."""
    return results.ratio("D", "plain" if results.has("D", "plain") else "qlio", "bare", CPU)


def formats(point, json_point):
    return lambda results: results.ratio(point, "qlio", "qlio", REQUESTS, json_point)


def added(point, base="H"):
    return lambda results: results.difference(point, base, "qlio", CPU)


def peak_megabytes(point):
    def value(results):
        return results.median(point, "qlio", "peak_bytes") / 1e6 if results.has(point, "qlio") else None

    return value


def growth(curve, from_size):
    return lambda results: results.curve_slope(curve, "qlio", from_size)


# What several budgets have in common: a title and what was tried for it.
EXCHANGES = "Exchanges"
FORMATS = "Formats"
TOPICS = {
    EXCHANGES: "What an exchange costs was lowered by speaking HTTP/1.1 to upstreams without a library in between"
    " ([ADR 0011](adr/0011-own-http1-client.md): 16 % of the CPU of eleven calls), by polling a connection from the request's own task"
    " ([ADR 0004](adr/0004-upstream-transport.md)), by futures that hold each request once instead of at every step, by another"
    " allocator, by fewer allocations, copies and readings of the clock, by headers that the requests of a statement share and write once, by gathered answers whose rows stay text, by checking"
    " JSON sixteen bytes at a time and its names by those of the row before, by letting hyper keep its own number of header lines,"
    " which spares 8 KB that were written per request, by receiving a body into the buffer of the one before, and by building what is shipped by a profile of itself ([ADR 0012](adr/0012-profiled-builds.md): a quarter of the time in our own code)"
    " and laying its machine code out by another ([ADR 0017](adr/0017-machine-code-laid-out.md): a tenth). What is left, and"
    " what did not help, is in [ADR 0010](adr/0010-where-the-time-goes.md): the kernel, which takes half and the same for nginx, hyper's"
    " HTTP/1.1 towards clients, and memory that is cold because three programs share the caches."
    " In D, the bare exchanges stand beside the route: they show how much of it is exchanges and how much is script, decoding and join.",
    FORMATS: "J hands rows on as they came: it checks every byte but builds and writes nothing, which no format that has to become JSON"
    " can match. The pairs with three columns compare the decoders; there rows stay text in all three"
    " ([ADR 0014](adr/0014-rows-that-stay-text.md))."
    " Tried: decoders that check the whole document but build only what the projection names, and write what it names whole as JSON while"
    " they read ([ADR 0015](adr/0015-whole-parts-become-text.md)); for messages, tables that are made of the schema when it is loaded, and"
    " passing fields by their length; for XML, looking for the ends of names and text sixteen bytes at a time, and writing records in"
    " one pass, each name compared with the one that came at its place before; for its columns, comparing the tags between two texts as one piece.",
}
TOPIC_OF = {
    **dict.fromkeys(("A", "A-cpu", "B", "C", "D", "D-bare"), EXCHANGES),
    **dict.fromkeys(("E", "E3", "F", "F3"), FORMATS),
}
TRIED = {
    "D-bare": "The rest is the state of each exchange (limits, times, egress guard, back-off), decoding eleven answers, and the join;"
    " the second bare program, which uses qlio's client, tells the client's share from the language's.",
    "G": "The whole body is received and every byte of it is checked before the first goes out, whereas nginx hands on what has come so far,"
    " unread. Tried: decoding with the projection, checking sixteen bytes at a time, and reading rows as places in their text instead of"
    " values ([ADR 0014](adr/0014-rows-that-stay-text.md)), while the body arrives ([ADR 0016](adr/0016-rows-while-they-arrive.md)).",
    "A@500": "Every client connection has buffers, and the allocator keeps what it has freed for a while.",
    "D@500": "Ten exchanges for each of the connections are up to 5,000 at once, each with its state, headers and answer."
    " Tried: connections without buffers while they wait, futures that hold an exchange once, no huge pages for a small heap.",
}

# The upstream, the load generator and the kernel have their share of the cores, whatever qlio does.
CEILINGS = {
    "A": ceiling("A", "nginx"),
    "B": ceiling("B", "lua"),
    "C": ceiling("C", "lua"),
    "D": ceiling("D", "lua"),
}


def budget(name, what, bound, at_least, value, unit="×"):
    return Budget(what, bound, at_least, value, unit, TOPIC_OF.get(name, ""), TRIED.get(name, ""), CEILINGS.get(name, no_ceiling))


BUDGETS = (
    budget("A", "A: requests/s relative to nginx", 0.9, True, against("A", "nginx", REQUESTS)),
    budget("A-cpu", "A: CPU per request relative to nginx", 1.3, False, against("A", "nginx", CPU)),
    budget("B", "B: requests/s relative to nginx + Lua", 1.8, True, against("B", "lua", REQUESTS)),
    budget("C", "C: requests/s relative to nginx + Lua", 1.8, True, against("C", "lua", REQUESTS)),
    budget("D", "D: requests/s relative to nginx + Lua", 1.25, True, against("D", "lua", REQUESTS)),
    budget("D-bare", "D: CPU relative to its bare exchanges", 1.2, False, over_bare),
    *(
        budget(f"{name}-node", f"{name}: requests/s relative to the Node service", 2.0, True, against(name, "node", REQUESTS))
        for name in ("A", "B", "C", "D", "J", "E", "F", "J3", "E3", "F3", "G")
    ),
    budget("E", "E: requests/s relative to J, all of each row", 0.5, True, formats("E", "J")),
    budget("E3", "E3: requests/s relative to J3, three columns", 0.5, True, formats("E3", "J3")),
    budget("F", "F: requests/s relative to J, all of each row", 1.2, True, formats("F", "J")),
    budget("F3", "F3: requests/s relative to J3, three columns", 1.2, True, formats("F3", "J3")),
    *(
        budget(name, f"{name}: CPU added to H", 8, False, added(name), "µs")
        for name in ("H-uri", "H-headers", "H-status", "H-mustache")
    ),
    budget("H-ejs", "H-ejs: CPU added to H", 15, False, added("H-ejs"), "µs"),
    budget("G", "G: time per request relative to nginx passing the body on", 1.5, False, against("G", "nginx", P50)),
    budget("A@500", "peak memory, A over 500 connections", RESIDENT_MEGABYTES_MAX, False, peak_megabytes("A@500"), "MB"),
    budget("D@500", "peak memory, D over 500 connections", RESIDENT_MEGABYTES_MAX, False, peak_megabytes("D@500"), "MB"),
    budget("compile", "compiling the script of D", 100, False, lambda results: results.compile_us("eleven_calls"), "µs"),
    budget("start", "start to first answer, 500 tables and 200 routes", 150, False, lambda results: results.start_ms(LARGE_CATALOG), "ms"),
    budget("fan-out", f"growth of CPU with fan-out, from {FAN_OUT_FROM} calls", LINEAR, False, growth("fan-out", FAN_OUT_FROM), "exponent"),
    budget("projection", f"growth of CPU with rows, from {ROWS_FROM:,} rows", LINEAR, False, growth("projection", ROWS_FROM), "exponent"),
    budget("join", f"growth of CPU with joined rows, from {ROWS_FROM:,} rows", LINEAR, False, growth("join", ROWS_FROM), "exponent"),
)


def judge(results):
    """Every budget that these results can judge, with its value."""
    judged = ((budget, budget.value(results)) for budget in BUDGETS)
    return [(budget, value) for budget, value in judged if value is not None]
