"""The machine and the versions, so that a figure can be placed later. No names of hosts or users."""

import os
import platform
import re
import time
from pathlib import Path

from . import tools


def number_of(text, parts=3):
    """The first version number in a text, cut to so many parts."""
    found = re.search(r"\d+(\.\d+)+", text)
    return ".".join(found[0].split(".")[:parts]) if found else text


def environment(workers, programs):
    """`programs` are the contenders that take part, with what was built for them."""
    versions = {name: number_of(tools.version([name, "-v"])) for name in ("nginx", "wrk")}
    if "node" in programs or "hive" in programs:
        versions["Node"] = number_of(tools.version(["node", "--version"]))
    if "node" in programs:
        for name in ("fastify", "undici", "fast-xml-parser", "protobufjs"):
            versions[name] = tools.package_version(tools.NODE_SERVICE, name)
    if "hive" in programs:
        for name in ("@graphql-hive/gateway", "@graphql-mesh/compose-cli"):
            versions[name] = tools.package_version(tools.HIVE_GATEWAY, name)
    if "qlio" in programs:
        versions["qlio"] = number_of(tools.version([str(programs["qlio"]), "--version"]))
    return machine() | {"workers_per_contender": workers, "versions": versions}


def machine():
    """The machine and the moment."""
    cpu = [line.partition(":")[2].strip() for line in Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("model name")]
    memory = Path("/proc/meminfo").read_text().split("\n", 1)[0].split()[1]
    return {
        "cpu": cpu[0] if cpu else platform.machine(),
        "cores": os.cpu_count(),
        "memory_mb": int(memory) // 1024,
        "system": f"{platform.system()} {number_of(platform.release(), 2)}",
        "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    }
