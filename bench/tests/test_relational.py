import json
import tempfile
import unittest
from pathlib import Path
from random import Random

from harness import relational


def taken(*milliseconds):
    return [{"cpu": value / 1e3, "clock": value / 1e3} for value in milliseconds]


class Questions(unittest.TestCase):
    def test_both_ways_of_sqlite_give_the_same_answers(self):
        for work in relational.WORKS:
            with tempfile.TemporaryDirectory() as folder:
                paths = relational.write_rows(Path(folder), work, 50)
                self.assertEqual(set(paths), set(work.columns))
                answers = [relational.canonical(work, database(work, paths)) for database in (relational.sqlite_by_json, relational.sqlite_by_rows)]
                self.assertEqual(answers[0], answers[1], work.name)
                self.assertGreater(len(answers[0]), 0)

    def test_the_same_size_gives_the_same_rows(self):
        for work in relational.WORKS:
            first, second = (work.rows(40, Random(relational.SEED)) for _ in range(2))
            self.assertEqual(first, second)

    def test_rows_without_an_order_are_compared_in_one(self):
        nested = next(work for work in relational.WORKS if work.name == "nested")
        lines = [{"sku": 2, "count": 1}, {"sku": 1, "count": 1}]
        rows = [{"id": 2, "lines": []}, {"id": 1, "lines": lines}]
        self.assertEqual(relational.canonical(nested, json.dumps(rows)), [{"id": 1, "lines": lines[::-1]}, {"id": 2, "lines": []}])


class Table(unittest.TestCase):
    def test_medians_and_multiples_are_shown(self):
        work = {"title": "a question", "taken": {"qlio": taken(10, 30, 20), "SQLite": taken(40, 50, 60)}, "exponents": {"qlio": 1.04, "SQLite": 0.9}}
        text = relational.markdown({"works": [work]})
        self.assertIn("| a question | qlio | 20 | 20 | 1.00 | 1.04 |", text)
        self.assertIn("| a question | SQLite | 50 | 50 | 2.50 | 0.90 |", text)


if __name__ == "__main__":
    unittest.main()
