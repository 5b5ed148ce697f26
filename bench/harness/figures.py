"""Medians, ratios, spreads and slopes of what was measured. Pure: a document in, numbers out.

The document is what `raw.json` holds. A *point* is a scenario at a number of connections: `D` at the
usual number, `D@500` at 500. A ratio is the median of the ratios of each turn of each round, because
contenders that stand side by side met the same machine; ratios between scenarios, such as XML to JSON,
are taken the same way.
"""

import math
import statistics

REQUESTS, CPU, USER, P50 = "requests_per_second", "cpu_us_per_request", "user_us_per_request", "p50_ms"
# Foreign work above this share of the machine, or a spread above this, makes figures indicative only.
QUIET_FOREIGN_CPU = 0.05
QUIET_SPREAD = 0.15
# A window may count requests that were under way at its end, but not this many.
CALLS_TOLERANCE = 0.03


def spread(values):
    """Highest minus lowest, relative to the median."""
    middle = statistics.median(values)
    return (max(values) - min(values)) / middle if middle else 0.0


def deviation(values):
    """The median absolute deviation from the median, relative to the median."""
    middle = statistics.median(values)
    return statistics.median(abs(value - middle) for value in values) / middle if middle else 0.0


def slope(points):
    """The exponent of growth: the least-squares slope of log y over log x; 1 is linear."""
    return slope_linear([(math.log(x), math.log(y)) for x, y in points if x > 0 and y > 0])


def slope_linear(points):
    """The least-squares slope of y over x."""
    if len({x for x, _ in points}) < 2:
        return None
    mean_x = statistics.fmean(x for x, _ in points)
    mean_y = statistics.fmean(y for _, y in points)
    return sum((x - mean_x) * (y - mean_y) for x, y in points) / sum((x - mean_x) ** 2 for x, _ in points)


class Results:
    """A document, by point and contender."""

    def __init__(self, document):
        self.document = document
        self.scenarios = {scenario["name"]: scenario for scenario in document["scenarios"]}
        self.titles = {contender["name"]: contender["title"] for contender in document["contenders"]}
        self.series = {(series["point"], series["contender"]): series for series in document["series"]}

    def has(self, point, contender):
        return (point, contender) in self.series

    def contenders(self, point):
        """Who took part in this, in the document's order."""
        return [name for name in self.titles if self.has(point, name)]

    def windows(self, point, contender):
        return self.series[point, contender]["windows"]

    def values(self, point, contender, measure):
        return [window[measure] for window in self.windows(point, contender)]

    def median(self, point, contender, measure):
        return statistics.median(self.values(point, contender, measure))

    def ratio(self, point, contender, against, measure, against_point=None):
        """The median of contender / against over the turns that both took, or None when there is none."""
        other = (against_point or point, against)
        if (point, contender) not in self.series or other not in self.series:
            return None
        pairs = self.pairs((point, contender), other)
        ratios = [mine[measure] / theirs[measure] for mine, theirs in pairs if theirs[measure]]
        return statistics.median(ratios) if ratios else None

    def difference(self, point, base, contender, measure):
        """The median of what the measure is higher at a point than at another one, or None when there is none."""
        if not (self.has(point, contender) and self.has(base, contender)):
            return None
        pairs = self.pairs((point, contender), (base, contender))
        differences = [mine[measure] - theirs[measure] for mine, theirs in pairs]
        return statistics.median(differences) if differences else None

    def pairs(self, one, other):
        """The windows of two series that were taken in the same turn of the same round."""
        theirs = {(window["round"], window["turn"]): window for window in self.series[other]["windows"]}
        turns = ((window, theirs.get((window["round"], window["turn"]))) for window in self.series[one]["windows"])
        return [(window, against) for window, against in turns if against is not None]

    def ceiling(self, point, contender, against):
        """What the ratio of requests/s would be if the contender's own code took no time: the cores would then
        be left to the kernel, the upstream and the load generator. None when that was not measured."""
        if not (self.has(point, contender) and self.has(point, against)):
            return None
        cores = self.document["environment"]["cores"]
        ratios = []
        for mine, theirs in self.pairs((point, contender), (point, against)):
            if USER not in mine or not mine[REQUESTS] or not theirs[REQUESTS]:
                continue
            left_us = cores * 1e6 / mine[REQUESTS] - mine[USER]
            if left_us > 0:
                ratios.append(cores * 1e6 / left_us / theirs[REQUESTS])
        return statistics.median(ratios) if ratios else None

    def failures(self):
        """Requests that failed, in all windows."""
        return sum(window["failed"] for series in self.document["series"] for window in series["windows"])

    def shared_calls(self):
        """Points at which fewer requests reached the upstream than the work needs, as
        (point, contender, calls per request): somebody shared or kept answers."""
        found = []
        for (point, contender), series in self.series.items():
            needed = self.scenarios[point.partition("@")[0]]["upstream_calls"]
            calls = self.median(point, contender, "upstream_calls")
            if calls < needed * (1 - CALLS_TOLERANCE):
                found.append((point, contender, calls))
        return found

    def noise(self):
        """How quiet the machine was, from windows of all contenders; None without any."""
        windows = [window for series in self.document["series"] for window in series["windows"]]
        if not windows:
            return None
        foreign = [window["foreign_cpu"] for window in windows]
        loads = [window["load_average"] for window in windows]
        pairs = list(self.series)
        spreads = [spread(self.values(*pair, REQUESTS)) for pair in pairs]
        cpu_spreads = [spread(self.values(*pair, CPU)) for pair in pairs]
        deviations = [deviation(self.values(*pair, REQUESTS)) for pair in pairs]
        return {
            "foreign_cpu_median": statistics.median(foreign),
            "foreign_cpu_max": max(foreign),
            "load_average_min": min(loads),
            "load_average_max": max(loads),
            "spread_median": statistics.median(spreads),
            "spread_max": max(spreads),
            "cpu_spread_median": statistics.median(cpu_spreads),
            "deviation_median": statistics.median(deviations),
            "quiet": statistics.median(foreign) <= QUIET_FOREIGN_CPU and statistics.median(spreads) <= QUIET_SPREAD,
        }

    def curves(self):
        """All curves as (curve, contender, [(size, median CPU ms, median wall ms)])."""
        for growth in self.document["growth"]:
            points = [
                (
                    point["size"],
                    statistics.median(seen["cpu_ms"] for seen in point["rounds"]),
                    statistics.median(seen["wall_ms"] for seen in point["rounds"]),
                )
                for point in growth["points"]
            ]
            yield growth["curve"], growth["contender"], points

    def curve_slope(self, curve, contender, from_size):
        """The exponent of growth of CPU time from this size on; fixed costs hide it below."""
        for name, who, points in self.curves():
            if (name, who) == (curve, contender):
                return slope([(size, cpu) for size, cpu, _ in points if size >= from_size])
        return None

    def start_ms(self, catalog):
        """The median time to the first answer with this catalog, or None."""
        for start in self.document["start"]:
            if start["catalog"] == catalog and start["ms"]:
                return statistics.median(start["ms"])
        return None

    def compile_us(self, script):
        """The median time to compile this script, or None."""
        runs = (self.document["compile"] or {}).get(script)
        return statistics.median(runs) if runs else None
