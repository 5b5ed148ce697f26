"""One run: what takes part, the order of events, and the document that grows with each round.

In: the chosen options. Out: the document that `raw.json` holds and everything else is made of. It
knows who takes part in what and who goes first; how a figure is taken is left to the other modules.
"""

import http.client
import os
import resource
import sys
import time
from pathlib import Path

from . import dataset, formats, hooks, probes, sizes, tools
from .calm import Calm
from .contenders import OPEN_FILES, Fleet
from .environment import environment
from .load import LoadFailed, measure
from .processes import Processes, StartError
from .verify import WrongAnswer, verify

ROOT = Path(__file__).resolve().parent.parent.parent
CONTENDERS = ("nginx", "qlio", "plain", "lua", "node", "hive", "bare", "bare-own")
SCENARIOS = (
    *("A", "B", "C", "D", "J", "E", "F", "J3", "E3", "F3", "G"),
    *hooks.HOOKS,
    *(hooks.posted(name) for name in hooks.PUBLISHED),
)
PARTS = ("load", "crowd", "growth", "start", "compile")
WARM_UP_SECONDS = 1
# The large body is handed over one at a time: its question is how long one takes.
CONNECTIONS_OF = {"G": 1}
LARGE_SCENARIOS = ("G",)
CROWD_SCENARIOS = ("A", "D")
GROWTH_CONTENDERS = ("qlio", "node")
# The parts of a run that have contenders of their own: their scenarios, and who takes part.
GATEWAYS = ("nginx", "qlio", "lua", "node", "hive")
FLEETS = {
    "load": (tuple(name for name in SCENARIOS if name not in LARGE_SCENARIOS), CONTENDERS),
    "large": (LARGE_SCENARIOS, GATEWAYS),
    "crowd": (CROWD_SCENARIOS, GATEWAYS),
}
# 500 of these at once would take the GraphQL gateway several windows to answer.
NOT_IN_CROWD = {("D", "hive")}
# Whose ratios lie close to what is asked, by scenario: one window in each round does not tell on which side.
CLOSE = {"A": ("nginx", "qlio"), "C": ("qlio", "lua"), "D": ("qlio", "plain", "lua", "bare")}
# So often they take turns in a round, two or four at a time; others do once.
CLOSE_TURNS = 3
# What a contender may get wrong.
FAILURES = (StartError, WrongAnswer, LoadFailed, OSError, http.client.HTTPException)


def say(text):
    print(text, file=sys.stderr, flush=True)


def raise_open_files():
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = OPEN_FILES if hard == resource.RLIM_INFINITY else min(OPEN_FILES, hard)
    resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def take_part(chosen):
    """Who can take part, what was built for them, and why the others can't."""
    tools.require(["nginx", "wrk"])
    obstacles = {"lua": tools.lua_obstacle, "node": tools.node_obstacle, "hive": tools.hive_obstacle}
    programs, left_out = {}, {}
    for name in chosen.contenders:
        reason = obstacles[name]() if name in obstacles else None
        if reason:
            left_out[name] = reason
            say(f"leaving out {name}: {reason}")
        else:
            programs[name] = None
    if "qlio" in programs:
        programs["qlio"] = chosen.qlio.resolve() if chosen.qlio else tools.build_qlio(ROOT, not chosen.quick)
    if "plain" in programs and chosen.quick:
        del programs["plain"]
    if "plain" in programs:
        programs["plain"] = chosen.plain.resolve() if chosen.plain else tools.build_qlio(ROOT, False)
    bare = [name for name in ("bare", "bare-own") if name in programs]
    built = (chosen.bare.resolve() if chosen.bare else tools.build_bare(ROOT)) if bare else None
    for name in bare:
        programs[name] = built
        if built is None:
            del programs[name]
            left_out[name] = "the example bare_exchanges does not build"
            say(f"leaving out {name}: {left_out[name]}")
    return programs, left_out


def turns(contenders, number):
    """Nobody always goes first: whoever does meets the coldest machine."""
    turn = number % max(len(contenders), 1)
    return contenders[turn:] + contenders[:turn]


class Measurement:
    """One run: what is started, and the document that grows with each round."""

    def __init__(self, chosen, folder):
        self.chosen = chosen
        self.folder = folder
        self.workers = os.cpu_count()
        self.programs, self.left_out = take_part(chosen)
        self.compile_bench = None
        if "compile" in chosen.parts:
            self.compile_bench = chosen.compile.resolve() if chosen.compile else tools.build_compile_bench(ROOT)
        if "compile" in chosen.parts and self.compile_bench is None:
            say("leaving out the time to compile: its benchmark does not build")
        raise_open_files()
        self.began = time.monotonic()
        self.load_before = os.getloadavg()
        say("generating data")
        available = dataset.generate(folder / "data") | formats.generate(folder / "data")
        available |= hooks.scenarios(available)
        self.scenarios = [available[name] for name in chosen.scenarios]
        if "growth" in chosen.parts:
            sizes.generate(folder / "data", self.largest_rows())
        self.series, self.growth, self.checked = {}, {}, {}
        self.start = {probes.SMALL_CATALOG: [], probes.LARGE_CATALOG: []}
        self.compile = {}
        self.rounds_done = 0
        self.calm = None

    def leave_out(self, what, contender, error):
        """Go on without a peer that fails, and say so in the report; without qlio there is no point."""
        if contender == "qlio":
            raise error
        self.left_out[f"{contender} {what}"] = str(error).split("\n", 1)[0]
        say(f"leaving out {contender} {what}: {error}")

    def largest_rows(self):
        return 10_000 if self.chosen.quick else max(sizes.ROWS)

    def run(self):
        with Processes(self.folder) as processes:
            self.processes = processes
            first = Fleet(processes, "upstream", self.folder, self.workers, self.folder / "data")
            self.upstream = first.upstream()
            self.upstream_port = first.upstream_port
            self.contenders = {part: self.start_fleet(part) for part in FLEETS if self.is_needed(part)}
            self.verify()
            if self.chosen.patience > 0:
                self.calm = Calm(self.workers, self.chosen.patience)
            self.rounds()
        return self.document()

    def rounds(self):
        longest = 0.0
        for number in range(self.chosen.rounds):
            began = time.monotonic()
            if number > 0 and began - self.began + longest > self.chosen.minutes * 60:
                say(f"time is up: {number} of {self.chosen.rounds} rounds")
                return
            self.round(number)
            self.rounds_done = number + 1
            longest = max(longest, time.monotonic() - began)

    def is_needed(self, part):
        parts = {"load": ("load",), "large": ("load", "growth"), "crowd": ("crowd",)}[part]
        return any(one in self.chosen.parts for one in parts)

    def start_fleet(self, part):
        fleet = Fleet(self.processes, part, self.folder, self.workers, self.folder / "data")
        fleet.upstream_port = self.upstream_port
        started = []
        for name, program in self.programs.items():
            if name in FLEETS[part][1]:
                say(f"starting {name} for {part}")
                try:
                    started.append(fleet.start(name, program))
                except FAILURES as error:
                    self.leave_out(f"for {part}", name, error)
        return started

    def pairs(self, part):
        """The scenarios of a part, each with the contenders that can do it."""
        for scenario in self.scenarios:
            if part in self.contenders and scenario.name in FLEETS[part][0]:
                able = [one for one in self.contenders[part] if scenario.name in one.scenarios]
                able = [one for one in able if f"{one.name} in {scenario.name}" not in self.left_out]
                if part == "crowd":
                    able = [one for one in able if (scenario.name, one.name) not in NOT_IN_CROWD]
                yield scenario, able

    def curve_work(self):
        for curve in sizes.CURVES:
            able = [one for one in self.contenders["large"] if one.name in GROWTH_CONTENDERS]
            able = [one for one in able if f"{one.name} in {curve.name}" not in self.left_out]
            for size in curve.sizes:
                if curve.name == "fan-out" or size <= self.largest_rows():
                    yield curve, size, able

    def verify(self):
        checks = 0
        for part in self.contenders:
            for scenario, able in self.pairs(part):
                for contender in able:
                    try:
                        seen = verify(contender, scenario, self.upstream)
                    except FAILURES as error:
                        self.leave_out(f"in {scenario.name}", contender.name, error)
                        continue
                    say(f"right: {part} {scenario.name:2} {contender.name}, {seen['calls_per_request']:.0f} upstream calls")
                    self.checked[scenario.name, contender.name] = seen
                    checks += 1
        if "growth" in self.chosen.parts:
            for curve, size, able in self.curve_work():
                for contender in able:
                    began = time.monotonic()
                    try:
                        probes.check_curve(contender, curve, size)
                    except FAILURES as error:
                        self.leave_out(f"in {curve.name}", contender.name, error)
                        continue
                    checks += 1
                    if time.monotonic() - began > 1:
                        say(f"right: {curve.name} of {size:,} {contender.name}, {time.monotonic() - began:.1f} s")
        say(f"answers and upstream calls are right ({checks} checks); measuring {self.chosen.rounds} rounds")

    def round(self, number):
        elapsed = (time.monotonic() - self.began) / 60
        say(f"-- round {number + 1} of {self.chosen.rounds}, {elapsed:.1f} minutes so far")
        if "load" in self.chosen.parts:
            for scenario, able in [*self.pairs("load"), *self.pairs("large")]:
                connections = CONNECTIONS_OF.get(scenario.name, self.chosen.connections)
                self.wait()
                for contender in turns(able, number):
                    self.window(scenario.name, scenario, contender, connections, number)
                close = [one for one in able if one.name in CLOSE.get(scenario.name, ())]
                for turn in range(1, CLOSE_TURNS if len(close) > 1 and not self.chosen.quick else 1):
                    self.wait()
                    for contender in turns(close, number + turn):
                        self.window(scenario.name, scenario, contender, connections, number, turn)
        if "crowd" in self.chosen.parts:
            for scenario, able in self.pairs("crowd"):
                for contender in turns(able, number):
                    self.window(f"{scenario.name}@{self.chosen.crowd}", scenario, contender, self.chosen.crowd, number)
        if "growth" in self.chosen.parts:
            for curve, size, able in self.curve_work():
                for contender in turns(able, number):
                    seconds = 0.2 if self.chosen.quick else 0.5
                    try:
                        seen = probes.measure_curve(contender, curve, size, seconds)
                    except FAILURES as error:
                        self.leave_out(f"in {curve.name}", contender.name, error)
                        continue
                    self.growth.setdefault((curve.name, contender.name), {}).setdefault(size, []).append(seen)
                say(f"{curve.name:10} of {size:9,}  " + "  ".join(self.curve_text(curve, size, one) for one in able))
        if "start" in self.chosen.parts and "qlio" in self.programs:
            self.starts(number)
        if self.compile_bench:
            for script, microseconds in probes.measure_compile(self.compile_bench).items():
                self.compile.setdefault(script, []).append(microseconds)
                say(f"compile    {script:14} {microseconds:8.1f} µs")

    def wait(self):
        """Before a turn, never within one: what is compared has the same chance of a bad moment."""
        if self.calm:
            self.calm.wait()

    def curve_text(self, curve, size, contender):
        seen = self.growth.get((curve.name, contender.name), {}).get(size)
        return f"{contender.name} {seen[-1]['cpu_ms']:9.2f} ms CPU" if seen else f"{contender.name} -"

    def window(self, point, scenario, contender, connections, number, turn=0):
        try:
            seen = measure(contender, scenario, self.upstream, connections, self.chosen.duration, WARM_UP_SECONDS)
        except FAILURES as error:
            self.leave_out(f"in {scenario.name}", contender.name, error)
            return
        self.series.setdefault((point, contender.name, connections), []).append({"round": number, "turn": turn} | seen.as_dict())
        say(
            f"{point:6} {contender.name:8} {seen.requests_per_second:9,.0f}/s  CPU {seen.cpu_us_per_request:8.1f} µs"
            f"  p50 {seen.p50_ms:7.2f} ms  peak {seen.peak_bytes / 1e6:5.0f} MB"
        )

    def starts(self, number):
        for catalog, (tables, routes) in {probes.SMALL_CATALOG: (1, 1), probes.LARGE_CATALOG: (probes.TABLES, probes.ROUTES)}.items():
            folder = self.folder / f"start-{tables}"
            if number == 0:
                probes.write_catalog(folder, tables, routes)
            for _ in range(2):
                elapsed = probes.measure_start(self.processes, self.programs["qlio"], folder, self.upstream_port)
                self.start[catalog].append(elapsed)
            say(f"start      {catalog:24} {self.start[catalog][-1]:8.1f} ms")

    def titles(self):
        return {one.name: one.title for started in self.contenders.values() for one in started}

    def document(self):
        settings = {
            "rounds": self.rounds_done,
            "rounds_asked": self.chosen.rounds,
            "seconds": self.chosen.duration,
            "connections": self.chosen.connections,
            "crowd": self.chosen.crowd,
            "seed": dataset.SEED,
            "quick": self.chosen.quick,
            "minutes": round((time.monotonic() - self.began) / 60, 1),
            "load_average_before": self.load_before[0],
            "calm": self.calm and self.calm.as_dict(),
        }
        return {
            "environment": environment(self.workers, self.programs),
            "settings": settings,
            "left_out": self.left_out,
            "scenarios": [{"name": one.name, "title": one.title, "upstream_calls": one.upstream_calls} for one in self.scenarios],
            "contenders": [{"name": name, "title": title} for name, title in self.titles().items()],
            "series": [
                {
                    "point": point,
                    "connections": connections,
                    "contender": contender,
                    "checked": self.checked[point.partition("@")[0], contender],
                    "windows": windows,
                }
                for (point, contender, connections), windows in self.series.items()
            ],
            "growth": [
                {"curve": curve, "contender": contender, "points": [{"size": size, "rounds": seen} for size, seen in points.items()]}
                for (curve, contender), points in self.growth.items()
            ],
            "start": [{"catalog": catalog, "ms": values} for catalog, values in self.start.items()],
            "compile": self.compile,
        }
