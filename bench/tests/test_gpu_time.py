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


class Clock:
    """The library's clock, which says what it was asked to time."""

    def __init__(self, seconds):
        self.seconds, self.asked = seconds, []

    def time_contenders(self, contenders, place, **options):
        self.asked.append((contenders, place, options))
        return {one.name: SimpleNamespace(seconds_median=self.seconds[one.name] * one.calls,
                                          launch_path="") for one in contenders}


@unittest.skipUnless(READY, "needs PyTorch")
class Turns(unittest.TestCase):
    def test_contenders_are_handed_to_the_librarys_clock(self):
        gpu, clock = stand_in_gpu.StandInGpu(), Clock({"a": 50e-6, "b": 1e-3})
        machine = gpu_time.GpuMachine(0, clock, 0.5, "alone", gpu)
        called = []

        def call_of(name):
            def call(i):
                if name == "b" and gpu.capturing:
                    raise RuntimeError("not while capturing")
                called.append((name, i))
                return torch.ones(4)
            return call, contextlib.nullcontext
        problem = SimpleNamespace(set_bytes=lambda: 1 << 30)
        timings, failed = machine.measure({name: call_of(name) for name in "ab"}, problem,
                                          [None] * 100, {name: torch.ones(4) for name in "ab"})
        self.assertEqual(failed, {})
        self.assertEqual(timings["a"].launch_path, "graph")
        self.assertEqual(timings["b"].launch_path, "events")
        (_, _, few), (contenders, place, options) = clock.asked
        self.assertEqual((few["min_samples"], few["max_samples"]), (3, 3))
        self.assertEqual([one.calls for one in contenders], [4, 4])  # of 50 us, 200 us and more
        self.assertEqual(place, gpu.place)
        self.assertEqual((options["regime"], options["separate"]), ("alone", 1))
        self.assertEqual(options["max_seconds"], 0.25)  # of two, 0.5 s together
        del called[:], gpu.log[:]
        for one in contenders:
            one.enqueue(77)
        self.assertEqual(called, [(name, i) for name in "ab" for i in range(4)])
        self.assertEqual(gpu.log, ["on stream 77", "replay", "on stream 77"])
        del called[:]
        for _ in range(5):
            contenders[1].call(77)
        self.assertEqual([i for _, i in called], [0, 1, 2, 3, 0])

    def test_calls_per_sample_last_and_are_cold(self):
        gpu = stand_in_gpu.StandInGpu()
        machine = gpu_time.GpuMachine(0, None, 0.5, gpu=gpu)
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
            "CUDAGraph": Graph}
        for patch in (mock.patch.multiple("torch.cuda", **changes),
                      mock.patch("torch.device", lambda *name: "cpu")):
            patch.start()
            self.addCleanup(patch.stop)
        self.gpu = torch_gpu.TorchGpu(0)

    def test_work_goes_to_the_librarys_stream(self):
        with mock.patch.multiple("torch.cuda", ExternalStream=lambda at, device: ("stream", at),
                                 stream=lambda stream: self.asked.append(stream)):
            self.gpu.on_stream(77)
        self.assertEqual(self.asked, [("stream", 77)])

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
