"""One small request, much memory: values that are doubled, answers that are bombs, bodies that stand still."""

import time

from . import attackers, findings, target, texts
from .findings import BODIES_MIB, ROUTE_MIB, SCRIPT_MIB

ALL_OF_IT = 20
DOUBLING_SECONDS = 20
BODY_BYTES, SENT_BYTES, STALLED = 10_000_000, 9_900_000, 100
READERS = 50
SMALL_BUFFER = 4096
# How long crowds are watched, in seconds, beside the window of load.
SETTLE_SECONDS = 2


def doubling(bench):
    """A script of a few hundred bytes."""
    attacks = {
        f"a script of {texts.SCRIPT_BYTES} bytes that doubles a text": texts.doubled_texts(),
        f"a script of {texts.SCRIPT_BYTES} bytes that doubles a list": texts.doubled_lists(),
        f"a script of {2 * texts.SCRIPT_BYTES} bytes that doubles an object": texts.doubled_objects(2 * texts.SCRIPT_BYTES),
        f"a script of {texts.SCRIPT_BYTES} bytes that doubles JSON in a text": texts.doubled_json(),
        "a doubled text in an address": texts.doubled_into('return select * from addressed where text = "{text}"'),
        "a doubled text in a header": texts.doubled_into('return select * from headed where text = "{text}"'),
        "a doubled text in a body template": texts.doubled_into('return insert into posted (text) values ("{text}")'),
        "a doubled text in a JSON body": texts.doubled_into('return insert into written (text) values ("{text}")'),
        "an answer of all rows, twenty times": many_times(),
    }
    for attack, script in attacks.items():
        with bench.target("--enable-q") as server:
            outcome = server.suffer(texts.script_request(script, server.host), DOUBLING_SECONDS)
            target.check_script(outcome.answer)
            bench.found(findings.spared("doubling", attack, outcome, SCRIPT_MIB))
    with bench.target() as server:
        outcome = server.suffer(texts.request("GET", f"/doubled?text={'x' * 2000}", server.host))
        bench.found(findings.spared("doubling", "a route that doubles what its client gives", outcome, ROUTE_MIB))


def many_times():
    members = ", ".join(f'"m{number}": "{{all}}"' for number in range(ALL_OF_IT))
    return f"all = select * from rows where n = 200000\nreturn {{{members}}}"


def bombs(bench):
    """Answers of an upstream that grow, each to one request of a route."""
    attacks = {
        "an answer of 10 MB of gzip that gives 1 GB": "bomb",
        "an answer of 10 MB of JSON": "json",
        "an answer of 10 MB of XML": "xml",
        "an answer of a million brackets": "deep",
        "an answer of entities that name ten others each": "laughs-xml",
    }
    for attack, what in attacks.items():
        with bench.target() as server:
            # The upstream makes the answer first; that is not what is measured.
            warm(bench, what)
            outcome = server.suffer(texts.request("GET", f"/large?what={what}", server.host))
            bench.found(findings.spared("bombs", attack, outcome, ROUTE_MIB))


def warm(bench, what):
    bench.fetch(f"/large?what={what}")


def bodies(bench):
    """Bodies that come and stop, answers that nobody reads, and the cheap route meanwhile."""
    allowed = findings.allowed_memory(BODIES_MIB)
    with bench.target() as server:
        quiet = bench.quiet(server)
        server.begin()
        begin = texts.request("POST", "/posted", server.host, [("content-type", "application/json"), ("content-length", BODY_BYTES)])
        with attackers.Crowd(server, STALLED, begin + b'{"text":"' + b"x" * SENT_BYTES) as crowd:
            attacked = bench.cheap(server)
            grown = server.grown()
            note = f"; {crowd.refused} of {STALLED} refused or closed at once"
        attack = f"{STALLED} bodies of 10 MB that stop before their end"
        bench.found(findings.harm("bodies", attack, quiet, attacked, grown, allowed, server.alive(), note))
    with bench.target() as server:
        warm(bench, "json")
        quiet = bench.quiet(server)
        server.begin()
        request = texts.request("GET", "/large?what=json", server.host)
        with attackers.Crowd(server, READERS, request, SMALL_BUFFER) as crowd:
            attacked = bench.cheap(server)
            grown = server.grown()
        attack = f"{READERS} answers of 10 MB that nobody reads"
        bench.found(findings.harm("bodies", attack, quiet, attacked, grown, allowed, server.alive()))


SESSION_BYTES, SESSIONS_OF_EACH = 60_000, 16
CONSOLES = 400


def sessions(bench):
    """Scripts that are run step by step, and never asked for the next step."""
    allowed = findings.allowed_memory(BODIES_MIB)
    with bench.target("--enable-q") as server:
        quiet = bench.quiet(server)
        server.begin()
        hello = texts.request("GET", "/", server.host, texts.HANDSHAKE)
        with attackers.Crowd(server, CONSOLES, hello + texts.session(SESSION_BYTES) * SESSIONS_OF_EACH):
            attacked = bench.cheap(server)
            grown = server.grown()
        attack = f"{CONSOLES} WebSockets with {SESSIONS_OF_EACH} sessions of {SESSION_BYTES:,} bytes each"
        bench.found(findings.harm("sessions", attack, quiet, attacked, grown, allowed, server.alive()))


DRIPS = 100
# A body that drips has to be given up once it has taken as long as a pause may.
DRIP_SECONDS, DRIP_SLACK_SECONDS = 30, 5
DEADLINE_SECONDS, OBSERVED_SECONDS = 2, 8


def drips(bench):
    """What never ends: heads and bodies of upstreams, bodies of clients."""
    with bench.target(settings={"deadline": DEADLINE_SECONDS * 1000}) as server:
        for what in ("head", "body"):
            answer = server.get(f"/dripping?what={what}", patience=OBSERVED_SECONDS)
            goal = f"504 within {DEADLINE_SECONDS + 1} s, as the setting `deadline` says"
            seconds = f"{answer.seconds:.1f} s" if answer.status else f"within {OBSERVED_SECONDS} s"
            met = answer.status == 504 and answer.seconds <= DEADLINE_SECONDS + 1
            bench.found(findings.check("drips", f"an upstream whose {what} drips", goal, f"{answer.shown()}, {seconds}", met))
    with bench.target() as server:
        begin = texts.request("POST", "/posted", server.host, [("content-type", "application/json"), ("content-length", BODY_BYTES)])
        with attackers.Drip(server, DRIPS, begin) as drip:
            end = time.monotonic() + DRIP_SECONDS + DRIP_SLACK_SECONDS
            while len(drip.ended) < DRIPS and time.monotonic() < end:
                time.sleep(0.1)
            ended = list(drip.ended)
        last = f", the last after {max(ended):.0f} s" if ended else ""
        goal = f"all given up within {DRIP_SECONDS + DRIP_SLACK_SECONDS} s"
        bench.found(findings.check("drips", f"{DRIPS} bodies of four bytes a second", goal, f"{len(ended)} given up{last}", len(ended) == DRIPS))
