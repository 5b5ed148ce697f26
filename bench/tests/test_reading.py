"""What is read from programs and files: divan's table, XML rows, differences of answers."""

import json
import unittest
from xml.etree import ElementTree

from harness import formats
from harness.probes import medians_of_divan
from harness.sizes import CURVES, price, rating
from harness.verify import difference

DIVAN = """\
Timer precision: 20 ns
compile          fastest       │ slowest       │ median        │ mean          │ samples │ iters
├─ eleven_calls  55.11 µs      │ 91.01 µs      │ 56.2 µs       │ 57.3 µs       │ 100     │ 100
╰─ pass_through  890.1 ns      │ 2.1 µs        │ 910.5 ns      │ 950 ns        │ 100     │ 800
"""


class Reading(unittest.TestCase):
    def test_medians_come_in_microseconds(self):
        found = medians_of_divan(DIVAN)
        self.assertAlmostEqual(found["eleven_calls"], 56.2)
        self.assertAlmostEqual(found["pass_through"], 0.9105)

    def test_text_of_xml_becomes_a_number_only_if_it_prints_the_same(self):
        kept = ["007", "1.50", "1e5", "+1", "-0", "", "12345678901234567890", "1."]
        self.assertEqual([formats.typed(text) for text in kept], kept)
        self.assertEqual([formats.typed(text) for text in ("12", "-3", "1.5", "0")], [12, -3, 1.5, 0])
        self.assertIs(formats.typed("true"), True)

    def test_attributes_and_repeated_elements_become_members_and_lists(self):
        node = ElementTree.fromstring('<i xmlns="urn:x"><p c="GBP">1.5</p><t>a</t><t>b</t><u k="v"/></i>')
        self.assertEqual(formats.element(node), {"p": {"c": "GBP", "$t": 1.5}, "t": ["a", "b"], "u": {"k": "v"}})

    def test_the_first_difference_is_named(self):
        self.assertIn("$.a[1].b", difference({"a": [1, {"b": 2}]}, {"a": [1, {"b": 3}]}))
        self.assertIn("3 elements in $", difference([1, 2, 3], [1]))
        self.assertIn("'b' of $ is missing", difference({"a": 1}, {"a": 1, "b": 2}))

    def test_a_curve_knows_its_right_answer(self):
        join = next(curve for curve in CURVES if curve.name == "join")
        rows = [{"id": number, "price": price(number), "rating": rating(number)} for number in range(3)]
        self.assertTrue(join.right(3, json.loads(json.dumps(rows))))
        self.assertFalse(join.right(4, rows))
        self.assertFalse(join.right(3, [*rows[:2], rows[2] | {"rating": 9.9}]))


if __name__ == "__main__":
    unittest.main()
