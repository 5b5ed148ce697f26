"""Scenarios E, F and J: the same 50 rows as XML, Protocol Buffers and JSON.

The rows are those of `examples/finding`, generated in the shapes and sizes of the published
experiment. Two questions are asked of each format: hand on all of every row, as the published
scripts did, and three columns of every row. The three columns are texts, so all formats must give
the same answer; all of every row differs between XML and the others as XML has no types: attributes
become members, and texts that print as numbers become numbers.
"""

import json
import re
import shutil
from pathlib import Path
from xml.etree import ElementTree

from .dataset import Scenario

EXAMPLE = Path(__file__).resolve().parent.parent.parent / "examples" / "finding"
SUFFIXES = ("json", "xml", "protobuf")
SCHEMA = EXAMPLE / "tables" / "finding" / "search.proto"
# The body template of the published search.
REQUEST = EXAMPLE / "tables" / "finding" / "request.ejs"
COLUMNS = ("title", "location", "viewItemUrl")
NUMBER = re.compile(r"-?(0|[1-9]\d*)(\.\d*[1-9])?$")
NAMESPACE = re.compile(r"\{[^}]*\}")
LARGEST_EXACT = 2**53


def typed(text):
    """A text of XML as JSON: numbers if they print the same, booleans, else text."""
    if text in ("true", "false"):
        return text == "true"
    if NUMBER.match(text) and text != "-0" and abs(float(text)) <= LARGEST_EXACT:
        return float(text) if "." in text else int(text)
    return text


def element(node):
    """An element without mixed content as JSON."""
    members = {name: typed(value) for name, value in node.attrib.items()}
    for child in node:
        name = NAMESPACE.sub("", child.tag)
        value = element(child)
        if name not in members:
            members[name] = value
        elif isinstance(members[name], list):
            members[name].append(value)
        else:
            members[name] = [members[name], value]
    text = (node.text or "").strip()
    if not members:
        return typed(text)
    if text:
        members["$t"] = typed(text)
    return members


def rows_of_xml(text):
    root = ElementTree.fromstring(text)
    return [element(item) for item in root.iter() if NAMESPACE.sub("", item.tag) == "item"]


def generate(folder: Path) -> dict[str, Scenario]:
    """Copy the upstream's files into `folder`; return the scenarios with their right answers."""
    files = {suffix: folder / "formats" / f"rows.{suffix}" for suffix in SUFFIXES}
    (folder / "formats").mkdir(parents=True)
    for suffix, file in files.items():
        shutil.copyfile(EXAMPLE / "apis" / f"find.{suffix}", file)
    rows = json.loads(files["json"].read_bytes())["searchResult"]["item"]
    of_xml = rows_of_xml(files["xml"].read_bytes())
    picked = [{name: row[name] for name in COLUMNS} for row in rows]

    def pair(name, title, suffix, every):
        title = f"{title}, {files[suffix].stat().st_size / 1000:.0f} KB"
        return (
            Scenario(name, f"{title}, all of 50 rows", f"/{name.lower()}?q={{key}}", 1, [{"items": every}]),
            Scenario(f"{name}3", f"{title}, three columns", f"/{name.lower()}3?q={{key}}", 1, picked),
        )

    scenarios = (
        *pair("J", "JSON", "json", rows),
        *pair("E", "XML", "xml", of_xml),
        *pair("F", "Protocol Buffers", "protobuf", rows),
    )
    return {scenario.name: scenario for scenario in scenarios}
