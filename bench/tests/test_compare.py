# SPDX-License-Identifier: Apache-2.0
"""bench/compare.py from end to end, on the CPU and with a stand-in for the GPU. Needs PyTorch and
the built library: RACELINE_LIBRARY names it, else build/libraceline.so."""

import contextlib
import io
import json
import os
import sys
import tempfile
import unittest
from pathlib import Path
from types import SimpleNamespace

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE)]

LIBRARY = os.environ.get("RACELINE_LIBRARY",
                         str(HERE.parents[1] / "build" / "libraceline.so"))
try:
    import torch
    import torch.nn.functional as F
except ImportError:
    torch = None
READY = torch is not None and Path(LIBRARY).exists()

if READY:
    import compare
    import comparison
    import gpu_time
    import peers_cuda
    import problem
    import stand_in_gpu
    import tensors

SMALL = "b=2,h=4/2,q=40,k=40,d=64,dtype=bf16,causal"


class Run(unittest.TestCase):
    """Runs the program and keeps what it printed and the rows that it wrote."""

    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.receipts = Path(scratch.name) / "rows.jsonl"

    def compare(self, *arguments, gpu=None):
        out = io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
            status = compare.main(["--library", LIBRARY, "--receipts", str(self.receipts),
                                   "--shape-seconds", "0.2", *arguments], gpu)
        self.said = out.getvalue()
        self.rows = [json.loads(line) for line in self.receipts.read_text().splitlines()]
        return status

    def of_kind(self, kind):
        return [row for row in self.rows if row["kind"] == kind]


@unittest.skipUnless(READY, "needs PyTorch and the built library")
class OnACpu(Run):
    def test_forms_become_rows_with_a_verdict_and_a_ratio(self):
        self.assertEqual(self.compare("--device", "cpu", "--shape",
                                      "b=2,h=4/2,q=30,k=30,d=64,dtype=fp32"), 0)
        rows = self.of_kind("comparison")
        self.assertEqual({r["peer"]["backend"] for r in rows},
                         {"enable_gqa", "folded_rows", "matmul_softmax"})
        for row in rows:
            self.assertEqual(row["peer"]["name"], "torch_cpu")
            self.assertTrue(row["peer"]["correctness"]["passed"])
            self.assertLess(row["peer"]["correctness"]["relative_rms"], 1e-6)
            self.assertTrue(row["correctness"]["passed"])
            self.assertEqual(row["workload"]["heads_kv"], 2)
            self.assertAlmostEqual(row["ratio"], row["peer"]["seconds_median"]
                                   / row["measurement"]["seconds_median"])
        prediction = self.of_kind("prediction")[0]
        self.assertEqual(rows[0]["prediction_id"], prediction["id"])
        self.assertIn("geometric mean", self.said)

    def test_spread_is_that_of_the_logits(self):
        shape = "b=1,h=2,q=64,k=64,d=64,dtype=fp32"
        self.assertEqual(self.compare("--device", "cpu", "--shape", shape, "--spread", "5"), 0)
        self.assertRegex(self.said, r"raceline's error / sdpa's: geometric mean [0-9.]+, most")
        generator = torch.Generator().manual_seed(1)
        x = tensors.Inputs(problem.Problem(shape, 1, 2, 2, 64, 64, 64, 64, "fp32", False),
                           generator, torch.device("cpu"), 5.0)
        logits = x.q_t @ x.k_t.transpose(2, 3) / 8
        self.assertAlmostEqual(float(logits.std()), 5, delta=0.5)

    def test_errors_of_nothing_have_no_ratio(self):
        # One key: the output is its value, exactly.
        self.assertEqual(self.compare("--device", "cpu", "--shape",
                                      "b=1,h=1,q=8,k=1,d=64,dtype=fp32"), 0)
        self.assertIn("raceline's error / sdpa's: no shape on which both have one", self.said)

    def test_a_spread_of_nothing_is_refused(self):
        with self.assertRaises(SystemExit):
            self.compare("--device", "cpu", "--spread", "0")

    def test_causal_forms_agree_with_float64(self):
        self.assertEqual(self.compare("--device", "cpu", "--shape",
                                      "b=1,h=2,q=70,k=70,d=64,dtype=fp32,causal"), 0)
        self.assertEqual({r["peer"]["backend"] for r in self.of_kind("comparison")},
                         {"sdpa", "matmul_softmax"})

    def test_wrong_peer_is_named_with_its_error_and_not_compared(self):
        from peers_cpu import TorchForm, torch_forms
        import peers_cpu

        def wrong(problem, sets):
            return lambda i: F.scaled_dot_product_attention(
                sets[i].q_t, sets[i].k_t, sets[i].v_t, scale=0.126).transpose(1, 2)

        def raising(problem, sets):
            raise ValueError("no such engine\nsecond line")
        forms = torch_forms() + [TorchForm("wrong", lambda p: "", wrong),
                                 TorchForm("raising", lambda p: "", raising)]
        original, peers_cpu.torch_forms = peers_cpu.torch_forms, lambda: forms
        self.addCleanup(setattr, peers_cpu, "torch_forms", original)
        self.assertEqual(self.compare("--device", "cpu", "--shape",
                                      "b=1,h=2,q=70,k=70,d=64,dtype=fp32"), 0)
        self.assertNotIn("wrong", {r["peer"]["backend"] for r in self.of_kind("comparison")})
        refusals = {r["peer"]["backend"]: r for r in self.of_kind("refusal")}
        self.assertIn("exceeds", refusals["wrong"]["reason"])
        self.assertGreater(refusals["wrong"]["peer"]["correctness"]["relative_rms"], 1e-3)
        self.assertIn("raising: ValueError: no such engine", refusals["raising"]["reason"])
        self.assertNotIn("second line", refusals["raising"]["reason"])

    def test_shapes_that_no_peer_is_asked_for_are_named(self):
        status = self.compare("--device", "cpu", "--shape", "b=1,h=2,q=9,k=9,d=64,window=3",
                              "--shape", "b=1,h=2,q=9,k=9,d=64,dtype=fp32")
        self.assertEqual(status, 0)
        self.assertIn("left out: window", self.said)

    def test_time_limit_names_what_was_not_run(self):
        self.compare("--device", "cpu", "--seconds", "0.001", "--shape",
                     "b=1,h=2,q=9,k=9,d=64,dtype=fp32", "--shape",
                     "b=1,h=2,q=10,k=10,d=64,dtype=fp32")
        self.assertIn("not run", self.said)
        self.assertIn("q=10", self.said.split("not run")[1])

    def test_peers_that_are_not_there_are_named(self):
        self.assertEqual(self.compare("--device", "cpu", "--peers", "sdpa,fa9", "--shape",
                                      "b=1,h=2,q=9,k=9,d=64,dtype=fp32"), 0)
        self.assertIn("peer fa9: left out", self.said)
        self.assertEqual(len(self.of_kind("comparison")), 1)


@unittest.skipUnless(READY, "needs PyTorch and the built library")
class EightBits(unittest.TestCase):
    """Outputs of e4m3 are bf16; a peer that promotes nothing is judged by bounds of its own, said."""

    def setUp(self):
        self.problem = problem.Problem(
            text="h=2,q=40,k=70,d=64,dtype=e4m3", batch=1, heads_q=2, heads_kv=2, seqlen_q=40,
            seqlen_k=70, headdim=64, headdim_v=64, dtype="e4m3", causal=False)

    def judged(self, spoil):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        library = tensors_library(str(Path(scratch.name) / "rows.jsonl"))
        self.addCleanup(library.close)
        inputs = tensors.Inputs(self.problem, torch.Generator().manual_seed(1), torch.device("cpu"))
        self.assertEqual(inputs.out.dtype, torch.bfloat16)
        q, k, v = (t.float().transpose(1, 2) for t in (inputs.q, inputs.k, inputs.v))
        out = F.scaled_dot_product_attention(q, k, v).transpose(1, 2)
        judge = tensors.Judge(library, self.problem, inputs, "prefill_sm90_fp8", 1)
        return comparison.peers_verdict(self.problem, judge, spoil(out).bfloat16().contiguous())

    def test_a_right_answer_passes_as_accurate(self):
        verdict = self.judged(lambda out: out)
        self.assertTrue(verdict["passed"], verdict)
        self.assertNotIn("accuracy", verdict)

    def test_a_wrong_one_passes_neither_way(self):
        verdict = self.judged(lambda out: out * 1.5)
        self.assertFalse(verdict["passed"])
        self.assertNotIn("accuracy", verdict)

    def test_what_only_loose_bounds_accept_says_so(self):
        class Strict:
            def verdict(self, answer, accuracy="accurate"):
                return {"passed": accuracy == "fast", "relative_rms": 0.1}
        self.assertEqual(comparison.peers_verdict(self.problem, Strict(), None)["accuracy"], "fast")
        sixteen = SimpleNamespace(cache_dtype="bf16")
        self.assertFalse(comparison.peers_verdict(sixteen, Strict(), None)["passed"])


def tensors_library(receipts):
    from c_library import Library
    return Library(LIBRARY, receipts)


class FakePeer:
    """A peer whose answer is sdpa's, with one fault."""

    version = "1"

    def __init__(self, name, fault=""):
        self.name = self.label = self.backend = name
        self.fault, self.kept = fault, None

    def context(self):
        return contextlib.nullcontext()

    def refusal(self, problem):
        return ""

    def bind(self, problem, sets):
        gpu = self.gpu

        def call(i):
            if gpu.capturing and self.fault == "cannot be captured":
                raise RuntimeError("operation not permitted when stream is capturing")
            x = sets[i]
            out = F.scaled_dot_product_attention(x.q_t, x.k_t, x.v_t, is_causal=problem.masked,
                                                 enable_gqa=True).transpose(1, 2).contiguous()
            if self.fault == "other stream":  # a graph that holds nothing of it
                out.uncaptured = gpu.capturing
            if self.fault == "writes once":
                self.kept = out if self.kept is None else self.kept
                return self.kept
            return out
        return call


class FakePagedPeer(FakePeer):
    """One that gathers its pages by the table, wrongly if its fault is "order"."""

    paged = True

    def bind(self, problem, sets):
        def call(i):
            x = sets[i]
            rows = x.table.long().flip(1) if self.fault == "order" else x.table.long()
            k, v = (t.to(x.q.dtype)[rows].flatten(1, 2)[:, :problem.seqlen_k].transpose(1, 2)
                    for t in (x.k, x.v))
            out = F.scaled_dot_product_attention(x.q_t, k, v, enable_gqa=True)
            return out.transpose(1, 2).contiguous()
        return call


@unittest.skipUnless(READY, "needs PyTorch and the built library")
class OnAStandIn(Run):
    def run_with(self, peers, *arguments, gpu=None, shape=SMALL):
        gpu = gpu or stand_in_gpu.StandInGpu()
        for peer in peers:
            peer.gpu = gpu
        original = peers_cuda.open_peers
        peers_cuda.open_peers = lambda names: (peers, [("fa4", "ImportError: none here")])
        self.addCleanup(setattr, peers_cuda, "open_peers", original)
        self.addCleanup(setattr, gpu_time.GpuMachine, "device_id", "")
        self.addCleanup(setattr, gpu_time.GpuMachine, "launch_path", "graph")
        # The stand-in is a CPU: predicted as one.
        gpu_time.GpuMachine.device_id, gpu_time.GpuMachine.launch_path = "cpu", ""
        return self.compare(*arguments, "--shape", shape, gpu=gpu), gpu

    def test_graphs_are_timed_cold_and_in_turns(self):
        status, gpu = self.run_with([FakePeer("cudnn"), FakePeer("fa2")])
        self.assertEqual(status, 0, self.said)
        rows = self.of_kind("comparison")
        self.assertEqual({r["peer"]["name"] for r in rows}, {"cudnn", "fa2"})
        for row in rows:
            self.assertEqual(row["case"]["launch_path"], "graph")
            self.assertEqual(row["peer"]["launch_path"], "graph")
            self.assertEqual(row["peer"]["backend"],
                             f"{row['peer']['name']}: stand_in_kernel")
            self.assertGreaterEqual(row["measurement"]["samples"], 3)
            self.assertGreater(row["measurement"]["seconds_call"], 0)
        self.assertIn("peer fa4: left out", self.said)
        # All have the same number of rounds, disturbed ones among them. Where all were disturbed none
        # is dropped, and the same samples stand in both numbers.
        rounds = {max(side["samples"], side["disturbed"]) if side["samples"] == side["disturbed"]
                  else side["samples"] + side["disturbed"]
                  for row in rows for side in (row["measurement"], row["peer"])}
        self.assertEqual(len(rounds), 1)
        # Each round, both warm-ups and the proof of a graph have one replay of each of the three.
        self.assertEqual(gpu.log.count("replay"), 3 * (rounds.pop() + 3))

    def test_pages_of_an_8_bit_cache_are_asked_of_who_reads_them(self):
        peers = [FakePagedPeer("xqa"), FakePagedPeer("flashinfer_decode", "order"), FakePeer("cudnn")]
        status, _ = self.run_with(peers, shape="b=2,h=4/2,q=1,k=200,d=64,dtype=bf16,kv=e4m3,page=64")
        self.assertEqual(status, 0, self.said)
        (row,) = self.of_kind("comparison")
        self.assertEqual(row["peer"]["name"], "xqa")
        self.assertLess(row["peer"]["correctness"]["relative_rms"], 5e-3)
        self.assertEqual(row["workload"]["page_size"], 64)
        (refusal,) = self.of_kind("refusal")
        self.assertIn("flashinfer_decode: ", refusal["reason"])
        self.assertIn("cudnn: not asked: it is asked for contiguous caches alone", self.said)

    def test_queries_rounded_to_8_bits_are_told_apart(self):
        class Rounding(FakePagedPeer):
            def bind(self, problem, sets):
                for x in sets:
                    x.q_t = x.q_t.to(torch.float8_e4m3fn).to(x.q.dtype)
                return super().bind(problem, sets)
        shape = "b=2,h=4/2,q=1,k=200,d=64,dtype=bf16,kv=e4m3,page=64"
        self.assertEqual(self.run_with([Rounding("xqa")], shape=shape)[0], 0, self.said)
        (row,) = self.of_kind("comparison")
        self.assertEqual(row["peer"]["correctness"]["accuracy"], "fast")
        self.assertIn("from the queries as given its relative RMS error is", self.said)

    def test_one_that_cannot_be_captured_is_timed_by_events_and_marked(self):
        status, _ = self.run_with([FakePeer("fa4", "cannot be captured")])
        self.assertEqual(status, 0, self.said)
        (row,) = self.of_kind("comparison")
        self.assertEqual(row["peer"]["launch_path"], "events")
        self.assertEqual(row["case"]["launch_path"], "graph")

    def test_graph_that_misses_the_work_is_refused(self):
        status, _ = self.run_with([FakePeer("fa2"), FakePeer("fa4", "other stream")])
        self.assertEqual(status, 0, self.said)
        self.assertEqual([r["peer"]["name"] for r in self.of_kind("comparison")], ["fa2"])
        (refusal,) = self.of_kind("refusal")
        self.assertIn("fa4: RuntimeError: its graph leaves output 0 unwritten", refusal["reason"])

    def test_memory_that_held_an_answer_is_no_answer(self):
        self.run_with([FakePeer("fa2"), FakePeer("fa4", "writes once")])
        self.assertEqual([r["peer"]["name"] for r in self.of_kind("comparison")], ["fa2"])
        (refusal,) = self.of_kind("refusal")
        self.assertIn("fa4: element 0 of row 0 of head 0 in sequence 0 was never written",
                      refusal["reason"])


if __name__ == "__main__":
    unittest.main()
