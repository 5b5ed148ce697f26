import tempfile
import unittest
from pathlib import Path

from harness import dataset, formats, hooks
from harness.contenders import BENCH
from harness.measurement import SCENARIOS


class Hooks(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        with tempfile.TemporaryDirectory() as folder:
            cls.available = dataset.generate(Path(folder)) | formats.generate(Path(folder))
        cls.scenarios = hooks.scenarios(cls.available)

    def test_answers_are_those_without_hooks(self):
        for name in hooks.HOOKS:
            self.assertEqual(self.scenarios[name].answer, self.available["B"].answer)
        for name in hooks.PUBLISHED:
            self.assertEqual(self.scenarios[hooks.posted(name)].answer, self.available[name].answer)

    def test_each_scenario_has_a_route_of_its_own(self):
        for scenario in self.scenarios.values():
            route = BENCH / "qlio" / "routes" / f"{scenario.name.lower()}.ql"
            self.assertIn(f"via route '{scenario.path.replace('{key}', '{q}')}'", route.read_text())

    def test_all_are_measured(self):
        self.assertLessEqual(self.scenarios.keys(), set(SCENARIOS))
