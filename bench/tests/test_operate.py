"""Figures of operating, the app that two versions of are told apart, and the page of the figures."""

import tempfile
import unittest
from pathlib import Path

from harness import operate, operate_page, operated, reload_soak, steady

MACHINE = {"cpu": "a processor", "cores": 2, "system": "Linux 6.1", "time": "2026-01-02T03:04:05Z", "qlio": "qlio 1.0.0", "load": 0.5}


def phase(name, **more):
    one = {"name": name, "seconds": 1.0, "requests": 1000, "failed": 0, "sent_again": 0}
    return one | {"p50_ms": 1.0, "p99_ms": 2.0, "worst_second_p99_ms": 5.0} | more


def document(**more):
    return {"machine": MACHINE, "rate": 1000, "clients": 16, "exit_code": 0} | more


class Figures(unittest.TestCase):
    def test_a_percentile_is_one_of_the_times(self):
        times = [number / 1000 for number in range(1, 101)]
        self.assertAlmostEqual(steady.percentile(times, 0.5), 51)
        self.assertAlmostEqual(steady.percentile(times, 0.99), 100)
        self.assertEqual(steady.percentile([], 0.99), 0)

    def test_the_worst_second_counts_and_others_do_not_hide_it(self):
        samples = [(10 + step / 100, 0.001, 0) for step in range(500)]
        samples += [(12.5, 0.2, 0), (12.6, 0.2, 0), (99, 9, 0)]
        self.assertAlmostEqual(steady.worst_second(samples, 10, 15), 200)
        self.assertEqual(steady.worst_second(samples, 20, 30), 0)

    def test_all_files_of_a_version_say_its_number(self):
        with tempfile.TemporaryDirectory() as folder:
            operated.write_app(Path(folder), 7, 1234)
            texts = [path.read_text() for path in sorted(Path(folder).glob("*/*.*"))]
            self.assertTrue(all("7" in text for text in texts) and len(texts) == 3, texts)
            operated.write_app(Path(folder), 7, 1234, broken=True)
            self.assertNotIn("select get", (Path(folder) / "tables/t.ql").read_text())

    def test_memory_is_compared_after_the_warm_up(self):
        minutes = [{"minute": minute, "bytes": 100 if minute > 10 else 50} for minute in range(1, 21)]
        self.assertEqual(reload_soak.spread({"minutes": minutes}), 0)
        minutes[-1]["bytes"] = 110
        self.assertAlmostEqual(reload_soak.spread({"minutes": minutes}), 0.1)


class Page(unittest.TestCase):
    def test_only_the_killed_server_may_take_requests_with_it(self):
        phases = [phase("quiet"), phase(operate.KILLED, failed=3, sent_again=2, back_after_ms=40), phase("x", reloads=1, certificates=2, upgrades=3)]
        found = document(phases=phases, catalogs_seen=9)
        self.assertFalse(operate_page.failed("one", found))
        section = operate_page.section("one", found)
        self.assertIn("3 requests failed and 2 were sent again, at most one for each connection; the next server served after 40 ms", section)
        self.assertIn("| quiet | 1.0 | 1,000 | 0 | 0 | 1.0 | 2.0 | 5.0 | 2.5 |", section)
        phases[0]["failed"] = 1
        self.assertTrue(operate_page.failed("one", found))

    def test_a_soak_fails_by_a_request_and_by_growth(self):
        minutes = [{"minute": minute, "requests": 50, "failed": 0, "p99_ms": 1.0, "bytes": 10**7} for minute in range(1, 21)]
        found = document(minutes=minutes)
        self.assertFalse(operate_page.failed("soak", found))
        self.assertIn("10.0 to 10.0 MB, 0.0 % apart", operate_page.page({"soak": found}))
        minutes[15]["bytes"] += 10**6
        self.assertTrue(operate_page.failed("soak", found))
        minutes[15].update(bytes=10**7, failed=1)
        self.assertTrue(operate_page.failed("soak", found))
