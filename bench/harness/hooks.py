"""Scenarios H: what each hook and template adds to one route; and E and F as they were published.

H is three columns of the search answer of scenarios A and B, asked for by POST: without a hook, with each hook that
does the least that is of use, and with body templates of three lines. The published experiment asked by POST, too,
with a body that an EJS template wrote: E-post and its like stand beside the routes that ask by GET.
"""

from dataclasses import replace

from .dataset import Scenario

HOOKS = {
    "H": "no hook",
    "H-uri": "`patch uri` sets a parameter",
    "H-headers": "`patch headers` adds one",
    "H-status": "`patch status` gives what it got",
    "H-response": "`patch response` touches one member",
    "H-mustache": "a mustache body template",
    "H-ejs": "an EJS body template",
}
# Scenarios that the published experiment asked for by POST.
PUBLISHED = ("E", "E3", "F", "F3")


def posted(name):
    return f"{name}-post"


def scenarios(available: dict[str, Scenario]) -> dict[str, Scenario]:
    """The scenarios of hooks and templates, whose answers are those of scenarios without them."""
    columns = available["B"]
    hooks = [
        replace(columns, name=name, title=f"{columns.title}, {what}", path=f"/{name.lower()}?q={{key}}")
        for name, what in HOOKS.items()
    ]
    posts = [
        replace(
            available[name],
            name=posted(name),
            title=f"{available[name].title}, by POST with an EJS template",
            path=f"/{posted(name).lower()}?q={{key}}",
        )
        for name in PUBLISHED
    ]
    return {scenario.name: scenario for scenario in (*hooks, *posts)}
