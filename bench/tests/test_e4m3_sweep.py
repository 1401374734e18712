# SPDX-License-Identifier: Apache-2.0
"""bench/e4m3_sweep.py over a stand-in for the GPU. Needs PyTorch with 8-bit products on the CPU, and
the built library: RACELINE_LIBRARY names it, else build/libraceline.so."""

import argparse
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
    ONE = torch.ones(())
    torch._scaled_mm(torch.zeros(16, 16).to(torch.float8_e4m3fn),
                     torch.zeros(16, 16).to(torch.float8_e4m3fn).t(), ONE, ONE,
                     out_dtype=torch.bfloat16)
except (ImportError, RuntimeError):
    torch = None
READY = torch is not None and Path(LIBRARY).exists()

import e4m3_sweep

if READY:
    import gpu_time
    import stand_in_gpu
    from c_library import Library


class Shapes(unittest.TestCase):
    def test_bytes_are_operands_once_and_the_output_once(self):
        product = e4m3_sweep.Product(128, 1024, 576)
        self.assertEqual(product.set_bytes(), 128 * 576 + 1024 * 576 + 2 * 128 * 1024)
        self.assertEqual(product.flops(), 2 * 128 * 1024 * 576)
        self.assertEqual(product.resource, "gemm.e4m3.m128.n1024.k576")

    def test_a_product_is_read_from_text_or_refused(self):
        self.assertEqual(e4m3_sweep.product_of("8192,4096,64"), e4m3_sweep.Product(8192, 4096, 64))
        for text in ("8192", "8192,8192", "8192,0,64", "a,b,c", "-1,16,16", "16,16,24", "16,8,16"):
            with self.assertRaises(argparse.ArgumentTypeError, msg=text):
                e4m3_sweep.product_of(text)


@unittest.skipUnless(READY, "needs PyTorch with 8-bit products and the built library")
class Measuring(unittest.TestCase):
    def measure(self, multiply=None):
        with tempfile.TemporaryDirectory() as folder:
            library = Library(LIBRARY, str(Path(folder) / "rows.jsonl"))
            machine = gpu_time.GpuMachine(0, library, 0.05, gpu=stand_in_gpu.StandInGpu())
            about = {"suite": "gemm", "device": library.predict("h=1,k=64,d=64", "h200")["device"]}
            held = e4m3_sweep.Multiply.__call__
            try:
                if multiply is not None:
                    e4m3_sweep.Multiply.__call__ = multiply
                return e4m3_sweep.measure(torch, library, machine,
                                          e4m3_sweep.Product(128, 1024, 256), True, about, 132)
            finally:
                e4m3_sweep.Multiply.__call__ = held
                library.close()

    def test_a_product_becomes_a_ceiling_row(self):
        row = self.measure()
        self.assertEqual(row["kind"], "ceiling")
        seconds = row["product"]["seconds_median"]
        self.assertAlmostEqual(row["ceiling"]["value"] * seconds, 2 * 128 * 1024 * 256, delta=10)
        self.assertEqual(row["ceiling"]["limit"], 132 * 8192 * row["ceiling"]["clock_hz"])
        self.assertGreater(row["ceiling"]["clock_hz"], 0)
        self.assertLess(row["product"]["relative_rms"], e4m3_sweep.MOST_ERROR)
        self.assertIn("samples of 0.0002 s or more after 0.08 s of work", row["ceiling"]["method"])

    def test_a_sustained_sample_is_of_as_many_calls_as_it_lasts(self):
        machine = gpu_time.GpuMachine(0, None, 0.5, gpu=stand_in_gpu.StandInGpu())
        product = e4m3_sweep.Product(8192, 8192, 8192)
        self.assertEqual(machine.calls_per_sample([1e-3], product, range(50)), 1)
        machine.graph_seconds = e4m3_sweep.SUSTAINED_GRAPH
        self.assertEqual(machine.calls_per_sample([1e-3], product, range(50)), 20)
        self.assertEqual(machine.calls_per_sample([1e-3], product, range(7)), 7)

    def test_a_wrong_product_has_no_time(self):
        right = e4m3_sweep.Multiply.__call__
        with self.assertRaisesRegex(RuntimeError, "relative error"):
            self.measure(lambda self, index: right(self, index) * 1.1)


if __name__ == "__main__":
    unittest.main()
