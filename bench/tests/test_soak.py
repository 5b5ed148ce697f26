import unittest

from harness import report, soak
from harness.figures import Results

from .sample import document


def hour(memory_of, minutes=40):
    """A made-up document; `memory_of` tells megabytes from the minute."""

    def phase(minute, requests):
        return {"requests": requests, "failed": 0, "bytes": memory_of(minute) * 1e6}

    return {
        "environment": {"time": "2012-01-31T00:00:00Z", "versions": {"qlio": "0.1.0"}},
        "settings": {"connections": 500, "burst_seconds": 20},
        "minutes": [
            {"minute": minute, "A": phase(minute, 100), "D": phase(minute, 10), soak.REST: phase(minute, 0)}
            for minute in range(1, minutes + 1)
        ],
    }


class Growth(unittest.TestCase):
    def test_the_warm_up_does_not_count(self):
        document = hour(lambda minute: 40 if minute > soak.WARM_UP_MINUTES else 20 + minute)
        self.assertAlmostEqual(soak.growth_per_hour(document, "A"), 0, delta=1)
        self.assertEqual(soak.summary(document, "D")[:3], (40e6, 40e6, 40e6))

    def test_a_leak_shows_as_bytes_in_an_hour(self):
        document = hour(lambda minute: 30 + minute / 6)
        self.assertAlmostEqual(soak.growth_per_hour(document, soak.REST), 10e6, delta=1)

    def test_a_short_run_is_all_warm_up_and_counts(self):
        self.assertEqual(soak.steady(hour(lambda _: 30, minutes=2), "A"), [(1, 30e6), (2, 30e6)])
        self.assertEqual(soak.growth_per_hour(hour(lambda _: 30, minutes=1), "A"), 0)


class Section(unittest.TestCase):
    def test_the_report_shows_the_hour_with_its_picture(self):
        measured = hour(lambda minute: 30 + minute / 60)
        results = Results(document())
        text = report.markdown(results, measured)
        self.assertIn("## 40 minutes", text)
        self.assertIn("4,400 requests were answered, 0 failed", text)
        self.assertIn("| peak of the burst of D | 30.4 | 30.2 to 30.7 | +1.00 |", text)
        self.assertIn("budget 60", report.charts(results, measured)["soak.svg"])

    def test_without_the_hour_nothing_is_said_of_it(self):
        results = Results(document())
        self.assertNotIn("soak", report.markdown(results))
        self.assertNotIn("soak.svg", report.charts(results))
