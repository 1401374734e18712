# SPDX-License-Identifier: Apache-2.0
"""Batches of a server, checked side by side: what is counted, logged and checked again."""

import contextlib
import io
import os
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))

import serving_batches  # noqa: E402

# Suites of two batches. One of seed 2 fails the first time, one of seed 3 always.
STAND_IN = """#!/usr/bin/env python3
import json, os, sys
seed = sys.argv[-2].partition(":")[2]
marker = os.path.join(os.environ["SEEN"], seed)
again = os.path.exists(marker)
open(marker, "w").close()
for batch in (1, 100000):
    fails = batch == 1 and (seed == "3" or seed == "2" and not again)
    proof = {"passed": not fails, "why": "no memory" if fails else "", "relative_rms": 1.0, "bound": 4.0}
    print(json.dumps({"kind": "check", "correctness": proof, "workload": {
        "batch": batch, "seqlen_k": 100, "heads_kv": 1, "headdim": 64, "headdim_v": 64, "kv_dtype": "bf16"}}))
"""


class ServingBatches(unittest.TestCase):
    def run_with(self, first_seed, batches):
        folder = Path(tempfile.mkdtemp())
        program = folder / "program"
        program.write_text(STAND_IN)
        program.chmod(0o755)
        said = io.StringIO()
        words = ["tool", str(program), "--seed", str(first_seed), "--batches", str(batches), "--workers", "1",
                 "--log", str(folder / "log")]
        with mock.patch.object(sys, "argv", words), mock.patch.dict(os.environ, {"SEEN": str(folder)}), \
                contextlib.redirect_stdout(said):
            status = serving_batches.main()
        return status, said.getvalue(), (folder / "log").read_text()

    def test_batches_and_large_ones_are_counted(self):
        status, said, log = self.run_with(11, 4)
        self.assertEqual(status, 0)
        self.assertIn("4 batches of decode_sm90, 2 of them over 1 GB, 0 wrong, largest error 0.25 of its limit", said)
        self.assertEqual(log.count("passed\t0.25"), 4)

    def test_what_fails_beside_others_is_checked_alone(self):
        status, said, log = self.run_with(2, 1)
        self.assertEqual(status, 1)  # seed 3 follows, since nothing of seed 2 counts yet
        self.assertIn(" 1 wrong", said)
        self.assertIn("; 1 failed beside others and passed alone", said)
        self.assertIn("FAILED: no memory {", log)
        self.assertIn("serving:2\talone", log)


if __name__ == "__main__":
    unittest.main()
