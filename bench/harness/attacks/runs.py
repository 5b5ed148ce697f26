"""One request that asks for much: of the server itself, of its upstreams."""

from . import findings, texts

HOPS_MAX = 6


def recursion(bench):
    """A route that calls the route that it is."""
    before = bench.counts()["counts"].get("counted", 0)
    with bench.target(open_files=1024) as server:
        outcome = server.suffer(texts.request("GET", "/loop?n=1", server.host))
        alive = outcome.alive
    hops = bench.counts()["counts"].get("counted", 0) - before
    figure = f"{hops} runs, {outcome.shown()}" + ("" if alive else ", the process ended")
    bench.found(findings.check("recursion", "a route that calls itself", f"at most {HOPS_MAX} runs, then an error", figure, alive and hops <= HOPS_MAX))


SCRIPT_REQUESTS_MAX, STATEMENTS, OF_EACH = 200, 20, 50


def requests(bench):
    """One script, many requests to upstreams."""
    # Each statement asks for numbers of its own.
    lists = (", ".join(str(number * OF_EACH + offset) for offset in range(OF_EACH)) for number in range(STATEMENTS))
    lines = [f"a{number} = select * from counted where n in ({numbers})" for number, numbers in enumerate(lists)]
    members = ", ".join(f'"{{a{number}}}"' for number in range(STATEMENTS))
    before = bench.counts()["counts"].get("counted", 0)
    with bench.target("--enable-q") as server:
        answer = server.script("\n".join([*lines, f"return [{members}]"]), patience=30)
    asked = bench.counts()["counts"].get("counted", 0) - before
    attack = f"a script of {STATEMENTS} statements with {OF_EACH} requests each"
    goal = f"at most {SCRIPT_REQUESTS_MAX} requests"
    bench.found(findings.check("requests", attack, goal, f"{asked} requests, {answer.shown()}", asked <= SCRIPT_REQUESTS_MAX))
