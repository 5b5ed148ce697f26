"""Who is believed: pages of other sites, whoever reaches a server on loopback, values in paths, redirects."""

import urllib.parse

from . import findings, texts

EVIL = "http://evil.example"
RUNS = 'return {"ran": "yes"}'
REFUSED = "refused: a status of 400 or more, and nothing runs"


def refused(bench, attack, answer, ran=False, goal=REFUSED):
    figure = answer.shown() + (", it ran" if ran else "")
    bench.found(findings.check("trust", attack, goal, figure, answer.status >= 400 and not ran))


def has_run(answer):
    return b'"ran"' in answer.body


def trust(bench):
    """What a page of another site, and whoever reaches a server on loopback, may do."""
    script = texts.script_target(RUNS)
    with bench.target() as server:
        through = [("x-forwarded-for", "203.0.113.7"), ("x-forwarded-host", "api.example"), ("via", "1.1 proxy")]
        answer = server.get(script, through)
        refused(bench, "a script through a proxy to a server on loopback", answer, has_run(answer))
        answer = server.get("/table?name=large&format=json")
        refused(bench, "the description of a table, without `--dev`", answer, b"config.upstream" in answer.body)
        answer = server.get("/cheap?id=1&callback=steal")
        is_wrapped = answer.body.startswith(b"steal(")
        figure = f"{answer.shown()}, {'wrapped in a call' if is_wrapped else 'JSON'}"
        bench.found(findings.check("trust", "a `callback` to a route, without `--dev`", "no call around the answer", figure, not is_wrapped))
    for flags, where in ((("--enable-q",), "with `--enable-q`"), (("--dev",), "with `--dev`")):
        with bench.target(*flags) as server:
            port = server.port
            pages = {
                "a page of another site, by its `Origin`": [("origin", EVIL)],
                "a page without an origin (`Origin: null`)": [("origin", "null")],
                "a page of another port of this machine": [("origin", f"http://127.0.0.1:{port - 1 if port > 1024 else port + 1}")],
                "a page of another site, by `Sec-Fetch-Site`": [("sec-fetch-site", "cross-site")],
            }
            for page, headers in pages.items():
                answer = server.get(script, headers)
                refused(bench, f"`/q` from {page}, {where}", answer, has_run(answer))
            answer = server.send(texts.request("GET", "/", server.host, [*texts.HANDSHAKE, ("origin", EVIL)]))
            refused(bench, f"WebSocket from a page of another site, {where}", answer)
            if flags == ("--dev",):
                own = texts.request("GET", script, f"evil.example:{port}")
                answer = server.send(own)
                refused(bench, "`/q` with a `Host` that was rebound to loopback, with `--dev`", answer, has_run(answer))
                handshake = texts.request("GET", "/", f"evil.example:{port}", [*texts.HANDSHAKE, ("origin", f"http://evil.example:{port}")])
                refused(bench, "WebSocket with a `Host` that was rebound to loopback, with `--dev`", server.send(handshake))
            before = bench.counts()["counts"].get("written", 0)
            writing = texts.script_target("return insert into written (text) values ('x')")
            answer = server.get(writing, [("origin", EVIL)] if flags == ("--dev",) else [])
            wrote = bench.counts()["counts"].get("written", 0) > before
            by = "of a page of another site" if flags == ("--dev",) else "of anybody"
            refused(bench, f"a statement that writes, over GET `/q`, {by}, {where}", answer, wrote)
            answer = server.get(script, [("origin", f"http://{server.host}"), ("sec-fetch-site", "same-origin")])
            bench.found(findings.check("trust", f"`/q` from the server's own page, {where}", "it runs", answer.shown(), has_run(answer)))


def paths(bench):
    """Values that lead out of their place: in a path, or by a redirect."""
    with bench.target() as server:
        for value in texts.DOT_SEGMENTS:
            before = len(bench.counts()["targets"])
            answer = server.get(f"/item?id={value}")
            targets = bench.counts()["targets"][before:]
            reached = f"the upstream was asked for `{targets[0]}`" if targets else "nothing was sent"
            figure = f"{answer.shown()}, {reached}"
            shown = urllib.parse.unquote(value)
            met = answer.status >= 400 and not targets
            bench.found(findings.check("paths", f"`{shown}` as a token in a path", "an error, nothing is sent", figure, met))
        answer = server.get("/moved")
        followed = bench.counts(bench.elsewhere)["counts"].get("elsewhere", 0)
        figure = f"{answer.shown()}, {'followed' if followed else 'not followed'}"
        attack = "a redirect of a loaded table to a host that it does not name"
        bench.found(findings.check("paths", attack, "502, not followed", figure, answer.status == 502 and not followed))
