"""Medians, ratios, the machine's noise, and the two forms of the report: text and JSON.

A ratio is the median of the ratios of each round, because contenders that stand side by side in a
round met the same machine. Ratios across scenarios do not exist for that reason.
"""

import json
import os
import platform
import statistics
import time
from dataclasses import dataclass
from pathlib import Path

from . import tools

# Foreign work above this share of the machine, or a spread above this, makes figures indicative only.
QUIET_FOREIGN_CPU = 0.05
QUIET_SPREAD = 0.15


@dataclass(frozen=True)
class Budget:
    """A figure of qlio relative to another contender, and what the design asks of it."""

    scenario: str
    against: str
    measure: str
    bound: float
    at_least: bool

    def met(self, value):
        return value >= self.bound if self.at_least else value <= self.bound


REQUESTS, CPU = "requests_per_second", "cpu_us_per_request"
BUDGETS = (
    Budget("A", "nginx", REQUESTS, 0.9, True),
    Budget("A", "nginx", CPU, 1.3, False),
    Budget("B", "lua", REQUESTS, 1.8, True),
    Budget("C", "lua", REQUESTS, 1.8, True),
    Budget("D", "lua", REQUESTS, 1.25, True),
    *(Budget(scenario, "node", REQUESTS, 2.0, True) for scenario in "ABCD"),
)


class Results:
    """Windows of all rounds by scenario and contender."""

    def __init__(self, scenarios, contenders):
        self.scenarios = scenarios
        self.contenders = contenders
        self.windows = {}
        self.verified = {}

    def add(self, scenario, contender, window):
        self.windows.setdefault((scenario, contender), []).append(window)

    def values(self, scenario, contender, measure):
        return [getattr(window, measure) for window in self.windows[scenario, contender]]

    def median(self, scenario, contender, measure):
        return statistics.median(self.values(scenario, contender, measure))

    def spread(self, scenario, contender):
        """Highest minus lowest requests/s, relative to the median."""
        values = self.values(scenario, contender, REQUESTS)
        middle = statistics.median(values)
        return (max(values) - min(values)) / middle if middle else 0.0

    def ratio(self, scenario, contender, against, measure):
        """The median over rounds of contender / against, or None when one did not take part."""
        if (scenario, contender) not in self.windows or (scenario, against) not in self.windows:
            return None
        mine, theirs = self.values(scenario, contender, measure), self.values(scenario, against, measure)
        pairs = [a / b for a, b in zip(mine, theirs, strict=False) if b]
        return statistics.median(pairs) if pairs else None

    def failures(self):
        return sum(window.failed for windows in self.windows.values() for window in windows)


def environment(workers, binary):
    """The machine and the versions, so that a figure can be placed later."""
    versions = {"nginx": tools.version(["nginx", "-v"]), "wrk": tools.version(["wrk", "-v"])}
    if tools.SYSTEM_TOOLS["node"][0]():
        versions["node"] = tools.version(["node", "--version"])
    if binary:
        versions["qlio"] = tools.version([binary, "--version"])
    cpu = [line.partition(":")[2].strip() for line in Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("model name")]
    memory = Path("/proc/meminfo").read_text().split("\n", 1)[0].split()[1]
    return {
        "cpu": cpu[0] if cpu else platform.machine(),
        "cores": os.cpu_count(),
        "workers_per_contender": workers,
        "memory_mb": int(memory) // 1024,
        "system": f"{platform.system()} {platform.release()}",
        "versions": versions,
        "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    }


def number(value, form):
    return "-" if value is None else format(value, form)


def table(results):
    """The figures, one line per scenario and contender."""
    rows = [("", "req/s", "p50 ms", "p99 ms", "CPU µs", "peak MB", "calls", "failed", "spread", "/nginx", "CPU/nginx", "/lua", "CPU/lua", "/node", "CPU/node")]
    for scenario in results.scenarios:
        rows.append((f"{scenario.name}  {scenario.title}",))
        for contender in results.contenders:
            key = (scenario.name, contender.name)
            if key not in results.windows:
                continue

            def median(measure, key=key):
                return results.median(*key, measure)

            def ratio(against, measure=REQUESTS, key=key):
                return None if key[1] == against else results.ratio(*key, against, measure)

            rows.append(
                (
                    f"   {contender.title}",
                    f"{median(REQUESTS):,.0f}",
                    f"{median('p50_ms'):.1f}",
                    f"{median('p99_ms'):.1f}",
                    f"{median(CPU):.1f}",
                    f"{median('peak_bytes') / 1e6:.0f}",
                    f"{results.verified[key]['calls_per_request']:.0f}",
                    str(sum(results.values(*key, "failed"))),
                    f"{results.spread(*key):.0%}",
                    number(ratio("nginx"), ".2f"),
                    number(ratio("nginx", CPU), ".2f"),
                    number(ratio("lua"), ".2f"),
                    number(ratio("lua", CPU), ".2f"),
                    number(ratio("node"), ".2f"),
                    number(ratio("node", CPU), ".2f"),
                )
            )
    widths = [max((len(row[column]) for row in rows if len(row) > 1), default=0) for column in range(len(rows[0]))]
    lines = []
    for row in rows:
        cells = [cell.ljust(widths[0]) if column == 0 else cell.rjust(widths[column]) for column, cell in enumerate(row)]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)


def budgets(results):
    """Every budget that this run can judge, with its value and whether it is met."""
    judged = []
    for budget in BUDGETS:
        value = results.ratio(budget.scenario, "qlio", budget.against, budget.measure)
        if value is not None:
            judged.append((budget, value))
    return judged


def budget_lines(results):
    lines = []
    for budget, value in budgets(results):
        what = "req/s" if budget.measure == REQUESTS else "CPU per request"
        sign = "≥" if budget.at_least else "≤"
        verdict = "met" if budget.met(value) else "MISSED"
        lines.append(f"   {budget.scenario}  qlio / {budget.against:5}  {what:15}  {value:5.2f}  (target {sign} {budget.bound})  {verdict}")
    return "\n".join(lines)


def noise(results):
    """How quiet the machine was, from windows of all contenders."""
    windows = [window for series in results.windows.values() for window in series]
    foreign = [window.foreign_cpu for window in windows]
    loads = [window.load_average for window in windows]
    spreads = [results.spread(*key) for key in results.windows]
    return {
        "foreign_cpu_median": statistics.median(foreign),
        "foreign_cpu_max": max(foreign),
        "load_average_min": min(loads),
        "load_average_max": max(loads),
        "spread_median": statistics.median(spreads),
        "quiet": max(foreign) <= QUIET_FOREIGN_CPU and statistics.median(spreads) <= QUIET_SPREAD,
    }


def noise_lines(figures):
    text = (
        f"Noise: other programs took {figures['foreign_cpu_median']:.0%} of the machine"
        f" (median; at most {figures['foreign_cpu_max']:.0%}),"
        f" load average {figures['load_average_min']:.1f} to {figures['load_average_max']:.1f},"
        f" median spread between rounds {figures['spread_median']:.0%}."
    )
    if not figures["quiet"]:
        text += "\nThe machine was NOT quiet: read CPU per request and ratios, not requests/s."
    return text


def as_json(results, settings, environment, left_out):
    """Everything measured, raw windows included."""
    series = []
    for (scenario, contender), windows in results.windows.items():
        series.append(
            {
                "scenario": scenario,
                "contender": contender,
                "verified": results.verified[scenario, contender],
                "median": {name: results.median(scenario, contender, name) for name in windows[0].as_dict()},
                "spread": results.spread(scenario, contender),
                "ratio": {
                    against: {measure: results.ratio(scenario, contender, against, measure) for measure in (REQUESTS, CPU)}
                    for against in ("nginx", "lua", "node")
                    if against != contender and (scenario, against) in results.windows
                },
                "windows": [window.as_dict() for window in windows],
            }
        )
    judged = [
        {
            "scenario": budget.scenario,
            "against": budget.against,
            "measure": budget.measure,
            "value": value,
            "bound": budget.bound,
            "at_least": budget.at_least,
            "met": budget.met(value),
        }
        for budget, value in budgets(results)
    ]
    document = {
        "environment": environment,
        "settings": settings,
        "left_out": left_out,
        "noise": noise(results),
        "budgets": judged,
        "series": series,
    }
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"
