import re
import unittest
from xml.etree import ElementTree

from harness import charts, published, report
from harness.figures import Results

from .sample import document

PICTURE = re.compile(r"!\[[^]]*\]\(benchmarks/([^)]+)\)")


class Markdown(unittest.TestCase):
    def setUp(self):
        self.results = Results(document())
        self.text = report.markdown(self.results)

    def test_a_missed_budget_says_by_how_much(self):
        self.assertIn("| D: CPU relative to its bare exchanges | 1.4 | ≤ 1.2 × | **missed by 17%** |", self.text)
        self.assertIn("| A: requests/s relative to nginx | 0.95 | ≥ 0.9 × | met |", self.text)

    def test_a_missed_ratio_says_what_can_be_reached_at_all(self):
        made = document()
        for one in made["series"]:
            if (one["point"], one["contender"]) == ("A", "nginx"):
                one["windows"] = [window | {"requests_per_second": 2000.0} for window in one["windows"]]
        text = report.markdown(Results(made))
        self.assertIn("0.45 instead of ≥ 0.9 ×, 50% short. If qlio's own code took no time at all and everything else stayed, it would be 0.458.", text)

    def test_noise_and_who_was_left_out_are_stated(self):
        self.assertIn("Other programs took 1% of the machine", self.text)
        self.assertIn("hive was left out: npm ci failed.", self.text)

    def test_a_run_that_ran_out_of_time_says_so(self):
        self.assertNotIn("time was up", self.text)
        made = document()
        made["settings"]["rounds"] = 2
        self.assertIn("Only 2 of 3 rounds", report.markdown(Results(made)))

    def test_every_picture_that_is_shown_is_made(self):
        shown = set(PICTURE.findall(self.text))
        self.assertEqual(shown, set(report.charts(self.results)))

    def test_rows_of_a_table_have_as_many_cells_as_its_header(self):
        lines = self.text.splitlines()
        for above, line in zip(lines, lines[1:], strict=False):
            if above.startswith("|") and line.startswith("|"):
                self.assertEqual(above.count("|"), line.count("|"), line)

    def test_parts_that_were_not_measured_are_left_out(self):
        made = document()
        made |= {"series": made["series"][:2], "growth": [], "start": [], "compile": {}}
        text = report.markdown(Results(made))
        self.assertNotIn("## Growth", text)
        self.assertNotIn("## XML and Protocol Buffers", text)
        self.assertIn("## Aggregation", text)

    def test_growth_alone_makes_a_report(self):
        results = Results(document() | {"series": []})
        self.assertIn("the noise of the machine is not known", report.markdown(results))
        self.assertIn("growth of CPU", report.summary(results))


class Charts(unittest.TestCase):
    def test_charts_are_well_formed_and_name_their_unit(self):
        for name, chart in report.charts(Results(document())).items():
            root = ElementTree.fromstring(chart)
            self.assertTrue(root.tag.endswith("svg"), name)
            self.assertRegex(chart, "requests|milliseconds|megabytes")

    def test_an_axis_ends_at_or_above_its_highest_value(self):
        for highest in (0.003, 1, 7, 99, 100, 31_415):
            marks = charts.ticks(highest)
            self.assertGreaterEqual(marks[-1], highest * (1 - 1e-9))
            self.assertLess(len(marks), 9)
        self.assertEqual(charts.ticks(0), [0, 1])

    def test_a_bar_that_dwarfs_the_others_is_cut(self):
        def bar(value):
            return charts.Bar("node", "Node", value, value, value)

        self.assertEqual(charts.scale_end([bar(1), bar(2)]), 2)
        self.assertAlmostEqual(charts.scale_end([bar(1), bar(100)]), 1.2)
        self.assertEqual(charts.scale_end([bar(1), bar(100)], bound=60), 60)
        self.assertEqual(charts.scale_end([bar(5)]), 5)

    def test_marks_from_texts_of_others_are_escaped(self):
        drawn = charts.bars("a < b", "ms", [charts.Panel("x & y", (charts.Bar("qlio", "<q>", 1, 1, 1),))])
        self.assertIsNotNone(ElementTree.fromstring(drawn))


class Published(unittest.TestCase):
    def test_the_closed_loop_gives_the_thinking_time_of_the_load_plan(self):
        for run in published.LOAD_RUNS:
            self.assertAlmostEqual(published.think_ms(run), 911, delta=1)
            self.assertAlmostEqual(published.seconds(run), 3610, delta=1)


if __name__ == "__main__":
    unittest.main()
