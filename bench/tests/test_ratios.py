# SPDX-License-Identifier: Apache-2.0
"""Ratios, the best peer, geometric means, the stop rule, problems: no PyTorch, no library."""

import math
import sys
import unittest
from pathlib import Path
from types import SimpleNamespace

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from problem import Problem  # noqa: E402
from ratios import Ratio, best_peer, geometric_mean, grouped  # noqa: E402
from results import Results  # noqa: E402

WORKLOAD = {"batch": 2, "heads_q": 8, "heads_kv": 2, "seqlen_q": 512, "seqlen_k": 512,
            "headdim": 128, "headdim_v": 128, "dtype": "bf16", "kv_dtype": "bf16",
            "mask": "causal", "window": None, "softcap": 0.0, "sinks": False, "page_size": 0}


def problem(**changes):
    return Problem.of("shape", {**WORKLOAD, **changes})


def row(ours, theirs, spread=0.01):
    return {"measurement": {"seconds_median": ours, "seconds_call": ours},
            "correctness": {"relative_rms": 0.002},
            "peer": {"seconds_median": theirs, "seconds_call": theirs,
                     "correctness": {"relative_rms": 0.003}},
            "ratio": theirs / ours, "ratio_low": theirs / ours * (1 - spread),
            "ratio_high": theirs / ours * (1 + spread)}


class Means(unittest.TestCase):
    def test_geometric_mean_is_that_of_the_ratios(self):
        mean = geometric_mean([Ratio(2, 2, 2), Ratio(0.5, 0.5, 0.5), Ratio(8, 8, 8)])
        self.assertAlmostEqual(mean.value, 2)
        self.assertAlmostEqual(mean.low, 2)
        self.assertAlmostEqual(mean.high, 2)

    def test_interval_narrows_with_the_root_of_the_number(self):
        one = Ratio(1.2, 1.2 / 1.1, 1.2 * 1.05)
        alone, many = geometric_mean([one]), geometric_mean([one] * 16)
        self.assertAlmostEqual(alone.low, one.low)
        self.assertAlmostEqual(alone.high, one.high)
        self.assertAlmostEqual(many.value, 1.2)
        self.assertAlmostEqual(math.log(many.value / many.low), math.log(1.1) / 4)
        self.assertAlmostEqual(math.log(many.high / many.value), math.log(1.05) / 4)

    def test_mean_of_nothing_is_refused(self):
        with self.assertRaises(ValueError):
            geometric_mean([])
        self.assertEqual(grouped([]), [])

    def test_groups_come_after_all(self):
        exact = [("a", Ratio(1, 1, 1)), ("b", Ratio(4, 4, 4)), ("a", Ratio(1, 1, 1))]
        means = grouped(exact)
        self.assertEqual([(name, count) for name, count, _ in means],
                         [("all", 3), ("a", 2), ("b", 1)])
        self.assertAlmostEqual(means[0][2].value, 4 ** (1 / 3))
        self.assertEqual([name for name, _, _ in grouped(exact[:1])], ["a"])

    def test_best_peer_has_the_least_time(self):
        rows = {"cudnn": row(1, 1.3), "fa4": row(1, 1.1), "fa2": row(1, 1.2)}
        self.assertEqual(best_peer(rows), "fa4")
        self.assertIsNone(best_peer({}))


class Table(unittest.TestCase):
    def test_means_are_against_each_peer_and_the_best(self):
        results = Results(["cudnn", "fa4"])
        results.add(problem(), {"cudnn": row(1, 2), "fa4": row(1, 1.5)})
        results.add(problem(mask="full"), {"cudnn": row(1, 1.2), "fa4": row(1, 1.8)})
        self.assertAlmostEqual(results.overall().value, math.sqrt(1.5 * 1.2))
        text = "\n".join(results.mean_lines())
        self.assertIn("cudnn's time / raceline's, all: geometric mean  1.55", text)
        self.assertIn("fa4's time / raceline's, d128 causal bf16: geometric mean  1.50", text)
        self.assertIn("the best of them's time / raceline's, all: geometric mean  1.34", text)

    def test_peer_that_is_absent_leaves_a_hole(self):
        results = Results(["cudnn", "fa4"])
        line = results.add(problem(), {"fa4": row(1, 1.5)})
        self.assertIn(" - ", line)
        self.assertIn("fa4:  1.50 [1.48, 1.52]", line)
        self.assertIn("nothing to compare", results.add(problem(), {}))
        self.assertIn("cudnn: no shape compared", list(results.mean_lines()))
        self.assertEqual(len(list(results.call_lines())), 2)


class Problems(unittest.TestCase):
    def test_flops_count_the_visited_half(self):
        full, causal = problem(mask="full"), problem()
        self.assertEqual(full.flops(), 4 * 2 * 8 * 512 * 512 * 128)
        self.assertEqual(causal.flops(), 4 * 2 * 8 * 128 * (512 * 513 // 2))

    def test_mask_aligns_bottom_right(self):
        self.assertEqual(problem(seqlen_q=2, seqlen_k=5).visited_pairs(), 4 + 5)
        self.assertEqual(problem(seqlen_q=5, seqlen_k=2).visited_pairs(), 0 + 0 + 0 + 1 + 2)
        one = problem(seqlen_q=1, seqlen_k=700)
        self.assertEqual(one.visited_pairs(), 700)
        self.assertFalse(one.masked)

    def test_bytes(self):
        self.assertEqual(problem().cache_bytes(), 2 * 2 * 2 * 512 * 128 * 2)
        self.assertEqual(problem().set_bytes(), (2 + 8) * 2 * 2 * 512 * 128 * 2)

    def test_a_decode_reads_the_bytes_of_its_cache(self):
        one = problem(seqlen_q=1, kv_dtype="e4m3", page_size=64, seqlen_k=130)
        self.assertEqual(one.cache_bytes(), 2 * 2 * 2 * 130 * 128)
        self.assertEqual(one.set_bytes(), one.cache_bytes() + 2 * 8 * 2 * 128 * 2)
        self.assertEqual(one.pages, 3)
        self.assertTrue(one.mixed)
        self.assertEqual(one.regime(), "decode bf16 over e4m3 in pages")
        self.assertEqual(problem(seqlen_q=1).regime(), "decode bf16")

    def test_what_is_not_compared_is_named(self):
        for change in ({"window": [128, 0]}, {"softcap": 30.0}, {"sinks": True},
                       {"page_size": 64}, {"kv_dtype": "e4m3"}, {"mla": True}, {"seqlens_q": [1]},
                       {"kv_dtype": "fp32", "seqlen_q": 1}, {"scales": "token", "seqlen_q": 1}):
            with self.assertRaisesRegex(ValueError, next(iter(change))):
                problem(**change)


if __name__ == "__main__":
    unittest.main()
