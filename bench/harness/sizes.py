"""Data of growing size: what fan-out and row count cost.

Rows are generated once in files for each size; the answers of a fan-out are made by the upstream
from the id that is asked for. What is right is known from the size alone.
"""

import json
import random
from dataclasses import dataclass
from pathlib import Path

from .dataset import SEED, WORDS

FAN_OUT = (1, 3, 10, 30, 100, 300, 1000)
ROWS = (100, 1_000, 10_000, 100_000, 1_000_000)


@dataclass(frozen=True)
class Curve:
    """One kind of work at several sizes."""

    name: str
    title: str
    # What a unit of the size is.
    unit: str
    sizes: tuple
    # Path and query; `{size}` is the size, `{key}` differs for each request.
    path: str

    def right(self, size, answer):
        """Whether this is the answer for `size`."""
        return isinstance(answer, list) and len(answer) == size and all(EXPECTED[self.name](row) for row in answer)


CURVES = (
    Curve("fan-out", "one call, then one for each id", "calls", FAN_OUT, "/fan?n={size}&q={key}"),
    Curve("projection", "two columns of each row", "rows", ROWS, "/rows?n={size}&q={key}"),
    Curve("join", "two lists joined by id", "rows", ROWS, "/join?n={size}&q={key}"),
)

PRICE_STEPS = 400


def price(number):
    return 1 + number % PRICE_STEPS / 4


def rating(number):
    return number % 50 / 10


EXPECTED = {
    "fan-out": lambda row: row["count"] == int(row["id"]) * 10,
    "projection": lambda row: row["price"] == price(row["id"]),
    "join": lambda row: row["price"] == price(row["id"]) and row["rating"] == rating(row["id"]),
}


def write_lines(path, opening, lines):
    with path.open("w", encoding="utf-8") as out:
        out.write(opening)
        for number, line in enumerate(lines):
            out.write(",\n" if number else "\n")
            out.write(line)
        out.write("]}")


def number_text(value):
    return json.dumps(int(value) if value == int(value) else value)


def generate(folder: Path, largest_rows: int):
    """Write the files of all sizes up to `largest_rows` below `folder`."""
    rng = random.Random(SEED + 2)
    for name in ("ids", "rows", "ratings"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    for size in FAN_OUT:
        ids = [{"id": str(number)} for number in range(1, size + 1)]
        (folder / "ids" / f"{size}.json").write_text(json.dumps({"ids": ids}))
    for size in (size for size in ROWS if size <= largest_rows):
        write_lines(
            folder / "rows" / f"{size}.json",
            '{"rows":[',
            (
                f'{{"id":{number},"name":"{rng.choice(WORDS)} {rng.choice(WORDS)}","price":{number_text(price(number))},"stock":{number % 97}}}'
                for number in range(size)
            ),
        )
        # In another order than the rows, so that a join has to look each one up.
        order = list(range(size))
        rng.shuffle(order)
        write_lines(
            folder / "ratings" / f"{size}.json",
            '{"ratings":[',
            (f'{{"id":{number},"rating":{number_text(rating(number))}}}' for number in order),
        )
