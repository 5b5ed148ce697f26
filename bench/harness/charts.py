"""Charts as SVG texts: horizontal bars in panels, and lines on logarithmic axes.

Pure: figures in, text out. The colours stand for the same contender in every chart; the background
is drawn, so that a chart reads the same in light and dark pages.
"""

import math
from dataclasses import dataclass
from xml.sax.saxutils import escape

COLOURS = {
    "qlio": "#c2410c",
    "plain": "#fdba74",
    "nginx": "#15803d",
    "lua": "#2563eb",
    "node": "#7c3aed",
    "hive": "#be185d",
    "bare": "#52525b",
    "bare-own": "#a1a1aa",
}
INK, FAINT, GRID, PAPER = "#18181b", "#52525b", "#e4e4e7", "#ffffff"
FONT = "font-family='system-ui, -apple-system, Segoe UI, Helvetica, Arial, sans-serif'"
WIDTH = 760
NAME_WIDTH = 210
VALUE_WIDTH = 90
MARGIN = 20
BAR, GAP = 18, 8
STEPS = (1, 2, 2.5, 5, 10)
TICKS = 5
# A bar so many times as long as the next is cut, so that the others can be read.
CUT_FROM = 3


@dataclass(frozen=True)
class Bar:
    """A value with the lowest and the highest that it was seen to have."""

    name: str
    label: str
    value: float
    low: float
    high: float
    # A second, larger value drawn lightly behind it, such as a higher percentile.
    behind: float | None = None


@dataclass(frozen=True)
class Panel:
    """Bars on one scale."""

    title: str
    bars: tuple
    # A bound to draw as a line.
    bound: float | None = None


@dataclass(frozen=True)
class Line:
    """Points of one series, in ascending order."""

    name: str
    label: str
    points: tuple
    dashed: bool = False


def short(value):
    """A number as short as an axis or a bar needs it."""
    if value == 0:
        return "0"
    if abs(value) >= 1_000_000:
        return f"{value / 1_000_000:.3g} M"
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def ticks(highest):
    """Round values from 0 to just above `highest`."""
    if highest <= 0:
        return [0, 1]
    raw = highest / TICKS
    power = 10 ** math.floor(math.log10(raw))
    step = next(factor * power for factor in STEPS if factor * power >= raw * (1 - 1e-9))
    return [step * number for number in range(math.ceil(highest / step - 1e-9) + 1)]


def extent(bar):
    return max(bar.value, bar.high, bar.behind or 0)


def scale_end(bars, bound=None):
    """Where the axis of these bars ends at least: at the longest bar, unless it dwarfs the next."""
    longest, *others = sorted((extent(bar) for bar in bars), reverse=True)
    if others and others[0] > 0 and longest > CUT_FROM * others[0]:
        longest = 1.2 * others[0]
    return max(longest, bound or 0)


def text(x, y, content, size=12, colour=INK, anchor="start", weight="normal"):
    return f"<text x='{x:.1f}' y='{y:.1f}' font-size='{size}' fill='{colour}' text-anchor='{anchor}' font-weight='{weight}'>{escape(content)}</text>"


def line(x1, y1, x2, y2, colour=GRID, width=1, dash=None):
    dashes = f" stroke-dasharray='{dash}'" if dash else ""
    return f"<line x1='{x1:.1f}' y1='{y1:.1f}' x2='{x2:.1f}' y2='{y2:.1f}' stroke='{colour}' stroke-width='{width}'{dashes}/>"


def rect(x, y, width, height, colour, opacity=1.0):
    return f"<rect x='{x:.1f}' y='{y:.1f}' width='{max(width, 0.5):.1f}' height='{height:.1f}' fill='{colour}' fill-opacity='{opacity}'/>"


def document(title, height, parts):
    head = f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {WIDTH} {height:.0f}' width='{WIDTH}' height='{height:.0f}' role='img' {FONT}>"
    return "\n".join([head, f"<title>{escape(title)}</title>", rect(0, 0, WIDTH, height, PAPER), *parts, "</svg>", ""])


def bar_parts(bar, colour, left, middle, scale, highest):
    """One bar with its second value, its whisker and its number; cut where the axis ends."""

    def place(value):
        return left + min(value, highest) * scale

    parts = []
    if bar.behind is not None:
        parts.append(rect(left, middle - BAR / 2, place(bar.behind) - left, BAR, colour, 0.28))
    parts.append(rect(left, middle - BAR / 2, place(bar.value) - left, BAR, colour))
    if min(bar.high, highest) > min(bar.low, highest):
        parts.append(line(place(bar.low), middle, place(bar.high), middle, INK, 1.5))
    end = place(extent(bar))
    if extent(bar) > highest:
        for shift in (16, 10):
            parts.append(line(end - shift - 4, middle + BAR / 2 + 2, end - shift + 4, middle - BAR / 2 - 2, PAPER, 3))
    shown = short(bar.value) if bar.behind is None else f"{short(bar.value)} / {short(bar.behind)}"
    parts.append(text(end + 6, middle + 4, shown, 11))
    return parts


def bars(title, unit, panels, note="thin line: lowest to highest round"):
    """Horizontal bars; each panel has a scale of its own that begins at 0. Struck bars are cut."""
    left, right = MARGIN + NAME_WIDTH, WIDTH - MARGIN - VALUE_WIDTH
    parts = [text(MARGIN, 28, title, 16, weight="600"), text(MARGIN, 47, f"{unit}; {note}", 12, FAINT)]
    y = 62
    for panel in panels:
        marks = ticks(scale_end(panel.bars, panel.bound))
        scale = (right - left) / marks[-1]
        y += 20
        parts.append(text(MARGIN, y, panel.title, 13, weight="600"))
        y += 10
        bottom = y + len(panel.bars) * (BAR + GAP)
        for mark in marks:
            x = left + mark * scale
            parts.append(line(x, y, x, bottom))
            parts.append(text(x, bottom + 13, short(mark), 10, FAINT, "middle"))
        for bar in panel.bars:
            colour = COLOURS.get(bar.name, FAINT)
            middle = y + GAP / 2 + BAR / 2
            parts.append(text(left - 8, middle + 4, bar.label, 12, anchor="end"))
            parts += bar_parts(bar, colour, left, middle, scale, marks[-1])
            y += BAR + GAP
        if panel.bound is not None:
            x = left + panel.bound * scale
            parts.append(line(x, bottom - len(panel.bars) * (BAR + GAP), x, bottom, INK, 1, "4 3"))
            parts.append(text(x, bottom - len(panel.bars) * (BAR + GAP) - 3, f"budget {short(panel.bound)}", 10, FAINT, "middle"))
        y = bottom + 22
    return document(title, y + 4, parts)


def timeline(title, x_title, y_title, series, bound=None):
    """Lines over time; both axes are linear, the upright one begins at 0."""
    left, right, top, bottom = MARGIN + 62, WIDTH - MARGIN - 12, 78, 320
    across = ticks(max(x for one in series for x, _ in one.points))
    up = ticks(max([bound or 0, *(y for one in series for _, y in one.points)]))

    def at(x, y):
        return left + x / across[-1] * (right - left), bottom - y / up[-1] * (bottom - top)

    parts = [text(MARGIN, 28, title, 16, weight="600"), text(MARGIN, 50, y_title, 12, FAINT)]
    for mark in across:
        x, _ = at(mark, 0)
        parts += [line(x, top, x, bottom), text(x, bottom + 16, short(mark), 11, FAINT, "middle")]
    for mark in up:
        _, y = at(0, mark)
        parts += [line(left, y, right, y), text(left - 8, y + 4, short(mark), 11, FAINT, "end")]
    if bound is not None:
        _, y = at(0, bound)
        parts += [line(left, y, right, y, INK, 1, "4 3"), text(right, y - 5, f"budget {short(bound)}", 10, FAINT, "end")]
    parts.append(text((left + right) / 2, bottom + 36, x_title, 12, FAINT, "middle"))
    y = bottom + 60
    for one in series:
        colour = COLOURS.get(one.name, FAINT)
        path = " ".join("{:.1f},{:.1f}".format(*at(*point)) for point in one.points)
        dash = "6 4" if one.dashed else None
        dashes = f" stroke-dasharray='{dash}'" if dash else ""
        parts.append(f"<polyline points='{path}' fill='none' stroke='{colour}' stroke-width='2'{dashes}/>")
        parts += [line(left, y - 4, left + 30, y - 4, colour, 2, dash), text(left + 40, y, one.label, 12)]
        y += 20
    return document(title, y + 6, parts)


def decades(low, high):
    """The powers of ten that enclose these values."""
    return range(math.floor(math.log10(low) + 1e-9), math.ceil(math.log10(high) - 1e-9) + 1)


def lines(title, x_title, y_title, series):
    """Lines on two logarithmic axes; a straight line at 45 degrees of the decades is linear growth."""
    left, right, top, bottom = MARGIN + 62, WIDTH - MARGIN - 12, 78, 400
    xs = [x for one in series for x, _ in one.points]
    ys = [y for one in series for _, y in one.points if y > 0]
    across, up = decades(min(xs), max(xs)), decades(min(ys), max(ys))

    def at(x, y):
        share_x = (math.log10(x) - across[0]) / max(across[-1] - across[0], 1)
        share_y = (math.log10(y) - up[0]) / max(up[-1] - up[0], 1)
        return left + share_x * (right - left), bottom - share_y * (bottom - top)

    parts = [text(MARGIN, 28, title, 16, weight="600"), text(MARGIN, 50, f"{y_title} (both axes are logarithmic)", 12, FAINT)]
    for power in across:
        x, _ = at(10**power, 10 ** up[0])
        parts += [line(x, top, x, bottom), text(x, bottom + 16, short(10**power), 11, FAINT, "middle")]
    for power in up:
        _, y = at(10 ** across[0], 10**power)
        parts += [line(left, y, right, y), text(left - 8, y + 4, short(10**power), 11, FAINT, "end")]
    parts.append(text((left + right) / 2, bottom + 36, x_title, 12, FAINT, "middle"))
    y = bottom + 60
    for one in series:
        colour = COLOURS.get(one.name, FAINT)
        places = [at(x, y_value) for x, y_value in one.points if y_value > 0]
        path = " ".join(f"{x:.1f},{y_place:.1f}" for x, y_place in places)
        dashes = " stroke-dasharray='6 4'" if one.dashed else ""
        parts.append(f"<polyline points='{path}' fill='none' stroke='{colour}' stroke-width='2'{dashes}/>")
        parts += [f"<circle cx='{x:.1f}' cy='{y_place:.1f}' r='3.5' fill='{colour}'/>" for x, y_place in places]
        parts.append(line(left, y - 4, left + 30, y - 4, colour, 2, "6 4" if one.dashed else None))
        parts.append(text(left + 40, y, one.label, 12))
        y += 20
    return document(title, y + 6, parts)
