# SPDX-License-Identifier: Apache-2.0
"""bench/errors.py: what it draws, and a run on the CPU. Needs PyTorch and the built library:
RACELINE_LIBRARY names it, else build/libraceline.so."""

import contextlib
import io
import json
import os
import sys
import tempfile
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE)]

LIBRARY = os.environ.get("RACELINE_LIBRARY", str(HERE.parents[1] / "build" / "libraceline.so"))
try:
    import torch
    import torch.nn.functional as F
except ImportError:
    torch = None
READY = torch is not None and Path(LIBRARY).exists()

import errors

if READY:
    import peers_cpu
    import problem
    import tensors
    from peers_cpu import TorchForm


class Drawing(unittest.TestCase):
    def test_calls_are_the_same_for_a_seed_and_no_two_alike(self):
        calls = [errors.draw(7, i) for i in range(200)]
        self.assertEqual(calls, [errors.draw(7, i) for i in range(200)])
        self.assertEqual(len({text for text, _ in calls}), 200)
        self.assertNotIn(errors.draw(8, 0), calls)

    def test_what_is_drawn(self):
        lengths, causal = [], 0
        for i in range(400):
            text, kind = errors.draw(1, i)
            self.assertEqual(kind, errors.KINDS[i % 2])
            fields = dict(part.split("=") for part in text.split(",") if "=" in part)
            q, k = int(fields["q"]), int(fields["k"])
            self.assertTrue(1 <= q <= errors.LONGEST and 1 <= k <= errors.LONGEST)
            if text.endswith("causal"):
                causal += 1
                self.assertEqual(q, k)
            self.assertEqual(int(fields["d"]) % 8, 0)
            lengths += [q, k]
        self.assertTrue(100 < causal < 300)
        self.assertLess(min(lengths), 200)
        self.assertGreater(max(lengths), 4000)


def sdpa(factor=1.0):
    def bind(problem, sets):
        return lambda i: F.scaled_dot_product_attention(
            sets[i].q_t, sets[i].k_t, sets[i].v_t, is_causal=problem.masked,
            enable_gqa=True, scale=factor / problem.headdim**0.5).transpose(1, 2)
    return bind


@unittest.skipUnless(READY, "needs PyTorch and the built library")
class Running(unittest.TestCase):
    def run_with(self, forms, *arguments):
        original, peers_cpu.torch_forms = peers_cpu.torch_forms, lambda: forms
        self.addCleanup(setattr, peers_cpu, "torch_forms", original)
        out = io.StringIO()
        with tempfile.TemporaryDirectory() as folder:
            rows = Path(folder) / "rows.jsonl"
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
                status = errors.main(["--library", LIBRARY, "--receipts", str(rows), "--device",
                                      "cpu", "--longest", "200", "--peers", "", *arguments])
            self.said = out.getvalue()
            self.rows = [json.loads(line) for line in rows.read_text().splitlines()]
        return status

    def test_every_call_is_a_row_with_both_errors(self):
        self.assertEqual(self.run_with([TorchForm("sdpa", lambda p: "", sdpa())], "--peers", "sdpa",
                                       "--cases", "6"), 0, self.said)
        self.assertEqual([row["logits"] for row in self.rows], ["plain", "outliers"] * 3)
        for row in self.rows:
            self.assertEqual(row["kind"], "check")
            self.assertTrue(row["correctness"]["passed"])
            self.assertTrue(row["peer"]["correctness"]["passed"])
        self.assertRegex(self.said, r"error / sdpa's, all: geometric mean \d\.\d+, .* 6 calls")
        self.assertRegex(self.said, r"error / sdpa's, outliers: .* 3 calls")

    def test_a_wrong_peer_is_named_and_not_counted(self):
        self.assertEqual(self.run_with([TorchForm("wrong", lambda p: "", sdpa(1.01))], "--peers",
                                       "wrong", "--cases", "2", "--seed", "3"), 0, self.said)
        self.assertIn("not compared: wrong, b=", self.said)
        self.assertNotIn("error / wrong's", self.said)
        self.assertEqual(["peer" in row for row in self.rows], [False, False])

    def test_an_error_of_ours_fails_the_run(self):
        original = tensors.Raceline.__call__
        self.addCleanup(setattr, tensors.Raceline, "__call__", original)
        tensors.Raceline.__call__ = lambda self, index: original(self, index).mul_(1.02)
        self.assertEqual(self.run_with([TorchForm("sdpa", lambda p: "", sdpa())], "--peers", "sdpa",
                                       "--cases", "2"), 1)
        self.assertIn("2 failed", self.said)
        self.assertFalse(self.rows[0]["correctness"]["passed"])

    def test_time_limit_names_what_was_not_run(self):
        self.run_with([], "--cases", "9", "--seconds", "0.0001")
        self.assertRegex(self.said, r"calls from \d on not run")

    def test_outliers_make_half_of_the_rows_peaked(self):
        shape = problem.Problem("", 1, 2, 2, 64, 64, 64, 64, "bf16", False)
        x = tensors.Inputs(shape, torch.Generator().manual_seed(1), torch.device("cpu"))
        errors.amplify(x, 5)
        logits = (x.q_t.float() @ x.k_t.float().transpose(2, 3) / 8).std(dim=3)[0]
        tokens = torch.arange(64)
        for head in range(2):
            loud = (tokens + head + 5) % 2 == 1
            self.assertGreater(float(logits[head][loud].median()), 4)
            self.assertLess(float(logits[head][~loud].median()), 3)


if __name__ == "__main__":
    unittest.main()
