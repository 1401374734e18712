# SPDX-License-Identifier: Apache-2.0
"""Two programs in turns: cases matched, ratios, what is left out."""

import json
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import turns  # noqa: E402


def row(seconds, kernel="k", tile=1, unsettled=False, **workload):
    return json.dumps({"kind": "measurement", "kernel": kernel, "tile": {"rows": tile},
                       "workload": {"batch": 1, **workload},
                       "measurement": {"seconds_median": seconds, "unsettled": unsettled}})


class Turns(unittest.TestCase):
    def setUp(self):
        self.folder = Path(tempfile.mkdtemp())

    def write(self, name, *rows):
        (self.folder / name).write_text("\n".join(rows) + "\n")

    def table(self):
        return list(turns.lines(turns.times(self.folder, "before"), turns.times(self.folder, "after")))

    def test_ratio_is_the_second_over_the_first_and_rounds_are_medians(self):
        for number, (before, after) in enumerate([(1.0, 1.1), (1.0, 1.1), (9.0, 9.9)]):
            self.write(f"before-{number}.jsonl", row(before))
            self.write(f"after-{number}.jsonl", row(after))
        self.assertEqual(self.table()[1].split(), ["k", "1", "1.100", "1.100", "1.100", "9.000", "0"])

    def test_a_member_that_says_the_default_makes_no_other_case(self):
        self.write("before-1.jsonl", row(1.0))
        self.write("after-1.jsonl", row(1.0, accuracy="accurate", window=None))
        self.assertEqual(len(self.table()), 3)
        self.write("after-1.jsonl", row(1.0, accuracy="fast"))
        self.assertIn("1 cases of the first program alone, 1 of the second", self.table()[-1])

    def test_other_tiles_and_cases_of_one_program_are_named(self):
        self.write("before-1.jsonl", row(1.0), row(1.0, kernel="gone"))
        self.write("after-1.jsonl", row(1.0, tile=2))
        self.assertEqual(self.table()[1].split()[-1], "1")
        self.assertIn("1 cases of the first program alone", self.table()[-1])

    def test_unsettled_times_and_half_lines_are_left_out(self):
        self.write("before-1.jsonl", row(5.0, unsettled=True), row(1.0), '{"kind": "mea')
        self.write("after-1.jsonl", row(2.0))
        self.assertEqual(self.table()[1].split()[2], "2.000")


if __name__ == "__main__":
    unittest.main()
