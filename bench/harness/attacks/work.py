"""Much work: what it costs a cheap route when others join, filter, compare, decode and spin."""

from . import attackers, findings, memory, target, texts
from .findings import ROUTE_MIB, SCRIPT_MIB

EQUAL = 1000
JOIN = (
    f"a = select * from rows where n = {EQUAL} and kind = 'equal'\n"
    f"b = select * from rows where n = {EQUAL} and kind = 'equal'\n"
    "return select a.v as l, b.v as r, b.k as k from a as a, b as b where a.k = b.k"
)
CROSS = JOIN.replace("where a.k = b.k", "where a.k = 1")
FILTER = "all = select * from rows where n = 200000\nreturn select v from all where v = 'none'"
IN_LIST = (
    "a = select k from rows where n = 20000\nb = select * from rows where n = 200000\n"
    'return select v from b where k in ("{a}")'
)
EQUAL_ROUTE = f"/equal?n={EQUAL}"

# Attack, clients, script of a client or address of a route.
SCRIPTS = (
    (f"a client that joins {EQUAL:,} × {EQUAL:,} equal rows", 1, JOIN),
    (f"four clients that join {EQUAL:,} × {EQUAL:,} equal rows", 4, JOIN),
    (f"four clients that join {EQUAL:,} × {EQUAL:,} rows without a key", 4, CROSS),
    ("four clients that filter 200,000 rows", 4, FILTER),
    ("four clients that look 200,000 rows up in a list of 20,000", 4, IN_LIST),
)
ROUTES = (
    ("work", f"four clients of a route that joins {EQUAL:,} × {EQUAL:,} equal rows", 4, EQUAL_ROUTE),
    ("decoding", "two clients of a route whose upstream sends 10 MB of JSON", 2, "/large?what=json"),
    ("decoding", "two clients of a route whose upstream sends 10 MB of XML", 2, "/large?what=xml"),
    ("decoding", "two clients of a route whose upstream sends a gzip bomb of 10 MB", 2, "/large?what=bomb"),
    ("decoding", "two clients of a route whose upstream sends a million brackets", 2, "/large?what=deep"),
    ("hooks", "two clients of a route whose hook does not end", 2, "/spin?n=1"),
    ("hooks", "two clients of a route whose function does not end", 2, "/turn"),
)


def attacked(bench, group, attack, clients, request_of, budget_mib, *flags):
    with bench.target(*flags) as server:
        request = request_of(server)
        target.check_script(server.send(request))
        quiet = bench.quiet(server)
        server.begin()
        with attackers.Loop(server, request, clients) as loop:
            window = bench.cheap(server)
            grown = server.grown()
        allowed = findings.allowed_memory(budget_mib, clients)
        bench.found(findings.harm(group, attack, quiet, window, grown, allowed, server.alive(), loop.shown()))


def routes(bench, group):
    for of, attack, clients, address in ROUTES:
        if of == group:
            for what in (address.partition("what=")[2],):
                if what:
                    memory.warm(bench, what)
            attacked(bench, group, attack, clients, lambda server: texts.request("GET", address, server.host), ROUTE_MIB)


def work(bench):
    """Joins, filters and lists."""
    for attack, clients, script in SCRIPTS:
        attacked(bench, "work", attack, clients, lambda server: texts.script_request(script, server.host), SCRIPT_MIB, "--enable-q")
    routes(bench, "work")


def decoding(bench):
    """Large answers of upstreams."""
    routes(bench, "decoding")


def hooks(bench):
    """JavaScript of the app that does not end."""
    routes(bench, "hooks")


SIZES = (5_000, 10_000, 20_000, 40_000)
TURNS = 3
# A size that took so long has no larger one behind it.
GIVE_UP_MS = 4_000


def joins(bench):
    """How CPU time grows with the rows of a join on two keys, the first of which has four values."""
    points = []
    with bench.target() as server:
        for size in SIZES:
            if points and (points[-1][1] is None or points[-1][1] > GIVE_UP_MS):
                points.append((size, None))
                continue
            points.append((size, fastest(bench, server, size)))
    bench.found(findings.growth("joins", "a join of N × N rows on two keys, four values of the first", points))


def fastest(bench, server, size):
    """The CPU time of one join in milliseconds, the least of some turns; None if it did not answer."""
    bench.fetch(f"/rows?n={size}&kind=few")
    seen = []
    for _ in range(TURNS):
        before = server.cpu()
        answer = server.get(f"/few?n={size}", patience=2 * target.PATIENCE_SECONDS)
        if answer.status != 200:
            return None
        seen.append((server.cpu() - before) * 1000)
        if seen[-1] > GIVE_UP_MS:
            break
    return min(seen)
