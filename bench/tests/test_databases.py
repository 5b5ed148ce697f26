import unittest

from harness import databases


class Works(unittest.TestCase):
    def test_what_a_plan_has_to_say_is_about_the_table(self):
        for work in databases.works("postgresql"):
            self.assertIn("from", work.script)
            self.assertTrue(all(part.split()[0] in work.script for part in work.pushed), work)


class Documents(unittest.TestCase):
    def test_members_have_their_types_and_lengths(self):
        whole = bytes.fromhex("0c000000" "10" "6100" "07000000" "00")
        self.assertEqual(databases.bson({"a": 7}), whole)
        text = bytes.fromhex("0f000000" "02" "6100" "03000000") + b"hi\0" + b"\0"
        self.assertEqual(databases.bson({"a": "hi"}), text)
        listed = databases.bson({"a": [{"a": 7}]})
        self.assertIn(b"\x04a\0" + (len(whole) + 8).to_bytes(4, "little") + b"\x030\0" + whole, listed)


class Page(unittest.TestCase):
    def test_rows_a_second_and_the_time_of_everybody_are_medians(self):
        def window(seconds, qlio):
            cpu = {"qlio": qlio, "connector": 0.02, "database": 0.01}
            return {"requests": 2, "rows": 20_000, "seconds": seconds, "cpu": cpu}

        measured = {"database": "PostgreSQL", "work": "all rows", "script": "return select n from t", "rows": 10_000}
        measured |= {"plan": "a plan\n", "windows": [window(1, 0.1), window(2, 0.02), window(4, 0.04)]}
        page = databases.page(
            {
                "environment": {"cpu": "c", "cores": 2, "system": "s", "time": "2026-01-01T00:00:00Z"},
                "versions": {"qlio": "qlio 1"},
                "profile": "debug",
                "rounds": 3,
                "seconds": 1,
                "load": 0.5,
                "measured": [measured],
            }
        )
        self.assertIn("| PostgreSQL | all rows | 10,000 | 10,000 | 1,000.0 | 2.00 | 1.00 | 0.50 |", page)
        self.assertIn("return select n\n  from t\n\na plan\n```", page)
