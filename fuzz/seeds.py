#!/usr/bin/env python3
"""Writes the scripts of this repository as seeds for the targets that read scripts.

usage: fuzz/seeds.py FOLDER

Taken are the `script` blocks of the case files in spec/, the `ql` blocks of docs/, and the files of
examples/. Each becomes one file of FOLDER, named after its content.
"""

import hashlib
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent


def case_scripts(text):
    """Block texts (`script: |`) and one-line texts behind `script:`."""
    lines = text.split("\n")
    for number, line in enumerate(lines):
        match = re.match(r"( *)(?:- )?script: *(.*)$", line)
        if not match:
            continue
        if not match[2].startswith(("|", ">")):
            yield match[2].strip("\"'")
            continue
        depth = len(match[1])
        block = []
        for below in lines[number + 1 :]:
            if below.strip() and len(below) - len(below.lstrip()) <= depth:
                break
            block.append(below)
        yield "\n".join(line[depth + 2 :] for line in block)


def scripts():
    for file in sorted(ROOT.glob("spec/**/*.yaml")):
        yield from case_scripts(file.read_text())
    for file in sorted(ROOT.glob("docs/**/*.md")):
        yield from re.findall(r"```ql[^\n]*\n(.*?)```", file.read_text(), re.DOTALL)
    for file in sorted(ROOT.glob("examples/**/*.ql")):
        yield file.read_text()


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    seeds = {script.strip() for script in scripts()} - {""}
    for seed in seeds:
        name = hashlib.sha256(seed.encode()).hexdigest()[:16]
        (folder / f"{name}.ql").write_text(seed + "\n")
    print(f"{len(seeds)} seeds in {folder}")


if __name__ == "__main__":
    main()
