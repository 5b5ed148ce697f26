"""The same routes over HTTP and inside of a program of Node.js or Python: what an answer costs, host and server together.

Each way is a process of its own for each round (`bench/hosts/host.mjs`, `host.py`); ways take turns. The upstream is
nginx, the server has one worker and an engine one thread.
"""

import json
import os
import shutil
import statistics
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from . import small_nginx

HOSTS = Path(__file__).resolve().parent.parent / "hosts"
ROUNDS = 5
SECONDS = 3
WARM_UP = 1
AT_ONCE = 32
INSTALL_SECONDS = 300
MEMORY_SECONDS = 3600
RUNS = 100_000


class HostFailed(Exception):
    """A host program ended with an error."""


@dataclass(frozen=True)
class Target:
    """What is asked for."""

    title: str
    path: str
    script: str
    request: dict
    answer: str


@dataclass(frozen=True)
class Way:
    """How it is asked for."""

    host: str
    name: str
    title: str
    at_once: int = AT_ONCE


PROGRAMS = ["Node.js", "Python"]
# How packages are built, and what the page says of it.
PROFILES = {
    "release": "Packages and executable are release builds.",
    "dev": "The executable is a release build, the packages are development builds without optimisation: what they cost is more than what is shipped costs.",
}
TARGETS = [
    Target(
        "one request upstream",
        "/products/7",
        "return select title as title, price as price from product where id = '{id}'",
        {"params": {"id": "7"}},
        '[{"title":"Mira lantern","price":42}]',
    ),
    Target("none", "/hello/7", 'return {"n": "{n}"}', {"params": {"n": "7"}}, '{"n":"7"}'),
]

WAYS = [
    Way("Node.js", "http", "route over HTTP, `node:http`"),
    Way("Node.js", "call", "route inside, `engine.call`"),
    Way("Node.js", "exec", "script inside, `engine.exec`"),
    Way("Python", "http", "route over HTTP, `aiohttp`"),
    Way("Python", "call", "route inside, `await engine.call`"),
    Way("Python", "exec", "script inside, `await engine.exec`"),
    Way("Python", "http-blocking", "route over HTTP, `http.client`", 1),
    Way("Python", "call-blocking", "route inside, `engine.call_sync`", 1),
]

PRODUCT = '{"id":7,"title":"Mira lantern","price":42,"stock":[3,4]}'


def install_node(folder: Path, package: Path):
    """Puts the package for Node.js into a place of its own; gives the command that runs a host there."""
    place = folder / "node"
    place.mkdir()
    (place / "package.json").write_text('{"name": "host", "private": true}\n', encoding="utf-8")
    shutil.copy(HOSTS / "host.mjs", place)
    quietly(["npm", "install", "--silent", "--offline", "--no-audit", "--no-fund", package.resolve()], place)
    return ["node", "--expose-gc", place / "host.mjs"]


def install_python(folder: Path, package: Path, say):
    """The same for Python."""
    place = folder / "python"
    quietly([sys.executable, "-m", "venv", place], folder)
    quietly([place / "bin/pip", "install", "--quiet", "--no-index", package.resolve()], folder)
    say("aiohttp comes from PyPI")
    quietly([place / "bin/pip", "install", "--quiet", "aiohttp"], folder)
    return [place / "bin/python", HOSTS / "host.py"]


def quietly(command, folder, seconds=INSTALL_SECONDS):
    """Runs a command that has to succeed."""
    command = [str(part) for part in command]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=seconds)
    if done.returncode:
        raise HostFailed(f"{' '.join(command)}: {done.stderr.strip() or done.stdout.strip()}")
    return done.stdout


def measure(processes, folder: Path, binary: Path, commands, rounds, seconds, say):
    """Every way on every target, in turns."""
    port = small_nginx.start(processes, "nginx", folder, small_nginx.json_at("= /products/7", PRODUCT))
    base = f"http://127.0.0.1:{port}"
    settings = folder / "settings.json"
    settings.write_text(json.dumps({"upstream": base}), encoding="utf-8")
    serve = [binary, "serve", "--app", HOSTS / "app", "--config", settings, "--port", "0", "--workers", "1"]
    server = processes.start("qlio", serve)
    address = processes.wait_for_line("qlio", server)
    asked = {
        "app": str(HOSTS / "app"),
        "upstream": base,
        "port": int(address.rpartition(":")[2]),
        "server": server.pid,
        "ticksPerSecond": os.sysconf("SC_CLK_TCK"),
        "warmUp": WARM_UP,
        "seconds": seconds,
    }
    ways = [way for way in WAYS if way.host in commands]
    taken = [[way, target, []] for target in TARGETS for way in ways]
    for number in range(rounds):
        for way, target, windows in taken:
            said = asked | {"way": way.name, "atOnce": way.at_once, "path": target.path, "script": target.script}
            said |= {"request": target.request, "answer": target.answer}
            window = json.loads(quietly([*commands[way.host], json.dumps(said)], folder))
            windows.append(window)
            say(f"round {number + 1}: {target.title}: {way.host}, {way.title}: {per_call(window):.0f} µs")
    return [
        {"target": target.title, "host": way.host, "way": way.title, "at_once": way.at_once, "windows": windows}
        for way, target, windows in taken
    ]


def memory(commands, folder, runs, say):
    """MiB of each program after half of so many runs, and after all."""
    sizes = {}
    for host, command in commands.items():
        said = {"way": "memory", "app": str(HOSTS / "app"), "upstream": "http://nowhere.test", "atOnce": AT_ONCE, "runs": runs}
        sizes[host] = json.loads(quietly([*command, json.dumps(said)], folder, MEMORY_SECONDS))
        say(f"{host}: {runs} runs: {sizes[host][0]:.1f} MiB at half, {sizes[host][1]:.1f} MiB at the end")
    return sizes


def per_call(window):
    """Microseconds of processor time, host and server together."""
    return 1e6 * (window["host"] + window["server"]) / window["calls"]


def row(measured):
    """Medians of the rounds: calls per second, and microseconds of host, of server, and of both."""
    windows = measured["windows"]
    median = statistics.median
    return {
        "per_second": median(window["calls"] / window["seconds"] for window in windows),
        "host": median(1e6 * window["host"] / window["calls"] for window in windows),
        "server": median(1e6 * window["server"] / window["calls"] for window in windows),
        "both": median(per_call(window) for window in windows),
    }


def page(document):
    """The page of a run."""
    machine, versions = document["environment"], document["versions"]
    programs = " and ".join(f"{name} {versions[name]}" for name in PROGRAMS if name in versions)
    lines = [
        "# Inside of a program, and over HTTP",
        "",
        "The same routes asked over HTTP and [inside of a program](../adr/0045-inside-of-other-programs.md), and the same script inside. All answers are read as JSON and compared first.",
        "What counts is the processor time of an answer, that of the program and that of the server together; the upstream is nginx, and its time is not counted. The server has one worker, an engine one thread.",
        "How to measure again is in [bench/README.md](../../bench/README.md#inside-of-a-program).",
        "",
        f"Do not edit: `bench/embedded --report docs/benchmarks/embedded.md` writes this page. Medians of {document['rounds']} rounds of {document['seconds']} s of {versions['qlio']} with {programs}, on {machine['cpu']}, {machine['cores']} cores, {machine['system']}, {machine['time'][:10]}; the load of the machine was {document['load']:.1f} when it began, so answers per second say little. {PROFILES[document['profile']]}",
        "",
    ]
    for target in dict.fromkeys(measured["target"] for measured in document["measured"]):
        lines += [
            f"## Requests upstream for an answer: {'1' if target != 'none' else 'none'}",
            "",
            "| Program | Way | At once | Answers/s | µs of the program | µs of the server | µs of both |",
            "| --- | --- | --- | --- | --- | --- | --- |",
        ]
        for measured in document["measured"]:
            if measured["target"] == target:
                one = row(measured)
                lines.append(
                    f"| {measured['host']} | {measured['way']} | {measured['at_once']} | {one['per_second']:,.0f} "
                    f"| {one['host']:,.0f} | {one['server']:,.0f} | {one['both']:,.0f} |"
                )
        lines.append("")
    lines += ["## Memory", "", f"{document['runs']:,} runs of a short script, {AT_ONCE} at once:", ""]
    lines += ["| Program | MiB resident after half of them | after all |", "| --- | --- | --- |"]
    lines += [f"| {host} | {half:.1f} | {end:.1f} |" for host, (half, end) in document["memory"].items()]
    return "\n".join(lines) + "\n"
