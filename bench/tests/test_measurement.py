import types
import unittest

from harness.measurement import Measurement, turns
from harness.verify import WrongAnswer


class Order(unittest.TestCase):
    def test_everybody_goes_first_in_turn(self):
        first = [turns(["a", "b", "c"], number)[0] for number in range(4)]
        self.assertEqual(first, ["a", "b", "c", "a"])
        self.assertEqual(turns([], 3), [])

    def test_close_contenders_take_more_turns(self):
        seen, waits = [], []
        contenders = [types.SimpleNamespace(name=name) for name in ("nginx", "node", "qlio")]
        scenario = types.SimpleNamespace(name="A")
        run = types.SimpleNamespace(
            began=0.0,
            compile_bench=None,
            chosen=types.SimpleNamespace(rounds=1, parts=("load",), connections=100, quick=False),
            pairs=lambda part: [(scenario, contenders)] if part == "load" else [],
            wait=lambda: waits.append(len(seen)),
            window=lambda point, scenario, one, connections, number, turn=0: seen.append((turn, one.name)),
        )
        Measurement.round(run, 0)
        expected = [(0, "nginx"), (0, "node"), (0, "qlio"), (1, "qlio"), (1, "nginx"), (2, "nginx"), (2, "qlio")]
        self.assertEqual(seen, expected)
        self.assertEqual(waits, [0, 3, 5], "before a turn, not within")

    def test_a_peer_that_fails_is_left_out_with_its_reason(self):
        run = types.SimpleNamespace(left_out={})
        Measurement.leave_out(run, "in D", "hive", WrongAnswer("status 500\nand more"))
        self.assertEqual(run.left_out, {"hive in D": "status 500"})

    def test_without_qlio_the_run_ends(self):
        run = types.SimpleNamespace(left_out={})
        with self.assertRaises(WrongAnswer):
            Measurement.leave_out(run, "in D", "qlio", WrongAnswer("status 500"))

    def test_who_was_left_out_of_a_scenario_does_not_come_back(self):
        scenario = types.SimpleNamespace(name="D")
        contenders = [types.SimpleNamespace(name=name, scenarios=("D",)) for name in ("qlio", "node", "hive")]
        run = types.SimpleNamespace(
            scenarios=[scenario], contenders={"load": contenders, "crowd": contenders}, left_out={"node in D": "status 500"}
        )
        able = {part: [one.name for one in next(Measurement.pairs(run, part))[1]] for part in ("load", "crowd")}
        self.assertEqual(able, {"load": ["qlio", "hive"], "crowd": ["qlio"]})


if __name__ == "__main__":
    unittest.main()
