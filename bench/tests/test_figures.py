import unittest

from harness import raw
from harness.budgets import Budget, judge
from harness.figures import CPU, REQUESTS, Results, deviation, slope, spread

from .sample import document, series


class Statistics(unittest.TestCase):
    def test_spread_is_relative_to_the_median(self):
        self.assertAlmostEqual(spread([90, 100, 120]), 0.3)
        self.assertEqual(spread([0, 0]), 0.0)

    def test_one_outlier_does_not_move_the_deviation(self):
        self.assertAlmostEqual(deviation([100, 101, 99, 500, 100]), 0.01)

    def test_slope_is_the_exponent_of_growth(self):
        self.assertAlmostEqual(slope([(10, 3), (100, 30), (1000, 300)]), 1.0)
        self.assertAlmostEqual(slope([(10, 1), (100, 100)]), 2.0)
        self.assertIsNone(slope([(10, 1)]))
        self.assertIsNone(slope([(10, 1), (100, 0)]))


class Ratios(unittest.TestCase):
    def test_a_ratio_is_taken_within_each_round(self):
        results = Results(document())
        # 0.9, 1.0 and 0.95; the ratio of the medians would be 0.9.
        self.assertAlmostEqual(results.ratio("A", "qlio", "nginx", REQUESTS), 0.95)

    def test_windows_of_the_same_turn_belong_together(self):
        made = document()
        mine, theirs = series("A", "qlio", 500, 800, 700), series("A", "nginx", 1000, 1000)
        mine["windows"][1]["round"], mine["windows"][1]["turn"] = 0, 1
        theirs["windows"][1]["round"], theirs["windows"][1]["turn"] = 0, 1
        made["series"] = [mine, theirs]
        # 0.5 and 0.8; the third window has nothing beside it.
        self.assertAlmostEqual(Results(made).ratio("A", "qlio", "nginx", REQUESTS), 0.65)

    def test_a_ratio_may_be_between_scenarios(self):
        self.assertAlmostEqual(Results(document()).ratio("E", "qlio", "qlio", REQUESTS, "J"), 0.45)

    def test_a_difference_is_between_scenarios(self):
        results = Results(document())
        self.assertAlmostEqual(results.difference("H-status", "H", "qlio", CPU), 4.5)
        self.assertIsNone(results.difference("H-uri", "H", "qlio", CPU))

    def test_a_ceiling_leaves_out_only_the_contenders_own_code(self):
        results = Results(document())
        # 2 cores: 2,000,000 / 855 - 40 µs for a request leaves 869.9 requests/s, against 900.
        self.assertAlmostEqual(results.ceiling("A", "qlio", "nginx"), 0.9665, places=4)
        self.assertIsNone(results.ceiling("A", "qlio", "lua"))

    def test_a_ceiling_needs_the_time_in_own_code(self):
        made = document()
        for one in made["series"]:
            for window in one["windows"]:
                del window["user_us_per_request"]
        self.assertIsNone(Results(made).ceiling("A", "qlio", "nginx"))

    def test_who_did_not_take_part_has_no_ratio(self):
        self.assertIsNone(Results(document()).ratio("A", "qlio", "hive", CPU))

    def test_a_window_without_requests_gives_no_ratio(self):
        made = document()
        made["series"] = [series("A", "qlio", 100), series("A", "node", 0)]
        self.assertIsNone(Results(made).ratio("A", "qlio", "node", REQUESTS))


class Honesty(unittest.TestCase):
    def test_sharing_of_upstream_calls_is_found(self):
        made = document()
        self.assertEqual(Results(made).shared_calls(), [])
        made["series"].append(series("D", "lua", 900, upstream_calls=5.0))
        self.assertEqual(Results(made).shared_calls(), [("D", "lua", 5.0)])

    def test_failures_of_all_windows_count(self):
        made = document()
        made["series"][3]["windows"][1]["failed"] = 2
        self.assertEqual(Results(made).failures(), 2)

    def test_foreign_work_makes_a_machine_noisy(self):
        made = document()
        self.assertTrue(Results(made).noise()["quiet"])
        for one in made["series"]:
            for window in one["windows"]:
                window["foreign_cpu"] = 0.3
        self.assertFalse(Results(made).noise()["quiet"])


class Budgets(unittest.TestCase):
    def test_a_budget_is_missed_by_a_share_of_its_bound(self):
        at_least = Budget("speed", 2.0, True, None)
        self.assertTrue(at_least.met(2.0))
        self.assertAlmostEqual(at_least.missing(1.5), 0.25)
        at_most = Budget("time", 100.0, False, None)
        self.assertAlmostEqual(at_most.missing(150.0), 0.5)
        self.assertEqual(at_most.missing(99.0), 0.0)

    def test_only_what_was_measured_is_judged(self):
        judged = {budget.what: budget.met(value) for budget, value in judge(Results(document()))}
        self.assertTrue(judged["A: requests/s relative to nginx"])
        self.assertFalse(judged["D: CPU relative to its bare exchanges"])
        self.assertFalse(judged["peak memory, D over 500 connections"])
        self.assertTrue(judged["growth of CPU with joined rows, from 10,000 rows"])
        self.assertNotIn("B: requests/s relative to nginx + Lua", judged)


class Raw(unittest.TestCase):
    def test_the_document_comes_back_and_windows_stand_on_one_line(self):
        made = document()
        text = raw.dump(made)
        self.assertEqual(raw.load(text), made)
        windows = [line for line in text.splitlines() if '"p99_ms"' in line]
        self.assertEqual(len(windows), sum(len(one["windows"]) for one in made["series"]))


if __name__ == "__main__":
    unittest.main()
