"""Figures of operating, and the app that two versions of are told apart."""

import tempfile
import unittest
from pathlib import Path

from harness import operate


class Figures(unittest.TestCase):
    def test_a_percentile_is_one_of_the_times(self):
        times = [number / 1000 for number in range(1, 101)]
        self.assertAlmostEqual(operate.percentile(times, 0.5), 51)
        self.assertAlmostEqual(operate.percentile(times, 0.99), 100)
        self.assertEqual(operate.percentile([], 0.99), 0)

    def test_the_worst_second_counts_and_others_do_not_hide_it(self):
        samples = [(10 + step / 100, 0.001, 0) for step in range(500)]
        samples += [(12.5, 0.2, 0), (12.6, 0.2, 0), (99, 9, 0)]
        self.assertAlmostEqual(operate.worst_second(samples, 10, 15), 200)
        self.assertEqual(operate.worst_second(samples, 20, 30), 0)

    def test_both_files_of_a_version_say_its_number(self):
        with tempfile.TemporaryDirectory() as folder:
            operate.write_app(Path(folder), 7)
            texts = [path.read_text() for path in sorted(Path(folder).glob("*/*.ql"))]
            self.assertTrue(all("7" in text for text in texts) and len(texts) == 2, texts)
            operate.write_app(Path(folder), 7, broken=True)
            self.assertNotIn("select get", (Path(folder) / "tables/t.ql").read_text())
