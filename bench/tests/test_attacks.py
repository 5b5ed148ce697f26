import json
import unittest
import zlib

from harness.attacks import cheap, findings, page, suite, texts
from harness.attacks.target import Answer, Outcome


def window(p99, sent=100, answered=100):
    return {"sent": sent, "answered": answered, "p50_ms": 1.0, "p99_ms": p99, "max_ms": p99, "lost": {}}


class Texts(unittest.TestCase):
    def test_a_doubling_script_is_as_long_as_it_may_be(self):
        for make in (texts.doubled_texts, texts.doubled_lists, texts.doubled_objects, texts.doubled_json):
            self.assertLessEqual(len(make()), texts.SCRIPT_BYTES)
            self.assertGreater(len(make()), texts.SCRIPT_BYTES - 40)
        lines = texts.doubled_texts(60).split("\n")
        self.assertEqual(lines[:3], ['a0="xxxxxxxxxx"', 'a1="{a0}{a0}"', 'a2="{a1}{a1}"'])
        self.assertEqual(lines[-1], f"return a{len(lines) - 2}")

    def test_a_statement_gets_the_last_of_the_doubled_texts(self):
        script = texts.doubled_into('return select * from t where text = "{text}"', 2)
        self.assertTrue(script.endswith('a2="{a1}{a1}"\nreturn select * from t where text = "{a2}"'))

    def test_a_bomb_is_a_whole_gzip_stream_of_one_json_text(self):
        packed = texts.bomb(packed=30_000, unpacked=3_000_000)
        self.assertTrue(25_000 < len(packed) < 45_000, len(packed))
        # Reads header, every byte, checksum and length.
        text = zlib.decompress(packed, zlib.MAX_WBITS | 16)
        self.assertEqual(len(json.loads(text)), 3_000_000)

    def test_large_answers_are_large_and_whole(self):
        self.assertEqual({row["id"] for row in json.loads(texts.large_json(1000))}, {1234567})
        for make in (texts.large_json, texts.large_xml):
            self.assertTrue(9_900_000 < len(make()) <= 10_000_000)

    def test_rows_have_keys_of_their_kind(self):
        keys = {kind: [row["k"] for row in json.loads(texts.rows(6, kind))] for kind in ("equal", "different", "few")}
        self.assertEqual(keys, {"equal": [1] * 6, "different": [0, 1, 2, 3, 4, 5], "few": [0, 1, 2, 3, 0, 1]})

    def test_a_frame_says_how_long_it_is_in_as_few_bytes_as_it_needs(self):
        for length, head in ((5, 2), (125, 2), (126, 4), (65_535, 4), (65_536, 10)):
            frame = texts.frame("x" * length)
            self.assertEqual(len(frame), head + 4 + length)
            self.assertEqual(frame[0], 0x81)
        self.assertEqual(texts.frame("ab"), b"\x81\x82\x00\x00\x00\x00ab")

    def test_a_request_says_how_long_its_body_is(self):
        raw = texts.script_request("return 1", "h")
        self.assertTrue(raw.endswith(b"content-length: 10\r\n\r\ns=return+1"), raw)


class Load(unittest.TestCase):
    def test_a_lost_request_took_longer_than_all_others(self):
        seen = cheap.figures([0.001 * number for number in range(1, 100)], {"time": 1})
        self.assertEqual((seen["sent"], seen["answered"]), (100, 99))
        self.assertAlmostEqual(seen["p50_ms"], 50)
        self.assertAlmostEqual(seen["p99_ms"], 99)
        self.assertIsNone(cheap.figures([0.001] * 98, {"time": 2})["p99_ms"])
        self.assertIsNone(cheap.figures([], {"refused": 3})["p50_ms"])


class Goals(unittest.TestCase):
    def test_ten_times_the_quiet_p99_is_met_more_is_not(self):
        self.assertTrue(findings.harm("g", "a", window(2.0), window(20.0)).met)
        self.assertFalse(findings.harm("g", "a", window(2.0), window(20.1)).met)

    def test_a_lost_answer_a_dead_process_and_too_much_memory_miss(self):
        quiet = window(2.0)
        self.assertFalse(findings.harm("g", "a", quiet, window(2.0, answered=99)).met)
        self.assertFalse(findings.harm("g", "a", quiet, window(None, answered=0)).met)
        self.assertFalse(findings.harm("g", "a", quiet, window(2.0), alive=False).met)
        allowed = findings.allowed_memory(64, runs=2)
        self.assertEqual(round(allowed / findings.MEBIBYTE, 1), 153.6)
        self.assertTrue(findings.harm("g", "a", quiet, window(2.0), allowed, allowed).met)
        self.assertFalse(findings.harm("g", "a", quiet, window(2.0), allowed + 1, allowed).met)

    def test_a_request_spares_a_process_that_lives_within_its_budget(self):
        answer = Answer(400, b"", 0.1)
        within = int(findings.allowed_memory(64))
        self.assertTrue(findings.spared("g", "a", Outcome(True, answer, within), 64).met)
        self.assertFalse(findings.spared("g", "a", Outcome(True, answer, within + 1), 64).met)
        ended = findings.spared("g", "a", Outcome(False, Answer(0, b"", 0.1), 0), 64)
        self.assertEqual((ended.met, ended.figure), (False, "the process ended, 0 MiB more"))

    def test_growth_is_the_exponent_and_needs_all_sizes(self):
        sizes = (5_000, 10_000, 20_000, 40_000)
        linear = findings.growth("g", "a", [(size, size / 1000) for size in sizes])
        self.assertTrue(linear.met)
        self.assertTrue(linear.figure.startswith("1.00 (5k: 5.0 ms, "), linear.figure)
        self.assertFalse(findings.growth("g", "a", [(size, size * size / 1e6) for size in sizes]).met)
        self.assertFalse(findings.growth("g", "a", [*((size, size / 1000) for size in sizes[:3]), (40_000, None)]).met)


class Page(unittest.TestCase):
    def document(self, *found):
        return {
            "version": "qlio 0.1.0",
            "environment": {"cpu": "C", "cores": 2, "memory_mb": 2048, "system": "Linux 6.1", "time": "2012-01-31T00:00:00Z"},
            "settings": {"workers": 2, "rate": 200, "count": 800, "patience": 5.0},
            "load_average_before": 0.1,
            "seconds": 1,
            "findings": [one.as_dict() for one in found],
        }

    def test_before_and_after_stand_beside_each_other(self):
        before = self.document(findings.check("trust", "a|b", "refused", "ran", False))
        after = self.document(findings.check("trust", "a|b", "refused", "status 403", True), findings.check("trust", "new", "refused", "ran", False))
        text = page.markdown(after, before, {"trust": "Who is believed."})
        self.assertIn("## Trust\n\nWho is believed.\n\n| Attack | Goal | Before | After |  |\n", text)
        self.assertIn("| a\\|b | refused | ran | status 403 | met |\n", text)
        self.assertIn("| new | refused | not measured | ran | **missed** |\n", text)
        self.assertIn("1 of 2 goals met", text)

    def test_without_before_there_is_one_column(self):
        text = page.markdown(self.document(findings.check("trust", "a", "refused", "status 403", True)))
        self.assertIn("| a | refused | status 403 | met |\n", text)
        self.assertNotIn("Before", text)

    def test_every_group_says_what_it_shows(self):
        self.assertTrue(all(suite.about().values()))
