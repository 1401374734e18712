# SPDX-License-Identifier: Apache-2.0
"""How samples are taken on a GPU, without one. Needs PyTorch."""

import contextlib
import sys
import unittest
from pathlib import Path
from types import SimpleNamespace
from unittest import mock

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE)]
try:
    import torch
    READY = True
except ImportError:
    READY = False

if READY:
    import gpu_time
    import stand_in_gpu
    import torch_gpu
    from c_library import Series
    from stop_rule import StopRule


@unittest.skipUnless(READY, "needs PyTorch")
class Turns(unittest.TestCase):
    def test_samples_are_the_events_divided_by_the_calls(self):
        gpu = stand_in_gpu.StandInGpu()
        machine = gpu_time.GpuMachine(0, StopRule(), stand_in_gpu.clock, gpu)
        out = torch.zeros(4)

        class Fixed:
            """A replay that takes a known time."""
            run = sample = staticmethod(lambda: None)

            def __init__(self, seconds):
                self.value = seconds

            def seconds(self):
                return self.value
        series = {"a": Series(launch_path="graph"), "b": Series(launch_path="graph")}

        def summarize(values):
            middle = sorted(values)[len(values) // 2]
            return SimpleNamespace(median=middle, low=middle, high=middle)
        machine.sample({"a": Fixed(1.0), "b": Fixed(2.0)}, series, summarize)
        self.assertEqual(set(series["a"].seconds), {1.0})
        self.assertEqual(len(series["a"].seconds), len(series["b"].seconds))
        self.assertEqual(len(series["a"].seconds), 11)  # steady: the least number of rounds
        self.assertTrue(series["b"].settled)
        self.assertEqual(series["b"].power_w, 600.0)
        replay = gpu_time.Replay(gpu, lambda i: out, contextlib.nullcontext, 4)
        replay.begin.at, replay.end.at = 10.0, 10.002
        self.assertAlmostEqual(replay.seconds(), 0.0005)

    def test_calls_per_sample_last_and_are_cold(self):
        gpu = stand_in_gpu.StandInGpu()
        machine = gpu_time.GpuMachine(0, StopRule(), stand_in_gpu.clock, gpu)
        sets = [None] * 100

        def calls(seconds, set_bytes):
            problem = SimpleNamespace(set_bytes=lambda: set_bytes)
            return machine.calls_per_sample(seconds, problem, sets)
        self.assertEqual(calls([1e-3, 50e-6], 1 << 30), 4)  # the fastest decides
        self.assertEqual(calls([1e-3], 1 << 30), 1)
        self.assertEqual(calls([1e-3], 1 << 18), 9)  # 9 × 256 KiB exceed 2 × 1 MiB
        self.assertEqual(calls([1e-9], 1 << 30), 100)


@unittest.skipUnless(READY, "needs PyTorch")
class OverTorch(unittest.TestCase):
    """TorchGpu with torch.cuda's functions replaced: what it asks of them, and in which order."""

    def setUp(self):
        self.asked = asked = []

        class Graph:
            def capture_begin(self, capture_error_mode):
                asked.append(f"begin {capture_error_mode}")

            def capture_end(self):
                asked.append("end")
                if "broken" in asked:
                    raise RuntimeError("capture was invalidated")
        changes = {
            "is_available": lambda: True, "set_device": lambda index: None, "Stream": object,
            "set_stream": lambda stream: None, "synchronize": lambda: asked.append("synchronize"),
            "get_device_properties": lambda i: SimpleNamespace(name="x", L2_cache_size=1 << 20),
            "CUDAGraph": Graph, "_sleep": lambda cycles: asked.append(cycles)}
        for patch in (mock.patch.multiple("torch.cuda", **changes),
                      mock.patch("torch.device", lambda *name: "cpu")):
            patch.start()
            self.addCleanup(patch.stop)
        self.gpu = torch_gpu.TorchGpu(0)

    def test_l2_is_turned_over_twice(self):
        self.assertEqual(self.gpu._cold.numel() * 4, 2 << 20)
        self.gpu._cold.fill_(1)
        self.gpu.chill()
        self.assertEqual(float(self.gpu._sink), float(2 << 18))
        self.gpu.spin(1e-3)
        self.assertEqual(self.asked, [1500000])

    def test_capture_keeps_what_was_returned(self):
        graph, kept = self.gpu.capture(lambda: [7])
        self.assertEqual((kept, self.asked), ([7], ["synchronize", "begin relaxed", "end"]))

    def test_failed_capture_is_ended_and_its_first_reason_kept(self):
        def enqueue():
            self.asked.append("broken")
            raise ValueError("a copy from the host")
        with self.assertRaisesRegex(ValueError, "a copy from the host"):
            self.gpu.capture(enqueue)
        self.assertEqual(self.asked[-1], "end")

    def test_profiler_that_fails_does_not_cost_the_answer(self):
        with mock.patch("torch.profiler.profile", side_effect=RuntimeError("no CUPTI")):
            self.assertEqual(self.gpu.kernels_of(lambda: 7), (7, []))
        with self.assertRaises(ZeroDivisionError):
            self.gpu.kernels_of(lambda: 1 / 0)


if __name__ == "__main__":
    unittest.main()
