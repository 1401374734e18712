#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""cuBLASLt's e4m3 products of the shapes that latent attention multiplies: M 128 heads, K 256, 512
or 576 columns of the latent, N keys from 1k to 512k. What a decode of MLA in 8 bits is held against.
Or of any shape: a prefill in 8 bits is held against 8192³.

    bench/e4m3_sweep.py --receipts gemm.jsonl
    bench/e4m3_sweep.py --receipts gemm.jsonl --product 8192,8192,8192

Timed as bench/compare.py times a peer (gpu_time.py): graphs of cold calls, each on operands of its
own. One `ceiling` row a shape is written through the library: its value is what the library reaches,
its limit what the tensor cores could at the clock seen meanwhile. A product of a millisecond that is
timed alone, with a pause for the host after it, runs at a clock that no stream of them keeps;
--sustained times 20 ms of them at a time after a second of work, as `raceline bench` times a long
kernel.
"""

import argparse
import contextlib
import math
import os
import sys
import time
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

ROWS = 128
COLUMNS = (256, 512, 576)
KEYS = tuple(1 << bits for bits in range(10, 20))
# Dense multiply-adds count as two: the H100 datasheet's 1979 TFLOP/s over 132 SMs and 1.83 GHz.
FLOPS_PER_CLOCK_AND_SM = 8192
# A sustained sample and the work before the first one: a power limit takes longer than a product.
SUSTAINED_GRAPH = 20e-3
SUSTAINED_RAMP = 1.0
# Of an e4m3 product's bf16 output against float32 on the same operands: bf16 keeps 8 bits, and the
# tensor core's fast sums 13.
MOST_ERROR = 1e-2


@dataclass(frozen=True)
class Product:
    """C = A Bᵀ, A (m, k) and B (n, k) in e4m3, C (m, n) in bf16."""

    m: int
    n: int
    k: int

    def flops(self):
        return 2 * self.m * self.n * self.k

    def set_bytes(self):
        """Operands read once and the output written once."""
        return self.m * self.k + self.n * self.k + 2 * self.m * self.n

    @property
    def resource(self):
        return f"gemm.e4m3.m{self.m}.n{self.n}.k{self.k}"


class Operands:
    def __init__(self, torch, product, generator, device):
        def normal(rows):
            drawn = torch.randn(rows, product.k, generator=generator, device=device)
            return drawn.to(torch.float8_e4m3fn)

        self.a, self.b = normal(product.m), normal(product.n).t()


class Multiply:
    """The peer's call over sets of operands."""

    def __init__(self, torch, sets, one, fast):
        self.torch, self.sets, self.one, self.fast = torch, sets, one, fast

    def __call__(self, index):
        x = self.sets[index]
        return self.torch._scaled_mm(x.a, x.b, self.one, self.one, use_fast_accum=self.fast,
                                     out_dtype=self.torch.bfloat16)


def product_of(text):
    """From M,N,K. Raises ArgumentTypeError, for the command line to say."""
    sizes = text.split(",")
    if len(sizes) != 3 or not all(size.isdigit() and int(size) > 0 for size in sizes):
        raise argparse.ArgumentTypeError(f"'{text}' is not M,N,K in whole numbers above 0")
    product = Product(*map(int, sizes))
    if product.n % 16 or product.k % 16:
        raise argparse.ArgumentTypeError(f"'{text}': N and K must be multiples of 16 in 8 bits")
    return product


def error_of(out, operands):
    """‖out − ref‖ / ‖ref‖ over the first 1024 columns, the reference in float32."""
    wanted = operands.a.float() @ operands.b[:, :1024].float()
    return float((out[:, :1024].float() - wanted).norm() / wanted.norm())


def measure(torch, library, machine, product, fast, about, sms):
    """Times one product on a GPU of `sms` SMs and appends its row, which is returned. Raises
    RuntimeError if it is wrong or cannot be timed."""
    from gpu_time import MOST_BYTES, MOST_SETS
    generator = torch.Generator(device=machine.device).manual_seed(product.n + product.k)
    cold = 2 * machine.gpu.cache_bytes // product.set_bytes() + 1
    # No H200 does better: enough sets to last.
    fastest = max(product.set_bytes() / 4.8e12, product.flops() / 2e15, 2e-6)
    room = max(1, MOST_BYTES // product.set_bytes())
    count = min(MOST_SETS, room, max(2, cold, math.ceil(machine.graph_seconds / fastest)))
    sets = [Operands(torch, product, generator, machine.device) for _ in range(count)]
    call = Multiply(torch, sets, torch.ones((), device=machine.device), fast)
    answer, kernels = machine.first_answer(call)
    error = error_of(answer, sets[0])
    if not error <= MOST_ERROR:
        raise RuntimeError(f"relative error {error:.3g}, over {MOST_ERROR:g}")
    timings, failed = machine.measure({"cublaslt": (call, contextlib.nullcontext)}, product, sets,
                                      {"cublaslt": answer})
    if failed:
        raise RuntimeError(failed["cublaslt"])
    mine = timings["cublaslt"]
    ceiling = {
        "resource": product.resource, "value": product.flops() / mine.seconds_median, "unit": "flop/s",
        "clock_hz": mine.sm_clock_hz, "power_w": mine.power_w,
        "limit": sms * FLOPS_PER_CLOCK_AND_SM * mine.sm_clock_hz,
        "method": f"torch._scaled_mm (cuBLASLt), fast accumulation {'on' if fast else 'off'}, "
                  f"bf16 output, {mine.launch_path} of cold calls, samples of "
                  f"{machine.graph_seconds:g} s or more after {machine.ramp_seconds:g} s of work: "
                  f"{' + '.join(kernels)[:200]}"}
    content = {**about, "ceiling": ceiling,
               "product": {"m": product.m, "n": product.n, "k": product.k,
                           "bytes": product.set_bytes(), "relative_rms": error,
                           "seconds_median": mine.seconds_median,
                           "seconds_low": mine.seconds_low, "seconds_high": mine.seconds_high,
                           "samples": mine.samples, "unsettled": bool(mine.unsettled),
                           "fast_accum": fast}}
    return library.append("ceiling", content)


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--receipts", required=True)
    parser.add_argument("--library", default=str(HERE.parent / "build" / "libraceline.so"))
    parser.add_argument("--seconds", type=float, default=0,
                        help="start no further shape after this much time (default: no limit)")
    parser.add_argument("--shape-seconds", type=float, default=0.2)
    parser.add_argument("--promoted", action="store_true",
                        help="sums in float32 (default: the tensor core's own, fast accumulation)")
    parser.add_argument("--sustained", action="store_true", help="as above")
    parser.add_argument("--product", action="append", type=product_of, default=[],
                        metavar="M,N,K", help="may be repeated (default: those of the sweep)")
    options = parser.parse_args(argv)
    import torch
    from c_library import Library
    from failures import exit_status
    from gpu_time import GpuMachine
    library = Library(os.path.abspath(options.library), options.receipts)
    machine = GpuMachine(0, library, options.shape_seconds)
    if options.sustained:
        machine.graph_seconds, machine.ramp_seconds = SUSTAINED_GRAPH, SUSTAINED_RAMP
    about = {"device": library.predict("h=8,k=512,d=64,dtype=fp16")["device"], "suite": "gemm"}
    sms = torch.cuda.get_device_properties(0).multi_processor_count
    failed, begun = [], time.monotonic()
    for product in options.product or [Product(ROWS, n, k) for k in COLUMNS for n in KEYS]:
        if options.seconds and time.monotonic() - begun > options.seconds:
            failed.append(f"{product.resource}: no time left")
            continue
        try:
            row = measure(torch, library, machine, product, not options.promoted, about,
                          sms)
            seconds = row["product"]["seconds_median"]
            print(f"{product.resource}: {seconds * 1e6:.2f} us, "
                  f"{row['ceiling']['value'] / 1e12:.1f} TFLOP/s, "
                  f"{product.set_bytes() / seconds / 1e12:.2f} TB/s", flush=True)
        except Exception as error:  # noqa: BLE001 - the other shapes still have their answer
            failed.append(f"{product.resource}: {str(error).splitlines()[0]}")
        finally:
            machine.release()
    library.close()
    return exit_status(failed)


if __name__ == "__main__":
    sys.exit(main())
