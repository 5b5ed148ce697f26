import itertools
import unittest

from harness.calm import FIRST_TRIES, PAUSE_SECONDS, TRIES, WAIT_SECONDS_MAX, Calm


class Machine:
    """A machine whose work takes as long as `seconds` says, with a clock that only sleeping moves."""

    def __init__(self, *seconds):
        self.seconds = itertools.chain([1.0] * FIRST_TRIES, (one for one in seconds for _ in range(TRIES)), itertools.repeat(seconds[-1]))
        self.now = 0.0

    def calm(self, seconds_max=60):
        return Calm(2, seconds_max, lambda _: next(self.seconds), lambda: self.now, self.sleep)

    def sleep(self, seconds):
        self.now += seconds


class Waiting(unittest.TestCase):
    def test_a_calm_machine_is_not_waited_for(self):
        calm = Machine(1.1).calm()
        calm.wait()
        self.assertEqual(calm.as_dict(), {"asked": 1, "uncalm": 0, "seconds_waited": 0.0})

    def test_a_slow_one_is_waited_for_until_it_is_calm(self):
        calm = Machine(1.5, 1.3, 1.0).calm()
        calm.wait()
        self.assertEqual(calm.as_dict(), {"asked": 1, "uncalm": 0, "seconds_waited": round(2 * PAUSE_SECONDS, 1)})

    def test_a_wait_has_a_limit_and_so_have_all(self):
        calm = Machine(2.0).calm(seconds_max=WAIT_SECONDS_MAX + PAUSE_SECONDS)
        for _ in range(3):
            calm.wait()
        self.assertEqual(calm.as_dict(), {"asked": 3, "uncalm": 3, "seconds_waited": round(WAIT_SECONDS_MAX + PAUSE_SECONDS, 1)})

    def test_a_machine_that_gets_faster_sets_a_new_standard(self):
        calm = Machine(0.5, 1.0, 0.5).calm()
        calm.wait()
        calm.wait()
        self.assertEqual(calm.as_dict(), {"asked": 2, "uncalm": 0, "seconds_waited": round(PAUSE_SECONDS, 1)})


if __name__ == "__main__":
    unittest.main()
