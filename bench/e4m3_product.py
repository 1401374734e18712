# SPDX-License-Identifier: Apache-2.0
"""cuBLASLt's e4m3 product of 8192 × 8192 × 8192 through PyTorch, as TFLOP/s on standard output: what
a forward in 8 bits is held against. Operands are random normals: zeros would draw less power and run
at a higher clock. Printed, not written: only the library writes receipt rows."""

import argparse
import statistics
import time

import torch


def operand(rows: int, columns: int, seed: int) -> torch.Tensor:
    generator = torch.Generator(device="cuda").manual_seed(seed)
    values = torch.randn(rows, columns, device="cuda", generator=generator)
    return values.to(torch.float8_e4m3fn)


def seconds_of(multiply, repeats: int, budget: float) -> list[float]:
    """Samples of the time of one product, each over `repeats` of them, after a second at work."""
    ready = time.monotonic() + 1
    while time.monotonic() < ready:
        multiply()
        torch.cuda.synchronize()
    samples = []
    end = time.monotonic() + budget
    while time.monotonic() < end or len(samples) < 5:
        start, stop = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        for _ in range(repeats):
            multiply()
        stop.record()
        stop.synchronize()
        samples.append(start.elapsed_time(stop) / 1e3 / repeats)
    return samples


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=8192, help="of all three dimensions")
    parser.add_argument("--seconds", type=float, default=3, help="of measuring, each variant")
    options = parser.parse_args()
    size = options.size
    a, b = operand(size, size, 1), operand(size, size, 2).t()
    one = torch.ones((), device="cuda")
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}, CUDA {torch.version.cuda}")
    # Fast accumulation leaves the sums to the tensor core; without it they are promoted to fp32.
    for fast in (True, False):
        def multiply(fast: bool = fast) -> torch.Tensor:
            return torch._scaled_mm(a, b, one, one, out_dtype=torch.bfloat16, use_fast_accum=fast)

        samples = seconds_of(multiply, 20, options.seconds)
        median = statistics.median(samples)
        print(f"e4m3 {size}^3 fast_accum={fast}: {2 * size**3 / median / 1e12:.0f} TFLOP/s "
              f"({median * 1e6:.1f} us, median of {len(samples)} samples of 20)")


if __name__ == "__main__":
    main()
