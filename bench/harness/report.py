"""The report: Markdown, the charts beside it, and a summary for the terminal.

Pure: results in, texts out. Each section is left out when the run did not measure it.
"""

from . import hooks, published, soak
from .budgets import RESIDENT_MEGABYTES_MAX, TOPICS, judge
from .charts import Bar, Line, Panel, bars, lines, timeline
from .figures import CPU, P50, REQUESTS, Results, spread
from .sizes import CURVES

AGGREGATION = ("A", "B", "C", "D")
FORMATS = ("J", "E", "F", "J3", "E3", "F3")
CROWD = ("A", "D")
MEGABYTE = 1e6
# CPU microseconds per request are CPU seconds per million requests.
PER_THOUSAND = 1e-3


def count(value):
    return f"{value:,.0f}"


def ratio_text(value):
    return "" if value is None else f"{value:.2f}"


def significant(value):
    """Three digits, more only before the decimal point."""
    return count(value) if value >= 100 else f"{value:.3g}"


def table(header, rows):
    """A Markdown table; the first column is text, the others are numbers."""
    marks = ["---", *("---:" for _ in header[1:])]
    return "\n".join("| " + " | ".join(row) + " |" for row in [header, marks, *rows])


def verdict(budget, value):
    sign = "≥" if budget.at_least else "≤"
    shown = "met" if budget.met(value) else f"**missed by {budget.missing(value):.0%}**"
    return significant(value), f"{sign} {budget.bound:g} {budget.unit}", shown


def noise_text(results):
    figures = results.noise()
    if figures is None:
        return "Nothing was measured under load, so the noise of the machine is not known."
    text = (
        f"Other programs took {figures['foreign_cpu_median']:.0%} of the machine in the median window and "
        f"{figures['foreign_cpu_max']:.0%} in the worst; the load average was "
        f"{results.document['settings']['load_average_before']:.1f} before the run and "
        f"{figures['load_average_min']:.1f} to {figures['load_average_max']:.1f} during it, our own load included.\n"
        f"Between rounds, requests/s of the same thing moved by {figures['spread_median']:.0%} "
        f"(median of highest minus lowest over the median; worst {figures['spread_max']:.0%}), "
        f"CPU per request by {figures['cpu_spread_median']:.0%}; "
        f"the median absolute deviation of requests/s is {figures['deviation_median']:.1%}."
    )
    calm = results.document["settings"].get("calm")
    if calm:
        text += (
            f"\nBefore each of {calm['asked']} turns a fixed piece of work told whether the machine was as fast as at its best; "
            f"it was waited for {calm['seconds_waited']:.0f} s in all, and {calm['uncalm']} turns began although it was slower."
        )
    if not figures["quiet"]:
        text += "\n**The machine was not quiet: read CPU per request and the ratios, not requests/s.**"
    return text


def window_rows(results, points):
    rows = []
    for point in points:
        for contender in results.contenders(point):

            def median(measure, point=point, contender=contender):
                return results.median(point, contender, measure)

            rates = results.values(point, contender, REQUESTS)
            against = [
                None if contender == other else results.ratio(point, "qlio", contender, measure)
                for other, measure in (("qlio", REQUESTS), ("qlio", CPU))
            ]
            rows.append(
                [
                    f"{point} {results.titles[contender]}",
                    count(median(REQUESTS)),
                    f"{count(min(rates))} to {count(max(rates))}",
                    f"{median(P50):.2f}",
                    f"{median('p99_ms'):.2f}",
                    f"{median(CPU) * PER_THOUSAND:.3f}",
                    f"{median('peak_bytes') / MEGABYTE:.0f}",
                    f"{median('upstream_calls'):.2f}",
                    count(median("upstream_connections")),
                    *(ratio_text(value) for value in against),
                ]
            )
    return rows


WINDOW_HEADER = [
    "",
    "requests/s",
    "lowest to highest",
    "p50 ms",
    "p99 ms",
    "CPU s per 1,000",
    "peak MB",
    "upstream calls",
    "new connections",
    "qlio: requests/s ×",
    "qlio: CPU ×",
]


def scenario_lines(results, names):
    return "\n".join(
        f"- **{name}**: {results.scenarios[name]['title']}; {results.scenarios[name]['upstream_calls']} upstream "
        f"call{'s' if results.scenarios[name]['upstream_calls'] > 1 else ''}."
        for name in names
        if name in results.scenarios
    )


def measured(results, points):
    return [point for point in points if results.contenders(point)]


def budgets_section(results):
    judged = judge(results)
    rows = [[budget.what, *verdict(budget, value)] for budget, value in judged]
    missed = [(budget, value) for budget, value in judged if not budget.met(value)]
    text = ["## Budgets", "", f"{len(judged) - len(missed)} of {len(judged)} met.", "", table(["", "value", "budget", "verdict"], rows)]
    if missed:
        text += ["", "What was missed, by how much, and what was tried:"]
        # Those that have something in common stand together, in the order of the first of each.
        for topic in dict.fromkeys(budget.topic for budget, _ in missed):
            text += ["", f"**{topic}.** {TOPICS[topic]}", ""] if topic else [""]
            text += [missed_line(budget, value, budget.ceiling(results)) for budget, value in missed if budget.topic == topic]
    return text


def missed_line(budget, value, ceiling):
    shown, bound, _ = verdict(budget, value)
    limit = f"If qlio's own code took no time at all and everything else stayed, it would be {significant(ceiling)}." if ceiling else ""
    parts = [f"- {budget.what}: {shown} instead of {bound}, {budget.missing(value):.0%} short.", limit, budget.tried]
    return " ".join(part for part in parts if part)


def machine_section(results):
    machine, settings = results.document["environment"], results.document["settings"]
    versions = ", ".join(f"{name} {version}" if name not in version else version for name, version in machine["versions"].items())
    text = [
        "## The run",
        "",
        f"- {machine['time']}, {settings['minutes']} minutes, {settings['rounds']} rounds; one window is"
        f" {settings['seconds']} s after a second of warm-up; {settings['connections']} connections unless stated.",
        f"- {machine['cpu']}, {machine['cores']} cores, {machine['memory_mb'] / 1024:.0f} GB, {machine['system']}."
        f" Upstream, load generator and contender share the cores; each contender has {machine['workers_per_contender']} workers.",
        f"- {versions}.",
        f"- {results.failures()} failed requests.",
        "",
        noise_text(results),
    ]
    for point, contender, calls in results.shared_calls():
        text.append(f"{results.titles[contender]} made only {calls:.2f} upstream calls per request in {point}: it shares or keeps answers.")
    if settings["rounds"] < settings["rounds_asked"]:
        text.append(f"**Only {settings['rounds']} of {settings['rounds_asked']} rounds: time was up.**")
    for name, reason in results.document["left_out"].items():
        text.append(f"{name} was left out: {reason}.")
    return text


def load_section(results):
    points = measured(results, AGGREGATION)
    if not points:
        return []
    return [
        "## Aggregation",
        "",
        scenario_lines(results, points),
        "",
        "![Requests per second](benchmarks/requests.svg)",
        "",
        "![CPU per 1,000 requests](benchmarks/cpu.svg)",
        "",
        "![Latency](benchmarks/latency.svg)",
        "",
        "Upstream calls are per request, those under way at the end of a window included; new connections are those that the upstream"
        " accepted in a window, all others were kept alive.",
        "The last two columns divide qlio's figure by the one of the row, in each turn; more requests/s and less CPU are better.",
        "",
        table(WINDOW_HEADER, window_rows(results, points)),
        "",
        "*Bare exchanges* are the eleven exchanges of D made by a program that reads no answer: no script, no JSON, no join.",
        "One makes them with hyper's connections as they are, the other with the HTTP client of qlio; both are built without a profile, and"
        " so is the qlio that they are compared with in the budgets.",
    ]


def formats_section(results):
    points = measured(results, FORMATS)
    if not points:
        return []
    rows = []
    for point in ("E", "F", "E3", "F3"):
        base = "J3" if point.endswith("3") else "J"
        for contender in results.contenders(point):
            rows.append(
                [
                    f"{point} / {base}, {results.titles[contender]}",
                    ratio_text(results.ratio(point, contender, contender, REQUESTS, base)),
                    ratio_text(results.ratio(point, contender, contender, CPU, base)),
                ]
            )
    return [
        "## XML and Protocol Buffers",
        "",
        "The same 50 rows in three formats, in the shapes and sizes of the published experiment.",
        "All of each row is what the published scripts select; three columns show what a decoder saves that builds only what is asked for.",
        "",
        scenario_lines(results, points),
        "",
        "![Formats](benchmarks/formats.svg)",
        "",
        table(WINDOW_HEADER, window_rows(results, points)),
        "",
        "Relative to the JSON route of the same contender:",
        "",
        table(["", "requests/s ×", "CPU ×"], rows),
    ]


def hooks_section(results):
    points = measured(results, (*hooks.HOOKS, *(hooks.posted(name) for name in hooks.PUBLISHED)))
    if not points:
        return []
    bases = {name: "H" for name in hooks.HOOKS if name != "H"} | {hooks.posted(name): name for name in hooks.PUBLISHED}
    rows = [
        [f"{point} - {base}", f"{added:+.1f} µs"]
        for point, base in bases.items()
        if (added := results.difference(point, base, "qlio", CPU)) is not None
    ]
    return [
        "## Hooks and templates",
        "",
        "The same route with each hook, and the published experiment as it was: by POST, with a body that an EJS template writes.",
        "A hook pays for what it looks at ([ADR 0022](adr/0022-hooks-pay-for-what-they-read.md)).",
        "",
        scenario_lines(results, points),
        "",
        table(WINDOW_HEADER, window_rows(results, points)),
        "",
        "What is added to the CPU of a request, in the same turn:",
        "",
        table(["", "CPU"], rows),
    ]


def large_section(results):
    points = measured(results, ("G",))
    if not points:
        return []
    return [
        "## A large body",
        "",
        scenario_lines(results, points),
        "",
        "One request at a time, over one connection; nginx hands the body on unread.",
        "",
        table(WINDOW_HEADER, window_rows(results, points)),
    ]


def crowd_section(results):
    crowd = results.document["settings"]["crowd"]
    points = measured(results, [f"{name}@{crowd}" for name in CROWD])
    if not points:
        return []
    return [
        f"## {crowd} connections",
        "",
        "Memory is the sum of the peak resident sizes of all processes of a contender during the window;"
        " pages that a master shares with its workers count once for each.",
        "D keeps ten upstream connections busy for each client connection.",
        "",
        "![Memory](benchmarks/memory.svg)",
        "",
        table(WINDOW_HEADER, window_rows(results, points)),
    ]


# How a phase of the hour is drawn and called.
SOAK_PHASES = {"A": ("plain", "peak of the burst of A"), "D": ("qlio", "peak of the burst of D"), soak.REST: ("bare", "at rest after both")}


def soak_section(hour):
    """What `bench/soak` saw, which is a run of its own."""
    if not hour:
        return []
    settings, machine = hour["settings"], hour["environment"]
    requests, failed = soak.totals(hour)
    rows = []
    for phase in soak.phases(hour):
        median, low, high, growth = (value / MEGABYTE for value in soak.summary(hour, phase))
        rows.append([SOAK_PHASES[phase][1], f"{median:.1f}", f"{low:.1f} to {high:.1f}", f"{growth:+.2f}"])
    return [
        f"## {len(hour['minutes'])} minutes",
        "",
        f"Does memory stay where it is? A run of its own (`bench/soak`, {machine['time']}, qlio {machine['versions']['qlio']}):"
        f" each minute brings {settings['burst_seconds']} s of A and {settings['burst_seconds']} s of D at full load over"
        f" {settings['connections']} connections, then rest. {count(requests)} requests were answered, {count(failed)} failed.",
        f"The figures are of the minutes after the first {soak.WARM_UP_MINUTES}, which fill pools and buffers; growth is the slope of the line"
        " through them.",
        "",
        "![Memory over time](benchmarks/soak.svg)",
        "",
        table(["resident memory, MB", "median", "lowest to highest", "growth in an hour"], rows),
    ]


def soak_chart(hour):
    series = [
        Line(name, label, tuple((minute, value / MEGABYTE) for minute, value in soak.points(hour, phase)))
        for phase, (name, label) in SOAK_PHASES.items()
        if phase in soak.phases(hour)
    ]
    connections = hour["settings"]["connections"]
    return timeline(f"Memory of qlio under bursts of {connections} connections", "minutes", "resident megabytes, less is better", series, RESIDENT_MEGABYTES_MAX)


def single_section(results):
    rows = [[f"first answer after start, {start['catalog']}", f"{results.start_ms(start['catalog']):.0f} ms"] for start in results.document["start"] if start["ms"]]
    names = {"eleven_calls": "compiling the script of D", "pass_through": "compiling the script of A"}
    rows += [[title, f"{results.compile_us(name):.1f} µs"] for name, title in names.items() if results.compile_us(name)]
    if not rows:
        return []
    return [
        "## Start and compile",
        "",
        "A start is timed from starting the process to a route's answer, an upstream call included.",
        "Compiling is timed from text to plan, with nothing kept from the time before.",
        "",
        table(["", "median"], rows),
    ]


def growth_section(results):
    found = list(results.curves())
    if not found:
        return []
    text = ["## Growth", "", "One request at a time; CPU time of the contender, which is what the work costs.", ""]
    for chart in ("growth-fan-out.svg", "growth-rows.svg"):
        text += [f"![{'Fan-out' if 'fan' in chart else 'Rows'}](benchmarks/{chart})", ""]
    for curve in CURVES:
        series = [(contender, points) for name, contender, points in found if name == curve.name]
        if not series:
            continue
        header = [f"{curve.title}: {curve.unit}"]
        header += [f"{results.titles[contender]}: {what}" for contender, _ in series for what in ("CPU ms", f"CPU µs per {curve.unit.rstrip('s')}", "wall ms")]
        rows = []
        for size in sorted({point[0] for _, points in series for point in points}):
            row = [count(size)]
            for _, points in series:
                found_point = [point for point in points if point[0] == size]
                for _, cpu, wall in found_point:
                    row += [significant(cpu), significant(cpu * 1e3 / size), significant(wall)]
                if not found_point:
                    row += ["", "", ""]
            rows.append(row)
        text += [table(header, rows), ""]
    return text


def published_section(results):
    settings = results.document["settings"]
    text = [
        "## Beside the published figures",
        "",
        "In January 2012 the original was measured on a server of 6 cores and 12 threads (Xeon E5645) with a caching proxy as upstream and"
        " `ab` on a third machine; the formats later that year on another, with a load plan of 200 users who think.",
        "Machines, runtimes, data and load differ, so the figures stand side by side and are not divided by each other.",
        "",
    ]
    rows = []
    points = [(name, name, settings["connections"], published.BASELINE) for name in AGGREGATION]
    points += [(f"{name}@{settings['crowd']}", name, settings["crowd"], published.BASELINE_500) for name in CROWD]
    for point, name, connections, then in points:
        if not results.has(point, "qlio"):
            continue
        checked = results.series[point, "qlio"]["checked"]
        rows.append(
            [
                f"{name}, {connections} connections",
                *(f"{value:,.0f} ({mean:,.0f} ms)" for value, mean in (then[name][12], then[name][96])),
                f"{count(results.median(point, 'qlio', REQUESTS))} ({results.median(point, 'qlio', P50):,.1f} ms)",
                count(published.ANSWER_BYTES[name]),
                count(checked["answer_bytes"]),
            ]
        )
    if rows:
        header = ["requests/s (time)", "2012, 12 workers", "2012, 96 workers", "qlio here", "answer bytes 2012", "answer bytes here"]
        text += [table(header, rows), "", "Times are means in 2012 and medians here.", ""]
    rows = [
        [
            run.format,
            f"{run.average_ms:.0f} ms",
            f"{run.per_second:.2f}",
            f"{run.upstream_bytes:,}",
            f"{published.think_ms(run):.0f} ms",
            *(
                f"{results.median(point, 'qlio', measure):,.{digits}f}" if results.has(point, "qlio") else ""
                for measure, digits in ((REQUESTS, 0), (P50, 1))
            ),
        ]
        for run, point in zip(published.LOAD_RUNS, ("E", "F"), strict=True)
    ]
    text += [table(["format", "2012: average", "2012: requests/s", "2012: bytes", "2012: thinking", "here: requests/s", "here: p50 ms"], rows), ""]
    xml, protobuf = published.LOAD_RUNS
    text += [
        "What follows from the published figures by arithmetic:",
        "",
        f"- The experiment was a closed loop with thinking: users ÷ rate − average gives {published.think_ms(xml):.0f} and"
        f" {published.think_ms(protobuf):.0f} ms of thinking, the {published.THINK_MS} ± 100 ms of the load plan. So its rates hardly"
        f" differ ({xml.per_second:.0f} and {protobuf.per_second:.0f}/s) although one answer took {xml.average_ms / protobuf.average_ms:.0f} times"
        " as long: they say what the users asked for, not what the gateway could do. Our windows do not think, so their rates are capacities.",
        f"- Samples ÷ rate is {published.seconds(xml):,.0f} s for both: the hour and ten seconds of ramp-up.",
        f"- The upstream sent {xml.upstream_bytes / protobuf.upstream_bytes:.2f} times the bytes as XML;"
        f" the gateway answered {published.kilobytes_per_answer(xml):.0f} and {published.kilobytes_per_answer(protobuf):.0f} KB, nearly the same.",
        "- The text calls B the scenario with \"nearly 1000\" requests/s; the raw runs show that for C.",
        f"- D gained {published.BASELINE['D'][96][0] / published.BASELINE['D'][12][0]:.1f} times the requests/s by going from 12 to 96 workers on 12 threads,"
        f" and {published.MEMORY_GB_96_WORKERS[0]:.1f} to {published.MEMORY_GB_96_WORKERS[1]:.1f} GB of memory.",
        "- Its load generator reported no kept-alive requests in spite of being asked for them; ours keeps all connections alive.",
    ]
    return text


def how_section():
    return [
        "## How to read and repeat this",
        "",
        "`make bench` measures everything again and writes this page; [bench/README.md](../bench/README.md) says how it is done.",
        "Before anything is measured, every contender must give the right answers and make the right number of upstream calls;"
        " the calls are counted under load as well. Keys differ from request to request.",
        "Every ratio is taken within a turn of a round, in which contenders follow each other, and the median over all turns is shown. Those whose ratio lies close to what is asked (A, C, D) take three turns in each round.",
        "All windows are in [benchmarks/raw.json](benchmarks/raw.json).",
    ]


def markdown(results: Results, hour=None):
    """The whole page; `hour` is what `bench/soak` has left, if anything."""
    title = "# Benchmarks"
    intro = "Written by `bench/run`; do not edit. qlio beside nginx, nginx with Lua, a Node service and a GraphQL gateway, on the same work in one run."
    if results.document["settings"]["quick"]:
        intro += "\n\n**A quick run: it shows that everything works; its figures mean little.**"
    sections = [
        [title, "", intro],
        budgets_section(results),
        machine_section(results),
        load_section(results),
        formats_section(results),
        hooks_section(results),
        large_section(results),
        crowd_section(results),
        soak_section(hour),
        single_section(results),
        growth_section(results),
        published_section(results),
        how_section(),
    ]
    return "\n\n".join("\n".join(section).strip() for section in sections if section) + "\n"


def bars_of(results, point, measure, scale=1.0, behind=None):
    made = []
    for contender in results.contenders(point):
        values = [value * scale for value in results.values(point, contender, measure)]
        made.append(
            Bar(
                contender,
                results.titles[contender],
                results.median(point, contender, measure) * scale,
                min(values),
                max(values),
                results.median(point, contender, behind) * scale if behind else None,
            )
        )
    return tuple(made)


def panels(results, points, measure, scale=1.0, behind=None):
    return [
        Panel(f"{point}: {results.scenarios[point.partition('@')[0]]['title']}", bars_of(results, point, measure, scale, behind))
        for point in measured(results, points)
    ]


def growth_lines(results, names):
    made = []
    for name, contender, points in results.curves():
        if name in names:
            label = results.titles[contender] if len(names) == 1 else f"{results.titles[contender]}: {name}"
            made.append(Line(contender, label, tuple((size, cpu) for size, cpu, _ in points), dashed=name == "join"))
    return made


def charts(results: Results, hour=None):
    """The charts of the report by file name."""
    crowd = results.document["settings"]["crowd"]
    made = {"soak.svg": soak_chart(hour)} if hour else {}

    def add(name, title, unit, chosen, note="thin line: lowest to highest round; struck bars are cut"):
        if chosen:
            made[name] = bars(title, unit, chosen, note)

    add("requests.svg", "Throughput", "requests/s, more is better", panels(results, AGGREGATION, REQUESTS))
    add("cpu.svg", "Cost", "CPU seconds per 1,000 requests, less is better", panels(results, AGGREGATION, CPU, PER_THOUSAND))
    add("latency.svg", "Latency at full load", "milliseconds, p50 / p99, less is better", panels(results, AGGREGATION, P50, behind="p99_ms"), "light: p99; thin line: lowest to highest p50 of a round; struck bars are cut")
    add("formats.svg", "One search, three formats", "requests/s, more is better", panels(results, FORMATS, REQUESTS))
    memory = panels(results, [f"{name}@{crowd}" for name in CROWD], "peak_bytes", 1 / MEGABYTE)
    add("memory.svg", f"Memory over {crowd} connections", "peak megabytes, less is better", memory)
    for name, names, title, x_title in (
        ("growth-fan-out.svg", ("fan-out",), "One call, then one for each id", "calls"),
        ("growth-rows.svg", ("projection", "join"), "Many rows: two columns of each, and joined with as many", "rows"),
    ):
        series = growth_lines(results, names)
        if series:
            made[name] = lines(title, x_title, "CPU milliseconds per request", series)
    return made


def summary(results: Results):
    """What a terminal shows at the end."""
    text = []
    for (point, contender), series in results.series.items():
        rates = results.values(point, contender, REQUESTS)
        text.append(
            f"{point:6} {results.titles[contender]:32} {results.median(point, contender, REQUESTS):10,.0f}/s  spread {spread(rates):4.0%}"
            f"  CPU {results.median(point, contender, CPU):9.1f} µs  p50 {results.median(point, contender, P50):8.2f} ms"
            f"  failed {sum(window['failed'] for window in series['windows'])}"
        )
    text.append("")
    for budget, value in judge(results):
        shown, bound, outcome = verdict(budget, value)
        text.append(f"{budget.what:58} {shown:>8}  {bound:16} {outcome.strip('*')}")
    text += ["", noise_text(results)]
    if results.failures():
        text.append("Some requests FAILED: the figures do not count.")
    return "\n".join(text)
