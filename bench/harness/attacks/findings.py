"""What was found, and whether it is what is asked. Pure: figures in, judgements out."""

from dataclasses import asdict, dataclass

from ..figures import slope

MEBIBYTE = 1 << 20
# What a run may take, in MiB: a route, a script of a client; and all bodies in memory together.
ROUTE_MIB, SCRIPT_MIB, BODIES_MIB = 256, 64, 256
MEMORY_SLACK = 1.2
HARM_MAX = 10
EXPONENT_MAX = 1.1


@dataclass(frozen=True)
class Finding:
    """One attack: what is asked, what was seen."""

    group: str
    attack: str
    goal: str
    figure: str
    met: bool

    def as_dict(self):
        return asdict(self)


def milliseconds(value):
    """A time for people; None is one that nobody lived to see."""
    if value is None:
        return "never"
    return f"{value / 1000:.1f} s" if value >= 1000 else f"{value:.1f} ms"


def allowed_memory(budget_mib, runs=1):
    """Bytes that so many runs may take together, with the slack."""
    return budget_mib * runs * MEMORY_SLACK * MEBIBYTE


def mebibytes(value):
    return f"{value / MEBIBYTE:,.0f} MiB"


def harm(group, attack, quiet, attacked, grown=None, allowed=None, alive=True, note=""):
    """What the cheap route lost: `quiet` and `attacked` are windows, `grown` bytes of memory."""
    unanswered = attacked["sent"] - attacked["answered"]
    slower = attacked["p99_ms"] is not None and quiet["p99_ms"] and attacked["p99_ms"] / quiet["p99_ms"]
    goal = f"p99 at most {HARM_MAX} ×, no answer lost"
    figure = f"p99 {milliseconds(quiet['p99_ms'])} → {milliseconds(attacked['p99_ms'])}"
    if slower:
        figure += f" ({slower:.1f} ×)"
    figure += f", {unanswered:,} of {attacked['sent']:,} lost"
    if attacked["lost"]:
        figure += f" ({', '.join(f'{reason}: {count}' for reason, count in attacked['lost'].items())})"
    met = alive and unanswered == 0 and bool(slower) and slower <= HARM_MAX
    if allowed is not None:
        goal += f", at most {mebibytes(allowed)} more"
        figure += f", {mebibytes(grown)} more"
        met = met and grown <= allowed
    if not alive:
        figure += ", the process ended"
    return Finding(group, attack, goal, figure + note, met)


def spared(group, attack, outcome, budget_mib):
    """What one request did to the process: `outcome` is an `Outcome` of `target`."""
    allowed = allowed_memory(budget_mib)
    ended = "the process ended" if not outcome.alive else outcome.shown()
    return Finding(
        group,
        attack,
        f"the process lives, at most {mebibytes(allowed)} more",
        f"{ended}, {mebibytes(outcome.grown)} more",
        outcome.alive and outcome.grown <= allowed,
    )


def growth(group, attack, points):
    """The exponent of CPU time over sizes; `points` are pairs of size and milliseconds, the last ones may be missing."""
    seen = [(size, value) for size, value in points if value is not None]
    exponent = slope(seen)
    shown = ", ".join(f"{size // 1000}k: {milliseconds(value) if value is not None else 'given up'}" for size, value in points)
    figure = f"{'none' if exponent is None else f'{exponent:.2f}'} ({shown})"
    complete = len(seen) == len(points)
    return Finding(group, attack, f"exponent at most {EXPONENT_MAX}", figure, complete and exponent is not None and exponent <= EXPONENT_MAX)


def check(group, attack, goal, figure, met):
    return Finding(group, attack, goal, figure, bool(met))


def missed(findings):
    return [one for one in findings if not one["met"]]
