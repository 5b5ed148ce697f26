import unittest
import xml.etree.ElementTree as ElementTree

from harness import flames

SCRIPT = """\
qlio
\t    7f01 qlio_data::codec::json::decode::h0123456789abcdef
\t    7f02 qlio_engine::run<T>::{{closure}}
\t    7f03 main

qlio
\tffffffff81 tcp_sendmsg
\tffffffff82 do_writev
\tffffffff83 do_syscall_64
\t    7f04 writev
\t    7f03 main
\t    7f05 [unknown]
"""


class Flames(unittest.TestCase):
    def test_stacks_become_a_tree_of_shares(self):
        root = flames.parse(SCRIPT)
        self.assertEqual(root.samples, 2)
        self.assertEqual(list(root.calls), ["main"])
        self.assertEqual(set(root.calls["main"].calls), {"qlio_engine::run<T>::{{closure}}", "writev"})
        self.assertEqual(flames.shares(root), {"formats and values": 0.5, "kernel": 0.5, "engine": 0, "other": 0})

    def test_the_kernel_is_shown_to_a_depth(self):
        stack = ["main", "[k] do_syscall_64", *[f"[k] inner{number}" for number in range(9)]]
        self.assertEqual(len(list(flames.cut(stack))), 1 + flames.KERNEL_FRAMES_MAX)

    def test_the_picture_is_well_formed_and_names_every_frame(self):
        picture = ElementTree.fromstring(flames.svg("A < B", "two samples", flames.parse(SCRIPT)))
        titles = [title.text for title in picture.iter("{http://www.w3.org/2000/svg}title")]
        self.assertIn("A < B", titles)
        self.assertIn("qlio_data::codec::json::decode::h0123456789abcdef 50.0%", titles)

    def test_names_are_shortened_to_what_tells_them_apart(self):
        self.assertEqual(flames.short("qlio_engine::http::Call<T, U<V>>::rows::{{closure}}::h0123456789abcdef"), "rows::{}")
        self.assertEqual(flames.short("[k] tcp_ack"), "tcp_ack")


if __name__ == "__main__":
    unittest.main()
