import json
import re
import subprocess
import sys
import unittest

from harness import embedded


def measured(target, host, windows):
    windows = [dict(zip(("calls", "seconds", "host", "server"), window)) for window in windows]
    return {"target": target, "host": host, "way": "a way", "at_once": 32, "windows": windows}


class Page(unittest.TestCase):
    def test_medians_of_an_answer_are_shown_by_what_it_asks_for(self):
        document = {
            "environment": {"cpu": "c", "cores": 2, "system": "s", "time": "2026-01-01T00:00:00Z"},
            "versions": {"qlio": "qlio 1", "Node.js": "20", "Python": "3.11"},
            "profile": "dev",
            "rounds": 3,
            "seconds": 1,
            "load": 0.5,
            "runs": 1000,
            "memory": {"Python": [30.04, 30.5]},
            "measured": [
                measured("none", "Python", [(1000, 1, 0.05, 0.01), (2000, 1, 0.1, 0.1), (1000, 2, 0.2, 0.0)]),
                measured("one request upstream", "Node.js", [(1000, 1, 0.03, 0.02)]),
            ],
        }
        page = embedded.page(document)
        self.assertIn("| Python | a way | 32 | 1,000 | 50 | 10 | 100 |", page)
        self.assertIn("| Node.js | a way | 32 | 1,000 | 30 | 20 | 50 |", page)
        self.assertLess(page.index("answer: none"), page.index("answer: 1"))
        self.assertIn("| Python | 30.0 | 30.5 |", page)


class Hosts(unittest.TestCase):
    def test_both_know_the_ways_that_are_measured(self):
        program = (embedded.HOSTS / "host.py").read_text(encoding="utf-8")
        named = set(re.findall(r'^    "([a-z-]+)": ', program, re.MULTILINE))
        self.assertEqual(named, {way.name for way in embedded.WAYS if way.host == "Python"} | {"memory"})

    def test_a_host_that_fails_is_told_with_its_reason(self):
        command = [sys.executable, embedded.HOSTS / "host.py", json.dumps({"way": "call-blocking"})]
        with self.assertRaisesRegex(embedded.HostFailed, "Error"):
            embedded.quietly(command, embedded.HOSTS)

    def test_node_reads_its_host(self):
        try:
            done = subprocess.run(["node", "--check", embedded.HOSTS / "host.mjs"], capture_output=True, check=False, timeout=60)
        except FileNotFoundError:
            self.skipTest("Node.js is not installed")
        self.assertEqual(done.returncode, 0, done.stderr)
