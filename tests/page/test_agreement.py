# SPDX-License-Identifier: Apache-2.0
"""The comparison of the two builds refuses what it must."""
import json
import unittest

from agreement import compare, differences, missing

QUESTION = json.dumps({"device": {"id": "h200"}, "suite": "quickstart"})


def answer(**changed):
    return json.dumps({"kernels": [{"kernel": "simt", "tile": "rows=4", "limiter": "dram", "seconds": 1e-5, **changed}]})


class Agreement(unittest.TestCase):
    def test_equal_answers_agree(self):
        faults, seen = compare([(QUESTION, answer(), answer())])
        self.assertEqual(faults, [])
        self.assertEqual(seen, {"kernels": {"simt"}, "devices": {"h200"}, "suites": {"quickstart"}, "predictions": 1})

    def test_rounding_agrees_and_more_does_not(self):
        self.assertEqual(compare([(QUESTION, answer(), answer(seconds=1e-5 * (1 + 1e-11)))])[0], [])
        self.assertEqual(len(compare([(QUESTION, answer(), answer(seconds=1e-5 * (1 + 1e-8)))])[0]), 1)

    def test_another_name_differs(self):
        for change in ({"kernel": "naive"}, {"tile": "rows=8"}, {"limiter": "op.issue"}):
            self.assertEqual(len(compare([(QUESTION, answer(), answer(**change))])[0]), 1, change)

    def test_a_missing_member_and_a_missing_kernel_differ(self):
        self.assertEqual(len(differences({"a": 1, "b": 2}, {"a": 1})), 1)
        self.assertEqual(len(differences([1, 2], [1])), 1)

    def test_a_kernel_a_device_and_a_suite_that_nobody_asked_about_are_faults(self):
        seen = compare([(QUESTION, answer(), answer())])[1]
        self.assertEqual(missing(seen, ["simt"], ["h200"], ["quickstart"]), [])
        self.assertEqual(missing(seen, ["simt", "naive"], ["h200", "l4"], ["quickstart", "ladder"]),
                         ["no question was answered with a time of naive", "no question was about l4",
                          "no question had a shape of suite ladder"])


if __name__ == "__main__":
    unittest.main()
