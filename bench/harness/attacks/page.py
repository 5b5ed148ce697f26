"""The page of findings. Pure: documents in, Markdown out."""

from .findings import missed

INTRODUCTION = """\
# Attacks

What somebody who means harm costs others, measured by `bench/attacks`: a server with {workers} workers, one process for each attack, all on loopback.
Meanwhile an open loop asks a cheap route with a small upstream {rate} times a second; times count from when a request was due, and a request that has no answer after {patience:.0f} s is lost.
Memory is the peak of the resident size above what it was before.
What is guarded, by what and by which test, is in [Security](security.md); how to measure again in [bench/README.md](../bench/README.md#attacks).

Do not edit: `bench/attacks --report docs/attacks.md --before FILE --after FILE` writes this page.
"""


def cell(text):
    return text.replace("|", "\\|")


def environment_line(document):
    machine = document["environment"]
    return f"{machine['cpu']}, {machine['cores']} cores, {machine['memory_mb'] // 1024} GiB, {machine['system']}; {machine['time'][:10]}; load average before: {document['load_average_before']:.1f}"


def tally(document):
    found = document["findings"]
    return f"{len(found) - len(missed(found))} of {len(found)} goals met"


def table(head, lines):
    yield f"| {' | '.join(head)} |"
    yield f"|{' --- |' * len(head)}"
    for line in lines:
        yield f"| {' | '.join(cell(text) for text in line)} |"


def verdict(finding):
    return "met" if finding["met"] else "**missed**"


def by_attack(document):
    return {(one["group"], one["attack"]): one for one in document["findings"]}


def groups(document):
    return list(dict.fromkeys(one["group"] for one in document["findings"]))


def markdown(after, before=None, about=None):
    """`about` has a sentence for each group. Without `before`, the page has one column of figures."""
    lines = [INTRODUCTION.format(**after["settings"])]
    lines.append(f"After: {after['version']}, {tally(after)}. Measured on {environment_line(after)}.")
    if before:
        lines.append(f"Before: {before['version']}, {tally(before)}. Measured on {environment_line(before)}.")
    earlier = by_attack(before) if before else {}
    for group in groups(after):
        lines += ["", f"## {group.capitalize()}", ""]
        if about and about.get(group):
            lines += [about[group], ""]
        found = [one for one in after["findings"] if one["group"] == group]
        if before:
            head = ("Attack", "Goal", "Before", "After", "")
            rows = [(one["attack"], one["goal"], seen(earlier.get((group, one["attack"]))), one["figure"], verdict(one)) for one in found]
        else:
            head = ("Attack", "Goal", "Figure", "")
            rows = [(one["attack"], one["goal"], one["figure"], verdict(one)) for one in found]
        lines += table(head, rows)
    return "\n".join(lines) + "\n"


def seen(finding):
    if finding is None:
        return "not measured"
    return finding["figure"] if not finding["met"] else f"{finding['figure']} (met)"
